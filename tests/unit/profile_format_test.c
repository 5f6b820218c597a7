/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profile files: what is written comes back the same, what is wrong is refused with its place, and every allocation
 * may fail. The samples are the seeds of the fuzzer; tests run in the source folder.
 */
#include "profile/profile.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocator.h"

#define CORPUS "tests/fuzz/corpus/profile/"

typedef void write_fn(const struct profile *p, struct text *to);

/* --- round trips -------------------------------------------------------------------------------------------------- */

static void load(const char *path, struct profile *ret) {
  struct err e = {0};
  if (profile_load(path, ret, &e) < 0) fail_msg("%s", e.text);
}

static char *written(const struct profile *p, write_fn *write) {
  struct text t = {0};
  write(p, &t);
  assert_false(t.failed);
  return t.at;
}

static void check_round_trip(const char *from, write_fn *write, const char *to) {
  struct profile p;
  char *bytes;
  size_t size;
  load(from, &p);
  char *text = written(&p, write);
  assert_int_equal(file_read(to, 1 << 20, &bytes, &size, NULL), 0);
  assert_string_equal(text, bytes);
  free(bytes);
  free(text);
  profile_done(&p);
}

static void both_forms_keep_everything(void **state) {
  (void)state;
  check_round_trip(CORPUS "full.xml", profile_write_xml, CORPUS "full.xml");
  check_round_trip(CORPUS "full.xml", profile_write_json, CORPUS "full.json");
  check_round_trip(CORPUS "full.json", profile_write_json, CORPUS "full.json");
  check_round_trip(CORPUS "full.json", profile_write_xml, CORPUS "full.xml");
}

static void nothing_is_a_profile(void **state) {
  (void)state;
  struct profile empty = {0}, p;
  static write_fn *const writers[] = {profile_write_xml, profile_write_json};
  for (size_t i = 0; i < COUNT(writers); i++) {
    char *text = written(&empty, writers[i]);
    assert_int_equal(profile_parse("empty", text, strlen(text), &p, NULL), 0);
    assert_int_equal(p.n_libraries, 0);
    assert_null(p.errno_module);
    profile_done(&p);
    free(text);
  }
  profile_done(&empty);
  profile_done(NULL);
}

static void strings_of_any_kind_survive(void **state) {
  (void)state;
  static const char *const evidence[] = {"a <b> & \"c\" 'd'\n\te\r", "", " space ", "é€😀"};
  const struct profile_error error = {.retval = -1, .evidence = evidence, .n_evidence = COUNT(evidence)};
  const struct profile_function function = {.name = "f<>&\"\n", .version = "", .errors = &error, .n_errors = 1};
  const struct profile_library library = {.name = "", .path = " /a b\n", .functions = &function, .n_functions = 1};
  const struct profile p = {.libraries = &library, .n_libraries = 1};
  static write_fn *const writers[] = {profile_write_xml, profile_write_json};
  for (size_t i = 0; i < COUNT(writers); i++) {
    struct profile back;
    char *text = written(&p, writers[i]);
    assert_int_equal(profile_parse("strings", text, strlen(text), &back, NULL), 0);
    assert_string_equal(back.libraries[0].path, library.path);
    assert_string_equal(back.libraries[0].functions[0].name, function.name);
    assert_string_equal(back.libraries[0].functions[0].version, "");
    for (size_t k = 0; k < COUNT(evidence); k++)
      assert_string_equal(back.libraries[0].functions[0].errors[0].evidence[k], evidence[k]);
    char *again = written(&back, writers[i]);
    assert_string_equal(again, text);
    free(again);
    free(text);
    profile_done(&back);
  }
}

/* --- what people write -------------------------------------------------------------------------------------------- */

static void parse(const char *text, struct profile *ret) {
  struct err e = {0};
  if (profile_parse("good", text, strlen(text), ret, &e) < 0) fail_msg("%s", e.text);
}

static void the_papers_figure_is_read(void **state) {
  (void)state;
  struct profile p;
  load(CORPUS "paper.xml", &p);
  assert_int_equal(p.n_libraries, 1);
  assert_string_equal(p.libraries[0].name, "");
  const struct profile_function *f = profile_function(&p, "close");
  assert_non_null(f);
  assert_int_equal(f->n_errors, 1);
  assert_int_equal(f->errors[0].retval, -1);
  assert_int_equal(f->errors[0].confidence, PROFILE_CERTAIN);
  assert_true(errno_set_has(&f->errors[0].errnos, EBADF));
  assert_true(errno_set_has(&f->errors[0].errnos, EIO));
  assert_true(errno_set_has(&f->errors[0].errnos, EINTR));
  assert_int_equal(f->errors[0].n_sides, 0);
  assert_string_equal(p.errno_module, "libc.so.6");
  assert_int_equal(p.errno_offset, 0x12fff4);
  profile_done(&p);
}

static void hand_written_forms_are_read(void **state) {
  (void)state;
  struct profile p;
  parse("\xef\xbb\xbf<!-- mine -->\n<profile library='libx.so' path='/x'>\r\n"
        "<function name='b'/><function name='a' version='V'>\n"
        "  <error-codes retval='0x10' confidence='Likely'/>\n"
        "  <error-codes retval='-2'><!-- two ways --><side-effect errno='EIO'/>\n"
        "    <side-effect type='tls' errno='EWOULDBLOCK' value='11'/>\n"
        "    <side-effect type='TLS' module='libc.so.6' offset='16' errno='9'>\n  -0x9\n</side-effect>\n"
        "    <side-effect type='TLS' module='libc.so.6' offset='24' name='h_errno'>2</side-effect>\n"
        "    <side-effect type='arg' argument='2'>7</side-effect><side-effect type='ARG' argument='2' value='-7'/>\n"
        "    <side-effect type='GLOBAL' module='m' offset='0x8'><![CDATA[5]]></side-effect>\n"
        "  </error-codes></function></profile>\n",
        &p);
  assert_string_equal(p.libraries[0].name, "libx.so");
  assert_string_equal(p.libraries[0].path, "/x");
  assert_string_equal(p.libraries[0].functions[0].name, "a");
  assert_string_equal(p.libraries[0].functions[1].name, "b");
  const struct profile_function *f = profile_function(&p, "a");
  assert_string_equal(f->version, "V");
  assert_int_equal(f->errors[0].retval, -2);
  assert_int_equal(f->errors[1].retval, 16);
  assert_int_equal(f->errors[1].confidence, PROFILE_LIKELY);
  const struct profile_error *e = &f->errors[0];
  assert_true(errno_set_has(&e->errnos, EIO) && errno_set_has(&e->errnos, EAGAIN) && errno_set_has(&e->errnos, EBADF));
  assert_int_equal(p.errno_offset, 16);
  assert_int_equal(e->n_sides, 3);
  assert_int_equal(e->sides[0].kind, SIDE_TLS);
  assert_string_equal(e->sides[0].name, "h_errno");
  assert_int_equal(e->sides[1].kind, SIDE_GLOBAL);
  assert_int_equal(e->sides[1].values[0], 5);
  assert_int_equal(e->sides[2].kind, SIDE_ARG);
  assert_int_equal(e->sides[2].n_values, 2);
  assert_int_equal(e->sides[2].values[0], -7);
  assert_null(profile_function(&p, "c"));
  profile_done(&p);
}

static void the_first_library_wins(void **state) {
  (void)state;
  struct profile p;
  parse("{\"libraries\":[{\"name\":\"x\",\"functions\":[{\"name\":\"z\"},{\"name\":\"f\",\"version\":\"1\"},"
        "{\"name\":\"f\",\"version\":null}]},{\"name\":\"y\",\"functions\":[{\"name\":\"f\"},{\"name\":\"g\"}]}]}",
        &p);
  assert_ptr_equal(profile_function(&p, "f"), &p.libraries[0].functions[0]);
  assert_null(p.libraries[0].functions[0].version);
  assert_ptr_equal(profile_function(&p, "g"), &p.libraries[1].functions[1]);
  assert_ptr_equal(profile_function(&p, "z"), &p.libraries[0].functions[2]);
  profile_done(&p);
}

/* --- what is wrong ------------------------------------------------------------------------------------------------ */

#define IN_FUNCTION(x) "<profile>\n <function name=\"f\">\n" x " </function>\n</profile>\n"
#define IN_ERROR(x) IN_FUNCTION("<error-codes retval=\"-1\">\n" x "</error-codes>\n")
#define SIDE(attributes) IN_ERROR("  <side-effect " attributes "</side-effect>\n")
#define J_FUNCTIONS(x) "{\"libraries\": [{\"name\": \"l\", \"functions\": [\n" x "]}]}"
#define J_ERRORS(x) J_FUNCTIONS("{\"name\": \"f\", \"errors\": [\n" x "]}")
#define J_SIDE(x) J_ERRORS("{\"retval\": 1, \"side\": [\n" x "]}")

/* Text, position, and a part of the message. */
static const char *const wrong[][3] = {
    {"", "1:1:", "empty"},
    {" \n", "2:1:", "empty"},
    {"hello", "1:1:", "neither XML nor JSON"},
    {"\n[]", "2:1:", "neither XML nor JSON"},
    {"<profile>\n\xff</profile>", "2:1:", "0xff"},
    {"{\"é\xc3\"}", "1:4:", "0xc3"},
    {"<html/>", "1:1:", "<html> is not a profile"},
    {"<profile>", "1:10:", "Premature end"},
    {"<profile>\n<function name='a'>\n</profile>", "3:", "mismatch"},
    {"<profile/>\n<profile/>", "2:1:", "Extra content"},
    {"<profile>&lol;</profile>", "1:", "lol"},
    {"<!DOCTYPE p [<!ENTITY a \"b\">]><profile>&a;</profile>", "1:", "document type"},
    {"<!DOCTYPE p SYSTEM \"file:///etc/passwd\"><profile/>", "1:", "document type"},
    {"<profile format=\"2\"/>", "1:10:", "newer murphy"},
    {"<profile format='x'/>", "1:10:", "not a number"},
    {"<profile errno-module='a'/>", "1:1:", "errno-offset"},
    {"<profile errno-offset='1'/>", "1:1:", "errno-module"},
    {"<profile>\n  <functoin name='a'/></profile>", "2:3:", "did you mean function?"},
    {"<profile><x:function xmlns:x='u' name='a'/></profile>", "1:10:", "<x:function>"},
    {"<profile>\n <function/></profile>", "2:2:", "has no name"},
    {"<profile>\n <function name=''/></profile>", "2:12:", "empty"},
    {"<profile><function name='a'/>\n<function name='a'/></profile>", "2:1:", "twice"},
    {"<profile><function name='a'/>\n <library name='l'/></profile>", "2:2:", "outside of a <library>"},
    {"<profile><library name='l'/>\n <function name='a'/></profile>", "2:2:", "outside of a <library>"},
    {"<profile>\n <library/></profile>", "2:2:", "has no name"},
    {"<profile><function name='a'\n  unknown='memory, indirekt call'/></profile>",
     "2:3:", "\"indirekt call\" is not known (did you mean indirect call?)"},
    {"<profile><function name='a' unknown=''/></profile>", "1:29:", "reason"},
    {IN_FUNCTION("  text\n"), "3:3:", "cannot hold text"},
    {IN_FUNCTION("  <error-codes retval=\"-1x\"/>\n"), "3:16:", "\"-1x\" is not a number"},
    {IN_FUNCTION("  <error-codes retval=\"99999999999999999999\"/>\n"), "3:16:", "64 bits"},
    {IN_FUNCTION("  <error-codes wide=\"true\"\n   retvl = \"-1\"/>\n"), "4:4:", "did you mean retval?"},
    {IN_FUNCTION("  <error-codes/>\n"), "3:3:", "has no retval"},
    {IN_FUNCTION("<error-codes retval='-1'/>\n  <error-codes retval='-1'/>\n"), "4:3:", "-1 is there twice"},
    {IN_FUNCTION("<error-codes retval='1' wide='yes'/>\n"), "3:25:", "wide"},
    {IN_FUNCTION("<error-codes retval='1' confidence='certan'/>\n"), "3:25:", "did you mean certain?"},
    {IN_ERROR("<evidence><b/></evidence>"), "4:11:", "<b> cannot be in <evidence>"},
    {SIDE("type=\"TLS\" errno=\"EBADFF\">"), "4:27:", "did you mean EBADF?"},
    {SIDE("errno=\"134\">"), "4:16:", "not an errno"},
    {SIDE("errno=\"EIO\">9"), "4:28:", "EIO is 5, but the value is 9"},
    {SIDE("errno=\"EIO\" value=\"9\">"), "4:28:", "EIO is 5"},
    {SIDE("errno=\"EIO\">\n five"), "5:2:", "\"five\" is not a number"},
    {SIDE("type=\"TSL\">"), "4:16:", "did you mean TLS?"},
    {SIDE("module=\"a\">"), "4:3:", "has no type"},
    {SIDE("type=\"GLOBAL\" offset=\"1\">1"), "4:3:", "has no module"},
    {SIDE("type=\"GLOBAL\" module=\"m\">1"), "4:3:", "has no offset"},
    {SIDE("type=\"GLOBAL\" module=\"m\" offset=\"q\">1"), "4:41:", "\"q\" is not an offset"},
    {SIDE("type=\"GLOBAL\" module=\"m\" offset=\"1\">"), "4:3:", "has no value"},
    {SIDE("type=\"GLOBAL\" module=\"m\" offset=\"1\">EIO"), "4:52:", "write errno=\"EIO\""},
    {SIDE("type=\"GLOBAL\" module=\"m\" offset=\"1\" argument=\"1\">1"), "4:52:", "has no argument"},
    {SIDE("type=\"ARG\">1"), "4:3:", "has no argument"},
    {SIDE("type=\"ARG\" argument=\"0\">1"), "4:27:", "count from 1"},
    {SIDE("type=\"ARG\" argument=\"1\" module=\"m\">1"), "4:40:", "has no module"},
    {SIDE("type=\"ARG\" argument=\"1\" width=\"3\">1"), "4:40:", "write 1, 2, 4 or 8 bytes"},
    {SIDE("type=\"ARG\" argument=\"1\" errno=\"EIO\">5"), "4:40:", "thread-local"},
    {IN_ERROR("<side-effect type='TLS' module='libc.so.6' offset='1'>5</side-effect>\n"
              "<side-effect type='TLS' module='libc.so.6' offset='2'>5</side-effect>\n"),
     "5:25:", "another place"},
    {"{", "1:", "expected"},
    {"{\"libraries\":[\n {\"name\": }\n]}", "2:", "unexpected"},
    {"{\"libraries\":[]} x", "1:", "end of file"},
    {"{\"libraries\":[],\"libraries\":[]}", "1:", "duplicate"},
    {"{}", "1:1:", "no field \"libraries\""},
    {"{\"libraries\": 3}", "1:15:", "array"},
    {"{\"format\": 7, \"libraries\":[]}", "1:12:", "newer murphy"},
    {"{\"librarys\":\n[]}", "2:1:", "did you mean libraries?"},
    {"{\"libraries\":[{\"functions\":[]}]}", "1:15:", "no field \"name\""},
    {J_FUNCTIONS("7"), "2:1:", "function must be an object"},
    {J_FUNCTIONS("{\"name\": \"a\"}, {\"name\": \"a\"}"), "2:16:", "twice"},
    {J_FUNCTIONS("{\"name\": \"\"}"), "2:10:", "empty"},
    {J_FUNCTIONS("{\"name\": \"a\", \"unknown\": true}"), "2:1:", "unknown_because is missing"},
    {J_FUNCTIONS("{\"name\": \"a\", \"unknown_because\": [\"memory\"]}"), "2:1:", "not empty"},
    {J_FUNCTIONS("{\"name\": \"a\", \"unknown_because\": [\"x\\u001b[1m\"]}"), "2:35:", "\"x?[1m\""},
    {J_ERRORS("{\"retval\": 1.0}"), "3:12:", "integer"},
    {J_ERRORS("{\"errno\": []}"), "3:1:", "no field \"retval\""},
    {J_ERRORS("{\"retval\": 1},\n {\"retval\": 1}"), "4:2:", "1 is there twice"},
    {J_ERRORS("{\"retval\": 1, \"errno\": [\"EIO\", \"a\\\"]\",\n\"ENOMEN\"]}"), "3:32:", "not an errno"},
    {J_ERRORS("{\"retval\": 1, \"errno\": [\"EIO\",\n \"ENOMEN\"]}"), "4:2:", "did you mean ENOMEM?"},
    {J_ERRORS("{\"retval\": 1, \"errno\": [0]}"), "3:25:", "not an errno"},
    {J_ERRORS("{\"retval\": 1, \"evidence\": [{\"a\":[]}, 5]}"), "3:28:", "string"},
    {J_ERRORS("{\"retval\": 1, \"confidence\": \"sure\"}"), "3:29:", "likely, certain"},
    {J_SIDE("{\"kind\": \"tls\", \"values\": [1]}"), "4:1:", "no field \"module\""},
    {J_SIDE("{\"kind\": \"arg\", \"values\": [1]}"), "4:1:", "no field \"argument\""},
    {J_SIDE("{\"kind\": \"arg\", \"argument\": 65, \"values\": [1]}"), "4:29:", "count from 1"},
    {J_SIDE("{\"kind\": \"arg\", \"argument\": 1, \"values\": []}"), "4:42:", "empty"},
    {J_SIDE("{\"kind\": \"arg\", \"argument\": 1, \"values\": [1, \"2\"]}"), "4:46:", "integer"},
    {J_SIDE("{\"kind\": \"arg\", \"argument\": 1, \"module\": \"m\", \"values\": [1]}"), "4:1:", "\"module\""},
    {J_SIDE("{\"kind\": \"tls\", \"module\": \"m\", \"offset\": \"q\", \"values\": [1]}"), "4:42:", "offset"},
    {J_SIDE("{\"kind\": \"arg\", \"argument\": 1, \"width\": 16, \"values\": [1]}"), "4:41:", "not a width"},
    {J_SIDE("{\"kind\": \"arg\", \"where\": \"arg 2\", \"argument\": 1, \"values\": [1]}"), "4:1:", "arg 1"},
};

static void mistakes_are_told_with_their_place(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(wrong); i++) {
    struct profile untouched, p;
    memset(&untouched, 0x5a, sizeof untouched);
    p = untouched;
    struct err e = {0};
    char place[32];
    (void)snprintf(place, sizeof place, "bad.xml:%s", wrong[i][1]);
    int r = profile_parse("bad.xml", wrong[i][0], strlen(wrong[i][0]), &p, &e);
    if (r != -EINVAL || strncmp(e.text, place, strlen(place)) != 0 || !strstr(e.text, wrong[i][2]))
      fail_msg("%s\n  gave %d \"%s\", not \"%s … %s\"", wrong[i][0], r, e.text, place, wrong[i][2]);
    assert_memory_equal(&p, &untouched, sizeof p);
    assert_int_equal(profile_parse("bad.xml", wrong[i][0], strlen(wrong[i][0]), &p, NULL), -EINVAL);
  }
}

static void positions_hold_far_into_a_file(void **state) {
  (void)state;
  struct text t = {0};
  struct profile p;
  struct err e = {0};
  text_add(&t, "<profile>\n");
  for (int i = 0; i < 20000; i++)
    text_addf(&t, "<function name=\"f%d\"><error-codes retval=\"%d\"/></function>\n", i, -i);
  text_add(&t, "  <function nam=\"x\"/>\n</profile>\n");
  assert_int_equal(profile_parse("far", t.at, t.n, &p, &e), -EINVAL);
  assert_string_equal(e.text, "far:20002:13: <function> has no attribute nam (did you mean name?)");
  text_done(&t);
}

static void cut_files_are_refused(void **state) {
  (void)state;
  static const char *const files[] = {CORPUS "full.xml", CORPUS "full.json"};
  for (size_t i = 0; i < COUNT(files); i++) {
    char *bytes;
    size_t size;
    struct profile p;
    assert_int_equal(file_read(files[i], 1 << 20, &bytes, &size, NULL), 0);
    for (size_t n = 0; n < size - 2; n++) {
      char *part = malloc(n ? n : 1);
      assert_non_null(part);
      memcpy(part, bytes, n);
      assert_int_equal(profile_parse("part", part, n, &p, NULL), -EINVAL);
      free(part);
    }
    free(bytes);
  }
}

static void deep_files_are_refused(void **state) {
  (void)state;
  static const char *const starts[] = {"<profile>", "{\"libraries\":", "<profile><library name='a'>"};
  static const char *const more[] = {"<profile>", "[", "<library name='a'>"};
  for (size_t i = 0; i < COUNT(starts); i++) {
    struct text t = {0};
    struct profile p;
    text_add(&t, starts[i]);
    for (int k = 0; k < 200000; k++)
      text_add(&t, more[i]);
    assert_int_equal(profile_parse("deep", t.at, t.n, &p, NULL), -EINVAL);
    text_done(&t);
  }
}

static void files_that_are_not_there(void **state) {
  (void)state;
  struct profile p;
  struct err e = {0};
  assert_int_equal(profile_load("nowhere/a.xml", &p, &e), -ENOENT);
  assert_non_null(strstr(e.text, "nowhere/a.xml: "));
}

/* --- for people --------------------------------------------------------------------------------------------------- */

static char *text_of(const struct profile *p, struct profile_text_options options) {
  struct text t = {0};
  profile_write_text(p, &options, &t);
  assert_false(t.failed);
  return t.at;
}

/* The same numbers are errnos where errno lives, and a library's own codes elsewhere. */
static void own_codes_are_not_errnos(void **state) {
  (void)state;
  static const char xml[] = "<profile format='1' errno-module='libc.so.6' errno-offset='0x10'>"
                            "<library name='libc.so.6'><function name='f'><error-codes retval='11'/>"
                            "<error-codes retval='22'/></function></library>"
                            "<library name='liblzma.so.5'><function name='f'><error-codes retval='11'/>"
                            "<error-codes retval='22'/></function></library></profile>";
  struct profile p;
  assert_int_equal(profile_parse("own", xml, strlen(xml), &p, NULL), 0);
  char *text = text_of(&p, (struct profile_text_options){0});
  assert_non_null(strstr(text, "  f     = EAGAIN EINVAL\n"));
  assert_non_null(strstr(text, "  f     11 22\n"));
  free(text);
  profile_done(&p);
}

static void people_see_a_table(void **state) {
  (void)state;
  struct profile p;
  load(CORPUS "full.xml", &p);
  char *text = text_of(&p, (struct profile_text_options){0});
  assert_string_equal(text, "libc.so.6  /lib/x86_64-linux-gnu/libc.so.6\n"
                            "  4 of 5 functions can fail, 1 not fully known\n"
                            "  close           -1    EINTR EIO EBADF\n"
                            "  fopen           NULL? ENOMEM ...\n"
                            "  gethostbyname   NULL  sets libc.so.6+0x18 (h_errno) to -1 1\n"
                            "                        sets libfoo.so.1+0x4040 (foo_errno) to -7\n"
                            "                        sets arg 2 + 0x10 to 3\n"
                            "  pthread_create  =     EPERM EAGAIN EINVAL?\n"
                            "  1 function may return more than is known: indirect call (1), memory (1)\n"
                            "\n"
                            "libbz2.so.1.0  2 of 2 functions can fail\n"
                            "  BZ2_bzRead  -9 -2 -1\n"
                            "  a_function_with_a_name_that_is_much_too_long_for_the_table\n"
                            "              -9223372036854775808\n"
                            "              9223372036854775807 41\n"
                            "\n"
                            "  ?   likely, but not certain\n"
                            "  ... errno may have values that could not be found\n"
                            "  =   the errno itself is returned\n");
  free(text);
  text = text_of(&p, (struct profile_text_options){.all = true, .columns = 120});
  assert_non_null(strstr(text, "  strlen          no errors\n"));
  assert_non_null(strstr(text, "                  and more: indirect call, memory\n"));
  assert_null(strchr(text, '\033'));
  free(text);
  text = text_of(&p, (struct profile_text_options){.color = true});
  assert_non_null(strstr(text, "\033[1mlibc.so.6\033[0m"));
  free(text);
  profile_done(&p);
}

/* A function with every errno. */
static void lines_fit_the_terminal(void **state) {
  (void)state;
  struct profile_error error = {.retval = -1, .confidence = PROFILE_CERTAIN};
  for (int i = 1; i <= ERRNO_MAX; i++)
    errno_set_add(&error.errnos, i);
  const struct profile_function function = {.name = "everything", .errors = &error, .n_errors = 1, .unknown = 127};
  const struct profile_library library = {.name = "l", .functions = &function, .n_functions = 1};
  const struct profile p = {.libraries = &library, .n_libraries = 1};
  static const unsigned widths[] = {1, 60, 80, 120, 200};
  for (size_t i = 0; i < COUNT(widths); i++) {
    unsigned width = widths[i] < 60 ? 60 : widths[i];
    char *text = text_of(&p, (struct profile_text_options){.columns = widths[i], .all = true});
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
      assert_true((size_t)(end - line) <= width);
      assert_true(end == line || end[-1] != ' ');
    }
    assert_non_null(strstr(text, "EHWPOISON"));
    free(text);
  }
}

static void names_are_no_terminal_commands(void **state) {
  (void)state;
  struct profile p;
  parse(
      "{\"libraries\":[{\"name\":\"a\\u001b[2J\",\"functions\":[{\"name\":\"f\\r\\n\",\"errors\":[{\"retval\":1}]}]}]}",
      &p);
  char *text = text_of(&p, (struct profile_text_options){0});
  assert_string_equal(text, "a?[2J  1 of 1 functions can fail\n  f??   1\n");
  free(text);
  profile_done(&p);
}

/* --- its own medicine --------------------------------------------------------------------------------------------- */

#if OWN_ALLOCATOR
static void check_starved(const char *bytes, size_t size) {
  struct profile p;
  struct err e;
  for (long n = 0;; n++) {
    failed_one = false;
    countdown = n;
    int r = profile_parse("starved", bytes, size, &p, &e);
    countdown = -1;
    if (r == 0)
      profile_done(&p);
    else
      assert_int_equal(r, -ENOMEM);
    if (!failed_one) return;
  }
}

static void every_allocation_of_a_reader_may_fail(void **state) {
  (void)state;
  static const char *const files[] = {CORPUS "full.xml", CORPUS "full.json", CORPUS "paper.xml"};
  for (size_t i = 0; i < COUNT(files); i++) {
    char *bytes;
    size_t size;
    struct profile p;
    assert_int_equal(file_read(files[i], 1 << 20, &bytes, &size, NULL), 0);
    assert_int_equal(profile_parse("first", bytes, size, &p, NULL), 0);
    profile_done(&p);
    check_starved(bytes, size);
    free(bytes);
  }
}

static void write_text(const struct profile *p, struct text *to) {
  profile_write_text(p, &(struct profile_text_options){.all = true, .color = true}, to);
}

static void every_allocation_of_a_writer_may_fail(void **state) {
  (void)state;
  static write_fn *const writers[] = {profile_write_xml, profile_write_json, write_text};
  struct profile p;
  load(CORPUS "full.xml", &p);
  for (size_t i = 0; i < COUNT(writers); i++) {
    char *whole = written(&p, writers[i]);
    for (long n = 0;; n++) {
      struct text t = {0};
      failed_one = false;
      countdown = n;
      writers[i](&p, &t);
      countdown = -1;
      assert_int_equal(t.failed, failed_one);
      if (!t.failed) assert_string_equal(t.at, whole);
      text_done(&t);
      if (!failed_one) break;
    }
    free(whole);
  }
  profile_done(&p);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(both_forms_keep_everything),
    cmocka_unit_test(nothing_is_a_profile),
    cmocka_unit_test(strings_of_any_kind_survive),
    cmocka_unit_test(the_papers_figure_is_read),
    cmocka_unit_test(hand_written_forms_are_read),
    cmocka_unit_test(the_first_library_wins),
    cmocka_unit_test(mistakes_are_told_with_their_place),
    cmocka_unit_test(positions_hold_far_into_a_file),
    cmocka_unit_test(cut_files_are_refused),
    cmocka_unit_test(deep_files_are_refused),
    cmocka_unit_test(files_that_are_not_there),
    cmocka_unit_test(people_see_a_table),
    cmocka_unit_test(own_codes_are_not_errnos),
    cmocka_unit_test(lines_fit_the_terminal),
    cmocka_unit_test(names_are_no_terminal_commands),
#if OWN_ALLOCATOR
    cmocka_unit_test(every_allocation_of_a_reader_may_fail),
    cmocka_unit_test(every_allocation_of_a_writer_may_fail),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
