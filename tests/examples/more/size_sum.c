/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much the files take, and whose they are. What stat could not tell is what was on the stack. That HOME is asked for
 * twice is no mistake: the second answer is that of the first.
 *
 * setup: seq 1 100 > one; seq 1 200 > two
 * args: one two
 * expect: silent
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int size_of(const char *path, long long *sum) {
  struct stat st;
  memset(&st, 0, sizeof st);
#ifdef FIXED
  if (stat(path, &st) != 0) {
    perror(path);
    return -1;
  }
#else
  stat(path, &st);
#endif
  *sum += st.st_size;
  return 0;
}

int main(int argc, char **argv) {
  long long sum = 0;
  char home[256] = "nowhere";
  if (getenv("HOME") && strlen(getenv("HOME")) < sizeof home) strcpy(home, getenv("HOME"));
  for (int i = 1; i < argc; i++)
    if (size_of(argv[i], &sum) != 0) return 1;
  printf("%lld bytes, home %s\n", sum, home[0] ? "sweet home" : "empty");
  if (ferror(stdout) || fclose(stdout) != 0) {
    perror("standard output");
    return 1;
  }
  return 0;
}
