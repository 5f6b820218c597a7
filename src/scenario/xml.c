/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The XML of the LFI paper, figures 7 to 11, and what murphy adds to it, as rules and triggers of the model.
 *
 * Triggers of a file and of what it includes are read before its functions, so that their order does not matter.
 */
#include "scenario/classes.h"
#include "scenario/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reader {
  struct scenario *s;
  const struct source_text *source;
  struct err *e;
};

#define FAIL(r, offset, ...) source_error((r)->source, offset, (r)->e, -EINVAL, __VA_ARGS__)

static int no_memory(struct reader *r) { return source_no_memory(r->source, r->e); }

/* --- elements and attributes -------------------------------------------------------------------------------------- */

static const struct xml_attribute *find(const struct xml_node *n, const char *name) {
  for (size_t i = 0; i < n->n_attributes; i++)
    if (strcmp(n->attributes[i].name, name) == 0) return &n->attributes[i];
  return NULL;
}

static int must_have(struct reader *r, const struct xml_node *n, const char *name, const struct xml_attribute **ret) {
  *ret = find(n, name);
  if (!*ret) return FAIL(r, n->at, "<%s> has no %s (write %s=\"…\")", n->name, name, name);
  if (!(*ret)->value.text[0]) return FAIL(r, (*ret)->at, "%s is empty (write %s=\"…\")", name, name);
  return 0;
}

/* All attributes of the element are among KNOWN. */
static int check_attributes(struct reader *r, const struct xml_node *n, const char *const *known, size_t n_known) {
  for (size_t i = 0; i < n->n_attributes; i++) {
    const char *name = n->attributes[i].name;
    char way[SOURCE_HINT];
    size_t k = 0;
    while (k < n_known && strcmp(known[k], name) != 0)
      k++;
    if (k == n_known)
      return FAIL(r, n->attributes[i].at, "<%s> has no attribute %.60s (%s)", n->name, name,
                  source_hint(name_nearest(name, known, n_known), "remove it", way));
  }
  return 0;
}

static int not_here(struct reader *r, const struct xml_node *n, const char *const *known, size_t n_known) {
  char way[SOURCE_HINT];
  return FAIL(r, n->at, "<%.60s> cannot be in <%s> (%s)", n->name, n->parent->name,
              source_hint(name_nearest(n->name, known, n_known), "remove it", way));
}

/* The element holds no text of its own. */
static int check_no_text(struct reader *r, const struct xml_node *n) {
  if (!n->content.text) return 0;
  return FAIL(r, n->content.start, "<%s> cannot hold text (remove it, or make it a comment)", n->name);
}

static int check_empty(struct reader *r, const struct xml_node *n) {
  if (n->child) return FAIL(r, n->child->at, "<%s> holds nothing (remove <%.60s>)", n->name, n->child->name);
  return check_no_text(r, n);
}

static int get_truth(struct reader *r, const struct xml_node *n, const char *name, bool *ret) {
  const struct xml_attribute *a = find(n, name);
  if (!a) return 0;
  bool yes = strcmp(a->value.text, "true") == 0;
  if (!yes && strcmp(a->value.text, "false") != 0)
    return FAIL(r, a->value.start, "%s is true or false, not '%.60s'", name, a->value.text);
  *ret = yes;
  return 0;
}

static int get_number(struct reader *r, const struct xml_attribute *a, int64_t low, int64_t high, int64_t *ret) {
  int64_t value;
  if (number_parse(a->value.text, &value) < 0)
    return FAIL(r, a->value.start, "%s=\"%.60s\" is not a number (write it as 10 or 0x1f)", a->name, a->value.text);
  if (value < low || value > high)
    return FAIL(r, a->value.start, "%s=\"%.60s\" is not possible (from %lld to %lld is)", a->name, a->value.text,
                (long long)low, (long long)high);
  *ret = value;
  return 0;
}

/*
 * The text as a source for the parser of rules. If XML has escapes in it, columns count in what they stand for, from
 * where the text starts.
 */
static int as_source(struct reader *r, const struct xml_text *t, const struct source_text **ret, size_t *ret_start,
                     size_t *ret_end) {
  if (t->plain) {
    *ret = r->source;
    *ret_start = t->start;
    *ret_end = t->end;
    return 0;
  }
  size_t line = 1;
  struct text name = {0};
  for (size_t i = 0; i < t->start; i++)
    line += r->source->bytes[i] == '\n';
  text_addf(&name, "%s:%zu", r->source->name, line);
  *ret = name.failed ? NULL : scenario_source(r->s, name.at, t->text, strlen(t->text), true);
  text_done(&name);
  if (!*ret) return no_memory(r);
  *ret_start = 0;
  *ret_end = strlen(t->text);
  return 0;
}

/* --- triggers ----------------------------------------------------------------------------------------------------- */

static struct where here(const struct reader *r, size_t offset) { return (struct where){r->source, offset}; }

static struct trigger *find_trigger(const struct scenario *s, const char *id) {
  for (size_t i = 0; i < s->triggers.n; i++)
    if (strcmp(s->triggers.at[i]->id, id) == 0) return s->triggers.at[i];
  return NULL;
}

/* <args> or a part of it with parts, one level down. */
static int read_args(struct reader *r, const struct xml_node *n, unsigned depth, const struct trigger_arg **ret,
                     size_t *ret_n) {
  size_t count = 0, i = 0;
  for (const struct xml_node *c = n->child; c; c = c->next)
    count++;
  struct trigger_arg *args = arena_zalloc(&r->s->arena, (count + 1) * sizeof *args);
  if (!args) return no_memory(r);
  for (const struct xml_node *c = n->child; c; c = c->next, i++) {
    int e = check_attributes(r, c, NULL, 0);
    if (e >= 0 && c->child && (depth || c->content.text))
      e = FAIL(r, c->child->at, "<%.60s> cannot be in <%.60s> (remove it)", c->child->name, c->name);
    if (e >= 0 && c->child) e = read_args(r, c, depth + 1, &args[i].parts, &args[i].n_parts);
    if (e < 0) return e;
    args[i].name = c->name;
    args[i].value = c->content.text;
    args[i].at = here(r, c->at);
    args[i].value_at = here(r, c->content.text ? c->content.start : c->at);
  }
  *ret = args;
  *ret_n = count;
  return 0;
}

static int read_trigger(struct reader *r, const struct xml_node *n) {
  static const char *const known[] = {"id", "class"}, *const inside[] = {"args"};
  const struct xml_attribute *id, *class;
  struct trigger *t = arena_zalloc(&r->s->arena, sizeof *t);
  if (!t) return no_memory(r);
  int e = check_attributes(r, n, known, COUNT(known));
  if (e >= 0) e = check_no_text(r, n);
  if (e >= 0) e = must_have(r, n, "id", &id);
  if (e >= 0) e = must_have(r, n, "class", &class);
  if (e < 0) return e;
  if (find_trigger(r->s, id->value.text))
    return FAIL(r, id->value.start, "trigger '%.60s' is declared twice (give it another id)", id->value.text);
  for (const struct xml_node *c = n->child; c; c = c->next) {
    if (strcmp(c->name, "args") != 0) return not_here(r, c, inside, COUNT(inside));
    if (t->args) return FAIL(r, c->at, "<args> is there twice (put them together)");
    e = check_no_text(r, c);
    if (e >= 0) e = read_args(r, c, 0, &t->args, &t->n_args);
    if (e < 0) return e;
  }
  t->id = id->value.text;
  t->at = here(r, n->at);
  e = trigger_setup(r->s, t, class->value.text, here(r, class->value.start), r->e);
  if (e < 0) return e;
  return vec_push(&r->s->triggers, t) < 0 ? no_memory(r) : 0;
}

/* --- functions ---------------------------------------------------------------------------------------------------- */

static int unknown_trigger(struct reader *r, const struct xml_attribute *a) {
  VEC(const char *) ids = {0};
  char way[SOURCE_HINT];
  for (size_t i = 0; i < r->s->triggers.n; i++)
    if (vec_push(&ids, r->s->triggers.at[i]->id) < 0) break;
  int e = FAIL(r, a->value.start, "trigger '%.60s' is not declared (%s)", a->value.text,
               source_hint(name_nearest(a->value.text, ids.at, ids.n), "write a <trigger> with this id", way));
  vec_done(&ids);
  return e;
}

static int conjoin(struct reader *r, struct rule *rule, struct expr *x) {
  if (!rule->when) {
    rule->when = x;
    return 0;
  }
  struct expr *both = expr_new(&r->s->arena, EXPR_AND, TYPE_TRUTH, x->at);
  if (!both) return no_memory(r);
  both->n_args = 2;
  both->args[0] = rule->when;
  both->args[1] = x;
  rule->when = both;
  return 0;
}

static int read_reference(struct reader *r, const struct xml_node *n, struct rule *rule, struct text *label) {
  static const char *const known[] = {"ref", "negate"};
  const struct xml_attribute *ref;
  bool negate = false;
  int e = check_attributes(r, n, known, COUNT(known));
  if (e >= 0) e = check_empty(r, n);
  if (e >= 0) e = must_have(r, n, "ref", &ref);
  if (e >= 0) e = get_truth(r, n, "negate", &negate);
  if (e < 0) return e;
  struct trigger *t = find_trigger(r->s, ref->value.text);
  if (!t) return unknown_trigger(r, ref);
  struct expr *x = expr_new(&r->s->arena, EXPR_TRIGGER, TYPE_TRUTH, here(r, n->at));
  struct expr *not = negate && x ? expr_new(&r->s->arena, EXPR_NOT, TYPE_TRUTH, x->at) : NULL;
  if (!x || (negate && !not )) return no_memory(r);
  x->trigger = t;
  t->references++;
  if (not ) not ->args[not ->n_args++] = x;
  text_addf(label, "%s%s%s", label->n ? " " : "", negate ? "!" : "", t->id);
  return conjoin(r, rule, not ? not : x);
}

static int read_place(struct reader *r, const struct xml_node *n, struct side_effect *s) {
  const struct xml_attribute *argument = find(n, "argument"), *module = find(n, "module"), *name = find(n, "name");
  int64_t number;
  bool by_argument = s->kind == WIRE_SIDE_ARG || (s->kind == WIRE_SIDE_STREAM && !name);
  int e = by_argument && !argument ? must_have(r, n, "argument", &argument) : 0;
  if (e >= 0 && !by_argument && !name && !module)
    e = FAIL(r, n->at, "<side> does not say where (write module=\"…\" offset=\"…\", or name=\"…\")");
  if (e >= 0 && argument) e = get_number(r, argument, 1, WIRE_MAX_ARGS, &number);
  if (e < 0) return e;
  if (argument && !by_argument)
    return FAIL(r, argument->at, "this side effect is not behind an argument (remove argument)");
  if ((module || name) && s->kind == WIRE_SIDE_ARG)
    return FAIL(r, module ? module->at : name->at, "what is behind an argument has no module or name (remove it)");
  if (argument) s->argument = (unsigned)number - 1;
  s->module = module ? module->value.text : NULL;
  s->name = name ? name->value.text : NULL;
  return 0;
}

static int read_side(struct reader *r, const struct xml_node *n, struct side_effect *s) {
  static const char *const known[] = {"kind", "argument", "module", "name", "offset", "width", "value"};
  static const char *const kinds[] = {"arg", "global", "tls", "stream"};
  const struct xml_attribute *kind, *value, *offset = find(n, "offset"), *width = find(n, "width");
  int64_t number = 0;
  unsigned k = 0;
  char way[SOURCE_HINT];
  int e = check_attributes(r, n, known, COUNT(known));
  if (e >= 0) e = check_empty(r, n);
  if (e >= 0) e = must_have(r, n, "kind", &kind);
  if (e >= 0) e = must_have(r, n, "value", &value);
  if (e < 0) return e;
  while (k < COUNT(kinds) && strcmp(kinds[k], kind->value.text) != 0)
    k++;
  if (k == COUNT(kinds))
    return FAIL(
        r, kind->value.start, "'%.60s' is not a kind of side effect (%s)", kind->value.text,
        source_hint(name_nearest(kind->value.text, kinds, COUNT(kinds)), "there are arg, global, tls, stream", way));
  *s = (struct side_effect){.kind = (enum wire_side_kind)k, .at = here(r, n->at)};
  e = read_place(r, n, s);
  if (e >= 0 && offset) e = get_number(r, offset, 0, INT64_MAX, &number);
  if (e < 0) return e;
  s->offset = (uint64_t)number;
  number = 0;
  if (width) e = get_number(r, width, 1, 8, &number);
  if (e < 0) return e;
  if (number & (number - 1)) return FAIL(r, width->value.start, "width is 1, 2, 4 or 8");
  s->width = (unsigned)number;
  if (retval_parse(value->value.text, &s->value) < 0)
    return FAIL(r, value->value.start, "'%.60s' is not a value (write it as -1 or 0x1f)", value->value.text);
  return 0;
}

static int read_retval(struct reader *r, const struct xml_attribute *a, struct fault *f, bool *ret_unused) {
  *ret_unused = strcmp(a->value.text, "unused") == 0;
  if (*ret_unused || retval_parse(a->value.text, &f->retval) == 0) return 0;
  return FAIL(r, a->value.start,
              "'%.60s' is not a return value (write -1, 0x1f, NULL, EOF, MAP_FAILED, -EIO or unused)", a->value.text);
}

static int read_errno(struct reader *r, const struct xml_attribute *a, struct fault *f) {
  char way[SOURCE_HINT];
  if (strcmp(a->value.text, "unused") == 0 || errno_parse(a->value.text, &f->error) == 0) return 0;
  if (strcmp(a->value.text, "0") == 0) return 0;
  return FAIL(r, a->value.start, "'%.60s' is not an errno of Linux (%s)", a->value.text,
              source_hint(errno_nearest(a->value.text), "write it as EIO or 5", way));
}

/* return or retval, errno, random: which fault. */
static int read_fault(struct reader *r, const struct xml_node *n, struct fault *f) {
  const struct xml_attribute *value = find(n, "return"), *retval = find(n, "retval"), *error = find(n, "errno");
  const struct xml_attribute *random = find(n, "random");
  bool unused = false;
  f->at = here(r, error ? error->value.start : n->at);
  if (value && retval) return FAIL(r, retval->at, "retval and return are the same (remove one)");
  if (!value) value = retval;
  if (random && strcmp(random->value.text, "profile") != 0)
    return FAIL(r, random->value.start, "'%.60s' is not known (write random=\"profile\")", random->value.text);
  if (random && (value || error))
    return FAIL(r, random->at, "what is drawn from the profile is not given here (remove random, or return and errno)");
  int e = value ? read_retval(r, value, f, &unused) : 0;
  if (e >= 0 && error) e = read_errno(r, error, f);
  if (e >= 0) e = get_truth(r, n, "then", &f->then);
  if (e < 0) return e;
  if (!value && !random && !f->error)
    return FAIL(r, n->at, "<function> does not say what fails (write return=\"-1\" errno=\"EIO\")");
  f->form = random ? FAULT_PROFILE : unused ? FAULT_UNUSED : value ? FAULT_EXPLICIT : FAULT_ERRNO;
  return 0;
}

static int read_when(struct reader *r, const struct xml_attribute *a, struct rule *rule, struct text *label) {
  const struct source_text *source;
  size_t start, end;
  struct lexer l;
  struct expr *x = NULL;
  int e = as_source(r, &a->value, &source, &start, &end);
  if (e >= 0) e = lexer_start(&l, &r->s->arena, source, start, end, r->e);
  if (e >= 0) e = expr_parse(&l, &x);
  if (e < 0) return e;
  x = expr_order(&r->s->arena, expr_fold(x));
  if (!x) return no_memory(r);
  text_addf(label, "%s%s", label->n ? " " : "", a->value.text);
  return conjoin(r, rule, x);
}

static int read_inside(struct reader *r, const struct xml_node *n, struct rule *rule, struct text *label) {
  static const char *const inside[] = {"reftrigger", "side"};
  size_t n_sides = 0;
  for (const struct xml_node *c = n->child; c; c = c->next)
    n_sides += strcmp(c->name, "side") == 0;
  struct side_effect *sides = arena_zalloc(&r->s->arena, (n_sides + 1) * sizeof *sides);
  if (!sides) return no_memory(r);
  rule->fault.sides = sides;
  for (const struct xml_node *c = n->child; c; c = c->next) {
    int e;
    if (strcmp(c->name, "reftrigger") == 0)
      e = read_reference(r, c, rule, label);
    else if (strcmp(c->name, "side") == 0)
      e = read_side(r, c, &sides[rule->fault.n_sides++]);
    else
      e = not_here(r, c, inside, COUNT(inside));
    if (e < 0) return e;
  }
  return 0;
}

static int read_function(struct reader *r, const struct xml_node *n) {
  static const char *const known[] = {"name", "numargs", "return", "retval", "errno", "random", "then", "when"};
  const struct xml_attribute *name, *numargs = find(n, "numargs"), *when = find(n, "when");
  struct rule rule = {.n_args = -1, .ordered = true};
  struct text label = {0};
  int64_t number = -1;
  int e = check_attributes(r, n, known, COUNT(known));
  if (e >= 0) e = check_no_text(r, n);
  if (e >= 0) e = must_have(r, n, "name", &name);
  if (e >= 0 && numargs) e = get_number(r, numargs, 0, 127, &number);
  if (e >= 0) e = read_fault(r, n, &rule.fault);
  if (e < 0) return e;
  rule.function = name->value.text;
  rule.at = here(r, name->value.start);
  rule.n_args = (int)number;
  e = read_inside(r, n, &rule, &label);
  if (e >= 0 && when) e = read_when(r, when, &rule, &label);
  if (e >= 0) {
    rule.label = arena_strdup(&r->s->arena, label.n ? label.at : "");
    if (label.failed || !rule.label || vec_push(&r->s->rules, rule) < 0) e = no_memory(r);
  }
  text_done(&label);
  return e;
}

/* --- the rest ----------------------------------------------------------------------------------------------------- */

static int read_rule(struct reader *r, const struct xml_node *n) {
  const struct source_text *source;
  size_t start, end;
  int e = check_attributes(r, n, NULL, 0);
  if (e < 0) return e;
  if (n->child) return FAIL(r, n->child->at, "<rule> holds a rule as text (remove <%.60s>)", n->child->name);
  if (!n->content.text) return FAIL(r, n->at, "<rule> is empty (write <rule>read:EIO when call==3</rule>)");
  e = as_source(r, &n->content, &source, &start, &end);
  return e < 0 ? e : rule_parse(r->s, source, start, end, r->e);
}

/* Beside the file that includes it, unless it is a whole path. */
static int read_include(struct reader *r, const struct xml_node *n) {
  static const char *const known[] = {"file"};
  const struct xml_attribute *file;
  struct text path = {0};
  int e = check_attributes(r, n, known, COUNT(known));
  if (e >= 0) e = check_empty(r, n);
  if (e >= 0) e = must_have(r, n, "file", &file);
  if (e < 0) return e;
  const char *slash = strrchr(r->source->name, '/');
  if (file->value.text[0] != '/' && slash)
    text_add_bytes(&path, r->source->name, (size_t)(slash - r->source->name) + 1);
  text_add(&path, file->value.text);
  e = path.failed ? no_memory(r) : scenario_include(r->s, path.at, here(r, file->value.start), r->e);
  text_done(&path);
  return e;
}

static const struct {
  const char *name;
  int pass;
  int (*read)(struct reader *r, const struct xml_node *n);
} elements[] = {
    {"include", 0, read_include},
    {"trigger", 0, read_trigger},
    {"function", 1, read_function},
    {"rule", 1, read_rule},
};

static int read_root(struct reader *r, const struct xml_node *root, int pass) {
  const char *names[COUNT(elements)];
  for (size_t i = 0; i < COUNT(elements); i++)
    names[i] = elements[i].name;
  for (const struct xml_node *n = root->child; n; n = n->next) {
    size_t i = 0;
    while (i < COUNT(elements) && strcmp(names[i], n->name) != 0)
      i++;
    int e = i == COUNT(elements)       ? not_here(r, n, names, COUNT(names))
            : elements[i].pass == pass ? elements[i].read(r, n)
                                       : 0;
    if (e < 0) return e;
  }
  return 0;
}

int scenario_read_xml(struct scenario *s, const struct source_text *source, struct err *e) {
  struct reader r = {.s = s, .source = source, .e = e};
  struct xml_node *root = NULL;
  int result = xml_tree(&s->arena, source, &root, e);
  if (result < 0) return result;
  if (strcmp(root->name, "scenario") != 0 && strcmp(root->name, "plan") != 0)
    return FAIL(&r, root->at, "<%.60s> is not a scenario (it must start with <scenario>)", root->name);
  result = check_attributes(&r, root, NULL, 0);
  if (result >= 0) result = check_no_text(&r, root);
  for (int pass = 0; pass < 2 && result >= 0; pass++)
    result = read_root(&r, root, pass);
  return result;
}
