/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of what is lent. A thread and the child that it has by vfork have the same thread pointer, and never run at
 * the same time; but they are two processes. So a block that is in use by another process with this thread's pointer is
 * one that a child has left behind.
 */
#include "lend.h"

#include "system.h"

#define BLOCKS 64

struct block {
  uint64_t thread; /* pointer; 0: the place is free */
  uint64_t process;
  void *at;
  size_t size;
};
static struct block blocks[BLOCKS];

static void unmap(void *p, size_t size) { (void)rt_system(SYS_munmap, (long)p, (long)size, 0, 0, 0, 0); }

/* A place in the table for this thread; NULL if there is none. */
static struct block *find_place(uint64_t thread, uint64_t process) {
  for (unsigned i = 0; i < BLOCKS; i++)
    if (rt_load(&blocks[i].thread) == thread && blocks[i].process != process) return &blocks[i];
  for (unsigned i = 0; i < BLOCKS; i++) {
    uint64_t none = 0;
    if (rt_load(&blocks[i].thread) == 0 && rt_swap_if(&blocks[i].thread, &none, thread)) return &blocks[i];
  }
  return NULL;
}

void *rt_lend(size_t size) {
  uint64_t process = (uint64_t)rt_system(SYS_getpid, 0, 0, 0, 0, 0, 0);
  struct block *b = find_place(rt_thread_pointer(), process);
  if (!b) return rt_map(size);
  b->process = process;
  if (b->at && b->size < size) {
    unmap(b->at, b->size);
    b->at = NULL;
  }
  if (!b->at) {
    b->at = rt_map(size);
    b->size = size;
  }
  void *p = b->at;
  if (!p) rt_store(&b->thread, 0);
  return p;
}

void rt_lend_back(void *p, size_t size) {
  for (unsigned i = 0; i < BLOCKS; i++)
    if (rt_load(&blocks[i].thread) == rt_thread_pointer() && blocks[i].at == p) {
      unmap(p, blocks[i].size);
      blocks[i].at = NULL;
      rt_store(&blocks[i].thread, 0);
      return;
    }
  unmap(p, size);
}
