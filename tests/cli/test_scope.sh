#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What murphy test tries: by function, error, module and call site, within a budget; without a sandbox; its progress.
. "$(dirname "$0")/tap.sh"
[ -z "${MURPHY_AGAIN:-}" ] || plan_skip 'was run with the other compiler'

needs_sandbox

json() { # json EXPRESSION: is it true of the object o, and of the campaign's rows?
  python3 -c '
import json, sqlite3, sys
o = json.load(open("out"))
rows = lambda what: sqlite3.connect(".murphy/campaign.db").execute(what).fetchall()
sys.exit(not eval(f"({sys.argv[1]})"))' "$1"
}

cat >library.c <<'END'
#include <stdlib.h>
#include <string.h>
int copies; /* imported by the library itself, as a function would be */
char *copy(const char *s) { char *p = malloc(strlen(s) + 1); if (p) strcpy(p, s), copies++; return p; }
END
cat >prog.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
char *copy(const char *s);
static void *first(void) { return malloc(10); }
static void *second(void) {
  void *p = malloc(20); /* line 7 */
  return p;
}
int main(void) {
  void *a = first(), *b = second();
  char *c = copy("x");
  if (!a || !b || !c) { write(2, "no\n", 3); return 1; }
  puts(getcwd(0, 0) ? "good" : "bad");
  return 0;
}
END
cc -g -O0 -shared -fPIC -o libcopy.so library.c
cc -g -O0 -fno-inline -w -o prog prog.c -L. -lcopy -Wl,-rpath,"$PWD"

# --- scope --------------------------------------------------------------------------------------------------------------

run test --budget 20s --format json -- ./prog
holds 'by default: the program and its own libraries' \
  json '{m for m, in rows("SELECT DISTINCT module FROM point")} == {"prog", "libcopy.so"}'
run test --budget 20s --function malloc --format json -- ./prog
holds '--function' json '{f for f, in rows("SELECT DISTINCT function FROM point")} == {"malloc"} and o["points"] == 3'
cat >large.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
  int fd = open(argv[0], argc > 9 ? O_RDWR : O_RDONLY); /* flags that are not constant: __open64_2 */
  char *c = NULL;
  if (fd < 0) c[0] = 'x';
  close(fd);
  return 0;
}
END
cc -g -O2 -D_FORTIFY_SOURCE=2 -D_FILE_OFFSET_BITS=64 -w -o large large.c
run test --budget 20s --function open --format json -- ./large
holds '--function by the name that was written' json '[f["fault"]["function"] for f in o["findings"]] == ["open"]'
run verify
holds '... and so it is called' grep -q '^finding 1: crash (SIG[A-Z]*) when open returns -1' out
run test --budget 20s --from libcopy.so --format json -- ./prog
holds '--from' json '{m for m, in rows("SELECT DISTINCT module FROM point")} == {"libcopy.so"}'
run test --budget 50runs --from prog,libc.so.6 --function malloc --format json -- ./prog
holds '--from adds a library of the system' \
  json '{m for m, in rows("SELECT DISTINCT module FROM point")} >= {"prog", "libc.so.6"}'
run test --budget 20s --errno ENOENT --format json -- ./prog
holds '--errno' json '{e for e, in rows("SELECT DISTINCT errno FROM experiment")} == {2}'
run test --budget 20s --only-site second --format json -- ./prog
holds '--only-site FUNCTION' json 'rows("SELECT function, \"in\", line FROM point") == [("malloc", "second", 7)]'
run test --budget 20s --only-site prog.c:7 --format json -- ./prog
holds '--only-site FILE:LINE' json 'rows("SELECT function, \"in\", line FROM point") == [("malloc", "second", 7)]'
offset=$(python3 -c 'import sqlite3; print("0x%x" % sqlite3.connect(".murphy/campaign.db").execute("SELECT offset FROM point").fetchone())')
run test --budget 20s --only-site "prog+$offset" --format json -- ./prog
holds '--only-site MODULE+0xOFFSET, as stacks have it' json 'rows("SELECT \"in\" FROM point") == [("second",)]'
call=$("$MURPHY" check --format json --verdict none,some,all --all prog | python3 -c 'import json, sys
print(*[s["offset"] for p in json.load(sys.stdin)["sites"] for s in [p] if s["in"] == "second"])' 2>/dev/null)
run test --budget 20s --only-site "prog+$call" --format json -- ./prog
holds '... and as murphy check has it' json 'rows("SELECT \"in\" FROM point") == [("second",)]'

run test --only-site nowhere.c:3 -- ./prog
refused 'a line that is not there' 'nowhere.c:3'
run test --only-site prog+0xzz -- ./prog
refused 'an offset that is none' 'prog+0xzz'
run test --from libnothing.so -- ./prog
refused 'a library that is not used' 'libnothing.so'
run test --errno ENOENTT -- ./prog
refused 'an error that there is not' 'ENOENT'
run test --function frobnicate -- ./prog
refused 'a function that is not called' 'nothing that could fail'

# What a network does cannot happen to a local socket.
cat >pair.c <<'X'
#include <sys/socket.h>
#include <unistd.h>
int main(void) {
  char c = 'x';
  int s[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) < 0 || send(s[0], &c, 1, MSG_NOSIGNAL) != 1) return 2;
  if (write(s[0], &c, 1) != 1 || read(s[1], &c, 1) != 1) return 2;
  return recv(s[1], &c, 1, 0) != 1;
}
X
cc -O1 -o pair pair.c
run test --campaign pair.c1 --format json -- ./pair
holds 'errors of networks are not tried on a local socket' python3 -c '
import errno, sqlite3
tried = {n for n, in sqlite3.connect("pair.c1/campaign.db").execute("SELECT errno FROM experiment")}
assert errno.ECONNRESET in tried and not tried & {
    errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENONET}'

# A function that the data knows nothing about.
cat >unzip.c <<'X'
#include <bzlib.h>
#include <stdio.h>
int main(void) {
  char b[100];
  BZFILE *f = BZ2_bzopen("hello.bz2", "rb");
  if (!f) return 2;
  int n = BZ2_bzread(f, b, sizeof b);
  fwrite(b, 1, n > 0 ? n : 0, stdout);
  BZ2_bzclose(f);
  return fflush(stdout) ? 1 : 0;
}
X
cc -O1 -o unzip unzip.c -lbz2
python3 -c 'import bz2; open("hello.bz2", "wb").write(bz2.compress(b"hello\n"))'
run test -- ./unzip
holds 'what is not tried is said' grep -q '^not tried, .*: BZ2_bzclose, BZ2_bzopen, BZ2_bzread' out
run test --function BZ2_bzread --format json -- ./unzip
holds '... and is tried if it is asked for' json 'o["findings"][0]["fault"]["function"] == "BZ2_bzread"'
run test --only-site unzip+0x10 -- ./unzip
refused 'a place where no call is' 'no call that could fail'

# --- budget -------------------------------------------------------------------------------------------------------------

run test --budget 3runs --format json -- ./prog
holds 'a number of experiments' json 'o["experiments"] == 3 and sum(x["experiments"] for x in o["not_covered"]) == o["planned"] - 3'
run test --budget 3runs -- ./prog
holds '... and what was left out is told by number and name' grep -qE '^[0-9]+ experiments were not made for lack of budget: [a-z]+ [0-9]+' out

# A command that takes its time whenever a call fails.
cat >sleeper.c <<'X'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {
  for (int i = 0; i < 30; i++) {
    FILE *f = fopen("/dev/null", "r");
    if (!f) return usleep(300000), 1;
    fclose(f);
  }
  return 0;
}
X
cc -O1 -o sleeper sleeper.c
run test --budget 1s --format json -- ./sleeper
holds 'a budget of time ends it, also where experiments are slow' json '0 < o["experiments"] < o["planned"] / 2'

# --- what a close may lose ----------------------------------------------------------------------------------------------

cat >reused.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
static void check(int good) { if (!good) { perror("reused"); _exit(1); } }
int main(void) {
  char b[3];
  int kept, f;
  check((f = open("new", O_WRONLY | O_CREAT | O_TRUNC, 0644)) >= 0);
  check((kept = fcntl(1, F_DUPFD, 10)) >= 0);
  close(1); /* a shell does so: nothing was written, and another descriptor has it */
  check(dup2(f, 1) == 1 && write(1, "hi\n", 3) == 3 && close(f) == 0);
  check(dup2(kept, 1) == 1 && close(kept) == 0 && write(1, "hi\n", 3) == 3);
  check((f = open("other", O_RDWR | O_CREAT | O_TRUNC, 0644)) >= 0);
  check(write(f, "hi\n", 3) == 3 && close(f) == 0);
  check((f = open("other", O_RDWR)) >= 0 && read(f, b, 3) == 3);
  close(f); /* the same number as above, and only read */
#ifdef BUG
  check((f = open("other", O_RDWR)) >= 0 && write(f, "ho\n", 3) == 3);
  close(f);
#endif
  return 0;
}
END
cc -g -O0 -o reused reused.c
cc -g -O0 -DBUG -o reused_bug reused.c
run test --budget 20s --format json -- ./reused
holds 'what was written by the same number is another file' json 'o["findings"] == []'
run test --budget 20s --function close --format json -- ./reused_bug
holds 'what was written is known, whatever is tried' \
  json '[(f["kind"], f["fault"]["function"], f["site"]["line"]) for f in o["findings"]] == [("silent", "close", 19)]'
run verify
holds '... also when it is repeated' test "$status" = 1

# --- murphy's own library -----------------------------------------------------------------------------------------------

cat >atfork.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void before(void) { free(malloc(10)); }
int main(void) {
  if (pthread_atfork(before, 0, 0)) return 1;
  pid_t child = fork();
  if (child < 0) return 2;
  if (child == 0) _exit(0);
  int status;
  return waitpid(child, &status, 0) != child || status != 0;
}
END
cc -g -O0 -w -o atfork atfork.c
run test --budget 5runs --campaign a -- ./atfork
holds 'what is called in a fork is not called by a library that was opened' sh -c '! grep libmurphy out'
# --- languages ----------------------------------------------------------------------------------------------------------

# Nobody hears of it when a destructor of Rust closes a file. Here a program of C says that it is one of Rust.
echo '__asm__(".ident \"rustc version 1.63.0\"");' >ident.c
cc -g -O1 -w -o closes "$MURPHY_SOURCE/tests/examples/close_ignored.c"
cc -g -O1 -w -o closes-rust "$MURPHY_SOURCE/tests/examples/close_ignored.c" ident.c
run test --budget 20s --format json -- ./closes
closes='[f for f in o["findings"] if f["fault"]["function"] == "close"]'
holds 'a close that nobody looks at is a finding' json "$closes"
run test --budget 20s --format json -- ./closes-rust
holds '... but not where there is no other way' json "not $closes and o['excused'] > 0"

# --- what nobody misses -------------------------------------------------------------------------------------------------

cat >cached.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/kept", getenv("XDG_CACHE_HOME"));
  FILE *f = fopen(path, "w"); /* for the next time */
  if (f) {
    fputs("x", f);
    fclose(f);
  }
  return 0;
}
END
cc -g -O1 -w -o cached cached.c
mkdir -p "$XDG_CACHE_HOME"
run test --budget 20s --format json -- ./cached
holds 'a cache that cannot be written' json 'o["findings"] == [] and o["experiments"] > 10'
(cd "$XDG_CACHE_HOME" && "$MURPHY" test --budget 20s --campaign "$work/c" --format json -- "$work/cached") >out 2>err
holds '... is a finding for who works in it' json 'any(f["fault"]["function"] == "fopen" for f in o["findings"])'

cat >typed.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", getenv("HOME"), argv[1]);
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) return 1;
  write(fd, "words\n", 6);
  return close(fd) != 0;
}
END
cc -g -O1 -w -o typed typed.c
mkdir -p "$HOME/.local/state/syncd"
typed() { # typed NAME FILE [FOLDER]: the kinds of what is found when the file is not written
  (cd "${3:-.}" && "$MURPHY" test --budget 20s --campaign "$work/typed.$1" --function write --format json -- "$work/typed" "$2") >out 2>err
}
typed 1 .prog_history
holds 'what was typed is not kept' json 'o["findings"] == [] and o["experiments"] > 3'
typed 2 .prog_history "$HOME"
holds '... which is a finding for who works there' json '[f["kind"] for f in o["findings"]] == ["silent"]'
typed 3 .purchase_history.db
holds '... as other files in HOME are' json '[f["kind"] for f in o["findings"]] == ["silent"]'
typed 4 .local/state/syncd/keys
holds '... and those of the state of programs' json '[f["kind"] for f in o["findings"]] == ["silent"]'

cat >comm.c <<'END'
#include <stdio.h>
#include <string.h>
static char b[100][100];
int main(int argc, char **argv) { /* lines of the first that the second has not */
  char line[100];
  int n = 0;
  FILE *f = fopen(argv[1], "r"), *g = fopen(argv[2], "r");
  if (!f || !g) return 2;
  while (n < 100 && fgets(b[n], sizeof b[n], g))
    n++;
  while (fgets(line, sizeof line, f)) {
    int i = 0;
    while (i < n && strcmp(line, b[i]) != 0)
      i++;
    if (i == n) fputs(line, stdout);
  }
  return fclose(stdout) != 0;
}
END
cc -g -O1 -w -o comm comm.c
seq 3 >numbers3
run test --budget 20s --campaign comm.c1 --function fgets --format json -- ./comm numbers3 numbers3
holds 'output where there should be none is a wrong result' json '[f["kind"] for f in o["findings"]] == ["silent"]'

# --- what was asked before ----------------------------------------------------------------------------------------------

cat >twice.c <<'END'
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
  if (!getpwnam("root")) return fprintf(stderr, "no user\n"), 1;
  if (!getenv("PATH")) return fprintf(stderr, "no path\n"), 1;
  printf("%s %zu\n", getpwnam("root")->pw_dir, strlen(getenv("PATH")));
  return fclose(stdout) ? 1 : 0;
}
END
cc -g -O1 -w -o twice twice.c
run test --budget 20s --format json --function getpwnam,getenv -- ./twice
holds 'what was found once can fail the second time for want of memory' json '
  [f["fault"]["function"] for f in o["findings"]] == ["getpwnam"]'

cat >astray.c <<'END'
#include <stdio.h>
#include <stdlib.h>
static void done(void) {}
static void (*f1)(void), (*f2)(void);
static void parse(void) { if (malloc(10)) f1 = done; f1(); puts("parsed"); }
static void save(void) { if (fopen("/etc/passwd", "r")) f2 = done; f2(); puts("saved"); }
int main(void) { parse(); save(); return fclose(stdout) ? 1 : 0; }
END
for level in 0 2; do
  cc -g -O$level -fno-inline -w -o astray astray.c
  run test --budget 20s --format json --function malloc,fopen -- ./astray
  holds "who called a null pointer is known, -O$level" json '
    sorted((f["fault"]["function"], *(s["symbol"] for s in f["crash_stack"][1:3])) for f in o["findings"])
    == [("fopen", "save", "main"), ("malloc", "parse", "main")]'
done
cat >nowhere.c <<'END'
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
static jmp_buf e;
static void a(void) { if (!malloc(10)) longjmp(e, 1); }
static void b(void) { if (!malloc(20)) longjmp(e, 1); }
static void c(void) { if (!malloc(30)) longjmp(e, 1); }
int main(void) { a(); b(); c(); if (setjmp(e)) return 1; puts("done"); return fclose(stdout) ? 1 : 0; }
END
cc -g -O2 -fno-inline -w -o nowhere nowhere.c
run test --budget 20s --format json --function malloc -- ./nowhere
holds 'what is outside of all modules is no frame, and no other cause' json '
  [[s["module"] for s in f["crash_stack"]] for f in o["findings"]] == [["libc.so.6"]]'

# --- without a sandbox --------------------------------------------------------------------------------------------------

run test --no-sandbox --budget 20s --format json -- ./prog
holds 'no sandbox: experiments are made' json 'o["experiments"] == o["planned"] > 0'
holds '... with a warning' grep -q 'there is no sandbox' err
run test --no-sandbox --budget 5runs -- sh -c 'touch here; setsid sleep 987654 & exit 0'
holds '... in the world as it is' test -e here
holds '... and nothing is left running' test -z "$(pgrep -f 'sleep 98765[4]')"
if unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces' 2>/dev/null; then
  last='murphy test where namespaces are refused'
  unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"' sh "$MURPHY" test --budget 1runs -- ./prog >out 2>err
  status=$?
  holds 'namespaces are refused: exit status 3' test $status = 3
  holds '... with what is missing and a way out' grep -q 'max_user_namespaces.*--no-sandbox' err
  unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"' sh "$MURPHY" test --no-sandbox --budget 3runs -- ./prog >out 2>err
  holds '... that can be gone' test $? = 0
else
  skip 'namespaces are refused' 'cannot be arranged here'
fi

# --- scripts ------------------------------------------------------------------------------------------------------------

seq 20 >lines
printf '#!/bin/sh\nn=0\nwhile read -r l; do n=$((n + 1)); done <lines\necho $n\n' >count.sh
chmod +x count.sh
run test --campaign script.c --budget 20s --function read --errno EIO -- ./count.sh
holds 'what the interpreter of a script does is told as that' grep -qE '^In calls of /.*, which runs the script' out
run report --campaign script.c --json
holds '... in JSON, too' grep -q '"interpreter":true' out
run test --campaign script.c2 --budget 20s --function read --errno EIO -- sh ./count.sh
holds '... but not if it is the command' test "$(grep -c 'In calls of' out)" = 0

# --- progress -----------------------------------------------------------------------------------------------------------

seq 2000 >numbers
seconds=10
[ -z "${MURPHY_SANITIZED:-}" ] || seconds=30
script -qec "'$MURPHY' test --jobs 1 --budget ${seconds}s --campaign p -- sh -c 'sleep 0.1; sleep 0.1'" /dev/null >typed 2>&1 </dev/null
holds 'a terminal shows how far it is' grep -qE $'\r[0-9]+ of [0-9]+ experiments, [0-9]+/s, [0-9]+ findings?, [0-9]+ s left' typed
holds '... and before, what it is doing' grep -qE $'\r[a-z ]+, [0-9]+ s' typed
script -qec "'$MURPHY' test --campaign p2 --timeout 2s -- sleep 5" /dev/null >typed 2>&1 </dev/null
holds '... which is gone when something else is said' grep -qE $'[a-z]+, [0-9]+ s.*\r\033\\[Kmurphy: the command does not end' typed
"$MURPHY" test --jobs 1 --budget 1runs --campaign p3 -- sh -c 'sleep 2' >out 2>err </dev/null
holds 'a log is told what it is doing, too, if that takes long' grep -qE '^murphy: [a-z ]+, [0-9]+ s$' err
run test --jobs 1 --budget 3s --campaign q -- sort numbers
holds 'elsewhere short work is silent' test "$(grep -cvE '^murphy: [a-z ]+, [0-9]+ s$' err)" = 0
finish
