/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the shim together: three segments (read, execute, write), each at the address that is its offset in the file.
 *
 * There are no sections: the loader needs none. Unwinding through a stub is told by one .eh_frame entry, and the note
 * says that the code is fit for indirect branch tracking and shadow stacks, or the loader would turn those off.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "shim_layout.h"

#define PAGE 4096
#define RELOCATIONS_OF_ENTRY 5
#define RELOCATIONS_OF_SHIM 5 /* enter, start, plan, entries, the initialiser's address */
#define HEADERS 8
#define MAX_DYNAMIC 20

struct note {
  Elf64_Nhdr head;
  char name[4];
  uint32_t type, size, value, pad;
};

/* Where everything is. */
struct layout {
  struct shim_code code;
  uint64_t note, symbols, strings, hash, versym, verdef, relocations, frames_head, frames, plan, read_end;
  uint64_t dynamic, init, end;
  uint64_t n_relocations;
};

static uint64_t align(uint64_t at, uint64_t to) { return (at + to - 1) / to * to; }

/* A part of SIZE bytes at the next multiple of 16. */
static uint64_t take(uint64_t *at, uint64_t size) {
  uint64_t start = align(*at, 16);
  *at = start + size;
  return start;
}

/* CIE, FDE and the end of a .eh_frame that says of all code: the return address is on top of the stack. */
struct frames {
  struct {
    uint32_t length, id;
    uint8_t version;
    char augmentation[3];
    uint8_t code_align, data_align, return_register, augmentation_length, encoding, rules[7];
  } cie;
  struct {
    uint32_t length, cie;
    int32_t start;
    uint32_t size;
    uint8_t augmentation_length, rules[7];
  } fde;
  uint32_t end;
};

struct frames_head {
  uint8_t version, pointer_encoding, count_encoding, table_encoding;
  int32_t frames;
  uint32_t count;
  int32_t start, fde;
};

static void lay_out(struct layout *l, const struct shim_symbols *s, uint32_t n, size_t plan) {
  uint64_t at = sizeof(Elf64_Ehdr) + HEADERS * sizeof(Elf64_Phdr);
  l->n_relocations = RELOCATIONS_OF_SHIM + (uint64_t)RELOCATIONS_OF_ENTRY * n;
  l->note = take(&at, sizeof(struct note));
  l->strings = take(&at, s->strings.n);
  l->hash = take(&at, s->hash.n);
  l->versym = take(&at, s->versym.n);
  l->verdef = take(&at, s->verdef.n);
  l->relocations = take(&at, l->n_relocations * sizeof(Elf64_Rela));
  l->frames_head = take(&at, sizeof(struct frames_head));
  l->frames = take(&at, sizeof(struct frames));
  l->plan = take(&at, plan);
  l->read_end = at;
  l->code.n = n;
  l->code.text = align(at, PAGE);
  at = align(code_end(&l->code), PAGE);
  l->dynamic = take(&at, (MAX_DYNAMIC + s->plugins.n) * sizeof(Elf64_Dyn));
  l->init = take(&at, sizeof(uint64_t));
  l->code.shim = take(&at, sizeof(struct wire_shim));
  /* On cache lines of their own, since the jumps of all threads read them. */
  at = align(at, 64);
  l->code.entries = take(&at, n * sizeof(struct wire_entry));
  l->symbols = take(&at, (s->of.n + 1) * sizeof(Elf64_Sym));
  l->end = at;
}

static void fill(struct text *out, size_t first, uint64_t until) {
  static const char zeros[PAGE];
  while (!out->failed && out->n - first < until) {
    uint64_t missing = until - (out->n - first);
    text_add_bytes(out, zeros, missing < PAGE ? missing : PAGE);
  }
}

static Elf64_Phdr header(uint32_t type, uint32_t flags, uint64_t at, uint64_t end, uint64_t alignment) {
  return (Elf64_Phdr){.p_type = type,
                      .p_flags = flags,
                      .p_offset = at,
                      .p_vaddr = at,
                      .p_paddr = at,
                      .p_filesz = end - at,
                      .p_memsz = end - at,
                      .p_align = alignment};
}

static void write_headers(const struct layout *l, struct text *out) {
  Elf64_Ehdr e = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                  .e_type = ET_DYN,
                  .e_machine = EM_X86_64,
                  .e_version = EV_CURRENT,
                  .e_phoff = sizeof e,
                  .e_ehsize = sizeof e,
                  .e_phentsize = sizeof(Elf64_Phdr),
                  .e_phnum = HEADERS,
                  .e_shentsize = sizeof(Elf64_Shdr)};
  const Elf64_Phdr p[HEADERS] = {
      header(PT_LOAD, PF_R, 0, l->read_end, PAGE),
      header(PT_LOAD, PF_R | PF_X, l->code.text, code_end(&l->code), PAGE),
      header(PT_LOAD, PF_R | PF_W, align(code_end(&l->code), PAGE), l->end, PAGE),
      header(PT_DYNAMIC, PF_R | PF_W, l->dynamic, l->init, 8),
      header(PT_NOTE, PF_R, l->note, l->note + sizeof(struct note), 8),
      header(PT_GNU_PROPERTY, PF_R, l->note, l->note + sizeof(struct note), 8),
      header(PT_GNU_EH_FRAME, PF_R, l->frames_head, l->frames_head + sizeof(struct frames_head), 4),
      header(PT_GNU_STACK, PF_R | PF_W, 0, 0, 16),
  };
  text_add_bytes(out, &e, sizeof e);
  text_add_bytes(out, p, sizeof p);
}

static void write_note(struct text *out) {
  const struct note n = {.head = {.n_namesz = 4, .n_descsz = 16, .n_type = NT_GNU_PROPERTY_TYPE_0},
                         .name = "GNU",
                         .type = GNU_PROPERTY_X86_FEATURE_1_AND,
                         .size = 4,
                         .value = GNU_PROPERTY_X86_FEATURE_1_IBT | GNU_PROPERTY_X86_FEATURE_1_SHSTK};
  text_add_bytes(out, &n, sizeof n);
}

static void relocate(struct text *out, uint64_t at, uint32_t type, uint32_t symbol, uint64_t addend) {
  Elf64_Rela r = {.r_offset = at, .r_info = ELF64_R_INFO((uint64_t)symbol, type), .r_addend = (int64_t)addend};
  text_add_bytes(out, &r, sizeof r);
}

/* Where each function's symbol has its value. */
static void relocate_values(const struct layout *l, const struct shim_symbols *s, struct text *out) {
  for (size_t i = 0; i < s->of.n; i++) {
    if (s->of.at[i].function < 0) continue;
    uint64_t entry = l->code.entries + (uint64_t)s->of.at[i].function * sizeof(struct wire_entry);
    uint64_t value = l->symbols + (i + 1) * sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_value);
    relocate(out, entry + offsetof(struct wire_entry, value), R_X86_64_RELATIVE, 0, value);
  }
}

static void write_relocations(const struct layout *l, const struct shim_symbols *s, struct text *out) {
  const struct shim_code *c = &l->code;
  relocate(out, l->init, R_X86_64_RELATIVE, 0, code_init(c));
  relocate(out, c->shim + offsetof(struct wire_shim, plan), R_X86_64_RELATIVE, 0, l->plan);
  relocate(out, c->shim + offsetof(struct wire_shim, entries), R_X86_64_RELATIVE, 0, c->entries);
  for (uint32_t i = 0; i < c->n; i++) {
    uint64_t entry = c->entries + i * sizeof(struct wire_entry);
    relocate(out, entry + offsetof(struct wire_entry, target), R_X86_64_RELATIVE, 0, code_gate(c, i));
    relocate(out, entry + offsetof(struct wire_entry, stub), R_X86_64_RELATIVE, 0, code_stub(c, i));
    relocate(out, entry + offsetof(struct wire_entry, gate), R_X86_64_RELATIVE, 0, code_gate(c, i));
    relocate(out, entry + offsetof(struct wire_entry, count), R_X86_64_RELATIVE, 0, code_count(c, i));
  }
  relocate_values(l, s, out);
  relocate(out, c->shim + offsetof(struct wire_shim, enter), R_X86_64_64, SYMBOL_ENTER_INDEX, 0);
  relocate(out, c->shim + offsetof(struct wire_shim, start), R_X86_64_64, SYMBOL_START_INDEX, 0);
}

static void write_frames(const struct layout *l, struct text *out, size_t first) {
  struct frames f = {
      .cie = {.length = sizeof f.cie - 4,
              .version = 1,
              .augmentation = "zR",
              .code_align = 1,
              .data_align = 0x78, /* -8 */
              .return_register = 16,
              .augmentation_length = 1,
              .encoding = 0x1b,                /* relative, 4 bytes */
              .rules = {0x0c, 7, 8, 0x90, 1}}, /* CFA is rsp + 8; the return address is 8 below it */
      .fde = {.length = sizeof f.fde - 4,
              .cie = offsetof(struct frames, fde.cie),
              .size = (uint32_t)(code_end(&l->code) - l->code.text)},
  };
  f.fde.start = (int32_t)(l->code.text - (l->frames + offsetof(struct frames, fde.start)));
  struct frames_head h = {
      .version = 1, .pointer_encoding = 0x1b, .count_encoding = 0x03, .table_encoding = 0x3b, .count = 1};
  h.frames = (int32_t)(l->frames - (l->frames_head + offsetof(struct frames_head, frames)));
  h.start = (int32_t)(l->code.text - l->frames_head);
  h.fde = (int32_t)(l->frames + offsetof(struct frames, fde) - l->frames_head);
  text_add_bytes(out, &h, sizeof h);
  fill(out, first, l->frames);
  text_add_bytes(out, &f, sizeof f);
}

static void write_dynamic(const struct layout *l, const struct shim_symbols *s, struct text *out) {
  Elf64_Dyn d[MAX_DYNAMIC] = {
      {DT_NEEDED, {s->needed}},
      {DT_INIT_ARRAY, {l->init}},
      {DT_INIT_ARRAYSZ, {sizeof(uint64_t)}},
      {DT_GNU_HASH, {l->hash}},
      {DT_STRTAB, {l->strings}},
      {DT_STRSZ, {s->strings.n}},
      {DT_SYMTAB, {l->symbols}},
      {DT_SYMENT, {sizeof(Elf64_Sym)}},
      {DT_RELA, {l->relocations}},
      {DT_RELASZ, {l->n_relocations * sizeof(Elf64_Rela)}},
      {DT_RELAENT, {sizeof(Elf64_Rela)}},
      {DT_RELACOUNT, {l->n_relocations - 2}},
  };
  if (s->n_versions > 0) {
    d[12] = (Elf64_Dyn){DT_VERSYM, {l->versym}};
    d[13] = (Elf64_Dyn){DT_VERDEF, {l->verdef}};
    d[14] = (Elf64_Dyn){DT_VERDEFNUM, {s->n_versions}};
  }
  /* Behind the runtime, which therefore comes before them. */
  text_add_bytes(out, d, sizeof d[0]);
  for (size_t i = 0; i < s->plugins.n; i++) {
    Elf64_Dyn plugin = {DT_NEEDED, {s->plugins.at[i]}};
    text_add_bytes(out, &plugin, sizeof plugin);
  }
  text_add_bytes(out, d + 1, sizeof d - sizeof d[0]);
}

/*
 * What the file holds of the data; all addresses in it are filled in by relocations. The symbols are there because the
 * runtime shows and hides them.
 */
static void write_data(const struct layout *l, const struct shim_symbols *s, size_t plan, struct text *out,
                       size_t first) {
  fill(out, first, l->code.shim);
  struct wire_shim shim = {.magic = WIRE_SHIM_MAGIC, .version = WIRE_VERSION, .n = l->code.n, .plan_size = plan};
  text_add_bytes(out, &shim, sizeof shim);
  fill(out, first, l->symbols);
  shim_symbols_table(s, &l->code, out);
  fill(out, first, l->end);
}

static void write_all(const struct layout *l, const struct shim_symbols *s, const void *plan, size_t size,
                      struct text *out) {
  size_t first = out->n;
  write_headers(l, out);
  fill(out, first, l->note);
  write_note(out);
  fill(out, first, l->strings);
  text_add_bytes(out, s->strings.at, s->strings.n);
  fill(out, first, l->hash);
  text_add_bytes(out, s->hash.at, s->hash.n);
  fill(out, first, l->versym);
  text_add_bytes(out, s->versym.at, s->versym.n);
  fill(out, first, l->verdef);
  text_add_bytes(out, s->verdef.at, s->verdef.n);
  fill(out, first, l->relocations);
  write_relocations(l, s, out);
  fill(out, first, l->frames_head);
  write_frames(l, out, first);
  fill(out, first, l->plan);
  text_add_bytes(out, plan, size);
  fill(out, first, l->code.text);
  shim_code(&l->code, out);
  fill(out, first, l->dynamic);
  write_dynamic(l, s, out);
  write_data(l, s, size, out, first);
}

int shim_write(const void *plan, size_t size, const char *runtime, struct text *ret, struct err *e) {
  const char *bad = wire_plan_check(plan, size);
  if (bad) return err_set(e, -EINVAL, "the plan cannot be used: %s", bad);
  if (size > INT32_MAX / 2) return err_set(e, -E2BIG, "the plan is too large: %zu bytes", size);
  const struct wire_plan *p = plan;
  struct shim_symbols symbols = {0};
  int r = shim_symbols_make(&symbols, p, runtime);
  if (r == 0) {
    struct layout l = {0};
    lay_out(&l, &symbols, p->functions.n, size);
    write_all(&l, &symbols, plan, size, ret);
    if (ret->failed) r = -ENOMEM;
  }
  shim_symbols_done(&symbols);
  return r < 0 ? err_set(e, r, "no memory for the shim") : 0;
}
