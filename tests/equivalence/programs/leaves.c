/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever fails, it leaves another mess behind: no child of a trunk may see anything of those before it.
 *
 * by branches: 60 of 100
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static void show(const char *path, int depth) {
  struct dirent *entry;
  struct stat s;
  DIR *d = opendir(path);
  while (d && (entry = readdir(d))) {
    char below[512];
    if (entry->d_name[0] == '.') continue;
    snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
    if (lstat(below, &s) < 0) continue;
    printf("%*s%s %o", 2 * depth, "", entry->d_name, s.st_mode);
    if (S_ISREG(s.st_mode)) printf(" %lld", (long long)s.st_size);
    printf("\n");
    if (S_ISDIR(s.st_mode)) show(below, depth + 1);
  }
  if (d) closedir(d);
}

/* The program itself is all that was there before. The folder above may be that of the whole layer. */
static void leave(int step) {
  switch (step % 5) {
  case 0:
    unlink("leaves");
    break;
  case 1:
    chmod("..", 0700);
    break;
  case 2:
    rename("work", "elsewhere");
    mkdir("work", 0700);
    break;
  case 3:
    setxattr(".", "user.leaves", "x", 1, 0);
    symlink("nowhere", "work/link");
    break;
  default:
    truncate("work/0", 100000);
    chmod("work", 0500);
  }
}

static int make(int step) {
  char name[64];
  snprintf(name, sizeof name, "work/%d", step);
  FILE *f = fopen(name, "w");
  if (!f) return -1;
  int r = fprintf(f, "%d\n", step);
  if (fclose(f) != 0 || r < 0) return -1;
  return step % 3 == 2 ? unlink(name) : 0;
}

int main(void) {
  struct stat s;
  if (mkdir("work", 0777) < 0) leave(0);
  for (int step = 0; step < 10; step++) {
    char *memory = malloc(10);
    if (!memory || make(step) < 0) leave(step);
    free(memory);
  }
  show(".", 0);
  if (stat("..", &s) == 0) printf("%o %zd\n", s.st_mode, getxattr(".", "user.leaves", NULL, 0));
  return 0;
}
