/* SPDX-License-Identifier: Apache-2.0 */
/* Side effects of a fault: behind arguments, in variables, in the flags of a stream. */
#include "side.h"

#include "link.h"
#include "object.h"
#include "scope.h"
#include "system.h"
#include "words.h"

static uint64_t argument(const struct rt_call *c, uint32_t i) { return i < 6 ? c->args[i] : c->sp[1 + i - 6]; }

static void store(uint64_t at, unsigned width, int64_t value) {
  switch (width) {
  case 1:
    *(volatile uint8_t *)at = (uint8_t)value;
    break;
  case 2:
    *(volatile uint16_t *)at = (uint16_t)value;
    break;
  case 4:
    *(volatile uint32_t *)at = (uint32_t)value;
    break;
  default:
    *(volatile uint64_t *)at = (uint64_t)value;
  }
}

static const char *last_component(const char *path) {
  const char *last = path;
  for (; *path; path++)
    if (*path == '/') last = path + 1;
  return last;
}

/* Is M the module of the plan? */
static bool is_module(const struct link_map *m, uint32_t module) {
  const struct wire_module *w = &rt_array(modules, struct wire_module)[module];
  if (w->flags & WIRE_PROGRAM) return m == rt_link_first();
  const char *wanted = rt_text(w->name), *name = m->l_name ? m->l_name : "";
  return *name && (rt_same(name, wanted) || rt_same(last_component(name), last_component(wanted)));
}

/*
 * Where a side effect is. What is found at the start stays there; what comes with a library that is opened later is
 * looked for each time, since it may be gone or there may be several, as the caller sees them.
 */
enum where { NOWHERE, ADDRESS, FUNCTION /* that says where */, FROM_THREAD, IN_BLOCK /* of a module's variables */ };
struct place {
  uint32_t where, block;
  uint64_t at;
};
static struct place *places; /* one for each side of the plan */

/* Blocks of thread-local variables by module, as libc's thread structure points to them; [-1] says how many. */
struct thread_block {
  uint64_t at, to_free;
};

static uint64_t relocations_size(const struct link_map *m) {
  for (const Elf64_Dyn *d = m->l_ld; d && d->d_tag != DT_NULL; d++)
    if (d->d_tag == DT_RELASZ) return d->d_un.d_val;
  return 0;
}

/*
 * The thread's variables of a module: the loader's number of the module, or their distance from the thread pointer, is
 * what it has stored for the module's own relocations.
 */
static struct place thread_place(const struct link_map *m, uint64_t offset) {
  const Elf64_Rela *r = (const void *)rt_link_table(m, DT_RELA);
  const Elf64_Sym *symbols = (const void *)rt_link_table(m, DT_SYMTAB);
  uint64_t n = r ? relocations_size(m) / sizeof *r : 0;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t type = ELF64_R_TYPE(r[i].r_info), symbol = ELF64_R_SYM(r[i].r_info);
    if (symbol != 0 && (!symbols || symbols[symbol].st_shndx == SHN_UNDEF)) continue;
    uint64_t stored = *(const uint64_t *)(m->l_addr + r[i].r_offset);
    uint64_t own = symbol != 0 ? symbols[symbol].st_value : 0;
    if (type == R_X86_64_TPOFF64)
      return (struct place){.where = FROM_THREAD, .at = stored - own - (uint64_t)r[i].r_addend + offset};
    if (type == R_X86_64_DTPMOD64) return (struct place){.where = IN_BLOCK, .block = (uint32_t)stored, .at = offset};
  }
  return (struct place){.where = NOWHERE};
}

/* One side effect that is looked for, object by object. */
struct search {
  const struct wire_side *side;
  struct place place;
  struct rt_symbol function;
};

static bool says_where(const struct wire_side *s) { return s->kind == WIRE_SIDE_TLS && s->name != 0; }

static bool look_in(const struct link_map *m, void *context) {
  struct search *x = context;
  const struct wire_side *s = x->side;
  if (s->name != 0) {
    struct rt_symbol found = rt_link_find(m, rt_text(s->name), NULL);
    if (found.address == 0) return false;
    if (says_where(s)) x->function = found;
    x->place = (struct place){.where = says_where(s) ? FUNCTION : ADDRESS, .at = found.address};
  } else if (is_module(m, s->module)) {
    x->place = s->kind == WIRE_SIDE_TLS ? thread_place(m, s->offset)
                                        : (struct place){.where = ADDRESS, .at = m->l_addr + s->offset};
  }
  return x->place.where != NOWHERE;
}

static struct place found(const struct search *x) {
  struct place p = x->place;
  if (p.where == FUNCTION) p.at = rt_link_resolved(x->function);
  return p;
}

/* The program may have a copy of a library's variable, and that counts. But functions are the real ones. */
static struct place find_at_start(const struct wire_side *s) {
  struct search x = {.side = s};
  const struct link_map *shim = rt_link_shim(), *m = says_where(s) && shim ? shim->l_next : rt_link_first();
  while (m && !look_in(m, &x))
    m = m->l_next;
  return found(&x);
}

static bool has_variable(const struct wire_side *s) {
  return s->kind == WIRE_SIDE_GLOBAL || s->kind == WIRE_SIDE_TLS || (s->kind == WIRE_SIDE_STREAM && s->name != 0);
}

void rt_side_start(void) {
  uint32_t n = rt.plan->sides.n;
  const struct wire_side *s = rt_array(sides, struct wire_side);
  places = n > 0 ? rt_map(n * sizeof *places) : NULL;
  for (uint32_t i = 0; places && i < n; i++)
    if (has_variable(&s[i])) places[i] = find_at_start(&s[i]);
}

/* As the caller sees it, else as the function itself does. */
static struct place find_now(const struct rt_call *c, const struct wire_side *s) {
  struct search x = {.side = s};
  struct rt_object caller = rt_object_at(rt_return_address(c) - 1);
  if (!rt_scope_each(caller.map, look_in, &x)) {
    struct rt_object real = rt_object_at(c->real);
    if (real.map) (void)rt_scope_each(real.map, look_in, &x);
  }
  return found(&x);
}

/* 0 if it is not there. */
static uint64_t variable(const struct rt_call *c, const struct wire_side *s) {
  struct place p = places ? places[s - rt_array(sides, struct wire_side)] : (struct place){0};
  if (p.where == NOWHERE) p = find_now(c, s);
  switch ((enum where)p.where) {
  case ADDRESS:
    return p.at;
  case FUNCTION:
    return ((uint64_t(*)(void))p.at)() + s->offset;
  case FROM_THREAD:
    return rt_thread_pointer() + p.at;
  case IN_BLOCK: {
    const struct thread_block *blocks = *(const struct thread_block *const *)(rt_thread_pointer() + 8);
    bool there = p.block <= blocks[-1].at && blocks[p.block].at != UINT64_MAX;
    return there ? blocks[p.block].at + p.at : 0;
  }
  case NOWHERE:
    break;
  }
  return 0;
}

/*
 * A FILE starts with its flags, 32 bits; of its pointers, the fourth is where unwritten bytes begin, the fifth their
 * end.
 */
static void set_flags(uint64_t stream, int64_t bits) {
  volatile uint64_t *words = (volatile uint64_t *)stream;
  *(volatile uint32_t *)stream |= (uint32_t)bits;
  if (bits & WIRE_STREAM_EMPTIED) words[5] = words[4];
}

bool rt_side(const struct rt_call *c, const struct wire_side *s) {
  uint64_t at = has_variable(s) ? variable(c, s) : argument(c, s->argument);
  if (at != 0 && s->kind == WIRE_SIDE_STREAM && s->name != 0) at = *(const uint64_t *)at;
  if (at == 0) return false;
  if (s->kind == WIRE_SIDE_STREAM)
    set_flags(at, s->value);
  else
    store(s->kind == WIRE_SIDE_ARG ? at + s->offset : at, s->width, s->value);
  return true;
}
