/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header is written last, when its count is known. To go back to it brings out what is in the buffer; if that
 * fails, it is gone, and neither the next fprintf nor fclose tells.
 *
 * expect: silent
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int fail(const char *what) {
  perror(what);
  (void)unlink("packed");
  return 1;
}

int main(void) {
  int count = 0;
  FILE *out = fopen("packed", "w");
  if (!out) return fail("packed");
  if (fprintf(out, "%8d\n", 0) < 0) return fail("packed");
  for (int i = 0; i < 50; i++, count++)
    if (fprintf(out, "record %d\n", i * i) < 0) return fail("packed");
#ifdef FIXED
  if (fseek(out, 0, SEEK_SET) != 0) return fail("packed");
#else
  fseek(out, 0, SEEK_SET);
#endif
  if (fprintf(out, "%8d\n", count) < 0) return fail("packed");
  if (fclose(out) != 0) return fail("packed");
  return 0;
}
