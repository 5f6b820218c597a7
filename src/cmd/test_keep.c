/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was done goes to the campaign as it comes: an experiment is in the database before the next one of its lab
 * begins, so that whoever kills murphy loses what was running and nothing else. Those by branches come when the run
 * that they branch from has ended, after about a second.
 *
 * A campaign that goes on finds its experiments by what they are (the stack, the fault, which time), since the numbers
 * of points may be others after another baseline.
 */
#include "cmd/test.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *const verdicts[] = {"all", "unknown", "some", "none"};

/* --- what there is to do ------------------------------------------------------------------------------------------ */

/* People know functions by the names that they write: open, where the binary imports __open64_2. */
static const char *shown_function(const struct test_space *space, uint32_t i) {
  return site_likely_written(space->likely, test_function(space, i));
}

static int add_point(struct test_keeper *k, struct run_symbols *symbols, size_t i, struct err *e) {
  const struct test_space *space = &k->setup->space;
  const struct inject_point *p = &space->points.at[i];
  struct store_point add = {.hash = p->hash,
                            .function = shown_function(space, p->function),
                            .count = p->count,
                            .verdict = verdicts[p->verdict & 3]};
  struct run_symbol s = {0};
  if (space->seen.at[i].n_frames && run_symbols_at(symbols, &space->seen.at[i].frames[0], &s)) {
    const struct image_frame *f = s.n_frames ? &s.frames[0] : NULL;
    add.module = s.module;
    add.offset = s.offset;
    add.in = f && f->function ? f->function : s.function;
    add.file = f ? f->relative ? f->relative : f->file : NULL;
    add.line = f ? f->line : 0;
  }
  int r = store_add_point(k->store, &add, e);
  return r < 0 ? r : map_put(&k->stored, p->hash, (uint64_t)add.id);
}

int test_keeper_points(struct test_keeper *k, const struct lab *l, struct err *e) {
  const struct test_space *space = &k->setup->space;
  struct run_symbols *symbols = NULL;
  int r = run_symbols_new(&k->setup->space.modules, lab_area(l), &symbols);
  if (r < 0) return err_set(e, r, "out of memory");
  for (size_t i = k->points.n; i < space->points.n && r == 0; i++) {
    uint64_t id = 0;
    if (!map_get(&k->stored, space->points.at[i].hash, NULL)) r = add_point(k, symbols, i, e);
    if (r == 0 && map_get(&k->stored, space->points.at[i].hash, &id)) r = vec_push(&k->points, (int64_t)id);
  }
  run_symbols_free(symbols);
  return r;
}

/* N, of each function of the plan: what others that are shown by the same name have goes to the first of them. */
static void gather_names(const struct test_space *space, uint64_t *n, uint32_t n_functions) {
  for (uint32_t i = 0; i < n_functions; i++)
    for (uint32_t k = i + 1; n[i] && k < n_functions; k++)
      if (n[k] && strcmp(shown_function(space, i), shown_function(space, k)) == 0) {
        n[i] += n[k];
        n[k] = 0;
      }
}

/* How many experiments there are for each function. */
static int add_plan(struct test_keeper *k, struct err *e) {
  const struct test_space *space = &k->setup->space;
  const struct wire_plan *plan = (const struct wire_plan *)space->plan.at;
  uint64_t *n = calloc(plan->functions.n + 1, sizeof *n);
  if (!n) return err_set(e, -ENOMEM, "out of memory");
  for (size_t i = 0; i < k->n_experiments; i++)
    n[space->faults.at[inject_last_call(&k->experiments[i].x)->fault].function]++;
  gather_names(space, n, plan->functions.n);
  int r = 0;
  for (uint32_t i = 0; i < plan->functions.n && r == 0; i++)
    if (n[i]) r = store_plan(k->store, shown_function(space, i), n[i], e);
  free(n);
  return r;
}

/* --- what was done before ----------------------------------------------------------------------------------------- */

struct past {
  struct test_keeper *k;
  struct map experiments; /* by key: id and an enum sweep_before */
  struct map keys;        /* of injections, by the ids of experiments that they are last of */
};

enum { BEFORE_BITS = 2 };

static int take_point(void *context, const struct store_point *p) {
  struct past *past = context;
  return map_put(&past->k->stored, p->hash, (uint64_t)p->id);
}

static int take_experiment(void *context, const struct store_experiment *x) {
  struct past *past = context;
  struct inject_fault f = {.retval = x->retval, .error = x->error, .act = (uint8_t)inject_act_named(x->act)};
  struct injection list[2] = {0};
  uint32_t n = 0;
  if (x->first && !map_get(&past->keys, (uint64_t)x->first, &list[n++].key)) return 0;
  list[n++].key = inject_key(x->hash, x->nth, x->onwards, &f);
  if (map_put(&past->keys, (uint64_t)x->id, list[n - 1].key) < 0) return -ENOMEM;
  const struct experiment made = {.n = n, .injections = list};
  /* A failure that nobody had time to repeat is made once more, and takes the same row. */
  bool unsure = x->doubt && x->precision < 0;
  uint64_t before = x->finding ? BEFORE_FAILED : unsure ? BEFORE_NOTHING : BEFORE_DONE;
  return map_put(&past->experiments, experiment_key(&made), (uint64_t)x->id << BEFORE_BITS | before);
}

static int take_finding(void *context, const struct store_finding *f) {
  struct test_keeper *k = ((struct past *)context)->k;
  struct campaign_failure add = {.outcome = outcome_named(f->kind), .signal = f->signal};
  /* Which weight it had is not kept; but one that stays has less than one that does not. */
  struct test_shown shown = {.hash = f->onwards ? f->hash : 0, .weight = INT_MIN, .onwards = f->onwards};
  struct campaign_stack *stacks[] = {&add.inject, &add.crash};
  for (int i = 0; i < 2; i++) {
    if (!f->n_keys[i]) continue;
    stacks[i]->at = arena_memdup(&k->arena, f->keys[i], f->n_keys[i] * sizeof **f->keys);
    stacks[i]->n = f->n_keys[i];
    if (!stacks[i]->at) return -ENOMEM;
  }
  return vec_push(&k->known, add) < 0 || vec_push(&k->shown, shown) < 0 ? -ENOMEM : 0;
}

static int find_past(struct test_keeper *k, struct past *past, struct err *e) {
  int r = store_points(k->store, take_point, past, e);
  if (r == 0) r = store_experiments(k->store, take_experiment, past, e);
  if (r == 0) r = store_findings(k->store, take_finding, past, e);
  if (r < 0) return r;
  uint64_t value;
  for (size_t i = 0; i < k->n_experiments; i++) {
    if (!map_get(&past->experiments, experiment_key(&k->experiments[i].x), &value)) continue;
    k->before[i] = value & ((1u << BEFORE_BITS) - 1);
    k->ids[i] = (int64_t)(value >> BEFORE_BITS);
    if (k->experiments[i].x.n == 1 && map_put(&k->made, experiment_key(&k->experiments[i].x), value >> BEFORE_BITS) < 0)
      return -ENOMEM;
  }
  return 0;
}

int test_keeper_start(struct test_keeper *k, struct err *e) {
  struct past past = {.k = k};
  free(k->before);
  free(k->ids);
  k->known.n = k->shown.n = 0;
  k->before = calloc(k->n_experiments + 1, sizeof *k->before);
  k->ids = calloc(k->n_experiments + 1, sizeof *k->ids);
  if (!k->before || !k->ids) return err_set(e, -ENOMEM, "out of memory");
  int r = find_past(k, &past, e);
  map_done(&past.keys);
  map_done(&past.experiments);
  if (r == 0) r = test_keeper_points(k, k->setup->recorder, e);
  if (r == 0) r = add_plan(k, e);
  return r < 0 ? r : store_flush(k->store, e);
}

void test_keeper_done(struct test_keeper *k) {
  vec_done(&k->points);
  free(k->before);
  free(k->ids);
  map_done(&k->stored);
  map_done(&k->made);
  vec_done(&k->known);
  vec_done(&k->shown);
  arena_done(&k->arena);
}

/* --- what becomes of it ------------------------------------------------------------------------------------------- */

enum { REASON_NAME = SANDBOX_WHY + 32 };

/* So many experiments were made in one way for a reason; *ret_name is where that is kept. */
static int64_t count_reason(const struct test_keeper *k, const char *way, const char *why, char ret_name[REASON_NAME]) {
  int64_t n = 0;
  (void)snprintf(ret_name, REASON_NAME, "%s: %s", way, why);
  const char *value = store_get(k->store, ret_name);
  return value && number_parse(value, &n) == 0 ? n : 0;
}

/* For each way in which experiments are made, the reason of the most; and the counts, for a campaign that goes on. */
static int keep_reason(struct test_keeper *k, const struct lab_result *result, struct err *e) {
  static const char *const ways[LAB_MODES] = {[LAB_EXEC] = "why_exec", [LAB_FORK] = "why_fork"};
  const char *way = ways[result->mode];
  char name[REASON_NAME], first_name[REASON_NAME], first[SANDBOX_WHY], number[24];
  if (!result->why[0] || !way) return 0;
  int64_t n = count_reason(k, way, result->why, name) + 1;
  (void)snprintf(number, sizeof number, "%" PRId64, n);
  int r = store_set(k->store, name, number, e);
  const char *value = store_get(k->store, way);
  (void)snprintf(first, sizeof first, "%s", value ? value : "");
  if (r < 0 || strcmp(first, result->why) == 0 || n <= count_reason(k, way, first, first_name)) return r;
  return store_set(k->store, way, result->why, e);
}

/* Of two faults, the experiment of the first alone. */
static int64_t first_id(const struct test_keeper *k, const struct experiment *x) {
  const struct experiment first = experiment_prefix(x);
  uint64_t id = 0;
  if (first.n) (void)map_get(&k->made, experiment_key(&first), &id);
  return (int64_t)id;
}

static int add_experiment(struct test_keeper *k, const struct sweep_done *d, int64_t *ret_id, struct err *e) {
  const struct experiment *x = &k->experiments[d->experiment].x;
  const struct inject_call *call = inject_last_call(x);
  const struct inject_fault *f = &k->setup->space.faults.at[call->fault];
  const struct wire_event *event = lab_last_event(d->result);
  struct store_experiment add = {.point = k->points.at[call->point],
                                 .first = first_id(k, x),
                                 .nth = call->nth,
                                 .onwards = call->persistent,
                                 .retval = f->retval,
                                 .error = f->error,
                                 .act = inject_act_word(f->act),
                                 .doubt = d->doubt,
                                 .mode = lab_mode_words[d->result->mode],
                                 .outcome = outcome_words[d->outcome],
                                 .status = d->result->seen.status,
                                 .call = event->call,
                                 .process = event->process,
                                 .seconds = (double)d->result->wall_ns / 1e9,
                                 .precision = d->traced ? d->precision : -1,
                                 .difference = outcome_is_failure(d->outcome) ? d->difference : NULL,
                                 .finding = (int64_t)d->finding,
                                 .replaces = k->before[d->experiment] == BEFORE_NOTHING ? k->ids[d->experiment] : 0};
  int r = store_add_experiment(k->store, &add, e);
  if (r == 0) *ret_id = k->ids[d->experiment] = add.id;
  if (r == 0 && x->n == 1) r = map_put(&k->made, experiment_key(x), (uint64_t)add.id);
  return r < 0 ? r : keep_reason(k, d->result, e);
}

static struct test_finding describe(const struct test_keeper *k, const struct sweep_done *d) {
  const struct test_space *space = &k->setup->space;
  const struct experiment *x = &k->experiments[d->experiment].x;
  const struct inject_call *call = inject_last_call(x);
  const struct inject_fault *fault = &space->faults.at[call->fault];
  const struct wire_event *event = lab_last_event(d->result);
  struct test_finding f = {
      .id = (int64_t)d->finding,
      .kind = outcome_words[d->outcome],
      .signal = d->outcome == OUTCOME_HANG || d->outcome == OUTCOME_SILENT ? 0 : campaign_signal(d->result),
      .function = test_function(space, fault->function),
      .written = shown_function(space, fault->function),
      .hash = space->points.at[call->point].hash,
      .nth = call->nth,
      .onwards = call->persistent,
      .call = event->call,
      .process = event->process,
      .retval = fault->retval,
      .error = fault->error,
      .act = inject_act_word(fault->act)};
  if (x->n < 2) return f;
  call = inject_call_of(&x->injections[0]);
  fault = &space->faults.at[call->fault];
  event = &d->result->events[0];
  f.first_written = shown_function(space, fault->function);
  f.first_hash = space->points.at[call->point].hash;
  f.first = (struct store_first){.function = test_function(space, fault->function),
                                 .act = inject_act_word(fault->act),
                                 .retval = fault->retval,
                                 .error = fault->error,
                                 .nth = call->nth,
                                 .call = event->call,
                                 .process = event->process};
  return f;
}

static int add_frames(struct test_keeper *k, int64_t finding, enum store_stack stack, const test_frames *frames,
                      struct err *e) {
  int r = 0;
  for (size_t i = 0; i < frames->n && r == 0; i++)
    r = store_add_frame(k->store, finding, stack, i, &frames->at[i], e);
  return r;
}

static int store_finding_rows(struct test_keeper *k, const struct sweep_done *d, const struct test_finding *f,
                              const test_frames *crash, int64_t experiment, struct err *e) {
  struct store_finding add = {
      .id = f->id,
      .kind = f->kind,
      .signal = f->signal,
      .experiment = experiment,
      .precision = d->precision,
      .difference = d->difference,
      .keys = {d->failure->inject.at, d->failure->crash.at},
      .n_keys = {d->failure->inject.n, d->failure->crash.n},
  };
  int r = store_add_finding(k->store, &add, e);
  if (r == 0) r = add_frames(k, f->id, STORE_INJECT, &f->inject, e);
  if (r == 0) r = add_frames(k, f->id, STORE_FIRST, &f->first_stack, e);
  return r < 0 ? r : add_frames(k, f->id, STORE_CRASH, crash, e);
}

static int name_stacks(struct test_keeper *k, const struct sweep_done *d, struct arena *arena, struct test_finding *f,
                       test_frames *crash) {
  struct run_symbols *symbols = NULL;
  int r = run_symbols_new(&k->setup->space.modules, lab_area(d->lab), &symbols);
  if (r == 0 && d->modules) run_symbols_tell(symbols, d->modules);
  if (r == 0) r = test_name_inject(symbols, lab_last_event(d->result), arena, &f->inject);
  if (r == 0 && f->first.function) r = test_name_inject(symbols, &d->result->events[0], arena, &f->first_stack);
  if (r == 0 && d->traced) r = test_name_crash(symbols, d->traced, arena, crash);
  run_symbols_free(symbols);
  return r;
}

static struct test_shown shown_of(const struct test_keeper *k, const struct sweep_done *d) {
  const struct candidate *c = &k->experiments[d->experiment];
  const struct inject_call *call = inject_last_call(&c->x);
  return (struct test_shown){.hash = k->setup->space.points.at[call->point].hash,
                             .weight = 2 * c->weight + !call->persistent,
                             .onwards = call->persistent};
}

/* The folder first: a finding that is in the database can be repeated. */
static int add_finding(struct test_keeper *k, const struct sweep_done *d, int64_t experiment, struct err *e) {
  struct test_finding f = describe(k, d);
  struct arena arena = {0};
  test_frames crash = {0};
  int r = name_stacks(k, d, &arena, &f, &crash);
  if (r < 0) (void)err_set(e, r, "out of memory");
  if (r == 0) r = test_finding_write(k, &f, d, e);
  if (r == 0) r = store_finding_rows(k, d, &f, &crash, experiment, e);
  if (r == 0) r = vec_push(&k->shown, shown_of(k, d));
  vec_done(&f.inject);
  vec_done(&f.first_stack);
  vec_done(&crash);
  arena_done(&arena);
  return r;
}

/*
 * One more experiment with the same cause; at one stack, a likelier fault is clearer, and one that comes once is
 * clearer than one that stays: that is what weighs more. But how often a finding comes again is told of the one that
 * stands for it, so this must have been repeated; only instead of one that stays, one that comes once does.
 */
static int join_finding(struct test_keeper *k, const struct sweep_done *d, int64_t experiment, struct err *e) {
  struct test_finding f = describe(k, d);
  struct test_shown now = shown_of(k, d), *shown = d->finding <= k->shown.n ? &k->shown.at[d->finding - 1] : NULL;
  if (!shown || shown->hash != now.hash || f.onwards || now.weight <= shown->weight) return 0;
  if (!d->traced && !shown->onwards) return 0;
  struct arena arena = {0};
  test_frames crash = {0};
  *shown = now;
  int r = name_stacks(k, d, &arena, &f, &crash);
  if (r == 0) r = test_finding_write(k, &f, d, e);
  if (r == 0) r = store_update_finding(k->store, f.id, experiment, e);
  vec_done(&f.inject);
  vec_done(&f.first_stack);
  vec_done(&crash);
  arena_done(&arena);
  return r;
}

int test_keeper_add(struct test_keeper *k, const struct sweep_done *d, struct err *e) {
  int64_t id = 0;
  int r = add_experiment(k, d, &id, e);
  if (r == 0 && d->finding) r = d->is_new ? add_finding(k, d, id, e) : join_finding(k, d, id, e);
  return r < 0 ? r : store_flush(k->store, e);
}
