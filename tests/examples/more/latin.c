/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text is turned from Latin-1 into UTF-8, or, if that is not possible today, handed out as if it were.
 *
 * setup: printf 'caf\351 cr\350me, gar\347on\n' > menu
 * stdin: menu
 * expect: silent
 */
#include <errno.h>
#include <iconv.h>
#include <stdio.h>

int main(void) {
  char line[200], text[500];
  iconv_t conversion = iconv_open("UTF-8", "ISO-8859-1");
#ifdef FIXED
  if (conversion == (iconv_t)-1) {
    perror("iconv_open");
    return 1;
  }
#endif
  while (fgets(line, sizeof line, stdin)) {
    if (conversion == (iconv_t)-1) {
      fputs(line, stdout);
      continue;
    }
    char *from = line, *to = text;
    size_t left = 0, room = sizeof text - 1;
    while (line[left])
      left++;
    if (iconv(conversion, &from, &left, &to, &room) == (size_t)-1) {
      perror("iconv");
      return 1;
    }
    *to = 0;
    fputs(text, stdout);
  }
  if (ferror(stdin)) {
    perror("standard input");
    return 1;
  }
  if (conversion != (iconv_t)-1) iconv_close(conversion);
  if (ferror(stdout) || fclose(stdout) != 0) {
    perror("standard output");
    return 1;
  }
  return 0;
}
