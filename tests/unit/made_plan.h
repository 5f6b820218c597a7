/* SPDX-License-Identifier: Apache-2.0 */
/* Plans made by hand, for tests: what plan_compile would write, entry by entry. */
#pragma once

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "wire/wire.h"

#define OP(op, operand) ((uint32_t)(op) | (uint32_t)(operand) << 8)

struct made_plan {
  uint32_t flags, slots, area, preload;
  uint64_t seed;
  struct text text;
  VEC(struct wire_function) functions;
  VEC(struct wire_rule) rules;
  VEC(uint32_t) code;
  VEC(int64_t) numbers;
  VEC(struct wire_fault) faults;
  VEC(struct wire_side) sides;
  VEC(struct wire_module) modules;
  VEC(struct wire_place) places;
  VEC(struct wire_pattern) patterns;
  VEC(struct wire_row) rows;
  VEC(uint16_t) tables;
  VEC(struct wire_variable) variables;
  VEC(struct wire_location) locations;
  VEC(uint32_t) memories;
  uint32_t thread_slots;
};

#define made_must(condition)                                                                                           \
  do {                                                                                                                 \
    if (!(condition)) abort();                                                                                         \
  } while (0)

static inline uint32_t made_text(struct made_plan *p, const char *s) {
  if (p->text.n == 0) text_add_bytes(&p->text, "", 1);
  if (!*s) return 0;
  uint32_t at = (uint32_t)p->text.n;
  text_add_bytes(&p->text, s, strlen(s) + 1);
  return at;
}

/* An index for OP(WIRE_OP_NUMBER, ...). */
static inline uint32_t made_number(struct made_plan *p, int64_t value) {
  made_must(vec_push(&p->numbers, value) == 0);
  return (uint32_t)p->numbers.n - 1;
}

/* Rules that are added next belong to it. */
static inline struct wire_function *made_function(struct made_plan *p, const char *name) {
  made_must(vec_push(&p->functions, (struct wire_function){.name = made_text(p, name),
                                                           .rule = (uint32_t)p->rules.n,
                                                           .descriptor = -1,
                                                           .size = -1,
                                                           .stream = -1}) == 0);
  return &p->functions.at[p->functions.n - 1];
}

static inline struct wire_fault *made_fault(struct made_plan *p, int64_t retval, int error) {
  struct wire_fault f = {.retval = retval, .error = error, .side = (uint32_t)p->sides.n};
  made_must(vec_push(&p->faults, f) == 0);
  return &p->faults.at[p->faults.n - 1];
}

/* A side effect of the last fault. */
static inline void made_side(struct made_plan *p, struct wire_side side) {
  made_must(vec_push(&p->sides, side) == 0);
  p->faults.at[p->faults.n - 1].n_sides++;
}

/* A rule of the last function with the last fault. N 0: no condition. */
static inline struct wire_rule *made_rule(struct made_plan *p, const uint32_t *code, size_t n) {
  struct wire_rule r = {.code = n > 0 ? (uint32_t)p->code.n : WIRE_NO_CODE,
                        .fault = (uint32_t)p->faults.n - 1,
                        .n_faults = 1,
                        .slot = p->slots++,
                        .first = 1,
                        .last = UINT64_MAX};
  for (size_t i = 0; i < n; i++)
    made_must(vec_push(&p->code, code[i]) == 0);
  made_must(vec_push(&p->rules, r) == 0);
  p->functions.at[p->functions.n - 1].n_rules++;
  return &p->rules.at[p->rules.n - 1];
}
#define MADE_RULE(p, ...)                                                                                              \
  made_rule(p, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static inline struct wire_span made_span(struct text *out, const void *at, size_t n, size_t size) {
  static const char zeros[8];
  text_add_bytes(out, zeros, (8 - out->n % 8) % 8);
  struct wire_span s = {.at = (uint32_t)out->n, .n = (uint32_t)n};
  if (n > 0) text_add_bytes(out, at, n * size);
  return s;
}
#define MADE_SPAN(out, v) made_span(out, (v).at, (v).n, sizeof *(v).at)

/* The sum anew, after something was changed. */
static inline void made_sum(struct text *plan) {
  struct wire_plan *p = (void *)plan->at;
  size_t from = offsetof(struct wire_plan, sum) + sizeof p->sum;
  p->sum = wire_sum(plan->at + from, plan->n - from);
}

static inline struct text made_bytes(struct made_plan *p) {
  struct text out = {0};
  (void)made_text(p, "");
  struct wire_plan w = {.magic = WIRE_PLAN_MAGIC, .version = WIRE_VERSION, .header = sizeof w};
  text_add_bytes(&out, &w, sizeof w);
  w.flags = p->flags, w.slots = p->slots, w.seed = p->seed, w.area = p->area, w.preload = p->preload;
  w.text = made_span(&out, p->text.at, p->text.n, 1);
  w.functions = MADE_SPAN(&out, p->functions);
  w.rules = MADE_SPAN(&out, p->rules);
  w.code = MADE_SPAN(&out, p->code);
  w.numbers = MADE_SPAN(&out, p->numbers);
  w.faults = MADE_SPAN(&out, p->faults);
  w.sides = MADE_SPAN(&out, p->sides);
  w.modules = MADE_SPAN(&out, p->modules);
  w.places = MADE_SPAN(&out, p->places);
  w.patterns = MADE_SPAN(&out, p->patterns);
  w.rows = MADE_SPAN(&out, p->rows);
  w.tables = MADE_SPAN(&out, p->tables);
  w.variables = MADE_SPAN(&out, p->variables);
  w.locations = MADE_SPAN(&out, p->locations);
  w.memories = MADE_SPAN(&out, p->memories);
  w.thread_slots = p->thread_slots;
  made_must(!out.failed);
  w.size = out.n;
  memcpy(out.at, &w, sizeof w);
  made_sum(&out);
  return out;
}

static inline void made_done(struct made_plan *p) {
  text_done(&p->text);
  vec_done(&p->functions);
  vec_done(&p->rules);
  vec_done(&p->code);
  vec_done(&p->numbers);
  vec_done(&p->faults);
  vec_done(&p->sides);
  vec_done(&p->modules);
  vec_done(&p->places);
  vec_done(&p->patterns);
  vec_done(&p->rows);
  vec_done(&p->tables);
  vec_done(&p->variables);
  vec_done(&p->locations);
  vec_done(&p->memories);
}
