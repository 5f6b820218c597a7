/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy ends at the first error of fread as it would at the end of the file, and is too short.
 *
 * expect: silent
 */
#include <stdio.h>

int main(void) {
  FILE *in = fopen("/etc/passwd", "r"), *out = in ? fopen("copy", "w") : NULL;
  if (!in || !out) {
    perror(in ? "copy" : "/etc/passwd");
    return 1;
  }
  char buffer[256];
  size_t n;
  while ((n = fread(buffer, 1, sizeof buffer, in)) > 0)
    if (fwrite(buffer, 1, n, out) != n) {
      perror("copy");
      return 1;
    }
#ifdef FIXED
  if (ferror(in)) {
    perror("/etc/passwd");
    return 1;
  }
#endif
  fclose(in);
  if (fclose(out) != 0) {
    perror("copy");
    return 1;
  }
  return 0;
}
