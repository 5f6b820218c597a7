/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run can set for processes that are not its own: the keeper's and the fork server's priority for input and
 * output, scheduling policy and limits, their nice value, how soon the keeper is killed where memory is short, the
 * device that makes terminals, and the keys that all processes of a user or of a session share. All of it is looked at
 * before each run. The keeper's nice value only who has rights outside can take back (sandbox.c).
 */
#include "sandbox/keeper.h"

#include <fcntl.h>
#include <linux/ioprio.h>
#include <linux/keyctl.h>
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

/* --- keys --------------------------------------------------------------------------------------------------------- */

static long key_control(int what, long ring) { return syscall(SYS_keyctl, what, ring, NULL, 0); }

/*
 * The session's keys may be those of whoever started murphy: nothing of these is for the command, and nothing of them
 * is ever removed. So only what the kernel has just made counts as the keeper's own; it makes none where the user has
 * as many keys as are allowed.
 */
static bool begin_session(struct keeper *k) {
  k->session = key_control(KEYCTL_JOIN_SESSION_KEYRING, 0);
  return k->session >= 0;
}

/* True if the session is another, which who was started before does not have. */
static bool renew_session(struct keeper *k) {
  if (k->session < 0) return begin_session(k);
  if (key_control(KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING) == k->session) {
    long n = key_control(KEYCTL_READ, k->session);
    if (n == 0 || (n > 0 && key_control(KEYCTL_CLEAR, k->session) == 0)) return false;
  }
  (void)begin_session(k);
  return true;
}

/* The kernel has one ring of the user within the other, for all whose session is that; a run may change this too. */
static bool is_user_session_changed(long *ret_user) {
  int32_t in[2] = {0};
  *ret_user = key_control(KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING);
  if (*ret_user < 0) return false;
  long n = syscall(SYS_keyctl, KEYCTL_READ, KEY_SPEC_USER_SESSION_KEYRING, in, sizeof in);
  return n >= 0 && (n != sizeof *in || in[0] != *ret_user);
}

static void renew_user_session(void) {
  long user;
  if (!is_user_session_changed(&user)) return;
  if (key_control(KEYCTL_CLEAR, KEY_SPEC_USER_SESSION_KEYRING) == 0)
    (void)syscall(SYS_keyctl, KEYCTL_LINK, user, KEY_SPEC_USER_SESSION_KEYRING);
}

/*
 * Keys that stay when the last process of the user has ended. All can read that ring, but who is to empty it must have
 * it in the session, where nobody else is to find it.
 */
static void renew_persistent(struct keeper *k) {
  if (k->session < 0 || k->persistent < 0 || key_control(KEYCTL_READ, k->persistent) == 0) return;
  k->persistent = syscall(SYS_keyctl, KEYCTL_GET_PERSISTENT, -1, k->session);
  if (k->persistent < 0) return;
  (void)key_control(KEYCTL_CLEAR, k->persistent);
  (void)key_control(KEYCTL_CLEAR, k->session);
}

/* The user's keys are those of this user in this namespace, and of nobody outside. True if the session is another. */
static bool renew_keys(struct keeper *k) {
  if (key_control(KEYCTL_READ, KEY_SPEC_USER_KEYRING) > 0) (void)key_control(KEYCTL_CLEAR, KEY_SPEC_USER_KEYRING);
  renew_user_session();
  bool other = renew_session(k);
  renew_persistent(k);
  return other;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

void settings_watch(struct keeper *k) {
  char path[PATH_MAX + 16];
  settings_of(0, &k->own);
  (void)begin_session(k);
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

static bool is_server_changed(const struct keeper *k) {
  if (!k->server.pid) return false;
  return !is_like(k->server.pid, &k->servers) ||
         getpriority(PRIO_PROCESS, (id_t)k->server.pid) != getpriority(PRIO_PROCESS, 0);
}

/* A trunk with keys of its own does not branch, so that none are to be there. */
static bool are_keys_changed(const struct keeper *k) {
  long user;
  return key_control(KEYCTL_READ, KEY_SPEC_USER_KEYRING) > 0 || is_user_session_changed(&user) ||
         (k->session >= 0 && key_control(KEYCTL_READ, k->session) != 0) ||
         (k->persistent > 0 && key_control(KEYCTL_READ, k->persistent) != 0);
}

bool settings_changed(const struct keeper *k) {
  bool oom = k->oom >= 0 && read_oom(k->oom) != k->no_oom;
  return oom || are_terminals_changed(k) || !is_like(0, &k->own) || are_keys_changed(k);
}

bool settings_renew(struct keeper *k) {
  renew_own(&k->own);
  renew_oom(k);
  renew_terminals(k);
  bool keys = renew_keys(k);
  return is_server_changed(k) || (keys && k->server.pid);
}
