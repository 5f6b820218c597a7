/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels are made by asprintf. When that fails, the label is the one before, which was freed.
 *
 * setup: printf 'name,age,city\nAda,36,London\nAlan,41,Wilmslow\nGrace,85,Arlington\n' > people.csv
 * args: people.csv
 * expect: abort|crash
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "data/people.csv";
  char line[256];
  char *label = NULL;
  int row = 0, width = 0;

  FILE *f = fopen(path, "r");
  if (!f) {
    perror(path);
    return 1;
  }
  while (fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = 0;
    if (row++ == 0) continue;
    char *save, *name = strtok_r(line, ",", &save);
    char *age = strtok_r(NULL, ",", &save);
    char *city = strtok_r(NULL, "", &save);
    if (!name || !age || !city) {
      fprintf(stderr, "labels: line %d is malformed\n", row);
      return 1;
    }
#ifndef FIXED
    asprintf(&label, "%s (%s) -- %s", name, age, city);
#else
    if (asprintf(&label, "%s (%s) -- %s", name, age, city) < 0) {
      fprintf(stderr, "labels: out of memory\n");
      fclose(f);
      return 1;
    }
#endif
    int l = strlen(label);
    if (l > width) width = l;
    printf("+ %s\n", label);
    free(label);
  }
  if (ferror(f)) {
    fprintf(stderr, "labels: read error on %s\n", path);
    return 1;
  }
  fclose(f);
  printf("widest %d\n", width);
  if (ferror(stdout) || fclose(stdout) == EOF) {
    perror("labels");
    return 1;
  }
  return 0;
}
