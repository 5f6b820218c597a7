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
#include "rt_walk.h"

/* From rt_registers to murphy_rt_enter. */
#define OWN_DEPTH 32

static bool frames_at(uint64_t pc, struct rt_frames *ret) {
  struct rt_object o = rt_object_at(pc);
  if (!o.map) return false;
  *ret = rt_object_frames(o.map);
  return ret->header != 0;
}

/* --- what was found before ---------------------------------------------------------------------------------------- */

/*
 * To carry out the tables of a function takes a microsecond, and the same few addresses are asked for again and again.
 * Any thread may read and write: an entry whose two words do not belong together has no key that anybody looks for.
 */
#define KNOWN 1024
static struct {
  uint64_t key; /* ^ value */
  uint64_t value;
} table[KNOWN];

static unsigned place(uint64_t key) { return (unsigned)(key * 0x9e3779b97f4a7c15u >> 54) % KNOWN; }

static bool recall(uint64_t key, uint64_t *ret) {
  *ret = __atomic_load_n(&table[place(key)].value, __ATOMIC_RELAXED);
  return (__atomic_load_n(&table[place(key)].key, __ATOMIC_RELAXED) ^ *ret) == key;
}

static void keep(uint64_t key, uint64_t value) {
  __atomic_store_n(&table[place(key)].value, value, __ATOMIC_RELAXED);
  __atomic_store_n(&table[place(key)].key, key ^ value, __ATOMIC_RELAXED);
}

/* Twelve bits for each register: how, and the offset in words with its sign. What does not fit is not kept. */
enum { PACKED = 12, OFFSET_MOST = 511 };

static bool pack(const struct rt_saved saved[RT_KEPT], uint64_t *ret) {
  *ret = 0;
  for (unsigned i = 0; i < RT_KEPT; i++) {
    int64_t words = saved[i].offset / 8;
    if (saved[i].offset % 8 != 0 || words > OFFSET_MOST || words < -OFFSET_MOST) return false;
    *ret |= ((uint64_t)saved[i].how | ((uint64_t)words & 0x3ff) << 2) << PACKED * i;
  }
  return true;
}

static void unpack(uint64_t value, struct rt_saved ret[RT_KEPT]) {
  for (unsigned i = 0; i < RT_KEPT; i++) {
    uint64_t one = value >> PACKED * i;
    ret[i] = (struct rt_saved){.how = one & 3, .offset = ((int64_t)(one << 52) >> 54) * 8};
  }
}

/* EPOCH: what stood at an address before something was unloaded is not asked for any more. */
static bool kept_at(uint64_t pc, uint64_t epoch, struct rt_saved ret[RT_KEPT]) {
  uint64_t key = pc ^ epoch << 48, value;
  struct rt_frames frames;
  if (recall(key, &value)) {
    unpack(value, ret);
    return true;
  }
  if (!frames_at(pc, &frames) || !rt_frames_kept(&frames, pc, ret)) return false;
  if (pack(ret, &value)) keep(key, value);
  return true;
}

/* How to go up from our own code, which is always there. */
#define OWN_ROW (1ull << 63)
static bool own_row(uint64_t pc, struct wire_row *ret) {
  uint64_t value;
  struct rt_frames frames;
  if (recall(pc | OWN_ROW, &value)) {
    *ret = (struct wire_row){.cfa = (uint8_t)value, .rbp = (int16_t)(value >> 16), .offset = (int32_t)(value >> 32)};
    return true;
  }
  if (!frames_at(pc, &frames)) return false;
  *ret = rt_frames_row(&frames, pc);
  keep(pc | OWN_ROW, (uint64_t)ret->cfa | (uint64_t)(uint16_t)ret->rbp << 16 | (uint64_t)(uint32_t)ret->offset << 32);
  return true;
}

/* --- our own frames ----------------------------------------------------------------------------------------------- */

struct own {
  uint64_t pc, sp, rbp;
};

RT_RAW static uint64_t word(uint64_t at) { return *(const volatile uint64_t *)at; }

/* One step up; the tables of our own code have rows of two kinds only. */
RT_RAW static bool own_up(struct own *f, struct rt_registers *r) {
  struct rt_saved saved[RT_KEPT];
  struct wire_row row;
  if (!kept_at(f->pc, 0, saved) || !own_row(f->pc, &row)) return false;
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
  struct rt_saved saved[RT_KEPT];
  uint64_t sp = w->sp;
  struct rt_bounds before = w->bounds;
  bool described = kept_at(w->pc, w->version & 0x7fff, saved);
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
