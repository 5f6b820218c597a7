/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What elements and attributes of a scenario must be like, and what they say.
 */
#include "scenario/xml.h"

#include <errno.h>
#include <string.h>

#define FAIL(r, offset, ...) source_error((r)->source, offset, (r)->e, -EINVAL, __VA_ARGS__)

int xml_no_memory(struct xml_reader *r) { return source_no_memory(r->source, r->e); }

struct where xml_where(const struct xml_reader *r, size_t offset) {
  return (struct where){r->source, offset};
}

const struct xml_attribute *xml_find(const struct xml_node *n, const char *name) {
  for (size_t i = 0; i < n->n_attributes; i++)
    if (strcmp(n->attributes[i].name, name) == 0) return &n->attributes[i];
  return NULL;
}

int xml_must_have(struct xml_reader *r, const struct xml_node *n, const char *name, const struct xml_attribute **ret) {
  *ret = xml_find(n, name);
  if (!*ret) return FAIL(r, n->at, "<%s> has no %s (write %s=\"…\")", n->name, name, name);
  if (!(*ret)->value.text[0]) return FAIL(r, (*ret)->at, "%s is empty (write %s=\"…\")", name, name);
  return 0;
}

/* All attributes of the element are among KNOWN. */
int xml_check_attributes(struct xml_reader *r, const struct xml_node *n, const char *const *known, size_t n_known) {
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

int xml_not_here(struct xml_reader *r, const struct xml_node *n, const char *const *known, size_t n_known) {
  char way[SOURCE_HINT];
  return FAIL(r, n->at, "<%.60s> cannot be in <%s> (%s)", n->name, n->parent->name,
              source_hint(name_nearest(n->name, known, n_known), "remove it", way));
}

/* The element holds no text of its own. */
int xml_check_no_text(struct xml_reader *r, const struct xml_node *n) {
  if (!n->content.text) return 0;
  return FAIL(r, n->content.start, "<%s> cannot hold text (remove it, or make it a comment)", n->name);
}

int xml_check_empty(struct xml_reader *r, const struct xml_node *n) {
  if (n->child) return FAIL(r, n->child->at, "<%s> holds nothing (remove <%.60s>)", n->name, n->child->name);
  return xml_check_no_text(r, n);
}

int xml_truth(struct xml_reader *r, const struct xml_node *n, const char *name, bool *ret) {
  const struct xml_attribute *a = xml_find(n, name);
  if (!a) return 0;
  bool yes = strcmp(a->value.text, "true") == 0;
  if (!yes && strcmp(a->value.text, "false") != 0)
    return FAIL(r, a->value.start, "%s is true or false, not '%.60s'", name, a->value.text);
  *ret = yes;
  return 0;
}

int xml_number(struct xml_reader *r, const struct xml_attribute *a, int64_t low, int64_t high, int64_t *ret) {
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
int xml_as_source(struct xml_reader *r, const struct xml_text *t, const struct source_text **ret, size_t *ret_start,
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
  if (!*ret) return xml_no_memory(r);
  *ret_start = 0;
  *ret_end = strlen(t->text);
  return 0;
}
