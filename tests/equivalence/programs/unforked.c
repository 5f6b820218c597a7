/* SPDX-License-Identifier: Apache-2.0 */
/* Has memory that a fork's child would not get, or would get empty. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int main(void) {
  char *kept = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (kept == MAP_FAILED) return 2;
  strcpy(kept, "kept");
  strcpy(kept + 4096, "here");
  if (madvise(kept, 4096, MADV_WIPEONFORK) < 0 || madvise(kept + 4096, 4096, MADV_DONTFORK) < 0) return 3;
  char *memory = malloc(10);
  printf("%s %s %d\n", kept, kept + 4096, memory != NULL);
  free(memory);
  return 0;
}
