/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of the program. Where they are was found out by murphy; here addresses become those of the process, and
 * frames are looked for on the stack. Memory is read after the kernel was asked whether it is there.
 */
#include "length.h"
#include "modules.h"
#include "operand.h"
#include "registers.h"
#include "thread_place.h"
#include "rt_walk.h"

#define DEPTH_MAX 131072
#define REPEATS 3

static const struct rt_module *find_module(const struct rt_modules *list, uint32_t module) {
  for (uint32_t i = 0; i < list->n; i++)
    if (list->at[i].plan == module + 1 && list->at[i].exact) return &list->at[i];
  return NULL;
}

uint64_t rt_static(uint32_t module, uint64_t address) {
  uint64_t found = 0;
  for (unsigned i = 0; i < REPEATS; i++) {
    const struct rt_modules *list = rt_modules_now();
    if (!list) return 0;
    uint64_t version = rt_load(&list->version);
    const struct rt_module *m = find_module(list, module);
    found = m ? m->bias + address : 0;
    if (rt_modules_same(list, version)) return found;
  }
  return 0;
}

static int64_t extended(uint64_t value, unsigned width, bool sign) {
  unsigned unused = 64 - 8 * width;
  return sign ? (int64_t)(value << unused) >> unused : (int64_t)(value << unused >> unused);
}

RT_RAW bool rt_read(uint64_t address, unsigned width, bool sign, int64_t *ret) {
  uint64_t value = 0;
  if (!rt_readable(address, width)) return false;
  for (unsigned i = 0; i < width; i++) /* it need not be aligned */
    value |= (uint64_t)((const volatile uint8_t *)address)[i] << 8 * i;
  *ret = extended(value, width, sign);
  return true;
}

/* --- of each thread ----------------------------------------------------------------------------------------------- */

/* Places that were found, by module of the plan: finding one means to read all relocations. */
struct known_place {
  const struct link_map *map; /* of which; stored last */
  struct rt_thread_place place;
};
static struct known_place *known_places;

void rt_variable_start(void) {
  const struct wire_location *l = rt_array(locations, struct wire_location);
  bool asked = false;
  for (uint32_t i = 0; i < rt.plan->code.n && !asked; i++)
    asked = (rt.code[i] & 0xff) == WIRE_OP_TLS;
  for (uint32_t i = 0; i < rt.plan->locations.n && !asked; i++)
    asked = l[i].kind == WIRE_AT_THREAD;
  if (asked && rt.plan->modules.n > 0) known_places = rt_map(rt.plan->modules.n * sizeof *known_places);
}

uint64_t rt_of_thread(uint32_t module, uint64_t offset) {
  const struct rt_modules *list = rt_modules_now();
  if (!list || !known_places) return 0;
  uint64_t version = rt_load(&list->version);
  const struct rt_module *m = find_module(list, module);
  const struct link_map *map = m ? m->object.map : NULL;
  if (!map || !rt_modules_same(list, version)) return 0;
  struct known_place *known = &known_places[module];
  const struct link_map *whose = rt_load(&known->map); /* before the place, which is there when the map is */
  struct rt_thread_place place = known->place;
  if (whose != map) {
    if (!rt_thread_place(map, &place)) return 0;
    if (!whose) { /* all who come here at once write the same */
      known->place = place;
      rt_store(&known->map, map);
    }
  }
  return rt_thread_at(&place, offset);
}

/* --- of functions ------------------------------------------------------------------------------------------------- */

/* The frame that a variable is in. */
struct frame {
  const struct rt_call *call;
  unsigned depth; /* of the frame, from the caller of the call */
  uint64_t pc;    /* ELF address */
  uint64_t sp, rbp, cfa;
  uint64_t bias;
  bool asked; /* `registers` are known */
  struct rt_registers registers;
};

/*
 * The innermost frame of the function, or frame number DEPTH. 1; 0 if there is none; -1 if the list of modules has
 * changed under the walk.
 */
enum { ANY_DEPTH = DEPTH_MAX };
RT_RAW static int find_frame(const struct rt_call *c, uint32_t place, unsigned wanted, struct frame *ret) {
  struct rt_walk w;
  unsigned depth = 0;
  if (!rt_walk_start(c, &w)) return 0;
  while (wanted == ANY_DEPTH ? !rt_in_range(w.modules, place, w.pc) : depth < wanted)
    if (++depth >= DEPTH_MAX || !rt_walk_up(&w)) return rt_walk_valid(&w) ? 0 : -1;
  const struct rt_module *m = rt_walk_module(&w);
  if (!m || !m->exact) return rt_walk_valid(&w) ? 0 : -1;
  *ret = (struct frame){.call = c, .depth = depth, .pc = w.pc - m->bias, .sp = w.sp, .rbp = w.rbp, .bias = m->bias};
  if (rt_walk_up(&w)) ret->cfa = w.sp; /* its caller's stack starts there */
  return rt_walk_valid(&w) ? 1 : -1;
}

static bool find_frame_surely(const struct rt_call *c, uint32_t place, unsigned wanted, struct frame *ret) {
  int found = -1;
  for (unsigned i = 0; i < REPEATS && found < 0; i++)
    found = find_frame(c, place, wanted, ret);
  return found > 0;
}

/* Do the N bytes at ADDRESS have this VALUE? */
static bool has_bytes(uint64_t address, unsigned n, int64_t value) {
  int64_t found;
  return rt_read(address, n, false, &found) && found == value;
}

/* Where the instruction of SIZE bytes at ADDRESS, whose last four are a distance from behind it, leads. */
static uint64_t leads_to(uint64_t address, unsigned size) {
  int64_t distance = 0;
  return rt_read(address + size - 4, 4, true, &distance) ? address + size + (uint64_t)distance : 0;
}

/*
 * Does the instruction that the call returns behind call the function itself, through its slot or the linker's stub? If
 * not, what it calls may have jumped to the function, with other arguments.
 */
static bool calls_itself(const struct rt_call *c) {
  uint64_t back = rt_return_address(c), slot;
  if (has_bytes(back - 6, 2, 0x15ff)) { /* call *slot(%rip) */
    slot = leads_to(back - 6, 6);
  } else if (has_bytes(back - 5, 1, 0xe8)) {
    uint64_t stub = leads_to(back - 5, 5);
    if (has_bytes(stub, 4, 0xfa1e0ff3)) stub += 4; /* endbr64 */
    if (has_bytes(stub, 1, 0xf2)) stub += 1;       /* bnd */
    if (!has_bytes(stub, 2, 0x25ff)) return false; /* jmp *slot(%rip) */
    slot = leads_to(stub, 6);
  } else {
    return false;
  }
  return slot && has_bytes(slot, 8, (int64_t)rt.entries[c->index].stub);
}

/* Registers of arguments, in order. Who makes the call has in them what the call is given. */
static bool argument_register(const struct frame *f, unsigned reg, uint64_t *ret) {
  static const uint8_t order[] = {5, 4, 1, 2, 8, 9};
  for (unsigned i = 0; i < sizeof order && f->depth == 0; i++)
    if (order[i] == reg && calls_itself(f->call)) {
      *ret = f->call->args[i];
      return true;
    }
  return false;
}

/* What REG is in the frame; false if that is not known. */
static bool register_in(struct frame *f, unsigned reg, uint64_t *ret) {
  unsigned kept = rt_kept(reg);
  if (reg == 6 || reg == 7) {
    *ret = reg == 6 ? f->rbp : f->sp;
    return true;
  }
  if (kept == RT_KEPT) return argument_register(f, reg, ret);
  for (unsigned i = 0; i < REPEATS && !f->asked; i++)
    f->asked = rt_registers(f->call, f->depth, &f->registers);
  *ret = f->registers.kept[kept];
  return f->asked && f->registers.known >> kept & 1;
}

static bool is_value(const struct wire_location *l) { return l->kind >= WIRE_IS_CFA; }

/* Where it is, or what it is if is_value says so. */
static bool locate(struct frame *f, const struct wire_location *l, uint64_t *ret) {
  uint64_t base = 0;
  switch ((enum wire_location_kind)l->kind) {
  case WIRE_AT_CFA:
  case WIRE_IS_CFA:
    base = f->cfa;
    if (base == 0) return false;
    break;
  case WIRE_AT_REGISTER:
  case WIRE_IS_REGISTER:
    if (!register_in(f, l->reg, &base)) return false;
    break;
  case WIRE_AT_STATIC:
  case WIRE_IS_STATIC:
    base = f->bias;
    break;
  case WIRE_IS_NUMBER:
    break;
  default:
    return false;
  }
  *ret = base + (uint64_t)l->offset;
  return true;
}

/* What register REG was when the frame's function was called, as its caller's frame shows it. */
static bool entered_with(const struct frame *f, const struct wire_variable *v, unsigned reg, uint64_t *ret) {
  struct frame caller = {0};
  if (v->n_entries == 0 || !find_frame_surely(f->call, 0, f->depth + 1, &caller)) return false;
  if (caller.bias != f->bias) return false; /* calls that are known are those of its own module */
  const struct wire_location *l = &rt_array(locations, struct wire_location)[v->entry];
  for (uint32_t i = 0; i < v->n_entries; i++, l++) {
    if (l->entry != reg || caller.pc < l->start || caller.pc >= l->end || !locate(&caller, l, ret)) continue;
    return is_value(l) || rt_read(*ret, 8, false, (int64_t *)ret);
  }
  return false;
}

/* The bytes of VALUE that V asks for, if they are in it. */
static bool cut(const struct wire_variable *v, const struct wire_location *l, uint64_t value, int64_t *ret) {
  uint64_t skipped = (uint64_t)v->offset - l->piece;
  if (v->width == 0 || skipped > 8 || v->width > 8 - skipped) return false;
  *ret = extended(value >> 8 * skipped, v->width, v->sign);
  return true;
}

bool rt_local(const struct rt_call *c, const struct wire_variable *v, int64_t *ret) {
  struct frame f = {0};
  if (!find_frame_surely(c, v->place, ANY_DEPTH, &f)) return false;
  const struct wire_location *l = &rt_array(locations, struct wire_location)[v->location];
  for (uint32_t i = 0; i < v->n_locations; i++, l++) {
    uint64_t found = 0;
    if (f.pc < l->start || f.pc >= l->end) continue;
    bool known = l->kind == WIRE_IS_ENTRY    ? entered_with(&f, v, l->reg, &found)
                 : l->kind == WIRE_AT_THREAD ? (found = rt_of_thread(l->module, (uint64_t)l->offset)) != 0
                                             : locate(&f, l, &found);
    if (!known) continue;
    if (l->kind == WIRE_IS_ENTRY) found += (uint64_t)l->offset;
    if (is_value(l)) return cut(v, l, found, ret);
    *ret = (int64_t)(found + (uint64_t)v->offset);
    return v->width == 0 || rt_read((uint64_t)*ret, v->width, v->sign, ret);
  }
  return false;
}
