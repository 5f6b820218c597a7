/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: the results of one function from its summary and its callees' results. */
#pragma once

#include "solver/node.h"

/* Kept in order, without duplicates. */
typedef VEC(struct solver_side) side_vec;

/* Reused from function to function. All zero is valid. */
struct evaluation {
  struct solver *solver;
  struct arena *arena;  /* for results; of the thread, as is the next */
  struct map *syscalls; /* hash of a system call's errors to struct solver_results * */
  uint32_t circle;      /* that is being evaluated */
  const struct node *node;
  uint32_t number;
  const struct flow_value *args; /* of the call it is evaluated for, or NULL */
  VEC(struct solver_result) results;
  VEC(side_vec) sides; /* of each result */
  side_vec found;      /* of the outcome at hand */
  struct map for_args; /* call to the results of its callee for its arguments */
  bool overflow, failed;
};

void evaluation_done(struct evaluation *e);

/* The results of node NUMBER, in the arena, given what is known of its callees now. */
int evaluate(struct evaluation *e, uint32_t number, struct solver_results *ret);
/* In a circle, a result's first explanation is the one that does not go round: keeps it. */
void results_keep_origin(const struct solver_results *old, const struct solver_results *now);
bool results_equal(const struct solver_results *a, const struct solver_results *b);

/* --- what a call returns (callee.c) ------------------------------------------------------------------------------- */

enum answer { ANSWER_NO, ANSWER_YES, ANSWER_MAYBE };

/* An argument as the caller at hand gave it. */
struct flow_value call_actual(const struct evaluation *e, struct flow_value v);
/* What call number CALL can return; *ret_node: its node + 1, or 0. NULL if there is no memory. */
const struct solver_results *call_results(struct evaluation *e, unsigned call, uint32_t *ret_node);
/* How many constants an argument can be, and one of them. */
unsigned choice_count(const struct flow_value *v);
struct flow_value choice_pick(struct flow_value v, unsigned pick);
/* How many results a result that is an argument stands for. */
unsigned result_choices(const struct flow_call *c, const struct solver_result *r);
/* Would the callee return its argument if it were X? */
bool result_allows_arg(const struct solver_result *r, uint64_t x);
/* A callee's result in the caller's terms, for one choice of its arguments. */
struct solver_result result_substitute(const struct evaluation *e, const struct flow_call *c, struct solver_result r,
                                       unsigned pick);
/* The same where it is enough to know whether it is a constant. */
struct solver_result result_known(const struct evaluation *e, const struct flow_call *c, struct solver_result r);
enum answer result_satisfies(const struct evaluation *e, const struct solver_result *r, const struct flow_guard *g);
/* Do all guards of the outcome on this call allow the result? */
bool solver_outcome_allows(const struct evaluation *e, const struct flow_outcome *o, unsigned call,
                           const struct solver_result *r);
/* Not if one of its guards asks for what the callee never returns. */
bool solver_outcome_possible(struct evaluation *e, const struct flow_outcome *o);

/* --- what is set on the way (sides.c) ----------------------------------------------------------------------------- */

/* Inserts in order, once. */
void side_add(struct evaluation *e, side_vec *v, struct solver_side s);
bool side_is_errno(const struct solver *solver, const struct solver_side *s);
bool sides_set_errno(const struct solver *solver, const struct solver_side *s, size_t n);
/* The variable of a thread-local place; false if it is not known. */
bool side_in_thread(const struct evaluation *e, const struct flow_place *p, struct solver_side *s);
/* Adds to what was found for the outcome at hand; errno gets only what can be one. */
void found_add(struct evaluation *e, struct solver_side s);
/* A callee's side, seen from the caller. False if the caller cannot see it. */
bool side_of_callee(const struct evaluation *e, const struct flow_call *c, struct solver_side *s, unsigned pick);
/* Calls USE for each value that the call, failing as the guards say, sets in the place of V. */
void side_each_value(struct evaluation *e, const struct flow_outcome *o, const struct flow_value *v,
                     void (*use)(struct evaluation *, void *, const struct solver_side *), void *context);
/* ... what a store of the outcome sets. */
void found_add_store(struct evaluation *e, const struct flow_outcome *o, const struct flow_store *st);
/* ... what a result of a callee sets. */
void found_add_callee(struct evaluation *e, const struct flow_call *c, const struct solver_result *r);
