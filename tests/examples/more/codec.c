/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bug is in a library that lies beside the program: a frame that nobody could allocate is filled.
 *
 * library: codec
 * setup: echo 'hello, hello, hello' > text
 * stdin: text
 * expect: crash
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct frame {
  size_t n;
  char data[];
};

struct frame *codec_pack(const char *text);

#ifdef LIBRARY
struct frame *codec_pack(const char *text) {
  size_t n = strlen(text), k = 0;
  struct frame *f = malloc(sizeof *f + 2 * n + 1);
#ifdef FIXED
  if (!f) return NULL;
#endif
  for (size_t i = 0; i < n;) {
    size_t run = 1;
    while (text[i + run] == text[i] && run < 9)
      run++;
    f->data[k++] = '0' + run;
    f->data[k++] = text[i];
    i += run;
  }
  f->n = k;
  return f;
}
#else
int main(void) {
  char line[256];
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = '\0';
    struct frame *f = codec_pack(line);
    if (!f) {
      fprintf(stderr, "no memory\n");
      return 1;
    }
    printf("%.*s\n", (int)f->n, f->data);
    free(f);
  }
  if (ferror(stdin)) {
    perror("standard input");
    return 1;
  }
  if (fflush(stdout)) {
    perror("standard output");
    return 1;
  }
  return 0;
}
#endif
