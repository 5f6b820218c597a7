/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which constants are errors.
 *
 * LFI's two heuristics stand behind it (0 is dropped where other constants are returned, and kept where it is the only
 * one of a pointer function; predicates have no errors), but evidence comes first: errno set on the same way, a
 * callee's failure that alone leads there, a pointer returned on the others.
 */
#include "profile/analyse.h"

#include <stdlib.h>

struct view {
  const struct solver_results *rs;
  const struct flow_summary *of;
  size_t negative, minus_ones, positive, ones, zero; /* constants */
  size_t opaque_int, opaque_wide, pointers, arguments, undefined;
  bool masked;     /* a positive constant is some bits of a value */
  size_t unshared; /* constants that are in rax to be returned, for certain */
  int64_t largest;
  uint8_t narrow; /* bytes, if less than four are returned; else 0 */
  bool wide;      /* 64-bit values are returned for certain */
  bool proof;     /* a constant other than 0 has evidence */
  bool side;      /* ... sets something else */
  bool raised;    /* a positive constant comes with a call for its effect */
  bool minus;     /* a negative constant has errno set */
  unsigned reasons;
};

#define PROOF (EVIDENCE_ERRNO | EVIDENCE_CALLEE | EVIDENCE_SYSCALL)

/* Neither an int that was sign-extended nor one that was not. */
static bool wide_value(uint64_t v) { return v >> 32 != 0 && (int64_t)v != (int32_t)v; }

/* As the caller's C type sees it: an int unless the function is known to return 64 bits. */
static int64_t as_returned(const struct view *v, uint64_t x) {
  if (v->narrow == 1) return (int8_t)x;
  if (v->narrow == 2) return (int16_t)x;
  return x >> 32 != 0 || v->wide ? (int64_t)x : (int32_t)x;
}

static void look(struct view *v) {
  for (uint32_t i = 0; i < v->rs->n; i++) {
    const struct solver_result *r = &v->rs->at[i];
    if (r->narrow && (!v->narrow || r->narrow < v->narrow)) v->narrow = r->narrow;
    switch (r->kind) {
    case RESULT_CONST:
      v->wide |= wide_value(r->value);
      break;
    case RESULT_POINTER:
    case RESULT_TLS:
      v->pointers++;
      v->wide = true;
      break;
    case RESULT_ARG:
      v->arguments += !r->ops;
      break;
    case RESULT_UNDEFINED:
      v->undefined++;
      break;
    default:
      v->reasons |= r->reasons;
      v->opaque_wide += (r->reasons & OPAQUE_WIDE) != 0;
      v->opaque_int += !(r->reasons & (OPAQUE_WIDE | OPAQUE_POSITIVE));
    }
  }
  for (uint32_t i = 0; i < v->rs->n; i++) {
    const struct solver_result *r = &v->rs->at[i];
    if (r->kind != RESULT_CONST) continue;
    int64_t x = as_returned(v, r->value);
    v->reasons |= r->reasons & ~(unsigned)OPAQUE_MORE;
    v->masked |= x > 0 && r->evidence & EVIDENCE_SHARED;
    v->unshared += !(r->evidence & EVIDENCE_SHARED);
    v->negative += x < 0;
    v->minus_ones += x == -1;
    v->positive += x > 0;
    if (x > v->largest) v->largest = x;
    v->ones += x == 1;
    v->zero += x == 0;
    v->proof |= x != 0 && r->evidence & PROOF;
    v->side |= x != 0 && r->evidence & EVIDENCE_SIDE;
    v->raised |= x > 0 && r->evidence & EVIDENCE_RAISED;
    v->minus |= x < 0 && r->evidence & EVIDENCE_ERRNO;
  }
}

/* -1, 0, 1 from a function that only compares, or that hands on what another comparison said. */
static bool comparator(const struct view *v) {
  if (v->proof || v->side || v->raised || v->negative != v->minus_ones) return false;
  if (v->reasons & OPAQUE_ORDER) return v->positive == v->ones;
  if (v->of->makes_calls || v->reasons || v->masked) return false;
  return v->negative == 1 && v->positive == 1 && v->ones == 1;
}

/* A kind, not a code: 0, 1, 2, ... from nothing but integers. */
static bool enumeration(const struct view *v) {
  return v->of->pure && !v->negative && v->positive >= 2 && v->largest == (int64_t)v->positive && v->zero;
}

static bool same_place(const struct solver_side *a, const struct solver_side *b) {
  return a->place == b->place && a->image == b->image && a->arg == b->arg && a->offset == b->offset;
}

static bool sets_place(const struct solver_result *r, const struct solver_side *s) {
  for (uint32_t i = 0; i < r->n_sides; i++)
    if (same_place(&r->sides[i], s) && (r->sides[i].value != 0 || r->sides[i].unknown)) return true;
  return false;
}

/* Something is set to constants along with 0 that is never set along with another constant. */
static bool sets_apart(const struct view *v, const struct solver_result *zero) {
  for (uint32_t i = 0; i < zero->n_sides; i++) {
    const struct solver_side *s = &zero->sides[i];
    bool elsewhere = s->unknown || s->from_arg || s->value == 0;
    for (uint32_t k = 0; k < v->rs->n && !elsewhere; k++) {
      const struct solver_result *r = &v->rs->at[k];
      elsewhere = r != zero && r->kind == RESULT_CONST && as_returned(v, r->value) > 0 && sets_place(r, s);
    }
    if (!elsewhere) return true;
  }
  return false;
}

/* 0 means failure where other constants are returned too: something is noted that is not noted with those. */
static bool zero_is_noted(const struct view *v, const struct solver_result *r) {
  if (r->evidence & EVIDENCE_RAISED && !v->raised) return true;
  return v->largest <= 2 && sets_apart(v, r) && !(r->evidence & EVIDENCE_SHARED); /* 1 and 2 are two ways to succeed */
}

static bool zero_is_error(const struct view *v, const struct solver_result *r) {
  bool proof = r->evidence & PROOF;
  if (r->evidence & EVIDENCE_SHARED && !proof) return false;
  if (v->negative) return v->positive && v->positive == v->ones && r->evidence & EVIDENCE_RAISED && !v->raised;
  if (v->positive && !v->pointers) return (r->evidence & EVIDENCE_ERRNO || zero_is_noted(v, r)) && !v->proof;
  if (v->pointers || v->arguments) return true;
  bool only = r->evidence & EVIDENCE_ERRNO && !r->errno_partial && v->rs->n == 1; /* it always fails */
  if (proof) return v->opaque_wide || v->opaque_int || v->reasons || only;
  return v->opaque_wide && (v->reasons & (OPAQUE_MEMORY | OPAQUE_POINTER) || r->evidence & EVIDENCE_SIDE);
}

static const struct solver_result *zero_result(const struct view *v) {
  for (uint32_t i = 0; i < v->rs->n; i++)
    if (v->rs->at[i].kind == RESULT_CONST && v->rs->at[i].value == 0) return &v->rs->at[i];
  return NULL;
}

static bool positive_is_error(const struct view *v, const struct solver_result *r) {
  int64_t x = as_returned(v, r->value);
  const struct solver_result *zero = zero_result(v);
  if (r->evidence & EVIDENCE_ERRNO && !r->errno_partial) return !v->minus;
  if (v->pointers) return false;
  if (r->evidence & EVIDENCE_SYSCALL) return !v->negative; /* negated */
  /* Own codes are negative and the system's positive, as lmdb has it; small numbers are answers. */
  if (v->negative) {
    bool number = x > 10 && x <= ERRNO_MAX && errno_name((int)x) && !(r->evidence & EVIDENCE_SHARED);
    return number && v->zero && !(v->reasons & (OPAQUE_COMPUTED | OPAQUE_MEMORY | OPAQUE_POSITIVE));
  }
  if (zero && zero_is_error(v, zero)) return false;
  if (v->positive == v->ones) return r->evidence & (EVIDENCE_ERRNO | EVIDENCE_SYSCALL) && !r->errno_partial;
  if (!v->zero || (r->evidence & EVIDENCE_SHARED && !(r->evidence & PROOF))) return false;
  bool codes = v->positive >= 3 && v->largest > (int64_t)v->positive; /* not a count: 1, 2, 3 */
  bool proof = r->evidence & PROOF && !r->errno_partial;
  if (!proof && v->largest <= 2) return false; /* 1 and 2 are as often two kinds of success */
  return proof || codes || !(v->reasons & (OPAQUE_COMPUTED | OPAQUE_MEMORY));
}

static bool is_error(const struct view *v, const struct solver_result *r) {
  int64_t x = as_returned(v, r->value);
  if (x == 0) return zero_is_error(v, r);
  if (comparator(v) || enumeration(v)) return false;
  /* The seed of a hash, or the like. */
  if (wide_value(r->value) && v->reasons & OPAQUE_COMPUTED && !(r->evidence & PROOF) && x != INT64_MIN &&
      (x < -(1ll << 40) || x > 1ll << 40))
    return false;
  if (x > 0) return positive_is_error(v, r);
  /* Stored, and in rax for that only: nothing else is returned that would be a success. */
  if (r->evidence & EVIDENCE_SHARED && !(r->evidence & PROOF) && !v->unshared) return false;
  /* What a system call left in rax, where other ways leave other things there: nobody returns that. */
  bool raw = r->evidence & EVIDENCE_SYSCALL && !(r->evidence & (EVIDENCE_ERRNO | EVIDENCE_CALLEE));
  return !raw || !(v->reasons & (OPAQUE_COMPUTED | OPAQUE_MEMORY | OPAQUE_INDIRECT));
}

static int by_retval(const void *a, const void *b) {
  int64_t x = ((const struct classified *)a)->retval, y = ((const struct classified *)b)->retval;
  return (x > y) - (x < y);
}

/* Reasons that leave room for errors that were not found. A pointer that is loaded or computed is a success. */
static unsigned unknown(const struct view *v, bool null_is_error) {
  unsigned known = v->reasons & (OPAQUE_INDIRECT | OPAQUE_EXTERNAL | OPAQUE_COMPUTED | OPAQUE_MEMORY | OPAQUE_COMPLEX |
                                 OPAQUE_CODE | OPAQUE_SYSCALL);
  if (null_is_error && !v->opaque_int) known &= ~(unsigned)(OPAQUE_COMPUTED | OPAQUE_MEMORY);
  return known;
}

size_t classify(const struct solver_results *rs, const struct flow_summary *of, struct classified *ret, size_t max,
                unsigned *ret_unknown) {
  struct view v = {.rs = rs, .of = of};
  size_t n = 0;
  bool null_is_error = false;
  look(&v);
  *ret_unknown = 0;
  if (v.undefined) return 0; /* garbage in rax on some way: the function returns nothing */
  for (uint32_t i = 0; i < rs->n && n < max; i++) {
    const struct solver_result *r = &rs->at[i];
    if (r->kind != RESULT_CONST || !is_error(&v, r)) continue;
    int64_t x = as_returned(&v, r->value);
    bool wide = v.wide || r->value >> 32 != 0 || (x == 0 && (v.opaque_wide || v.arguments));
    null_is_error |= x == 0 && wide;
    if (r->reasons & OPAQUE_MORE) *ret_unknown = UNKNOWN_SYSCALL; /* the numbers themselves are returned */
    bool code = x < 0 && x >= -4095 && v.zero && !(r->evidence & EVIDENCE_SHARED); /* 0 is success, this is not */
    bool certain = code || r->evidence & (PROOF | EVIDENCE_SIDE);
    ret[n++] = (struct classified){i, x, wide, certain ? PROFILE_CERTAIN : PROFILE_LIKELY};
  }
  qsort(ret, n, sizeof *ret, by_retval);
  *ret_unknown |= unknown(&v, null_is_error);
  return n;
}
