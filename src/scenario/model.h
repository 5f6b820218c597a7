/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the room: the model that XML and one-line rules become, and from which a plan is made.
 *
 * Everything lives in the scenario's arena. Every part knows where it was written, so that what is found out late, when
 * it meets the program, is still reported at the right column.
 */
#pragma once

#include "scenario/scenario.h"

struct where {
  const struct source_text *source;
  size_t offset;
};

/* Writes the message with its position and returns CODE. */
#define FAIL_AT(at, e, code, ...) source_error((at).source, (at).offset, e, code, __VA_ARGS__)

/* --- conditions --------------------------------------------------------------------------------------------------- */

enum expr_type {
  TYPE_NUMBER,
  TYPE_TRUTH,
  TYPE_STRING, /* a constant in quotes */
  TYPE_REAL,
  TYPE_TEXT,  /* what a string can be compared with */
  TYPE_KIND,  /* of a descriptor */
  TYPE_VALUE, /* what the program has there: a number, or a pointer to a string */
};

enum expr_kind {
  EXPR_NUMBER,  /* `number`; also a constant truth */
  EXPR_REAL,    /* `real`: probabilities */
  EXPR_STRING,  /* `string` */
  EXPR_CALL,    /* number of the call */
  EXPR_PROCESS, /* number of the process */
  EXPR_ORDERED, /* the area says that this is the call */
  EXPR_ONCE,    /* true once */
  EXPR_RANDOM,  /* args[0] is a real or a number: the probability */
  EXPR_CALLER,  /* args[0] is a string */
  EXPR_STACK,   /* args are strings, innermost first */
  EXPR_TRIGGER, /* `trigger`, an instance that XML declared */
  EXPR_UNARY,   /* `op` */
  EXPR_BINARY,  /* `op`, an arithmetic or comparing one */
  EXPR_AND,
  EXPR_OR,
  EXPR_NOT,    /* of a truth */
  EXPR_SIZE,   /* how many bytes the call is about */
  EXPR_ARG,    /* argument `number`, from 0 */
  EXPR_SYMBOL, /* `string`, a constant of data/constants or an errno */
  EXPR_FD,     /* the descriptor that the function works on, and what is known of it */
  EXPR_FD_KIND,
  EXPR_FD_BLOCKING,
  EXPR_FD_PATH,
  EXPR_FD_WRITTEN,
  EXPR_PATH,  /* the path argument, or the path of the descriptor */
  EXPR_FLAGS, /* arguments by what they are */
  EXPR_MODE,
  EXPR_THREAD,
  EXPR_THREAD_NAME,
  EXPR_PROGRAM, /* name of the process */
  EXPR_TIME,
  EXPR_LOCKS,
  EXPR_SINCE,   /* args[0] is a function: calls since then */
  EXPR_AFTER,   /* the same; args[1], if there is one, how many calls at most */
  EXPR_BETWEEN, /* args are two functions */
  EXPR_GLOBAL,  /* args[0]: a variable, with members */
  EXPR_LOCAL,   /* args[0]: a function, args[1]: a variable */
  EXPR_OUTER,   /* args[0]: a function; its argument `number`, from 0 */
  EXPR_NEAR,    /* args[0] is a function; args[1]: so many lines behind a call of it, at most */
  EXPR_INT,     /* the lower 32 bits of args[0], with their sign */
  EXPR_MATCH,   /* args[0] is matched with args[1], a string, as `match` says */
};

#define EXPR_ARGS 8

struct expr {
  enum expr_kind kind;
  enum expr_type type;
  enum wire_op op;
  struct where at;
  int64_t number;
  double real;
  const char *string;
  struct trigger *trigger;
  struct expr *args[EXPR_ARGS];
  size_t n_args;
  unsigned match;        /* of enum wire_match */
  const uint16_t *table; /* the automaton of a regular expression */
  size_t n_table;
  bool time; /* a number that was written with a unit of time */
};

/* --- triggers of XML ---------------------------------------------------------------------------------------------- */

struct trigger_class;

/* An argument of a trigger: <low>1024</low>, or <frame> with parts of its own. */
struct trigger_arg {
  const char *name, *value;
  struct where at, value_at; /* the bytes of the value are those there */
  const struct trigger_arg *parts;
  size_t n_parts;
};

struct trigger {
  const char *id;
  const struct trigger_class *class;
  struct where at;
  const struct trigger_arg *args;
  size_t n_args;
  unsigned references;    /* how many reftriggers name it */
  const void *settings;   /* what the class made of the arguments */
  const char *class_name; /* of a class that is not murphy's own */
};

/* --- rules -------------------------------------------------------------------------------------------------------- */

enum fault_form {
  FAULT_ERRNO,    /* `error`; the return value comes from the profile */
  FAULT_EXPLICIT, /* `retval`, and `error` if it is not 0 */
  FAULT_PROFILE,  /* one of the function's errors, drawn for each injection */
  FAULT_UNUSED,   /* nothing fails: the call only feeds triggers */
  FAULT_ACT,      /* nothing is made up: `act` is done to the call */
};

struct side_effect {
  enum wire_side_kind kind;
  struct where at;
  unsigned argument; /* from 0 */
  const char *module, *name;
  uint64_t offset;
  unsigned width;
  int64_t value;
};

struct fault {
  enum fault_form form;
  bool then; /* the real call is made first */
  struct where at;
  int64_t retval;
  int error;
  const struct side_effect *sides;
  size_t n_sides;
  enum wire_act act;  /* WIRE_ACT_EINTR is a FAULT_ERRNO */
  int64_t amount;     /* bytes, nanoseconds */
  struct expr *named; /* of FAULT_EXPLICIT: a constant in place of `retval`; or NULL */
  bool negated;       /* ... with a minus sign */
};

struct rule {
  const char *function;
  struct where at; /* of the function's name */
  struct fault fault;
  struct expr *when; /* NULL: always */
  const char *label; /* what the log says: the condition, or the ids of triggers */
  int n_args;        /* -1 if it was not said */
  bool ordered;      /* from XML: its condition is evaluated as it stands */
};

struct scenario {
  struct arena arena;
  VEC(struct rule) rules;
  VEC(struct trigger *) triggers;
  struct map ids;           /* hash of an id to the trigger's index; may have entries of triggers that were forgotten */
  VEC(const char *) names;  /* of scenario_functions */
  struct map named;         /* their hashes */
  VEC(const char *) opened; /* real paths of the files that are being read, outermost first */
  struct scenario_plugins plugins;
};

/* Copies the text of a source into the arena: positions point into it. */
const struct source_text *scenario_source(struct scenario *s, const char *name, const char *bytes, size_t size,
                                          bool one_line);
/* Adds the file at PATH, which AT asks for. */
int scenario_include(struct scenario *s, const char *path, struct where at, struct err *e) MUST_USE;
/* Adds what the XML of SOURCE says. */
int scenario_read_xml(struct scenario *s, const struct source_text *source, struct err *e) MUST_USE;
/* A clean expression in the arena; NULL if there is no memory. */
struct expr *expr_new(struct arena *a, enum expr_kind kind, enum expr_type type, struct where at);

/* --- lexer.c ------------------------------------------------------------------------------------------------------ */

enum token_kind {
  TOKEN_END,
  TOKEN_NAME,
  TOKEN_NUMBER,
  TOKEN_REAL,
  TOKEN_STRING,
  TOKEN_COLON,
  TOKEN_ASSIGN, /* = */
  TOKEN_COMMA,
  TOKEN_OPEN,
  TOKEN_CLOSE,
  TOKEN_NOT, /* ! */
  TOKEN_AND, /* && */
  TOKEN_OR,  /* || */
  TOKEN_TILDE,
  TOKEN_BINARY,  /* `op`: one of two operands, by its wire_op */
  TOKEN_MATCHES, /* =~ */
};

struct token {
  enum token_kind kind;
  enum wire_op op; /* of TOKEN_BINARY */
  size_t offset, size;
  const char *text; /* of a name or a string, without quotes and escapes; in the arena */
  int64_t number;
  double real;
  bool time; /* it was written with a unit of time */
};

struct lexer {
  struct arena *arena;
  const struct source_text *source;
  size_t at, end;
  struct token token; /* the one that is looked at */
  size_t behind;      /* offset behind the token before it */
  struct err *e;
};

/* Looks at the first token of the bytes from START to END of the source. */
int lexer_start(struct lexer *l, struct arena *a, const struct source_text *source, size_t start, size_t end,
                struct err *e) MUST_USE;
/* Goes on to the next token. */
int lexer_next(struct lexer *l) MUST_USE;
static inline struct where lexer_where(const struct lexer *l) { return (struct where){l->source, l->token.offset}; }
bool lexer_is(const struct lexer *l, const char *word);
/* 1, 0.25 or 1e-3. -EINVAL if it is none. */
int real_parse(const char *text, double *ret) MUST_USE;
/* "'call'", or what there is instead: "the end". For messages. */
const char *token_describe(const struct lexer *l, char buffer[80]);

/* --- words.c ------------------------------------------------------------------------------------------------------ */

struct parser {
  struct lexer *l;
  unsigned depth, nodes;
};

/* A clean node; refuses trees that are too large to be walked. */
int parse_make(struct parser *p, enum expr_kind kind, enum expr_type type, struct where at, struct expr **ret) MUST_USE;
/* May it be the name of a constant? EAI_AGAIN, but not Eai_Again or 3X. */
bool word_is_constant(const char *s);
/* A name, with its arguments. */
int parse_name(struct parser *p, struct expr **ret) MUST_USE;
int parse_or(struct parser *p, struct expr **ret) MUST_USE;
/* LEFT and RIGHT are matched: one of them is a string. HOW: of enum wire_match. */
int parse_match(struct parser *p, unsigned how, struct expr *left, struct expr *right, struct where at,
                struct expr **ret) MUST_USE;
/* A kind of descriptor as enum wire_fd; -ENOENT if it is none. HINT: what there is instead. */
int fd_kind_parse(const char *text, char hint[SOURCE_HINT]);

/* --- regex.c ------------------------------------------------------------------------------------------------------ */

/*
 * The automaton of an extended regular expression, as wire.h has it, in the arena. -EINVAL with *ret_why and *ret_at,
 * the byte of PATTERN that is wrong; -E2BIG the same.
 */
int regex_compile(struct arena *a, const char *pattern, const uint16_t **ret, size_t *ret_n, const char **ret_why,
                  size_t *ret_at) MUST_USE;

/* --- glob.c ------------------------------------------------------------------------------------------------------- */

extern const char no_such_class[];

/* 0, or -EINVAL with *ret_why and *ret_at, the byte of PATTERN that is wrong. */
int glob_check(const char *pattern, const char **ret_why, size_t *ret_at) MUST_USE;

/* --- grammar.c, fold.c, rule.c ------------------------------------------------------------------------------------ */

/* EXPR up to the end of the lexer's bytes. */
int expr_parse(struct lexer *l, struct expr **ret) MUST_USE;
/* Makes constants of what is constant. The tree is changed; its value, and the state that others can see, are not. */
struct expr *expr_fold(struct expr *x);
/*
 * The conjuncts of a rule in the order that is best: what has no state first, of that what is cheap first; once last.
 * NULL if there is no memory.
 */
struct expr *expr_order(struct arena *a, struct expr *x);
/* Does evaluating it neither change nor read state? */
bool expr_pure(const struct expr *x);
/* Does its value depend on the number of the call alone? */
bool expr_counts(const struct expr *x);

/* Numbers of calls, from the first to the last. */
struct range {
  uint64_t first, last;
};
/* Calls outside of this range cannot fulfil the condition, and evaluating it for them changes nothing. */
struct range expr_range(const struct expr *x);
/* Can it hold only once, and does nobody else see its state? */
bool expr_one_shot(const struct expr *x);

/* FUNCTION:FAULT [when EXPR] in the bytes from START to END of the source; the rule is added. */
int rule_parse(struct scenario *s, const struct source_text *source, size_t start, size_t end, struct err *e) MUST_USE;
/* A number, NULL, EOF, MAP_FAILED, an errno's name with or without a sign. -EINVAL if it is none. */
int retval_parse(const char *text, int64_t *ret) MUST_USE;
/*
 * The same for F, whose value stands at AT; other names of capitals are constants that are looked up later. -EINVAL if
 * it is none, or -ENOMEM.
 */
int fault_retval(struct arena *a, const char *text, struct where at, struct fault *f) MUST_USE;
/* An errno's name or number. -EINVAL if it is none. */
int parse_errno(const char *text, int *ret) MUST_USE;
/* A time with its unit, 10ms, in nanoseconds. -EINVAL if it is none, -ERANGE if it is too long. */
int time_parse(const char *text, int64_t *ret) MUST_USE;
/*
 * "short=10", "delay=10ms", "eintr", "kill", "throw": what is done to the call. NAME is what stands before the sign,
 * VALUE behind it, or NULL. -ENOENT if there is no such fault; other errors are reported at NAME_AT or VALUE_AT.
 */
int act_parse(const char *name, const char *value, struct where name_at, struct where value_at, struct fault *f,
              struct err *e) MUST_USE;

/* --- scenario_frames.c -------------------------------------------------------------------------------------------- */

/* "file.c:12", "module+0x1f", or "module-or-function". */
int frame_parse(struct arena *a, const char *text, struct scenario_frame *ret) MUST_USE;
