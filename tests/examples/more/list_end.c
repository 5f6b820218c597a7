/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backups are thinned out: what is not in the list is deleted. A list that ends early, at an error, deletes too much.
 *
 * setup: mkdir b; touch b/mon b/tue b/wed b/old; printf 'mon\ntue\nwed\n' > keep
 * expect: silent
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char keep[8][32];
static int kept;

static int load(void) {
  FILE *f = fopen("keep", "r");
  if (!f) {
    perror("keep");
    return -1;
  }
  char *line = NULL;
  size_t room = 0;
  ssize_t n;
  while (kept < 8 && (n = getline(&line, &room, f)) > 0)
    snprintf(keep[kept++], sizeof keep[0], "%.*s", (int)strcspn(line, "\n"), line);
  int bad = 0;
#ifdef FIXED
  if (!feof(f)) {
    perror("keep");
    bad = -1;
  }
#endif
  free(line);
  fclose(f);
  return bad;
}

int main(void) {
  if (load() < 0) return 1;
  DIR *d = opendir("b");
  if (!d) {
    perror("b");
    return 1;
  }
  int status = 0;
  struct dirent *e;
  while (errno = 0, (e = readdir(d))) {
    int i = 0;
    if (e->d_name[0] == '.') continue;
    while (i < kept && strcmp(keep[i], e->d_name))
      i++;
    if (i < kept) continue;
    char path[300];
    snprintf(path, sizeof path, "b/%s", e->d_name);
    if (unlink(path) < 0) {
      perror(path);
      status = 1;
    }
  }
  if (errno) {
    perror("b");
    status = 1;
  }
  closedir(d);
  return status;
}
