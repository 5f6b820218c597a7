/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DWARF expressions (DWARF 5, 2.5 and 2.6) that say where something is, or what: not computed but recognised, since
 * those that lead to a place which can be found later are few. What is in a register can be known if functions keep it
 * for their callers, or if it is an argument of the very call; which of these it is, the runtime knows.
 */
#include <dwarf.h>

#include "image/debug_variable.h"

enum { REGISTERS = 16, REG_RBP = 6, REG_RSP = 7 };

struct location_base location_base(Dwarf_Die *function) {
  Dwarf_Attribute a;
  Dwarf_Op *ops;
  size_t n;
  struct location_base b = {false};
  if (!variable_attr(function, DW_AT_frame_base, &a) || dwarf_getlocation(&a, &ops, &n) != 0 || n != 1) return b;
  uint8_t atom = ops[0].atom;
  if (atom == DW_OP_call_frame_cfa) return (struct location_base){true, IMAGE_AT_CFA, 0, 0};
  if (atom == DW_OP_reg6 || atom == DW_OP_reg7)
    return (struct location_base){true, IMAGE_AT_REGISTER, (uint8_t)(atom - DW_OP_reg0), 0};
  if (atom == DW_OP_breg6 || atom == DW_OP_breg7)
    return (struct location_base){true, IMAGE_AT_REGISTER, (uint8_t)(atom - DW_OP_breg0), (int64_t)ops[0].number};
  return b;
}

static bool is_constant(const Dwarf_Op *op, int64_t *ret) {
  if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
    *ret = op->atom - DW_OP_lit0;
    return true;
  }
  *ret = (int64_t)op->number;
  return op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts;
}

/* An address itself, or its number in a table. */
static bool read_address(Dwarf_Attribute *a, const Dwarf_Op *op, int64_t *ret) {
  Dwarf_Attribute indirect;
  Dwarf_Addr address;
  if (op->atom == DW_OP_addr) {
    *ret = (int64_t)op->number;
    return true;
  }
  if (op->atom != DW_OP_addrx && op->atom != DW_OP_GNU_addr_index) return false;
  if (dwarf_getlocation_attr(a, op, &indirect) != 0 || dwarf_formaddr(&indirect, &address) != 0) return false;
  *ret = (int64_t)address;
  return true;
}

/* What a register was at the entry of the function. */
static bool read_entry(Dwarf_Attribute *a, const Dwarf_Op *op, uint8_t *ret) {
  Dwarf_Attribute inner;
  Dwarf_Op *ops;
  size_t n;
  if (op->atom != DW_OP_entry_value && op->atom != DW_OP_GNU_entry_value) return false;
  if (dwarf_getlocation_attr(a, op, &inner) != 0 || dwarf_getlocation(&inner, &ops, &n) != 0 || n != 1) return false;
  *ret = (uint8_t)(ops[0].atom - DW_OP_reg0);
  return ops[0].atom >= DW_OP_reg0 && ops[0].atom < DW_OP_reg0 + REGISTERS;
}

/* The one thing that the expression starts with, as an address on its stack: IMAGE_IS_… */
static bool read_first(Dwarf_Attribute *a, const Dwarf_Op *op, const struct location_base *base,
                       struct image_location *to) {
  to->reg = 0;
  if (is_constant(op, &to->offset)) {
    to->kind = IMAGE_IS_NUMBER;
    return true;
  }
  if (read_address(a, op, &to->offset)) {
    to->kind = IMAGE_IS_STATIC;
    return true;
  }
  to->offset = (int64_t)op->number;
  if (op->atom >= DW_OP_breg0 && op->atom < DW_OP_breg0 + REGISTERS) {
    to->kind = IMAGE_IS_REGISTER;
    to->reg = (uint8_t)(op->atom - DW_OP_breg0);
    return true;
  }
  if (op->atom == DW_OP_fbreg) {
    to->kind = base->kind == IMAGE_AT_CFA ? IMAGE_IS_CFA : IMAGE_IS_REGISTER;
    to->reg = base->reg;
    to->offset = (int64_t)((uint64_t)to->offset + (uint64_t)base->offset);
    return base->known;
  }
  to->offset = 0;
  if (op->atom == DW_OP_call_frame_cfa) {
    to->kind = IMAGE_IS_CFA;
    return true;
  }
  to->kind = IMAGE_IS_ENTRY;
  return read_entry(a, op, &to->reg);
}

/* Adds what is added to it: constants. How many operations that were. */
static size_t read_sums(const Dwarf_Op *ops, size_t n, struct image_location *to) {
  size_t i = 0;
  int64_t number;
  for (;;) {
    bool one = i < n && ops[i].atom == DW_OP_plus_uconst;
    bool two = !one && i + 1 < n && is_constant(&ops[i], &number) &&
               (ops[i + 1].atom == DW_OP_plus || ops[i + 1].atom == DW_OP_minus);
    if (!one && !two) return i;
    uint64_t by = one ? ops[i].number : ops[i + 1].atom == DW_OP_minus ? -(uint64_t)number : (uint64_t)number;
    to->offset = (int64_t)((uint64_t)to->offset + by);
    i += one ? 1 : 2;
  }
}

/* What was on the stack of the expression is where it is. */
static bool to_place(struct image_location *to) {
  switch (to->kind) {
  case IMAGE_IS_CFA:
    to->kind = IMAGE_AT_CFA;
    return true;
  case IMAGE_IS_REGISTER:
    to->kind = IMAGE_AT_REGISTER;
    return true;
  case IMAGE_IS_STATIC:
    to->kind = IMAGE_AT_STATIC;
    return true;
  default:
    return false;
  }
}

static bool is_of_thread(const Dwarf_Op *op) {
  return op->atom == DW_OP_form_tls_address || op->atom == DW_OP_GNU_push_tls_address;
}

bool location_read(Dwarf_Attribute *a, const Dwarf_Op *ops, size_t n, const struct location_base *base,
                   struct image_location *to) {
  to->piece = 0;
  to->entry = 0;
  if (n == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom < DW_OP_reg0 + REGISTERS) {
    to->kind = IMAGE_IS_REGISTER;
    to->reg = (uint8_t)(ops[0].atom - DW_OP_reg0);
    to->offset = 0;
    return true;
  }
  if (n == 0 || !read_first(a, &ops[0], base, to)) return false;
  size_t used = 1 + read_sums(ops + 1, n - 1, to);
  if (used == n) return to_place(to);
  if (used + 1 != n) return false;
  if (to->kind == IMAGE_IS_NUMBER && is_of_thread(&ops[used])) {
    to->kind = IMAGE_AT_THREAD;
    return true;
  }
  return ops[used].atom == DW_OP_stack_value;
}

/* A place is told as if the rest of the variable were around it, a value with where it begins. */
bool location_of_piece(Dwarf_Attribute *a, const Dwarf_Op *ops, size_t n, const struct location_base *base,
                       const struct image_variable *v, struct image_location *to) {
  uint64_t at = 0, wanted = (uint64_t)v->steps[0], width = v->n_steps > 1 ? 8 : v->width ? v->width : 1;
  if (v->characters && !v->pointer && v->n_steps == 1) return false; /* where the next letter is, nobody knows */
  for (size_t i = 0; i < n;) {
    size_t first = i;
    while (i < n && ops[i].atom != DW_OP_piece)
      i++;
    if (i == n) return false;
    uint64_t size = ops[i++].number;
    if (wanted >= at && wanted - at < size && width <= size - (wanted - at)) {
      if (!location_read(a, ops + first, i - 1 - first, base, to)) return false;
      if (to->kind < IMAGE_IS_CFA)
        to->offset -= (int64_t)at;
      else if (at <= UINT8_MAX)
        to->piece = (uint8_t)at;
      else
        return false;
      return true;
    }
    at += size;
  }
  return false;
}

bool location_of_argument(Dwarf_Attribute *a, const Dwarf_Op *ops, size_t n, const struct location_base *base,
                          unsigned width, struct image_location *to) {
  to->piece = 0;
  if (n == 0 || !read_first(a, &ops[0], base, to) || to->kind == IMAGE_IS_ENTRY) return false;
  size_t used = 1 + read_sums(ops + 1, n - 1, to);
  if (used == n) return true;
  bool loaded = ops[used].atom == DW_OP_deref || (ops[used].atom == DW_OP_deref_size && ops[used].number >= width);
  return used + 1 == n && loaded && to_place(to);
}
