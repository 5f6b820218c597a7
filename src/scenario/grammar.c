/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions: from tokens to a tree with types.
 *
 *   or      = and { ("||" | "or") and }
 *   and     = not { ("&&" | "and") not }
 *   not     = "not" not | binary
 *   binary  = unary { OPERATOR unary }          by precedence, as in C; ~ and =~ between two operands match strings
 *   unary   = ("!" | "~" | "-" | "+") unary | primary
 *   primary = NUMBER | REAL | STRING | NAME [ "(" or { "," or } ")" ] | "(" or ")"
 *
 * The word not binds as in prose, "not call == 3"; the sign ! as in C. Where C's precedence is a trap, as in call & 1
 * == 0 or 1 < call < 5, the types do not fit, and the message says what to write.
 */
#include "scenario/model.h"

#include <errno.h>
#include <string.h>

#define DEPTH_MAX 60
#define NODES_MAX 2000 /* the tree is walked recursively */

struct expr *expr_new(struct arena *a, enum expr_kind kind, enum expr_type type, struct where at) {
  struct expr *x = arena_zalloc(a, sizeof *x);
  if (x) *x = (struct expr){.kind = kind, .type = type, .at = at};
  return x;
}

int parse_make(struct parser *p, enum expr_kind kind, enum expr_type type, struct where at, struct expr **ret) {
  if (++p->nodes > NODES_MAX) return FAIL_AT(at, p->l->e, -EINVAL, "this condition is too long (write several rules)");
  struct expr *x = expr_new(p->l->arena, kind, type, at);
  if (!x) return source_no_memory(p->l->source, p->l->e);
  *ret = x;
  return 0;
}

static int fail(struct parser *p, struct where at, const char *what, const char *way) {
  return FAIL_AT(at, p->l->e, -EINVAL, "%s (%s)", what, way);
}

/* --- types -------------------------------------------------------------------------------------------------------- */

static int want_condition(struct parser *p, const struct expr *x) {
  if (p->l->token.kind == TOKEN_ASSIGN) return fail(p, lexer_where(p->l), "'=' does not compare", "write ==");
  if (x->type == TYPE_NUMBER || x->type == TYPE_TRUTH || x->type == TYPE_VALUE) return 0;
  if (x->type == TYPE_TEXT || x->type == TYPE_KIND)
    return fail(p, x->at, "this is a text, not a condition", "write == \"…\" behind it, or ~ and a pattern");
  return fail(p, x->at, x->type == TYPE_STRING ? "a string is not a condition" : "a fraction is not a condition",
              x->type == TYPE_STRING ? "write caller(\"…\") or stack(\"…\")" : "write random(0.1)");
}

static int want_number(struct parser *p, const struct expr *x, const char *sign) {
  if (x->type == TYPE_NUMBER || x->type == TYPE_VALUE) return 0;
  if (x->type == TYPE_TRUTH)
    return FAIL_AT(x->at, p->l->e, -EINVAL,
                   "'%s' needs numbers, and this is a truth value (write parentheses, or and, or, not)", sign);
  return FAIL_AT(x->at, p->l->e, -EINVAL, "'%s' needs whole numbers, and this is a %s", sign,
                 x->type == TYPE_REAL     ? "fraction"
                 : x->type == TYPE_STRING ? "string"
                                          : "text");
}

static bool compares(enum wire_op op) { return op >= WIRE_OP_EQ && op <= WIRE_OP_GE; }

/* Is it a time, or one more or less another number? */
static bool is_time(const struct expr *x) {
  bool sum = x->kind == EXPR_BINARY && (x->op == WIRE_OP_ADD || x->op == WIRE_OP_SUB);
  return x->kind == EXPR_TIME || (sum && (is_time(x->args[0]) || is_time(x->args[1])));
}

/* A number that has no unit could be meant in any. */
static int want_unit(struct parser *p, const struct expr *time, const struct expr *x) {
  if (!is_time(time) || x->kind != EXPR_NUMBER || x->time || x->number == 0) return 0;
  return fail(p, x->at, "a time needs its unit", "write 10ms; us, ms, s, min");
}

static int check_binary(struct parser *p, enum wire_op op, const char *sign, const struct expr *a,
                        const struct expr *b) {
  bool equality = op == WIRE_OP_EQ || op == WIRE_OP_NE;
  if (equality && a->type == TYPE_TRUTH && b->type == TYPE_TRUTH) return 0;
  int r = want_number(p, a, sign);
  if (r >= 0) r = want_number(p, b, sign);
  bool units = compares(op) || op == WIRE_OP_ADD || op == WIRE_OP_SUB;
  if (r >= 0 && units) r = want_unit(p, a, b);
  return r >= 0 && units ? want_unit(p, b, a) : r;
}

/* --- operators ---------------------------------------------------------------------------------------------------- */

static int parse_constant(struct parser *p, struct expr **ret) {
  struct token t = p->l->token;
  struct expr *x = NULL;
  bool string = t.kind == TOKEN_STRING, real = t.kind == TOKEN_REAL;
  int r = parse_make(p,
                     string ? EXPR_STRING
                     : real ? EXPR_REAL
                            : EXPR_NUMBER,
                     string ? TYPE_STRING
                     : real ? TYPE_REAL
                            : TYPE_NUMBER,
                     lexer_where(p->l), &x);
  if (r < 0) return r;
  x->number = t.number;
  x->real = t.real;
  x->string = t.text;
  x->time = t.time;
  *ret = x;
  return lexer_next(p->l);
}

static int parse_group(struct parser *p, struct expr **ret) {
  char found[80];
  int r = lexer_next(p->l);
  if (r >= 0) r = parse_or(p, ret);
  if (r < 0) return r;
  if (p->l->token.kind != TOKEN_CLOSE)
    return FAIL_AT(lexer_where(p->l), p->l->e, -EINVAL, "')' is missing before %s", token_describe(p->l, found));
  return lexer_next(p->l);
}

static int parse_primary(struct parser *p, struct expr **ret) {
  char found[80];
  switch (p->l->token.kind) {
  case TOKEN_NUMBER:
  case TOKEN_REAL:
  case TOKEN_STRING:
    return parse_constant(p, ret);
  case TOKEN_NAME:
    return parse_name(p, ret);
  case TOKEN_OPEN:
    return parse_group(p, ret);
  case TOKEN_ASSIGN:
    return fail(p, lexer_where(p->l), "'=' does not compare", "write ==");
  default:
    return FAIL_AT(lexer_where(p->l), p->l->e, -EINVAL, "a condition was expected, not %s (write call == 3, once, …)",
                   token_describe(p->l, found));
  }
}

static int deeper(struct parser *p) {
  if (++p->depth <= DEPTH_MAX) return 0;
  return fail(p, lexer_where(p->l), "this condition is nested too deeply", "write several rules");
}

static int parse_unary(struct parser *p, struct expr **ret);

static int parse_signed(struct parser *p, enum wire_op op, struct expr **ret) {
  struct where at = lexer_where(p->l);
  struct expr *x = NULL, *operand = NULL;
  int r = lexer_next(p->l);
  if (r >= 0) r = parse_unary(p, &operand);
  if (r >= 0)
    r = op == WIRE_OP_IS_ZERO ? want_condition(p, operand) : want_number(p, operand, op == WIRE_OP_NOT ? "~" : "-");
  bool negate = op == WIRE_OP_IS_ZERO;
  if (r >= 0) r = parse_make(p, negate ? EXPR_NOT : EXPR_UNARY, negate ? TYPE_TRUTH : TYPE_NUMBER, at, &x);
  if (r < 0) return r;
  x->op = op;
  x->args[x->n_args++] = operand;
  *ret = x;
  return 0;
}

static int parse_unary(struct parser *p, struct expr **ret) {
  const struct token *t = &p->l->token;
  bool plus = t->kind == TOKEN_BINARY && t->op == WIRE_OP_ADD, minus = t->kind == TOKEN_BINARY && t->op == WIRE_OP_SUB;
  int r = deeper(p);
  if (r < 0) return r;
  if (plus) {
    r = lexer_next(p->l);
    if (r >= 0) r = parse_unary(p, ret);
    if (r >= 0) r = want_number(p, *ret, "+");
  } else if (minus || t->kind == TOKEN_TILDE || t->kind == TOKEN_NOT) {
    r = parse_signed(p, minus ? WIRE_OP_NEG : t->kind == TOKEN_TILDE ? WIRE_OP_NOT : WIRE_OP_IS_ZERO, ret);
  } else {
    r = parse_primary(p, ret);
  }
  p->depth--;
  return r;
}

/* C's order, the loosest first. */
static unsigned precedence(enum wire_op op) {
  switch (op) {
  case WIRE_OP_OR:
    return 1;
  case WIRE_OP_XOR:
    return 2;
  case WIRE_OP_AND:
    return 3;
  case WIRE_OP_EQ:
  case WIRE_OP_NE:
    return 4;
  case WIRE_OP_LT:
  case WIRE_OP_LE:
  case WIRE_OP_GT:
  case WIRE_OP_GE:
    return 5;
  case WIRE_OP_SHL:
  case WIRE_OP_SHR:
    return 6;
  case WIRE_OP_ADD:
  case WIRE_OP_SUB:
    return 7;
  default:
    return 8;
  }
}

/* What stands between two operands; of the signs that match, as binding as ==. */
static bool joins(const struct token *t) {
  return t->kind == TOKEN_BINARY || t->kind == TOKEN_TILDE || t->kind == TOKEN_MATCHES;
}

static enum wire_op token_op(const struct token *t) { return t->kind == TOKEN_BINARY ? t->op : WIRE_OP_EQ; }

/* Both are a constant string and something that it can be compared with. */
static bool compares_texts(enum wire_op op, const struct expr *a, const struct expr *b) {
  return (op == WIRE_OP_EQ || op == WIRE_OP_NE) &&
         (a->type == TYPE_STRING || b->type == TYPE_STRING || a->type == TYPE_TEXT || b->type == TYPE_TEXT ||
          a->type == TYPE_KIND || b->type == TYPE_KIND);
}

static int join(struct parser *p, const struct token *t, struct where at, struct expr *left, struct expr *right,
                struct expr **ret) {
  struct expr *x = NULL;
  char sign[3] = {0};
  memcpy(sign, p->l->source->bytes + t->offset, t->size);
  if (t->kind != TOKEN_BINARY)
    return parse_match(p, t->kind == TOKEN_TILDE ? WIRE_MATCH_GLOB : WIRE_MATCH_REGEX, left, right, at, ret);
  if (compares_texts(t->op, left, right))
    return parse_match(p, WIRE_MATCH_SAME | (t->op == WIRE_OP_NE ? WIRE_MATCH_NOT : 0), left, right, at, ret);
  int r = check_binary(p, t->op, sign, left, right);
  if (r >= 0) r = parse_make(p, EXPR_BINARY, compares(t->op) ? TYPE_TRUTH : TYPE_NUMBER, at, &x);
  if (r < 0) return r;
  x->op = t->op;
  x->n_args = 2;
  x->args[0] = left;
  x->args[1] = right;
  *ret = x;
  return 0;
}

static int parse_binary(struct parser *p, unsigned loosest, struct expr **ret) {
  struct expr *left = NULL;
  int r = deeper(p);
  if (r >= 0) r = parse_unary(p, &left);
  while (r >= 0 && joins(&p->l->token) && precedence(token_op(&p->l->token)) >= loosest) {
    struct expr *right = NULL;
    struct token t = p->l->token;
    struct where at = lexer_where(p->l);
    r = lexer_next(p->l);
    if (r >= 0) r = parse_binary(p, precedence(token_op(&t)) + 1, &right);
    if (r >= 0) r = join(p, &t, at, left, right, &left);
  }
  p->depth--;
  if (r >= 0) *ret = left;
  return r;
}

static int parse_not(struct parser *p, struct expr **ret) {
  if (!lexer_is(p->l, "not")) return parse_binary(p, 0, ret);
  struct where at = lexer_where(p->l);
  struct expr *x = NULL, *operand = NULL;
  int r = deeper(p);
  if (r >= 0) r = lexer_next(p->l);
  if (r >= 0) r = parse_not(p, &operand);
  p->depth--;
  if (r >= 0) r = want_condition(p, operand);
  if (r >= 0) r = parse_make(p, EXPR_NOT, TYPE_TRUTH, at, &x);
  if (r < 0) return r;
  x->args[x->n_args++] = operand;
  *ret = x;
  return 0;
}

/* Operands of && or ||, from left to right. */
static int parse_joined(struct parser *p, enum expr_kind kind, int (*operand)(struct parser *, struct expr **),
                        struct expr **ret) {
  struct expr *left = NULL;
  int r = operand(p, &left);
  while (r >= 0 && (p->l->token.kind == (kind == EXPR_AND ? TOKEN_AND : TOKEN_OR) ||
                    lexer_is(p->l, kind == EXPR_AND ? "and" : "or"))) {
    struct expr *x = NULL, *right = NULL;
    struct where at = lexer_where(p->l);
    r = want_condition(p, left);
    if (r >= 0) r = lexer_next(p->l);
    if (r >= 0) r = operand(p, &right);
    if (r >= 0) r = want_condition(p, right);
    if (r >= 0) r = parse_make(p, kind, TYPE_TRUTH, at, &x);
    if (r < 0) return r;
    x->n_args = 2;
    x->args[0] = left;
    x->args[1] = right;
    left = x;
  }
  if (r >= 0) *ret = left;
  return r;
}

static int parse_and(struct parser *p, struct expr **ret) { return parse_joined(p, EXPR_AND, parse_not, ret); }

int parse_or(struct parser *p, struct expr **ret) {
  int r = deeper(p);
  if (r >= 0) r = parse_joined(p, EXPR_OR, parse_and, ret);
  p->depth--;
  return r;
}

int expr_parse(struct lexer *l, struct expr **ret) {
  struct parser p = {.l = l};
  struct expr *x = NULL;
  char found[80];
  int r = parse_or(&p, &x);
  if (r >= 0) r = want_condition(&p, x);
  if (r < 0) return r;
  if (l->token.kind == TOKEN_ASSIGN) return fail(&p, lexer_where(l), "'=' does not compare", "write ==");
  if (l->token.kind != TOKEN_END)
    return FAIL_AT(lexer_where(l), l->e, -EINVAL, "%s does not belong here (write and or or between conditions)",
                   token_describe(l, found));
  *ret = x;
  return 0;
}
