/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries that are opened while the program runs (plugins, extensions of interpreters, what NSS needs) are not in the
 * plan. Their .eh_frame is in memory like their code: it is searched by .eh_frame_hdr, and the call frame instructions
 * are carried out up to the address, for the CFA, rbp and the return address, as image_unwind does it on the host. The
 * table of steps keeps the result, so an address costs that once. The other registers that functions keep for their
 * callers are found in the same way where variables in them are asked for, in all modules, each time.
 *
 * Nothing is read outside of the segment. Forms that no linker writes for x86-64 are not known here.
 */
#include "frames.h"

/* Encodings of pointers: relative to themselves or to the header, signed, of 4 bytes; or as they are. */
enum { PE_PLAIN = 0x00, PE_UDATA4 = 0x03, PE_PCREL4 = 0x1b, PE_PCREL8 = 0x1c, PE_DATAREL4 = 0x3b };
/* The psABI's numbers of registers. */
enum { RBP = 6, RSP = 7, RIP = 16 };
#define REMEMBER_MAX 8
#define OPCODES_MAX 4096

struct reader {
  uint64_t at, end;
  bool failed;
};

static uint64_t number(struct reader *r, unsigned size) {
  uint64_t v = 0;
  if (r->failed || r->end - r->at < size) {
    r->failed = true;
    return 0;
  }
  for (unsigned i = 0; i < size; i++)
    v |= (uint64_t)((const uint8_t *)r->at)[i] << 8 * i;
  r->at += size;
  return v;
}

static int64_t number_signed(struct reader *r, unsigned size) {
  uint64_t v = number(r, size), sign = 1ull << (8 * size - 1);
  return (int64_t)((v ^ sign) - sign);
}

static uint64_t leb128(struct reader *r, bool is_signed) {
  uint64_t v = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    uint64_t byte = number(r, 1);
    v |= (byte & 0x7f) << shift;
    if (byte & 0x80) continue;
    if (is_signed && byte & 0x40 && shift < 57) v |= ~0ull << (shift + 7);
    return v;
  }
  r->failed = true;
  return 0;
}

static void skip(struct reader *r, uint64_t n) {
  r->failed |= r->end - r->at < n;
  r->at += r->failed ? 0 : n;
}

static uint64_t pointer(struct reader *r, uint8_t encoding) {
  uint64_t here = r->at;
  switch (encoding) {
  case PE_PLAIN:
    return number(r, 8);
  case PE_PCREL4:
    return here + (uint64_t)number_signed(r, 4);
  case PE_PCREL8:
    return here + number(r, 8);
  default:
    r->failed = true;
    return 0;
  }
}

/* The entry at ADDRESS, behind its length; failed if it is none. */
static struct reader entry_at(const struct rt_frames *f, uint64_t address) {
  struct reader r = {address, f->end, address < f->start || address >= f->end};
  uint64_t length = number(&r, 4);
  r.failed |= length == 0 || length == 0xffffffff || length > r.end - r.at;
  r.end = r.failed ? r.at : r.at + length;
  return r;
}

/* --- entries ------------------------------------------------------------------------------------------------------ */

struct common {
  uint64_t code_align;
  int64_t data_align;
  uint8_t encoding;
  bool sized;
  struct reader program;
};

/* What an unknown letter means is unknown, and so is all behind it. */
static void augmentation(struct reader r, const char *letters, struct common *c) {
  for (; *letters == 'R' || *letters == 'L' || *letters == 'P' || *letters == 'S' || *letters == 'B'; letters++) {
    if (*letters == 'S' || *letters == 'B') continue;
    uint8_t encoding = (uint8_t)number(&r, 1);
    if (*letters == 'R') c->encoding = encoding;
    /* The address of a function that is not called here. */
    if (*letters == 'P') skip(&r, (encoding & 7) == 3 ? 4 : 8);
  }
}

static bool read_common(const struct rt_frames *f, uint64_t address, struct common *ret) {
  struct reader r = entry_at(f, address);
  struct common c = {.encoding = PE_PLAIN};
  uint64_t id = number(&r, 4), version = number(&r, 1);
  const char *letters = (const char *)r.at;
  while (number(&r, 1) != 0 && !r.failed)
    ;
  if (r.failed || id != 0 || (version != 1 && version != 3) || (*letters && *letters != 'z')) return false;
  c.code_align = leb128(&r, false);
  c.data_align = (int64_t)leb128(&r, true);
  if ((version == 1 ? number(&r, 1) : leb128(&r, false)) != RIP) return false;
  c.sized = *letters == 'z';
  if (c.sized) {
    uint64_t size = leb128(&r, false);
    augmentation(r, letters + 1, &c);
    skip(&r, size);
  }
  c.program = r;
  *ret = c;
  return !r.failed;
}

/* The last entry of the header's table that starts at or before PC; 0 if there is none. */
static uint64_t search(const struct rt_frames *f, uint64_t pc) {
  struct reader r = {f->header, f->end, false};
  uint64_t version = number(&r, 1), start = number(&r, 1), count = number(&r, 1), table = number(&r, 1);
  if (r.failed || version != 1 || start != PE_PCREL4 || count != PE_UDATA4 || table != PE_DATAREL4) return 0;
  (void)number(&r, 4);
  uint64_t n = number(&r, 4);
  if (r.failed || n == 0 || n > (r.end - r.at) / 8) return 0;
  const int32_t(*rows)[2] = (const void *)r.at;
  if (r.at % 4 != 0 || f->header + (uint64_t)(int64_t)rows[0][0] > pc) return 0;
  while (n > 1) {
    uint64_t half = n / 2;
    rows = f->header + (uint64_t)(int64_t)rows[half][0] <= pc ? rows + half : rows;
    n -= half;
  }
  return f->header + (uint64_t)(int64_t)(*rows)[1];
}

/* --- instructions ------------------------------------------------------------------------------------------------- */

/* Where a register of the caller is: as it was, at an offset from the CFA, behind a register, or lost. */
enum where { SAME, FROM_CFA, FROM_RBP, FROM_RSP, LOST };
struct saved {
  uint8_t where; /* of enum where */
  int64_t at;
};

/* The registers that are followed; all others are the function's own. */
enum { SAVED_RBP, SAVED_RIP, SAVED_KEPT, SAVED_COUNT = SAVED_KEPT + RT_KEPT };
struct rules {
  uint8_t cfa; /* of enum wire_cfa */
  uint8_t add;
  uint64_t reg;
  int64_t offset;
  struct saved saved[SAVED_COUNT];
};

struct machine {
  const struct common *common;
  struct rules now, initial, remembered[REMEMBER_MAX];
  unsigned n_remembered;
};

static void set_cfa(struct rules *r, uint64_t reg, int64_t offset) {
  r->cfa = reg == RSP ? WIRE_CFA_RSP : reg == RBP ? WIRE_CFA_RBP : WIRE_CFA_END;
  r->reg = reg;
  r->offset = offset;
  r->add = 0;
}

/* SAVED_COUNT if the register is not followed. */
static unsigned place_of(uint64_t reg) {
  unsigned kept = rt_kept(reg);
  return reg == RBP ? SAVED_RBP : reg == RIP ? SAVED_RIP : kept < RT_KEPT ? SAVED_KEPT + kept : SAVED_COUNT;
}

static void set_saved(struct rules *r, uint64_t reg, enum where where, int64_t at) {
  unsigned i = place_of(reg);
  if (i < SAVED_COUNT) r->saved[i] = (struct saved){(uint8_t)where, at};
}

static void restore(struct rules *r, uint64_t reg, const struct rules *initial) {
  unsigned i = place_of(reg);
  if (i < SAVED_COUNT) r->saved[i] = initial->saved[i];
}

static struct reader expression(struct reader *r) {
  uint64_t size = leb128(r, false);
  struct reader e = *r;
  skip(r, size);
  e.end = r->at;
  return e;
}

/* breg rsp or rbp; -1 if it is another one or something else. */
static int based_on(struct reader *e, int64_t *ret_offset) {
  uint64_t op = number(e, 1);
  *ret_offset = (int64_t)leb128(e, true);
  return e->failed ? -1 : op == 0x70 + RSP ? RSP : op == 0x70 + RBP ? RBP : -1;
}

static bool is_plt(struct reader e, int64_t *ret_offset) {
  static const uint8_t words[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22};
  if (e.end - e.at != sizeof words) return false;
  const uint8_t *p = (const uint8_t *)e.at;
  for (unsigned i = 0; i < sizeof words; i++)
    if (i != 6 && p[i] != words[i]) return false;
  *ret_offset = p[6] - 0x30;
  return p[6] >= 0x30 && p[6] < 0x50;
}

static void cfa_expression(struct rules *r, struct reader e) {
  set_cfa(r, UINT64_MAX, 0);
  if (is_plt(e, &r->offset)) {
    r->cfa = WIRE_CFA_PLT;
    return;
  }
  int reg = based_on(&e, &r->offset);
  bool stored = e.at < e.end;
  uint64_t add = 0;
  if (reg < 0 || (stored && number(&e, 1) != 0x06)) return;
  if (e.at < e.end) {
    if (number(&e, 1) != 0x23) return;
    add = leb128(&e, false);
  }
  if (e.failed || e.at < e.end || add > UINT8_MAX) return;
  r->add = (uint8_t)add;
  r->cfa = stored ? (reg == RSP ? WIRE_CFA_AT_RSP : WIRE_CFA_AT_RBP) : (reg == RSP ? WIRE_CFA_RSP : WIRE_CFA_RBP);
}

static void saved_expression(struct rules *r, uint64_t reg, struct reader e) {
  int64_t offset;
  int base = based_on(&e, &offset);
  set_saved(r, reg, base < 0 || e.at < e.end ? LOST : base == RSP ? FROM_RSP : FROM_RBP, offset);
}

/* Whatever the numbers are, they are multiplied as the processor does. */
static int64_t times(uint64_t a, int64_t b) { return (int64_t)(a * (uint64_t)b); }

/* Instructions with their operand in the low six bits, and those about a register. False: OP is another one. */
static bool about_register(struct machine *m, struct reader *r, uint64_t op) {
  struct rules *now = &m->now;
  int64_t align = m->common->data_align;
  uint64_t high = op & 0xc0, reg = op & 0x3f;
  if (high == 0 &&
      !((op >= 0x05 && op <= 0x09) || op == 0x10 || op == 0x11 || (op >= 0x14 && op <= 0x16) || op == 0x2f))
    return false;
  if (high == 0) reg = leb128(r, false);
  if (high == 0x80 || op == 0x05) /* offset */
    set_saved(now, reg, FROM_CFA, times(leb128(r, false), align));
  else if (op == 0x11 || op == 0x2f) /* offset_extended_sf, GNU_negative_offset_extended */
    set_saved(now, reg, FROM_CFA, times(op == 0x11 ? leb128(r, true) : -leb128(r, false), align));
  else if (high == 0xc0 || op == 0x06) /* restore */
    restore(now, reg, &m->initial);
  else if (op == 0x08) /* same_value */
    set_saved(now, reg, SAME, 0);
  else if (op == 0x10) /* expression */
    saved_expression(now, reg, expression(r));
  else { /* undefined, register, val_offset, val_offset_sf, val_expression */
    if (op == 0x16)
      (void)expression(r);
    else if (op != 0x07)
      (void)leb128(r, false);
    set_saved(now, reg, LOST, 0);
  }
  return true;
}

/* What changes the CFA or all. False: OP is not known. */
static bool about_frame(struct machine *m, struct reader *r, uint64_t op) {
  struct rules *now = &m->now;
  uint64_t reg = op == 0x0c || op == 0x0d || op == 0x12 ? leb128(r, false) : now->reg;
  switch (op) {
  case 0x0c: /* def_cfa, def_cfa_offset */
  case 0x0e:
    set_cfa(now, reg, (int64_t)leb128(r, false));
    return true;
  case 0x12: /* the same with a factor */
  case 0x13:
    set_cfa(now, reg, times(leb128(r, true), m->common->data_align));
    return true;
  case 0x0d: /* def_cfa_register */
    set_cfa(now, reg, now->offset);
    return true;
  case 0x0f: /* def_cfa_expression */
    cfa_expression(now, expression(r));
    return true;
  case 0x0a: /* remember_state, restore_state */
    if (m->n_remembered < REMEMBER_MAX) m->remembered[m->n_remembered] = *now;
    return m->n_remembered++ < REMEMBER_MAX;
  case 0x0b:
    if (m->n_remembered == 0) return false;
    *now = m->remembered[--m->n_remembered];
    return true;
  case 0x2e: /* GNU_args_size */
    (void)leb128(r, false);
    return true;
  default:
    return op == 0x00; /* nop */
  }
}

/* Carries out R from address AT on, as long as that is not behind PC. False if it cannot be read. */
static bool run(struct machine *m, struct reader r, uint64_t at, uint64_t pc) {
  for (unsigned n = 0; r.at < r.end; n++) {
    uint64_t op = number(&r, 1), delta = 0;
    if (n == OPCODES_MAX) return false;
    bool advance = (op & 0xc0) == 0x40 || (op >= 0x02 && op <= 0x04);
    if (advance) {
      delta = (op & 0xc0) == 0x40 ? op & 0x3f : number(&r, op == 0x04 ? 4 : op == 0x03 ? 2 : 1);
      at += delta * m->common->code_align;
    } else if (op == 0x01) {
      at = pointer(&r, m->common->encoding);
    } else if (!about_register(m, &r, op) && !about_frame(m, &r, op)) {
      return false;
    }
    if (r.failed) return false;
    if (at > pc) return true;
  }
  return true;
}

static bool is_signal(const struct rules *r) {
  const struct saved *rip = &r->saved[SAVED_RIP], *rbp = &r->saved[SAVED_RBP];
  return r->cfa == WIRE_CFA_AT_RSP && r->offset == 160 && r->add == 0 && rip->where == FROM_RSP && rip->at == 168 &&
         rbp->where == FROM_RSP && rbp->at == 120;
}

static struct wire_row to_row(const struct rules *r) {
  struct wire_row row = {.cfa = r->cfa, .add = r->add, .offset = (int32_t)r->offset}, end = {.cfa = WIRE_CFA_END};
  const struct saved *rip = &r->saved[SAVED_RIP], *old = &r->saved[SAVED_RBP];
  bool aligned = r->cfa == WIRE_CFA_AT_RBP;
  bool rbp = old->where == SAME       ? !aligned
             : old->where == FROM_CFA ? old->at != 0 && old->at >= INT16_MIN && old->at <= INT16_MAX
                                      : aligned && old->where == FROM_RBP && old->at == 0;
  if (is_signal(r)) return (struct wire_row){.cfa = WIRE_CFA_SIGNAL};
  bool returns = rip->where == FROM_CFA && rip->at == -8;
  if (r->cfa == WIRE_CFA_END || !returns || !rbp || row.offset != r->offset) return end;
  row.rbp = old->where == FROM_CFA ? (int16_t)old->at : 0;
  return row;
}

/* What the tables say of PC: READ, NOTHING, or that they say what cannot be read. */
enum found { READ, NOTHING, UNREADABLE };
static enum found rules_at(const struct rt_frames *f, uint64_t pc, struct rules *ret) {
  if (f->header < f->start || f->header >= f->end) return NOTHING;
  struct reader r = entry_at(f, search(f, pc));
  struct common c;
  uint64_t here = r.at, back = number(&r, 4);
  if (r.failed || back == 0 || !read_common(f, here - back, &c)) return NOTHING;
  uint64_t start = pointer(&r, c.encoding), size = number(&r, c.encoding == PE_PCREL4 ? 4 : 8);
  if (c.sized) skip(&r, leb128(&r, false));
  if (r.failed || pc - start >= size) return NOTHING;
  struct machine m; /* what is remembered need not be cleared, and is large */
  m.common = &c;
  m.n_remembered = 0;
  m.now = (struct rules){.cfa = WIRE_CFA_END, .reg = UINT64_MAX};
  m.now.saved[SAVED_RIP].where = LOST;
  m.initial = m.now;
  if (!run(&m, c.program, 0, UINT64_MAX)) return UNREADABLE;
  m.initial = m.now;
  if (!run(&m, r, start, pc)) return UNREADABLE;
  *ret = m.now;
  return READ;
}

struct wire_row rt_frames_row(const struct rt_frames *f, uint64_t pc) {
  struct rules rules;
  enum found found = rules_at(f, pc, &rules);
  return found == READ ? to_row(&rules) : (struct wire_row){.cfa = found == NOTHING ? WIRE_CFA_NONE : WIRE_CFA_END};
}

bool rt_frames_kept(const struct rt_frames *f, uint64_t pc, struct rt_saved ret[RT_KEPT]) {
  struct rules rules;
  if (rules_at(f, pc, &rules) != READ) return false;
  for (unsigned i = 0; i < RT_KEPT; i++) {
    const struct saved *s = &rules.saved[SAVED_KEPT + i];
    ret[i].how = s->where == SAME       ? RT_SAVED_NOT
                 : s->where == FROM_CFA ? RT_SAVED_AT
                 : s->where == FROM_RSP ? RT_SAVED_RSP
                                        : RT_SAVED_LOST;
    ret[i].offset = s->at;
  }
  return true;
}
