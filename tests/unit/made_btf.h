/* SPDX-License-Identifier: Apache-2.0 */
/* Types that are made here, word by word, and the smallest kernel and module that carry them. */
#pragma once

#include <elf.h>
#include <string.h>

#include "base/base.h"

#define BTF_TEXT 0xffffffff81000000ULL

enum made_kind {
  MADE_INT = 1,
  MADE_PTR,
  MADE_ARRAY,
  MADE_STRUCT,
  MADE_UNION,
  MADE_ENUM,
  MADE_FWD,
  MADE_TYPEDEF,
  MADE_VOLATILE,
  MADE_CONST,
  MADE_RESTRICT,
  MADE_FUNC,
  MADE_FUNC_PROTO,
  MADE_VAR,
  MADE_DATASEC,
  MADE_FLOAT,
  MADE_DECL_TAG,
  MADE_TYPE_TAG,
  MADE_ENUM64,
};

/* FIRST_ID and FIRST_STRING are 0, or, for the types of a module, where those of the kernel end. */
struct made_types {
  struct text types, strings;
  uint32_t n, first_id, first_string;
};

static inline void btf_word(struct made_types *b, uint32_t v) { text_add_bytes(&b->types, &v, sizeof v); }

static inline uint32_t btf_string(struct made_types *b, const char *s) {
  if (b->strings.n == 0 && b->first_string == 0) text_add_bytes(&b->strings, "", 1);
  if (!*s) return 0;
  uint32_t at = b->first_string + (uint32_t)b->strings.n;
  text_add_bytes(&b->strings, s, strlen(s) + 1);
  return at;
}

/* N members or parameters follow, with btf_word. LINK is a type or a size. Returns its number. */
static inline uint32_t btf_type(struct made_types *b, const char *name, enum made_kind kind, uint32_t n,
                                uint32_t link) {
  btf_word(b, btf_string(b, name));
  btf_word(b, (uint32_t)kind << 24 | n);
  btf_word(b, link);
  return b->first_id + ++b->n;
}

static inline uint32_t btf_int(struct made_types *b, const char *name, uint32_t size) {
  uint32_t id = btf_type(b, name, MADE_INT, 0, size);
  btf_word(b, size * 8);
  return id;
}

static inline uint32_t btf_pointer(struct made_types *b, uint32_t to) { return btf_type(b, "", MADE_PTR, 0, to); }

static inline uint32_t btf_array(struct made_types *b, uint32_t of, uint32_t n) {
  uint32_t id = btf_type(b, "", MADE_ARRAY, 0, 0);
  btf_word(b, of);
  btf_word(b, 1);
  btf_word(b, n);
  return id;
}

/* OFFSET in bytes. */
static inline void btf_member(struct made_types *b, const char *name, uint32_t type, uint32_t offset) {
  btf_word(b, btf_string(b, name));
  btf_word(b, type);
  btf_word(b, offset * 8);
}

static inline void btf_parameter(struct made_types *b, uint32_t type) {
  btf_word(b, 0);
  btf_word(b, type);
}

/* A function type of up to two parameters; 0 is none. */
static inline uint32_t btf_proto(struct made_types *b, uint32_t returns, uint32_t one, uint32_t two) {
  uint32_t id = btf_type(b, "", MADE_FUNC_PROTO, (one != 0) + (two != 0), returns);
  if (one) btf_parameter(b, one);
  if (two) btf_parameter(b, two);
  return id;
}

/* The whole table. B can go on growing. */
static inline struct text btf_bytes(const struct made_types *b) {
  uint32_t header[6] = {0xeb9f | 1 << 16, 24, 0, (uint32_t)b->types.n, (uint32_t)b->types.n, (uint32_t)b->strings.n};
  struct text t = {0};
  text_add_bytes(&t, header, sizeof header);
  text_add_bytes(&t, b->types.at, b->types.n);
  text_add_bytes(&t, b->strings.at, b->strings.n);
  MUST(!t.failed && !b->types.failed && !b->strings.failed);
  return t;
}

static inline void btf_done(struct made_types *b) {
  text_done(&b->types);
  text_done(&b->strings);
}

/* --- the file around them ----------------------------------------------------------------------------------------- */

/* An ELF file with one function, start, and with BTF; a module if MODULE. */
static inline struct text btf_file(const void *btf, size_t n, bool module) {
  static const char names[] = "\0.text\0.BTF\0.symtab\0.strtab\0.shstrtab", strings[] = "\0start";
  uint64_t at = module ? 0 : BTF_TEXT;
  uint8_t code[16];
  memset(code, 0xc3, sizeof code);
  Elf64_Sym symbols[2] = {
      {0},
      {.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1, .st_value = at, .st_size = 16}};
  struct {
    Elf64_Ehdr h;
    Elf64_Phdr p;
    Elf64_Shdr s[6];
  } head = {0};
  const struct {
    uint32_t name, type;
    const void *bytes;
    size_t n;
  } parts[6] = {{0},
                {1, SHT_PROGBITS, code, sizeof code},
                {7, SHT_PROGBITS, btf, n},
                {12, SHT_SYMTAB, symbols, sizeof symbols},
                {20, SHT_STRTAB, strings, sizeof strings},
                {28, SHT_STRTAB, names, sizeof names}};
  struct text t = {0};
  text_add_bytes(&t, &head, sizeof head);
  for (unsigned i = 1; i < COUNT(parts); i++) {
    head.s[i] =
        (Elf64_Shdr){.sh_name = parts[i].name, .sh_type = parts[i].type, .sh_offset = t.n, .sh_size = parts[i].n};
    if (parts[i].n) text_add_bytes(&t, parts[i].bytes, parts[i].n);
  }
  head.s[1].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  head.s[1].sh_addr = at;
  head.s[3].sh_link = 4;
  head.s[3].sh_entsize = sizeof symbols[0];
  head.p = (Elf64_Phdr){PT_LOAD, PF_R | PF_X, head.s[1].sh_offset, at, 0, sizeof code, sizeof code, 1};
  head.h = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                        .e_type = module ? ET_REL : ET_EXEC,
                        .e_machine = EM_X86_64,
                        .e_version = EV_CURRENT,
                        .e_phoff = sizeof head.h,
                        .e_shoff = sizeof head.h + sizeof head.p,
                        .e_ehsize = sizeof head.h,
                        .e_phentsize = sizeof head.p,
                        .e_phnum = 1,
                        .e_shentsize = sizeof head.s[0],
                        .e_shnum = COUNT(head.s),
                        .e_shstrndx = 5};
  MUST(!t.failed);
  memcpy(t.at, &head, sizeof head);
  return t;
}
