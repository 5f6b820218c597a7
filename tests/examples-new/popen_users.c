/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What another program says is read through a pipe; if that program could not be started, it said nothing.
 *
 * setup: printf 'b\na\nb\nc\n' > names
 * expect: silent
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

int main(void) {
  char line[128];
  int n = 0;
  FILE *p = popen("sort -u names", "r");
#ifdef FIXED
  if (!p) {
    perror("sort");
    return 1;
  }
#endif
  if (p) {
    while (fgets(line, sizeof line, p))
      n++;
    if (ferror(p)) {
      perror("sort");
      pclose(p);
      return 1;
    }
    int status = pclose(p);
    if (status != 0) {
      fprintf(stderr, "sort: failed\n");
      return 1;
    }
  }
  FILE *f = fopen("count", "w");
  if (!f) {
    perror("count");
    return 1;
  }
  fprintf(f, "%d\n", n);
  if (ferror(f) | fclose(f)) {
    perror("count");
    return 1;
  }
  return 0;
}
