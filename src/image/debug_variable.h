/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files about variables share: which one is meant (debug_variable.c), where it is (debug_location.c), what a
 * function was called with (debug_entry.c), and the way to a part (debug_type.c).
 */
#pragma once

#include "image/debug.h"

/* One question. All that must survive a jump out of libdw is the caller's, or in the arena. */
struct variable_search {
  struct image_debug *d;
  const char *function;  /* NULL: a global variable */
  const char *name;      /* its first part, without members; NULL: argument number PARAMETER */
  const char *qualified; /* ... with namespaces and types before it */
  const char *path;      /* members, behind the name */
  const char *whole;     /* all of it, for messages */
  unsigned parameter;
  unsigned n_parameters; /* that the function has, if there is no such one */
  struct image_variable *ret;
  struct err *e;
  bool found, function_found;
  const char *file;        /* of a global variable: the unit that it is in, or NULL */
  struct debug_unit *unit; /* ... the one that is looked at */
  bool alone;              /* ... there cannot be another one */
  uint64_t budget;         /* DIEs that may still be looked at */
  bool entered;            /* some location is IMAGE_IS_ENTRY */
  VEC(const void *) meant; /* of a global variable: its declarations */
  size_t first_meant;      /* ... of which these count now */
  debug_spans hidden;      /* of a local variable: where an inner block has another one of the name */
  VEC(Dwarf_Die) callees;  /* functions for which it is */
  VEC(const char *) names; /* that there are instead */
};

/* Takes the way that S->path says from a variable of TYPE. -EINVAL or -ENOENT with a message. */
int variable_follow(struct variable_search *s, Dwarf_Die *type);
/* What the frame base of a function is: fbreg counts from there. */
struct location_base {
  bool known;
  enum image_location_kind kind; /* IMAGE_AT_CFA or IMAGE_AT_REGISTER */
  uint8_t reg;
  int64_t offset;
};
struct location_base location_base(Dwarf_Die *function);
/* What the expression of A says, if it has one of the forms that compilers write for what can be found. */
bool location_read(Dwarf_Attribute *a, const Dwarf_Op *ops, size_t n, const struct location_base *base,
                   struct image_location *to);
/* Of a variable in pieces, the one that has all of what V asks for. */
bool location_of_piece(Dwarf_Attribute *a, const Dwarf_Op *ops, size_t n, const struct location_base *base,
                       const struct image_variable *v, struct image_location *to);
/* The value of an argument at a call: what is at a place means what is stored there, in at least WIDTH bytes. */
bool location_of_argument(Dwarf_Attribute *a, const Dwarf_Op *ops, size_t n, const struct location_base *base,
                          unsigned width, struct image_location *to);

/* What a DIE is in: a namespace or a type, and what that is in; NULL: nothing but the unit. */
struct debug_within {
  const struct debug_within *outer;
  const char *name;
  bool silent; /* its name may be left out */
  unsigned depth;
};
/* Is DIE a namespace or a type with something in it? Then *RET is what its children are in. */
bool debug_within_enter(const struct debug_within *in, Dwarf_Die *die, struct debug_within *ret);
/* Is WANTED ("space::name") NAME in IN, or the end of that? */
bool debug_within_is(const struct debug_within *in, const char *name, const char *wanted);
/* The definition of a type of which TYPE is a declaration, in whatever unit it is. */
bool debug_definition(struct variable_search *s, Dwarf_Die *type, Dwarf_Die *ret);

/* Adds to S->ret what calls in U hand to the functions of S->callees. */
int entry_search(struct variable_search *s, struct debug_unit *u);

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
