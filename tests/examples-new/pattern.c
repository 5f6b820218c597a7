/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pattern that could not be compiled is searched for.
 *
 * setup: printf 'alpha 1\nbeta\ngamma 22\n' > text
 * args: [0-9][0-9]* text
 * expect: crash
 */
#include <regex.h>
#include <stdio.h>

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  static regex_t re;
  char line[256];
#ifdef FIXED
  int r = regcomp(&re, argv[1], 0);
  if (r) {
    regerror(r, &re, line, sizeof line);
    fprintf(stderr, "%s: %s\n", argv[1], line);
    return 2;
  }
#else
  regcomp(&re, argv[1], 0);
#endif
  FILE *f = fopen(argv[2], "r");
  if (!f) {
    perror(argv[2]);
    regfree(&re);
    return 2;
  }
  int found = 1;
  while (fgets(line, sizeof line, f))
    if (regexec(&re, line, 0, NULL, 0) == 0) {
      fputs(line, stdout);
      found = 0;
    }
  if (ferror(f)) {
    perror(argv[2]);
    found = 2;
  }
  fclose(f);
  regfree(&re);
  if (fflush(stdout)) return 2;
  return found;
}
