/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program makes of the errors of one call: LFI's algorithm 2, asked with values (site_compare.c), here and
 * wherever else in the program the value goes.
 */
#include "site/site_program.h"

#include <errno.h>

#define DEPTH_MAX 4     /* functions between the call and the check */
#define STEPS_MAX 16    /* the same, with those from which the value came back to who gave it */
#define CALLERS_MAX 512 /* of a function that are asked */
#define BUDGET 2000     /* lists of events that are looked at for one site */
#define GIVEN_MAX 64    /* functions that are asked for one site because they get a pointer to the value */
#define GIVEN_DEPTH_MAX 3

/* --- events ------------------------------------------------------------------------------------------------------- */

struct judging {
  struct program *p;
  unsigned budget;
  bool errno_cleared;
  bool codes;     /* the values are numbers of errors, and what errno is then does not matter */
  unsigned given; /* functions that may still be asked for what they do with what they get a pointer to */
};

/* A list of events and where it stands. */
struct list {
  const struct follow_event *events;
  uint32_t n;
  uint64_t entry;
  unsigned depth, steps;
  uint64_t guarded; /* errors that are handled by errno only, as bits */
  /* A function that gets the value in its call CALL from FROM returns it there; NULL if the callers are not known. */
  const struct list *from;
  uint64_t call;
  /* It was found behind a pointer to an object, later on: to compare it with a variable is no question of failure. */
  bool later;
};

static void judge_list(struct judging *j, const struct list *l, const struct sample *s, struct judgement *out);

static void at_errno(const struct follow_event *e, struct judgement *out) {
  bool equality = e->kind == EVENT_COMPARE && judge_equality(e) && !e->variable;
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
static bool other_code(const struct sample *s, const struct follow_event *e) {
  const struct import *m = s->import;
  if (!judge_equality(e) || e->variable || !e->imm || e->imm > ERRNO_MAX || !m->profile || !m->profile->unknown)
    return false;
  return m->success == SUCCESS_UNKNOWN && m->n_errors && m->errors[0] > 0;
}

static void at_compare(struct judging *j, const struct list *l, const struct sample *s, uint32_t event,
                       struct judgement *out) {
  bool other = l->later && l->events[event].variable;
  if (judge_mixed(j->p, s, &l->events[event])) { /* perhaps a check: who can tell? */
    out->seen |= l->events[event].sum ? SEEN_USED | SEEN_LOST : SEEN_COMPARED;
    return;
  }
  uint64_t told = other ? 0 : judge_compare(j->p, s, &l->events[event]);
  if (!told) out->seen |= SEEN_COMPARED;
  if (!told && other_code(s, &l->events[event])) out->other_codes = true;
  out->noticed |= told & ~l->guarded;
}

static void add_seen(struct judgement *to, const struct judgement *from) {
  to->seen |= from->seen;
  to->missing |= from->missing;
  to->cut |= from->cut;
  to->errno_tested |= from->errno_tested;
  to->guard.errors |= from->guard.errors;
  for (unsigned i = 0; i < COUNT(to->guard.handled.bits); i++)
    to->guard.handled.bits[i] |= from->guard.handled.bits[i];
  for (unsigned i = 0; i < COUNT(to->errno_values.bits); i++)
    to->errno_values.bits[i] |= from->errno_values.bits[i];
  if (from->goes_to && (!to->goes_to || (from->crashes_there && !to->crashes_there))) {
    to->goes_to = from->goes_to;
    to->crashes_there = from->crashes_there;
  }
}

bool judge_itself(const struct follow_event *e) {
  for (const struct transform *t = e->ops; t; t = t->next)
    if (t->kind != XF_SIGN && t->kind != XF_ZERO) return false;
  return !e->mixed;
}

static const char *inner_name(const struct program *p, const struct follow_event *e) {
  const struct image_function *f = judge_itself(e) ? image_function_at(p->image, e->target) : NULL;
  return f ? f->name : NULL;
}

/* Another function of the program gets it. */
static void at_inner_argument(struct judging *j, const struct list *l, const struct sample *s,
                              const struct follow_event *e, struct judgement *out) {
  out->seen |= SEEN_USED;
  if (!out->goes_to) out->goes_to = inner_name(j->p, e);
  if (l->depth >= DEPTH_MAX || l->steps >= STEPS_MAX || judge_mixed(j->p, s, e)) return;
  const struct question *q = ask(j->p, e->target, 0, (struct follow_start){.kind = START_ARGUMENT, .arg = e->arg});
  if (!q || !q->answered) {
    out->missing = true;
    return;
  }
  out->cut |= q->lost || q->torn;
  struct sample inner;
  struct judgement there = {0};
  sample_step(&inner, s, e->ops, j->p->image);
  struct list callee = {q->events, q->n_events, e->target, l->depth + 1, l->steps + 1, 0, l, e->at, l->later};
  callee.later |= l->guarded != 0; /* it was looked at here, and went on as a success */
  judge_list(j, &callee, &inner, &there);
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
static void at_argument(struct judging *j, const struct list *l, const struct sample *s, const struct follow_event *e,
                        struct judgement *out) {
  const struct import *to = e->call_kind == CALL_SLOT ? site_program_import(j->p, e->target) : NULL;
  if (e->call_kind == CALL_ADDRESS) {
    at_inner_argument(j, l, s, e, out);
    return;
  }
  int arg = to ? relevance_argument(j->p->relevance, to->name, e->arg) : -1;
  if (arg < 0 && to) return;                                       /* only the fortified form looks at it */
  if (to && arg >= to->arguments) return;                          /* what is left in a register is not given */
  if (to && profile_facts_noreturn(j->p->facts, to->name)) return; /* a left-over, or a last word */
  enum effect worst = EFFECT_UNKNOWN;
  for (unsigned i = 0; to && i < s->import->n_errors && !e->mixed; i++) {
    uint64_t v = s->errors[i];
    (void)flow_transform_apply(e->ops, j->p->image, v, &v, NULL);
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
  if (to && judge_itself(e) && (!out->goes_to || (crash && !out->crashes_there))) {
    out->goes_to = to->written;
    out->crashes_there = crash;
  }
}

/*
 * What a caller makes of it, by its value and by errno. THERE is the caller's list, but for the guard. False if an
 * answer is still to come.
 */
static bool judge_caller(struct judging *j, struct list *there, uint64_t at, const struct sample *s,
                         struct judgement *out) {
  if (!j->codes && guard_asks(there->events, there->n)) {
    const struct question *guard = ask_guard(j->p, there->entry, at, s);
    if (!guard || !guard->answered) return false;
    there->guarded = guard->guard.errors;
    out->guard = guard->guard;
  }
  judge_list(j, there, s, out);
  return true;
}

/* The list of a caller of L's function. */
static struct list list_of_caller(const struct list *l, const struct question *q) {
  return (struct list){q->events, q->n_events, q->entry, l->depth + 1, l->steps + 1, .later = l->later};
}

/* Back where L's function was called from. */
static struct list list_of_giver(const struct list *l, const struct question *q) {
  struct list list = {q->events, q->n_events, q->entry, l->from->depth, l->steps + 1, 0};
  list.from = l->from->from;
  list.call = l->from->call;
  list.later = l->later;
  return list;
}

/*
 * Calls through pointers that may be calls of the function, or of libraries that return what it does: the errors that
 * each of them notices, as bits; 0 if there are none, or nobody knows what one of them does.
 */
static uint64_t ask_pointer_callers(struct judging *j, const struct list *l, const struct sample *s,
                                    struct judgement *out) {
  const struct inner_call *c;
  size_t n = l->depth < DEPTH_MAX ? functions_handed(j->p, l->entry, &c) : 0;
  if (!n && l->depth < DEPTH_MAX) n = functions_pointer_callers(j->p, l->entry, &c);
  bool waiting = false;
  uint64_t every = n && n <= CALLERS_MAX ? ~0ull : 0;
  for (size_t i = 0; i < n && every; i++) { /* all are asked at once: there are few rounds */
    const struct question *q = ask(j->p, c[i].entry, c[i].at, (struct follow_start){.kind = START_RESULT});
    struct judgement there = {0};
    bool open = !q || !q->answered;
    struct list caller = open ? (struct list){0} : list_of_caller(l, q);
    if (!open && !q->lost) open = !judge_caller(j, &caller, c[i].at, s, &there);
    out->missing |= open || there.missing;
    if (open || (there.missing && !there.noticed))
      waiting = true;
    else
      every &= there.noticed;
  }
  return waiting ? 0 : every;
}

/* The function was given the value by a call: that call gets it back. */
static void at_return_to_giver(struct judging *j, const struct list *l, const struct sample *s,
                               const struct follow_event *e, struct judgement *out) {
  struct sample outer;
  if (l->steps >= STEPS_MAX) {
    out->cut = true;
    return;
  }
  const struct question *q = ask(j->p, l->from->entry, l->call, (struct follow_start){.kind = START_RESULT});
  if (!q || !q->answered) {
    out->missing = true;
    return;
  }
  struct judgement there = {.cut = q->torn || q->lost};
  struct list giver = list_of_giver(l, q);
  sample_step(&outer, s, e->ops, j->p->image);
  if (!q->lost && !judge_caller(j, &giver, l->call, &outer, &there)) {
    out->missing = true;
    return;
  }
  out->noticed |= there.noticed;
  add_seen(out, &there);
}

/* Is it the first return of the list? Of several, all go to the same callers. */
static bool is_first_return(const struct list *l, const struct follow_event *e) {
  for (const struct follow_event *f = l->events; f < e; f++)
    if (f->kind == EVENT_RETURN && f->subject == e->subject && !f->mixed) return false;
  return true;
}

/* The callers decide. */
static void at_return(struct judging *j, const struct list *l, const struct sample *s, const struct follow_event *e,
                      struct judgement *out) {
  const struct inner_call *c;
  size_t n = functions_callers(j->p, l->entry, &c);
  struct sample outer;
  uint64_t every = ~0ull, any = 0;
  unsigned asked = 0, bad = 0;
  bool part = false, ignored = false;
  struct judgement all = {0};
  if (functions_no_result(j->p, l->entry)) return; /* what is left in the register is nobody's */
  if (l->from) {
    at_return_to_giver(j, l, s, e, out);
    return;
  }
  sample_step(&outer, s, e->ops, j->p->image);
  for (size_t i = 0; i < n && l->depth < DEPTH_MAX; i++) {
    if (i == CALLERS_MAX) {
      part = true;
      break;
    }
    const struct question *q = ask(j->p, c[i].entry, c[i].at, (struct follow_start){.kind = START_RESULT});
    if (!q || !q->answered) {
      out->missing = true;
      continue;
    }
    if (q->lost) {
      part = true;
      continue;
    }
    struct judgement there = {.cut = q->torn};
    struct list caller = list_of_caller(l, q);
    if (!judge_caller(j, &caller, c[i].at, &outer, &there)) {
      out->missing = true;
      continue;
    }
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
    bad += !there.noticed;
  }
  if (is_first_return(l, e)) {
    out->callers += asked;
    out->bad_callers += bad;
  }
  bool unseen = functions_visible(j->p, l->entry) || !asked;
  uint64_t pointers = unseen && !out->missing ? ask_pointer_callers(j, l, &outer, out) : 0;
  if (pointers) {
    every &= pointers;
    any |= pointers;
    unseen = false;
    asked++;
  }
  if ((unseen && !any) || part) out->seen |= SEEN_RETURNED;
  /* Perhaps it returns nothing, and what callers use is what the last call has left behind. */
  if (unseen && !any && ignored) all.seen &= ~(unsigned)(SEEN_USED | SEEN_STORED | SEEN_COMPARED | SEEN_TOLERATED);
  add_seen(out, &all);
  out->cut |= part;
  if (!asked) return;
  if (any & ~every) out->seen |= SEEN_MIXED_CALLERS; /* one that does not check is one too many, whoever else calls */
  if (!part) out->noticed |= every;
}

/* It is left in the register that a structure's second half is returned in: a caller that asks for it there got one. */
static void at_return_second(struct judging *j, const struct list *l, const struct sample *s,
                             const struct follow_event *e, struct judgement *out) {
  const struct inner_call *c;
  struct follow_start start = {.kind = START_RESULT, .arg = RETURN_SECOND};
  struct sample outer;
  size_t n = functions_callers(j->p, l->entry, &c);
  uint64_t every = n ? ~0ull : 0;
  if (l->from || l->depth >= DEPTH_MAX || n > CALLERS_MAX) return;
  sample_step(&outer, s, e->ops, j->p->image);
  for (size_t i = 0; i < n && every; i++) {
    const struct question *q = ask(j->p, c[i].entry, c[i].at, start);
    struct judgement there = {0};
    out->missing |= !q || !q->answered;
    if (!q || !q->answered) continue;
    struct list caller = list_of_caller(l, q);
    judge_list(j, &caller, &outer, &there);
    out->missing |= there.missing;
    out->seen |= there.seen & (SEEN_USED | SEEN_DEREFERENCED);
    every &= there.noticed;
  }
  if (!out->missing) out->noticed |= every;
}

/* Another place: anywhere; in a function that the event calls; back where this function was called from. */
enum given { GIVEN_NOT, GIVEN_DOWN, GIVEN_BACK };

/* It is judged at another place. */
static void judge_there(struct judging *j, const struct list *l, const struct sample *s, const struct follow_event *e,
                        const struct question *q, enum given given, struct judgement *out) {
  struct sample there;
  if (!q || !q->answered) {
    out->missing = true;
    return;
  }
  struct judgement found = {.cut = q->lost || q->torn};
  sample_step(&there, s, e->ops, j->p->image);
  struct list list = list_of_caller(l, q);
  if (given == GIVEN_DOWN) {
    list.from = l;
    list.call = e->at;
    list.later = true;
  } else if (given == GIVEN_BACK)
    list = list_of_giver(l, q);
  judge_list(j, &list, &there, &found);
  out->noticed |= found.noticed;
  out->missing |= found.missing;
  out->cut |= found.cut;
  out->seen |= found.seen & (SEEN_USED | SEEN_DEREFERENCED);
}

/* A function of the program gets a pointer to where the value is: it may check. */
static void at_given(struct judging *j, const struct list *l, const struct sample *s, const struct follow_event *e,
                     struct judgement *out) {
  struct follow_start start = {START_GIVEN, e->arg, e->width, e->element, .offset = (int64_t)e->imm};
  if (l->depth >= GIVEN_DEPTH_MAX || l->steps >= STEPS_MAX || judge_mixed(j->p, s, e) || !j->given) return;
  j->given--;
  judge_there(j, l, s, e, ask(j->p, e->target, 0, start), GIVEN_DOWN, out);
}

/* The event of L behind LAST that gives a pointer away first, or NULL. */
static const struct follow_event *next_given(const struct list *l, const struct follow_event *last) {
  const struct follow_event *next = NULL;
  for (uint32_t i = 0; i < l->n; i++) {
    const struct follow_event *e = &l->events[i];
    bool behind = !last || e->at > last->at || (e->at == last->at && e > last);
    if (e->kind == EVENT_GIVEN && behind && (!next || e->at < next->at)) next = e;
  }
  return next;
}

/* In the order of the code: if one would crash, whatever the others ask comes too late. */
static void judge_given(struct judging *j, const struct list *l, const struct sample *s, struct judgement *out) {
  for (const struct follow_event *e = next_given(l, NULL); e; e = next_given(l, e)) {
    struct judgement there = {0};
    at_given(j, l, s, e, &there);
    out->missing |= there.missing;
    out->cut |= there.cut;
    out->noticed |= there.noticed;
    if (out->noticed == judge_every(s->import) || there.seen & SEEN_DEREFERENCED) return;
  }
}

/* A thread stores it behind what it was started with: who has started it finds it there. */
static void at_thread_store(struct judging *j, const struct list *l, const struct sample *s,
                            const struct follow_event *e, struct judgement *out) {
  const struct started *c;
  size_t n = e->place == STORE_BEHIND_ARGUMENT && e->arg == 0 ? functions_starters(j->p, l->entry, &c) : 0;
  out->cut |= n > CALLERS_MAX;
  for (size_t i = 0; i < n && i < CALLERS_MAX; i++) {
    struct follow_start start = {START_BEHIND, c[i].arg, e->width, e->element, .offset = (int64_t)e->imm};
    judge_there(j, l, s, e, ask(j->p, c[i].entry, c[i].at, start), GIVEN_NOT, out);
  }
}

/* It is stored where other functions find it: who reads the variable, or called with a pointer to it, may check. */
static void at_store(struct judging *j, const struct list *l, const struct sample *s, const struct follow_event *e,
                     struct judgement *out) {
  const struct reader *r;
  const struct inner_call *c;
  out->seen |= SEEN_STORED;
  if (e->place == STORE_ELSEWHERE) out->seen |= SEEN_ELSEWHERE;
  if (l->depth >= DEPTH_MAX || judge_mixed(j->p, s, e)) return;
  if (e->place == STORE_GLOBAL) {
    size_t n = functions_readers(j->p, e->imm, &r);
    struct follow_start start = {.kind = START_GLOBAL, .size = e->width, .offset = (int64_t)e->imm};
    out->cut |= n > CALLERS_MAX || functions_maybe_element(j->p, e->imm, e->width);
    for (size_t i = 0; i < n && i < CALLERS_MAX; i++) {
      if (e->behind && r[i].entry == l->entry) continue; /* it was followed there, from the call on */
      judge_there(j, l, s, e, ask(j->p, r[i].entry, r[i].at, start), GIVEN_NOT, out);
    }
  }
  if (e->place == STORE_BEHIND_ARGUMENT || e->place == STORE_BEHIND_RESULT) {
    size_t n = functions_callers(j->p, l->entry, &c);
    struct follow_start start = {START_BEHIND, e->arg, e->width, e->element, .offset = (int64_t)e->imm};
    if (e->place == STORE_BEHIND_RESULT) start.kind = START_MADE;
    if (l->from && l->steps < STEPS_MAX) {
      judge_there(j, l, s, e, ask(j->p, l->from->entry, l->call, start), GIVEN_BACK, out);
      return;
    }
    out->cut |= n > CALLERS_MAX;
    for (size_t i = 0; i < n && i < CALLERS_MAX; i++)
      judge_there(j, l, s, e, ask(j->p, c[i].entry, c[i].at, start), GIVEN_NOT, out);
    at_thread_store(j, l, s, e, out);
  }
}

/* errno itself is returned, as a code: the callers tell it from 0. */
static void at_errno_return(struct judging *j, const struct list *l, const struct sample *s,
                            const struct follow_event *e, struct judgement *out) {
  struct sample codes = *s;
  struct judgement there = {0};
  for (unsigned i = 0; i < s->import->n_errors; i++)
    codes.errors[i] = 1;
  codes.successes[0] = 0;
  codes.n_successes = 1;
  codes.all = false;
  at_return(j, l, &codes, e, &there);
  out->missing |= there.missing;
  out->cut |= there.cut;
  if (there.noticed || there.seen & SEEN_RETURNED) out->errno_tested = true;
}

/* Numbers that errno may be with the errors of M, at most MAX. */
static unsigned possible_errnos(const struct import *m, uint64_t *ret, unsigned max) {
  unsigned n = 0;
  for (int i = 1; i <= ERRNO_MAX && n < max; i++) {
    bool possible = false;
    for (unsigned k = 0; k < m->n_errors; k++)
      possible |= errno_set_has(&m->details[k]->errnos, i);
    if (possible) ret[n++] = (uint64_t)i;
  }
  return n;
}

/*
 * The function returns errno as a code of its own, which is all that it does about a failure: if its callers ask for
 * some of the codes only, the others are taken for success. Where they ask for none nothing changes: that they do not
 * look at the code is their mistake, not that of this call.
 */
static void judge_codes(struct judging *j, const struct found *f, const struct sample *s, struct judgement *out) {
  struct import codes = *s->import;
  struct sample sample = {.import = &codes, .n_successes = 1};
  codes.profile = NULL;
  codes.success = SUCCESS_ZERO;
  codes.n_errors = possible_errnos(s->import, sample.errors, ERRORS_MAX - 1);
  struct list here = {f->events, f->n_events, f->entry, 0, 0};
  j->codes = true;
  for (uint32_t i = 0; i < f->n_events && codes.n_errors; i++) {
    const struct follow_event *e = &f->events[i];
    struct judgement there = {0};
    if (e->subject != SUBJECT_ERRNO || e->kind != EVENT_RETURN) continue;
    at_return(j, &here, &sample, e, &there);
    out->missing |= there.missing;
    bool unclear = there.missing || there.cut || !there.callers || there.seen & SEEN_RETURNED;
    if (unclear || !there.noticed || there.noticed == judge_every(&codes)) continue;
    out->noticed &= ~f->codes;
    out->guard.errors |= f->codes;
    for (unsigned k = 0; k < codes.n_errors; k++)
      if (there.noticed >> k & 1) errno_set_add(&out->guard.handled, (int)sample.errors[k]);
  }
  j->codes = false;
}

/* A function that is called finds errno as it was left: does it ask? */
static void at_errno_left(struct judging *j, const struct list *l, const struct follow_event *e,
                          struct judgement *out) {
  if (!j->errno_cleared || l->depth || l->steps) return;
  const struct question *q = ask(j->p, e->target, 0, (struct follow_start){.kind = START_ERRNO});
  out->missing |= !q || !q->answered;
  for (uint32_t i = 0; q && q->answered && i < q->n_events; i++)
    if (q->events[i].subject == SUBJECT_ERRNO) at_errno(&q->events[i], out);
}

static void judge_any(struct judging *j, const struct list *l, const struct sample *s, uint32_t event,
                      struct judgement *out) {
  const struct follow_event *e = &l->events[event];
  if (e->subject == SUBJECT_ERRNO) {
    if (e->kind == EVENT_RETURN)
      at_errno_return(j, l, s, e, out);
    else if (e->kind == EVENT_LEFT)
      at_errno_left(j, l, e, out);
    else
      at_errno(e, out);
    return;
  }
  bool left_over = e->kind == EVENT_RETURN && e->arg == RETURN_SECOND;
  bool address = e->kind == EVENT_DEREFERENCE && !e->indexed;
  bool asks = e->kind == EVENT_COMPARE && !e->variable; /* for something of its own */
  if (!asks && !address && !left_over && !judge_mixed(j->p, s, e)) {
    uint64_t told = judge_sign(j->p, s, e);
    out->noticed |= told;
    if (told) return;
  }
  switch (e->kind) {
  case EVENT_COMPARE:
    at_compare(j, l, s, event, out);
    break;
  case EVENT_SWITCH:
    out->noticed |= judge_every(s->import);
    break;
  case EVENT_ARGUMENT:
    at_argument(j, l, s, e, out);
    break;
  case EVENT_DEREFERENCE:
    out->seen |= judge_crashes(s->import, e) ? SEEN_DEREFERENCED : SEEN_USED;
    break;
  case EVENT_RETURN:
    if (e->arg == RETURN_SECOND)
      at_return_second(j, l, s, e, out);
    else if (!judge_mixed(j->p, s, e))
      at_return(j, l, s, e, out);
    break;
  case EVENT_STORE:
    at_store(j, l, s, e, out);
    break;
  default:
    out->seen |= e->lost ? SEEN_USED | SEEN_LOST : SEEN_USED;
  }
}

static bool asks_elsewhere(const struct follow_event *e) {
  return e->kind == EVENT_ARGUMENT || e->kind == EVENT_RETURN || e->kind == EVENT_STORE || e->kind == EVENT_LEFT;
}

/* Behind "rc == ENOSPC", what is done with the value is done with that error only. */
static void judge_event(struct judging *j, const struct list *l, const struct sample *s, uint32_t event,
                        struct judgement *out) {
  const struct follow_event *e = &l->events[event];
  if (!e->pinned) {
    judge_any(j, l, s, event, out);
    return;
  }
  uint64_t same = 0;
  for (unsigned i = 0; i < s->import->n_errors; i++)
    if ((int32_t)s->errors[i] == e->pinned) same |= 1ull << i;
  struct judgement one = {0};
  judge_any(j, l, s, event, &one);
  out->noticed |= one.noticed & same;
  out->other_codes |= one.other_codes;
  out->callers += one.callers;
  out->bad_callers += one.bad_callers;
  add_seen(out, &one);
}

/* What is seen here first: if that tells all errors, nobody else has to be asked. */
static void judge_list(struct judging *j, const struct list *l, const struct sample *s, struct judgement *out) {
  if (j->budget == 0) {
    out->cut = true;
    return;
  }
  j->budget--;
  for (uint32_t i = 0; i < l->n; i++)
    if (!asks_elsewhere(&l->events[i]) && l->events[i].kind != EVENT_GIVEN) judge_event(j, l, s, i, out);
  if (out->noticed == judge_every(s->import)) return;
  for (uint32_t i = 0; i < l->n; i++)
    if (asks_elsewhere(&l->events[i])) judge_event(j, l, s, i, out);
  if (out->noticed != judge_every(s->import)) judge_given(j, l, s, out);
}

int judge(struct program *p, const struct found *f, struct judgement *ret) {
  struct judging j = {.p = p, .budget = BUDGET, .given = GIVEN_MAX, .errno_cleared = f->errno_cleared};
  struct sample s;
  *ret = (struct judgement){.cut = f->torn};
  sample_start(&s, &p->imports.at[f->import], &f->call);
  judge_list(&j, &(struct list){f->events, f->n_events, f->entry, .guarded = f->guard.errors}, &s, ret);
  if (f->codes) judge_codes(&j, f, &s, ret);
  if (ret->cut) ret->seen |= SEEN_LOST;
  return p->error;
}
