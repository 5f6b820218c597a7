/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder to be emptied is entered first. If it cannot be, the one where the user stands is emptied.
 *
 * setup: mkdir cache; echo x > cache/1.tmp; echo x > cache/2.tmp; echo precious > 3.tmp
 * args: cache
 * expect: silent
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc != 2) return 2;
#ifdef FIXED
  if (chdir(argv[1]) < 0) {
    perror(argv[1]);
    return 1;
  }
#else
  chdir(argv[1]);
#endif
  DIR *d = opendir(".");
  if (!d) {
    perror(argv[1]);
    return 1;
  }
  int status = 0;
  struct dirent *e;
  while (errno = 0, (e = readdir(d))) {
    const char *dot = strrchr(e->d_name, '.');
    if (!dot || strcmp(dot, ".tmp")) continue;
    if (unlink(e->d_name) < 0 && errno != ENOENT) {
      perror(e->d_name);
      status = 1;
    }
  }
  if (errno) {
    perror(argv[1]);
    status = 1;
  }
  closedir(d);
  return status;
}
