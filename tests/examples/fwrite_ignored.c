/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One of three records is lost when fwrite fails once; the file is there, and shorter.
 *
 * expect: silent
 */
#include <stdio.h>

int main(void) {
  FILE *f = fopen("report.txt", "w");
  if (!f) {
    perror("report.txt");
    return 1;
  }
  setvbuf(f, NULL, _IONBF, 0);
  for (int i = 0; i < 3; i++) {
#ifdef FIXED
    if (fwrite("line\n", 1, 5, f) != 5) {
      perror("report.txt");
      fclose(f);
      return 1;
    }
#else
    (void)!fwrite("line\n", 1, 5, f);
#endif
  }
  if (fclose(f) != 0) {
    perror("report.txt");
    return 1;
  }
  return 0;
}
