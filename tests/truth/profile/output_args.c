/* SPDX-License-Identifier: Apache-2.0 */
/* The code goes out through a pointer argument; the return value only says that there is one. */
#include "truth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct fault {
  int domain;
  int code;
  char text[48];
};

/* errors: 0 | side: arg3=5,6 */
EXPORT const char *field_get(const char *record, unsigned index, int *err) {
  if (record == NULL) {
    *err = 5;
    return NULL;
  }
  while (index--) {
    record = strchr(record, ';');
    if (record == NULL) {
      *err = 6;
      return NULL;
    }
    record++;
  }
  return record;
}

/* errors: 0[@malloc] | side: arg2=11,12 */
EXPORT struct codebook *book_load(const char *text, int *status) {
  void *b;
  if (text[0] != '#') {
    *status = 11;
    return NULL;
  }
  b = malloc(1024);
  if (b == NULL) {
    *status = 12;
    return NULL;
  }
  memcpy(b, text, strnlen(text, 1024));
  return b;
}

static NOINLINE void fault_set(struct fault *f, int domain, int code, const char *text) {
  if (f == NULL)
    return;
  f->domain = domain;
  f->code = code;
  strncpy(f->text, text, sizeof f->text - 1);
  f->text[sizeof f->text - 1] = 0;
}

/* errors: 0 | side: arg3=71,72,73 */
EXPORT bool book_verify(const unsigned char *p, size_t n, struct fault *f) {
  if (n < 16) {
    fault_set(f, 7, 71, "book is too short");
    return false;
  }
  if (p[0] != '#') {
    fault_set(f, 7, 72, "book has no mark");
    return false;
  }
  for (size_t i = 1; i < 16; i++)
    if (p[i] == 0) {
      fault_set(f, 7, 73, "book has a hole");
      return false;
    }
  return true;
}

/* errors: -1 | side: arg2=81,82 */
EXPORT long number_read(const char *s, int *err) {
  long v = 0;
  if (*s == 0) {
    *err = 81;
    return -1;
  }
  for (; *s; s++) {
    if (*s < '0' || *s > '9') {
      *err = 82;
      return -1;
    }
    v = v * 10 + (*s - '0');
  }
  return v;
}

/* Outputs are results here, and there is no failure. */
/* errors: none */
EXPORT void number_split(long v, long *high, long *low) {
  *high = v / 1000;
  *low = v % 1000;
}
