/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read without Zydis is read as Zydis has it: every opcode of one byte, and every one behind 0f, under all
 * prefixes that are read without it, with random bytes behind; and all code of the C library.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "code/decode.h"
#include "code/quick.h"

#define ADDRESS 0x401000
#define BYTES 40

static ZydisDecoder decoder;

static uint64_t next_random(void) {
  static uint64_t x = 88172645463325252ull;
  x ^= x << 13;
  x ^= x >> 7;
  return x ^= x << 17;
}

static void say(const char *who, const struct insn *in) {
  print_error("%s: op %u length %u size %u from %u cc %u dst %u:%u src %u:%u mem %u %u*%u %lld imm %lld flags %x "
              "defs %x uses %x\n",
              who, in->op, in->length, in->size, in->from_size, in->cc, in->dst_kind, in->dst, in->src_kind, in->src,
              in->base, in->index, in->scale, (long long)in->disp, (long long)in->imm, in->flags, in->defs, in->uses);
}

/* True if it is read without Zydis. */
static bool compare(const uint8_t *bytes, size_t left) {
  struct insn quick, any;
  if (!decode_quick(bytes, left, ADDRESS, &quick)) return false;
  int r = decode_any(&decoder, bytes, left, ADDRESS, &any);
  if (r >= 0 && memcmp(&quick, &any, sizeof any) == 0) return true;
  char hex[3 * 16 + 1] = "";
  for (unsigned i = 0; i < 15; i++)
    snprintf(hex + 3 * i, 4, "%02x ", bytes[i]);
  say("quick", &quick);
  if (r >= 0) say("zydis", &any);
  fail_msg("%s%s", hex, r < 0 ? "is no instruction" : "is read in two ways");
  return false;
}

static const char *const prefixes[] = {"", "\x64", "\x65", "\x66", "\xf2", "\xf3", "\x64\x66", "\x64\xf3"};

/* One instruction of the opcode, with prefix number PREFIX and REX if that is not 0. */
static void one(unsigned prefix, unsigned rex, bool two, unsigned opcode) {
  uint8_t bytes[BYTES];
  size_t n = strlen(prefixes[prefix]);
  for (size_t i = 0; i < sizeof bytes; i++)
    bytes[i] = (uint8_t)next_random();
  for (size_t i = 0; i < n; i++)
    bytes[i] = (uint8_t)prefixes[prefix][i];
  if (rex) bytes[n++] = (uint8_t)rex;
  if (two) bytes[n++] = 0x0f;
  bytes[n] = (uint8_t)opcode;
  (void)compare(bytes, sizeof bytes);
}

static void every_opcode(void **state) {
  (void)state;
  const char *rounds = getenv("MURPHY_ROUNDS");
  for (long round = rounds ? atol(rounds) : 3; round > 0; round--)
    for (unsigned prefix = 0; prefix < COUNT(prefixes); prefix++)
      for (unsigned rex = 0x3f; rex <= 0x4f; rex++)
        for (unsigned opcode = 0; opcode < 256; opcode++) {
          one(prefix, rex == 0x3f ? 0 : rex, false, opcode);
          one(prefix, rex == 0x3f ? 0 : rex, true, opcode);
        }
}

/* At the end of what can be read, nothing is read behind it. */
static void short_bytes(void **state) {
  (void)state;
  struct insn in;
  for (size_t n = 0; n < 16; n++) {
    uint8_t *bytes = calloc(n + 1, 1);
    assert_non_null(bytes);
    (void)decode_quick(bytes, n, ADDRESS, &in);
    free(bytes);
  }
}

static void all_of_a_library(void **state) {
  (void)state;
  char *path = NULL;
  struct image *img = NULL;
  const struct image_function *f;
  size_t all = 0, quick = 0;
  assert_int_equal(image_find("libc.so.6", NULL, &path, NULL), 0);
  assert_int_equal(image_open(path, &img, NULL), 0);
  size_t n = image_functions(img, &f);
  for (size_t i = 0; i < n; i++)
    for (uint64_t at = f[i].address; at < f[i].end;) {
      size_t left = image_bytes_left(img, at);
      const uint8_t *bytes = left ? image_bytes(img, at, left) : NULL;
      struct insn in;
      if (!bytes || decode(&decoder, bytes, left, at, &in) < 0) break;
      quick += compare(bytes, left);
      all++;
      at += in.length;
    }
  print_message("# %zu of %zu instructions are read without Zydis\n", quick, all);
  assert_true(all > 10000);
  assert_true(quick > all / 2);
  image_free(img);
  free(path);
}

static int start(void **state) {
  (void)state;
  return decoder_init(&decoder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_opcode),
      cmocka_unit_test(short_bytes),
      cmocka_unit_test(all_of_a_library),
  };
  return cmocka_run_group_tests(tests, start, NULL);
}
