/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What became of the experiments: counts, and the findings with their stacks in names and lines.
 */
#include "cmd/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int test_record_start(struct test_record *r, const struct test_summary *about, struct err *e) {
  *r = (struct test_record){.about = *about};
  r->was_done = calloc(about->n_experiments + 1, sizeof *r->was_done);
  return r->was_done ? 0 : err_set(e, -ENOMEM, "out of memory");
}

/* The worst first; among equals, in the order in which they were found. */
static int worth(const struct test_finding *f) {
  static const int order[OUTCOMES] = {
      [OUTCOME_CRASH] = 5, [OUTCOME_SANITIZER] = 4, [OUTCOME_SILENT] = 3, [OUTCOME_HANG] = 2, [OUTCOME_ABORT] = 1};
  return order[f->kind];
}

static int by_worth(const void *a, const void *b) {
  const struct test_finding *x = a, *y = b;
  if (worth(x) != worth(y)) return worth(x) > worth(y) ? -1 : 1;
  return x->experiment < y->experiment ? -1 : x->experiment > y->experiment;
}

void test_record_finish(struct test_record *r) {
  if (r->findings.n) qsort(r->findings.at, r->findings.n, sizeof *r->findings.at, by_worth);
}

void test_record_done(struct test_record *r) {
  vec_done(&r->findings);
  free(r->was_done);
  arena_done(&r->arena);
}

static const char *keep(struct test_record *r, const char *s) { return s ? arena_strdup(&r->arena, s) : NULL; }

/* A symbol may stand for several functions, inlined into each other. */
static int add_symbol(struct test_record *r, const struct run_symbol *s, struct test_frame *frames, size_t *n,
                      size_t max) {
  size_t k = s->n_frames ? s->n_frames : 1;
  for (size_t i = 0; i < k && *n < max; i++) {
    const struct image_frame *f = s->n_frames ? &s->frames[i] : NULL;
    const char *function = f && f->function ? f->function : i + 1 == k ? s->function : NULL;
    frames[(*n)++] = (struct test_frame){.module = keep(r, s->module),
                                         .path = keep(r, s->path),
                                         .offset = s->offset,
                                         .function = keep(r, function),
                                         .file = keep(r, f ? f->relative ? f->relative : f->file : NULL),
                                         .line = f ? f->line : 0};
  }
  return 0;
}

enum { FRAMES = 96 };

static int keep_stack(struct test_record *r, const struct test_frame *frames, size_t n, struct test_stack *ret) {
  struct test_frame *copy = arena_memdup(&r->arena, frames, (n ? n : 1) * sizeof *frames);
  if (!copy) return -ENOMEM;
  *ret = (struct test_stack){.frames = copy, .n = n};
  return 0;
}

static int name_stacks(struct test_record *r, const struct sweep_done *d, struct test_finding *f) {
  struct run_symbols *symbols = NULL;
  struct run_symbol s;
  struct test_frame frames[FRAMES];
  size_t n = 0;
  int code = run_symbols_new(&r->about.space->modules, lab_area(d->lab), &symbols);
  if (code < 0) return code;
  for (size_t i = 0; i < d->result->event.n_frames && i < WIRE_FRAMES; i++) {
    (void)run_symbols_at(symbols, &d->result->event.frames[i], &s);
    (void)add_symbol(r, &s, frames, &n, COUNT(frames));
  }
  code = keep_stack(r, frames, n, &f->inject);
  n = 0;
  for (size_t i = 0; code == 0 && d->traced && i < d->traced->n_frames; i++) {
    run_symbols_frame(symbols, &d->traced->frames[i], &s);
    (void)add_symbol(r, &s, frames, &n, COUNT(frames));
  }
  if (code == 0) code = keep_stack(r, frames, n, &f->crash);
  run_symbols_free(symbols);
  return code;
}

static int add_finding(struct test_record *r, const struct sweep_done *d) {
  const struct campaign_experiment *x = &r->about.experiments[d->experiment];
  const struct campaign_fault *fault = &r->about.space->faults.at[x->fault];
  int status = d->result->seen.status;
  struct test_finding f = {.kind = d->outcome,
                           .signal = (status & 0x7f) && (status & 0x7f) != 0x7f ? status & 0x7f : 0,
                           .function = test_function(r->about.space, fault->function),
                           .call = d->result->event.call,
                           .nth = x->nth,
                           .process = d->result->event.process,
                           .retval = fault->retval,
                           .error = fault->error,
                           .onwards = x->onwards,
                           .difference = keep(r, d->difference),
                           .count = 1,
                           .precision = d->precision,
                           .experiment = d->experiment};
  int code = name_stacks(r, d, &f);
  return code < 0 ? code : vec_push(&r->findings, f);
}

/* One more experiment with the same cause; the clearest one stands for all. */
static void join_finding(struct test_record *r, const struct sweep_done *d) {
  struct test_finding *f = &r->findings.at[d->finding - 1];
  const struct campaign_experiment *x = &r->about.experiments[d->experiment];
  const struct campaign_fault *fault = &r->about.space->faults.at[x->fault];
  f->count++;
  if (!f->onwards || x->onwards || strcmp(f->function, test_function(r->about.space, fault->function)) != 0) return;
  f->onwards = false;
  f->nth = x->nth;
  f->call = d->result->event.call;
  f->process = d->result->event.process;
  f->retval = fault->retval;
  f->error = fault->error;
  f->experiment = d->experiment;
}

int test_record_add(struct test_record *r, const struct sweep_done *d, struct err *e) {
  r->outcomes[d->outcome]++;
  r->modes[d->result->mode]++;
  if (!r->why[0]) memcpy(r->why, d->result->why, sizeof r->why);
  r->done++;
  r->was_done[d->experiment] = true;
  if (!d->finding) {
    r->unconfirmed += d->traced != NULL;
    return 0;
  }
  if (!d->is_new) {
    join_finding(r, d);
    return 0;
  }
  int code = add_finding(r, d);
  return code < 0 ? err_set(e, code, "out of memory") : 0;
}
