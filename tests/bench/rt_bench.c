/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rt_bench RULE FUNCTION -- COMMAND...: runs a command under a plan made by hand, for benchmarks that must not wait for
 * an analysis. RULE: idle (can never fire), count (fires at a number that is not reached), caller (a caller that is not
 * there), caller-hit (the program, and the first argument is another one), caller-call (the program, at a number that
 * is not reached), random (a chance of almost none), stack and stack-rows (the command's function `outermost` is on the
 * stack, and the first argument is another one; without or with unwind rows in the plan), always, none (no murphy at
 * all).
 */
#include "unit/made_module.h"
#include "unit/made_run.h"

static void add_rule(struct made_plan *p, const char *rule) {
  uint32_t far = made_number(p, INT64_MAX / 4), one = made_number(p, 1), zero = made_number(p, 0);
  made_fault(p, -1, EIO);
  if (strcmp(rule, "count") == 0)
    MADE_RULE(p, OP(WIRE_OP_CALL, 0), OP(WIRE_OP_NUMBER, far), OP(WIRE_OP_EQ, 0), OP(WIRE_OP_END, 0));
  else if (strcmp(rule, "caller") == 0)
    MADE_RULE(p, OP(WIRE_OP_CALLER, 0), OP(WIRE_OP_END, 0));
  else if (strcmp(rule, "caller-hit") == 0)
    MADE_RULE(p, OP(WIRE_OP_CALLER, 1), OP(WIRE_OP_IF_ZERO, 3), OP(WIRE_OP_ARG, 0), OP(WIRE_OP_NUMBER, far),
              OP(WIRE_OP_EQ, 0), OP(WIRE_OP_END, 0));
  else if (strcmp(rule, "caller-call") == 0) {
    struct wire_rule *r = MADE_RULE(p, OP(WIRE_OP_CALL, 0), OP(WIRE_OP_NUMBER, far), OP(WIRE_OP_EQ, 0),
                                    OP(WIRE_OP_IF_ZERO, 1), OP(WIRE_OP_CALLER, 1), OP(WIRE_OP_END, 0));
    r->first = r->last = INT64_MAX / 4;
  } else if (strcmp(rule, "random") == 0)
    MADE_RULE(p, OP(WIRE_OP_NUMBER, one), OP(WIRE_OP_NUMBER, zero), OP(WIRE_OP_RANDOM, p->slots++), OP(WIRE_OP_END, 0));
  else if (strncmp(rule, "stack", 5) == 0)
    MADE_RULE(p, OP(WIRE_OP_STACK, 0), OP(WIRE_OP_IF_ZERO, 3), OP(WIRE_OP_ARG, 0), OP(WIRE_OP_NUMBER, far),
              OP(WIRE_OP_EQ, 0), OP(WIRE_OP_END, 0));
  else if (strcmp(rule, "always") == 0)
    made_rule(p, NULL, 0);
  else
    MADE_RULE(p, OP(WIRE_OP_NUMBER, zero), OP(WIRE_OP_END, 0));
}

static void add_place(struct made_plan *p, const char *program) {
  made_must(vec_push(&p->modules, (struct wire_module){.name = made_text(p, "libc.so.6")}) == 0);
  made_must(vec_push(&p->modules, (struct wire_module){.flags = WIRE_PROGRAM, .name = made_text(p, program)}) == 0);
  made_must(vec_push(&p->places, (struct wire_place){.flags = WIRE_LAST, .start = 16, .end = 32}) == 0);
  made_must(vec_push(&p->places, (struct wire_place){.module = 1, .flags = WIRE_LAST | WIRE_ANYWHERE}) == 0);
}

static void add_stack(struct made_plan *p, const char *program, bool rows) {
  struct image *img;
  struct err e = {0};
  made_must(image_open(program, &img, &e) == 0);
  const struct image_function *f = made_find(img, "outermost");
  made_must(f && f->end);
  uint32_t module = made_module(p, program, WIRE_PROGRAM, img, rows);
  (void)made_place(p, module, 0, f->address, f->end);
  image_free(img);
}

int main(int argc, char **argv) {
  if (argc < 5 || strcmp(argv[3], "--") != 0) return 2;
  struct made_plan p = {0};
  made_function(&p, argv[2]);
  add_rule(&p, argv[1]);
  if (strncmp(argv[1], "stack", 5) == 0)
    add_stack(&p, argv[4], strcmp(argv[1], "stack-rows") == 0);
  else
    add_place(&p, argv[4]);
  struct made_run r;
  if (getenv("MADE_SHIM_NAME")) made_shim_name = getenv("MADE_SHIM_NAME");
  made_begin(&r, &p);
  if (strcmp(argv[1], "none") == 0) (void)snprintf(r.shim_path, sizeof r.shim_path, "%s", "");
  made_start(&r, argv + 4);
  (void)fputs(r.output, stdout);
  bool attached = r.area->attached == 1 || strcmp(argv[1], "none") == 0;
  made_end(&r);
  made_done(&p);
  return attached && r.status == 0 ? 0 : 1;
}
