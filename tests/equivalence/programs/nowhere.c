/* SPDX-License-Identifier: Apache-2.0 */
/* Its folder is gone. refused: files that were changed cannot be had again. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
  char here[4096];
  if (mkdir("below", 0700) < 0 || chdir("below") < 0 || rmdir("../below") < 0) return 2;
  char *memory = malloc(10);
  printf("%d %d\n", getcwd(here, sizeof here) != NULL, memory != NULL);
  free(memory);
  return 0;
}
