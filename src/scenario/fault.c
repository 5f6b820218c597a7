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

#define STREAM_ERROR 0x20 /* _IO_ERR_SEEN in the first word of glibc's FILE */
#define TOLD_MAX 8

/* The errors of a function, and how it tells them. */
struct errors {
  VEC(struct profile_error) list;
  bool incomplete; /* there are errnos, or values, that the profile does not know */
  bool numbers;    /* it returns the error number itself, and leaves errno alone */
  bool negative;   /* it returns the error number with a minus sign */
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
  es->incomplete = s->roles.stream >= 0 || s->roles.stream_name; /* what is behind a stream cannot be followed */
  for (size_t i = 0; s->profile && i < s->profile->n_errors && r >= 0; i++)
    r = vec_push(&es->list, s->profile->errors[i]);
  if (s->profile && s->profile->unknown) es->incomplete = true;
  if (r >= 0) r = add_told(es, p->facts, s->name);
  if (r >= 0 && strcmp(s->name, s->written) != 0) r = add_told(es, p->facts, s->written);
  es->numbers =
      profile_facts_returned(p->facts, s->name) || profile_facts_returned(p->facts, s->written) || returns_numbers(es);
  es->negative = !es->numbers && returns_negative(es);
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
 * Of several values with this errno: -1, which says to look at errno; else the one that has the fewest others, for it
 * is the one that means it.
 */
static const struct profile_error *with_errno(const struct errors *es, int error) {
  const struct profile_error *best = NULL;
  for (size_t i = 0; i < es->list.n; i++) {
    const struct profile_error *x = &es->list.at[i];
    if (!errno_set_has(&x->errnos, error)) continue;
    if (x->retval == -1) return x;
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

/* --- side channels ------------------------------------------------------------------------------------------------ */

static int module_index(struct plan *p, const char *name, uint32_t *ret) {
  const struct scenario_world *w = p->world;
  for (size_t i = 0; name && i < w->n_modules; i++) {
    const char *path = w->module_names[i], *slash = strrchr(path, '/');
    if (strcmp(path, name) != 0 && strcmp(slash ? slash + 1 : path, name) != 0) continue;
    *ret = (uint32_t)i;
    return 0;
  }
  return -ENOENT;
}

/* What a rule says may be what the function leaves behind anyway, as in a scenario that was made from a log. */
static bool has_side(const struct plan *p, const struct wire_fault *f, const struct wire_side *side) {
  for (uint32_t i = 0; i < f->n_sides; i++)
    if (memcmp(&p->sides.at[f->side + i], side, sizeof *side) == 0) return true;
  return false;
}

static int push_side(struct plan *p, struct wire_fault *f, struct wire_side side, const char *name) {
  int r = plan_string(p, name, &side.name);
  if (r < 0 || has_side(p, f, &side)) return r;
  if (!f->n_sides) f->side = (uint32_t)p->sides.n;
  f->n_sides++;
  return vec_push(&p->sides, side) < 0 ? plan_no_memory(p) : 0;
}

/* A failed function of stdio leaves the error flag of its stream set. */
static int add_stream(struct plan *p, const struct subject *s, struct wire_fault *f) {
  if (s->roles.stream < 0 && !s->roles.stream_name) return 0;
  struct wire_side side = {
      .kind = WIRE_SIDE_STREAM,
      .width = 4,
      .argument = s->roles.stream < 0 ? 0 : (uint16_t)s->roles.stream,
      .value = STREAM_ERROR,
  };
  return push_side(p, f, side, s->roles.stream < 0 ? s->roles.stream_name : NULL);
}

/* What could not be written when the stream was flushed will not be written later either. */
static int add_emptied(struct plan *p, const struct subject *s, struct wire_fault *f) {
  if (s->roles.emptied < 0) return 0;
  struct wire_side side = {
      .kind = WIRE_SIDE_STREAM, .width = 4, .argument = (uint16_t)s->roles.emptied, .value = WIRE_STREAM_EMPTIED};
  return push_side(p, f, side, NULL);
}

/* Functions that return their result behind an argument leave NULL there. */
static int add_cleared(struct plan *p, const struct subject *s, struct wire_fault *f) {
  if (s->roles.cleared < 0) return 0;
  struct wire_side side = {.kind = WIRE_SIDE_ARG, .width = 8, .argument = (uint16_t)s->roles.cleared};
  return push_side(p, f, side, NULL);
}

static unsigned width_of(int64_t value) { return value >= INT32_MIN && value <= UINT32_MAX ? 4 : 8; }

/*
 * Variables that the library exports by name are part of how it tells of the error, if there is but one value. Others,
 * and what is behind arguments, may be half of a change inside the library that did not happen.
 */
static int add_exported(struct plan *p, const struct profile_error *x, struct wire_fault *f) {
  for (size_t i = 0; x && i < x->n_sides; i++) {
    const struct profile_side *side = &x->sides[i];
    struct wire_side to = {.kind = side->kind == SIDE_TLS ? WIRE_SIDE_TLS : WIRE_SIDE_GLOBAL, .offset = side->offset};
    if (side->kind == SIDE_ARG || !side->name || side->n_values != 1) continue;
    if (module_index(p, side->module, &to.module) < 0) continue;
    bool by_name = side->kind == SIDE_GLOBAL;
    if (by_name) to.offset = 0;
    to.value = side->values[0];
    to.width = (uint8_t)width_of(to.value);
    int r = push_side(p, f, to, by_name ? side->name : NULL);
    if (r < 0) return r;
  }
  return 0;
}

/*
 * A variable that no module exports cannot be set. A library that is opened later may have it; the log tells whether
 * one did.
 */
static int check_variable(struct plan *p, const struct side_effect *s) {
  bool by_name = s->name && (s->kind == WIRE_SIDE_GLOBAL || s->kind == WIRE_SIDE_STREAM);
  const struct scenario_world *w = p->world;
  if (!by_name || !w->variable || w->variable(w->context, s->name)) return 0;
  struct err note;
  if (!(w->flags & WIRE_FOLLOW) && !plan_opens(p))
    return FAIL_AT(s->at, p->e, -ENOENT,
                   "no module of the program exports a variable '%.60s' (write module=\"…\" offset=\"…\")", s->name);
  (void)FAIL_AT(s->at, &note, -ENOENT, "no module exports a variable '%.60s' yet; it is set once one does", s->name);
  if (w->note) w->note(w->context, note.text);
  return 0;
}

static int add_written(struct plan *p, const struct rule *rule, struct wire_fault *f) {
  for (size_t i = 0; i < rule->fault.n_sides; i++) {
    const struct side_effect *from = &rule->fault.sides[i];
    struct wire_side to = {.kind = (uint8_t)from->kind,
                           .width = (uint8_t)(from->width ? from->width : width_of(from->value)),
                           .argument = (uint16_t)from->argument,
                           .offset = from->offset,
                           .value = from->value};
    if (from->module && module_index(p, from->module, &to.module) < 0)
      return FAIL_AT(from->at, p->e, -ENOENT, "the program uses no module '%.60s' (write the name of a library)",
                     from->module);
    int r = check_variable(p, from);
    if (r >= 0) r = push_side(p, f, to, from->name);
    if (r < 0) return r;
  }
  return 0;
}

static int add_fault(struct plan *p, const struct rule *rule, const struct subject *s, struct wire_fault f,
                     const struct profile_error *from) {
  /* An explicit value may be a success that is made up: a short count, the end of a file. */
  bool explicit = rule->fault.form == FAULT_EXPLICIT;
  int r = explicit && !f.error ? 0 : add_stream(p, s, &f);
  /* Behind the real call, the stream may not be there any more. */
  if (r >= 0 && !(explicit && !f.error) && !rule->fault.then) r = add_emptied(p, s, &f);
  if (r >= 0 && !(explicit && f.retval == 0)) r = add_cleared(p, s, &f);
  if (r >= 0) r = add_exported(p, from, &f);
  if (r >= 0) r = add_written(p, rule, &f);
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

/* A stream that does less than it was asked for has failed. */
static int add_act(struct plan *p, const struct rule *rule, const struct subject *s) {
  struct wire_fault f;
  int r = plan_act(p, rule, s, &f);
  if (r >= 0 && f.act == WIRE_ACT_SHORT && f.length == WIRE_LENGTH_ITEMS) r = add_stream(p, s, &f);
  if (r >= 0) r = add_written(p, rule, &f);
  return r >= 0 && vec_push(&p->faults, f) < 0 ? plan_no_memory(p) : r;
}

int plan_faults(struct plan *p, const struct rule *rule, const struct subject *s, uint32_t *ret, uint32_t *ret_n) {
  const struct fault *fault = &rule->fault;
  struct errors es = {0};
  size_t first = p->faults.n;
  int r = collect(p, s, &es);
  if (r >= 0 && fault->form == FAULT_ERRNO) r = add_errno(p, rule, s, &es);
  if (r >= 0 && fault->form == FAULT_PROFILE) r = add_profile(p, rule, s, &es);
  if (r >= 0 && fault->form == FAULT_ACT) r = add_act(p, rule, s);
  if (r >= 0 && fault->form == FAULT_EXPLICIT)
    r = add_fault(p, rule, s, (struct wire_fault){.retval = fault->retval, .error = fault->error}, NULL);
  vec_done(&es.list);
  if (r < 0) return r;
  *ret = (uint32_t)first;
  *ret_n = (uint32_t)(p->faults.n - first);
  return 0;
}
