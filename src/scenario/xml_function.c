/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <function>: a rule, with its fault, side effects and the triggers that it refers to.
 */
#include "scenario/scenario_xml.h"

#include <errno.h>
#include <string.h>

#define FAIL(r, offset, ...) source_error((r)->source, offset, (r)->e, -EINVAL, __VA_ARGS__)

static int unknown_trigger(struct xml_reader *r, const struct tree_attribute *a) {
  VEC(const char *) ids = {0};
  char way[SOURCE_HINT];
  for (size_t i = 0; i < r->s->triggers.n; i++)
    if (vec_push(&ids, r->s->triggers.at[i]->id) < 0) break;
  int e = FAIL(r, a->value.start, "trigger '%.60s' is not declared (%s)", a->value.text,
               source_hint(name_nearest(a->value.text, ids.at, ids.n), "write a <trigger> with this id", way));
  vec_done(&ids);
  return e;
}

static int conjoin(struct xml_reader *r, struct rule *rule, struct expr *x) {
  if (!rule->when) {
    rule->when = x;
    return 0;
  }
  struct expr *both = expr_new(&r->s->arena, EXPR_AND, TYPE_TRUTH, x->at);
  if (!both) return scenario_xml_no_memory(r);
  both->n_args = 2;
  both->args[0] = rule->when;
  both->args[1] = x;
  rule->when = both;
  return 0;
}

static int read_reference(struct xml_reader *r, const struct tree_node *n, struct rule *rule, struct text *label) {
  static const char *const known[] = {"ref", "negate"};
  const struct tree_attribute *ref;
  bool negate = false;
  int e = scenario_xml_check_attributes(r, n, known, COUNT(known));
  if (e >= 0) e = scenario_xml_check_empty(r, n);
  if (e >= 0) e = scenario_xml_must_have(r, n, "ref", &ref);
  if (e >= 0) e = scenario_xml_truth(r, n, "negate", &negate);
  if (e < 0) return e;
  struct trigger *t = scenario_trigger(r->s, ref->value.text);
  if (!t) return unknown_trigger(r, ref);
  struct expr *x = expr_new(&r->s->arena, EXPR_TRIGGER, TYPE_TRUTH, scenario_xml_where(r, n->at));
  struct expr *not = negate && x ? expr_new(&r->s->arena, EXPR_NOT, TYPE_TRUTH, x->at) : NULL;
  if (!x || (negate && !not )) return scenario_xml_no_memory(r);
  x->trigger = t;
  t->references++;
  if (not ) not ->args[not ->n_args++] = x;
  text_addf(label, "%s%s%s", label->n ? " " : "", negate ? "!" : "", t->id);
  return conjoin(r, rule, not ? not : x);
}

static int read_place(struct xml_reader *r, const struct tree_node *n, struct side_effect *s) {
  const struct tree_attribute *argument = scenario_xml_find(n, "argument"), *module = scenario_xml_find(n, "module"),
                              *name = scenario_xml_find(n, "name");
  int64_t number;
  bool by_argument =
      s->kind == WIRE_SIDE_ARG || s->kind == WIRE_SIDE_MISNAMED || (s->kind == WIRE_SIDE_STREAM && !name);
  int e = by_argument && !argument ? scenario_xml_must_have(r, n, "argument", &argument) : 0;
  if (e >= 0 && !by_argument && !name && !module)
    e = FAIL(r, n->at, "<side> does not say where (write module=\"…\" offset=\"…\", or name=\"…\")");
  int64_t most = s->kind == WIRE_SIDE_MISNAMED ? WIRE_ARGS : WIRE_MAX_ARGS;
  if (e >= 0 && argument) e = scenario_xml_number(r, argument, 1, most, &number);
  if (e < 0) return e;
  if (argument && !by_argument)
    return FAIL(r, argument->at, "this side effect is not behind an argument (remove argument)");
  if ((module || name) && (s->kind == WIRE_SIDE_ARG || s->kind == WIRE_SIDE_MISNAMED))
    return FAIL(r, module ? module->at : name->at, "what is behind an argument has no module or name (remove it)");
  if (argument) s->argument = (unsigned)number - 1;
  s->module = module ? module->value.text : NULL;
  s->name = name ? name->value.text : NULL;
  return 0;
}

static int read_side(struct xml_reader *r, const struct tree_node *n, struct side_effect *s) {
  static const char *const known[] = {"kind", "argument", "module", "name", "offset", "width", "value"};
  static const char *const kinds[] = {"arg", "global", "tls", "stream", "misnamed"};
  const struct tree_attribute *kind, *value, *offset = scenario_xml_find(n, "offset"),
                                             *width = scenario_xml_find(n, "width");
  int64_t number = 0;
  unsigned k = 0;
  char way[SOURCE_HINT];
  int e = scenario_xml_check_attributes(r, n, known, COUNT(known));
  if (e >= 0) e = scenario_xml_check_empty(r, n);
  if (e >= 0) e = scenario_xml_must_have(r, n, "kind", &kind);
  if (e >= 0) e = scenario_xml_must_have(r, n, "value", &value);
  if (e < 0) return e;
  while (k < COUNT(kinds) && strcmp(kinds[k], kind->value.text) != 0)
    k++;
  if (k == COUNT(kinds))
    return FAIL(r, kind->value.start, "'%.60s' is not a kind of side effect (%s)", kind->value.text,
                source_hint(name_nearest(kind->value.text, kinds, COUNT(kinds)),
                            "there are arg, global, tls, stream, misnamed", way));
  *s = (struct side_effect){.kind = (enum wire_side_kind)k, .at = scenario_xml_where(r, n->at)};
  e = read_place(r, n, s);
  if (e >= 0 && offset) e = scenario_xml_number(r, offset, 0, INT64_MAX, &number);
  if (e < 0) return e;
  s->offset = (uint64_t)number;
  number = 0;
  if (width) e = scenario_xml_number(r, width, 1, 8, &number);
  if (e < 0) return e;
  if (number & (number - 1)) return FAIL(r, width->value.start, "width is 1, 2, 4 or 8");
  s->width = (unsigned)number;
  if (retval_parse(value->value.text, &s->value) < 0)
    return FAIL(r, value->value.start, "'%.60s' is not a value (write it as -1 or 0x1f)", value->value.text);
  return 0;
}

static int read_retval(struct xml_reader *r, const struct tree_attribute *a, struct fault *f, bool *ret_unused) {
  *ret_unused = strcmp(a->value.text, "unused") == 0;
  int e = *ret_unused ? 0 : fault_retval(&r->s->arena, a->value.text, scenario_xml_where(r, a->value.start), f);
  if (e == -ENOMEM) return scenario_xml_no_memory(r);
  if (e == 0) return 0;
  return FAIL(r, a->value.start,
              "'%.60s' is not a return value (write -1, 0x1f, NULL, EOF, MAP_FAILED, -EIO or unused)", a->value.text);
}

static int read_errno(struct xml_reader *r, const struct tree_attribute *a, struct fault *f) {
  char way[SOURCE_HINT];
  if (strcmp(a->value.text, "unused") == 0 || parse_errno(a->value.text, &f->error) == 0) return 0;
  if (strcmp(a->value.text, "0") == 0) return 0;
  return FAIL(r, a->value.start, "'%.60s' is not an errno of Linux (%s)", a->value.text,
              source_hint(errno_nearest(a->value.text), "write it as EIO or 5", way));
}

/* 1 if the element says what is done to the call. */
static int read_act(struct xml_reader *r, const struct tree_node *n, struct fault *f) {
  static const char *const names[] = {"short", "delay", "fault"};
  const struct tree_attribute *a = NULL;
  for (size_t i = 0; i < COUNT(names); i++) {
    const struct tree_attribute *found = scenario_xml_find(n, names[i]);
    if (a && found) return FAIL(r, found->at, "%s and %s are two faults (remove one)", a->name, found->name);
    if (found) a = found;
  }
  if (!a) return 0;
  bool named = strcmp(a->name, "fault") == 0;
  const struct tree_attribute *other = scenario_xml_find(n, "return");
  if (!other) other = scenario_xml_find(n, "retval");
  if (!other) other = scenario_xml_find(n, "random");
  if (!other) other = scenario_xml_find(n, "then");
  if (!other && strcmp(a->name, "short") != 0) other = scenario_xml_find(n, "errno");
  if (other) return FAIL(r, other->at, "%s and %s cannot be together (remove one)", other->name, a->name);
  struct where at = scenario_xml_where(r, a->value.start);
  int e = act_parse(named ? a->value.text : a->name, named ? NULL : a->value.text, at, at, f, r->e);
  return e < 0 ? e : 1;
}

/* return or retval, errno, random: which fault. */
static int read_fault(struct xml_reader *r, const struct tree_node *n, struct fault *f) {
  const struct tree_attribute *value = scenario_xml_find(n, "return"), *retval = scenario_xml_find(n, "retval"),
                              *error = scenario_xml_find(n, "errno");
  const struct tree_attribute *random = scenario_xml_find(n, "random");
  bool unused = false;
  f->at = scenario_xml_where(r, error ? error->value.start : n->at);
  int e = read_act(r, n, f);
  if (e > 0 && error) e = read_errno(r, error, f);
  if (e < 0 || f->act) return e;
  if (value && retval) return FAIL(r, retval->at, "retval and return are the same (remove one)");
  if (!value) value = retval;
  if (random && strcmp(random->value.text, "profile") != 0)
    return FAIL(r, random->value.start, "'%.60s' is not known (write random=\"profile\")", random->value.text);
  if (random && (value || error))
    return FAIL(r, random->at, "what is drawn from the profile is not given here (remove random, or return and errno)");
  e = value ? read_retval(r, value, f, &unused) : 0;
  if (e >= 0 && error) e = read_errno(r, error, f);
  if (e >= 0) e = scenario_xml_truth(r, n, "then", &f->then);
  if (e < 0) return e;
  if (!value && !random && !f->error)
    return FAIL(r, n->at, "<function> does not say what fails (write return=\"-1\" errno=\"EIO\")");
  f->form = random ? FAULT_PROFILE : unused ? FAULT_UNUSED : value ? FAULT_EXPLICIT : FAULT_ERRNO;
  return 0;
}

static int read_when(struct xml_reader *r, const struct tree_attribute *a, struct rule *rule, struct text *label) {
  const struct source_text *source;
  size_t start, end;
  struct lexer l;
  struct expr *x = NULL;
  int e = scenario_xml_as_source(r, &a->value, &source, &start, &end);
  if (e >= 0) e = lexer_start(&l, &r->s->arena, source, start, end, r->e);
  if (e >= 0) e = expr_parse(&l, &x);
  if (e < 0) return e;
  x = expr_order(&r->s->arena, expr_fold(x));
  if (!x) return scenario_xml_no_memory(r);
  text_addf(label, "%s%s", label->n ? " " : "", a->value.text);
  return conjoin(r, rule, x);
}

static int read_inside(struct xml_reader *r, const struct tree_node *n, struct rule *rule, struct text *label) {
  static const char *const inside[] = {"reftrigger", "side"};
  size_t n_sides = 0;
  for (const struct tree_node *c = n->child; c; c = c->next)
    n_sides += strcmp(c->name, "side") == 0;
  struct side_effect *sides = arena_zalloc(&r->s->arena, (n_sides + 1) * sizeof *sides);
  if (!sides) return scenario_xml_no_memory(r);
  rule->fault.sides = sides;
  for (const struct tree_node *c = n->child; c; c = c->next) {
    int e;
    if (strcmp(c->name, "reftrigger") == 0)
      e = read_reference(r, c, rule, label);
    else if (strcmp(c->name, "side") == 0)
      e = read_side(r, c, &sides[rule->fault.n_sides++]);
    else
      e = scenario_xml_not_here(r, c, inside, COUNT(inside));
    if (e < 0) return e;
  }
  return 0;
}

int scenario_xml_read_function(struct xml_reader *r, struct tree_node *n) {
  static const char *const known[] = {"name", "numargs", "return", "retval", "errno", "random",
                                      "then", "when",    "short",  "delay",  "fault"};
  const struct tree_attribute *name, *numargs = scenario_xml_find(n, "numargs"), *when = scenario_xml_find(n, "when");
  struct rule rule = {.n_args = -1, .ordered = true};
  struct text label = {0};
  int64_t number = -1;
  int e = scenario_xml_check_attributes(r, n, known, COUNT(known));
  if (e >= 0) e = scenario_xml_check_no_text(r, n);
  if (e >= 0) e = scenario_xml_must_have(r, n, "name", &name);
  if (e >= 0 && numargs) e = scenario_xml_number(r, numargs, 0, 127, &number);
  if (e >= 0) e = read_fault(r, n, &rule.fault);
  if (e < 0) return e;
  rule.function = name->value.text;
  rule.at = scenario_xml_where(r, name->value.start);
  rule.n_args = (int)number;
  e = read_inside(r, n, &rule, &label);
  if (e >= 0 && when) e = read_when(r, when, &rule, &label);
  if (e >= 0) {
    rule.label = arena_strdup(&r->s->arena, label.n ? label.at : "");
    if (label.failed || !rule.label || vec_push(&r->s->rules, rule) < 0) e = scenario_xml_no_memory(r);
  }
  text_done(&label);
  return e;
}
