/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which registers a small function of the same image changes.
 *
 * gcc knows this of functions it has compiled before (-fipa-ra), and leaves a return value in rax over a call to one
 * that does not touch it. Large functions, calls to elsewhere and whatever cannot be read change all that a call may
 * change.
 */
#include "flow/backward.h"

#include <errno.h>

#define SMALL 48
#define DEPTH 3
/* Behind these may be anything. */
#define UNTIL                                                                                                          \
  (CODE_OP_BIT(OP_CALL_SLOT) | CODE_OP_BIT(OP_CALL_INDIRECT) | CODE_OP_BIT(OP_TAIL_SLOT) |                             \
   CODE_OP_BIT(OP_TAIL_INDIRECT) | CODE_OP_BIT(OP_JUMP_UNKNOWN))

static uint16_t look(struct flow_worker *k, const struct image *img, uint64_t address, unsigned depth);

static uint16_t of_code(struct flow_worker *k, const struct code *c, unsigned depth) {
  uint16_t changed = 0;
  for (uint32_t i = 0; i < c->n_insns; i++) {
    const struct insn *in = &c->insns[i];
    switch (in->op) {
    case OP_CALL:
    case OP_TAIL:
      changed |= look(k, c->image, (uint64_t)in->imm, depth + 1);
      break;
    default:
      changed |= in->defs;
    }
  }
  return changed & CALL_CLOBBERS;
}

static uint16_t look(struct flow_worker *k, const struct image *img, uint64_t address, unsigned depth) {
  if (depth > DEPTH || code_follow_plt(img, address).slot) return CALL_CLOBBERS;
  /* The depth is in the key, so that the answer does not depend on what was asked before, and a circle ends. */
  uint64_t key = (hash_mix(address) ^ hash_mix((uintptr_t)img)) + depth, known;
  if (map_get(&k->changed, key, &known)) return (uint16_t)known;
  if (flow_shared_get(k->shared, key, &known)) {
    if (map_put(&k->changed, key, known) < 0) k->failed = true;
    return (uint16_t)known;
  }
  struct arena arena = {0};
  struct code c;
  struct code_options o = {.max_insns = SMALL, .until = UNTIL};
  uint16_t changed = CALL_CLOBBERS;
  int r = code_build(img, address, &o, &arena, &c);
  if (r >= 0 && !c.problems) changed = of_code(k, &c, depth);
  arena_done(&arena);
  if (r == -ENOMEM || map_put(&k->changed, key, changed) < 0) k->failed = true;
  if (!k->failed) flow_shared_put(k->shared, key, changed);
  return changed;
}

uint16_t flow_changed_registers(struct flow_function *f, uint64_t address) {
  return look(f->worker, f->image, address, 0);
}
