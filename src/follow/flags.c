/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a comparison says of a given value: the flags as the processor makes them.
 */
#include "follow/follow.h"

struct flags {
  bool zero, sign, carry, overflow;
};

static uint64_t low(uint64_t v, unsigned width) { return width >= 8 ? v : v & ((1ull << (width * 8)) - 1); }

static bool sign_of(uint64_t v, unsigned width) { return v >> (width * 8 - 1) & 1; }

static struct flags flags_of(uint8_t op, unsigned width, uint64_t a, uint64_t b) {
  struct flags f = {0};
  uint64_t r = a;
  switch (op) {
  case OP_NEG:
    b = a;
    a = 0;
    __attribute__((fallthrough));
  case OP_CMP:
  case OP_SUB:
    r = low(a - b, width);
    f.carry = a < b;
    f.overflow = sign_of((a ^ b) & (a ^ r), width);
    break;
  case OP_ADD:
    r = low(a + b, width);
    f.carry = r < a;
    f.overflow = sign_of((a ^ r) & (b ^ r), width);
    break;
  case OP_TEST:
  case OP_AND:
    r = a & b;
    break;
  case OP_OR:
    r = a | b;
    break;
  case OP_XOR:
    r = a ^ b;
    break;
  case OP_BIT:
    f.carry = a >> (b & (width * 8 - 1)) & 1;
    break;
  default:
    break;
  }
  f.zero = r == 0;
  f.sign = sign_of(r, width);
  return f;
}

static bool holds(struct flags f, uint8_t cc) {
  bool r;
  switch (cc & ~1) {
  case CC_O:
    r = f.overflow;
    break;
  case CC_B:
    r = f.carry;
    break;
  case CC_E:
    r = f.zero;
    break;
  case CC_BE:
    r = f.carry || f.zero;
    break;
  case CC_S:
    r = f.sign;
    break;
  case CC_L:
    r = f.sign != f.overflow;
    break;
  case CC_LE:
    r = f.zero || f.sign != f.overflow;
    break;
  default: /* parity: nobody means it */
    return false;
  }
  return r != (cc & 1);
}

bool follow_event_holds(const struct follow_event *e, const struct image *img, uint64_t value, uint64_t variable) {
  uint64_t a = value, b = e->variable ? variable : e->imm;
  unsigned width = e->width ? e->width : 8;
  if (width > 8) width = 8;
  if (!flow_transform_apply(e->ops, img, value, &a, NULL)) return false;
  a = low(a, width);
  b = low(b, width);
  return holds(e->swapped ? flags_of(e->op, width, b, a) : flags_of(e->op, width, a, b), e->cc);
}
