/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: the state of going backward through one function. */
#pragma once

#include "flow/flow.h"

#include <stddef.h>

/* --- chains (transform.c) ----------------------------------------------------------------------------------------- */

/* Puts an operation in front. False if the chain gets too long or there is no memory, which W then says. */
bool flow_transform_push(struct flow_worker *w, const struct transform **chain, unsigned kind, unsigned width,
                         int64_t imm);
/* Puts the operations of INNER in front. */
bool flow_transform_concat(struct flow_worker *w, const struct transform *inner, const struct transform **chain);
bool flow_transform_loads(const struct transform *t);
bool flow_transform_negates(const struct transform *t);
/* Does the chain begin by taking the sign of its value's low bytes (all ones or zero)? */
bool flow_transform_is_sign(const struct transform *t, const struct transform **ret_of);

/* --- locations and items ------------------------------------------------------------------------------------------ */

enum item_role { ROLE_RET, ROLE_STORE, ROLE_PRED };

/* A value that is followed backward: OPS(content of LOC). */
struct item {
  struct flow_loc loc;
  uint8_t role;
  uint8_t index;     /* ROLE_STORE: which store */
  uint8_t cc, width; /* ROLE_PRED: OPS(content) cc IMM must hold */
  const struct transform *ops;
  uint64_t imm;
  uint64_t at;
};

#define ITEMS 8
#define PREDS 4
#define PENDING 4
#define NO_CASE UINT32_MAX

/* BEYOND_FAR: more than one block. All that matters there is what is asked of the call that is wanted. */
enum { BEYOND_NEAR = 1, BEYOND_FAR = 2 };

/* Copied with state_copy: only what is in use. */
struct state {
  struct flow_value ret;    /* VALUE_NONE while it is an item */
  uint32_t table_case;      /* the index with which a jump table was left, or NO_CASE */
  uint8_t pending[PENDING]; /* conditions on the next flags met */
  uint8_t n_items, n_guards, n_stores, n_pending, n_passed;
  uint8_t narrow; /* bytes of rax that are set, if less than four; else 0 */
  bool shared;
  uint8_t beyond;   /* the value is a call's, and the block of the call is behind: BEYOND_NEAR, or BEYOND_FAR */
  uint8_t distance; /* blocks since nothing was followed any more; no part of what a state is */
  struct item items[ITEMS];
  struct flow_guard guards[FLOW_GUARDS];
  struct flow_store stores[FLOW_STORES];
};

struct work_item {
  uint32_t block, position; /* instructions of the block before POSITION are still to come */
  struct state state;
};

/* The first words of a state, which say how much there is of the rest. */
#define STATE_HEAD offsetof(struct state, items)
_Static_assert(STATE_HEAD % 8 == 0 && sizeof(struct item) % 8 == 0 && sizeof(struct flow_guard) % 8 == 0 &&
                   sizeof(struct flow_store) % 8 == 0,
               "states are kept as words");

#define ORIGIN_MARKS 256

struct walk {
  struct flow_function function;
  VEC(uint64_t) work; /* a stack of N_WORK states, of each only what is in use */
  unsigned n_work;
  struct map *visited;    /* hashes of (block, state) */
  struct map *emitted;    /* hashes of outcomes */
  struct map *conditions; /* (instruction, condition) to predicates: their number, and where they begin * 4 */
  VEC(struct item) predicates;
  VEC(struct flow_outcome) outcomes;
  unsigned steps, budget;
  uint8_t guards, passed; /* how many conditions on calls, and calls, are kept as evidence */
  bool simple;            /* constants only, no evidence */
  uint8_t result;         /* the register in which the function returns */
  bool errno_asked;
  const struct image_symbol *errno_symbol; /* of the image, if it was asked for; or NULL */
};

/* The worker's map, empty; a large one is given back. */
struct map *flow_worker_map(struct map *m);

/* Vectors are empty at the start, but keep the memory that they had in the function before. */
#define room_take(v, room) ((v)->at = (room)->at, (v)->cap = (room)->cap, *(room) = (struct flow_room){0})
#define room_give(v, room)                                                                                             \
  (vec_free(&(room)->at), *(room) = (struct flow_room){(v)->at, (v)->cap}, (v)->at = NULL, (v)->n = (v)->cap = 0)

bool flow_loc_equal(const struct flow_loc *a, const struct flow_loc *b);

/* --- one instruction, one item (step.c) --------------------------------------------------------------------------- */

enum step_kind { STEP_NONE, STEP_MOVED, STEP_VALUE, STEP_FORK };

/* Where a value comes from: another location, or a leaf; OPS come between. */
struct source {
  bool leaf;
  struct flow_loc loc;
  struct flow_value value;
  const struct transform *ops;
};

struct step {
  struct source now;    /* STEP_MOVED, STEP_VALUE */
  struct source alt[2]; /* STEP_FORK: if CC does not hold, if it does */
  uint8_t cc;
};

enum step_kind step_item(struct flow_function *f, const struct flow_loc *loc, const struct transform *ops,
                         uint32_t insn, struct step *ret);

/* --- operands (location.c) ---------------------------------------------------------------------------------------- */

/* The value of the memory operand, of SIZE bytes; OPS are what is done with it later. */
struct source flow_source_memory(struct flow_function *f, uint32_t insn, unsigned size, bool is_signed,
                                 const struct transform *ops);
struct source flow_source_leaf(struct flow_value v);
/* SIZE: of the instruction that makes it. */
struct source flow_source_unknown(unsigned kind, unsigned size, uint64_t at);
/* Applies a leaf's pending operations as far as they can be. */
struct flow_value value_finish(struct flow_function *f, struct flow_value v, const struct transform *ops);

/* --- where does it come from, on all ways (origin.c) -------------------------------------------------------------- */

/* What a function finds in LOC when it is entered. */
struct flow_value value_at_entry(const struct flow_function *f, const struct flow_loc *loc);

/* --- pointers to functions (path.c) ------------------------------------------------------------------------------- */

/* The ways in which the pointer that INSN calls may have come; returns how many, at RET in the keep arena. */
unsigned path_find(struct flow_function *f, uint32_t insn, const struct flow_path **ret);
/* The objects that the function gives to others, as far as they are known. */
unsigned path_hints(struct flow_function *f, const struct flow_hint **ret);

/* --- flags (predicate.c) ------------------------------------------------------------------------------------------ */

/*
 * The condition CC on the flags that INSN sets, as predicates on what is before it, which all hold: how many, 0 if
 * none.
 */
unsigned condition_at(struct flow_function *f, uint32_t insn, uint8_t cc, struct item ret[2]);

/* --- states (state.c) --------------------------------------------------------------------------------------------- */

#define OUTCOMES_MAX 600

static inline void state_drop(struct state *s, unsigned i) { s->items[i] = s->items[--s->n_items]; }

static inline bool state_live(const struct state *s) {
  for (unsigned i = 0; i < s->n_items; i++)
    if (s->items[i].role != ROLE_PRED) return true;
  return false;
}

static inline unsigned state_evidence(const struct state *s) {
  unsigned n = 0;
  for (unsigned i = 0; i < s->n_guards; i++)
    n += s->guards[i].cc != GUARD_PASSED && !s->guards[i].arg;
  return n;
}

static inline bool flow_store_like_errno(const struct flow_store *s) {
  return s->place.kind == PLACE_TLS || s->place.kind == PLACE_CALL;
}

/* Copies what is in use. */
void state_copy(struct state *to, const struct state *from);
/* A copy for later, before POSITION of a block. */
void state_push(struct walk *w, uint32_t block, uint32_t position, const struct state *s);
/* Takes the newest of the copies; there is one. */
void state_pop(struct walk *w, struct work_item *ret);
/* A copy for later at the end of a block, if no state like this was there before. */
void state_push_end(struct walk *w, uint32_t block, const struct state *s);
void state_add_guard(struct state *s, struct flow_guard g);
/* The way has come to its end: an outcome. */
void state_emit(struct walk *w, const struct state *s);
/* Is there nothing left to learn on this way? */
bool state_complete(struct walk *w, const struct state *s);
unsigned state_wanted(struct walk *w, const struct state *s);
/* A predicate whose value is known. False if the way is impossible. */
bool state_settle_pred(struct walk *w, struct state *s, const struct item *p, struct flow_value v);
/* The item's value is the leaf V. False if the way is impossible. */
bool state_settle(struct walk *w, struct state *s, const struct item *i, struct flow_value v);
/* Is it errno, or the like of it behind a pointer that a call gave? */
bool flow_store_is_errno(struct walk *w, const struct flow_store *s);

/* --- meeting conditions (meet.c) ---------------------------------------------------------------------------------- */

enum meet { MEET_ON, MEET_IMPOSSIBLE, MEET_SPLIT };

/* The way meets what the flags and the jump table of INSN say. MEET_SPLIT: others go on in its place. */
enum meet meet_all(struct walk *w, struct state *s, uint32_t insn, uint32_t block, uint32_t position);
