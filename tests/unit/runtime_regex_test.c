/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions: what murphy compiles, as the target carries it out, against those of the C library. */
#include <errno.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/operand.h"
#include "scenario/model.h"

#include <cmocka.h>

static bool matches(struct arena *a, const char *pattern, const char *text) {
  const uint16_t *table;
  const char *why;
  size_t n, at;
  int r = regex_compile(a, pattern, &table, &n, &why, &at);
  if (r < 0) fail_msg("%s: %s", pattern, why);
  return rt_regex(table, text, strlen(text));
}

static void expressions_match(void **state) {
  (void)state;
  static const struct {
    const char *pattern, *text;
    bool matches;
  } cases[] = {
      {"", "", true},
      {"", "abc", true},
      {"b", "abc", true},
      {"^b", "abc", false},
      {"^a.c$", "abc", true},
      {"^a.c$", "abcd", false},
      {"a\\.c", "abc", false},
      {"a\\.c", "xa.cx", true},
      {"^(ab|cd)+$", "abcdab", true},
      {"^(ab|cd)+$", "abcda", false},
      {"[^0-9]$", "12a", true},
      {"^[^0-9]+$", "12a", false},
      {"[]x]", "]", true},
      {"[a-]", "-", true},
      {"^[[:digit:][:upper:]]+$", "1A2", true},
      {"colou?r", "a color", true},
      {"(^a|b$)", "ab", true},
      {"(^a|b$)", "ba", false},
      {"^$", "", true},
      {"^$", "x", false},
      {"\xff", "a\xff", true},
      {"x*", "", true},
      {"(a|b)*abb", "babaabb", true},
      {"(a|b)*abb$", "babaabba", false},
      {"^a{3}$", "aaa", true},
      {"^a{3}$", "aaaa", false},
      {"^a{2,}$", "a", false},
      {"^a{2,}$", "aaaaaaa", true},
      {"^(ab|c){1,2}$", "abc", true},
      {"^(ab|c){1,2}$", "abcc", false},
      {"^xa{0}y$", "xy", true},
      {"^xa{0}y$", "xay", false},
      {"^(a{2}b?){2}$", "aabaa", true},
      {"^(a{2}b?){2}$", "aaba", false},
      {"^a*{2}$", "aaaaa", true},
      {"a\\{2}", "a{2}", true},
      {"^[0-9]{1,3}([.][0-9]{1,3}){3}$", "127.0.0.1", true},
      {"^[0-9]{1,3}([.][0-9]{1,3}){3}$", "127.0.0.1000", false},
      {"^[[:blank:]]+$", " \t", true},
      {"^[[:print:]]+$", "a\tb", false},
      {"[[:cntrl:]]", "a\tb", true},
      {"^[[:graph:]]+$", "a~!", true},
      {"^[[.-.]a]+$", "-a", true},
      {"^[[=a=]]+$", "aa", true},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    struct arena a = {0};
    if (matches(&a, cases[i].pattern, cases[i].text) != cases[i].matches)
      fail_msg("/%s/ and '%s': not %d", cases[i].pattern, cases[i].text, cases[i].matches);
    arena_done(&a);
  }
}

static uint64_t drawn;
static unsigned choose(unsigned n) { return (unsigned)(wire_draw(3, drawn++) % n); }

static void any_pattern(char *to, size_t *n, unsigned depth) {
  static const char *const pieces[] = {"a", "b", "c", ".", "[ab]", "[^a]", "^", "$", "ab"};
  for (unsigned k = 1 + choose(3); k > 0; k--) {
    unsigned what = choose(8);
    size_t start = *n;
    bool group = depth > 0 && what < 2;
    const char *piece = pieces[choose(COUNT(pieces))];
    if (group) {
      to[(*n)++] = '(';
      any_pattern(to, n, depth - 1);
      to[(*n)++] = '|';
      any_pattern(to, n, depth - 1);
      to[(*n)++] = ')';
    } else {
      memcpy(to + *n, piece, strlen(piece));
      *n += strlen(piece);
    }
    bool anchor = !group && (piece[0] == '^' || piece[0] == '$');
    static const char *const counts[] = {"{2}", "{0,2}", "{1,}", "{0}", "{2,3}"};
    bool counted = !anchor && choose(5) == 0;
    to[*n] = 0;
    if (group && strpbrk(to + start, "^$")) counted = false;
    const char *count = counts[choose(COUNT(counts))];
    if (counted) {
      memcpy(to + *n, count, strlen(count));
      *n += strlen(count);
    } else if (what > 4 && !anchor) {
      to[(*n)++] = "*+?"[what - 5];
    }
  }
  to[*n] = 0;
}

/* The C library's own are the truth; it is not asked about what it gets wrong: anchors that are repeated. */
static void any_expression_matches_as_in_libc(void **state) {
  (void)state;
  unsigned found = 0;
  for (int round = 0; round < 3000; round++) {
    struct arena a = {0};
    char pattern[4096];
    size_t n = 0;
    regex_t truth;
    any_pattern(pattern, &n, 2);
    assert_int_equal(regcomp(&truth, pattern, REG_EXTENDED | REG_NOSUB), 0);
    for (int k = 0; k < 5; k++) {
      char text[12];
      unsigned length = choose(10);
      for (unsigned i = 0; i < length; i++)
        text[i] = (char)('a' + choose(4));
      text[length] = 0;
      bool wanted = regexec(&truth, text, 0, NULL, 0) == 0;
      found += wanted;
      if (matches(&a, pattern, text) != wanted) fail_msg("/%s/ and '%s': not %d", pattern, text, !wanted);
    }
    regfree(&truth);
    arena_done(&a);
  }
  assert_true(found > 1000 && found < 14000);
}

static void what_is_wrong_has_its_place(void **state) {
  (void)state;
  static const struct {
    const char *pattern;
    size_t at;
    const char *why;
  } cases[] = {
      {"ab{", 2, "numbers of repetitions were expected"},
      {"ab{,3}", 2, "numbers of repetitions were expected"},
      {"ab{3,2}", 2, "the second number is smaller"},
      {"ab{2x}", 2, "numbers of repetitions were expected"},
      {"a{256}", 1, "at most 255"},
      {"{2}", 0, "nothing to repeat"},
      {"a|*", 2, "nothing to repeat"},
      {"x[[:digits:]]", 2, "no such class"},
      {"x[[.ab.]]", 2, "no single character"},
      {"x[z-a]", 2, "this range is empty"},
      {"x[a", 1, "this set has no end"},
      {"x(a", 1, "this group has no end"},
      {"a)", 1, "closes nothing"},
      {"a\\d", 1, "not known"},
      {"a\\<b", 1, "not known"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    struct arena a = {0};
    const uint16_t *table;
    const char *why = "";
    size_t n, at = 99;
    assert_int_equal(regex_compile(&a, cases[i].pattern, &table, &n, &why, &at), -EINVAL);
    if (at != cases[i].at || !strstr(why, cases[i].why)) fail_msg("/%s/: %zu: %s", cases[i].pattern, at, why);
    arena_done(&a);
  }
}

static void too_large_is_refused(void **state) {
  (void)state;
  struct arena a = {0};
  const uint16_t *table;
  const char *why;
  size_t n, at;
  char many[9000] = "";
  for (int i = 0; i < 2200; i++)
    (void)strcat(many, "a?b");
  assert_int_equal(regex_compile(&a, many, &table, &n, &why, &at), -EINVAL);
  assert_int_equal(
      regex_compile(&a, "(a|b)*a(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)", &table, &n, &why, &at),
      -E2BIG);
  arena_done(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(expressions_match),
      cmocka_unit_test(any_expression_matches_as_in_libc),
      cmocka_unit_test(what_is_wrong_has_its_place),
      cmocka_unit_test(too_large_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
