/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs by name, as a shell finds them.
 */
#include "program/program.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

const char *program_in_path(struct arena *arena, const char *name) {
  const char *folder = getenv("PATH");
  if (!*name || strchr(name, '/') || access(name, F_OK) == 0) return name;
  while (folder) {
    size_t n = strcspn(folder, ":");
    char *path = arena_alloc(arena, n + strlen(name) + 3);
    if (!path) return NULL;
    memcpy(path, n ? folder : ".", n ? n : 1); /* an empty entry is the working folder */
    path[n ? n : 1] = '/';
    strcpy(path + (n ? n : 1) + 1, name);
    if (is_program(path)) return path;
    folder = folder[n] ? folder + n + 1 : NULL;
  }
  return name;
}
