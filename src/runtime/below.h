/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies below the stack pointer is nobody's, and yet programs show it: in variables that they forgot to set. A
 * child that murphy has forked must find there what it would have found without murphy's detour.
 *
 * Both run in one function, which calls what makes the detour between them; nothing of that may be deeper than this.
 */
#pragma once

#include <stdint.h>

#define RT_BELOW 8192
extern char rt_below[RT_BELOW] __attribute__((visibility("hidden")));

#define rt_stack_keep()                                                                                                \
  do {                                                                                                                 \
    uint64_t n_ = RT_BELOW, to_ = (uint64_t)rt_below, from_;                                                           \
    __asm__ volatile("lea -%c3(%%rsp), %1\n\tcld\n\trep movsb"                                                         \
                     : "+c"(n_), "=&S"(from_), "+D"(to_)                                                               \
                     : "i"(RT_BELOW)                                                                                   \
                     : "memory");                                                                                      \
  } while (0)

#define rt_stack_put_back()                                                                                            \
  do {                                                                                                                 \
    uint64_t n_ = RT_BELOW, from_ = (uint64_t)rt_below, to_;                                                           \
    __asm__ volatile("lea -%c3(%%rsp), %1\n\tcld\n\trep movsb"                                                         \
                     : "+c"(n_), "=&D"(to_), "+S"(from_)                                                               \
                     : "i"(RT_BELOW)                                                                                   \
                     : "memory");                                                                                      \
  } while (0)
