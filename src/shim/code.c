/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shim's machine code. At the entry of a function the ABI leaves r11 alone to be used: r10 may be a static chain,
 * al the number of vector registers of a variadic call.
 */
#include <string.h>

#include "shim_layout.h"

/* Places that an indirect jump may go to start with this, for processors that insist on it. */
static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

/* Code that is being written: the first byte of OUT stands at c->text. */
struct writer {
  const struct shim_code *c;
  struct text *out;
  size_t first; /* in out */
};

static uint64_t here(const struct writer *w) { return w->c->text + (w->out->n - w->first); }

static void bytes(struct writer *w, const void *p, size_t n) { text_add_bytes(w->out, p, n); }
#define BYTES(w, ...) bytes(w, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void number(struct writer *w, uint32_t value) { bytes(w, &value, sizeof value); }

/* A 32-bit distance from behind itself to ADDRESS; the last thing of its instruction. */
static void distance(struct writer *w, uint64_t address) { number(w, (uint32_t)(address - (here(w) + 4))); }

static void pad(struct writer *w, uint64_t until) {
  while (!w->out->failed && here(w) < until)
    BYTES(w, 0xcc);
}

static uint64_t entry_field(const struct writer *w, uint32_t i, size_t field) {
  return w->c->entries + i * sizeof(struct wire_entry) + field;
}

/* endbr64; jmp *entries[i].target(%rip) */
static void write_stub(struct writer *w, uint32_t i) {
  bytes(w, endbr64, sizeof endbr64);
  BYTES(w, 0xff, 0x25);
  distance(w, entry_field(w, i, offsetof(struct wire_entry, target)));
  pad(w, code_stub(w->c, i + 1));
}

/* endbr64; mov $i, %r11d; jmp *shim.enter(%rip) */
static void write_gate(struct writer *w, uint32_t i) {
  bytes(w, endbr64, sizeof endbr64);
  BYTES(w, 0x41, 0xbb);
  number(w, i);
  BYTES(w, 0xff, 0x25);
  distance(w, w->c->shim + offsetof(struct wire_shim, enter));
  pad(w, code_gate(w->c, i + 1));
}

/*
 *    endbr64; mov shim.thread(%rip), %r11; mov %fs:(%r11), %r11; test %r11, %r11; je 2f
 *    decq allowance.left(%r11); js 1f; cmpq $0, allowance.recall(%r11); jne 1f; jmp *entries[i].real(%rip)
 * 1: mov $i | WIRE_COUNTED, %r11d; jmp *shim.enter(%rip)
 * 2: jmp gate
 *
 * The store comes before the load: who sets `recall` and then waits until the store is seen knows what was used.
 */
static void write_count(struct writer *w, uint32_t i) {
  uint32_t allowance = i * (uint32_t)sizeof(struct wire_allowance);
  bytes(w, endbr64, sizeof endbr64);
  BYTES(w, 0x4c, 0x8b, 0x1d);
  distance(w, w->c->shim + offsetof(struct wire_shim, thread));
  BYTES(w, 0x64, 0x4d, 0x8b, 0x1b);
  BYTES(w, 0x4d, 0x85, 0xdb, 0x74, 37); /* over all up to 2 */
  BYTES(w, 0x49, 0xff, 0x8b);
  number(w, allowance + (uint32_t)offsetof(struct wire_allowance, left));
  BYTES(w, 0x78, 16); /* over cmp, jne, jmp */
  BYTES(w, 0x49, 0x83, 0xbb);
  number(w, allowance + (uint32_t)offsetof(struct wire_allowance, recall));
  BYTES(w, 0);
  BYTES(w, 0x75, 6); /* over jmp */
  BYTES(w, 0xff, 0x25);
  distance(w, entry_field(w, i, offsetof(struct wire_entry, real)));
  BYTES(w, 0x41, 0xbb);
  number(w, i | WIRE_COUNTED);
  BYTES(w, 0xff, 0x25);
  distance(w, w->c->shim + offsetof(struct wire_shim, enter));
  BYTES(w, 0xe9);
  distance(w, code_gate(w->c, i));
  pad(w, code_count(w->c, i + 1));
}

/* endbr64; lea shim(%rip), %rcx; jmp *shim.start(%rip): the loader has put argc, argv and envp into the first three. */
static void write_init(struct writer *w) {
  bytes(w, endbr64, sizeof endbr64);
  BYTES(w, 0x48, 0x8d, 0x0d);
  distance(w, w->c->shim);
  BYTES(w, 0xff, 0x25);
  distance(w, w->c->shim + offsetof(struct wire_shim, start));
  pad(w, code_end(w->c));
}

void shim_code(const struct shim_code *c, struct text *out) {
  struct writer w = {.c = c, .out = out, .first = out->n};
  for (uint32_t i = 0; i < c->n; i++)
    write_stub(&w, i);
  for (uint32_t i = 0; i < c->n; i++)
    write_gate(&w, i);
  for (uint32_t i = 0; i < c->n; i++)
    write_count(&w, i);
  write_init(&w);
}
