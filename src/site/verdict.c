/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what was seen to a verdict: all, some or none of the errors are checked, and what becomes of the others.
 */
#include "site/site_program.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

const char *const site_verdict_words[4] = {"none", "some", "all", "unknown"};
const char *const site_use_words[4] = {"ignored", "used", "dereferenced", "returned"};

static enum site_use use_of(const struct judgement *j) {
  if (j->seen & SEEN_DEREFERENCED) return USE_DEREFERENCED;
  if (j->seen & (SEEN_USED | SEEN_STORED | SEEN_COMPARED | SEEN_TOLERATED)) return USE_USED;
  if (j->seen & SEEN_RETURNED) return USE_RETURNED;
  return USE_IGNORED;
}

/* The errnos of ALL that are not in SET. */
static struct errno_set others(const struct errno_set *all, const struct errno_set *set) {
  struct errno_set rest;
  for (unsigned i = 0; i < COUNT(rest.bits); i++)
    rest.bits[i] = all->bits[i] & ~set->bits[i];
  return rest;
}

static void unite(struct errno_set *to, const struct errno_set *from) {
  for (unsigned i = 0; i < COUNT(to->bits); i++)
    to->bits[i] |= from->bits[i];
}

/* The errnos that may come with an error. Where the code shows none, those that are said of the function. */
static struct errno_set errnos_of(const struct program *p, const struct found *f, const struct profile_error *e,
                                  int64_t value) {
  struct errno_set of = e->errnos;
  const struct profile_function *whole = p->imports.at[f->import].profile;
  bool unseen = errno_set_empty(&of) && (e->errno_unknown || (whole && whole->unknown));
  for (int i = 1; unseen && i <= ERRNO_MAX; i++)
    if (relevance_names(p->relevance, f->call.name, i, value)) errno_set_add(&of, i);
  return of;
}

enum covered { COVERED_NOT, COVERED_PARTLY, COVERED };

/* Is the error checked, by its value or by errno? KNOWN: without what was judged. */
static enum covered cover(const struct program *p, const struct found *f, const struct judgement *j, unsigned error,
                          bool known, struct site *s) {
  const struct import *m = &p->imports.at[f->import];
  const struct profile_error *e = m->details[error];
  bool by_errno = f->errno_cleared && !m->returned && (e->errno_unknown || !errno_set_empty(&e->errnos));
  bool guarded = (f->guard.errors | j->guard.errors) >> error & 1;
  if (j->noticed >> error & 1 || known) return COVERED;
  if (by_errno && j->errno_tested && !guarded) return COVERED;
  struct errno_set seen = {0};
  if (f->guard.errors >> error & 1)
    seen = f->guard.handled;
  else if (guarded)
    seen = j->guard.handled;
  else if (by_errno)
    seen = j->errno_values;
  if (errno_set_empty(&seen)) return COVERED_NOT;
  struct errno_set may = errnos_of(p, f, e, m->errors[error]), rest = others(&may, &seen);
  unite(&s->checked_errnos, &seen);
  /* Where nobody knows which errnos there are, a guard lets others pass. */
  bool open = guarded && (e->errno_unknown || errno_set_empty(&e->errnos));
  if (errno_set_empty(&rest) && !open) return COVERED;
  unite(&s->missing_errnos, &rest);
  return COVERED_PARTLY;
}

static int by_value(const void *x, const void *y) {
  int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
  return (a > b) - (a < b);
}

/* Is the value the number of the error itself, as pthread functions return it? Then errno says nothing. */
static bool is_number(const struct import *m, unsigned error) {
  int64_t value = m->errors[error];
  bool may = m->success == SUCCESS_ZERO || m->success == SUCCESS_UNKNOWN;
  if (!may || value < 1 || value > ERRNO_MAX || !errno_name((int)value)) return false;
  return value > 1 || errno_set_has(&m->details[error]->errnos, (int)value);
}

/*
 * Errors that an unsigned comparison with a bound tells from the first number that is not special, as bits: "x < 0 ||
 * x > 100" is one to compilers. What is above 2, or not, is asked of standard descriptors only.
 */
static uint64_t out_of_bounds(const struct program *p, const struct found *f, const struct import *m) {
  struct sample s;
  uint64_t told = 0;
  if (m->success != SUCCESS_NUMBER) return 0;
  sample_start(&s, m, &f->call);
  s.successes[0] = s.successes[1] = A_NUMBER;
  for (uint32_t i = 0; i < f->n_events; i++) {
    const struct follow_event *e = &f->events[i];
    bool is_unsigned = (e->cc & ~1) == CC_B || (e->cc & ~1) == CC_BE;
    if (e->kind != EVENT_COMPARE || e->subject != SUBJECT_VALUE || e->variable || !is_unsigned) continue;
    if (judge_masked(e->ops)) continue;
    if (e->op == OP_CMP || e->op == OP_SUB) told |= judge_compare(p, &s, e);
  }
  return told & ~f->guard.errors;
}

/*
 * How well an error serves for an experiment. What is said of the function itself counts more than what is said of the
 * error for all functions: a full disk is common, but not for unlink. What passes when the call is made again shows
 * less than what stays.
 */
static int fault_weight(const struct program *p, const struct found *f, int error, int64_t value) {
  enum likelihood likely = relevance_likelihood(p->relevance, &f->call, error, value);
  enum cause cause = relevance_cause(p->relevance, f->call.name, error, value);
  bool own = likely > LIKELY_CONTRIVED && relevance_names(p->relevance, f->call.name, error, value);
  bool stays = cause == CAUSE_DISK || cause == CAUSE_HARDWARE || cause == CAUSE_MEMORY || cause == CAUSE_LIMIT;
  return 4 * (int)likely + (own ? 6 : 0) + (stays ? 1 : 0) - (relevance_passes(cause, error) ? 5 : 0);
}

/* The likeliest fault among what is missing, for an experiment. */
static void choose_fault(const struct program *p, const struct found *f, unsigned error, struct site *s, int *best) {
  const struct import *m = &p->imports.at[f->import];
  int64_t value = m->errors[error];
  bool number = is_number(m, error);
  struct errno_set of = number ? (struct errno_set){0} : errnos_of(p, f, m->details[error], value);
  bool only = !errno_set_empty(&s->missing_errnos);
  if (!only) of = others(&of, &s->checked_errnos);
  for (int i = 0; i <= ERRNO_MAX; i++) {
    if (i == 0 ? !errno_set_empty(&of) : !errno_set_has(&of, i)) continue;
    if (only && i && !errno_set_has(&s->missing_errnos, i)) continue;
    int weight = fault_weight(p, f, number ? (int)value : i, value);
    if (weight <= *best) continue;
    *best = weight;
    s->retval = value;
    s->error = i;
  }
}

/*
 * Perhaps it returns nothing: nobody in the program looks at it, nothing is known about it, and its code does not prove
 * that what it leaves behind is an error. A function that ends in a call leaves what that returned.
 */
static bool perhaps_void(const struct program *p, const struct import *m) {
  if (m->looked_at || relevance_knows(p->relevance, m->written)) return false;
  if (profile_facts_success(p->facts, m->written) != SUCCESS_UNKNOWN) return false;
  if (profile_facts_roles(p->facts, m->written).arguments >= 0) return false;
  for (unsigned i = 0; i < m->n_errors; i++)
    if (m->details[i]->confidence == PROFILE_CERTAIN) return false;
  return true;
}

/*
 * Do the arguments rule out all that the error may be? Where it is the only one, it stands for more than is known; and
 * of those that are numbers of errors, it is as likely that the list lacks one.
 */
static bool is_ruled_out(const struct program *p, const struct found *f, unsigned error) {
  const struct import *m = &p->imports.at[f->import];
  const struct profile_error *e = m->details[error];
  if (m->n_errors < 2 || is_number(m, error) || e->errno_unknown || errno_set_empty(&e->errnos)) return false;
  for (int i = 1; i <= ERRNO_MAX; i++)
    if (errno_set_has(&e->errnos, i) && !relevance_rules_out(p->relevance, &f->call, i, m->errors[error])) return false;
  return true;
}

int verdict_fill(struct program *p, const struct found *f, const struct judgement *j, struct arena *arena,
                 struct site *s) {
  const struct import *m = &p->imports.at[f->import];
  int64_t *checked = arena_alloc(arena, (m->n_errors + 1) * sizeof *checked);
  int64_t *missing = arena_alloc(arena, (m->n_errors + 1) * sizeof *missing);
  if (!checked || !missing) return -ENOMEM;
  unsigned partly = 0;
  uint64_t bounded = out_of_bounds(p, f, m);
  for (unsigned i = 0; i < m->n_errors; i++) {
    if (is_ruled_out(p, f, i)) continue;
    /* Where to come back is to fail, nothing has to be compared, nor where a stream tells it later. */
    bool known = m->success == SUCCESS_NEVER || bounded >> i & 1 || f->kept;
    enum covered c = cover(p, f, j, i, known, s);
    partly += c == COVERED_PARTLY;
    if (c == COVERED)
      checked[s->n_checked++] = m->errors[i];
    else
      missing[s->n_missing++] = m->errors[i];
  }
  qsort(checked, s->n_checked, sizeof *checked, by_value);
  qsort(missing, s->n_missing, sizeof *missing, by_value);
  s->checked = checked;
  s->missing = missing;
  s->verdict = !s->n_missing ? SITE_ALL : s->n_checked || partly ? SITE_SOME : SITE_NONE;
  if (s->verdict == SITE_NONE && j->seen & SEEN_MIXED_CALLERS) s->verdict = SITE_SOME;
  if (s->verdict == SITE_NONE && j->other_codes) s->verdict = SITE_SOME;
  if (!m->n_errors || perhaps_void(p, m)) s->verdict = SITE_UNKNOWN;
  s->use = use_of(j);
  s->always = f->always && s->use == USE_DEREFERENCED;
  int best = INT_MIN;
  for (unsigned i = 0; i < m->n_errors; i++)
    for (size_t k = 0; k < s->n_missing; k++)
      if (missing[k] == m->errors[i]) choose_fault(p, f, i, s, &best);
  return 0;
}
