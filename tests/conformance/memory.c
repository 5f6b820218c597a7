/* SPDX-License-Identifier: Apache-2.0 */
/* Memory. Sizes are large, so that an allocator has to ask the kernel. */
#include "conform.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { MUCH = 1 << 20, PAGE = 4096 };

static char *block;
static void *pointer;
static unsigned maps;
static char long_text[MUCH];

static bool mapped(void *page) {
  unsigned char state[1];
  return x_call(SYS_mincore, (long)page, PAGE, (long)state, 0, 0, 0) == 0;
}

static void malloc_prepare(uint64_t *args) { args[0] = MUCH; }

static void malloc_done(uint64_t result) {
  check(result != 0 && malloc_usable_size((void *)result) >= MUCH, "result", "a block of this size, in all 64 bits");
}

static void calloc_prepare(uint64_t *args) { args[0] = MUCH / 8, args[1] = 8; }

static void calloc_done(uint64_t result) {
  malloc_done(result);
  char *p = (char *)result;
  argument(p && p[0] == 0 && memcmp(p, p + 1, MUCH - 1) == 0, "the block is cleared");
}

static void realloc_prepare(uint64_t *args) {
  block = malloc(100);
  memset(block, 'b', 100);
  args[0] = ARG(block), args[1] = MUCH;
}

static bool all_b(const char *p) {
  for (int i = 0; i < 100; i++)
    if (p[i] != 'b') return false;
  return true;
}

static void realloc_unchanged(void) {
  effect(all_b(block) && malloc_usable_size(block) >= 100, "the old block is as it was");
}

static void realloc_done(uint64_t result) {
  malloc_done(result);
  effect(result != 0 && all_b((char *)result), "the new block holds what the old one held");
}

static void posix_memalign_prepare(uint64_t *args) {
  paint(&pointer, sizeof(pointer));
  args[0] = ARG(&pointer), args[1] = PAGE, args[2] = MUCH;
}

static void posix_memalign_unchanged(void) {
  argument(painted(&pointer, sizeof(pointer)), "the pointer is not written to");
}

static void posix_memalign_done(uint64_t result) {
  check((int)result == 0, "result", "0");
  argument(ARG(pointer) % PAGE == 0 && malloc_usable_size(pointer) >= MUCH, "the pointer is aligned");
}

static void aligned_alloc_prepare(uint64_t *args) { args[0] = PAGE, args[1] = MUCH; }

static void aligned_alloc_done(uint64_t result) {
  malloc_done(result);
  check(result % PAGE == 0, "result", "aligned");
}

static void strdup_prepare(uint64_t *args) {
  memset(long_text, 't', sizeof(long_text) - 1);
  args[0] = ARG(long_text);
}

static void strdup_done(uint64_t result) {
  check(result != 0 && strcmp((char *)result, long_text) == 0, "result", "a copy, in all 64 bits");
}

static void mmap_prepare(uint64_t *args) {
  args[0] = 0, args[1] = MUCH, args[2] = PROT_READ | PROT_WRITE, args[3] = MAP_PRIVATE | MAP_ANONYMOUS;
  args[4] = (uint64_t)-1, args[5] = 0;
  maps = x_count_maps();
}

static void mmap_unchanged(void) { effect(x_count_maps() == maps, "nothing is mapped"); }

static void mmap_done(uint64_t result) {
  check(result != ARG(MAP_FAILED) && mapped((void *)result), "result", "an address, in all 64 bits");
}

static void mapping_prepare(uint64_t *args) {
  block = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  block[0] = 'm';
  args[0] = ARG(block), args[1] = PAGE;
}

static void munmap_unchanged(void) { effect(mapped(block) && block[0] == 'm', "the mapping is still there"); }

static void munmap_done(uint64_t result) {
  check((int)result == 0, "result", "0");
  effect(!mapped(block), "the mapping is gone");
}

static void mprotect_prepare(uint64_t *args) {
  mapping_prepare(args);
  args[2] = PROT_READ;
}

static void mprotect_unchanged(void) { effect(x_writable(block), "the page can still be written to"); }

static void mprotect_done(uint64_t result) {
  check((int)result == 0, "result", "0");
  effect(!x_writable(block), "the page cannot be written to");
}

static void mremap_prepare(uint64_t *args) {
  mapping_prepare(args);
  args[2] = MUCH, args[3] = MREMAP_MAYMOVE;
}

static void mremap_done(uint64_t result) {
  char *p = (char *)result;
  check(p != MAP_FAILED && mapped(p) && p[0] == 'm' && mapped(p + MUCH - PAGE), "result", "an address, in all 64 bits");
}

static const struct function_case cases[] = {
    {"malloc", malloc, LONG, 0, ENOMEM, 0, 0, malloc_prepare, NULL, malloc_done},
    {"calloc", calloc, LONG, 0, ENOMEM, 0, 0, calloc_prepare, NULL, calloc_done},
    {"realloc", realloc, LONG, 0, ENOMEM, 0, 0, realloc_prepare, realloc_unchanged, realloc_done},
    {"posix_memalign", posix_memalign, INT, ENOMEM, 0, 0, ERRNO_OPEN, posix_memalign_prepare, posix_memalign_unchanged,
     posix_memalign_done},
    {"aligned_alloc", aligned_alloc, LONG, 0, ENOMEM, 0, 0, aligned_alloc_prepare, NULL, aligned_alloc_done},
    {"strdup", strdup, LONG, 0, ENOMEM, 0, 0, strdup_prepare, NULL, strdup_done},
    {"mmap", mmap, LONG, -1, ENOMEM, 0, 0, mmap_prepare, mmap_unchanged, mmap_done},
    {"munmap", munmap, INT, -1, EINVAL, 0, 0, mapping_prepare, munmap_unchanged, munmap_done},
    {"mprotect", mprotect, INT, -1, ENOMEM, 0, 0, mprotect_prepare, mprotect_unchanged, mprotect_done},
    {"mremap", mremap, LONG, -1, ENOMEM, 0, 0, mremap_prepare, munmap_unchanged, mremap_done},
};
FAMILY(memory, cases);
