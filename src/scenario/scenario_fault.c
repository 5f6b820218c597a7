/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults: from what a person wrote, "EIO", to what the function leaves behind when it fails so: the return value, errno
 * or not, a stream's error flag, variables.
 *
 * The return value is the whole register. Values of type int are sign-extended: callers read 32 or 64 bits of it, and
 * both see -1.
 */
#include "scenario/plan.h"

#include <errno.h>
#include <string.h>

#define TOLD_MAX 8

/* The errors of a function, and how it tells them. */
struct errors {
  VEC(struct profile_error) list;
  bool incomplete; /* there are errnos, or values, that the profile does not know */
  bool numbers;    /* it returns the error number itself, and leaves errno alone */
  bool negative;   /* it returns the error number with a minus sign */
  bool looked;     /* it is known which value says to look at errno: */
  int64_t look;    /* that one; else -1, which does nearly everywhere */
};

/* --- what is known of a function ---------------------------------------------------------------------------------- */

static bool only_errno(const struct profile_error *x, int e) {
  struct errno_set just = {0};
  errno_set_add(&just, e);
  return memcmp(&just, &x->errnos, sizeof just) == 0;
}

/*
 * Without a fact, a function returns error numbers if all of its values are such, none contradicts the errno that is
 * set beside it, and one proves it: errno is set to the very value that is returned.
 */
static bool returns_numbers(const struct errors *es) {
  bool proved = false;
  for (size_t i = 0; i < es->list.n; i++) {
    const struct profile_error *x = &es->list.at[i];
    if (x->retval < 1 || x->retval > ERRNO_MAX || !errno_name((int)x->retval)) return false;
    if (!errno_set_empty(&x->errnos) && !errno_set_has(&x->errnos, (int)x->retval)) return false;
    proved |= only_errno(x, (int)x->retval);
  }
  return proved;
}

/*
 * Many libraries have small negative codes of their own. A function returns negated error numbers if all of its
 * negative values could be, no errno is set, and one of the two that hardly any such function lacks is among them.
 */
static bool returns_negative(const struct errors *es) {
  bool proved = false;
  for (size_t i = 0; i < es->list.n; i++) {
    const struct profile_error *x = &es->list.at[i];
    if (!errno_set_empty(&x->errnos)) return false;
    if (x->retval >= 0) continue;
    if (x->retval < -ERRNO_MAX || !errno_name((int)-x->retval)) return false;
    proved |= x->retval == -ENOMEM || x->retval == -EINVAL;
  }
  return proved;
}

static int add_told(struct errors *es, const struct profile_facts *facts, const char *name) {
  int64_t values[TOLD_MAX];
  size_t n = profile_facts_errors(facts, name, values, TOLD_MAX);
  for (size_t i = 0; i < n; i++) {
    size_t k = 0;
    while (k < es->list.n && es->list.at[k].retval != values[i])
      k++;
    struct profile_error told = {.retval = values[i], .errno_unknown = true, .confidence = PROFILE_CERTAIN};
    if (k == es->list.n && vec_push(&es->list, told) < 0) return -ENOMEM;
  }
  return 0;
}

static int collect(struct plan *p, const struct subject *s, struct errors *es) {
  int r = 0;
  /* What is behind a stream cannot be followed. */
  es->incomplete = s->roles.stream >= 0 || s->roles.stream_name || s->roles.flushed >= 0;
  for (size_t i = 0; s->profile && i < s->profile->n_errors && r >= 0; i++)
    r = vec_push(&es->list, s->profile->errors[i]);
  if (s->profile && s->profile->unknown) es->incomplete = true;
  if (r >= 0) r = add_told(es, p->facts, s->name);
  if (r >= 0 && strcmp(s->name, s->written) != 0) r = add_told(es, p->facts, s->written);
  es->numbers =
      profile_facts_returned(p->facts, s->name) || profile_facts_returned(p->facts, s->written) || returns_numbers(es);
  es->negative = !es->numbers && returns_negative(es);
  es->look = -1;
  es->looked = profile_facts_by_errno(p->facts, s->written, &es->look);
  return r < 0 ? plan_no_memory(p) : 0;
}

static const struct profile_error *with_value(const struct errors *es, int64_t value) {
  for (size_t i = 0; i < es->list.n; i++)
    if (es->list.at[i].retval == value) return &es->list.at[i];
  return NULL;
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

static void list_errnos(const struct errors *es, struct text *t) {
  struct errno_set seen = {0};
  for (size_t i = 0; i < es->list.n; i++) {
    const struct profile_error *x = &es->list.at[i];
    int64_t n = es->numbers ? x->retval : es->negative ? -x->retval : 0;
    if (n >= 1 && n <= ERRNO_MAX) errno_set_add(&seen, (int)n);
    for (size_t w = 0; w < COUNT(seen.bits) && !es->numbers; w++)
      seen.bits[w] |= x->errnos.bits[w];
  }
  for (int e = 1; e <= ERRNO_MAX; e++)
    if (errno_set_has(&seen, e) && errno_name(e)) text_addf(t, "%s%s", t->n ? ", " : "", errno_name(e));
}

static void list_values(const struct errors *es, struct text *t) {
  for (size_t i = 0; i < es->list.n && i < 12; i++)
    text_addf(t, "%s%lld", i ? ", " : "", (long long)es->list.at[i].retval);
}

/* A value that such a function returns is used as if it had not failed. */
static int must_throw(struct plan *p, const struct rule *rule, const struct subject *s) {
  return FAIL_AT(rule->fault.at, p->e, -ENOENT, "%.60s throws std::bad_alloc when it fails (write throw)", s->written);
}

/* What to write instead, with the return value that is the likeliest. */
static int cannot(struct plan *p, const struct rule *rule, const struct subject *s, const struct errors *es) {
  struct text t = {0};
  if (s->roles.throws) return must_throw(p, rule, s);
  const char *name = errno_name(rule->fault.error);
  list_errnos(es, &t);
  bool errnos = t.n > 0;
  if (!errnos) list_values(es, &t);
  const char *has = t.failed || !t.n ? "" : t.at;
  int64_t value = es->list.n && !with_value(es, -1) ? es->list.at[0].retval : -1;
  /* The way out is what must not be cut off. */
  int room = 300;
  int r = FAIL_AT(rule->fault.at, p->e, -ENOENT, "%.60s is not known to fail with %s (write ret=%lld errno=%s)%s%.*s%s",
                  s->written, name, (long long)value, name,
                  !*has    ? "; its profile has no errors"
                  : errnos ? "; its profile has "
                           : "; its profile has no errnos, and returns ",
                  room, has, t.n > (size_t)room ? "…" : "");
  text_done(&t);
  return r;
}

/* Not a mistake, but worth knowing: the function may never do this. OPEN: or it is one that the profile misses. */
static void note_unknown(struct plan *p, const struct rule *rule, const struct subject *s, bool open) {
  struct err note;
  if (!p->world->note) return;
  (void)FAIL_AT(rule->fault.at, &note, -ENOENT, "the profile of %.60s does not have %s%s", s->written,
                errno_name(rule->fault.error), open ? ", but may not have all" : "");
  p->world->note(p->world->context, note.text);
}

/* --- choosing ----------------------------------------------------------------------------------------------------- */

static unsigned errno_count(const struct errno_set *s) {
  return (unsigned)(__builtin_popcountll(s->bits[0]) + __builtin_popcountll(s->bits[1]) +
                    __builtin_popcountll(s->bits[2]));
}

/*
 * Of several values with this errno: the one that says to look at errno, which is -1 of nearly all functions; else the
 * one that has the fewest others, for it is the one that means it.
 */
static const struct profile_error *with_errno(const struct errors *es, int error) {
  const struct profile_error *best = NULL;
  for (size_t i = 0; i < es->list.n; i++) {
    const struct profile_error *x = &es->list.at[i];
    if (!errno_set_has(&x->errnos, error)) continue;
    if (x->retval == es->look) return x;
    if (!best || errno_count(&x->errnos) < errno_count(&best->errnos)) best = x;
  }
  return best;
}

/*
 * For an errno that the profile does not have: the function's only error value, or, where not all errnos are known, the
 * usual one. NULL if there is none, or no single one.
 */
static const struct profile_error *for_any(const struct errors *es) {
  const struct profile_error *best = NULL;
  bool several = false;
  if (es->list.n == 1) return &es->list.at[0];
  for (size_t i = 0; i < es->list.n; i++) {
    const struct profile_error *x = &es->list.at[i];
    if (!es->incomplete && !x->errno_unknown) continue;
    several |= best != NULL;
    if (!best || x->retval == -1 || (x->retval == 0 && best->retval != -1)) best = x;
  }
  return !several || (best && (best->retval == -1 || best->retval == 0)) ? best : NULL;
}

/*
 * What the function returns when it fails with ERROR, and what errno is then. False if that is not known; *KNOWN if the
 * profile has this very error.
 */
static bool choose(const struct errors *es, int error, struct wire_fault *ret, const struct profile_error **ret_from,
                   bool *known) {
  const struct profile_error *x = NULL;
  if (es->looked) {
    *ret_from = with_value(es, es->look);
    *known = *ret_from && (errno_set_has(&(*ret_from)->errnos, error) || (*ret_from)->errno_unknown);
    ret->retval = es->look;
    ret->error = error;
    return true;
  }
  if (es->numbers || es->negative) {
    ret->retval = es->numbers ? error : -error;
    *ret_from = with_value(es, ret->retval);
    *known = *ret_from != NULL;
    return true;
  }
  x = with_errno(es, error);
  *known = x != NULL;
  if (!x) x = for_any(es);
  if (!x) return false;
  ret->retval = x->retval;
  ret->error = error;
  *ret_from = x;
  return true;
}

/* --- one fault ---------------------------------------------------------------------------------------------------- */

static int add_fault(struct plan *p, const struct rule *rule, const struct subject *s, struct wire_fault f,
                     const struct profile_error *from) {
  int r = plan_sides(p, rule, s, from, &f);
  return r >= 0 && vec_push(&p->faults, f) < 0 ? plan_no_memory(p) : r;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* One fault for each value and errno that the profile has. */
static int add_profile(struct plan *p, const struct rule *rule, const struct subject *s, const struct errors *es) {
  if (!es->list.n && s->roles.throws) return must_throw(p, rule, s);
  if (!es->list.n)
    return FAIL_AT(rule->fault.at, p->e, -ENOENT,
                   "the profile of %.60s has no errors to draw from (write ret=… errno=…)", s->written);
  for (size_t i = 0; i < es->list.n; i++) {
    const struct profile_error *x = &es->list.at[i];
    bool plain = es->numbers || es->negative || errno_set_empty(&x->errnos);
    int r = plain ? add_fault(p, rule, s, (struct wire_fault){.retval = x->retval}, x) : 0;
    for (int e = 1; e <= ERRNO_MAX && !plain && r >= 0; e++)
      if (errno_set_has(&x->errnos, e))
        r = add_fault(p, rule, s, (struct wire_fault){.retval = x->retval, .error = e}, x);
    if (r < 0) return r;
  }
  return 0;
}

static int add_errno(struct plan *p, const struct rule *rule, const struct subject *s, const struct errors *es) {
  struct wire_fault f = {.act = (uint8_t)rule->fault.act};
  const struct profile_error *from = NULL;
  bool infallible = profile_facts_infallible(p->facts, s->written), known;
  if (infallible || !choose(es, rule->fault.error, &f, &from, &known)) return cannot(p, rule, s, es);
  bool open = es->incomplete || (from && from->errno_unknown), listed = from && !errno_set_empty(&from->errnos);
  if (!known && (listed || !open)) note_unknown(p, rule, s, open);
  return add_fault(p, rule, s, f, from);
}

static int add_act(struct plan *p, const struct rule *rule, const struct subject *s) {
  struct wire_fault f;
  int r = plan_act(p, rule, s, &f);
  if (r >= 0) r = plan_act_sides(p, rule, s, &f);
  return r >= 0 && vec_push(&p->faults, f) < 0 ? plan_no_memory(p) : r;
}

static int add_explicit(struct plan *p, const struct rule *rule, const struct subject *s, const struct errors *es) {
  struct wire_fault f = {.retval = rule->fault.retval, .error = rule->fault.error};
  if (rule->fault.named) {
    int r = plan_constant(p, rule->fault.named, &f.retval);
    if (r < 0) return r;
    if (rule->fault.negated) f.retval = (int64_t) - (uint64_t)f.retval;
  }
  return add_fault(p, rule, s, f, with_value(es, f.retval));
}

int plan_faults(struct plan *p, const struct rule *rule, const struct subject *s, uint32_t *ret, uint32_t *ret_n) {
  const struct fault *fault = &rule->fault;
  struct errors es = {0};
  size_t first = p->faults.n;
  int r = collect(p, s, &es);
  if (r >= 0 && fault->form == FAULT_ERRNO) r = add_errno(p, rule, s, &es);
  if (r >= 0 && fault->form == FAULT_PROFILE) r = add_profile(p, rule, s, &es);
  if (r >= 0 && fault->form == FAULT_ACT) r = add_act(p, rule, s);
  if (r >= 0 && fault->form == FAULT_EXPLICIT) r = add_explicit(p, rule, s, &es);
  vec_done(&es.list);
  if (r < 0) return r;
  *ret = (uint32_t)first;
  *ret_n = (uint32_t)(p->faults.n - first);
  return 0;
}
