/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions as code for the target's stack machine.
 */
#include "scenario/classes.h"

#include <errno.h>
#include <string.h>

#define OPERAND_MAX 0xffffffu

static int too_deep(const struct emitter *m) {
  return FAIL_AT(m->at, m->plan->e, -E2BIG, "this condition is nested too deeply (write several rules)");
}

static int too_many(const struct emitter *m) {
  return FAIL_AT(m->at, m->plan->e, -E2BIG, "the scenario is too large for a plan (write fewer rules)");
}

/* How many values the instruction takes off the stack; all but END and the jumps leave one. */
static unsigned takes(enum wire_op op) {
  switch (op) {
  case WIRE_OP_FD_KIND:
  case WIRE_OP_FD_BLOCKS:
  case WIRE_OP_FD_PATH:
  case WIRE_OP_NOT:
  case WIRE_OP_NEG:
  case WIRE_OP_IS_ZERO:
  case WIRE_OP_SERIES:
  case WIRE_OP_KNOWN:
  case WIRE_OP_MATCH:
  case WIRE_OP_LOAD:
  case WIRE_OP_MARK:
  case WIRE_OP_STREAM:
  case WIRE_OP_WRITTEN:
  case WIRE_OP_END:
    return 1;
  case WIRE_OP_RANDOM:
    return 2;
  default:
    return op >= WIRE_OP_EQ && op <= WIRE_OP_SHR ? 2 : 0;
  }
}

int emit(struct emitter *m, enum wire_op op, uint32_t operand) {
  MUST(m->depth >= takes(op) && operand <= OPERAND_MAX);
  m->depth += (op != WIRE_OP_END) - takes(op);
  if (m->depth > WIRE_STACK) return too_deep(m);
  return vec_push(&m->plan->code, (uint32_t)op | operand << 8) < 0 ? plan_no_memory(m->plan) : 0;
}

int emit_number(struct emitter *m, int64_t number) {
  struct plan *p = m->plan;
  size_t i = 0;
  /* Plans have few numbers, and the newest are the likeliest. */
  while (i < p->numbers.n && i < 64 && p->numbers.at[p->numbers.n - 1 - i] != number)
    i++;
  size_t at = p->numbers.n - 1 - i;
  if (i == p->numbers.n || i == 64) {
    at = p->numbers.n;
    if (vec_push(&p->numbers, number) < 0) return plan_no_memory(p);
  }
  if (at > OPERAND_MAX) return too_many(m);
  return emit(m, WIRE_OP_NUMBER, (uint32_t)at);
}

int emit_jump(struct emitter *m, enum wire_op op, size_t *ret) {
  MUST(m->depth > 0);
  if (++m->pending > WIRE_STACK) return too_deep(m);
  *ret = m->plan->code.n;
  m->depth--;
  return vec_push(&m->plan->code, (uint32_t)op) < 0 ? plan_no_memory(m->plan) : 0;
}

int emit_land(struct emitter *m, size_t jump) {
  size_t distance = m->plan->code.n - jump - 1;
  if (distance > OPERAND_MAX) return too_deep(m);
  m->pending--;
  m->plan->code.at[jump] |= (uint32_t)distance << 8;
  return 0;
}

int emit_series(struct emitter *m, int64_t from, int64_t to, int64_t step) {
  struct plan *p = m->plan;
  size_t at = p->numbers.n;
  if (from == to) {
    int r = emit_number(m, from);
    return r < 0 ? r : emit(m, WIRE_OP_EQ, 0);
  }
  if (vec_push(&p->numbers, from) < 0 || vec_push(&p->numbers, to) < 0 || vec_push(&p->numbers, step) < 0)
    return plan_no_memory(p);
  if (at > OPERAND_MAX) return too_many(m);
  return emit(m, WIRE_OP_SERIES, (uint32_t)at);
}

uint64_t plan_draw_seed(struct plan *p, const void *owner) {
  uint64_t ordinal;
  if (!map_get(&p->draws, (uintptr_t)owner, &ordinal)) ordinal = p->draws.n;
  (void)map_put(&p->draws, (uintptr_t)owner, ordinal);
  return hash_mix(p->world->seed ^ hash_mix(ordinal + 1));
}

int emit_random(struct emitter *m, const void *owner, double chance, uint64_t seed) {
  uint32_t slot;
  int r = plan_slot(m->plan, owner, &slot);
  if (r >= 0 && slot > OPERAND_MAX) r = too_many(m);
  if (r >= 0) r = emit_number(m, (int64_t)(chance * 0x1p63));
  if (r >= 0) r = emit_number(m, (int64_t)seed);
  return r < 0 ? r : emit(m, WIRE_OP_RANDOM, slot);
}

/* --- places ------------------------------------------------------------------------------------------------------- */

int emit_places(struct emitter *m, const struct scenario_frame *frame, struct where at, uint32_t *ret) {
  const struct scenario_world *w = m->plan->world;
  struct scenario_places *places = &m->plan->places;
  size_t first = places->places.n;
  struct err why = {0};
  if (!w->places) return FAIL_AT(at, m->plan->e, -ENOSYS, "places in the program are not known here");
  int r = w->places(w->context, frame, places, &why);
  if (r >= 0 && places->places.n == first) r = -ENOENT;
  if (r < 0)
    return FAIL_AT(at, m->plan->e, r, "%s", why.text[0] ? why.text : "no code of the program is meant by this");
  for (size_t i = first; i < places->places.n; i++)
    places->places.at[i].flags &= ~(uint32_t)WIRE_LAST;
  places->places.at[places->places.n - 1].flags |= WIRE_LAST;
  if (first > OPERAND_MAX) return too_many(m);
  *ret = (uint32_t)first;
  return 0;
}

/* At a tail call, the caller has no frame any more: a condition about it looks like one that is never true. */
static void note_jumps(const struct emitter *m, struct where at, uint32_t place) {
  const struct scenario_world *w = m->plan->world;
  const char *function = m->subject->name;
  struct err note;
  if (!w->note || !w->only_jumps || !w->only_jumps(w->context, &m->plan->places.places.at[place], function)) return;
  (void)FAIL_AT(at, &note, -ENODATA,
                "this code only jumps to %.60s, in a tail call, so it is not its caller and this is never true "
                "(compile with -fno-optimize-sibling-calls)",
                function);
  w->note(w->context, note.text);
}

int emit_caller(struct emitter *m, const struct scenario_frame *frame, struct where at) {
  uint32_t place;
  int r = emit_places(m, frame, at, &place);
  if (r >= 0 && !frame->has_offset) note_jumps(m, at, place);
  return r < 0 ? r : emit(m, WIRE_OP_CALLER, place);
}

/* Is the frame a call of the function itself? */
static bool is_call(const struct emitter *m, const struct scenario_frame *frame, uint32_t place) {
  const struct scenario_world *w = m->plan->world;
  const struct wire_place *p = &m->plan->places.places.at[place];
  return frame->has_offset && p->flags & WIRE_LAST && w->calls && w->calls(w->context, p, m->subject->name);
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

static bool same_frame(const struct scenario_frame *a, const struct scenario_frame *b) {
  return same_text(a->module, b->module) && same_text(a->function, b->function) && same_text(a->file, b->file) &&
         same_text(a->any, b->any) && a->line == b->line;
}

/*
 * Where the frame before frame I of the pattern was inlined into it. A function that was inlined into itself is there
 * so many times and no more: where the pattern has it again, all that is between the two must be there as well.
 */
static int add_within(struct emitter *m, const struct scenario_frame *frames, size_t i, uint32_t before,
                      struct wire_pattern *to) {
  const struct scenario_world *w = m->plan->world;
  struct scenario_places *places = &m->plan->places;
  size_t first = places->places.n, from = 0;
  while (from + 1 < i && !same_frame(&frames[from], &frames[i]))
    from++;
  int r = w->within ? w->within(w->context, &frames[from], i - from + 1, before, to->place, places) : 0;
  if (r < 0) return plan_no_memory(m->plan);
  if (places->places.n == first) return 0;
  places->places.at[places->places.n - 1].flags |= WIRE_LAST;
  to->flags |= WIRE_WITHIN;
  to->within = (uint32_t)first;
  return 0;
}

/* How many frames right before frame I are the same. */
static uint32_t count_again(const struct scenario_frame *frames, size_t i) {
  uint32_t n = 0;
  while (n < i && same_frame(&frames[i - n - 1], &frames[i]))
    n++;
  return n;
}

int emit_stack(struct emitter *m, const struct scenario_frame *frames, size_t n, bool sites, struct where at) {
  struct plan *p = m->plan;
  size_t first = p->patterns.n;
  uint32_t before = 0;
  for (size_t i = 0; i < n; i++) {
    struct wire_pattern pattern = {.flags = (i + 1 == n ? WIRE_LAST : 0) | count_again(frames, i) << WIRE_AGAIN};
    int r = emit_places(m, &frames[i], at, &pattern.place);
    if (r < 0) return r;
    if (sites && n == 1 && is_call(m, &frames[i], pattern.place)) return emit(m, WIRE_OP_CALLER, pattern.place);
    if (i > 0) r = add_within(m, frames, i, before, &pattern);
    if (r < 0) return r;
    before = pattern.place;
    if (vec_push(&p->patterns, pattern) < 0) return plan_no_memory(p);
  }
  if (first > OPERAND_MAX) return too_many(m);
  return emit(m, WIRE_OP_STACK, (uint32_t)first);
}

/* --- expressions -------------------------------------------------------------------------------------------------- */

/*
 * Behind a comparison, or a number that is taken for a truth: what is not known is false, whatever it was compared
 * with.
 */
static int emit_known(struct emitter *m, const struct expr *x) {
  bool compares = x->kind == EXPR_BINARY && x->type == TYPE_TRUTH; /* and has said so itself */
  return !compares && expr_may_be_unknown(x) ? emit(m, WIRE_OP_KNOWN, 0) : 0;
}

/* As 0 or 1. */
int emit_truth(struct emitter *m, const struct expr *x) {
  int r = emit_expr(m, x);
  if (r >= 0 && x->type != TYPE_TRUTH) r = emit(m, WIRE_OP_IS_ZERO, 0);
  if (r >= 0 && x->type != TYPE_TRUTH) r = emit(m, WIRE_OP_IS_ZERO, 0);
  return r < 0 ? r : emit_known(m, x);
}

static int emit_joined(struct emitter *m, const struct expr *x) {
  size_t jump;
  int r = emit_truth(m, x->args[0]);
  if (r >= 0) r = emit_jump(m, x->kind == EXPR_AND ? WIRE_OP_IF_ZERO : WIRE_OP_IF_SET, &jump);
  if (r >= 0) r = emit_truth(m, x->args[1]);
  return r < 0 ? r : emit_land(m, jump);
}

static int emit_once(struct emitter *m, const void *owner) {
  uint32_t slot;
  int r = plan_slot(m->plan, owner, &slot);
  if (r >= 0 && slot > OPERAND_MAX) r = too_many(m);
  return r < 0 ? r : emit(m, WIRE_OP_ONCE, slot);
}

static int emit_frames(struct emitter *m, const struct expr *x) {
  struct scenario_frame frames[EXPR_ARGS];
  for (size_t i = 0; i < x->n_args; i++)
    if (frame_parse(&m->plan->arena, x->args[i]->string, &frames[i]) < 0) return plan_no_memory(m->plan);
  if (x->kind == EXPR_CALLER) return emit_caller(m, frames, x->args[0]->at);
  return emit_stack(m, frames, x->n_args, false, x->args[0]->at);
}

int emit_expr(struct emitter *m, const struct expr *x) {
  int r = 0;
  switch (x->kind) {
  case EXPR_NUMBER:
    return emit_number(m, x->number);
  case EXPR_CALL:
    return emit(m, WIRE_OP_CALL, 0);
  case EXPR_PROCESS:
    return emit(m, WIRE_OP_PROCESS, 0);
  case EXPR_ORDERED:
    return emit(m, WIRE_OP_ORDER, 0);
  case EXPR_ONCE:
    return emit_once(m, x);
  case EXPR_RANDOM:
    return emit_random(m, x, x->real, plan_draw_seed(m->plan, x));
  case EXPR_CALLER:
  case EXPR_STACK:
    return emit_frames(m, x);
  case EXPR_TRIGGER:
    return x->trigger->class->emit(m, x->trigger);
  case EXPR_AND:
  case EXPR_OR:
    return emit_joined(m, x);
  case EXPR_NOT:
    r = emit_expr(m, x->args[0]);
    if (r >= 0) r = emit(m, WIRE_OP_IS_ZERO, 0);
    return r < 0 ? r : emit_known(m, x->args[0]);
  case EXPR_UNARY:
    r = emit_expr(m, x->args[0]);
    return r < 0 ? r : emit(m, x->op, 0);
  case EXPR_BINARY:
    r = emit_expr(m, x->args[0]);
    if (r >= 0) r = emit_expr(m, x->args[1]);
    if (r >= 0) r = emit(m, x->op, 0);
    return r >= 0 && x->type == TYPE_TRUTH && expr_may_be_unknown(x) ? emit(m, WIRE_OP_KNOWN, 0) : r;
  default:
    return emit_operand(m, x);
  }
}

int plan_condition(struct plan *p, const struct subject *s, const struct expr *x, uint32_t *ret) {
  struct emitter m = {.plan = p, .subject = s, .at = x->at};
  size_t start = p->code.n;
  int r = emit_expr(&m, x);
  if (r >= 0 && x->type != TYPE_TRUTH) r = emit_known(&m, x);
  if (r >= 0) r = emit(&m, WIRE_OP_END, 0);
  if (r < 0) return r;
  MUST(m.depth == 0);
  *ret = (uint32_t)start;
  return 0;
}
