/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guards by errno: where errno is compared as well, is an error with another errno taken for success?
 *
 * The instructions behind a call are carried out for an error and for a success; if both come to the same place in the
 * same state, only the errnos that do not are handled. It is asked at the call itself and, for who calls a function
 * that hands the error on, at that call.
 */
#include "site/site_program.h"

#include <errno.h>

void guard_choose(struct program *p) {
  for (size_t i = 0; i < p->found.n; i++) {
    struct found *f = &p->found.at[i];
    if (f->guard_nothing.errors & ~f->guard.errors && functions_no_result(p, f->entry)) f->guard = f->guard_nothing;
    if (f->kept_returned && functions_no_result(p, f->entry)) f->kept = false;
  }
}

bool guard_asks(const struct follow_event *events, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (events[i].subject == SUBJECT_ERRNO && (events[i].kind == EVENT_COMPARE || events[i].kind == EVENT_SWITCH))
      return true;
  return false;
}

#define NOBODYS_ERRNO 4000

/* Does the comparison of errno come out for NUMBER as for an error that nobody has heard of? */
static bool is_like_others(const struct image *img, const struct follow_event *e, int number) {
  if (e->subject != SUBJECT_ERRNO) return true;
  if (e->kind != EVENT_COMPARE || e->variable) return e->imm != (uint64_t)number;
  return follow_event_holds(e, img, (uint64_t)number, 0) == follow_event_holds(e, img, NOBODYS_ERRNO, 0);
}

/* An errno that nothing here asks for. */
static int other_errno(const struct image *img, const struct follow_events *events, const struct import *m) {
  for (int pass = 0; pass < 2; pass++)
    for (int i = 1; i <= ERRNO_MAX; i++) {
      bool possible = pass > 0;
      for (size_t k = 0; k < m->n_errors && !possible; k++)
        possible = errno_set_has(&m->details[k]->errnos, i);
      for (size_t k = 0; k < events->at.n && possible; k++)
        possible = is_like_others(img, &events->at.at[k], i);
      if (possible) return i;
    }
  return 0;
}

static bool switches(const struct follow_events *events) {
  for (size_t i = 0; i < events->at.n; i++)
    if (events->at.at[i].subject == SUBJECT_ERRNO && events->at.at[i].kind == EVENT_SWITCH) return true;
  return false;
}

static bool may_set(const struct import *m, int number) {
  bool any = false;
  for (size_t k = 0; k < m->n_errors; k++) {
    if (errno_set_has(&m->details[k]->errnos, number)) return true;
    any |= !errno_set_empty(&m->details[k]->errnos);
  }
  return !any;
}

/* Is the error with some errno taken for success? A table of a switch does not say which ones it has cases for. */
static bool slips_through(struct follow_graph *g, uint32_t insn, const struct follow_events *events,
                          const struct import *m, struct follow_pair *pair) {
  pair->error_errno = (uint64_t)other_errno(follow_graph_code(g)->image, events, m);
  if (!switches(events)) return follow_graph_same(g, insn, pair);
  for (int i = 1; i <= ERRNO_MAX; i++) {
    pair->error_errno = (uint64_t)i;
    if (may_set(m, i) && follow_graph_same(g, insn, pair)) return true;
  }
  return false;
}

/* A success that some comparison here tells from the error. */
static bool told_success(const struct image *img, const struct follow_events *events, const struct sample *s,
                         unsigned error, uint64_t *ret) {
  for (size_t i = 0; i < events->at.n; i++) {
    const struct follow_event *e = &events->at.at[i];
    if (e->kind != EVENT_COMPARE || e->subject != SUBJECT_VALUE || e->variable || e->mixed) continue;
    uint64_t candidates[] = {judge_suggested(s, e), s->successes[0], s->successes[s->n_successes - 1]};
    bool holds = follow_event_holds(e, img, s->errors[error], 0);
    for (size_t k = candidates[0] ? 0 : 1; k < COUNT(candidates); k++) {
      if (follow_event_holds(e, img, candidates[k], 0) == holds) continue;
      *ret = candidates[k];
      return true;
    }
  }
  return false;
}

void guard_look(struct follow_graph *g, uint32_t insn, const struct follow_events *events, const struct sample *s,
                bool nothing, struct guard *ret) {
  const struct import *m = s->import;
  struct follow_pair pair = {.nothing = nothing};
  *ret = (struct guard){0};
  if (!guard_asks(events->at.at, events->at.n)) return;
  for (unsigned i = 0; i < m->n_errors; i++) {
    if (!told_success(follow_graph_code(g)->image, events, s, i, &pair.success_value)) continue;
    pair.error_value = s->errors[i];
    if (!slips_through(g, insn, events, m, &pair)) continue;
    ret->errors |= 1ull << i;
    for (int number = 1; number <= ERRNO_MAX; number++) {
      pair.error_errno = (uint64_t)number;
      if (!follow_graph_same(g, insn, &pair)) errno_set_add(&ret->handled, number);
    }
  }
  if (errno_set_empty(&ret->handled)) ret->errors = 0;
}

uint64_t guard_codes(struct follow_graph *g, uint32_t insn, const struct follow_events *events,
                     const struct sample *s) {
  struct follow_pair pair = {0};
  bool returned = false;
  uint64_t codes = 0;
  for (size_t i = 0; i < events->at.n; i++)
    returned |= events->at.at[i].subject == SUBJECT_ERRNO && events->at.at[i].kind == EVENT_RETURN;
  for (unsigned i = 0; returned && i < s->import->n_errors; i++) {
    if (!told_success(follow_graph_code(g)->image, events, s, i, &pair.success_value)) continue;
    pair.error_value = s->errors[i];
    pair.error_errno = EIO;
    if (!follow_graph_returns_errno(g, insn, &pair)) continue;
    pair.error_errno = (uint64_t)other_errno(follow_graph_code(g)->image, events, s->import);
    if (follow_graph_returns_errno(g, insn, &pair)) codes |= 1ull << i;
  }
  return codes;
}
