/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As many threads as processors. Their number may not be known, and threads may not be had; then there are fewer of them.
 *
 * build: -pthread
 * expect: crash
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 6000 };

struct part {
  int from, to;
  long sum;
};

static void *work(void *p) {
  struct part *part = p;
  for (int i = part->from; i < part->to; i++)
    part->sum += i;
  return NULL;
}

int main(void) {
  long many = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef FIXED
  if (many < 1) many = 1;
#endif
  if (many > 4) many = 4;
  struct part parts[4] = {{0}};
  pthread_t t[4];
  int started[4] = {0};
  for (long i = 0; i < many; i++) {
    parts[i].from = N / many * i;
    parts[i].to = i == many - 1 ? N : N / many * (i + 1);
    started[i] = pthread_create(&t[i], NULL, work, &parts[i]) == 0;
    if (!started[i]) work(&parts[i]);
  }
  long sum = 0;
  for (long i = 0; i < many; i++) {
    if (started[i]) pthread_join(t[i], NULL);
    sum += parts[i].sum;
  }
#ifndef FIXED
  char *marks = malloc(4);
  if (!marks) return 1;
  for (size_t i = 0; i < (size_t)many; i++)
    marks[i] = '*';
  free(marks);
#endif
  printf("%ld\n", sum);
  return fflush(stdout) ? 1 : 0;
}
