/* SPDX-License-Identifier: Apache-2.0 */
/* Raw system calls, and atomic operations by names that say what they are for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

static inline long rt_system(long number, long a, long b, long c, long d, long e, long f) {
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

#define rt_load(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define rt_store(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define rt_add(p, n) __atomic_fetch_add(p, n, __ATOMIC_ACQ_REL)
#define rt_swap_if(p, expected, v)                                                                                     \
  __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

static inline uint64_t rt_thread_pointer(void) {
  uint64_t p;
  __asm__("mov %%fs:0, %0" : "=r"(p));
  return p;
}

/* The word at OFFSET from the thread pointer: libc's variables are at the same place in all threads. */
static inline uint32_t rt_thread_word(uint64_t offset) {
  uint32_t word;
  __asm__ volatile("movl %%fs:(%1), %0" : "=r"(word) : "r"(offset) : "memory");
  return word;
}
static inline void rt_thread_set_word(uint64_t offset, uint32_t word) {
  __asm__ volatile("movl %0, %%fs:(%1)" : : "r"(word), "r"(offset) : "memory");
}

/* Cleared memory of the process's own, page by page; NULL if there is none. At the start only. */
static inline __attribute__((always_inline)) void *rt_map(size_t size) {
  long p = rt_system(SYS_mmap, 0, (long)size, 3 /* read, write */, 0x4022 /* private, anonymous, no reserve */, -1, 0);
  return p < 0 && p > -4096 ? NULL : (void *)p;
}

/* The kernel's struct sigaction. */
struct rt_sigaction {
  uint64_t handler, flags, restorer, mask;
};
#define RT_RESTART 0x10000000u
