/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: the words of a kernel that are functions, and the tables of structures that they form. */
#pragma once

#include "solver/solver.h"

/* A word of the image that is a function's address. */
struct pointer {
  uint64_t at, function;
  uint64_t key; /* of the function's type; 0 if it is not known */
};

struct slot;

/* A structure of which tables are known. */
struct layout {
  uint32_t size;
  uint32_t n_slots, n_tables;
  struct slot *slots;
  uint64_t *tables; /* in the order of addresses */
  bool more;        /* there are variables without types that can be tables of it */
};

struct tables {
  const struct image *image;
  const struct types *types; /* or NULL */
  struct arena arena;
  VEC(struct pointer) pointers; /* by place */
  struct map by_key;            /* type to the first in ORDER */
  uint32_t *order;              /* pointers by type */
  struct map layouts;           /* structure to struct layout * */
  struct map structures;        /* hashes of the names of all that have members */
};

/* Looks at all variables of the image. On failure, too, tables_done must be called. */
int tables_init(struct tables *t, const struct image *img, const struct types *types) MUST_USE;
void tables_done(struct tables *t);

/* How many pointers are before AT. */
size_t tables_pointers_before(const struct tables *t, uint64_t at);
/* The pointer at AT, or NULL. */
const struct pointer *tables_pointer_at(const struct tables *t, uint64_t at);
/* The structure TYPE with all its tables, which are looked for once; NULL if there is no memory. */
const struct layout *tables_of_type(struct tables *t, uint32_t type);

/* The word at AT; false if the image has none there. */
bool tables_word_at(const struct image *img, uint64_t at, uint64_t *ret);
/* The type of the function NAME; with COPIES also of what the compiler made of it (NAME.isra.0). */
uint32_t tables_function_type(const struct types *ts, const char *name, bool copies);
