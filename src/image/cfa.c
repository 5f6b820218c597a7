/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame instructions (DWARF 5, 6.4.2, and what .eh_frame adds), followed for three things only: the CFA, where rbp
 * was saved, where the return address is. Other registers are passed over, since nothing here is found through them.
 *
 * Expressions are not computed but recognised: those that compilers, linkers and the C library write are few.
 */
#include "image/cfa.h"

enum {
  CFA_NOP = 0x00,
  CFA_SET_LOC = 0x01,
  CFA_ADVANCE_LOC1 = 0x02,
  CFA_ADVANCE_LOC2 = 0x03,
  CFA_ADVANCE_LOC4 = 0x04,
  CFA_OFFSET_EXTENDED = 0x05,
  CFA_RESTORE_EXTENDED = 0x06,
  CFA_UNDEFINED = 0x07,
  CFA_SAME_VALUE = 0x08,
  CFA_REGISTER = 0x09,
  CFA_REMEMBER_STATE = 0x0a,
  CFA_RESTORE_STATE = 0x0b,
  CFA_DEF_CFA = 0x0c,
  CFA_DEF_CFA_REGISTER = 0x0d,
  CFA_DEF_CFA_OFFSET = 0x0e,
  CFA_DEF_CFA_EXPRESSION = 0x0f,
  CFA_EXPRESSION = 0x10,
  CFA_OFFSET_EXTENDED_SF = 0x11,
  CFA_DEF_CFA_SF = 0x12,
  CFA_DEF_CFA_OFFSET_SF = 0x13,
  CFA_VAL_OFFSET = 0x14,
  CFA_VAL_OFFSET_SF = 0x15,
  CFA_VAL_EXPRESSION = 0x16,
  CFA_GNU_ARGS_SIZE = 0x2e,
  CFA_GNU_NEGATIVE_OFFSET = 0x2f,
  CFA_ADVANCE_LOC = 0x40, /* the operand is in the low six bits */
  CFA_OFFSET = 0x80,
  CFA_RESTORE = 0xc0,
};

enum { OP_DEREF = 0x06, OP_PLUS_UCONST = 0x23, OP_LIT0 = 0x30, OP_LIT31 = 0x4f, OP_BREG0 = 0x70, OP_BREG31 = 0x8f };

/* The psABI's numbers. */
enum { REG_RBP = 6, REG_RSP = 7, REG_RIP = 16 };

/* Compilers need one, hand-written code two or three. */
#define REMEMBER_MAX 16

struct program {
  const struct cie *cie;
  const struct cfa_rules *initial; /* what CFA_RESTORE goes back to */
  struct cfa_rules rules, remembered[REMEMBER_MAX];
  unsigned n_remembered;
  struct cursor c;
  uint64_t at;
};

/* --- expressions -------------------------------------------------------------------------------------------------- */

/* The bytes of an expression, cut out of C. */
static struct cursor take_expression(struct cursor *c) {
  uint64_t size = cursor_leb128(c, false);
  struct cursor e = *c;
  e.failed = !cursor_take(c, size);
  e.left = e.failed ? 0 : size;
  return e;
}

static bool take_breg(struct cursor *e, unsigned *ret_reg, int64_t *ret_offset) {
  uint64_t op = cursor_number(e, 1);
  if (e->failed || op < OP_BREG0 || op > OP_BREG31) return false;
  *ret_reg = (unsigned)op - OP_BREG0;
  *ret_offset = (int64_t)cursor_leb128(e, true);
  return !e->failed;
}

/* rsp + 8 + ((rip & 15) >= N ? 8 : 0), in the words of every linker: what a PLT has pushed in its stubs. */
static bool plt_boundary(struct cursor e, int64_t *ret) {
  static const uint8_t before[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a}, behind[] = {0x2a, 0x33, 0x24, 0x22};
  const uint8_t *p = cursor_take(&e, sizeof before);
  if (!p || memcmp(p, before, sizeof before) != 0) return false;
  uint64_t lit = cursor_number(&e, 1);
  p = cursor_take(&e, sizeof behind);
  if (!p || e.left || memcmp(p, behind, sizeof behind) != 0 || lit < OP_LIT0 || lit > OP_LIT31) return false;
  *ret = (int64_t)lit - OP_LIT0;
  return true;
}

/* A register plus an offset; or what is stored there, plus an offset again. */
static void cfa_from_expression(struct cfa_rules *r, struct cursor e) {
  unsigned reg;
  r->kind = IMAGE_CFA_END;
  r->reg = UINT64_MAX;
  r->add = 0;
  if (plt_boundary(e, &r->offset)) {
    r->kind = IMAGE_CFA_PLT;
    return;
  }
  if (!take_breg(&e, &reg, &r->offset) || (reg != REG_RSP && reg != REG_RBP)) return;
  bool stored = e.left > 0;
  if (stored && cursor_number(&e, 1) != OP_DEREF) return;
  if (e.left > 0 && (cursor_number(&e, 1) != OP_PLUS_UCONST || (r->add = cursor_leb128(&e, false), e.failed))) return;
  if (e.left > 0) return;
  if (stored)
    r->kind = reg == REG_RSP ? IMAGE_CFA_AT_RSP : IMAGE_CFA_AT_RBP;
  else
    r->kind = reg == REG_RSP ? IMAGE_CFA_RSP : IMAGE_CFA_RBP;
}

/* "Saved where this expression points to". */
static struct cfa_saved saved_by_expression(struct cursor e) {
  struct cfa_saved s = {.where = WHERE_REGISTER};
  if (!take_breg(&e, &s.reg, &s.offset) || e.left > 0) s.where = WHERE_LOST;
  return s;
}

/* --- rules -------------------------------------------------------------------------------------------------------- */

static void set_saved(struct cfa_rules *r, uint64_t reg, struct cfa_saved s) {
  if (reg == REG_RBP) r->rbp = s;
  if (reg == REG_RIP) r->rip = s;
}

static void set_cfa(struct cfa_rules *r, uint64_t reg, int64_t offset) {
  r->reg = reg;
  r->offset = offset;
  r->add = 0;
  r->kind = reg == REG_RSP ? IMAGE_CFA_RSP : reg == REG_RBP ? IMAGE_CFA_RBP : IMAGE_CFA_END;
}

static void set_offset(struct program *p, uint64_t reg, uint64_t factored) {
  int64_t offset;
  bool lost = __builtin_mul_overflow((int64_t)factored, p->cie->data_align, &offset);
  set_saved(&p->rules, reg, (struct cfa_saved){lost ? WHERE_LOST : WHERE_CFA, 0, lost ? 0 : offset});
}

static void restore(struct program *p, uint64_t reg) {
  set_saved(&p->rules, reg, reg == REG_RBP ? p->initial->rbp : p->initial->rip);
}

/* def_cfa_offset behind an expression has no register to count from; the row is an END then, as readelf has it too. */
static void set_cfa_offset(struct cfa_rules *r, int64_t offset) { set_cfa(r, r->reg, offset); }

static int64_t factored(const struct program *p, uint64_t n) {
  int64_t v;
  return __builtin_mul_overflow((int64_t)n, p->cie->data_align, &v) ? INT64_MAX : v;
}

static bool names_register(uint64_t op) {
  return (op >= CFA_OFFSET_EXTENDED && op <= CFA_REGISTER) || op == CFA_EXPRESSION || op == CFA_OFFSET_EXTENDED_SF ||
         (op >= CFA_VAL_OFFSET && op <= CFA_VAL_EXPRESSION) || op == CFA_GNU_NEGATIVE_OFFSET;
}

/* What changes where a register is; false if OP is none of these. */
static bool step_register(struct program *p, uint64_t op) {
  struct cursor *c = &p->c;
  if (!names_register(op)) return false;
  uint64_t reg = cursor_leb128(c, false);
  switch (op) {
  case CFA_OFFSET_EXTENDED:
    set_offset(p, reg, cursor_leb128(c, false));
    return true;
  case CFA_OFFSET_EXTENDED_SF:
    set_offset(p, reg, cursor_leb128(c, true));
    return true;
  case CFA_GNU_NEGATIVE_OFFSET:
    set_offset(p, reg, -cursor_leb128(c, false));
    return true;
  case CFA_RESTORE_EXTENDED:
    restore(p, reg);
    return true;
  case CFA_SAME_VALUE:
    set_saved(&p->rules, reg, (struct cfa_saved){.where = WHERE_SAME});
    return true;
  case CFA_EXPRESSION:
    set_saved(&p->rules, reg, saved_by_expression(take_expression(c)));
    return true;
  case CFA_VAL_EXPRESSION:
    (void)take_expression(c);
    break;
  case CFA_REGISTER:
  case CFA_VAL_OFFSET:
  case CFA_VAL_OFFSET_SF:
    (void)cursor_leb128(c, false); /* signed or not, it is as long */
    break;
  default: /* CFA_UNDEFINED */
    break;
  }
  set_saved(&p->rules, reg, (struct cfa_saved){.where = WHERE_LOST});
  return true;
}

/* What changes the CFA, or all rules; false if OP is none of these, or makes no sense. */
static bool step_cfa(struct program *p, uint64_t op) {
  struct cursor *c = &p->c;
  uint64_t reg;
  switch (op) {
  case CFA_DEF_CFA:
    reg = cursor_leb128(c, false);
    set_cfa(&p->rules, reg, (int64_t)cursor_leb128(c, false));
    return true;
  case CFA_DEF_CFA_SF:
    reg = cursor_leb128(c, false);
    set_cfa(&p->rules, reg, factored(p, cursor_leb128(c, true)));
    return true;
  case CFA_DEF_CFA_REGISTER:
    set_cfa(&p->rules, cursor_leb128(c, false), p->rules.offset);
    return true;
  case CFA_DEF_CFA_OFFSET:
    set_cfa_offset(&p->rules, (int64_t)cursor_leb128(c, false));
    return true;
  case CFA_DEF_CFA_OFFSET_SF:
    set_cfa_offset(&p->rules, factored(p, cursor_leb128(c, true)));
    return true;
  case CFA_DEF_CFA_EXPRESSION:
    cfa_from_expression(&p->rules, take_expression(c));
    return true;
  case CFA_REMEMBER_STATE:
    if (p->n_remembered == REMEMBER_MAX) return false;
    p->remembered[p->n_remembered++] = p->rules;
    return true;
  case CFA_RESTORE_STATE:
    if (p->n_remembered == 0) return false;
    p->rules = p->remembered[--p->n_remembered];
    return true;
  case CFA_GNU_ARGS_SIZE:
    (void)cursor_leb128(c, false);
    return true;
  case CFA_NOP:
    return true;
  default:
    return false;
  }
}

/* One instruction other than an advance. False if it cannot be read. */
static bool step(struct program *p, uint64_t op) {
  switch (op & 0xc0) {
  case CFA_OFFSET:
    set_offset(p, op & 0x3f, cursor_leb128(&p->c, false));
    return !p->c.failed;
  case CFA_RESTORE:
    restore(p, op & 0x3f);
    return true;
  default:
    return (step_register(p, op) || step_cfa(p, op)) && !p->c.failed;
  }
}

/* Where OP goes on, into *ret; false if it does not move. */
static bool step_location(struct program *p, uint64_t op, uint64_t *ret) {
  uint64_t delta;
  if ((op & 0xc0) == CFA_ADVANCE_LOC)
    delta = op & 0x3f;
  else if (op == CFA_ADVANCE_LOC1)
    delta = cursor_number(&p->c, 1);
  else if (op == CFA_ADVANCE_LOC2)
    delta = cursor_number(&p->c, 2);
  else if (op == CFA_ADVANCE_LOC4)
    delta = cursor_number(&p->c, 4);
  else if (op == CFA_SET_LOC) {
    *ret = cursor_pointer(&p->c, p->cie->encoding, 0);
    return true;
  } else
    return false;
  if (__builtin_mul_overflow(delta, p->cie->code_align, &delta) || __builtin_add_overflow(p->at, delta, ret))
    *ret = UINT64_MAX;
  return true;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static bool is_at(const struct cfa_saved *s, enum cfa_where where, unsigned reg, int64_t offset) {
  return s->where == where && s->reg == reg && s->offset == offset;
}

/* The kernel's ucontext behind a signal handler's return address: the offsets are ABI. */
static bool is_signal(const struct cfa_rules *r) {
  return r->kind == IMAGE_CFA_AT_RSP && r->offset == 160 && r->add == 0 &&
         is_at(&r->rip, WHERE_REGISTER, REG_RSP, 168) && is_at(&r->rbp, WHERE_REGISTER, REG_RSP, 120);
}

/* Where rbp was saved, from the CFA; 0 if it was not. False if a row cannot say it. */
static bool rbp_offset(const struct cfa_rules *r, int64_t *ret) {
  bool aligned = r->kind == IMAGE_CFA_AT_RBP;
  switch (r->rbp.where) {
  case WHERE_SAME:
    *ret = 0;
    return !aligned;
  case WHERE_CFA:
    *ret = r->rbp.offset;
    return *ret != 0 && *ret >= INT16_MIN && *ret <= INT16_MAX;
  case WHERE_REGISTER:
    *ret = 0;
    return aligned && is_at(&r->rbp, WHERE_REGISTER, REG_RBP, 0);
  default:
    return false;
  }
}

struct image_row cfa_row(const struct cfa_rules *r, uint64_t start) {
  struct image_row end = {.start = (uint32_t)start, .cfa = IMAGE_CFA_END};
  int64_t rbp;
  if (is_signal(r)) return (struct image_row){.start = (uint32_t)start, .cfa = IMAGE_CFA_SIGNAL};
  if (r->kind == IMAGE_CFA_END || !is_at(&r->rip, WHERE_CFA, 0, -8) || !rbp_offset(r, &rbp)) return end;
  if (r->offset < INT32_MIN || r->offset > INT32_MAX || r->add > UINT8_MAX) return end;
  return (struct image_row){(uint32_t)start, (uint8_t)r->kind, (uint8_t)r->add, (int16_t)rbp, (int32_t)r->offset};
}

bool cfa_begin(const struct cie *cie, struct cfa_rules *ret) {
  static const struct cfa_rules nothing = {
      .kind = IMAGE_CFA_END, .reg = UINT64_MAX, .rbp = {WHERE_SAME}, .rip = {.where = WHERE_LOST}};
  if (!cie->understood || cie->return_register != REG_RIP) return false;
  struct program p = {.cie = cie, .initial = &nothing, .rules = nothing, .c = cie->program};
  while (p.c.left > 0)
    if (!step(&p, cursor_number(&p.c, 1))) return false;
  *ret = p.rules;
  return !p.c.failed;
}

int cfa_run(const struct cie *cie, const struct cfa_rules *initial, struct cursor program, uint64_t start, uint64_t end,
            cfa_taker taker, void *context) {
  struct program p = {.cie = cie, .initial = initial, .rules = *initial, .c = program, .at = start};
  bool readable = !program.failed;
  while (readable && p.c.left > 0) {
    uint64_t op = cursor_number(&p.c, 1), next;
    if (!step_location(&p, op, &next)) {
      readable = step(&p, op);
      continue;
    }
    readable = !p.c.failed && next >= p.at;
    if (!readable) break;
    int r = taker(context, cfa_row(&p.rules, p.at));
    if (r < 0 || next >= end) return r;
    p.at = next;
  }
  readable = readable && !p.c.failed;
  struct image_row last = readable ? cfa_row(&p.rules, p.at) : (struct image_row){.start = (uint32_t)p.at};
  return taker(context, last);
}
