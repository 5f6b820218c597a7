/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which calls never return: those of functions that are known by name, and those of small functions of the same image
 * out of which no way leads.
 */
#include "flow/flow.h"

#include <errno.h>

#define PROBE_INSNS 400
#define PROBE_DEPTH 4
#define PROBE_UNTIL (CODE_OP_BIT(OP_RETURN) | CODE_OP_BIT(OP_TAIL_INDIRECT) | CODE_OP_BIT(OP_JUMP_UNKNOWN))

static bool named(const struct flow_probe *p, const char *name) {
  return name && p->noreturn && p->noreturn(p->context, name);
}

static bool leads_out(struct flow_probe *p, const struct code *code) {
  for (uint32_t i = 0; i < code->n_insns; i++) {
    const struct insn *in = &code->insns[i];
    struct code_target slot = {true, (uint64_t)in->disp};
    if (in->op == OP_TAIL && !flow_probe_noreturn(p, code_follow_plt(code->image, (uint64_t)in->imm))) return true;
    if (in->op == OP_TAIL_SLOT && !flow_probe_noreturn(p, slot)) return true;
  }
  return false;
}

/* Looks into a small function: does any way lead out of it? */
static bool look_into(struct flow_probe *p, uint64_t address) {
  struct arena arena = {0};
  struct code code;
  struct code_options o = {.max_insns = PROBE_INSNS, .kernel = p->kernel, .noreturn = flow_probe_noreturn};
  o.context = p;
  o.until = PROBE_UNTIL;
  p->depth++;
  int r = code_build(p->image, address, &o, &arena, &code);
  if (r == -ENOMEM) p->failed = true;
  bool out = r < 0 || code.problems || leads_out(p, &code);
  p->depth--;
  arena_done(&arena);
  return !out;
}

bool flow_own_slot(const struct image *img, uint64_t at, uint64_t *ret) {
  struct image_slot slot;
  if (!image_slot(img, at, &slot) || slot.kind != SLOT_IMPORT || !slot.name) return false;
  const struct image_symbol *s = image_export(img, slot.name, slot.version);
  if (!s || s->kind != SYMBOL_FUNCTION) return false;
  *ret = s->address;
  return true;
}

bool flow_probe_noreturn(void *context, struct code_target t) {
  struct flow_probe *p = context;
  struct image_slot slot;
  uint64_t answer;
  if (t.slot && p->own && flow_own_slot(p->image, t.address, &t.address)) t.slot = false;
  uint64_t slot_key = hash_mix(t.address ^ 1);
  if (t.slot && map_get(&p->known, slot_key, &answer)) return answer;
  if (t.slot) {
    answer = image_slot(p->image, t.address, &slot) && slot.kind == SLOT_IMPORT && named(p, slot.name);
    if (map_put(&p->known, slot_key, answer) < 0) p->failed = true;
    return answer;
  }
  const struct image_function *f = image_function_at(p->image, t.address);
  if (f && named(p, f->name)) return true;
  if (p->depth >= PROBE_DEPTH) return false;
  /*
   * What is known at one depth is not all that could be known at another, and must not depend on what was asked first.
   */
  uint64_t key = hash_mix(t.address) + p->depth;
  if (map_get(&p->known, key, &answer)) return answer;
  uint64_t question = key ^ hash_mix((uintptr_t)p->image + 2);
  if (!flow_shared_get(p->shared, question, &answer)) {
    answer = look_into(p, t.address);
    if (!p->failed) flow_shared_put(p->shared, question, answer);
  }
  if (map_put(&p->known, key, answer) < 0) p->failed = true;
  return answer;
}

void flow_probe_done(struct flow_probe *p) { map_done(&p->known); }
