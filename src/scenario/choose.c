/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which functions the rules are about.
 *
 * A rule names a function as the programmer wrote it, and holds for every name under which a binary imports that
 * function: open64 and __open_2 for open. Its state is one for all of them. If functions are looked up while the
 * program runs, the name itself is intercepted too; and if other programs are followed into, all names that there are.
 */
#include "scenario/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool plan_about(const struct rule *rule, const char *name, const char *written) {
  return plan_same(rule->function, name) || plan_same(rule->function, written);
}

/* Some are there only for what conditions ask. */
static enum wire_hook wanted(const struct plan *p, enum wire_hook kind) {
  bool locks = kind == WIRE_HOOK_LOCK || kind == WIRE_HOOK_UNLOCK;
  bool written = kind >= WIRE_HOOK_OUTPUT && kind <= WIRE_HOOK_STREAM;
  bool end = kind == WIRE_HOOK_END;
  return (locks && !p->locks) || (written && !p->written) || (end && !p->plugins) ? WIRE_HOOK_NONE : kind;
}

enum wire_hook plan_hook(const struct plan *p, const char *name) {
  for (size_t i = 0; i < p->hooks.n; i++)
    if (strcmp(p->hooks.at[i].name, name) == 0) return wanted(p, p->hooks.at[i].kind);
  return WIRE_HOOK_NONE;
}

const struct profile_function *plan_profile(const struct plan *p, const char *name) {
  if (!p->world->profile) return NULL;
  const char *written = site_names_written(p->names, name);
  const struct profile_function *f = profile_function(p->world->profile, name);
  if (!f) f = profile_function(p->world->profile, written);
  for (const char *alias = NULL; !f && (alias = site_names_alias(p->names, written, alias)) != NULL;)
    f = profile_function(p->world->profile, alias);
  return f;
}

static bool defined(const struct plan *p, const char *name) {
  return !p->world->defined || p->world->defined(p->world->context, name);
}

/* A program that looks functions up by name may call any. */
static bool looks_up(const struct plan *p) {
  for (size_t i = 0; i < p->world->n_functions; i++) {
    enum wire_hook hook = plan_hook(p, p->world->functions[i]);
    if (hook == WIRE_HOOK_DLSYM || hook == WIRE_HOOK_DLVSYM) return true;
  }
  return false;
}

bool plan_opens(const struct plan *p) {
  for (size_t i = 0; i < p->world->n_functions; i++)
    if (plan_hook(p, p->world->functions[i]) == WIRE_HOOK_DLOPEN) return true;
  return false;
}

static int choose(struct plan *p, const char *name) { return vec_push(&p->chosen, name) < 0 ? plan_no_memory(p) : 0; }

/* --- one function of the rules ------------------------------------------------------------------------------------ */

static const struct rule *first_rule(const struct plan *p, const char *function) {
  for (size_t i = 0; i < p->scenario->rules.n; i++)
    if (strcmp(p->scenario->rules.at[i].function, function) == 0) return &p->scenario->rules.at[i];
  return NULL;
}

/*
 * The function that NAME may be a slip of, as a programmer would write it: open, and not open64, which is imported.
 * What there is no memory for is not offered.
 */
static const char *nearest(const struct plan *p, const char *name) {
  VEC(const char *) names = {0};
  int r = 0;
  for (size_t i = 0; i < p->world->n_functions && r >= 0; i++)
    r = vec_push(&names, site_names_written(p->names, p->world->functions[i]));
  for (size_t i = 0; i < p->world->n_functions && r >= 0; i++)
    r = vec_push(&names, p->world->functions[i]);
  const char *near = name_nearest(name, names.at, names.n);
  vec_done(&names);
  return near;
}

/* The program may call a relative of the function in its place: fread_unlocked for fread. */
static const char *relative(const struct plan *p, const char *name) {
  size_t n = strlen(name);
  for (size_t i = 0; i < p->world->n_functions; i++)
    if (strncmp(p->world->functions[i], name, n) == 0 && p->world->functions[i][n] == '_')
      return p->world->functions[i];
  return NULL;
}

static int not_there(struct plan *p, const struct rule *rule) {
  char way[SOURCE_HINT];
  const char *near = nearest(p, rule->function);
  if (!near) near = relative(p, rule->function);
  return FAIL_AT(rule->at, p->e, -ENOENT, "neither the program nor its libraries import %.60s (%s)", rule->function,
                 source_hint(near, "murphy check lists what it calls", way));
}

static int choose_imports(struct plan *p, const char *function, bool *itself) {
  for (size_t i = 0; i < p->world->n_functions; i++) {
    const char *name = p->world->functions[i];
    bool same = plan_same(name, function);
    if (!same && !plan_same(p->names_of[i], function)) continue;
    *itself |= same;
    int r = choose(p, name);
    if (r < 0) return r;
  }
  return 0;
}

static int choose_aliases(struct plan *p, const char *function) {
  int r = 0;
  for (const char *alias = NULL; r >= 0 && (alias = site_names_alias(p->names, function, alias)) != NULL;)
    if (p->world->defined && defined(p, alias)) r = choose(p, alias);
  return r;
}

/* A function that nobody imports is a slip of the hand, is looked up by name, or is one that is just never called. */
static int choose_missing(struct plan *p, const char *function, bool any) {
  const struct rule *rule = first_rule(p, function);
  bool there = defined(p, function), follow = p->world->flags & WIRE_FOLLOW;
  bool explicit = rule->fault.form == FAULT_EXPLICIT || rule->fault.form == FAULT_ACT;
  /* Of libraries that it opens, a program looks up names like those that it imports: gzopen by dlopen. */
  if (!there && !any && !(looks_up(p) && explicit) && nearest(p, function)) return not_there(p, rule);
  bool called = any ? there : explicit || plan_profile(p, function);
  bool wanted = (follow && (there || explicit)) || (looks_up(p) && called);
  return wanted ? choose(p, function) : 0;
}

static int choose_function(struct plan *p, const char *function) {
  size_t before = p->chosen.n;
  bool itself = false;
  int r = choose_imports(p, function, &itself);
  if (r >= 0 && !itself) r = choose_missing(p, function, p->chosen.n > before);
  if (r >= 0 && p->world->flags & WIRE_FOLLOW) r = choose_aliases(p, function);
  return r;
}

/* A function that conditions ask about must be there to be seen. */
static int choose_marked(struct plan *p, const struct mark *m) {
  size_t before = p->chosen.n;
  char way[SOURCE_HINT];
  bool itself = false;
  int r = choose_imports(p, m->function, &itself);
  if (r >= 0 && !itself && looks_up(p) && defined(p, m->function)) r = choose(p, m->function);
  if (r < 0 || p->chosen.n > before) return r;
  const char *near = name_nearest(m->function, p->world->functions, p->world->n_functions);
  return FAIL_AT(m->at, p->e, -ENOENT, "neither the program nor its libraries import %.60s (%s)", m->function,
                 source_hint(near, "murphy check lists what it calls", way));
}

/* --- what is said about them -------------------------------------------------------------------------------------- */

static bool is_about(const struct plan *p, const struct rule *rule, const char *name) {
  return plan_about(rule, name, site_names_written(p->names, name));
}

static bool is_imported(const struct plan *p, const struct rule *rule) {
  for (size_t i = 0; i < p->world->n_functions; i++)
    if (is_about(p, rule, p->world->functions[i])) return true;
  return false;
}

static bool is_chosen(const struct plan *p, const struct rule *rule) {
  for (size_t i = 0; i < p->chosen.n; i++)
    if (is_about(p, rule, p->chosen.at[i])) return true;
  return false;
}

/* Rules that may never be asked must not look like calls that never fail. What is followed may call anything. */
static void note_missing(const struct plan *p) {
  for (size_t i = 0; i < p->scenario->names.n && p->world->note && !(p->world->flags & WIRE_FOLLOW); i++) {
    const struct rule *rule = first_rule(p, p->scenario->names.at[i]);
    struct err note;
    if (is_imported(p, rule)) continue;
    const char *near = defined(p, rule->function) ? NULL : nearest(p, rule->function);
    (void)FAIL_AT(rule->at, &note, -ENOENT, "neither the program nor its libraries import %.60s: %s%s%.60s%s",
                  rule->function,
                  is_chosen(p, rule) ? "only a library that is opened later, or a look-up by its name, can call it"
                                     : "this rule is never asked",
                  near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    p->world->note(p->world->context, note.text);
  }
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* Asked for with every rule. */
static int find_written(struct plan *p) {
  p->names_of = arena_alloc(&p->arena, (p->world->n_functions + 1) * sizeof *p->names_of);
  if (!p->names_of) return plan_no_memory(p);
  for (size_t i = 0; i < p->world->n_functions; i++)
    p->names_of[i] = site_names_written(p->names, p->world->functions[i]);
  return 0;
}

int plan_choose(struct plan *p) {
  const struct scenario *s = p->scenario;
  int r = find_written(p);
  for (size_t i = 0; i < s->names.n && r >= 0; i++) {
    r = choose_function(p, s->names.at[i]);
    if (r < 0 && r != -ENOMEM && p->world->lenient) r = 0;
  }
  if (r < 0) return r;
  for (size_t i = 0; i < p->marks.n && r >= 0; i++)
    r = choose_marked(p, &p->marks.at[i]);
  if (r < 0) return r;
  if (!s->rules.n) return err_set(p->e, -ENOENT, "the scenario has no rules (write FUNCTION:ERRNO)");
  if (!p->chosen.n) return not_there(p, &s->rules.at[0]);
  note_missing(p);
  qsort(p->chosen.at, p->chosen.n, sizeof *p->chosen.at, by_name);
  size_t n = 1;
  for (size_t i = 1; i < p->chosen.n; i++)
    if (strcmp(p->chosen.at[i], p->chosen.at[n - 1]) != 0) p->chosen.at[n++] = p->chosen.at[i];
  p->chosen.n = n;
  return 0;
}
