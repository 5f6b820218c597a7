/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sum is kept in a cache, and computed if the cache cannot be read. In that case the cache is closed twice, and the
 * second time its number belongs to another file.
 *
 * setup: seq 1 100 > numbers; printf '5050\n' > cache; : > log
 * expect: silent
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int die(const char *what) {
  perror(what);
  exit(1);
}

static int put(int fd, const char *text) {
  for (size_t n = strlen(text); n > 0;) {
    ssize_t k = write(fd, text, n);
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) return -1;
    text += k;
    n -= k;
  }
  return 0;
}

static int read_cache(int *fd, long *sum) { /* the cache stays open for a later update */
  char text[32];
  *fd = open("cache", O_RDWR);
  if (*fd < 0) return -1;
  ssize_t n = read(*fd, text, sizeof text - 1);
  if (n > 0 && text[n - 1] == '\n') {
    text[n] = 0;
    *sum = strtol(text, NULL, 10);
    return 0;
  }
  close(*fd);
#ifdef FIXED
  *fd = -1;
#endif
  return -1;
}

static long compute(void) {
  long n, sum = 0;
  FILE *f = fopen("numbers", "r");
  if (!f) die("numbers");
  while (fscanf(f, "%ld", &n) == 1)
    sum += n;
  if (ferror(f) || !feof(f)) die("numbers");
  fclose(f);
  return sum;
}

int main(void) {
  char text[40];
  long sum;
  int cache;
  if (read_cache(&cache, &sum) != 0) sum = compute();
  int out = open("result", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (out < 0) die("result");
  if (cache >= 0) close(cache);
  int log = open("log", O_WRONLY | O_APPEND); /* stays open until the end */
  if (log < 0) die("log");
  snprintf(text, sizeof text, "%ld\n", sum);
  if (put(log, "begin\n") != 0) die("log");
  if (put(out, text) != 0) die("result");
  if (put(log, "end\n") != 0 || fsync(log) != 0) die("log");
  if (close(out) != 0) die("result");
  return 0;
}
