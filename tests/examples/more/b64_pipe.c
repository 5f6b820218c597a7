/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes through a pipe is encoded, in parts that can be divided by three, unless read brings less.
 *
 * expect: silent
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int die(const char *what) {
  perror(what);
  exit(1);
}

static void encode(const unsigned char *s, size_t n) {
  for (; n > 0; s += 3) {
    unsigned v = s[0] << 16 | (n > 1 ? s[1] << 8 : 0) | (n > 2 ? s[2] : 0);
    putchar(digit[v >> 18]);
    putchar(digit[v >> 12 & 63]);
    putchar(n > 1 ? digit[v >> 6 & 63] : '=');
    putchar(n > 2 ? digit[v & 63] : '=');
    n -= n < 3 ? n : 3;
  }
  putchar('\n');
}

static size_t part(int fd, unsigned char *s, size_t size) {
  size_t n = 0;
  while (n < size) {
    ssize_t k = read(fd, s + n, size - n);
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) die("read");
    n += k;
#ifdef FIXED
    if (k == 0) break;
#else
    break;
#endif
  }
  return n;
}

int main(void) {
  unsigned char s[57];
  char text[400];
  int end[2];
  size_t n;
  for (size_t i = 0; i < sizeof text; i++)
    text[i] = "the quick brown fox, "[i % 21];
  if (pipe(end) != 0) die("pipe");
  for (size_t done = 0; done < sizeof text;) {
    ssize_t k = write(end[1], text + done, sizeof text - done);
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) die("write");
    done += k;
  }
  /* Of a pipe that is not closed the reader would never see the end. */
  if (close(end[1]) != 0) die("close");
  while ((n = part(end[0], s, sizeof s)) > 0)
    encode(s, n);
  close(end[0]);
  if (ferror(stdout) || fclose(stdout) != 0) die("standard output");
  return 0;
}
