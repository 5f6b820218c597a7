/* SPDX-License-Identifier: Apache-2.0 */
/* What the targets share: a target states what it expects, and its exit status says whether that came true. */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Not through stdio, which may be what fails. */
#define EXPECT(CONDITION)                                                                                              \
  do {                                                                                                                 \
    if (!(CONDITION)) {                                                                                                \
      static const char what_[] = "not so: " #CONDITION "\n";                                                          \
      expect_failed(what_, sizeof(what_) - 1);                                                                         \
    }                                                                                                                  \
  } while (0)

static inline void expect_failed(const char *what, unsigned long n) {
  long result;
  register long r10 __asm__("r10") = 0;
  __asm__ volatile("syscall" : "=a"(result) : "a"(1l), "D"(2l), "S"(what), "d"(n), "r"(r10) : "rcx", "r11", "memory");
  __asm__ volatile("syscall" : "=a"(result) : "a"(231l), "D"(1l) : "rcx", "r11", "memory");
  __builtin_trap();
}
