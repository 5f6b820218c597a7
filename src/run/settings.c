/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run can set for processes that are not its own: the keeper's and the fork server's priority for input and
 * output, how soon the keeper is killed where memory is short, and the device that makes terminals. All of it is looked
 * at before each run. Not so the nice value: only who has rights outside can take that back.
 */
#include "run/keeper.h"

#include <fcntl.h>
#include <linux/ioprio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int io_of(pid_t pid) { return (int)syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, pid); }

static int read_oom(int fd) {
  char text[16];
  ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
  if (n <= 0) return 0;
  text[n] = '\0';
  return (int)strtol(text, NULL, 10);
}

void settings_watch(struct keeper *k) {
  char path[PATH_MAX + 16];
  k->io = io_of(0);
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

static void renew_terminals(const struct keeper *k) {
  struct stat st;
  char path[PATH_MAX + 16];
  if (k->terminals < 0 || fstat(k->terminals, &st) < 0) return;
  if (st.st_mode == k->ptmx.st_mode && st.st_uid == k->ptmx.st_uid && st.st_gid == k->ptmx.st_gid) return;
  (void)snprintf(path, sizeof path, "%s/dev/pts/ptmx", k->root);
  (void)!chown(path, k->ptmx.st_uid, k->ptmx.st_gid);
  (void)chmod(path, k->ptmx.st_mode & 07777);
}

bool settings_renew(const struct keeper *k) {
  if (k->io >= 0 && io_of(0) != k->io) (void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, k->io);
  renew_oom(k);
  renew_terminals(k);
  return k->io >= 0 && k->server.pid && io_of(k->server.pid) != k->io;
}
