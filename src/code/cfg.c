/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control-flow graph of a function, by recursive descent from its entry.
 *
 * The stack pointer is followed on the way: it names stack slots for the analyses, and it tells a jump to another part
 * of the function (stack in use) from a tail call (stack as at entry) where no symbol does.
 */
#include "code/cfg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RANGE_MAX (1u << 22) /* bytes of a function that get a direct index */
#define GUESS_MAX (1u << 12) /* the same where only the next function, or nothing, says where it ends */
#define BYTES_USUAL 4        /* of an instruction; only to have room for them */
#define ALIGNED_FRAME 0x1000000
#define STACK_MAX (1 << 29) /* no stack is larger, and sums of two such distances do not overflow */

struct work {
  uint64_t address;
  int32_t sp, fp;
};

static inline bool is_indexed(const struct builder *b, uint64_t address) {
  return address - b->low < b->indexed - b->low;
}

/* The number of the instruction at ADDRESS, from 1; 0 if there is none yet. */
static inline uint32_t known(const struct builder *b, uint64_t address) {
  uint64_t v = is_indexed(b, address) ? b->index[address - b->low] : INDEX_ELSEWHERE;
  if (v != INDEX_ELSEWHERE) return (uint32_t)v;
  return map_get(&b->outside, address, &v) ? (uint32_t)v : 0;
}

static inline int remember(struct builder *b, uint64_t address, uint32_t insn) {
  bool small = insn + 1 < INDEX_ELSEWHERE, indexed = is_indexed(b, address);
  if (indexed) b->index[address - b->low] = small ? (uint16_t)(insn + 1) : INDEX_ELSEWHERE;
  return indexed && small ? 0 : map_put(&b->outside, address, insn + 1);
}

struct code_target code_follow_plt(const struct image *img, uint64_t address) {
  struct code_target t = {.address = address};
  const uint8_t *p = image_bytes(img, address, 16);
  if (!p) return t;
  size_t at = memcmp(p, "\xf3\x0f\x1e\xfa", 4) == 0 ? 4 : 0;
  if (p[at] == 0xf2) at++;
  if (p[at] != 0xff || p[at + 1] != 0x25) return t;
  /* A stub has no symbol; "return rmdir(path)" compiled with -fno-plt looks the same and has one. */
  const struct image_function *f = image_function_at(img, address);
  if (f && f->name) return t;
  int32_t disp;
  memcpy(&disp, p + at + 2, 4);
  t.slot = true;
  t.address = address + at + 6 + (uint64_t)(int64_t)disp;
  return t;
}

/* Does a jump to TARGET stay in this function? */
static bool stays_inside(const struct builder *b, uint64_t target, int32_t sp) {
  if (target >= b->low && target < b->high) return true;
  if (!image_is_code(b->image, target)) return false;
  const struct image_function *f = image_function_at(b->image, target);
  if (!f) return !code_follow_plt(b->image, target).slot;
  if (f->name) return strstr(f->name, ".cold") != NULL;
  return sp != 0 && sp != SP_UNKNOWN;
}

/* A distance on the stack and another; not known if either is not, or if it is more than stacks are. */
static int32_t moved(int32_t at, int64_t by) {
  if (at == SP_UNKNOWN || by > STACK_MAX || by < -STACK_MAX) return SP_UNKNOWN;
  int64_t to = at + by;
  return to > STACK_MAX || to < -STACK_MAX ? SP_UNKNOWN : (int32_t)to;
}

/* How the instruction moves the stack and the frame pointer. */
static void step_stack(const struct insn *in, int32_t *sp, int32_t *fp) {
  int32_t s = *sp, f = *fp;
  if (!(in->defs & (REG_BIT(RSP) | REG_BIT(RBP)))) return;
  bool rsp = in->dst_kind == OPERAND_REG && in->dst == RSP, rbp = in->dst_kind == OPERAND_REG && in->dst == RBP;
  int32_t from = in->src_kind != OPERAND_REG ? SP_UNKNOWN : in->src == RSP ? s : in->src == RBP ? f : SP_UNKNOWN;
  if (in->op == OP_LEA) {
    from = in->index != NO_REG ? SP_UNKNOWN : in->base == RSP ? s : in->base == RBP ? f : SP_UNKNOWN;
    from = moved(from, in->disp);
  }
  switch (in->op) {
  case OP_PUSH:
    *sp = moved(s, -in->size);
    return;
  case OP_POP:
    *sp = rsp ? SP_UNKNOWN : moved(s, in->size);
    if (rbp) *fp = SP_UNKNOWN;
    return;
  case OP_LEAVE:
    *sp = moved(f, 8);
    *fp = SP_UNKNOWN;
    return;
  case OP_MOVE:
  case OP_LEA:
    if (in->size != 8) from = SP_UNKNOWN;
    if (rsp) *sp = from;
    if (rbp) *fp = from;
    return;
  case OP_ADD:
  case OP_SUB:
    if (rsp)
      *sp = in->src_kind == OPERAND_IMM && in->size == 8 ? moved(s, in->op == OP_ADD ? in->imm : -in->imm) : SP_UNKNOWN;
    if (rbp) *fp = SP_UNKNOWN;
    return;
  case OP_AND: /* aligned by an unknown amount: slots below are apart from those above */
    if (rsp) *sp = moved(s, -ALIGNED_FRAME);
    if (rbp) *fp = SP_UNKNOWN;
    return;
  default:
    if (in->defs & REG_BIT(RSP)) *sp = SP_UNKNOWN;
    if (in->defs & REG_BIT(RBP)) *fp = SP_UNKNOWN;
  }
}

static inline int note_escape(struct builder *b, const struct insn *in) {
  int32_t at = SP_UNKNOWN;
  if (in->op != OP_LEA && in->op != OP_MOVE) return 0;
  if (in->op == OP_LEA && in->index == NO_REG && in->dst != RSP && in->dst != RBP) {
    if (in->base == RSP) at = moved(in->sp, in->disp);
    if (in->base == RBP) at = moved(in->fp, in->disp);
  }
  if (in->op == OP_MOVE && in->src_kind == OPERAND_REG && in->src == RSP && in->dst != RBP) at = in->sp;
  return at == SP_UNKNOWN ? 0 : vec_push(&b->escaped, at);
}

static int add_work(struct builder *b, uint64_t address, int32_t sp, int32_t fp) {
  return vec_push(&b->work, (struct work){address, sp, fp});
}

static bool padding_follows(const struct builder *b, uint64_t address) {
  if (address == b->high) return true;
  const uint8_t *p = image_bytes(b->image, address, 1);
  return !p || *p == 0x90 || *p == 0xcc || *p == 0x66 || *p == 0x0f;
}

/* Where OP_CALL and OP_CALL_SLOT go. */
static struct code_target target_of(const struct builder *b, const struct insn *in) {
  if (in->op == OP_CALL) return code_follow_plt(b->image, (uint64_t)in->imm);
  return (struct code_target){.slot = true, .address = (uint64_t)in->disp};
}

/*
 * A call in the middle of straight code returns; ask only where it could be the end of a part. Compilers do not let
 * control fall into another function, so a call at the very end is one that never returns.
 */
static bool ends_run(const struct builder *b, const struct insn *in) {
  if (in->op != OP_CALL && in->op != OP_CALL_SLOT && in->op != OP_CALL_INDIRECT) return false;
  uint64_t next = in->address + in->length;
  bool inside = b->exact && next > b->low && next < b->high;
  if (next == b->high || (!inside && image_function_at(b->image, next))) return true;
  if (in->op == OP_CALL_INDIRECT || !b->options->noreturn) return false;
  struct code_target t = target_of(b, in);
  if (in->op == OP_CALL && !t.slot && !padding_follows(b, next)) return false;
  return b->options->noreturn(b->options->context, t);
}

/* Operations as a set: each instruction is asked several times, and this takes no jump. */
#define OPS_CALL (CODE_OP_BIT(OP_CALL) | CODE_OP_BIT(OP_CALL_SLOT) | CODE_OP_BIT(OP_CALL_INDIRECT))
#define OPS_END                                                                                                        \
  (CODE_OP_BIT(OP_JUMP) | CODE_OP_BIT(OP_BRANCH) | CODE_OP_BIT(OP_JUMP_TABLE) | CODE_OP_BIT(OP_JUMP_UNKNOWN) |         \
   CODE_OP_BIT(OP_TAIL) | CODE_OP_BIT(OP_TAIL_SLOT) | CODE_OP_BIT(OP_TAIL_INDIRECT) | CODE_OP_BIT(OP_RETURN) |         \
   CODE_OP_BIT(OP_STOP))
_Static_assert(OP_STOP < 64, "all operations fit a set");

static inline bool is_one_of(const struct insn *in, uint64_t ops) { return ops >> in->op & 1; }

static inline bool is_end(const struct insn *in) {
  return is_one_of(in, OPS_END) || (in->cc == CC_STOPS && is_one_of(in, OPS_CALL));
}

/* After an instruction: what has to be looked at next. 1 if the straight line ends here, 0 if not. */
static int follow(struct builder *b, uint32_t at, int32_t sp, int32_t fp) {
  struct insn *in = &b->insns.at[at];
  int r;
  if (!is_one_of(in, OPS_END | OPS_CALL)) return 0;
  switch (in->op) {
  case OP_RETURN:
  case OP_STOP:
  case OP_TAIL_SLOT:
    return 1;
  case OP_JUMP:
    if (!stays_inside(b, (uint64_t)in->imm, sp)) {
      in->op = OP_TAIL;
      return 1;
    }
    r = add_work(b, (uint64_t)in->imm, sp, fp);
    return r < 0 ? r : 1;
  case OP_BRANCH:
    if (!stays_inside(b, (uint64_t)in->imm, sp)) return vec_push(&b->tails, at);
    return add_work(b, (uint64_t)in->imm, sp, fp);
  case OP_JUMP_UNKNOWN:
    r = table_follow(b, at);
    if (r < 0) return r;
    in = &b->insns.at[at];
    if (r > 0) {
      in->op = OP_JUMP_TABLE;
      const struct table *t = &b->tables.at[b->tables.n - 1];
      for (uint32_t i = 0; i < t->n; i++) {
        r = add_work(b, b->targets.at[t->first + i], sp, fp);
        if (r < 0) return r;
      }
    } else if (sp == 0)
      in->op = OP_TAIL_INDIRECT;
    else
      b->problems |= CODE_UNKNOWN_JUMP;
    return 1;
  default:
    if (!ends_run(b, in)) return 0;
    in->cc = CC_STOPS;
    return 1;
  }
}

/* What a kernel makes of the instruction at run time. */
static int patch(struct builder *b, uint32_t at) {
  struct insn *in = &b->insns.at[at];
  const struct patch *fault = kernel_patch_insn(b->options->kernel, in);
  if (!fault || is_end(in)) return 0;
  in->flags |= INSN_FAULTS;
  if (vec_push(&b->faults, (struct fault){at, fault}) < 0) return -ENOMEM;
  return add_work(b, fault->target, in->sp, in->fp);
}

/* Decodes from one address until the straight line ends or meets known code. */
static int decode_run(struct builder *b, struct work w) {
  uint64_t address = w.address;
  bool leader = true;
  uint32_t i = known(b, address);
  if (i) {
    b->leader.at[i - 1] = 1;
    return 0;
  }
  size_t left = image_bytes_left(b->image, address);
  const uint8_t *bytes = left && image_is_code(b->image, address) ? image_bytes(b->image, address, left) : NULL;
  for (;;) {
    i = known(b, address);
    if (i) {
      b->leader.at[i - 1] = 1;
      return 0;
    }
    struct insn *in = vec_more(&b->insns);
    if (!in) return -ENOMEM;
    if (!bytes || !left || decode(&b->decoder, bytes, left, address, in) < 0) {
      b->insns.n--;
      b->problems |= CODE_BAD_INSTRUCTION;
      return 0;
    }
    in->sp = w.sp;
    in->fp = w.fp;
    uint32_t at = (uint32_t)(b->insns.n - 1);
    if (address == w.address && vec_push(&b->runs, at) < 0) return -ENOMEM;
    if (b->options->kernel && patch(b, at) < 0) return -ENOMEM;
    if (vec_push(&b->leader, leader) < 0 || remember(b, address, at) < 0 || note_escape(b, in) < 0) return -ENOMEM;
    leader = in->op == OP_BRANCH || in->flags & INSN_FAULTS;
    step_stack(in, &w.sp, &w.fp);
    address += in->length;
    bytes += in->length;
    left -= in->length;
    int r = follow(b, at, w.sp, w.fp);
    if (b->options->until >> b->insns.at[at].op & 1) b->problems |= CODE_STOPPED;
    if (r || b->problems & CODE_STOPPED) return r < 0 ? r : 0;
    if (b->options->max_insns && b->insns.n >= b->options->max_insns) {
      b->problems |= CODE_TOO_LARGE;
      return 0;
    }
  }
}

static void set_range(struct builder *b, uint64_t entry) {
  const struct image_function *f = image_function_at(b->image, entry), *all;
  size_t n = image_functions(b->image, &all);
  b->low = entry;
  b->high = f && f->end > entry ? f->end : 0;
  b->exact = b->high != 0;
  if (!b->high) { /* up to the next start */
    const struct image_function *before = image_function_before(b->image, entry);
    const struct image_function *next = before ? before + 1 : all;
    b->high = n && next < all + n ? next->address : entry + image_bytes_left(b->image, entry);
  }
  uint64_t left = image_bytes_left(b->image, entry), most = f && f->end > entry ? RANGE_MAX : GUESS_MAX;
  if (b->high - b->low > left) b->high = b->low + left;
  b->indexed = b->high - b->low > most ? b->low + most : b->high;
}

/* --- blocks and edges --------------------------------------------------------------------------------------------- */

static int by_address(const void *x, const void *y, void *context) {
  const struct insn *insns = context;
  uint64_t a = insns[*(const uint32_t *)x].address, c = insns[*(const uint32_t *)y].address;
  return (a > c) - (a < c);
}

/* The instructions run by run, each in order in itself; false if runs overlap, as bytes read in two ways do. */
static bool order_by_runs(struct builder *b, uint32_t *order, uint32_t *end_of) {
  uint32_t n = 0;
  for (size_t i = 0; i < b->runs.n; i++)
    end_of[b->runs.at[i]] = i + 1 < b->runs.n ? b->runs.at[i + 1] : (uint32_t)b->insns.n;
  if (b->runs.n) qsort_r(b->runs.at, b->runs.n, sizeof *b->runs.at, by_address, b->insns.at);
  for (size_t i = 0; i < b->runs.n; i++) {
    uint32_t first = b->runs.at[i];
    if (n && b->insns.at[order[n - 1]].address >= b->insns.at[first].address) return false;
    for (uint32_t k = first; k < end_of[first]; k++)
      order[n++] = k;
  }
  return n == b->insns.n;
}

static inline uint8_t note(const struct insn *in) {
  int32_t slot;
  bool calls = is_one_of(in, OPS_CALL | CODE_OP_BIT(OP_SYSCALL));
  bool stores = (in->flags & INSN_WRITES_MEM) | (in->op == OP_PUSH), memory = calls | stores;
  bool far = calls || (in->flags & INSN_WRITES_MEM && !insn_slot(in, &slot));
  bool operand = (in->dst_kind == OPERAND_MEM) | (in->src_kind == OPERAND_MEM) |
                 is_one_of(in, CODE_OP_BIT(OP_PUSH) | CODE_OP_BIT(OP_POP));
  bool stack = in->op == OP_LEA ? in->base == RSP || in->base == RBP
                                : in->op == OP_MOVE && in->src_kind == OPERAND_REG && in->src == RSP;
  return (uint8_t)((memory ? NOTE_MEMORY : 0) | (calls ? NOTE_CALL : 0) | (stores ? NOTE_STORE : 0) |
                   (far ? NOTE_FAR : 0) | (stack ? NOTE_STACK : 0) | (operand ? NOTE_OPERAND : 0) |
                   (in->flags & INSN_SETS_FLAGS ? NOTE_FLAGS : 0) | (in->flags & INSN_TABLE_INDEX ? NOTE_INDEX : 0));
}

/* Columns of what is asked most, so that a walk over many instructions reads little memory. */
static inline void fill_columns(const struct columns *t, uint32_t i, const struct insn *in) {
  t->defs[i] = in->defs;
  t->touched[i] = in->defs | in->uses;
  t->notes[i] = note(in);
}

static int make_columns(struct builder *b, struct arena *arena, struct code *c, uint32_t most) {
  struct columns t = {arena_alloc(arena, (most + 1) * sizeof *t.defs),
                      arena_alloc(arena, (most + 1) * sizeof *t.touched), arena_alloc(arena, most + 1)};
  if (!t.defs || !t.touched || !t.notes) return -ENOMEM;
  b->columns = t;
  c->defs = t.defs;
  c->touched = t.touched;
  c->notes = t.notes;
  return 0;
}

static bool starts_block(const struct builder *b, const struct code *c, uint32_t i) {
  if (i == 0 || b->leader.at[b->order[i]]) return true;
  const struct insn *prev = &c->insns[i - 1];
  return is_end(prev) || prev->flags & INSN_FAULTS || prev->address + prev->length != c->insns[i].address;
}

/*
 * Brings the instructions into the order of their addresses. All that needs a look at each of them is done on the way,
 * while it is in the cache: their columns, and the numbers of their blocks.
 */
static int sort_insns(struct builder *b, struct arena *arena, struct code *c) {
  uint32_t n = (uint32_t)b->insns.n, most = n + (uint32_t)(b->tails.n + b->faults.n);
  uint32_t *order = arena_alloc(arena, (n + 1) * sizeof *order);
  c->insns = arena_alloc(arena, (most + 1) * sizeof *c->insns);
  b->place = arena_alloc(arena, (n + 1) * sizeof *b->place);
  b->block_of = arena_alloc(arena, (most + 1) * sizeof *b->block_of);
  if (!order || !c->insns || !b->place || !b->block_of || make_columns(b, arena, c, most) < 0) return -ENOMEM;
  if (!order_by_runs(b, order, b->place)) {
    for (uint32_t i = 0; i < n; i++)
      order[i] = i;
    qsort_r(order, n, sizeof *order, by_address, b->insns.at);
  }
  b->order = order;
  b->n_blocks = 0;
  for (uint32_t i = 0; i < n; i++) {
    c->insns[i] = b->insns.at[order[i]];
    b->place[order[i]] = i;
    fill_columns(&b->columns, i, &c->insns[i]);
    b->n_blocks += starts_block(b, c, i);
    b->block_of[i] = b->n_blocks - 1;
  }
  c->n_insns = c->n_in_order = n;
  return 0;
}

/* The block whose first instruction is FIRST; returns the first behind it. */
static uint32_t fill_block(const struct builder *b, const struct code *c, uint32_t first, struct block *k) {
  uint16_t defs = 0;
  uint8_t notes = 0;
  uint32_t i = first, number = b->block_of[first];
  for (; i < c->n_insns && b->block_of[i] == number; i++) {
    defs |= c->defs[i];
    notes |= c->notes[i];
  }
  *k = (struct block){.first = first, .n = i - first, .defs = defs};
  k->calls = notes & NOTE_CALL;
  k->stores = notes & NOTE_STORE;
  k->flags = notes & NOTE_FLAGS;
  return i;
}

static struct block fault_block(struct code *c, const struct insn *at, const struct patch *to) {
  struct insn *in = &c->insns[c->n_insns];
  *in = (struct insn){.address = at->address, .length = at->length, .op = OP_NOP, .sp = at->sp, .fp = at->fp};
  in->dst = in->src = in->base = in->index = NO_REG;
  if (to->kind == PATCH_FAULT_SET) {
    in->op = OP_MOVE;
    in->size = in->from_size = 8;
    in->dst_kind = OPERAND_REG;
    in->dst = to->reg;
    in->src_kind = OPERAND_IMM;
    in->imm = to->imm;
    in->defs = REG_BIT(to->reg);
  }
  return (struct block){.first = c->n_insns++, .n = 1, .defs = in->defs};
}

/* A conditional tail call, as an instruction that comes behind the BRANCH. */
static struct insn tail_behind(const struct builder *b, const struct insn *branch) {
  struct insn in = *branch;
  in.op = OP_TAIL;
  in.flags = 0;
  if (b->options->kernel) kernel_patch_tail(b->options->kernel, &in);
  return in;
}

/* The instructions alone. */
static int keep_insns(const struct builder *b, struct arena *arena, struct code *c) {
  c->problems = b->problems;
  if (b->problems) return 0;
  uint32_t n = (uint32_t)b->insns.n;
  c->insns = arena_alloc(arena, (n + b->tails.n + 1) * sizeof *c->insns);
  if (!c->insns) return -ENOMEM;
  if (n) memcpy(c->insns, b->insns.at, n * sizeof *c->insns);
  for (size_t t = 0; t < b->tails.n; t++) {
    c->insns[n] = tail_behind(b, &b->insns.at[b->tails.at[t]]);
    if (b->options->until >> c->insns[n++].op & 1) c->problems |= CODE_STOPPED; /* a return, by a jump to a thunk */
  }
  c->n_insns = n;
  return 0;
}

static int make_blocks(struct builder *b, struct arena *arena, struct code *c) {
  uint32_t n = 0, tails = (uint32_t)b->tails.n, faults = (uint32_t)b->faults.n;
  c->block_of = b->block_of;
  c->blocks = arena_alloc(arena, (b->n_blocks + tails + faults + 1) * sizeof *c->blocks);
  if (!c->blocks) return -ENOMEM;
  for (uint32_t i = 0; i < c->n_insns;)
    i = fill_block(b, c, i, &c->blocks[n++]);
  for (uint32_t t = 0; t < tails; t++) { /* a conditional tail call gets a block of its own */
    c->insns[c->n_insns] = tail_behind(b, &c->insns[b->place[b->tails.at[t]]]);
    b->block_of[c->n_insns] = n;
    c->blocks[n++] = (struct block){.first = c->n_insns++, .n = 1};
  }
  for (uint32_t f = 0; f < faults; f++) { /* so does a fault, which may set a register */
    b->block_of[c->n_insns] = n;
    c->blocks[n++] = fault_block(c, &c->insns[b->place[b->faults.at[f].insn]], b->faults.at[f].to);
  }
  for (uint32_t i = c->n_in_order; i < c->n_insns; i++)
    fill_columns(&b->columns, i, &c->insns[i]);
  c->n_blocks = n;
  return 0;
}

static uint32_t block_at(const struct builder *b, uint64_t address) {
  uint32_t i = known(b, address);
  return i ? b->block_of[b->place[i - 1]] : UINT32_MAX;
}

static int add_edge(struct builder *b, uint32_t from, uint32_t to, unsigned kind, unsigned value) {
  if (to == UINT32_MAX) return 0;
  return vec_push(&b->ways, (struct way){.to = to, .edge = {from, (uint16_t)kind, (uint16_t)value}});
}

#define CASES_MAX 8 /* table entries with one target that are still told apart */

/* One edge for each entry; where many lead to one target, only one edge, which does not say the index. */
static int add_table_edges(struct builder *b, uint32_t from, const struct table *t) {
  int r = 0;
  map_clear(&b->cases);
  for (uint32_t i = 0; i < t->n && r >= 0; i++) {
    uint64_t target = b->targets.at[t->first + i], same = 0;
    (void)map_get(&b->cases, target, &same);
    r = map_put(&b->cases, target, same + 1);
  }
  for (uint32_t i = 0; i < t->n && r >= 0; i++) {
    uint64_t target = b->targets.at[t->first + i], same = 0;
    if (!map_get(&b->cases, target, &same) || same == 0) continue;
    r = add_edge(b, from, block_at(b, target), same > CASES_MAX ? EDGE_PLAIN : EDGE_CASE, i);
    if (r >= 0 && same > CASES_MAX) r = map_put(&b->cases, target, 0);
  }
  return r;
}

/* Tables and tails are in order of decoding, as the instructions they belong to. */
static int by_jump(const void *key, const void *element) {
  uint32_t insn = *(const uint32_t *)key, jump = ((const struct table *)element)->jump;
  return (insn > jump) - (insn < jump);
}

static int by_number(const void *key, const void *element) {
  uint32_t insn = *(const uint32_t *)key, other = *(const uint32_t *)element;
  return (insn > other) - (insn < other);
}

static const struct table *table_of(const struct builder *b, uint32_t insn) {
  uint32_t decoded = b->order[insn];
  return b->tables.n ? bsearch(&decoded, b->tables.at, b->tables.n, sizeof *b->tables.at, by_jump) : NULL;
}

/* The number of the conditional tail call INSN, or -1 if it is none. */
static int64_t tail_of(const struct builder *b, uint32_t insn) {
  uint32_t decoded = b->order[insn];
  const uint32_t *t = b->tails.n ? bsearch(&decoded, b->tails.at, b->tails.n, sizeof *b->tails.at, by_number) : NULL;
  return t ? t - b->tails.at : -1;
}

/* A call before the start of another block may be one that never returns, and the next block not its continuation. */
static bool falls_through(const struct builder *b, const struct code *c, uint32_t k) {
  const struct insn *last = &c->insns[c->blocks[k].first + c->blocks[k].n - 1];
  if ((last->op != OP_CALL && last->op != OP_CALL_SLOT) || !b->options->noreturn) return true;
  return !b->options->noreturn(b->options->context, target_of(b, last));
}

/* TAIL: the first of the blocks of conditional tail calls. */
static int edges_of(struct builder *b, const struct code *c, uint32_t k, uint32_t tail) {
  const struct insn *last = &c->insns[c->blocks[k].first + c->blocks[k].n - 1];
  uint64_t next = last->address + last->length;
  const struct table *t;
  int r;
  switch (last->op) {
  case OP_JUMP:
    return add_edge(b, k, block_at(b, (uint64_t)last->imm), EDGE_PLAIN, 0);
  case OP_BRANCH: {
    uint32_t to = block_at(b, (uint64_t)last->imm);
    int64_t number = tail_of(b, c->blocks[k].first + c->blocks[k].n - 1);
    if (number >= 0) to = tail + (uint32_t)number;
    r = add_edge(b, k, to, EDGE_TAKEN, 0);
    return r < 0 ? r : add_edge(b, k, block_at(b, next), EDGE_FALL, 0);
  }
  case OP_JUMP_TABLE:
    t = table_of(b, c->blocks[k].first + c->blocks[k].n - 1);
    return t ? add_table_edges(b, k, t) : 0;
  default:
    if (is_end(last) || !falls_through(b, c, k)) return 0;
    return add_edge(b, k, block_at(b, next), EDGE_PLAIN, 0);
  }
}

/* To the block of the fault, and from there to where it goes on. FIRST: the first of these blocks. */
static int add_fault_edges(struct builder *b, uint32_t first) {
  int r = 0;
  for (uint32_t f = 0; f < b->faults.n && r >= 0; f++) {
    r = add_edge(b, b->block_of[b->place[b->faults.at[f].insn]], first + f, EDGE_PLAIN, 0);
    if (r >= 0) r = add_edge(b, first + f, block_at(b, b->faults.at[f].to->target), EDGE_PLAIN, 0);
  }
  return r;
}

/* Drops what cannot be reached (behind calls that never return) and sorts the ways by their target. */
static int make_edges(struct builder *b, struct arena *arena, struct code *c) {
  uint32_t fault = c->n_blocks - (uint32_t)b->faults.n, tail = fault - (uint32_t)b->tails.n;
  int r = add_fault_edges(b, fault);
  for (uint32_t k = 0; k < tail && r >= 0; k++)
    r = edges_of(b, c, k, tail);
  if (r < 0) return r;
  uint32_t n = (uint32_t)b->ways.n;
  struct edge *edges = arena_alloc(arena, (n + 1) * sizeof *edges);
  if (!edges) return -ENOMEM;
  for (uint32_t i = 0; i < n; i++)
    c->blocks[b->ways.at[i].to].n_preds++;
  uint32_t at = 0;
  for (uint32_t k = 0; k < c->n_blocks; k++) {
    c->blocks[k].preds = at;
    at += c->blocks[k].n_preds;
    c->blocks[k].n_preds = 0;
  }
  for (uint32_t i = 0; i < n; i++) {
    struct block *k = &c->blocks[b->ways.at[i].to];
    edges[k->preds + k->n_preds++] = b->ways.at[i].edge;
  }
  c->edges = edges;
  c->n_edges = n;
  return 0;
}

static int by_offset(const void *x, const void *y) {
  int32_t a = *(const int32_t *)x, c = *(const int32_t *)y;
  return (a > c) - (a < c);
}

static int keep_escaped(struct builder *b, struct arena *arena, struct code *c) {
  uint32_t n = 0;
  int32_t *at = arena_memdup(arena, b->escaped.at, b->escaped.n * sizeof *at);
  if (!at) return -ENOMEM;
  if (b->escaped.n) qsort(at, b->escaped.n, sizeof *at, by_offset);
  for (size_t i = 0; i < b->escaped.n; i++)
    if (n == 0 || at[n - 1] != at[i]) at[n++] = at[i];
  c->escaped = at;
  c->n_escaped = n;
  return 0;
}

static int decode_all(struct builder *b) {
  int r = 0;
  unsigned ends = b->options->until ? ~0u : CODE_TOO_LARGE;
  while (r >= 0 && b->work.n && !(b->problems & ends))
    r = decode_run(b, b->work.at[--b->work.n]);
  return r;
}

/* The stack as most of the function has it: as it is at the first call. */
static struct work usual_stack(const struct builder *b) {
  for (size_t i = 0; i < b->insns.n; i++)
    if (insn_calls(&b->insns.at[i])) return (struct work){0, b->insns.at[i].sp, b->insns.at[i].fp};
  return (struct work){0, SP_UNKNOWN, SP_UNKNOWN};
}

/* Bytes of the range that were not decoded, but for padding, are code that the unwinder jumps to. */
static int decode_unreached(struct builder *b) {
  struct work usual = usual_stack(b);
  unsigned problems = b->problems;
  int r = 0;
  for (uint64_t at = b->low; at < b->indexed && r >= 0 && !(b->problems & CODE_TOO_LARGE);) {
    uint32_t i = known(b, at);
    struct insn in;
    if (i) {
      at += b->insns.at[i - 1].length;
      continue;
    }
    size_t left = image_bytes_left(b->image, at);
    const uint8_t *bytes = left ? image_bytes(b->image, at, left) : NULL;
    if (!bytes || decode(&b->decoder, bytes, left, at, &in) < 0) break;
    if (in.op == OP_NOP || in.op == OP_STOP) {
      at += in.length;
      continue;
    }
    r = add_work(b, at, usual.sp, usual.fp);
    if (r >= 0) r = decode_all(b);
    if (!known(b, at)) break;
  }
  b->problems = problems | (b->problems & CODE_TOO_LARGE); /* what is not reached may be anything */
  return r;
}

static int build(struct builder *b, struct arena *arena, struct code *c) {
  int r = add_work(b, c->entry, 0, SP_UNKNOWN);
  if (r >= 0) r = decode_all(b);
  if (r >= 0 && b->options->unreached && b->exact) r = decode_unreached(b);
  if (r < 0) return r;
  if (b->options->until) return keep_insns(b, arena, c);
  r = sort_insns(b, arena, c);
  if (r >= 0) r = make_blocks(b, arena, c);
  if (r >= 0) r = make_edges(b, arena, c);
  if (r >= 0) r = keep_escaped(b, arena, c);
  if (r < 0) return r;
  c->problems = b->problems;
  c->entry_block = c->n_insns ? block_at(b, c->entry) : UINT32_MAX;
  return c->entry_block == UINT32_MAX ? -EFAULT : 0;
}

int code_build(const struct image *img, uint64_t entry, const struct code_options *options, struct arena *arena,
               struct code *ret) {
  static const struct code_options none;
  struct builder b = {.image = img, .options = options ? options : &none};
  struct code c = {.image = img, .entry = entry};
  int r = decoder_init(&b.decoder);
  if (r < 0) return r;
  if (!image_is_code(img, entry)) return -EFAULT;
  set_range(&b, entry);
  uint64_t reach = b.low + b.options->max_insns * 15ull; /* no instruction is longer */
  if (b.options->max_insns && b.indexed > reach) b.indexed = reach;
  b.index = arena_zalloc(arena, (b.indexed - b.low + 1) * sizeof *b.index);
  size_t expected = (b.indexed - b.low) / BYTES_USUAL + 8;
  if (b.options->max_insns && expected > b.options->max_insns) expected = b.options->max_insns;
  if (vec_reserve(&b.insns, expected) < 0 || vec_reserve(&b.leader, expected) < 0 || !b.index ||
      vec_reserve(&b.ways, expected / 3 + 8) < 0 || vec_reserve(&b.runs, expected / 8 + 8) < 0 ||
      vec_reserve(&b.work, 32) < 0)
    r = -ENOMEM;
  else
    r = build(&b, arena, &c);
  vec_done(&b.insns);
  vec_done(&b.leader);
  vec_done(&b.runs);
  vec_done(&b.work);
  vec_done(&b.tails);
  vec_done(&b.faults);
  vec_done(&b.tables);
  vec_done(&b.targets);
  vec_done(&b.ways);
  vec_done(&b.escaped);
  map_done(&b.outside);
  map_done(&b.cases);
  if (r >= 0) *ret = c;
  return r;
}

bool code_find(const struct code *c, uint64_t address, uint32_t *ret) {
  uint32_t low = 0, high = c->n_in_order;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (c->insns[middle].address < address)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == c->n_in_order || c->insns[low].address != address) return false;
  *ret = low;
  return true;
}
