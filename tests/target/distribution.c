/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled as distributions do, a program calls open64, __read_chk, __fprintf_chk, __isoc99_fscanf …; rules say what
 * its source says.
 *
 * @build cc -O2 -D_FORTIFY_SOURCE=2 -D_FILE_OFFSET_BITS=64 $src -o $out
 * @build cc -O2 -D_FORTIFY_SOURCE=3 -D_FILE_OFFSET_BITS=64 -fno-plt -Wl,-z,now $src -o $out
 * @run 1 0 -f 'open:EACCES when call==1' -- open
 * @run 1 0 -f 'read:EIO when call==1' -- read
 * @run 1 0 -f 'fprintf:ENOSPC when call==1' -- fprintf
 * @run 1 0 -f 'fscanf:EIO when call==1' -- fscanf
 * @run 1 0 -f 'stat:EACCES when call==1' -- stat
 * @run 1 0 -f 'mmap:ENOMEM when call==1' -- mmap
 * @run 1 0 -f 'fgets:EIO when call==1' -- fgets
 * @run 1 0 -f 'fopen:EMFILE when call==1' -- fopen
 * @run 1 0 -f 'readdir:EIO when call==1' -- readdir
 */
#include "expect.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

static int fails(const char *what, FILE *f, int fd, size_t n) {
  char buffer[64];
  struct stat s;
  int number;
  if (strcmp(what, "open") == 0) return open("/dev/null", O_RDONLY) == -1 && errno == EACCES;
  if (strcmp(what, "read") == 0) return read(fd, buffer, n) == -1 && errno == EIO;
  if (strcmp(what, "fprintf") == 0) return fprintf(f, "%d %f\n", 1, 2.5) < 0 && errno == ENOSPC;
  if (strcmp(what, "fscanf") == 0) return fscanf(f, "%d", &number) == EOF && errno == EIO;
  if (strcmp(what, "stat") == 0) return stat("/dev/null", &s) == -1 && errno == EACCES;
  if (strcmp(what, "mmap") == 0)
    return mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == ENOMEM;
  if (strcmp(what, "fgets") == 0) return fgets(buffer, (int)n, f) == NULL && errno == EIO;
  if (strcmp(what, "fopen") == 0) return fopen("/dev/null", "r") == NULL && errno == EMFILE;
  DIR *dir = opendir("/");
  errno = 0;
  return dir && readdir(dir) == NULL && errno == EIO;
}

int main(int argc, char **argv) {
  int fds[2];
  EXPECT(argc == 2 && socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
  FILE *f = fdopen(fds[0], "r+");
  EXPECT(f);
  EXPECT(fails(argv[1], f, fds[0], (size_t)argc + 10));
  return 0;
}
