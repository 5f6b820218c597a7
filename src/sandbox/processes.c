/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of the namespace, of which the keeper is the first: waiting for one, and ending all others.
 */
#include "sandbox/keeper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void note_end(struct keeper *k, pid_t pid, int status) {
  if (pid <= 0) return;
  if (pid == k->server.pid) server_gone(&k->server);
  if (pid != k->trunk) return;
  k->trunk = 0;
  k->trunk_status = status;
}

/* What is nobody's child can never be waited for. */
static bool is_lost(pid_t pid) {
  siginfo_t info;
  return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 && errno == ECHILD;
}

bool keeper_wait(struct keeper *k, pid_t pid, uint64_t deadline, struct keeper_answer *a, struct keeper_stack *stack) {
  sigset_t set;
  (void)sigemptyset(&set);
  (void)sigaddset(&set, SIGCHLD);
  for (;;) {
    int status = 0;
    struct rusage usage;
    pid_t got = wait4(-1, &status, WNOHANG | __WALL, &usage);
    if (got > 0 && WIFSTOPPED(status)) {
      trace_stopped(got, status, stack);
      continue;
    }
    if (got == pid) {
      a->status = status;
      a->usage = usage;
      return true;
    }
    note_end(k, got, status);
    if (got > 0) trace_ended(status, stack);
    if (got > 0) continue;
    if (is_lost(pid)) {
      a->status = SIGKILL;
      return true;
    }
    uint64_t now = keeper_now();
    if (deadline && now >= deadline) return false;
    uint64_t left = deadline ? deadline - now : 1000000000u;
    struct timespec t = {.tv_sec = (time_t)(left / 1000000000u), .tv_nsec = (long)(left % 1000000000u)};
    (void)sigtimedwait(&set, NULL, &t);
  }
}

static bool is_ours(const struct keeper *k, pid_t pid) { return pid == k->server.pid || pid == k->trunk; }

/* What has lost its parent is the keeper's child: are server and trunk the only ones? False if that is not known. */
static bool only_ours_left(const struct keeper *k) {
  char list[64];
  ssize_t n = k->children < 0 ? -1 : pread(k->children, list, sizeof list - 1, 0);
  if (n <= 0 || n == (ssize_t)sizeof list - 1) return false;
  list[n] = '\0';
  for (char *at = list, *end; at[strspn(at, " \n")]; at = end)
    if (!is_ours(k, (pid_t)strtol(at, &end, 10)) || end == at) return false;
  return true;
}

/* Kills all but the keeper, server and trunk, one by one. How many there were. */
static unsigned kill_others(const struct keeper *k) {
  DIR *d = opendir("/proc");
  unsigned n = 0;
  if (!d) return 1;
  for (struct dirent *entry; (entry = readdir(d));) {
    pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
    if (pid <= 1 || is_ours(k, pid)) continue;
    (void)kill(pid, SIGKILL);
    n++;
  }
  (void)closedir(d);
  return n;
}

bool keeper_bury(struct keeper *k, bool block) {
  pid_t pid;
  int status = 0;
  do
    pid = wait4(-1, &status, (block ? 0 : WNOHANG) | __WALL, NULL);
  while (pid < 0 && errno == EINTR);
  note_end(k, pid, status);
  return pid > 0;
}

/* Everything ends but server and trunk. False if that cannot be done: what forks without end is never seen gone. */
static bool end_others(struct keeper *k, unsigned *ret_n) {
  enum { ROUNDS = 100, ROUND_NS = 1000000 };
  sigset_t set;
  (void)sigemptyset(&set);
  (void)sigaddset(&set, SIGCHLD);
  for (unsigned i = 0; i < ROUNDS && k->server.pid; i++) {
    unsigned n = only_ours_left(k) ? 0 : kill_others(k);
    if (n == 0) return true;
    if (i == 0) *ret_n = n;
    (void)sigtimedwait(&set, NULL, &(struct timespec){.tv_nsec = ROUND_NS});
    while (keeper_bury(k, false)) {
    }
  }
  return false;
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

unsigned keeper_last_pid(const struct keeper *k) {
  char text[32] = {0};
  ssize_t n = k->last_pid < 0 ? -1 : pread(k->last_pid, text, sizeof text - 1, 0);
  return n <= 0 ? SANDBOX_PID : (unsigned)strtoul(text, NULL, 10);
}

/* Nobody can be found by such a number any more, but it is not given to others yet; a file's owner is asked for it. */
static bool is_taken(const struct keeper *k, unsigned pid) { return fcntl(k->last_pid, F_SETOWN, (int)pid) == 0; }

/*
 * A thread that ends by itself gives its number back only after the process was told to be over (Linux 6.15 and later),
 * and later still if somebody had looked at it in /proc. Numbers of the next run are to be the same as always.
 */
static void wait_for_numbers(const struct keeper *k) {
  enum { MOST = 64, ROUNDS = 1000, ROUND_NS = 100000 };
  unsigned last = keeper_last_pid(k), rounds = 0;
  if (k->last_pid < 0 || last >= k->most_pid - 2) return;
  for (unsigned pid = SANDBOX_PID + 1; pid <= last && pid <= SANDBOX_PID + MOST; pid++)
    for (; is_taken(k, pid) && rounds < ROUNDS; rounds++)
      (void)nanosleep(&(struct timespec){.tv_nsec = ROUND_NS}, NULL);
}

static unsigned end_all_others(struct keeper *k) {
  unsigned n = 0;
  while (keeper_bury(k, false)) {
  }
  if (k->server.pid && end_others(k, &n)) return n;
  (void)kill(-1, SIGKILL);
  unsigned ours = (k->server.pid != 0) + (k->trunk != 0);
  for (n = 0; keeper_bury(k, true); n++) {
  }
  return n > ours ? n - ours : 0;
}

unsigned keeper_end_others(struct keeper *k) {
  unsigned n = end_all_others(k);
  wait_for_numbers(k);
  return n;
}

bool keeper_is_alone(struct keeper *k) {
  while (keeper_bury(k, false)) {
  }
  return only_ours_left(k);
}

void keeper_end_crowd(struct keeper *k) {
  enum { FEW = 32 };
  if (!k->server.pid || kill_others(k) > FEW) (void)kill(-1, SIGKILL);
}
