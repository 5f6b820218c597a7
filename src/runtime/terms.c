/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of a function as one list of terms; terms.h says what it is good for. It is made at the start from the
 * plan's code, which has been checked: jumps go forward, and there is an end behind everything.
 */
#include "terms.h"

#define FURTHEST 0xffff
#define SHORTEST 3 /* instructions of a comparison */

struct rt_guard *rt_terms_compared;
static uint32_t n_compared, most_compared;
static struct rt_term *room, *room_end; /* what is left */

static uint32_t op_at(uint32_t at) { return rt.code[at] & 0xff; }
static uint32_t operand_at(uint32_t at) { return rt.code[at] >> 8; }

/* How many instructions the term at AT has; 0 if it is none. */
static uint32_t term_length(uint32_t at) {
  struct rt_guard unused;
  uint32_t op = op_at(at);
  if (op == WIRE_OP_CALLER || op == WIRE_OP_STACK || op == WIRE_OP_ASK) return 1;
  return rt_guard_comparison(at, &unused);
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
  for (uint32_t at = code, length; op_at(at) != WIRE_OP_END; at += length ? length : 1) {
    uint32_t op = op_at(at);
    bool joins = op == WIRE_OP_IF_ZERO || op == WIRE_OP_IF_SET || op == WIRE_OP_IS_ZERO;
    length = term_length(at);
    if (!length && !joins) return 0;
    n += length > 0;
  }
  return n;
}

/* The terms that stand before AT. */
static uint32_t number_of(uint32_t code, uint32_t at) {
  uint32_t n = 0;
  for (uint32_t length; code < at; code += length ? length : 1) {
    length = term_length(code);
    n += length > 0;
  }
  return n;
}

/* What comes behind the answer VALUE to term number N of rule R, which has so many TERMS: as a distance from that. */
static uint16_t next_of(const struct wire_rule *r, uint32_t terms, uint32_t n, uint32_t behind, bool value) {
  if (goes_on(&behind, &value)) return (uint16_t)(number_of(r->code, behind) - n);
  /* Behind the terms of a rule that may inject stands that it does; then comes the next rule. */
  bool over = !(r->flags & WIRE_UNUSED) && !value;
  return (uint16_t)(terms - n + over);
}

/* The term at AT, without what comes behind it; false if there is no more room for what it compares. */
static bool write_term(uint32_t at, struct rt_term *to) {
  struct rt_guard g = {0};
  *to = (struct rt_term){.instruction = rt.code[at]};
  if (!rt_guard_comparison(at, &g)) return true;
  if (n_compared == most_compared) return false;
  rt_terms_compared[n_compared] = g;
  to->instruction = n_compared++ << 8 | RT_TERM_COMPARES;
  return true;
}

/*
 * Rule number K of its function: how many terms that became; 0 if none, -1 if it is more than terms, or than there is
 * room for: each instruction has its place once, and rules may share theirs.
 */
static int write_rule(const struct wire_rule *r, uint32_t k, struct rt_term *to) {
  uint32_t terms = r->code == WIRE_NO_CODE ? 0 : count_terms(r->code), n = 0;
  bool injects = !(r->flags & WIRE_UNUSED);
  if (r->code != WIRE_NO_CODE && terms == 0) return -1;
  if ((size_t)(room_end - to) < (size_t)terms + injects) return -1;
  for (uint32_t at = r->code, length; n < terms; at += length ? length : 1) {
    length = term_length(at);
    if (!length) continue;
    if (!write_term(at, &to[n])) return -1;
    for (unsigned value = 0; value < 2; value++)
      to[n].next[value] = next_of(r, terms, n, at + length, value);
    n++;
  }
  if (injects) to[n++] = (struct rt_term){.instruction = k << 8 | WIRE_OP_END};
  return (int)n;
}

static size_t most_terms(void) { return (size_t)rt.plan->code.n + rt.plan->rules.n; }
static uint32_t most_comparisons(void) { return rt.plan->code.n / SHORTEST + 1; }

size_t rt_terms_room(void) {
  return most_terms() * sizeof(struct rt_term) + most_comparisons() * sizeof(struct rt_guard);
}

void rt_terms_start(void *memory) {
  room = memory;
  room_end = room + most_terms();
  rt_terms_compared = (struct rt_guard *)(void *)room_end;
  n_compared = 0;
  most_compared = most_comparisons();
}

void rt_terms_learn(struct rt_function *f) {
  struct rt_term *at = room;
  uint32_t compared = n_compared;
  if (f->how != RT_TALLY || f->hook != WIRE_HOOK_NONE) return;
  for (uint32_t k = 0; k < f->n_rules; k++) {
    int n = write_rule(&rt.rules[f->rule + k], k, at);
    at += n < 0 ? 0 : n;
    if (n < 0 || at - room > FURTHEST) {
      n_compared = compared;
      return;
    }
  }
  if (at == room) return;
  for (struct rt_term *t = room; t < at; t++)
    for (unsigned k = 0; k < 2; k++)
      if (t + t->next[k] == at) t->next[k] = 0;
  f->terms = room;
  room = at;
}
