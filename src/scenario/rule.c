/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-line rules:  FUNCTION ":" FAULT [ "when" EXPR ]
 *
 *   FAULT = [ "then" ] ( ERRNO | "ret" "=" VALUE [ "errno" "=" ERRNO ] | "profile" ) | ACT
 *   ACT   = "short" "=" BYTES [ "errno" "=" ERRNO ] | "delay" "=" TIME | "eintr" | "kill" | "throw"
 *   VALUE = a number, NULL, EOF, MAP_FAILED, or an errno's name, with a sign or without
 */
#include "scenario/model.h"

#include <errno.h>
#include <string.h>

int parse_errno(const char *text, int *ret) {
  int64_t number = errno_number(text);
  if (!number && (number_parse(text, &number) < 0 || number < 0 || number > ERRNO_MAX || !errno_name((int)number)))
    return -EINVAL;
  *ret = (int)number;
  return 0;
}

int retval_parse(const char *text, int64_t *ret) {
  bool minus = text[0] == '-';
  if (number_parse(text, ret) == 0) return 0;
  int error = errno_number(text + minus);
  if (error)
    *ret = minus ? -error : error;
  else if (strcmp(text, "NULL") == 0)
    *ret = 0;
  else if (strcmp(text, "EOF") == 0 || strcmp(text, "MAP_FAILED") == 0)
    *ret = -1;
  else
    return -EINVAL;
  return 0;
}

int fault_retval(struct arena *a, const char *text, struct where at, struct fault *f) {
  if (retval_parse(text, &f->retval) == 0) return 0;
  f->negated = text[0] == '-';
  if (!word_is_constant(text + f->negated)) return -EINVAL;
  f->named = expr_new(a, EXPR_SYMBOL, TYPE_NUMBER, at);
  if (!f->named) return -ENOMEM;
  f->named->string = arena_strdup(a, text + f->negated);
  return f->named->string ? 0 : -ENOMEM;
}

/* The text of a value: its sign and the token behind it. */
static int read_value(struct lexer *l, char ret[80], struct where *ret_at) {
  char found[80];
  *ret_at = lexer_where(l);
  bool minus = l->token.kind == TOKEN_BINARY && l->token.op == WIRE_OP_SUB;
  int r = minus ? lexer_next(l) : 0;
  if (r < 0) return r;
  if ((l->token.kind != TOKEN_NAME && l->token.kind != TOKEN_NUMBER) || l->token.size > 70)
    return FAIL_AT(*ret_at, l->e, -EINVAL, "a value was expected, not %s (write ret=-1 or errno=EIO)",
                   token_describe(l, found));
  (void)snprintf(ret, 80, "%s%.*s", minus ? "-" : "", (int)l->token.size, l->source->bytes + l->token.offset);
  return lexer_next(l);
}

static int bad_errno(const struct lexer *l, struct where at, const char *text) {
  char way[SOURCE_HINT];
  char value[SOURCE_HINT];
  (void)snprintf(value, sizeof value, "write ret=%.40s if that is what is returned", text);
  return FAIL_AT(
      at, l->e, -EINVAL, "'%.60s' is not an errno of Linux (%s)", text,
      source_hint(errno_nearest(text), word_is_constant(text) ? value : "write EIO, or ret=-1 errno=EIO", way));
}

/* KEY "=" VALUE, with the lexer at KEY. */
static int read_setting(struct lexer *l, const char *key, char ret[80], struct where *ret_at) {
  char found[80];
  int r = lexer_next(l);
  if (r >= 0 && l->token.kind != TOKEN_ASSIGN)
    return FAIL_AT(lexer_where(l), l->e, -EINVAL, "'=' was expected behind %s, not %s (write %s=…)", key,
                   token_describe(l, found), key);
  if (r >= 0) r = lexer_next(l);
  return r < 0 ? r : read_value(l, ret, ret_at);
}

static int read_explicit(struct lexer *l, struct fault *f) {
  char text[80];
  struct where at;
  bool has_ret = false;
  f->form = FAULT_EXPLICIT;
  while (lexer_is(l, "ret") || lexer_is(l, "retval") || lexer_is(l, "errno")) {
    bool error = lexer_is(l, "errno");
    if (error ? f->error != 0 : has_ret)
      return FAIL_AT(lexer_where(l), l->e, -EINVAL, "%s is there twice (remove one)", error ? "errno" : "ret");
    int r = read_setting(l, error ? "errno" : "ret", text, &at);
    if (r < 0) return r;
    if (error && parse_errno(text, &f->error) < 0) return bad_errno(l, at, text);
    r = error ? 0 : fault_retval(l->arena, text, at, f);
    if (r == -ENOMEM) return source_no_memory(l->source, l->e);
    if (r < 0)
      return FAIL_AT(at, l->e, r, "'%.60s' is not a return value (write -1, 0x1f, NULL, EOF, MAP_FAILED or -EIO)",
                     text);
    has_ret |= !error;
    if (l->token.kind == TOKEN_COMMA) r = lexer_next(l);
    if (r < 0) return r;
  }
  if (!has_ret) {
    f->form = FAULT_ERRNO; /* errno=EIO alone is EIO */
    if (!f->error) return FAIL_AT(f->at, l->e, -EINVAL, "errno=0 is no fault (write ret=… to set the return value)");
  }
  return 0;
}

static int read_errno(struct lexer *l, struct fault *f) {
  char text[80];
  struct where at;
  f->form = FAULT_ERRNO;
  int r = read_value(l, text, &at);
  if (r < 0) return r;
  if (parse_errno(text, &f->error) < 0 || f->error == 0) return bad_errno(l, at, text);
  return 0;
}

/* 1 if the lexer is at one. */
static int read_act(struct lexer *l, struct fault *f) {
  char name[80], value[80];
  struct where name_at = lexer_where(l), value_at = name_at;
  bool amount = lexer_is(l, "short") || lexer_is(l, "delay");
  if (!amount && !lexer_is(l, "eintr") && !lexer_is(l, "kill") && !lexer_is(l, "throw")) return 0;
  if (f->then)
    return FAIL_AT(name_at, l->e, -EINVAL, "%s says itself whether the call is made (remove then)", l->token.text);
  (void)snprintf(name, sizeof name, "%s", l->token.text);
  int r = amount ? read_setting(l, name, value, &value_at) : lexer_next(l);
  if (r >= 0) r = act_parse(name, amount ? value : NULL, name_at, value_at, f, l->e);
  if (r >= 0 && f->act == WIRE_ACT_SHORT && lexer_is(l, "errno")) {
    r = read_setting(l, "errno", value, &value_at);
    if (r >= 0 && (parse_errno(value, &f->error) < 0 || !f->error)) r = bad_errno(l, value_at, value);
  }
  return r < 0 ? r : 1;
}

static int read_fault(struct lexer *l, struct fault *f) {
  char found[80];
  int r = 0;
  f->at = lexer_where(l);
  if (lexer_is(l, "then")) {
    f->then = true;
    r = lexer_next(l);
    f->at = lexer_where(l);
  }
  if (r < 0) return r;
  if ((r = read_act(l, f)) != 0) return r < 0 ? r : 0;
  if (lexer_is(l, "ret") || lexer_is(l, "retval") || lexer_is(l, "errno")) return read_explicit(l, f);
  if (lexer_is(l, "profile")) {
    f->form = FAULT_PROFILE;
    return lexer_next(l);
  }
  if (l->token.kind != TOKEN_NAME && l->token.kind != TOKEN_NUMBER)
    return FAIL_AT(f->at, l->e, -EINVAL, "a fault was expected, not %s (write EIO, ret=-1 errno=EIO, or then EIO)",
                   token_describe(l, found));
  return read_errno(l, f);
}

/* What stands between START and END, with no space around it. */
static const char *slice(struct arena *a, const struct source_text *s, size_t start, size_t end) {
  while (start < end && strchr(" \t\r\n", s->bytes[start]))
    start++;
  while (end > start && strchr(" \t\r\n", s->bytes[end - 1]))
    end--;
  char *text = arena_alloc(a, end - start + 1);
  if (!text) return NULL;
  memcpy(text, s->bytes + start, end - start);
  text[end - start] = '\0';
  return text;
}

static int read_condition(struct scenario *s, struct lexer *l, size_t end, struct rule *rule) {
  char found[80];
  if (l->token.kind == TOKEN_END) return 0;
  if (!lexer_is(l, "when")) {
    static const char *const words[] = {"when"};
    const char *near = l->token.kind == TOKEN_NAME ? name_nearest(l->token.text, words, COUNT(words)) : NULL;
    char way[SOURCE_HINT];
    return FAIL_AT(lexer_where(l), l->e, -EINVAL, "%s does not belong here (%s)", token_describe(l, found),
                   source_hint(near, "write when, and a condition behind it", way));
  }
  int r = lexer_next(l);
  rule->label = slice(&s->arena, l->source, l->token.offset, end);
  if (!rule->label) return source_no_memory(l->source, l->e);
  struct expr *x = NULL;
  if (r >= 0) r = expr_parse(l, &x);
  if (r < 0) return r;
  rule->when = expr_order(&s->arena, expr_fold(x));
  return rule->when ? 0 : source_no_memory(l->source, l->e);
}

int rule_parse(struct scenario *s, const struct source_text *source, size_t start, size_t end, struct err *e) {
  struct lexer l;
  char found[80];
  struct rule rule = {.label = "", .n_args = -1};
  int r = lexer_start(&l, &s->arena, source, start, end, e);
  if (r < 0) return r;
  if (l.token.kind != TOKEN_NAME)
    return FAIL_AT(lexer_where(&l), e, -EINVAL, "a function was expected, not %s (write FUNCTION:FAULT when CONDITION)",
                   token_describe(&l, found));
  rule.function = l.token.text;
  rule.at = lexer_where(&l);
  r = lexer_next(&l);
  if (r >= 0 && l.token.kind != TOKEN_COLON && strcmp(rule.function, "operator") == 0)
    return FAIL_AT(rule.at, e, -EINVAL,
                   "functions of C++ have their mangled names here (write _Znwm for operator new, _Znam for new[])");
  if (r >= 0 && l.token.kind != TOKEN_COLON)
    return FAIL_AT(lexer_where(&l), e, -EINVAL, "':' was expected behind %.60s, not %s (write %.60s:EIO)",
                   rule.function, token_describe(&l, found), rule.function);
  if (r >= 0) r = lexer_next(&l);
  if (r >= 0) r = read_fault(&l, &rule.fault);
  if (r >= 0) r = read_condition(s, &l, end, &rule);
  if (r < 0) return r;
  return vec_push(&s->rules, rule) < 0 ? source_no_memory(source, e) : 0;
}
