/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the command calls what can fail, as its runs have recorded it; how likely that is there, and what it means.
 */
#include "cmd/test_space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What happened to a descriptor, or to a stream. */
struct output_event {
  uint64_t key;  /* of the process and the descriptor */
  uint64_t hash; /* of the point, if it is an end */
  uint32_t at;   /* which of all calls it was */
  enum { OUTPUT_WRITTEN = 1, OUTPUT_TOLD = 2, OUTPUT_ENDED = 4 } what;
};
typedef VEC(struct output_event) output_events;

/* --- call sites --------------------------------------------------------------------------------------------------- */

/* Bytes of a program's file. */
enum { JUDGED_MAX = 8 << 20 };

static uint64_t site_key(const char *path, uint64_t after) { return hash_mix(hash_string(path) + after); }

/* What is known of a site: its weight, these, and from which likelihood on it would not be quiet. */
enum { VERDICT_QUIET = 1 << 8, VERDICT_USUAL = 1 << 9, VERDICT_AGAIN = 1 << 10, VERDICT_LOUD = 12, LIKELIEST = 3 };

static uint64_t loud_from(const struct site *s) {
  int likely = s->likely + 1;
  while (likely <= LIKELIEST && site_rank_if(s, likely) < SITE_QUIET)
    likely++;
  return (uint64_t)likely << VERDICT_LOUD;
}

static int add_verdicts(struct test_space *s, const char *path, struct err *e) {
  static const int weights[] = {[SITE_NONE] = 3, [SITE_SOME] = 2, [SITE_ALL] = 0, [SITE_UNKNOWN] = 1};
  struct site_request request = {.program = path, .data = s->data, .unknown = true};
  struct site_list list;
  if (site_check(&request, &list, e) < 0) return 0; /* then no verdict is known, which is no reason to stop */
  int r = 0;
  for (size_t i = 0; i < list.n && r == 0; i++) {
    const struct site *at = &list.sites[i];
    bool quiet = at->verdict != SITE_ALL && at->verdict != SITE_UNKNOWN && at->rank < SITE_QUIET;
    uint64_t verdict = (uint64_t)weights[at->verdict] | (quiet ? VERDICT_QUIET | loud_from(at) : 0);
    /* Who does not look at all knows why; where a value got lost of which nothing is known, it may be a mistake. */
    if (quiet && at->use == USE_IGNORED) verdict |= VERDICT_USUAL;
    if (at->again) verdict |= VERDICT_AGAIN;
    if (at->after) r = map_put(&s->verdicts, site_key(path, at->after), verdict);
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
    if (s->world.wire.at[i].flags & WIRE_IN_SCOPE && !(s->world.wire.at[i].flags & WIRE_LANGUAGE) && !is_huge(s, i))
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

const char *test_path_of(const struct test_space *s, const char *loaded) {
  const char *last = strrchr(loaded, '/');
  for (size_t i = 0; loaded[0] != '/' && last && i < s->opened.n; i++) {
    const char *name = strrchr(s->opened.at[i], '/');
    if (name && strcmp(name, last) == 0) return s->opened.at[i];
  }
  return loaded;
}

static struct site_call call_of(const struct test_space *s, uint32_t function, const struct wire_point *seen);

/* Was it called by a library of a language, which was not asked for by name? */
static bool is_indirect(const struct test_space *s, const char *path) {
  for (size_t i = 0; i < s->world.wire.n; i++)
    if (s->world.wire.at[i].flags & WIRE_LANGUAGE && test_is_language(s, path)) return true;
  return false;
}

/* How likely the likeliest of a call's errors is there. */
static uint64_t likeliest(const struct test_space *s, uint32_t function, const struct wire_point *seen) {
  struct site_call c = call_of(s, function, seen);
  int best = 0;
  for (size_t i = 0; i < s->faults.n; i++) {
    const struct inject_fault *f = &s->faults.at[i];
    int likely = f->function == function ? site_likely_of(s->likely, &c, f->error, f->retval) : 0;
    if (likely > best) best = likely;
  }
  return (uint64_t)best;
}

/*
 * What `murphy check` says of the call, and who has seen it: that it is not checked may be of no weight only because it
 * is not known whether there is a handler, or what the descriptor is. Of a stream that keeps its failure, one may look
 * at the end; but who looks at once, and then says nothing, has lost it knowingly.
 */
static void add_verdict(const struct test_space *s, uint64_t site, const struct wire_point *seen,
                        struct inject_point *to) {
  const char *function = test_function(s, to->function);
  uint64_t verdict;
  to->site = site;
  if (!map_get(&s->verdicts, site, &verdict)) return;
  to->verdict = (int)(verdict & 0xff);
  bool quiet = verdict & VERDICT_QUIET && likeliest(s, to->function, seen) < verdict >> VERDICT_LOUD;
  /* What was there is there; but memory may be short the second time, too. */
  to->again = verdict & VERDICT_AGAIN && site_likely_absent(s->likely, function);
  to->usual = quiet && verdict & VERDICT_USUAL;
  to->quiet = quiet && !site_likely_input(s->likely, function);
  /* What there is not is an answer for who asks; who does not look takes what was in memory for it. */
  if (to->verdict == 3 && !quiet && site_likely_nothing(s->likely, function)) to->excused = false;
  /* Only where the fault is kept, too: else it may have been looked for at the end in vain. */
  bool told = profile_facts_roles(s->facts, site_likely_written(s->likely, function)).stream >= 0;
  if (to->verdict != 0 || to->indirect || !told || !site_likely_keeps(s->likely, function)) return;
  to->excused = false;
  to->quiet = true;
}

/* Is an error no failure of who does not look? Input that is cut short is one, if nobody asks for it later. */
static bool is_excused(const struct test_space *s, const char *function) {
  if (!site_likely_excused(s->likely, function)) return false;
  bool told = !site_likely_input(s->likely, function);
  for (size_t i = 0; i < s->modules.functions.n && !told; i++)
    told = site_likely_told_by(s->likely, function, s->modules.functions.at[i]);
  return told;
}

static int add_point(struct test_space *s, const struct run_area *area, const struct wire_point *p) {
  struct wire_loaded loaded;
  struct inject_point add = {.hash = p->hash,
                             .count = p->count,
                             .function = p->function,
                             .verdict = 1,
                             .excused = is_excused(s, test_function(s, p->function))};
  bool known = p->n_frames && run_area_loaded(area, p->frames[0].module, &loaded);
  if (s->sites.n && !(known && is_wanted(s, test_path_of(s, loaded.path), p->frames[0].at))) return 0;
  if (known && is_indirect(s, loaded.path)) {
    struct site_call c = call_of(s, p->function, p);
    if (!test_is_for_program(s, area, p)) return 0;
    add.indirect = true;
    add.excused |= test_language_excuses(s, &c);
  }
  if (known && site_likely_closes(s->likely, test_function(s, p->function)))
    add.excused |= test_has_language(s, test_path_of(s, loaded.path));
  if (known) add_verdict(s, site_key(test_path_of(s, loaded.path), p->frames[0].at), p, &add);
  if (add.excused && site_likely_brings_out(s->likely, test_function(s, p->function))) {
    add.excused = false;
    add.quiet = true;
  }
  return vec_push(&s->points, add) < 0 || vec_push(&s->seen, *p) < 0 ? -ENOMEM : 0;
}

static int by_hash(const void *a, const void *b) {
  const struct wire_point *x = a, *y = b;
  return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* Some functions are in the plan because murphy itself must know of their calls. */
static bool has_rules(const struct test_space *s, uint32_t function) {
  const struct wire_function *f = test_plan_array(s, test_plan(s)->functions);
  return function < test_plan(s)->functions.n && f[function].n_rules;
}

static int note_call(const struct test_space *s, const struct wire_point *p, output_events *to);
static int note_outputs(struct test_space *s, output_events *events);

int test_take_points(struct test_space *s, const struct lab *l, struct err *e) {
  const struct run_area *area = lab_area(l);
  VEC(struct wire_point) found = {0};
  output_events events = {0};
  struct map known = {0};
  struct wire_point p;
  int r = 0;
  for (size_t i = 0; i < s->points.n && r == 0; i++)
    r = map_put(&known, s->points.at[i].hash, 1);
  for (uint32_t i = 0; (i = run_area_point_from(area, i)) < area->points.n && r == 0; i++)
    if (run_area_point(area, i, &p) && has_rules(s, p.function)) {
      r = note_call(s, &p, &events);
      bool witness = map_get(&s->witnesses, hash_string(test_function(s, p.function)), NULL);
      if (r == 0 && !witness && !map_get(&known, p.hash, NULL)) r = vec_push(&found, p);
    }
  map_done(&known);
  if (found.n) qsort(found.at, found.n, sizeof *found.at, by_hash);
  for (size_t i = 0; i < found.n && r == 0; i++)
    r = add_point(s, area, &found.at[i]);
  vec_done(&found);
  if (r == 0) r = note_outputs(s, &events);
  vec_done(&events);
  return r < 0 ? err_set(e, r, "out of memory") : 0;
}

static enum site_descriptor descriptor_of(uint8_t fd) {
  static const enum site_descriptor kinds[] = {
      [WIRE_FD_NONE] = DESCRIPTOR_NONE, [WIRE_FD_FILE] = DESCRIPTOR_FILE,     [WIRE_FD_DIR] = DESCRIPTOR_DIR,
      [WIRE_FD_PIPE] = DESCRIPTOR_PIPE, [WIRE_FD_SOCKET] = DESCRIPTOR_SOCKET, [WIRE_FD_TTY] = DESCRIPTOR_TTY,
  };
  return fd < COUNT(kinds) ? kinds[fd] : DESCRIPTOR_OTHER;
}

static struct site_call call_of(const struct test_space *s, uint32_t function, const struct wire_point *seen) {
  const struct wire_function *functions = test_plan_array(s, test_plan(s)->functions);
  struct site_call c = {.function = test_function(s, function),
                        .n_args = functions[function].n_args,
                        .descriptor = descriptor_of(seen->fd),
                        .nonblocking = seen->nonblocking,
                        .writable = seen->writable,
                        .local = seen->local,
                        .pending = seen->pending == WIRE_PENDING,
                        .any_handler = seen->handlers & WIRE_HANDLER,
                        .plain_handler = seen->handlers & WIRE_HANDLER_STOPS};
  if (c.n_args > COUNT(c.args)) c.n_args = COUNT(c.args);
  memcpy(c.args, seen->args, sizeof c.args);
  return c;
}

static struct site_call call_at(const struct test_space *s, const struct inject_point *p) {
  return call_of(s, p->function, &s->seen.at[p - s->points.at]);
}

/* So many functions that were not tried are named; of more, how many each library has. */
enum { UNTRIED_SHOWN = 8 };

int test_likely(void *context, const struct inject_point *p, const struct inject_fault *f) {
  const struct test_space *s = context;
  struct site_call c = call_at(s, p);
  if (p->again) return 0;
  /* That memory is short a library of a language says by an exception. */
  if (p->indirect && f->error == ENOMEM && f->act != WIRE_ACT_THROW) return 0;
  /* Whoever asks for a function that nothing is known about has a reason. */
  if (s->named && !site_likely_knows(s->likely, c.function)) return 1;
  if (f->act == WIRE_ACT_SHORT) return site_likely_short(s->likely, &c);
  return site_likely_of(s->likely, &c, f->error, f->retval);
}

static const char *home_of(const struct test_space *s, const char *function) {
  const struct program_module *home = program_modules_define(&s->modules, function);
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
  for (size_t i = 0; i < n && named; i++) {
    if (to->n) text_add(to, ", ");
    (void)name_readable(names[i], to);
  }
}

static bool is_alone(const struct test_space *s) {
  for (size_t i = 1; i < s->modules.modules.n; i++)
    if (s->modules.modules.at[i].program) return false;
  return true;
}

/* Who tests a program that leaves most of its work to a library may want to know how to test that. */
static void add_hint(const struct test_space *s, const struct test_scope *scope, const char *library, struct text *to) {
  text_add(to, " (--function tries those that it names");
  if (library && !scope->from.n && is_alone(s)) /* of several programs, it is not known which of them uses it */
    text_addf(to, "; --from %s,%s lets what the library calls fail, too", image_name(s->modules.modules.at[0].image),
              library);
  text_add(to, ")\n");
}

void test_note_untried(const struct test_space *s, const struct test_scope *scope, struct text *notes) {
  name_list names = {0};
  struct text told = {0};
  const char *largest = NULL;
  for (size_t i = 0; i < s->untried.n; i++)
    if (vec_push(&names, s->untried.at[i]) < 0) break;
  for (size_t i = 0; i < s->points.n && !s->named; i++) {
    struct site_call c = call_at(s, &s->points.at[i]);
    if (!site_likely_knows(s->likely, c.function) && vec_push(&names, c.function) < 0) break;
  }
  if (names.n) qsort_r(names.at, names.n, sizeof *names.at, by_home, (void *)(uintptr_t)s);
  size_t n = 0, most = 0;
  for (size_t i = 0; i < names.n; i++)
    if (!i || strcmp(names.at[i], names.at[n - 1]) != 0) names.at[n++] = names.at[i];
  for (size_t i = 0, k; i < n; i = k) {
    const char *home = home_of(s, names.at[i]);
    for (k = i; k < n && strcmp(home_of(s, names.at[k]), home) == 0;)
      k++;
    add_untried(names.at + i, k - i, home, n <= UNTRIED_SHOWN, &told);
    if (!*home || k - i <= most || test_is_c_library(s, home)) continue;
    largest = home;
    most = k - i;
  }
  if (told.n) {
    text_addf(notes, "not tried, since how likely they fail is not known: %s", told.at);
    add_hint(s, scope, largest, notes);
  }
  text_done(&told);
  vec_done(&names);
}

static uint64_t output_key(uint32_t process, uint64_t fd) { return hash_mix(((uint64_t)process << 32) + (uint32_t)fd); }

static int add_event(output_events *to, const struct wire_point *p, uint64_t fd, int what) {
  struct output_event add = {.key = output_key(p->process, fd), .hash = p->hash, .at = p->first, .what = what};
  return vec_push(to, add) < 0 ? -ENOMEM : 0;
}

/* What a call does to its descriptor. What is none, as a stream of zlib's, is known by its address. */
static int note_call(const struct test_space *s, const struct wire_point *p, output_events *to) {
  struct site_call c = call_of(s, p->function, p);
  uint64_t fd;
  int r = 0;
  if (c.n_args == 0) return 0;
  if (site_likely_writes(s->likely, &c, &fd) && (c.writable || c.descriptor == DESCRIPTOR_NONE))
    r = add_event(to, p, fd, OUTPUT_WRITTEN);
  bool ends = site_likely_closes(s->likely, c.function);
  bool tells = !ends && site_likely_traits(s->likely, &c, EIO, -1) & SITE_LOSES;
  return r < 0 || (!ends && !tells) ? r : add_event(to, p, c.args[0], ends ? OUTPUT_ENDED : OUTPUT_TOLD);
}

static int by_descriptor(const void *a, const void *b) {
  const struct output_event *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return x->at < y->at ? -1 : x->at > y->at;
}

/*
 * Which points close what was written since the descriptor's number had another end, and was not made safe by a call
 * that would have told of the loss itself. A point is where it was first: what comes later at the same stacks may be
 * missed.
 */
static int note_outputs(struct test_space *s, output_events *events) {
  int r = 0, known = 0;
  if (events->n) qsort(events->at, events->n, sizeof *events->at, by_descriptor);
  for (size_t i = 0; i < events->n && r == 0; i++) {
    const struct output_event *e = &events->at[i];
    if (i && e[-1].key != e->key) known = 0;
    if (e->what == OUTPUT_ENDED && known == OUTPUT_WRITTEN) r = map_put(&s->outputs, e->hash, 1);
    known = e->what == OUTPUT_ENDED ? 0 : known | (int)e->what;
  }
  return r;
}

unsigned test_traits(void *context, const struct inject_point *p, const struct inject_fault *f) {
  const struct test_space *s = context;
  struct site_call c = call_at(s, p);
  /* The rest may come with the next call, and who asks again and again for a byte too few would take for ever. */
  if (f->act == WIRE_ACT_SHORT) return TRAIT_PASSES;
  unsigned t = site_likely_traits(s->likely, &c, f->error, f->retval);
  bool rare = site_likely_of(s->likely, &c, f->error, f->retval) <= 1 && site_likely_input(s->likely, c.function);
  bool loses = t & SITE_LOSES && (!site_likely_closes(s->likely, c.function) || map_get(&s->outputs, p->hash, NULL));
  return (t & SITE_PASSES ? TRAIT_PASSES : 0) | (t & SITE_ANSWERS ? TRAIT_ANSWERS : 0) | (loses ? TRAIT_LOSES : 0) |
         (rare ? TRAIT_RARE_END : 0) | (t & SITE_LEAVES ? TRAIT_LEAVES : 0) | (t & SITE_GUARDS ? TRAIT_GUARDS : 0);
}
