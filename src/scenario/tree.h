/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the room: an XML file as a tree that remembers where everything stood.
 */
#pragma once

#include "scenario/model.h"

/* A piece of text as the author meant it, without XML's escapes. */
struct tree_text {
  const char *text;  /* NULL if there is none */
  size_t start, end; /* the bytes in the source */
  bool plain;        /* they are the text itself: no escapes, comments or parts */
};

struct tree_attribute {
  const char *name;
  size_t at;
  struct tree_text value;
};

struct tree_node {
  const char *name;
  size_t at; /* of its '<' */
  struct tree_attribute *attributes;
  size_t n_attributes;
  struct tree_text content; /* without the space around it; NULL if that is all */
  struct tree_node *parent, *child, *last, *next;
  struct rule *rules; /* of an <include>, until their turn comes */
  size_t n_rules;
};

/* Reads the bytes of SOURCE, and makes a root of elements that have none. Errors say where. */
int scenario_xml_tree(struct arena *a, const struct source_text *source, struct tree_node **ret,
                      struct err *e) MUST_USE;
