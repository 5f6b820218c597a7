/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan for people to read.
 */
#include "scenario/scenario.h"

static const char *const op_names[WIRE_OP_COUNT] = {
    [WIRE_OP_END] = "end",
    [WIRE_OP_NUMBER] = "number",
    [WIRE_OP_ARG] = "argument",
    [WIRE_OP_CALL] = "call",
    [WIRE_OP_NEXT] = "next",
    [WIRE_OP_ONCE] = "once",
    [WIRE_OP_RANDOM] = "random",
    [WIRE_OP_CALLER] = "caller",
    [WIRE_OP_STACK] = "stack",
    [WIRE_OP_FD_KIND] = "kind",
    [WIRE_OP_FD_BLOCKS] = "blocks",
    [WIRE_OP_FD_PATH] = "path",
    [WIRE_OP_POINT] = "point",
    [WIRE_OP_PROCESS] = "process",
    [WIRE_OP_ORDER] = "ordered",
    [WIRE_OP_EQ] = "==",
    [WIRE_OP_NE] = "!=",
    [WIRE_OP_LT] = "<",
    [WIRE_OP_LE] = "<=",
    [WIRE_OP_GT] = ">",
    [WIRE_OP_GE] = ">=",
    [WIRE_OP_ADD] = "+",
    [WIRE_OP_SUB] = "-",
    [WIRE_OP_MUL] = "*",
    [WIRE_OP_DIV] = "/",
    [WIRE_OP_MOD] = "%",
    [WIRE_OP_AND] = "&",
    [WIRE_OP_OR] = "|",
    [WIRE_OP_XOR] = "^",
    [WIRE_OP_SHL] = "<<",
    [WIRE_OP_SHR] = ">>",
    [WIRE_OP_NOT] = "~",
    [WIRE_OP_NEG] = "negate",
    [WIRE_OP_IS_ZERO] = "not",
    [WIRE_OP_IF_ZERO] = "unless",
    [WIRE_OP_IF_SET] = "if",
    [WIRE_OP_SERIES] = "series",
    [WIRE_OP_LENGTH] = "length",
    [WIRE_OP_KNOWN] = "known",
    [WIRE_OP_MATCH] = "match",
    [WIRE_OP_LOAD] = "load",
    [WIRE_OP_STATIC] = "static",
    [WIRE_OP_TLS] = "of thread",
    [WIRE_OP_LOCAL] = "local",
    [WIRE_OP_THREAD] = "thread",
    [WIRE_OP_TIME] = "time",
    [WIRE_OP_MARK] = "mark",
    [WIRE_OP_MARKED] = "marked",
    [WIRE_OP_SINCE] = "since",
    [WIRE_OP_STREAM] = "descriptor of",
    [WIRE_OP_WRITTEN] = "written",
    [WIRE_OP_FRESH] = "fresh",
    [WIRE_OP_ASK] = "ask",
};

static const char *const length_names[WIRE_LENGTH_COUNT] = {"bytes", "items", "vector", "message"};

struct dump {
  const struct wire_plan *plan;
  struct text *to;
};

#define ARRAY(d, type, field) ((const type *)(const void *)((const char *)(d)->plan + (d)->plan->field.at))

static const char *string(const struct dump *d, uint32_t at) { return ARRAY(d, char, text) + at; }

static void add_place(const struct dump *d, const struct wire_place *p) {
  const struct wire_module *m = &ARRAY(d, struct wire_module, modules)[p->module];
  text_add(d->to, " ");
  text_add_plain(d->to, string(d, m->name));
  if (!(p->flags & WIRE_ANYWHERE))
    text_addf(d->to, "[0x%llx,0x%llx)", (unsigned long long)p->start, (unsigned long long)p->end);
}

static void add_places(const struct dump *d, uint32_t at) {
  const struct wire_place *p = &ARRAY(d, struct wire_place, places)[at];
  for (;; p++) {
    add_place(d, p);
    if (p->flags & WIRE_LAST) return;
  }
}

static void add_pattern(const struct dump *d, uint32_t at) {
  const struct wire_pattern *p = &ARRAY(d, struct wire_pattern, patterns)[at];
  for (;; p++) {
    text_add(d->to, p->flags & WIRE_NEXT ? " (next" : " (");
    add_places(d, p->place);
    if (p->flags & WIRE_WITHIN) text_add(d->to, " or around it at");
    if (p->flags & WIRE_WITHIN) add_places(d, p->within);
    text_add(d->to, " )");
    if (p->flags & WIRE_LAST) return;
  }
}

static void add_trigger(const struct dump *d, const struct wire_trigger *t) {
  const struct wire_setting *s = &ARRAY(d, struct wire_setting, settings)[t->setting];
  text_addf(d->to, " %s %s of ", string(d, t->class), string(d, t->id));
  text_add_plain(d->to, string(d, t->file));
  for (uint32_t i = 0; i < t->n_settings; i++) {
    text_addf(d->to, " %s=", string(d, s[i].name));
    text_add_json(d->to, string(d, s[i].value));
  }
  if (t->kind == WIRE_TRIGGER_HUB) text_addf(d->to, " within %u ms", t->patience);
}

static void add_match(const struct dump *d, const int64_t *n) {
  static const char *const texts[WIRE_TEXT_COUNT] = {"text", "path", "thread", "program"};
  static const char *const ways[WIRE_MATCH_COUNT] = {"is", "glob", "regex"};
  int64_t way = n[1] & ~(int64_t)WIRE_MATCH_NOT;
  text_addf(d->to, " %s%s %s ", texts[n[0]], n[1] & WIRE_MATCH_NOT ? " not" : "", ways[way]);
  if (way == WIRE_MATCH_REGEX)
    text_addf(d->to, "of %u states", ARRAY(d, uint16_t, tables)[n[2]]);
  else
    text_add_json(d->to, string(d, (uint32_t)n[2]));
}

static void add_location(const struct dump *d, const struct wire_location *l) {
  static const char *const kinds[WIRE_LOCATION_COUNT] = {"at cfa", "at",      "at",     "at thread's", "cfa",
                                                         "",       "address", "number", "entered with"};
  static const char *const registers[16] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
                                            "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
  bool named = l->kind == WIRE_AT_REGISTER || l->kind == WIRE_IS_REGISTER || l->kind == WIRE_IS_ENTRY;
  text_addf(d->to, "%s%s%s %lld", kinds[l->kind], named && *kinds[l->kind] ? " " : "", named ? registers[l->reg] : "",
            (long long)l->offset);
}

static void add_local(const struct dump *d, uint32_t at) {
  const struct wire_variable *v = &ARRAY(d, struct wire_variable, variables)[at];
  text_addf(d->to, " + %lld (%u bytes%s) in", (long long)v->offset, v->width, v->sign ? ", signed" : "");
  add_places(d, v->place);
  for (uint32_t i = 0; i < v->n_locations; i++) {
    const struct wire_location *l = &ARRAY(d, struct wire_location, locations)[v->location + i];
    text_addf(d->to, "; [0x%llx,0x%llx) ", (unsigned long long)l->start, (unsigned long long)l->end);
    add_location(d, l);
  }
  if (v->n_entries) text_addf(d->to, "; called from %u places", v->n_entries);
}

static void add_operand(const struct dump *d, enum wire_op op, uint32_t operand) {
  switch (op) {
  case WIRE_OP_NUMBER:
    text_addf(d->to, " %lld", (long long)ARRAY(d, int64_t, numbers)[operand]);
    break;
  case WIRE_OP_SERIES: {
    const int64_t *series = &ARRAY(d, int64_t, numbers)[operand];
    text_addf(d->to, " %lld to %lld step %lld", (long long)series[0], (long long)series[1], (long long)series[2]);
    break;
  }
  case WIRE_OP_LENGTH:
    text_addf(d->to, " in %s of %u", length_names[operand & 15], operand >> 4);
    break;
  case WIRE_OP_MATCH:
    add_match(d, &ARRAY(d, int64_t, numbers)[operand]);
    break;
  case WIRE_OP_LOAD:
    text_addf(d->to, " %u bytes%s", operand & 15, operand & 16 ? ", signed" : "");
    break;
  case WIRE_OP_TLS:
  case WIRE_OP_STATIC: {
    const int64_t *pair = &ARRAY(d, int64_t, numbers)[operand];
    text_addf(d->to, " %s + 0x%llx", string(d, ARRAY(d, struct wire_module, modules)[pair[0]].name),
              (unsigned long long)pair[1]);
    break;
  }
  case WIRE_OP_STREAM:
    text_add(d->to, operand == 0 ? " stream" : operand == -WIRE_STDIN ? " stdin" : " stdout");
    break;
  case WIRE_OP_LOCAL:
    add_local(d, operand);
    break;
  case WIRE_OP_FRESH:
    text_add(d->to, " ");
    text_add_json(d->to, string(d, ARRAY(d, uint32_t, memories)[operand]));
    break;
  case WIRE_OP_MARK:
  case WIRE_OP_MARKED:
  case WIRE_OP_SINCE:
  case WIRE_OP_ARG:
    text_addf(d->to, " %u", operand);
    break;
  case WIRE_OP_NEXT:
  case WIRE_OP_ONCE:
  case WIRE_OP_RANDOM:
    text_addf(d->to, " @%u", operand);
    break;
  case WIRE_OP_CALLER:
    add_places(d, operand);
    break;
  case WIRE_OP_STACK:
    add_pattern(d, operand);
    break;
  case WIRE_OP_FD_PATH:
    text_add(d->to, " ");
    text_add_json(d->to, string(d, operand));
    break;
  case WIRE_OP_ASK:
    add_trigger(d, &ARRAY(d, struct wire_trigger, triggers)[operand]);
    break;
  case WIRE_OP_IF_ZERO:
  case WIRE_OP_IF_SET:
    text_addf(d->to, " skip %u", operand);
    break;
  default:
    break;
  }
}

static void add_code(const struct dump *d, uint32_t at) {
  for (;; at++) {
    uint32_t word = ARRAY(d, uint32_t, code)[at];
    enum wire_op op = word & 0xff;
    if (op == WIRE_OP_END) return;
    text_addf(d->to, "    %s", op_names[op]);
    add_operand(d, op, word >> 8);
    text_add(d->to, "\n");
  }
}

static void add_side(const struct dump *d, const struct wire_side *s) {
  static const char *const kinds[] = {"argument", "global", "tls", "stream", "misnamed"};
  text_addf(d->to, ", %s", kinds[s->kind]);
  if (s->name)
    text_addf(d->to, " %s", string(d, s->name));
  else if (s->kind == WIRE_SIDE_ARG || s->kind == WIRE_SIDE_STREAM || s->kind == WIRE_SIDE_MISNAMED)
    text_addf(d->to, " %u", s->argument);
  else
    text_addf(d->to, " %s", string(d, ARRAY(d, struct wire_module, modules)[s->module].name));
  if (s->kind == WIRE_SIDE_MISNAMED) return;
  if (s->offset) text_addf(d->to, " + 0x%llx", (unsigned long long)s->offset);
  text_addf(d->to, " := %lld (%u bytes)", (long long)s->value, s->width);
}

static void add_act(const struct dump *d, const struct wire_fault *f) {
  text_add(d->to, "    fault: ");
  switch (f->act) {
  case WIRE_ACT_SHORT:
    text_addf(d->to, "at most %lld bytes, in %s of %u", (long long)f->retval, length_names[f->length], f->argument);
    break;
  case WIRE_ACT_DELAY:
    text_addf(d->to, "%lld ns later", (long long)f->retval);
    break;
  case WIRE_ACT_EINTR:
    text_addf(d->to, "handle a signal, return %lld", (long long)f->retval);
    break;
  default:
    text_add(d->to, f->act == WIRE_ACT_KILL ? "kill" : "throw bad_alloc");
  }
}

static void add_fault(const struct dump *d, const struct wire_fault *f) {
  if (f->act)
    add_act(d, f);
  else if (f->ret == WIRE_KEEP)
    text_add(d->to, "    fault: return what the call returned");
  else
    text_addf(d->to, "    fault: return %lld", (long long)f->retval);
  if (f->error) text_addf(d->to, ", errno %s", errno_name(f->error) ? errno_name(f->error) : "?");
  for (unsigned i = 0; i < f->n_sides; i++)
    add_side(d, &ARRAY(d, struct wire_side, sides)[f->side + i]);
  text_add(d->to, "\n");
}

static void add_rule(const struct dump *d, const struct wire_rule *r) {
  text_add(d->to, "  rule");
  if (r->trigger) {
    text_add(d->to, " ");
    text_add_json(d->to, string(d, r->trigger));
  }
  if (r->last != UINT64_MAX)
    text_addf(d->to, ", calls %llu to %llu", (unsigned long long)r->first, (unsigned long long)r->last);
  else if (r->first > 1)
    text_addf(d->to, ", calls from %llu on", (unsigned long long)r->first);
  text_add(d->to, r->flags & WIRE_ONE_SHOT ? ", one shot" : "");
  text_add(d->to, r->flags & WIRE_THEN ? ", then" : "");
  text_add(d->to, r->flags & WIRE_UNUSED ? ", unused" : "");
  text_addf(d->to, ", injections @%u\n", r->slot);
  if (r->code != WIRE_NO_CODE) add_code(d, r->code);
  for (uint32_t i = 0; i < r->n_faults; i++)
    add_fault(d, &ARRAY(d, struct wire_fault, faults)[r->fault + i]);
}

static void add_function(const struct dump *d, const struct wire_function *f) {
  text_addf(d->to, "function %s%s%s", string(d, f->name), f->version ? "@" : "", string(d, f->version));
  text_addf(d->to, ", %u arguments", f->n_args);
  if (f->descriptor >= 0) text_addf(d->to, ", descriptor %d", f->descriptor);
  if (f->size >= 0) text_addf(d->to, ", size %d", f->size);
  if (f->stream >= 0) text_addf(d->to, ", stream %d", f->stream);
  text_add(d->to, f->flags & WIRE_ALWAYS_IN ? ", always in" : "");
  text_add(d->to, f->flags & WIRE_ONLY_COUNTS ? ", only counts" : "");
  text_add(d->to, f->flags & WIRE_LATER ? ", later" : "");
  text_add(d->to, "\n");
  for (uint32_t i = 0; i < f->n_rules; i++)
    add_rule(d, &ARRAY(d, struct wire_rule, rules)[f->rule + i]);
}

void plan_dump(const void *plan, struct text *to) {
  struct dump d = {.plan = plan, .to = to};
  for (uint32_t i = 0; i < d.plan->functions.n; i++) {
    const struct wire_function *f = &ARRAY(&d, struct wire_function, functions)[i];
    if (f->n_rules) add_function(&d, f);
  }
}
