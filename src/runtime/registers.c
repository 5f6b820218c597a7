/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registers that functions keep for their callers, in frames further up: each frame's tables say where it has put them.
 *
 * Those that the caller of an intercepted function had are nowhere in struct rt_call, so that calls which nobody asks
 * about such things need not store them. They are where the functions of this room have put them, and these have
 * tables, too: the walk begins in the frame that asks.
 */
#include "registers.h"

#include "object.h"
#include "walk.h"

/* From rt_registers to murphy_rt_enter. */
#define OWN_DEPTH 32

static bool frames_at(uint64_t pc, struct rt_frames *ret) {
  struct rt_object o = rt_object_at(pc);
  if (!o.map) return false;
  *ret = rt_object_frames(o.map);
  return ret->header != 0;
}

/* The same of our own code, which is always there. */
static bool own_frames(uint64_t pc, struct rt_frames *ret) {
  static struct rt_frames own;
  static uint32_t known;
  if (!rt_load(&known)) {
    struct rt_frames found;
    if (!frames_at(pc, &found)) return false;
    own = found; /* whoever comes at the same time writes the same */
    rt_store(&known, 1);
  }
  *ret = own;
  return true;
}

/* --- our own frames ----------------------------------------------------------------------------------------------- */

struct own {
  uint64_t pc, sp, rbp;
};

RT_RAW static uint64_t word(uint64_t at) { return *(const volatile uint64_t *)at; }

/* One step up; the tables of our own code have rows of two kinds only. */
RT_RAW static bool own_up(struct own *f, struct rt_registers *r) {
  struct rt_frames frames;
  struct rt_saved saved[RT_KEPT];
  if (!own_frames(f->pc, &frames) || !rt_frames_kept(&frames, f->pc, saved)) return false;
  struct wire_row row = rt_frames_row(&frames, f->pc);
  if (row.cfa != WIRE_CFA_RSP && row.cfa != WIRE_CFA_RBP) return false;
  uint64_t cfa = (row.cfa == WIRE_CFA_RSP ? f->sp : f->rbp) + (uint64_t)row.offset;
  if (cfa <= f->sp) return false;
  for (unsigned i = 0; i < RT_KEPT; i++) {
    if (saved[i].how == RT_SAVED_LOST || saved[i].how == RT_SAVED_RSP) return false;
    if (saved[i].how == RT_SAVED_AT) r->kept[i] = word(cfa + (uint64_t)saved[i].offset);
  }
  if (row.rbp) f->rbp = word(cfa + (uint64_t)row.rbp);
  f->pc = word(cfa - 8) - 1;
  f->sp = cfa;
  return true;
}

/* What they were when C was called. */
RT_RAW static __attribute__((noinline)) bool at_call(const struct rt_call *c, struct rt_registers *ret) {
  uint64_t end = (uint64_t)(c->sp + 1);
  uint64_t now[3 + RT_KEPT];
  __asm__ volatile("lea 0f(%%rip), %%rax\n"
                   "0:\tmov %%rax, (%0)\n\tmov %%rsp, 8(%0)\n\tmov %%rbp, 16(%0)\n\tmov %%rbx, 24(%0)\n"
                   "\tmov %%r12, 32(%0)\n\tmov %%r13, 40(%0)\n\tmov %%r14, 48(%0)\n\tmov %%r15, 56(%0)"
                   :
                   : "r"(now)
                   : "rax", "memory");
  struct own f = {now[0], now[1], now[2]};
  for (unsigned i = 0; i < RT_KEPT; i++)
    ret->kept[i] = now[3 + i];
  for (unsigned i = 0; i < OWN_DEPTH && f.sp < end; i++)
    if (!own_up(&f, ret)) return false;
  ret->known = (1u << RT_KEPT) - 1;
  return f.sp == end;
}

/* --- those of the program ----------------------------------------------------------------------------------------- */

RT_RAW static void take_saved(struct rt_walk *w, uint64_t sp, const struct rt_saved *saved, struct rt_registers *r) {
  for (unsigned i = 0; i < RT_KEPT; i++) {
    if (saved[i].how == RT_SAVED_NOT) continue;
    uint64_t from = saved[i].how == RT_SAVED_AT ? w->sp : sp, value = 0;
    bool known = saved[i].how != RT_SAVED_LOST && rt_walk_word(w, from + (uint64_t)saved[i].offset, &value);
    r->kept[i] = value;
    r->known = known ? r->known | 1u << i : r->known & ~(1u << i);
  }
}

/* One step up. Code without tables may have done anything. */
RT_RAW static bool up(struct rt_walk *w, struct rt_registers *r) {
  struct rt_frames frames;
  struct rt_saved saved[RT_KEPT];
  uint64_t sp = w->sp;
  struct rt_bounds before = w->bounds;
  bool described = frames_at(w->pc, &frames) && rt_frames_kept(&frames, w->pc, saved);
  if (!rt_walk_up(w)) return false;
  if (!described) {
    r->known = 0;
    return true;
  }
  /* What a signal has interrupted may have another stack; what was saved is on the handler's. */
  struct rt_bounds after = w->bounds;
  if (saved[0].how == RT_SAVED_RSP) w->bounds = before;
  take_saved(w, sp, saved, r);
  w->bounds = after;
  return true;
}

RT_RAW bool rt_registers(const struct rt_call *c, unsigned depth, struct rt_registers *ret) {
  struct rt_walk w;
  *ret = (struct rt_registers){.known = 0};
  if (!rt_walk_start(c, &w)) return true;
  if (!at_call(c, ret)) ret->known = 0;
  for (unsigned i = 0; i < depth; i++)
    if (!up(&w, ret)) {
      ret->known = 0;
      break;
    }
  return rt_walk_valid(&w);
}
