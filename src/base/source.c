/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that people wrote: where in it something is wrong, and what its author may have meant.
 *
 * Positions are found only when there is an error to report.
 */
#include "base/base.h"

#include <errno.h>
#include <string.h>

static void position_of(const struct source_text *s, size_t offset, size_t *ret_line, size_t *ret_column) {
  size_t line = 1, column = 1;
  for (size_t i = 0; i < offset && i < s->size; i++) {
    if (s->bytes[i] == '\n') {
      line++;
      column = 1;
    } else {
      column += ((unsigned char)s->bytes[i] & 0xc0) != 0x80;
    }
  }
  *ret_line = line;
  *ret_column = column;
}

int source_error(const struct source_text *s, size_t offset, struct err *e, int code, const char *fmt, ...) {
  char message[sizeof(struct err)];
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(message, sizeof message, fmt, args);
  va_end(args);
  if (n < 0) message[0] = '\0';
  /* Parts of the text are quoted in messages, and must not reach the terminal as commands. */
  for (char *c = message; *c; c++)
    if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
  size_t line, column;
  for (; s->of; s = s->of)
    offset = s->origins[offset < s->size ? offset : s->size];
  position_of(s, offset, &line, &column);
  if (s->one_line) return err_set(e, code, "%s:%zu: %s", s->name, column, message);
  return err_set(e, code, "%s:%zu:%zu: %s", s->name, line, column, message);
}

int source_no_memory(const struct source_text *s, struct err *e) {
  return err_set(e, -ENOMEM, "%s: out of memory", s->name);
}

int source_check(const struct source_text *s, struct err *e) {
  const char *nul = s->size ? memchr(s->bytes, '\0', s->size) : NULL;
  size_t valid = utf8_prefix(s->bytes, nul ? (size_t)(nul - s->bytes) : s->size);
  if (valid == s->size) return 0;
  return source_error(s, valid, e, -EINVAL, "this byte (0x%02x) is not UTF-8 text (save the file as UTF-8)",
                      (unsigned char)s->bytes[valid]);
}

const char *source_hint(const char *near, const char *otherwise, char buffer[SOURCE_HINT]) {
  (void)snprintf(buffer, SOURCE_HINT, "%s%s%s", near ? "did you mean " : otherwise, near ? near : "", near ? "?" : "");
  return buffer;
}
