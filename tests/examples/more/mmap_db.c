/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small database is made: room on the disk first, and then the records are written through a mapping. Where there is
 * no room there is no page.
 *
 * expect: crash
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct record {
  char name[24];
  long amount;
};

enum { RECORDS = 500 };

static int failed(const char *what, int fd) {
  perror(what);
  if (fd >= 0) {
    close(fd);
    unlink("stock.db");
  }
  return 1;
}

int main(void) {
  size_t size = RECORDS * sizeof(struct record);
  int fd = open("stock.db", O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) return failed("stock.db", -1);
#ifdef FIXED
  errno = posix_fallocate(fd, 0, size);
  if (errno != 0) return failed("stock.db: no room", fd);
#else
  posix_fallocate(fd, 0, size);
#endif
  struct record *r = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (r == MAP_FAILED) return failed("mmap", fd);
  long sum = 0;
  for (int i = 0; i < RECORDS; i++) {
    snprintf(r[i].name, sizeof r[i].name, "article %d", i);
    r[i].amount = i * 3 % 17;
  }
  for (int i = 0; i < RECORDS; i++)
    sum += r[i].amount;
  if (msync(r, size, MS_SYNC) != 0) return failed("msync", fd);
  if (munmap(r, size) != 0) return failed("munmap", fd);
  if (close(fd) != 0) {
    perror("stock.db");
    unlink("stock.db");
    return 1;
  }
  printf("%d records, %ld pieces\n", RECORDS, sum);
  if (ferror(stdout) || fclose(stdout) != 0) {
    perror("standard output");
    return 1;
  }
  return 0;
}
