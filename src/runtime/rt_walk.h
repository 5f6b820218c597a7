/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Going up a stack, frame by frame.
 *
 * The common steps are inlined and keep their state in registers: on the way through thirty frames each load that
 * waits for the one before it counts. All others are in rt_walk.c.
 */
#pragma once

#include "bounds.h"
#include "modules.h"

/* Words of the stack are not variables of ours: some lie where a sanitizer has marked memory as forbidden. */
#define RT_RAW __attribute__((no_sanitize_address))
#define RT_RAW_INLINE static inline __attribute__((always_inline, no_sanitize_address))

struct rt_walk {
  struct rt_modules *modules;
  uint64_t *steps;  /* of that list */
  uint64_t version; /* of that list when it was taken */
  uint64_t pc;      /* in the frame: its return address minus 1 */
  uint64_t sp, rbp; /* in the frame, after the call has returned */
  uint64_t step;    /* for pc */
  struct rt_bounds bounds;
  const struct rt_module *module; /* the last one that was asked for */
  unsigned moved;                 /* from one stack to another */
};

/* The word at ADDRESS of W's stack; false if nothing is there. */
bool rt_walk_word(struct rt_walk *w, uint64_t address, uint64_t *ret) RT_HIDDEN;
/* Any step. */
bool rt_walk_slowly(struct rt_walk *w) RT_HIDDEN;
/* The step for W's pc, to which a step of the kind FROM has led, if it is not in the table. False if it cannot be. */
bool rt_walk_find(struct rt_walk *w, uint64_t from) RT_HIDDEN;

/* Is what was found in the lists of modules worth something? */
static inline bool rt_walk_valid(const struct rt_walk *w) { return rt_modules_same(w->modules, w->version); }

/* W, but the slow way: it is copied, so that W itself can stay in registers. */
RT_RAW_INLINE bool rt_walk_aside(struct rt_walk *w) {
  struct rt_walk copy = *w;
  bool up = rt_walk_slowly(&copy);
  *w = copy;
  return up;
}

/* The new frame, as soon as its address is known; false if nothing can be there. */
RT_RAW_INLINE bool rt_walk_enter(struct rt_walk *w, uint64_t address, uint64_t sp, uint64_t rbp) {
  uint64_t from = STEP_KIND(w->step);
  w->pc = address - 1;
  w->sp = sp;
  w->rbp = rbp;
  w->step = __atomic_load_n(rt_step_place(w->steps, w->pc), __ATOMIC_RELAXED);
  if (__builtin_expect(rt_step_known(w->step, w->pc), 1)) return true;
  struct rt_walk copy = *w;
  bool found = rt_walk_find(&copy, from);
  *w = copy;
  return found;
}

/* At the caller of C. False if nothing is known of any module. */
RT_RAW_INLINE bool rt_walk_start(const struct rt_call *c, struct rt_walk *w) {
  struct rt_modules *m = rt_modules_now();
  if (!m) return false;
  w->modules = m;
  w->steps = m->steps;
  w->version = rt_load(&m->version);
  w->bounds = rt_bounds_of((uint64_t)(c->sp + 1));
  w->bounds.page = (uint64_t)c->sp & -4096ull; /* of the return address: that one has been read */
  w->module = NULL;
  w->moved = 0;
  w->step = STEP_END;
  return rt_walk_enter(w, c->sp[0], (uint64_t)(c->sp + 1), c->rbp);
}

/*
 * To the caller; false if there is none, or none that could be found. The kinds of steps promise enough for few checks:
 * in known bounds SP is aligned, and all from there up to a CFA that is not above them can be read.
 */
RT_RAW_INLINE bool rt_walk_up(struct rt_walk *w) {
  uint64_t kind = STEP_KIND(w->step), rbp = w->rbp, cfa;
  if (w->step & STEP_BY_RBP) { /* does not wait for what the table says */
    cfa = rbp + 16;
    /* Near the end of all addresses, the sum begins again at 0. */
    if (__builtin_expect(rbp < w->sp || cfa < rbp || cfa > w->bounds.high || rbp % 8 != 0, 0)) return rt_walk_aside(w);
    return rt_walk_enter(w, ((const uint64_t *)rbp)[1], cfa, *(const uint64_t *)rbp);
  }
  uint64_t offset = (w->step >> STEP_OFFSET & 0x7fff) * 8, back = (w->step >> STEP_RBP_AT & 0xfff) * 8;
  if (kind == STEP_RSP) {
    cfa = w->sp + offset;
    if (__builtin_expect(cfa > w->bounds.high, 0)) return rt_walk_aside(w);
  } else if (kind == STEP_RBP) {
    cfa = rbp + offset;
    bool good = cfa > w->sp && cfa - back >= w->sp && cfa <= w->bounds.high && cfa % 8 == 0;
    if (__builtin_expect(!good, 0)) return rt_walk_aside(w);
  } else {
    return kind != STEP_END && rt_walk_aside(w);
  }
  if (back) rbp = *(const uint64_t *)(cfa - back);
  return rt_walk_enter(w, *(const uint64_t *)(cfa - 8), cfa, rbp);
}

/* The module of the frame; NULL if it is in none. Neighbours are often in one module. */
RT_RAW_INLINE const struct rt_module *rt_walk_module(struct rt_walk *w) {
  if (!w->module || w->pc - w->module->start >= w->module->end - w->module->start)
    w->module = rt_module_at(w->modules, w->pc);
  return w->module;
}

/* The points' own part of the start. */
void rt_points_start(void) RT_HIDDEN;
