/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of a run: the shim, and the area that is shared with the target.
 *
 * Whoever has a folder holds a lock on it, which the kernel takes away when that process ends, however it ends. So what
 * a murphy left that was killed is found by the next one, and removed.
 */
#include "run/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "murphy-"
#define PATTERN PREFIX "XXXXXX"
/* A folder that is younger may be one whose owner has not locked it yet. */
enum { YOUNG_S = 2 };

/*
 * gcc's address sanitizer refuses to start unless it is the first library, and knows itself by a part of a name. It
 * works as well behind the shim, and only there can calls be made to fail that it would not pass on, such as malloc.
 * clang's, inside a program, refuses to start beside a library of that name.
 */
static const char plain_name[] = "shim.so", asan_name[] = "shim-before-libasan.so";

/* LD_PRELOAD is split at spaces and colons; a file system without exec cannot hold a library. */
static bool is_usable(const char *folder) {
  struct statvfs fs;
  return folder && folder[0] == '/' && !strpbrk(folder, " :") && statvfs(folder, &fs) == 0 &&
         !(fs.f_flag & (ST_NOEXEC | ST_RDONLY)) && access(folder, W_OK | X_OK) == 0;
}

static char *join(const char *folder, const char *name) {
  struct text t = {0};
  text_addf(&t, "%s/%s", folder, name);
  if (!t.failed) return t.at;
  text_done(&t);
  return NULL;
}

/* --- what others left --------------------------------------------------------------------------------------------- */

/* Is it a folder of this user's that nobody holds? */
static bool is_stale(int fd) {
  struct stat st;
  if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || time(NULL) - st.st_ctime < YOUNG_S) return false;
  return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static void remove_stale(int place, const char *name) {
  static const char *const files[] = {"area", plain_name, asan_name};
  int fd = openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  if (is_stale(fd)) {
    for (size_t i = 0; i < COUNT(files); i++)
      (void)unlinkat(fd, files[i], 0);
    (void)unlinkat(fd, RUN_FOLDER_STAGE, AT_REMOVEDIR);
    (void)unlinkat(place, name, AT_REMOVEDIR); /* stays if there is anything else in it */
  }
  (void)close(fd);
}

static void clean(const char *place) {
  DIR *d = opendir(place);
  if (!d) return;
  for (struct dirent *entry; (entry = readdir(d));)
    if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0 && strlen(entry->d_name) == strlen(PATTERN))
      remove_stale(dirfd(d), entry->d_name);
  (void)closedir(d);
}

/* --- our own ------------------------------------------------------------------------------------------------------ */

static int make_in(const char *place, struct run_folder *f) {
  clean(place);
  if (!(f->path = join(place, PATTERN))) return -ENOMEM;
  int r = mkdtemp(f->path) ? 0 : -errno;
  if (r == 0) {
    f->lock = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* A file system without locks has nothing that could be told from what is in use. */
    if (f->lock >= 0) (void)flock(f->lock, LOCK_EX | LOCK_NB);
    return 0;
  }
  free(f->path);
  f->path = NULL;
  return r;
}

int run_folder_make(bool before_asan, struct run_folder *ret, struct err *e) {
  const char *places[] = {getenv("XDG_RUNTIME_DIR"), "/dev/shm", getenv("TMPDIR"), "/tmp"};
  struct run_folder f = {.lock = -1};
  int code = -ENOENT;
  for (size_t i = 0; i < COUNT(places) && !f.path; i++)
    if (is_usable(places[i])) code = make_in(places[i], &f);
  if (code == -ENOMEM) return err_set(e, code, "out of memory");
  if (!f.path)
    return err_set(e, -ECANCELED,
                   "no folder for the run: neither XDG_RUNTIME_DIR, /dev/shm, TMPDIR nor /tmp can be written to and "
                   "hold libraries (%s; is one mounted noexec?)",
                   strerror(-code));
  f.area = join(f.path, "area");
  f.shim = join(f.path, before_asan ? asan_name : plain_name);
  if (!f.area || !f.shim) {
    run_folder_done(&f);
    return err_set(e, -ENOMEM, "out of memory");
  }
  *ret = f;
  return 0;
}

void run_folder_done(struct run_folder *f) {
  /* What cannot be removed is in a folder for temporary files; there is nothing better to do about it. */
  if (f->area) (void)unlink(f->area);
  if (f->shim) (void)unlink(f->shim);
  if (f->path) (void)rmdir(f->path);
  if (f->path && f->lock >= 0) (void)close(f->lock);
  free(f->area);
  free(f->shim);
  free(f->path);
  memset(f, 0, sizeof *f);
}

int run_folder_write(const struct run_folder *f, const struct text *shim, struct err *e) {
  if (shim->failed) return err_set(e, -ENOMEM, "out of memory");
  return file_write(f->shim, shim->at, shim->n, e);
}
