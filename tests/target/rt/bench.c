/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call costs, in nanoseconds: the fastest of many rounds.
 *   bench call            target_nothing of a library, through the PLT
 *   bench stack           the same, 30 frames below the function `outermost`
 *   bench malloc THREADS  malloc and free of 32 bytes, for each thread; the slowest thread counts
 *   bench close           close(-1), a system call that fails at once
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

long target_nothing(long a);

static double now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

__attribute__((noinline)) static long calls(long n) {
  long sum = 0;
  for (long i = 0; i < n; i++)
    sum += target_nothing(i);
  return sum;
}

static long mallocs(long n) {
  long sum = 0;
  for (long i = 0; i < n; i++) {
    void *p = malloc(32);
    __asm__ volatile("" : : "r"(p) : "memory");
    sum += p != NULL;
    free(p);
  }
  return sum;
}

static long closes(long n) {
  long sum = 0;
  for (long i = 0; i < n; i++)
    sum += close(-1);
  return sum;
}

__attribute__((noinline)) static double fastest(long (*work)(long), long n, int rounds) {
  double best = 1e30;
  volatile long sink;
  for (int i = 0; i < rounds; i++) {
    double start = now();
    sink = work(n);
    double each = (now() - start) / (double)n;
    best = each < best ? each : best;
  }
  (void)sink;
  return best;
}

/* --- a stack --- */

static double measured;
__attribute__((noinline)) static void level0(void) {
  measured = fastest(calls, 2000, 500);
  __asm__ volatile("" ::: "memory");
}
#define LEVEL(name, callee)                                                                                            \
  __attribute__((noinline)) static void name(void) {                                                                   \
    char room[40];                                                                                                     \
    __asm__ volatile("" ::"r"(room) : "memory");                                                                       \
    callee();                                                                                                          \
    __asm__ volatile("" ::: "memory");                                                                                 \
  }
#define NINE(a, b, c, d, e, f, g, h, i, j)                                                                             \
  LEVEL(b, a) LEVEL(c, b) LEVEL(d, c) LEVEL(e, d) LEVEL(f, e) LEVEL(g, f) LEVEL(h, g) LEVEL(i, h) LEVEL(j, i)
NINE(level0, level1, level2, level3, level4, level5, level6, level7, level8, level9)
NINE(level9, level10, level11, level12, level13, level14, level15, level16, level17, level18)
NINE(level18, level19, level20, level21, level22, level23, level24, level25, level26, outermost)

static void *thread(void *result) {
  *(double *)result = fastest(mallocs, 200000, 30);
  return NULL;
}

static double threads(int n) {
  pthread_t ids[16];
  double results[16], worst = 0;
  for (int i = 0; i < n; i++)
    if (pthread_create(&ids[i], NULL, thread, &results[i]) != 0) exit(1);
  for (int i = 0; i < n; i++) {
    if (pthread_join(ids[i], NULL) != 0) exit(1);
    worst = results[i] > worst ? results[i] : worst;
  }
  return worst;
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "call";
  int n = argc > 2 ? atoi(argv[2]) : 1;
  if (n < 1 || n > 16) return 2;
  double ns;
  if (strcmp(what, "call") == 0)
    ns = fastest(calls, 200000, 50);
  else if (strcmp(what, "stack") == 0)
    outermost(), ns = measured;
  else if (strcmp(what, "close") == 0)
    ns = fastest(closes, 2000, 10);
  else
    ns = threads(n);
  printf("%.2f\n", ns);
  return 0;
}
