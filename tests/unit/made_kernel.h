/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel that is made here, byte by byte: an ELF file with code, constants, and kallsyms tables in each of the forms
 * that kernels have had; and a bzImage around it.
 */
#pragma once

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

#define MADE_TEXT 0xffffffff81000000ULL
#define MADE_RODATA 0xffffffff82000000ULL
#define MADE_DATA 0xffffffff83000000ULL

enum { MADE_FUNCTIONS = 1100, MADE_TEXT_SIZE = MADE_FUNCTIONS * 16 + 256, MADE_DATA_SIZE = 4096, MADE_LONG = 200 };

/* The forms of the tables, by the first kernel that has them. */
enum made_form {
  MADE_ABSOLUTE,     /* before 4.6, and later where the configuration says so */
  MADE_BASE,         /* offsets from a base, as without CONFIG_SMP */
  MADE_5_10,         /* the same with variables of a processor */
  MADE_6_1,          /* long names */
  MADE_6_2,          /* a table of names in order between markers and tokens */
  MADE_6_4,          /* offsets moved to the end */
  MADE_7_0,          /* offsets from their own place, tables at multiples of 4 */
  MADE_NO_KALLSYMS,  /* symbols are in .symtab */
  MADE_NO_ADDRESSES, /* none that fit */
};

struct made {
  struct text file;
  uint64_t banner, rodata_end; /* addresses */
};

static const char made_banner[] = "Linux version 6.1.0-made (nobody@nowhere) (cc) #1 SMP Made";
static const char made_btf[] = "\x9f\xeb\x01\0\x18\0\0\0";

struct made_symbol {
  uint64_t address;
  char type;
  char name[MADE_LONG + 16];
};
typedef VEC(struct made_symbol) made_symbols;

static inline void made_add(made_symbols *list, uint64_t address, char type, const char *name) {
  struct made_symbol *s = vec_more(list);
  MUST(s);
  s->address = address;
  s->type = type;
  (void)snprintf(s->name, sizeof s->name, "%s", name);
}

/* In the order of their addresses. The function number I is at its 16 bytes; the first ones have names to look for. */
static inline made_symbols made_list(const struct made *k, enum made_form form) {
  made_symbols list = {0};
  char name[MADE_LONG + 16];
  if (form != MADE_ABSOLUTE && form != MADE_BASE) made_add(&list, 0x140, 'A', "cpu_number");
  made_add(&list, MADE_TEXT, 'T', "startup_64");
  made_add(&list, MADE_TEXT, 'T', "_stext");
  made_add(&list, MADE_TEXT, 'T', "_text");
  made_add(&list, MADE_TEXT + 16, 'T', "__x64_sys_read");
  made_add(&list, MADE_TEXT + 16, 'T', "__ia32_sys_read");
  made_add(&list, MADE_TEXT + 32, 't', "twice");
  made_add(&list, MADE_TEXT + 48, 'T', "twice");
  made_add(&list, MADE_TEXT + 64, 'W', "__x64_sys_none");
  made_add(&list, MADE_TEXT + 64, 'T', "sys_ni_syscall");
  made_add(&list, MADE_TEXT + 80, 't', "__pfx_padded");
  made_add(&list, MADE_TEXT + 96, 't', "padded");
  memset(name, 'l', MADE_LONG);
  name[MADE_LONG] = 0;
  if (form >= MADE_6_1) made_add(&list, MADE_TEXT + 112, 't', name);
  for (unsigned i = 8; i < MADE_FUNCTIONS; i++) {
    (void)snprintf(name, sizeof name, "function_%u", i);
    made_add(&list, MADE_TEXT + i * 16, 't', name);
  }
  made_add(&list, MADE_TEXT + MADE_TEXT_SIZE, 'T', "_etext");
  made_add(&list, MADE_RODATA, 'D', "__start_rodata");
  made_add(&list, MADE_RODATA + 16, 'd', "table");
  made_add(&list, k->banner, 'D', "linux_banner");
  made_add(&list, k->rodata_end, 'D', "__end_rodata");
  made_add(&list, MADE_DATA, 'd', "variable");
  return list;
}

/* --- kallsyms ----------------------------------------------------------------------------------------------------- */

static inline void made_align(struct text *t, size_t to) {
  while (t->n % to)
    text_add_bytes(t, "", 1);
}

static inline void made_u32(struct text *t, uint32_t v) { text_add_bytes(t, &v, 4); }
static inline void made_u64(struct text *t, uint64_t v) { text_add_bytes(t, &v, 8); }

/* Characters stand for themselves; two codes that no name uses stand for more. */
static inline const char *made_token(unsigned i) {
  static char one[2];
  if (i == 1) return "tfunction_";
  if (i == 200) return "sys_";
  one[0] = i > 0x20 && i < 0x7f ? (char)i : 0;
  return one;
}

static inline void made_name(struct text *t, const struct made_symbol *s, bool wide) {
  char whole[MADE_LONG + 20], tokens[MADE_LONG + 20];
  size_t n = 0;
  (void)snprintf(whole, sizeof whole, "%c%s", s->type, s->name);
  for (const char *p = whole; *p;) {
    unsigned token = strncmp(p, "tfunction_", 10) == 0 ? 1 : strncmp(p, "sys_", 4) == 0 ? 200 : (unsigned char)*p;
    tokens[n++] = (char)token;
    p += strlen(made_token(token));
  }
  unsigned char count[2] = {(unsigned char)n, 0};
  if (wide && n > 127) {
    count[0] = (unsigned char)(n | 128);
    count[1] = (unsigned char)(n >> 7);
  }
  text_add_bytes(t, count, wide && n > 127 ? 2 : 1);
  text_add_bytes(t, tokens, n);
}

static inline void made_addresses(struct text *t, const made_symbols *list, enum made_form form, uint64_t at) {
  for (size_t i = 0; i < list->n; i++) {
    uint64_t a = list->at[i].address, base = MADE_TEXT;
    if (form == MADE_ABSOLUTE)
      made_u64(t, a);
    else if (form == MADE_7_0)
      made_u32(t, (uint32_t)(a - (at + t->n)));
    else if (form == MADE_BASE)
      made_u32(t, (uint32_t)(a - base));
    else if (form == MADE_NO_ADDRESSES)
      made_u32(t, 1000);
    else
      made_u32(t, a < base ? (uint32_t)a : (uint32_t)(base - 1 - a));
  }
  if (form == MADE_ABSOLUTE || form == MADE_7_0) return;
  made_align(t, 8);
  made_u64(t, MADE_TEXT);
}

static inline void made_tokens(struct text *t, size_t align) {
  uint16_t index[256];
  made_align(t, align);
  size_t start = t->n;
  for (unsigned i = 0; i < 256; i++) {
    index[i] = (uint16_t)(t->n - start);
    const char *token = made_token(i);
    text_add_bytes(t, token, strlen(token) + 1);
  }
  made_align(t, align);
  text_add_bytes(t, index, sizeof index);
}

/* T is the contents of a section at address AT so far. */
static inline void made_kallsyms(struct text *t, const made_symbols *list, enum made_form form, uint64_t at) {
  VEC(uint32_t) markers = {0};
  size_t align = form == MADE_7_0 ? 4 : 8;
  bool late = form == MADE_6_4 || form == MADE_7_0;
  made_align(t, 8);
  if (!late) made_addresses(t, list, form, at);
  made_align(t, align);
  made_u32(t, (uint32_t)list->n);
  made_align(t, align);
  size_t names = t->n;
  for (size_t i = 0; i < list->n; i++) {
    if (i % 256 == 0) MUST(vec_push(&markers, (uint32_t)(t->n - names)) == 0);
    made_name(t, &list->at[i], form >= MADE_6_1);
  }
  made_align(t, align);
  text_add_bytes(t, markers.at, markers.n * 4);
  for (size_t i = 0; form == MADE_6_2 && i < list->n; i++)
    text_add_bytes(t, &(unsigned char[]){0, (unsigned char)(i >> 8), (unsigned char)i}, 3);
  made_tokens(t, align);
  made_align(t, align);
  if (late) made_addresses(t, list, form, at);
  vec_done(&markers);
}

/* --- the ELF file ------------------------------------------------------------------------------------------------- */

enum { MADE_SECTIONS = 10 };

static inline void made_section(Elf64_Shdr *s, struct text *names, struct text *file, const char *name, uint32_t type,
                                uint64_t flags, uint64_t address, const struct text *contents) {
  made_align(file, 64);
  *s = (Elf64_Shdr){
      .sh_name = (uint32_t)names->n,
      .sh_type = type,
      .sh_flags = flags,
      .sh_addr = address,
      .sh_offset = file->n,
      .sh_size = contents->n,
      .sh_addralign = 1,
  };
  text_add_bytes(names, name, strlen(name) + 1);
  text_add_bytes(file, contents->at, contents->n);
}

static inline struct text made_symtab(const made_symbols *list, struct text *strings) {
  struct text t = {0};
  text_add_bytes(&t, &(Elf64_Sym){0}, sizeof(Elf64_Sym));
  text_add_bytes(strings, "", 1);
  for (size_t i = 0; i < list->n; i++) {
    const struct made_symbol *m = &list->at[i];
    unsigned bind = m->type == 'W' ? STB_WEAK : m->type >= 'a' ? STB_LOCAL : STB_GLOBAL;
    Elf64_Sym s = {
        .st_name = (uint32_t)strings->n,
        .st_info = ELF64_ST_INFO(bind, m->type == 't' || m->type == 'T' ? STT_FUNC : STT_NOTYPE),
        .st_shndx = m->type == 'A' ? SHN_ABS : 1,
        .st_value = m->address,
        .st_size = m->address == MADE_TEXT + 16 ? 11 : 0,
    };
    text_add_bytes(&t, &s, sizeof s);
    text_add_bytes(strings, m->name, strlen(m->name) + 1);
  }
  return t;
}

/* Constants: a table of two functions, the banner, kallsyms. */
static inline struct text made_rodata(struct made *k, enum made_form form) {
  struct text t = {0};
  text_add_bytes(&t, "0123456789abcdef", 16);
  made_u64(&t, MADE_TEXT + 16);
  made_u64(&t, MADE_TEXT + 32);
  text_add(&t, "Linux version %s: a trap");
  made_align(&t, 8);
  k->banner = MADE_RODATA + t.n;
  text_add_bytes(&t, made_banner, sizeof made_banner - 1);
  text_add_bytes(&t, "\n", 2);
  /* What kallsyms says is as long whatever the address of the end. */
  size_t before = t.n;
  for (int round = 0; form != MADE_NO_KALLSYMS && round < 2; round++) {
    made_symbols list = made_list(k, form);
    t.n = before;
    made_kallsyms(&t, &list, form, MADE_RODATA);
    k->rodata_end = MADE_RODATA + t.n;
    vec_done(&list);
  }
  k->rodata_end = MADE_RODATA + t.n;
  return t;
}

/* The file around its constants. */
static inline void made_elf(struct made *k, enum made_form form, const struct text *rodata) {
  static const char note[] = "\4\0\0\0\4\0\0\0\3\0\0\0GNU\0\xde\xad\xbe\xef";
  Elf64_Shdr s[MADE_SECTIONS] = {0};
  Elf64_Phdr p[3] = {0};
  struct text names = {0}, text = {0}, data = {0}, strings = {0}, btf = {0}, notes = {0};
  made_symbols list = made_list(k, form);
  struct text symbols = made_symtab(&list, &strings);
  text_add_bytes(&names, "", 1);
  for (unsigned i = 0; i < MADE_TEXT_SIZE; i++)
    text_add_bytes(&text, i % 16 ? "\x90" : "\xc3", 1);
  for (unsigned i = 0; i < MADE_DATA_SIZE; i++)
    text_add_bytes(&data, "d", 1);
  text_add_bytes(&btf, made_btf, sizeof made_btf);
  text_add_bytes(&notes, note, sizeof note - 1);

  struct text *f = &k->file;
  text_add_bytes(f, &(Elf64_Ehdr){0}, sizeof(Elf64_Ehdr));
  text_add_bytes(f, p, sizeof p);
  made_section(&s[1], &names, f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, MADE_TEXT, &text);
  made_section(&s[2], &names, f, ".rodata", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, MADE_RODATA, rodata);
  made_section(&s[3], &names, f, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, MADE_DATA, &data);
  made_section(&s[4], &names, f, ".data..percpu", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0, &data);
  made_section(&s[5], &names, f, ".notes", SHT_NOTE, SHF_ALLOC, MADE_RODATA + 0x800000, &notes);
  made_section(&s[6], &names, f, ".BTF", SHT_PROGBITS, SHF_ALLOC, MADE_RODATA + 0x900000, &btf);
  if (form == MADE_NO_KALLSYMS) {
    made_section(&s[7], &names, f, ".symtab", SHT_SYMTAB, 0, 0, &symbols);
    s[7].sh_link = 8;
    s[7].sh_entsize = sizeof(Elf64_Sym);
    made_section(&s[8], &names, f, ".strtab", SHT_STRTAB, 0, 0, &strings);
  }
  made_section(&s[9], &names, f, ".shstrtab", SHT_STRTAB, 0, 0, &names);
  s[9].sh_size = names.n;
  text_add_bytes(f, names.at + names.n - 10, 10);
  made_align(f, 8);

  p[0] = (Elf64_Phdr){PT_LOAD, PF_R | PF_X, s[1].sh_offset, MADE_TEXT, 0, text.n, text.n, 4096};
  p[1] = (Elf64_Phdr){PT_LOAD, PF_R | PF_X, s[2].sh_offset, MADE_RODATA, 0, rodata->n, rodata->n, 4096};
  p[2] = (Elf64_Phdr){PT_LOAD, PF_R | PF_W, s[4].sh_offset, 0, 0, data.n, data.n, 4096};
  Elf64_Ehdr h = {
      .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
      .e_type = ET_EXEC,
      .e_machine = EM_X86_64,
      .e_version = EV_CURRENT,
      .e_entry = 0x1000000,
      .e_phoff = sizeof h,
      .e_shoff = f->n,
      .e_ehsize = sizeof h,
      .e_phentsize = sizeof p[0],
      .e_phnum = COUNT(p),
      .e_shentsize = sizeof s[0],
      .e_shnum = MADE_SECTIONS,
      .e_shstrndx = 9,
  };
  text_add_bytes(f, s, sizeof s);
  MUST(!f->failed);
  memcpy(f->at, &h, sizeof h);
  memcpy(f->at + sizeof h, p, sizeof p);
  struct text *all[] = {&names, &text, &data, &strings, &btf, &notes, &symbols};
  for (size_t i = 0; i < COUNT(all); i++)
    text_done(all[i]);
  vec_done(&list);
}

static inline struct made made_kernel(enum made_form form) {
  struct made k = {0};
  struct text rodata = made_rodata(&k, form);
  made_elf(&k, form, &rodata);
  text_done(&rodata);
  return k;
}

/* --- bzImage ------------------------------------------------------------------------------------------------------ */

/* A setup part of two sectors and the payload behind some code; SIZE, if not 0, is appended to it as the build does. */
static inline struct text made_bzimage(const void *payload, size_t n, uint32_t size) {
  static const char zeros[1024 + 100];
  struct text t = {0};
  text_add_bytes(&t, zeros, sizeof zeros);
  text_add_bytes(&t, payload, n);
  if (size) made_u32(&t, size);
  MUST(!t.failed);
  uint32_t offset = 100, length = (uint32_t)(n + (size ? 4 : 0));
  uint16_t protocol = 0x20f;
  memcpy(t.at, "MZ", 2);
  t.at[0x1f1] = 1;
  memcpy(t.at + 0x1fe, "\x55\xaa", 2);
  memcpy(t.at + 0x202, "HdrS", 4);
  memcpy(t.at + 0x206, &protocol, 2);
  memcpy(t.at + 0x248, &offset, 4);
  memcpy(t.at + 0x24c, &length, 4);
  text_add_bytes(&t, "what a signature leaves", 23);
  return t;
}
