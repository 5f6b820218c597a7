/* SPDX-License-Identifier: Apache-2.0 */
/* Finds itself in /proc by its number. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void) {
  char path[64], line[64] = "";
  char *memory = malloc(10);
  snprintf(path, sizeof path, "/proc/%d/status", getpid());
  FILE *f = fopen(path, "r");
  if (f && !fgets(line, sizeof line, f)) return 2;
  if (f) fclose(f);
  char *more = malloc(20);
  printf("%s%d %d\n", line, memory != NULL, more != NULL);
  free(memory);
  free(more);
  return 0;
}
