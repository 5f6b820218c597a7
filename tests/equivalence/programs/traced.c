/* SPDX-License-Identifier: Apache-2.0 */
/* Lets itself be traced, which no fork's child is. refused: the process has namespaces or settings that no copy has. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>

int main(void) {
  long first = ptrace(PTRACE_TRACEME, 0, 0, 0);
  char *memory = malloc(10);
  printf("%ld %ld %d\n", first, ptrace(PTRACE_TRACEME, 0, 0, 0), memory != NULL);
  free(memory);
  return 0;
}
