/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the room: what the readers of XML's elements share.
 */
#pragma once

#include "scenario/tree.h"

struct xml_reader {
  struct scenario *s;
  const struct source_text *source;
  struct err *e;
};

int scenario_xml_no_memory(struct xml_reader *r);
struct where scenario_xml_where(const struct xml_reader *r, size_t offset);

/* The attribute; NULL if there is none. The second fails if there is none, or if it is empty. */
const struct tree_attribute *scenario_xml_find(const struct tree_node *n, const char *name);
int scenario_xml_must_have(struct xml_reader *r, const struct tree_node *n, const char *name,
                           const struct tree_attribute **ret) MUST_USE;
/* All attributes of the element are among KNOWN. */
int scenario_xml_check_attributes(struct xml_reader *r, const struct tree_node *n, const char *const *known,
                                  size_t n_known) MUST_USE;
/* The message for an element that does not belong where it is; KNOWN do. */
int scenario_xml_not_here(struct xml_reader *r, const struct tree_node *n, const char *const *known, size_t n_known);
/* The element holds no text of its own; and no elements either. */
int scenario_xml_check_no_text(struct xml_reader *r, const struct tree_node *n) MUST_USE;
int scenario_xml_check_empty(struct xml_reader *r, const struct tree_node *n) MUST_USE;
/* "true" or "false"; *RET stays if there is no such attribute. */
int scenario_xml_truth(struct xml_reader *r, const struct tree_node *n, const char *name, bool *ret) MUST_USE;
int scenario_xml_number(struct xml_reader *r, const struct tree_attribute *a, int64_t low, int64_t high,
                        int64_t *ret) MUST_USE;
/* The text as a source for the parser of rules, from *RET_START to *RET_END. */
int scenario_xml_as_source(struct xml_reader *r, const struct tree_text *t, const struct source_text **ret,
                           size_t *ret_start, size_t *ret_end) MUST_USE;

/* The trigger of this id; NULL if there is none. */
struct trigger *scenario_trigger(const struct scenario *s, const char *id);
int scenario_xml_read_function(struct xml_reader *r, struct tree_node *n) MUST_USE;
