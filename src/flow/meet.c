/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A way meets the condition of a branch, going backward.
 *
 * On a value that is followed, it goes along as a predicate, makes the value a constant if it says "equal", or one of
 * a few if it bounds the index of a table. On another value, it is evidence if that is the result of a call.
 */
#include "flow/backward.h"

#include <string.h>

#define TABLE_MAX 64 /* values of an index that are enumerated */

/* Does a chain only cut off what a comparison of WIDTH bytes does not look at? */
static bool width_only(const struct transform *t, unsigned width) {
  return !t || ((t->kind == XF_ZERO) && t->width >= width && !t->next);
}

static bool head_covers(const struct item *i, unsigned width) {
  if (width >= 8 || (i->role == ROLE_RET && width == 4)) return true;
  return i->ops && (i->ops->kind == XF_ZERO || i->ops->kind == XF_SIGN) && i->ops->width <= width;
}

/* LOC is known to be V: followed values in it become constants. */
static bool equal_to(struct walk *w, struct state *s, const struct flow_loc *loc, uint64_t v, unsigned width,
                     uint64_t at) {
  for (unsigned k = s->n_items; k-- > 0;) {
    struct item i = s->items[k];
    if (i.role == ROLE_PRED || !flow_loc_equal(&i.loc, loc) || !head_covers(&i, width)) continue;
    state_drop(s, k);
    struct flow_value c = {.kind = VALUE_CONST, .value = width >= 8 ? v : v & ((1ull << (width * 8)) - 1), .at = at};
    if (!state_settle(w, s, &i, c)) return false;
  }
  return true;
}

/* All that is loaded from tables with the index V. False if that is impossible. */
static bool settle_index(struct walk *w, struct state *s, const struct flow_loc *loc, struct flow_value v) {
  for (unsigned k = s->n_items; k-- > 0;) {
    struct item i = s->items[k];
    if (!flow_loc_equal(&i.loc, loc) || !flow_transform_loads(i.ops)) continue;
    state_drop(s, k);
    if (!state_settle(w, s, &i, v)) return false;
  }
  return true;
}

/* An index into a table of constants that is known to be at most MOST: one state for each value. */
static bool enumerate(struct walk *w, struct state *s, const struct item *p, uint64_t most, uint32_t block,
                      uint32_t position) {
  for (unsigned k = 0; k < s->n_items; k++) {
    struct item i = s->items[k];
    if (i.role == ROLE_PRED || !flow_loc_equal(&i.loc, &p->loc) || !flow_transform_loads(i.ops)) continue;
    for (uint64_t v = 0; v <= most; v++) {
      struct state copy;
      state_copy(&copy, s);
      if (settle_index(w, &copy, &p->loc, (struct flow_value){.kind = VALUE_CONST, .value = v, .at = p->at}))
        state_push(w, block, position, &copy);
    }
    return true;
  }
  return false;
}

static bool on_followed(const struct state *s, const struct flow_loc *loc) {
  for (unsigned i = 0; i < s->n_items; i++)
    if (flow_loc_equal(&s->items[i].loc, loc)) return true;
  return false;
}

static void add_pred(struct state *s, const struct item *p) {
  unsigned n = 0;
  for (unsigned i = 0; i < s->n_items; i++) {
    const struct item *q = &s->items[i];
    n += q->role == ROLE_PRED;
    if (q->role == ROLE_PRED && q->cc == p->cc && q->ops == p->ops && q->imm == p->imm && q->width == p->width &&
        flow_loc_equal(&q->loc, &p->loc))
      return;
  }
  if (n < PREDS && s->n_items < ITEMS) s->items[s->n_items++] = *p;
}

/* If what is compared is computed from a followed value, as a copy or otherwise: the comparison in terms of that. */
static void rebase(struct walk *w, const struct state *s, uint32_t insn, struct item *p) {
  if (!state_live(s)) return;
  struct flow_value v = flow_origin(&w->function, insn, &p->loc);
  if (v.kind != VALUE_ARG && v.kind != VALUE_CALL) return;
  for (unsigned i = 0; i < s->n_items; i++) {
    if (s->items[i].role == ROLE_PRED) continue;
    struct flow_value o = flow_origin(&w->function, insn, &s->items[i].loc);
    if (o.kind != v.kind || o.arg != v.arg || o.call != v.call) continue;
    const struct transform *ops = p->ops;
    if (o.ops != v.ops && (!width_only(o.ops, p->width) || !flow_transform_concat(w->function.worker, v.ops, &ops)))
      continue;
    p->ops = ops;
    p->loc = s->items[i].loc;
    return;
  }
}

/* Is the register the result of a comparison just above? */
static bool from_comparison(const struct walk *w, uint32_t insn, uint32_t position, const struct flow_loc *loc) {
  for (uint32_t i = 1; loc->kind == LOC_REG && i <= position && i < 6; i++) {
    const struct insn *in = &w->function.code->insns[insn - i];
    if (in->op == OP_SET && in->dst_kind == OPERAND_REG && in->dst == loc->reg) return true;
  }
  return false;
}

/* Negative, or -1: what callers hand on of calls that failed. */
static bool is_failure_test(const struct item *p) {
  if (p->ops && p->ops->kind != XF_ZERO) return false;
  return p->imm == 0 ? p->cc == CC_S || p->cc == CC_L : p->cc == CC_E && (int32_t)p->imm == -1;
}

static bool has_arg_guard(const struct state *s) {
  for (unsigned i = 0; i < s->n_guards; i++)
    if (s->guards[i].arg) return true;
  return false;
}

/* The way meets a condition. */
static enum meet meet(struct walk *w, struct state *s, struct item *p, uint32_t insn, uint32_t block,
                      uint32_t position) {
  if (!on_followed(s, &p->loc)) rebase(w, s, insn, p);
  if (on_followed(s, &p->loc)) {
    if (p->cc == CC_E && width_only(p->ops, p->width)) {
      if (!equal_to(w, s, &p->loc, p->imm, p->width, p->at)) return MEET_IMPOSSIBLE;
    } else if ((p->cc == CC_BE || p->cc == CC_B) && width_only(p->ops, p->width) && p->imm < TABLE_MAX) {
      if (p->cc == CC_B && p->imm == 0) return MEET_IMPOSSIBLE;
      if (enumerate(w, s, p, p->cc == CC_B ? p->imm - 1 : p->imm, block, position)) return MEET_SPLIT;
    }
    add_pred(s, p);
    return MEET_ON;
  }
  if (from_comparison(w, insn, position, &p->loc)) {
    add_pred(s, p);
    return MEET_ON;
  }
  if (w->simple || (s->beyond != BEYOND_FAR && state_evidence(s) >= w->guards)) return MEET_ON;
  struct flow_value v = flow_origin(&w->function, insn, &p->loc);
  if (s->beyond == BEYOND_FAR && (v.kind != VALUE_CALL || v.call + 1u != state_wanted(w, s))) return MEET_ON;
  if (v.kind == VALUE_CALL) {
    const struct transform *ops = p->ops;
    if (flow_transform_concat(w->function.worker, v.ops, &ops))
      state_add_guard(s, (struct flow_guard){v.call, 0, p->cc, p->width, ops, p->imm, p->at});
    return MEET_ON;
  }
  if (v.kind == VALUE_ARG && is_failure_test(p) && !v.ops && s->ret.kind == VALUE_CONST && !has_arg_guard(s))
    state_add_guard(s, (struct flow_guard){UINT16_MAX, v.arg + 1, p->cc, p->width, p->ops, p->imm, p->at});
  if (v.kind == VALUE_NONE && v.raw) add_pred(s, p); /* which call it was, the way will tell */
  if (v.kind == VALUE_CONST && !state_settle_pred(w, s, p, v)) return MEET_IMPOSSIBLE;
  return MEET_ON;
}

/* condition_at, remembered: many ways meet the same conditions. */
static unsigned condition_met(struct walk *w, uint32_t insn, uint8_t cc, struct item ret[2]) {
  uint64_t key = (uint64_t)insn << 8 | cc, at;
  if (map_get(w->conditions, key, &at)) {
    if (at % 4) memcpy(ret, w->predicates.at + at / 4, at % 4 * sizeof *ret);
    return at % 4;
  }
  unsigned n = condition_at(&w->function, insn, cc, ret);
  at = w->predicates.n * 4 + n;
  for (unsigned i = 0; i < n; i++)
    if (vec_push(&w->predicates, ret[i]) < 0) w->function.failed = true;
  if (w->function.failed || map_put(w->conditions, key, at) < 0) w->function.failed = true;
  return n;
}

/* Leads to a value for each index of a table: has to come last. */
static bool may_split(const struct item *p) { return p->cc == CC_BE || p->cc == CC_B; }

enum meet meet_all(struct walk *w, struct state *s, uint32_t insn, uint32_t block, uint32_t position) {
  const struct insn *in = &w->function.code->insns[insn];
  struct item met[PENDING + 1], both[2];
  unsigned n_met = 0;
  while (s->n_pending && in->flags & INSN_SETS_FLAGS) {
    unsigned n = condition_met(w, insn, s->pending[--s->n_pending], both);
    if (n == 2) { /* followed themselves: they are results of other comparisons */
      add_pred(s, &both[0]);
      add_pred(s, &both[1]);
    } else if (n == 1)
      met[n_met++] = both[0];
  }
  if (s->table_case != NO_CASE && in->flags & INSN_TABLE_INDEX) {
    met[n_met++] = (struct item){.loc = flow_loc_reg(in->index),
                                 .role = ROLE_PRED,
                                 .cc = CC_E,
                                 .width = 4,
                                 .imm = s->table_case,
                                 .at = in->address};
    s->table_case = NO_CASE;
  }
  for (unsigned last = 0; last < 2; last++)
    for (unsigned i = 0; i < n_met; i++) {
      enum meet m = may_split(&met[i]) == last ? meet(w, s, &met[i], insn, block, position) : MEET_ON;
      if (m != MEET_ON) return m;
    }
  return MEET_ON;
}
