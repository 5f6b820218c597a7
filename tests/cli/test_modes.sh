#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How murphy test makes its experiments: by branches or the fork server where that is sound, else by exec, with the reason.
. "$(dirname "$0")/tap.sh"
[ -z "${MURPHY_AGAIN:-}" ] || plan_skip 'was run with the other compiler'

needs_sandbox

cat >program.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  void *p = malloc(10);
  puts(p ? "good" : "bad");
  free(p);
  return 0;
}
END
cat >library.c <<'END'
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <unistd.h>
char locked[8192] __attribute__((aligned(4096)));
static void *wait_for_ever(void *p) { for (;;) pause(); return p; }
__attribute__((constructor)) static void start(void) {
  pthread_t t;
  struct itimerval timer = {.it_value = {.tv_sec = 1000}};
  (void)t, (void)timer;
#if defined FILES
  open("/dev/null", O_RDONLY);
#elif defined THREADS
  pthread_create(&t, NULL, wait_for_ever, NULL);
#elif defined CHILDREN
  if (fork() == 0) wait_for_ever(NULL);
#elif defined MEMORY
  mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
#elif defined TIMERS
  setitimer(ITIMER_REAL, &timer, NULL);
#elif defined OUTPUT
  write(1, "hello\n", 6);
#elif defined CHANGES
  close(creat("changed", 0644));
#elif defined LOCKED
  mlock(locked, sizeof locked);
#elif defined LOCKED_ALL
  mlockall(MCL_CURRENT);
#elif defined DISPATCHED
  prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0);
#elif defined CALLS
  free(malloc(3));
#endif
}
END

# modes KIND: how many experiments were made so.
modes() { python3 -c 'import json, sys; print(json.load(open("out"))["modes"][sys.argv[1]])' "$1"; }

cc -o program program.c
run test --budget 20runs --format json -- ./program
holds 'a plain program is not started anew' test "$(modes exec)" = 0 -a "$(($(modes fork) + $(modes branch)))" -gt 0
mkdir listed
for i in $(seq 12); do mkdir listed/$i; done
run test --budget 200runs --format json -- ls -l listed
holds 'what changes no files is made by branches' test "$(modes branch)" -gt 100 -a "$(modes exec)" = 0

cat >crash.c <<'END'
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
int main(void) {
  struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *found = NULL;
  (void)getaddrinfo("127.0.0.1", "80", &hints, &found);
  return printf("%d\n", found->ai_family) < 0;
}
END
cc -o crash crash.c
run test --format json -- ./crash
holds 'after a crash branches go on' test "$(modes branch)" -gt 90 -a "$(modes fork)" -lt 10

# What a child has used of processors is little, and /proc tells it: nothing without a fault shows that. So one in fifty
# is made from the start, too.
cat >young.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* Ticks in user mode and in the kernel, as /proc/self/stat has them. */
static int ticks(void) {
  char text[512] = "", *at;
  int n = 0, fd = open("/proc/self/stat", O_RDONLY);
  if (fd < 0 || read(fd, text, sizeof text - 1) <= 0 || close(fd) < 0 || !(at = strrchr(text, ')'))) return 99;
  for (; n < 12; n++)
    at = strchr(at + 1, ' ');
  return atoi(at) + atoi(strchr(at + 1, ' '));
}
int main(void) {
  while (ticks() < 3) {
  }
  for (const char *name = "ab"; *name; name++) {
    const char path[] = {'/', 'd', 'e', 'v', '/', 'n', 'u', 'l', 'l', 0};
    char *memory = malloc((size_t)*name);
    int fd = *name % 2 ? openat(AT_FDCWD, path, O_RDONLY) : openat(AT_FDCWD, path, O_RDWR);
    if (!memory || fd < 0) return ticks() < 3 ? 3 : 4;
    free(memory);
  }
  return 0;
}
END
cc -o young young.c
run test --budget 40runs --function malloc,openat --format json --jobs 1 -- ./young
holds 'a branch that comes out otherwise ends branches' \
  grep -q 'a branch was not what a run from the start is: it ended with status 0x300, not 0x400' out
holds 'and what it is told of is made again' test "$(modes branch)" = 0 -a "$(modes fork)" = 40

# A message that has the time in it is another one in a run that is made later, which is no difference of the ways.
cat >dated.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static int try(int flags) {
  int fd = open("/dev/null", flags);
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  if (fd < 0) fprintf(stderr, "%ld: cannot open\n", (long)t.tv_sec * 10 + t.tv_nsec / 100000000);
  return fd >= 0 && close(fd) < 0 ? -1 : fd;
}
int main(void) { return (try(O_RDONLY) < 0) | (try(O_WRONLY) < 0) << 1 | (try(O_RDWR) < 0) << 2; }
END
cc -o dated dated.c
run test --budget 120runs --function open --format json --jobs 1 -- ./dated
holds 'the time of day in a message is no difference' test "$(modes branch)" -gt 30
holds '... and is not called one' sh -c '! grep -q "not what a run" out'

# But other numbers in other lines are.
cat >said.h <<'END'
#include <stdio.h>
#include <time.h>
#define SAID (fprintf(stderr, "young: %d\nat %ld\n", ticks() < 3, (long)time(NULL)) < 0 ? 2 : 1)
END
sed 's/return ticks() < 3 ? 3 : 4;/return SAID;/' young.c >both.c
cc -include ./said.h -o both both.c
run test --campaign both1 --budget 40runs --function malloc,openat --format json --jobs 1 -- ./both
holds 'a number in another line is one' grep -q 'a branch was not what a run from the start is' out

# Files that were there before have their numbers in branches too, once they are written.
cat >numbers.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
int main(void) {
  struct stat other, before, now;
  if (stat("old1", &other) != 0 || stat("old2", &before) != 0) return 2;
  FILE *f = fopen("old2", "a");
  if (!f || fputs("more\n", f) < 0 || fclose(f) != 0) return 3;
  char *p = malloc(100);
  if (!p && stat("old2", &now) == 0 && now.st_ino != before.st_ino) {
    fputs("moved\n", stderr);
    return 1;
  }
  p[0] = 1;
  return 0;
}
END
cc -o numbers numbers.c
echo one >old1
echo two >old2
for try in 1 2 3; do # a child that is born late is left to others
  run test --campaign "numbers0.$try" --function malloc --format json -- ./numbers
  [ "$(modes branch)" = 0 ] || break
done
holds 'a file that is written later is the same file' grep -q '"crash":' out
holds '... by a branch' test "$(modes branch)" -gt 0

# with WHAT REASON: the program needs a library whose constructor does something.
with() {
  cc -shared -fPIC -w -D"$1" -o "lib$1.so" library.c -lpthread
  cc -o "with-$1" program.c -L. -Wl,--no-as-needed "-l$1" -Wl,-rpath,"$PWD"
  run test --budget 20runs --function malloc --format json -- "./with-$1"
  holds "$1: is not forked" test "$(modes fork)" = 0 -a "$(modes branch)" = 0 -a "$(modes exec)" -gt 0
  holds "$1: and why" test "$(modes why)" = "constructors of libraries $2"
}
with FILES 'keep files open'
with THREADS 'start threads'
with MEMORY 'share memory'
with TIMERS 'start timers'
with OUTPUT write
with CHANGES write
with CALLS 'make calls that are tested'
with LOCKED 'make namespaces or settings that no copy has'
with LOCKED_ALL 'make namespaces or settings that no copy has'
with DISPATCHED 'filter system calls'

# What fork(2) does not hand on, and a child can be given: PR_SET_CHILD_SUBREAPER and PR_SET_PDEATHSIG.
cat >controls.c <<'END'
#include <sys/prctl.h>
__attribute__((constructor)) static void start(void) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_PDEATHSIG, 10);
}
END
cat >controlled.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
int main(void) {
  int reaper = 0, death = 0;
  prctl(PR_GET_CHILD_SUBREAPER, &reaper);
  prctl(PR_GET_PDEATHSIG, &death);
  if (reaper != 1 || death != 10) abort();
  char *p = malloc(10);
  printf("%d %d\n", reaper, death);
  free(p);
  return 0;
}
END
cc -shared -fPIC -o libcontrols.so controls.c
cc -o controlled controlled.c -L. -Wl,--no-as-needed -lcontrols -Wl,-rpath,"$PWD"
run test --budget 20runs --function malloc --format json -- ./controlled
holds 'settings of constructors are those of forks' test "$(modes exec)" = 0
holds '... which do not end otherwise' sh -c '! grep -q "SIGABRT\|did not look" out'

# What nobody has thought of: a fork that does not look as the baseline without a fault is made no more.
cat >born.c <<'END'
#include <unistd.h>
static long number;
__attribute__((constructor)) static void start(void) { number = getpid(); }
int is_born(void) { return number == getpid(); }
END
cat >counts.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int is_born(void);
int main(void) {
  puts(is_born() ? "born here" : "born elsewhere");
  char *p = malloc(10);
  free(p);
  return p ? 0 : 1;
}
END
cc -shared -fPIC -o libborn.so born.c
cc -o counts counts.c -L. -Wl,--no-as-needed -lborn -Wl,-rpath,"$PWD"
run test --budget 20runs --function malloc --format json -- ./counts
holds 'forks that are not as the baseline are not made' test "$(modes fork)" = 0 -a "$(modes exec)" -gt 0
holds '... and why' grep -q 'without faults, it did not look as in the baseline' out

cc -shared -fPIC -w -DCHILDREN -o libCHILDREN.so library.c -lpthread
cc -o with-CHILDREN program.c -L. -Wl,--no-as-needed -lCHILDREN -Wl,-rpath,"$PWD"
run test --budget 20runs --function malloc --format json -- ./with-CHILDREN
holds 'what starts processes is started anew' test "$(modes fork)" = 0 -a "$(modes branch)" = 0
holds '... and why' test "$(modes why)" = 'it starts processes, and is watched with all of them'

# --- the reason that is told ---------------------------------------------------------------------------------------------

cat >reasons.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *wait_here(void *p) { pause(); return p; }
int main(void) {
  pthread_t t;
  *(char *)malloc(10) = 1;
  if (pthread_create(&t, NULL, wait_here, NULL)) return 1;
  for (int i = 0; i < 20; i++) {
    char *p = malloc(20);
    if (!p) return 2;
    free(p);
  }
  return 0;
}
END
cc -w -o reasons reasons.c -lpthread
for try in 1 2; do # on a busy machine the run that others branch from may be ended before
  run test --campaign "reasons1.$try" --function malloc --format json -- ./reasons
  [ "$(modes why_fork)" != 'other threads run' ] || break
done
holds 'of several reasons, that of the most experiments is told' test "$(modes why_fork)" = 'other threads run'
run test --campaign reasons2 --budget 2runs --function malloc --format json -- ./reasons
run test --campaign reasons2 --resume --format json
holds '... in a campaign that goes on, too' test "$(modes why_fork)" = 'other threads run'
holds '... where all of them were counted' python3 -c '
import sqlite3, sys
rows = sqlite3.connect("reasons2/campaign.db").execute("SELECT value FROM fact WHERE name GLOB \"why_fork: *\"")
sys.exit(sum(int(r[0]) for r in rows) != int(sys.argv[1]))' "$(modes fork)"

# What is open is named, if it is known.
cc -w -O1 -fno-builtin -o descriptors "$(dirname "$0")/../equivalence/programs/descriptors.c"
cat >kinds.expected <<'END'
epoll is used
files are open that a fork would share
files are open that have no name
inotify, eventfd or the like is used
io_uring is used
pipes are open
sockets are open
timers run
END
python3 -c '
import ctypes, sys
sys.exit(ctypes.CDLL(None).syscall(425, 1, ctypes.create_string_buffer(120)) < 0)' || sed -i /io_uring/d kinds.expected
for try in 1 2; do # as above
  run test --campaign "descriptors$try" --function malloc -- ./descriptors
  python3 -c '
import sqlite3, sys
facts = sqlite3.connect(sys.argv[1]).execute("SELECT name FROM fact WHERE name GLOB \"why_fork: *\"")
print("\n".join(sorted(name[len("why_fork: "):] for name, in facts)))' "descriptors$try/campaign.db" >kinds
  LC_ALL=C comm -13 kinds kinds.expected >absent
  [ -s absent ] || break
done
holds 'each kind of open file is a reason of its own' test ! -s absent

# Which of its calls it makes is drawn for each program that is started: some of those that were recorded never come.
cat >drawn.c <<'END'
#include <stdlib.h>
#include <sys/auxv.h>
#define SOME(n) static __attribute__((noinline)) void call##n(void) { free(calloc(1, n + 10)); }
#define EIGHT(do, n) do(n##0) do(n##1) do(n##2) do(n##3) do(n##4) do(n##5) do(n##6) do(n##7)
#define EACH(do) EIGHT(do, 0) EIGHT(do, 01) EIGHT(do, 02) EIGHT(do, 03) EIGHT(do, 04) EIGHT(do, 05) EIGHT(do, 06) \
  EIGHT(do, 07)
EACH(SOME)
#define MADE(n) if (bits >> n & 1) call##n();
int main(void) {
  unsigned long bits = *(unsigned long *)getauxval(AT_RANDOM);
  EACH(MADE)
  return 0;
}
END
cc -w -O1 -fno-builtin -o drawn drawn.c
run test --campaign drawn1 --function calloc --format json -- ./drawn
holds 'a call that does not come is the reason why there was no branch' \
  test "$(modes why_fork)" = 'the program that others branch from did not make the call'

# An overlay counts its folders from its mount on, and who shows their numbers must not see that it is the same one.
cat >numbers.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
int main(void) {
  struct stat st;
  char *p = malloc(10);
  if (!p || mkdir("made", 0700) || open("made/file", O_WRONLY | O_CREAT, 0600) < 0 || stat("made", &st)) return 1;
  printf("%ld\n", (long)st.st_ino);
  return 0;
}
END
cc -w -o /var/tmp/numbers-$$ numbers.c # where no run changes anything, so that its overlay is not in use elsewhere
run test --campaign numbers --function malloc -- /var/tmp/numbers-$$
rm -f /var/tmp/numbers-$$
holds 'numbers of folders are the same in each run' sh -c '! grep -q "varies from run to run" out err'

# Not with sanitizers: there the numbers vary, and why is not known. Nor where murphy itself lies below the same folder, and
# so is looked for in the same overlay by each run.
[ -z "${MURPHY_SANITIZED:-}" ] || { finish; exit; }
[ "$MURPHY" = "${MURPHY#"${work%/*}"/}" ] || { finish; exit; }

# ... nor where nobody writes but when something fails, so that the runs without faults show nothing of it.
cat >log.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
static void attempt(size_t n) {
  char *p = malloc(n);
  int fd = p ? -1 : open("error.log", O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (fd >= 0) close(fd);
  free(p);
}
int main(void) {
  struct stat st;
  int ends[2];
  if (pipe(ends)) return 1; /* no branches */
  attempt(100000);
  attempt(100001);
  if (lstat("folder", &st)) return 1;
  for (int i = 0; i < 8; i++) putchar('a' + st.st_ino % 26);
  puts("");
  return 0;
}
END
mkdir -p folder
cc -w -o /var/tmp/log-$$ log.c
steady_run() { # steady_run NAME: on a busy machine, more than once
  local try
  for try in 1 2 3; do
    run test --campaign "$1.$try" --function malloc -- "/var/tmp/$1-$$"
    grep -q 'different by itself' out err || break
  done
}
steady_run log
rm -f /var/tmp/log-$$
holds 'what only faults write changes no numbers' grep -q 'error.log: should not be there' out
holds '... and no run is different by itself' sh -c '! grep -q "different by itself" out err'

# ... nor where what was made is gone again at the end.
cat >gone.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void) {
  struct stat st;
  char *p = malloc(100000);
  if (!p) return 0;
  if (mkdir("work", 0700) || stat("work", &st) || rmdir("work")) return 1;
  for (int i = 0; i < 8; i++) putchar('a' + st.st_ino % 26);
  puts("");
  return 0;
}
END
cc -w -o /var/tmp/gone-$$ gone.c
steady_run gone
rm -f /var/tmp/gone-$$
holds 'a folder that is made and removed has the same number' grep -q '^1 finding' out
finish
