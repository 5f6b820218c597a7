/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A result is kept in ~/.cache for the next time; that this fails is no matter. The folder's name, though, may not be had.
 *
 * setup: seq 1 20 > in
 * args: in
 * expect: crash
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *cache_name(void) {
  const char *home = getenv("HOME");
  if (!home || *home != '/') home = "/tmp";
  char *name = malloc(strlen(home) + 32);
#ifdef FIXED
  if (!name) return NULL;
#endif
  sprintf(name, "%s/.cache", home);
  mkdir(name, 0700);
  strcat(name, "/sum-of-lines");
  return name;
}

static void remember(long sum) {
  char *name = cache_name();
  if (!name) return;
  FILE *f = fopen(name, "w");
  if (f) {
    fprintf(f, "%ld\n", sum);
    fclose(f);
  }
  free(name);
}

int main(int argc, char **argv) {
  char line[64];
  long sum = 0;
  if (argc != 2) return 2;
  FILE *f = fopen(argv[1], "r");
  if (!f) {
    perror(argv[1]);
    return 1;
  }
  while (fgets(line, sizeof line, f))
    sum += atol(line);
  if (ferror(f)) {
    perror(argv[1]);
    return 1;
  }
  fclose(f);
  remember(sum);
  printf("%ld\n", sum);
  if (fflush(stdout)) {
    perror("standard output");
    return 1;
  }
  return 0;
}
