/* SPDX-License-Identifier: Apache-2.0 */
/* shelves.c: results that are stored behind a pointer, in a variable of the program or in an array, and looked at
 * elsewhere. */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define SLOTS 6

struct shelf {
  long opened;
  char label[300];
  int fd, log;
  int got[SLOTS], kept[SLOTS];
  pthread_t ids[SLOTS];
  unsigned n;
};

static struct shelf shelf, spare;

static void *idle(void *p) { return p; }

/* One is looked at by its name, the other by a pointer. */
static NOINLINE void shelf_open(struct shelf *s, const char *path) {
  s->opened++;
  s->fd = open(path, O_RDONLY); /* @open all */
  s->n = SLOTS;
}

static NOINLINE void shelf_log(struct shelf *s, const char *path) {
  s->log = open(path, O_WRONLY | O_APPEND); /* @open all */
}

static NOINLINE int shelf_is_open(void) { return shelf.fd >= 0; }
static NOINLINE int shelf_logs(const struct shelf *s) { return s->log != -1; }

/* Nobody looks at what is behind this one. */
static NOINLINE void shelf_reopen(struct shelf *s) {
  s->n = (unsigned)s->opened;
  s->got[0] = 0;
  s->label[0] = (char)dup(s->fd); /* @dup none used */
}

/* All elements are looked at by a function that gets the structure. */
static NOINLINE void shelf_start(struct shelf *s) {
  for (unsigned i = 0; i < s->n; i++)
    s->got[i] = pthread_create(&s->ids[i], NULL, idle, s); /* @pthread_create all */
}

static NOINLINE unsigned shelf_started(const struct shelf *s) {
  unsigned n = 0;
  for (unsigned i = 0; i < s->n; i++)
    if (s->got[i] == 0) n++;
  return n;
}

/* These are not: the one that is compared is the array beside it. */
static NOINLINE void shelf_keep(struct shelf *s, pthread_t *ids) {
  for (unsigned i = 0; i < s->n; i++)
    s->kept[i] = pthread_create(&ids[i], NULL, idle, s); /* @pthread_create none used */
}

/* An array on the stack is filled by one function and looked at by another. */
static NOINLINE void open_all(int *fds, char **paths, int n) {
  for (int i = 0; i < n; i++)
    fds[i] = open(paths[i], O_RDONLY); /* @open all */
}

static NOINLINE int all_open(const int *fds, int n) {
  for (int i = 0; i < n; i++)
    if (fds[i] < 0) return 0;
  return 1;
}

static NOINLINE void dup_all(int *fds, const int *from, int n) {
  for (int i = 0; i < n; i++)
    fds[i] = dup(from[i]); /* @dup none used */
}

static NOINLINE long sum_of(const int *fds, int n) {
  long sum = 0;
  for (int i = 0; i < n; i++)
    sum += fds[i];
  return sum;
}

int main(int argc, char **argv) {
  int fds[SLOTS], copies[SLOTS];
  pthread_t more[SLOTS];

  if (argc < 3 || argc > SLOTS) return 2;
  shelf_open(&shelf, argv[1]);
  shelf_log(&spare, argv[2]);
  if (!shelf_is_open()) err(1, "%s", argv[1]);
  if (!shelf_logs(&spare)) err(1, "%s", argv[2]);
  shelf_reopen(&shelf);
  shelf_start(&shelf);
  if (shelf_started(&shelf) == 0) errx(1, "no threads");
  shelf_keep(&spare, more);
  open_all(fds, argv + 1, argc - 1);
  if (!all_open(fds, argc - 1)) err(1, "open");
  dup_all(copies, fds, argc - 1);
  return sum_of(copies, argc - 1) == 77;
}
