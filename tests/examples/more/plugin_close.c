/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Roots are drawn with a library, if there is one, and by hand if not, which takes longer and gives the same. What was
 * not opened is closed nevertheless.
 *
 * build: -ldl
 * expect: crash
 */
#include <dlfcn.h>
#include <stdio.h>

static long by_hand(long n) {
  long r = 0;
  while ((r + 1) * (r + 1) <= n)
    r++;
  return r;
}

struct engine {
  void *library;
  double (*root)(double);
};

static void start(struct engine *e) {
  e->root = NULL;
  e->library = dlopen("libm.so.6", RTLD_NOW);
  if (e->library) e->root = (double (*)(double))dlsym(e->library, "sqrt");
}

static void stop(struct engine *e) {
  e->root = NULL;
#ifdef FIXED
  if (e->library) dlclose(e->library);
#else
  dlclose(e->library);
#endif
  e->library = NULL;
}

int main(void) {
  struct engine e;
  start(&e);
  for (long n = 10; n < 2000; n += 377)
    printf("%ld %ld\n", n, e.root ? (long)e.root(n) : by_hand(n));
  stop(&e);
  if (ferror(stdout) || fclose(stdout) != 0) {
    perror("standard output");
    return 1;
  }
  return 0;
}
