/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Injectors: what can be made to fail, and how.
 *
 * A struct injector is a socket: library calls are its first implementation. An injector prepares the start of a
 * command and arms the injections of an experiment before a run. It is asked from several threads, each with an area of
 * its own, and changes nothing of itself then.
 */
#pragma once

#include "base/base.h"
#include "space/space.h"
#include "wire/wire.h"

struct injector {
  const char *name;
  void *self;
  /*
   * Prepares a start: appends the bytes of the object to preload for this area, and what LD_PRELOAD must be if that
   * object lies at SHIM. RECORD: the run is to say which points it comes by.
   */
  int (*prepare)(void *self, bool record, const char *area, const char *shim, struct text *ret_shim,
                 struct text *ret_preload, struct err *e);
  /* How many functions the plan has, which is what an area must have room for. */
  size_t (*functions)(void *self);
  /* The injection as an order in the area. */
  struct wire_order (*order)(void *self, const struct injection *i);
};

/* --- library calls (order.c) -------------------------------------------------------------------------------------- */

/* A fault that can be tried at a point. */
struct inject_fault {
  uint32_t function, rule, fault; /* of the plan; the fault counts from the rule's first */
  int64_t retval;                 /* of one that is short, how many bytes */
  int error;
  uint8_t act; /* enum wire_act */
};

/* How acts are called where they are kept; NULL for a plain error. */
const char *inject_act_word(unsigned act);
unsigned inject_act_named(const char *word);

/* A call stack that reached a function in a run. */
struct inject_point {
  uint64_t hash, count;
  uint32_t function;
  uint64_t site; /* what calls from the same instruction have in common */
  int verdict;   /* 0: the call's errors are checked, 1: not known, 2: some are not, 3: none is */
  bool usual;    /* that they are not is usual, and no reason to try it sooner */
  bool quiet;    /* not to look at this call's errors is custom: it is no finding as long as no file is lost */
  bool excused;  /* nor is it then */
  bool indirect; /* a library of a language calls it for the program */
  bool again;    /* the same was asked before, and answered: it cannot fail now */
};

/* The bytes of an injection into library calls. */
struct inject_call {
  uint32_t point, fault; /* indexes */
  uint64_t nth;          /* which time the stack reaches the function, from 1 */
  bool persistent;       /* from then on, every time */
};

const struct inject_call *inject_call_of(const struct injection *i);
/* Of the last injection, which an experiment is about; it must have one. */
const struct inject_call *inject_last_call(const struct experiment *x);
/* The key of an injection: the same in every run of the same program. */
uint64_t inject_key(uint64_t hash, uint64_t nth, bool persistent, const struct inject_fault *f);
struct wire_order inject_order(const struct inject_point *points, const struct inject_fault *faults,
                               const struct injection *i);
/* What is expected of a fault at a point; TRAITS: enum expect_trait. */
struct expectation inject_expect(const struct inject_point *p, const struct inject_fault *f, unsigned traits);

/*
 * All candidates for the points, best first: unchecked calls, then by how likely the error is, new stacks before those
 * that have another candidate already, input and output before memory.
 */
struct inject_plan {
  const struct inject_point *points;
  size_t n_points;
  size_t from; /* only points from this one on */
  const struct inject_fault *faults;
  size_t n_faults;
  /* How likely a fault is at a point: 0 never, 3 common. */
  int (*likely)(void *context, const struct inject_point *p, const struct inject_fault *f);
  /* enum expect_trait of a fault at a point; may be NULL. */
  unsigned (*traits)(void *context, const struct inject_point *p, const struct inject_fault *f);
  void *context;
  bool random; /* the same candidates in no order, always the same one: to see what the order is good for */
  /* They have the injections of this one before their own, which come once, the first time; NULL for none. */
  const struct candidate *behind;
  struct arena *arena; /* injections go there */
};
/* *ret is malloc'ed. */
int inject_plan(const struct inject_plan *plan, struct candidate **ret, size_t *ret_n) MUST_USE;
