/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XML to a tree with positions.
 *
 * Fragments as the LFI paper prints them have no root element; they get one, and positions stay those of the file.
 */
#include "scenario/tree.h"
#include "xml/xml.h"

#include <errno.h>
#include <string.h>

#define DEPTH_MAX 16

static const char root_open[] = "<scenario>", root_close[] = "</scenario>";

struct reader {
  struct arena *arena;
  const struct source_text *source;
  struct err *e;
  const char *bytes; /* what is read: the source's, or those with a root around them */
  size_t size;
  size_t inserted_at, inserted; /* what was put in front of the first element */
  struct tree_node *root, *inside;
  unsigned depth;
  struct text content[DEPTH_MAX];
  size_t content_start[DEPTH_MAX];
};

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/* From the bytes that are read to those of the source. */
static size_t in_source(const struct reader *r, size_t offset) {
  if (offset > r->inserted_at) offset = offset - r->inserted_at > r->inserted ? offset - r->inserted : r->inserted_at;
  return offset < r->source->size ? offset : r->source->size;
}

#define FAIL(r, offset, ...) source_error((r)->source, in_source(r, offset), (r)->e, -EINVAL, __VA_ARGS__)

/* --- elements ----------------------------------------------------------------------------------------------------- */

/* The bytes from START to END of what is read, and what they mean. */
static void place_text(const struct reader *r, struct tree_text *t, size_t start, size_t end) {
  size_t n = strlen(t->text);
  t->start = in_source(r, start);
  t->end = in_source(r, end);
  t->plain = end - start == n && memcmp(r->bytes + start, t->text, n) == 0;
}

static bool take_attributes(struct reader *r, struct tree_node *node, const struct xml_tag *tag) {
  node->attributes = arena_zalloc(r->arena, (tag->n_attributes + 1) * sizeof *node->attributes);
  if (!node->attributes) return false;
  node->n_attributes = tag->n_attributes;
  for (size_t i = 0; i < tag->n_attributes; i++) {
    const struct xml_attribute *from = &tag->attributes[i];
    struct tree_attribute *a = &node->attributes[i];
    char *value = arena_alloc(r->arena, from->length + 1);
    a->name = arena_strdup(r->arena, from->name);
    if (!value || !a->name) return false;
    memcpy(value, from->value, from->length);
    value[from->length] = '\0';
    a->at = in_source(r, from->at);
    a->value.text = value;
    place_text(r, &a->value, from->start, from->end);
  }
  return true;
}

static int on_open(void *context, const struct xml_tag *tag) {
  struct reader *r = context;
  if (tag->prefix || tag->namespaces)
    return FAIL(r, tag->at, "a scenario has no XML namespaces (remove the prefix, or xmlns)");
  if (r->depth == DEPTH_MAX) return FAIL(r, tag->at, "elements are nested too deeply");
  struct tree_node *node = arena_zalloc(r->arena, sizeof *node);
  if (!node) return -ENOMEM;
  *node = (struct tree_node){.name = arena_strdup(r->arena, tag->name), .at = in_source(r, tag->at)};
  if (!node->name || !take_attributes(r, node, tag)) return -ENOMEM;
  node->parent = r->inside;
  if (r->inside && r->inside->last)
    r->inside->last->next = node;
  else if (r->inside)
    r->inside->child = node;
  else
    r->root = node;
  if (r->inside) r->inside->last = node;
  r->inside = node;
  r->content_start[r->depth] = tag->content;
  r->content[r->depth++].n = 0;
  return 0;
}

/* The content without the space around it; its bytes end where the closing tag starts. */
static bool take_content(struct reader *r, struct tree_node *node, size_t end) {
  struct text *t = &r->content[r->depth - 1];
  size_t first = 0, last = t->n, start = r->content_start[r->depth - 1];
  if (t->failed) return false;
  while (first < last && blank(t->at[first]))
    first++;
  while (last > first && blank(t->at[last - 1]))
    last--;
  if (first == last) return true;
  char *copy = arena_memdup(r->arena, t->at + first, last - first + 1);
  if (!copy) return false;
  copy[last - first] = '\0';
  node->content.text = copy;
  while (end > start && r->bytes[end - 1] != '<')
    end--;
  end -= end > start;
  while (start < end && blank(r->bytes[start]))
    start++;
  while (end > start && blank(r->bytes[end - 1]))
    end--;
  place_text(r, &node->content, start, end);
  return true;
}

static int on_close(void *context, size_t at) {
  struct reader *r = context;
  if (!take_content(r, r->inside, at)) return -ENOMEM;
  r->depth--;
  r->inside = r->inside->parent;
  return 0;
}

static int on_text(void *context, const char *text, size_t n, size_t at) {
  struct reader *r = context;
  (void)at;
  text_add_bytes(&r->content[r->depth - 1], text, n);
  return 0;
}

static int on_wrong(void *context, size_t at, const char *message) {
  struct reader *r = context;
  return FAIL(r, at, "%s", message);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* Where the first element starts, behind declaration and comments; the size if there is none. */
static size_t first_element(const struct source_text *s) {
  size_t at = 0;
  while (at < s->size) {
    const char *p = s->bytes + at;
    size_t left = s->size - at;
    const char *end = NULL;
    if (blank(*p)) {
      at++;
      continue;
    }
    if (left >= 4 && memcmp(p, "<!--", 4) == 0)
      end = memmem(p + 4, left - 4, "-->", 3);
    else if (left >= 2 && memcmp(p, "<?", 2) == 0)
      end = memmem(p + 2, left - 2, "?>", 2);
    else
      return at;
    if (!end) return s->size;
    at = (size_t)(end - s->bytes) + (p[1] == '!' ? 3 : 2);
  }
  return at;
}

static bool starts_with(const struct source_text *s, size_t at, const char *name) {
  size_t n = strlen(name);
  return s->size - at > n + 1 && s->bytes[at] == '<' && memcmp(s->bytes + at + 1, name, n) == 0 &&
         (blank(s->bytes[at + 1 + n]) || s->bytes[at + 1 + n] == '>' || s->bytes[at + 1 + n] == '/');
}

/* Puts a root around elements that stand alone. */
static bool add_root(struct reader *r) {
  const struct source_text *s = r->source;
  size_t at = first_element(s);
  bool alone = starts_with(s, at, "trigger") || starts_with(s, at, "function") || starts_with(s, at, "rule") ||
               starts_with(s, at, "include");
  r->bytes = s->bytes;
  r->size = s->size;
  r->inserted_at = s->size;
  if (!alone) return true;
  size_t open = sizeof root_open - 1, close = sizeof root_close - 1;
  char *bytes = arena_alloc(r->arena, s->size + open + close + 1);
  if (!bytes) return false;
  memcpy(bytes, s->bytes, at);
  memcpy(bytes + at, root_open, open);
  memcpy(bytes + at + open, s->bytes + at, s->size - at);
  memcpy(bytes + s->size + open, root_close, close + 1);
  r->bytes = bytes;
  r->size = s->size + open + close;
  r->inserted_at = at;
  r->inserted = open;
  return true;
}

int scenario_xml_tree(struct arena *a, const struct source_text *source, struct tree_node **ret, struct err *e) {
  static const struct xml_handler handler = {"a scenario", on_open, on_close, on_text, on_wrong};
  struct reader r = {.arena = a, .source = source, .e = e};
  if (!add_root(&r)) return source_no_memory(source, e);
  int result = xml_read(r.bytes, r.size, &handler, &r, e);
  for (size_t i = 0; i < COUNT(r.content); i++)
    text_done(&r.content[i]);
  if (result == -ENOMEM) return source_no_memory(source, e);
  if (result == 0) *ret = r.root;
  return result;
}
