/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree is removed. What cannot be removed stays, and nobody is told.
 *
 * setup: mkdir -p t/u; touch t/a t/b t/u/c
 * args: t
 * expect: silent
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int status;

static void complain(const char *name) {
  fprintf(stderr, "%s: %s\n", name, strerror(errno));
  status = 1;
}

static void empty(int at, const char *name) {
  int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *d = fd < 0 ? NULL : fdopendir(fd);
  if (!d) {
    complain(name);
    if (fd >= 0) close(fd);
    return;
  }
  struct dirent *e;
  while (errno = 0, (e = readdir(d))) {
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
    struct stat st;
    if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
      complain(e->d_name);
      continue;
    }
    int folder = S_ISDIR(st.st_mode);
    if (folder) empty(fd, e->d_name);
#ifdef FIXED
    if (unlinkat(fd, e->d_name, folder ? AT_REMOVEDIR : 0) < 0 && errno != ENOENT) complain(e->d_name);
#else
    unlinkat(fd, e->d_name, folder ? AT_REMOVEDIR : 0);
#endif
  }
  if (errno) complain(name);
  closedir(d);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  empty(AT_FDCWD, argv[1]);
#ifdef FIXED
  if (rmdir(argv[1]) < 0) complain(argv[1]);
#else
  rmdir(argv[1]);
#endif
  return status;
}
