/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The image room against real files: this process's own C library, whose loader is the oracle; small libraries and
 * programs that are linked here; and everything that is no image, or a broken one.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "image/image.h"

#define DT_RELR_TAG 36 /* DT_RELR, which older headers lack */

static const char library_source[] =
    "extern int imported(int); extern __thread int tls_in; __thread int tls_out; static __thread int tls_own = 3;\n"
    "int exported(int x) { return imported(x) + 1; }\n"
    "static __attribute__((noinline)) int inner(int x) { return x * 3; }\n"
    "static __attribute__((noinline)) int other(int x) { return x * 5; }\n"
    "int (*const table[])(int) = {inner, other, inner, 0, other, imported};\n"
    "__attribute__((visibility(\"protected\"))) int shielded(int x) { return x - 1; }\n"
    "int (*const shield)(int) = shielded;\n"
    "int *tls(int n) { return n == 1 ? &tls_in : n == 2 ? &tls_out : &tls_own; }\n"
    "#ifdef VERSIONED\n"
    "int old_way(int x) { return x; } int new_way(int x) { return x + 1; } int last_way(int x) { return x + 2; }\n"
    "__asm__(\".symver old_way, way@ONE\"); __asm__(\".symver new_way, way@@TWO\");\n"
    "__asm__(\".symver last_way, gone@ONE\");\n"
    "#endif\n";

static const char program_source[] = "int exported(int); int imported(int x) { return x; } __thread int tls_in;\n"
                                     "void _start(void) { for (;;) exported(1); }\n";

/* The folder of this run, and what is compiled into it once. */
static char folder[64];

static const char *in_folder(const char *name) {
  static char path[8][160];
  static unsigned next;
  char *p = path[next++ % 8];
  assert_true(snprintf(p, sizeof path[0], "%s/%s", folder, name) < (int)sizeof path[0]);
  return p;
}

static void write_file(const char *name, const void *bytes, size_t n) {
  assert_int_equal(file_write(in_folder(name), bytes, n, NULL), 0);
}

static char *read_file(const char *name, size_t *ret_size) {
  char *bytes;
  assert_int_equal(file_read(in_folder(name), 64 << 20, &bytes, ret_size, NULL), 0);
  return bytes;
}

/* Runs a command of the shell in the folder. */
static void shell(const char *command) {
  char line[1024];
  assert_true(snprintf(line, sizeof line, "cd '%s' && %s", folder, command) < (int)sizeof line);
  if (system(line) != 0) fail_msg("failed: %s", line);
}

/* Compiles and links; OPTIONS end with the name of the output. */
static void build(const char *options) {
  char line[768];
  assert_true(snprintf(line, sizeof line, "${CC:-cc} -w -O1 -g0 -fPIC -nostdlib %s", options) < (int)sizeof line);
  shell(line);
}

static struct image *open_image(const char *path) {
  struct image *img = NULL;
  struct err e = {0};
  if (image_open(path, &img, &e) < 0) fail_msg("%s", e.text);
  return img;
}

/* Opening PATH must fail with CODE and a message that is "PATH: " and then WORDS somewhere. */
static void assert_refused(const char *path, int code, const char *words) {
  struct image *img = NULL;
  struct err e = {0};
  assert_int_equal(image_open(path, &img, &e), code);
  assert_null(img);
  if (strncmp(e.text, path, strlen(path)) != 0 || !strstr(e.text, words) || strchr(e.text, '\n'))
    fail_msg("not about \"%s\": %s", words, e.text);
}

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/murphy-image-XXXXXX");
  if (!mkdtemp(folder) || chmod(folder, 0755) < 0) return -1;
  write_file("lib.c", library_source, sizeof library_source - 1);
  write_file("prog.c", program_source, sizeof program_source - 1);
  write_file("lib.map", "ONE { global: way; gone; }; TWO { global: *; } ONE;", 51);
  build("-shared -DVERSIONED -Wl,--version-script=lib.map -Wl,-soname,libmade.so.1 -Wl,--build-id=0x0123abcd "
        "-Wl,-z,relro lib.c -o made.so");
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  shell("cd / && rm -rf \"$OLDPWD\"");
  return 0;
}

/* --- the C library of this process -------------------------------------------------------------------------------- */

static void *libc_handle(struct link_map **ret) {
  void *handle = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  assert_non_null(handle);
  assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, ret), 0);
  return handle;
}

static void test_exports_are_where_the_loader_finds_them(void **state) {
  (void)state;
  struct link_map *map;
  const struct image_symbol *s;
  void *handle = libc_handle(&map);
  struct image *img = open_image(map->l_name);
  size_t n = image_exports(img, &s), compared = 0;
  for (size_t i = 0; i < n; i++) {
    assert_true(i == 0 || strcmp(s[i - 1].name, s[i].name) <= 0);
    if (s[i].kind != SYMBOL_FUNCTION && s[i].kind != SYMBOL_OBJECT) continue;
    assert_non_null(s[i].version);
    void *at = dlvsym(handle, s[i].name, s[i].version);
    if (at != (void *)(map->l_addr + s[i].address))
      fail_msg("%s@%s is at %p, not 0x%lx", s[i].name, s[i].version, at, (unsigned long)s[i].address);
    assert_ptr_equal(image_export(img, s[i].name, s[i].version), &s[i]);
    compared++;
  }
  assert_true(compared > 2000);
  image_free(img);
  (void)dlclose(handle);
}

static void test_default_version_is_the_loaders(void **state) {
  (void)state;
  struct link_map *map;
  void *handle = libc_handle(&map);
  struct image *img = open_image(map->l_name);
  const struct image_symbol *s = image_export(img, "memcpy", NULL);
  assert_non_null(s);
  assert_int_equal(s->kind, SYMBOL_IFUNC);
  assert_string_equal(s->version, "GLIBC_2.14");
  assert_false(s->hidden_version);
  s = image_export(img, "memcpy", "GLIBC_2.2.5");
  assert_non_null(s);
  assert_true(s->hidden_version);
  assert_ptr_equal(image_export(img, "memcpy", "NONE_1"), image_export(img, "memcpy", NULL));
  assert_null(image_export(img, "no_such_function", NULL));
  assert_null(image_export(img, "GLIBC_2.2.5", NULL));
  s = image_export(img, "pthread_create", NULL);
  assert_ptr_equal(map->l_addr + s->address, dlsym(handle, "pthread_create"));
  s = image_export(img, "errno", "GLIBC_PRIVATE");
  assert_non_null(s);
  assert_int_equal(s->kind, SYMBOL_TLS);
  image_free(img);
  (void)dlclose(handle);
}

/* What the loader wrote into memory that is now read-only is still there. */
static void test_local_slots_hold_what_the_loader_wrote(void **state) {
  (void)state;
  struct link_map *map;
  struct image_slot s;
  void *handle = libc_handle(&map);
  struct image *img = open_image(map->l_name);
  size_t compared = 0;
  for (uint64_t at = 0; image_slot_after(img, at, &s); at = s.at + 1) {
    uint64_t word;
    if (s.kind != SLOT_LOCAL || !image_is_readonly(img, s.at)) continue;
    memcpy(&word, (void *)(map->l_addr + s.at), sizeof word);
    if (word != map->l_addr + s.value)
      fail_msg("0x%lx holds 0x%lx", (unsigned long)s.at, (unsigned long)(word - map->l_addr));
    compared++;
  }
  assert_true(compared > 500);
  image_free(img);
  (void)dlclose(handle);
}

static void test_bytes_are_those_in_memory(void **state) {
  (void)state;
  struct link_map *map;
  void *handle = libc_handle(&map);
  struct image *img = open_image(map->l_name);
  const struct image_symbol *s = image_export(img, "qsort", NULL);
  assert_memory_equal(image_bytes(img, s->address, s->size), (void *)(map->l_addr + s->address), s->size);
  assert_true(image_is_code(img, s->address));
  assert_true(image_is_readonly(img, s->address));
  assert_true(image_bytes_left(img, s->address) > s->size);
  assert_non_null(image_bytes(img, s->address, image_bytes_left(img, s->address)));
  assert_null(image_bytes(img, s->address, image_bytes_left(img, s->address) + 1));
  assert_null(image_bytes(img, s->address, SIZE_MAX));
  assert_null(image_bytes(img, UINT64_MAX, 1));
  assert_int_equal(image_bytes_left(img, UINT64_MAX), 0);
  assert_false(image_is_mapped(img, UINT64_MAX));
  s = image_export(img, "environ", NULL);
  assert_true(image_is_mapped(img, s->address));
  assert_false(image_is_code(img, s->address));
  assert_false(image_is_readonly(img, s->address));
  assert_true(image_code_size(img) > 1 << 20);
  image_free(img);
  (void)dlclose(handle);
}

static void test_functions_of_the_c_library(void **state) {
  (void)state;
  struct link_map *map;
  const struct image_symbol *s;
  void *handle = libc_handle(&map);
  struct image *img = open_image(map->l_name);
  const struct image_function *f;
  size_t n = image_exports(img, &s);
  for (size_t i = 0; i < n; i++) {
    if (s[i].kind != SYMBOL_FUNCTION) continue;
    f = image_function_at(img, s[i].address);
    assert_non_null(f);
    assert_non_null(f->name);
    assert_true(f->end >= f->address + s[i].size);
  }
  f = image_function_at(img, image_export(img, "write", NULL)->address);
  assert_string_equal(f->name, "write"); /* not __write, which is the same */
  assert_true(f->framed);
  assert_ptr_equal(image_function_before(img, f->address + 1), f);
  assert_null(image_function_at(img, f->address + 1));
  assert_null(image_function_before(img, 0));
  size_t all = image_functions(img, &f), unnamed = 0;
  for (size_t i = 0; i < all; i++) {
    assert_true(i == 0 || f[i - 1].address < f[i].address);
    unnamed += f[i].name == NULL;
  }
  assert_true(all > 3000 && unnamed > 500);
  image_free(img);
  (void)dlclose(handle);
}

/* What a program starts with comes with libc, which GCC has made. */
static void test_who_has_made_it(void **state) {
  (void)state;
  struct image *img = open_image("/proc/self/exe");
  assert_true(image_made_by(img, "GCC:"));
  assert_false(image_made_by(img, "GC") || image_made_by(img, "rustc"));
  image_free(img);
}

static void test_names_of_the_c_library(void **state) {
  (void)state;
  struct link_map *map;
  const char *const *needed;
  void *handle = libc_handle(&map);
  struct image *img = open_image(map->l_name);
  assert_string_equal(image_name(img), "libc.so.6");
  assert_string_equal(image_path(img), map->l_name);
  assert_int_equal(strlen(image_build_id(img)), 40);
  assert_int_equal(strspn(image_build_id(img), "0123456789abcdef"), 40);
  assert_string_equal(image_interpreter(img), "/lib64/ld-linux-x86-64.so.2");
  assert_true(image_is_dynamic(img));
  assert_int_equal(image_needed(img, &needed), 1);
  assert_string_equal(needed[0], "ld-linux-x86-64.so.2");
  image_free(img);
  (void)dlclose(handle);
}

static void test_program(void **state) {
  (void)state;
  const char *const *needed;
  struct image *img = open_image("/bin/true");
  size_t n = image_needed(img, &needed);
  bool libc = false;
  for (size_t i = 0; i < n; i++)
    libc = libc || strcmp(needed[i], "libc.so.6") == 0;
  assert_true(libc);
  assert_true(image_is_dynamic(img));
  assert_string_equal(image_name(img), "true");
  assert_true(image_is_code(img, image_entry(img)));
  struct image_slot s;
  bool found = false;
  for (uint64_t at = 0; image_slot_after(img, at, &s); at = s.at + 1)
    found = found || (s.kind == SLOT_IMPORT && strcmp(s.name, "__libc_start_main") == 0 && s.version);
  assert_true(found);
  image_free(img);
}

/* --- what is linked here ------------------------------------------------------------------------------------------ */

static void test_versions(void **state) {
  (void)state;
  struct image *img = open_image(in_folder("made.so"));
  const struct image_symbol *s = image_export(img, "way", NULL);
  assert_string_equal(s->version, "TWO");
  assert_false(s->hidden_version);
  assert_ptr_equal(image_export(img, "way", "TWO"), s);
  assert_string_equal(image_export(img, "way", "ONE")->version, "ONE");
  assert_true(image_export(img, "way", "ONE")->hidden_version);
  assert_true(image_export(img, "way", "ONE") == s + 1);
  assert_null(image_export(img, "gone", NULL));
  assert_non_null(image_export(img, "gone", "ONE"));
  assert_null(image_export(img, "TWO", NULL));
  assert_string_equal(image_name(img), "libmade.so.1");
  assert_string_equal(image_build_id(img), "0123abcd");
  assert_null(image_interpreter(img));
  assert_null(image_rpath(img));
  assert_null(image_runpath(img));
  image_free(img);
}

/* The slot of a word of the exported array "table". */
static bool table_slot(const struct image *img, size_t i, struct image_slot *ret) {
  return image_slot(img, image_export(img, "table", NULL)->address + 8 * i, ret);
}

static void assert_table(const struct image *img) {
  struct image_slot s = {.at = 7};
  uint64_t inner, other;
  assert_true(table_slot(img, 0, &s));
  assert_int_equal(s.kind, SLOT_LOCAL);
  inner = s.value;
  assert_true(table_slot(img, 1, &s));
  other = s.value;
  assert_int_not_equal(inner, other);
  assert_non_null(image_function_at(img, inner));
  assert_non_null(image_function_at(img, other));
  assert_true(table_slot(img, 2, &s) && s.value == inner);
  s.at = 7;
  assert_false(table_slot(img, 3, &s));
  assert_int_equal(s.at, 7);
  assert_true(table_slot(img, 4, &s) && s.value == other);
  assert_true(table_slot(img, 5, &s));
  assert_int_equal(s.kind, SLOT_IMPORT);
  assert_string_equal(s.name, "imported");
  assert_true(image_is_readonly(img, s.at));
  assert_true(image_slot(img, image_export(img, "shield", NULL)->address, &s));
  assert_int_equal(s.kind, SLOT_LOCAL);
  assert_int_equal(s.value, image_export(img, "shielded", NULL)->address);
}

static size_t count_slots(const struct image *img, enum image_slot_kind kind, const char *name) {
  struct image_slot s;
  size_t n = 0;
  for (uint64_t at = 0; image_slot_after(img, at, &s); at = s.at + 1)
    n += s.kind == kind && (name ? s.name && strcmp(s.name, name) == 0 : !s.name);
  return n;
}

static void test_slots(void **state) {
  (void)state;
  struct image *img = open_image(in_folder("made.so"));
  assert_table(img);
  assert_true(count_slots(img, SLOT_IMPORT, "imported") >= 2);
  image_free(img);
}

static void test_tls_slots(void **state) {
  (void)state;
  struct image_slot s;
  build("-shared lib.c -o pairs.so");
  struct image *img = open_image(in_folder("pairs.so"));
  /* which of the two it is by default is the compiler's choice */
  enum image_slot_kind kind = count_slots(img, SLOT_TLS_DESC, "tls_in") ? SLOT_TLS_DESC : SLOT_TLS_PAIR;
  assert_int_equal(count_slots(img, kind, "tls_in"), 1);
  assert_int_equal(count_slots(img, kind, "tls_out"), 1);
  assert_int_equal(count_slots(img, kind, NULL), 1);
  image_free(img);
  build("-shared -ftls-model=initial-exec lib.c -o offsets.so");
  img = open_image(in_folder("offsets.so"));
  assert_int_equal(count_slots(img, SLOT_TLS, "tls_in"), 1);
  assert_int_equal(count_slots(img, SLOT_TLS, NULL), 1);
  for (uint64_t at = 0; image_slot_after(img, at, &s) && !(s.kind == SLOT_TLS && !s.name); at = s.at + 1)
    ;
  uint64_t out = image_export(img, "tls_out", NULL)->address;
  assert_int_equal(s.value, out == 0 ? 4 : 0); /* the two variables of the module's own block */
  image_free(img);
}

/* GNU ld has this since 2.38; where it lacks it, it warns and writes ordinary relocations. */
static void test_relr(void **state) {
  (void)state;
  build("-shared -Wl,-z,relro -Wl,-z,pack-relative-relocs lib.c -o relr.so 2>/dev/null");
  struct image *img = open_image(in_folder("relr.so"));
  assert_table(img);
  image_free(img);
}

/* The count of symbols from DT_HASH, and, where that lies, from what follows the symbols. */
static void test_sysv_hash_and_no_hash(void **state) {
  (void)state;
  size_t size;
  struct image *img;
  build("-shared -Wl,-z,relro -Wl,--hash-style=sysv lib.c -o sysv.so");
  img = open_image(in_folder("sysv.so"));
  assert_table(img);
  size_t n = image_exports(img, &(const struct image_symbol *){NULL});
  image_free(img);
  char *bytes = read_file("sysv.so", &size);
  for (size_t i = 0; i + 16 <= size; i += 8) {
    uint64_t tag, value;
    memcpy(&tag, bytes + i, 8);
    memcpy(&value, bytes + i + 8, 8);
    if (tag == DT_HASH && value > 0 && value < size) memset(bytes + i + 8, 0xff, 8);
  }
  write_file("nohash.so", bytes, size);
  free(bytes);
  img = open_image(in_folder("nohash.so"));
  assert_int_equal(image_exports(img, &(const struct image_symbol *){NULL}), n);
  assert_table(img);
  image_free(img);
}

/* The loader needs no sections, and neither do exports, slots and frames. */
static void test_without_sections(void **state) {
  (void)state;
  size_t size;
  char *bytes = read_file("made.so", &size);
  memset(bytes + offsetof(Elf64_Ehdr, e_shoff), 0, 8);
  memset(bytes + offsetof(Elf64_Ehdr, e_shentsize), 0, 6);
  struct image *img = NULL;
  assert_int_equal(image_from_memory("bare.so", bytes, size, &img, NULL), 0);
  free(bytes); /* they were copied */
  struct image *whole = open_image(in_folder("made.so"));
  const struct image_function *f;
  const struct image_symbol *s;
  assert_table(img);
  assert_string_equal(image_path(img), "bare.so");
  assert_string_equal(image_build_id(img), "0123abcd");
  assert_int_equal(image_exports(img, &s), image_exports(whole, &s));
  /* inner has no symbol now, but a frame */
  f = image_function_at(img, image_export(img, "exported", NULL)->address);
  assert_true(f->framed);
  assert_string_equal(f->name, "exported");
  size_t n = image_functions(whole, &f);
  for (size_t i = 0; i < n; i++) {
    const struct image_function *same = image_function_at(img, f[i].address);
    assert_int_equal(f[i].framed, same != NULL);
    assert_true(!same || same->end == f[i].end);
  }
  image_free(whole);
  image_free(img);
}

static void test_symtab_names_internal_functions(void **state) {
  (void)state;
  struct image *img = open_image(in_folder("made.so"));
  struct image_slot s;
  assert_true(table_slot(img, 0, &s));
  assert_string_equal(image_function_at(img, s.value)->name, "inner");
  image_free(img);
}

static void assert_inner_framed(const char *path) {
  struct image *img = open_image(path);
  struct image_slot s;
  assert_true(table_slot(img, 1, &s));
  const struct image_function *f = image_function_at(img, s.value);
  assert_non_null(f);
  assert_null(f->name);
  assert_true(f->framed);
  assert_true(f->end > f->address && f->end - f->address < 64);
  image_free(img);
}

/* Without its table .eh_frame is walked: from the section, or from where the header says if there are no sections. */
static void test_frames_without_table(void **state) {
  (void)state;
  size_t size;
  build("-shared -s -Wl,--no-eh-frame-hdr lib.c -o nohdr.so");
  assert_inner_framed(in_folder("nohdr.so"));
  build("-shared -s lib.c -o hdr.so");
  assert_inner_framed(in_folder("hdr.so"));
  char *bytes = read_file("hdr.so", &size);
  memset(bytes + offsetof(Elf64_Ehdr, e_shoff), 0, 8);
  memset(bytes + offsetof(Elf64_Ehdr, e_shentsize), 0, 6);
  Elf64_Ehdr h;
  memcpy(&h, bytes, sizeof h);
  for (size_t i = 0; i < h.e_phnum; i++) {
    Elf64_Phdr p;
    memcpy(&p, bytes + h.e_phoff + i * sizeof p, sizeof p);
    if (p.p_type == PT_GNU_EH_FRAME) memset(bytes + p.p_offset + 2, 0xff, 2); /* no count, no table */
  }
  write_file("notable.so", bytes, size);
  free(bytes);
  assert_inner_framed(in_folder("notable.so"));
}

static void test_kinds_of_programs(void **state) {
  (void)state;
  const char *loader = "-Wl,-dynamic-linker,/lib64/ld-linux-x86-64.so.2";
  char line[256];
  (void)snprintf(line, sizeof line, "-fPIE -pie -Wl,--allow-shlib-undefined %s prog.c made.so -o pie", loader);
  build(line);
  (void)snprintf(line, sizeof line, "-fno-pic -no-pie -Wl,--allow-shlib-undefined %s prog.c made.so -o nopie", loader);
  build(line);
  build("-fno-pic -static -Wl,--unresolved-symbols=ignore-all prog.c -o static");
  build("-fPIE -static-pie -Wl,--unresolved-symbols=ignore-all prog.c -o staticpie");
  const char *names[] = {"pie", "nopie", "static", "staticpie"};
  for (size_t i = 0; i < COUNT(names); i++) {
    struct image *img = open_image(in_folder(names[i]));
    assert_int_equal(image_is_dynamic(img), i < 2);
    assert_int_equal(image_interpreter(img) != NULL, i < 2);
    assert_int_equal(image_needed(img, &(const char *const *){NULL}), i < 2);
    assert_string_equal(image_function_at(img, image_entry(img))->name, "_start");
    assert_int_equal(count_slots(img, SLOT_IMPORT, "exported"), i < 2);
    image_free(img);
  }
}

/* --- finding libraries -------------------------------------------------------------------------------------------- */

static void assert_found(const char *name, const struct image *img, const char *path) {
  char *found = NULL;
  struct err e = {0};
  if (image_find(name, img, &found, &e) < 0) fail_msg("%s", e.text);
  assert_string_equal(found, path);
  free(found);
}

static void test_find_as_the_loader(void **state) {
  (void)state;
  struct link_map *map;
  char *found = NULL;
  void *handle = libc_handle(&map);
  assert_found("libc.so.6", NULL, map->l_name);
  assert_found(map->l_name, NULL, map->l_name);
  (void)dlclose(handle);
  struct err e = {0};
  struct image *img = open_image(in_folder("made.so"));
  assert_int_equal(image_find("libnothing.so.9", img, &found, &e), -ENOENT);
  assert_non_null(strstr(e.text, "libnothing.so.9: "));
  assert_non_null(strstr(e.text, "made.so"));
  assert_int_equal(image_find("", NULL, &found, NULL), -ENOENT);
  assert_int_equal(image_find("/", NULL, &found, NULL), -ENOENT);
  assert_null(found);
  image_free(img);
}

static void test_find_by_paths(void **state) {
  (void)state;
  size_t size;
  shell("mkdir -p app lib app/lib64 wrong env && cp made.so lib/libx.so && cp made.so app/lib64/liby.so"
        " && cp made.so env/libx.so && cp made.so env/libz.so && echo text > wrong/libx.so");
  char *bytes = read_file("made.so", &size);
  bytes[offsetof(Elf64_Ehdr, e_machine)] = (char)EM_AARCH64;
  write_file("wrong/libz.so", bytes, size);
  free(bytes);
  build("-shared lib.c -Wl,--enable-new-dtags '-Wl,-rpath,$ORIGIN/../wrong:${ORIGIN}/../lib:$ORIGIN/$LIB' "
        "-o app/run.so");
  build("-shared lib.c -Wl,--disable-new-dtags '-Wl,-rpath,$ORIGIN/../lib' -o app/r.so");
  struct image *run = open_image(in_folder("app/run.so")), *old = open_image(in_folder("app/r.so"));
  char path[200];
  assert_non_null(image_runpath(run));
  assert_null(image_rpath(run));
  assert_string_equal(image_rpath(old), "$ORIGIN/../lib");
  assert_null(image_runpath(old));
  (void)snprintf(path, sizeof path, "%s/app/../lib/libx.so", folder);
  assert_found("libx.so", run, path);
  (void)snprintf(path, sizeof path, "%s/app/lib64/liby.so", folder);
  assert_found("liby.so", run, path);
  /* DT_RPATH comes before the environment, DT_RUNPATH behind it */
  (void)snprintf(path, sizeof path, "/nowhere:%s;%s", in_folder("wrong"), in_folder("env"));
  assert_int_equal(setenv("LD_LIBRARY_PATH", path, 1), 0);
  assert_found("libx.so", run, in_folder("env/libx.so"));
  assert_found("libz.so", run, in_folder("env/libz.so"));
  (void)snprintf(path, sizeof path, "%s/app/../lib/libx.so", folder);
  assert_found("libx.so", old, path);
  shell("mkdir -p env/glibc-hwcaps/x86-64-v2 && cp made.so env/glibc-hwcaps/x86-64-v2/libx.so");
  if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("popcnt"))
    assert_found("libx.so", run, in_folder("env/glibc-hwcaps/x86-64-v2/libx.so"));
  assert_int_equal(unsetenv("LD_LIBRARY_PATH"), 0);
  image_free(run);
  image_free(old);
}

/* --- what is refused ---------------------------------------------------------------------------------------------- */

static void test_refuses_what_is_no_file(void **state) {
  (void)state;
  shell("ln -sf nowhere dangling; ln -sf loop loop; mkfifo fifo; : > nothing");
  assert_refused(in_folder("absent"), -ENOENT, ": does not exist");
  assert_refused(in_folder("dangling"), -ENOENT, "symbolic link");
  assert_refused(in_folder("loop"), -ELOOP, "symbolic link");
  assert_refused(in_folder("made.so/x"), -ENOTDIR, ": does not exist");
  assert_refused(folder, -EISDIR, ": is a directory");
  assert_refused(in_folder("fifo"), -EINVAL, ": not a regular file");
  assert_refused("/dev/null", -EINVAL, ": not a regular file");
  assert_refused(in_folder("nothing"), -ENOEXEC, ": empty");
}

static void test_refuses_without_permission(void **state) {
  (void)state;
  uid_t me = geteuid();
  shell("cp made.so secret.so && chmod 0 secret.so && mkdir -p closed && cp made.so closed && chmod 0 closed");
  if (me == 0 && seteuid(65534) < 0) return;
  assert_refused(in_folder("secret.so"), -EACCES, ": no permission (its mode is 0000");
  assert_refused(in_folder("closed/made.so"), -EACCES, ": no permission (a directory");
  if (me == 0) assert_int_equal(seteuid(0), 0);
  shell("chmod 700 closed");
}

static void test_refuses_other_formats(void **state) {
  (void)state;
  static const struct {
    const char *start, *words;
  } all[] = {
      {"#!/bin/sh -e\necho\n", "a script, not an ELF file (give what it is run by, \"/bin/sh\""},
      {"!<arch>\nabc", "a static archive"},
      {"MZ\x90", "a Windows or EFI file"},
      {"\x1f\x8b\x08", "gzip"},
      {"hello world and more than that", "not an ELF file (starts with \"hello world and \")"},
      {"{\n", "not an ELF file (starts with \"{\")"},
      {"\x01\x02\x03", "not an ELF file (starts with bytes 01 02 03)"},
      {"\x7f", "not an ELF file (starts with bytes 7f)"},
      {"\x7f"
       "ELF",
       "truncated: the ELF header ends at byte 64 of a file of 4 bytes"},
      {"/* GNU ld script\n*/\nGROUP ( /lib/a.so.6 /b.a  AS_NEEDED ( /c.so.2 ) )\n",
       "a linker script, not a library (give one that it names: /lib/a.so.6, /b.a, /c.so.2)"},
      {"INPUT(libncurses.so.6 -ltinfo)", "linker script, not a library (give one that it names: libncurses.so.6, "},
      {"OUTPUT_FORMAT(elf64-x86-64)\nGROUP(x.so)", "names: x.so)"},
      {"GROUP of people", "not an ELF file (starts with \"GROUP of people\")"},
      {"/*", "not an ELF file"},
  };
  for (size_t i = 0; i < COUNT(all); i++) {
    write_file("other", all[i].start, strlen(all[i].start));
    assert_refused(in_folder("other"), -ENOEXEC, all[i].words);
  }
}

static void test_refuses_other_machines(void **state) {
  (void)state;
  static const struct {
    unsigned char class, order, low, high;
    const char *words;
  } all[] = {
      {1, 1, 3, 0, ": 32-bit: for Intel 80386, not x86-64"},
      {1, 1, 62, 0, ": 32-bit: for the x32 ABI"},
      {2, 1, 183, 0, ": for ARM aarch64, not x86-64"},
      {1, 1, 40, 0, ": 32-bit: for ARM, not x86-64"},
      {2, 1, 243, 0, ": for RISC-V, not x86-64"},
      {2, 2, 0, 22, ": for IBM S/390, not x86-64 (big-endian)"},
      {1, 2, 0, 8, ": 32-bit: for MIPS, not x86-64 (big-endian)"},
      {2, 1, 2, 1, ": for LoongArch, not x86-64"},
      {2, 1, 0x34, 0x12, ": for machine number 4660, not x86-64"},
      {3, 1, 62, 0, ": damaged: an ELF file of class 3"},
      {2, 0, 62, 0, ": damaged: an ELF file of class 2 and byte order 0"},
  };
  size_t size;
  char *bytes = read_file("made.so", &size);
  for (size_t i = 0; i < COUNT(all); i++) {
    bytes[EI_CLASS] = (char)all[i].class;
    bytes[EI_DATA] = (char)all[i].order;
    bytes[18] = (char)all[i].low;
    bytes[19] = (char)all[i].high;
    write_file("machine.so", bytes, size);
    assert_refused(in_folder("machine.so"), -ENOEXEC, all[i].words);
  }
  free(bytes);
}

static void test_refuses_other_elf_types(void **state) {
  (void)state;
  size_t size;
  build("-c lib.c -o lib.o");
  assert_refused(in_folder("lib.o"), -ENOEXEC, ": an object file, not a program or shared library (link it first)");
  shell("cp lib.o lib.ko && echo 'const char m[] __attribute__((section(\".modinfo\"))) = \"license=GPL\";' > mod.c");
  build("-c mod.c -o mod.o");
  assert_refused(in_folder("lib.ko"), -ENOEXEC, ": a kernel module");
  assert_refused(in_folder("mod.o"), -ENOEXEC, ": a kernel module");
  char *bytes = read_file("made.so", &size);
  bytes[16] = ET_CORE;
  write_file("core", bytes, size);
  assert_refused(in_folder("core"), -ENOEXEC, ": a core file");
  bytes[16] = 9;
  write_file("core", bytes, size);
  assert_refused(in_folder("core"), -ENOEXEC, "its ELF type is 9");
  free(bytes);
  shell("objcopy --only-keep-debug made.so made.debug");
  assert_refused(in_folder("made.debug"), -ENOEXEC, ": holds debug information only");
}

/* made.so with eight bytes at OFFSET replaced, in memory. */
static void assert_patched(const char *bytes, size_t size, size_t offset, uint64_t value, const char *words) {
  char *copy = malloc(size);
  struct image *img = NULL;
  struct err e = {0};
  assert_non_null(copy);
  memcpy(copy, bytes, size);
  memcpy(copy + offset, &value, sizeof value);
  int r = image_from_memory("patched.so", copy, size, &img, &e);
  free(copy);
  assert_int_equal(r, -ENOEXEC);
  if (!strstr(e.text, words)) fail_msg("not about \"%s\": %s", words, e.text);
}

/* Where the first program header of TYPE is in the file. */
static size_t header_offset(const char *bytes, uint32_t type) {
  Elf64_Ehdr h;
  memcpy(&h, bytes, sizeof h);
  for (size_t i = 0; i < h.e_phnum; i++) {
    uint32_t own;
    memcpy(&own, bytes + h.e_phoff + i * sizeof(Elf64_Phdr), sizeof own);
    if (own == type) return h.e_phoff + i * sizeof(Elf64_Phdr);
  }
  fail_msg("no program header of type %u", type);
  return 0;
}

/* Where the dynamic section's entry for TAG has its value. */
static size_t tag_offset(const char *bytes, uint64_t wanted) {
  Elf64_Phdr p;
  memcpy(&p, bytes + header_offset(bytes, PT_DYNAMIC), sizeof p);
  for (size_t at = p.p_offset; at < p.p_offset + p.p_filesz; at += 16) {
    uint64_t tag;
    memcpy(&tag, bytes + at, sizeof tag);
    if (tag == wanted) return at + 8;
  }
  fail_msg("no dynamic tag %lu", (unsigned long)wanted);
  return 0;
}

static void test_refuses_broken_headers(void **state) {
  (void)state;
  size_t size;
  char *bytes = read_file("made.so", &size), words[160];
  size_t load = header_offset(bytes, PT_LOAD);
  assert_patched(bytes, size, offsetof(Elf64_Ehdr, e_phoff), size - 8, "truncated: the program headers end at byte");
  assert_patched(bytes, size, offsetof(Elf64_Ehdr, e_phoff), UINT64_MAX, "truncated: the program headers end at byte");
  assert_patched(bytes, size, load + offsetof(Elf64_Phdr, p_filesz), UINT64_MAX, "truncated: segment 0 ends at byte");
  assert_patched(bytes, size, load + offsetof(Elf64_Phdr, p_offset), UINT64_MAX, "truncated: segment 0 ends at byte");
  assert_patched(bytes, size, load + offsetof(Elf64_Phdr, p_vaddr), UINT64_MAX - 8, "damaged: segment 0 goes past");
  assert_patched(bytes, size, tag_offset(bytes, DT_STRTAB), 1ULL << 40, "damaged: the string table at");
  assert_patched(bytes, size, tag_offset(bytes, DT_SYMTAB), 1ULL << 40, "damaged: the symbol table at");
  assert_patched(bytes, size, tag_offset(bytes, DT_RELASZ), UINT64_MAX, "damaged: the relocation table");
  assert_patched(bytes, size, tag_offset(bytes, DT_JMPREL), UINT64_MAX, "damaged: the table of PLT relocations");
  assert_patched(bytes, size, header_offset(bytes, PT_DYNAMIC) + offsetof(Elf64_Phdr, p_vaddr), 1ULL << 40,
                 "damaged: its dynamic section");
  write_file("cut.so", bytes, 100);
  (void)snprintf(words, sizeof words, "of a file of 100 bytes");
  assert_refused(in_folder("cut.so"), -ENOEXEC, words);
  free(bytes);
}

/* A real DT_RELR table, of an address and a bitmap, and the same with the address twice. */
static void test_relr_in_a_stored_library(void **state) {
  (void)state;
  const char *path = "tests/fuzz/corpus/image/relr.so";
  size_t size;
  uint64_t table, first;
  char *bytes;
  struct image_slot s;
  if (file_read(path, 1 << 20, &bytes, &size, NULL) < 0) return; /* not run from the root of the sources */
  struct image *img = open_image(path);
  memcpy(&table, bytes + tag_offset(bytes, DT_RELR_TAG), sizeof table);
  memcpy(&first, bytes + table, sizeof first);
  assert_true(image_slot(img, first, &s));
  assert_int_equal(s.kind, SLOT_LOCAL);
  assert_non_null(image_function_at(img, s.value));
  assert_true(image_slot(img, first + 8, &s) && s.kind == SLOT_IMPORT); /* from DT_RELA */
  assert_true(image_slot(img, first + 16, &s) && s.kind == SLOT_LOCAL);
  assert_false(image_slot(img, first + 24, &s) && s.kind == SLOT_LOCAL);
  image_free(img);
  assert_patched(bytes, size, table + 8, first, "damaged: its relative relocations overlap at");
  free(bytes);
}

/* Asks everything; the sanitizers and the order of the lists are the judges. */
static void ask_everything(const struct image *img) {
  const struct image_symbol *s;
  const struct image_function *f;
  const char *const *needed;
  struct image_slot slot;
  size_t n = image_exports(img, &s), sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += strlen(s[i].name) + (s[i].version ? strlen(s[i].version) : 0);
  n = image_functions(img, &f);
  for (size_t i = 0; i < n; i++)
    assert_true(i == 0 || f[i - 1].address < f[i].address);
  n = image_needed(img, &needed);
  for (size_t i = 0; i < n; i++)
    sum += strlen(needed[i]);
  for (uint64_t at = 0; image_slot_after(img, at, &slot); at = slot.at + 1)
    sum += slot.name ? strlen(slot.name) : 0;
  assert_true(sum < SIZE_MAX);
}

static void try_bytes(const char *bytes, size_t size) {
  struct image *img = NULL;
  struct err e = {0};
  if (image_from_memory("try", bytes, size, &img, &e) < 0) {
    assert_true(e.text[0] != 0);
    return;
  }
  ask_everything(img);
  image_free(img);
}

static void test_survives_any_cut(void **state) {
  (void)state;
  size_t size;
  char *bytes = read_file("made.so", &size);
  for (size_t n = 0; n < size; n += n < 1024 ? 1 : 61)
    try_bytes(bytes, n);
  free(bytes);
}

static void test_survives_any_wrong_byte(void **state) {
  (void)state;
  static const unsigned char wrong[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
  size_t size;
  build("-shared -s -DVERSIONED -Wl,--version-script=lib.map -Wl,-z,noseparate-code -Wl,-z,norelro lib.c -o small.so");
  char *bytes = read_file("small.so", &size);
  for (size_t i = 16; i < size; i++)
    for (size_t k = i % 3; k < COUNT(wrong); k += 3) {
      char right = bytes[i];
      bytes[i] = (char)wrong[k];
      try_bytes(bytes, size);
      bytes[i] = right;
    }
  free(bytes);
}

/* Functions come with image_complete, and are those of the whole. */
static void test_outline(void **state) {
  (void)state;
  char *path = NULL;
  struct image *outline = NULL;
  const struct image_function *f, *g;
  assert_int_equal(image_find("libc.so.6", NULL, &path, NULL), 0);
  assert_int_equal(image_open_outline(path, &outline, NULL), 0);
  struct image *whole = open_image(path);
  const struct image_symbol *all;
  size_t n = image_exports(whole, &all);
  for (size_t i = 0; i < n; i++) {
    const struct image_symbol *s = image_export(outline, all[i].name, all[i].version);
    assert_non_null(s);
    assert_string_equal(s->name, all[i].name);
    if (all[i].version) assert_int_equal(s->address, all[i].address);
  }
  assert_null(image_export(outline, "no_such_function", NULL));
  assert_int_equal(image_complete(outline), 0);
  assert_int_equal(image_complete(outline), 0);
  assert_int_equal(image_functions(outline, &f), n = image_functions(whole, &g));
  for (size_t i = 0; i < n; i++)
    assert_true(f[i].address == g[i].address && f[i].end == g[i].end);
  image_free(outline);
  image_free(whole);
  free(path);
}

static void test_export_at(void **state) {
  (void)state;
  char *path = NULL;
  assert_int_equal(image_find("libc.so.6", NULL, &path, NULL), 0);
  struct image *img = open_image(path);
  const struct image_symbol *out = image_export(img, "stdout", NULL);
  assert_non_null(out);
  const struct image_symbol *s = image_export_data_at(img, SYMBOL_OBJECT, out->address);
  assert_non_null(s);
  assert_int_equal(s->address, out->address);
  assert_null(image_export_data_at(img, SYMBOL_TLS, out->address));
  assert_null(image_export_data_at(img, SYMBOL_OBJECT, out->address + 1));
  image_free(img);
  free(path);
}

static void test_free_of_nothing(void **state) {
  (void)state;
  image_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exports_are_where_the_loader_finds_them),
      cmocka_unit_test(test_default_version_is_the_loaders),
      cmocka_unit_test(test_local_slots_hold_what_the_loader_wrote),
      cmocka_unit_test(test_bytes_are_those_in_memory),
      cmocka_unit_test(test_functions_of_the_c_library),
      cmocka_unit_test(test_who_has_made_it),
      cmocka_unit_test(test_names_of_the_c_library),
      cmocka_unit_test(test_program),
      cmocka_unit_test(test_versions),
      cmocka_unit_test(test_slots),
      cmocka_unit_test(test_tls_slots),
      cmocka_unit_test(test_relr),
      cmocka_unit_test(test_sysv_hash_and_no_hash),
      cmocka_unit_test(test_without_sections),
      cmocka_unit_test(test_symtab_names_internal_functions),
      cmocka_unit_test(test_frames_without_table),
      cmocka_unit_test(test_kinds_of_programs),
      cmocka_unit_test(test_find_as_the_loader),
      cmocka_unit_test(test_find_by_paths),
      cmocka_unit_test(test_refuses_what_is_no_file),
      cmocka_unit_test(test_refuses_without_permission),
      cmocka_unit_test(test_refuses_other_formats),
      cmocka_unit_test(test_refuses_other_machines),
      cmocka_unit_test(test_refuses_other_elf_types),
      cmocka_unit_test(test_refuses_broken_headers),
      cmocka_unit_test(test_relr_in_a_stored_library),
      cmocka_unit_test(test_survives_any_cut),
      cmocka_unit_test(test_survives_any_wrong_byte),
      cmocka_unit_test(test_outline),
      cmocka_unit_test(test_export_at),
      cmocka_unit_test(test_free_of_nothing),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
