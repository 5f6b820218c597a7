/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks that were seen, as their hashes: in memory, or in a file that all processes of all runs share. The file is
 * mapped once and closed; each entry is put there by one atomic operation.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "operand.h"
#include "stack.h"
#include "system.h"

#define MEMORIES 16
#define ENTRIES WIRE_SEEN_ENTRIES
#define TRIES 64
#define MAGIC WIRE_SEEN_MAGIC
#define SIZE WIRE_SEEN_SIZE

static uint64_t *memories[MEMORIES]; /* entries, behind the word that says what it is; NULL if there is none */

static uint64_t *map_file(const char *path) {
  long fd = rt_system(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CREAT | O_CLOEXEC, 0600, 0, 0), p = -1;
  struct stat s = {0};
  if (fd < 0) return NULL;
  bool good = rt_system(SYS_fstat, fd, (long)&s, 0, 0, 0, 0) == 0 && S_ISREG(s.st_mode);
  if (good && s.st_size == 0)
    good = rt_system(SYS_ftruncate, fd, SIZE, 0, 0, 0, 0) == 0;
  else if (s.st_size != (long)SIZE)
    good = false;
  if (good) p = rt_system(SYS_mmap, 0, SIZE, 3 /* read, write */, 1 /* shared */, fd, 0);
  (void)rt_system(SYS_close, fd, 0, 0, 0, 0, 0);
  uint64_t none = 0, *words = (uint64_t *)p;
  if (p < 0 && p > -4096) return NULL;
  if (rt_swap_if(words, &none, MAGIC) || none == MAGIC) return words + 1;
  (void)rt_system(SYS_munmap, p, SIZE, 0, 0, 0, 0);
  return NULL;
}

void rt_fresh_start(void) {
  for (uint32_t i = 0; i < rt.plan->memories.n && i < MEMORIES; i++) {
    uint32_t path = rt_array(memories, uint32_t)[i];
    memories[i] = path ? map_file(rt_text(path)) : NULL;
    if (!memories[i]) memories[i] = rt_map(SIZE);
  }
}

/* A memory that is full knows everything. */
bool rt_fresh(const struct rt_call *c, uint32_t memory) {
  uint64_t *entries = memories[memory % MEMORIES], hash = rt_point_hash(c);
  for (uint32_t i = 0; i < TRIES && entries; i++) {
    uint64_t *entry = &entries[(hash + i) % ENTRIES], none = 0;
    if (rt_load(entry) == hash) return false;
    if (rt_load(entry) == 0 && rt_swap_if(entry, &none, hash)) return true;
    if (none == hash) return false;
  }
  return false;
}
