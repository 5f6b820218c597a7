/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places in code as people name them in a string.
 */
#include "scenario/model.h"

#include <errno.h>
#include <string.h>

static const char *part(struct arena *a, const char *text, size_t n) {
  char *copy = arena_alloc(a, n + 1);
  if (!copy) return NULL;
  memcpy(copy, text, n);
  copy[n] = '\0';
  return copy;
}

int frame_parse(struct arena *a, const char *text, struct scenario_frame *ret) {
  struct scenario_frame f = {0};
  const char *colon = strrchr(text, ':'), *plus = strrchr(text, '+');
  int64_t number;
  const char **name = &f.any;
  size_t n = strlen(text);
  if (plus && plus > text && strncmp(plus + 1, "0x", 2) == 0 && number_parse(plus + 1, &number) == 0) {
    name = &f.module;
    n = (size_t)(plus - text);
    f.has_offset = true;
    f.offset = (uint64_t)number;
  } else if (colon && colon > text && colon[1] >= '0' && colon[1] <= '9' && number_parse(colon + 1, &number) == 0 &&
             number > 0 && number <= UINT32_MAX) {
    name = &f.file;
    n = (size_t)(colon - text);
    f.line = (unsigned)number;
  }
  *name = part(a, text, n);
  if (!*name) return -ENOMEM;
  *ret = f;
  return 0;
}
