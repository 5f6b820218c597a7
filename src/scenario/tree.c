/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XML to a tree with positions.
 *
 * libxml2 reports elements as it meets them, at the end of their tags: the place of a tag and of its attributes is
 * found by looking back into the bytes. There is no document type, hence no entity to expand and nothing to fetch.
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
  const char *bytes; /* what libxml2 reads: the source's, or those with a root around them */
  size_t size;
  size_t inserted_at, inserted; /* what was put in front of the first element */
  const struct xml_library *xml;
  xmlParserCtxtPtr parser;
  int result; /* the first error; nothing is done after it */
  struct tree_node *root, *inside;
  unsigned depth;
  struct text content[DEPTH_MAX];
  size_t content_start[DEPTH_MAX];
};

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/* From the bytes that libxml2 reads to those of the source. */
static size_t in_source(const struct reader *r, size_t offset) {
  if (offset > r->inserted_at) offset = offset - r->inserted_at > r->inserted ? offset - r->inserted : r->inserted_at;
  return offset < r->source->size ? offset : r->source->size;
}

static size_t offset_now(const struct reader *r) {
  const xmlParserInput *in = r->parser ? r->parser->input : NULL;
  size_t offset = in ? in->consumed + (size_t)(in->cur - in->base) : r->size;
  return offset < r->size ? offset : r->size;
}

static void fail(struct reader *r, int result) {
  r->result = result;
  r->xml->stop(r->parser);
}

#define FAIL(r, offset, ...) fail(r, source_error((r)->source, in_source(r, offset), (r)->e, -EINVAL, __VA_ARGS__))

static void no_memory(struct reader *r) { fail(r, source_no_memory(r->source, r->e)); }

/* --- attributes --------------------------------------------------------------------------------------------------- */

/* The bytes from START to END of the source, and what libxml2 made of them. */
static void place_text(const struct reader *r, struct tree_text *t, size_t start, size_t end) {
  size_t n = strlen(t->text);
  t->start = in_source(r, start);
  t->end = in_source(r, end);
  t->plain = end - start == n && memcmp(r->bytes + start, t->text, n) == 0;
}

/* Finds where the attributes of the tag at TAG stand; they come in the order of the file. */
static void place_attributes(const struct reader *r, struct tree_node *node, size_t tag) {
  const char *at = r->bytes + tag, *end = r->bytes + r->size;
  while (at < end && !blank(*at) && *at != '>')
    at++;
  for (size_t i = 0; i < node->n_attributes; i++) {
    struct tree_attribute *a = &node->attributes[i];
    while (at < end && blank(*at))
      at++;
    a->at = in_source(r, (size_t)(at - r->bytes));
    while (at < end && *at != '"' && *at != '\'')
      at++;
    const char *close = at + 1 < end ? memchr(at + 1, *at, (size_t)(end - at - 1)) : NULL;
    if (!close) return;
    place_text(r, &a->value, (size_t)(at + 1 - r->bytes), (size_t)(close - r->bytes));
    at = close + 1;
  }
}

static bool take_attributes(struct reader *r, struct tree_node *node, int n, const xmlChar **attributes) {
  node->attributes = arena_zalloc(r->arena, ((size_t)n + 1) * sizeof *node->attributes);
  if (!node->attributes) return false;
  node->n_attributes = (size_t)n;
  for (int i = 0; i < n; i++, attributes += 5) {
    struct tree_attribute *a = &node->attributes[i];
    size_t length = (size_t)(attributes[4] - attributes[3]);
    char *value = arena_alloc(r->arena, length + 1);
    a->name = arena_strdup(r->arena, (const char *)attributes[0]);
    if (!value || !a->name) return false;
    memcpy(value, attributes[3], length);
    value[length] = '\0';
    a->value.text = value;
  }
  return true;
}

/* --- what libxml2 reports ----------------------------------------------------------------------------------------- */

static void on_start(void *context, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri, int n_namespaces,
                     const xmlChar **namespaces, int n_attributes, int n_defaulted, const xmlChar **attributes) {
  struct reader *r = context;
  (void)uri, (void)n_namespaces, (void)namespaces, (void)n_defaulted;
  if (r->result < 0) return;
  /* No attribute holds a bare '<', so the last one is the tag's. */
  size_t end = offset_now(r), start = end;
  while (start > 0 && (start == r->size || r->bytes[start] != '<'))
    start--;
  if (prefix || n_namespaces) return FAIL(r, start, "a scenario has no XML namespaces (remove the prefix, or xmlns)");
  if (r->depth == DEPTH_MAX) return FAIL(r, start, "elements are nested too deeply");
  struct tree_node *node = arena_zalloc(r->arena, sizeof *node);
  if (!node) return no_memory(r);
  *node = (struct tree_node){.name = arena_strdup(r->arena, (const char *)name), .at = in_source(r, start)};
  if (!node->name || !take_attributes(r, node, n_attributes, attributes)) return no_memory(r);
  place_attributes(r, node, start);
  node->parent = r->inside;
  if (r->inside && r->inside->last)
    r->inside->last->next = node;
  else if (r->inside)
    r->inside->child = node;
  else
    r->root = node;
  if (r->inside) r->inside->last = node;
  r->inside = node;
  const char *close = memchr(r->bytes + end, '>', r->size - end);
  r->content_start[r->depth] = close ? (size_t)(close - r->bytes) + 1 : end;
  r->content[r->depth++].n = 0;
}

/* The content without the space around it; its bytes end where the closing tag starts. */
static bool take_content(struct reader *r, struct tree_node *node) {
  struct text *t = &r->content[r->depth - 1];
  size_t first = 0, last = t->n, start = r->content_start[r->depth - 1], end = offset_now(r);
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

static void on_end(void *context, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri) {
  struct reader *r = context;
  (void)name, (void)prefix, (void)uri;
  if (r->result < 0 || !r->depth) return;
  if (!take_content(r, r->inside)) return no_memory(r);
  r->depth--;
  r->inside = r->inside->parent;
}

static void on_text(void *context, const xmlChar *text, int n) {
  struct reader *r = context;
  if (r->result == 0 && r->depth && n > 0) text_add_bytes(&r->content[r->depth - 1], text, (size_t)n);
}

static void on_document_type(void *context, const xmlChar *name, const xmlChar *external, const xmlChar *system) {
  struct reader *r = context;
  (void)name, (void)external, (void)system;
  if (r->result == 0) FAIL(r, offset_now(r), "a scenario has no document type (remove <!DOCTYPE …>)");
}

static void on_error(void *context, xmlErrorPtr error) {
  struct reader *r = context;
  if (r->result < 0 || error->level < XML_ERR_ERROR) return;
  const char *message = error->message ? error->message : "this is not XML";
  int n = (int)strcspn(message, "\n");
  if (error->code == XML_ERR_NO_MEMORY)
    no_memory(r);
  else
    FAIL(r, offset_now(r), "%.*s", n < 300 ? n : 300, message);
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

static void read_document(struct reader *r) {
  xmlSAXHandler handler = {
      .initialized = XML_SAX2_MAGIC,
      .internalSubset = on_document_type,
      .startElementNs = on_start,
      .endElementNs = on_end,
      .characters = on_text,
      .ignorableWhitespace = on_text,
      .cdataBlock = on_text,
      .serror = on_error,
  };
  r->parser = r->xml->create(r->bytes, (int)r->size);
  if (!r->parser) {
    r->result = source_no_memory(r->source, r->e);
    return;
  }
  *r->parser->sax = handler;
  r->parser->userData = r;
  /* As for profiles: the bytes are UTF-8, and the only entities are XML's own five. */
  (void)r->xml->use_options(r->parser, XML_PARSE_NONET | XML_PARSE_IGNORE_ENC | XML_PARSE_NOENT);
  (void)r->xml->parse(r->parser);
  if (r->result == 0 && r->parser->errNo == XML_ERR_NO_MEMORY) no_memory(r);
  if (r->result == 0 && (!r->parser->wellFormed || r->depth > 0 || !r->root)) FAIL(r, r->size, "this is not XML");
}

int scenario_xml_tree(struct arena *a, const struct source_text *source, struct tree_node **ret, struct err *e) {
  struct reader r = {.arena = a, .source = source, .e = e};
  int loaded = xml_library(&r.xml, e);
  if (loaded < 0 && loaded != -ENOMEM) return loaded;
  if (loaded < 0 || !add_root(&r)) return source_no_memory(source, e);
  /* What libxml2 cannot tell a parser, that it has no memory for one, it prints; unless this thread says otherwise. */
  xmlStructuredErrorFunc before = *r.xml->error_handler();
  void *context_before = *r.xml->error_context();
  r.xml->set_error_handler(&r, on_error);
  read_document(&r);
  r.xml->set_error_handler(context_before, before);
  r.xml->free(r.parser);
  r.xml->forget_error(); /* it keeps a copy of the message */
  for (size_t i = 0; i < COUNT(r.content); i++)
    text_done(&r.content[i]);
  if (r.result == 0) *ret = r.root;
  return r.result;
}
