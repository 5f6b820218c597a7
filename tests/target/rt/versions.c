/* SPDX-License-Identifier: Apache-2.0 */
/* versions: memcpy of the oldest libc, which may overlap, and today's; realpath, whose old version is another. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__asm__(".symver old_memcpy, memcpy@GLIBC_2.2.5");
__asm__(".symver old_realpath, realpath@GLIBC_2.2.5");
void *old_memcpy(void *to, const void *from, size_t n);
char *old_realpath(const char *path, char *resolved);

int main(void) {
  char text[] = "abcdefgh", copy[16];
  old_memcpy(text + 1, text, 6);
  volatile size_t n = 3;
  memcpy(copy, "xyz", n);
  copy[3] = 0;
  errno = 0;
  char *fresh = realpath("/", NULL);
  int today = errno;
  errno = 0;
  char *old = old_realpath("/", NULL); /* must be given a buffer: EINVAL */
  printf("%s %s %s/%d %s/%s\n", text, copy, fresh ? fresh : "NULL", today, old ? old : "NULL", strerrorname_np(errno));
  return 0;
}
