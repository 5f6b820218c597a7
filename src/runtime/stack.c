/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stack above a call, and the triggers that look at it.
 *
 * A step goes from a frame to its caller: by the unwind rows of the frame's module, else by the frame pointer, if it
 * points to a place further up on the same stack. What is read is inside the stack's bounds, so that nothing that is
 * found there can lead to a fault; and each step moves up, so that every walk ends.
 */
#include "stack.h"

#include "bounds.h"
#include "modules.h"
#include "walk.h"

/* Whoever recurses deeper than this has not asked for speed, but must not wait for ever either. */
#define DEPTH_MAX 16384
#define PATTERN_MAX 64

/* --- steps -------------------------------------------------------------------------------------------------------- */

/* Words of the stack are not variables of ours: some lie where the sanitizer has marked memory as forbidden. */
RT_RAW static bool read_word(struct rt_walk *w, uint64_t address, uint64_t *ret) {
  bool inside = address - w->bounds.low < w->bounds.size && address % 8 == 0;
  if (!inside && !rt_bounds_try(&w->bounds, address)) return false;
  *ret = *(const uint64_t *)address;
  return true;
}

/* The caller's frame is above CFA; its rbp was saved at SAVED, or is in the register still if that is 0. */
RT_RAW static bool go_up(struct rt_walk *w, uint64_t cfa, uint64_t saved) {
  uint64_t address, rbp = w->rbp;
  if (cfa <= w->sp || !read_word(w, cfa - 8, &address) || address == 0) return false;
  if (saved && !read_word(w, saved, &rbp)) return false;
  w->pc = address - 1;
  w->sp = cfa;
  w->rbp = rbp;
  return true;
}

/* The frame pointer of code that nothing is known about: what it leads to must be code. */
RT_RAW static bool by_pointer(struct rt_walk *w, bool nowhere) {
  if (w->rbp < w->sp || !go_up(w, w->rbp + 16, w->rbp)) return false;
  uint64_t kind = STEP_KIND(rt_step_at(&w->modules, w->pc));
  return kind != STEP_NOWHERE || nowhere;
}

/* Where the kernel keeps rsp, rip and rbp of what a signal has interrupted, from the start of its ucontext. */
RT_RAW static bool by_signal(struct rt_walk *w) {
  enum { UC_RBP = 120, UC_RSP = 160, UC_RIP = 168 };
  uint64_t sp, pc, rbp;
  if (!read_word(w, w->sp + UC_RSP, &sp) || !read_word(w, w->sp + UC_RIP, &pc) || !read_word(w, w->sp + UC_RBP, &rbp))
    return false;
  /* The handler may have its own stack; one change is enough, or a walk could go round. */
  if (sp <= w->sp && w->moved++) return false;
  w->bounds = rt_bounds_of(sp);
  w->pc = pc;
  w->sp = sp;
  w->rbp = rbp;
  return pc != 0;
}

RT_RAW static bool by_row(struct rt_walk *w) {
  const struct rt_module *m = rt_module_at(w->modules, w->pc);
  const struct wire_row *r = m ? rt_row_at(m->rows, w->pc - m->bias) : NULL;
  uint64_t cfa;
  if (!r) return false;
  switch (r->cfa) {
  case WIRE_CFA_RSP:
    cfa = w->sp + (uint64_t)r->offset;
    break;
  case WIRE_CFA_RBP:
    cfa = w->rbp + (uint64_t)r->offset;
    break;
  case WIRE_CFA_AT_RSP:
  case WIRE_CFA_AT_RBP:
    if (!read_word(w, (r->cfa == WIRE_CFA_AT_RSP ? w->sp : w->rbp) + (uint64_t)r->offset, &cfa)) return false;
    cfa += r->add;
    break;
  case WIRE_CFA_PLT:
    cfa = w->sp + 8 + ((int32_t)(w->pc & 15) >= r->offset ? 8 : 0);
    break;
  case WIRE_CFA_SIGNAL:
    return by_signal(w);
  default:
    return false;
  }
  uint64_t saved = r->rbp ? cfa + (uint64_t)r->rbp : r->cfa == WIRE_CFA_AT_RBP ? w->rbp : 0;
  return go_up(w, cfa, saved);
}

/* To the caller; false if there is none, or none that could be found. */
RT_RAW bool rt_walk_up(struct rt_walk *w) {
  uint64_t step = rt_step_at(&w->modules, w->pc);
  uint64_t offset = (step >> STEP_OFFSET & 0x7fff) * 8, rbp = (step >> STEP_RBP_AT & 0xfff) * 8, cfa;
  switch (STEP_KIND(step)) {
  case STEP_FRAME:
    return go_up(w, w->rbp + 16, w->rbp);
  case STEP_RSP:
    cfa = w->sp + offset;
    return go_up(w, cfa, rbp ? cfa - rbp : 0);
  case STEP_RBP:
    cfa = w->rbp + offset;
    return go_up(w, cfa, rbp ? cfa - rbp : 0);
  case STEP_ROW:
    return by_row(w);
  case STEP_POINTER:
  case STEP_NOWHERE:
    return by_pointer(w, STEP_KIND(step) == STEP_NOWHERE);
  default:
    return false;
  }
}

bool rt_walk_start(const struct rt_call *c, struct rt_walk *ret) {
  struct rt_modules *m = rt_modules_now();
  uint64_t sp = (uint64_t)c->sp + 8;
  if (!m) return false;
  *ret = (struct rt_walk){.modules = m,
                          .version = rt_load(&m->version),
                          .pc = c->sp[0] - 1,
                          .sp = sp,
                          .rbp = c->rbp,
                          .bounds = rt_bounds_of(sp)};
  ret->bounds.page = (uint64_t)c->sp & -4096ull;
  return true;
}

/* --- triggers ----------------------------------------------------------------------------------------------------- */

bool rt_caller_in(const struct rt_call *c, uint32_t place) {
  struct rt_modules *m = rt_modules_now();
  uint64_t pc = rt_return_address(c) - 1;
  if (!m) return false;
  uint64_t version = rt_load(&m->version);
  bool in = rt_in_range(m, place, pc);
  if (__builtin_expect(rt_modules_same(m, version), 1)) {
    if (in) return true;
    struct rt_modules *newer = m;
    (void)rt_step_at(&newer, pc); /* an address in no module that we know: the list may be old */
    if (newer == m) return false;
  }
  return (m = rt_modules_now()) && rt_in_range(m, place, pc);
}

/*
 * All frames of the pattern that can have been matched by the frames so far, as bits: LAST by the frame before, EVER by
 * any. A frame of the pattern matches behind its predecessor: right behind it if it says so.
 */
struct matching {
  const struct wire_pattern *at;
  unsigned n;
  uint64_t last, ever;
};

/* One more frame of the stack; true if the whole pattern is there. */
static bool match(struct matching *p, const struct rt_modules *m, uint64_t pc, bool first) {
  uint64_t now = 0;
  for (unsigned i = 0; i < p->n; i++) {
    bool next = p->at[i].flags & WIRE_NEXT;
    bool possible = i == 0 ? first || !next : (next ? p->last : p->ever) >> (i - 1) & 1;
    if (possible && rt_in_range(m, p->at[i].place, pc)) now |= 1ull << i;
  }
  p->last = now;
  p->ever |= now;
  return now >> (p->n - 1) & 1;
}

/* One frame, anywhere: what nearly all patterns are. */
RT_RAW static bool has_frame(struct rt_walk *w, uint32_t place) {
  unsigned depth = 0;
  do
    if (rt_in_range(w->modules, place, w->pc)) return true;
  while (++depth < DEPTH_MAX && rt_walk_up(w));
  return false;
}

RT_RAW static bool has_frames(struct rt_walk *w, struct matching *p) {
  unsigned depth = 0;
  do
    if (match(p, w->modules, w->pc, depth == 0)) return true;
  while (++depth < DEPTH_MAX && rt_walk_up(w));
  return false;
}

bool rt_stack_has(const struct rt_call *c, uint32_t pattern) {
  const struct wire_pattern *at = rt_array(patterns, struct wire_pattern) + pattern;
  struct rt_walk w;
  unsigned n = 1;
  while (!(at[n - 1].flags & WIRE_LAST))
    n++;
  if (n > PATTERN_MAX || !rt_walk_start(c, &w)) return false;
  if (n == 1 && !(at->flags & WIRE_NEXT)) return has_frame(&w, at->place);
  return has_frames(&w, &(struct matching){.at = at, .n = n});
}

unsigned rt_stack_frames(const struct rt_call *c, struct wire_frame *ret, unsigned max) {
  struct rt_walk w;
  unsigned n = 0;
  if (max == 0) return 0;
  if (!rt_walk_start(c, &w)) {
    ret[0] = (struct wire_frame){.at = rt_return_address(c)};
    return 1;
  }
  do {
    const struct rt_module *m = rt_walk_module(&w);
    ret[n++] = (struct wire_frame){.module = m ? m->loaded : 0, .at = w.pc + 1 - (m && m->loaded ? m->bias : 0)};
  } while (n < max && rt_walk_up(&w));
  return n;
}

void rt_stack_start(void) {
  rt_bounds_start();
  rt_modules_start();
  rt_points_start();
}
