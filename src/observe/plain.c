/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts are compared as streams of symbols: a byte, or a class of bytes that is left out (an address, a number).
 *
 * A number is a run of digits, with dots, colons and dashes between digits, so that 12:30:01.5 is one, with an exponent
 * and the unit of a size. Taking out numbers must not make an empty text equal to a full one: a number stays there as a
 * symbol.
 */
#include "observe/plain.h"

#include <ctype.h>
#include <string.h>

enum { ADDRESS = 256, NUMBER = 257, TEMPORARY = 258, SHOWN = 120 };

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/*
 * The length of an address at P: 0x and hex digits, or 8 or more hex digits with a letter and a digit among them. Where
 * such digits are none up to *NONE, no part of them is one either: so each is looked at once.
 */
static size_t address_length(const char *p, size_t n, const char **none) {
  size_t start = n > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X') ? 2 : 0, i = start;
  bool digit = false, letter = false;
  if (!start && p < *none) return 0;
  for (; i < n && isxdigit((unsigned char)p[i]); i++)
    *(is_digit(p[i]) ? &digit : &letter) = true;
  if (start) return i > start ? i : 0;
  if (i >= 8 && digit && letter) return i;
  *none = p + i;
  return 0;
}

/* The length of an exponent at P, as in 6.0397e-05; 0 if it is the start of something else, as in 1e5f or 2em. */
static size_t exponent_length(const char *p, size_t n) {
  size_t i = 1;
  if (!n || (p[0] != 'e' && p[0] != 'E')) return 0;
  if (i < n && (p[i] == '-' || p[i] == '+')) i++;
  size_t digits = i;
  while (i < n && is_digit(p[i]))
    i++;
  return i > digits && (i == n || !isalnum((unsigned char)p[i])) ? i : 0;
}

/* The length of " kB", "MiB" or " B" at P: which of them it is depends on the number. */
static size_t unit_length(const char *p, size_t n) {
  size_t i = n && p[0] == ' ' ? 1 : 0;
  if (i < n && p[i] && strchr("kKMGT", p[i])) i += i + 1 < n && p[i + 1] == 'i' ? 2 : 1;
  return i < n && p[i] == 'B' && (i + 1 == n || !isalnum((unsigned char)p[i + 1])) ? i + 1 : 0;
}

static size_t number_length(const char *p, size_t n) {
  size_t i = 0;
  while (i < n && (is_digit(p[i]) || (i > 0 && i + 1 < n && strchr(".:-/", p[i]) && is_digit(p[i + 1]))))
    i++;
  i += exponent_length(p + i, n - i);
  return i + unit_length(p + i, n - i);
}

/* The length of a path of a temporary file at P, up to the end of the first name in the folder. */
static size_t temporary_length(const char *p, size_t n) {
  static const char *const folders[] = {"/tmp/", "/var/tmp/", "/dev/shm/"};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    size_t length = strlen(folders[i]);
    if (n <= length || memcmp(p, folders[i], length) != 0) continue;
    while (length < n && (isalnum((unsigned char)p[length]) || strchr("._-+", p[length])) && p[length])
      length++;
    return length;
  }
  return 0;
}

/* The symbol at P, and how many bytes it takes. NONE: as of address_length. */
static unsigned symbol(const char *p, size_t n, enum observe_level level, const char **none, size_t *ret_length) {
  size_t length, number = level >= OBSERVE_NO_NUMBERS && is_digit(p[0]) ? number_length(p, n) : 0;
  if (level >= OBSERVE_NO_ADDRESSES && isxdigit((unsigned char)p[0]) && (length = address_length(p, n, none))) {
    *ret_length = length > number ? length : number; /* 12345678e-05 */
    return level >= OBSERVE_NO_NUMBERS ? NUMBER : ADDRESS;
  }
  if (level >= OBSERVE_NO_TEMPORARY && p[0] == '/' && (length = temporary_length(p, n))) {
    *ret_length = length;
    return TEMPORARY;
  }
  if (number) {
    *ret_length = number;
    return NUMBER;
  }
  *ret_length = 1;
  return (unsigned char)p[0];
}

static uint64_t hash_part(const char *p, size_t n, enum observe_level level) {
  uint64_t hash = 0xcbf29ce484222325u;
  const char *none = p;
  for (size_t i = 0, length; i < n; i += length)
    hash = (hash ^ symbol(p + i, n - i, level, &none, &length)) * 0x100000001b3u;
  return hash_mix(hash);
}

/* The length of the line at P with its newline. */
static size_t line_length(const char *p, size_t n) {
  const char *end = memchr(p, '\n', n);
  return end ? (size_t)(end - p) + 1 : n;
}

uint64_t plain_hash(const char *p, size_t n, enum observe_level level) {
  if (level == OBSERVE_NOTHING) return 0;
  if (level < OBSERVE_NO_ORDER) return hash_part(p, n, level);
  uint64_t sum = 0;
  for (size_t i = 0, length; i < n; i += length) {
    length = line_length(p + i, n - i);
    sum += hash_part(p + i, length, level);
  }
  return sum;
}

enum observe_level plain_level(const struct observe_stream *texts, size_t n) {
  enum observe_level level = OBSERVE_EXACT;
  for (size_t i = 1; i < n && level < OBSERVE_NOTHING; i++)
    while (level < OBSERVE_NOTHING &&
           plain_hash(texts[0].at, texts[0].n, level) != plain_hash(texts[i].at, texts[i].n, level))
      level++;
  return level;
}

/* Empty lines tell less than what stands behind them. */
static size_t blank_length(const char *p, size_t n) {
  size_t i = 0;
  while (i < n && p[i] == '\n')
    i++;
  return i < n ? i : 0;
}

static void show_line(char sign, const char *p, size_t n, struct text *to) {
  size_t blank = n ? blank_length(p, n) : 0;
  p += blank;
  n -= blank;
  size_t length = n ? line_length(p, n) : 0;
  if (length && p[length - 1] == '\n') length--;
  bool cut = length > SHOWN;
  char line[SHOWN + 1];
  memcpy(line, p, cut ? SHOWN : length);
  line[cut ? SHOWN : length] = '\0';
  text_addf(to, "%c ", sign);
  text_add_plain(to, n ? line : "(end)");
  text_add(to, cut ? "…\n" : "\n");
}

void plain_difference(const struct observe_stream *a, const struct observe_stream *b, enum observe_level level,
                      struct text *to) {
  size_t i = 0, k = 0;
  while (i < a->n && k < b->n) {
    size_t n = line_length(a->at + i, a->n - i), m = line_length(b->at + k, b->n - k);
    if (hash_part(a->at + i, n, level) != hash_part(b->at + k, m, level)) break;
    i += n;
    k += m;
  }
  show_line('-', a->n ? a->at + i : "", a->n - i, to);
  show_line('+', b->n ? b->at + k : "", b->n - k, to);
}
