/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that stand for errors and for successes, and what comparisons tell of them.
 *
 * A comparison is a check of an error if its outcome for that value differs from its outcome for a value of success. So
 * "!= 0", "< 0", "== -1" and "inc; je" need no rules of their own, and the wrong constant is no check.
 */
#include "site/site_program.h"

/* --- values ------------------------------------------------------------------------------------------------------- */

/* Any values of success that are not special. */
enum { ANOTHER_NUMBER = 1000, A_COUNT = 4096, A_CHARACTER = 'q', A_BUFFER = 1024 };
#define AN_ADDRESS 0x7f1234567890

static void set_successes(struct sample *s, uint64_t first, uint64_t second, unsigned n, bool all) {
  s->successes[0] = first;
  s->successes[1] = second;
  s->n_successes = n;
  s->all = all;
}

/* A value of success that an argument names. */
static void add_success(struct sample *s, const struct import *m, const struct relevance_call *call) {
  if (m->returns < 0 || !(call->known >> m->returns & 1)) return;
  if (m->whence >= 0 && call->known >> m->whence & 1 && call->args[m->whence]) return;
  uint64_t v = call->args[m->returns];
  if ((int64_t)v < 0 || (!v && m->success == SUCCESS_POINTER)) return; /* the choice is left to the function */
  if (m->success == SUCCESS_NUMBER)
    set_successes(s, v, 0, 1, false);
  else
    s->successes[s->n_successes++] = v;
}

static void set_usual_successes(struct sample *s, const struct import *m) {
  bool zero = false, positive = false;
  for (unsigned i = 0; i < m->n_errors; i++) {
    zero |= m->errors[i] == 0;
    positive |= m->errors[i] > 0;
  }
  switch (m->success) {
  case SUCCESS_ZERO:
    set_successes(s, 0, 0, 1, false);
    return;
  case SUCCESS_NUMBER:
    set_successes(s, A_NUMBER, ANOTHER_NUMBER, 2, true);
    return;
  case SUCCESS_COUNT:
    set_successes(s, A_COUNT, 0, 1, false);
    return;
  case SUCCESS_LENGTH:
    set_successes(s, 1, 0, 1, false);
    return;
  case SUCCESS_CHARACTER:
    set_successes(s, A_CHARACTER, A_CHARACTER + 1, 2, true);
    return;
  case SUCCESS_POINTER:
    set_successes(s, AN_ADDRESS, 0, 1, false);
    return;
  default:
    set_successes(s, zero ? 1 : 0, 1, zero || positive ? 1 : 2, false);
  }
}

void sample_start(struct sample *s, const struct import *m, const struct relevance_call *call) {
  bool sized = m->success == SUCCESS_COUNT || m->success == SUCCESS_LENGTH;
  s->import = m;
  s->count = sized && m->size >= 0 && call->known >> m->size & 1 ? call->args[m->size] : 0;
  for (unsigned i = 0; i < m->n_errors; i++)
    s->errors[i] = (uint64_t)m->errors[i];
  set_usual_successes(s, m);
  if (s->count && m->success == SUCCESS_COUNT) s->successes[0] = s->count;
  add_success(s, m, call);
  if (call->lowest) set_successes(s, call->lowest - 1u, 0, 1, false);
  s->renewed = call->renewed;
}

void sample_step(struct sample *to, const struct sample *from, const struct transform *ops, const struct image *img) {
  *to = *from;
  for (unsigned i = 0; i < from->import->n_errors; i++)
    (void)flow_transform_apply(ops, img, from->errors[i], &to->errors[i], NULL);
  for (unsigned i = 0; i < from->n_successes; i++)
    (void)flow_transform_apply(ops, img, from->successes[i], &to->successes[i], NULL);
  if (from->count) (void)flow_transform_apply(ops, img, from->count, &to->count, NULL);
}

/* --- comparisons -------------------------------------------------------------------------------------------------- */

bool judge_equality(const struct follow_event *e) {
  bool difference = e->op == OP_CMP || e->op == OP_SUB || e->op == OP_XOR;
  return difference && (e->cc == CC_E || e->cc == CC_NE);
}

uint64_t judge_every(const struct import *m) { return m->n_errors >= 64 ? ~0ull : (1ull << m->n_errors) - 1; }

bool judge_mixed(const struct program *p, const struct sample *s, const struct follow_event *e) {
  uint64_t v;
  if (!e->mixed) return false;
  return !e->sum || s->n_successes != 1 || !flow_transform_apply(e->ops, p->image, s->successes[0], &v, NULL) || v != 0;
}

/* Does the comparison ask for the number 0 alone? */
static bool asks_zero(const struct program *p, const struct follow_event *e) {
  bool zero = !e->variable && follow_event_holds(e, p->image, 0, 0);
  return !e->variable && zero != follow_event_holds(e, p->image, 1, 0) &&
         zero != follow_event_holds(e, p->image, ~0ull, 0);
}

/* Is the error told from the sample's successes, and from MORE if that is not 0? */
static bool tells(const struct program *p, const struct sample *s, const struct follow_event *e, uint64_t error,
                  uint64_t more, uint64_t variable) {
  bool holds = follow_event_holds(e, p->image, error, variable), every = true, one = false;
  for (unsigned i = 0; i < s->n_successes; i++) {
    bool differs = follow_event_holds(e, p->image, s->successes[i], variable) != holds;
    every &= differs;
    one |= differs;
  }
  if (more && follow_event_holds(e, p->image, more, variable) != holds) return true;
  if (s->renewed && asks_zero(p, e)) return true;
  return s->all ? every : one;
}

/*
 * Compilers ask for ranges of lengths at once: "x != -1 && x > 11" is x - 12 <= -14 without a sign, and
 * "x == -1 || x < 4" is x + 1 < 5. The first number of the range, or, if the error is in it, the first behind it; 0
 * if there is none.
 */
static uint64_t edge_of_range(const struct sample *s, const struct follow_event *e) {
  uint8_t order = e->cc & ~1;
  const struct transform *t = e->ops;
  bool asks = e->op == OP_CMP && !e->variable && e->width == 8 && (order == CC_B || order == CC_BE);
  if (s->import->success != SUCCESS_LENGTH || !asks || !t || t->next || t->kind != XF_ADD) return 0;
  uint64_t end = e->imm + (order == CC_BE), by = (uint64_t)t->imm;
  uint64_t edge = s->errors[0] + by < end ? end - by : 0 - by;
  return edge < 1u << 30 ? edge : 0;
}

#define COUNTS 64

/*
 * "n == 2 || n == 3" is n - 2 <= 1 without a sign, and "n < 1 || n > 12" is n - 13 < -12: the first count that is told
 * from the error; 0 if none of the first ones is.
 */
static uint64_t count_of_range(const struct program *p, const struct sample *s, const struct follow_event *e) {
  uint8_t order = e->cc & ~1;
  bool asks = e->op == OP_CMP && !e->variable && (order == CC_B || order == CC_BE), moved = false;
  for (const struct transform *t = e->ops; t; t = t->next)
    moved |= t->kind == XF_ADD;
  if (s->import->success != SUCCESS_COUNT || !asks || !moved || !s->import->n_errors) return 0;
  bool holds = follow_event_holds(e, p->image, s->errors[0], 0);
  for (uint64_t n = 1; n <= COUNTS; n++)
    if (follow_event_holds(e, p->image, n, 0) != holds) return n;
  return 0;
}

/*
 * A success that the comparison suggests: who compares a count with 16 expects 16, and who compares a new descriptor
 * with 1 expects that one. Where it is known how much was asked
 * for, an order is about that. A length that is compared with less than there is room for may be longer; one that is
 * all the room is too long, which is no success. Compilers write "x < 8" as "x <= 7" as they like, so both must suggest
 * the same: without a sign, where an error is the largest number, what is below the bound.
 */
uint64_t judge_suggested(const struct sample *s, const struct follow_event *e) {
  const struct import *m = s->import;
  bool positive = !e->variable && (int64_t)e->imm > 0 && e->imm < 1u << 30, equality = judge_equality(e);
  uint64_t edge = edge_of_range(s, e);
  if (edge) return edge;
  if (!positive || e->op == OP_TEST || e->op == OP_AND) return 0;
  if (m->success == SUCCESS_LENGTH && equality) return s->count && e->imm >= s->count ? 0 : e->imm;
  if (m->success == SUCCESS_LENGTH) return e->imm + 1 < s->count ? e->imm + 1 : 0;
  if (m->success == SUCCESS_NUMBER && equality) return e->imm;
  if (m->success != SUCCESS_COUNT) return 0;
  if (s->count && !equality) return s->count;
  return (e->cc & ~1) == CC_B ? e->imm - 1 : e->imm;
}

#define VARIABLES 2

/*
 * What may stand for a variable that the value is compared with; 0 of them if any comparison with one is a check. A new
 * number or address that equals another one, or does not, says nothing of a failure. A count may be compared with what
 * was asked for, or with less.
 */
static unsigned variables_for(const struct import *m, const struct follow_event *e, uint64_t ret[VARIABLES]) {
  bool equality = judge_equality(e);
  switch (m->success) {
  case SUCCESS_COUNT:
    ret[0] = A_COUNT;
    ret[1] = A_COUNT / 2;
    return equality ? 0 : 2;
  case SUCCESS_LENGTH:
    ret[0] = A_BUFFER;
    return !equality;
  case SUCCESS_CHARACTER:
    ret[0] = 2 * ANOTHER_NUMBER;
    return !equality;
  case SUCCESS_NUMBER:
    ret[0] = 2 * ANOTHER_NUMBER;
    return !equality || !m->foreseen;
  case SUCCESS_POINTER:
    ret[0] = AN_ADDRESS + A_BUFFER;
    return !equality || !m->foreseen;
  default:
    return 0;
  }
}

bool judge_masked(const struct transform *t) {
  for (; t; t = t->next)
    if ((t->kind == XF_AND && t->imm > 0 && !(t->imm & (t->imm + 1))) || (t->kind == XF_ZERO && t->width < 4))
      return true;
  return false;
}

/* Of what may be any number, that it is not 0 is a truth value and not a question of failure. */
static bool asks_truth(const struct program *p, const struct sample *s, const struct follow_event *e) {
  if (s->import->success != SUCCESS_VALUE || e->variable) return false;
  bool zero = follow_event_holds(e, p->image, 0, 0);
  return zero != follow_event_holds(e, p->image, 1, 0) && zero != follow_event_holds(e, p->image, A_NUMBER, 0) &&
         zero != follow_event_holds(e, p->image, ~0ull, 0);
}

uint64_t judge_compare(const struct program *p, const struct sample *s, const struct follow_event *e) {
  uint64_t told = 0, variables[VARIABLES] = {0}, range = count_of_range(p, s, e);
  uint64_t more = range ? range : judge_suggested(s, e);
  if (judge_mixed(p, s, e) || asks_truth(p, s, e)) return 0;
  if (e->variable && judge_masked(e->ops)) return 0;
  unsigned n = e->variable ? variables_for(s->import, e, variables) : 1;
  if (n == 0) return judge_every(s->import);
  for (unsigned i = 0; i < s->import->n_errors; i++)
    for (unsigned k = 0; k < n; k++)
      if (tells(p, s, e, s->errors[i], more, variables[k])) told |= 1ull << i;
  return told;
}

/* Is the sign all that is left? It may be moved to another place: "x < 0 ? 8 : 0" is a shift and a mask. */
static bool takes_sign(const struct transform *t) {
  int64_t shift = 0;
  for (; t; t = t->next) {
    if (t->kind == XF_SHR || t->kind == XF_SAR) shift = t->imm & 63;
    if (shift == 31 || shift == 63) return true;
    bool one = t->kind == XF_AND && shift > 0;
    if (one && ((shift < 31 && t->imm == 1ll << (31 - shift)) || t->imm == 1ll << (63 - shift))) return true;
  }
  return false;
}

uint64_t judge_sign(const struct program *p, const struct sample *s, const struct follow_event *e) {
  bool sign = takes_sign(e->ops);
  uint64_t told = 0;
  for (unsigned i = 0; sign && i < s->import->n_errors; i++) {
    uint64_t x = 0, y = 0;
    if (!flow_transform_apply(e->ops, p->image, s->errors[i], &x, NULL)) continue;
    if (!flow_transform_apply(e->ops, p->image, s->successes[0], &y, NULL)) continue;
    if (x != y) told |= 1ull << i;
  }
  return told;
}

bool judge_crashes(const struct import *m, const struct follow_event *e) {
  bool whole = true, null = false;
  for (const struct transform *t = e->ops; t; t = t->next)
    whole &= t->kind == XF_ADD;
  for (unsigned i = 0; i < m->n_errors; i++)
    null |= m->errors[i] == 0;
  bool address = m->success == SUCCESS_UNKNOWN || m->success == SUCCESS_POINTER;
  return !e->indexed && whole && address && (null || m->pointer);
}
