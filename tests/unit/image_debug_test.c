/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines: small programs that are compiled here in many ways, whose sources say what must be found; and all the
 * places where packagers put debug information.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "allocator.h"
#include "folder.h"

/* The call of mark() stands in inner, which is inlined twice, once through middle. Lines are counted by hand. */
static const char c_source[] = "__attribute__((noinline, noipa, used)) int mark(int);\n"
                               "static inline __attribute__((always_inline)) int inner(int x) {\n"
                               "  return 3 * mark(x) + 1;\n"
                               "}\n"
                               "static inline __attribute__((always_inline)) int middle(int x) {\n"
                               "  x *= 7;\n"
                               "  return inner(x) - x;\n"
                               "}\n"
                               "__attribute__((noinline, noipa)) int outer(int x) {\n"
                               "  int y = 2;\n"
                               "  y += middle(x);\n"
                               "  return y + inner(x);\n"
                               "}\n"
                               "int mark(int x) { __asm__ volatile(\"\"); return x + 1; }\n"
                               "int unused(int x) { return mark(x) * 2; }\n"
                               "void _start(void) { for (;;) outer(3); }\n";

static const char cxx_source[] = "extern \"C\" __attribute__((noinline, noipa)) int mark(int x);\n"
                                 "namespace space {\n"
                                 "struct type {\n"
                                 "  int n;\n"
                                 "  __attribute__((noinline)) int get(int x);\n"
                                 "  struct part { __attribute__((noinline)) int half(int x); };\n"
                                 "};\n"
                                 "namespace {\n"
                                 "inline __attribute__((always_inline)) int hidden(int x) {\n"
                                 "  return 5 * mark(x); }\n"
                                 "}\n"
                                 "int type::get(int x) { return n +\n"
                                 "  hidden(x); }\n"
                                 "int type::part::half(int x) { return\n"
                                 "  mark(x) / 2; }\n"
                                 "template <typename T> __attribute__((noinline, noipa)) T more(T x) {\n"
                                 "  return mark(x) * 3; }\n"
                                 "}\n"
                                 "extern \"C\" int mark(int x) { __asm__ volatile(\"\"); return x + 1; }\n"
                                 "extern \"C\" void _start() { space::type t{3}; space::type::part p;\n"
                                 "  for (;;) { t.get(1); p.half(2); space::more(3); } }\n";

struct place {
  const char *function;
  unsigned line;
};

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/murphy-debug-XXXXXX");
  if (!mkdtemp(folder) || mkdir(in_folder("sub"), 0755) < 0) return -1;
  if (file_write(in_folder("sub/prog.c"), c_source, sizeof c_source - 1, NULL) < 0) return -1;
  if (file_write(in_folder("sub/prog.cc"), cxx_source, sizeof cxx_source - 1, NULL) < 0) return -1;
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  return shell("cd / && rm -rf \"$OLDPWD\"") ? 0 : -1;
}

/* Compiles sub/prog.c into NAME; without a runtime, so that all code is ours. */
static void build(const char *compiler, const char *options, const char *name) {
  char line[512];
  const char *source = strstr(compiler, "++") ? "sub/prog.cc" : "sub/prog.c";
  (void)snprintf(line, sizeof line, "%s -w -O2 -nostdlib -static -no-pie -fno-exceptions %s %s -o %s", compiler,
                 options, source, name);
  if (!shell(line)) fail_msg("failed: %s", line);
}

static bool have(const char *compiler) {
  char line[128];
  (void)snprintf(line, sizeof line, "command -v %s >/dev/null", compiler);
  return shell(line);
}

static struct image_debug *open_debug(const struct image *img) {
  struct image_debug *d = NULL;
  struct err e = {0};
  if (image_debug_open(img, &d, &e) < 0) fail_msg("%s", e.text);
  return d;
}

/* The addresses of calls to mark: found by their bytes, e8 and the distance. */
static size_t find_calls(const struct image *img, uint64_t *ret, size_t max) {
  const struct image_function *f;
  uint64_t start = UINT64_MAX, end = 0, mark = 0;
  size_t n = image_functions(img, &f), found = 0;
  for (size_t i = 0; i < n; i++) {
    if (f[i].name && strcmp(f[i].name, "mark") == 0) mark = f[i].address;
    if (f[i].address < start) start = f[i].address;
    if (f[i].end > end) end = f[i].end;
  }
  assert_true(mark != 0);
  for (uint64_t a = start; a + 5 <= end && found < max; a++) {
    const uint8_t *b = image_bytes(img, a, 5);
    int32_t distance;
    if (!b || (b[0] != 0xe8 && b[0] != 0xe9)) continue;
    memcpy(&distance, b + 1, sizeof distance);
    if (a + 5 + (uint64_t)(int64_t)distance == mark) ret[found++] = a;
  }
  return found;
}

static bool frames_are(const struct image_frame *f, size_t n, const struct place *want, size_t n_want) {
  if (n != n_want) return false;
  for (size_t i = 0; i < n; i++) {
    if (!f[i].function || strcmp(f[i].function, want[i].function) != 0 || f[i].line != want[i].line) return false;
    if (!f[i].file || f[i].file[0] != '/' || !f[i].column) return false;
  }
  return true;
}

/* Whether one of the calls of mark stands at these places. */
static void assert_call(struct image_debug *d, const struct image *img, const struct place *want, size_t n_want) {
  uint64_t calls[32];
  struct image_frame f[8];
  size_t n_calls = find_calls(img, calls, COUNT(calls));
  for (size_t i = 0; i < n_calls; i++)
    if (frames_are(f, image_debug_at(d, calls[i], f, COUNT(f)), want, n_want)) return;
  for (size_t i = 0; i < n_calls; i++) {
    size_t n = image_debug_at(d, calls[i], f, COUNT(f));
    for (size_t k = 0; k < n; k++)
      print_message("# 0x%lx: %s at %s:%u:%u\n", (unsigned long)calls[i], f[k].function, f[k].file, f[k].line,
                    f[k].column);
  }
  fail_msg("no call in %s at line %u", want[0].function, want[0].line);
}

static void assert_c_lines(struct image_debug *d, const struct image *img) {
  const struct place direct[] = {{"inner", 3}, {"outer", 12}};
  const struct place through[] = {{"inner", 3}, {"middle", 7}, {"outer", 11}};
  assert_call(d, img, direct, COUNT(direct));
  assert_call(d, img, through, COUNT(through));
}

static bool is_inside(const image_ranges *ranges, uint64_t address) {
  for (size_t i = 0; i < ranges->n; i++)
    if (ranges->at[i].start <= address && address < ranges->at[i].end) return true;
  return false;
}

/* The other direction: what is said of a call leads back to it. */
static void assert_found_again(struct image_debug *d, uint64_t call, const struct image_frame *f) {
  image_ranges ranges = {0};
  assert_int_equal(image_debug_function(d, f->function, &ranges), 0);
  assert_true(is_inside(&ranges, call));
  ranges.n = 0;
  assert_int_equal(image_debug_line(d, strrchr(f->file, '/') + 1, f->line, &ranges), 0);
  assert_true(is_inside(&ranges, call));
  ranges.n = 0;
  assert_int_equal(image_debug_line(d, f->file, f->line + 100, &ranges), 0);
  assert_int_equal(image_debug_line(d, strrchr(f->file, '/') + 2, f->line, &ranges), 0);
  assert_int_equal(image_debug_function(d, f->function + 1, &ranges), 0);
  assert_int_equal(ranges.n, 0);
  vec_done(&ranges);
}

static void assert_all_found_again(struct image_debug *d, const struct image *img) {
  uint64_t calls[32];
  struct image_frame f[8];
  size_t n_calls = find_calls(img, calls, COUNT(calls));
  for (size_t i = 0; i < n_calls; i++) {
    size_t n = image_debug_at(d, calls[i], f, COUNT(f));
    for (size_t k = 0; k < n; k++)
      assert_found_again(d, calls[i], &f[k]);
  }
}

/* Opens NAME and finds in it what the C source says. */
static void check_c(const char *name) {
  struct image *img = open_image(name);
  struct image_debug *d = open_debug(img);
  assert_c_lines(d, img);
  assert_all_found_again(d, img);
  image_debug_free(d);
  image_free(img);
}

static void assert_none(const char *name) {
  struct image *img = open_image(name);
  struct image_debug *d = NULL;
  struct err e = {0};
  assert_int_equal(image_debug_open(img, &d, &e), -ENODATA);
  assert_null(d);
  assert_true(strncmp(e.text, in_folder(name), strlen(in_folder(name))) == 0 && strchr(e.text, '('));
  image_free(img);
}

/* --- how it was compiled ------------------------------------------------------------------------------------------ */

static void test_compilers_and_formats(void **state) {
  (void)state;
  static const char *const ways[][2] = {
      {"gcc", "-gdwarf-4"},
      {"gcc", "-gdwarf-5"},
      {"gcc", "-g -gz"},
      {"gcc", "-g -gz=zlib-gnu"},
      {"gcc", "-g -gdwarf-5 -gdwarf64"},
      {"gcc", "-g -flto -ffat-lto-objects"},
      {"gcc", "-g -gdwarf-4 -fdebug-types-section"},
      {"gcc", "-g -gdwarf-4 -gsplit-dwarf"},
      {"gcc", "-g -gdwarf-5 -gsplit-dwarf"},
      {"gcc", "-g -gno-column-info -gcolumn-info -ffunction-sections -Wl,--gc-sections"},
      {"clang", "-gdwarf-4"},
      {"clang", "-gdwarf-5"},
      {"clang", "-g -gz"},
      {"clang", "-g -gdwarf-4 -gsplit-dwarf"},
      {"clang", "-g -gdwarf-5 -gsplit-dwarf"},
      {"clang", "-g -ffunction-sections -Wl,--gc-sections"},
  };
  for (size_t i = 0; i < COUNT(ways); i++) {
    print_message("# %s %s\n", ways[i][0], ways[i][1]);
    build(ways[i][0], ways[i][1], "made");
    check_c("made");
  }
}

static void test_cxx_names(void **state) {
  (void)state;
  static const char *const compilers[] = {"g++", "clang++"};
  const struct place get[] = {{"space::(anonymous namespace)::hidden", 10}, {"space::type::get", 13}};
  const struct place half[] = {{"space::type::part::half", 15}};
  const struct place more[] = {{"space::more<int>", 17}};
  for (size_t i = 0; i < COUNT(compilers); i++) {
    if (!have(compilers[i])) continue;
    print_message("# %s\n", compilers[i]);
    build(compilers[i], "-g", "made");
    struct image *img = open_image("made");
    struct image_debug *d = open_debug(img);
    assert_call(d, img, get, COUNT(get));
    assert_call(d, img, half, COUNT(half));
    assert_call(d, img, more, COUNT(more));
    image_debug_free(d);
    image_free(img);
  }
}

static void test_files(void **state) {
  (void)state;
  struct image_frame f[4];
  uint64_t call;
  build("gcc", "-g", "made");
  struct image *img = open_image("made");
  struct image_debug *d = open_debug(img);
  assert_int_equal(find_calls(img, &call, 1), 1);
  assert_true(image_debug_at(d, call, f, COUNT(f)) >= 1);
  assert_string_equal(f[0].file, in_folder("sub/prog.c"));
  assert_string_equal(f[0].relative, "sub/prog.c");
  assert_ptr_equal(f[0].relative, f[0].file + strlen(f[0].file) - strlen("sub/prog.c"));
  image_debug_free(d);
  image_free(img);
}

static void test_edges(void **state) {
  (void)state;
  struct image_frame f[4];
  uint64_t calls[8];
  build("gcc", "-g", "made");
  struct image *img = open_image("made");
  struct image_debug *d = open_debug(img);
  size_t n = find_calls(img, calls, COUNT(calls));
  assert_true(n >= 2);
  assert_int_equal(image_debug_at(d, 0, f, COUNT(f)), 0);
  assert_int_equal(image_debug_at(d, UINT64_MAX, f, COUNT(f)), 0);
  assert_int_equal(image_debug_at(d, calls[0], f, 0), 0);
  assert_int_equal(image_debug_at(d, calls[0], f, 1), 1);
  assert_string_equal(f[0].function, "inner");
  assert_false(f[0].no_result);
  n = image_debug_at(d, image_entry(img), f, COUNT(f));
  assert_true(n >= 1 && f[n - 1].no_result);
  assert_string_equal(f[n - 1].function, "_start");
  image_debug_free(d);
  image_debug_free(NULL);
  image_free(img);
}

/* A large function that was left out stands, for DWARF, at the addresses where small ones really are. */
static void test_what_the_linker_left_out(void **state) {
  (void)state;
  static const char *const compilers[] = {"gcc", "clang"};
  const struct place want[] = {{"inner", 3}, {"outer", 12}};
  struct image_frame f[4];
  uint64_t calls[8];
  assert_true(shell("{ cat sub/prog.c; echo 'volatile int v; int gone(void) {'; yes '  v++;' | head -n 2000; echo '"
                    "return v; }'; } >sub/gone.c"));
  for (size_t i = 0; i < COUNT(compilers); i++) {
    char line[512];
    (void)snprintf(line, sizeof line,
                   "%s -w -g -O2 -nostdlib -static -no-pie -ffunction-sections -Wl,--gc-sections -Wl,-Ttext=0x1000 "
                   "sub/gone.c -o made",
                   compilers[i]);
    assert_true(shell(line));
    struct image *img = open_image("made");
    struct image_debug *d = open_debug(img);
    size_t n = find_calls(img, calls, COUNT(calls));
    for (size_t k = 0; k < n; k++) {
      size_t frames = image_debug_at(d, calls[k], f, COUNT(f));
      assert_true(frames >= 1);
      if (!frames_are(f, frames, want, COUNT(want))) assert_true(f[0].line == 0 || f[0].line < 17);
    }
    image_debug_free(d);
    image_free(img);
  }
}

/* The lines of a program whose line table has 3,000 files more, in a folder whose name has LENGTH letters. */
static unsigned line_with_folder(int length) {
  struct text source = {0};
  struct image_frame f[4];
  uint64_t call;
  text_add(&source, c_source);
  text_addf(&source, "__asm__(\".macro more n\\n.file \\\\n \\\"%0*d/\\\\n\\\"\\n.endm\");\n", length, 0);
  for (int i = 2; i < 3002; i++)
    text_addf(&source, "__asm__(\"more %d\");\n", i);
  assert_false(source.failed);
  assert_int_equal(file_write(in_folder("sub/many.c"), source.at, source.n, NULL), 0);
  text_done(&source);
  assert_true(shell("gcc -w -gdwarf-4 -O2 -nostdlib -static -no-pie sub/many.c -o made"));
  struct image *img = open_image("made");
  struct image_debug *d = open_debug(img);
  assert_int_equal(find_calls(img, &call, 1), 1);
  assert_true(image_debug_at(d, call, f, COUNT(f)) >= 1);
  assert_string_equal(f[0].function, "inner");
  image_debug_free(d);
  image_free(img);
  return f[0].line;
}

/* libdw needs the length of the folder for each file. */
static void test_names_that_take_too_much_memory(void **state) {
  (void)state;
  assert_int_equal(line_with_folder(200), 3);
  assert_int_equal(line_with_folder(20000), 0);
}

/* --- where it is -------------------------------------------------------------------------------------------------- */

/* Splits made into a program without, stripped, and its debug file. */
static void build_stripped(const char *more) {
  char options[128];
  (void)snprintf(options, sizeof options, "-g %s", more);
  build("gcc", options, "made");
  assert_true(shell("rm -rf root .debug made.debug stripped && mkdir root && cp made stripped && "
                    "objcopy --only-keep-debug made made.debug && strip -g stripped"));
  assert_none("stripped");
}

static void test_build_id(void **state) {
  (void)state;
  build_stripped("-Wl,--build-id=0x0123abcd");
  assert_true(shell("mkdir -p root/.build-id/01 && mv made.debug root/.build-id/01/23abcd.debug"));
  assert_none("stripped");
  char path[256];
  (void)snprintf(path, sizeof path, "/nowhere::%s", in_folder("root"));
  assert_int_equal(setenv("MURPHY_DEBUG_PATH", path, 1), 0);
  check_c("stripped");
  build("gcc", "-g -Wl,--build-id=0x0123abce", "made");
  assert_true(shell("cp made root/.build-id/01/23abcd.debug"));
  assert_none("stripped");
  assert_true(shell("mkfifo fifo && mv fifo root/.build-id/01/23abcd.debug"));
  assert_none("stripped");
  assert_true(shell("rm root/.build-id/01/23abcd.debug && mkdir root/.build-id/01/23abcd.debug"));
  assert_none("stripped");
  assert_int_equal(unsetenv("MURPHY_DEBUG_PATH"), 0);
}

static void test_debug_link(void **state) {
  (void)state;
  build_stripped("-Wl,--build-id=none");
  assert_true(shell("objcopy --add-gnu-debuglink=made.debug stripped"));
  check_c("stripped");
  assert_true(shell("mkdir .debug && mv made.debug .debug"));
  check_c("stripped");
  assert_true(shell("mkdir -p \"root/$PWD\" && mv .debug/made.debug \"root/$PWD\""));
  assert_none("stripped");
  assert_int_equal(setenv("MURPHY_DEBUG_PATH", in_folder("root"), 1), 0);
  check_c("stripped");
  assert_int_equal(unsetenv("MURPHY_DEBUG_PATH"), 0);
  assert_true(shell("mv \"root/$PWD/made.debug\" . && printf x >>made.debug"));
  assert_none("stripped");
}

static void test_debug_link_with_another_build_id(void **state) {
  (void)state;
  build_stripped("-Wl,--build-id=0x0123abcd");
  assert_true(shell("objcopy --add-gnu-debuglink=made.debug stripped"));
  check_c("stripped");
  build("gcc", "-g -Wl,--build-id=0x0123abce", "made");
  assert_true(shell("objcopy --only-keep-debug made made.debug && objcopy -R .gnu_debuglink stripped && "
                    "objcopy --add-gnu-debuglink=made.debug stripped"));
  assert_none("stripped");
}

/* Without the right common file lines are known, names perhaps not. */
static void assert_no_wrong_name(const char *name) {
  uint64_t call;
  struct image_frame f[4];
  struct image *img = open_image(name);
  struct image_debug *d = open_debug(img);
  assert_int_equal(find_calls(img, &call, 1), 1);
  assert_true(image_debug_at(d, call, f, COUNT(f)) >= 1);
  assert_int_equal(f[0].line, 3);
  assert_true(!f[0].function || strcmp(f[0].function, "inner") == 0);
  image_debug_free(d);
  image_free(img);
}

static void test_dwz(void **state) {
  (void)state;
  if (!have("dwz")) return;
  build("gcc", "-gdwarf-4 -Wl,--build-id=0x01", "one");
  build("gcc", "-gdwarf-4 -Wl,--build-id=0x02 -DTWO", "two");
  assert_true(shell("dwz -m common -M common one two 2>/dev/null && readelf -SW one | grep -q debugaltlink"));
  check_c("one");
  check_c("two");
  assert_true(shell("cp two common"));
  assert_no_wrong_name("one");
  assert_true(shell("rm common"));
  assert_no_wrong_name("one");
}

static void test_none(void **state) {
  (void)state;
  build("gcc", "-g0", "made");
  assert_none("made");
}

/* --- lack of memory ----------------------------------------------------------------------------------------------- */

#if OWN_ALLOCATOR
/*
 * Fails allocation N; 1 if there are fewer. libdw does not survive all of them: its table of abbreviations is used even
 * if it could not be allocated (dynamicsizehash_concurrent.c, 0.188). So in questions only those fail that are larger
 * than that table is here. What libdw loses when it has no memory is its own.
 */
static int fail_allocation(const struct image *img, uint64_t call, long n) {
  struct image_debug *d = NULL;
  struct image_frame f[4];
  failed_one = false;
  fails_from = 0;
  countdown = n;
  int r = image_debug_open(img, &d, NULL);
  fails_from = 1500;
  size_t frames = r == 0 ? image_debug_at(d, call, f, COUNT(f)) : 0;
  countdown = -1;
  if (r < 0)
    assert_true(failed_one && (r == -ENOMEM || r == -EBADMSG));
  else if (frames > 0 && f[0].function)
    assert_string_equal(f[0].function, "inner");
  if (!failed_one) assert_int_equal(frames, 3);
  image_debug_free(d);
  return !failed_one;
}

static void test_lack_of_memory(void **state) {
  (void)state;
  uint64_t call;
  long n = 0;
  build("gcc", "-g -gz", "made");
  struct image *img = open_image("made");
  assert_int_equal(find_calls(img, &call, 1), 1);
  while (fail_allocation(img, call, n) == 0)
    n++;
  assert_true(n > 10);
  image_free(img);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_compilers_and_formats),
    cmocka_unit_test(test_cxx_names),
    cmocka_unit_test(test_files),
    cmocka_unit_test(test_edges),
    cmocka_unit_test(test_what_the_linker_left_out),
    cmocka_unit_test(test_names_that_take_too_much_memory),
    cmocka_unit_test(test_build_id),
    cmocka_unit_test(test_debug_link),
    cmocka_unit_test(test_debug_link_with_another_build_id),
    cmocka_unit_test(test_dwz),
    cmocka_unit_test(test_none),
#if OWN_ALLOCATOR
    cmocka_unit_test(test_lack_of_memory),
#endif
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
