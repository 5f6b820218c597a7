/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as code: graphs, summaries and results are made of them and keep their promises.
 *
 * An input is six words of 16 bits (options, the length of the constants, four entries), then constants, then code. It
 * is put into a shared object that has what code can refer to: imports, slots of every kind, thread-local variables,
 * function symbols, one of them for a part that was moved away, and a resolver. The object stays the same size, and an
 * input that is too long is cut, so that the time for one is bounded.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "follow/follow.h"
#include "solver/solver.h"
#include "tests/fuzz/fuzz.h"

enum { CONSTANTS_AT = 0x1000, CODE_AT = 0x2000, SLOTS_AT = 0x4000, DATA_AT = 0x5000, FILE_SIZE = 0x5100 };
enum { CONSTANTS_MAX = 0x1000, CODE_MAX = 0x400, ENTRIES = 4, INPUT_HEADER = 12 };

/* Options of an input. */
enum { NAMED = 1, SIZED = 2, DEFINED = 4, TWICE = 8, IFUNC = 16, SHORT = 32 };

struct input {
  unsigned options;
  uint64_t entries[ENTRIES];
  const uint8_t *constants, *code;
  size_t n_constants, n_code;
};

static uint16_t word(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }

static bool input_read(const uint8_t *data, size_t size, struct input *in) {
  if (size <= INPUT_HEADER) return false;
  in->options = word(data);
  in->constants = data + INPUT_HEADER;
  in->n_constants = word(data + 2);
  if (in->n_constants > CONSTANTS_MAX) in->n_constants = CONSTANTS_MAX;
  if (in->n_constants > size - INPUT_HEADER - 1) in->n_constants = size - INPUT_HEADER - 1;
  in->code = in->constants + in->n_constants;
  in->n_code = size - INPUT_HEADER - in->n_constants;
  if (in->n_code > CODE_MAX) in->n_code = CODE_MAX;
  for (unsigned i = 0; i < ENTRIES; i++)
    in->entries[i] = CODE_AT + word(data + 4 + 2 * i) % in->n_code;
  return true;
}

/* --- the object --------------------------------------------------------------------------------------------------- */

enum symbol { NONE, LOCATION, ABORT, OTHER, ERRNO, VARIABLE, FIRST, RESOLVER = FIRST + ENTRIES, SYMBOLS };

static const char *const names[SYMBOLS] = {
    "", "__errno_location", "abort", "other", "errno", "variable", "one", "two", "three", "one.cold", "resolver",
};

/* The slots, in order; SLOT(n) is at SLOTS_AT + 8 n. */
static const struct slot {
  uint32_t type, symbol;
  int entry; /* the addend is this entry's address, if not negative */
} slots[] = {
    {R_X86_64_JUMP_SLOT, LOCATION, -1}, {R_X86_64_JUMP_SLOT, ABORT, -1},    {R_X86_64_JUMP_SLOT, OTHER, -1},
    {R_X86_64_TPOFF64, ERRNO, -1},      {R_X86_64_DTPMOD64, ERRNO, -1},     {R_X86_64_DTPOFF64, ERRNO, -1},
    {R_X86_64_TLSDESC, ERRNO, -1},      {R_X86_64_NONE, NONE, -1},          {R_X86_64_RELATIVE, NONE, 0},
    {R_X86_64_RELATIVE, NONE, 1},       {R_X86_64_RELATIVE, NONE, 2},       {R_X86_64_RELATIVE, NONE, 3},
    {R_X86_64_IRELATIVE, NONE, 3},      {R_X86_64_GLOB_DAT, VARIABLE, -1},  {R_X86_64_JUMP_SLOT, FIRST, -1},
    {R_X86_64_GLOB_DAT, FIRST + 1, -1}, {R_X86_64_JUMP_SLOT, RESOLVER, -1}, {R_X86_64_TPOFF64, NONE, -1},
};

struct tables {
  Elf64_Ehdr header;
  Elf64_Phdr segments[6];
  Elf64_Dyn dynamic[8];
  Elf64_Sym symbols[SYMBOLS];
  Elf64_Rela relas[COUNT(slots)];
  uint32_t hash[2 + 1 + SYMBOLS];
  char strings[128];
};
_Static_assert(sizeof(struct tables) <= CONSTANTS_AT, "the tables are before the constants");

static void fill_segments(struct tables *t, size_t n_code) {
  const struct {
    uint32_t type, flags;
    uint64_t start, size;
  } parts[COUNT(t->segments)] = {
      {PT_LOAD, PF_R, 0, CODE_AT},
      {PT_LOAD, PF_R | PF_X, CODE_AT, n_code},
      {PT_LOAD, PF_R | PF_W, SLOTS_AT, FILE_SIZE - SLOTS_AT},
      {PT_DYNAMIC, PF_R, offsetof(struct tables, dynamic), sizeof t->dynamic},
      {PT_GNU_RELRO, PF_R, SLOTS_AT, DATA_AT - SLOTS_AT},
      {PT_TLS, PF_R, DATA_AT, 64},
  };
  for (size_t i = 0; i < COUNT(parts); i++)
    t->segments[i] = (Elf64_Phdr){
        .p_type = parts[i].type,
        .p_flags = parts[i].flags,
        .p_offset = parts[i].start,
        .p_vaddr = parts[i].start,
        .p_filesz = parts[i].size,
        .p_memsz = parts[i].size,
    };
}

static void fill_header(struct tables *t) {
  memcpy(t->header.e_ident, ELFMAG, SELFMAG);
  t->header.e_ident[EI_CLASS] = ELFCLASS64;
  t->header.e_ident[EI_DATA] = ELFDATA2LSB;
  t->header.e_ident[EI_VERSION] = EV_CURRENT;
  t->header.e_type = ET_DYN;
  t->header.e_machine = EM_X86_64;
  t->header.e_version = EV_CURRENT;
  t->header.e_phoff = offsetof(struct tables, segments);
  t->header.e_ehsize = sizeof t->header;
  t->header.e_phentsize = sizeof *t->segments;
  t->header.e_phnum = COUNT(t->segments);
}

static void fill_dynamic(struct tables *t) {
  const Elf64_Dyn dynamic[] = {
      {DT_STRTAB, {offsetof(struct tables, strings)}},
      {DT_STRSZ, {sizeof t->strings}},
      {DT_SYMTAB, {offsetof(struct tables, symbols)}},
      {DT_HASH, {offsetof(struct tables, hash)}},
      {DT_RELA, {offsetof(struct tables, relas)}},
      {DT_RELASZ, {sizeof t->relas}},
      {DT_NULL, {0}},
  };
  _Static_assert(COUNT(dynamic) <= COUNT(t->dynamic), "room for the dynamic section");
  memcpy(t->dynamic, dynamic, sizeof dynamic);
  t->hash[0] = 1;
  t->hash[1] = SYMBOLS;
}

static Elf64_Sym symbol_of(const struct input *in, unsigned i) {
  unsigned bind = STB_GLOBAL, type = STT_FUNC;
  Elf64_Sym s = {.st_shndx = 1, .st_size = 4};
  if (i == NONE || (i >= FIRST && !(in->options & NAMED))) return (Elf64_Sym){0};
  if (i == ERRNO) type = STT_TLS;
  if (i == VARIABLE) {
    type = STT_OBJECT;
    s.st_value = DATA_AT + 16;
  }
  if (i == LOCATION) s.st_value = in->entries[2];
  if (i == ABORT || i == OTHER || (i < FIRST && !(in->options & DEFINED))) s.st_shndx = SHN_UNDEF;
  if (i >= FIRST) {
    s.st_value = in->entries[(i - FIRST) % ENTRIES];
    s.st_size = in->options & SIZED ? in->n_code / 2 : 0;
  }
  if (i == RESOLVER) {
    type = STT_GNU_IFUNC;
    s.st_value = in->entries[3];
  }
  s.st_info = ELF64_ST_INFO(bind, type);
  return s;
}

static void fill_symbols(struct tables *t, const struct input *in) {
  size_t at = 0;
  for (unsigned i = 0; i < SYMBOLS; i++) {
    size_t n = strlen(names[i]) + 1;
    MUST(at + n <= sizeof t->strings);
    memcpy(t->strings + at, names[i], n);
    t->symbols[i] = symbol_of(in, i);
    t->symbols[i].st_name = (uint32_t)at;
    at += n;
  }
}

static void fill_slots(struct tables *t, const struct input *in) {
  for (size_t i = 0; i < COUNT(slots); i++) {
    t->relas[i].r_offset = SLOTS_AT + 8 * i;
    t->relas[i].r_info = ELF64_R_INFO((uint64_t)slots[i].symbol, slots[i].type);
    t->relas[i].r_addend = slots[i].entry < 0 ? 0 : (int64_t)in->entries[slots[i].entry];
  }
}

static struct image *image_of(const struct input *in) {
  static uint8_t file[FILE_SIZE];
  struct tables t = {0};
  struct image *img = NULL;
  fill_header(&t);
  fill_segments(&t, in->n_code);
  fill_dynamic(&t);
  fill_symbols(&t, in);
  fill_slots(&t, in);
  memset(file, 0, sizeof file);
  memcpy(file, &t, sizeof t);
  memcpy(file + CONSTANTS_AT, in->constants, in->n_constants);
  memcpy(file + CODE_AT, in->code, in->n_code);
  struct err e = {0};
  int r = image_from_memory("input", file, sizeof file, &img, &e);
  MUST(r == 0);
  return img;
}

/* --- what must hold ----------------------------------------------------------------------------------------------- */

static void check_decoding(const struct image *img, size_t n_code) {
  for (uint64_t at = CODE_AT; at < CODE_AT + n_code; at++) {
    struct insn in;
    struct code_target t = code_follow_plt(img, at);
    MUST(t.slot || t.address == at);
    if (code_read(img, at, &in) < 0) continue;
    MUST(in.address == at && in.length > 0 && in.length <= 15 && at + in.length <= CODE_AT + n_code);
    MUST(in.base == NO_REG || in.base < REGISTERS);
    MUST(in.index == NO_REG || in.index < REGISTERS);
    MUST(in.dst_kind != OPERAND_REG || in.dst < REGISTERS);
    MUST(in.src_kind != OPERAND_REG || in.src < REGISTERS);
  }
}

static void check_printing(const struct image *img, uint64_t at) {
  struct text t = {0};
  code_print(img, at, &t);
  MUST(!t.failed && t.n > 0);
  text_done(&t);
}

static void check_graph(const struct code *c) {
  uint32_t next = 0, edges = 0;
  MUST(c->entry_block < c->n_blocks && c->insns[c->blocks[c->entry_block].first].address <= c->entry);
  for (uint32_t i = 0; i < c->n_blocks; i++) {
    const struct block *b = &c->blocks[i];
    MUST(b->first == next && b->n > 0 && b->preds == edges);
    next += b->n;
    edges += b->n_preds;
  }
  MUST(next == c->n_insns && edges == c->n_edges);
  for (uint32_t i = 0; i < c->n_edges; i++)
    MUST(c->edges[i].from < c->n_blocks);
}

static void check_summary(const struct flow_summary *s) {
  for (uint32_t i = 0; i < s->n_outcomes; i++) {
    const struct flow_outcome *o = &s->outcomes[i];
    MUST(o->ret.kind != VALUE_CALL || o->ret.call < s->n_calls);
    MUST(o->n_guards <= FLOW_GUARDS && o->n_stores <= FLOW_STORES);
    for (unsigned k = 0; k < o->n_guards; k++)
      MUST(o->guards[k].arg || o->guards[k].call < s->n_calls);
  }
}

static void check_function(const struct image *img, uint64_t entry, unsigned options) {
  struct arena arena = {0};
  struct flow_worker worker = {0};
  struct flow_summary s;
  struct code c;
  struct code_options o = {.max_insns = options & SHORT ? 16 : 0};
  int r = code_build(img, entry, &o, &arena, &c);
  MUST(r == 0 || r == -EFAULT);
  if (r == 0) check_graph(&c);
  MUST(flow_summarise(&worker, img, entry, &o, NULL, &s) == r);
  if (r == 0) check_summary(&s);
  flow_worker_done(&worker);
  arena_done(&arena);
}

static bool is_location(void *context, const char *name) {
  (void)context;
  return strcmp(name, "__errno_location") == 0;
}

static void check_events(const struct follow_graph *g, const struct follow_events *events) {
  const struct code *c = follow_graph_code(g);
  for (size_t i = 0; i < events->at.n; i++) {
    const struct follow_event *e = &events->at.at[i];
    MUST(e->insn < c->n_insns && e->block < c->n_blocks);
    if (e->kind == EVENT_COMPARE) (void)follow_event_holds(e, c->image, UINT64_MAX, i);
  }
}

/* Every value that a call makes, every argument, and what is behind it. */
static void check_following(const struct image *img, uint64_t entry, unsigned options) {
  struct flow_worker worker = {0};
  struct follow_graph *g = NULL;
  struct follow_events events = {0};
  struct follow_graph_options o = {.code = {.max_insns = options & SHORT ? 16 : 0, .unreached = true},
                                   .errno_at = is_location};
  if (follow_graph_open(&worker, img, entry, &o, &g) == 0) {
    const struct code *c = follow_graph_code(g);
    check_graph(c);
    for (uint32_t i = 0; i < c->n_insns; i++) {
      struct follow_start start = {
          .kind = (uint8_t)(i % 4), .arg = (uint8_t)(i % 8), .size = 4, .insn = i, .offset = 8};
      if (c->insns[i].op >= OP_CALL && c->insns[i].op <= OP_CALL_INDIRECT) start.kind = START_RESULT;
      if (start.kind == START_GLOBAL) start.offset = c->insns[i].disp;
      MUST(follow_value(g, &start, NULL, &events) == 0);
      (void)follow_graph_same(g, i, &(struct follow_pair){UINT64_MAX, 4, 3});
    }
    check_events(g, &events);
    (void)follow_graph_clears_errno(g);
  }
  follow_graph_close(g);
  vec_done(&events.at);
  flow_worker_done(&worker);
}

static bool is_abort(void *context, const char *name) {
  (void)context;
  return strcmp(name, "abort") == 0;
}

static enum solver_known call_errors(void *context, const struct solver_syscall *call, uint64_t bits[3]) {
  (void)context;
  bits[0] = call->number * 0x10002 + (call->known & 1 ? call->values[0] : 0);
  bits[1] = call->number & 7;
  return call->number < 400 ? SOLVER_KNOWN : call->number < 500 ? SOLVER_PARTLY : SOLVER_UNKNOWN;
}

static unsigned deciding_args(void *context, uint64_t number) {
  (void)context;
  return number & 1;
}

static struct solver *solved(const struct image *img, const struct input *in, unsigned workers, int nodes[]) {
  struct solver_options o = {
      .syscalls = call_errors, .syscall_args = deciding_args, .noreturn = is_abort, .workers = workers};
  struct solver *w = NULL;
  MUST(solver_new(&o, &w) == 0 && solver_add(w, img) == 0);
  for (unsigned i = 0; i < ENTRIES; i++) {
    nodes[i] = solver_want(w, 0, in->entries[i], i == 3 && in->options & IFUNC);
    MUST(nodes[i] >= 0);
  }
  MUST(solver_run(w) == 0);
  return w;
}

static void check_results(const struct solver *w, uint32_t node) {
  struct solver_results rs = solver_results_of(w, node);
  size_t all = solver_count(w).functions;
  check_summary(solver_summary(w, node));
  for (uint32_t i = 0; i < rs.n; i++) {
    const struct solver_result *r = &rs.at[i];
    MUST(r->kind != RESULT_IMPOSSIBLE && r->via_node <= all && r->because_node <= all);
    for (uint32_t k = 0; k < r->n_sides; k++)
      MUST(r->sides[k].place == PLACED_ARG || r->sides[k].image == 0);
  }
}

static void check_same(struct solver_results a, struct solver_results b) {
  MUST(a.n == b.n);
  for (uint32_t i = 0; i < a.n; i++) {
    const struct solver_result *x = &a.at[i], *y = &b.at[i];
    MUST(x->kind == y->kind && x->value == y->value && x->arg == y->arg && x->reasons == y->reasons);
    MUST(x->evidence == y->evidence && x->n_sides == y->n_sides && x->errno_partial == y->errno_partial);
    for (uint32_t k = 0; k < x->n_sides; k++)
      MUST(x->sides[k].place == y->sides[k].place && x->sides[k].value == y->sides[k].value &&
           x->sides[k].offset == y->sides[k].offset && x->sides[k].unknown == y->sides[k].unknown);
  }
}

static void check_world(const struct image *img, const struct input *in) {
  int nodes[ENTRIES], again[ENTRIES];
  struct solver *w = solved(img, in, 1, nodes);
  size_t n = solver_count(w).functions;
  for (uint32_t i = 0; i < n; i++)
    check_results(w, i);
  if (in->options & TWICE) {
    struct solver *v = solved(img, in, 3, again);
    MUST(solver_count(v).functions == n);
    for (unsigned i = 0; i < ENTRIES; i++)
      check_same(solver_results_of(w, (uint32_t)nodes[i]), solver_results_of(v, (uint32_t)again[i]));
    solver_free(v);
  }
  solver_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct input in;
  if (!input_read(data, size, &in)) return 0;
  struct image *img = image_of(&in);
  check_decoding(img, in.n_code);
  for (unsigned i = 0; i < ENTRIES; i++) {
    check_printing(img, in.entries[i]);
    check_function(img, in.entries[i], in.options);
    check_following(img, in.entries[i], in.options);
  }
  check_world(img, &in);
  image_free(img);
  return 0;
}
