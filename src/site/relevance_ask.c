/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to data/relevance and data/aliases about one call.
 */
#include "site/relevance_rules.h"

#include <errno.h>
#include <string.h>

int relevance_ready(struct relevance *r) {
  map_clear(&r->rules_of);
  for (size_t i = r->rules.n; i-- > 0;) { /* backward, so that the lists are in the order of the file */
    uint64_t first = 0;
    (void)map_get(&r->rules_of, r->rules.at[i].name, &first);
    r->rules.at[i].next = (uint32_t)first;
    if (map_put(&r->rules_of, r->rules.at[i].name, i + 1) < 0) return -ENOMEM;
  }
  for (size_t i = 0; i < r->rules.n; i++)
    for (uint32_t k = 0; k < r->rules.at[i].n_tests; k++) {
      const struct test *t = &r->tests.at[r->rules.at[i].first_test + k];
      if (t->op != ':' || t->subject != ARGUMENT_DATE) continue;
      if (map_put(&r->dates, r->rules.at[i].name, t->arg) < 0) return -ENOMEM;
    }
  map_clear(&r->fails);
  for (size_t i = 0; i < r->rules.n; i++) {
    const struct rule *u = &r->rules.at[i];
    enum fail_about about = u->any ? FAIL_ANY : u->code ? FAIL_CODE : FAIL_ERROR;
    uint64_t key = fail_key(u->name, about, u->any ? 0 : u->code ? u->retval : u->error);
    if (u->kind == RULE_FAIL && map_put(&r->fails, key, i + 1) < 0) return -ENOMEM;
  }
  return 0;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static const struct alias *alias_of(const struct relevance *r, const char *imported) {
  uint64_t p;
  return map_get(&r->aliases, hash_string(imported), &p) ? (const struct alias *)(uintptr_t)p : NULL;
}

const char *relevance_written(const struct relevance *r, const char *imported) {
  const struct alias *a = alias_of(r, imported);
  return a ? a->written : imported;
}

const char *relevance_alias(const struct relevance *r, const char *written, const char *after) {
  const struct alias *a = after ? alias_of(r, after) : NULL;
  for (a = a ? a->next : r->first_alias; a; a = a->next)
    if (strcmp(a->written, written) == 0) return a->imported;
  return NULL;
}

int relevance_argument_of(const struct relevance *r, const char *imported, unsigned arg) {
  const struct alias *a = alias_of(r, imported);
  if (!a) return (int)arg;
  if (arg < a->n) return a->at[arg];
  if (!a->follow) return -1;
  return a->n ? a->at[a->n - 1] + (int)(arg - a->n) + 1 : (int)arg;
}

int relevance_argument(const struct relevance *r, const char *imported, unsigned arg) {
  for (unsigned i = 0; i < 16; i++)
    if (relevance_argument_of(r, imported, i) == (int)arg) return (int)i;
  return -1;
}

bool relevance_knows(const struct relevance *r, const char *name) {
  return map_get(&r->known, hash_string(name), NULL);
}

bool relevance_answers(const struct relevance *r, const char *name) {
  return map_get(&r->answers, hash_string(name), NULL);
}

bool relevance_nothing(const struct relevance *r, const char *name) {
  return map_get(&r->nothing, hash_string(name), NULL);
}

bool relevance_tells_kept(const struct relevance *r, const char *name) {
  return map_get(&r->tellers, hash_string(name), NULL);
}

bool relevance_told_by(const struct relevance *r, const char *name, const char *other) {
  return map_get(&r->told_by, relevance_pair(name, other), NULL);
}

bool relevance_asks_failed(const struct relevance *r, const char *name) {
  return map_get(&r->after_failure, hash_string(name), NULL);
}

bool relevance_again(const struct relevance *r, const char *name) {
  return map_get(&r->again, hash_string(name), NULL);
}

bool relevance_ends_again(const struct relevance *r, const char *name, const char *other) {
  return map_get(&r->again_ends, relevance_pair(name, other), NULL);
}

bool relevance_absent(const struct relevance *r, const char *name) {
  return map_get(&r->absent, hash_string(name), NULL);
}

bool relevance_tells_now(const struct relevance *r, const char *name) {
  return map_get(&r->now, hash_string(name), NULL);
}

int relevance_date(const struct relevance *r, const char *name) {
  uint64_t arg;
  return map_get(&r->dates, hash_string(name), &arg) ? (int)arg : -1;
}

static int role(const struct map *m, const char *name) {
  uint64_t arg;
  return map_get(m, hash_mix(hash_string(name)), &arg) ? (int)arg : -1;
}

bool relevance_now_offset(const struct relevance *r, const char *name, int64_t offset) {
  if (relevance_tells_now(r, name)) return offset == 0;
  return map_get(&r->now_offsets, hash_mix(hash_string(name) + (uint64_t)offset), NULL);
}

int relevance_now_behind(const struct relevance *r, const char *name) {
  return relevance_tells_now(r, name) ? 0 : role(&r->now_behind, name);
}

int relevance_kept(const struct relevance *r, const char *name) { return role(&r->kept, name); }
int relevance_forgets(const struct relevance *r, const char *name) { return role(&r->forgetters, name); }
int relevance_descriptor(const struct relevance *r, const char *name) { return role(&r->descriptors, name); }
int relevance_writes(const struct relevance *r, const char *name) { return role(&r->writers, name); }
int relevance_flushes(const struct relevance *r, const char *name) { return role(&r->flushers, name); }
bool relevance_reads(const struct relevance *r, const char *name) { return role(&r->readers, name) >= 0; }
bool relevance_closes(const struct relevance *r, const char *name) { return role(&r->closers, name) >= 0; }

enum effect relevance_effect(const struct relevance *r, const char *name, unsigned arg, bool null) {
  uint64_t effect;
  bool known = map_get(&r->effects, hash_mix(hash_string(name) + effect_salt(arg, null)), &effect);
  return known ? (enum effect)effect : EFFECT_UNKNOWN;
}

const struct relevance_opener *relevance_opens(const struct relevance *r, const char *name) {
  uint64_t p;
  return map_get(&r->openers, hash_string(name), &p) ? (const struct relevance_opener *)(uintptr_t)p : NULL;
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

static enum answer ask_argument(const struct relevance *r, const struct test *t, const struct relevance_call *c) {
  if (t->op == ':' && t->subject == ARGUMENT_DATE)
    return t->arg < RELEVANCE_ARGS && c->current >> t->arg & 1 ? FALSE_FOR_CALL : TRUE_FOR_CALL;
  if (t->op == ':') return t->arg < RELEVANCE_ARGS && c->fixed >> t->arg & 1 ? TRUE_FOR_CALL : NOT_KNOWN;
  if (t->arg >= RELEVANCE_ARGS || !(c->known >> t->arg & 1)) return NOT_KNOWN;
  bool met = false;
  for (uint32_t i = 0; i < t->n; i++) {
    uint64_t v = (uint64_t)r->values.at[t->first + i], a = c->args[t->arg];
    bool equal = (uint32_t)v == (uint32_t)a, bits = (v & a) != 0;
    met |= t->op == '=' || t->op == '!' ? equal : bits;
  }
  bool holds = t->op == '=' || t->op == '&' ? met : !met;
  return holds ? TRUE_FOR_CALL : FALSE_FOR_CALL;
}

static enum answer ask(const struct relevance *r, const struct test *t, const struct relevance_call *c) {
  if (t->op) return ask_argument(r, t, c);
  enum answer a = (enum answer)c->about[t->subject];
  return t->subject == ABOUT_REMOTE && a == NOT_KNOWN ? TRUE_FOR_CALL : a;
}

/* All tests of a rule; TRUE if there are none. */
static enum answer ask_all(const struct relevance *r, const struct rule *rule, const struct relevance_call *c) {
  enum answer all = TRUE_FOR_CALL, one = FALSE_FOR_CALL;
  for (uint32_t i = 0; i < rule->n_tests; i++) {
    const struct test *t = &r->tests.at[rule->first_test + i];
    enum answer a = ask(r, t, c);
    if (a == TRUE_FOR_CALL || (a == NOT_KNOWN && one == FALSE_FOR_CALL)) one = a;
    if (t->or_next) continue;
    if (one == FALSE_FOR_CALL) return FALSE_FOR_CALL;
    if (one == NOT_KNOWN) all = NOT_KNOWN;
    one = FALSE_FOR_CALL;
  }
  return all;
}

/* --- judgements --------------------------------------------------------------------------------------------------- */

static const struct rule *first_rule(const struct relevance *r, const char *name) {
  uint64_t i;
  return map_get(&r->rules_of, hash_string(name), &i) ? &r->rules.at[i - 1] : NULL;
}

static const struct rule *next_rule(const struct relevance *r, const struct rule *rule) {
  return rule->next ? &r->rules.at[rule->next - 1] : NULL;
}

/* The last one that was written counts. */
static const struct rule *fail_rule(const struct relevance *r, uint64_t name, int error, int64_t retval, bool any) {
  uint64_t by_error = 0, by_code = 0;
  if (any)
    (void)map_get(&r->fails, fail_key(name, FAIL_ANY, 0), &by_error);
  else {
    (void)map_get(&r->fails, fail_key(name, FAIL_ERROR, error), &by_error);
    (void)map_get(&r->fails, fail_key(name, FAIL_CODE, retval), &by_code);
  }
  uint64_t last = by_error > by_code ? by_error : by_code;
  return last ? &r->rules.at[last - 1] : NULL;
}

static uint64_t any_function(void) { return hash_string("*"); }

static enum likelihood weigh(const struct relevance *r, const struct rule *u, const struct relevance_call *c) {
  enum answer a = ask_all(r, u, c);
  if (a == FALSE_FOR_CALL) return LIKELY_CONTRIVED;
  if (a == NOT_KNOWN && u->value > LIKELY_CONTRIVED) return (enum likelihood)(u->value - 1);
  return (enum likelihood)u->value;
}

enum likelihood relevance_likelihood(const struct relevance *r, const struct relevance_call *c, int error,
                                     int64_t retval) {
  uint64_t name = hash_string(c->name);
  const struct rule *u = fail_rule(r, name, error, retval, false);
  if (!u) u = fail_rule(r, name, error, retval, true);
  if (!u) u = fail_rule(r, any_function(), error, retval, false);
  if (!u) u = fail_rule(r, any_function(), error, retval, true);
  return u ? weigh(r, u, c) : LIKELY_POSSIBLE;
}

bool relevance_names(const struct relevance *r, const char *name, int error, int64_t retval) {
  return fail_rule(r, hash_string(name), error, retval, false) != NULL;
}

bool relevance_rules_out(const struct relevance *r, const struct relevance_call *c, int error, int64_t retval) {
  const struct rule *u = fail_rule(r, hash_string(c->name), error, retval, false);
  bool arguments = u && u->n_tests > 0;
  for (uint32_t i = 0; arguments && i < u->n_tests; i++)
    arguments = r->tests.at[u->first_test + i].op != 0;
  return arguments && ask_all(r, u, c) == FALSE_FOR_CALL;
}

enum cause relevance_cause(const struct relevance *r, const char *name, int error, int64_t retval) {
  uint64_t own = hash_string(name);
  const struct rule *u = fail_rule(r, own, error, retval, false);
  if (!u) u = fail_rule(r, own, error, retval, true);
  if (!u || !u->cause) u = fail_rule(r, any_function(), error, retval, false);
  if (!u || !u->cause) u = fail_rule(r, any_function(), error, retval, true);
  return u ? (enum cause)u->cause : CAUSE_NONE;
}

bool relevance_lost(const struct relevance *r, const struct relevance_call *c, int error) {
  for (const struct rule *u = first_rule(r, c->name); u; u = next_rule(r, u))
    if (u->kind == RULE_LOST && u->error == error && ask_all(r, u, c) == TRUE_FOR_CALL) return true;
  return false;
}

enum likelihood relevance_short(const struct relevance *r, const struct relevance_call *c) {
  enum likelihood best = LIKELY_CONTRIVED;
  for (const struct rule *u = first_rule(r, c->name); u; u = next_rule(r, u))
    if (u->kind == RULE_SHORT && weigh(r, u, c) > best) best = weigh(r, u, c);
  return best;
}

bool relevance_shortens(const struct relevance *r, const char *name) {
  for (const struct rule *u = first_rule(r, name); u; u = next_rule(r, u))
    if (u->kind == RULE_SHORT) return true;
  return false;
}

enum likelihood relevance_fails(const struct relevance *r, const struct relevance_call *c) {
  enum likelihood best = LIKELY_CONTRIVED;
  for (const struct rule *u = first_rule(r, c->name); u; u = next_rule(r, u))
    if (u->kind == RULE_FAIL && weigh(r, u, c) > best) best = weigh(r, u, c);
  return best;
}

bool relevance_is_inside(enum cause cause) { return cause == CAUSE_INPUT || cause == CAUSE_BUG; }

bool relevance_passes(enum cause cause, int error) {
  return cause == CAUSE_SIGNAL || cause == CAUSE_RACE || (cause == CAUSE_PEER && error == EAGAIN);
}

enum likelihood relevance_fails_outside(const struct relevance *r, const struct relevance_call *c) {
  enum likelihood best = LIKELY_CONTRIVED;
  for (const struct rule *u = first_rule(r, c->name); u; u = next_rule(r, u)) {
    if (u->kind != RULE_FAIL || !u->error || weigh(r, u, c) <= best) continue;
    if (!relevance_is_inside(relevance_cause(r, c->name, u->error, 0))) best = weigh(r, u, c);
  }
  return best;
}

enum consequence relevance_unnoticed(const struct relevance *r, const struct relevance_call *c) {
  for (int i = 0; i < 2; i++) {
    const struct rule *found = NULL;
    for (const struct rule *u = first_rule(r, i ? "*" : c->name); u; u = next_rule(r, u))
      if (u->kind == RULE_UNNOTICED) found = u;
    if (found) return (enum consequence)(ask_all(r, found, c) == TRUE_FOR_CALL ? found->value : found->otherwise);
  }
  return WORST_WRONG_RESULT;
}

bool relevance_ignored(const struct relevance *r, const struct relevance_call *c) {
  for (const struct rule *u = first_rule(r, c->name); u; u = next_rule(r, u))
    if (u->kind == RULE_IGNORE && ask_all(r, u, c) == TRUE_FOR_CALL) return true;
  return false;
}
