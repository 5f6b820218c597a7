/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The size of a tree. A folder that cannot be opened counts for nothing, and nobody is told.
 *
 * setup: mkdir -p top/a/b top/c; seq 1 100 > top/x; seq 1 200 > top/a/y; seq 1 300 > top/a/b/z; seq 1 50 > top/c/w
 * args: top
 * expect: silent
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int status;

static void complain(const char *path) {
  fprintf(stderr, "du: %s: %s\n", path, strerror(errno));
  status = 1;
}

static long long size_of(const char *path) {
  struct stat st;
  if (lstat(path, &st) < 0) {
    complain(path);
    return 0;
  }
  if (!S_ISDIR(st.st_mode)) return st.st_size;
  DIR *d = opendir(path);
  if (!d) {
#ifdef FIXED
    complain(path);
#endif
    return 0;
  }
  long long total = 0;
  for (;;) {
    errno = 0;
    struct dirent *e = readdir(d);
    if (!e) {
      if (errno) complain(path);
      break;
    }
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
    char *sub = malloc(strlen(path) + strlen(e->d_name) + 2);
    if (!sub) {
      complain(path);
      break;
    }
    sprintf(sub, "%s/%s", path, e->d_name);
    total += size_of(sub);
    free(sub);
  }
  closedir(d);
  return total;
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    long long n = size_of(argv[i]);
    printf("%lld\t%s\n", n, argv[i]);
  }
  if (fclose(stdout)) complain("standard output");
  return status;
}
