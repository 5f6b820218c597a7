/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files about variables share: where one is (debug_variable.c), and the way to a part (debug_type.c). */
#pragma once

#include "image/debug.h"

/* One question. All that must survive a jump out of libdw is the caller's, or in the arena. */
struct variable_search {
  struct image_debug *d;
  const char *function; /* NULL: a global variable */
  const char *name;     /* its first part, without members; NULL: argument number PARAMETER */
  const char *space;    /* of a qualified name, what stands before it; NULL */
  const char *path;     /* members, behind the name */
  const char *whole;    /* all of it, for messages */
  unsigned parameter;
  struct image_variable *ret;
  struct err *e;
  bool found, function_found;
  VEC(const char *) names; /* that there are instead */
};

/* Takes the way that S->path says from a variable of TYPE. -EINVAL or -ENOENT with a message. */
int variable_follow(struct variable_search *s, Dwarf_Die *type);
/* An attribute of DIE, or of what it says more about. */
bool variable_attr(Dwarf_Die *die, unsigned attribute, Dwarf_Attribute *ret);
/*
 * The first child, and the next one. Files can be made so that these never end: each costs a piece of the budget, and
 * there are none behind its end.
 */
bool variable_child(struct variable_search *s, Dwarf_Die *parent, Dwarf_Die *ret);
bool variable_next(struct variable_search *s, Dwarf_Die *die);
/* The type of a variable or member; false if it has none. */
bool variable_type(Dwarf_Die *die, Dwarf_Die *ret);
/* NAME, if it is one that was not noted yet. */
void variable_note(struct variable_search *s, const char *name);
/* "did you mean …", or nothing. */
const char *variable_near(struct variable_search *s, const char *name, char buffer[100]);
