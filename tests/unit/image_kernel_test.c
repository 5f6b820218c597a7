/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels in room image: made here in every form of their symbol tables and every compression, modules that a compiler
 * makes, and what is no kernel.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <time.h>

#include <cmocka.h>

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "config.h"
#include "image/image.h"
#include "tests/unit/allocator.h"
#include "tests/unit/folder.h"
#include "tests/unit/made_kernel.h"

#if HAVE_LZ4
#include <lz4.h>
#endif
#if HAVE_BZIP2
#include <bzlib.h>
#endif

static struct image *open_bytes(const void *bytes, size_t n) {
  struct image *img = NULL;
  struct err e = {0};
  if (image_kernel_from_memory("made", bytes, n, &img, &e) < 0) fail_msg("%s", e.text);
  return img;
}

static void assert_refused(const void *bytes, size_t n, const char *words) {
  struct image *img = NULL;
  struct err e = {0};
  assert_true(image_kernel_from_memory("made", bytes, n, &img, &e) < 0);
  assert_null(img);
  if (strncmp(e.text, "made: ", 6) != 0 || !strstr(e.text, words)) fail_msg("not about \"%s\": %s", words, e.text);
}

static uint64_t address_of(const struct image *img, const char *name) {
  const struct image_symbol *s = image_symbol_named(img, name);
  if (!s) fail_msg("there is no symbol %s", name);
  return s->address;
}

/* --- symbols ------------------------------------------------------------------------------------------------------ */

static void assert_symbols(const struct image *img, const struct made *k, enum made_form form) {
  const struct image_symbol *s;
  made_symbols list = made_list(k, form);
  size_t n = image_symbols(img, &s);
  assert_int_equal(n, list.n);
  for (size_t i = 0; i < n; i++) {
    assert_true(i == 0 || s[i - 1].address <= s[i].address);
    assert_int_equal(s[i].address, list.at[i].address);
    const struct image_symbol *before = image_symbol_before(img, s[i].address);
    assert_true(before <= &s[i] && before->address == s[i].address);
    if (s[i].kind == SYMBOL_FUNCTION) assert_ptr_equal(image_symbol_before(img, s[i].address + 15), before);
  }
  for (size_t i = 0; i < n; i++) {
    const struct image_symbol *found = image_symbol_named(img, list.at[i].name);
    assert_non_null(found);
    assert_string_equal(found->name, list.at[i].name);
    if (strcmp(found->name, "twice") != 0) assert_int_equal(found->address, list.at[i].address);
  }
  assert_null(image_symbol_named(img, "function_7"));
  assert_null(image_symbol_named(img, ""));
  vec_done(&list);
}

static void assert_known(const struct image *img, const struct made *k) {
  const struct image_symbol *read = image_symbol_named(img, "__x64_sys_read"),
                            *table = image_symbol_named(img, "table");
  assert_int_equal(read->kind, SYMBOL_FUNCTION);
  assert_false(read->local);
  assert_int_equal(table->kind, SYMBOL_OBJECT);
  assert_true(table->local);
  assert_int_equal(table->size, k->banner - table->address);
  assert_int_equal(image_symbol_named(img, "variable")->size, MADE_DATA_SIZE);
  /* A global one goes before a local one of its name, whatever their addresses. */
  assert_int_equal(image_symbol_named(img, "twice")->address, MADE_TEXT + 48);
  /* Of several at one address the global, strong one with few underscores. */
  assert_string_equal(image_symbol_before(img, MADE_TEXT + 2)->name, "startup_64");
  assert_string_equal(image_symbol_before(img, MADE_TEXT + 64)->name, "sys_ni_syscall");
  assert_true(image_symbol_named(img, "__x64_sys_none")->weak);
  assert_string_equal(image_function_at(img, MADE_TEXT + 16)->name, "__x64_sys_read");
  /* What stands before a function is not one. */
  assert_null(image_function_at(img, MADE_TEXT + 80));
  assert_string_equal(image_function_before(img, MADE_TEXT + 100)->name, "padded");
  assert_int_equal(image_function_before(img, MADE_TEXT + 64)->end, MADE_TEXT + 80);
}

static void test_each_form_of_kallsyms_gives_the_same_symbols(void **state) {
  (void)state;
  for (enum made_form form = MADE_ABSOLUTE; form < MADE_NO_KALLSYMS; form++) {
    struct made k = made_kernel(form);
    struct image *img = open_bytes(k.file.at, k.file.n);
    assert_symbols(img, &k, form);
    assert_known(img, &k);
    image_free(img);
    text_done(&k.file);
  }
}

static void test_symtab_is_enough(void **state) {
  (void)state;
  struct made k = made_kernel(MADE_NO_KALLSYMS);
  struct image *img = open_bytes(k.file.at, k.file.n);
  assert_symbols(img, &k, MADE_NO_KALLSYMS);
  assert_known(img, &k);
  /* It knows sizes, which kallsyms does not. */
  assert_int_equal(image_symbol_named(img, "__x64_sys_read")->size, 11);
  assert_int_equal(image_function_at(img, MADE_TEXT + 16)->end, MADE_TEXT + 16 + 11);
  image_free(img);
  text_done(&k.file);
}

/* Only the program headers are left: code and constants cannot be told apart, but symbols are found. */
static void test_section_headers_are_not_needed(void **state) {
  (void)state;
  struct made k = made_kernel(MADE_6_1);
  memset(k.file.at + offsetof(Elf64_Ehdr, e_shoff), 0, 8);
  struct image *img = open_bytes(k.file.at, k.file.n);
  assert_int_equal(address_of(img, "__x64_sys_read"), MADE_TEXT + 16);
  assert_string_equal(image_kernel_release(img), "6.1.0-made");
  assert_false(image_is_mapped(img, 0x140));
  image_free(img);
  text_done(&k.file);
}

static void test_damaged_tables_are_refused(void **state) {
  (void)state;
  struct made k = made_kernel(MADE_6_1);
  /* One digit of the tokens, one marker, one length of a name. */
  char *tokens = memmem(k.file.at, k.file.n, "0\0001\0002\0003", 7);
  assert_non_null(tokens);
  tokens[2] = 'x';
  assert_refused(k.file.at, k.file.n, "no table of tokens");
  tokens[2] = '1';
  char *name = memmem(k.file.at, k.file.n,
                      "\4\1"
                      "900",
                      5);
  assert_non_null(name);
  name[0] = 3;
  assert_refused(k.file.at, k.file.n, "no names before it");
  name[0] = 4;
  image_free(open_bytes(k.file.at, k.file.n));
  text_done(&k.file);
  k = made_kernel(MADE_NO_ADDRESSES);
  assert_refused(k.file.at, k.file.n, "no addresses");
  assert_refused(k.file.at, k.file.n, "no kallsyms table found");
  text_done(&k.file);
}

/* Numbers that look like markers again and again: a search from each would take minutes. */
static void test_search_for_kallsyms_ends(void **state) {
  (void)state;
  struct made k = {0};
  struct text rodata = {0};
  for (uint32_t i = 0; i < 1 << 20; i++)
    made_u32(&rodata, i % 5 * 1000);
  made_tokens(&rodata, 8);
  made_elf(&k, MADE_6_1, &rodata);
  clock_t before = clock();
  assert_refused(k.file.at, k.file.n, "no names before it");
  assert_true(clock() - before < 10 * CLOCKS_PER_SEC);
  text_done(&rodata);
  text_done(&k.file);
}

/* Sections that are the same bytes are not looked at again and again. */
static void test_sections_that_overlap(void **state) {
  (void)state;
  struct made k = made_kernel(MADE_6_1);
  Elf64_Ehdr h;
  Elf64_Shdr s[MADE_SECTIONS];
  memcpy(&h, k.file.at, sizeof h);
  memcpy(s, k.file.at + h.e_shoff, sizeof s);
  for (unsigned i = 3; i < 9; i++) {
    s[i] = s[2];
    s[i].sh_addr += 0x1000000ull * i;
  }
  memcpy(k.file.at + h.e_shoff, s, sizeof s);
  struct image *img = open_bytes(k.file.at, k.file.n);
  assert_int_equal(image_bytes_left(img, MADE_RODATA), s[2].sh_size);
  assert_false(image_is_mapped(img, s[8].sh_addr));
  image_free(img);
  text_done(&k.file);
}

/* --- the rest of an image ----------------------------------------------------------------------------------------- */

static void test_addresses(void **state) {
  (void)state;
  struct made k = made_kernel(MADE_6_4);
  struct image *img = open_bytes(k.file.at, k.file.n);
  struct image_slot slot;
  const struct image_symbol *exports;
  const char *const *needed;
  assert_true(image_is_kernel(img));
  assert_true(image_is_code(img, MADE_TEXT) && image_is_code(img, MADE_TEXT + MADE_TEXT_SIZE - 1));
  assert_false(image_is_code(img, MADE_TEXT + MADE_TEXT_SIZE) || image_is_code(img, MADE_RODATA));
  assert_int_equal(image_code_size(img), MADE_TEXT_SIZE);
  assert_true(image_is_readonly(img, MADE_RODATA) && image_is_readonly(img, k.rodata_end - 1));
  assert_true(image_is_readonly(img, MADE_TEXT));
  assert_false(image_is_readonly(img, MADE_DATA));
  assert_true(image_is_mapped(img, MADE_DATA + 1));
  assert_false(image_is_mapped(img, MADE_DATA + MADE_DATA_SIZE) || image_is_mapped(img, 0x140));
  uint64_t entries[2];
  const void *p = image_bytes(img, address_of(img, "table"), sizeof entries);
  assert_non_null(p);
  memcpy(entries, p, sizeof entries);
  assert_string_equal(image_function_at(img, entries[0])->name, "__x64_sys_read");
  assert_false(image_slot(img, address_of(img, "table"), &slot) || image_slot_after(img, 0, &slot));
  assert_int_equal(image_exports(img, &exports) + image_needed(img, &needed), 0);
  assert_null(image_export(img, "twice", NULL));
  assert_false(image_is_dynamic(img));
  image_free(img);
  text_done(&k.file);
}

/* Kernels without CONFIG_KALLSYMS_ALL do not name where their constants are. */
static void test_readonly_without_symbols(void **state) {
  (void)state;
  struct made k = made_kernel(MADE_6_1);
  char *name = memmem(k.file.at, k.file.n, "__start_rodata", 14);
  assert_non_null(name);
  name[2] = 'z';
  struct image *img = open_bytes(k.file.at, k.file.n);
  assert_null(image_symbol_named(img, "__start_rodata"));
  assert_true(image_is_readonly(img, MADE_RODATA) && image_is_readonly(img, k.rodata_end - 1));
  assert_false(image_is_readonly(img, MADE_DATA));
  image_free(img);
  text_done(&k.file);
}

static void test_what_it_says_about_itself(void **state) {
  (void)state;
  struct made k = made_kernel(MADE_6_1);
  struct image *img = open_bytes(k.file.at, k.file.n);
  size_t n = 0;
  assert_string_equal(image_kernel_banner(img), made_banner);
  assert_string_equal(image_kernel_release(img), "6.1.0-made");
  assert_string_equal(image_build_id(img), "deadbeef");
  const void *btf = image_btf(img, &n);
  assert_non_null(btf);
  assert_int_equal(n, sizeof made_btf);
  assert_memory_equal(btf, made_btf, n);
  assert_int_equal(image_module_count(img), 0);
  assert_null(image_module_of(img, MADE_TEXT));
  assert_null(image_module_btf(img, 0, &n));
  image_free(img);
  text_done(&k.file);
}

static void test_other_images_are_no_kernels(void **state) {
  (void)state;
  struct image *img;
  const struct image_symbol *s;
  size_t n;
  struct err e = {0};
  assert_int_equal(image_open("/proc/self/exe", &img, &e), 0);
  assert_false(image_is_kernel(img));
  assert_int_equal(image_symbols(img, &s) + image_module_count(img), 0);
  assert_null(image_symbol_named(img, "main"));
  assert_null(image_symbol_before(img, UINT64_MAX));
  assert_null(image_kernel_release(img));
  assert_null(image_btf(img, &n));
  image_free(img);
}

/* --- compression -------------------------------------------------------------------------------------------------- */

enum { ROOM = 1 << 20 };

static size_t pack_gzip(const struct text *in, uint8_t *out) {
  z_stream z = {.next_in = (Bytef *)in->at, .avail_in = (uInt)in->n, .next_out = out, .avail_out = ROOM};
  assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  assert_int_equal(deflateEnd(&z), Z_OK);
  return z.total_out;
}

/* With the filter for x86, as the kernel's build does. */
static size_t pack_xz(const struct text *in, uint8_t *out) {
  lzma_options_lzma options;
  assert_false(lzma_lzma_preset(&options, 6));
  lzma_filter filters[] = {{LZMA_FILTER_X86, NULL}, {LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, NULL}};
  size_t n = 0;
  assert_int_equal(lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, NULL, (uint8_t *)in->at, in->n, out, &n, ROOM),
                   LZMA_OK);
  return n;
}

static size_t pack_lzma(const struct text *in, uint8_t *out) {
  lzma_options_lzma options;
  lzma_stream z = LZMA_STREAM_INIT;
  assert_false(lzma_lzma_preset(&options, 6));
  assert_int_equal(lzma_alone_encoder(&z, &options), LZMA_OK);
  z.next_in = (uint8_t *)in->at;
  z.avail_in = in->n;
  z.next_out = out;
  z.avail_out = ROOM;
  assert_int_equal(lzma_code(&z, LZMA_FINISH), LZMA_STREAM_END);
  size_t n = z.total_out;
  lzma_end(&z);
  return n;
}

static size_t pack_zstd(const struct text *in, uint8_t *out) {
  ZSTD_CCtx *z = ZSTD_createCCtx();
  assert_non_null(z);
  assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1)));
  size_t n = ZSTD_compress2(z, out, ROOM, in->at, in->n);
  assert_false(ZSTD_isError(n));
  (void)ZSTD_freeCCtx(z);
  return n;
}

static size_t pack_nothing(const struct text *in, uint8_t *out) {
  assert_true(in->n <= ROOM);
  memcpy(out, in->at, in->n);
  return in->n;
}

#if HAVE_BZIP2
static size_t pack_bzip2(const struct text *in, uint8_t *out) {
  unsigned n = ROOM;
  assert_int_equal(BZ2_bzBuffToBuffCompress((char *)out, &n, in->at, (unsigned)in->n, 9, 0, 0), BZ_OK);
  return n;
}
#endif

#if HAVE_LZ4
/* The legacy form, in two blocks. */
static size_t pack_lz4(const struct text *in, uint8_t *out) {
  size_t used = 4, half = in->n / 2;
  memcpy(out, "\x02\x21\x4c\x18", 4);
  for (int i = 0; i < 2; i++) {
    const char *from = in->at + (i ? half : 0);
    int n = LZ4_compress_default(from, (char *)out + used + 4, (int)(i ? in->n - half : half), ROOM - (int)used);
    assert_true(n > 0);
    memcpy(out + used, &n, 4);
    used += 4 + (size_t)n;
  }
  return used;
}
#endif

struct way {
  const char *name;
  size_t (*pack)(const struct text *in, uint8_t *out);
  bool appended; /* the build appends the size */
  bool checked;  /* has a checksum */
};

static const struct way ways[] = {
    {"no compression", pack_nothing, false, false},
    {"gzip", pack_gzip, false, true},
    {"xz", pack_xz, true, true},
    {"lzma", pack_lzma, true, false},
    {"zstd", pack_zstd, true, true},
#if HAVE_BZIP2
    {"bzip2", pack_bzip2, true, true},
#endif
#if HAVE_LZ4
    {"lz4", pack_lz4, true, false},
#endif
};

static uint8_t packed[ROOM];

static struct text made_vmlinuz(const struct way *way, const struct made *k) {
  size_t n = way->pack(&k->file, packed);
  return made_bzimage(packed, n, way->appended ? (uint32_t)k->file.n : 0);
}

static void test_each_compression(void **state) {
  (void)state;
  struct made k = made_kernel(MADE_6_1);
  for (size_t i = 0; i < COUNT(ways); i++) {
    struct text z = made_vmlinuz(&ways[i], &k);
    struct image *img = open_bytes(z.at, z.n);
    assert_symbols(img, &k, MADE_6_1);
    image_free(img);
    text_done(&z);
  }
  text_done(&k.file);
}

/* vmlinux.xz and the like. lz4 has no end but that of the file, so the appended size matters there. */
static void test_a_packed_vmlinux(void **state) {
  (void)state;
  struct made k = made_kernel(MADE_6_1);
  for (size_t i = 1; i < COUNT(ways); i++) {
    size_t n = ways[i].pack(&k.file, packed);
    image_free(open_bytes(packed, n));
  }
  struct text z = made_vmlinuz(&ways[1], &k);
  size_t n = pack_gzip(&z, packed);
  image_free(open_bytes(packed, n));
  text_done(&z);
  text_done(&k.file);
}

static void test_cut_and_damaged_payloads(void **state) {
  (void)state;
  struct made k = made_kernel(MADE_6_1);
  for (size_t i = 1; i < COUNT(ways); i++) {
    struct text z = made_vmlinuz(&ways[i], &k);
    uint32_t whole, half;
    memcpy(&whole, z.at + 0x24c, 4);
    half = whole / 2;
    memcpy(z.at + 0x24c, &half, 4);
    assert_refused(z.at, z.n, ways[i].name);
    memcpy(z.at + 0x24c, &whole, 4);
    memset(z.at + 1124 + whole / 2, 0x55, 200);
    if (ways[i].checked) assert_refused(z.at, z.n, ways[i].name);
    text_done(&z);
  }
  text_done(&k.file);
}

/* A size at the end that lies costs nothing but memory. */
static void test_a_wrong_size_is_survived(void **state) {
  (void)state;
  struct made k = made_kernel(MADE_6_1);
  static const uint32_t sizes[] = {1, 100, 0x7fffffff, UINT32_MAX};
  for (size_t i = 0; i < COUNT(sizes); i++) {
    size_t n = pack_xz(&k.file, packed);
    struct text z = made_bzimage(packed, n, sizes[i]);
    image_free(open_bytes(z.at, z.n));
    text_done(&z);
  }
  text_done(&k.file);
}

static void test_what_swells_is_refused(void **state) {
  (void)state;
  struct text zeros = {0};
  for (unsigned i = 0; i < 64; i++)
    text_add_bytes(&zeros, packed, ROOM);
  memset(packed, 0, ROOM);
  memset(zeros.at, 0, zeros.n);
  size_t n = pack_zstd(&zeros, packed);
  struct text z = made_bzimage(packed, n, (uint32_t)zeros.n);
  assert_refused(z.at, z.n, "is larger than");
  text_done(&z);
  text_done(&zeros);
}

/* --- other places of a payload ------------------------------------------------------------------------------------ */

static void test_a_payload_without_a_header(void **state) {
  (void)state;
  struct made k = made_kernel(MADE_6_1);
  struct text z = made_vmlinuz(&ways[2], &k);
  memset(z.at + 0x24c, 0, 4);
  image_free(open_bytes(z.at, z.n));
  memset(z.at + 0x202, 0, 16);
  image_free(open_bytes(z.at, z.n));
  text_done(&z);
  text_done(&k.file);
}

static void test_a_unified_image(void **state) {
  (void)state;
  static char head[1024] = "MZ";
  struct made k = made_kernel(MADE_6_1);
  struct text z = made_vmlinuz(&ways[1], &k), u = {0};
  uint32_t pe = 128, size = (uint32_t)z.n, at = sizeof head;
  memcpy(head + 0x3c, &pe, 4);
  memcpy(head + pe, "PE\0\0\x64\x86\2\0", 8);
  head[pe + 20] = 16;
  char *section = head + pe + 24 + 16;
  memcpy(section, ".osrel\0", 8);
  memcpy(section + 40, ".linux\0", 8);
  memcpy(section + 48, &size, 4);
  memcpy(section + 56, &size, 4);
  memcpy(section + 60, &at, 4);
  text_add_bytes(&u, head, sizeof head);
  text_add_bytes(&u, z.at, z.n);
  struct image *img = open_bytes(u.at, u.n);
  assert_int_equal(address_of(img, "__x64_sys_read"), MADE_TEXT + 16);
  image_free(img);
  assert_refused(u.at, u.n - z.n, "not a Linux kernel");
  text_done(&u);
  text_done(&z);
  text_done(&k.file);
}

/* --- what is no kernel -------------------------------------------------------------------------------------------- */

static void test_other_payloads(void **state) {
  (void)state;
  static const char lzo[] = "\x89LZO\0\r\n\x1a\n and more", secret[] = "\xde\xad\xbe\xef rest";
  struct text z = made_bzimage(lzo, sizeof lzo, 100);
  assert_refused(z.at, z.n, "lzo");
  text_done(&z);
  z = made_bzimage(secret, sizeof secret, 100);
  assert_refused(z.at, z.n, "bytes de ad be ef");
  uint32_t length = 1 << 30;
  memcpy(z.at + 0x24c, &length, 4);
  assert_refused(z.at, z.n, "truncated");
  z.at[0x206] = 4;
  assert_refused(z.at, z.n, "protocol 2.04");
  text_done(&z);
  struct made k = made_kernel(MADE_6_1);
  k.file.at[EI_CLASS] = ELFCLASS32;
  k.file.at[18] = EM_386;
  z = made_vmlinuz(&ways[2], &k);
  assert_refused(z.at, z.n, "32-bit: for Intel 80386");
  text_done(&z);
  text_done(&k.file);
}

static void test_other_files(void **state) {
  (void)state;
  char bytes[1024] = {0};
  assert_refused(bytes, 0, "empty");
  assert_refused(bytes, 1, "not a Linux kernel");
  assert_refused("#!/bin/sh\n", 10, "starts with \"#!/bin/sh\"");
  memcpy(bytes + 56, "ARM\x64", 4);
  assert_refused(bytes, sizeof bytes, "ARM aarch64");
  struct text t = {0};
  text_add_bytes(&t, bytes, sizeof bytes);
  size_t n = pack_gzip(&t, packed);
  assert_refused(packed, n, "compressed with gzip, a Linux kernel for ARM aarch64");
  text_done(&t);
  assert_refused("!<arch>\ndebian-binary   ", 24, "dpkg-deb -x");

  struct image *img = NULL;
  struct err e = {0};
  assert_int_equal(image_open_kernel("/proc/self/exe", NULL, 0, &img, &e), -ENOEXEC);
  assert_non_null(strstr(e.text, "not a Linux kernel"));
  assert_int_equal(image_open_kernel(folder, NULL, 0, &img, &e), -EISDIR);
  assert_int_equal(image_open_kernel(in_folder("absent"), NULL, 0, &img, &e), -ENOENT);
  struct made k = made_kernel(MADE_6_1);
  k.file.at[16] = ET_REL;
  assert_refused(k.file.at, k.file.n, "a kernel module");
  struct text z = made_vmlinuz(&ways[1], &k);
  assert_int_equal(image_from_memory("made", z.at, z.n, &img, &e), -ENOEXEC);
  assert_non_null(strstr(e.text, "give it with --kernel"));
  text_done(&z);
  text_done(&k.file);
}

/* --- modules ------------------------------------------------------------------------------------------------------ */

static const char module_source[] =
    "extern int padded_more(int); extern int sys_ni_syscall(void); extern int other_out(int); extern int absent(int);\n"
    "extern int own_local(int) __asm__(\"padded\");\n"
    "static __attribute__((noinline)) int inner(int x) { return other_out(x) + 1; }\n"
    "int outer(int x) { return inner(x) + sys_ni_syscall(); }\n"
    "int lost(int x) { return absent(x); }\n"
    "struct ops { int (*one)(int), (*two)(int), (*three)(int), (*four)(int), (*five)(int); };\n"
    "const struct ops ops = {inner, outer, other_out, absent, own_local};\n"
    "struct ops changing = {outer}; struct ops empty;\n"
    "__attribute__((section(\".data..ro_after_init\"))) struct ops late = {outer};\n"
    "int *pick(int i) { return (int *)&changing + i; }\n"
    "__attribute__((section(\".modinfo\"), used)) static const char name[] = \"name=made_one\\0license=none\";\n"
    "__attribute__((section(\".BTF\"), used)) static const char btf[] = \"split\";\n";

static const char other_source[] = "int other_out(int x) { return x * 3; }\n";

static void build(const char *options) {
  char line[768];
  assert_true(snprintf(line, sizeof line, "${CC:-cc} -w -O1 -g0 -fno-pic -fcf-protection=none -mcmodel=kernel -c %s",
                       options) < (int)sizeof line);
  if (!shell(line)) fail_msg("failed: %s", line);
}

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/murphy-kernel-XXXXXX");
  if (!mkdtemp(folder) || chmod(folder, 0755) < 0) return -1;
  struct made k = made_kernel(MADE_6_1);
  struct text z = made_vmlinuz(&ways[2], &k);
  int r = file_write(in_folder("vmlinuz"), z.at, z.n, NULL);
  text_done(&z);
  text_done(&k.file);
  if (r < 0 || file_write(in_folder("one.c"), module_source, sizeof module_source - 1, NULL) < 0) return -1;
  if (file_write(in_folder("two.c"), other_source, sizeof other_source - 1, NULL) < 0) return -1;
  build("one.c -o one.ko");
  build("two.c -o the-other.ko");
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  return shell("cd / && rm -rf \"$OLDPWD\"") ? 0 : -1;
}

static struct image *open_with(const char *const *names, size_t n) {
  struct image *img = NULL;
  struct err e = {0};
  char paths[4][160];
  const char *modules[4];
  for (size_t i = 0; i < n; i++) {
    (void)snprintf(paths[i], sizeof paths[i], "%s/%s", folder, names[i]);
    modules[i] = paths[i];
  }
  if (image_open_kernel(in_folder("vmlinuz"), modules, n, &img, &e) < 0) fail_msg("%s", e.text);
  return img;
}

static uint64_t word_at(const struct image *img, uint64_t address) {
  uint64_t v;
  const void *p = image_bytes(img, address, 8);
  assert_non_null(p);
  memcpy(&v, p, 8);
  return v;
}

/* Whether a call or jump in the function NAME goes to TARGET. */
static bool calls(const struct image *img, const char *name, uint64_t target) {
  const struct image_symbol *s = image_symbol_named(img, name);
  const uint8_t *p = image_bytes(img, s->address, s->size);
  assert_non_null(p);
  for (size_t i = 0; i + 5 <= s->size; i++) {
    int32_t offset;
    memcpy(&offset, p + i + 1, 4);
    if ((p[i] == 0xe8 || p[i] == 0xe9) && s->address + i + 5 + (uint64_t)(int64_t)offset == target) return true;
  }
  return false;
}

static void assert_linked(const struct image *img) {
  uint64_t ops = address_of(img, "ops"), outer = address_of(img, "outer"), other = address_of(img, "other_out");
  assert_int_equal(word_at(img, ops), address_of(img, "inner"));
  assert_int_equal(word_at(img, ops + 8), outer);
  assert_int_equal(word_at(img, ops + 16), other);
  /* Neither what nobody has, nor what only another file may use. */
  assert_int_equal(word_at(img, ops + 24), 0);
  assert_int_equal(word_at(img, ops + 32), 0);
  assert_true(calls(img, "outer", MADE_TEXT + 64));
  assert_true(calls(img, "outer", address_of(img, "inner")));
  assert_true(calls(img, "inner", other));
  assert_true(calls(img, "lost", 0));
}

static void test_modules_are_linked(void **state) {
  (void)state;
  for (int turn = 0; turn < 2; turn++) {
    const char *names[] = {turn ? "the-other.ko" : "one.ko", turn ? "one.ko" : "the-other.ko"};
    struct image *img = open_with(names, 2);
    assert_linked(img);
    size_t one = turn ? 1 : 0, n = 0;
    assert_int_equal(image_module_count(img), 2);
    assert_string_equal(image_module_name(img, one), "made_one");
    assert_string_equal(image_module_name(img, 1 - one), "the_other");
    assert_null(image_module_name(img, 2));
    assert_string_equal(image_module_of(img, address_of(img, "outer")), "made_one");
    assert_string_equal(image_module_of(img, address_of(img, "other_out")), "the_other");
    assert_null(image_module_of(img, MADE_TEXT));
    assert_null(image_module_of(img, UINT64_MAX));
    assert_memory_equal(image_module_btf(img, one, &n), "split", 6);
    assert_int_equal(n, 6);
    assert_null(image_module_btf(img, 1 - one, &n));
    image_free(img);
  }
}

static void test_a_module_in_memory(void **state) {
  (void)state;
  struct image *img = open_with((const char *[]){"one.ko"}, 1);
  uint64_t outer = address_of(img, "outer"), ops = address_of(img, "ops"), changing = address_of(img, "changing");
  assert_true(outer >= 0xffffffffc0000000);
  assert_true(image_is_code(img, outer) && image_is_readonly(img, ops) &&
              image_is_readonly(img, address_of(img, "late")));
  assert_false(image_is_code(img, ops) || image_is_readonly(img, changing));
  assert_true(image_is_mapped(img, address_of(img, "empty")));
  assert_null(image_bytes(img, address_of(img, "empty"), 8));
  const struct image_function *f = image_function_at(img, outer);
  assert_non_null(f);
  assert_string_equal(f->name, "outer");
  assert_int_equal(f->end, outer + image_symbol_named(img, "outer")->size);
  assert_int_equal(image_symbol_named(img, "ops")->size, 40);
  assert_true(image_symbol_named(img, "inner")->local);
  /* The kernel proper is as it was. */
  assert_int_equal(address_of(img, "twice"), MADE_TEXT + 48);
  assert_int_equal(word_at(img, ops + 16), 0);
  image_free(img);
}

static void test_packed_modules(void **state) {
  (void)state;
  for (size_t i = 1; i < 5; i++) {
    struct text in = {0};
    assert_int_equal(file_read(in_folder("one.ko"), ROOM, &in.at, &in.n, NULL), 0);
    size_t n = ways[i].pack(&in, packed);
    assert_int_equal(file_write(in_folder("packed.ko.z"), packed, n, NULL), 0);
    struct image *img = open_with((const char *[]){"packed.ko.z", "the-other.ko"}, 2);
    assert_linked(img);
    image_free(img);
    text_done(&in);
  }
}

static void assert_module_refused(const char *name, const char *words) {
  struct image *img = NULL;
  struct err e = {0};
  const char *path = in_folder(name);
  assert_true(image_open_kernel(in_folder("vmlinuz"), &path, 1, &img, &e) < 0);
  assert_null(img);
  if (strncmp(e.text, path, strlen(path)) != 0 || !strstr(e.text, words))
    fail_msg("not about \"%s\": %s", words, e.text);
}

static void test_what_is_no_module(void **state) {
  (void)state;
  char *bytes;
  size_t n;
  assert_module_refused("vmlinuz", "not a kernel module");
  assert_module_refused("none.ko", "does not exist");
  assert_int_equal(file_read(in_folder("one.ko"), ROOM, &bytes, &n, NULL), 0);
  bytes[16] = ET_DYN;
  assert_int_equal(file_write(in_folder("bad.ko"), bytes, n, NULL), 0);
  assert_module_refused("bad.ko", "ELF type is 3");
  bytes[16] = ET_REL;
  bytes[18] = (char)183;
  assert_int_equal(file_write(in_folder("bad.ko"), bytes, n, NULL), 0);
  assert_module_refused("bad.ko", "machine number is 183");
  bytes[18] = EM_X86_64;
  assert_int_equal(file_write(in_folder("bad.ko"), bytes, 100, NULL), 0);
  assert_module_refused("bad.ko", "without sections");
  free(bytes);
}

/* --- lack of memory ----------------------------------------------------------------------------------------------- */

#if OWN_ALLOCATOR
static void test_lack_of_memory(void **state) {
  (void)state;
  char kernel[160], one[160], two[160];
  (void)snprintf(kernel, sizeof kernel, "%s", in_folder("vmlinuz"));
  (void)snprintf(one, sizeof one, "%s", in_folder("one.ko"));
  (void)snprintf(two, sizeof two, "%s", in_folder("the-other.ko"));
  const char *modules[] = {one, two};
  for (long n = 0;; n++) {
    struct image *img = NULL;
    struct err e = {0};
    alive = 0;
    failed_one = false;
    failing = true;
    countdown = n;
    int r = image_open_kernel(kernel, modules, 2, &img, &e);
    countdown = -1;
    if (r >= 0) image_free(img);
    failing = false;
    assert_int_equal(alive, 0);
    if (!failed_one) break;
    /* qsort does without. */
    if (r < 0) {
      assert_int_equal(r, -ENOMEM);
      assert_null(img);
      assert_non_null(strstr(e.text, "out of memory"));
    }
    assert_true(n < 100000);
  }
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_each_form_of_kallsyms_gives_the_same_symbols),
    cmocka_unit_test(test_search_for_kallsyms_ends),
    cmocka_unit_test(test_sections_that_overlap),
    cmocka_unit_test(test_symtab_is_enough),
    cmocka_unit_test(test_section_headers_are_not_needed),
    cmocka_unit_test(test_damaged_tables_are_refused),
    cmocka_unit_test(test_addresses),
    cmocka_unit_test(test_readonly_without_symbols),
    cmocka_unit_test(test_what_it_says_about_itself),
    cmocka_unit_test(test_other_images_are_no_kernels),
    cmocka_unit_test(test_each_compression),
    cmocka_unit_test(test_a_packed_vmlinux),
    cmocka_unit_test(test_cut_and_damaged_payloads),
    cmocka_unit_test(test_a_wrong_size_is_survived),
    cmocka_unit_test(test_what_swells_is_refused),
    cmocka_unit_test(test_a_payload_without_a_header),
    cmocka_unit_test(test_a_unified_image),
    cmocka_unit_test(test_other_payloads),
    cmocka_unit_test(test_other_files),
    cmocka_unit_test(test_modules_are_linked),
    cmocka_unit_test(test_a_module_in_memory),
    cmocka_unit_test(test_packed_modules),
    cmocka_unit_test(test_what_is_no_module),
#if OWN_ALLOCATOR
    cmocka_unit_test(test_lack_of_memory),
#endif
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
