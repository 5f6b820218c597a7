/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was written is read again. Where nothing waits in the buffer, to seek cannot fail for lack of what it holds.
 *
 * setup: printf '0\n1\n2\n3\n' > lines
 * expect: silent
 */
#include <stdio.h>

static int fail(const char *what) {
  perror(what);
  return 1;
}

int main(void) {
  char line[100];
  FILE *in = fopen("lines", "r+"), *out = fopen("copy", "w+");
  if (!in || !out) return fail("files");
  fseek(in, 4, SEEK_SET);
  while (fgets(line, sizeof line, in))
    if (fputs(line, out) < 0) return fail("copy");
  if (ferror(in)) return fail("lines");
#ifdef FIXED
  if (fflush(out) != 0) return fail("copy");
#endif
  fseek(out, 0, SEEK_SET);
  if (fprintf(out, "9") < 0 || fflush(out) != 0) return fail("copy");
#ifdef FIXED
  fseek(out, 2, SEEK_SET);
  if (!fgets(line, sizeof line, out) || fputs(line, stdout) < 0) return fail("output");
#endif
  if (fclose(out) != 0 || fclose(in) != 0 || fclose(stdout) != 0) return fail("files");
  return 0;
}
