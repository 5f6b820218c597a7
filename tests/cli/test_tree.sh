#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# murphy test on commands that start others, and with faults that are no errors.
. "$(dirname "$0")/tap.sh"

needs_sandbox

# found EXPRESSION: does it hold of the findings, f?
found() { python3 -c 'import json, sys; f = json.load(open("out"))["findings"]; sys.exit(not eval(sys.argv[1]))' "$1"; }

# --- programs that it starts --------------------------------------------------------------------------------------------

cat >child.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int n, char **v) {
  char *p = malloc(100);
  strcpy(p, n > 1 ? v[1] : "x");
  return puts(p) < 0 || fflush(stdout) != 0;
}
END
cc -g -O1 -w -o child child.c
printf '#!/bin/sh\n./child a\n./child b | ./child c\nexit 0\n' >script
chmod +x script
run test --function malloc --from child --format json -- ./script
holds 'a crash of a program that a script starts is found' found 'len(f) == 1 and f[0]["kind"] == "crash"'
holds '... with the signal that nobody else has seen' found 'f[0]["signal"] == "SIGSEGV"'
holds '... and the program, the line and both stacks' found \
  'f[0]["site"]["line"] == 5 and f[0]["site"]["module"] == "child" and len(f[0]["crash_stack"]) > 1'
holds '... in three processes, which are told apart' python3 -c '
import json; r = json.load(open("out")); assert r["points"] == 3 and r["outcomes"] == {"crash": r["experiments"]}'
run replay 1
holds '... and is repeated' test "$status" = 1
holds '... by its name' grep -q '^murphy: crash (SIGSEGV): it came again$' err
if command -v gdb >/dev/null; then
  run replay 1 --gdb -- -batch -ex bt
  holds '... in gdb, which stops in the process that it is about' grep -q 'in main (.*child.c:5$' out
fi
run verify
holds '... and verified' grep -q 'still there (crash)$' out
# With sanitizers the rest is the same again, slower.
[ -z "${MURPHY_SANITIZED:-}" ] || finish
run test --no-follow --function malloc --budget 20runs --format json -- ./script
holds '--no-follow stays with the shell' found 'not f'

cat >shell.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  if (system("./child a > one && ./child b > two") == 0) return 0;
  fputs("no luck\n", stderr);
  return 1;
}
END
cc -g -O1 -w -o shell shell.c
run test --budget 200runs -- ./shell
holds 'the shell that a program starts is not blamed on it' grep -q "^not tested, as they are the system's: /[a-z/]*sh (" out
holds '... but what the shell starts is' grep -q '^finding 1: crash .* when malloc' out
holds '... and nothing else' test "$(grep -c ^finding out)" = 1
run test --follow --function close --budget 2runs -- ./shell
holds '--follow tests it too' grep -q '^programs that it starts are tested with it: .*sh' out

if cc -static -w -o still child.c 2>/dev/null; then
  run test --budget 5runs -- sh -c './still; ./child; exit 0'
  holds 'programs are named that are tested too' grep -q '^programs that it starts are tested with it: .*/child (' out
  holds '... and those that are not' grep -q '^not tested: .*/still (statically linked)' out
fi
run test --budget 5runs -- sh -c 'cp child made; ./made; exit 0'
holds 'a program that the command makes is not tested' grep -q 'made by the command itself' out

cat >forks.c <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
  for (int i = 0; i < 2; i++)
    if (fork() == 0) {
      char *p = malloc(10);
      if (i) p[0] = 1;
      _exit(0);
    }
  while (wait(NULL) > 0) {
  }
  return 0;
}
END
cc -g -O0 -w -o forks forks.c
run test --function malloc --format json -- ./forks
holds 'a child that crashes is found, though nobody looks' found 'len(f) == 1 and f[0]["kind"] == "crash"'

# --- libraries that it opens ---------------------------------------------------------------------------------------------

cat >plugin.c <<'END'
#include <stdlib.h>
#include <string.h>
char *copy_of(const char *s) { return strcpy(malloc(strlen(s) + 1), s); }
END
cat >host.c <<'END'
#include <dlfcn.h>
int main(void) {
  void *h = dlopen("./plugin.so", RTLD_NOW);
  char *(*copy_of)(const char *) = h ? (char *(*)(const char *))dlsym(h, "copy_of") : 0;
  return !copy_of || copy_of("text")[0] != 't' || dlclose(h);
}
END
cc -g -O1 -w -shared -fPIC -o plugin.so plugin.c
cc -g -O1 -w -o host host.c
run test -- ./host
holds 'a library that it opens is tested with it' grep -q '^finding 1: crash .* when malloc' out
holds '... and named' grep -q '^libraries that it opens are tested with it: /.*/plugin.so$' out
run verify
holds '... and verified, though the program itself never calls it' grep -q 'still there (crash)$' out
for narrow in '--function malloc' '--from plugin.so' '--only-site plugin.c:3'; do
  run test $narrow -- ./host
  holds "... and found with $narrow" grep -q '^finding 1: crash .* when malloc' out
done
run test --from host -- ./host
holds '... and not with another --from' test "$status" = 0

cat >self.c <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int n, char **v) {
  if (n > 1) return *(char *)malloc(10) = 0;
  if (fork() == 0) execl("/proc/self/exe", v[0], "again", (char *)0);
  return wait(NULL) < 0;
}
END
cc -g -O0 -w -fno-builtin -o self self.c
run test --function malloc --format json -- ./self
holds 'a program that starts itself' found 'len(f) == 1 and f[0]["kind"] == "crash"'

cat >exec.c <<'END'
#include <time.h>
#include <unistd.h>
int main(int n, char **v) {
  struct timespec t;
  if (n > 1) {
    clock_gettime(CLOCK_MONOTONIC, &t);
    for (long i = t.tv_nsec / 1000 % 5; i > 0; i--)
      if (fork() == 0) _exit(0);
    _exit(0);
  }
  if (fork() == 0) execl("/proc/self/exe", v[0], "some", (char *)0);
  usleep(30000);
  execl("./child", "child", (char *)0);
  return 1;
}
END
cc -g -O0 -w -o exec exec.c
run test --function malloc --from child --format json -- ./exec
holds 'the first process stays itself, whatever others do meanwhile' found 'len(f) == 1 and f[0]["kind"] == "crash"'

cat >spawn.c <<'END'
#include <spawn.h>
#include <sys/wait.h>
extern char **environ;
int main(void) {
  char *a[] = {"child", (char *)0};
  pid_t pid;
  if (posix_spawn(&pid, "./child", 0, 0, a, environ) || posix_spawn(&pid, "./twin", 0, 0, a, environ)) return 1;
  while (wait((int *)0) > 0) {
  }
  return 0;
}
END
cc -g -O0 -w -o spawn spawn.c
cp child twin
run test --function malloc --from child,twin --format json -- ./spawn
holds 'programs that are started at the same time' python3 -c '
import json; r = json.load(open("out")); assert r["points"] == 2 and r["outcomes"] == {"crash": r["experiments"]}'

if cc -fsanitize=address -w -o asan forks.c 2>/dev/null && ./asan; then
  run test --budget 5runs --function wait -- ./asan
  holds 'a program with a sanitizer may start processes, too' test "$status" != 3
fi

# --- faults that are no errors ------------------------------------------------------------------------------------------

cat >part.c <<'END'
#include <fcntl.h>
#include <unistd.h>
int main(void) {
  char b[100] = "data";
  int fd = open("written", O_CREAT | O_WRONLY | O_TRUNC, 0644);
  if (fd < 0) return 1;
#ifdef FIXED
  for (size_t n = 0; n < sizeof b;) {
    ssize_t k = write(fd, b + n, sizeof b - n);
    if (k < 0) return 1;
    n += (size_t)k;
  }
#else
  if (write(fd, b, sizeof b) < 0) return 1;
#endif
  return close(fd) < 0;
}
END
cc -g -w -o part part.c
cc -g -w -DFIXED -o part-fixed part.c
run test --function write --format json -- ./part
holds 'a write that does only a part' found \
  'len(f) == 1 and f[0]["kind"] == "silent" and f[0]["fault"]["act"] == "short"'
run replay 1
holds '... is repeated' grep -q '^murphy: silent: it came again$' err
run report
holds '... and told' grep -q 'when write does only 1 byte of what it is asked for' out
run test --function write --format json -- ./part-fixed
holds '... and is nothing for who goes on with the rest' found 'not f'

echo 'int main() { char *p = 0; try { p = new char[10]; } catch (...) { } return p[0] = 0; }' >new.cc
if ${CXX:-c++} -g -O0 -o new new.cc 2>/dev/null; then
  run test --function _Znam --format json -- ./new
  holds 'operator new throws' found 'len(f) == 1 and f[0]["kind"] == "crash" and f[0]["fault"]["act"] == "throw"'
  run replay 1
  holds '... and does so again' test "$status" = 1
fi

# --- input --------------------------------------------------------------------------------------------------------------

cat >copy.c <<'END'
#include <stdio.h>
int main(void) {
  char line[100];
  FILE *f = fopen("copy.c", "r");
  if (!f) return 1;
  while (fgets(line, sizeof line, f))
    if (fputs(line, stdout) < 0) return 1;
#ifdef FIXED
  if (ferror(f)) return 1;
#endif
  return fflush(stdout) != 0;
}
END
cc -g -w -o copy copy.c
cc -g -w -DFIXED -o copy-fixed copy.c
run test --function fgets --format json -- ./copy
holds 'an error that is taken for the end of the file' found 'len(f) == 1 and f[0]["kind"] == "silent"'
run test --function fgets --format json -- ./copy-fixed
holds '... and one that is not' found 'not f'

printf '#include <stdio.h>\nint main(void) { int c = getchar(); putchar(c == EOF ? 48 : c); return fflush(stdout); }\n' >first.c
cc -w -o first first.c
echo 7 >seven
holds 'standard input that is a file is given to the command' \
  "$MURPHY" test --budget 1runs -- sh -c 'test "$(./first)" = 7' <seven
cat seven | "$MURPHY" test --budget 1runs -- sh -c 'test "$(./first)" = 0' >out 2>err
holds '... and one that is a pipe is not' test $? = 0
run test --budget 20runs -- ./copy-fixed
holds 'a variable that is imported, as stdout, is not taken for a function' sh -c '! grep -q note: err'
finish
