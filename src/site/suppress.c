/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comments in the source that accept a call: "murphy: ignore" on the line of the call or on its last line, or "murphy:
 * ignore close, unlink" for those functions only. A source that cannot be read accepts nothing.
 *
 * Which files are sources is what the program says of itself, so nothing but a regular file is opened, and one file is
 * in memory at a time. Only the near part of a line is looked at.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif

#include "site/site.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOURCE_MAX (64 << 20)
#define NEAR 4096

/* --- sources ------------------------------------------------------------------------------------------------------ */

struct source {
  char *bytes;
  size_t size;
  VEC(size_t) lines; /* where each starts */
};

static int read_bytes(int fd, struct source *s) {
  struct stat st;
  if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 || st.st_size > SOURCE_MAX) return 0;
  s->bytes = malloc((size_t)st.st_size);
  if (!s->bytes) return -ENOMEM;
  while (s->size < (size_t)st.st_size) {
    ssize_t n = read(fd, s->bytes + s->size, (size_t)st.st_size - s->size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    s->size += (size_t)n;
  }
  return 0;
}

static void source_done(struct source *s) {
  free(s->bytes);
  vec_done(&s->lines);
  *s = (struct source){0};
}

static int find_lines(struct source *s) {
  int r = 0;
  for (size_t at = 0; at < s->size && r >= 0;) {
    r = vec_push(&s->lines, at);
    const char *end = memchr(s->bytes + at, '\n', s->size - at);
    at = end ? (size_t)(end - s->bytes) + 1 : s->size;
  }
  return r < 0 ? r : 0;
}

/* Reads PATH in the place of what S was. To open a device can have effects, so it is looked at first. */
static int source_read(struct source *s, const char *path) {
  struct stat st;
  source_done(s);
  if (stat(path, &st) < 0 || !S_ISREG(st.st_mode)) return 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return 0;
  int r = read_bytes(fd, s);
  (void)close(fd);
  return r < 0 ? r : find_lines(s);
}

/* --- words -------------------------------------------------------------------------------------------------------- */

static size_t word_length(const char *p, size_t n) {
  size_t i = 0;
  while (i < n && (isalnum((unsigned char)p[i]) || p[i] == '_'))
    i++;
  return i;
}

static bool is_comment(const char *p, size_t n) { return n > 1 && p[0] == '/' && (p[1] == '/' || p[1] == '*'); }

/* How long the comment, string, character or word at P is; 1 for anything else. */
static size_t token_length(const char *p, size_t n) {
  if (is_comment(p, n)) {
    const char *end = p[1] == '/' ? memchr(p, '\n', n) : memmem(p + 2, n - 2, "*/", 2);
    return end ? (size_t)(end - p) + (p[1] == '/' ? 0 : 2) : n;
  }
  if (*p == '\'' && n > 2 && p[1] != '\\' && p[2] == '\'') return 3;
  if (*p == '"' || (*p == '\'' && n > 1 && p[1] == '\\')) {
    size_t i = 1;
    while (i < n && p[i] != *p && p[i] != '\n')
      i += p[i] == '\\' ? 2 : 1;
    return i < n ? i + (p[i] == *p) : n;
  }
  size_t word = word_length(p, n);
  return word ? word : 1;
}

static size_t blanks(const char *p, size_t n) {
  size_t i = 0;
  while (i < n && (p[i] == ' ' || p[i] == '\t'))
    i++;
  return i;
}

/* What follows "ignore": names with commas between, or none for all. */
static bool list_accepts(const char *p, size_t n, const char *function) {
  for (bool first = true;; first = false) {
    size_t skip = blanks(p, n), name = word_length(p + skip, n - skip);
    if (!name) return first;
    if (name == strlen(function) && memcmp(p + skip, function, name) == 0) return true;
    p += skip + name;
    n -= skip + name;
    skip = blanks(p, n);
    if (skip == n || p[skip] != ',') return false;
    p += skip + 1;
    n -= skip + 1;
  }
}

static bool comment_accepts(const char *p, size_t n, const char *function) {
  const char *end = p + n;
  while ((p = memmem(p, (size_t)(end - p), "murphy:", 7)) != NULL) {
    p += 7;
    const char *word = p + blanks(p, (size_t)(end - p));
    size_t length = word_length(word, (size_t)(end - word));
    if (length != 6 || memcmp(word, "ignore", 6) != 0) continue;
    if (list_accepts(word + 6, (size_t)(end - word) - 6, function)) return true;
  }
  return false;
}

/* --- lines -------------------------------------------------------------------------------------------------------- */

/* Does a comment that starts in the line at P accept calls of FUNCTION? */
static bool line_accepts(const char *p, size_t n, const char *function) {
  const char *end = memchr(p, '\n', n);
  if (end) n = (size_t)(end - p);
  for (size_t i = 0, length; i < n; i += length) {
    length = token_length(p + i, n - i);
    if (is_comment(p + i, n - i) && comment_accepts(p + i, length, function)) return true;
  }
  return false;
}

/* Where the parenthesis closes of the call of FUNCTION in the line at P; 0 if that is not seen. */
static size_t call_end(const char *p, size_t n, const char *function) {
  size_t depth = 0, name = strlen(function);
  bool found = false;
  for (size_t i = 0, length; i < n; i += length) {
    length = token_length(p + i, n - i);
    if (!found) {
      if (p[i] == '\n') return 0;
      found = length == name && memcmp(p + i, function, name) == 0;
      continue;
    }
    if (p[i] == '(')
      depth++;
    else if (depth == 0 && p[i] != ' ' && p[i] != '\t')
      found = false;
    else if (p[i] == ')' && --depth == 0)
      return i;
  }
  return 0;
}

static bool accepts(const struct source *s, unsigned line, const char *function) {
  if (line > s->lines.n) return false;
  const char *p = s->bytes + s->lines.at[line - 1];
  size_t n = s->size - s->lines.at[line - 1];
  if (n > NEAR) n = NEAR;
  if (line_accepts(p, n, function)) return true;
  size_t end = call_end(p, n, function);
  return end && memchr(p, '\n', end) && line_accepts(p + end, n - end, function);
}

int site_source_accepts(char *bytes, size_t size, unsigned line, const char *function) {
  struct source s = {.bytes = bytes, .size = size};
  int r = find_lines(&s);
  if (r >= 0) r = accepts(&s, line, function);
  vec_done(&s.lines);
  return r;
}

static int by_file(const void *x, const void *y) {
  const struct site *a = *(struct site *const *)x, *b = *(struct site *const *)y;
  return strcmp(a->at.file, b->at.file);
}

int site_suppress(struct site_list *l) {
  VEC(struct site *) found = {0};
  struct source source = {0};
  int r = 0;
  for (size_t i = 0; i < l->n && r >= 0; i++) {
    struct site *s = &l->sites[i];
    if (!s->at.file || !s->at.line || (s->verdict != SITE_NONE && s->verdict != SITE_SOME)) continue;
    r = vec_push(&found, s);
  }
  if (found.n) qsort(found.at, found.n, sizeof *found.at, by_file);
  for (size_t i = 0; i < found.n && r >= 0; i++) {
    struct site *s = found.at[i];
    if (i == 0 || strcmp(found.at[i - 1]->at.file, s->at.file) != 0) r = source_read(&source, s->at.file);
    if (r >= 0) s->suppressed = accepts(&source, s->at.line, s->function);
  }
  source_done(&source);
  vec_done(&found);
  return r < 0 ? r : 0;
}
