/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do two runs behind a call differ? Those that end in the same state at the same place make no difference between their
 * values.
 */
#include "follow/carry.h"

#include <string.h>

/* What a place holds at the end of a run. */
struct content {
  uint64_t value, done;
  bool known, derived;
};

/*
 * Compilers write a value that was compared for equality as a constant. Behind another comparison, "n < 0", they cannot
 * know it: there a constant is the programmer's own word for failure.
 */
static bool is_value(const struct run *r, const struct content *c) {
  return c->derived || (r->pinned && c->known && (c->value == r->value || c->value == carry_narrow(r->value, 4)));
}

/* The other way round: behind "n == 0", they leave N where a 0 is wanted. Is it the constant that Y is? */
static bool stands_for(const struct run *r, const struct content *x, const struct content *y) {
  bool constant = y->known && !y->derived;
  return r->pinned && constant && x->derived && x->known && carry_narrow(x->value, 4) == carry_narrow(y->value, 4);
}

static bool same_content(const struct run *a, struct content x, const struct run *b, struct content y) {
  if (stands_for(a, &x, &y) || stands_for(b, &y, &x)) return true;
  bool sum = (x.derived && !x.known) || (y.derived && !y.known); /* with the value, which is not that itself */
  if (sum && (x.derived != y.derived || x.known != y.known)) return false;
  if (x.derived || y.derived) return is_value(a, &x) && is_value(b, &y);
  return x.known == y.known && (x.known ? x.value == y.value : x.done == y.done);
}

/* A register, or a slot of the stack. */
struct watched {
  unsigned reg;
  int32_t slot;
  uint8_t size; /* of the slot, or 0 */
  bool aside;   /* what is put there next, however small, is another thing */
};

static bool overlaps(const struct watched *w, int32_t at, unsigned size) {
  return at < w->slot + w->size && w->slot < at + (int32_t)(size ? size : 8);
}

static bool reads(const struct insn *in, const struct watched *w) {
  int32_t at;
  if (!w->size) return in->uses & REG_BIT(w->reg) && !insn_zeroes(in);
  if (in->op == OP_POP) return in->sp == SP_UNKNOWN || overlaps(w, in->sp, 8);
  bool memory = in->src_kind == OPERAND_MEM || (in->dst_kind == OPERAND_MEM && in->op != OP_MOVE);
  if (!memory || in->op == OP_LEA) return false;
  if (insn_slot(in, &at)) return overlaps(w, at, in->from_size > in->size ? in->from_size : in->size);
  /* An element of an array, which begins there. */
  if (in->base == RSP) return in->sp == SP_UNKNOWN || in->sp + in->disp < w->slot + w->size;
  return in->base == RBP && in->fp != SP_UNKNOWN && in->fp + in->disp < w->slot + w->size;
}

static bool writes(const struct insn *in, const struct watched *w) {
  int32_t at;
  if (!w->size) return in->defs & REG_BIT(w->reg);
  bool whole = in->size >= w->size || w->aside;
  return in->op == OP_MOVE && in->dst_kind == OPERAND_MEM && whole && insn_slot(in, &at) && at == w->slot;
}

#define LIVE_BLOCKS 65536 /* of a function that is looked through */
#define LIVE_TODO 256

/* Is it read behind the instruction INSN before it is written? */
static bool is_live(const struct follow_graph *g, uint32_t insn, const struct watched *w) {
  uint64_t seen[LIVE_BLOCKS / 64];
  uint32_t todo[LIVE_TODO], n_todo = 0;
  uint32_t block = follow_graph_block(g, insn), position = insn - g->code.blocks[block].first;
  if (g->code.n_blocks > LIVE_BLOCKS) return true;
  memset(seen, 0, (g->code.n_blocks + 63) / 64 * sizeof *seen);
  for (;;) {
    const struct block *b = &g->code.blocks[block];
    bool dead = false;
    for (; position < b->n && !dead; position++) {
      const struct insn *in = &g->code.insns[b->first + position];
      if (reads(in, w)) return true;
      dead = writes(in, w);
    }
    const uint32_t *next;
    uint32_t n = dead ? 0 : follow_graph_next(g, block, &next, NULL);
    for (uint32_t i = 0; i < n; i++) {
      if (seen[next[i] / 64] >> next[i] % 64 & 1) continue;
      if (n_todo == LIVE_TODO) return true;
      seen[next[i] / 64] |= 1ull << next[i] % 64;
      todo[n_todo++] = next[i];
    }
    if (!n_todo) return false;
    block = todo[--n_todo];
    position = 0;
  }
}

/*
 * Unoptimised code leaves copies on the stack that nobody reads again, as of what a switch is about. ASIDE: the value
 * was only put aside there, on this way alone, while errno was asked for: it is no member of a structure beside it.
 */
static bool is_slot_live(const struct follow_graph *g, uint32_t insn, const struct run_slot *s, bool aside) {
  if (!s->size) return true;
  for (uint32_t i = 0; i < g->code.n_escaped && !aside; i++)
    if (g->code.escaped[i] < s->at + s->size && s->at - g->code.escaped[i] < STRUCTURE_MAX) return true;
  return is_live(g, insn, &(struct watched){.slot = s->at, .size = s->size, .aside = aside});
}

/* END: where both are. RETURNING: only what is not on the stack is left. */
static bool same_slots(struct run *a, struct run *b, uint32_t end, bool returning) {
  for (unsigned i = 0; i < a->n_slots; i++) {
    const struct run_slot *x = &a->slots[i], *y = carry_slot_at(b, x->at);
    if (returning && !x->outside) continue;
    struct content there = {.done = hash_mix((uint32_t)x->at) | 1};
    if (y) there = (struct content){y->value, y->done, y->known, y->derived};
    if (same_content(a, (struct content){x->value, x->done, x->known, x->derived}, b, there)) continue;
    if (is_slot_live(a->g, end, x, !y && x->derived && x->loaded)) return false;
  }
  return true;
}

static bool same_stores(const struct run *a, const struct run *b) {
  for (unsigned i = 0; i < a->n_stores; i++) {
    bool found = false;
    for (unsigned k = 0; k < b->n_stores; k++)
      found |= a->stores[i] == b->stores[k];
    if (!found) return false;
  }
  return true;
}

static struct content of_register(const struct run *r, unsigned i) {
  return (struct content){r->regs[i], r->done[i], r->known >> i & 1, r->derived >> i & 1};
}

/* Was the result kept over calls and brought back for the return? Scratch registers may hold anything. */
static bool result_is_meant(const struct run *r) {
  const struct insn *in = &r->g->code.insns[r->result_by];
  bool moved = in->op == OP_MOVE && in->dst_kind == OPERAND_REG && in->dst == RAX && in->src_kind == OPERAND_REG;
  return r->result_by && moved && CALL_KEEPS >> in->src & 1;
}

/* At a return, only the result is left; otherwise those registers that calls keep. */
static bool same_registers(const struct run *a, const struct run *b, uint32_t end, bool returning) {
  for (unsigned i = 0; i < REGISTERS; i++) {
    if (returning ? i != RAX : !(CALL_KEEPS >> i & 1)) continue;
    struct content x = of_register(a, i), y = of_register(b, i);
    bool left = !(result_is_meant(a) && result_is_meant(b));
    if (a->addressed & b->addressed & REG_BIT(i) && a->addresses[i] == b->addresses[i]) continue;
    if (returning && left && ((!x.known && y.derived) || (!y.known && x.derived)))
      continue; /* a left-over: nothing is returned */
    if (returning && !x.known && !y.known && a->result_by != b->result_by) return false;
    if (!same_content(a, x, b, y) && (returning || is_live(a->g, end, &(struct watched){.reg = i}))) return false;
  }
  return true;
}

/* Of a call that both runs come to, what they set for it: "if (failed && errno == EAGAIN) n = 0; write(fd, p, n)". */
static bool same_arguments(const struct run *a, const struct run *b) {
  for (unsigned i = 0; i < FLOW_ARGS; i++) {
    uint8_t reg = code_argument_registers[i];
    bool error = a->of_errno & b->of_errno & REG_BIT(reg); /* for a message */
    if (!(a->written & b->written & REG_BIT(reg)) || error) continue;
    if (!same_content(a, of_register(a, reg), b, of_register(b, reg))) return false;
  }
  return true;
}

/* Do both runs end in calls of one function with the same arguments, which return for this one? */
static bool same_tails(const struct run *a, uint32_t x, const struct run *b, uint32_t y) {
  const struct insn *one = &a->g->code.insns[x], *other = &b->g->code.insns[y];
  if (one->op != OP_TAIL || other->op != OP_TAIL || one->imm != other->imm) return false;
  for (unsigned i = 0; i < FLOW_ARGS; i++) {
    uint8_t reg = code_argument_registers[i];
    if (!same_content(a, of_register(a, reg), b, of_register(b, reg))) return false;
  }
  return true;
}

/* The block that a way goes on to by the edge, past blocks that only jump. */
static uint32_t reached_block(const struct follow_graph *g, uint32_t block, uint8_t kind) {
  uint32_t next = carry_next_block(g, block, kind);
  for (unsigned i = 0; i < 4 && next != UINT32_MAX; i++) {
    const struct block *b = &g->code.blocks[next];
    if (b->n != 1 || g->code.insns[b->first].op != OP_JUMP) break;
    next = carry_next_block(g, next, EDGE_PLAIN);
  }
  return next;
}

/*
 * Do both end in jumps that nobody can decide, but that ask the same and lead to the same two blocks? A compiler writes
 * the end of a loop once more behind the error.
 */
static bool same_choice(const struct run *a, uint32_t x, const struct run *b, uint32_t y) {
  const struct follow_graph *g = a->g;
  if (g->code.insns[x].op != OP_BRANCH || g->code.insns[y].op != OP_BRANCH) return false;
  if (!a->asked || a->asked != b->asked) return false;
  if (a->flags_of_value || b->flags_of_value || a->flags_of_errno || b->flags_of_errno) return false;
  uint32_t one = follow_graph_block(g, x), other = follow_graph_block(g, y);
  uint32_t taken = reached_block(g, one, EDGE_TAKEN), fall = reached_block(g, one, EDGE_FALL);
  uint32_t other_taken = reached_block(g, other, EDGE_TAKEN), other_fall = reached_block(g, other, EDGE_FALL);
  if (taken == UINT32_MAX || fall == UINT32_MAX) return false;
  uint8_t cc = g->code.insns[x].cc, other_cc = g->code.insns[y].cc;
  if (cc == other_cc) return taken == other_taken && fall == other_fall;
  return cc == (other_cc ^ 1) && taken == other_fall && fall == other_taken;
}

/* Do both come to one jump, of which it is known that it asks something else of each? */
static bool asks_other(const struct run *a, const struct run *b, uint32_t x) {
  if (a->g->code.insns[x].op != OP_BRANCH || !a->asked || !b->asked) return false;
  if (a->flags_of_value || b->flags_of_value || a->flags_of_errno || b->flags_of_errno) return false;
  return a->asked != b->asked;
}

/* Are two runs that ended at X and Y at the same place, in the same state? */
static bool same_ends(struct run *a, uint32_t x, struct run *b, uint32_t y, bool nothing) {
  const struct code *code = &a->g->code;
  bool returning = code->insns[x].op == OP_RETURN && code->insns[y].op == OP_RETURN;
  if (x != y && same_tails(a, x, b, y)) return same_stores(a, b) && same_stores(b, a);
  if (x != y && !returning && !same_choice(a, x, b, y)) return false;
  if (x == y && asks_other(a, b, x)) return false;
  if (!same_slots(a, b, x, returning) || !same_slots(b, a, x, returning)) return false;
  if (!returning && insn_calls(&code->insns[x]) && !same_arguments(a, b)) return false;
  if (!same_stores(a, b) || !same_stores(b, a)) return false;
  return (returning && nothing) || same_registers(a, b, x, returning);
}

/*
 * Did the run, which ended at END, come to the call INSN again, or at a jump that is about a sum with the value, as the
 * end of a loop is that counts what was written, by one side of which it does? *RET is then there.
 */
static bool comes_again(const struct run *r, uint32_t insn, uint32_t end, struct run *ret) {
  static const uint8_t sides[] = {EDGE_TAKEN, EDGE_FALL};
  const struct follow_graph *g = r->g;
  *ret = *r;
  if (end == insn) return true;
  if (g->code.insns[end].op != OP_BRANCH || !r->flags_of_value || r->flags_known) return false;
  for (unsigned i = 0; i < COUNT(sides); i++) {
    uint32_t block = carry_next_block(g, follow_graph_block(g, end), sides[i]);
    *ret = *r;
    if (block != UINT32_MAX && carry_go(ret, block, 0) == insn) return true;
  }
  return false;
}

/* Do both come to the call again, with the same sums? Compilers know for an error that something is left. */
static bool same_again(const struct run *a, uint32_t x, const struct run *b, uint32_t y, uint32_t insn) {
  struct run one, other;
  if (!comes_again(a, insn, x, &one) || !comes_again(b, insn, y, &other)) return false;
  return same_ends(&one, insn, &other, insn, false);
}

/*
 * Is all the same that somebody else can look at: memory outside of the frame, and variables whose address was taken?
 */
static bool same_shown(struct run *a, struct run *b) {
  const struct code *c = &a->g->code;
  for (unsigned i = 0; i < a->n_slots; i++) {
    const struct run_slot *x = &a->slots[i], *y = carry_slot_at(b, x->at);
    bool shown = x->outside;
    for (uint32_t k = 0; k < c->n_escaped && !shown; k++)
      shown = c->escaped[k] <= x->at && x->at - c->escaped[k] < STRUCTURE_MAX;
    struct content there = {.done = hash_mix((uint32_t)x->at) | 1};
    if (y) there = (struct content){y->value, y->done, y->known, y->derived};
    bool aside = !y && x->derived && x->loaded;
    if (shown && !aside && !same_content(a, (struct content){x->value, x->done, x->known, x->derived}, b, there))
      return false;
  }
  return true;
}

/* Do both runs end before a call that makes no difference between them, whatever they do behind it? */
static bool same_call(struct run *a, uint32_t x, struct run *b, uint32_t y) {
  if (!insn_calls(&a->g->code.insns[x]) || !insn_calls(&a->g->code.insns[y])) return false;
  struct flow_call one = follow_graph_call(a->g, x), other = follow_graph_call(a->g, y);
  bool same = x == y || (one.kind == other.kind && one.kind != CALL_POINTER && one.target == other.target);
  if (!same || !same_arguments(a, b) || !same_stores(a, b) || !same_stores(b, a)) return false;
  return same_shown(a, b) && same_shown(b, a);
}

#define RUN_CALLS 4 /* that are passed */

/* *ret_expected: a success that the code asks for, or 0. */
static bool same_runs(struct follow_graph *g, uint32_t insn, const struct follow_pair *p, uint64_t *ret_expected) {
  struct run a, b;
  uint32_t x = carry_start(g, insn, p->error_value, p->error_errno, &a);
  uint32_t y = carry_start(g, insn, p->success_value, 0, &b);
  for (unsigned passed = 0;; passed++) {
    *ret_expected = b.expected;
    if (x == UINT32_MAX || y == UINT32_MAX || a.unclear || b.unclear) return false;
    /* Where errno is asked for first, neither has to ask for the value. */
    bool decided = a.decided_by_errno && a.decided_by_value == b.decided_by_value;
    bool sums = a.sum_asked || b.sum_asked;
    if (decided && !sums && same_ends(&a, x, &b, y, p->nothing)) return true;
    if (decided && !passed && same_again(&a, x, &b, y, insn)) return true;
    if (sums || passed == RUN_CALLS || x == insn || !same_call(&a, x, &b, y)) return false;
    x = carry_past(&a, x, passed);
    y = carry_past(&b, y, passed);
  }
}

bool follow_graph_same(struct follow_graph *g, uint32_t insn, const struct follow_pair *p) {
  struct follow_pair other = *p;
  if (!same_runs(g, insn, p, &other.success_value)) return false;
  uint64_t ignored;
  return other.success_value == 0 || same_runs(g, insn, &other, &ignored);
}

bool follow_graph_returns_errno(struct follow_graph *g, uint32_t insn, const struct follow_pair *p) {
  struct run a, b;
  uint32_t x = carry_start(g, insn, p->error_value, p->error_errno, &a);
  uint32_t y = carry_start(g, insn, p->success_value, 0, &b);
  for (unsigned passed = 0; passed < RUN_CALLS && x != UINT32_MAX && y != UINT32_MAX; passed++) {
    if (!same_call(&a, x, &b, y)) break;
    x = carry_past(&a, x, passed);
    y = carry_past(&b, y, passed);
  }
  if (x == UINT32_MAX || y == UINT32_MAX) return false;
  if (g->code.insns[x].op != OP_RETURN || g->code.insns[y].op != OP_RETURN) return false;
  if (!same_slots(&a, &b, x, true) || !same_slots(&b, &a, y, true)) return false;
  if (!same_stores(&a, &b) || !same_stores(&b, &a) || !(a.known & b.known & REG_BIT(RAX))) return false;
  int32_t code = (int32_t)a.regs[RAX], number = (int32_t)p->error_errno;
  return a.regs[RAX] != b.regs[RAX] && (code == number || code == -number);
}
