/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a plan one whose every index can be used? Asked once, before anything uses it, in murphy and in the target alike:
 * nothing is allocated, nothing is called.
 */
#include "wire.h"

#define MAX_SLOTS (1u << 20)
#define MAX_FUNCTIONS (1u << 16)
#define MAX_THREAD_SLOTS 4096
#define MAX_MEMORIES 16

static bool span_fits(const struct wire_plan *p, struct wire_span s, size_t size) {
  if (s.n == 0) return s.at <= p->size;
  return s.at % 8 == 0 && s.at >= sizeof *p && s.at <= p->size && s.n <= (p->size - s.at) / size;
}

static const void *array(const struct wire_plan *p, struct wire_span s) { return (const char *)p + s.at; }

static bool run_fits(uint32_t first, uint32_t n, uint32_t of) { return first <= of && n <= of - first; }

static const char *check_header(const struct wire_plan *p, size_t size) {
  if (size < sizeof *p || (uintptr_t)p % 8 != 0) return "too short for a plan";
  if (p->magic != WIRE_PLAN_MAGIC) return "not a plan";
  if (p->version != WIRE_VERSION || p->header != sizeof *p) return "a plan of another version";
  if (p->size != size) return "cut off";
  size_t from = offsetof(struct wire_plan, sum) + sizeof p->sum;
  if (wire_sum((const char *)p + from, size - from) != p->sum) return "damaged";
  if (p->slots > MAX_SLOTS || p->functions.n > MAX_FUNCTIONS || p->thread_slots > MAX_THREAD_SLOTS ||
      p->memories.n > MAX_MEMORIES)
    return "too large";
  return NULL;
}

static const char *check_spans(const struct wire_plan *p) {
  bool good =
      span_fits(p, p->text, 1) && span_fits(p, p->functions, sizeof(struct wire_function)) &&
      span_fits(p, p->rules, sizeof(struct wire_rule)) && span_fits(p, p->code, sizeof(uint32_t)) &&
      span_fits(p, p->numbers, sizeof(int64_t)) && span_fits(p, p->faults, sizeof(struct wire_fault)) &&
      span_fits(p, p->sides, sizeof(struct wire_side)) && span_fits(p, p->modules, sizeof(struct wire_module)) &&
      span_fits(p, p->places, sizeof(struct wire_place)) && span_fits(p, p->patterns, sizeof(struct wire_pattern)) &&
      span_fits(p, p->rows, sizeof(struct wire_row)) && span_fits(p, p->triggers, sizeof(struct wire_trigger)) &&
      span_fits(p, p->settings, sizeof(struct wire_setting)) && span_fits(p, p->tables, sizeof(uint16_t)) &&
      span_fits(p, p->variables, sizeof(struct wire_variable)) &&
      span_fits(p, p->locations, sizeof(struct wire_location)) && span_fits(p, p->memories, sizeof(uint32_t));
  if (!good) return "a table that lies outside";
  const char *text = array(p, p->text);
  if (p->text.n == 0 || text[0] != 0 || text[p->text.n - 1] != 0 || p->area >= p->text.n || p->preload >= p->text.n)
    return "bad text";
  return NULL;
}

static const char *check_functions(const struct wire_plan *p) {
  const struct wire_function *f = array(p, p->functions);
  for (uint32_t i = 0; i < p->functions.n; i++, f++) {
    if (f->name == 0 || f->name >= p->text.n || f->version >= p->text.n || f->written >= p->text.n)
      return "a function without a name";
    if (!run_fits(f->rule, f->n_rules, p->rules.n) || f->n_args > WIRE_ARGS || f->hook >= WIRE_HOOK_COUNT)
      return "a bad function";
    if (f->descriptor < -1 || f->descriptor >= WIRE_MAX_ARGS || f->size < -1 || f->size >= WIRE_MAX_ARGS ||
        f->stream < WIRE_STDOUT || f->stream >= WIRE_MAX_ARGS)
      return "a bad argument of a function";
  }
  return NULL;
}

/* All arguments that say a length are in registers. */
static bool length_fits(uint32_t length, uint32_t argument) {
  return length < WIRE_LENGTH_COUNT && argument + (length == WIRE_LENGTH_VECTOR) < 6 &&
         argument >= (length == WIRE_LENGTH_ITEMS);
}

static bool width_fits(uint32_t width) { return width == 1 || width == 2 || width == 4 || width == 8; }

static const char *check_variables(const struct wire_plan *p) {
  const struct wire_variable *v = array(p, p->variables);
  for (uint32_t i = 0; i < p->variables.n; i++, v++)
    if (v->place >= p->places.n || !run_fits(v->location, v->n_locations, p->locations.n) ||
        !run_fits(v->entry, v->n_entries, p->locations.n) || (v->width != 0 && !width_fits(v->width)))
      return "a bad variable";
  const struct wire_location *l = array(p, p->locations);
  for (uint32_t i = 0; i < p->locations.n; i++, l++)
    if (l->module >= p->modules.n || l->kind >= WIRE_LOCATION_COUNT || l->reg > 15 || l->entry > 15)
      return "a bad place of a variable";
  const uint32_t *memory = array(p, p->memories);
  for (uint32_t i = 0; i < p->memories.n; i++)
    if (memory[i] >= p->text.n) return "a bad file of stacks";
  return NULL;
}

static const char *check_faults(const struct wire_plan *p) {
  const struct wire_fault *f = array(p, p->faults);
  for (uint32_t i = 0; i < p->faults.n; i++, f++) {
    if (f->ret > WIRE_KEEP || !run_fits(f->side, f->n_sides, p->sides.n) || f->act >= WIRE_ACT_COUNT)
      return "a bad fault";
    if (f->act == WIRE_ACT_SHORT && (!length_fits(f->length, f->argument) || f->retval < 0)) return "a bad length";
  }
  const struct wire_side *s = array(p, p->sides);
  for (uint32_t i = 0; i < p->sides.n; i++, s++) {
    if (s->kind > WIRE_SIDE_MISNAMED || !width_fits(s->width) || s->name >= p->text.n) return "a bad side effect";
    if (s->kind == WIRE_SIDE_MISNAMED && s->argument >= WIRE_ARGS) return "a name that is no argument";
    bool by_argument = s->kind == WIRE_SIDE_ARG || (s->kind == WIRE_SIDE_STREAM && s->name == 0);
    if (by_argument && s->argument >= WIRE_MAX_ARGS) return "a side effect behind no argument";
    bool by_module = (s->kind == WIRE_SIDE_GLOBAL || s->kind == WIRE_SIDE_TLS) && s->name == 0;
    if (by_module && s->module >= p->modules.n) return "a side effect in no module";
  }
  return NULL;
}

static const char *check_places(const struct wire_plan *p) {
  const struct wire_module *m = array(p, p->modules);
  for (uint32_t i = 0; i < p->modules.n; i++, m++)
    if (m->name >= p->text.n || !run_fits(m->row, m->n_rows, p->rows.n) || m->n_build_id > sizeof m->build_id)
      return "a bad module";
  const struct wire_place *place = array(p, p->places);
  for (uint32_t i = 0; i < p->places.n; i++, place++)
    if (place->module >= p->modules.n || place->start > place->end) return "a bad place";
  const struct wire_row *row = array(p, p->rows);
  for (uint32_t i = 0; i < p->rows.n; i++, row++)
    if (row->cfa >= WIRE_CFA_COUNT) return "a bad row for unwinding";
  const struct wire_pattern *pattern = array(p, p->patterns);
  for (uint32_t i = 0, frames = 0; i < p->patterns.n; i++, pattern++) {
    if (pattern->place >= p->places.n || pattern->within >= p->places.n || ++frames > WIRE_PATTERN_MAX ||
        pattern->flags >> WIRE_AGAIN >= frames)
      return "a bad pattern of frames";
    if (pattern->flags & WIRE_LAST) frames = 0;
  }
  /* Every run ends, since the last one does. */
  if ((p->places.n > 0 && !(place[-1].flags & WIRE_LAST)) || (p->patterns.n > 0 && !(pattern[-1].flags & WIRE_LAST)))
    return "a set without an end";
  return NULL;
}

static const char *check_triggers(const struct wire_plan *p) {
  const struct wire_trigger *t = array(p, p->triggers);
  for (uint32_t i = 0; i < p->triggers.n; i++, t++) {
    if (t->kind >= WIRE_TRIGGER_COUNT || t->id >= p->text.n || t->class >= p->text.n || t->file >= p->text.n)
      return "a bad trigger";
    if (!run_fits(t->setting, t->n_settings, p->settings.n) || t->n_address > sizeof t->address) return "a bad trigger";
  }
  const struct wire_setting *s = array(p, p->settings);
  for (uint32_t i = 0; i < p->settings.n; i++, s++)
    if (s->name >= p->text.n || s->value >= p->text.n) return "a bad argument of a trigger";
  return NULL;
}

/* --- conditions --------------------------------------------------------------------------------------------------- */

/* How many values an instruction takes and gives, and what its operand is. */
enum operand {
  NO_OPERAND,
  A_NUMBER,
  AN_ARG,
  A_SLOT,
  A_PLACE,
  A_PATTERN,
  A_TEXT,
  A_JUMP,
  A_SERIES,
  A_LENGTH,
  A_MATCH,
  A_WIDTH,
  A_STATIC,
  A_VARIABLE,
  A_MARK,
  A_MEMORY,
  A_STREAM,
  A_TRIGGER
};
static const struct {
  uint8_t takes, gives, operand;
} shapes[WIRE_OP_COUNT] = {
    [WIRE_OP_END] = {1, 0, NO_OPERAND},
    [WIRE_OP_NUMBER] = {0, 1, A_NUMBER},
    [WIRE_OP_ARG] = {0, 1, AN_ARG},
    [WIRE_OP_CALL] = {0, 1, NO_OPERAND},
    [WIRE_OP_NEXT] = {0, 1, A_SLOT},
    [WIRE_OP_ONCE] = {0, 1, A_SLOT},
    [WIRE_OP_RANDOM] = {2, 1, A_SLOT},
    [WIRE_OP_CALLER] = {0, 1, A_PLACE},
    [WIRE_OP_STACK] = {0, 1, A_PATTERN},
    [WIRE_OP_FD_KIND] = {1, 1, NO_OPERAND},
    [WIRE_OP_FD_BLOCKS] = {1, 1, 0},
    [WIRE_OP_FD_PATH] = {1, 1, A_TEXT},
    [WIRE_OP_POINT] = {0, 1, NO_OPERAND},
    [WIRE_OP_PROCESS] = {0, 1, 0},
    [WIRE_OP_ORDER] = {0, 1, 0},
    [WIRE_OP_EQ] = {2, 1, 0},
    [WIRE_OP_NE] = {2, 1, NO_OPERAND},
    [WIRE_OP_LT] = {2, 1, 0},
    [WIRE_OP_LE] = {2, 1, 0},
    [WIRE_OP_GT] = {2, 1, NO_OPERAND},
    [WIRE_OP_GE] = {2, 1, 0},
    [WIRE_OP_ADD] = {2, 1, 0},
    [WIRE_OP_SUB] = {2, 1, NO_OPERAND},
    [WIRE_OP_MUL] = {2, 1, 0},
    [WIRE_OP_DIV] = {2, 1, 0},
    [WIRE_OP_MOD] = {2, 1, NO_OPERAND},
    [WIRE_OP_AND] = {2, 1, 0},
    [WIRE_OP_OR] = {2, 1, 0},
    [WIRE_OP_XOR] = {2, 1, NO_OPERAND},
    [WIRE_OP_SHL] = {2, 1, 0},
    [WIRE_OP_SHR] = {2, 1, 0},
    [WIRE_OP_NOT] = {1, 1, NO_OPERAND},
    [WIRE_OP_NEG] = {1, 1, 0},
    [WIRE_OP_IS_ZERO] = {1, 1, 0},
    [WIRE_OP_IF_ZERO] = {1, 0, A_JUMP},
    [WIRE_OP_IF_SET] = {1, 0, A_JUMP},
    [WIRE_OP_SERIES] = {1, 1, A_SERIES},
    [WIRE_OP_LENGTH] = {0, 1, A_LENGTH},
    [WIRE_OP_KNOWN] = {1, 1, NO_OPERAND},
    [WIRE_OP_MATCH] = {1, 1, A_MATCH},
    [WIRE_OP_LOAD] = {1, 1, A_WIDTH},
    [WIRE_OP_STATIC] = {0, 1, A_STATIC},
    [WIRE_OP_TLS] = {0, 1, A_STATIC},
    [WIRE_OP_LOCAL] = {0, 1, A_VARIABLE},
    [WIRE_OP_THREAD] = {0, 1, NO_OPERAND},
    [WIRE_OP_TIME] = {0, 1, NO_OPERAND},
    [WIRE_OP_MARK] = {1, 1, A_MARK},
    [WIRE_OP_MARKED] = {0, 1, A_MARK},
    [WIRE_OP_SINCE] = {0, 1, A_MARK},
    [WIRE_OP_STREAM] = {1, 1, A_STREAM},
    [WIRE_OP_WRITTEN] = {1, 1, NO_OPERAND},
    [WIRE_OP_FRESH] = {0, 1, A_MEMORY},
    [WIRE_OP_ASK] = {0, 1, A_TRIGGER},
};

/* Every state that it can come to is one of its own. */
static bool automaton_fits(const struct wire_plan *p, uint64_t at) {
  const uint16_t *t = (const uint16_t *)array(p, p->tables) + at;
  if (at >= p->tables.n || p->tables.n - at < WIRE_TABLE_HEAD) return false;
  uint32_t states = t[0], classes = t[1];
  if (states == 0 || classes == 0 || (uint64_t)states * (classes + 1) > p->tables.n - at - WIRE_TABLE_HEAD)
    return false;
  for (uint32_t i = 0; i < 256; i++)
    if (t[2 + i] >= classes) return false;
  for (uint32_t i = 0; i < states * (classes + 1); i++)
    if (i % (classes + 1) != 0 && t[WIRE_TABLE_HEAD + i] >= states) return false;
  return true;
}

static bool match_fits(const struct wire_plan *p, uint32_t at) {
  const int64_t *n = (const int64_t *)array(p, p->numbers) + at;
  if (at + 2 >= p->numbers.n || n[0] < 0 || n[0] >= WIRE_TEXT_COUNT || n[1] < 0 || n[2] < 0) return false;
  if ((n[1] & ~(int64_t)WIRE_MATCH_NOT) >= WIRE_MATCH_COUNT) return false;
  bool regex = (n[1] & ~(int64_t)WIRE_MATCH_NOT) == WIRE_MATCH_REGEX;
  return regex ? automaton_fits(p, (uint64_t)n[2]) : (uint64_t)n[2] < p->text.n;
}

static bool operand_fits(const struct wire_plan *p, enum operand kind, uint32_t operand) {
  switch (kind) {
  case A_NUMBER:
    return operand < p->numbers.n;
  case AN_ARG:
    return operand < WIRE_MAX_ARGS;
  case A_SLOT:
    return operand < p->slots;
  case A_PLACE:
    return operand < p->places.n;
  case A_PATTERN:
    return operand < p->patterns.n;
  case A_TEXT:
    return operand < p->text.n;
  case A_JUMP:
    return operand < p->code.n;
  case A_SERIES: {
    const int64_t *series = (const int64_t *)array(p, p->numbers) + operand;
    return operand + 2 < p->numbers.n && series[0] >= 0 && series[2] > 0;
  }
  case A_MATCH:
    return match_fits(p, operand);
  case A_WIDTH:
    return width_fits(operand & 15) && operand < 32;
  case A_STATIC: {
    const int64_t *pair = (const int64_t *)array(p, p->numbers) + operand;
    return operand + 1 < p->numbers.n && pair[0] >= 0 && pair[0] < p->modules.n;
  }
  case A_VARIABLE:
    return operand < p->variables.n;
  case A_MARK:
    return operand < p->thread_slots;
  case A_STREAM:
    return operand == 0 || operand == -WIRE_STDIN || operand == -WIRE_STDOUT;
  case A_MEMORY:
    return operand < p->memories.n;
  case A_LENGTH:
    return length_fits(operand & 15, operand >> 4);
  case A_TRIGGER:
    return operand < p->triggers.n;
  case NO_OPERAND:
    return operand == 0;
  }
  return false;
}

/* Jumps that have not arrived yet: where, and how deep the stack is then. */
struct landings {
  unsigned n;
  struct {
    uint32_t at;
    int depth;
  } of[WIRE_STACK * 2];
};

static bool land_later(struct landings *l, uint32_t at, int depth) {
  for (unsigned i = 0; i < l->n; i++)
    if (l->of[i].at == at) return l->of[i].depth == depth;
  if (l->n == sizeof l->of / sizeof l->of[0]) return false;
  l->of[l->n].at = at;
  l->of[l->n++].depth = depth;
  return true;
}

/* Jumps that land at AT do so with DEPTH values. */
static bool land(struct landings *l, uint32_t at, int depth) {
  for (unsigned i = 0; i < l->n; i++)
    if (l->of[i].at == at) {
      if (l->of[i].depth != depth) return false;
      l->of[i] = l->of[--l->n];
      return true;
    }
  return true;
}

static const char *check_condition(const struct wire_plan *p, uint32_t at) {
  const uint32_t *code = array(p, p->code);
  struct landings later = {0};
  int depth = 0;
  for (; at < p->code.n; at++) {
    uint32_t op = code[at] & 0xff, operand = code[at] >> 8;
    if (op >= WIRE_OP_COUNT || !operand_fits(p, shapes[op].operand, operand)) return "an unknown instruction";
    if (!land(&later, at, depth) || depth < shapes[op].takes) return "a condition that takes more than there is";
    if (op == WIRE_OP_END) return depth == 1 && later.n == 0 ? NULL : "a condition that does not end with one value";
    /* A jump keeps the value that it looked at. */
    if (shapes[op].operand == A_JUMP && !land_later(&later, at + 1 + operand, depth))
      return "jumps that do not fit together";
    depth += shapes[op].gives - shapes[op].takes;
    if (depth > WIRE_STACK) return "a condition that is too deep";
  }
  return "a condition without an end";
}

static const char *check_rules(const struct wire_plan *p) {
  const struct wire_rule *r = array(p, p->rules);
  const struct wire_fault *faults = array(p, p->faults);
  for (uint32_t i = 0; i < p->rules.n; i++, r++) {
    if (!run_fits(r->fault, r->n_faults, p->faults.n) || (r->n_faults == 0 && !(r->flags & WIRE_UNUSED)))
      return "a rule without a fault";
    if (r->trigger >= p->text.n || r->slot >= p->slots) return "a bad rule";
    for (uint32_t k = 0; k < r->n_faults; k++)
      if (faults[r->fault + k].ret == WIRE_KEEP && !(r->flags & WIRE_THEN))
        return "a fault that keeps a value that is not there";
    const char *bad = r->code == WIRE_NO_CODE ? NULL : check_condition(p, r->code);
    if (bad) return bad;
  }
  return NULL;
}

const char *wire_plan_check(const void *plan, size_t size) {
  const struct wire_plan *p = plan;
  const char *bad = check_header(p, size);
  if (!bad) bad = check_spans(p);
  if (!bad) bad = check_functions(p);
  if (!bad) bad = check_faults(p);
  if (!bad) bad = check_places(p);
  if (!bad) bad = check_triggers(p);
  if (!bad) bad = check_variables(p);
  if (!bad) bad = check_rules(p);
  return bad;
}
