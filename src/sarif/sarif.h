/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SARIF 2.1.0, which code scanning reads: a log of one run, written front to back into a text.
 *
 * sarif_start, then for each result sarif_result and sarif_result_end, then sarif_end. In between the writer's caller
 * may add members of a result itself. A lack of memory is kept in the text.
 */
#pragma once

#include "base/base.h"

struct sarif_rule {
  const char *id, *name, *text, *level; /* LEVEL: error, warning or note */
};

/* A place in the source where FILE and LINE are known, else in a binary. */
struct sarif_location {
  const char *file; /* or NULL */
  unsigned line, column;
  const char *binary;
  uint64_t address;
  const char *function; /* the symbol of the one around it, or NULL */
};

struct sarif {
  struct text *to;
  const char *folder; /* the working folder, or NULL: what is below it gets a relative name, for other machines */
  bool dots;          /* a relative name may have .. in it; else it is written whole */
  const struct sarif_rule *rules;
  bool any; /* there was a result */
};

/* PRECISION: that of the rules, high or very-high. */
void sarif_start(struct sarif *s, const struct sarif_rule *rules, size_t n, const char *precision);
/* Rule number RULE, at LEVEL or, if that is NULL, the rule's own. */
void sarif_result(struct sarif *s, unsigned rule, const char *level, const struct text *message,
                  const struct sarif_location *at);
/* FINGERPRINT: what stays the same when the code moves, under NAME. SUPPRESSED: inSource, external, or NULL. */
void sarif_result_end(struct sarif *s, const char *name, uint64_t fingerprint, const char *suppressed);
void sarif_end(struct sarif *s);

/* A location as an object, for the members of a result. */
void sarif_add_location(const struct sarif *s, const struct sarif_location *at);
