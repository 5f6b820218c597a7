/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of operations, and conditions, on 64-bit values.
 *
 * Going backward through a function, an operation is put in front of the chain that stands for what the function does
 * with the value afterwards. Chains are shared: equal chains of a worker are one object, so that states compare by
 * pointer.
 */
#include "flow/backward.h"

#include <string.h>

#define CHAIN_MAX 12

static uint64_t keep_low(uint64_t v, unsigned width) { return width >= 8 ? v : v & ((1ull << (width * 8)) - 1); }

static uint64_t sign_extend(uint64_t v, unsigned width) {
  if (width >= 8) return v;
  unsigned shift = 64 - width * 8;
  return (uint64_t)((int64_t)(v << shift) >> shift);
}

static const struct transform *find(struct flow_worker *w, uint64_t hash, const struct transform *like) {
  uint64_t p = 0;
  for (unsigned i = 0; i < 8; i++) {
    if (!map_get(&w->transforms, hash + i, &p)) return NULL;
    const struct transform *t = (const struct transform *)(uintptr_t)p;
    if (t->kind == like->kind && t->width == like->width && t->imm == like->imm && t->next == like->next) return t;
  }
  return NULL;
}

static const struct transform *intern(struct flow_worker *w, const struct transform *like) {
  uint64_t hash = hash_mix((uint64_t)like->imm ^ hash_mix((uintptr_t)like->next + like->kind * 256u + like->width));
  const struct transform *t = find(w, hash, like);
  if (t) return t;
  t = arena_memdup(&w->keep, like, sizeof *like);
  while (map_get(&w->transforms, hash, NULL))
    hash++;
  if (t && map_put(&w->transforms, hash, (uintptr_t)t) >= 0) return t;
  w->failed = true;
  return NULL;
}

/* The same step again: a loop. Compilers would have put the two together. */
static bool repeats(const struct transform *t, unsigned kind, int64_t imm) {
  if (kind != XF_ADD && kind != XF_MUL && kind != XF_SHL && kind != XF_SHR && kind != XF_XOR) return false;
  if (kind == XF_ADD && imm == 0) return false;
  for (; t; t = t->next)
    if (t->kind == kind && t->imm == imm) return true;
  return false;
}

bool flow_transform_push(struct flow_worker *w, const struct transform **chain, unsigned kind, unsigned width,
                         int64_t imm) {
  const struct transform *next = *chain;
  if (kind == XF_ZERO || kind == XF_SIGN) {
    if (kind == XF_ZERO && width >= 8) return true;
    /* What follows looks at no more than these bytes anyway. */
    if (next && (next->kind == XF_ZERO || next->kind == XF_SIGN) && next->width <= width) return true;
  }
  if (repeats(next, kind, imm)) return false;
  if (kind == XF_ADD && imm == 0) return true;
  if (kind == XF_MUL && imm == 1) return true;
  struct transform t = {.kind = (uint8_t)kind, .width = (uint8_t)width, .imm = imm, .next = next};
  t.length = (uint8_t)(next ? next->length + 1 : 1);
  if (t.length > CHAIN_MAX) return false;
  const struct transform **cut = !next && kind <= XF_SIGN && width < 8 && imm == 0 ? &w->cuts[kind][width] : NULL;
  const struct transform *made = cut && *cut ? *cut : intern(w, &t);
  if (!made) return false;
  if (cut) *cut = made;
  *chain = made;
  return true;
}

bool flow_transform_concat(struct flow_worker *w, const struct transform *inner, const struct transform **chain) {
  if (!inner) return true;
  return flow_transform_concat(w, inner->next, chain) &&
         flow_transform_push(w, chain, inner->kind, inner->width, inner->imm);
}

bool flow_transform_append(struct flow_worker *w, const struct transform **chain, unsigned kind, unsigned width,
                           int64_t imm) {
  const struct transform *last = NULL;
  if (!flow_transform_push(w, &last, kind, width, imm) || !flow_transform_concat(w, *chain, &last)) return false;
  *chain = last;
  return true;
}

bool flow_transform_equal(const struct transform *a, const struct transform *b) {
  for (; a != b; a = a->next, b = b->next)
    if (!a || !b || a->kind != b->kind || a->width != b->width || a->imm != b->imm) return false;
  return true;
}

bool flow_transform_negates(const struct transform *t) {
  for (; t; t = t->next)
    if (t->kind == XF_NEG) return true;
  return false;
}

bool flow_transform_loads(const struct transform *t) {
  for (; t; t = t->next)
    if (t->kind == XF_LOAD || t->kind == XF_LOAD_SIGNED) return true;
  return false;
}

/* The values that an operation can have whatever it is applied to: *ret_n of them, as a range or a mask's subsets. */
static bool bounded(const struct transform *t, const struct transform *before, uint64_t *ret, unsigned *ret_n) {
  bool sign = before && before->kind == XF_SIGN, zero = before && before->kind == XF_ZERO;
  unsigned width = (t->kind == XF_SAR && sign) || (t->kind == XF_SHR && zero) ? before->width : 8;
  *ret_n = 0;
  if (before && (sign || zero) && width == 8 && before->width < 8 && t->kind != XF_AND) return false;
  if (t->kind == XF_SAR && t->imm == width * 8 - 1) {
    ret[(*ret_n)++] = 0;
    ret[(*ret_n)++] = ~0ull;
  } else if (t->kind == XF_SHR && t->imm == width * 8 - 1) {
    ret[(*ret_n)++] = 0;
    ret[(*ret_n)++] = 1;
  } else if (t->kind == XF_AND && t->imm > 0 && __builtin_popcountll((uint64_t)t->imm) <= 4) {
    uint64_t v = 0, mask = (uint64_t)t->imm;
    do
      ret[(*ret_n)++] = v;
    while ((v = (v - mask) & mask) != 0);
  }
  return *ret_n > 0;
}

unsigned flow_transform_values(const struct transform *ops, uint64_t ret[TRANSFORM_VALUES],
                               const struct transform **ret_rest) {
  const struct transform *before = NULL;
  unsigned n = 0;
  for (; ops; before = ops, ops = ops->next)
    if (bounded(ops, before, ret, &n)) {
      *ret_rest = ops->next;
      return n;
    }
  return 0;
}

bool flow_transform_is_sign(const struct transform *t, const struct transform **ret_of) {
  if (!t || t->kind != XF_SIGN || !t->next || t->next->kind != XF_SAR || t->next->imm != t->width * 8 - 1) return false;
  *ret_of = t;
  return true;
}

static bool load(const struct transform *t, const struct image *img, uint64_t *v, bool *pointer) {
  uint64_t address = (uint64_t)t->imm + *v;
  const void *p = img ? image_bytes(img, address, t->width) : NULL;
  struct image_slot slot;
  if (!p || !image_is_readonly(img, address)) return false;
  if (image_slot(img, address, &slot)) {
    *pointer = true;
    *v = slot.value;
    return true;
  }
  uint64_t raw = 0;
  memcpy(&raw, p, t->width);
  *v = t->kind == XF_LOAD ? raw : sign_extend(raw, t->width);
  return true;
}

static uint64_t apply_one(const struct transform *t, uint64_t v) {
  uint64_t imm = (uint64_t)t->imm;
  switch (t->kind) {
  case XF_ZERO:
    return keep_low(v, t->width);
  case XF_SIGN:
    return sign_extend(v, t->width);
  case XF_ADD:
    return v + imm;
  case XF_MUL:
    return v * imm;
  case XF_AND:
    return v & imm;
  case XF_OR:
    return v | imm;
  case XF_XOR:
    return v ^ imm;
  case XF_SHL:
    return v << (imm & 63);
  case XF_SHR:
    return v >> (imm & 63);
  case XF_SAR:
    return (uint64_t)((int64_t)v >> (imm & 63));
  case XF_NEG:
    return -v;
  case XF_NOT:
    return ~v;
  case XF_MAX0:
    return (int64_t)sign_extend(v, t->width) > 0 ? v : 0;
  case XF_MIN0:
    return (int64_t)sign_extend(v, t->width) < 0 ? v : 0;
  default:
    return v;
  }
}

bool flow_transform_apply(const struct transform *ops, const struct image *img, uint64_t value, uint64_t *ret,
                          bool *ret_pointer) {
  bool pointer = false;
  for (const struct transform *t = ops; t; t = t->next) {
    if (t->kind == XF_LOAD || t->kind == XF_LOAD_SIGNED) {
      if (!load(t, img, &value, &pointer)) return false;
    } else
      value = apply_one(t, value);
  }
  *ret = value;
  if (ret_pointer) *ret_pointer = pointer;
  return true;
}

bool flow_condition_holds(uint8_t cc, unsigned width, uint64_t a, uint64_t b) {
  uint64_t ua = keep_low(a, width), ub = keep_low(b, width);
  int64_t sa = (int64_t)sign_extend(a, width), sb = (int64_t)sign_extend(b, width);
  bool r;
  switch (cc & ~1) {
  case CC_B:
    r = ua < ub;
    break;
  case CC_E:
    r = ua == ub;
    break;
  case CC_BE:
    r = ua <= ub;
    break;
  case CC_S:
    r = (int64_t)sign_extend(ua - ub, width) < 0;
    break;
  case CC_L:
    r = sa < sb;
    break;
  case CC_LE:
    r = sa <= sb;
    break;
  default:
    return true;
  }
  return r != (cc & 1);
}
