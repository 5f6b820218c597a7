/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of a function as one list of terms; terms.h says what it is good for. It is made at the start from the
 * plan's code, which has been checked: jumps go forward, and there is an end behind everything.
 */
#include "terms.h"

#define FURTHEST 0xffff

static uint32_t op_at(uint32_t at) { return rt.code[at] & 0xff; }
static uint32_t operand_at(uint32_t at) { return rt.code[at] >> 8; }
static bool is_term(uint32_t at) {
  return op_at(at) == WIRE_OP_CALLER || op_at(at) == WIRE_OP_STACK || op_at(at) == WIRE_OP_ASK;
}

/* From *AT, behind a term that is *VALUE, to where another one is asked; false if the condition ends as *VALUE. */
static bool goes_on(uint32_t *at, bool *value) {
  for (;; ++*at)
    switch (op_at(*at)) {
    case WIRE_OP_END:
      return false;
    case WIRE_OP_IS_ZERO:
      *value = !*value;
      break;
    case WIRE_OP_IF_ZERO:
    case WIRE_OP_IF_SET:
      if (*value != (op_at(*at) == WIRE_OP_IF_SET)) {
        ++*at; /* the value is taken away, and another comes */
        return true;
      }
      *at += operand_at(*at);
      break;
    default:
      return true;
    }
}

/* How many terms the condition at CODE has; 0 if it has anything else that must be computed. */
static uint32_t count_terms(uint32_t code) {
  uint32_t n = 0;
  for (uint32_t at = code; op_at(at) != WIRE_OP_END; at++) {
    uint32_t op = op_at(at);
    bool joins = op == WIRE_OP_IF_ZERO || op == WIRE_OP_IF_SET || op == WIRE_OP_IS_ZERO;
    if (!is_term(at) && !joins) return 0;
    n += is_term(at);
  }
  return n;
}

/* The terms that stand before AT. */
static uint32_t number_of(uint32_t code, uint32_t at) {
  uint32_t n = 0;
  for (; code < at; code++)
    n += is_term(code);
  return n;
}

/* What comes behind the answer VALUE to term number N of rule R, at AT, of so many TERMS: as a distance from that. */
static uint16_t next_of(const struct wire_rule *r, uint32_t terms, uint32_t n, uint32_t at, bool value) {
  uint32_t behind = at + 1;
  if (goes_on(&behind, &value)) return (uint16_t)(number_of(r->code, behind) - n);
  /* Behind the terms of a rule that may inject stands that it does; then comes the next rule. */
  bool over = !(r->flags & WIRE_UNUSED) && !value;
  return (uint16_t)(terms - n + over);
}

/* Rule number K of its function: how many terms that became; 0 if none, -1 if it is more than terms. */
static int write_rule(const struct wire_rule *r, uint32_t k, struct rt_term *to) {
  uint32_t terms = r->code == WIRE_NO_CODE ? 0 : count_terms(r->code), n = 0;
  if (r->code != WIRE_NO_CODE && terms == 0) return -1;
  for (uint32_t at = r->code; n < terms; at++) {
    if (!is_term(at)) continue;
    to[n] = (struct rt_term){rt.code[at], {next_of(r, terms, n, at, false), next_of(r, terms, n, at, true)}};
    n++;
  }
  if (!(r->flags & WIRE_UNUSED)) to[n++] = (struct rt_term){.instruction = k << 8 | WIRE_OP_END};
  return (int)n;
}

size_t rt_terms_room(void) {
  return (rt.plan->code.n + rt.plan->rules.n + rt.plan->functions.n) * sizeof(struct rt_term);
}

void rt_terms_learn(struct rt_function *f, struct rt_term **room) {
  struct rt_term *at = *room;
  if (f->how != RT_TALLY || f->hook != WIRE_HOOK_NONE || f->n_rules == 0) return;
  for (uint32_t k = 0; k < f->n_rules; k++) {
    int n = write_rule(&f->rules[k], k, at);
    if (n < 0) return;
    at += n;
  }
  if (at == *room || at - *room > FURTHEST) return;
  for (struct rt_term *t = *room; t < at; t++)
    for (unsigned k = 0; k < 2; k++)
      if (t + t->next[k] == at) t->next[k] = 0;
  f->terms = *room;
  *room = at;
}
