/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comments in the source that accept a call: "murphy: ignore" on the line of the call, or "murphy: ignore close" for
 * that function only. A source that cannot be read accepts nothing.
 */
#include "site/site.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE_MAX (64u << 20)
#define WORD "murphy: ignore"

/* The source that was read last; sites of one file come in any order, but there are few files. */
struct source {
  const char *path;
  char *bytes;
  size_t size;
};

typedef VEC(struct source) source_vec;

static const struct source *source_of(source_vec *all, const char *path) {
  for (size_t i = 0; i < all->n; i++)
    if (strcmp(all->at[i].path, path) == 0) return &all->at[i];
  struct source s = {.path = path};
  if (file_read(path, SOURCE_MAX, &s.bytes, &s.size, NULL) < 0) s.bytes = NULL;
  if (vec_push(all, s) >= 0) return &all->at[all->n - 1];
  free(s.bytes);
  return NULL;
}

/* Does the line accept calls of FUNCTION? */
static bool accepts(const char *line, size_t n, const char *function) {
  size_t length = strlen(WORD);
  for (size_t i = 0; i + length <= n; i++) {
    if (memcmp(line + i, WORD, length) != 0) continue;
    const char *rest = line + i + length, *end = line + n;
    while (rest < end && (*rest == ' ' || *rest == '\t'))
      rest++;
    size_t name = 0;
    while (rest + name < end && (isalnum((unsigned char)rest[name]) || rest[name] == '_'))
      name++;
    return name == 0 || (name == strlen(function) && memcmp(rest, function, name) == 0);
  }
  return false;
}

static bool line_accepts(const struct source *s, unsigned line, const char *function) {
  const char *at = s->bytes, *end = s->bytes + s->size;
  for (unsigned i = 1; i < line && at; i++) {
    at = memchr(at, '\n', (size_t)(end - at));
    if (at) at++;
  }
  if (!at || at >= end) return false;
  const char *stop = memchr(at, '\n', (size_t)(end - at));
  return accepts(at, (size_t)((stop ? stop : end) - at), function);
}

int site_suppress(struct site_list *l) {
  source_vec sources = {0};
  int r = 0;
  for (size_t i = 0; i < l->n && r >= 0; i++) {
    struct site *s = &l->sites[i];
    if (!s->at.file || !s->at.line || (s->verdict != SITE_NONE && s->verdict != SITE_SOME)) continue;
    const struct source *source = source_of(&sources, s->at.file);
    if (!source) r = -ENOMEM;
    if (source && source->bytes) s->suppressed = line_accepts(source, s->at.line, s->function);
  }
  for (size_t i = 0; i < sources.n; i++)
    free(sources.at[i].bytes);
  vec_done(&sources);
  return r;
}
