/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands: which stack slot, place or constant a memory operand is, and what is known about its value.
 *
 * Slots of the stack are told by their distance from the stack pointer at entry. Other memory is a place if its address
 * has one origin: an argument, a call's result, the image or thread-local storage. Two places with different
 * origins are taken to be different memory, as LFI does; compilers keep to one way of addressing a variable.
 */
#include "flow/backward.h"

#include <string.h>

struct flow_loc flow_loc_reg(uint8_t reg) {
  return (struct flow_loc){.kind = LOC_REG, .reg = reg};
}

bool flow_place_equal(const struct flow_place *a, const struct flow_place *b) {
  return a->kind == b->kind && a->arg == b->arg && a->raw == b->raw && a->call == b->call && a->where == b->where &&
         a->offset == b->offset;
}

bool flow_loc_equal(const struct flow_loc *a, const struct flow_loc *b) {
  if (a->kind != b->kind) return false;
  if (a->kind == LOC_REG) return a->reg == b->reg;
  if (a->kind == LOC_SLOT) return a->slot == b->slot;
  return flow_place_equal(&a->place, &b->place);
}

uint64_t flow_loc_hash(const struct flow_loc *l) {
  uint64_t h = hash_mix(l->kind + l->size * 256ull);
  if (l->kind == LOC_REG) return hash_mix(l->kind + l->reg * 256ull);
  if (l->kind == LOC_SLOT) return hash_mix(h ^ (uint32_t)l->slot);
  const struct flow_place *p = &l->place;
  h = hash_mix(h ^ (p->kind + p->arg * 256ull + p->raw * 65536ull + ((uint64_t)p->call << 32)));
  return hash_mix(hash_mix(h ^ p->where) + (uint64_t)p->offset);
}

struct source flow_source_leaf(struct flow_value v) {
  return (struct source){.leaf = true, .value = v};
}

struct source flow_source_unknown(unsigned kind, unsigned size, uint64_t at) {
  return flow_source_leaf((struct flow_value){.kind = (uint8_t)kind, .raw = size >= 8, .at = at});
}

/* Are all 64 bits kept, of the value or of what is loaded with it? */
static bool keeps_width(const struct transform *ops) {
  bool wide = true;
  for (; ops; ops = ops->next) {
    if (ops->kind == XF_LOAD || ops->kind == XF_LOAD_SIGNED) wide = ops->width >= 8;
    if (ops->kind == XF_ZERO || ops->kind == XF_SIGN) wide &= ops->width >= 8;
  }
  return wide;
}

/* A chain of additions only, as addresses have them. */
static bool sum_of(const struct transform *ops, int64_t *ret) {
  int64_t sum = 0;
  for (; ops; ops = ops->next) {
    if (ops->kind != XF_ADD) return false;
    sum = (int64_t)((uint64_t)sum + (uint64_t)ops->imm);
  }
  *ret = sum;
  return true;
}

struct flow_value value_finish(struct flow_function *f, struct flow_value v, const struct transform *ops) {
  int64_t sum;
  bool pointer = false;
  switch (v.kind) {
  case VALUE_CONST:
    if (!flow_transform_apply(ops, f->image, v.value, &v.value, &pointer)) {
      v.kind = VALUE_MEMORY;
      v.raw = keeps_width(ops);
    }
    if (pointer) v.kind = VALUE_ADDRESS;
    break;
  case VALUE_ADDRESS:
    if (sum_of(ops, &sum)) {
      if (v.raw && sum) v.kind = VALUE_STACK; /* some address, not null */
      v.value += (uint64_t)sum;
    } else
      v.kind = flow_transform_loads(ops) ? VALUE_MEMORY : VALUE_COMPUTED;
    break;
  case VALUE_CALL:
  case VALUE_SIDE:
  case VALUE_ARG:
    v.ops = ops;
    if (sum_of(ops, &sum) || !flow_transform_loads(ops)) break;
    if (v.kind == VALUE_CALL && !ops->next) break;
    v.raw = keeps_width(ops);
    if (v.kind == VALUE_ARG) v.kind = VALUE_MEMORY;
    break;
  case VALUE_THREAD:
    if (ops && sum_of(ops, &sum)) {
      v.kind = VALUE_TLS;
      v.raw = 1;
      v.value = (uint64_t)sum;
    }
    break;
  case VALUE_STACK:
  case VALUE_TLS:
  case VALUE_TLS_OFFSET:
    if (ops) v.kind = VALUE_COMPUTED;
    break;
  case VALUE_MEMORY:
  case VALUE_COMPUTED:
    if (!keeps_width(ops)) v.raw = 0;
    break;
  default:
    break;
  }
  return v;
}

/* The place behind a pointer with a known origin. */
static bool place_behind(struct flow_value v, int64_t disp, struct flow_place *p) {
  int64_t sum = 0;
  p->offset = disp;
  switch (v.kind) {
  case VALUE_ARG:
    p->kind = PLACE_ARG;
    p->arg = v.arg;
    break;
  case VALUE_CALL:
    p->kind = PLACE_CALL;
    p->call = v.call;
    break;
  case VALUE_ADDRESS:
    p->kind = PLACE_GLOBAL;
    p->raw = v.raw;
    p->where = v.value;
    if (v.raw) return true; /* of the variable that the slot stands for */
    p->where += (uint64_t)disp;
    p->offset = 0;
    return true;
  case VALUE_TLS:
    p->kind = PLACE_TLS;
    p->where = v.value;
    p->raw = v.raw;
    return true;
  default:
    return false;
  }
  if (!sum_of(v.ops, &sum)) return false;
  p->offset = (int64_t)((uint64_t)p->offset + (uint64_t)sum);
  return true;
}

static bool place_in_thread(struct flow_function *f, uint32_t insn, const struct insn *in, struct flow_place *p) {
  p->kind = PLACE_TLS;
  if (in->base == NO_REG) {
    p->raw = 1;
    p->where = (uint64_t)in->disp;
    return true;
  }
  struct flow_loc base = flow_loc_reg(in->base);
  struct flow_value v = flow_origin(f, insn, &base);
  if (v.kind != VALUE_TLS_OFFSET) return false;
  p->where = v.value;
  p->offset = in->disp;
  return true;
}

bool flow_operand_place(struct flow_function *f, uint32_t insn, struct flow_place *ret) {
  const struct insn *in = &f->code->insns[insn];
  struct flow_place p = {.size = in->size};
  if (in->index != NO_REG) return false;
  if (in->flags & INSN_FS) {
    if (!place_in_thread(f, insn, in, &p)) return false;
  } else if (in->base == NO_REG) {
    p.kind = PLACE_GLOBAL;
    p.where = (uint64_t)in->disp;
  } else {
    struct flow_loc base = flow_loc_reg(in->base);
    if (!place_behind(flow_origin(f, insn, &base), in->disp, &p)) return false;
  }
  *ret = p;
  return true;
}

static bool extend(struct flow_function *f, const struct transform **ops, unsigned size, bool is_signed) {
  return size >= 8 || flow_transform_push(f->worker, ops, is_signed ? XF_SIGN : XF_ZERO, size, 0);
}

/* A word that is the same whenever the program runs: from read-only memory or from a relocated slot. */
static bool fixed_word(struct flow_function *f, uint64_t address, unsigned size, uint64_t at, struct flow_value *ret) {
  struct image_slot slot;
  *ret = (struct flow_value){.kind = VALUE_CONST, .at = at};
  if (size == 8 && image_slot(f->image, address, &slot)) {
    switch (slot.kind) {
    case SLOT_IMPORT:
      ret->kind = VALUE_ADDRESS;
      ret->raw = 1;
      break;
    case SLOT_LOCAL:
      if (!image_is_readonly(f->image, address)) return false;
      ret->kind = VALUE_ADDRESS;
      ret->value = slot.value;
      return true;
    case SLOT_TLS:
      ret->kind = VALUE_TLS_OFFSET;
      break;
    default:
      ret->kind = VALUE_MEMORY;
    }
    ret->value = address;
    return true;
  }
  const void *p = image_bytes(f->image, address, size);
  if (!p || size > 8 || !image_is_readonly(f->image, address)) return false;
  if (image_slot(f->image, address & ~7ull, &slot)) return false; /* a part of what the loader writes */
  memcpy(&ret->value, p, size);
  return true;
}

/* table[index]: the base or the index has a constant address. */
static bool table_load(struct flow_function *f, uint32_t insn, unsigned size, bool is_signed,
                       const struct transform *ops, struct source *ret) {
  const struct insn *in = &f->code->insns[insn];
  uint64_t table = (uint64_t)in->disp;
  uint8_t index = in->index;
  unsigned scale = in->scale;
  if (index == NO_REG || in->flags & INSN_FS || size > 8) return false;
  if (in->base != NO_REG) {
    struct flow_loc base = flow_loc_reg(in->base), other = flow_loc_reg(in->index);
    struct flow_value v = flow_origin(f, insn, &base);
    if (v.kind != VALUE_ADDRESS && scale <= 1) {
      v = flow_origin(f, insn, &other);
      index = in->base;
      scale = 1;
    }
    if (v.kind != VALUE_ADDRESS || v.raw) return false;
    table += v.value;
  }
  if (!image_is_readonly(f->image, table)) return false;
  ret->leaf = false;
  ret->loc = flow_loc_reg(index);
  ret->ops = ops;
  return flow_transform_push(f->worker, &ret->ops, is_signed ? XF_LOAD_SIGNED : XF_LOAD, size, (int64_t)table) &&
         flow_transform_push(f->worker, &ret->ops, XF_MUL, 0, scale ? scale : 1);
}

/* A load from an address that was summed up just before: the sum may turn out to be a table and an index. */
static bool load_from_sum(struct flow_function *f, uint32_t insn, unsigned size, bool is_signed, struct source *s) {
  const struct insn *in = &f->code->insns[insn];
  if (in->base == NO_REG || in->index != NO_REG || in->flags & INSN_FS || size > 8) return false;
  for (uint32_t i = insn; i-- > 0 && insn - i < 8;) {
    const struct insn *def = &f->code->insns[i];
    if (!(def->defs & REG_BIT(in->base))) continue;
    if (def->op != OP_ADD || def->src_kind != OPERAND_REG || def->size != 8) return false;
    s->loc = flow_loc_reg(in->base);
    return flow_transform_push(f->worker, &s->ops, is_signed ? XF_LOAD_SIGNED : XF_LOAD, size, in->disp);
  }
  return false;
}

struct source flow_source_memory(struct flow_function *f, uint32_t insn, unsigned size, bool is_signed,
                                 const struct transform *ops) {
  const struct insn *in = &f->code->insns[insn];
  struct source s = {.ops = ops};
  int32_t slot;
  if (in->flags & INSN_FS && in->base == NO_REG && in->index == NO_REG && size == 8) {
    if (in->disp == 0)
      return (struct source){.leaf = true, .ops = ops, .value = {.kind = VALUE_THREAD, .at = in->address}};
    if (insn_names_guard(in)) return flow_source_unknown(VALUE_UNDEFINED, 8, in->address); /* left in rax: no result */
  }
  if (table_load(f, insn, size, is_signed, ops, &s)) return s;
  s = (struct source){.ops = ops};
  if (load_from_sum(f, insn, size, is_signed, &s)) return s;
  s = (struct source){.ops = ops};
  if (!extend(f, &s.ops, size, is_signed)) return flow_source_unknown(VALUE_COMPUTED, size, in->address);
  if (insn_slot(in, &slot)) {
    s.loc = (struct flow_loc){.kind = LOC_SLOT, .slot = slot, .size = (uint8_t)size};
    return s;
  }
  struct flow_place p;
  if (!flow_operand_place(f, insn, &p)) {
    struct source unknown = flow_source_unknown(VALUE_MEMORY, size, in->address);
    unknown.ops = ops;
    return unknown;
  }
  if (p.kind == PLACE_GLOBAL && !p.raw && fixed_word(f, p.where, size, in->address, &s.value)) {
    s.leaf = true;
    return s;
  }
  p.size = (uint8_t)size;
  s.loc = (struct flow_loc){.kind = LOC_PLACE, .size = (uint8_t)size, .place = p};
  return s;
}
