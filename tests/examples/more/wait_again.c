/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If there is no memory, it waits for some: for ever, or it gives up after 14 attempts, with a little work before each.
 *
 * expect: hang
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifdef FIXED
static void work(void) {
  clock_t start = clock();
  while (clock() - start < CLOCKS_PER_SEC * 3 / 100) {
  }
}
#endif

static char *get(size_t n) {
  char *p = malloc(n);
#ifdef FIXED
  for (int i = 0; !p && i < 14; i++) {
    usleep(1100000);
    work();
  }
#else
  while (!p)
    sleep(2);
#endif
  return p;
}

int main(void) {
  char *p = get(100);
  if (!p) {
    fprintf(stderr, "gave up\n");
    return 1;
  }
  free(p);
  return 0;
}
