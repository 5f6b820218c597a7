/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new version of a file is written beside it and takes its place, with the old one's permissions, or so it is meant.
 *
 * setup: echo 'password=old' > secret; chmod 600 secret
 * args: secret password=new
 * expect: silent
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  struct stat st;
  if (stat(argv[1], &st) < 0) {
    perror(argv[1]);
    return 1;
  }
  char name[300], line[300];
  snprintf(name, sizeof name, "%s.new", argv[1]);
  int n = snprintf(line, sizeof line, "%s\n", argv[2]);
  int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) {
    perror(name);
    return 1;
  }
#ifdef FIXED
  if (fchmod(fd, st.st_mode & 07777) < 0) goto failed;
#else
  fchmod(fd, st.st_mode & 07777);
#endif
  if (write(fd, line, n) != n || fsync(fd) < 0) goto failed;
  if (close(fd) < 0) {
    fd = -1;
    goto failed;
  }
  fd = -1;
  if (rename(name, argv[1]) < 0) goto failed;
  return 0;
failed:
  fprintf(stderr, "%s: %s\n", name, strerror(errno));
  if (fd >= 0) close(fd);
  unlink(name);
  return 1;
}
