/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of stacks, found without a system call for all stacks that the C library made.
 *
 * The program's first stack ends where the loader says (__libc_stack_end), and the kernel keeps 128 MiB below it free
 * of other mappings. A thread's stack is described in its struct pthread, behind the thread pointer: the start and the
 * size of the block that holds stack and struct both. Where in the struct these two words are is found once, by the
 * first thread: two neighbours that describe a block of pages around both the stack pointer and the struct itself.
 *
 * Other stacks (of signal handlers, of coroutines) are read page by page after the kernel has been asked whether the
 * page is there, by a call that every filter knows: rt_sigprocmask with an impossible request fails with EFAULT if the
 * set cannot be read, with EINVAL if it can.
 */
#include "bounds.h"

#include "link.h"
#include "system.h"

#define PAGE 4096ull
#define MAIN_STACK (120ull << 20)
/* Where struct pthread can have the two words: behind the part that is ABI; it is longer than this in all versions. */
#define SEARCH_FROM 0x2c0
#define SEARCH_TO 0x880

static uint64_t stack_end;    /* of the first thread; 0 if not known */
static uint64_t block_offset; /* in struct pthread; 0 if not known yet */

/* Do the words at AT describe a block of pages that SP and SELF are in? */
static bool describes(uint64_t at, uint64_t sp, uint64_t self) {
  uint64_t start = ((const uint64_t *)at)[0], size = ((const uint64_t *)at)[1];
  return start != 0 && (start | size) % PAGE == 0 && sp - start < size && self - start < size;
}

static bool thread_stack(uint64_t sp, uint64_t self) {
  uint64_t offset = rt_load(&block_offset);
  if (offset) return describes(self + offset, sp, self);
  for (offset = SEARCH_FROM; offset < SEARCH_TO; offset += 8)
    if (describes(self + offset, sp, self)) {
      rt_store(&block_offset, offset);
      return true;
    }
  return false;
}

RT_HOT struct rt_bounds rt_bounds_of(uint64_t sp) {
  if (sp % 8 == 0 && stack_end - sp < MAIN_STACK && stack_end - sp > 8) return (struct rt_bounds){sp, stack_end, 0};
  uint64_t self = rt_thread_pointer();
  if (sp % 8 == 0 && sp + 8 < self && thread_stack(sp, self)) return (struct rt_bounds){sp, self & ~7ull, 0};
  return (struct rt_bounds){0, 0, 0};
}

bool rt_bounds_try(struct rt_bounds *b, uint64_t address) {
  if (b->high > 0 || address % 8 != 0) return false;
  if ((address & -PAGE) == b->page) return true;
  long r = rt_system(SYS_rt_sigprocmask, -1, (long)address, 0, 8, 0, 0);
  if (r != -22 /* EINVAL */) return false;
  b->page = address & -PAGE;
  return true;
}

void rt_bounds_start(void) {
  const uint64_t *end = (const uint64_t *)rt_link_any("__libc_stack_end");
  stack_end = end ? *end & ~7ull : 0;
}
