/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs libxml2 over bytes and says where in them each thing stands.
 *
 * libxml2 reports an element at the end of its tag: where the tag and its attributes start is found by looking back
 * into the bytes.
 */
#include "xml/library.h"
#include "xml/xml.h"

#include <errno.h>
#include <string.h>

#define MESSAGE_MAX 300

struct reading {
  const char *bytes;
  size_t size;
  const struct xml_handler *handler;
  void *context;
  const struct xml_library *xml;
  xmlParserCtxtPtr parser;
  int result; /* the first error; nothing is done after it */
  bool any;   /* there was an element */
  size_t depth;
  VEC(struct xml_attribute) attributes; /* of the newest tag */
};

static size_t offset_now(const struct reading *r) {
  const xmlParserInput *in = r->parser ? r->parser->input : NULL;
  size_t offset = in ? in->consumed + (size_t)(in->cur - in->base) : r->size;
  return offset < r->size ? offset : r->size;
}

static void finish(struct reading *r, int result) {
  if (result >= 0) return;
  r->result = result;
  r->xml->stop(r->parser);
}

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/* Declarations of namespaces stand among the attributes, but libxml2 does not report them as such. */
static bool declares_namespace(const char *at, const char *end) {
  return end - at > 5 && memcmp(at, "xmlns", 5) == 0 && (at[5] == ':' || at[5] == '=' || blank(at[5]));
}

/* Finds where the attributes of the tag at TAG stand; one that cannot be found stands where the tag does. */
static void place_attributes(struct reading *r, size_t tag) {
  const char *at = r->bytes + tag, *end = r->bytes + r->size;
  for (size_t i = 0; i < r->attributes.n; i++)
    r->attributes.at[i].at = r->attributes.at[i].start = r->attributes.at[i].end = tag;
  while (at < end && !blank(*at) && *at != '>')
    at++;
  for (size_t i = 0; i < r->attributes.n;) {
    while (at < end && blank(*at))
      at++;
    const char *name = at;
    while (at < end && *at != '"' && *at != '\'')
      at++;
    const char *close = at + 1 < end ? memchr(at + 1, *at, (size_t)(end - at - 1)) : NULL;
    if (!close) return;
    if (!declares_namespace(name, end)) {
      struct xml_attribute *a = &r->attributes.at[i++];
      a->at = (size_t)(name - r->bytes);
      a->start = (size_t)(at + 1 - r->bytes);
      a->end = (size_t)(close - r->bytes);
    }
    at = close + 1;
  }
}

/* Each is a group of five pointers: name, prefix, namespace, and both ends of the value. */
static int take_attributes(struct reading *r, int n, const xmlChar **attributes) {
  r->attributes.n = 0;
  for (int i = 0; i < n; i++, attributes += 5) {
    struct xml_attribute a = {.name = (const char *)attributes[0],
                              .prefixed = attributes[1],
                              .value = (const char *)attributes[3],
                              .length = (size_t)(attributes[4] - attributes[3])};
    int e = vec_push(&r->attributes, a);
    if (e < 0) return e;
  }
  return 0;
}

/* --- what libxml2 reports ----------------------------------------------------------------------------------------- */

static void on_start(void *context, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri, int n_namespaces,
                     const xmlChar **namespaces, int n_attributes, int n_defaulted, const xmlChar **attributes) {
  struct reading *r = context;
  (void)uri, (void)namespaces, (void)n_defaulted;
  if (r->result < 0) return;
  r->any = true;
  r->depth++;
  /* No attribute holds a bare '<', so the last one is the tag's. */
  size_t end = offset_now(r), start = end;
  while (start > 0 && (start == r->size || r->bytes[start] != '<'))
    start--;
  if (take_attributes(r, n_attributes, attributes) < 0) return finish(r, -ENOMEM);
  place_attributes(r, start);
  const char *close = memchr(r->bytes + end, '>', r->size - end);
  struct xml_tag tag = {
      .name = (const char *)name,
      .prefix = (const char *)prefix,
      .namespaces = n_namespaces > 0,
      .at = start,
      .content = close ? (size_t)(close - r->bytes) + 1 : end,
      .attributes = r->attributes.at,
      .n_attributes = r->attributes.n,
  };
  finish(r, r->handler->open(r->context, &tag));
}

static void on_end(void *context, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri) {
  struct reading *r = context;
  (void)name, (void)prefix, (void)uri;
  if (r->result < 0 || !r->depth) return;
  r->depth--;
  finish(r, r->handler->close(r->context, offset_now(r)));
}

static void on_text(void *context, const xmlChar *text, int n) {
  struct reading *r = context;
  if (r->result < 0 || !r->depth || n <= 0) return;
  finish(r, r->handler->text(r->context, (const char *)text, (size_t)n, offset_now(r)));
}

static void on_document_type(void *context, const xmlChar *name, const xmlChar *external, const xmlChar *system) {
  struct reading *r = context;
  char message[MESSAGE_MAX];
  (void)name, (void)external, (void)system;
  if (r->result < 0) return;
  (void)snprintf(message, sizeof message, "%s has no document type (remove <!DOCTYPE …>)", r->handler->what);
  finish(r, r->handler->wrong(r->context, offset_now(r), message));
}

static void on_error(void *context, xmlErrorPtr error) {
  struct reading *r = context;
  char line[MESSAGE_MAX + 1];
  if (r->result < 0 || error->level < XML_ERR_ERROR) return;
  if (error->code == XML_ERR_NO_MEMORY) return finish(r, -ENOMEM);
  const char *message = error->message ? error->message : "this is not XML";
  (void)snprintf(line, sizeof line, "%.*s", (int)strcspn(message, "\n"), message);
  finish(r, r->handler->wrong(r->context, offset_now(r), line));
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static int read_document(struct reading *r) {
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
  if (!r->parser) return -ENOMEM;
  *r->parser->sax = handler;
  r->parser->userData = r;
  /* Entities are replaced, because libxml2 would otherwise leave an &amp; in an attribute half-escaped. */
  (void)r->xml->use_options(r->parser, XML_PARSE_NONET | XML_PARSE_IGNORE_ENC | XML_PARSE_NOENT);
  (void)r->xml->parse(r->parser);
  if (r->result < 0) return r->result;
  if (r->parser->errNo == XML_ERR_NO_MEMORY) return -ENOMEM;
  if (!r->parser->wellFormed || r->depth > 0 || !r->any)
    return r->handler->wrong(r->context, r->size, "this is not XML");
  return 0;
}

int xml_read(const char *bytes, size_t size, const struct xml_handler *handler, void *context, struct err *e) {
  struct reading r = {.bytes = bytes, .size = size, .handler = handler, .context = context};
  int result = xml_library(&r.xml, e);
  if (result < 0) return result;
  /* What libxml2 cannot tell a parser, that it has no memory for one, it prints; unless this thread says otherwise. */
  xmlStructuredErrorFunc before = *r.xml->error_handler();
  void *context_before = *r.xml->error_context();
  r.xml->set_error_handler(&r, on_error);
  result = read_document(&r);
  r.xml->set_error_handler(context_before, before);
  r.xml->free(r.parser);
  r.xml->forget_error(); /* it keeps a copy of the message */
  vec_done(&r.attributes);
  return result;
}
