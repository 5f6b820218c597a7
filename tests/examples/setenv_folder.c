/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LFI, table III: git does not see that setenv failed, and works in the wrong place.
 *
 * expect: silent
 */
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  const char *folder;
#ifdef FIXED
  if (setenv("WORK_FOLDER", "wanted", 1) < 0) {
    perror("WORK_FOLDER");
    return 1;
  }
#else
  setenv("WORK_FOLDER", "wanted", 1);
#endif
  folder = getenv("WORK_FOLDER");
  char path[64];
  snprintf(path, sizeof path, "%s.out", folder ? folder : "default");
  FILE *f = fopen(path, "w");
  if (!f || fputs("data\n", f) == EOF || fclose(f) != 0) {
    perror(path);
    return 1;
  }
  return 0;
}
