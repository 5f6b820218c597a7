/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function is looked up in a module that may not have been loaded. The mended one has a slower way of its own.
 *
 * module: fastsum
 * build: -ldl
 * setup: seq 1 30 > in
 * stdin: in
 * expect: crash
 */
#include <dlfcn.h>
#include <stdio.h>

typedef long adder(const long *p, int n);

#ifdef LIBRARY
long fastsum(const long *p, int n) {
  long a = 0, b = 0;
  for (; n > 1; n -= 2, p += 2)
    a += p[0], b += p[1];
  return a + b + (n ? *p : 0);
}
#else
#ifdef FIXED
static long slow(const long *p, int n) {
  long s = 0;
  while (n--)
    s += *p++;
  return s;
}
#endif

int main(void) {
  long numbers[64];
  int n = 0;
  while (n < 64 && scanf("%ld", &numbers[n]) == 1)
    n++;
  if (ferror(stdin)) {
    perror("standard input");
    return 1;
  }
  void *module = dlopen("./libfastsum.so", RTLD_NOW);
#ifdef FIXED
  adder *add = module ? (adder *)dlsym(module, "fastsum") : NULL;
  if (!add) add = slow;
#else
  adder *add = (adder *)dlsym(module, "fastsum");
#endif
  printf("%ld\n", add(numbers, n));
  return fflush(stdout) ? 1 : 0;
}
#endif
