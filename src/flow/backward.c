/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backward through a function, from its returns: LFI's algorithm 1 with the conditions of the branches on the way.
 *
 * A state is what is followed at a point: where the return value is, which conditions its way has met, what was stored.
 * It goes backward through a block, splits at predecessors and at instructions that choose, and ends as an outcome when
 * the value is a leaf. Each (block, state) is visited once. While the value is still a location, a condition on the
 * same location goes along with it, so that "cmp eax, -4; je" lets only -4 through; once the value is known, the
 * nearest conditions on results of calls, and stores to errno, are collected as evidence. A function that costs more
 * than its budget is walked again for constants only.
 */
#include "flow/assume.h"

#include <errno.h>
#include <string.h>

#define EVIDENCE_BLOCKS 6
#define BRIEF_BLOCKS 1000 /* in larger functions, no evidence is looked for if it should be brief */
#define BRIEF_STEPS 4000
#define KERNEL_PATIENCE 20 /* a kernel's functions are few, and large ones stand on many ways */

/* --- one instruction ---------------------------------------------------------------------------------------------- */

/* A value that is also stored somewhere, or added to something, may be in rax only for that. */
static void note_sharing(struct state *s, const struct insn *in) {
  int32_t slot;
  if (in->src_kind != OPERAND_REG || in->op == OP_CMP || in->op == OP_TEST) return;
  if (in->flags & INSN_WRITES_MEM ? insn_slot(in, &slot) : in->op == OP_MOVE || in->dst == in->src) return;
  for (unsigned i = 0; i < s->n_items; i++)
    if (s->items[i].role == ROLE_RET && s->items[i].loc.kind == LOC_REG && s->items[i].loc.reg == in->src)
      s->shared = true;
}

static bool known_store(const struct state *s, const struct flow_place *p) {
  for (unsigned i = 0; i < s->n_stores; i++)
    if (flow_place_equal(&s->stores[i].place, p)) return true;
  return false;
}

/* Two ints beside each other that a compiler has set at once. */
static bool split_store(struct state *s, struct flow_store store) {
  uint64_t v = store.value.value;
  if (v >> 32 == 0 || (int64_t)v == (int32_t)v || s->n_stores + 2 >= FLOW_STORES) return false;
  store.place.size = 4;
  for (unsigned i = 0; i < 2; i++) {
    store.value.value = (uint32_t)(v >> (32 * i));
    s->stores[s->n_stores++] = store;
    if (store.place.kind == PLACE_GLOBAL)
      store.place.where += 4;
    else
      store.place.offset += 4;
  }
  return true;
}

/* A store outside the stack: constants anywhere, and any value where errno could be. */
static void note_store(struct walk *w, struct state *s, uint32_t insn) {
  const struct insn *in = &w->function.code->insns[insn];
  struct flow_store store = {.at = in->address, .value = {.kind = VALUE_NONE}};
  int32_t slot;
  if (!(in->flags & INSN_WRITES_MEM) || in->op != OP_MOVE || in->size < 2 || in->size > 8 || s->n_stores == FLOW_STORES)
    return;
  if (s->beyond == BEYOND_FAR) return;
  if (insn_slot(in, &slot) || !flow_operand_place(&w->function, insn, &store.place) || known_store(s, &store.place))
    return;
  bool wide = flow_store_like_errno(&store), maybe_errno = flow_store_is_errno(w, &store);
  if (w->function.kernel && store.place.kind == PLACE_ARG && in->size == 4) wide = true; /* int *error */
  if (!maybe_errno && s->n_stores == FLOW_STORES - 1) return; /* the last place is kept for errno */
  if (w->simple && !wide) return;
  if (in->src_kind == OPERAND_IMM)
    store.value = (struct flow_value){.kind = VALUE_CONST, .value = (uint64_t)in->imm, .at = in->address};
  else if (in->src_kind == OPERAND_REG) {
    struct flow_loc loc = flow_loc_reg(in->src);
    struct flow_value v = flow_origin(&w->function, insn, &loc);
    if (v.kind == VALUE_CONST || v.kind == VALUE_ARG)
      store.value = v;
    else if (!wide && (v.kind != VALUE_NONE || in->size != 4))
      return;
    else if (s->n_items >= ITEMS - PREDS) {
      if (!maybe_errno) return;
      store.value.kind = VALUE_MEMORY; /* set, but to what is not followed */
    }
  }
  if (store.value.kind == VALUE_CONST && in->size == 8 && split_store(s, store)) return;
  if (store.value.kind == VALUE_NONE) {
    struct item i = {.loc = flow_loc_reg(in->src), .role = ROLE_STORE, .index = s->n_stores, .at = in->address};
    if (!flow_transform_push(w->function.worker, &i.ops, XF_ZERO, in->size, 0)) return;
    s->items[s->n_items++] = i;
  }
  s->stores[s->n_stores++] = store;
}

static void note_call(struct walk *w, struct state *s, uint32_t insn) {
  const struct insn *in = &w->function.code->insns[insn];
  bool in_rax = false; /* the value survived the call: the callee is known to be made for its effect */
  for (unsigned i = 0; i < s->n_items; i++)
    in_rax |= s->items[i].role == ROLE_RET && s->items[i].loc.kind == LOC_REG && s->items[i].loc.reg == RAX;
  if (w->simple || in->op == OP_CALL_INDIRECT || s->n_passed >= w->passed || state_evidence(s)) return;
  if (s->ret.kind != VALUE_CONST && !in_rax) return;
  s->n_passed++;
  state_add_guard(s, (struct flow_guard){.call = (uint16_t)flow_call_number(&w->function, insn),
                                         .cc = GUARD_PASSED,
                                         .at = in->address});
}

/* What is read from errno later on is what this call set there, if its failure is what led there. */
static void settle_errno(struct walk *w, struct state *s, uint32_t insn) {
  unsigned call = flow_call_number(&w->function, insn);
  bool guarded = false;
  for (unsigned i = 0; i < s->n_guards; i++)
    guarded |= s->guards[i].call == call && s->guards[i].cc != GUARD_PASSED;
  for (unsigned k = s->n_items; guarded && k-- > 0;) {
    struct item i = s->items[k];
    const struct flow_place *p = &i.loc.place;
    if (i.loc.kind != LOC_PLACE || (p->kind != PLACE_TLS && p->kind != PLACE_CALL)) continue;
    if (p->kind == PLACE_CALL && p->call == call) continue;
    struct flow_value v = {.kind = VALUE_SIDE, .arg = p->kind, .raw = p->raw, .call = (uint16_t)call};
    v.value = p->kind == PLACE_CALL ? p->call : p->where;
    v.at = w->function.code->insns[insn].address;
    state_drop(s, k);
    if (i.role != ROLE_PRED) (void)state_settle(w, s, &i, v);
  }
}

static bool is_unknown(const struct flow_value *v) {
  return v->kind == VALUE_MEMORY || v->kind == VALUE_COMPUTED || v->kind == VALUE_ARG || v->kind == VALUE_UNDEFINED;
}

struct few {
  struct item item;
  uint64_t values[TRANSFORM_VALUES];
  unsigned n;
  uint64_t at;
};

/* The value is unknown, but what is done with it leaves only a few. */
static bool leaves_few(struct state *s, const struct item *i, const struct flow_value *leaf, struct few *ret) {
  const struct transform *rest = NULL;
  if (ret->n || !is_unknown(leaf) || i->role == ROLE_PRED || s->shared) return false;
  ret->n = flow_transform_values(i->ops, ret->values, &rest);
  if (!ret->n) return false;
  bool bits = ret->n > 2 || ret->values[1] != ~0ull; /* some bits of it, as predicates return them */
  if (bits && !flow_transform_loads(rest) && !flow_transform_negates(rest)) s->shared = true;
  ret->item = *i;
  ret->item.ops = rest;
  ret->at = leaf->at;
  return true;
}

static void settle_one(struct walk *w, struct state *s, const struct few *few, unsigned k) {
  (void)state_settle(w, s, &few->item,
                     (struct flow_value){.kind = VALUE_CONST, .value = few->values[k], .at = few->at});
}

static void emit_at_entry(struct walk *w, const struct state *at) {
  struct state s, copy;
  struct few few = {.n = 0};
  state_copy(&s, at);
  for (unsigned i = 0; i < s.n_items; i++) {
    struct flow_value v = value_at_entry(&w->function, &s.items[i].loc);
    /* What errno was before is put back. */
    if (s.items[i].role == ROLE_STORE && s.items[i].loc.kind == LOC_PLACE) v.kind = VALUE_UNDEFINED;
    if (leaves_few(&s, &s.items[i], &v, &few)) continue;
    if (!state_settle(w, &s, &s.items[i], v)) return;
  }
  for (unsigned k = 0; k < few.n; k++) {
    state_copy(&copy, &s);
    settle_one(w, &copy, &few, k);
    state_emit(w, &copy);
  }
  if (!few.n) state_emit(w, &s);
}

/* CHOICE: which way to take at an instruction that chooses. */
enum change { CHANGE_DONE, CHANGE_IMPOSSIBLE, CHANGE_CHOOSE };

/* The low byte or two of rax are all that is returned. setcc makes a bool, which is the same as an int. */
static void note_narrow(struct state *s, const struct item *i, const struct insn *in) {
  bool rax = i->role == ROLE_RET && i->loc.kind == LOC_REG && i->loc.reg == RAX && !i->ops;
  if (rax && in->defs & REG_BIT(RAX) && in->dst_kind == OPERAND_REG && in->size <= 2 && in->op != OP_SET)
    s->narrow = in->size;
}

static enum change change_items(struct walk *w, struct state *s, uint32_t insn, int choice, uint8_t *ret_cc,
                                struct few *ret_few) {
  for (unsigned k = 0; k < s->n_items;) {
    struct step step;
    struct item *i = &s->items[k];
    note_narrow(s, i, &w->function.code->insns[insn]);
    enum step_kind kind = step_item(&w->function, &i->loc, i->ops, insn, &step);
    if (kind == STEP_FORK) {
      if (choice < 0) {
        *ret_cc = step.cc;
        return CHANGE_CHOOSE;
      }
      step.now = step.alt[choice];
      kind = step.now.leaf ? STEP_VALUE : STEP_MOVED;
    }
    if (kind == STEP_MOVED) {
      i->loc = step.now.loc;
      i->ops = step.now.ops;
    }
    if (kind != STEP_VALUE) {
      k++;
      continue;
    }
    struct item settled = *i;
    settled.ops = step.now.ops;
    state_drop(s, k);
    if (leaves_few(s, &settled, &step.now.value, ret_few)) continue;
    if (!state_settle(w, s, &settled, step.now.value)) return CHANGE_IMPOSSIBLE;
  }
  return CHANGE_DONE;
}

/* What an instruction must do to concern a state: touch one of the registers, or be of a kind. */
struct concern {
  uint16_t touched;
  uint8_t notes;
};

/* COMPLETE: there is nothing left to learn, so that the way ends wherever it stops. */
static inline struct concern concern_of(const struct state *s, bool complete) {
  struct concern c = {.notes = complete ? NOTE_MEMORY : NOTE_FAR};
  if (s->n_pending) c.notes |= NOTE_FLAGS;
  if (s->table_case != NO_CASE) c.notes |= NOTE_INDEX;
  for (unsigned i = 0; i < s->n_items; i++)
    if (s->items[i].loc.kind == LOC_REG)
      c.touched |= REG_BIT(s->items[i].loc.reg);
    else if (s->items[i].loc.kind == LOC_SLOT)
      c.notes |= NOTE_MEMORY;
  return c;
}

/* What is behind the changes of items: calls passed, stores, conditions. True if the way goes on. */
static bool after_change(struct walk *w, struct state *s, uint32_t insn, uint32_t block, uint32_t position) {
  const struct insn *in = &w->function.code->insns[insn];
  if (insn_calls(in)) {
    s->n_pending = 0;
    settle_errno(w, s, insn);
    note_call(w, s, insn);
  }
  if (in->flags & INSN_WRITES_MEM) note_store(w, s, insn);
  bool flags = s->n_pending && in->flags & INSN_SETS_FLAGS;
  bool index = s->table_case != NO_CASE && in->flags & INSN_TABLE_INDEX;
  if ((flags || index) && meet_all(w, s, insn, block, position) != MEET_ON) return false;
  if (!state_complete(w, s)) return true;
  state_emit(w, s);
  return false;
}

/* True if the way goes on before the instruction. */
static bool step_way(struct walk *w, struct state *s, uint32_t block, uint32_t position, int choice, uint8_t *ret_cc,
                     bool *ret_choose) {
  uint32_t insn = w->function.code->blocks[block].first + position;
  struct few few; /* large, and only its number is looked at as long as it is 0 */
  few.n = 0;
  struct state copy;
  enum change c = change_items(w, s, insn, choice, ret_cc, &few);
  if (ret_choose) *ret_choose = c == CHANGE_CHOOSE;
  if (c != CHANGE_DONE) return false;
  for (unsigned k = 0; k + 1 < few.n; k++) {
    state_copy(&copy, s);
    settle_one(w, &copy, &few, k);
    if (after_change(w, &copy, insn, block, position)) state_push(w, block, position, &copy);
  }
  if (few.n) settle_one(w, s, &few, few.n - 1);
  return after_change(w, s, insn, block, position);
}

/* The flags that decide are those before the instruction; there may be none (CC_O). */
static void add_pending(struct state *s, uint8_t cc) {
  if (cc >= CC_B && s->n_pending < PENDING) s->pending[s->n_pending++] = cc;
}

static bool step_state(struct walk *w, struct state *s, uint32_t block, uint32_t position) {
  const struct insn *in = &w->function.code->insns[w->function.code->blocks[block].first + position];
  uint8_t cc = 0;
  bool choose = false;
  note_sharing(s, in);
  struct state other, yes;
  bool chooses = in->op == OP_SET || in->op == OP_CMOV || in->op == OP_SBB || in->op == OP_ADC || in->op == OP_OR ||
                 in->op == OP_AND;
  if (!chooses) return step_way(w, s, block, position, -1, &cc, NULL);
  state_copy(&other, s);
  bool goes_on = step_way(w, s, block, position, -1, &cc, &choose);
  if (!choose) return goes_on;
  state_copy(&yes, &other);
  state_copy(s, &other);
  uint8_t unused;
  if (step_way(w, &yes, block, position, 1, &unused, NULL)) {
    add_pending(&yes, cc);
    state_push(w, block, position, &yes);
  }
  if (!step_way(w, s, block, position, 0, &unused, NULL)) return false;
  add_pending(s, cc ^ 1);
  return true;
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

static bool skippable(const struct state *s, const struct block *b) {
  if (b->calls || b->stores || (b->flags && s->n_pending) || s->table_case != NO_CASE) return false;
  for (unsigned i = 0; i < s->n_items; i++)
    if (s->items[i].loc.kind != LOC_REG || b->defs & REG_BIT(s->items[i].loc.reg)) return false;
  return true;
}

/* The state is the block's no longer: what differs from one way to the next is written into it. */
static void push_preds(struct walk *w, uint32_t block, struct state *s) {
  const struct block *b = &w->function.code->blocks[block];
  uint32_t table_case = s->table_case;
  uint8_t n_pending = s->n_pending;
  if (!state_live(s)) s->distance++;
  for (uint32_t i = 0; i < b->n_preds; i++) {
    const struct edge *e = &w->function.code->edges[b->preds + i];
    const struct block *from = &w->function.code->blocks[e->from];
    s->n_pending = n_pending;
    s->table_case = e->kind == EDGE_CASE ? e->value : table_case;
    if ((e->kind == EDGE_TAKEN || e->kind == EDGE_FALL) && n_pending < PENDING) {
      uint8_t cc = w->function.code->insns[from->first + from->n - 1].cc;
      s->pending[s->n_pending++] = e->kind == EDGE_TAKEN ? cc : cc ^ 1;
    }
    /* A block that leads nowhere else is told from others by where it leads to. */
    if (e->kind == EDGE_PLAIN && !w->function.kernel)
      state_push(w, e->from, from->n, s);
    else
      state_push_end(w, e->from, s);
  }
}

/* The position behind the last of the first END instructions that concerns a state; 0 if none does. Four at once. */
static inline uint32_t last_concern(const struct code *code, uint32_t first, uint32_t end, struct concern c) {
  const uint16_t *touched = code->touched + first;
  const uint8_t *notes = code->notes + first;
  uint64_t four, registers = c.touched * 0x0001000100010001ull;
  uint32_t kinds, wanted = c.notes * 0x01010101u;
  for (; end >= 4; end -= 4) {
    memcpy(&four, touched + end - 4, sizeof four);
    memcpy(&kinds, notes + end - 4, sizeof kinds);
    if (four & registers || kinds & wanted) break;
  }
  while (end > 0 && !(touched[end - 1] & c.touched) && !(notes[end - 1] & c.notes))
    end--;
  return end;
}

static void walk_block(struct walk *w, struct work_item *k) {
  const struct block *b = &w->function.code->blocks[k->block];
  uint32_t i = k->position;
  if (i == b->n && skippable(&k->state, b)) i = 0;
  struct concern c = concern_of(&k->state, i && state_complete(w, &k->state));
  while ((i = last_concern(w->function.code, b->first, i, c)) > 0) {
    i--;
    if (!step_state(w, &k->state, k->block, i)) return;
    c = concern_of(&k->state, false);
  }
  if (!state_live(&k->state) && k->state.ret.kind == VALUE_CALL) {
    if (w->simple || (k->state.beyond && !state_wanted(w, &k->state))) {
      state_emit(w, &k->state);
      return;
    }
    k->state.beyond = k->state.beyond ? BEYOND_FAR : BEYOND_NEAR;
  }
  if (k->state.distance > EVIDENCE_BLOCKS) { /* what is farther away is hardly the reason */
    state_emit(w, &k->state);
    return;
  }
  if (k->block == w->function.code->entry_block) emit_at_entry(w, &k->state);
  push_preds(w, k->block, &k->state);
}

/* Is it known that the budget is not enough? Every way that waits takes a step at least. */
static bool hopeless(const struct walk *w) { return w->steps + w->n_work > w->budget || w->outcomes.n >= OUTCOMES_MAX; }

/* What is found before the budget is spent counts only if nothing simpler can be tried. */
static bool run(struct walk *w) {
  struct work_item k;
  while (w->n_work && !w->function.failed) {
    if (!w->simple && hopeless(w)) return false;
    if (++w->steps > w->budget) return false;
    state_pop(w, &k);
    walk_block(w, &k);
  }
  return true;
}

static void start_at(struct walk *w, uint32_t block) {
  const struct block *b = &w->function.code->blocks[block];
  uint32_t insn = b->first + b->n - 1;
  const struct insn *in = &w->function.code->insns[insn];
  if (in->op != OP_RETURN && in->op != OP_TAIL && in->op != OP_TAIL_SLOT && in->op != OP_TAIL_INDIRECT) return;
  struct state s = {.table_case = NO_CASE, .ret = {.kind = VALUE_NONE}};
  switch (in->op) {
  case OP_RETURN:
    s.items[s.n_items++] = (struct item){.loc = flow_loc_reg(w->result), .role = ROLE_RET};
    state_push(w, block, b->n, &s);
    break;
  case OP_TAIL:
  case OP_TAIL_SLOT:
  case OP_TAIL_INDIRECT:
    s.ret = (struct flow_value){
        .kind = VALUE_CALL, .call = (uint16_t)flow_call_number(&w->function, insn), .at = in->address};
    state_push(w, block, b->n, &s);
    break;
  default:
    break;
  }
}

/* The register of the result: rax, or rcx in a kernel's function of assembly that only sets that. */
static uint8_t result_register(const struct walk *w) {
  uint16_t defs = 0;
  for (uint32_t i = 0; w->function.kernel && i < w->function.code->n_insns; i++)
    defs |= w->function.code->insns[i].defs;
  return defs & REG_BIT(RCX) && !(defs & REG_BIT(RAX)) ? RCX : RAX;
}

/* Can control come to the block at all? Behind a call that never returns it cannot. */
static bool reachable(const struct walk *w, uint32_t block) {
  return block == w->function.code->entry_block || w->function.code->blocks[block].n_preds > 0;
}

/* How hard to try: what is kept as evidence multiplies the ways that are told apart. */
static const struct effort {
  uint8_t guards, passed;
  bool simple;
  uint32_t budget, per_block;
} efforts[] = {{3, 2, false, 400, 3}, {1, 0, false, 600, 3}, {0, 0, true, 2000, 6}},
  brief_effort = {3, 2, false, 100, 2};

/* False if the budget was not enough. */
static bool walk_all(struct walk *w, const struct effort *e) {
  w->guards = e->guards;
  w->passed = e->passed;
  w->simple = e->simple;
  w->steps = 0;
  w->budget = e->budget + e->per_block * w->function.code->n_blocks;
  if (w->function.kernel && e->simple) w->budget *= KERNEL_PATIENCE;
  if (w->function.worker->brief && w->function.code->n_blocks > BRIEF_BLOCKS && !e->simple) return false;
  if (w->function.worker->brief && w->budget > BRIEF_STEPS) w->budget = BRIEF_STEPS;
  w->work.n = w->n_work = 0;
  w->outcomes.n = 0;
  map_clear(w->visited);
  map_clear(w->emitted);
  for (uint32_t b = 0; b < w->function.code->n_blocks; b++)
    if (reachable(w, b)) start_at(w, b);
  return run(w) && w->outcomes.n < OUTCOMES_MAX;
}

/* Which calls matter, and for what. Those met so late that there is no room for them do not. */
struct used {
  uint8_t *at;
  size_t room;
};

static void use_call(struct used *u, uint64_t call, uint8_t asked) {
  if (call < u->room) u->at[call] |= asked;
}

static void use_value(struct used *u, const struct flow_value *v, uint8_t asked) {
  if (v->kind == VALUE_CALL || v->kind == VALUE_SIDE) use_call(u, v->call, asked);
  if (v->kind == VALUE_SIDE && v->arg == PLACE_CALL) use_call(u, v->value, asked);
  for (uint64_t i = 0; v->kind == VALUE_CHOICE && i < v->value; i++)
    use_value(u, &v->choices[i], asked);
}

static void use_outcome(struct used *u, const struct flow_outcome *o) {
  use_value(u, &o->ret, ASKED_VALUE);
  for (unsigned i = 0; i < o->n_guards; i++)
    if (!o->guards[i].arg)
      use_call(u, o->guards[i].call, o->guards[i].cc == GUARD_PASSED ? ASKED_MADE : ASKED_CONDITION);
  for (unsigned i = 0; i < o->n_stores; i++) {
    use_value(u, &o->stores[i].value, ASKED_VALUE);
    if (o->stores[i].place.kind == PLACE_CALL) use_call(u, o->stores[i].place.call, ASKED_VALUE);
  }
}

const struct flow_value flow_args_unasked[FLOW_ARGS]; /* zeros, as long as nobody has asked */
const struct flow_value flow_args_none[FLOW_ARGS] = {[0 ... FLOW_ARGS - 1] = {.kind = VALUE_NONE}};

static struct flow_value argument(struct walk *w, size_t call, unsigned k) {
  uint8_t reg = code_argument_registers[k];
  if (w->function.calls.at[call].kind == CALL_SYSTEM && reg == RCX)
    reg = R10; /* the syscall instruction uses rcx itself */
  struct flow_loc loc = flow_loc_reg(reg);
  return flow_origin_choice(&w->function, w->function.call_insn.at[call], &loc);
}

/* How the pointer of a call came to be. */
static void ask_pointer(struct walk *w, size_t call, struct used *used) {
  const struct flow_path *paths = NULL;
  unsigned n = path_find(&w->function, w->function.call_insn.at[call], &paths);
  w->function.calls.at[call].paths = paths;
  w->function.calls.at[call].n_paths = (uint8_t)n;
  for (unsigned i = 0; i < n; i++)
    if (paths[i].root == PATH_CALL) use_call(used, paths[i].call, ASKED_VALUE);
}

/* The number and arguments of one call, and whose results these are. */
static void ask_arguments(struct walk *w, size_t call, struct used *used) {
  if (w->function.calls.at[call].kind == CALL_SYSTEM) {
    struct flow_loc rax = flow_loc_reg(RAX);
    struct flow_value v = flow_origin(&w->function, w->function.call_insn.at[call], &rax);
    w->function.calls.at[call].number = v; /* asking may move the calls */
  }
  /* What it was given matters if what it returns does; whether it has failed can be told without, nearly always. */
  bool only =
      w->function.worker->brief && used->at[call] == ASKED_CONDITION && w->function.calls.at[call].kind != CALL_SYSTEM;
  const struct flow_value *kept = flow_args_none;
  if (!only && w->function.calls.at[call].kind != CALL_POINTER) {
    struct flow_value args[FLOW_ARGS];
    bool any = false;
    for (unsigned k = 0; k < FLOW_ARGS; k++) {
      args[k] = argument(w, call, k);
      any |= memcmp(&args[k], &flow_args_none[k], sizeof args[k]) != 0;
      use_value(used, &args[k], ASKED_MADE);
    }
    kept = any ? arena_memdup(&w->function.worker->keep, args, sizeof args) : flow_args_none;
    if (!kept) w->function.failed = true;
  }
  w->function.calls.at[call].args = kept ? kept : flow_args_none;
  if (w->function.kernel && w->function.calls.at[call].kind == CALL_POINTER) ask_pointer(w, call, used);
}

/*
 * The arguments of the calls that outcomes speak of. The others were only met on the way: what they call does not
 * matter. Asking for arguments may meet further calls.
 */
static void find_arguments(struct walk *w) {
  struct used used = {.room = w->function.calls.n * (FLOW_ARGS + 2) + 64};
  used.at = arena_zalloc(&w->function.worker->scratch, used.room);
  bool *done = arena_zalloc(&w->function.worker->scratch, used.room);
  if (!used.at || !done) {
    w->function.failed = true;
    return;
  }
  for (size_t i = 0; i < w->outcomes.n; i++)
    use_outcome(&used, &w->outcomes.at[i]);
  for (bool more = true; more && !w->function.failed;) {
    more = false;
    for (size_t i = 0; i < w->function.calls.n && i < used.room && !w->function.failed; i++) {
      if (!used.at[i] || done[i]) continue;
      done[i] = more = true;
      ask_arguments(w, i, &used);
    }
  }
  for (size_t i = 0; i < w->function.calls.n; i++)
    if (i >= used.room || !done[i])
      w->function.calls.at[i] =
          (struct flow_call){.at = w->function.calls.at[i].at, .kind = CALL_POINTER, .args = flow_args_unasked};
    else
      w->function.calls.at[i].asked = used.at[i];
}

/* A copy of LIST that stays; LIKE, which is one, if that says the same. */
static const void *keep_list(struct walk *w, const void *list, size_t size, const void *like, size_t like_size) {
  if (!size) return NULL;
  return size == like_size && memcmp(list, like, size) == 0 ? like
                                                            : arena_memdup(&w->function.worker->keep, list, size);
}

/* The conditions and stores of the outcomes; neighbours often share them. */
static int keep_lists(struct walk *w) {
  struct flow_outcome none = {0}, *before = &none;
  for (size_t i = 0; i < w->outcomes.n; i++) {
    struct flow_outcome *o = &w->outcomes.at[i];
    o->guards =
        keep_list(w, o->guards, o->n_guards * sizeof *o->guards, before->guards, before->n_guards * sizeof *o->guards);
    o->stores =
        keep_list(w, o->stores, o->n_stores * sizeof *o->stores, before->stores, before->n_stores * sizeof *o->stores);
    if ((o->n_guards && !o->guards) || (o->n_stores && !o->stores)) return -ENOMEM;
    before = o;
  }
  return 0;
}

static int keep(struct walk *w, struct flow_summary *ret) {
  struct flow_summary s = {.n_calls = (uint32_t)w->function.calls.n, .n_outcomes = (uint32_t)w->outcomes.n};
  s.calls =
      arena_memdup(&w->function.worker->keep, w->function.calls.at, w->function.calls.n * sizeof *w->function.calls.at);
  if ((!s.calls && s.n_calls) || keep_lists(w) < 0) return -ENOMEM;
  s.outcomes = arena_memdup(&w->function.worker->keep, w->outcomes.at, w->outcomes.n * sizeof *w->outcomes.at);
  if (!s.outcomes && s.n_outcomes) return -ENOMEM;
  s.problems = ret->problems;
  s.pure = ret->pure;
  s.makes_calls = ret->makes_calls;
  bool pointers = false;
  for (uint32_t i = 0; w->function.kernel && i < s.n_calls; i++)
    pointers |= s.calls[i].n_paths > 0;
  if (pointers) s.n_hints = path_hints(&w->function, &s.hints);
  if (w->function.failed) return -ENOMEM;
  *ret = s;
  return 0;
}

/* --- one function ------------------------------------------------------------------------------------------------- */

static int walk_start(struct walk *w, struct flow_worker *worker, const struct code *code) {
  *w = (struct walk){.result = RAX};
  w->visited = flow_worker_map(&worker->visited);
  w->emitted = flow_worker_map(&worker->emitted);
  w->conditions = flow_worker_map(&worker->conditions);
  int r = flow_function_start(&w->function, worker, code);
  if (r < 0) return r;
  room_take(&w->work, &worker->rooms[ROOM_WORK]);
  room_take(&w->outcomes, &worker->rooms[ROOM_OUTCOMES]);
  room_take(&w->predicates, &worker->rooms[ROOM_PREDICATES]);
  return 0;
}

static void walk_done(struct walk *w) {
  struct flow_worker *worker = w->function.worker;
  room_give(&w->work, &worker->rooms[ROOM_WORK]);
  room_give(&w->outcomes, &worker->rooms[ROOM_OUTCOMES]);
  room_give(&w->predicates, &worker->rooms[ROOM_PREDICATES]);
  flow_function_done(&w->function);
}

static bool has_calls(const struct code *c) {
  for (uint32_t i = 0; i < c->n_insns; i++) {
    const struct insn *in = &c->insns[i];
    bool tail = in->op == OP_TAIL || in->op == OP_TAIL_SLOT || in->op == OP_TAIL_INDIRECT;
    if (insn_calls(in) || in->op == OP_SYSCALL || tail) return true;
  }
  return false;
}

static bool is_pure(const struct code *c) {
  bool tables = false;
  for (uint32_t i = 0; i < c->n_insns; i++)
    tables |= c->insns[i].op == OP_JUMP_TABLE;
  for (uint32_t i = 0; i < c->n_insns; i++) {
    const struct insn *in = &c->insns[i];
    int32_t slot;
    bool memory = in->op != OP_LEA && (in->dst_kind == OPERAND_MEM || in->src_kind == OPERAND_MEM);
    if (in->op == OP_OTHER) return false;
    if (!memory || insn_slot(in, &slot)) continue;
    bool constant = in->base == NO_REG && image_is_readonly(c->image, (uint64_t)in->disp);
    if (in->flags & (INSN_FS | INSN_WRITES_MEM) || !(constant || (tables && in->index != NO_REG))) return false;
  }
  return true;
}

int flow_summarise(struct flow_worker *worker, const struct image *img, uint64_t entry,
                   const struct code_options *options, const struct flow_assume *assume, struct flow_summary *ret) {
  struct code code;
  struct flow_summary s = {0};
  arena_reset(&worker->scratch);
  worker->failed = false;
  int r = code_build(img, entry, options, &worker->scratch, &code);
  if (r >= 0 && assume && assume->known && assume_prune(&code, assume, &worker->scratch) < 0) r = -ENOMEM;
  if (r < 0) return r;
  struct walk w;
  r = walk_start(&w, worker, &code);
  if (r < 0) return r;
  w.function.kernel = options && options->kernel;
  w.function.assume = assume;
  w.result = result_register(&w);
  size_t effort = 0;
  while (effort < COUNT(efforts) && !walk_all(&w, worker->brief && !effort ? &brief_effort : &efforts[effort]))
    effort++;
  if (effort == COUNT(efforts)) s.problems |= FLOW_COMPLEX;
  if (effort == COUNT(efforts) - 1) s.problems |= FLOW_REDUCED;
  if (code.problems) s.problems |= FLOW_BAD_CODE;
  s.makes_calls = has_calls(&code);
  s.pure = !s.makes_calls && is_pure(&code);
  find_arguments(&w);
  r = w.function.failed || worker->failed ? -ENOMEM : keep(&w, &s);
  walk_done(&w);
  if (r >= 0) *ret = s;
  return r;
}
