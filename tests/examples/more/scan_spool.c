/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A spool is worked through in the order of the names. scandir counts from -1.
 *
 * setup: mkdir spool; for i in 3 1 2; do echo "letter $i" > spool/m$i; done
 * expect: crash
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static int letter(const struct dirent *e) { return e->d_name[0] == 'm'; }

static int deliver(const char *name) {
  char path[300], line[100];
  snprintf(path, sizeof path, "spool/%s", name);
  FILE *f = fopen(path, "r");
  if (!f) {
    perror(path);
    return -1;
  }
  printf("%s:\n", name);
  while (fgets(line, sizeof line, f))
    printf("> %s", line);
  int bad = ferror(f) ? -1 : 0;
  if (bad) perror(path);
  fclose(f);
  return bad;
}

int main(void) {
  struct dirent **list = NULL;
  int bad = 0, n = scandir("spool", &list, letter, alphasort);
#ifdef FIXED
  if (n < 0) {
    perror("spool");
    return 1;
  }
#endif
  for (int i = 0; i < n; i++)
    if (deliver(list[i]->d_name) != 0) bad = 1;
  printf("%d letters\n", n);
  while (n--)
    free(list[n]);
  free(list);
  if (ferror(stdout) || fclose(stdout) != 0) {
    perror("standard output");
    return 1;
  }
  return bad;
}
