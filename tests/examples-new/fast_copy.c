/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel copies as long as it can; if it cannot, the rest is to be copied by hand. Here "cannot" means "done".
 *
 * setup: seq 1 5000 > from
 * args: from to
 * expect: silent
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int by_hand(int in, int out) {
  static char block[4096];
  for (;;) {
    ssize_t n = read(in, block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return (int)n;
    for (ssize_t done = 0; done < n;) {
      ssize_t w = write(out, block + done, n - done);
      if (w < 0 && errno == EINTR) continue;
      if (w < 0) return -1;
      done += w;
    }
  }
}

static int copy(int in, int out, off_t left) {
  while (left > 0) {
    ssize_t n = copy_file_range(in, NULL, out, NULL, left, 0);
#ifdef FIXED
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return by_hand(in, out);
#else
    if (n <= 0) break;
#endif
    left -= n;
  }
#ifdef FIXED
  return by_hand(in, out);
#else
  return 0;
#endif
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  struct stat st;
  int in = open(argv[1], O_RDONLY | O_CLOEXEC);
  if (in < 0 || fstat(in, &st) < 0) {
    perror(argv[1]);
    return 1;
  }
  int out = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, st.st_mode & 0777);
  if (out < 0) {
    perror(argv[2]);
    return 1;
  }
  int r = copy(in, out, st.st_size);
  if (close(out) < 0) r = -1;
  if (r < 0) {
    perror(argv[2]);
    unlink(argv[2]);
    return 1;
  }
  close(in);
  return 0;
}
