/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of one-line rules. One token is looked at; each knows where it stands.
 */
#include "scenario/model.h"

#include <errno.h>
#include <string.h>

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
/* Names of functions may be mangled or have dots. */
static bool is_name(char c, bool first) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         (!first && (is_digit(c) || c == '.'));
}

static const struct {
  char text[3];
  enum token_kind kind;
  enum wire_op op;
} signs[] = {
    /* The longer ones first. */
    {"&&", TOKEN_AND, 0},
    {"||", TOKEN_OR, 0},
    {"=~", TOKEN_MATCHES, 0},
    {"==", TOKEN_BINARY, WIRE_OP_EQ},
    {"!=", TOKEN_BINARY, WIRE_OP_NE},
    {"<=", TOKEN_BINARY, WIRE_OP_LE},
    {">=", TOKEN_BINARY, WIRE_OP_GE},
    {"<<", TOKEN_BINARY, WIRE_OP_SHL},
    {">>", TOKEN_BINARY, WIRE_OP_SHR},
    {"<", TOKEN_BINARY, WIRE_OP_LT},
    {">", TOKEN_BINARY, WIRE_OP_GT},
    {"+", TOKEN_BINARY, WIRE_OP_ADD},
    {"-", TOKEN_BINARY, WIRE_OP_SUB},
    {"*", TOKEN_BINARY, WIRE_OP_MUL},
    {"/", TOKEN_BINARY, WIRE_OP_DIV},
    {"%", TOKEN_BINARY, WIRE_OP_MOD},
    {"&", TOKEN_BINARY, WIRE_OP_AND},
    {"|", TOKEN_BINARY, WIRE_OP_OR},
    {"^", TOKEN_BINARY, WIRE_OP_XOR},
    {"~", TOKEN_TILDE, 0},
    {"!", TOKEN_NOT, 0},
    {"=", TOKEN_ASSIGN, 0},
    {":", TOKEN_COLON, 0},
    {",", TOKEN_COMMA, 0},
    {"(", TOKEN_OPEN, 0},
    {")", TOKEN_CLOSE, 0},
};

static char *copy(const struct lexer *l, size_t from, size_t n) {
  char *text = arena_alloc(l->arena, n + 1);
  if (!text) return NULL;
  memcpy(text, l->source->bytes + from, n);
  text[n] = '\0';
  return text;
}

static int fail(struct lexer *l, size_t offset, const char *what, const char *way) {
  return source_error(l->source, offset, l->e, -EINVAL, "%s (%s)", what, way);
}

static int read_name(struct lexer *l) {
  const char *bytes = l->source->bytes;
  size_t at = l->at;
  while (at < l->end && is_name(bytes[at], at == l->at))
    at++;
  l->token.kind = TOKEN_NAME;
  l->token.text = copy(l, l->at, at - l->at);
  l->at = at;
  return l->token.text ? 0 : source_no_memory(l->source, l->e);
}

/* Without the locale's ideas of a decimal point. */
int real_parse(const char *text, double *ret) {
  double value = 0, scale = 1;
  int exponent = 0, digits = 0;
  bool point = false;
  for (; is_digit(*text) || (*text == '.' && !point); text++) {
    point |= *text == '.';
    if (*text == '.') continue;
    value = value * 10 + (*text - '0');
    if (point) scale *= 10;
    digits++;
  }
  if (!digits) return -EINVAL;
  if (*text == 'e' || *text == 'E') {
    bool minus = *++text == '-';
    text += minus || *text == '+';
    if (!is_digit(*text)) return -EINVAL;
    for (; is_digit(*text); text++)
      exponent = exponent < 1000 ? exponent * 10 + (*text - '0') : exponent;
    for (; exponent > 0; exponent--)
      scale = minus ? scale * 10 : scale / 10;
  }
  if (*text) return -EINVAL;
  *ret = value / scale;
  return 0;
}

static int read_number(struct lexer *l) {
  const char *bytes = l->source->bytes;
  size_t at = l->at;
  bool hex = at + 1 < l->end && bytes[at] == '0' && (bytes[at + 1] == 'x' || bytes[at + 1] == 'X'), real = false;
  while (at < l->end && (is_name(bytes[at], false) || (!hex && real && (bytes[at] == '-' || bytes[at] == '+') &&
                                                       (bytes[at - 1] == 'e' || bytes[at - 1] == 'E')))) {
    real |= !hex && (bytes[at] == '.' || bytes[at] == 'e' || bytes[at] == 'E');
    at++;
  }
  const char *text = copy(l, l->at, at - l->at);
  if (!text) return source_no_memory(l->source, l->e);
  l->token.kind = real ? TOKEN_REAL : TOKEN_NUMBER;
  l->token.time = false;
  int r = real ? real_parse(text, &l->token.real) : number_parse(text, &l->token.number);
  if (r < 0 && time_parse(text, &l->token.number) == 0) {
    l->token.kind = TOKEN_NUMBER; /* nanoseconds */
    l->token.time = true;
    r = 0;
  }
  if (r == -ERANGE) return fail(l, l->at, "this number does not fit into 64 bits", "write a smaller one");
  if (r < 0) return fail(l, l->at, "this is not a number", "write it as 10, 0x1f, 0.5 or 10ms");
  l->at = at;
  return 0;
}

static bool is_letter(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/*
 * A backslash keeps the next character from ending the string. Before a letter it would be meant for something else: a
 * class of a regular expression, a control character.
 */
static int read_string(struct lexer *l) {
  const char *bytes = l->source->bytes;
  char quote = bytes[l->at];
  char *text = arena_alloc(l->arena, l->end - l->at);
  size_t n = 0, at = l->at + 1;
  if (!text) return source_no_memory(l->source, l->e);
  for (; at < l->end && bytes[at] != quote; at++) {
    bool escape = bytes[at] == '\\' && at + 1 < l->end;
    if (escape && is_letter(bytes[at + 1]))
      return source_error(l->source, at, l->e, -EINVAL,
                          "\\%c means nothing in a string (write a set as [a-z], or \\\\ for the backslash)",
                          bytes[at + 1]);
    at += escape;
    text[n++] = bytes[at];
  }
  if (at >= l->end)
    return fail(l, l->at, "this string has no end", quote == '"' ? "write \" behind it" : "write ' behind it");
  text[n] = '\0';
  l->token.kind = TOKEN_STRING;
  l->token.text = text;
  l->at = at + 1;
  return 0;
}

static int read_sign(struct lexer *l) {
  const char *at = l->source->bytes + l->at;
  for (size_t i = 0; i < COUNT(signs); i++) {
    size_t n = strlen(signs[i].text);
    if (l->end - l->at < n || memcmp(at, signs[i].text, n) != 0) continue;
    l->token.kind = signs[i].kind;
    l->token.op = signs[i].op;
    l->at += n;
    return 0;
  }
  size_t n = 1;
  while (n < l->end - l->at && ((unsigned char)at[n] & 0xc0) == 0x80)
    n++;
  return source_error(l->source, l->at, l->e, -EINVAL, "'%.*s' means nothing here (remove it)", (int)n, at);
}

int lexer_next(struct lexer *l) {
  l->behind = l->at;
  while (l->at < l->end && is_space(l->source->bytes[l->at]))
    l->at++;
  l->token = (struct token){.offset = l->at};
  int r = 0;
  if (l->at < l->end) {
    char c = l->source->bytes[l->at];
    bool point = c == '.' && l->at + 1 < l->end && is_digit(l->source->bytes[l->at + 1]);
    r = is_name(c, true)        ? read_name(l)
        : is_digit(c) || point  ? read_number(l)
        : c == '"' || c == '\'' ? read_string(l)
                                : read_sign(l);
  }
  l->token.size = l->at - l->token.offset;
  return r;
}

int lexer_start(struct lexer *l, struct arena *a, const struct source_text *source, size_t start, size_t end,
                struct err *e) {
  *l = (struct lexer){.arena = a, .source = source, .at = start, .end = end, .e = e};
  return lexer_next(l);
}

bool lexer_is(const struct lexer *l, const char *word) {
  return l->token.kind == TOKEN_NAME && strcmp(l->token.text, word) == 0;
}

const char *token_describe(const struct lexer *l, char buffer[80]) {
  const struct token *t = &l->token;
  size_t n = t->size < 60 ? t->size : 60;
  while (n < t->size && n > 0 && ((unsigned char)l->source->bytes[t->offset + n] & 0xc0) == 0x80)
    n--;
  if (t->kind == TOKEN_END)
    (void)snprintf(buffer, 80, "the end");
  else
    (void)snprintf(buffer, 80, "'%.*s'", (int)n, l->source->bytes + t->offset);
  return buffer;
}
