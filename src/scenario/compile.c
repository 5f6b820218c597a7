/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the model to a plan: functions with the rules that are about them.
 */
#include "scenario/classes.h"

#include <errno.h>
#include <string.h>

/* --- functions ---------------------------------------------------------------------------------------------------- */

/* Does the fault leave it to the function what is returned, if anything? */
static bool goes_on(const struct rule *rule) {
  const struct fault *f = &rule->fault;
  return f->form == FAULT_ACT && (f->act == WIRE_ACT_DELAY || f->act == WIRE_ACT_KILL);
}

static int refuse(struct plan *p, const struct rule *rule, const struct subject *s) {
  const char *why = NULL;
  for (int i = 0; i < 2 && !why; i++) {
    const char *name = i ? s->written : s->name;
    if (profile_facts_twice(p->facts, name))
      why = "it returns twice, into a frame that must still be as it was";
    else if (goes_on(rule))
      continue;
    else if (profile_facts_noreturn(p->facts, name))
      why = "it never returns, so it cannot return an error";
    else if (profile_facts_struct(p->facts, name))
      why = "it returns a structure, and what an error looks like in it is not known";
    else if (profile_facts_float(p->facts, name))
      why = "it returns a floating-point number, which no fault can say yet";
  }
  if (!why) return 0;
  return FAIL_AT(rule->at, p->e, -ENOTSUP, "%.60s cannot be intercepted: %s (choose another function)", rule->function,
                 why);
}

static void find_length(const struct plan *p, const char *name, const struct profile_roles *from, struct roles *r) {
  const int arguments[WIRE_LENGTH_COUNT] = {[WIRE_LENGTH_BYTES] = from->length,
                                            [WIRE_LENGTH_ITEMS] = from->items,
                                            [WIRE_LENGTH_VECTOR] = from->vector,
                                            [WIRE_LENGTH_MESSAGE] = from->message};
  r->length = -1;
  for (unsigned i = 0; i < WIRE_LENGTH_COUNT; i++) {
    if (arguments[i] < 0) continue;
    r->length = site_names_argument(p->names, name, (unsigned)arguments[i]);
    r->how = (enum wire_length)i;
  }
}

/* The arguments of the written function, where the imported one has them. */
static struct roles find_roles(const struct plan *p, const char *name, const char *written) {
  struct profile_roles from = profile_facts_roles(p->facts, written);
  struct profile_roles own = profile_facts_roles(p->facts, name);
  struct roles r = {.stream_name = from.variable, .n_args = own.arguments};
  r.max_args = own.variadic || from.variadic ? -1 : own.arguments;
  r.descriptor = from.descriptor < 0 ? -1 : site_names_argument(p->names, name, (unsigned)from.descriptor);
  r.size = from.size < 0 ? -1 : site_names_argument(p->names, name, (unsigned)from.size);
  r.cleared = from.cleared < 0 ? -1 : site_names_argument(p->names, name, (unsigned)from.cleared);
  r.emptied = from.emptied < 0 ? -1 : site_names_argument(p->names, name, (unsigned)from.emptied);
  r.flushed = from.flushed < 0 ? -1 : site_names_argument(p->names, name, (unsigned)from.flushed);
  find_length(p, name, &from, &r);
  r.path = from.path < 0 ? -1 : site_names_argument(p->names, name, (unsigned)from.path);
  r.flags = from.flags < 0 ? -1 : site_names_argument(p->names, name, (unsigned)from.flags);
  r.mode = from.mode < 0 ? -1 : site_names_argument(p->names, name, (unsigned)from.mode);
  r.code = from.code < 0 ? -1 : site_names_argument(p->names, name, (unsigned)from.code);
  r.misnamed = from.misnamed < 0 ? -1 : site_names_argument(p->names, name, (unsigned)from.misnamed);
  r.throws = from.throws || own.throws;
  r.done = p->world->ends && profile_facts_done(p->facts, written);
  r.stream = from.stream < 0 ? -1 : site_names_argument(p->names, name, (unsigned)from.stream);
  r.file = from.file < 0 ? r.stream : site_names_argument(p->names, name, (unsigned)from.file);
  if (r.n_args < 0 && from.arguments > 0)
    r.n_args = site_names_argument(p->names, name, (unsigned)from.arguments - 1) + 1;
  else if (r.n_args < 0)
    r.n_args = from.arguments;
  return r;
}

/* The FILE that it works on, as the target is told. */
static int8_t stream_of(const struct roles *r) {
  if (!r->stream_name) return (int8_t)r->file;
  return strcmp(r->stream_name, "stdin") == 0 ? WIRE_STDIN : WIRE_STDOUT;
}

static int push_function(struct plan *p, struct wire_function f, const char *name) {
  const char *versions[16] = {NULL};
  size_t n = p->world->versions ? p->world->versions(p->world->context, name, versions, COUNT(versions)) : 0;
  int r = plan_string(p, name, &f.name);
  for (size_t i = 0; i < (n ? n : 1) && r >= 0; i++) {
    r = plan_string(p, n ? versions[i] : NULL, &f.version);
    if (r >= 0 && vec_push(&p->functions, f) < 0) r = plan_no_memory(p);
  }
  return r;
}

/* --- rules -------------------------------------------------------------------------------------------------------- */

/* Does the rule hold for this one function only, so that the function's count of calls is the rule's? */
static bool only_for(const struct plan *p, const struct rule *rule, const struct subject *s) {
  const char *versions[2];
  size_t n = p->world->versions ? p->world->versions(p->world->context, s->name, versions, COUNT(versions)) : 0;
  for (size_t i = 0; i < p->chosen.n; i++) {
    const char *other = p->chosen.at[i];
    if (strcmp(other, s->name) != 0 && plan_about(rule, other, site_names_written(p->names, other))) return false;
  }
  return n <= 1;
}

/*
 * A trigger that nobody else refers to, and that is asked at every call of one function, counts what is counted anyway:
 * the call's number. NULL if there is no memory.
 */
static const struct expr *by_number(struct plan *p, const struct expr *x) {
  if (x->kind == EXPR_TRIGGER && x->trigger->class->counted && x->trigger->references == 1)
    return x->trigger->class->counted(&p->arena, x->trigger);
  if (x->kind != EXPR_AND && x->kind != EXPR_NOT) return x;
  const struct expr *first = by_number(p, x->args[0]);
  if (first == x->args[0]) return x;
  struct expr *copy = first ? arena_memdup(&p->arena, x, sizeof *x) : NULL;
  if (copy) copy->args[0] = (struct expr *)first;
  return copy;
}

/* FIRST: no other rule of the function is evaluated before it. */
static int set_condition(struct plan *p, const struct rule *rule, const struct subject *s, bool first,
                         struct wire_rule *w, bool *counts) {
  bool failed = false;
  const struct expr *x = plan_act_condition(p, rule, &failed);
  if (failed) return plan_no_memory(p);
  *w = (struct wire_rule){.code = WIRE_NO_CODE, .first = 1, .last = UINT64_MAX};
  if (!x || (x->kind == EXPR_NUMBER && x->number)) return 0;
  if (first && rule->ordered && only_for(p, rule, s)) x = by_number(p, x);
  if (!x) return plan_no_memory(p);
  if (!expr_counts(x)) *counts = false;
  struct range range = expr_range(x);
  if (range.first > range.last)
    return FAIL_AT(x->at, p->e, -EINVAL, "this condition never holds (calls are counted from 1)");
  if (rule->fault.form != FAULT_UNUSED) {
    w->first = range.first;
    w->last = range.last;
    if (expr_one_shot(x)) w->flags |= WIRE_ONE_SHOT;
  }
  return plan_condition(p, s, x, &w->code);
}

static int push_rule(struct plan *p, const struct rule *rule, const struct subject *s, bool first, bool *counts) {
  struct wire_rule w;
  uint32_t fault = 0, n_faults = 0;
  int r = plan_faults(p, rule, s, &fault, &n_faults);
  if (r >= 0) r = set_condition(p, rule, s, first, &w, counts);
  if (r >= 0) r = plan_string(p, rule->label, &w.trigger);
  if (r >= 0) r = plan_slot(p, rule, &w.slot);
  if (r < 0) return r;
  w.fault = fault;
  w.n_faults = n_faults;
  if (rule->fault.form == FAULT_UNUSED) w.flags |= WIRE_UNUSED;
  if (rule->fault.then) w.flags |= WIRE_THEN;
  return vec_push(&p->rules, w) < 0 ? plan_no_memory(p) : 0;
}

/* Programs that are followed into may have it from the start. */
static bool is_later(const struct plan *p, const char *name) {
  return p->world->defined && !(p->world->flags & WIRE_FOLLOW) && !p->world->defined(p->world->context, name);
}

/* Puts the function into the plan, with all rules that are about it. */
static int add_function(struct plan *p, const char *name) {
  struct subject s = {.name = name, .written = site_names_written(p->names, name)};
  struct wire_function f = {.rule = (uint32_t)p->rules.n};
  bool counts = true, first = true;
  s.roles = find_roles(p, name, s.written);
  s.profile = plan_profile(p, name);
  int n_args = s.roles.n_args;
  int made = plan_push_marks(p, name);
  if (made < 0) return made;
  if (p->rules.n > f.rule) counts = false;
  for (size_t i = 0; i < p->scenario->rules.n; i++) {
    const struct rule *rule = &p->scenario->rules.at[i];
    if (!plan_about(rule, name, s.written)) continue;
    int r = refuse(p, rule, &s);
    if (r >= 0) r = push_rule(p, rule, &s, first, &counts);
    first = false;
    if (r < 0 && r != -ENOMEM && p->world->lenient) continue;
    if (r < 0) return r;
    if (rule->n_args > n_args) n_args = rule->n_args;
  }
  f.n_rules = (uint32_t)p->rules.n - f.rule;
  if (!f.n_rules && p->world->lenient) return 0;
  f.hook = (uint16_t)plan_hook(p, name);
  f.flags = (uint16_t)((counts ? WIRE_ONLY_COUNTS : 0) | (f.hook ? WIRE_ALWAYS_IN : 0));
  if (is_later(p, name)) f.flags |= WIRE_LATER;
  f.n_args = (uint8_t)(n_args < 0 ? 0 : n_args > WIRE_ARGS ? WIRE_ARGS : n_args);
  f.descriptor = (int8_t)s.roles.descriptor;
  f.size = (int8_t)s.roles.size;
  f.stream = stream_of(&s.roles);
  int r = strcmp(name, s.written) == 0 ? 0 : plan_string(p, s.written, &f.written);
  return r < 0 ? r : push_function(p, f, name);
}

static int add_functions(struct plan *p) {
  int r = 0;
  for (size_t i = 0; i < p->chosen.n && r >= 0; i++)
    r = add_function(p, p->chosen.at[i]);
  return r;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static bool has_function(const struct plan *p, const char *name) {
  for (size_t i = 0; i < p->functions.n; i++)
    if (strcmp(p->text.at + p->functions.at[i].name, name) == 0) return true;
  return false;
}

static int add_hooks(struct plan *p) {
  int r = 0;
  for (size_t i = 0; i < p->hooks.n && r >= 0; i++) {
    const struct hook *h = &p->hooks.at[i];
    if (has_function(p, h->name) || plan_hook(p, h->name) == WIRE_HOOK_NONE) continue;
    if (p->world->defined && !p->world->defined(p->world->context, h->name)) continue;
    struct roles roles = find_roles(p, h->name, site_names_written(p->names, h->name));
    struct wire_function f = {.rule = (uint32_t)p->rules.n,
                              .flags = WIRE_ALWAYS_IN,
                              .descriptor = (int8_t)roles.descriptor,
                              .size = -1,
                              .stream = stream_of(&roles),
                              .hook = (uint16_t)h->kind};
    r = push_function(p, f, h->name);
  }
  return r;
}

static int add_modules(struct plan *p) {
  for (size_t i = 0; i < p->world->n_modules; i++) {
    struct wire_module m = p->world->modules[i];
    int r = plan_string(p, p->world->module_names[m.name], &m.name);
    if (r < 0) return r;
    if (vec_push(&p->modules, m) < 0) return plan_no_memory(p);
  }
  return 0;
}

static void plan_done(struct plan *p) {
  profile_facts_free(p->facts);
  site_names_free(p->names);
  vec_done(&p->hooks);
  vec_done(&p->chosen);
  text_done(&p->text);
  map_done(&p->strings);
  vec_done(&p->functions);
  vec_done(&p->rules);
  vec_done(&p->code);
  vec_done(&p->numbers);
  vec_done(&p->faults);
  vec_done(&p->sides);
  vec_done(&p->places.places);
  vec_done(&p->patterns);
  vec_done(&p->modules);
  map_done(&p->slots);
  map_done(&p->draws);
  vec_done(&p->triggers);
  vec_done(&p->settings);
  map_done(&p->asked);
  vec_done(&p->marks);
  map_done(&p->thread_slots);
  vec_done(&p->tables);
  vec_done(&p->variables);
  vec_done(&p->locations);
  vec_done(&p->memories);
  map_done(&p->memory_of);
  map_done(&p->constants);
  vec_done(&p->constant_names);
  arena_done(&p->arena);
}

int plan_compile(const struct scenario *s, const struct scenario_world *world, struct text *ret, struct err *e) {
  struct plan p = {.scenario = s, .world = world, .e = e};
  int r = profile_facts_load(world->data, &p.facts, e);
  if (r >= 0) r = site_names_load(world->data, &p.names, e);
  if (r >= 0) r = plan_load_hooks(&p);
  if (r >= 0) r = plan_find_marks(&p);
  if (r >= 0) r = plan_choose(&p);
  if (r >= 0) r = add_functions(&p);
  if (r >= 0) r = add_hooks(&p);
  /* Names in conditions may have added to them. */
  if (r >= 0) r = add_modules(&p);
  if (r >= 0) r = plan_bytes(&p, ret);
  plan_done(&p);
  return r;
}
