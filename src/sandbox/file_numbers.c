/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which numbers the files of a trunk's world have in a child's, where an overlay over a copy lies over the trunk's.
 *
 * A file that was changed, or made, is a copy, and each is looked at in both worlds. What was not is the same file
 * below both overlays: its inode is the same, and the kernel gives each overlay a device of its own for such files, one
 * for those in its upper folder, and one for its folders. (Folders have numbers that the kernel counts; which of them
 * the program knows, only the runtime does.)
 */
#include "sandbox/sandbox_inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct wire_identity identity_of(const struct stat *st) {
  return (struct wire_identity){st->st_dev, st->st_ino, st->st_ctim.tv_sec, st->st_ctim.tv_nsec};
}

static int add(number_list *n, const struct wire_number *number) {
  if (n->n >= WIRE_NUMBERS) return -EFBIG;
  return vec_push(n, *number) < 0 ? -ENOMEM : 0;
}

static int add_device(number_list *n, const struct stat *was, const struct stat *is) {
  return add(n, &(struct wire_number){.was.device = was->st_dev, .is.device = is->st_dev});
}

/* A file of both worlds, by its path. */
static int look(int trunk, int child, const char *path, struct stat *ret_was, struct stat *ret_is) {
  const int flags = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;
  return fstatat(trunk, path, ret_was, flags) < 0 || fstatat(child, path, ret_is, flags) < 0 ? -errno : 0;
}

static uint64_t hash_path(const char *layer, const char *path) {
  uint64_t hash = WIRE_HASH;
  for (; *layer; layer++)
    hash = wire_hash(hash, *layer);
  for (hash = wire_hash(hash, '/'); *path; path++)
    hash = wire_hash(hash, *path);
  return hash;
}

static int add_file(number_list *n, const char *layer, int trunk, int child, const char *path, struct stat *ret_was,
                    struct stat *ret_is) {
  int r = look(trunk, child, path, ret_was, ret_is);
  if (r < 0) return r;
  return add(n, &(struct wire_number){.was = identity_of(ret_was),
                                      .is = identity_of(ret_is),
                                      .path = S_ISDIR(ret_was->st_mode) ? 0 : hash_path(layer, path)});
}

/* --- a file that nobody has changed ------------------------------------------------------------------------------- */

/* Folders that are searched for one, at most. */
enum { SEARCHED = 256 };

struct search {
  int trunk, upper;
  VEC(char *) folders; /* paths in the layer; those that were searched stay */
  size_t next;
  char *found;
};

/* Seen in the trunk's world, and not in its upper folder. */
static bool is_unchanged(int trunk, int upper, const char *path) {
  struct stat st;
  if (fstatat(trunk, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode)) return false;
  return fstatat(upper, path, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

static int queue(struct search *s, char *path) {
  if (path && vec_push(&s->folders, path) == 0) return 0;
  free(path);
  return -ENOMEM;
}

static int consider(struct search *s, const char *folder, const struct dirent *entry) {
  char *path = NULL;
  if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) return 0;
  if (asprintf(&path, "%s%s%s", folder, *folder ? "/" : "", entry->d_name) < 0) return -ENOMEM;
  if (entry->d_type == DT_DIR) {
    if (s->folders.n < SEARCHED) return queue(s, path);
  } else if (is_unchanged(s->trunk, s->upper, path)) {
    s->found = path;
    return 0;
  }
  free(path);
  return 0;
}

static int search_folder(struct search *s, const char *folder) {
  int fd = openat(s->trunk, *folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r = 0;
  DIR *d = fd < 0 ? NULL : fdopendir(fd);
  if (!d) {
    if (fd >= 0) (void)close(fd);
    return 0; /* not to be read, or not there */
  }
  for (struct dirent *entry; r == 0 && !s->found && (entry = readdir(d));)
    r = consider(s, folder, entry);
  (void)closedir(d);
  return r;
}

/* The path of one in *ret; NULL if there is none, -EFBIG if there may be one but was not found. */
static int find_sample(int trunk, int upper, const char *first, char **ret) {
  struct search s = {.trunk = trunk, .upper = upper};
  int r = *first ? queue(&s, strdup(first)) : 0;
  if (r == 0) r = queue(&s, strdup(""));
  for (; r == 0 && !s.found && s.next < s.folders.n; s.next++)
    r = search_folder(&s, s.folders.at[s.next]);
  if (r == 0 && !s.found && s.folders.n == SEARCHED) r = -EFBIG;
  for (size_t i = 0; i < s.folders.n; i++)
    free(s.folders.at[i]);
  vec_done(&s.folders);
  if (r == 0)
    *ret = s.found;
  else
    free(s.found);
  return r;
}

/* Where CWD is in the layer at AT; the layer's root if it is not. */
static const char *path_in(const char *at, const char *cwd) {
  size_t n = strlen(at);
  return strncmp(at, cwd, n) == 0 && cwd[n] == '/' ? cwd + n + 1 : "";
}

static int add_unchanged(number_list *n, struct layer *layer, const char *cwd, int trunk, int child, int upper) {
  struct stat was, is;
  if (!layer->sample || !is_unchanged(trunk, upper, layer->sample)) {
    free(layer->sample);
    layer->sample = NULL;
    int r = find_sample(trunk, upper, path_in(layer->at, cwd), &layer->sample);
    if (r < 0 || !layer->sample) return r;
  }
  int r = look(trunk, child, layer->sample, &was, &is);
  if (r < 0) return r;
  /* A kernel that numbers files in another way is not known here. */
  return was.st_ino == is.st_ino ? add_device(n, &was, &is) : -ENOTSUP;
}

/* --- all of a layer ----------------------------------------------------------------------------------------------- */

int numbers_add(number_list *n, struct layer *layer, const char *cwd, int trunk, int child, int upper,
                const copied_list *list) {
  struct stat was, is;
  int r = add_file(n, layer->at, trunk, child, "", &was, &is);
  if (r == 0) r = add_device(n, &was, &is);
  bool made = false; /* one of the files that the program has made has told their device */
  for (size_t i = 0; i < list->n && r == 0; i++) {
    r = add_file(n, layer->at, trunk, child, list->at[i].path, &was, &is);
    if (r < 0 || made || S_ISDIR(was.st_mode) || was.st_ino != list->at[i].inode) continue;
    made = true;
    r = add_device(n, &was, &is);
  }
  return r < 0 ? r : add_unchanged(n, layer, cwd, trunk, child, upper);
}

int numbers_file(const number_list *n) {
  size_t size = n->n * sizeof *n->at;
  if (size == 0) return -1;
  int fd = memfd_create("numbers", MFD_CLOEXEC);
  if (fd < 0) return -ENOMEM;
  if (write(fd, n->at, size) == (ssize_t)size) return fd;
  (void)close(fd);
  return -ENOMEM;
}
