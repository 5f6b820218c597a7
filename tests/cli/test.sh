#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# murphy test on small programs and on those of the system: what is found, what is not, and what is refused.
. "$(dirname "$0")/tap.sh"
[ -z "${MURPHY_AGAIN:-}" ] || plan_skip 'was run with the other compiler'

needs_sandbox

# --- what stands for a finding was repeated --------------------------------------------------------------------------------

cat >stands.c <<'END'
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {
  int fd = open("/etc/hostname", O_RDONLY);
  if (fd < 0) abort();
  return close(fd) < 0;
}
END
cc -g -O1 -w -o stands stands.c
run test --campaign stands1 --function open --format json -- ./stands
holds 'what stands for a finding comes once, and was repeated' python3 -c '
import sqlite3, sys
rows = sqlite3.connect("stands1/campaign.db").execute(
    "SELECT x.precision, f.precision FROM finding f JOIN experiment x ON x.id = f.experiment WHERE NOT x.onwards").fetchall()
sys.exit(not rows or any(a != b for a, b in rows))'

# --- how many causes there are ------------------------------------------------------------------------------------------

cat >causes.c <<'END'
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char **names;
static void forget(void) { names[0] = NULL; }
static void cleanup(int status) { forget(); exit(status); }
static void give_up(const char *why) { fprintf(stderr, "%s\n", why); cleanup(2); }
static void no_memory(void) { give_up("no memory"); }
int main(void) {
  char *one = strdup("one");
  assert(one);
  char *two = strdup("two");
  assert(two);
  char *early = malloc(3), *late = malloc(5);
  if (!early) no_memory();
  if (!late) no_memory();
  names = calloc(1, sizeof *names);
  if (!names) return 1;
  return 0;
}
END
cc -g -O0 -w -o causes causes.c
run test --budget 20s --format json -- ./causes
holds 'two assertions in one function are two findings, and a cleanup that crashes is one' python3 -c '
import json, sys
found = [f["kind"] for f in json.load(open("out"))["findings"]]
sys.exit(sorted(found) != ["abort", "abort", "crash"])'

cat >thrown.cc <<'END'
#include <cstdio>
static char *one() { return new char[10]; }
static char *two() { return new char[20]; }
int main() {
  static char buffer[BUFSIZ];
  setbuf(stderr, buffer); // what is said before abort(3) stays in there
  char *a = one(), *b = two(), *c = new char[30];
  a[0] = b[0] = c[0] = 1;
  delete[] a;
  delete[] b;
  delete[] c;
  return 0;
}
END
c++ -g -O0 -w -o thrown thrown.cc
run test --campaign thrown.c --budget 20s --function _Znam --format json -- ./thrown
holds 'exceptions that nobody catches are one finding, wherever they are thrown' python3 -c '
import json, sys
sys.exit([(f["kind"], f["count"]) for f in json.load(open("out"))["findings"]] != [("abort", 6)])'

run test --campaign thrown.named --budget 5runs --function 'operator new[]' -- ./thrown
holds 'functions of C++ may be named as the source does' test "$status" = 1
holds '... are called so in reports' grep -q 'abort (SIGABRT) when operator new\[\] throws std::bad_alloc' out
holds '... and not by symbols' bash -c '! grep -q "_Zn\|_ZS" out'
for format in html junit; do
  run report --campaign thrown.named --format $format
  holds "... in $format, too" bash -c 'grep -q "operator new\[\]" out && ! grep -q "_Zn" out'
done
run report --campaign thrown.named --format json
holds '... but scripts read the symbol' grep -q '"function":"_Znam"' out

cat >optional.cc <<'END'
#include <cstdio>
#include <memory>
#include <new>
#include <vector>
static int load_cache() {
  try {
    std::vector<char> v(1 << 20);
    v[5] = 1;
    return v[5] - 1;
  } catch (const std::bad_alloc &) {
    std::fprintf(stderr, "cache: too large\n");
    return 3;
  }
}
int main() {
  if (int r = load_cache()) return r;
  std::unique_ptr<int[]> p(new int[100]);
  p[0] = 1;
  std::printf("%d\n", p[0]);
  return std::fclose(stdout) ? 1 : 0;
}
END
c++ -g -O1 -w -o optional optional.cc
run test --campaign optional.c --budget 20s --function 'operator new,operator new[]' -- ./optional
holds 'who catches bad_alloc in one place may give up by it in another' test "$status" = 0

# --- folders of others --------------------------------------------------------------------------------------------------

as_other() { (cd shared && HOME=$PWD/../home setpriv --reuid 1000 --regid 1000 --clear-groups "$@" >../out 2>../err); }
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
  skip 'folders of others' 'only root can make them'
elif chmod 755 . && mkdir -p home shared/below && ! as_other test -x "$MURPHY"; then
  skip 'folders of others' 'others cannot start murphy here'
elif chown 1000:1000 home && chmod 777 shared shared/below && echo text >shared/file && chmod 666 shared/file &&
  ! as_other unshare -Ur true; then
  skip 'folders of others' 'others may not have namespaces'
else
  last='murphy test as another user'
  as_other "$MURPHY" test --campaign ../home/new --budget 5runs -- touch new below/new
  holds 'files can be made in folders of others that can be written to' grep -q 'of [0-9]* experiments' out
  holds '... and are not there outside' test ! -e shared/new -a ! -e shared/below/new
  as_other "$MURPHY" test --campaign ../home/old --budget 5runs -- sh -c 'echo more >>file'
  holds 'files of others that cannot be changed are named as the reason' grep -q 'files of other users, or of groups' err
  echo text >shared/mine && chown 1000:1001 shared/mine && chmod 664 shared/mine
  (cd shared && HOME=$PWD/../home setpriv --reuid 1000 --regid 1000 --groups 1001 \
    "$MURPHY" test --campaign ../home/mine --budget 5runs -- sh -c 'echo more >>mine' >../out 2>../err)
  holds '... and files of another group of the user are' grep -q "of groups other than the user's first" err
fi

# --- what a stream is ---------------------------------------------------------------------------------------------------

cat >stream.c <<'END'
#include <stdio.h>
int main(void) {
  FILE *f = fopen("stream.out", "w");
  if (!f) return 1;
  if (fputs("text\n", f) < 0) return 2;
  return fclose(f) ? 3 : 0;
}
END
cc -g -O0 -w -o stream stream.c
run test --campaign streams --budget 20s --function fclose -- ./stream
holds 'a file is not closed with the errors of pipes' python3 -c '
import errno, sqlite3, sys
rows = sqlite3.connect("streams/campaign.db").execute("SELECT DISTINCT errno FROM experiment")
sys.exit({r[0] for r in rows} != {errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EFBIG})'

# --- what is left -------------------------------------------------------------------------------------------------------

cat >removes.c <<'END'
#include <fcntl.h>
#include <unistd.h>
int main(int n, char **args) {
  int fd = open("scratch", O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) return 1;
  unlink(n > 1 ? args[1] : "scratch");
  if (n > 1) return unlink("scratch") != 0;
  return 0;
}
END
cc -g -O0 -w -o removes removes.c
run test --campaign left1 --budget 20s --function unlink -- ./removes
holds 'a file of its own that cannot be removed is not held against a program' test "$status" = 0
echo text >old
run test --campaign left2 --budget 20s --function unlink -- ./removes old
holds 'one that was there before, and stays, is' grep -q '^finding 1: silent when unlink returns -1' out
holds '... as it should be deleted' grep -q 'old: not deleted' out

# --- programs of the system ---------------------------------------------------------------------------------------------

seq 300 >numbers
run test --budget 200runs -- sort -r numbers
holds 'sort survives' test "$status" = 0
holds '... with all experiments counted' grep -qE '^0 findings; [0-9]+ of [0-9]+ experiments at [0-9]+ places' out

mkdir empty
run test --budget 20runs --campaign c -- sh -c 'rm -rf numbers empty; echo x > new'
holds 'nothing outside is changed' test -e numbers -a -d empty -a ! -e new

# --- what cannot be tested ----------------------------------------------------------------------------------------------

run test -- ./nothing-here
holds 'no such program' test "$status" = 2
echo text >plain
run test -- ./plain
refused 'not executable' 'is not executable'
refuses() { # refuses NAME TEXT COMMAND...: exit status 3, with TEXT in the message
  local name=$1 text=$2
  shift 2
  run test --timeout 1s -- "$@"
  holds "$name" test "$status" = 3
  # On a slow machine it says before what it is doing.
  holds '... is said in one line' test "$(grep -cvE '^murphy: [a-z ]+, [0-9]+ s$' err)" = 1
  holds '... and why' grep -qF -- "$text" err
}
refuses 'a baseline that crashes' 'ends with SIGSEGV' sh -c 'kill -SEGV $$'
refuses 'a baseline that fails' 'exit status 7 without any fault (if it should' sh -c 'echo first >&2; exit 7'
holds '... with what it says' grep -q 'it says: first' err
refuses 'a baseline that wants a terminal' 'wants a terminal' sh -c 'read x </dev/tty || exit 1'
refuses 'a baseline that needs a display' 'needs a display' sh -c 'echo "cannot open display: :0" >&2; exit 1'
refuses 'a baseline that cannot set up its terminal' 'wants a terminal' sh -c 'echo "top: failed tty get" >&2; exit 1'
refuses 'a baseline that needs a network' '(it wants a network, and the sandbox has none but loopback: --no-sandbox has)' \
  sh -c 'echo "curl: (6) Could not resolve host: example.com" >&2; exit 6'
run test --no-sandbox -- sh -c 'echo "connect: Network is unreachable" >&2; exit 1'
holds '... which is not to blame where there is no sandbox' grep -qF 'any fault (if it should' err
refuses 'a baseline that does not end' 'does not end within 1 s' sleep 100
refuses 'a baseline that writes without end' 'writes without end' cat /dev/zero
holds '... names the limit' grep -q 'more than 256 MiB' err
refuses 'a shell that says so of another one' 'more than 256 MiB' sh -c 'cat /dev/zero; exit $?'
refuses '... and not whatever ends with that number' 'fails with exit status 153' sh -c 'exit 153'
cat >endless.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {
  static char block[1 << 20];
  int fd = open("out.bin", O_CREAT | O_WRONLY | O_TRUNC, 0600);
  char *p = malloc(10);
  if (fd < 0) return 1;
  do
    if (write(fd, block, sizeof block) < 0) return 1;
  while (!p);
  return close(fd) < 0;
}
END
cc -g -O0 -w -o endless endless.c
run test --campaign endless.c1 --function malloc -- ./endless
holds 'a fault that makes a command write without end' grep -q '^finding 1: hang when malloc' out
holds '... the limit that ended it is told' grep -q 'how it ended: it wrote until a file had 256 MiB' out
refuses 'a baseline that varies' 'does not do the same twice' sh -c 'head -c 30 /dev/urandom | base64'
run test --budget 1runs -- sh -c 'echo $$ 0x$(date +%N) at $(date); mktemp'
holds 'times, addresses and temporary names are masked' test "$status" -le 1
run test --budget sometime -- true
holds 'a budget that is none' test "$status" = 2
run test --budget 0.5s -- true
refused '... or less than a second: what else may be said' '(as in 90s, 5m or 500runs)'

# --- standard input -----------------------------------------------------------------------------------------------------

seq 20 | "$MURPHY" test --campaign input1 --budget 1runs -- wc -l >out 2>err
holds 'input that comes through a pipe is not given to the command, which is told' grep -qF -- '--input FILE' err
true | "$MURPHY" test --campaign input2 --budget 1runs -- wc -l >out 2>err
holds '... but not if nothing comes' test -z "$(grep -F -- --input err)"
seq 20 | "$MURPHY" test --campaign input3 --budget 1runs --input plain -- wc -l >out 2>err
holds '... nor if it is given another one' test -z "$(grep -F -- --input err)"

run test
holds 'no command' test "$status" = 2
finish
