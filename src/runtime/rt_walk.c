/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps from a frame to its caller, of all kinds: by the unwind rows of the frame's module, else by the frame pointer,
 * if it points to a place further up on the same stack. What is read is inside the stack's bounds, so that nothing that
 * is found there can lead to a fault; and each step moves up, so that every walk ends.
 */
#include "rt_walk.h"

/* A frame on a stack whose limits are not known is not larger. */
#define FRAME_MAX (1u << 20)

RT_RAW bool rt_walk_word(struct rt_walk *w, uint64_t address, uint64_t *ret) {
  bool inside = address >= w->bounds.low && address < w->bounds.high && address % 8 == 0;
  if (!inside && !rt_bounds_try(&w->bounds, address)) return false;
  *ret = *(const uint64_t *)address;
  return true;
}

/* A frame pointer of a module may be none: what it leads to must be in a module, too. */
bool rt_walk_find(struct rt_walk *w, uint64_t from) {
  struct rt_modules *before = w->modules;
  if (w->pc == UINT64_MAX) return false; /* there was no return address */
  w->step = rt_step_at(&w->modules, w->pc);
  if (w->modules != before) { /* there was something new */
    w->steps = w->modules->steps;
    w->version = rt_load(&w->modules->version);
    w->module = NULL;
  }
  return from != STEP_POINTER || STEP_KIND(w->step) != STEP_NOWHERE;
}

/* The caller's frame is above CFA; its rbp was saved at SAVED, or is in the register still if that is 0. */
static bool go_up(struct rt_walk *w, uint64_t cfa, uint64_t saved) {
  uint64_t address, rbp = w->rbp, from = STEP_KIND(w->step);
  if (cfa <= w->sp || !rt_walk_word(w, cfa - 8, &address)) return false;
  if (saved && !rt_walk_word(w, saved, &rbp)) return false;
  w->pc = address - 1;
  w->sp = cfa;
  w->rbp = rbp;
  return rt_walk_find(w, from);
}

/* Where the kernel keeps rsp, rip and rbp of what a signal has interrupted, from the start of its ucontext. */
static bool by_signal(struct rt_walk *w) {
  enum { UC_RBP = 120, UC_RSP = 160, UC_RIP = 168 };
  uint64_t sp, pc, rbp;
  if (!rt_walk_word(w, w->sp + UC_RSP, &sp) || !rt_walk_word(w, w->sp + UC_RIP, &pc) ||
      !rt_walk_word(w, w->sp + UC_RBP, &rbp))
    return false;
  /* The handler may have its own stack; one change is enough, or a walk could go round. */
  if (sp <= w->sp && w->moved++) return false;
  w->bounds = rt_bounds_of(sp);
  w->pc = pc;
  w->sp = sp;
  w->rbp = rbp;
  return rt_walk_find(w, STEP_ROW);
}

static bool by_row(struct rt_walk *w) {
  const struct rt_module *m = rt_module_at(w->modules, w->pc);
  if (!m) return false;
  const struct wire_row row = rt_module_row(w->modules, m, w->pc), *r = &row;
  uint64_t cfa;
  switch (r->cfa) {
  case WIRE_CFA_RSP:
    cfa = w->sp + (uint64_t)r->offset;
    break;
  case WIRE_CFA_RBP:
    cfa = w->rbp + (uint64_t)r->offset;
    break;
  case WIRE_CFA_AT_RSP:
  case WIRE_CFA_AT_RBP:
    if (!rt_walk_word(w, (r->cfa == WIRE_CFA_AT_RSP ? w->sp : w->rbp) + (uint64_t)r->offset, &cfa)) return false;
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

/* A frame pointer may be one of another stack, which a coroutine has from who started it. */
static bool by_pointer(struct rt_walk *w) {
  bool near = w->bounds.high || w->rbp - w->sp < FRAME_MAX;
  return w->rbp >= w->sp && near && go_up(w, w->rbp + 16, w->rbp);
}

bool rt_walk_slowly(struct rt_walk *w) {
  switch (STEP_KIND(w->step)) {
  case STEP_RSP: /* these from a stack that is not known, or where nothing can be read */
  case STEP_RBP:
  case STEP_FRAME:
  case STEP_ROW:
    return by_row(w);
  case STEP_POINTER:
  case STEP_NOWHERE:
    return by_pointer(w);
  default:
    return false;
  }
}
