/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages for people, and the end of a program that breaks its own rules.
 *
 * A message is built in the caller's struct and cut if it does not fit; no memory is allocated, so that running out of
 * it can be reported too. must_fail is the only function of this room that writes to a descriptor or ends the process.
 */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

void must_fail(const char *condition, const char *file, int line) {
  (void)fprintf(stderr, "murphy: %s:%d: this must hold: %s (a mistake in murphy; please report it)\n", file, line,
                condition);
  abort();
}

/* A cut must not leave half a character behind: drops the bytes of an incomplete UTF-8 sequence at the end. */
static void drop_half_character(char *text) {
  size_t n = strlen(text), start = n;
  while (start > 0 && n - start < 3 && ((unsigned char)text[start - 1] & 0xc0) == 0x80)
    start--;
  if (start == 0) return;
  unsigned char lead = (unsigned char)text[start - 1];
  size_t want = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  if (want > n - start + 1) text[start - 1] = '\0';
}

int err_set(struct err *e, int code, const char *fmt, ...) {
  MUST(code < 0);
  if (!e) return code;
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(e->text, sizeof e->text, fmt, args);
  va_end(args);
  if (n < 0)
    (void)snprintf(e->text, sizeof e->text, "error %d", -code);
  else if ((size_t)n >= sizeof e->text)
    drop_half_character(e->text);
  return code;
}
