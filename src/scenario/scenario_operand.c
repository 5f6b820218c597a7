/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What conditions ask of the call and its surroundings, as code.
 */
#include "scenario/classes.h"

#include <errno.h>
#include <string.h>

bool expr_may_be_unknown(const struct expr *x) {
  switch (x->kind) {
  case EXPR_FD_KIND:
  case EXPR_FD_BLOCKING:
  case EXPR_FD_WRITTEN:
  case EXPR_SIZE:
  case EXPR_THREAD:
  case EXPR_LOCKS:
  case EXPR_SINCE:
  case EXPR_GLOBAL:
  case EXPR_LOCAL:
  case EXPR_OUTER:
    return true;
  case EXPR_UNARY:
  case EXPR_INT:
  case EXPR_BINARY:
    for (size_t i = 0; i < x->n_args; i++)
      if (expr_may_be_unknown(x->args[i])) return true;
    return false;
  default: /* others are false then by themselves */
    return false;
  }
}

static int no_role(struct emitter *m, const struct expr *x, const char *what) {
  return FAIL_AT(x->at, m->plan->e, -ENOTSUP,
                 "which argument of %.60s is its %s is not known (write arg(1), …; data/functions says it)",
                 m->subject->written, what);
}

static int emit_role(struct emitter *m, const struct expr *x, int argument, const char *what) {
  return argument < 0 ? no_role(m, x, what) : emit(m, WIRE_OP_ARG, (uint32_t)argument);
}

/* What is in the register of an argument that there is not is nothing that the caller meant. */
static int emit_argument(struct emitter *m, const struct expr *x) {
  int n = m->subject->roles.max_args;
  if (n >= 0 && x->number >= n)
    return FAIL_AT(x->at, m->plan->e, -EINVAL, "%.60s has no argument %lld (it has %d)", m->subject->name,
                   (long long)x->number + 1, n);
  return emit(m, WIRE_OP_ARG, (uint32_t)x->number);
}

/* The lower half of a register, as an int: the upper one may hold anything. */
static int emit_int(struct emitter *m) {
  int r = emit_number(m, 32);
  if (r >= 0) r = emit(m, WIRE_OP_SHL, 0);
  if (r >= 0) r = emit_number(m, 32);
  return r < 0 ? r : emit(m, WIRE_OP_SHR, 0);
}

/* An argument that is an int. */
static int emit_int_role(struct emitter *m, const struct expr *x, int argument, const char *what) {
  int r = emit_role(m, x, argument, what);
  return r < 0 ? r : emit_int(m);
}

int bytes_argument(const struct roles *roles) {
  if (roles->length >= 0) return roles->how == WIRE_LENGTH_BYTES ? roles->length : -1;
  return roles->size;
}

/* How many bytes the call is about. Sizes have no sign: WIRE_OP_LENGTH sees to it, but knows registers only. */
int emit_bytes(struct emitter *m) {
  const struct roles *roles = &m->subject->roles;
  int argument = bytes_argument(roles);
  if (argument >= 6) return emit(m, WIRE_OP_ARG, (uint32_t)argument);
  if (argument >= 0) return emit(m, WIRE_OP_LENGTH, WIRE_LENGTH_BYTES | (uint32_t)argument << 4);
  if (roles->length < 0) return -ENOTSUP;
  return emit(m, WIRE_OP_LENGTH, (uint32_t)roles->how | (uint32_t)roles->length << 4);
}

static int emit_size(struct emitter *m, const struct expr *x) {
  int r = emit_bytes(m);
  return r == -ENOTSUP ? no_role(m, x, "size") : r;
}

/* The descriptor that the function works on; of a stream, the stream's. */
int emit_descriptor(struct emitter *m) {
  const struct roles *roles = &m->subject->roles;
  if (roles->descriptor >= 0) return emit(m, WIRE_OP_ARG, (uint32_t)roles->descriptor);
  if (roles->file < 0 && !roles->stream_name) return -ENOTSUP;
  if (roles->file >= 0) {
    int r = emit(m, WIRE_OP_ARG, (uint32_t)roles->file);
    return r < 0 ? r : emit(m, WIRE_OP_STREAM, 0);
  }
  int r = emit_number(m, 0);
  return r < 0 ? r : emit(m, WIRE_OP_STREAM, strcmp(roles->stream_name, "stdin") == 0 ? -WIRE_STDIN : -WIRE_STDOUT);
}

static int emit_descriptor_of(struct emitter *m, const struct expr *x) {
  int r = emit_descriptor(m);
  return r == -ENOTSUP ? no_role(m, x, "descriptor") : r;
}

/* A question about the descriptor. */
static int emit_fd(struct emitter *m, const struct expr *x, enum wire_op op) {
  int r = emit_descriptor_of(m, x);
  if (r >= 0) r = emit(m, op, 0);
  if (r < 0 || op != WIRE_OP_FD_BLOCKS) return r;
  r = emit_number(m, 1);
  return r < 0 ? r : emit(m, WIRE_OP_EQ, 0);
}

/* --- calls of others ---------------------------------------------------------------------------------------------- */

static int emit_mark(struct emitter *m, enum wire_op op, const void *owner) {
  uint32_t slot;
  int r = plan_thread_slot(m->plan, owner, &slot);
  return r < 0 ? r : emit(m, op, slot);
}

/* Not 0; or, of the first N calls since then, one. */
static int emit_after(struct emitter *m, const struct expr *x) {
  bool within = x->kind == EXPR_AFTER && x->n_args > 1;
  int r = emit_mark(m, within ? WIRE_OP_SINCE : WIRE_OP_MARKED, x);
  if (r >= 0 && within) r = emit_series(m, 1, x->args[1]->number, 1);
  if (r >= 0 && !within) r = emit_number(m, 0);
  if (r >= 0 && !within) r = emit(m, WIRE_OP_NE, 0);
  return r < 0 ? r : emit(m, WIRE_OP_KNOWN, 0);
}

/* --- texts -------------------------------------------------------------------------------------------------------- */

/* Puts what is to be matched on the stack, and says what that is. */
static int emit_text(struct emitter *m, const struct expr *x, enum wire_text *ret) {
  const struct roles *roles = &m->subject->roles;
  int r;
  *ret = WIRE_TEXT_AT;
  switch (x->kind) {
  case EXPR_PATH:
    if (roles->path >= 0) return emit(m, WIRE_OP_ARG, (uint32_t)roles->path);
    *ret = WIRE_TEXT_FD;
    r = emit_descriptor(m);
    return r == -ENOTSUP ? no_role(m, x, "path") : r;
  case EXPR_FD_PATH:
    *ret = WIRE_TEXT_FD;
    return emit_descriptor_of(m, x);
  case EXPR_THREAD_NAME:
  case EXPR_PROGRAM:
    *ret = x->kind == EXPR_PROGRAM ? WIRE_TEXT_PROGRAM : WIRE_TEXT_THREAD;
    return emit_number(m, 0);
  case EXPR_GLOBAL:
  case EXPR_LOCAL:
  case EXPR_OUTER:
    return emit_variable(m, x, true);
  default:
    return emit_expr(m, x);
  }
}

static int add_table(struct plan *p, const struct expr *x, int64_t *ret) {
  *ret = (int64_t)p->tables.n;
  for (size_t i = 0; i < x->n_table; i++)
    if (vec_push(&p->tables, x->table[i]) < 0) return plan_no_memory(p);
  return 0;
}

static int emit_match(struct emitter *m, const struct expr *x) {
  struct plan *p = m->plan;
  enum wire_text text;
  int64_t with = 0;
  uint32_t string = 0;
  int r = emit_text(m, x->args[0], &text);
  if (r >= 0) r = x->table ? add_table(p, x, &with) : plan_string(p, x->args[1]->string, &string);
  if (r < 0) return r;
  size_t at = p->numbers.n;
  if (vec_push(&p->numbers, text) < 0 || vec_push(&p->numbers, (int64_t)x->match) < 0 ||
      vec_push(&p->numbers, x->table ? with : (int64_t)string) < 0)
    return plan_no_memory(p);
  r = at > 0xffffff ? FAIL_AT(x->at, p->e, -E2BIG, "the scenario is too large for a plan (write fewer rules)")
                    : emit(m, WIRE_OP_MATCH, (uint32_t)at);
  /* Where it is a text at all may not be known either. */
  return r >= 0 && expr_may_be_unknown(x->args[0]) ? emit(m, WIRE_OP_KNOWN, 0) : r;
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

static int emit_constant(struct emitter *m, const struct expr *x) {
  int64_t value;
  int r = plan_constant(m->plan, x, &value);
  return r < 0 ? r : emit_number(m, value);
}

int trigger_emit_expr(struct emitter *m, const struct trigger *t) { return emit_truth(m, t->class->expr(t)); }

int emit_operand(struct emitter *m, const struct expr *x) {
  const struct roles *roles = &m->subject->roles;
  switch (x->kind) {
  case EXPR_ARG:
    return emit_argument(m, x);
  case EXPR_SYMBOL:
    return emit_constant(m, x);
  case EXPR_SIZE:
    return emit_size(m, x);
  case EXPR_INT: {
    int r = emit_expr(m, x->args[0]);
    return r < 0 ? r : emit_int(m);
  }
  case EXPR_FD: {
    int r = emit_descriptor_of(m, x);
    return r < 0 || roles->descriptor < 0 ? r : emit_int(m);
  }
  case EXPR_FLAGS:
    return emit_int_role(m, x, roles->flags, "flags");
  case EXPR_MODE:
    return emit_int_role(m, x, roles->mode, "mode");
  case EXPR_FD_KIND:
    return emit_fd(m, x, WIRE_OP_FD_KIND);
  case EXPR_FD_BLOCKING:
    return emit_fd(m, x, WIRE_OP_FD_BLOCKS);
  case EXPR_FD_WRITTEN:
    return emit_fd(m, x, WIRE_OP_WRITTEN);
  case EXPR_THREAD:
    return emit(m, WIRE_OP_THREAD, 0);
  case EXPR_TIME:
    return emit(m, WIRE_OP_TIME, 0);
  case EXPR_LOCKS:
    return emit(m, WIRE_OP_MARKED, WIRE_THREAD_LOCKS);
  case EXPR_SINCE:
    return emit_mark(m, WIRE_OP_SINCE, x);
  case EXPR_AFTER:
  case EXPR_BETWEEN:
    return emit_after(m, x);
  case EXPR_NEAR:
    return emit_near(m, x);
  case EXPR_GLOBAL:
  case EXPR_LOCAL:
  case EXPR_OUTER:
    return emit_variable(m, x, false);
  case EXPR_MATCH:
    return emit_match(m, x);
  default:
    MUST(!"an expression that has no code");
    return -EINVAL;
  }
}
