/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies the upper folder of an overlay: files, folders, links, whiteouts, with all that overlays and programs see of
 * them, their order in a folder too. The folder was made by a hostile program: links are not followed, and depth and
 * size are bounded.
 */
#include "sandbox/sandbox_inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { DEEPEST = 64 };

/* What is copied, and where in it one is. */
struct copying {
  uint64_t *budget;
  copied_list *list;
  char path[PATH_MAX];
};

/* Puts NAME behind the path; the length that it had, or a negative errno. */
static int go_down(struct copying *c, const char *name) {
  size_t n = strlen(c->path);
  int more = snprintf(c->path + n, sizeof c->path - n, "%s%s", n ? "/" : "", name);
  if (more >= 0 && (size_t)more < sizeof c->path - n) return (int)n;
  c->path[n] = '\0';
  return -ENAMETOOLONG;
}

/* A whiteout is no file that anybody sees. */
static int note(struct copying *c, const struct stat *st) {
  if (S_ISCHR(st->st_mode) && st->st_rdev == 0) return 0;
  struct copied_file f = {.path = strdup(c->path), .inode = st->st_ino};
  if (f.path && vec_push(c->list, f) == 0) return 0;
  free(f.path);
  return -ENOMEM;
}

static int copy_attributes(int from, int to) {
  char names[1024], value[1024];
  ssize_t n = flistxattr(from, names, sizeof names);
  if (n < 0) return errno == ENOTSUP ? 0 : -errno;
  for (const char *name = names; name < names + n; name += strlen(name) + 1) {
    ssize_t size = fgetxattr(from, name, value, sizeof value);
    if (size < 0 || fsetxattr(to, name, value, (size_t)size, 0) < 0) return -errno;
  }
  return 0;
}

/* Owner, mode, times; last, since writing changes them. */
static int copy_status(int to, const struct stat *st) {
  const struct timespec times[2] = {st->st_atim, st->st_mtim};
  if (fchown(to, st->st_uid, st->st_gid) < 0 || fchmod(to, st->st_mode & 07777) < 0 || futimens(to, times) < 0)
    return -errno;
  return 0;
}

static int copy_content(int from, int to, off_t size) {
  for (off_t done = 0; done < size;) {
    ssize_t n = sendfile(to, from, &done, (size_t)(size - done));
    if (n <= 0) return n < 0 ? -errno : -EIO;
  }
  return 0;
}

static int copy_file(int from, int to, const char *name, const struct stat *st, uint64_t *budget) {
  if ((uint64_t)st->st_size > *budget || st->st_nlink > 1) return -EFBIG; /* links would be files of their own */
  *budget -= (uint64_t)st->st_size;
  int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (in < 0) return -errno;
  int out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  int r = out < 0 ? -errno : copy_content(in, out, st->st_size);
  if (r == 0) r = copy_attributes(in, out);
  if (r == 0) r = copy_status(out, st);
  (void)close(in);
  if (out >= 0) (void)close(out);
  return r;
}

static int copy_other(int from, int to, const char *name, const struct stat *st) {
  const struct timespec times[2] = {st->st_atim, st->st_mtim};
  char link[PATH_MAX];
  if (S_ISLNK(st->st_mode)) {
    ssize_t n = readlinkat(from, name, link, sizeof link - 1);
    if (n < 0) return -errno;
    link[n] = '\0';
    if (symlinkat(link, to, name) < 0) return -errno;
  } else if (mknodat(to, name, st->st_mode, st->st_rdev) < 0) {
    return -errno;
  }
  if (fchownat(to, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) < 0) return -errno;
  return utimensat(to, name, times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int copy_folder(struct copying *c, int from, int to, unsigned depth);

static int copy_child(struct copying *c, int from, int to, const char *name, const struct stat *st, unsigned depth) {
  if (mkdirat(to, name, 0700) < 0) return -errno;
  int in = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  int out = in < 0 ? -1 : openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (out < 0) {
    int code = -errno;
    if (in >= 0) (void)close(in);
    return code;
  }
  int r = copy_attributes(in, out);
  if (r == 0) r = copy_folder(c, in, out, depth + 1);
  if (r == 0) r = copy_status(out, st);
  (void)close(in);
  (void)close(out);
  return r;
}

static int copy_entry(struct copying *c, int from, int to, const char *name, unsigned depth) {
  struct stat st;
  if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0) return -errno;
  if ((*c->budget)-- == 0 || depth > DEEPEST) return -EFBIG;
  int n = go_down(c, name), r = n < 0 ? n : note(c, &st);
  if (r == 0 && S_ISDIR(st.st_mode))
    r = copy_child(c, from, to, name, &st, depth);
  else if (r == 0)
    r = S_ISREG(st.st_mode) ? copy_file(from, to, name, &st, c->budget) : copy_other(from, to, name, &st);
  if (n >= 0) c->path[n] = '\0';
  return r;
}

/* --- folders ------------------------------------------------------------------------------------------------------ */

typedef VEC(char *) entries;

static void entries_done(entries *list) {
  for (size_t i = 0; i < list->n; i++)
    free(list->at[i]);
  vec_done(list);
}

static int add_entries(const char *room, ssize_t n, entries *ret) {
  int r = 0;
  for (ssize_t at = 0; at < n && r == 0;) {
    const struct dirent64 *entry = (const struct dirent64 *)(room + at);
    at += entry->d_reclen;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    char *name = strdup(entry->d_name);
    r = name ? vec_push(ret, name) : -ENOMEM;
    if (r < 0) free(name);
  }
  return r;
}

/* What is in the folder FD, as it is listed. */
static int list_entries(int fd, entries *ret) {
  char room[4096] __attribute__((aligned(8)));
  ssize_t n = 0;
  int r = lseek(fd, 0, SEEK_SET) < 0 ? -errno : 0;
  while (r == 0 && (n = getdents64(fd, room, sizeof room)) > 0)
    r = add_entries(room, n, ret);
  return r == 0 && n < 0 ? -errno : r;
}

/* Does a folder of this file system list what is new first? Kernels differ; TO is empty, and is again afterwards. */
static int try_order(int to) {
  static const char *const names[] = {"older", "newer"};
  entries list = {0};
  int r = 0;
  for (int i = 0; i < 2 && r == 0; i++)
    r = mknodat(to, names[i], S_IFREG | 0600, 0) < 0 ? -errno : 0;
  if (r == 0) r = list_entries(to, &list);
  if (r == 0) r = list.n == 2 ? strcmp(list.at[0], names[1]) == 0 : -EIO;
  for (int i = 0; i < 2; i++)
    if (unlinkat(to, names[i], 0) < 0 && r >= 0) r = -errno;
  entries_done(&list);
  return r;
}

/* The keeper, which has one thread and one file system in memory, asks once. */
static int lists_newest_first(int to) {
  static int known = -1;
  if (known >= 0) return known;
  int r = try_order(to);
  if (r >= 0) known = r;
  return r;
}

/* The copy is listed in the order in which the original is. */
static int copy_folder(struct copying *c, int from, int to, unsigned depth) {
  entries list = {0};
  int r = list_entries(from, &list), newest = r == 0 && list.n > 1 ? lists_newest_first(to) : r;
  if (newest < 0) r = newest;
  for (size_t i = 0; i < list.n && r == 0; i++)
    r = copy_entry(c, from, to, list.at[newest ? list.n - 1 - i : i], depth);
  entries_done(&list);
  return r;
}

void copied_done(copied_list *c) {
  for (size_t i = 0; i < c->n; i++)
    free(c->at[i].path);
  vec_done(c);
}

int layers_copy(int from, int to, uint64_t *budget, copied_list *list) {
  struct stat st;
  struct copying *c = calloc(1, sizeof *c);
  int r = !c ? -ENOMEM : fstat(from, &st) < 0 ? -errno : copy_attributes(from, to);
  if (r == 0) {
    *c = (struct copying){.budget = budget, .list = list};
    r = copy_folder(c, from, to, 0);
  }
  if (r == 0) r = copy_status(to, &st);
  free(c);
  return r;
}
