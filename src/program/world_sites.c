/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where functions are called, by source line: the code of each module with debug information is read through once for
 * each function that is asked for.
 */
#include "program/program_world.h"
#include "code/code.h"

#include <errno.h>
#include <string.h>

/* Where a call or jump goes: with the PLT or without. */
static struct code_target target(const struct image *img, const struct insn *in) {
  if (in->op == OP_CALL_SLOT || in->op == OP_TAIL_SLOT)
    return (struct code_target){.slot = true, .address = (uint64_t)in->disp};
  bool direct = in->op == OP_CALL || in->op == OP_JUMP || in->op == OP_BRANCH;
  return direct ? code_follow_plt(img, (uint64_t)in->imm) : (struct code_target){.slot = false};
}

static bool leads_to(const struct image *img, const struct insn *in, const char *function) {
  struct image_slot slot;
  struct code_target to = target(img, in);
  if (!to.slot || !image_slot_after(img, to.address, &slot) || slot.at != to.address) return false;
  return slot.kind == SLOT_IMPORT && slot.name && strcmp(slot.name, function) == 0;
}

bool program_world_calls(void *context, const struct wire_place *p, const char *function) {
  const struct program_world *w = context;
  struct insn in;
  if (p->module >= w->modules->modules.n || p->flags & WIRE_ANYWHERE) return false;
  const struct image *img = w->modules->modules.at[p->module].image;
  if (code_read(img, p->start, &in) < 0 || p->start + in.length != p->end) return false;
  return insn_calls(&in) && leads_to(img, &in, function);
}

/* What is called through a register may be the function, and what cannot be read may call it. */
bool program_world_only_jumps(void *context, const struct wire_place *p, const char *function) {
  const struct program_world *w = context;
  struct insn in;
  bool jumps = false;
  for (bool more = true; more; more = !(p++->flags & WIRE_LAST)) {
    if (p->module >= w->modules->modules.n || p->flags & WIRE_ANYWHERE) return false;
    const struct image *img = w->modules->modules.at[p->module].image;
    for (uint64_t at = p->start; at < p->end; at += in.length) {
      if (code_read(img, at, &in) < 0 || !in.length || in.op == OP_CALL_INDIRECT) return false;
      bool leads = leads_to(img, &in, function);
      if (leads && insn_calls(&in)) return false;
      jumps |= leads;
    }
  }
  return jumps;
}

struct search {
  struct program_world *w;
  size_t module;
  const char *function;
  struct scenario_sites *ret;
};

/* Of a call that so much was inlined around that not all of it is known, nothing is. */
static int add_site(const struct search *s, struct wire_place place, bool perhaps) {
  struct program_module *m = &s->w->modules->modules.at[s->module];
  struct image_frame frames[SCENARIO_LINES + 1];
  struct scenario_site site = {.place = place, .perhaps = perhaps};
  size_t n = image_debug_at(program_module_debug(m), place.start, frames, SCENARIO_LINES + 1);
  if (n == 0 || n > SCENARIO_LINES) return 0;
  for (; site.n_lines < n; site.n_lines++) {
    const struct image_frame *f = &frames[n - 1 - site.n_lines];
    if (!f->file || !f->line) return 0;
    site.lines[site.n_lines] =
        (struct scenario_line){.file = f->file, .in = f->function ? f->function : "", .line = f->line};
  }
  return vec_push(&s->ret->sites, site);
}

/* Does the instruction read the function's address, to call it through a register later? */
static bool takes_address(const struct image *img, const struct insn *in, const char *function) {
  struct image_slot slot;
  uint64_t at = (uint64_t)in->disp;
  bool loads = in->op == OP_MOVE && in->src_kind == OPERAND_MEM && in->base == NO_REG && in->index == NO_REG;
  if (!loads || in->flags & INSN_FS || !image_slot_after(img, at, &slot) || slot.at != at) return false;
  return slot.kind == SLOT_IMPORT && slot.name && strcmp(slot.name, function) == 0;
}

/*
 * Up to what cannot be read, which is data or the end. A function that reads the address may call it by each of its
 * calls through a register, as compilers do where they call twice. Which ones those are shows when they are made: a
 * call counts as one of FUNCTION only if FUNCTION was reached by it.
 */
static int search_function(const struct search *s, const struct image_function *f) {
  const struct image *img = s->w->modules->modules.at[s->module].image;
  bool taken = false;
  struct insn in;
  int r = 0;
  for (uint64_t at = f->address; at < f->end && code_read(img, at, &in) == 0 && in.length; at += in.length)
    taken |= takes_address(img, &in, s->function);
  for (uint64_t at = f->address; at < f->end && r >= 0 && code_read(img, at, &in) == 0 && in.length; at += in.length) {
    struct wire_place place = {.module = (uint32_t)s->module, .start = at, .end = at + in.length};
    bool perhaps = in.op == OP_CALL_INDIRECT && taken;
    if (perhaps || (insn_calls(&in) && program_world_calls(s->w, &place, s->function))) r = add_site(s, place, perhaps);
  }
  return r;
}

int program_world_sites(void *context, const char *function, struct scenario_sites *ret, struct err *e) {
  struct search s = {.w = context, .function = function, .ret = ret};
  int r = 0;
  for (; s.module < s.w->modules->modules.n && r >= 0; s.module++) {
    struct program_module *m = &s.w->modules->modules.at[s.module];
    const struct image_function *all;
    if (!program_module_debug(m)) continue;
    size_t n = image_functions(m->image, &all);
    for (size_t i = 0; i < n && r >= 0; i++)
      r = search_function(&s, &all[i]);
  }
  return r < 0 ? err_set(e, r, "out of memory") : 0;
}
