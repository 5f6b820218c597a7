/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run can set for processes that are not its own: the keeper's and the fork server's priority for input and
 * output, scheduling policy and limits, how soon the keeper is killed where memory is short, and the device that makes
 * terminals. All of it is looked at before each run. Not so the nice value: only who has rights outside can take that
 * back.
 */
#include "run/keeper.h"

#include <fcntl.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void settings_of(pid_t pid, struct settings *ret) {
  struct sched_param param = {0};
  memset(ret, 0, sizeof *ret);
  ret->io = (int)syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, pid);
  ret->policy = sched_getscheduler(pid);
  ret->priority = sched_getparam(pid, &param) < 0 ? -1 : param.sched_priority;
  for (unsigned i = 0; i < RLIM_NLIMITS; i++)
    (void)prlimit(pid, i, NULL, &ret->limits[i]);
}

static bool is_like(pid_t pid, const struct settings *before) {
  struct settings now;
  settings_of(pid, &now);
  return memcmp(&now, before, sizeof now) == 0;
}

/* Only root outside can be more urgent than others (sandbox.c); who was, and is not any more, is as all others. */
static void renew_policy(const struct settings *before) {
  if (sched_setscheduler(0, before->policy, &(struct sched_param){.sched_priority = before->priority}) < 0)
    (void)sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
}

/* As far as the kernel lets one, and what is then is what counts: no limit can be raised above its own limit. */
static void renew_own(struct settings *before) {
  struct settings now;
  settings_of(0, &now);
  if (memcmp(&now, before, sizeof now) == 0) return;
  if (now.io != before->io) (void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, before->io);
  if (now.policy != before->policy || now.priority != before->priority) renew_policy(before);
  for (unsigned i = 0; i < RLIM_NLIMITS; i++) {
    struct rlimit limit = before->limits[i], *is = &now.limits[i];
    if (is->rlim_cur == limit.rlim_cur && is->rlim_max == limit.rlim_max) continue;
    if (prlimit(0, i, &limit, NULL) == 0) continue;
    limit.rlim_max = is->rlim_max;
    if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
    (void)prlimit(0, i, &limit, NULL);
  }
  settings_of(0, before);
}

static int read_oom(int fd) {
  char text[16];
  ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
  if (n <= 0) return 0;
  text[n] = '\0';
  return (int)strtol(text, NULL, 10);
}

void settings_watch(struct keeper *k) {
  char path[PATH_MAX + 16];
  settings_of(0, &k->own);
  k->oom = open("/proc/1/oom_score_adj", O_RDWR | O_CLOEXEC);
  k->no_oom = read_oom(k->oom);
  (void)snprintf(path, sizeof path, "%s/dev/pts/ptmx", k->root);
  k->terminals = open(path, O_PATH | O_CLOEXEC);
  if (k->terminals >= 0 && fstat(k->terminals, &k->ptmx) < 0) {
    (void)close(k->terminals);
    k->terminals = -1;
  }
  (void)snprintf(path, sizeof path, "%s/dev/null", k->root);
  k->nothing = open(path, O_RDONLY | O_CLOEXEC);
}

static void renew_oom(const struct keeper *k) {
  char text[16];
  if (k->oom < 0 || read_oom(k->oom) == k->no_oom) return;
  int n = snprintf(text, sizeof text, "%d", k->no_oom);
  (void)!pwrite(k->oom, text, (size_t)n, 0);
}

static bool are_terminals_changed(const struct keeper *k) {
  struct stat st;
  if (k->terminals < 0 || fstat(k->terminals, &st) < 0) return false;
  return st.st_mode != k->ptmx.st_mode || st.st_uid != k->ptmx.st_uid || st.st_gid != k->ptmx.st_gid;
}

static void renew_terminals(const struct keeper *k) {
  char path[PATH_MAX + 16];
  if (!are_terminals_changed(k)) return;
  (void)snprintf(path, sizeof path, "%s/dev/pts/ptmx", k->root);
  (void)!chown(path, k->ptmx.st_uid, k->ptmx.st_gid);
  (void)chmod(path, k->ptmx.st_mode & 07777);
}

static bool is_server_changed(const struct keeper *k) { return k->server.pid && !is_like(k->server.pid, &k->servers); }

bool settings_changed(const struct keeper *k) {
  bool oom = k->oom >= 0 && read_oom(k->oom) != k->no_oom;
  return oom || are_terminals_changed(k) || !is_like(0, &k->own);
}

bool settings_renew(struct keeper *k) {
  renew_own(&k->own);
  renew_oom(k);
  renew_terminals(k);
  return is_server_changed(k);
}
