/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A buffer that could not grow is forgotten with all that it held: the pointer was overwritten. With AddressSanitizer.
 *
 * setup: seq 1 60 > in
 * stdin: in
 * build: -fsanitize=address
 * expect: sanitizer
 */
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  char *text = NULL;
  size_t n = 0, room = 0;
  int c, status = 0;
  while ((c = getchar()) != EOF) {
    if (n == room) {
      room = room ? 2 * room : 32;
#ifdef FIXED
      char *more = realloc(text, room);
      if (!more) {
        fprintf(stderr, "no memory\n");
        free(text);
        return 1;
      }
      text = more;
#else
      text = realloc(text, room);
      if (!text) {
        fprintf(stderr, "no memory\n");
        return 1;
      }
#endif
    }
    text[n++] = c;
  }
  if (ferror(stdin)) {
    perror("standard input");
    status = 1;
  }
  while (n > 0)
    putchar(text[--n]);
  free(text);
  return fflush(stdout) || ferror(stdout) ? 1 : status;
}
