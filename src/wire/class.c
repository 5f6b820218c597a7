/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of characters, as POSIX has them in sets of patterns and regular expressions, in the C locale. */
#include "wire.h"

static const struct {
  const char *name;
  const char *ranges;
} classes[] = {
    {"[:digit:]", "09"},     {"[:alpha:]", "azAZ"},          {"[:alnum:]", "azAZ09"}, {"[:lower:]", "az"},
    {"[:upper:]", "AZ"},     {"[:xdigit:]", "09afAF"},       {"[:space:]", "\t\r  "}, {"[:punct:]", "!/:@[`{~"},
    {"[:blank:]", "\t\t  "}, {"[:cntrl:]", "\1\37\177\177"}, {"[:graph:]", "!~"},     {"[:print:]", " ~"},
};

const char *wire_class(const char *p, size_t *ret_length) {
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
    size_t n = 0;
    while (classes[i].name[n] && p[n] == classes[i].name[n])
      n++;
    if (classes[i].name[n]) continue;
    *ret_length = n;
    return classes[i].ranges;
  }
  return NULL;
}
