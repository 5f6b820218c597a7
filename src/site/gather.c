/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One function of the program: its calls of imports, each followed, its other calls, and what it refers to.
 *
 * The graph is in memory only here, so whatever needs it is done here: guards by errno, recovery blocks, what is known
 * of the arguments.
 */
#include "site/site_program.h"
#include "site/relevance_rules.h"

#include <errno.h>
#include <string.h>

#define FUNCTION_INSNS 2000000
#define WALK_NEAR 8 /* instructions behind a reading in which the pointer is moved on */

#define BLOCKS_BEFORE 6 /* a call, in which the pointer that it calls may have been read */

struct gathering {
  struct program *p;
  struct worker *w;
  struct follow_graph *g;
  const struct code *code;
  uint64_t entry;
  bool whole; /* all calls are followed: what is recovery code does not depend on which sites are asked for */
  failing_vec failing;
  enum answer clears_errno, returns_nothing;
};

struct follow_graph_options gather_options(struct program *p, struct worker *w) {
  w->probe.image = p->image;
  w->probe.noreturn = profile_facts_noreturn;
  w->probe.context = p->facts;
  w->probe.own = true;
  return (struct follow_graph_options){
      .code = {.max_insns = FUNCTION_INSNS, .unreached = true, .noreturn = flow_probe_noreturn, .context = &w->probe},
      .errno_at = profile_facts_errno,
      .keeps_errno = profile_facts_keeps_errno,
      .context = p->facts,
  };
}

/* --- what is known of the arguments ------------------------------------------------------------------------------- */

static void look_at_arguments(const struct gathering *t, uint32_t insn, const struct import *m,
                              struct relevance_call *c) {
  c->name = m->written;
  for (unsigned i = 0; i < RELEVANCE_ARGS; i++) {
    struct flow_value v;
    int at = relevance_argument_of(t->p->relevance, m->name, i);
    if (at < 0 || at >= FLOW_ARGS) continue;
    if (relevance_date(t->p->relevance, m->written) == (int)i && clock_is_now(t->p, t->g, insn, (unsigned)at))
      c->current |= 1u << i;
    if (!follow_graph_argument(t->g, insn, (unsigned)at, &v)) continue;
    if (v.kind == VALUE_ADDRESS && !v.raw && image_is_readonly(t->code->image, v.value)) c->fixed |= 1u << i;
    if (v.kind != VALUE_CONST) continue;
    c->known |= 1u << i;
    c->args[i] = v.value;
  }
  int arg = relevance_descriptor(t->p->relevance, m->written);
  if (arg < 0) arg = relevance_kept(t->p->relevance, m->written);
  if (arg >= 0 && arg < FLOW_ARGS) descriptor_look(t->p, t->g, insn, m->name, (unsigned)arg, c);
  if (arg == ARG_STDOUT) c->about[ABOUT_STDOUT] = TRUE_FOR_CALL;
  uint64_t lowest;
  if (m->success == SUCCESS_NUMBER && neighbours_lowest(t->p, t->g, insn, m, &lowest))
    c->lowest = (uint8_t)(1 + lowest);
  else if (m->success == SUCCESS_NUMBER)
    c->renewed = neighbours_renewed(t->p, t->g, insn, m);
}

/* --- a site ------------------------------------------------------------------------------------------------------- */

/* Is this where the program crashes if the value is an error? */
static bool crashes_at(const struct gathering *t, const struct import *m, const struct follow_event *e) {
  if (e->subject != SUBJECT_VALUE) return false;
  if (e->kind == EVENT_DEREFERENCE) return judge_crashes(m, e);
  if (e->kind != EVENT_ARGUMENT || e->mixed || e->ops || e->call_kind != CALL_SLOT) return false;
  const struct import *to = site_program_import(t->p, e->target);
  int arg = to ? relevance_argument(t->p->relevance, to->name, e->arg) : -1;
  return arg >= 0 && relevance_effect(t->p->relevance, to->written, (unsigned)arg, true) == EFFECT_CRASH;
}

static bool any_check(const struct gathering *t, const struct import *m, const struct found *f) {
  struct sample sample;
  sample_start(&sample, m, &f->call);
  for (size_t i = 0; i < t->w->events.at.n; i++) {
    const struct follow_event *e = &t->w->events.at.at[i];
    if (e->kind == EVENT_COMPARE && e->subject == SUBJECT_VALUE && judge_compare(t->p, &sample, e)) return true;
    bool inner = e->kind == EVENT_ARGUMENT && e->call_kind == CALL_ADDRESS;
    if (e->kind == EVENT_GIVEN || e->kind == EVENT_RETURN || inner) return true; /* there may be one */
  }
  return false;
}

/* What a function leaves behind that returns nothing is not returned. */
static void drop_returns(struct gathering *t) {
  struct follow_events *events = &t->w->events;
  size_t n = 0;
  for (size_t i = 0; i < events->at.n; i++) {
    bool returned = events->at.at[i].kind == EVENT_RETURN;
    if (returned && t->returns_nothing == NOT_KNOWN)
      t->returns_nothing = follow_graph_returns_nothing(t->g) ? TRUE_FOR_CALL : FALSE_FOR_CALL;
    if (!returned || t->returns_nothing == FALSE_FOR_CALL) events->at.at[n++] = events->at.at[i];
  }
  events->at.n = n;
}

/* Who crashes on every way hands nothing to callers, neither by what it returns nor through their pointers. */
static void drop_stores(struct follow_events *events) {
  size_t n = 0;
  for (size_t i = 0; i < events->at.n; i++) {
    const struct follow_event *e = &events->at.at[i];
    bool handed = e->kind == EVENT_STORE && (e->place == STORE_BEHIND_ARGUMENT || e->place == STORE_BEHIND_RESULT);
    if (!handed || e->subject != SUBJECT_VALUE) events->at.at[n++] = *e;
  }
  events->at.n = n;
}

/* A length that is as much as there was room for is too long: to ask for that is no check. */
static void use_full(struct gathering *t, const struct import *m, uint32_t insn) {
  struct follow_events *events = &t->w->events;
  int arg = m->success == SUCCESS_LENGTH && m->size >= 0
                ? relevance_argument_of(t->p->relevance, m->name, (unsigned)m->size)
                : -1;
  uint64_t size = arg >= 0 && arg < FLOW_ARGS ? follow_graph_argument_identity(t->g, insn, (unsigned)arg) : 0;
  for (size_t i = 0; size && i < events->at.n; i++) {
    struct follow_event *e = &events->at.at[i];
    bool compared = e->kind == EVENT_COMPARE && e->subject == SUBJECT_VALUE && e->variable;
    if (compared && e->imm == size && judge_equality(e)) e->kind = EVENT_USE;
  }
}

/* What is in the register is not what the function returned. That goes where it is not followed. */
static int keep_errno(struct follow_events *events) {
  size_t n = 0;
  for (size_t i = 0; i < events->at.n; i++)
    if (events->at.at[i].subject == SUBJECT_ERRNO) events->at.at[n++] = events->at.at[i];
  events->at.n = n;
  return vec_push(&events->at, ((struct follow_event){.kind = EVENT_USE, .lost = true}));
}

/* Follows the value; behind a crash, no check counts any more. */
static int follow(struct gathering *t, const struct import *m, uint32_t insn, struct found *f) {
  struct follow_events *events = &t->w->events;
  struct map crashes = {0};
  struct follow_start start = {.kind = START_RESULT, .insn = insn};
  events->at.n = 0;
  events->torn = false;
  int r = follow_value(t->g, &start, NULL, events);
  if (r >= 0 && m->floating) return keep_errno(events);
  for (size_t i = 0; i < events->at.n && r >= 0; i++)
    if (crashes_at(t, m, &events->at.at[i])) r = map_put(&crashes, events->at.at[i].insn, 1);
  if (r >= 0 && crashes.n && any_check(t, m, f)) {
    events->at.n = 0;
    r = follow_value(t->g, &start, &crashes, events);
  }
  if (r >= 0 && crashes.n) f->always = follow_graph_always(t->g, insn, &crashes);
  if (f->always) drop_stores(events);
  map_done(&crashes);
  f->torn = events->torn;
  if (r >= 0) drop_returns(t);
  if (r >= 0) use_full(t, m, insn);
  return r;
}

static bool looks_at_errno(const struct gathering *t) {
  for (size_t i = 0; i < t->w->events.at.n; i++)
    if (t->w->events.at.at[i].subject == SUBJECT_ERRNO) return true;
  return false;
}

static bool clears_errno(struct gathering *t) {
  if (t->clears_errno == NOT_KNOWN) t->clears_errno = follow_graph_clears_errno(t->g) ? TRUE_FOR_CALL : FALSE_FOR_CALL;
  return t->clears_errno == TRUE_FOR_CALL;
}

/* Was all that the call sets, if it succeeds, set by the caller before? */
static bool is_preset(struct gathering *t, const struct import *m, uint32_t insn) {
  bool any = false, on_stack = true;
  for (unsigned k = m->fills < 0 ? FLOW_ARGS : (unsigned)m->fills; k < FLOW_ARGS && on_stack; k++) {
    bool preset = follow_graph_preset(t->g, insn, k, &on_stack);
    if (on_stack && !preset) return false;
    any |= preset;
  }
  return any;
}

static int add_site(struct gathering *t, uint32_t insn, uint64_t slot) {
  const struct import *m = site_program_import(t->p, slot);
  const struct insn *in = &t->code->insns[insn];
  if (!m || !(m->wanted || (t->whole && m->n_errors))) return 0;
  struct found f = {.at = in->address, .entry = t->entry, .import = (uint32_t)(m - t->p->imports.at)};
  struct sample sample;
  if (insn_calls(in)) f.after = in->address + in->length;
  look_at_arguments(t, insn, m, &f.call);
  int r = follow(t, m, insn, &f);
  if (r < 0) return r;
  f.errno_cleared = looks_at_errno(t) && clears_errno(t);
  sample_start(&sample, m, &f.call);
  guard_look(t->g, insn, &t->w->events, &sample, false, &f.guard);
  if (t->p->debug) guard_look(t->g, insn, &t->w->events, &sample, true, &f.guard_nothing);
  f.preset = is_preset(t, m, insn);
  f.codes = guard_codes(t->g, insn, &t->w->events, &sample);
  uint32_t number = m->wanted ? (uint32_t)t->w->found.n : UINT32_MAX;
  r = recovery_note_checks(t->p, t->g, &t->w->events, &sample, number, insn, &t->failing);
  if (r < 0 || !m->wanted) return r;
  f.refused_at = neighbours_refusing(t->p, t->g, insn, m, &t->w->events);
  f.n_events = (uint32_t)t->w->events.at.n;
  f.events = arena_memdup(&t->w->arena, t->w->events.at.at, f.n_events * sizeof *f.events);
  return f.events ? vec_push(&t->w->found, f) : -ENOMEM;
}

/* --- a function --------------------------------------------------------------------------------------------------- */

/* Is the call a virtual one of an object that somebody else may have made? */
static bool calls_foreign(struct gathering *t, uint32_t insn) {
  struct flow_value v;
  uint32_t made = follow_graph_argument(t->g, insn, 0, &v) ? follow_graph_call_insn(t->g, &v) : UINT32_MAX;
  struct flow_call c = {0};
  if (made != UINT32_MAX) c = follow_graph_call(t->g, made);
  const struct import *m = made != UINT32_MAX && c.kind == CALL_SLOT ? site_program_import(t->p, c.target) : NULL;
  return m && profile_facts_roles(t->p->facts, m->written).object;
}

/* The variable that the pointer is read from that INSN calls; 0 if it is not seen on the one way that leads there. */
static uint64_t called_variable(const struct gathering *t, uint32_t insn) {
  const struct insn *in = &t->code->insns[insn];
  uint32_t k = follow_graph_block(t->g, insn), end = insn;
  if (in->op == OP_CALL_SLOT || in->op == OP_TAIL_SLOT) return (uint64_t)in->disp;
  for (unsigned blocks = 0; in->dst_kind == OPERAND_REG && blocks < BLOCKS_BEFORE; blocks++) {
    const struct block *b = &t->code->blocks[k];
    for (uint32_t i = end; i-- > b->first;) {
      const struct insn *by = &t->code->insns[i];
      if (!(by->defs & REG_BIT(in->dst))) continue;
      bool loads = by->op == OP_MOVE && by->src_kind == OPERAND_MEM && by->size == 8 && !(by->flags & INSN_FS);
      return loads && by->base == NO_REG && by->index == NO_REG ? (uint64_t)by->disp : 0;
    }
    if (b->n_preds != 1 || k == t->code->entry_block) return 0;
    k = t->code->edges[b->preds].from;
    end = t->code->blocks[k].first + t->code->blocks[k].n;
  }
  return 0;
}

/* A call through a variable at a fixed place: of the function, at least, that is there when the program starts. */
static int gather_slot_call(struct gathering *t, uint32_t insn, uint64_t variable) {
  struct image_slot slot;
  if (!variable || !image_slot(t->code->image, variable, &slot)) return 0;
  if (slot.kind != SLOT_LOCAL || !image_is_code(t->code->image, slot.value)) return 0;
  return vec_push(&t->w->calls, (struct inner_call){t->code->insns[insn].address, t->entry, slot.value});
}

/* The function of the program that is argument ARG of the call; 0 if it is not known. */
static uint64_t function_given(const struct gathering *t, uint32_t insn, int arg) {
  struct flow_value v;
  bool known = arg >= 0 && follow_graph_argument(t->g, insn, (unsigned)arg, &v) && v.kind == VALUE_ADDRESS;
  return known && !v.raw && !v.ops ? v.value : 0;
}

/* A call of a library's function, which may call one of the program in its turn. */
static int gather_import(struct gathering *t, uint32_t insn, uint64_t slot) {
  const struct import *m = site_program_import(t->p, slot);
  uint64_t at = t->code->insns[insn].address, to;
  int r = add_site(t, insn, slot);
  if (r >= 0 && m && (to = function_given(t, insn, m->starts)) != 0)
    r = vec_push(&t->w->started, (struct started){at, t->entry, to, (uint8_t)(m->starts + 1)});
  if (r >= 0 && m && (to = function_given(t, insn, m->hands)) != 0)
    r = vec_push(&t->w->handed, (struct inner_call){at, t->entry, to});
  return r;
}

static int gather_call(struct gathering *t, uint32_t insn) {
  struct flow_call c = follow_graph_call(t->g, insn);
  int64_t offset;
  uint32_t table;
  int r = 0;
  if (c.kind == CALL_SLOT && !site_program_import(t->p, c.target)) return gather_slot_call(t, insn, c.target);
  if (c.kind == CALL_SLOT) return gather_import(t, insn, c.target);
  if (c.kind == CALL_POINTER) r = gather_slot_call(t, insn, called_variable(t, insn));
  if (r < 0) return r;
  struct inner_call pointer = {.at = t->code->insns[insn].address, .entry = t->entry};
  if (c.kind == CALL_POINTER && follow_graph_pointer_offset(t->g, insn, &offset, &table)) {
    bool method = table != UINT32_MAX && !calls_foreign(t, insn);
    pointer.to = POINTER_AT(offset, method && !follow_graph_calls_other(t->g, insn, table, offset));
  }
  if (c.kind == CALL_POINTER) return vec_push(&t->w->pointer_calls, pointer);
  if (c.kind != CALL_ADDRESS) return 0;
  r = vec_push(&t->w->calls, (struct inner_call){t->code->insns[insn].address, t->entry, c.target});
  if (r >= 0 && !image_function_at(t->code->image, c.target)) r = vec_push(&t->w->fresh, c.target);
  return r;
}

/* The registers that hold an address behind the instruction, if HELD do before; *ret_lost: it was put elsewhere. */
static uint16_t still_held(const struct insn *in, uint16_t held, bool *ret_lost) {
  bool copied = (in->op == OP_MOVE || in->op == OP_CMOV) && in->src_kind == OPERAND_REG && held & REG_BIT(in->src);
  bool kept = in->op == OP_CMOV && held & REG_BIT(in->dst);
  uint16_t after = held & (uint16_t)~in->defs;
  if (insn_calls(in)) after &= (uint16_t)~CALL_CLOBBERS;
  if (copied && in->dst_kind == OPERAND_REG)
    after |= REG_BIT(in->dst);
  else if (kept)
    after |= REG_BIT(in->dst);
  else
    *ret_lost |= in->uses & held && !insn_calls(in);
  return after;
}

/*
 * Is the address, which the instruction takes, for a library's function? It is if the next call, before anything jumps,
 * is one of a library, and gets it, or may find it in memory.
 */
static bool is_for_library(const struct gathering *t, uint32_t insn) {
  const struct insn *by = &t->code->insns[insn];
  uint16_t held = by->dst_kind == OPERAND_REG ? REG_BIT(by->dst) : 0, given = 0;
  bool lost = !held, passed = false;
  int32_t slot;
  for (unsigned i = 0; i < FLOW_ARGS; i++)
    given |= REG_BIT(code_argument_registers[i]);
  for (uint32_t i = insn + 1; i < t->code->n_insns && (held || lost); i++) {
    const struct insn *in = &t->code->insns[i];
    bool tail = in->op == OP_TAIL || in->op == OP_TAIL_SLOT || in->op == OP_TAIL_INDIRECT;
    bool calls = insn_calls(in) || tail;
    if (calls && follow_graph_call(t->g, i).kind != CALL_SLOT) return false;
    if (calls && (lost || held & given)) return true;
    if (tail || in->op == OP_RETURN || in->op == OP_STOP) return false;
    passed |= calls;
    bool put = lost;
    held = still_held(in, held, &put);
    if (!passed || !insn_slot(in, &slot)) lost = put; /* later, in a slot, it is put aside, and given to nobody */
  }
  return false;
}

bool gather_is_untold(const struct image *img, uint64_t address) {
  if (!image_is_only_code(img, address) || image_function_at(img, address)) return false;
  const struct image_function *before = image_function_before(img, address);
  return !before || (before->end && before->end <= address);
}

/* An address of a function that is not called here. */
static int gather_reference(struct gathering *t, uint32_t insn) {
  const struct insn *in = &t->code->insns[insn];
  const struct image *img = t->code->image;
  uint64_t to = 0, start, end;
  bool number = in->op == OP_MOVE && in->src_kind == OPERAND_IMM;
  if (in->op == OP_LEA && in->base == NO_REG && in->index == NO_REG) to = (uint64_t)in->disp;
  if (number) to = (uint64_t)in->imm;
  if (!to) return 0;
  bool told = image_function_at(img, to);
  struct image_slot slot;
  if (!told && image_slot(img, to, &slot) && functions_in_slot(img, &slot)) return vec_push(&t->w->tables, to);
  /* Only programs that are linked to a fixed address have addresses as constants. */
  if (!told && (!gather_is_untold(img, to) || (number && !image_fixed_data(img, 0, &start, &end)))) return 0;
  int r = told ? 0 : vec_push(&t->w->fresh, to);
  if (r >= 0 && is_for_library(t, insn)) r = vec_push(&t->w->given, to);
  return r < 0 ? r : vec_push(&t->w->referenced, to);
}

/* Is the register moved on behind the instruction, as a pointer is that walks through an array? */
static bool walks_on(const struct gathering *t, uint32_t insn, uint8_t reg) {
  for (uint32_t i = insn + 1; i < t->code->n_insns && i <= insn + WALK_NEAR; i++) {
    const struct insn *in = &t->code->insns[i];
    if (!(in->defs & REG_BIT(reg))) continue;
    return in->op == OP_ADD && in->dst == reg && in->src_kind == OPERAND_IMM && in->imm > 0 && in->size == 8;
  }
  return false;
}

/* What is read from a variable of the program, to be compared perhaps; of an array, any element. */
static int gather_reader(struct gathering *t, uint32_t insn) {
  const struct insn *in = &t->code->insns[insn];
  uint64_t variable = 0;
  bool reads = in->op == OP_MOVE ? in->src_kind == OPERAND_MEM : in->op == OP_CMP || in->op == OP_TEST;
  bool memory = in->src_kind == OPERAND_MEM || in->dst_kind == OPERAND_MEM;
  if (!reads || !memory || in->flags & INSN_FS) return 0;
  if (in->base == NO_REG && in->index == NO_REG)
    variable = (uint64_t)in->disp;
  else if ((in->index == NO_REG && !walks_on(t, insn, in->base)) || !follow_graph_array(t->g, insn, &variable))
    return 0;
  if (image_is_readonly(t->code->image, variable)) return 0;
  bool array = in->base != NO_REG || in->index != NO_REG;
  return vec_push(&t->w->readers, (struct reader){variable, in->address, t->entry, array});
}

static int gather_insn(struct gathering *t, uint32_t insn) {
  const struct insn *in = &t->code->insns[insn];
  switch (in->op) {
  case OP_CALL:
  case OP_CALL_SLOT:
  case OP_CALL_INDIRECT:
  case OP_TAIL:
  case OP_TAIL_SLOT:
  case OP_TAIL_INDIRECT:
    return gather_call(t, insn);
  case OP_CMP:
  case OP_TEST:
    return gather_reader(t, insn);
  case OP_MOVE:
    if (in->src_kind == OPERAND_MEM) return gather_reader(t, insn);
    return gather_reference(t, insn);
  case OP_LEA:
    return gather_reference(t, insn);
  default:
    return 0;
  }
}

static int gather_blocks(struct gathering *t) {
  int r = 0;
  for (uint32_t k = 0; k < t->code->n_blocks && r >= 0; k++) {
    uint64_t at = t->code->insns[t->code->blocks[k].first].address;
    if (at != t->entry && image_function_at(t->code->image, at)) r = vec_push(&t->w->parts, at);
  }
  for (uint32_t i = 0; i < t->code->n_insns && r >= 0; i++)
    r = gather_insn(t, i);
  return r;
}

/* Is there a call that is asked for? */
static bool has_wanted(const struct gathering *t) {
  for (uint32_t i = 0; i < t->code->n_insns; i++) {
    const struct insn *in = &t->code->insns[i];
    bool tail = in->op == OP_TAIL || in->op == OP_TAIL_SLOT || in->op == OP_TAIL_INDIRECT;
    if (!insn_calls(in) && !tail) continue;
    struct flow_call c = follow_graph_call(t->g, i);
    const struct import *m = c.kind == CALL_SLOT ? site_program_import(t->p, c.target) : NULL;
    if (m && m->wanted) return true;
  }
  return false;
}

/* Stubs of the PLT: what they jump to is called by others. The first one of a table pushes a word of the GOT. */
static bool is_stub(const struct image *img, uint64_t entry) {
  const uint8_t *bytes = image_bytes(img, entry, 2);
  return code_follow_plt(img, entry).slot || (bytes && bytes[0] == 0xff && bytes[1] == 0x35);
}

int gather_function(struct program *p, struct worker *w, uint64_t entry) {
  struct gathering t = {.p = p, .w = w, .entry = entry};
  if (is_stub(p->image, entry)) return 0;
  struct follow_graph_options o = gather_options(p, w);
  int r = follow_graph_open(&w->flow, p->image, entry, &o, &t.g);
  if (r < 0) return r == -EFAULT ? 0 : r;
  t.code = follow_graph_code(t.g);
  size_t first = w->found.n;
  t.whole = p->request->n_functions && has_wanted(&t);
  r = gather_blocks(&t);
  if (r >= 0) r = again_find(p, w, t.g, &t.failing, first);
  if (r >= 0) r = ended_find(&(struct looking){p, t.g, t.code}, w, &t.failing, first);
  if (r >= 0) r = kept_find(&(struct looking){p, t.g, t.code}, w, &t.failing, first);
  if (r >= 0) r = recovery_find(w, t.g, &t.failing, first);
  vec_done(&t.failing);
  follow_graph_close(t.g);
  if (w->probe.failed) r = -ENOMEM;
  return r < 0 ? r : 0;
}
