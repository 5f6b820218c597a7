/* SPDX-License-Identifier: Apache-2.0 */
/* Side effects of a fault: behind arguments, in variables, in the flags of a stream. */
#include "side.h"

#include "link.h"
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

/* The object that a module of the plan is; NULL if it is not there. */
static const struct link_map *module_map(uint32_t module) {
  const struct wire_module *w = &rt_array(modules, struct wire_module)[module];
  const struct link_map *m = rt_link_first();
  if (w->flags & WIRE_PROGRAM) return m;
  const char *wanted = rt_text(w->name), *last = wanted;
  for (const char *s = wanted; *s; s++)
    last = *s == '/' ? s + 1 : last;
  for (; m; m = m->l_next) {
    const char *name = m->l_name ? m->l_name : "", *end = name;
    for (const char *s = name; *s; s++)
      end = *s == '/' ? s + 1 : end;
    if (*end && (rt_same(name, wanted) || rt_same(end, last))) return m;
  }
  return NULL;
}

/*
 * Where a side effect is, as found at the start: walking the loader's list later could meet another thread that closes
 * a library.
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

static struct place find_place(const struct wire_side *s) {
  struct place p = {.where = NOWHERE};
  bool function = s->kind == WIRE_SIDE_TLS && s->name != 0;
  if (s->kind == WIRE_SIDE_ARG || (s->kind == WIRE_SIDE_STREAM && s->name == 0)) return p;
  if (s->name != 0) {
    /* The program may have a copy of a library's variable, and that counts. But of functions it is the real one. */
    p.at = function ? rt_link_real(rt_text(s->name), NULL) : rt_link_any(rt_text(s->name));
    p.where = p.at == 0 ? NOWHERE : function ? FUNCTION : ADDRESS;
    return p;
  }
  const struct link_map *m = module_map(s->module);
  if (m && s->kind == WIRE_SIDE_TLS) return thread_place(m, s->offset);
  return m ? (struct place){.where = ADDRESS, .at = m->l_addr + s->offset} : p;
}

void rt_side_start(void) {
  uint32_t n = rt.plan->sides.n;
  places = n > 0 ? rt_map(n * sizeof *places) : NULL;
  for (uint32_t i = 0; places && i < n; i++)
    places[i] = find_place(&rt_array(sides, struct wire_side)[i]);
}

static uint64_t variable(const struct wire_side *s) {
  struct place *p = places ? &places[s - rt_array(sides, struct wire_side)] : NULL;
  /* Its library may have been opened since. */
  if (p && p->where == NOWHERE && rt_link_settled()) *p = find_place(s);
  if (!p) return 0;
  switch ((enum where)p->where) {
  case ADDRESS:
    return p->at;
  case FUNCTION:
    return ((uint64_t(*)(void))p->at)() + s->offset;
  case FROM_THREAD:
    return rt_thread_pointer() + p->at;
  case IN_BLOCK: {
    const struct thread_block *blocks = *(const struct thread_block *const *)(rt_thread_pointer() + 8);
    bool there = p->block <= blocks[-1].at && blocks[p->block].at != UINT64_MAX;
    return there ? blocks[p->block].at + p->at : 0;
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
  if (stream == 0) return;
  volatile uint64_t *words = (volatile uint64_t *)stream;
  *(volatile uint32_t *)stream |= (uint32_t)bits;
  if (bits & WIRE_STREAM_EMPTIED) words[5] = words[4];
}

void rt_side(const struct rt_call *c, const struct wire_side *s) {
  uint64_t at = 0;
  switch (s->kind) {
  case WIRE_SIDE_ARG:
    at = argument(c, s->argument);
    at = at != 0 ? at + s->offset : 0;
    break;
  case WIRE_SIDE_GLOBAL:
  case WIRE_SIDE_TLS:
    at = variable(s);
    break;
  case WIRE_SIDE_STREAM:
    at = s->name == 0 ? argument(c, s->argument) : variable(s);
    if (s->name != 0 && at != 0) at = *(const uint64_t *)at;
    set_flags(at, s->value);
    return;
  }
  if (at != 0) store(at, s->width, s->value);
}
