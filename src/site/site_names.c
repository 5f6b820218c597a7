/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which function a programmer wrote, for rooms that have nothing else to ask of data/aliases.
 */
#include "site/relevance.h"
#include "site/site.h"

#include <errno.h>
#include <stdlib.h>

struct site_names {
  struct relevance *aliases;
};

int site_names_load(const char *data, struct site_names **ret, struct err *e) {
  struct site_names *n = calloc(1, sizeof *n);
  if (!n) return err_set(e, -ENOMEM, "%s: out of memory", data);
  int r = relevance_load_aliases(data, &n->aliases, e);
  if (r < 0) {
    free(n);
    return r;
  }
  *ret = n;
  return 0;
}

void site_names_free(struct site_names *n) {
  if (n) relevance_free(n->aliases);
  free(n);
}

const char *site_names_written(const struct site_names *n, const char *imported) {
  return relevance_written(n->aliases, imported);
}

int site_names_argument(const struct site_names *n, const char *imported, unsigned arg) {
  return relevance_argument_of(n->aliases, imported, arg);
}

const char *site_names_alias(const struct site_names *n, const char *written, const char *after) {
  return relevance_alias(n->aliases, written, after);
}
