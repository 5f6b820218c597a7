/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies below the stack pointer is nobody's, and yet programs show it: in variables that they forgot to set. A
 * child that murphy has forked must find there what it would have found without murphy's detour.
 *
 * Both run in one function, which calls what makes the detour between them; nothing of that may be deeper than this.
 * The kernel copies, since there may be no memory: below a stack that a program has made there is perhaps none to be
 * read, and below the first thread's there is none before it is used, and then zeros.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "system.h"

#define RT_BELOW 8192
#define RT_PAGE 4096
#define RT_PIECES 3

/* Pieces go downwards, since what cannot be read is below, and none is in two pages: the kernel copies whole ones. */
struct rt_below {
  struct iovec pieces[RT_PIECES], here;
  uint64_t n; /* bytes that were kept */
  char bytes[RT_BELOW];
};
extern struct rt_below rt_below __attribute__((visibility("hidden")));
extern const char rt_below_nothing[RT_PAGE] __attribute__((visibility("hidden")));

#define RT_BELOW_INLINE static inline __attribute__((always_inline))

/* N pieces from FIRST on, and as many bytes at P. */
RT_BELOW_INLINE long rt_below_copy(long number, unsigned first, unsigned n, const void *p, uint64_t size) {
  rt_below.here.iov_base = (void *)(uintptr_t)p;
  rt_below.here.iov_len = size;
  return rt_system(number, rt_system(SYS_getpid, 0, 0, 0, 0, 0, 0), (long)&rt_below.here, 1,
                   (long)&rt_below.pieces[first], n, 0);
}

RT_BELOW_INLINE void rt_below_piece(unsigned i, uint64_t start, uint64_t size) {
  rt_below.pieces[i].iov_base = (void *)start;
  rt_below.pieces[i].iov_len = size;
}

RT_BELOW_INLINE void rt_stack_keep(void) {
  uint64_t top;
  __asm__ volatile("mov %%rsp, %0" : "=r"(top));
  uint64_t page = (top - 1) & ~(uint64_t)(RT_PAGE - 1), part = top - page;
  rt_below_piece(0, page, part);
  rt_below_piece(1, page - RT_PAGE, RT_PAGE);
  rt_below_piece(2, top - RT_BELOW, RT_PAGE - part);
  long n = rt_below_copy(SYS_process_vm_readv, 0, RT_PIECES, rt_below.bytes, RT_BELOW);
  rt_below.n = n < 0 ? 0 : (uint64_t)n;
}

/* A pointer that is left in a copy hides from a leak sanitizer that the program has lost it. */
RT_BELOW_INLINE void rt_below_forget(void) {
  char *at = rt_below.bytes;
  uint64_t words = RT_BELOW / sizeof words;
  __asm__ volatile("rep stosq" : "+D"(at), "+c"(words) : "a"(0ul) : "memory");
}

/* What was not there is zeros, if the detour has made it. */
RT_BELOW_INLINE void rt_stack_put_back(void) {
  uint64_t at = 0;
  (void)rt_below_copy(SYS_process_vm_writev, 0, RT_PIECES, rt_below.bytes, rt_below.n);
  for (unsigned i = 0; i < RT_PIECES; i++) {
    uint64_t size = rt_below.pieces[i].iov_len;
    if (at >= rt_below.n) (void)rt_below_copy(SYS_process_vm_writev, i, 1, rt_below_nothing, size);
    at += size;
  }
  rt_below_forget();
}
