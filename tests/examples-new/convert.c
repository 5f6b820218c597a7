/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iconv_open tells its failure by -1, and not by NULL; and what is converted by that is nothing.
 *
 * setup: printf 'gr\303\274n\n' > in
 * stdin: in
 * expect: silent
 */
#include <iconv.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  char in[256], out[1024];
  iconv_t cd = iconv_open("ISO-8859-1", "UTF-8");
#ifdef FIXED
  if (cd == (iconv_t)-1) {
#else
  if (!cd) {
#endif
    perror("iconv_open");
    return 1;
  }
  while (fgets(in, sizeof in, stdin)) {
    char *from = in, *to = out;
    size_t left = strlen(in), room = sizeof out;
#ifdef FIXED
    if (iconv(cd, &from, &left, &to, &room) == (size_t)-1) {
      perror("iconv");
      iconv_close(cd);
      return 1;
    }
#else
    iconv(cd, &from, &left, &to, &room);
#endif
    fwrite(out, 1, to - out, stdout);
  }
  if (ferror(stdin)) {
    perror("standard input");
    return 1;
  }
  iconv_close(cd);
  if (fflush(stdout) || ferror(stdout)) {
    perror("standard output");
    return 1;
  }
  return 0;
}
