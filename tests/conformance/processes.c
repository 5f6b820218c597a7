/* SPDX-License-Identifier: Apache-2.0 */
/* Processes. */
#include "conform.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int pair[2], status;
static pid_t child;
static unsigned before;
static struct rlimit limit;

/* Is there a child at all? Asked without taking its status away. */
static bool has_child(void) {
  siginfo_t info;
  return x_call(SYS_waitid, P_ALL, 0, (long)&info, WEXITED | WNOHANG | WNOWAIT, 0, 0) == 0;
}

static int child_status(void) {
  siginfo_t info = {0};
  if (x_call(SYS_waitid, P_ALL, 0, (long)&info, WEXITED, 0, 0) != 0) return -1;
  return info.si_status;
}

static void is_zero(uint64_t result) { check((int)result == 0, "result", "0"); }

static void fork_prepare(uint64_t *args) { (void)args; }

static void fork_unchanged(void) { effect(!has_child(), "there is no child"); }

static void fork_done(uint64_t result) {
  check((int)result > 0, "result", "the child's number");
  effect(child_status() == 7, "the child sees 0 and the parent its number");
}

static void waitpid_prepare(uint64_t *args) {
  child = fork();
  if (child == 0) x_exit(7);
  paint(&status, sizeof(status));
  args[0] = (uint64_t)child, args[1] = ARG(&status);
}

static void waitpid_unchanged(void) {
  effect(child_status() == 7, "the child can still be waited for");
  argument(painted(&status, sizeof(status)), "the status is not written to");
}

static void waitpid_done(uint64_t result) {
  check((pid_t)result == child, "result", "the child's number");
  argument(WIFEXITED(status) && WEXITSTATUS(status) == 7, "the status is the child's");
}

static volatile sig_atomic_t signals;

static void on_signal(int number) {
  (void)number;
  signals++;
}

static void kill_prepare(uint64_t *args) {
  signal(SIGUSR1, on_signal);
  args[0] = (uint64_t)getpid(), args[1] = SIGUSR1;
}

static void kill_unchanged(void) { effect(signals == 0, "no signal is sent"); }

static void kill_done(uint64_t result) {
  is_zero(result);
  /* Either thread may take it, so it may take a moment. */
  for (int i = 0; i < 1000 && !signals; i++)
    x_pause();
  effect(signals == 1, "the signal arrives");
}

static void pipe_prepare(uint64_t *args) {
  paint(pair, sizeof(pair));
  before = x_count_open();
  args[0] = ARG(pair);
}

static void pipe_unchanged(void) {
  effect(x_count_open() == before, "no descriptor is made");
  argument(painted(pair, sizeof(pair)), "the array is not written to");
}

static void pipe_done(uint64_t result) {
  is_zero(result);
  argument(x_is_open(pair[0]) && x_is_open(pair[1]) && pair[0] != pair[1], "the array holds two descriptors");
}

static char *no_arguments[] = {"none", NULL}, *no_environment[] = {NULL};

/* A file that is not there: a success would leave nobody to look. */
static void execve_prepare(uint64_t *args) {
  args[0] = ARG("./not-there"), args[1] = ARG(no_arguments), args[2] = ARG(no_environment);
}

static void execve_done(uint64_t result) {
  check((int)result == -1 && error_of_call == ENOENT, "result", "the kernel's own error comes through");
}

static void posix_spawn_prepare(uint64_t *args) {
  static char *arguments[] = {"sh", "-c", "exit 7", NULL};
  paint(&child, sizeof(child));
  args[0] = ARG(&child), args[1] = ARG("/bin/sh"), args[4] = ARG(arguments), args[5] = ARG(no_environment);
}

static void posix_spawn_unchanged(void) {
  fork_unchanged();
  argument(painted(&child, sizeof(child)), "the number is not written to");
}

static void posix_spawn_done(uint64_t result) {
  is_zero(result);
  effect(child_status() == 7, "the program runs");
  argument(child > 0, "the number is the child's");
}

static void popen_prepare(uint64_t *args) {
  before = x_count_open();
  args[0] = ARG("echo seven"), args[1] = ARG("r");
}

static void popen_unchanged(void) {
  fork_unchanged();
  effect(x_count_open() == before, "no descriptor is made");
}

static void popen_done(uint64_t result) {
  char text[20] = "";
  check(result != 0, "result", "a stream, in all 64 bits");
  effect(result && fgets(text, sizeof(text), (FILE *)result) && strcmp(text, "seven\n") == 0, "the program runs");
}

static void setrlimit_prepare(uint64_t *args) {
  limit = (struct rlimit){100, 100};
  args[0] = RLIMIT_CORE, args[1] = ARG(&limit);
}

static rlim_t core_limit(void) {
  struct rlimit now = {0};
  x_call(SYS_getrlimit, RLIMIT_CORE, (long)&now, 0, 0, 0, 0);
  return now.rlim_cur;
}

static void setrlimit_unchanged(void) { effect(core_limit() != 100, "the limit is as it was"); }

static void setrlimit_done(uint64_t result) {
  is_zero(result);
  effect(core_limit() == 100, "the limit is set");
}

static const struct function_case cases[] = {
    {"fork", fork, INT, -1, EAGAIN, 0, 0, fork_prepare, fork_unchanged, fork_done},
    {"waitpid", waitpid, INT, -1, EINTR, 0, 0, waitpid_prepare, waitpid_unchanged, waitpid_done},
    {"kill", kill, INT, -1, EPERM, 0, 0, kill_prepare, kill_unchanged, kill_done},
    {"pipe", pipe, INT, -1, EMFILE, 0, 0, pipe_prepare, pipe_unchanged, pipe_done},
    {"execve", execve, INT, -1, E2BIG, 0, SUCCESS_OPEN, execve_prepare, NULL, execve_done},
    {"posix_spawn", posix_spawn, INT, ENOMEM, 0, 0, ERRNO_OPEN, posix_spawn_prepare, posix_spawn_unchanged,
     posix_spawn_done},
    {"popen", popen, LONG, 0, EMFILE, 0, SUCCESS_OPEN | MEMORY_OPEN, popen_prepare, popen_unchanged, popen_done},
    {"setrlimit", setrlimit, INT, -1, EPERM, 0, 0, setrlimit_prepare, setrlimit_unchanged, setrlimit_done},
};
FAMILY(processes, cases);
