/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The message about a failure names what was freed just before. Built with AddressSanitizer.
 *
 * setup: printf 'k=v\n' > input
 * build: -fsanitize=address
 * expect: sanitizer
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job {
  char *path;
  int fd;
};

static void job_free(struct job *j) {
  if (!j) return;
  if (j->fd >= 0) close(j->fd);
  free(j->path);
  free(j);
}

static struct job *job_new(const char *path) {
  struct job *j = malloc(sizeof *j);
  if (!j) return NULL;
  j->fd = -1;
  j->path = strdup(path);
  if (!j->path) {
    job_free(j);
    return NULL;
  }
  j->fd = open(path, O_RDONLY);
  return j;
}

int main(void) {
  struct job *j = job_new("input");
  if (!j) {
    perror("input");
    return 1;
  }
  if (j->fd < 0) {
#ifdef FIXED
    fprintf(stderr, "%s: %s\n", j->path, strerror(errno));
    job_free(j);
#else
    job_free(j);
    fprintf(stderr, "%s: %s\n", j->path, strerror(errno));
#endif
    return 1;
  }
  char text[16];
  ssize_t n = read(j->fd, text, sizeof text);
  if (n < 0) {
    fprintf(stderr, "%s: %s\n", j->path, strerror(errno));
    job_free(j);
    return 1;
  }
  printf("%zd\n", n);
  job_free(j);
  return fflush(stdout) ? 1 : 0;
}
