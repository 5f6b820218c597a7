/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The triggers that look at where a call comes from, and its stack for the log.
 *
 * A list of modules that became another one under a walk is noticed behind it, and the walk repeated.
 */
#include "stack.h"

#include "bounds.h"
#include "memo.h"
#include "modules.h"
#include "scope.h"
#include "rt_walk.h"

/* Whoever recurses deeper than this has not asked for speed, but must not wait for ever either. */
#define DEPTH_MAX 131072
#define REPEATS 3

/* --- triggers ----------------------------------------------------------------------------------------------------- */

RT_HOT bool rt_caller_in(const struct rt_call *c, uint32_t place) {
  uint64_t pc = rt_return_address(c) - 1;
  int in = rt_place_has(place, pc);
  if (__builtin_expect(in >= 0, 1)) return in;
  struct rt_modules *m = rt_modules_now();
  if (!m) return false;
  (void)rt_step_at(&m, pc); /* looks again if the address is in no module that is known */
  return (m = rt_modules_now()) && rt_in_range(m, place, pc);
}

/*
 * All frames of the pattern that can have been matched by the frames so far, as bits: LAST by the frame before, EVER by
 * any. A frame of the pattern matches behind its predecessor: right behind it if it says so; or in the same frame, if
 * that is where its predecessor was inlined into it.
 */
struct matching {
  const struct wire_pattern *at;
  unsigned n;
  uint64_t last, ever;
};

/* May frame I of the pattern be the next one, behind what the frames before have matched? */
static inline bool possible(const struct matching *p, unsigned i, bool first) {
  bool next = p->at[i].flags & WIRE_NEXT;
  return i == 0 ? first || !next : (next ? p->last : p->ever) >> (i - 1) & 1;
}

/*
 * A function that calls itself, of which some calls were inlined and others not: the frames before have matched some of
 * the pattern's, and as many as are still missing up to frame I are one within the other in this frame.
 */
static bool goes_on(const struct matching *p, const struct rt_modules *m, unsigned i, uint64_t pc, bool first) {
  unsigned again = p->at[i].flags >> WIRE_AGAIN;
  const struct wire_pattern *run = &p->at[i - again];
  for (unsigned k = 1; k < again; k++)
    if (run[k].flags & WIRE_WITHIN && possible(p, i - k, first) && rt_in_range(m, run[k].within, pc)) return true;
  return false;
}

/* One more frame of the stack; true if the whole pattern is there. */
static bool match(struct matching *p, const struct rt_modules *m, uint64_t pc, bool first) {
  uint64_t now = 0;
  for (unsigned i = 0; i < p->n; i++) {
    if (possible(p, i, first) && rt_in_range(m, p->at[i].place, pc)) now |= 1ull << i;
    if (p->at[i].flags >> WIRE_AGAIN > 1 && goes_on(p, m, i, pc, first)) now |= 1ull << i;
    bool within = i > 0 && p->at[i].flags & WIRE_WITHIN && now >> (i - 1) & 1;
    if (within && rt_in_range(m, p->at[i].within, pc)) now |= 1ull << i;
  }
  p->last = now;
  p->ever |= now;
  return now >> (p->n - 1) & 1;
}

/* What came of a walk; VOID if the list of modules has changed under it. */
enum outcome { VOID = -1, ABSENT, PRESENT };

/* One frame, anywhere: what nearly all patterns are. Its first range is at hand, most have no other. */
RT_RAW RT_HOT static int has_frame(const struct rt_call *c, uint32_t place) {
  struct rt_walk w;
  if (!rt_walk_start(c, &w)) return ABSENT;
  const struct rt_modules *list = w.modules;
  uint64_t start = list->ranges[place].start, size = list->ranges[place].size_last >> 1;
  bool more = !(list->ranges[place].size_last & 1);
  unsigned depth = 0;
  bool found;
  do {
    if (__builtin_expect(w.modules != list, 0)) {
      list = w.modules;
      start = list->ranges[place].start;
      size = list->ranges[place].size_last >> 1;
    }
    found = w.pc - start < size || (more && rt_in_range(list, place + 1, w.pc));
  } while (!found && ++depth < DEPTH_MAX && rt_walk_up(&w));
  return rt_walk_valid(&w) ? found : VOID;
}

/* To the caller, and into R what was read for it, if it is not NULL. */
RT_RAW_INLINE bool up_noted(struct rt_walk *w, struct rt_record *r) {
  uint64_t step = w->step, rbp = w->rbp;
  bool up = rt_walk_up(w);
  if (r) rt_memo_step(r, step, rbp, w->sp, w->pc, up);
  return up;
}

RT_RAW static int has_frames(const struct rt_call *c, const struct wire_pattern *at, unsigned n, uint32_t pattern,
                             struct rt_record *r) {
  struct matching p = {.at = at, .n = n};
  struct rt_walk w;
  unsigned depth = 0;
  bool found;
  if (!rt_walk_start(c, &w)) return ABSENT;
  const struct rt_modules *list = w.modules;
  do
    found = match(&p, w.modules, w.pc, depth == 0);
  while (!found && ++depth < DEPTH_MAX && up_noted(&w, r));
  if (!rt_walk_valid(&w)) return VOID;
  if (r && w.modules == list) rt_memo_keep(c, pattern, r, list, w.version, found);
  return found;
}

static __attribute__((noinline)) bool look_for(const struct rt_call *c, uint32_t pattern) {
  const struct wire_pattern *at = rt_array(patterns, struct wire_pattern) + pattern;
  unsigned n = 1;
  int found = VOID;
  while (!(at[n - 1].flags & WIRE_LAST))
    n++;
  bool keep = rt_memo_worth(c, pattern), plain = !keep && n == 1 && !(at->flags & WIRE_NEXT);
  for (unsigned i = 0; i < REPEATS && found == VOID; i++) {
    struct rt_record r;
    r.n = 0;
    r.rbp_matters = r.rbp_noted = false;
    r.rbp_at = NULL;
    found = plain ? has_frame(c, at->place) : has_frames(c, at, n, pattern, keep ? &r : NULL);
  }
  return found == PRESENT;
}

RT_RAW RT_HOT bool rt_stack_has(const struct rt_call *c, uint32_t pattern) {
  int known = rt_memo_find(c, pattern);
  return __builtin_expect(known >= 0, 1) ? known : look_for(c, pattern);
}

RT_RAW static int list_frames(const struct rt_call *c, struct wire_frame *ret, unsigned max) {
  struct rt_walk w;
  unsigned n = 0;
  if (!rt_walk_start(c, &w)) return VOID;
  do {
    const struct rt_module *m = rt_walk_module(&w);
    uint32_t number = m ? rt_module_number(m) : 0;
    ret[n++] = (struct wire_frame){.module = number, .at = w.pc + 1 - (number ? m->bias : 0)};
  } while (n < max && rt_walk_up(&w));
  return rt_walk_valid(&w) ? (int)n : VOID;
}

unsigned rt_stack_frames(const struct rt_call *c, struct wire_frame *ret, unsigned max) {
  int n = VOID;
  if (max == 0) return 0;
  for (unsigned i = 0; i < REPEATS && n == VOID; i++)
    n = list_frames(c, ret, max);
  if (n > 0) return (unsigned)n;
  ret[0] = (struct wire_frame){.at = rt_return_address(c)};
  return 1;
}

RT_RAW uint64_t rt_stack_frame_end(const struct rt_call *c) {
  struct rt_walk w;
  bool up = rt_walk_start(c, &w) && rt_walk_up(&w);
  return up && rt_walk_valid(&w) ? w.sp - 8 : 0;
}

void rt_stack_start(void) {
  rt_bounds_start();
  rt_memo_start();
  rt_modules_start();
  rt_scope_start();
  rt_points_start();
}
