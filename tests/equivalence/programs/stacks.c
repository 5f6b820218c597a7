/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs on a stack of its own, a small one, below which there is no memory.
 *
 * by branches: 100 of 100
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>

enum { PAGE = 4096, PAGES = 2 };
static ucontext_t back, there;
static char *got;
static struct stat folder;

static void work(void) {
  lstat(".", &folder);
  got = malloc(10);
}

int main(void) {
  char *stack = mmap(NULL, (PAGES + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED || mprotect(stack, PAGE, PROT_NONE) < 0 || getcontext(&there) < 0) return 2;
  there.uc_stack.ss_sp = stack + PAGE;
  there.uc_stack.ss_size = PAGES * PAGE;
  there.uc_link = &back;
  makecontext(&there, work, 0);
  if (swapcontext(&back, &there) < 0) return 3;
  printf("%d %d\n", got != NULL, folder.st_nlink > 0);
  free(got);
  return 0;
}
