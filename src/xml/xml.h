/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XML, read by libxml2, as events with their positions in the bytes.
 *
 * libxml2 is loaded when XML is read: it brings ICU and the library of C++ with it, whose loading takes as long as many
 * a command of murphy, and who reads no XML does not pay for that.
 */
#pragma once

#include "base/base.h"

struct xml_attribute {
  const char *name;  /* without its prefix */
  const char *value; /* without XML's escapes; LENGTH bytes, and no NUL behind them */
  size_t length;
  bool prefixed;
  size_t at;         /* of its name */
  size_t start, end; /* of what stands between the quotes */
};

struct xml_tag {
  const char *name, *prefix;              /* PREFIX: or NULL */
  bool namespaces;                        /* it declares some */
  size_t at;                              /* of its '<' */
  size_t content;                         /* behind its '>' */
  const struct xml_attribute *attributes; /* in the order of the bytes */
  size_t n_attributes;
};

/* Each returns 0, or a negative errno, which ends the reading. What they are given is theirs until they return. */
struct xml_handler {
  const char *what; /* that is read, for messages: "a profile" */
  int (*open)(void *context, const struct xml_tag *tag);
  int (*close)(void *context, size_t at); /* AT: in the tag that closes the innermost element, or behind it */
  /* A piece of the innermost element's content. AT: the piece starts or ends there. */
  int (*text)(void *context, const char *text, size_t n, size_t at);
  int (*wrong)(void *context, size_t at, const char *message); /* always fails */
};

/*
 * Reads BYTES, which are UTF-8 without NUL, whatever they say of themselves. A document type is refused: hence the only
 * entities are XML's own five, and nothing is fetched. 0; what a function of the handler returned; -ENOMEM without a
 * message; -ELIBACC with one if there is no libxml2. From any thread.
 */
int xml_read(const char *bytes, size_t size, const struct xml_handler *handler, void *context, struct err *e) MUST_USE;
