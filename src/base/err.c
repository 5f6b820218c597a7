/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages for people, and the end of a program that breaks its own rules.
 *
 * A message is built on the stack and cut if it does not fit the caller's struct; no memory is allocated, so that
 * running out of it can be reported too. must_fail is the only function of this room that writes to a descriptor or
 * ends the process.
 */
#include "base/base.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Two paths and a sentence. */
enum { MESSAGE_MAX = 2 * PATH_MAX + 512 };

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

/* What is wrong stands at the end, and where at the beginning: of what is too long, the middle is left out. */
static void keep_both_ends(const char *whole, size_t n, char to[ERR_MAX]) {
  static const char gap[] = "...";
  const size_t head = ERR_MAX / 3, room = ERR_MAX - 1;
  if (n <= room) {
    memcpy(to, whole, n);
    to[n] = '\0';
    return;
  }
  memcpy(to, whole, head);
  to[head] = '\0';
  drop_half_character(to);
  size_t start = strlen(to), rest = room - start - strlen(gap);
  const char *tail = whole + n - rest;
  while ((*tail & 0xc0) == 0x80)
    tail++;
  (void)snprintf(to + start, ERR_MAX - start, "%s%s", gap, tail);
}

int err_set(struct err *e, int code, const char *fmt, ...) {
  MUST(code < 0);
  if (!e) return code;
  va_list args;
  va_start(args, fmt);
  char whole[MESSAGE_MAX];
  int n = vsnprintf(whole, sizeof whole, fmt, args);
  va_end(args);
  if (n < 0)
    (void)snprintf(e->text, sizeof e->text, "error %d", -code);
  else
    keep_both_ends(whole, (size_t)n < sizeof whole ? (size_t)n : sizeof whole - 1, e->text);
  return code;
}
