/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of the program, as code: where they are, and the way to the part that is asked for.
 */
#include "scenario/plan.h"

#include <errno.h>
#include <string.h>

#define OPERAND_MAX 0xffffffu
#define SIGNED 16u

static int too_many(struct emitter *m, const struct expr *x) {
  return FAIL_AT(x->at, m->plan->e, -E2BIG, "the scenario is too large for a plan (write fewer rules)");
}

static int emit_static(struct emitter *m, const struct expr *x, const struct scenario_variable *v) {
  struct plan *p = m->plan;
  size_t at = p->numbers.n;
  if (vec_push(&p->numbers, (int64_t)v->module) < 0 || vec_push(&p->numbers, (int64_t)v->address) < 0)
    return plan_no_memory(p);
  return at > OPERAND_MAX ? too_many(m, x) : emit(m, v->of_thread ? WIRE_OP_TLS : WIRE_OP_STATIC, (uint32_t)at);
}

/*
 * When this place can be known: if it is memory, a register that is kept, or one that callers are known to set, always.
 */
enum readable { NEVER, IN_ITS_CALLS, ALWAYS };
static enum readable is_readable(const struct scenario_variable *v, const struct wire_location *l) {
  bool kept = l->reg == 3 || l->reg == 6 || l->reg == 7 || l->reg >= 12;
  bool argument = l->reg == 1 || l->reg == 2 || l->reg == 4 || l->reg == 5 || l->reg == 8 || l->reg == 9;
  if (l->kind == WIRE_AT_REGISTER || l->kind == WIRE_IS_REGISTER)
    return kept ? ALWAYS : argument ? IN_ITS_CALLS : NEVER;
  for (size_t i = 0; l->kind == WIRE_IS_ENTRY && i < v->entries.n; i++)
    if (v->entries.at[i].entry == l->reg) return ALWAYS;
  return l->kind != WIRE_IS_ENTRY ? ALWAYS : NEVER;
}

/* A condition about what the compiler has left nowhere looks like one that is never true. */
static void note_unreadable(const struct plan *p, const struct expr *x, const struct scenario_variable *v) {
  struct err note;
  enum readable best = NEVER;
  for (size_t i = 0; i < v->locations.n; i++) {
    enum readable one = is_readable(v, &v->locations.at[i]);
    if (one > best) best = one;
  }
  if (best == ALWAYS || !p->world->note) return;
  const char *function = x->args[0]->string;
  if (best == NEVER)
    (void)FAIL_AT(
        x->at, &note, -ENODATA,
        "the compiler has kept this variable of %.60s nowhere that can be read, so it is never known (compile "
        "with -O0 or -Og)",
        function);
  else
    (void)FAIL_AT(x->at, &note, -ENODATA,
                  "the compiler has kept this variable of %.60s in registers of arguments only, so it is known, if at "
                  "all, in calls that %.60s makes itself (compile with -O0 or -Og)",
                  function, function);
  p->world->note(p->world->context, note.text);
}

/* Which of several variables is taken must not be a secret. */
static void note_others(const struct plan *p, const struct expr *named, const struct scenario_variable *v) {
  struct err note;
  if (!v->other || !p->world->note) return;
  (void)FAIL_AT(named->at, &note, -ENOTUNIQ,
                "there are several variables '%.60s'; this is the one of %.60s (write \"%.60s::…\" for another)",
                named->string, v->file ? v->file : "?", v->other);
  p->world->note(p->world->context, note.text);
}

/* What is read of a local variable is read where its frame is found: its value may be in a register. */
static int emit_local(struct emitter *m, const struct expr *x, const struct scenario_variable *v, unsigned width,
                      bool sign) {
  struct plan *p = m->plan;
  struct scenario_frame frame = {.function = x->args[0]->string};
  struct wire_variable w = {.location = (uint32_t)p->locations.n,
                            .n_locations = (uint32_t)v->locations.n,
                            .width = (uint8_t)width,
                            .sign = sign,
                            .offset = v->steps[0].offset};
  int r = emit_places(m, &frame, x->args[0]->at, &w.place);
  for (size_t i = 0; i < v->locations.n && r >= 0; i++)
    if (vec_push(&p->locations, v->locations.at[i]) < 0) r = plan_no_memory(p);
  w.entry = (uint32_t)p->locations.n;
  w.n_entries = (uint32_t)v->entries.n;
  for (size_t i = 0; i < v->entries.n && r >= 0; i++)
    if (vec_push(&p->locations, v->entries.at[i]) < 0) r = plan_no_memory(p);
  if (r < 0) return r;
  if (vec_push(&p->variables, w) < 0) return plan_no_memory(p);
  return p->variables.n > OPERAND_MAX ? too_many(m, x) : emit(m, WIRE_OP_LOCAL, (uint32_t)p->variables.n - 1);
}

static int emit_load(struct emitter *m, unsigned width, bool sign) {
  return width ? emit(m, WIRE_OP_LOAD, width | (sign ? SIGNED : 0)) : 0;
}

/* The steps behind the first; the last one reads WIDTH bytes, or none if that is 0. */
static int emit_steps(struct emitter *m, const struct scenario_variable *v, unsigned width, bool sign) {
  int r = 0;
  for (size_t i = 1; i < v->n_steps && r >= 0; i++) {
    bool last = i + 1 == v->n_steps;
    if (v->steps[i].offset) {
      r = emit_number(m, v->steps[i].offset);
      if (r >= 0) r = emit(m, WIRE_OP_ADD, 0);
    }
    if (r >= 0) r = emit_load(m, last ? width : 8, last && sign);
  }
  return r;
}

static int emit_first(struct emitter *m, const struct expr *x, const struct scenario_variable *v, unsigned width,
                      bool sign) {
  bool only = v->n_steps == 1;
  if (v->local) return emit_local(m, x, v, only ? width : 8, only && sign);
  int r = emit_static(m, x, v);
  if (r >= 0 && v->steps[0].offset) r = emit_number(m, v->steps[0].offset);
  if (r >= 0 && v->steps[0].offset) r = emit(m, WIRE_OP_ADD, 0);
  return r < 0 ? r : emit_load(m, only ? width : 8, only && sign);
}

/* Its bits alone, with their sign. */
static int emit_bits(struct emitter *m, const struct scenario_variable *v) {
  if (!v->bits) return 0;
  int r = emit_number(m, 64 - (int64_t)v->bit - (int64_t)v->bits);
  if (r >= 0) r = emit(m, WIRE_OP_SHL, 0);
  if (r >= 0) r = emit_number(m, 64 - (int64_t)v->bits);
  if (r >= 0) r = emit(m, WIRE_OP_SHR, 0);
  if (r < 0 || v->sign || v->bits == 64) return r;
  r = emit_number(m, (int64_t)((1ull << v->bits) - 1));
  return r < 0 ? r : emit(m, WIRE_OP_AND, 0);
}

static int check(struct emitter *m, const struct expr *x, const struct scenario_variable *v, bool text) {
  if (text && !v->characters)
    return FAIL_AT(x->at, m->plan->e, -EINVAL, "this variable is no string: it has no characters (compare a number)");
  if (!text && v->characters && !v->pointer)
    return FAIL_AT(x->at, m->plan->e, -EINVAL, "this variable is an array of characters (compare it with a string)");
  return 0;
}

int emit_variable(struct emitter *m, const struct expr *x, bool text) {
  const struct scenario_world *w = m->plan->world;
  struct scenario_variable v = {0};
  struct err why = {0};
  bool global = x->kind == EXPR_GLOBAL, outer = x->kind == EXPR_OUTER;
  if (!w->find_variable) return FAIL_AT(x->at, m->plan->e, -ENOSYS, "variables of the program are not known here");
  int r = w->find_variable(w->context, global ? NULL : x->args[0]->string,
                           outer    ? NULL
                           : global ? x->args[0]->string
                                    : x->args[1]->string,
                           (unsigned)x->number, &v, &why);
  const struct expr *named = global || outer || r == -ESRCH ? x->args[0] : x->args[1];
  if (r < 0) r = FAIL_AT(named->at, m->plan->e, r, "%s", why.text[0] ? why.text : "there is no such variable");
  if (r >= 0) r = check(m, x, &v, text);
  if (r >= 0 && v.local) note_unreadable(m->plan, x, &v);
  if (r >= 0 && !v.local) note_others(m->plan, named, &v);
  /* An array of characters is where it is; of a pointer, where that points. */
  bool address = text && !v.pointer;
  unsigned width = address ? 0 : v.width;
  if (r >= 0) r = emit_first(m, x, &v, width, v.sign);
  if (r >= 0) r = emit_steps(m, &v, width, v.sign);
  if (r >= 0 && !text) r = emit_bits(m, &v);
  vec_done(&v.locations);
  vec_done(&v.entries);
  return r;
}
