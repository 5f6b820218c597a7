/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data files are lines of words; # starts a comment. A line that is not understood is an error with its position:
 * silence would be a wrong profile.
 */
#include "profile/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DATA_MAX (16u << 20)

int lines_bad(const struct lines *at, const char *what, const char *word) {
  return err_set(at->e, -EINVAL, "%s:%u: %s '%s'", at->path, at->line, what, word);
}

int lines_parse(const char *path, char *text, lines_take take, void *to, struct err *e) {
  struct lines at = {.to = to, .path = path, .e = e};
  for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
    at.line++;
    line[strcspn(line, "#\r")] = 0;
    line += strspn(line, " \t");
    int r = *line ? take(&at, line) : 0;
    if (r < 0) return r;
  }
  return 0;
}

int lines_read(const char *path, lines_take take, void *to, uint64_t *hash, struct err *e) {
  char *bytes = NULL;
  size_t size = 0;
  int r = file_read(path, DATA_MAX, &bytes, &size, e);
  if (r < 0) return r;
  *hash = hash_mix(*hash ^ hash_bytes(bytes, size));
  r = lines_parse(path, bytes, take, to, e);
  free(bytes);
  return r;
}
