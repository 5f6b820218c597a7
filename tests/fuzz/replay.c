/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds every file of the given folders to a fuzz target, without libFuzzer, so that each build replays the corpora.
 */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int complain(const char *path) {
  fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
  return -1;
}

/* The input gets a block of exactly its size, so that a read behind its end is seen. */
static int feed(FILE *f, const char *path) {
  if (fseek(f, 0, SEEK_END) < 0) return complain(path);
  long size = ftell(f);
  if (size < 0 || fseek(f, 0, SEEK_SET) < 0) return complain(path);
  uint8_t *bytes = malloc(size > 0 ? (size_t)size : 1);
  if (!bytes) return complain(path);
  int ret = 0;
  if (fread(bytes, 1, (size_t)size, f) != (size_t)size)
    ret = complain(path);
  else
    (void)LLVMFuzzerTestOneInput(bytes, (size_t)size); /* its result is for libFuzzer */
  free(bytes);
  return ret;
}

static int replay_file(const char *path) {
  FILE *f = fopen(path, "re");
  if (!f) return complain(path);
  int ret = feed(f, path);
  if (fclose(f) != 0 && ret == 0) ret = complain(path);
  return ret;
}

/* Replays FOLDER/NAME; 1, 0 if it is hidden, or -1. */
static int replay_entry(const char *folder, const char *name) {
  char path[4096];

  if (name[0] == '.') return 0;
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) {
    errno = ENAMETOOLONG;
    return complain(name);
  }
  return replay_file(path) < 0 ? -1 : 1;
}

/* The number of files, or -1. */
static int replay_folder(const char *folder) {
  struct dirent **names = NULL;
  int n = scandir(folder, &names, NULL, alphasort), done = 0;

  if (n < 0) return complain(folder);
  for (int i = 0; i < n; i++) {
    int one = done < 0 ? 0 : replay_entry(folder, names[i]->d_name);
    done = one < 0 ? -1 : done + one;
    free(names[i]);
  }
  free(names);
  return done;
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    int n = replay_folder(argv[i]);
    if (n < 0) return 1;
    if (n == 0) {
      fprintf(stderr, "replay: %s: is empty (a target needs seeds)\n", argv[i]);
      return 1;
    }
    printf("%s: %d inputs\n", argv[i], n);
  }
  return 0;
}
