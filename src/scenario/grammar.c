/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions: from tokens to a tree with types.
 *
 *   or      = and { ("||" | "or") and }
 *   and     = not { ("&&" | "and") not }
 *   not     = "not" not | binary
 *   binary  = unary { OPERATOR unary }          by precedence, as in C
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

struct parser {
  struct lexer *l;
  unsigned depth, nodes;
};

struct expr *expr_new(struct arena *a, enum expr_kind kind, enum expr_type type, struct where at) {
  struct expr *x = arena_zalloc(a, sizeof *x);
  if (x) *x = (struct expr){.kind = kind, .type = type, .at = at};
  return x;
}

static int make(struct parser *p, enum expr_kind kind, enum expr_type type, struct where at, struct expr **ret) {
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
  if (x->type == TYPE_NUMBER || x->type == TYPE_TRUTH) return 0;
  return fail(p, x->at, x->type == TYPE_STRING ? "a string is not a condition" : "a fraction is not a condition",
              x->type == TYPE_STRING ? "write caller(\"…\") or stack(\"…\")" : "write random(0.1)");
}

static int want_number(struct parser *p, const struct expr *x, const char *sign) {
  if (x->type == TYPE_NUMBER) return 0;
  if (x->type == TYPE_TRUTH)
    return FAIL_AT(x->at, p->l->e, -EINVAL,
                   "'%s' needs numbers, and this is a truth value (write parentheses, or and, or, not)", sign);
  return FAIL_AT(x->at, p->l->e, -EINVAL, "'%s' needs whole numbers, and this is a %s", sign,
                 x->type == TYPE_STRING ? "string" : "fraction");
}

static bool compares(enum wire_op op) { return op >= WIRE_OP_EQ && op <= WIRE_OP_GE; }

static int check_binary(struct parser *p, enum wire_op op, const char *sign, const struct expr *a,
                        const struct expr *b) {
  bool equality = op == WIRE_OP_EQ || op == WIRE_OP_NE;
  if (equality && a->type == TYPE_TRUTH && b->type == TYPE_TRUTH) return 0;
  int r = want_number(p, a, sign);
  return r < 0 ? r : want_number(p, b, sign);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static const struct word {
  const char *name;
  enum expr_kind kind;
  enum expr_type type;
  uint8_t min, max; /* arguments; 0 for a word without parentheses */
  bool strings;     /* what the arguments are: strings, or numbers and fractions */
  const char *use;
} words[] = {
    {"call", EXPR_CALL, TYPE_NUMBER, 0, 0, false, "call == 3"},
    {"size", EXPR_SIZE, TYPE_NUMBER, 0, 0, false, "size > 4096"},
    {"process", EXPR_PROCESS, TYPE_NUMBER, 0, 0, false, "process == 1"},
    {"ordered", EXPR_ORDERED, TYPE_TRUTH, 0, 0, false, "ordered"},
    {"once", EXPR_ONCE, TYPE_TRUTH, 0, 0, false, "once"},
    {"true", EXPR_NUMBER, TYPE_TRUTH, 0, 0, false, "true"},
    {"false", EXPR_NUMBER, TYPE_TRUTH, 0, 0, false, "false"},
    {"random", EXPR_RANDOM, TYPE_TRUTH, 1, 1, false, "random(0.1)"},
    {"caller", EXPR_CALLER, TYPE_TRUTH, 1, 1, true, "caller(\"module-or-function\")"},
    {"stack", EXPR_STACK, TYPE_TRUTH, 1, EXPR_ARGS, true, "stack(\"function\")"},
};

static const char *const joining[] = {"and", "or", "not"};

static int unknown_word(struct parser *p) {
  const char *names[COUNT(words) + COUNT(joining)];
  char way[SOURCE_HINT];
  for (size_t i = 0; i < COUNT(words); i++)
    names[i] = words[i].name;
  memcpy(names + COUNT(words), joining, sizeof joining);
  return FAIL_AT(lexer_where(p->l), p->l->e, -EINVAL, "'%.60s' is not known in a condition (%s)", p->l->token.text,
                 source_hint(name_nearest(p->l->token.text, names, COUNT(names)),
                             "there are call, process, once, random, caller, stack", way));
}

static int parse_or(struct parser *p, struct expr **ret);

static int check_argument(struct parser *p, const struct word *w, const struct expr *x) {
  bool fits = w->strings ? x->kind == EXPR_STRING : x->kind == EXPR_REAL || x->kind == EXPR_NUMBER;
  if (fits && w->strings && !x->string[0])
    return FAIL_AT(x->at, p->l->e, -EINVAL, "the name is empty (write %s)", w->use);
  if (fits) return 0;
  return FAIL_AT(x->at, p->l->e, -EINVAL, "%s needs %s here (write %s)", w->name,
                 w->strings ? "a string in quotes" : "a number between 0 and 1", w->use);
}

static int check_probability(struct parser *p, struct expr *x) {
  double chance = x->args[0]->kind == EXPR_REAL ? x->args[0]->real : (double)x->args[0]->number;
  x->real = chance;
  if (chance >= 0 && chance <= 1) return 0;
  return fail(p, x->args[0]->at, "a probability is between 0 and 1", "write 0.1 for one call in ten");
}

static int parse_arguments(struct parser *p, const struct word *w, struct expr *x) {
  char found[80];
  if (p->l->token.kind != TOKEN_OPEN)
    return FAIL_AT(lexer_where(p->l), p->l->e, -EINVAL, "'(' is missing behind %s (write %s)", w->name, w->use);
  do {
    int r = lexer_next(p->l);
    struct expr *argument = NULL;
    if (r >= 0) r = parse_or(p, &argument);
    if (r >= 0) r = check_argument(p, w, argument);
    if (r < 0) return r;
    if (x->n_args == w->max)
      return FAIL_AT(argument->at, p->l->e, -EINVAL, "%s has at most %u argument%s (write %s)", w->name, w->max,
                     w->max == 1 ? "" : "s", w->use);
    x->args[x->n_args++] = argument;
  } while (p->l->token.kind == TOKEN_COMMA);
  if (p->l->token.kind != TOKEN_CLOSE)
    return FAIL_AT(lexer_where(p->l), p->l->e, -EINVAL, "')' is missing before %s", token_describe(p->l, found));
  int r = w->kind == EXPR_RANDOM ? check_probability(p, x) : 0;
  return r < 0 ? r : lexer_next(p->l);
}

static int parse_name(struct parser *p, struct expr **ret) {
  struct lexer *l = p->l;
  const struct word *w = NULL;
  for (size_t i = 0; i < COUNT(words) && !w; i++)
    if (strcmp(words[i].name, l->token.text) == 0) w = &words[i];
  if (!w) return unknown_word(p);
  struct expr *x = NULL;
  int r = make(p, w->kind, w->type, lexer_where(l), &x);
  if (r >= 0) r = lexer_next(l);
  if (r < 0) return r;
  x->number = strcmp(w->name, "true") == 0;
  if (w->max) r = parse_arguments(p, w, x);
  if (r >= 0 && !w->max && l->token.kind == TOKEN_OPEN)
    r = FAIL_AT(lexer_where(l), l->e, -EINVAL, "%s takes no arguments (write %s)", w->name, w->use);
  if (r >= 0) *ret = x;
  return r;
}

/* --- operators ---------------------------------------------------------------------------------------------------- */

static int parse_constant(struct parser *p, struct expr **ret) {
  struct token t = p->l->token;
  struct expr *x = NULL;
  bool string = t.kind == TOKEN_STRING, real = t.kind == TOKEN_REAL;
  int r = make(p,
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
  if (r >= 0) r = make(p, negate ? EXPR_NOT : EXPR_UNARY, negate ? TYPE_TRUTH : TYPE_NUMBER, at, &x);
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

static int parse_binary(struct parser *p, unsigned loosest, struct expr **ret) {
  struct expr *left = NULL;
  int r = deeper(p);
  if (r >= 0) r = parse_unary(p, &left);
  while (r >= 0 && p->l->token.kind == TOKEN_BINARY && precedence(p->l->token.op) >= loosest) {
    struct expr *x = NULL, *right = NULL;
    struct token t = p->l->token;
    struct where at = lexer_where(p->l);
    char sign[3] = {0};
    memcpy(sign, p->l->source->bytes + t.offset, t.size);
    r = lexer_next(p->l);
    if (r >= 0) r = parse_binary(p, precedence(t.op) + 1, &right);
    if (r >= 0) r = check_binary(p, t.op, sign, left, right);
    if (r >= 0) r = make(p, EXPR_BINARY, compares(t.op) ? TYPE_TRUTH : TYPE_NUMBER, at, &x);
    if (r < 0) break;
    x->op = t.op;
    x->n_args = 2;
    x->args[0] = left;
    x->args[1] = right;
    left = x;
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
  if (r >= 0) r = make(p, EXPR_NOT, TYPE_TRUTH, at, &x);
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
    if (r >= 0) r = make(p, kind, TYPE_TRUTH, at, &x);
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

static int parse_or(struct parser *p, struct expr **ret) {
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
