/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names that a condition can use, and what is in their parentheses.
 *
 * A name of capitals is a constant, O_CREAT or EIO; which there are is only known when there is a folder of data, so
 * that it is looked up later.
 */
#include "scenario/model.h"

#include <errno.h>
#include <string.h>

/* What is in the parentheses. */
enum form {
  BARE,    /* there are none */
  CHANCE,  /* a number from 0 to 1 */
  PLACES,  /* strings: pieces of code */
  NAMES,   /* strings: functions, variables */
  COUNTED, /* a function, and perhaps a number */
  VALUE,   /* any number */
  INDEX,   /* an argument's number; or a function, and the number of its argument */
};

static const struct word {
  const char *name;
  enum expr_kind kind;
  enum expr_type type;
  enum form form;
  uint8_t min, max; /* arguments */
  const char *use;
} words[] = {
    {"call", EXPR_CALL, TYPE_NUMBER, BARE, 0, 0, "call == 3"},
    {"arg", EXPR_ARG, TYPE_VALUE, INDEX, 1, 2, "arg(1)"},
    {"int", EXPR_INT, TYPE_NUMBER, VALUE, 1, 1, "int(arg(1)) == -1"},
    {"size", EXPR_SIZE, TYPE_NUMBER, BARE, 0, 0, "size > 4096"},
    {"path", EXPR_PATH, TYPE_TEXT, BARE, 0, 0, "path ~ \"*.db\""},
    {"flags", EXPR_FLAGS, TYPE_NUMBER, BARE, 0, 0, "flags & O_CREAT"},
    {"mode", EXPR_MODE, TYPE_NUMBER, BARE, 0, 0, "mode & S_IWOTH"},
    {"fd", EXPR_FD, TYPE_NUMBER, BARE, 0, 0, "fd == 1"},
    {"fd.kind", EXPR_FD_KIND, TYPE_KIND, BARE, 0, 0, "fd.kind == \"pipe\""},
    {"fd.blocking", EXPR_FD_BLOCKING, TYPE_TRUTH, BARE, 0, 0, "fd.blocking"},
    {"fd.path", EXPR_FD_PATH, TYPE_TEXT, BARE, 0, 0, "fd.path ~ \"*.db\""},
    {"fd.written", EXPR_FD_WRITTEN, TYPE_NUMBER, BARE, 0, 0, "fd.written > 4096"},
    {"process", EXPR_PROCESS, TYPE_NUMBER, BARE, 0, 0, "process == 1"},
    {"process.name", EXPR_PROGRAM, TYPE_TEXT, BARE, 0, 0, "process.name == \"git\""},
    {"thread", EXPR_THREAD, TYPE_NUMBER, BARE, 0, 0, "thread == 1"},
    {"thread.name", EXPR_THREAD_NAME, TYPE_TEXT, BARE, 0, 0, "thread.name ~ \"worker*\""},
    {"time", EXPR_TIME, TYPE_NUMBER, BARE, 0, 0, "time > 2s"},
    {"locks", EXPR_LOCKS, TYPE_NUMBER, BARE, 0, 0, "locks > 0"},
    {"since", EXPR_SINCE, TYPE_NUMBER, NAMES, 1, 1, "since(\"open\") == 1"},
    {"after", EXPR_AFTER, TYPE_TRUTH, COUNTED, 1, 2, "after(\"open\")"},
    {"near", EXPR_NEAR, TYPE_TRUTH, COUNTED, 2, 2, "near(\"unlock\", 3)"},
    {"between", EXPR_BETWEEN, TYPE_TRUTH, NAMES, 2, 2, "between(\"lock\", \"unlock\")"},
    {"global", EXPR_GLOBAL, TYPE_VALUE, NAMES, 1, 1, "global(\"server.port\")"},
    {"local", EXPR_LOCAL, TYPE_VALUE, NAMES, 2, 2, "local(\"function\", \"variable\")"},
    {"ordered", EXPR_ORDERED, TYPE_TRUTH, BARE, 0, 0, "ordered"},
    {"once", EXPR_ONCE, TYPE_TRUTH, BARE, 0, 0, "once"},
    {"true", EXPR_NUMBER, TYPE_TRUTH, BARE, 0, 0, "true"},
    {"false", EXPR_NUMBER, TYPE_TRUTH, BARE, 0, 0, "false"},
    {"random", EXPR_RANDOM, TYPE_TRUTH, CHANCE, 1, 1, "random(0.1)"},
    {"caller", EXPR_CALLER, TYPE_TRUTH, PLACES, 1, 1, "caller(\"module-or-function\")"},
    {"stack", EXPR_STACK, TYPE_TRUTH, PLACES, 1, EXPR_ARGS, "stack(\"function\")"},
};

static const char *const joining[] = {"and", "or", "not"};

static int unknown_word(struct parser *p) {
  const char *names[COUNT(words) + COUNT(joining)];
  char way[SOURCE_HINT], found[80];
  for (size_t i = 0; i < COUNT(joining); i++)
    if (strcmp(p->l->token.text, joining[i]) == 0)
      return FAIL_AT(lexer_where(p->l), p->l->e, -EINVAL, "a condition was expected, not %s (write call == 3, once, …)",
                     token_describe(p->l, found));
  for (size_t i = 0; i < COUNT(words); i++)
    names[i] = words[i].name;
  memcpy(names + COUNT(words), joining, sizeof joining);
  return FAIL_AT(lexer_where(p->l), p->l->e, -EINVAL, "'%.60s' is not known in a condition (%s)", p->l->token.text,
                 source_hint(name_nearest(p->l->token.text, names, COUNT(names)),
                             "there are call, arg, path, fd, size, caller, stack and others, see murphy-scenario(5)",
                             way));
}

/* --- what is in parentheses --------------------------------------------------------------------------------------- */

/* Is argument I of the word a string? */
static bool wants_string(const struct word *w, const struct expr *x, size_t i) {
  switch (w->form) {
  case PLACES:
  case NAMES:
    return true;
  case COUNTED:
    return i == 0;
  case INDEX: /* arg(1), arg("function", 1) */
    return i == 0 && x->kind == EXPR_STRING;
  default:
    return false;
  }
}

static int check_argument(struct parser *p, const struct word *w, const struct expr *x, size_t i) {
  bool string = wants_string(w, x, i);
  bool fits = string ? x->kind == EXPR_STRING : x->kind == EXPR_NUMBER || (w->form == CHANCE && x->kind == EXPR_REAL);
  if (w->form == VALUE) fits = x->type == TYPE_NUMBER || x->type == TYPE_VALUE;
  if (fits && string && !x->string[0]) return FAIL_AT(x->at, p->l->e, -EINVAL, "the name is empty (write %s)", w->use);
  if (fits) return 0;
  return FAIL_AT(x->at, p->l->e, -EINVAL, "%s needs %s here (write %s)", w->name,
                 string              ? "a string in quotes"
                 : w->form == CHANCE ? "a number between 0 and 1"
                                     : "a number",
                 w->use);
}

static int check_probability(struct parser *p, struct expr *x) {
  double chance = x->args[0]->kind == EXPR_REAL ? x->args[0]->real : (double)x->args[0]->number;
  x->real = chance;
  if (chance >= 0 && chance <= 1) return 0;
  return FAIL_AT(x->args[0]->at, p->l->e, -EINVAL, "a probability is between 0 and 1 (write 0.1 for one call in ten)");
}

/* arg(1) is an argument of the call; arg("function", 1) of a function on the stack. */
static int check_index(struct parser *p, struct expr *x) {
  bool outer = x->args[0]->kind == EXPR_STRING;
  const struct expr *number = x->args[outer && x->n_args > 1];
  if (outer != (x->n_args == 2))
    return FAIL_AT(x->at, p->l->e, -EINVAL, "arg needs a number (write arg(1), or arg(\"function\", 1))");
  if (number->number < 1 || number->number > WIRE_MAX_ARGS)
    return FAIL_AT(number->at, p->l->e, -EINVAL, "arguments are counted from 1 to %d", WIRE_MAX_ARGS);
  x->number = number->number - 1;
  if (outer) x->kind = EXPR_OUTER;
  x->n_args = outer;
  return 0;
}

static int check_count(struct parser *p, const struct expr *x) {
  if (x->n_args < 2 || x->args[1]->number >= 1) return 0;
  return FAIL_AT(x->args[1]->at, p->l->e, -EINVAL, "it is at least 1 (write 1)");
}

static int check_all(struct parser *p, const struct word *w, struct expr *x) {
  if (x->n_args < w->min)
    return FAIL_AT(lexer_where(p->l), p->l->e, -EINVAL, "%s has %u arguments (write %s)", w->name, w->min, w->use);
  switch (w->form) {
  case CHANCE:
    return check_probability(p, x);
  case INDEX:
    return check_index(p, x);
  case COUNTED:
    return check_count(p, x);
  default:
    return 0;
  }
}

static int parse_arguments(struct parser *p, const struct word *w, struct expr *x) {
  char found[80];
  if (p->l->token.kind != TOKEN_OPEN)
    return FAIL_AT(lexer_where(p->l), p->l->e, -EINVAL, "'(' is missing behind %s (write %s)", w->name, w->use);
  do {
    int r = lexer_next(p->l);
    struct expr *argument = NULL;
    if (r >= 0) r = parse_or(p, &argument);
    if (r >= 0) r = check_argument(p, w, argument, x->n_args);
    if (r < 0) return r;
    if (x->n_args == w->max)
      return FAIL_AT(argument->at, p->l->e, -EINVAL, "%s has at most %u argument%s (write %s)", w->name, w->max,
                     w->max == 1 ? "" : "s", w->use);
    x->args[x->n_args++] = argument;
  } while (p->l->token.kind == TOKEN_COMMA);
  if (p->l->token.kind != TOKEN_CLOSE)
    return FAIL_AT(lexer_where(p->l), p->l->e, -EINVAL, "')' is missing before %s", token_describe(p->l, found));
  int r = check_all(p, w, x);
  return r < 0 ? r : lexer_next(p->l);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

bool word_is_constant(const char *s) {
  bool capital = *s >= 'A' && *s <= 'Z';
  return capital && !s[strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")];
}

static int parse_constant_name(struct parser *p, struct expr **ret) {
  struct expr *x = NULL;
  int r = parse_make(p, EXPR_SYMBOL, TYPE_NUMBER, lexer_where(p->l), &x);
  if (r < 0) return r;
  x->string = p->l->token.text;
  *ret = x;
  return lexer_next(p->l);
}

int parse_name(struct parser *p, struct expr **ret) {
  struct lexer *l = p->l;
  const struct word *w = NULL;
  for (size_t i = 0; i < COUNT(words) && !w; i++)
    if (strcmp(words[i].name, l->token.text) == 0) w = &words[i];
  if (!w) return word_is_constant(l->token.text) ? parse_constant_name(p, ret) : unknown_word(p);
  struct expr *x = NULL;
  int r = parse_make(p, w->kind, w->type, lexer_where(l), &x);
  if (r >= 0) r = lexer_next(l);
  if (r < 0) return r;
  x->number = strcmp(w->name, "true") == 0;
  if (w->max) r = parse_arguments(p, w, x);
  if (r >= 0 && !w->max && l->token.kind == TOKEN_OPEN)
    r = FAIL_AT(lexer_where(l), l->e, -EINVAL, "%s takes no arguments (write %s)", w->name, w->use);
  if (r >= 0) *ret = x;
  return r;
}

/* --- strings ------------------------------------------------------------------------------------------------------ */

/* fd.kind == "pipe": a comparison of numbers. */
static int parse_kind(struct parser *p, unsigned how, struct expr *left, struct expr *right, struct where at,
                      struct expr **ret) {
  char hint[SOURCE_HINT];
  struct expr *x = NULL;
  if ((how & ~(unsigned)WIRE_MATCH_NOT) != WIRE_MATCH_SAME)
    return FAIL_AT(at, p->l->e, -EINVAL, "kinds have no patterns (write fd.kind == \"pipe\")");
  int kind = fd_kind_parse(right->string, hint);
  if (kind < 0)
    return FAIL_AT(right->at, p->l->e, -EINVAL, "'%.60s' is not a kind of descriptor (%s)", right->string, hint);
  int r = parse_make(p, EXPR_BINARY, TYPE_TRUTH, at, &x);
  if (r < 0) return r;
  right->kind = EXPR_NUMBER;
  right->type = TYPE_NUMBER;
  right->number = kind;
  x->op = how & WIRE_MATCH_NOT ? WIRE_OP_NE : WIRE_OP_EQ;
  x->n_args = 2;
  x->args[0] = left;
  x->args[1] = right;
  *ret = x;
  return 0;
}

/* Where byte AT of a string in quotes is written: a backslash before it belongs to it. */
static struct where in_string(const struct expr *string, size_t at) {
  struct where w = {string->at.source, string->at.offset + 1};
  for (size_t i = 0; i < at && w.offset < w.source->size; i++)
    w.offset += w.source->bytes[w.offset] == '\\' ? 2 : 1;
  return w;
}

static int compile(struct parser *p, struct expr *x, const struct expr *pattern) {
  const char *why = "";
  size_t at = 0;
  int r = x->match == WIRE_MATCH_REGEX ? regex_compile(p->l->arena, pattern->string, &x->table, &x->n_table, &why, &at)
                                       : glob_check(pattern->string, &why, &at);
  if (r == -ENOMEM) return source_no_memory(p->l->source, p->l->e);
  return r < 0 ? FAIL_AT(in_string(pattern, at), p->l->e, r, "%s", why) : 0;
}

int parse_match(struct parser *p, unsigned how, struct expr *left, struct expr *right, struct where at,
                struct expr **ret) {
  struct expr *x = NULL, *swap = left;
  bool same = (how & ~(unsigned)WIRE_MATCH_NOT) == WIRE_MATCH_SAME;
  if (same && left->kind == EXPR_STRING) {
    left = right;
    right = swap;
  }
  if (right->kind != EXPR_STRING)
    return FAIL_AT(right->at, p->l->e, -EINVAL, "a text is compared with a string in quotes (write %s)",
                   same ? "path == \"/etc/passwd\"" : "path ~ \"*.db\"");
  if (left->type == TYPE_KIND) return parse_kind(p, how, left, right, at, ret);
  if (left->type != TYPE_TEXT && left->type != TYPE_VALUE)
    return FAIL_AT(left->at, p->l->e, -EINVAL, "this is not a text (path, fd.path, arg(1) and others can be one)");
  int r = parse_make(p, EXPR_MATCH, TYPE_TRUTH, at, &x);
  if (r < 0) return r;
  x->match = how;
  if (!same) r = compile(p, x, right);
  if (r < 0) return r;
  x->n_args = 2;
  x->args[0] = left;
  x->args[1] = right;
  *ret = x;
  return 0;
}
