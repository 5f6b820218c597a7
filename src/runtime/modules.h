/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is loaded into the process, as far as it has been seen.
 *
 * A list is never changed while it is in use: a new one is made and published by one pointer. There are a few of them
 * in turn, so that loading and unloading for ever needs no more memory. Who reads notes the list's version first and
 * asks rt_modules_same afterwards: only if it was away for as long as all others took their turn, what it read is worth
 * nothing.
 */
#pragma once

#include "object.h"
#include "runtime.h"
#include "system.h"

struct rt_module {
  uint64_t start, end;     /* addresses */
  uint64_t bias;           /* address minus ELF address */
  uint64_t name;           /* hash of the last component of its name */
  uint64_t rows;           /* first << 32 | how many; in one word, so that they belong together whatever happens */
  struct rt_frames frames; /* where the plan has no rows */
  struct rt_object object;
  const char *path; /* as the loader has it; NULL if it may be unloaded, and `loaded` is known already */
  uint32_t plan;    /* index in the plan's modules plus 1; 0: not in the plan */
  uint32_t loaded;  /* index in the area's list plus 1; 0: it has no place there, or not yet */
  bool exact;       /* is the file that the plan was made for, so that offsets count */
};

/* A place of the plan as addresses: START and, behind it, SIZE; `last` is the lowest bit of size_last. */
struct rt_range {
  uint64_t start, size_last;
};

/*
 * How to unwind from an address, in one word: kind, offset / 8, -rbp / 8, and the address above its low bits, which is
 * the key. What does not fit is STEP_ROW: the row has to be searched for. Of the rbp kinds each has bit 2.
 */
enum rt_step_kind {
  STEP_END,     /* no caller, or not known; also what an empty place of the table says */
  STEP_RSP,     /* CFA = rsp + offset, at least 8; rbp, if it was saved, is between rsp and the CFA */
  STEP_RBP,     /* CFA = rbp + offset, at least 8; rbp, if it was saved, is below the CFA */
  STEP_ROW,     /* as the row says */
  STEP_FRAME,   /* push rbp; mov rsp, rbp: nothing but rbp is needed */
  STEP_POINTER, /* code of a module that no table describes: rbp may be a frame pointer */
  STEP_NOWHERE, /* in no module: as above. In the table it has a key that nobody looks for */
};
enum { STEP_BITS = 14, STEP_BY_RBP = 4, STEP_OFFSET = 3, STEP_RBP_AT = 18, STEP_TAG = 30 };
#define STEP_KIND(step) ((step)&7)
#define STEP_MISSED (1ull << 63) /* no program's address has this bit in its key */

struct rt_modules {
  uint64_t version; /* odd while it is being made */
  uint32_t n, capacity;
  struct rt_module *at;    /* sorted by start */
  struct rt_range *ranges; /* one for each place of the plan */
  uint64_t *steps;         /* 1 << STEP_BITS of them, by address; any thread may put one there */
};

/* Once, before all others. */
void rt_modules_start(void) RT_HIDDEN;
/* The list as of now; NULL if there is none. */
extern struct rt_modules *rt_modules_list RT_HIDDEN;
static inline struct rt_modules *rt_modules_now(void) { return rt_load(&rt_modules_list); }
/*
 * Makes sure that what the loader has at PC is in the list. PC is in code that runs, or it may be gone while it is
 * looked at. False if that is not the moment for it: somebody else is making a list.
 */
bool rt_modules_learn(uint64_t pc) RT_HIDDEN;
/* Once, before rt_module_describe. */
void rt_module_start(void) RT_HIDDEN;
/*
 * M as what it is to the plan; false if it cannot be told where it is. O is what the loader says of it. STAYS: it is
 * never unloaded, so that murphy need not be told before it is met on a stack.
 */
bool rt_module_describe(const struct link_map *m, const struct rt_object *o, bool stays,
                        struct rt_module *ret) RT_HIDDEN;
/* Its number in what murphy is told, from 1; 0 if there is no room. */
uint32_t rt_module_number(const struct rt_module *m) RT_HIDDEN;
/* NULL if ADDRESS is in none. */
const struct rt_module *rt_module_at(const struct rt_modules *m, uint64_t address) RT_HIDDEN;
/* How to unwind from PC in M, a module of LIST. */
struct wire_row rt_module_row(const struct rt_modules *list, const struct rt_module *m, uint64_t pc) RT_HIDDEN;
/* The step for PC from the tables; if it is in no module, *m may become a newer list. */
uint64_t rt_step_find(struct rt_modules **m, uint64_t pc) RT_HIDDEN;

static inline uint64_t *rt_step_place(uint64_t *steps, uint64_t pc) {
  return &steps[(pc ^ pc >> STEP_BITS) & ((1u << STEP_BITS) - 1)];
}

static inline bool rt_step_known(uint64_t step, uint64_t pc) { return step >> STEP_TAG == pc >> STEP_BITS; }

static inline uint64_t rt_step_at(struct rt_modules **m, uint64_t pc) {
  uint64_t step = __atomic_load_n(rt_step_place((*m)->steps, pc), __ATOMIC_RELAXED);
  return __builtin_expect(rt_step_known(step, pc), 1) ? step : rt_step_find(m, pc);
}

static inline bool rt_in_range(const struct rt_modules *m, uint32_t place, uint64_t pc) {
  for (const struct rt_range *r = &m->ranges[place];; r++) {
    if (pc - r->start < r->size_last >> 1) return true;
    if (r->size_last & 1) return false;
  }
}

static inline bool rt_modules_same(const struct rt_modules *m, uint64_t version) {
  return rt_load(&m->version) == version;
}

/* Is PC in the set of places? -1 if that cannot be told without a closer look. */
static inline int rt_place_has(uint32_t place, uint64_t pc) {
  const struct rt_modules *m = rt_modules_now();
  if (__builtin_expect(!m, 0)) return -1;
  uint64_t version = rt_load(&m->version);
  bool in = rt_in_range(m, place, pc);
  /* An address in no module that is known: the list may be old. */
  bool known = in || rt_step_known(__atomic_load_n(rt_step_place(m->steps, pc), __ATOMIC_RELAXED), pc);
  return __builtin_expect(known && rt_modules_same(m, version), 1) ? in : -1;
}
