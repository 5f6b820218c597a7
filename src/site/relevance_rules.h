/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: the rules of data/relevance as they are kept. */
#pragma once

#include "site/relevance.h"

enum rule_kind { RULE_FAIL, RULE_UNNOTICED, RULE_IGNORE, RULE_LOST, RULE_SHORT };

#define ARG_STDOUT 63
#define ARG_STDIN 62

/* Subjects of tests of one argument (OP ':'). */
enum { ARGUMENT_FIXED, ARGUMENT_DATE };

/* A test of a call; OP 0: SUBJECT is known to hold. OR_NEXT: this or the next one. */
struct test {
  char op;
  uint8_t arg, subject;
  bool or_next;
  uint32_t first, n; /* values */
};

struct rule {
  uint8_t kind, value, otherwise;
  bool any, code; /* of all errors; of the code RETVAL */
  uint8_t cause;  /* enum cause */
  int error;      /* errno, or 0 for a failure without */
  int64_t retval;
  uint64_t name; /* hash */
  uint32_t first_test, n_tests;
  uint32_t next; /* the next rule of this name + 1, or 0 */
};

struct alias {
  const char *imported, *written;
  const struct alias *next; /* of all, in the order of the file */
  int8_t at[12];            /* by argument of the written function: that of the imported one, or -1 */
  uint8_t n;
  bool follow; /* the rest follows there */
};

struct relevance {
  struct arena arena;
  struct map constants, known, answers, nothing, again, again_ends, told_by, absent, now, now_behind, now_offsets,
      dates, kept, descriptors, writers, closers, readers, flushers, tellers, forgetters, after_failure, effects,
      openers, aliases;
  const struct alias *first_alias, **last_alias;
  struct map groups;   /* hash of the name to its members: strings behind each other, the last one empty */
  struct map rules_of; /* hash of the name to its first rule + 1 */
  struct map fails;    /* RULE_FAIL by its name and error (fail_key): its number + 1; of several the last */
  VEC(struct rule) rules;
  VEC(struct test) tests;
  VEC(int64_t) values;
};

static inline uint64_t relevance_pair(const char *name, const char *other) {
  return hash_mix(hash_mix(hash_string(name)) ^ hash_string(other));
}

/* Of an errno, of a returned code, or of any error. */
enum fail_about { FAIL_ERROR, FAIL_CODE, FAIL_ANY };

static inline uint64_t fail_key(uint64_t name, enum fail_about about, int64_t value) {
  return hash_mix(name ^ hash_mix((uint64_t)value * 4 + about));
}

static inline uint64_t effect_salt(unsigned arg, bool null) { return 1000 + arg * 2ull + null; }
