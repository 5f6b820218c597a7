/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program makes of the errors of one call: LFI's algorithm 2, asked with values.
 *
 * A comparison is a check of an error if its outcome for that value differs from its outcome for a value of success. So
 * "!= 0", "< 0", "== -1" and "inc; je" need no rules of their own, and the wrong constant is no check.
 */
#include "site/program.h"

#include <errno.h>

#define DEPTH_MAX 4     /* functions between the call and the check */
#define CALLERS_MAX 512 /* of a function that are asked */
#define BUDGET 2000     /* lists of events that are looked at for one site */

/* --- values ------------------------------------------------------------------------------------------------------- */

/* Any values of success that are not special. */
enum { A_NUMBER = 3, ANOTHER_NUMBER = 1000, A_COUNT = 4096, A_CHARACTER = 'q', A_BUFFER = 1024 };
#define AN_ADDRESS 0x7f1234567890

static void set_successes(struct sample *s, uint64_t first, uint64_t second, unsigned n, bool all) {
  s->successes[0] = first;
  s->successes[1] = second;
  s->n_successes = n;
  s->all = all;
}

void sample_start(struct sample *s, const struct import *m, const struct relevance_call *call) {
  bool zero = false, positive = false;
  s->import = m;
  s->count = 0;
  if (m->success == SUCCESS_COUNT && m->size >= 0 && call->known >> m->size & 1) s->count = call->args[m->size];
  for (unsigned i = 0; i < m->n_errors; i++) {
    s->errors[i] = (uint64_t)m->errors[i];
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

/* The same values after OPS. */
static void sample_step(struct sample *to, const struct sample *from, const struct transform *ops,
                        const struct image *img) {
  *to = *from;
  for (unsigned i = 0; i < from->import->n_errors; i++)
    (void)transform_apply(ops, img, from->errors[i], &to->errors[i], NULL);
  for (unsigned i = 0; i < from->n_successes; i++)
    (void)transform_apply(ops, img, from->successes[i], &to->successes[i], NULL);
  if (from->count) (void)transform_apply(ops, img, from->count, &to->count, NULL);
}

/* --- comparisons -------------------------------------------------------------------------------------------------- */

static bool is_equality(const struct flow_event *e) {
  bool difference = e->op == OP_CMP || e->op == OP_SUB || e->op == OP_XOR;
  return difference && (e->cc == CC_E || e->cc == CC_NE);
}

static uint64_t all_errors(const struct import *m) { return m->n_errors >= 64 ? ~0ull : (1ull << m->n_errors) - 1; }

/* Is the error told from the sample's successes, and from MORE if that is not 0? */
static bool tells(const struct program *p, const struct sample *s, const struct flow_event *e, uint64_t error,
                  uint64_t more, uint64_t variable) {
  bool holds = flow_event_holds(e, p->image, error, variable), every = true, one = false;
  for (unsigned i = 0; i < s->n_successes; i++) {
    bool differs = flow_event_holds(e, p->image, s->successes[i], variable) != holds;
    every &= differs;
    one |= differs;
  }
  if (more && flow_event_holds(e, p->image, more, variable) != holds) one = true;
  return s->all ? every : one;
}

/*
 * A success that the comparison suggests: who compares a count with 16 expects 16. Where it is known how much was asked
 * for, an order is about that. Compilers write "x < 8" as "x <= 7" as they like, so both must suggest the same: without
 * a sign, where an error is the largest number, what is below the bound.
 */
uint64_t judge_suggested(const struct sample *s, const struct flow_event *e) {
  const struct import *m = s->import;
  bool positive = !e->variable && (int64_t)e->imm > 0 && e->imm < 1u << 30, equality = is_equality(e);
  if (!positive || e->op == OP_TEST || e->op == OP_AND) return 0;
  if (m->success == SUCCESS_LENGTH) return equality ? e->imm : 0;
  if (m->success != SUCCESS_COUNT) return 0;
  if (s->count && !equality) return s->count;
  return (e->cc & ~1) == CC_B ? e->imm - 1 : e->imm;
}

/* What stands for a variable that the value is compared with; false if any comparison with one is a check. */
static bool variable_for(const struct import *m, const struct flow_event *e, uint64_t *ret) {
  switch (m->success) {
  case SUCCESS_LENGTH:
    *ret = A_BUFFER;
    return !is_equality(e);
  case SUCCESS_NUMBER:
  case SUCCESS_CHARACTER:
    *ret = 2 * ANOTHER_NUMBER;
    return !is_equality(e);
  case SUCCESS_POINTER:
    *ret = AN_ADDRESS + A_BUFFER;
    return !is_equality(e);
  default:
    return false;
  }
}

uint64_t judge_compare(const struct program *p, const struct sample *s, const struct flow_event *e) {
  uint64_t told = 0, variable = 0, more = judge_suggested(s, e);
  if (e->mixed) return 0;
  if (e->variable && !variable_for(s->import, e, &variable)) return all_errors(s->import);
  for (unsigned i = 0; i < s->import->n_errors; i++)
    if (tells(p, s, e, s->errors[i], more, variable)) told |= 1ull << i;
  return told;
}

/*
 * A chain that takes the sign of the value is a comparison with 0: compilers write "x < 0 ? a : b" so. Which errors it
 * tells from success.
 */
static uint64_t judge_sign(const struct program *p, const struct sample *s, const struct flow_event *e) {
  bool sign = false;
  for (const struct transform *t = e->ops; t; t = t->next)
    sign |= (t->kind == XF_SHR || t->kind == XF_SAR) && (t->imm == 31 || t->imm == 63);
  uint64_t told = 0;
  for (unsigned i = 0; sign && i < s->import->n_errors; i++) {
    uint64_t x = 0, y = 0;
    if (!transform_apply(e->ops, p->image, s->errors[i], &x, NULL)) continue;
    if (!transform_apply(e->ops, p->image, s->successes[0], &y, NULL)) continue;
    if (x != y) told |= 1ull << i;
  }
  return told;
}

/* --- events ------------------------------------------------------------------------------------------------------- */

bool judge_crashes(const struct import *m, const struct flow_event *e) {
  bool whole = true, null = false;
  for (const struct transform *t = e->ops; t; t = t->next)
    whole &= t->kind == XF_ADD;
  for (unsigned i = 0; i < m->n_errors; i++)
    null |= m->errors[i] == 0;
  bool address = m->success == SUCCESS_UNKNOWN || m->success == SUCCESS_POINTER;
  return !e->indexed && whole && address && (null || m->pointer);
}

struct judging {
  struct program *p;
  unsigned budget;
};

/* A list of events and where it stands. */
struct list {
  const struct flow_event *events;
  uint32_t n;
  uint64_t entry;
  unsigned depth;
  const struct found *site; /* at depth 0 */
};

static void judge_list(struct judging *j, const struct list *l, const struct sample *s, struct judgement *out);

static void at_errno(const struct flow_event *e, struct judgement *out) {
  bool equality = e->kind == EVENT_COMPARE && is_equality(e) && !e->variable;
  if (e->kind != EVENT_COMPARE && e->kind != EVENT_SWITCH) return;
  if (equality && e->imm > 0 && e->imm <= ERRNO_MAX)
    errno_set_add(&out->errno_values, (int)e->imm);
  else
    out->errno_tested = true;
}

/*
 * Is the value compared with a code that is not among the known errors of a function that returns such codes, and of
 * which not all are known?
 */
static bool other_code(const struct sample *s, const struct flow_event *e) {
  const struct import *m = s->import;
  if (!is_equality(e) || e->variable || !e->imm || e->imm > ERRNO_MAX || !m->profile || !m->profile->unknown)
    return false;
  return m->success == SUCCESS_UNKNOWN && m->n_errors && m->errors[0] > 0;
}

static void at_compare(struct judging *j, const struct list *l, const struct sample *s, uint32_t event,
                       struct judgement *out) {
  uint64_t told = judge_compare(j->p, s, &l->events[event]);
  if (!told) out->seen |= SEEN_COMPARED;
  if (!told && other_code(s, &l->events[event])) out->other_codes = true;
  /* At the site itself, what is handled by errno only is no check. */
  out->noticed |= l->depth ? told : told & ~l->site->guarded;
}

static void add_seen(struct judgement *to, const struct judgement *from) {
  to->seen |= from->seen;
  to->missing |= from->missing;
  to->cut |= from->cut;
  to->errno_tested |= from->errno_tested;
  for (unsigned i = 0; i < COUNT(to->errno_values.bits); i++)
    to->errno_values.bits[i] |= from->errno_values.bits[i];
  if (from->goes_to && (!to->goes_to || (from->crashes_there && !to->crashes_there))) {
    to->goes_to = from->goes_to;
    to->crashes_there = from->crashes_there;
  }
}

/* Is it the value itself that the function gets, not one that was made of it? */
static bool is_itself(const struct flow_event *e) {
  for (const struct transform *t = e->ops; t; t = t->next)
    if (t->kind != XF_SIGN && t->kind != XF_ZERO) return false;
  return !e->mixed;
}

static const char *inner_name(const struct program *p, const struct flow_event *e) {
  const struct image_function *f = is_itself(e) ? image_function_at(p->image, e->target) : NULL;
  return f ? f->name : NULL;
}

/* Another function of the program gets it. */
static void at_inner_argument(struct judging *j, const struct list *l, const struct sample *s,
                              const struct flow_event *e, struct judgement *out) {
  out->seen |= SEEN_USED;
  if (!out->goes_to) out->goes_to = inner_name(j->p, e);
  if (l->depth >= DEPTH_MAX || e->mixed) return;
  const struct question *q = ask(j->p, e->target, 0, (struct flow_start){.kind = START_ARGUMENT, .arg = e->arg});
  if (!q || !q->answered) {
    out->missing = true;
    return;
  }
  out->cut |= q->lost || q->torn;
  struct sample inner;
  struct judgement there = {0};
  sample_step(&inner, s, e->ops, j->p->image);
  judge_list(j, &(struct list){q->events, q->n_events, e->target, l->depth + 1, NULL}, &inner, &there);
  out->noticed |= there.noticed;
  if (there.seen & SEEN_DEREFERENCED) {
    out->goes_to = inner_name(j->p, e);
    out->crashes_there = true;
  }
  there.seen &= ~(unsigned)SEEN_RETURNED;
  there.goes_to = NULL;
  there.errno_tested = false;
  there.errno_values = (struct errno_set){0};
  add_seen(out, &there);
}

/* A function of a library gets it: what does it do with an error? */
static void at_argument(struct judging *j, const struct list *l, const struct sample *s, const struct flow_event *e,
                        struct judgement *out) {
  const struct import *to = e->call_kind == CALL_SLOT ? program_import(j->p, e->target) : NULL;
  if (e->call_kind == CALL_ADDRESS) {
    at_inner_argument(j, l, s, e, out);
    return;
  }
  int arg = to ? relevance_argument(j->p->relevance, to->name, e->arg) : -1;
  if (arg < 0 && to) return;                                       /* only the fortified form looks at it */
  if (to && profile_facts_noreturn(j->p->facts, to->name)) return; /* a left-over, or a last word */
  enum effect worst = EFFECT_UNKNOWN;
  for (unsigned i = 0; to && i < s->import->n_errors && !e->mixed; i++) {
    uint64_t v = s->errors[i];
    (void)transform_apply(e->ops, j->p->image, v, &v, NULL);
    if (v != 0 && (int32_t)v != -1) continue;
    enum effect effect = relevance_effect(j->p->relevance, to->written, (unsigned)arg, v == 0);
    if (effect > worst) worst = effect;
  }
  if (worst == EFFECT_OK) {
    out->seen |= SEEN_TOLERATED;
    return;
  }
  bool crash = worst == EFFECT_CRASH;
  out->seen |= crash ? SEEN_DEREFERENCED : SEEN_USED;
  if (to && is_itself(e) && (!out->goes_to || (crash && !out->crashes_there))) {
    out->goes_to = to->written;
    out->crashes_there = crash;
  }
}

/* The callers decide. */
static void at_return(struct judging *j, const struct list *l, const struct sample *s, const struct flow_event *e,
                      struct judgement *out) {
  const struct inner_call *c;
  size_t n = functions_callers(j->p, l->entry, &c);
  struct sample outer;
  uint64_t every = ~0ull, any = 0;
  unsigned asked = 0;
  bool part = false, ignored = false;
  struct judgement all = {0};
  if (functions_no_result(j->p, l->entry)) return; /* what is left in the register is nobody's */
  sample_step(&outer, s, e->ops, j->p->image);
  for (size_t i = 0; i < n && l->depth < DEPTH_MAX; i++) {
    if (i == CALLERS_MAX) {
      part = true;
      break;
    }
    const struct question *q = ask(j->p, c[i].entry, c[i].at, (struct flow_start){.kind = START_RESULT});
    if (!q || !q->answered) {
      out->missing = true;
      continue;
    }
    if (q->lost) {
      part = true;
      continue;
    }
    struct judgement there = {.cut = q->torn};
    judge_list(j, &(struct list){q->events, q->n_events, c[i].entry, l->depth + 1, NULL}, &outer, &there);
    add_seen(&all, &there);
    any |= there.noticed;
    if (!there.noticed && there.seen & SEEN_RETURNED) { /* it hands the value on to where nobody sees it */
      out->seen |= SEEN_RETURNED;
      continue;
    }
    if (!there.noticed && there.cut) { /* nobody knows what it does */
      part = true;
      continue;
    }
    every &= there.noticed;
    ignored |= !there.noticed && !there.seen;
    asked++;
    if (there.noticed) continue;
    out->bad_callers++;
    if (!out->bad_caller) out->bad_caller = c[i].at;
  }
  out->callers += asked;
  bool unseen = functions_visible(j->p, l->entry) || !asked;
  if ((unseen && !any) || part) out->seen |= SEEN_RETURNED;
  /* Perhaps it returns nothing, and what callers use is what the last call has left behind. */
  if (unseen && !any && ignored) all.seen &= ~(unsigned)(SEEN_USED | SEEN_STORED | SEEN_COMPARED | SEEN_TOLERATED);
  add_seen(out, &all);
  out->cut |= part;
  if (!asked) return;
  if (any & ~every) out->seen |= SEEN_MIXED_CALLERS; /* one that does not check is one too many, whoever else calls */
  if (!part) out->noticed |= every;
}

/* It is judged at another place; true if the answer is there. */
static bool judge_there(struct judging *j, const struct list *l, const struct sample *s, const struct flow_event *e,
                        const struct question *q, struct judgement *out) {
  struct sample there;
  if (!q || !q->answered) {
    out->missing = true;
    return false;
  }
  struct judgement found = {.cut = q->lost || q->torn};
  sample_step(&there, s, e->ops, j->p->image);
  judge_list(j, &(struct list){q->events, q->n_events, q->entry, l->depth + 1, NULL}, &there, &found);
  out->noticed |= found.noticed;
  out->missing |= found.missing;
  out->cut |= found.cut;
  out->seen |= found.seen & (SEEN_USED | SEEN_DEREFERENCED);
  return true;
}

/* It is stored where other functions find it: who reads the variable, or called with a pointer to it, may check. */
static void at_store(struct judging *j, const struct list *l, const struct sample *s, const struct flow_event *e,
                     struct judgement *out) {
  const struct reader *r;
  const struct inner_call *c;
  out->seen |= SEEN_STORED;
  if (e->place == STORE_ELSEWHERE) out->seen |= SEEN_ELSEWHERE;
  if (l->depth >= DEPTH_MAX || e->mixed) return;
  if (e->place == STORE_GLOBAL) {
    size_t n = functions_readers(j->p, e->imm, &r);
    struct flow_start start = {.kind = START_GLOBAL, .size = e->width, .offset = (int64_t)e->imm};
    out->cut |= n > CALLERS_MAX;
    for (size_t i = 0; i < n && i < CALLERS_MAX; i++)
      (void)judge_there(j, l, s, e, ask(j->p, r[i].entry, r[i].at, start), out);
  }
  if (e->place == STORE_BEHIND_ARGUMENT) {
    size_t n = functions_callers(j->p, l->entry, &c);
    struct flow_start start = {.kind = START_BEHIND, .arg = e->arg, .size = e->width, .offset = (int64_t)e->imm};
    out->cut |= n > CALLERS_MAX;
    for (size_t i = 0; i < n && i < CALLERS_MAX; i++)
      (void)judge_there(j, l, s, e, ask(j->p, c[i].entry, c[i].at, start), out);
  }
}

/* errno itself is returned, as a code: the callers tell it from 0. */
static void at_errno_return(struct judging *j, const struct list *l, const struct sample *s, const struct flow_event *e,
                            struct judgement *out) {
  struct sample codes = *s;
  struct judgement there = {0};
  for (unsigned i = 0; i < s->import->n_errors; i++)
    codes.errors[i] = 1;
  set_successes(&codes, 0, 0, 1, false);
  at_return(j, l, &codes, e, &there);
  out->missing |= there.missing;
  out->cut |= there.cut;
  if (there.noticed || there.seen & SEEN_RETURNED) out->errno_tested = true;
}

static void judge_event(struct judging *j, const struct list *l, const struct sample *s, uint32_t event,
                        struct judgement *out) {
  const struct flow_event *e = &l->events[event];
  if (e->subject == SUBJECT_ERRNO) {
    if (e->kind == EVENT_RETURN)
      at_errno_return(j, l, s, e, out);
    else
      at_errno(e, out);
    return;
  }
  if (e->kind != EVENT_COMPARE && e->kind != EVENT_DEREFERENCE && !e->mixed) {
    uint64_t told = judge_sign(j->p, s, e);
    out->noticed |= told;
    if (told) return;
  }
  switch (e->kind) {
  case EVENT_COMPARE:
    at_compare(j, l, s, event, out);
    break;
  case EVENT_SWITCH:
    out->noticed |= all_errors(s->import);
    break;
  case EVENT_ARGUMENT:
    at_argument(j, l, s, e, out);
    break;
  case EVENT_DEREFERENCE:
    out->seen |= judge_crashes(s->import, e) ? SEEN_DEREFERENCED : SEEN_USED;
    break;
  case EVENT_RETURN:
    if (!e->mixed) at_return(j, l, s, e, out);
    break;
  case EVENT_STORE:
    at_store(j, l, s, e, out);
    break;
  default:
    out->seen |= e->lost ? SEEN_USED | SEEN_LOST : SEEN_USED;
  }
}

static bool asks_elsewhere(const struct flow_event *e) {
  return e->kind == EVENT_ARGUMENT || e->kind == EVENT_RETURN || e->kind == EVENT_STORE;
}

/* What is seen here first: if that tells all errors, nobody else has to be asked. */
static void judge_list(struct judging *j, const struct list *l, const struct sample *s, struct judgement *out) {
  if (j->budget == 0) {
    out->cut = true;
    return;
  }
  j->budget--;
  for (uint32_t i = 0; i < l->n; i++)
    if (!asks_elsewhere(&l->events[i])) judge_event(j, l, s, i, out);
  if (out->noticed == all_errors(s->import)) return;
  for (uint32_t i = 0; i < l->n; i++)
    if (asks_elsewhere(&l->events[i])) judge_event(j, l, s, i, out);
}

int judge(struct program *p, const struct found *f, struct judgement *ret) {
  struct judging j = {.p = p, .budget = BUDGET};
  struct sample s;
  *ret = (struct judgement){.cut = f->torn};
  sample_start(&s, &p->imports.at[f->import], &f->call);
  judge_list(&j, &(struct list){f->events, f->n_events, f->entry, 0, f}, &s, ret);
  if (ret->cut) ret->seen |= SEEN_LOST;
  return p->error;
}
