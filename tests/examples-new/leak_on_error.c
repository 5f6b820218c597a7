/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If the second file cannot be opened, the first one's text is forgotten. Built with AddressSanitizer.
 *
 * setup: echo one > a; echo one > b
 * args: a b
 * build: -fsanitize=address
 * expect: sanitizer
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *load(const char *path) {
  FILE *f = fopen(path, "r");
  if (!f) {
    perror(path);
    return NULL;
  }
  char *text = calloc(1, 512);
  if (!text) {
    perror(path);
    fclose(f);
    return NULL;
  }
  fread(text, 1, 511, f);
  if (ferror(f)) {
    perror(path);
    fclose(f);
    free(text);
    return NULL;
  }
  fclose(f);
  return text;
}

static int compare(const char *left, const char *right) {
  char *a = load(left);
  if (!a) return 2;
  char *b = load(right);
  if (!b) {
#ifdef FIXED
    free(a);
#endif
    return 2;
  }
  int r = strcmp(a, b) != 0;
  free(a);
  free(b);
  return r;
}

int main(int argc, char **argv) { return argc == 3 ? compare(argv[1], argv[2]) : 2; }
