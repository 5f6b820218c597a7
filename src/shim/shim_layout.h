/* SPDX-License-Identifier: Apache-2.0 */
/* What the writers of the shim's parts share: where each part is. Addresses in the file and in memory are the same. */
#pragma once

#include "shim.h"

#define STUB_SIZE 16
#define GATE_SIZE 16
#define COUNT_SIZE 64
#define INIT_SIZE 32

/* Addresses of code and data that the machine code refers to. */
struct shim_code {
  uint64_t text;    /* stubs, gates, counting code, initialiser */
  uint64_t shim;    /* struct wire_shim */
  uint64_t entries; /* struct wire_entry[n] */
  uint32_t n;
};

static inline uint64_t code_stub(const struct shim_code *c, uint32_t i) { return c->text + (uint64_t)STUB_SIZE * i; }
static inline uint64_t code_gate(const struct shim_code *c, uint32_t i) {
  return code_stub(c, c->n) + (uint64_t)GATE_SIZE * i;
}
static inline uint64_t code_count(const struct shim_code *c, uint32_t i) {
  return code_gate(c, c->n) + (uint64_t)COUNT_SIZE * i;
}
static inline uint64_t code_init(const struct shim_code *c) { return code_count(c, c->n); }
static inline uint64_t code_end(const struct shim_code *c) { return code_init(c) + INIT_SIZE; }

/* Appends the machine code, from c->text to code_end(c). */
void shim_code(const struct shim_code *c, struct text *out);

/* --- symbols ------------------------------------------------------------------------------------------------------ */

/* A symbol of the shim; `function` is an index in the plan, or one of these. */
enum { SYMBOL_SHIM = -1, SYMBOL_ENTER = -2, SYMBOL_START = -3 };
struct shim_symbol {
  const char *name, *version; /* version: NULL if it stands for all of them */
  int64_t function;
  bool later; /* has no value until the runtime gives it one */
  uint32_t hash;
  uint32_t string; /* its name in the table of strings */
  bool hidden;     /* not what a reference without a version means */
};

/* All symbols in the order of the symbol table (the null symbol is not among them), and the tables about them. */
struct shim_symbols {
  VEC(struct shim_symbol) of;
  uint32_t imported; /* how many of the first are undefined */
  struct text strings, hash, versym, verdef;
  uint32_t n_versions;   /* in verdef; 0 if no symbol has a version */
  uint32_t needed;       /* string: path of the runtime */
  VEC(uint32_t) plugins; /* strings: paths of the plan's plugins, once each */
};

#define SYMBOL_ENTER_INDEX 1
#define SYMBOL_START_INDEX 2

int shim_symbols_make(struct shim_symbols *s, const struct wire_plan *plan, const char *runtime) MUST_USE;
/* Appends the symbol table. */
void shim_symbols_table(const struct shim_symbols *s, const struct shim_code *c, struct text *out);
void shim_symbols_done(struct shim_symbols *s);
