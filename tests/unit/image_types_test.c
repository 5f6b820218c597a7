/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types of kernels: tables that are made here, with every kind of type; those of modules, whose numbers go on where
 * the kernel's end; tables that lie; and with every allocation failing in turn.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "allocator.h"
#include "folder.h"
#include "image/image.h"
#include "made_btf.h"

/* A kernel in memory and its types. */
struct both {
  struct image *image;
  struct types *types;
};

static struct image *kernel_of(const void *btf, size_t n) {
  struct image *img = NULL;
  struct err e = {0};
  struct text file = btf_file(btf, n, false);
  if (image_kernel_from_memory("made", file.at, file.n, &img, &e) < 0) fail_msg("%s", e.text);
  text_done(&file);
  return img;
}

static struct both open_types(struct made_types *b) {
  struct both k = {0};
  struct text btf = btf_bytes(b);
  k.image = kernel_of(btf.at, btf.n);
  assert_int_equal(types_new(k.image, &k.types), 0);
  text_done(&btf);
  btf_done(b);
  return k;
}

static void close_types(struct both *k) {
  types_free(k->types);
  image_free(k->image);
}

/* --- kinds -------------------------------------------------------------------------------------------------------- */

static void test_sizes(void **state) {
  (void)state;
  struct made_types b = {0};
  uint32_t number = btf_int(&b, "int", 4);
  uint32_t pointer = btf_pointer(&b, number);
  uint32_t array = btf_array(&b, pointer, 5), grid = btf_array(&b, array, 3), none = btf_array(&b, number, 0);
  uint32_t enumeration = btf_type(&b, "e", MADE_ENUM, 1, 4);
  btf_word(&b, 0);
  btf_word(&b, 1);
  uint32_t large = btf_type(&b, "e64", MADE_ENUM64, 1, 8);
  for (int i = 0; i < 3; i++)
    btf_word(&b, 0);
  uint32_t forward = btf_type(&b, "f", MADE_FWD, 0, 0);
  uint32_t proto = btf_proto(&b, number, number, 0);
  uint32_t structure = btf_type(&b, "s", MADE_STRUCT, 1, 40);
  btf_member(&b, "m", array, 0);
  uint32_t alias = btf_type(&b, "t", MADE_TYPEDEF, 0, structure);
  uint32_t tagged = btf_type(&b, "user", MADE_TYPE_TAG, 0, alias);
  uint32_t constant = btf_type(&b, "", MADE_CONST, 0, tagged), many = btf_array(&b, pointer, 0x20000001);
  uint32_t huge = btf_array(&b, btf_array(&b, number, 0x10000), 0x10000);
  struct both k = open_types(&b);
  const struct {
    uint32_t type, size;
  } all[] = {{0, 0},           {number, 4},    {pointer, 8}, {array, 40},    {grid, 120},     {none, 0},
             {enumeration, 4}, {large, 8},     {forward, 0}, {proto, 0},     {structure, 40}, {alias, 40},
             {many, 0},        {constant, 40}, {huge, 0},    {UINT32_MAX, 0}};
  for (size_t i = 0; i < COUNT(all); i++)
    if (types_size(k.types, all[i].type) != all[i].size)
      fail_msg("type %u has size %u, not %u", all[i].type, types_size(k.types, all[i].type), all[i].size);
  assert_int_equal(types_count(k.types), huge + 1);
  assert_string_equal(types_name(k.types, constant), "s");
  assert_string_equal(types_name(k.types, pointer), "");
  assert_string_equal(types_name(k.types, 0), "");
  close_types(&k);
}

static void test_functions(void **state) {
  (void)state;
  struct made_types b = {0};
  uint32_t number = btf_int(&b, "int", 4), file = btf_type(&b, "file", MADE_STRUCT, 0, 16);
  uint32_t to_file = btf_pointer(&b, btf_type(&b, "", MADE_CONST, 0, file));
  uint32_t proto = btf_proto(&b, number, to_file, number), other = btf_proto(&b, 0, 0, 0);
  uint32_t same = btf_proto(&b, number, btf_pointer(&b, file), number);
  uint32_t alias = btf_type(&b, "reader", MADE_TYPEDEF, 0, btf_pointer(&b, proto));
  (void)btf_type(&b, "read", MADE_FUNC, 1, proto);
  (void)btf_type(&b, "twice", MADE_FUNC, 0, proto);
  (void)btf_type(&b, "twice", MADE_FUNC, 0, other);
  (void)btf_type(&b, "again", MADE_FUNC, 0, proto);
  (void)btf_type(&b, "again", MADE_FUNC, 0, same);
  (void)btf_type(&b, "wild", MADE_FUNC, 0, 99999);
  struct both k = open_types(&b);
  assert_int_equal(types_function(k.types, "read"), proto);
  assert_int_equal(types_function(k.types, "write"), 0);
  assert_int_equal(types_function(k.types, "twice"), 0);
  assert_int_not_equal(types_function(k.types, "again"), 0);
  assert_int_equal(types_function(k.types, "wild"), 0);
  assert_int_equal(types_return(k.types, proto), number);
  assert_int_equal(types_return(k.types, number), 0);
  assert_int_equal(types_parameter(k.types, proto, 1), number);
  assert_int_equal(types_parameter(k.types, proto, 2), 0);
  assert_int_equal(types_parameter(k.types, number, 0), 0);
  assert_int_equal(types_pointee(k.types, types_parameter(k.types, proto, 0)), file);
  assert_true(types_is_function(k.types, types_pointee(k.types, alias)));
  assert_false(types_is_function(k.types, alias));
  assert_int_equal(types_pointee(k.types, number), 0);
  close_types(&k);
}

static void test_keys(void **state) {
  (void)state;
  struct made_types b = {0};
  uint32_t number = btf_int(&b, "int", 4), wide = btf_int(&b, "long", 8);
  uint32_t file = btf_type(&b, "file", MADE_STRUCT, 0, 16), twin = btf_type(&b, "file", MADE_STRUCT, 0, 16);
  uint32_t forward = btf_type(&b, "file", MADE_FWD, 0, 0), inode = btf_type(&b, "inode", MADE_STRUCT, 0, 16);
  uint32_t both = btf_type(&b, "file", MADE_UNION, 0, 16), nameless = btf_type(&b, "", MADE_STRUCT, 0, 16);
  uint32_t other_nameless = btf_type(&b, "", MADE_STRUCT, 0, 16);
  uint32_t reads = btf_proto(&b, number, btf_pointer(&b, file), wide);
  uint32_t equal = btf_proto(&b, number, btf_pointer(&b, forward), wide);
  uint32_t swapped = btf_proto(&b, number, wide, btf_pointer(&b, file));
  uint32_t longer = btf_proto(&b, wide, btf_pointer(&b, file), wide);
  struct both k = open_types(&b);
  assert_true(types_key(k.types, file) == types_key(k.types, twin));
  assert_true(types_key(k.types, file) == types_key(k.types, forward));
  assert_true(types_key(k.types, reads) == types_key(k.types, equal));
  const uint32_t different[] = {0, number, wide, file, inode, both, nameless, other_nameless, reads, swapped, longer};
  for (size_t i = 0; i < COUNT(different); i++)
    for (size_t j = 0; j < i; j++)
      if (types_key(k.types, different[i]) == types_key(k.types, different[j]))
        fail_msg("types %u and %u have one key", different[i], different[j]);
  close_types(&k);
}

/* --- members ------------------------------------------------------------------------------------------------------ */

/*
 * struct outer { int a; struct { int b, c; } in; struct pair { int x; void *p; } pairs[3]; union { int u; long l; } }
 */
static void test_members(void **state) {
  (void)state;
  struct made_types b = {0};
  uint32_t number = btf_int(&b, "int", 4), wide = btf_int(&b, "long", 8), pointer = btf_pointer(&b, 0);
  uint32_t in = btf_type(&b, "", MADE_STRUCT, 2, 8);
  btf_member(&b, "b", number, 0);
  btf_member(&b, "c", number, 4);
  uint32_t pair = btf_type(&b, "pair", MADE_STRUCT, 2, 16);
  btf_member(&b, "x", number, 0);
  btf_member(&b, "p", pointer, 8);
  uint32_t pairs = btf_array(&b, pair, 3), choice = btf_type(&b, "", MADE_UNION, 2, 8);
  btf_member(&b, "u", number, 0);
  btf_member(&b, "l", wide, 0);
  uint32_t outer = btf_type(&b, "outer", MADE_STRUCT, 4, 72);
  btf_member(&b, "a", number, 0);
  btf_member(&b, "in", in, 4);
  btf_member(&b, "pairs", pairs, 16);
  btf_member(&b, "", choice, 64);
  struct both k = open_types(&b);
  static const struct {
    uint32_t offset, inside;
    bool found;
  } all[] = {{0, 0, true},  {4, 0, true},   {8, 4, true},   {12, 0, false}, {16, 0, true},         {24, 8, true},
             {32, 0, true}, {40, 8, true},  {56, 8, true},  {60, 0, false}, {64, 0, true},         {72, 0, false},
             {6, 0, false}, {20, 0, false}, {68, 0, false}, {71, 0, false}, {UINT32_MAX, 0, false}};
  for (size_t i = 0; i < COUNT(all); i++) {
    struct type_member m = {0};
    bool found = types_member(k.types, outer, all[i].offset, &m);
    if (found != all[i].found || (found && m.offset != all[i].inside))
      fail_msg("offset %u: %s, at %u of its owner", all[i].offset, found ? "found" : "not found", m.offset);
  }
  struct type_member m;
  assert_true(types_member(k.types, outer, 40, &m));
  assert_int_equal(m.owner, pair);
  assert_int_equal(m.type, pointer);
  assert_int_equal(types_member_count(k.types, outer), 4);
  assert_int_equal(types_member_count(k.types, pairs), 0);
  types_member_at(k.types, outer, 2, &m);
  assert_int_equal(m.type, pairs);
  assert_int_equal(m.offset, 16);
  close_types(&k);
}

static void test_bit_fields(void **state) {
  (void)state;
  struct made_types b = {0};
  uint32_t number = btf_int(&b, "int", 4);
  uint32_t s = btf_type(&b, "flags", (enum made_kind)(MADE_STRUCT | 0x80), 2, 8);
  btf_word(&b, 0);
  btf_word(&b, number);
  btf_word(&b, 3u << 24 | 5); /* 3 bits from bit 5 on */
  btf_word(&b, 0);
  btf_word(&b, number);
  btf_word(&b, 32);
  struct both k = open_types(&b);
  struct type_member m;
  types_member_at(k.types, s, 0, &m);
  assert_int_equal(m.offset, 0);
  assert_true(types_member(k.types, s, 4, &m));
  assert_int_equal(m.offset, 4);
  close_types(&k);
}

static void test_variables_of_a_processor(void **state) {
  (void)state;
  struct made_types b = {0};
  uint32_t task = btf_type(&b, "task", MADE_STRUCT, 0, 64), pointer = btf_pointer(&b, task);
  uint32_t current = btf_type(&b, "current_task", MADE_VAR, 0, pointer);
  btf_word(&b, 1);
  (void)btf_type(&b, ".data..percpu", MADE_DATASEC, 2, 128);
  const uint32_t first[] = {current, 64, 8}, second[] = {pointer, 72, 8};
  for (int i = 0; i < 3; i++)
    btf_word(&b, first[i]);
  for (int i = 0; i < 3; i++)
    btf_word(&b, second[i]); /* which is no variable */
  (void)btf_type(&b, ".data", MADE_DATASEC, 1, 128);
  const uint32_t elsewhere[] = {current, 80, 8};
  for (int i = 0; i < 3; i++)
    btf_word(&b, elsewhere[i]);
  struct both k = open_types(&b);
  assert_int_equal(types_percpu(k.types, 64), pointer);
  assert_int_equal(types_percpu(k.types, 72), 0);
  assert_int_equal(types_percpu(k.types, 80), 0);
  assert_int_equal(types_percpu(k.types, UINT64_MAX), 0);
  close_types(&k);
}

/* --- modules ------------------------------------------------------------------------------------------------------ */

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/murphy-types-XXXXXX");
  return mkdtemp(folder) && chmod(folder, 0755) == 0 ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  return shell("cd / && rm -rf \"$OLDPWD\"") ? 0 : -1;
}

static void write_btf(const char *name, struct made_types *b, bool module) {
  struct text btf = btf_bytes(b), file = btf_file(btf.at, btf.n, module);
  assert_int_equal(file_write(in_folder(name), file.at, file.n, NULL), 0);
  text_done(&btf);
  text_done(&file);
}

/* Kernel and two modules, each of which has a structure of its own with one of the kernel in it. */
static void write_modules(void) {
  struct made_types b = {0};
  uint32_t number = btf_int(&b, "int", 4), inode = btf_type(&b, "inode", MADE_STRUCT, 1, 4);
  btf_member(&b, "mode", number, 0);
  uint32_t proto = btf_proto(&b, number, btf_pointer(&b, inode), 0);
  (void)btf_type(&b, "permission", MADE_FUNC, 0, proto);
  write_btf("kernel", &b, false);
  for (int i = 1; i <= 2; i++) {
    struct made_types m = {.first_id = b.n, .first_string = (uint32_t)b.strings.n};
    uint32_t extra = btf_int(&m, i == 1 ? "one_t" : "two_t", 8);
    uint32_t own = btf_type(&m, i == 1 ? "one_inode" : "two_inode", MADE_STRUCT, 2, 16);
    btf_member(&m, "own", extra, 0);
    btf_member(&m, "vfs", inode, 8);
    (void)btf_type(&m, i == 1 ? "one_create" : "two_create", MADE_FUNC, 0,
                   btf_proto(&m, number, btf_pointer(&m, own), 0));
    (void)btf_type(&m, "permission", MADE_FUNC, 0, btf_proto(&m, number, btf_pointer(&m, inode), 0));
    write_btf(i == 1 ? "one.ko" : "two.ko", &m, true);
    btf_done(&m);
  }
  btf_done(&b);
}

static int open_modules(struct both *ret, struct err *e) {
  char kernel[160], one[160], two[160];
  (void)snprintf(kernel, sizeof kernel, "%s/kernel", folder);
  (void)snprintf(one, sizeof one, "%s/one.ko", folder);
  (void)snprintf(two, sizeof two, "%s/two.ko", folder);
  const char *const modules[] = {one, two};
  int r = image_open_kernel(kernel, modules, 2, &ret->image, e);
  return r < 0 ? r : types_new(ret->image, &ret->types);
}

static void assert_module(const struct types *ts, const char *function, const char *name) {
  uint32_t proto = types_function(ts, function), own = types_pointee(ts, types_parameter(ts, proto, 0));
  struct type_member m;
  assert_string_equal(types_name(ts, own), name);
  assert_string_equal(types_name(ts, types_return(ts, proto)), "int");
  types_member_at(ts, own, 1, &m);
  assert_string_equal(types_name(ts, m.type), "inode");
  assert_true(types_member(ts, own, 8, &m));
  assert_string_equal(types_name(ts, m.type), "int");
  assert_true(types_member(ts, own, 0, &m));
  assert_int_equal(strncmp(types_name(ts, m.type), name, 3), 0);
}

static void test_modules(void **state) {
  (void)state;
  struct both k = {0};
  struct err e = {0};
  write_modules();
  if (open_modules(&k, &e) < 0) fail_msg("%s", e.text);
  assert_module(k.types, "one_create", "one_inode");
  assert_module(k.types, "two_create", "two_inode");
  assert_int_not_equal(types_function(k.types, "permission"), 0);
  close_types(&k);
}

/* --- lies --------------------------------------------------------------------------------------------------------- */

/* Asks everything about everything, and comes to an end. */
static void ask_all(const struct types *ts) {
  size_t n = types_count(ts);
  struct type_member m;
  for (uint32_t i = 0; i <= n; i++) {
    (void)types_key(ts, i);
    (void)types_size(ts, i);
    (void)types_name(ts, i);
    assert_true(types_pointee(ts, i) < n);
    assert_true(types_return(ts, i) < n);
    assert_true(types_parameter(ts, i, 0) < n);
    for (uint32_t offset = 0; offset < 32; offset += 4)
      if (types_member(ts, i, offset, &m)) assert_true(m.owner < n && m.type < n);
    for (size_t k = 0; k < types_member_count(ts, i); k++)
      types_member_at(ts, i, k, &m);
  }
}

static void test_circles(void **state) {
  (void)state;
  struct made_types b = {0};
  (void)btf_type(&b, "a", MADE_TYPEDEF, 0, 2);
  (void)btf_type(&b, "b", MADE_TYPEDEF, 0, 1);
  (void)btf_type(&b, "self", MADE_TYPEDEF, 0, 3);
  (void)btf_pointer(&b, 4);
  (void)btf_array(&b, 5, 2);
  uint32_t inside = btf_type(&b, "inside", MADE_STRUCT, 2, 8);
  btf_member(&b, "itself", inside, 0);
  btf_member(&b, "again", inside, 0);
  uint32_t list = btf_type(&b, "list", MADE_STRUCT, 1, 8);
  btf_member(&b, "next", list + 1, 0);
  (void)btf_pointer(&b, list);
  struct both k = open_types(&b);
  for (uint32_t i = 1; i <= 3; i++) {
    assert_int_equal(types_size(k.types, i), 0);
    assert_string_equal(types_name(k.types, i), "");
  }
  assert_int_equal(types_pointee(k.types, list + 1), list);
  ask_all(k.types);
  close_types(&k);
}

/* Each has a thousand parameters of its own type: what is asked must not multiply. */
static void test_what_multiplies(void **state) {
  (void)state;
  struct made_types b = {0};
  uint32_t proto = btf_type(&b, "", MADE_FUNC_PROTO, 1000, 1);
  for (int i = 0; i < 1000; i++)
    btf_parameter(&b, proto);
  uint32_t inside = btf_type(&b, "inside", MADE_STRUCT, 1000, 8);
  for (int i = 0; i < 1000; i++)
    btf_member(&b, "", inside, 0);
  struct both k = open_types(&b);
  ask_all(k.types);
  assert_true(types_key(k.types, proto) != types_key(k.types, inside));
  close_types(&k);
}

/* Any length, and any word changed to any of a few values. */
static void test_damaged_tables(void **state) {
  (void)state;
  static const uint32_t values[] = {0, 1, 7, 24, 0x7fffffff, UINT32_MAX};
  struct made_types b = {0};
  uint32_t number = btf_int(&b, "int", 4), s = btf_type(&b, "s", MADE_STRUCT, 2, 16);
  btf_member(&b, "a", number, 0);
  btf_member(&b, "p", btf_pointer(&b, s), 8);
  (void)btf_type(&b, "f", MADE_FUNC, 0, btf_proto(&b, number, btf_array(&b, s, 3), s));
  struct text btf = btf_bytes(&b);
  for (size_t n = 0; n <= btf.n; n++) {
    struct image *img = kernel_of(btf.at, n);
    struct types *ts = NULL;
    int r = types_new(img, &ts);
    assert_true(r == 0 || (r == -ENODATA && !ts));
    if (ts) ask_all(ts);
    types_free(ts);
    image_free(img);
  }
  for (size_t at = 0; at + 4 <= btf.n; at += 4)
    for (size_t v = 0; v < COUNT(values); v++) {
      struct text damaged = {0};
      struct types *ts = NULL;
      text_add_bytes(&damaged, btf.at, btf.n);
      memcpy(damaged.at + at, &values[v], 4);
      struct image *img = kernel_of(damaged.at, damaged.n);
      if (types_new(img, &ts) == 0) ask_all(ts);
      types_free(ts);
      image_free(img);
      text_done(&damaged);
    }
  text_done(&btf);
  btf_done(&b);
}

static void test_no_types(void **state) {
  (void)state;
  struct types *ts = NULL;
  struct image *img = kernel_of("", 0);
  assert_int_equal(types_new(img, &ts), -ENODATA);
  assert_null(ts);
  image_free(img);
  types_free(NULL);
}

#if OWN_ALLOCATOR
static void test_lack_of_memory(void **state) {
  (void)state;
  write_modules();
  for (long n = 0;; n++) {
    struct both k = {0};
    struct err e = {0};
    assert_true(n < 10000);
    alive = 0;
    failed_one = false;
    failing = true;
    countdown = n;
    int r = open_modules(&k, &e);
    countdown = -1;
    if (r >= 0) assert_module(k.types, "two_create", "two_inode");
    close_types(&k);
    failing = false;
    if (alive != 0) fail_msg("allocation %ld fails: %ld are not freed", n, alive);
    if (!failed_one) break;
    assert_true(r >= 0 || r == -ENOMEM);
  }
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sizes),
    cmocka_unit_test(test_functions),
    cmocka_unit_test(test_keys),
    cmocka_unit_test(test_members),
    cmocka_unit_test(test_bit_fields),
    cmocka_unit_test(test_variables_of_a_processor),
    cmocka_unit_test(test_modules),
    cmocka_unit_test(test_circles),
    cmocka_unit_test(test_what_multiplies),
    cmocka_unit_test(test_damaged_tables),
    cmocka_unit_test(test_no_types),
#if OWN_ALLOCATOR
    cmocka_unit_test(test_lack_of_memory),
#endif
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
