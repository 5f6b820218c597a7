/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes what a command has left in the upper folder of a layer. That may be anything: folders that nobody may read,
 * and folders in folders deeper than there are descriptors, so what is too deep comes up first.
 *
 * Most runs that leave anything leave a few folders, one in the other: each costs an attempt to remove it, one look
 * into it, and its end.
 */
#include "sandbox/sandbox_inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEEPEST = 16, ROOM = 4096 };

/* The folder that all is removed from. */
struct removal {
  int top;
  unsigned number; /* of what has come up */
  bool more;       /* something has, since all in it was looked at */
};

static bool is_dots(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

/* 0 or a negative errno. Whoever may not is the owner all the same. */
static int unlink_one(int folder, const char *name, int flags) {
  if (unlinkat(folder, name, flags) == 0) return 0;
  int code = -errno;
  if (code != -EACCES && code != -EPERM) return code;
  return fchmod(folder, 0700) == 0 && unlinkat(folder, name, flags) == 0 ? 0 : code;
}

static int open_folder(int at, const char *name) {
  int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && errno == EACCES && fchmodat(at, name, 0700, 0) == 0)
    fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  return fd;
}

static void lift(struct removal *r, int folder, const char *name) {
  char to[32];
  int code;
  /* To be moved, it must be writable. */
  if (fchmod(folder, 0700) < 0 || fchmodat(folder, name, 0700, 0) < 0) return;
  do {
    (void)snprintf(to, sizeof to, "lifted-%u", r->number++);
    code = renameat2(folder, name, r->top, to, RENAME_NOREPLACE);
  } while (code < 0 && errno == EEXIST);
  r->more |= code == 0;
}

static void empty(struct removal *r, int folder, unsigned depth);

static void remove_one(struct removal *r, int folder, const char *name, bool is_folder, unsigned depth) {
  int code = unlink_one(folder, name, is_folder ? AT_REMOVEDIR : 0);
  if (code == 0 || (!is_folder && code != -EISDIR)) return;
  if (depth == DEEPEST) {
    lift(r, folder, name);
    return;
  }
  int fd = open_folder(folder, name);
  if (fd < 0) return;
  empty(r, fd, depth + 1);
  (void)close(fd);
  (void)unlink_one(folder, name, AT_REMOVEDIR);
}

static void empty(struct removal *r, int folder, unsigned depth) {
  char room[ROOM] __attribute__((aligned(8)));
  ssize_t n;
  while ((n = getdents64(folder, room, sizeof room)) > 0)
    for (ssize_t at = 0; at < n;) {
      const struct dirent64 *entry = (const struct dirent64 *)(room + at);
      at += entry->d_reclen;
      if (!is_dots(entry->d_name)) remove_one(r, folder, entry->d_name, entry->d_type == DT_DIR, depth);
    }
}

void layers_empty(int top) {
  struct removal r = {.top = top, .more = true};
  while (r.more) {
    r.more = false;
    if (lseek(top, 0, SEEK_SET) < 0) break;
    empty(&r, top, 0);
  }
}
