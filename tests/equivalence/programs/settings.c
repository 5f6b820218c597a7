/* SPDX-License-Identifier: Apache-2.0 */
/* All that a process can set of itself, set to something else than it was. by branches: 100 of 100 */
#define _GNU_SOURCE
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/rseq.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void show(const char *what, long r) { printf("%s: %lx\n", what, r); }

static long get(int option) {
  int value = -1;
  return prctl(option, &value) < 0 ? -1 : value;
}

static void set_all(void) {
  struct rlimit files = {.rlim_cur = 77, .rlim_max = 99}, core = {0};
  umask(0137);
  if (nice(3) < 0) exit(2);
  personality(ADDR_NO_RANDOMIZE);
  setrlimit(RLIMIT_NOFILE, &files);
  setrlimit(RLIMIT_CORE, &core);
  syscall(SYS_ioprio_set, 1, 0, 2 << 13 | 5);
  prctl(PR_SET_NAME, "renamed");
  prctl(PR_SET_PDEATHSIG, SIGUSR2);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  prctl(PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_EARLY, 0, 0);
  fesetround(FE_UPWARD);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  sched_setaffinity(0, sizeof one, &one);
}

static void show_all(void) {
  struct rlimit files;
  char name[16] = "";
  mode_t mask = umask(0);
  umask(mask);
  getrlimit(RLIMIT_NOFILE, &files);
  prctl(PR_GET_NAME, name);
  cpu_set_t now;
  CPU_ZERO(&now);
  sched_getaffinity(0, sizeof now, &now);
  show("umask", mask);
  show("nice", getpriority(PRIO_PROCESS, 0));
  show("personality", personality(0xffffffff));
  show("files", (long)files.rlim_cur * 1000 + (long)files.rlim_max);
  show("io priority", syscall(SYS_ioprio_get, 1, 0));
  printf("name %s\n", name);
  show("death signal", get(PR_GET_PDEATHSIG));
  show("subreaper", get(PR_GET_CHILD_SUBREAPER));
  show("dumpable", prctl(PR_GET_DUMPABLE));
  show("no new privileges", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
  show("huge pages", prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
  show("memory errors", prctl(PR_MCE_KILL_GET, 0, 0, 0, 0));
  show("rounding", fegetround());
  const struct rseq *sequence = (const struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
  show("restartable sequences", __rseq_size > 0 && sequence->cpu_id < 4096);
  show("processors", CPU_COUNT(&now));
}

int main(void) {
  char *first = malloc(30);
  set_all();
  char *memory = malloc(10);
  show_all();
  printf("%d %d\n", first != NULL, memory != NULL);
  free(first);
  free(memory);
  return 0;
}
