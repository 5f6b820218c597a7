/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame programs, byte by byte, and the rows that they become; then a real file, whose rows keep their promises.
 * Whether rows are right for whole libraries is what tests/check/unwind.py asks readelf.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "image/cfa.h"

#define MAX 16

struct taken {
  struct image_row at[MAX];
  size_t n;
};

static int take(void *context, struct image_row row) {
  struct taken *t = context;
  assert_true(t->n < MAX);
  t->at[t->n++] = row;
  return 0;
}

static struct cursor over(const uint8_t *bytes, size_t n) { return (struct cursor){bytes, n, 0, false}; }

/* What every C compiler writes: CFA = rsp + 8, the return address 8 below it. */
static const uint8_t usual[] = {0x0c, 7, 8, 0x90, 1};

static struct cie usual_cie(void) {
  return (struct cie){.known = true,
                      .understood = true,
                      .code_align = 1,
                      .data_align = -8,
                      .return_register = 16,
                      .program = over(usual, sizeof usual)};
}

static struct taken run(const uint8_t *program, size_t n) {
  struct cie cie = usual_cie();
  struct cfa_rules initial;
  struct taken t = {0};
  assert_true(cfa_begin(&cie, &initial));
  assert_int_equal(cfa_run(&cie, &initial, over(program, n), 0x1000, 0x1100, take, &t), 0);
  assert_true(t.n > 0);
  return t;
}

#define RUN(...)                                                                                                       \
  ({                                                                                                                   \
    static const uint8_t program_[] = {__VA_ARGS__};                                                                   \
    run(program_, sizeof program_);                                                                                    \
  })

static void row_is(const struct image_row *r, uint32_t start, enum image_cfa cfa, int32_t offset, int rbp) {
  assert_int_equal(r->start, start);
  assert_int_equal(r->cfa, cfa);
  assert_int_equal(r->offset, offset);
  assert_int_equal(r->rbp, rbp);
}

static void test_frame_pointer(void **state) {
  (void)state;
  /* push rbp; mov rsp, rbp; …; leave */
  struct taken t = RUN(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0x20, 0x0c, 7, 8, 0xc6, 0, 0);
  assert_int_equal(t.n, 4);
  row_is(&t.at[0], 0x1000, IMAGE_CFA_RSP, 8, 0);
  row_is(&t.at[1], 0x1001, IMAGE_CFA_RSP, 16, -16);
  row_is(&t.at[2], 0x1004, IMAGE_CFA_RBP, 16, -16);
  row_is(&t.at[3], 0x1024, IMAGE_CFA_RSP, 8, 0);
}

static void test_remembered(void **state) {
  (void)state;
  struct taken t = RUN(0x0e, 0x80, 0x02, 0x0a, 0x44, 0x0e, 8, 0x03, 0x10, 0x00, 0x0b);
  assert_int_equal(t.n, 3);
  row_is(&t.at[0], 0x1000, IMAGE_CFA_RSP, 256, 0);
  row_is(&t.at[1], 0x1004, IMAGE_CFA_RSP, 8, 0);
  row_is(&t.at[2], 0x1014, IMAGE_CFA_RSP, 256, 0);
}

static void test_offsets_in_all_forms(void **state) {
  (void)state;
  struct taken t = RUN(0x05, 6, 3);
  row_is(&t.at[0], 0x1000, IMAGE_CFA_RSP, 8, -24);
  t = RUN(0x11, 6, 0x7e); /* -2, times -8 */
  row_is(&t.at[0], 0x1000, IMAGE_CFA_RSP, 8, 16);
  t = RUN(0x2f, 6, 3);
  row_is(&t.at[0], 0x1000, IMAGE_CFA_RSP, 8, 24);
  t = RUN(0x12, 6, 0x7e);
  row_is(&t.at[0], 0x1000, IMAGE_CFA_RBP, 16, 0);
  t = RUN(0x13, 0x7c);
  row_is(&t.at[0], 0x1000, IMAGE_CFA_RSP, 32, 0);
  t = RUN(0x86, 2, 0x06, 6);
  row_is(&t.at[0], 0x1000, IMAGE_CFA_RSP, 8, 0);
  t = RUN(0x86, 2, 0x08, 6);
  row_is(&t.at[0], 0x1000, IMAGE_CFA_RSP, 8, 0);
  t = RUN(0x2e, 0x90, 0x01, 0x83, 4, 0x04, 8, 0, 0, 0);
  row_is(&t.at[1], 0x1008, IMAGE_CFA_RSP, 8, 0);
}

static void test_expressions(void **state) {
  (void)state;
  struct taken t = RUN(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
  row_is(&t.at[0], 0x1000, IMAGE_CFA_PLT, 11, 0);
  t = RUN(0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0); /* what gcc does to align a stack */
  row_is(&t.at[0], 0x1000, IMAGE_CFA_AT_RBP, -8, 0);
  t = RUN(0x0f, 6, 0x77, 0xd8, 0x00, 0x06, 0x23, 8, 0x86, 2); /* what libcrypto does */
  row_is(&t.at[0], 0x1000, IMAGE_CFA_AT_RSP, 88, -16);
  assert_int_equal(t.at[0].add, 8);
  t = RUN(0x0f, 2, 0x77, 24);
  row_is(&t.at[0], 0x1000, IMAGE_CFA_RSP, 24, 0);
  t = RUN(0x0f, 4, 0x77, 0xa0, 0x01, 0x06, 0x10, 6, 3, 0x77, 0xf8, 0x00, 0x10, 16, 3, 0x77, 0xa8, 0x01);
  row_is(&t.at[0], 0x1000, IMAGE_CFA_SIGNAL, 0, 0);
}

/* What rows cannot say ends the walk: it is never something else. */
static void test_ends(void **state) {
  (void)state;
  static const struct {
    uint8_t n, at[12];
  } cases[] = {
      {2, {0x07, 16}},                           /* the return address is undefined: the outermost frame */
      {3, {0x09, 16, 1}},                        /* ... or in a register */
      {2, {0x90, 2}},                            /* ... or elsewhere */
      {2, {0x07, 6}},                            /* rbp is lost */
      {3, {0x14, 6, 2}},                         /* rbp is a value */
      {4, {0x16, 6, 1, 0x30}},                   /* ... by an expression */
      {3, {0x0c, 10, 0}},                        /* CFA in r10 */
      {3, {0x0f, 1, 0x30}},                      /* an expression nobody writes */
      {4, {0x0f, 2, 0x70, 0}},                   /* from rax */
      {4, {0x0f, 9, 0x77, 0}},                   /* longer than the program */
      {5, {0x0f, 3, 0x76, 0x78, 0x06}},          /* aligned, but where is rbp? */
      {1, {0x0b}},                               /* nothing was remembered */
      {1, {0x3f}},                               /* no such instruction */
      {1, {0x0e}},                               /* no operand */
      {6, {0x0e, 0xff, 0xff, 0xff, 0xff, 0x1f}}, /* an offset of 8 GiB */
      {4, {0x86, 0x80, 0x80, 0x01}},             /* rbp too far away */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct taken t = run(cases[i].at, cases[i].n);
    row_is(&t.at[t.n - 1], 0x1000, IMAGE_CFA_END, 0, 0);
  }
}

static void test_does_not_leave_the_entry(void **state) {
  (void)state;
  struct taken t = RUN(0x04, 0, 1, 0, 0, 0x0e, 16); /* to 0x1100, which is the end */
  assert_int_equal(t.n, 1);
  row_is(&t.at[0], 0x1000, IMAGE_CFA_RSP, 8, 0);
  t = RUN(0x01, 0, 0, 0, 0, 0, 0, 0, 0); /* back to 0 */
  row_is(&t.at[t.n - 1], 0x1000, IMAGE_CFA_END, 0, 0);
}

static void test_cie_for_another_machine(void **state) {
  (void)state;
  struct cie cie = usual_cie();
  struct cfa_rules rules;
  cie.return_register = 30;
  assert_false(cfa_begin(&cie, &rules));
}

static void test_rows_of_libc(void **state) {
  (void)state;
  struct image *img;
  struct image_row *rows;
  struct err e = {0};
  char *path;
  size_t n, signals = 0;
  assert_int_equal(image_find("libc.so.6", NULL, &path, &e), 0);
  assert_int_equal(image_open(path, &img, &e), 0);
  assert_int_equal(image_unwind(img, &rows, &n), 0);
  assert_true(n > 10000);
  for (size_t i = 0; i < n; i++) {
    assert_true(i == 0 || rows[i - 1].start < rows[i].start);
    signals += rows[i].cfa == IMAGE_CFA_SIGNAL;
  }
  assert_int_equal(signals, 1);
  assert_int_equal(rows[n - 1].cfa, IMAGE_CFA_NONE);
  free(rows);
  image_free(img);
  free(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_frame_pointer),
      cmocka_unit_test(test_remembered),
      cmocka_unit_test(test_offsets_in_all_forms),
      cmocka_unit_test(test_expressions),
      cmocka_unit_test(test_ends),
      cmocka_unit_test(test_does_not_leave_the_entry),
      cmocka_unit_test(test_cie_for_another_machine),
      cmocka_unit_test(test_rows_of_libc),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
