/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as data/relevance, as data/aliases, as a baseline and as a source with comments, by the first byte: refused
 * with a message that says where, or taken and asked about.
 */
#include "site/relevance.h"
#include "site/site.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void ask(const struct relevance *r) {
  static const char *const names[] = {"close", "open", "printf", "__read_chk", "x", "*"};
  for (size_t i = 0; i < COUNT(names); i++) {
    struct relevance_call c = {.name = names[i], .known = 3, .args = {1, 0x41}};
    c.about[ABOUT_WRITTEN] = TRUE_FOR_CALL;
    (void)relevance_likelihood(r, &c, EIO, -1);
    (void)relevance_fails(r, &c);
    (void)relevance_unnoticed(r, &c);
    (void)relevance_ignored(r, &c);
    (void)relevance_effect(r, names[i], 0, true);
    (void)relevance_opens(r, names[i]);
    (void)relevance_descriptor(r, names[i]);
    MUST(relevance_written(r, names[i]) != NULL);
    for (unsigned arg = 0; arg < 20; arg++) {
      (void)relevance_argument(r, names[i], arg);
      (void)relevance_argument_of(r, names[i], arg);
    }
  }
}

static int as_data(char *bytes, bool aliases, struct err *e) {
  struct relevance *r = NULL;
  if (relevance_new(&r) < 0) return 0;
  int ret = aliases ? relevance_parse_aliases(r, "fuzz", bytes, e) : relevance_parse(r, "fuzz", bytes, e);
  if (ret >= 0) ret = relevance_ready(r);
  if (ret >= 0) ask(r);
  relevance_free(r);
  return ret;
}

static int as_baseline(char *bytes, size_t size, struct err *e) {
  struct site site = {.function = "close", .symbol = "close", .in = "f"};
  struct site_list l = {.module = "m", .sites = &site, .n = 1};
  return site_baseline_parse(&l, "fuzz", bytes, size, e);
}

static int as_source(char *bytes, size_t size) {
  for (unsigned line = 1; line <= 8; line++) {
    int r = site_source_accepts(bytes, size, line, "close");
    if (r < 0) return r;
    /* A source that never says the word accepts nothing. */
    MUST(r == 0 || memmem(bytes, size, "murphy:", 7));
  }
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct err e = {0};
  if (size == 0) return 0;
  /* A source is not terminated: what reads beyond its end is seen. */
  bool source = *data == 'c';
  char *bytes = malloc(source ? size - 1 : size);
  if (!bytes) return 0;
  memcpy(bytes, data + 1, size - 1);
  if (!source) bytes[size - 1] = 0;
  int r = source         ? as_source(bytes, size - 1)
          : *data == 'b' ? as_baseline(bytes, size - 1, &e)
                         : as_data(bytes, *data == 'a', &e);
  if (r < 0 && r != -ENOMEM) MUST(strncmp(e.text, "fuzz:", 5) == 0);
  free(bytes);
  return 0;
}
