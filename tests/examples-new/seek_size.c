/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a file is, is asked with fseek and ftell; the -1 of a failure becomes a size.
 *
 * setup: printf 'one\ntwo\nthree\n' > poem
 * args: poem
 * expect: crash|abort
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *slurp(const char *path, size_t *length) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  char *text = NULL;
  if (fseek(f, 0, SEEK_END) == 0) {
    long size = ftell(f);
#ifdef FIXED
    if (size < 0) goto done;
#endif
    rewind(f);
    text = malloc(size + 1);
    if (!text) goto done;
    memset(text, ' ', size);
    *length = fread(text, 1, size, f);
    if (ferror(f)) {
      free(text);
      text = NULL;
      goto done;
    }
    text[size] = '\0';
    /* Lines are turned round from the end. */
    for (long i = 0, j = size - 1; i < j || j < -1; i++, j--) {
      char c = text[i];
      text[i] = text[j];
      text[j] = c;
    }
  }
done:
  fclose(f);
  return text;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  size_t n = 0;
  char *text = slurp(argv[1], &n);
  if (!text) {
    perror(argv[1]);
    return 1;
  }
  fwrite(text, 1, n, stdout);
  free(text);
  if (fflush(stdout) || ferror(stdout)) {
    perror("standard output");
    return 1;
  }
  return 0;
}
