/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols of Rust in the older of its two forms, for people: _ZN, then each part of the path behind its length, the
 * last of them a hash. What letters of C cannot say is written between dollars.
 */
#include "base/name.h"

#include <ctype.h>
#include <string.h>

#define HASH_LENGTH 17 /* h and 16 digits */

static const struct {
  const char *code, *text;
} escapes[] = {
    {"$SP$", "@"}, {"$BP$", "*"}, {"$RF$", "&"}, {"$LT$", "<"},
    {"$GT$", ">"}, {"$LP$", "("}, {"$RP$", ")"}, {"$C$", ","},
};

/* What stands for an escape at P, N bytes left; *ret_length bytes of it. NULL if there is none. */
static const char *escape_at(const char *p, size_t n, size_t *ret_length, char room[2]) {
  for (size_t i = 0; i < COUNT(escapes); i++) {
    *ret_length = strlen(escapes[i].code);
    if (n >= *ret_length && strncmp(p, escapes[i].code, *ret_length) == 0) return escapes[i].text;
  }
  unsigned c = 0;
  size_t k = 2;
  if (n < 5 || p[0] != '$' || p[1] != 'u') return NULL;
  for (; k < n && isxdigit((unsigned char)p[k]) && c < 128; k++)
    c = c * 16 + (unsigned)(isdigit((unsigned char)p[k]) ? p[k] - '0' : tolower((unsigned char)p[k]) - 'a' + 10);
  if (k == n || p[k] != '$' || c < ' ' || c > '~') return NULL;
  *ret_length = k + 1;
  room[0] = (char)c;
  room[1] = 0;
  return room;
}

static void add_part(struct text *to, const char *p, size_t n) {
  char room[2];
  size_t length;
  if (n > 2 && p[0] == '_' && p[1] == '$') { /* only so that the name begins as one of C does */
    p++;
    n--;
  }
  while (n > 0) {
    const char *text = escape_at(p, n, &length, room);
    if (!text && n > 1 && p[0] == '.' && p[1] == '.') {
      text = "::";
      length = 2;
    }
    if (!text) length = 1;
    text_add_bytes(to, text ? text : p, text ? strlen(text) : 1);
    p += length;
    n -= length;
  }
}

static bool is_hash(const char *p, size_t n) {
  if (n != HASH_LENGTH || p[0] != 'h') return false;
  for (size_t i = 1; i < n; i++)
    if (!isxdigit((unsigned char)p[i])) return false;
  return true;
}

/* The next part of the path: its start and length, and where it ends; false if there is none. */
static bool next_part(const char **at, const char **ret, size_t *ret_n) {
  size_t n = 0;
  const char *p = *at;
  while (isdigit((unsigned char)*p) && n < 4096)
    n = n * 10 + (size_t)(*p++ - '0');
  if (n == 0 || strnlen(p, n) < n) return false;
  *ret = p;
  *ret_n = n;
  *at = p + n;
  return true;
}

bool name_rust(const char *symbol, struct text *to) {
  const char *p = symbol + 3, *part = NULL;
  size_t n = 0, parts = 0;
  if (strncmp(symbol, "_ZN", 3) != 0) return name_rust_path(symbol, to);
  while (next_part(&p, &part, &n))
    parts++;
  if (parts < 2 || *p != 'E' || !is_hash(part, n)) return false;
  p = symbol + 3;
  for (size_t i = 0; i + 1 < parts && next_part(&p, &part, &n); i++) {
    if (i) text_add(to, "::");
    add_part(to, part, n);
  }
  return true;
}
