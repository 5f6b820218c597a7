/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files did a run leave behind? The upper folder of an overlay says so, but for what was only opened: that is
 * compared with the file below.
 *
 * The folder was made by a hostile program: links are not followed, devices not opened, depth is bounded, and a file is
 * read as it was when its size was asked for.
 */
#include "observe/observe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Of each file the first bytes are kept; of one that is not larger than WHOLE, all. */
enum { DEEPEST = 64, HEAD = 4096, WHOLE = 32 << 10, STEP = 64 << 10 };

struct walk {
  struct observation *o;
  const char *ignore;
};

static int add(struct walk *w, const char *path, struct observe_entry e) {
  e.path = arena_strdup(&w->o->arena, path);
  return e.path ? vec_push(&w->o->entries, e) : -ENOMEM;
}

/* FNV-1a over the content, with BUFFER of STEP bytes; its first bytes go to HEAD, if there is one, of the same size. */
static int hash_file(int fd, char *buffer, uint64_t *ret, char *head, size_t *n_head) {
  uint64_t hash = 0xcbf29ce484222325u, size = 0;
  ssize_t n;
  while ((n = read(fd, buffer, STEP)) > 0 || (n < 0 && errno == EINTR)) {
    if (n < 0) continue;
    for (ssize_t i = 0; i < n; i++)
      hash = (hash ^ (unsigned char)buffer[i]) * 0x100000001b3u;
    if (head && size < STEP) {
      size_t k = (size_t)n < STEP - size ? (size_t)n : (size_t)(STEP - size);
      memcpy(head + size, buffer, k);
      *n_head = (size_t)size + k;
    }
    size += (uint64_t)n;
  }
  if (n < 0) return -errno;
  *ret = hash;
  return 0;
}

/* Is the file below the same? Its content is read only if it can be. */
static bool same_below(const char *path, const struct stat *st, char *buffer, uint64_t hash) {
  struct stat below;
  if (lstat(path, &below) < 0 || below.st_mode != st->st_mode || below.st_size != st->st_size) return false;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  uint64_t other = 0;
  bool same = hash_file(fd, buffer, &other, NULL, NULL) == 0 && other == hash;
  (void)close(fd);
  return same;
}

/* Keeps the first bytes of a file, NUL behind them. */
static int keep_head(struct walk *w, struct observe_entry *e, const char *head) {
  if (e->n_head > HEAD && e->size > WHOLE) e->n_head = HEAD;
  char *copy = arena_alloc(&w->o->arena, e->n_head + 1);
  if (!copy) return -ENOMEM;
  memcpy(copy, head, e->n_head);
  copy[e->n_head] = '\0';
  e->head = copy;
  return 0;
}

static int look_at_file(struct walk *w, int folder, const char *name, const char *path, const struct stat *st) {
  struct observe_entry e = {.kind = OBSERVE_FILE, .mode = st->st_mode & 07777, .size = (uint64_t)st->st_size};
  int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return add(w, path, e); /* a file that nobody may read */
  char *buffer = malloc(2 * STEP), *head = buffer ? buffer + STEP : NULL;
  int r = buffer ? hash_file(fd, buffer, &e.hash, head, &e.n_head) : -ENOMEM;
  (void)close(fd);
  bool same = r == 0 && same_below(path, st, buffer, e.hash);
  if (r == 0 && !same) r = keep_head(w, &e, head);
  free(buffer);
  if (!e.head) e.n_head = 0;
  return same || r == -ENOMEM ? r : add(w, path, e);
}

static int look_at_link(struct walk *w, int folder, const char *name, const char *path) {
  char to[PATH_MAX], below[PATH_MAX];
  ssize_t n = readlinkat(folder, name, to, sizeof to - 1);
  if (n < 0) return 0;
  to[n] = '\0';
  ssize_t k = readlink(path, below, sizeof below - 1);
  if (k == n && memcmp(to, below, (size_t)n) == 0) return 0;
  struct observe_entry e = {.kind = OBSERVE_LINK, .size = (uint64_t)n, .hash = hash_string(to), .n_head = (size_t)n};
  e.head = arena_memdup(&w->o->arena, to, (size_t)n + 1);
  return e.head ? add(w, path, e) : -ENOMEM;
}

static int look_in(struct walk *w, int fd, const char *path, unsigned depth);

static int look_at_folder(struct walk *w, int folder, const char *name, const char *path, const struct stat *st,
                          unsigned depth) {
  struct stat below;
  bool there = lstat(path, &below) == 0 && S_ISDIR(below.st_mode);
  int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  char opaque = 0;
  bool anew = fd >= 0 && there && fgetxattr(fd, "user.overlay.opaque", &opaque, 1) == 1 && opaque == 'y';
  int r = 0;
  if (!there || anew || below.st_mode != st->st_mode)
    r = add(w, path, (struct observe_entry){.kind = OBSERVE_FOLDER, .mode = st->st_mode & 07777, .hash = anew});
  if (fd < 0) return r;
  if (r == 0 && depth < DEEPEST) return look_in(w, fd, path, depth + 1);
  (void)close(fd);
  return r;
}

static int look_at(struct walk *w, int folder, const char *name, const char *path, unsigned depth) {
  struct stat st;
  if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0) return 0;
  if (S_ISCHR(st.st_mode) && st.st_rdev == 0) return add(w, path, (struct observe_entry){.kind = OBSERVE_DELETED});
  if (S_ISREG(st.st_mode)) return look_at_file(w, folder, name, path, &st);
  if (S_ISLNK(st.st_mode)) return look_at_link(w, folder, name, path);
  if (S_ISDIR(st.st_mode)) return look_at_folder(w, folder, name, path, &st, depth);
  return add(w, path, (struct observe_entry){.kind = OBSERVE_OTHER, .mode = st.st_mode});
}

/* Takes the descriptor. */
static int look_in(struct walk *w, int fd, const char *path, unsigned depth) {
  DIR *d = fdopendir(fd);
  if (!d) {
    (void)close(fd);
    return -ENOMEM;
  }
  int r = 0;
  for (struct dirent *entry; r == 0 && (entry = readdir(d));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    char child[PATH_MAX];
    int n = snprintf(child, sizeof child, "%s/%s", path, entry->d_name);
    if (n < 0 || (size_t)n >= sizeof child) continue;
    if (w->ignore && strncmp(child, w->ignore, strlen(w->ignore)) == 0) continue;
    r = look_at(w, dirfd(d), entry->d_name, child, depth);
  }
  (void)closedir(d);
  return r;
}

int observe_layer(struct observation *o, const char *at, int fd, const char *ignore) {
  struct walk w = {.o = o, .ignore = ignore};
  int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return copy < 0 ? -errno : look_in(&w, copy, at, 0);
}

static int by_path(const void *a, const void *b) {
  return strcmp(((const struct observe_entry *)a)->path, ((const struct observe_entry *)b)->path);
}

void observe_spare(struct observation *o, const char *folder) {
  size_t n = strlen(folder);
  for (size_t i = 0; i < o->entries.n; i++) {
    struct observe_entry *e = &o->entries.at[i];
    e->spare |= strncmp(e->path, folder, n) == 0 && (e->path[n] == '/' || e->path[n] == '\0');
  }
}

static bool is_named(const char *name, const char *const *patterns, size_t n) {
  bool named = false;
  for (size_t i = 0; i < n && !named; i++)
    named = fnmatch(patterns[i], name, FNM_PATHNAME | FNM_PERIOD) == 0;
  return named;
}

void observe_spare_named(struct observation *o, const char *folder, const char *const *patterns, size_t n) {
  size_t size = strlen(folder);
  for (size_t i = 0; i < o->entries.n; i++) {
    struct observe_entry *e = &o->entries.at[i];
    bool inside = strncmp(e->path, folder, size) == 0 && e->path[size] == '/';
    e->spare |= inside && e->kind == OBSERVE_FILE && is_named(e->path + size + 1, patterns, n);
  }
}

void observe_finish(struct observation *o) {
  if (o->entries.n) qsort(o->entries.at, o->entries.n, sizeof *o->entries.at, by_path);
}

int observe_stream(struct observation *o, unsigned which, int fd, size_t limit) {
  struct stat st;
  if (fstat(fd, &st) < 0) return -errno;
  struct observe_stream *s = &o->streams[which];
  size_t size = st.st_size < 0 ? 0 : (uint64_t)st.st_size < limit ? (size_t)st.st_size : limit, n = 0;
  char *at = arena_alloc(&o->arena, size + 1);
  if (!at) return -ENOMEM;
  while (n < size) {
    ssize_t got = pread(fd, at + n, size - n, (off_t)n);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -errno;
    if (got == 0) break;
    n += (size_t)got;
  }
  at[n] = '\0';
  uint64_t more = st.st_size > 0 && (uint64_t)st.st_size > limit ? (uint64_t)st.st_size - limit : 0;
  *s = (struct observe_stream){.at = at, .n = n, .more = more};
  return 0;
}

void observation_done(struct observation *o) {
  vec_done(&o->entries);
  arena_done(&o->arena);
}
