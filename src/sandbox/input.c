/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard input lies outside of the sandbox, and who has it open for reading can do more than read: open it again by
 * its name below /proc/self/fd, give it another mode or other times. So the command gets it by a mount of which nothing
 * can be changed: /dev/null as it is inside, and a file out of a copy of all mounts that is read-only.
 */
#include "sandbox/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* The file at PATH, which has no links in it; -1 if it cannot be had in this way. */
static int open_read_only(const char *path) {
  int fd = -1, all = open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
  if (all < 0) return -1;
  struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
  if (mount_setattr(all, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr) == 0)
    fd = openat(all, path + 1, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  /* It stays open with the file: without it, what is mounted somewhere in it would be apart, and paths begin there. */
  if (fd < 0) (void)close(all);
  return fd;
}

void input_watch(struct keeper *k) {
  char *path = k->options->input ? realpath(k->options->input, NULL) : NULL;
  if (path) k->input = open_read_only(path);
  free(path);
}

static bool is_same(const struct stat *a, int fd) {
  struct stat b;
  return fd >= 0 && fstat(fd, &b) == 0 && a->st_dev == b.st_dev && a->st_ino == b.st_ino;
}

/* Opened anew for each run, which may leave its position, flags and locks behind. */
static int replace_by(int file, int fd, struct err *e) {
  char path[32];
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  int again = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  int r =
      again < 0 || dup3(again, fd, O_CLOEXEC) < 0 ? err_set(e, -errno, "sandbox: cannot open standard input: %m") : 0;
  if (again >= 0) (void)close(again);
  return r;
}

bool input_locked(int fd) {
  char path[40], text[1024];
  (void)snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
  return sleep_read(AT_FDCWD, path, text, sizeof text) > 0 && strstr(text, "\nlock:");
}

int input_replace(const struct keeper *k, int fd, struct err *e) {
  struct stat st;
  if (fstat(fd, &st) < 0) return err_set(e, -errno, "sandbox: standard input: %m");
  if (S_ISREG(st.st_mode) && is_same(&st, k->input)) return replace_by(k->input, fd, e);
  bool nothing = S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
  if (nothing && k->nothing < 0) return err_set(e, -ENOENT, "sandbox: there is no /dev/null in it");
  return nothing ? replace_by(k->nothing, fd, e) : 0;
}
