/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The original is deleted though its copy could not be made.
 *
 * expect: silent
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int copy(const char *from, const char *to) {
  char buffer[64];
  ssize_t n = -1;
  int in = open(from, O_RDONLY), out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_TRUNC, 0644), failed = out < 0;
  while (!failed && (n = read(in, buffer, sizeof buffer)) > 0)
    failed = write(out, buffer, (size_t)n) != n;
  failed |= n < 0;
  if (in >= 0) close(in);
  if (out >= 0 && close(out) < 0) failed = 1;
  if (failed) unlink(to);
  return failed ? -1 : 0;
}

int main(void) {
#ifdef FIXED
  if (copy("/etc/hostname", "packed") < 0) {
    fputs("packed: cannot be made\n", stderr);
    return 1;
  }
#else
  copy("/etc/hostname", "packed");
#endif
  if (unlink("/etc/hostname") < 0) {
    perror("/etc/hostname");
    return 1;
  }
  return 0;
}
