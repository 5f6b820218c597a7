/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What functions are called with. Where a compiler has given up an argument because nothing needs it any more, it says
 * that it was in this register at the entry; and of a call, what it puts into which register, in terms of what the
 * caller keeps (DW_TAG_call_site). Both together tell the argument as long as the caller's frame is there.
 *
 * Only calls that name the function count. Through a pointer some other function may have been called that has jumped
 * on to this one, and what it was called with is nothing of ours.
 */
#include <dwarf.h>

#include "image/debug_variable.h"

enum { BLOCK_DEPTH = 64 };

/* --- which function ----------------------------------------------------------------------------------------------- */

static const char *text_of(Dwarf_Die *die, unsigned attribute) {
  Dwarf_Attribute a;
  return variable_attr(die, attribute, &a) ? dwarf_formstring(&a) : NULL;
}

/* Functions are told apart by what the linker calls them, if that is said. */
static bool is_same(Dwarf_Die *a, Dwarf_Die *b) {
  const char *x = text_of(a, DW_AT_linkage_name), *y = text_of(b, DW_AT_linkage_name);
  if (!x || !y) {
    x = text_of(a, DW_AT_name);
    y = text_of(b, DW_AT_name);
  }
  return x && y && strcmp(x, y) == 0;
}

static bool is_asked(struct variable_search *s, Dwarf_Die *callee) {
  for (size_t i = 0; i < s->callees.n; i++)
    if (is_same(&s->callees.at[i], callee)) return true;
  return false;
}

/* --- one call ----------------------------------------------------------------------------------------------------- */

/* Before DWARF 5 this was an extension, with attributes of its own. */
static bool attr(Dwarf_Die *die, unsigned attribute, unsigned before, Dwarf_Attribute *ret) {
  return dwarf_attr(die, attribute, ret) || dwarf_attr(die, before, ret);
}

static int add_parameter(struct variable_search *s, Dwarf_Die *die, const struct location_base *base, uint64_t after) {
  Dwarf_Attribute a;
  Dwarf_Op *ops;
  size_t n;
  if (!dwarf_attr(die, DW_AT_location, &a) || dwarf_getlocation(&a, &ops, &n) != 0 || n != 1) return 0;
  if (ops[0].atom < DW_OP_reg0 || ops[0].atom > DW_OP_reg15) return 0;
  struct image_location l = {.start = after - 1, .end = after};
  uint8_t reg = (uint8_t)(ops[0].atom - DW_OP_reg0);
  unsigned width = s->ret->n_steps > 1 ? 8 : s->ret->width;
  if (!attr(die, DW_AT_call_value, DW_AT_GNU_call_site_value, &a) || dwarf_getlocation(&a, &ops, &n) != 0) return 0;
  if (!location_of_argument(&a, ops, n, base, width, &l)) return 0;
  l.entry = reg;
  return vec_push(&s->ret->entries, l);
}

static int add_call(struct variable_search *s, Dwarf_Die *die, const struct location_base *base) {
  Dwarf_Attribute a;
  Dwarf_Die callee, child;
  Dwarf_Addr after;
  int r = 0;
  if (!attr(die, DW_AT_call_origin, DW_AT_abstract_origin, &a) || !dwarf_formref_die(&a, &callee)) return 0;
  if (!attr(die, DW_AT_call_return_pc, DW_AT_low_pc, &a) || dwarf_formaddr(&a, &after) != 0 || after == 0) return 0;
  if (!is_asked(s, &callee)) return 0;
  for (bool more = variable_child(s, die, &child); more && r >= 0; more = variable_next(s, &child)) {
    int tag = dwarf_tag(&child);
    if (tag == DW_TAG_call_site_parameter || tag == DW_TAG_GNU_call_site_parameter)
      r = add_parameter(s, &child, base, after);
  }
  return r;
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

static int search_block(struct variable_search *s, Dwarf_Die *block, const struct location_base *base, unsigned depth) {
  Dwarf_Die child;
  int r = 0;
  for (bool more = variable_child(s, block, &child); more && r >= 0; more = variable_next(s, &child)) {
    int tag = dwarf_tag(&child);
    if (tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site) r = add_call(s, &child, base);
    if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) && depth < BLOCK_DEPTH)
      r = search_block(s, &child, base, depth + 1);
  }
  return r;
}

int entry_search(struct variable_search *s, struct debug_unit *u) {
  const struct debug_scope *before = NULL;
  int r = 0;
  for (size_t i = 0; i < u->functions.n && r >= 0; i++) {
    struct debug_scope *scope = u->functions.at[i].of;
    if (scope == before) continue;
    before = scope;
    struct location_base base = location_base(&scope->die);
    r = search_block(s, &scope->die, &base, 0);
  }
  return r;
}
