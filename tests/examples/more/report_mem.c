/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report is put together in memory, so that its length can be told before it.
 *
 * setup: printf 'apples 3\npears 5\nplums 12\n' > stock
 * stdin: stock
 * expect: crash
 */
#include <stdio.h>
#include <stdlib.h>

static int report(FILE *in, char **text, size_t *length) {
  char name[32];
  int n, total = 0, fields;
  FILE *out = open_memstream(text, length);
#ifdef FIXED
  if (!out) return -1;
#endif
  fputs("REPORT\n", out);
  while ((fields = fscanf(in, "%31s %d", name, &n)) == 2) {
    fprintf(out, "%-10s %4d\n", name, n);
    total += n;
  }
  fprintf(out, "%-10s %4d\n", "total", total);
  int bad = ferror(in) || fields != EOF || ferror(out);
  if (fclose(out) != 0) bad = 1;
  return bad ? -1 : 0;
}

int main(void) {
  char *text = NULL;
  size_t length = 0;
  if (report(stdin, &text, &length) != 0) {
    perror("report");
    free(text);
    return 1;
  }
  printf("Length: %zu\n\n", length);
  fwrite(text, 1, length, stdout);
  free(text);
  if (ferror(stdout) || fclose(stdout) != 0) {
    perror("standard output");
    return 1;
  }
  return 0;
}
