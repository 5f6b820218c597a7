/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The XML of the LFI paper, figures 7 to 11, and what murphy adds to it, as rules and triggers of the model.
 *
 * Triggers are read first, then what is included, then functions, so that these can refer to triggers that stand behind
 * them or in another file. The order of rules is still that in which they are written.
 */
#include "scenario/classes.h"
#include "scenario/scenario_xml.h"

#include <errno.h>
#include <string.h>

#define FAIL(r, offset, ...) source_error((r)->source, offset, (r)->e, -EINVAL, __VA_ARGS__)

/* --- triggers ----------------------------------------------------------------------------------------------------- */

/* A text in which its bytes stand as they are: the file, or a text of its own if it has escapes. */
static int value_where(struct xml_reader *r, const struct tree_text *t, struct where *ret) {
  const struct source_text *source;
  size_t start, end;
  int e = scenario_xml_as_source(r, t, &source, &start, &end);
  if (e >= 0) *ret = (struct where){source, start};
  return e;
}

/* <args> or a part of it with parts, one level down. */
static int read_args(struct xml_reader *r, const struct tree_node *n, unsigned depth, const struct trigger_arg **ret,
                     size_t *ret_n) {
  size_t count = 0, i = 0;
  for (const struct tree_node *c = n->child; c; c = c->next)
    count++;
  struct trigger_arg *args = arena_zalloc(&r->s->arena, (count + 1) * sizeof *args);
  if (!args) return scenario_xml_no_memory(r);
  for (const struct tree_node *c = n->child; c; c = c->next, i++) {
    int e = scenario_xml_check_attributes(r, c, NULL, 0);
    if (e >= 0 && c->child && (depth || c->content.text))
      e = FAIL(r, c->child->at, "<%.60s> cannot be in <%.60s> (remove it)", c->child->name, c->name);
    if (e >= 0 && c->child) e = read_args(r, c, depth + 1, &args[i].parts, &args[i].n_parts);
    args[i].value_at = scenario_xml_where(r, c->at);
    if (e >= 0 && c->content.text) e = value_where(r, &c->content, &args[i].value_at);
    if (e < 0) return e;
    args[i].name = c->name;
    args[i].value = c->content.text;
    args[i].at = scenario_xml_where(r, c->at);
  }
  *ret = args;
  *ret_n = count;
  return 0;
}

static int read_trigger(struct xml_reader *r, struct tree_node *n) {
  static const char *const known[] = {"id", "class"}, *const inside[] = {"args"};
  const struct tree_attribute *id, *class;
  struct trigger *t = arena_zalloc(&r->s->arena, sizeof *t);
  if (!t) return scenario_xml_no_memory(r);
  int e = scenario_xml_check_attributes(r, n, known, COUNT(known));
  if (e >= 0) e = scenario_xml_check_no_text(r, n);
  if (e >= 0) e = scenario_xml_must_have(r, n, "id", &id);
  if (e >= 0) e = scenario_xml_must_have(r, n, "class", &class);
  if (e < 0) return e;
  if (scenario_trigger(r->s, id->value.text))
    return FAIL(r, id->value.start, "trigger '%.60s' is declared twice (give it another id)", id->value.text);
  for (const struct tree_node *c = n->child; c; c = c->next) {
    if (strcmp(c->name, "args") != 0) return scenario_xml_not_here(r, c, inside, COUNT(inside));
    if (t->args) return FAIL(r, c->at, "<args> is there twice (put them together)");
    e = scenario_xml_check_no_text(r, c);
    if (e >= 0) e = read_args(r, c, 0, &t->args, &t->n_args);
    if (e < 0) return e;
  }
  t->id = id->value.text;
  t->at = scenario_xml_where(r, n->at);
  e = trigger_setup(r->s, t, class->value.text, scenario_xml_where(r, class->value.start), r->e);
  if (e < 0) return e;
  if (map_put(&r->s->ids, hash_string(t->id), r->s->triggers.n) < 0 || vec_push(&r->s->triggers, t) < 0)
    return scenario_xml_no_memory(r);
  return 0;
}

/* --- the rest ----------------------------------------------------------------------------------------------------- */

static int read_rule(struct xml_reader *r, struct tree_node *n) {
  const struct source_text *source;
  size_t start, end;
  int e = scenario_xml_check_attributes(r, n, NULL, 0);
  if (e < 0) return e;
  if (n->child) return FAIL(r, n->child->at, "<rule> holds a rule as text (remove <%.60s>)", n->child->name);
  if (!n->content.text) return FAIL(r, n->at, "<rule> is empty (write <rule>read:EIO when call==3</rule>)");
  e = scenario_xml_as_source(r, &n->content, &source, &start, &end);
  return e < 0 ? e : rule_parse(r->s, source, start, end, r->e);
}

/* Takes the rules from number FIRST on away, and keeps them with the element. */
static int keep_rules(struct xml_reader *r, struct tree_node *n, size_t first) {
  size_t count = r->s->rules.n - first;
  if (!count) return 0;
  n->rules = arena_memdup(&r->s->arena, r->s->rules.at + first, count * sizeof *n->rules);
  if (!n->rules) return scenario_xml_no_memory(r);
  n->n_rules = count;
  r->s->rules.n = first;
  return 0;
}

static int add_kept(struct xml_reader *r, struct tree_node *n) {
  for (size_t i = 0; i < n->n_rules; i++)
    if (vec_push(&r->s->rules, n->rules[i]) < 0) return scenario_xml_no_memory(r);
  return 0;
}

/* The file is beside the one that includes it, unless it is a whole path. */
static int read_include(struct xml_reader *r, struct tree_node *n) {
  static const char *const known[] = {"file"};
  const struct tree_attribute *file;
  struct text path = {0};
  size_t first = r->s->rules.n;
  int e = scenario_xml_check_attributes(r, n, known, COUNT(known));
  if (e >= 0) e = scenario_xml_check_empty(r, n);
  if (e >= 0) e = scenario_xml_must_have(r, n, "file", &file);
  if (e < 0) return e;
  const char *slash = strrchr(r->source->name, '/');
  if (file->value.text[0] != '/' && slash)
    text_add_bytes(&path, r->source->name, (size_t)(slash - r->source->name) + 1);
  text_add(&path, file->value.text);
  e = path.failed ? scenario_xml_no_memory(r)
                  : scenario_include(r->s, path.at, scenario_xml_where(r, file->value.start), r->e);
  text_done(&path);
  return e < 0 ? e : keep_rules(r, n, first);
}

#define PASSES 3
static const struct {
  const char *name;
  int (*read[PASSES])(struct xml_reader *r, struct tree_node *n);
} elements[] = {
    {"trigger", {read_trigger, NULL, NULL}},
    {"include", {NULL, read_include, add_kept}},
    {"function", {NULL, NULL, scenario_xml_read_function}},
    {"rule", {NULL, NULL, read_rule}},
};

static int read_root(struct xml_reader *r, const struct tree_node *root, int pass) {
  const char *names[COUNT(elements)];
  for (size_t i = 0; i < COUNT(elements); i++)
    names[i] = elements[i].name;
  for (struct tree_node *n = root->child; n; n = n->next) {
    size_t i = 0;
    while (i < COUNT(elements) && strcmp(names[i], n->name) != 0)
      i++;
    if (i == COUNT(elements)) return scenario_xml_not_here(r, n, names, COUNT(names));
    int e = elements[i].read[pass] ? elements[i].read[pass](r, n) : 0;
    if (e < 0) return e;
  }
  return 0;
}

int scenario_read_xml(struct scenario *s, const struct source_text *source, struct err *e) {
  struct xml_reader r = {.s = s, .source = source, .e = e};
  struct tree_node *root = NULL;
  int result = scenario_xml_tree(&s->arena, source, &root, e);
  if (result < 0) return result;
  if (strcmp(root->name, "scenario") != 0 && strcmp(root->name, "plan") != 0)
    return FAIL(&r, root->at, "<%.60s> is not a scenario (it must start with <scenario>)", root->name);
  result = scenario_xml_check_attributes(&r, root, NULL, 0);
  if (result >= 0) result = scenario_xml_check_no_text(&r, root);
  for (int pass = 0; pass < PASSES && result >= 0; pass++)
    result = read_root(&r, root, pass);
  return result;
}
