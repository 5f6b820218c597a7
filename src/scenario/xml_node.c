/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What elements and attributes of a scenario must be like, and what they say.
 */
#include "scenario/scenario_xml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FAIL(r, offset, ...) source_error((r)->source, offset, (r)->e, -EINVAL, __VA_ARGS__)

int scenario_xml_no_memory(struct xml_reader *r) { return source_no_memory(r->source, r->e); }

struct where scenario_xml_where(const struct xml_reader *r, size_t offset) {
  return (struct where){r->source, offset};
}

const struct tree_attribute *scenario_xml_find(const struct tree_node *n, const char *name) {
  for (size_t i = 0; i < n->n_attributes; i++)
    if (strcmp(n->attributes[i].name, name) == 0) return &n->attributes[i];
  return NULL;
}

int scenario_xml_must_have(struct xml_reader *r, const struct tree_node *n, const char *name,
                           const struct tree_attribute **ret) {
  *ret = scenario_xml_find(n, name);
  if (!*ret) return FAIL(r, n->at, "<%s> has no %s (write %s=\"…\")", n->name, name, name);
  if (!(*ret)->value.text[0]) return FAIL(r, (*ret)->at, "%s is empty (write %s=\"…\")", name, name);
  return 0;
}

/* All attributes of the element are among KNOWN. */
int scenario_xml_check_attributes(struct xml_reader *r, const struct tree_node *n, const char *const *known,
                                  size_t n_known) {
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

int scenario_xml_not_here(struct xml_reader *r, const struct tree_node *n, const char *const *known, size_t n_known) {
  char way[SOURCE_HINT];
  return FAIL(r, n->at, "<%.60s> cannot be in <%s> (%s)", n->name, n->parent->name,
              source_hint(name_nearest(n->name, known, n_known), "remove it", way));
}

/* The element holds no text of its own. */
int scenario_xml_check_no_text(struct xml_reader *r, const struct tree_node *n) {
  if (!n->content.text) return 0;
  return FAIL(r, n->content.start, "<%s> cannot hold text (remove it, or make it a comment)", n->name);
}

int scenario_xml_check_empty(struct xml_reader *r, const struct tree_node *n) {
  if (n->child) return FAIL(r, n->child->at, "<%s> holds nothing (remove <%.60s>)", n->name, n->child->name);
  return scenario_xml_check_no_text(r, n);
}

int scenario_xml_truth(struct xml_reader *r, const struct tree_node *n, const char *name, bool *ret) {
  const struct tree_attribute *a = scenario_xml_find(n, name);
  if (!a) return 0;
  bool yes = strcmp(a->value.text, "true") == 0;
  if (!yes && strcmp(a->value.text, "false") != 0)
    return FAIL(r, a->value.start, "%s is true or false, not '%.60s'", name, a->value.text);
  *ret = yes;
  return 0;
}

int scenario_xml_number(struct xml_reader *r, const struct tree_attribute *a, int64_t low, int64_t high, int64_t *ret) {
  int64_t value;
  if (number_parse(a->value.text, &value) < 0)
    return FAIL(r, a->value.start, "%s=\"%.60s\" is not a number (write it as 10 or 0x1f)", a->name, a->value.text);
  if (value < low || value > high)
    return FAIL(r, a->value.start, "%s=\"%.60s\" is not possible (from %lld to %lld is)", a->name, a->value.text,
                (long long)low, (long long)high);
  *ret = value;
  return 0;
}

/* How many bytes the escape of N bytes at RAW stands for; 0 if it is none that is known. */
static size_t escape_size(const char *raw, size_t n) {
  static const char *const names[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"};
  for (size_t i = 0; i < COUNT(names); i++)
    if (n == strlen(names[i]) && memcmp(raw, names[i], n) == 0) return 1;
  if (n < 4 || raw[1] != '#') return 0;
  bool hex = raw[2] == 'x';
  unsigned long c = strtoul(raw + 2 + hex, NULL, hex ? 16 : 10);
  return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

/* Where each byte of T is in the file; false if something else than escapes is in between. */
static bool find_origins(const struct xml_reader *r, const struct tree_text *t, size_t n, size_t *origins) {
  const char *bytes = r->source->bytes;
  size_t at = t->start, made = 0;
  while (at < t->end && made < n) {
    const char *end = bytes[at] == '&' ? memchr(bytes + at, ';', t->end - at) : NULL;
    size_t raw = end ? (size_t)(end - bytes) - at + 1 : 1, size = end ? escape_size(bytes + at, raw) : 1;
    bool space = strchr(" \t\n\r", bytes[at]) != NULL; /* any of them is a space in an attribute */
    if (size == 0 || size > n - made || (!end && bytes[at] != t->text[made] && !space)) return false;
    for (size_t i = 0; i < size; i++)
      origins[made++] = at;
    at += raw;
  }
  origins[n] = at;
  return made == n && at == t->end;
}

/*
 * The text as a source for the parser of rules. If more than escapes are in it, columns count in what it is, from where
 * the text starts.
 */
int scenario_xml_as_source(struct xml_reader *r, const struct tree_text *t, const struct source_text **ret,
                           size_t *ret_start, size_t *ret_end) {
  if (t->plain) {
    *ret = r->source;
    *ret_start = t->start;
    *ret_end = t->end;
    return 0;
  }
  size_t line = 1, n = strlen(t->text);
  size_t *origins = arena_alloc(&r->s->arena, (n + 1) * sizeof *origins);
  struct text name = {0};
  if (!origins) return scenario_xml_no_memory(r);
  bool found = find_origins(r, t, n, origins);
  for (size_t i = 0; i < t->start; i++)
    line += r->source->bytes[i] == '\n';
  text_addf(&name, "%s:%zu", r->source->name, line);
  struct source_text *source =
      name.failed ? NULL : (struct source_text *)scenario_source(r->s, name.at, t->text, n, true);
  text_done(&name);
  if (!source) return scenario_xml_no_memory(r);
  if (found) {
    source->of = r->source;
    source->origins = origins;
  }
  *ret = source;
  *ret_start = 0;
  *ret_end = n;
  return 0;
}
