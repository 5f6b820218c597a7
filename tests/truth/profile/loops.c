/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fstack-protector-strong */
/* Results that gather over loops, and retries that give up. */
#include "truth.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* errors: none */
EXPORT size_t words_count(const char *s) {
  size_t n = 0;
  bool in = false;
  for (; *s; s++) {
    bool space = *s == ' ' || *s == '\t' || *s == '\n';
    if (!space && !in)
      n++;
    in = !space;
  }
  return n;
}

/* errors: -1[@read,EPIPE] */
EXPORT ssize_t line_read(int fd, char *to, size_t room) {
  char chunk[64];
  size_t used = 0;
  while (used < room) {
    ssize_t n = read(fd, chunk, sizeof chunk);
    if (n < 0) {
      if (errno == EINTR)
        continue;
      return -1;
    }
    if (n == 0) {
      errno = EPIPE;
      return -1;
    }
    for (ssize_t i = 0; i < n && used < room; i++) {
      to[used++] = chunk[i];
      if (chunk[i] == '\n')
        return (ssize_t)used;
    }
  }
  return (ssize_t)used;
}

/* The first failure is remembered, the loop goes on. */
/* errors: -21 -22 */
EXPORT int items_close(int *items, unsigned n) {
  int first = 0;
  for (unsigned i = 0; i < n; i++) {
    int r = 0;
    if (items[i] < 0)
      r = -21;
    else if (items[i] > 255)
      r = -22;
    items[i] = -1;
    if (r < 0 && first == 0)
      first = r;
  }
  return first;
}

/* errors: -1 */
EXPORT int text_getc(const char **p, const char *end) {
  while (*p < end) {
    unsigned char c = (unsigned char)*(*p)++;
    if (c != '\r')
      return c;
  }
  return EOF;
}

/* errors: -1[*] */
EXPORT int text_puts(FILE *to, const char *text) {
  for (; *text; text++) {
    if (*text == '\n' && putc('\r', to) == EOF)
      return EOF;
    if (putc(*text, to) == EOF)
      return EOF;
  }
  return 0;
}

/* errors: none */
EXPORT int bits_highest(unsigned long v) {
  int n = 3;
  while (v >>= 1)
    n++;
  return n;
}

/* errors: -1 */
EXPORT int sorted_find(const int *v, int n, int key) {
  int low = 0, high = n - 1;
  while (low <= high) {
    int mid = low + (high - low) / 2;
    if (v[mid] == key)
      return mid;
    if (v[mid] < key)
      low = mid + 1;
    else
      high = mid - 1;
  }
  return -1;
}
