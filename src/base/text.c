/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing string, and how bytes are written into JSON and XML.
 *
 * Once an allocation has failed nothing more is added, so that a text is always a prefix of what was meant. Both
 * languages demand valid characters: what is not UTF-8, and for XML most control characters, becomes U+FFFD.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memrchr */
#endif

#include "base/base.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char REPLACEMENT[] = "\xef\xbf\xbd";

/* Room for MORE bytes and the NUL behind them. */
static bool reserve(struct text *t, size_t more) {
  if (t->failed || more >= PTRDIFF_MAX - t->n) {
    t->failed = true;
    return false;
  }
  size_t need = t->n + more + 1;
  if (need <= t->cap) return true;
  size_t cap = t->cap < 64 ? 128 : t->cap * 2;
  if (cap < need) cap = need;
  char *grown = realloc(t->at, cap);
  if (!grown) {
    t->failed = true;
    return false;
  }
  t->at = grown;
  t->cap = cap;
  return true;
}

void text_add_bytes(struct text *t, const void *p, size_t n) {
  if (!reserve(t, n)) return;
  if (n) memcpy(t->at + t->n, p, n);
  t->n += n;
  t->at[t->n] = '\0';
}

void text_add(struct text *t, const char *s) { text_add_bytes(t, s, strlen(s)); }

void text_addf(struct text *t, const char *fmt, ...) {
  /* Most texts fit into what is there; the others are formatted twice. */
  if (!reserve(t, 64)) return;
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(t->at + t->n, t->cap - t->n, fmt, args);
  va_end(args);
  if (n >= 0 && (size_t)n >= t->cap - t->n) {
    t->at[t->n] = '\0';
    if (!reserve(t, (size_t)n)) return;
    va_start(args, fmt);
    n = vsnprintf(t->at + t->n, t->cap - t->n, fmt, args);
    va_end(args);
  }
  if (n < 0) {
    t->at[t->n] = '\0';
    t->failed = true;
    return;
  }
  t->n += (size_t)n;
}

/* The length of the UTF-8 character at S, of at most LEFT bytes; 0 if it is none. Reads nothing behind a NUL. */
static size_t utf8_length(const unsigned char *s, size_t left) {
  if (s[0] < 0x80) return 1;
  if (s[0] < 0xc2 || s[0] > 0xf4) return 0;
  size_t n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
  if (n > left) return 0;
  /* Overlong forms, surrogates and what is above U+10FFFF show in the second byte. */
  unsigned char from = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
  unsigned char to = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
  if (s[1] < from || s[1] > to) return 0;
  for (size_t i = 2; i < n; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  return n;
}

size_t utf8_prefix(const char *p, size_t n) {
  size_t i = 0;
  while (i < n) {
    size_t length = utf8_length((const unsigned char *)p + i, n - i);
    if (!length) break;
    i += length;
  }
  return i;
}

/* Writes the escape of the character C into ESCAPE and returns true, or returns false: C stands for itself. */
typedef bool escape_fn(unsigned char c, char escape[8]);

static bool escape_json(unsigned char c, char escape[8]) {
  static const char named[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
  if (c >= 0x20 && c != '"' && c != '\\') return false;
  const char *which = memchr(named, c, sizeof named - 1);
  if (which)
    (void)snprintf(escape, 8, "\\%c", names[which - named]);
  else if (c < 0x20)
    (void)snprintf(escape, 8, "\\u%04x", c);
  else
    return false;
  return true;
}

static bool escape_xml(unsigned char c, char escape[8]) {
  static const struct {
    char c;
    const char *entity;
  } entities[] = {
      {'&', "&amp;"},
      {'<', "&lt;"},
      {'>', "&gt;"},
      {'"', "&quot;"},
      {'\'', "&apos;"},
      /* In an attribute these three would be read back as spaces. */
      {'\t', "&#9;"},
      {'\n', "&#10;"},
      {'\r', "&#13;"},
  };
  for (size_t i = 0; i < COUNT(entities); i++)
    if (c == (unsigned char)entities[i].c) {
      (void)snprintf(escape, 8, "%s", entities[i].entity);
      return true;
    }
  if (c >= 0x20) return false;
  memcpy(escape, REPLACEMENT, sizeof REPLACEMENT);
  return true;
}

/* U+FFFE and U+FFFF: UTF-8, but not allowed in XML. */
static bool noncharacter(const unsigned char *s) { return s[0] == 0xef && s[1] == 0xbf && s[2] >= 0xbe; }

/* What is not written as it is in one of the formats, with the zero at the end: such are few, so they are looked up. */
static const bool is_special[UCHAR_MAX + 1] = {
    [0 ... 0x1f] = true, ['"'] = true, ['\\'] = true, ['&'] = true,
    ['<'] = true,        ['>'] = true, ['\''] = true, [0x7f ... UCHAR_MAX] = true,
};

static void add_escaped(struct text *t, const char *s, escape_fn *escape_of) {
  const unsigned char *from = (const unsigned char *)s, *at = from;
  for (;;) {
    while (!is_special[*at])
      at++;
    if (!*at) break;
    size_t n = utf8_length(at, 4);
    char escape[8];
    if (n == 0 || (n == 3 && escape_of == escape_xml && noncharacter(at)))
      memcpy(escape, REPLACEMENT, sizeof REPLACEMENT);
    else if (n > 1 || !escape_of(*at, escape)) {
      at += n;
      continue;
    }
    text_add_bytes(t, from, (size_t)(at - from));
    text_add(t, escape);
    at += n ? n : 1;
    from = at;
  }
  text_add_bytes(t, from, (size_t)(at - from));
}

void text_add_json(struct text *t, const char *s) {
  text_add_bytes(t, "\"", 1);
  add_escaped(t, s, escape_json);
  text_add_bytes(t, "\"", 1);
}

void text_add_xml(struct text *t, const char *s) { add_escaped(t, s, escape_xml); }

void text_add_plain(struct text *t, const char *s) {
  for (const unsigned char *at = (const unsigned char *)s; *at;) {
    size_t n = utf8_length(at, 4);
    bool control = n == 1 ? *at < 0x20 || *at == 0x7f : n == 2 && at[0] == 0xc2 && at[1] < 0xa0;
    if (n && !control)
      text_add_bytes(t, at, n);
    else
      for (size_t i = 0; i < (n ? n : 1); i++)
        text_addf(t, "\\x%02x", at[i]);
    at += n ? n : 1;
  }
}

/* Columns since the last newline: characters, without the terminal's color sequences. */
static size_t column_of(const struct text *t) {
  const char *line = t->n ? memrchr(t->at, '\n', t->n) : NULL;
  const char *s = line ? line + 1 : t->at, *end = t->at + t->n;
  size_t column = 0;
  while (s < end) {
    if (s[0] == '\033' && s + 1 < end && s[1] == '[') {
      for (s += 2; s < end && (*s < '@' || *s > '~'); s++)
        continue;
      s += s < end;
      continue;
    }
    column += ((unsigned char)*s++ & 0xc0) != 0x80;
  }
  return column;
}

void text_add_uri(struct text *t, const char *path) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
  for (; *path; path++)
    if (strchr(plain, *path))
      text_add_bytes(t, path, 1);
    else
      text_addf(t, "%%%02X", (unsigned char)*path);
}

void text_add_shell(struct text *t, const char *s) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@%+";
  if (*s && strspn(s, plain) == strlen(s)) {
    text_add(t, s);
    return;
  }
  text_add(t, "'");
  for (; *s; s++)
    if (*s == '\'')
      text_add(t, "'\\''");
    else
      text_add_bytes(t, s, 1);
  text_add(t, "'");
}

void text_pad(struct text *t, size_t column) {
  if (t->failed) return;
  size_t now = t->at ? column_of(t) : 0, more = column > now ? column - now : 1;
  if (!reserve(t, more)) return;
  memset(t->at + t->n, ' ', more);
  t->n += more;
  t->at[t->n] = '\0';
}

void text_done(struct text *t) {
  if (!t) return;
  free(t->at);
  *t = (struct text){0};
}
