/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words that profile files and people use for the values of a profile. Readers and writers take them from here, so
 * that what is written can be read.
 */
#include "profile/format.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

const char *const profile_confidence_words[2] = {[PROFILE_LIKELY] = "likely", [PROFILE_CERTAIN] = "certain"};

const char *const profile_side_words[3] = {[SIDE_TLS] = "tls", [SIDE_GLOBAL] = "global", [SIDE_ARG] = "arg"};

const char *const profile_side_types[3] = {[SIDE_TLS] = "TLS", [SIDE_GLOBAL] = "GLOBAL", [SIDE_ARG] = "ARG"};

/* Part of the file formats: they may be added to, never changed. No commas. */
const struct profile_reason profile_reasons[] = {
    {UNKNOWN_INDIRECT, "indirect call"}, {UNKNOWN_EXTERNAL, "external function"}, {UNKNOWN_COMPUTED, "arithmetic"},
    {UNKNOWN_MEMORY, "memory"},          {UNKNOWN_COMPLEX, "too large"},          {UNKNOWN_CODE, "unreadable code"},
    {UNKNOWN_SYSCALL, "system call"},
};
const size_t profile_n_reasons = COUNT(profile_reasons);

int profile_read_errno(const char *text, int *ret) {
  int64_t number = errno_number(text);
  if (number == 0 && number_parse(text, &number) < 0) return -EINVAL;
  if (number < 1 || number > ERRNO_MAX) return -EINVAL;
  *ret = (int)number;
  return 0;
}

int profile_read_word(const char *text, const char *const *words, size_t n, unsigned *ret) {
  for (size_t i = 0; i < n; i++)
    if (strcasecmp(text, words[i]) == 0) {
      *ret = (unsigned)i;
      return 0;
    }
  return -EINVAL;
}

unsigned profile_reason_bit(const char *word, size_t n) {
  for (size_t i = 0; i < COUNT(profile_reasons); i++)
    if (strlen(profile_reasons[i].word) == n && memcmp(profile_reasons[i].word, word, n) == 0)
      return profile_reasons[i].bit;
  return 0;
}

bool profile_is_words(const char *s) {
  bool inside = false;
  for (const char *at = s; *at; at++) {
    if (*at == ' ' && !inside) return false;
    inside = *at != ' ';
    if (inside && !isalnum((unsigned char)*at) && *at != '_' && *at != '-') return false;
  }
  return inside || !*s;
}

bool profile_read_width(int64_t number, unsigned *ret) {
  if (number != 0 && number != 1 && number != 2 && number != 4 && number != 8) return false;
  *ret = (unsigned)number;
  return true;
}

void profile_side_where(const struct profile_side *side, struct text *to) {
  if (side->kind == SIDE_ARG) {
    text_addf(to, "arg %u", side->argument);
    if (side->offset) text_addf(to, " + 0x%llx", (unsigned long long)side->offset);
  } else {
    text_add(to, side->module ? side->module : "");
    text_addf(to, "+0x%llx", (unsigned long long)side->offset);
  }
  if (side->name) text_addf(to, " (%s)", side->name);
}
