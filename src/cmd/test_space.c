/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fault space of a command: the functions that it calls and that can fail, and how.
 */
#include "cmd/test_space.h"
#include "shim/shim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- functions ---------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* ... and not a variable, as stdout is? */
static bool is_function(const struct program_modules *m, const char *name) {
  return m->functions.n && bsearch(&name, m->functions.at, m->functions.n, sizeof name, by_name);
}

/* Who asks for open means open64 and __open64_2 too. */
static bool is_wanted(const struct test_space *s, const struct test_scope *scope, const char *name) {
  struct text readable = {0};
  bool listed = test_is_listed(&scope->functions, name) ||
                test_is_listed(&scope->functions, site_likely_written(s->likely, name));
  if (!listed && name_readable(name, &readable) && readable.at) listed = test_is_listed(&scope->functions, readable.at);
  text_done(&readable);
  return listed;
}

/* Whether a close that fails loses something is told by the calls that have written before, asked for or not. */
static bool is_witness(const struct test_space *s, const char *name) {
  struct site_call any = {.function = name, .n_args = COUNT(any.args)};
  uint64_t to;
  return site_likely_closes(s->likely, name) || site_likely_writes(s->likely, &any, &to) ||
         site_likely_traits(s->likely, &any, EIO, -1) & SITE_LOSES;
}

static bool wants_witnesses(const struct test_space *s, const struct test_scope *scope) {
  for (size_t i = 0; i < scope->functions.n; i++)
    if (site_likely_closes(s->likely, scope->functions.at[i])) return true;
  return false;
}

static int add_imports(struct test_space *s, const struct test_scope *scope, const struct image *img, bool language,
                       struct map *known, name_list *ret) {
  struct image_slot slot = {0};
  bool witnesses = wants_witnesses(s, scope);
  for (uint64_t at = 0; image_slot_after(img, at, &slot); at = slot.at + 1) {
    if (slot.kind != SLOT_IMPORT || !slot.name || map_get(known, hash_string(slot.name), NULL)) continue;
    bool wanted = is_wanted(s, scope, slot.name), witness = !wanted && witnesses && is_witness(s, slot.name);
    if ((!wanted && !witness) || !is_function(&s->modules, slot.name)) continue;
    if (language && !test_language_calls(s, slot.name)) continue;
    if (witness && map_put(&s->witnesses, hash_string(slot.name), 1) < 0) return -ENOMEM;
    if (map_put(known, hash_string(slot.name), 1) < 0 || vec_push(ret, slot.name) < 0) return -ENOMEM;
  }
  return 0;
}

/* What the modules in scope import. */
static int find_names(struct test_space *s, const struct test_scope *scope, name_list *ret) {
  struct map known = {0};
  int r = 0;
  for (size_t i = 0; i < s->modules.modules.n && r == 0; i++) {
    const struct program_module *m = &s->modules.modules.at[i];
    if (test_space_has(s, scope, i))
      r = add_imports(s, scope, m->image, !scope->from.n && test_is_language(s, m->path), &known, ret);
  }
  map_done(&known);
  return r;
}

/* What is tried of a function: all its errors, behind the real call where that does its work anyway; ... */
enum way { WAY_ERRORS, WAY_SHORT, WAY_THROW, WAYS };
static const char *const ways[WAYS] = {"profile", "short=1", "throw"};

static int add_rule(const struct test_space *s, struct scenario *to, const char *name, enum way way, struct err *e) {
  char rule[256];
  bool done = profile_facts_done(s->facts, name) && profile_facts_roles(s->facts, name).emptied < 0;
  const char *then = way == WAY_ERRORS && done ? "then " : "";
  if (snprintf(rule, sizeof rule, "%s:%s%s when ordered", name, then, ways[way]) >= (int)sizeof rule) return 0;
  return scenario_add_rule(to, "murphy", rule, e);
}

/* Less than all is tried only of functions that are known for it. */
static bool may_fail(const struct test_space *s, const char *name, enum way way) {
  if (way == WAY_THROW) return profile_facts_roles(s->facts, name).throws;
  return way == WAY_ERRORS || site_likely_shortens(s->likely, name);
}

/* Of functions of which nobody minds what they say, the likeliest will do. */
static bool is_worth(const struct test_space *s, const char *name, int error) {
  struct site_call any = {.function = name};
  if (!site_likely_names(s->likely, name, error)) return false;
  return !site_likely_excused(s->likely, name) || site_likely_of(s->likely, &any, error, -1) > 1;
}

/* A disk that is full stays full: whoever writes to the stream later is told. One fault alone would be no such disk. */
static bool lasts(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

static int add_stream_rule(struct test_space *s, const char *name, int error, struct err *e) {
  char rule[256];
  if (snprintf(rule, sizeof rule, "%s:%s when ordered", name, errno_name(error)) >= (int)sizeof rule) return 0;
  return scenario_add_rule(s->scenario, "murphy", rule, e);
}

/* Of how likely a fault is. */
enum { COMMON = 3 };

/*
 * A stream calls what reads and writes through pointers, so that the profile has no errnos; but there always is one,
 * and who returns it negated to its caller would return success without. So it fails with those of data/relevance. How
 * many there are. The likeliest come first: where several end in the same way, the finding is named after that.
 */
static int add_stream_rules(struct test_space *s, const char *name, struct err *e) {
  struct profile_roles is = profile_facts_roles(s->facts, site_likely_written(s->likely, name));
  struct site_call any = {.function = name};
  int n = 0, r = 0;
  if (is.stream < 0 && !is.variable && is.emptied < 0 && is.flushed < 0) return 0;
  for (int likely = COMMON; likely >= 0; likely--)
    for (int error = 1; error <= ERRNO_MAX && r >= 0; error++) {
      if (!errno_name(error) || site_likely_of(s->likely, &any, error, -1) != likely) continue;
      if (!is_worth(s, name, error) || (is.flushed >= 0 && lasts(error))) continue;
      r = add_stream_rule(s, name, error, e);
      n++;
    }
  return r < 0 ? r : n;
}

/*
 * Some fail without an errno, as far as their callers know: there is no such user, no such library. What the profile
 * has is an errno of something on the way, which nobody would look at, and so none of that is tried.
 */
static int add_plain_rules(struct test_space *s, const char *name, struct err *e) {
  const struct profile_function *f = profile_function(s->world.world.profile, name);
  struct site_call any = {.function = name};
  int r = 0;
  if (!f || !site_likely_names(s->likely, name, 0)) return 0;
  for (size_t i = 0; i < f->n_errors && r >= 0; i++) {
    int64_t value = f->errors[i].retval;
    char rule[256];
    if (errno_set_empty(&f->errors[i].errnos) || site_likely_of(s->likely, &any, 0, value) < 2) continue;
    if (snprintf(rule, sizeof rule, "%s:ret=%" PRId64 " when ordered", name, value) >= (int)sizeof rule) continue;
    r = scenario_add_rule(s->scenario, "murphy", rule, e);
  }
  return r;
}

static int add_ways(struct test_space *s, const char *name, struct err *e) {
  int n = add_stream_rules(s, name, e), r = n < 0 ? n : 0;
  if (r >= 0 && n == 0) r = add_plain_rules(s, name, e);
  for (enum way way = n > 0 ? WAY_ERRORS + 1 : WAY_ERRORS; way < WAYS && r >= 0; way++)
    if (may_fail(s, name, way)) r = add_rule(s, s->scenario, name, way, e);
  return r;
}

static int make_world(struct test_space *s, const struct scenario *scenario, struct err *e) {
  struct program_world_request request = {.data = s->data, .note = cmd_note};
  program_world_done(&s->world);
  int r = program_world_make(&request, &s->modules, scenario, &s->world, e);
  s->world.world.note = NULL; /* notes are for who wrote the rules */
  return r;
}

/*
 * Libraries of whose functions nothing is known in data/relevance would be analysed for nothing: none of their errors
 * is tried, unless it is asked for by name.
 */
static int leave_unknown(struct test_space *s, name_list *names) {
  struct map known = {0}; /* libraries */
  int r = 0;
  size_t n = 0;
  for (size_t i = 0; i < names->n && r >= 0; i++)
    if (site_likely_knows(s->likely, names->at[i]))
      r = map_put(&known, (uintptr_t)program_modules_define(&s->modules, names->at[i]), 1);
  for (size_t i = 0; i < names->n && r >= 0; i++) {
    const struct program_module *home = program_modules_define(&s->modules, names->at[i]);
    if (!home || map_get(&known, (uintptr_t)home, NULL))
      names->at[n++] = names->at[i];
    else if (!profile_facts_float(s->facts, names->at[i]) && !profile_facts_noreturn(s->facts, names->at[i]))
      r = vec_push(&s->untried, names->at[i]);
  }
  if (r >= 0) names->n = n;
  map_done(&known);
  return r;
}

/* First all names, for their profiles; then what of them can be made to fail, which the compiler finds out. */
static int make_rules(struct test_space *s, const name_list *names, struct err *e) {
  struct scenario *all = scenario_new();
  s->scenario = scenario_new();
  int r = all && s->scenario ? 0 : -ENOMEM;
  for (size_t i = 0; i < names->n && r >= 0; i++)
    r = add_rule(s, all, names->at[i], WAY_ERRORS, e);
  if (r >= 0) r = make_world(s, all, e);
  for (size_t i = 0; i < names->n && r >= 0; i++)
    r = add_ways(s, names->at[i], e);
  scenario_free(all);
  return r;
}

/* --- faults ------------------------------------------------------------------------------------------------------- */

const void *test_plan_array(const struct test_space *s, struct wire_span span) { return s->plan.at + span.at; }

const struct wire_plan *test_plan(const struct test_space *s) { return (const struct wire_plan *)s->plan.at; }

const char *test_function(const struct test_space *s, uint32_t i) {
  const struct wire_plan *p = test_plan(s);
  const struct wire_function *f = test_plan_array(s, p->functions);
  return i < p->functions.n ? (const char *)test_plan_array(s, p->text) + f[i].name : "?";
}

static bool wants_error(const struct test_scope *scope, int error) {
  const char *name = error ? errno_name(error) : NULL;
  return !scope->errnos.n || (name && test_is_listed(&scope->errnos, name));
}

/* A function with two names has two rules with the same errors. */
static bool is_known(const struct test_space *s, const struct inject_fault *f) {
  for (size_t i = s->faults.n; i-- > 0 && s->faults.at[i].function == f->function;)
    if (s->faults.at[i].rule != f->rule && s->faults.at[i].retval == f->retval && s->faults.at[i].error == f->error &&
        s->faults.at[i].act == f->act)
      return true;
  return false;
}

static int add_faults(struct test_space *s, const struct test_scope *scope, uint32_t function,
                      const struct wire_function *f) {
  const struct wire_plan *p = test_plan(s);
  const struct wire_rule *rules = test_plan_array(s, p->rules);
  const struct wire_fault *faults = test_plan_array(s, p->faults);
  const char *name = test_function(s, function);
  bool returned = profile_facts_returned(s->facts, name);
  for (uint32_t i = f->rule; i < f->rule + f->n_rules; i++)
    for (uint32_t k = 0; k < rules[i].n_faults; k++) {
      const struct wire_fault *fault = &faults[rules[i].fault + k];
      struct inject_fault add = {.function = function,
                                 .rule = i,
                                 .fault = k,
                                 .retval = fault->retval,
                                 .error = fault->error,
                                 .act = fault->act};
      bool plain = fault->act == WIRE_ACT_RETURN && !add.error;
      if (plain && returned && add.retval > 0 && add.retval < ERRNO_MAX) add.error = (int)add.retval;
      if (fault->act == WIRE_ACT_THROW) add.error = ENOMEM;
      if (wants_error(scope, add.error) && !is_known(s, &add) && vec_push(&s->faults, add) < 0) return -ENOMEM;
    }
  return 0;
}

static int find_faults(struct test_space *s, const struct test_scope *scope, struct err *e) {
  struct scenario_world *w = &s->world.world;
  w->area = w->preload = "";
  w->flags = s->follow ? WIRE_FOLLOW : 0; /* more functions are chosen by that */
  w->lenient = true;                      /* some cannot be intercepted, of others no error is known */
  w->note = NULL;                         /* ... others are variables */
  w->ends = true;
  int r = plan_compile(s->scenario, w, &s->plan, e);
  if (r < 0) return r;
  const struct wire_function *f = test_plan_array(s, test_plan(s)->functions);
  for (uint32_t i = 0; i < test_plan(s)->functions.n && r >= 0; i++)
    r = add_faults(s, scope, i, &f[i]);
  return r;
}

static int prepare(void *self, bool record, const char *area, const char *shim, struct text *ret_shim,
                   struct text *ret_preload, struct err *e) {
  const struct test_space *s = self;
  struct scenario_world world = s->world.world;
  struct text plan = {0};
  run_preload(shim, ret_preload);
  if (ret_preload->failed) return -ENOMEM;
  world.area = area;
  world.preload = ret_preload->at;
  world.flags |= record ? WIRE_POINTS : 0;
  int r = plan_compile(s->scenario, &world, &plan, e);
  if (r >= 0) r = shim_write(plan.at, plan.n, s->runtime, ret_shim, e);
  text_done(&plan);
  return r;
}

static size_t count_functions(void *self) { return test_plan(self)->functions.n; }

static struct wire_order order(void *self, const struct injection *i) {
  const struct test_space *s = self;
  return inject_order(s->points.at, s->faults.at, i);
}

const struct injector *const *test_injectors(struct test_space *s) {
  s->injector = (struct injector){
      .name = "library calls", .self = s, .prepare = prepare, .functions = count_functions, .order = order};
  s->injectors[0] = &s->injector;
  return s->injectors;
}

/* --- files with what was typed ------------------------------------------------------------------------------------ */

enum { HISTORIES_MAX = 1 << 16 };

static int add_history(struct test_space *s, const char *line) {
  if (!*line || *line == '#') return 0;
  const char *pattern = arena_strdup(&s->arena, line);
  return pattern ? vec_push(&s->histories, pattern) : -ENOMEM;
}

static int load_histories(struct test_space *s, struct err *e) {
  struct text path = {0};
  char *bytes = NULL;
  size_t size;
  text_addf(&path, "%s/histories", s->data);
  int r = path.failed ? -ENOMEM : file_read(path.at, HISTORIES_MAX, &bytes, &size, e);
  for (char *rest = bytes, *line; r >= 0 && (line = strsep(&rest, "\n")) != NULL;)
    r = add_history(s, line);
  free(bytes);
  text_done(&path);
  /* Data of somebody's own may be older. */
  return r == -ENOENT ? 0 : r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

int test_space_open(char *const *command, struct test_space *s, bool *ret_starts, struct err *e) {
  int r = program_target_find(command, &s->target, e);
  if (r >= 0) r = program_modules_load(s->target.path, false, &s->modules, e);
  if (r >= 0) r = load_histories(s, e);
  const char *const *functions = s->modules.functions.at;
  return r < 0 ? r : scenario_starts(s->data, functions, s->modules.functions.n, ret_starts, e);
}

int test_space_fill(const struct test_scope *scope, struct test_space *s, struct err *e) {
  name_list names = {0};
  s->named = scope->functions.n > 0;
  int r = test_check_scope(s, scope, e);
  if (r >= 0) r = test_languages_load(s, e);
  for (size_t i = 0; i < scope->sites.n && r >= 0; i++)
    r = test_find_site(&s->modules, scope->sites.at[i], &s->sites, e);
  if (r >= 0) r = profile_facts_load(s->data, &s->facts, e);
  if (r >= 0) r = site_likely_load(s->data, &s->likely, e);
  if (r >= 0) r = find_names(s, scope, &names);
  if (r >= 0 && !s->named) r = leave_unknown(s, &names);
  if (r >= 0 && names.n == 0) r = err_set(e, -ENODATA, "%s calls nothing that could fail in this way", s->target.path);
  if (r >= 0) r = make_rules(s, &names, e);
  vec_done(&names);
  for (size_t i = 0; r >= 0 && i < s->world.wire.n; i++) {
    s->world.wire.at[i].flags &= ~(uint32_t)WIRE_IN_SCOPE;
    if (test_space_has(s, scope, i)) s->world.wire.at[i].flags |= WIRE_IN_SCOPE;
    /* Who names it means it. */
    if (!scope->from.n && test_is_language(s, s->modules.modules.at[i].path))
      s->world.wire.at[i].flags |= WIRE_LANGUAGE;
  }
  if (r >= 0) r = find_faults(s, scope, e);
  return r;
}

int test_space_make(char *const *command, const struct test_scope *scope, struct test_space *s, struct err *e) {
  bool starts;
  int r = test_space_open(command, s, &starts, e);
  if (r >= 0) r = test_space_fill(scope, s, e);
  return r < 0 ? r : test_space_judge(s, e);
}

/* What test_space_fill and those after it have made. */
static void drop_faults(struct test_space *s) {
  program_world_done(&s->world);
  scenario_free(s->scenario);
  s->scenario = NULL;
  site_likely_free(s->likely);
  s->likely = NULL;
  profile_facts_free(s->facts);
  s->facts = NULL;
  map_done(&s->verdicts);
  map_done(&s->outputs);
  map_done(&s->witnesses);
  vec_done(&s->faults);
  vec_done(&s->points);
  vec_done(&s->seen);
  vec_done(&s->sites);
  vec_done(&s->untried);
  vec_done(&s->languages);
  vec_done(&s->compilers);
  text_done(&s->plan);
}

int test_space_refill(const struct test_scope *scope, struct test_space *s, struct err *e) {
  drop_faults(s);
  return test_space_fill(scope, s, e);
}

void test_space_done(struct test_space *s) {
  drop_faults(s);
  program_modules_done(&s->modules);
  program_target_done(&s->target);
  vec_done(&s->opened);
  vec_done(&s->histories);
  text_done(&s->notes);
  arena_done(&s->arena);
}
