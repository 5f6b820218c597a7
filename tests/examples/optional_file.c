/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list that cannot be read is taken for one that is not there yet, and written anew. That it is not there is fine.
 *
 * expect: silent
 */
#include <errno.h>
#include <stdio.h>

int main(void) {
  char names[512] = "";
  FILE *f = fopen("/etc/hostname", "r");
  if (f) {
    size_t n = fread(names, 1, sizeof names - 1, f);
    if (ferror(f)) {
      perror("/etc/hostname");
      return 1;
    }
    names[n] = '\0';
    fclose(f);
  }
#ifdef FIXED
  else if (errno != ENOENT) {
    perror("/etc/hostname");
    return 1;
  }
#endif
  f = fopen("names", "w");
  if (!f) {
    perror("names");
    return 1;
  }
  fprintf(f, "%sone more\n", names);
  if (ferror(f) | fclose(f)) {
    perror("names");
    return 1;
  }
  return 0;
}
