/* SPDX-License-Identifier: Apache-2.0 */
/* Would have another root, which the sandbox does not let it. by branches: 100 of 100 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
  if (mkdir("root", 0777) < 0) return 2;
  int r = chroot("root");
  char *memory = malloc(10);
  printf("%d %d %d\n", r, access("/bin", F_OK), memory != NULL);
  free(memory);
  return 0;
}
