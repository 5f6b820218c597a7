/* SPDX-License-Identifier: Apache-2.0 */
/* Side effects of a fault: behind arguments, in variables, in the flags of a stream. */
#include "side.h"

#include "link.h"
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

/* Blocks of thread-local variables by module, as libc's thread structure points to them; [-1] says how many. */
struct thread_block {
  uint64_t at, to_free;
};

static uint64_t thread_pointer(void) {
  uint64_t p;
  __asm__("mov %%fs:0, %0" : "=r"(p));
  return p;
}

/*
 * Where the thread's copy of the module's variables is; 0 if it has none yet. The loader's number of the module, or the
 * distance from the thread pointer, is what it has stored for the module's own relocations.
 */
static uint64_t thread_variables(const struct link_map *m) {
  const Elf64_Rela *r = (const void *)rt_link_table(m, DT_RELA);
  uint64_t size = 0;
  for (const Elf64_Dyn *d = m->l_ld; d && d->d_tag != DT_NULL; d++)
    if (d->d_tag == DT_RELASZ) size = d->d_un.d_val;
  const Elf64_Sym *symbols = (const void *)rt_link_table(m, DT_SYMTAB);
  for (uint64_t i = 0; r && i < size / sizeof *r; i++) {
    uint64_t type = ELF64_R_TYPE(r[i].r_info), symbol = ELF64_R_SYM(r[i].r_info);
    if (symbol != 0 && (!symbols || symbols[symbol].st_shndx == SHN_UNDEF)) continue;
    uint64_t stored = *(const uint64_t *)(m->l_addr + r[i].r_offset);
    uint64_t own = symbol != 0 ? symbols[symbol].st_value : 0;
    if (type == R_X86_64_TPOFF64) return thread_pointer() + stored - (own + (uint64_t)r[i].r_addend);
    if (type == R_X86_64_DTPMOD64) {
      const struct thread_block *blocks = *(const struct thread_block *const *)(thread_pointer() + 8);
      bool there = stored <= blocks[-1].at && blocks[stored].at != UINT64_MAX;
      return there ? blocks[stored].at : 0;
    }
  }
  return 0;
}

static uint64_t variable(const struct wire_side *s) {
  /* The program may have a copy of a library's variable, which is the one that counts. But of functions the real one. */
  if (s->name != 0 && s->kind == WIRE_SIDE_TLS) return rt_link_real(rt_text(s->name), NULL);
  if (s->name != 0) return rt_link_any(rt_text(s->name));
  const struct link_map *m = module_map(s->module);
  if (!m) return 0;
  if (s->kind == WIRE_SIDE_GLOBAL) return m->l_addr + s->offset;
  uint64_t block = thread_variables(m);
  return block != 0 ? block + s->offset : 0;
}

/* A FILE starts with its flags, 32 bits. */
static void set_flags(uint64_t stream, int64_t bits) {
  if (stream != 0) *(volatile uint32_t *)stream |= (uint32_t)bits;
}

void rt_side(const struct rt_call *c, const struct wire_side *s) {
  uint64_t at = 0;
  switch (s->kind) {
  case WIRE_SIDE_ARG:
    at = argument(c, s->argument);
    at = at != 0 ? at + s->offset : 0;
    break;
  case WIRE_SIDE_GLOBAL:
    at = variable(s);
    break;
  case WIRE_SIDE_TLS:
    at = variable(s);
    /* A function that says where the thread's variable is, as __errno_location does. */
    if (s->name != 0 && at != 0) at = ((uint64_t(*)(void))at)() + s->offset;
    break;
  case WIRE_SIDE_STREAM:
    at = s->name == 0 ? argument(c, s->argument) : variable(s);
    if (s->name != 0 && at != 0) at = *(const uint64_t *)at;
    set_flags(at, s->value);
    return;
  }
  if (at != 0) store(at, s->width, s->value);
}
