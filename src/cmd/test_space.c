/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fault space of a command: the functions that it calls and that can fail, how, and, once it has run, from where.
 */
#include "cmd/test.h"
#include "shim/shim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { OUTPUT_WRITTEN = 1, OUTPUT_TOLD = 2 };

/* --- scope -------------------------------------------------------------------------------------------------------- */

bool test_is_system_library(const char *path) {
  static const char *const folders[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/lib32/", "/usr/lib32/"};
  for (size_t i = 0; i < COUNT(folders); i++)
    if (strncmp(path, folders[i], strlen(folders[i])) == 0) return true;
  return false;
}

static bool is_system_program(const char *path) {
  static const char *const folders[] = {"/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/"};
  for (size_t i = 0; i < COUNT(folders); i++)
    if (strncmp(path, folders[i], strlen(folders[i])) == 0) return true;
  return test_is_system_library(path);
}

/* Who tests a program of their own wants its bugs and not those of the shell that it starts. */
bool test_space_is_guest(const struct test_space *s, const struct test_scope *scope, const char *program) {
  if (scope->from.n || scope->system) return false;
  return is_system_program(program) && !is_system_program(s->modules.modules.at[0].path);
}

static bool in_scope(const struct test_space *s, const struct test_scope *scope, size_t module) {
  const struct run_module *m = &s->modules.modules.at[module];
  if (m->program && !scope->from.n) return !test_space_is_guest(s, scope, m->path);
  for (size_t i = 0; i < scope->from.n; i++)
    if (run_modules_named(&s->modules, scope->from.at[i]) == (int)module) return true;
  return !scope->from.n && !test_is_system_library(s->modules.modules.at[module].path);
}

static bool is_listed(const cmd_names *list, const char *name) {
  for (size_t i = 0; i < list->n; i++)
    if (strcmp(list->at[i], name) == 0) return true;
  return list->n == 0;
}

/* A name that nothing has would be a campaign that finds nothing. */
static int check_scope(const struct test_space *s, const struct test_scope *scope, struct err *e) {
  for (size_t i = 0; i < scope->from.n; i++)
    if (run_modules_named(&s->modules, scope->from.at[i]) < 0)
      return err_set(e, -EINVAL, "--from: %s uses no library '%s' (ldd shows which it uses)", s->target.path,
                     scope->from.at[i]);
  for (size_t i = 0; i < scope->errnos.n; i++)
    if (!errno_number(scope->errnos.at[i])) {
      char hint[SOURCE_HINT];
      return err_set(e, -EINVAL, "--errno: '%s' is no error (%s)", scope->errnos.at[i],
                     source_hint(errno_nearest(scope->errnos.at[i]), "as in EIO", hint));
    }
  return 0;
}

/* --- call sites by name ------------------------------------------------------------------------------------------- */

/*
 * MODULE+0xOFFSET: the address of a call, as murphy check has it, or the one behind it, as stacks have it. Return
 * addresses minus 1 are looked up, and no call of a library is longer than 7 bytes.
 */
static int find_offset(struct run_modules *m, const char *site, const char *plus, run_places *ret, struct err *e) {
  char *name = strndup(site, (size_t)(plus - site));
  int64_t offset = 0;
  if (!name) return err_set(e, -ENOMEM, "out of memory");
  int module = run_modules_named(m, name), r = number_parse(plus + 1, &offset);
  free(name);
  if (module < 0 || r < 0) return err_set(e, -EINVAL, "--only-site: nothing is at '%s' (as in prog+0x1234)", site);
  enum { LONGEST_CALL = 7 };
  uint64_t at = (uint64_t)offset;
  return vec_push(ret,
                  (struct wire_place){.module = (uint32_t)module, .start = at ? at - 1 : 0, .end = at + LONGEST_CALL});
}

int test_find_site(struct run_modules *m, const char *site, run_places *ret, struct err *e) {
  const char *plus = strstr(site, "+0x"), *colon = strrchr(site, ':');
  if (plus) return find_offset(m, site, plus, ret, e);
  int64_t line = 0;
  if (!colon || number_parse(colon + 1, &line) < 0 || line <= 0 || line > INT32_MAX) {
    struct run_where where = {.function = site};
    return run_modules_find(m, &where, ret, e);
  }
  char *file = strndup(site, (size_t)(colon - site));
  if (!file) return err_set(e, -ENOMEM, "out of memory");
  struct run_where where = {.file = file, .line = (unsigned)line};
  int r = run_modules_find(m, &where, ret, e);
  free(file);
  return r;
}

/* --- functions ---------------------------------------------------------------------------------------------------- */

typedef VEC(const char *) name_list;

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* ... and not a variable, as stdout is? */
static bool is_function(const struct run_modules *m, const char *name) {
  return m->functions.n && bsearch(&name, m->functions.at, m->functions.n, sizeof name, by_name);
}

static int add_imports(const struct test_space *s, const struct test_scope *scope, const struct image *img,
                       struct map *known, name_list *ret) {
  struct image_slot slot = {0};
  for (uint64_t at = 0; image_slot_after(img, at, &slot); at = slot.at + 1) {
    if (slot.kind != SLOT_IMPORT || !slot.name || map_get(known, hash_string(slot.name), NULL)) continue;
    if (!is_listed(&scope->functions, slot.name) || !is_function(&s->modules, slot.name)) continue;
    if (map_put(known, hash_string(slot.name), 1) < 0 || vec_push(ret, slot.name) < 0) return -ENOMEM;
  }
  return 0;
}

/* What the modules in scope import. */
static int find_names(const struct test_space *s, const struct test_scope *scope, name_list *ret) {
  struct map known = {0};
  int r = 0;
  for (size_t i = 0; i < s->modules.modules.n && r == 0; i++)
    if (in_scope(s, scope, i)) r = add_imports(s, scope, s->modules.modules.at[i].image, &known, ret);
  map_done(&known);
  return r;
}

/* What is tried of a function: all its errors, behind the real call where that does its work anyway; ... */
enum way { WAY_ERRORS, WAY_SHORT, WAY_THROW, WAYS };
static const char *const ways[WAYS] = {"profile", "short=1", "throw"};

static int add_rule(const struct test_space *s, struct scenario *to, const char *name, enum way way, struct err *e) {
  char rule[256];
  const char *then = way == WAY_ERRORS && profile_facts_done(s->facts, name) ? "then " : "";
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

/*
 * A stream calls what reads and writes through pointers, so that the profile has no errnos; but there always is one,
 * and who returns it negated to its caller would return success without. So it fails with those of data/relevance. How
 * many there are.
 */
static int add_stream_rules(struct test_space *s, const char *name, struct err *e) {
  struct profile_roles is = profile_facts_roles(s->facts, site_likely_written(s->likely, name));
  int n = 0, r = 0;
  if (is.stream < 0 && !is.variable && is.emptied < 0) return 0;
  for (int error = 1; error <= ERRNO_MAX && r >= 0; error++) {
    char rule[256];
    if (!errno_name(error) || !is_worth(s, name, error)) continue;
    if (snprintf(rule, sizeof rule, "%s:%s when ordered", name, errno_name(error)) >= (int)sizeof rule) continue;
    r = scenario_add_rule(s->scenario, "murphy", rule, e);
    n++;
  }
  return r < 0 ? r : n;
}

static int add_ways(struct test_space *s, const char *name, struct err *e) {
  int n = add_stream_rules(s, name, e), r = n < 0 ? n : 0;
  for (enum way way = n > 0 ? WAY_ERRORS + 1 : WAY_ERRORS; way < WAYS && r >= 0; way++)
    if (may_fail(s, name, way)) r = add_rule(s, s->scenario, name, way, e);
  return r;
}

static int make_world(struct test_space *s, const struct scenario *scenario, struct err *e) {
  struct run_world_request request = {.data = s->data};
  run_world_done(&s->world);
  int r = run_world_make(&request, &s->modules, scenario, &s->world, e);
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
      r = map_put(&known, (uintptr_t)run_modules_define(&s->modules, names->at[i]), 1);
  for (size_t i = 0; i < names->n && r >= 0; i++) {
    const struct run_module *home = run_modules_define(&s->modules, names->at[i]);
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

static const void *plan_array(const struct test_space *s, struct wire_span span) { return s->plan.at + span.at; }

static const struct wire_plan *plan_of(const struct test_space *s) { return (const struct wire_plan *)s->plan.at; }

const char *test_function(const struct test_space *s, uint32_t i) {
  const struct wire_plan *p = plan_of(s);
  const struct wire_function *f = plan_array(s, p->functions);
  return i < p->functions.n ? (const char *)plan_array(s, p->text) + f[i].name : "?";
}

static bool wants_error(const struct test_scope *scope, int error) {
  const char *name = error ? errno_name(error) : NULL;
  return !scope->errnos.n || (name && is_listed(&scope->errnos, name));
}

/* A function with two names has two rules with the same errors. */
static bool is_known(const struct test_space *s, const struct campaign_fault *f) {
  for (size_t i = s->faults.n; i-- > 0 && s->faults.at[i].function == f->function;)
    if (s->faults.at[i].rule != f->rule && s->faults.at[i].retval == f->retval && s->faults.at[i].error == f->error &&
        s->faults.at[i].act == f->act)
      return true;
  return false;
}

static int add_faults(struct test_space *s, const struct test_scope *scope, uint32_t function,
                      const struct wire_function *f) {
  const struct wire_plan *p = plan_of(s);
  const struct wire_rule *rules = plan_array(s, p->rules);
  const struct wire_fault *faults = plan_array(s, p->faults);
  const char *name = test_function(s, function);
  bool returned = profile_facts_returned(s->facts, name);
  for (uint32_t i = f->rule; i < f->rule + f->n_rules; i++)
    for (uint32_t k = 0; k < rules[i].n_faults; k++) {
      const struct wire_fault *fault = &faults[rules[i].fault + k];
      struct campaign_fault add = {.function = function,
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
  int r = plan_compile(s->scenario, w, &s->plan, e);
  if (r < 0) return r;
  const struct wire_function *f = plan_array(s, plan_of(s)->functions);
  for (uint32_t i = 0; i < plan_of(s)->functions.n && r >= 0; i++)
    r = add_faults(s, scope, i, &f[i]);
  return r;
}

int test_write_shim(void *context, const char *area, const char *shim, struct text *ret_shim, struct text *ret_preload,
                    struct err *e) {
  const struct test_writer *w = context;
  struct scenario_world world = w->space->world.world;
  struct text plan = {0};
  run_preload(shim, ret_preload);
  if (ret_preload->failed) return -ENOMEM;
  world.area = area;
  world.preload = ret_preload->at;
  world.flags |= w->points ? WIRE_POINTS : 0;
  int r = plan_compile(w->space->scenario, &world, &plan, e);
  if (r >= 0) r = shim_write(plan.at, plan.n, w->space->runtime, ret_shim, e);
  text_done(&plan);
  return r;
}

/* --- call sites --------------------------------------------------------------------------------------------------- */

/* Bytes of a program's file. */
enum { JUDGED_MAX = 8 << 20 };

static uint64_t site_key(const char *path, uint64_t after) { return hash_mix(hash_string(path) + after); }

static int add_verdicts(struct test_space *s, const char *path, struct err *e) {
  static const int weights[] = {[SITE_NONE] = 3, [SITE_SOME] = 2, [SITE_ALL] = 0, [SITE_UNKNOWN] = 1};
  struct site_request request = {.program = path, .data = s->data, .unknown = true};
  struct site_list list;
  if (site_check(&request, &list, e) < 0) return 0; /* then no verdict is known, which is no reason to stop */
  int r = 0;
  for (size_t i = 0; i < list.n && r == 0; i++) {
    const struct site *at = &list.sites[i];
    bool quiet = at->verdict != SITE_ALL && at->verdict != SITE_UNKNOWN && at->rank < SITE_QUIET;
    if (at->after)
      r = map_put(&s->verdicts, site_key(path, at->after), (uint64_t)weights[at->verdict] | (uint64_t)quiet << 8);
  }
  site_list_done(&list);
  return r;
}

/* To judge all calls of a compiler takes longer than to try some; of the command itself they are judged always. */
static bool is_huge(const struct test_space *s, size_t module) {
  struct stat st;
  return module > 0 && stat(s->modules.modules.at[module].path, &st) == 0 && st.st_size > JUDGED_MAX;
}

int test_space_judge(struct test_space *s, struct err *e) {
  int r = 0;
  for (size_t i = 0; i < s->world.wire.n && r >= 0; i++)
    if (s->world.wire.at[i].flags & WIRE_IN_SCOPE && !is_huge(s, i))
      r = add_verdicts(s, s->modules.modules.at[i].path, e);
  return r;
}

/* --- points ------------------------------------------------------------------------------------------------------- */

/* Is the call one of those that were asked for? */
static bool is_wanted(const struct test_space *s, const char *path, uint64_t after) {
  for (size_t i = 0; i < s->sites.n; i++) {
    const struct wire_place *p = &s->sites.at[i];
    if (strcmp(s->modules.modules.at[p->module].path, path) != 0) continue;
    if (p->flags & WIRE_ANYWHERE || (after > p->start && after - 1 < p->end)) return true;
  }
  return s->sites.n == 0;
}

/* The loader names what was opened as the program did: by a path from where it stood, perhaps. */
static const char *path_of(const struct test_space *s, const char *loaded) {
  const char *last = strrchr(loaded, '/');
  for (size_t i = 0; loaded[0] != '/' && last && i < s->opened.n; i++) {
    const char *name = strrchr(s->opened.at[i], '/');
    if (name && strcmp(name, last) == 0) return s->opened.at[i];
  }
  return loaded;
}

static int add_point(struct test_space *s, const struct run_area *area, const struct wire_point *p) {
  struct wire_loaded loaded;
  struct campaign_point add = {.hash = p->hash,
                               .count = p->count,
                               .function = p->function,
                               .verdict = 1,
                               .excused = site_likely_excused(s->likely, test_function(s, p->function))};
  bool known = p->n_frames && run_area_loaded(area, p->frames[0].module, &loaded);
  if (s->sites.n && !(known && is_wanted(s, path_of(s, loaded.path), p->frames[0].at))) return 0;
  if (known) {
    uint64_t verdict;
    add.site = site_key(path_of(s, loaded.path), p->frames[0].at);
    if (map_get(&s->verdicts, add.site, &verdict)) {
      add.verdict = (int)(verdict & 0xff);
      add.quiet = verdict >> 8 != 0 && !site_likely_reads(s->likely, test_function(s, p->function));
    }
  }
  return vec_push(&s->points, add) < 0 || vec_push(&s->seen, *p) < 0 ? -ENOMEM : 0;
}

static int by_hash(const void *a, const void *b) {
  const struct wire_point *x = a, *y = b;
  return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* Some functions are in the plan because murphy itself must know of their calls. */
static bool has_rules(const struct test_space *s, uint32_t function) {
  const struct wire_function *f = plan_array(s, plan_of(s)->functions);
  return function < plan_of(s)->functions.n && f[function].n_rules;
}

static int note_outputs(struct test_space *s);

int test_take_points(struct test_space *s, const struct lab *l, struct err *e) {
  const struct run_area *area = lab_area(l);
  VEC(struct wire_point) found = {0};
  struct map known = {0};
  struct wire_point p;
  int r = 0;
  for (size_t i = 0; i < s->points.n && r == 0; i++)
    r = map_put(&known, s->points.at[i].hash, 1);
  for (uint32_t i = 0; (i = run_area_point_from(area, i)) < area->points.n && r == 0; i++)
    if (run_area_point(area, i, &p) && has_rules(s, p.function) && !map_get(&known, p.hash, NULL))
      r = vec_push(&found, p);
  map_done(&known);
  if (found.n) qsort(found.at, found.n, sizeof *found.at, by_hash);
  for (size_t i = 0; i < found.n && r == 0; i++)
    r = add_point(s, area, &found.at[i]);
  vec_done(&found);
  if (r == 0) r = note_outputs(s);
  return r < 0 ? err_set(e, r, "out of memory") : 0;
}

static enum site_descriptor descriptor_of(uint8_t fd) {
  static const enum site_descriptor kinds[] = {
      [WIRE_FD_NONE] = DESCRIPTOR_NONE, [WIRE_FD_FILE] = DESCRIPTOR_FILE,     [WIRE_FD_DIR] = DESCRIPTOR_DIR,
      [WIRE_FD_PIPE] = DESCRIPTOR_PIPE, [WIRE_FD_SOCKET] = DESCRIPTOR_SOCKET, [WIRE_FD_TTY] = DESCRIPTOR_TTY,
  };
  return fd < COUNT(kinds) ? kinds[fd] : DESCRIPTOR_OTHER;
}

static struct site_call call_of(const struct test_space *s, const struct campaign_point *p) {
  const struct wire_point *seen = &s->seen.at[p - s->points.at];
  const struct wire_function *functions = plan_array(s, plan_of(s)->functions);
  struct site_call c = {.function = test_function(s, p->function),
                        .n_args = functions[p->function].n_args,
                        .descriptor = descriptor_of(seen->fd),
                        .nonblocking = seen->nonblocking,
                        .writable = seen->writable,
                        .any_handler = seen->handlers & WIRE_HANDLER,
                        .plain_handler = seen->handlers & WIRE_HANDLER_STOPS};
  if (c.n_args > COUNT(c.args)) c.n_args = COUNT(c.args);
  memcpy(c.args, seen->args, sizeof c.args);
  return c;
}

/* So many functions that were not tried are named; of more, how many each library has. */
enum { UNTRIED_SHOWN = 8 };

int test_likely(void *context, const struct campaign_point *p, const struct campaign_fault *f) {
  const struct test_space *s = context;
  struct site_call c = call_of(s, p);
  /* Whoever asks for a function that nothing is known about has a reason. */
  if (s->named && !site_likely_knows(s->likely, c.function)) return 1;
  if (f->act == WIRE_ACT_SHORT) return site_likely_short(s->likely, &c);
  return site_likely_of(s->likely, &c, f->error, f->retval);
}

static const char *home_of(const struct test_space *s, const char *function) {
  const struct run_module *home = run_modules_define(&s->modules, function);
  return home ? image_name(home->image) : "";
}

static int by_home(const void *a, const void *b, void *context) {
  const char *x = *(const char *const *)a, *y = *(const char *const *)b;
  int order = strcmp(home_of(context, x), home_of(context, y));
  return order ? order : strcmp(x, y);
}

/* Those of one library: by name, or how many there are. */
static void add_untried(const char *const *names, size_t n, const char *home, bool named, struct text *to) {
  if (!named) text_addf(to, "%s%zu function%s of %s", to->n ? ", " : "", n, n == 1 ? "" : "s", home);
  for (size_t i = 0; i < n && named; i++)
    text_addf(to, "%s%s", to->n ? ", " : "", names[i]);
}

void test_note_untried(const struct test_space *s, struct text *notes) {
  name_list names = {0};
  struct text told = {0};
  for (size_t i = 0; i < s->untried.n; i++)
    if (vec_push(&names, s->untried.at[i]) < 0) break;
  for (size_t i = 0; i < s->points.n && !s->named; i++) {
    struct site_call c = call_of(s, &s->points.at[i]);
    if (!site_likely_knows(s->likely, c.function) && vec_push(&names, c.function) < 0) break;
  }
  if (names.n) qsort_r(names.at, names.n, sizeof *names.at, by_home, (void *)(uintptr_t)s);
  size_t n = 0;
  for (size_t i = 0; i < names.n; i++)
    if (!i || strcmp(names.at[i], names.at[n - 1]) != 0) names.at[n++] = names.at[i];
  for (size_t i = 0, k; i < n; i = k) {
    const char *home = home_of(s, names.at[i]);
    for (k = i; k < n && strcmp(home_of(s, names.at[k]), home) == 0;)
      k++;
    add_untried(names.at + i, k - i, home, n <= UNTRIED_SHOWN, &told);
  }
  if (told.n)
    text_addf(notes, "not tried, since how likely they fail is not known: %s (--function tries those that it names)\n",
              told.at);
  text_done(&told);
  vec_done(&names);
}

static uint64_t output_key(uint32_t process, uint64_t fd) { return hash_mix(((uint64_t)process << 32) + (uint32_t)fd); }

/*
 * Was the descriptor that the call at P closes written to by the same process, and not made safe by a call that would
 * have told of the loss itself? By its number: which call was first is not known, but few programs use one for a
 * written file and another.
 */
static bool has_unsafe_output(const struct test_space *s, const struct campaign_point *p,
                              const struct site_call *closed) {
  uint64_t known = 0;
  uint64_t key = output_key(s->seen.at[p - s->points.at].process, closed->args[0]);
  return closed->n_args && map_get(&s->outputs, key, &known) && known == OUTPUT_WRITTEN;
}

static int note_output(struct test_space *s, uint64_t key, uint64_t what) {
  uint64_t known = 0;
  (void)map_get(&s->outputs, key, &known);
  return map_put(&s->outputs, key, known | what);
}

/* What was written to and made safe, by process and descriptor. */
static int note_outputs(struct test_space *s) {
  int r = 0;
  for (size_t i = 0; i < s->points.n && r >= 0; i++) {
    struct site_call c = call_of(s, &s->points.at[i]);
    uint32_t process = s->seen.at[i].process;
    uint64_t to;
    if (c.n_args == 0) continue;
    if (site_likely_writes(s->likely, &c, &to) && c.writable)
      r = note_output(s, output_key(process, to), OUTPUT_WRITTEN);
    bool tells = site_likely_traits(s->likely, &c, EIO, -1) & SITE_LOSES && !site_likely_closes(s->likely, c.function);
    if (r >= 0 && tells) r = note_output(s, output_key(process, c.args[0]), OUTPUT_TOLD);
  }
  return r;
}

unsigned test_traits(void *context, const struct campaign_point *p, const struct campaign_fault *f) {
  const struct test_space *s = context;
  struct site_call c = call_of(s, p);
  /* The rest may come with the next call, and who asks again and again for a byte too few would take for ever. */
  if (f->act == WIRE_ACT_SHORT) return TRAIT_PASSES;
  unsigned t = site_likely_traits(s->likely, &c, f->error, f->retval);
  bool rare = site_likely_of(s->likely, &c, f->error, f->retval) <= 1 && site_likely_reads(s->likely, c.function);
  bool loses = t & SITE_LOSES && (!site_likely_closes(s->likely, c.function) || has_unsafe_output(s, p, &c));
  return (t & SITE_PASSES ? TRAIT_PASSES : 0) | (t & SITE_ANSWERS ? TRAIT_ANSWERS : 0) | (loses ? TRAIT_LOSES : 0) |
         (rare ? TRAIT_RARE_END : 0);
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

int test_space_open(char *const *command, struct test_space *s, bool *ret_starts, struct err *e) {
  int r = run_target_find(command, &s->target, e);
  if (r >= 0) r = run_modules_load(s->target.path, false, &s->modules, e);
  const char *const *functions = s->modules.functions.at;
  return r < 0 ? r : scenario_starts(s->data, functions, s->modules.functions.n, ret_starts, e);
}

int test_space_fill(const struct test_scope *scope, struct test_space *s, struct err *e) {
  name_list names = {0};
  s->named = scope->functions.n > 0;
  int r = check_scope(s, scope, e);
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
    if (in_scope(s, scope, i)) s->world.wire.at[i].flags |= WIRE_IN_SCOPE;
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
  run_world_done(&s->world);
  scenario_free(s->scenario);
  s->scenario = NULL;
  site_likely_free(s->likely);
  s->likely = NULL;
  profile_facts_free(s->facts);
  s->facts = NULL;
  map_done(&s->verdicts);
  map_done(&s->outputs);
  vec_done(&s->faults);
  vec_done(&s->points);
  vec_done(&s->seen);
  vec_done(&s->sites);
  vec_done(&s->untried);
  text_done(&s->plan);
}

int test_space_refill(const struct test_scope *scope, struct test_space *s, struct err *e) {
  drop_faults(s);
  return test_space_fill(scope, s, e);
}

void test_space_done(struct test_space *s) {
  drop_faults(s);
  run_modules_done(&s->modules);
  run_target_done(&s->target);
  vec_done(&s->opened);
  text_done(&s->notes);
  arena_done(&s->arena);
}
