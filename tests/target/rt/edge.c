/* SPDX-License-Identifier: Apache-2.0 */
/* edge: close(-7), called with the return address in the last word of a stack that nothing follows. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE 65536

static int close_at(char *top) {
  int result = -7;
  __asm__ volatile("mov %%rsp, %%rbx\n\t"
                   "mov %1, %%rsp\n\t"
                   "call *%2\n\t"
                   "mov %%rbx, %%rsp"
                   : "+D"(result)
                   : "r"(top), "r"(close)
                   : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
  return result;
}

int main(void) {
  char *stack = mmap(NULL, SIZE + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED || mprotect(stack, SIZE, PROT_READ | PROT_WRITE) != 0) return 1;
  errno = 0;
  (void)close_at(stack + SIZE);
  puts(strerrorname_np(errno));
  errno = 0;
  (void)close_at(stack + SIZE - 48);
  puts(strerrorname_np(errno));
  return 0;
}
