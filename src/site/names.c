/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which function a programmer wrote, for rooms that have nothing else to ask of data/aliases.
 */
#include "site/relevance.h"
#include "site/site.h"

/* Never defined: the pointer is one to what relevance_load_aliases made. */
static const struct relevance *of(const struct site_names *n) { return (const struct relevance *)(const void *)n; }

int site_names_load(const char *data, struct site_names **ret, struct err *e) {
  struct relevance *r;
  int error = relevance_load_aliases(data, &r, e);
  if (error >= 0) *ret = (struct site_names *)(void *)r;
  return error;
}

void site_names_free(struct site_names *n) { relevance_free((struct relevance *)(void *)n); }

const char *site_names_written(const struct site_names *n, const char *imported) {
  return relevance_written(of(n), imported);
}

int site_names_argument(const struct site_names *n, const char *imported, unsigned arg) {
  return relevance_argument_of(of(n), imported, arg);
}

const char *site_names_alias(const struct site_names *n, const char *written, const char *after) {
  return relevance_alias(of(n), written, after);
}
