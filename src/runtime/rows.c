/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an address to how to unwind from it: a search in the module's rows, and the table that saves most of them.
 *
 * An entry of the table is one word with its own key inside, so threads may read and write it as they like.
 */
#include "modules.h"

/* The row for the ELF address AT; NULL if there is none. */
static const struct wire_row *row_at(uint64_t rows, uint64_t at) {
  const struct wire_row *first = rt_array(rows, struct wire_row) + (rows >> 32);
  uint32_t n = (uint32_t)rows;
  if (n == 0 || first->start > at) return NULL;
  while (n > 1) {
    /* No branch that depends on what is compared: it could not be predicted. */
    uint32_t half = n / 2;
    first = first[half].start <= at ? first + half : first;
    n -= half;
  }
  return first;
}

struct wire_row rt_module_row(const struct rt_modules *list, const struct rt_module *m, uint64_t pc) {
  static const struct wire_row none = {.cfa = WIRE_CFA_NONE};
  uint64_t version = rt_load(&list->version), rows = __atomic_load_n(&m->rows, __ATOMIC_RELAXED);
  if ((uint32_t)rows != 0) {
    const struct wire_row *row = row_at(rows, pc - m->bias);
    return row ? *row : none;
  }
  struct rt_frames frames = m->frames;
  /* What is not of one piece must not be followed. */
  return rt_modules_same(list, version) && frames.header ? rt_frames_row(&frames, pc) : none;
}

/* A row in the words of a step, without its tag. */
static uint64_t packed(struct wire_row row) {
  const struct wire_row *r = &row;
  if (r->cfa == WIRE_CFA_END) return STEP_END;
  if (r->cfa == WIRE_CFA_NONE) return STEP_POINTER;
  if (r->cfa == WIRE_CFA_RBP && r->offset == 16 && r->rbp == -16) return STEP_FRAME;
  bool fits = (r->cfa == WIRE_CFA_RSP || r->cfa == WIRE_CFA_RBP) && r->offset >= 8 && r->offset < 8 << 15 &&
              r->offset % 8 == 0 && r->rbp <= 0 && r->rbp > -(8 << 12) && r->rbp % 8 == 0;
  if (!fits || (r->cfa == WIRE_CFA_RSP && -r->rbp > r->offset)) return STEP_ROW;
  uint64_t kind = r->cfa == WIRE_CFA_RSP ? STEP_RSP : STEP_RBP;
  return kind | (uint64_t)r->offset / 8 << STEP_OFFSET | (uint64_t)(-r->rbp / 8) << STEP_RBP_AT;
}

/* The module of PC, which the loader is asked for if it is met for the first time; it may put *m out of date. */
static const struct rt_module *module_of(struct rt_modules **m, uint64_t pc, bool *ret_certain) {
  const struct rt_module *found = rt_module_at(*m, pc);
  *ret_certain = true;
  if (!rt_object_findable()) return found;
  struct rt_object o = rt_object_at(pc);
  if (found ? rt_object_same(&found->object, &o) || !found->object.map : !o.map) return found;
  *ret_certain = rt_modules_learn(pc);
  *m = rt_modules_now();
  return rt_module_at(*m, pc);
}

uint64_t rt_step_find(struct rt_modules **m, uint64_t pc) {
  if (pc >> 47) return STEP_NOWHERE; /* no address of a program, and it would not fit */
  uint64_t key = pc >> STEP_BITS << STEP_TAG;
  if (__atomic_load_n(rt_step_place((*m)->steps, pc), __ATOMIC_RELAXED) == (key | STEP_MISSED | STEP_NOWHERE))
    return STEP_NOWHERE;
  bool certain;
  const struct rt_modules *before = *m;
  uint64_t version = rt_load(&before->version);
  const struct rt_module *module = module_of(m, pc, &certain);
  if (*m != before) version = rt_load(&(*m)->version);
  uint64_t step = key | STEP_MISSED | STEP_NOWHERE;
  if (module) step = key | packed(rt_module_row(*m, module, pc));
  /* A list that has become another one must not get what was true of the old one. */
  if (certain && rt_modules_same(*m, version)) __atomic_store_n(rt_step_place((*m)->steps, pc), step, __ATOMIC_RELAXED);
  return step & ~STEP_MISSED;
}
