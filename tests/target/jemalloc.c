/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another allocator stays the program's allocator.
 *
 * @needs cc $here/jemalloc.c -ljemalloc -o probe
 * @build cc -O1 -fno-builtin -pthread $src -ljemalloc -o $out
 * @run 0 0 -f 'malloc:ENOMEM when call==1000000' --
 * @run 1 0 -f 'malloc:ENOMEM when caller("allocate") and once' -- fail
 * @run 1 0 -f 'calloc:ENOMEM when caller("allocate") and once' -- calloc
 */
#include "expect.h"

#include <stdint.h>

int mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size);

static size_t allocated(void) {
  uint64_t epoch = 1;
  size_t n = 0, size = sizeof(n), epoch_size = sizeof(epoch);
  EXPECT(mallctl("epoch", &epoch, &epoch_size, &epoch, sizeof(epoch)) == 0);
  EXPECT(mallctl("stats.allocated", &n, &size, NULL, 0) == 0);
  return n;
}

__attribute__((noinline)) void *allocate(int cleared);
void *allocate(int cleared) {
  void *p = cleared ? calloc(1, 1 << 20) : malloc(1 << 20);
  __asm__ volatile("" : "+r"(p));
  return p;
}

int main(int argc, char **argv) {
  int cleared = argc > 1 && strcmp(argv[1], "calloc") == 0;
  if (argc > 1) {
    errno = 0;
    EXPECT(allocate(cleared) == NULL && errno == ENOMEM);
  }
  size_t before = allocated();
  void *p = allocate(cleared);
  EXPECT(p && allocated() >= before + (1 << 20));
  free(p);
  return 0;
}
