/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols of Rust in the newer of its two forms ("v0"), for people: _R and a path, in which each thing begins with a
 * letter that says what it is. What was said before is said again by its place in the symbol.
 *
 * A symbol may lie: the depth and the length of what is written are bounded, so that references to references end.
 */
#include "base/name.h"

#include <ctype.h>
#include <string.h>

#define DEPTH_MAX 64
#define LENGTH_MAX 2048

struct reader_of_path {
  const char *symbol; /* behind _R: places count from there */
  size_t n, at;
  unsigned depth;
  bool failed, silent; /* SILENT: it is read, but not written */
  struct text *to;
  size_t start; /* of what is written */
};

static void read_path(struct reader_of_path *r, bool in_value);
static void read_type(struct reader_of_path *r);
static void read_argument(struct reader_of_path *r);

static void write_bytes(struct reader_of_path *r, const char *p, size_t n) {
  if (r->to->n - r->start + n > LENGTH_MAX) r->failed = true;
  if (!r->failed && !r->silent) text_add_bytes(r->to, p, n);
}

static void write_text(struct reader_of_path *r, const char *s) { write_bytes(r, s, strlen(s)); }

static char look(const struct reader_of_path *r) { return r->at < r->n ? r->symbol[r->at] : 0; }

static bool take(struct reader_of_path *r, char c) {
  if (r->failed || look(r) != c || !c) return false;
  r->at++;
  return true;
}

static char next(struct reader_of_path *r) {
  char c = look(r);
  if (c && !r->failed)
    r->at++;
  else
    r->failed = true;
  return r->failed ? 0 : c;
}

/* A number to the base of 62, up to its underscore; the underscore alone is 0. */
static uint64_t read_number(struct reader_of_path *r) {
  uint64_t v = 0;
  if (take(r, '_')) return 0;
  for (;;) {
    char c = next(r);
    if (c == '_') return v + 1;
    unsigned digit = isdigit((unsigned char)c)   ? (unsigned)(c - '0')
                     : islower((unsigned char)c) ? (unsigned)(c - 'a') + 10
                                                 : (unsigned)(c - 'A') + 36;
    if (!isalnum((unsigned char)c) || v > (UINT64_MAX - digit - 1) / 62) r->failed = true;
    if (r->failed) return 0;
    v = v * 62 + digit;
  }
}

/* Tells things of one name apart; people need not see it. 0 if it is not there. */
static uint64_t read_disambiguator(struct reader_of_path *r) { return take(r, 's') ? read_number(r) + 1 : 0; }

static uint64_t read_length(struct reader_of_path *r) {
  uint64_t v = 0;
  if (!isdigit((unsigned char)look(r))) r->failed = true;
  if (take(r, '0')) return 0;
  while (!r->failed && isdigit((unsigned char)look(r)) && v < LENGTH_MAX)
    v = v * 10 + (uint64_t)(next(r) - '0');
  return v;
}

/* The bytes of a name; false in *ret_plain if they are Punycode. */
static const char *read_name(struct reader_of_path *r, size_t *ret_n, bool *ret_plain) {
  *ret_plain = !take(r, 'u');
  uint64_t n = read_length(r);
  (void)take(r, '_'); /* where the name itself begins with a digit or an underscore */
  if (r->failed || n > r->n - r->at) {
    r->failed = true;
    *ret_n = 0;
    return r->symbol;
  }
  r->at += n;
  *ret_n = n;
  return r->symbol + r->at - n;
}

static void write_name(struct reader_of_path *r, const char *p, size_t n, bool plain) {
  if (!plain) write_text(r, "punycode{");
  write_bytes(r, p, n);
  if (!plain) write_text(r, "}");
}

/* Reads with WHAT what stands at an earlier place. */
static void read_back(struct reader_of_path *r, void (*what)(struct reader_of_path *)) {
  size_t self = r->at - 1;
  uint64_t to = read_number(r);
  size_t back = r->at;
  if (to >= self) r->failed = true;
  if (r->failed || r->silent) return;
  r->at = to;
  what(r);
  r->at = back;
}

static void read_type_path(struct reader_of_path *r) { read_path(r, false); }
static void read_value_path(struct reader_of_path *r) { read_path(r, true); }

/* Where the code of an impl stands, which people do not care for. */
static void read_impl_place(struct reader_of_path *r) {
  bool silent = r->silent;
  r->silent = true;
  (void)read_disambiguator(r);
  read_path(r, false);
  r->silent = silent;
}

/* The things without a name of their own: closures, and what compilers make. */
static void write_special(struct reader_of_path *r, char kind, uint64_t number, const char *p, size_t n, bool plain) {
  write_text(r, kind == 'C' ? "::{closure" : kind == 'S' ? "::{shim" : "::{");
  if (kind != 'C' && kind != 'S') write_bytes(r, &kind, 1);
  if (n) write_text(r, ":");
  write_name(r, p, n, plain);
  if (!r->failed && !r->silent) text_addf(r->to, "#%llu}", (unsigned long long)number);
}

static void read_nested(struct reader_of_path *r, bool in_value) {
  char kind = next(r);
  size_t n;
  bool plain;
  read_path(r, in_value);
  uint64_t number = read_disambiguator(r);
  const char *p = read_name(r, &n, &plain);
  if (r->failed || !isalpha((unsigned char)kind)) {
    r->failed = true;
  } else if (isupper((unsigned char)kind)) {
    write_special(r, kind, number, p, n, plain);
  } else if (n) {
    write_text(r, "::");
    write_name(r, p, n, plain);
  }
}

static void read_lifetime(struct reader_of_path *r) {
  uint64_t number = read_number(r);
  write_text(r, number ? "'a" : "'_"); /* which of several is of no use to people */
}

/* --- constants ---------------------------------------------------------------------------------------------------- */

static void read_constant(struct reader_of_path *r) {
  if (take(r, 'B')) {
    read_back(r, read_constant);
    return;
  }
  if (take(r, 'p')) {
    write_text(r, "_");
    return;
  }
  char type = next(r);
  if (!type || !strchr("abcxsijhtyomnlj", type)) { /* of structures, which are rare */
    r->failed = true;
    return;
  }
  if (take(r, 'n')) write_text(r, "-");
  uint64_t v = 0;
  while (isxdigit((unsigned char)look(r)) && v <= UINT64_MAX >> 4) {
    char c = next(r);
    v = v * 16 + (uint64_t)(isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10);
  }
  if (!take(r, '_')) r->failed = true;
  if (r->failed || r->silent) return;
  if (type == 'b')
    text_add(r->to, v ? "true" : "false");
  else
    text_addf(r->to, "%llu", (unsigned long long)v);
}

/* --- types -------------------------------------------------------------------------------------------------------- */

static const char *basic_type(char c) {
  static const struct {
    char letter;
    const char *name;
  } types[] = {
      {'a', "i8"},    {'b', "bool"},  {'c', "char"}, {'d', "f64"}, {'e', "str"},  {'f', "f32"},  {'h', "u8"},
      {'i', "isize"}, {'j', "usize"}, {'l', "i32"},  {'m', "u32"}, {'n', "i128"}, {'o', "u128"}, {'p', "_"},
      {'s', "i16"},   {'t', "u16"},   {'u', "()"},   {'v', "..."}, {'x', "i64"},  {'y', "u64"},  {'z', "!"},
  };
  for (size_t i = 0; i < COUNT(types); i++)
    if (types[i].letter == c) return types[i].name;
  return NULL;
}

/* Things up to E, with commas between; how many. */
static unsigned read_list(struct reader_of_path *r, void (*what)(struct reader_of_path *)) {
  unsigned n = 0;
  while (!r->failed && !take(r, 'E')) {
    if (n++) write_text(r, ", ");
    what(r);
  }
  return n;
}

static void read_binder(struct reader_of_path *r) {
  if (take(r, 'G')) (void)read_number(r);
}

static void read_function_type(struct reader_of_path *r) {
  size_t n;
  bool plain;
  read_binder(r);
  if (take(r, 'U')) write_text(r, "unsafe ");
  if (take(r, 'K')) {
    write_text(r, "extern \"");
    if (take(r, 'C'))
      write_text(r, "C");
    else {
      const char *p = read_name(r, &n, &plain);
      write_name(r, p, n, plain);
    }
    write_text(r, "\" ");
  }
  write_text(r, "fn(");
  (void)read_list(r, read_type);
  write_text(r, ")");
  if (take(r, 'u')) return;
  write_text(r, " -> ");
  read_type(r);
}

/* A trait with its arguments, and what its own types are: Trait<Argument, Type = Other>. */
static void read_trait(struct reader_of_path *r) {
  bool open = take(r, 'I');
  read_path(r, false);
  if (open) write_text(r, "<");
  if (open) (void)read_list(r, read_argument);
  while (take(r, 'p')) {
    size_t n;
    bool plain;
    const char *p = read_name(r, &n, &plain);
    write_text(r, open ? ", " : "<");
    open = true;
    write_name(r, p, n, plain);
    write_text(r, " = ");
    read_type(r);
  }
  if (open) write_text(r, ">");
}

/* dyn Trait + Trait */
static void read_dynamic(struct reader_of_path *r) {
  write_text(r, "dyn ");
  read_binder(r);
  for (unsigned i = 0; !r->failed && !take(r, 'E'); i++) {
    if (i) write_text(r, " + ");
    read_trait(r);
  }
  if (take(r, 'L'))
    (void)read_number(r);
  else
    r->failed = true;
}

static void read_reference(struct reader_of_path *r, const char *sign) {
  write_text(r, sign);
  if (take(r, 'L')) (void)read_number(r);
  read_type(r);
}

static void read_array(struct reader_of_path *r, bool sized) {
  write_text(r, "[");
  read_type(r);
  if (sized) write_text(r, "; ");
  if (sized) read_constant(r);
  write_text(r, "]");
}

static void read_tuple(struct reader_of_path *r) {
  write_text(r, "(");
  if (read_list(r, read_type) == 1) write_text(r, ",");
  write_text(r, ")");
}

static void read_type_of(struct reader_of_path *r, char c) {
  const char *basic = basic_type(c);
  if (basic) {
    write_text(r, basic);
    return;
  }
  switch (c) {
  case 'A':
  case 'S':
    read_array(r, c == 'A');
    return;
  case 'T':
    read_tuple(r);
    return;
  case 'R':
  case 'Q':
    read_reference(r, c == 'R' ? "&" : "&mut ");
    return;
  case 'P':
  case 'O':
    read_reference(r, c == 'P' ? "*const " : "*mut ");
    return;
  case 'F':
    read_function_type(r);
    return;
  case 'D':
    read_dynamic(r);
    return;
  case 'B':
    read_back(r, read_type);
    return;
  default:
    r->at--;
    read_path(r, false);
  }
}

static void read_type(struct reader_of_path *r) {
  if (++r->depth > DEPTH_MAX) r->failed = true;
  char c = next(r);
  if (!r->failed) read_type_of(r, c);
  r->depth--;
}

/* --- paths -------------------------------------------------------------------------------------------------------- */

static void read_argument(struct reader_of_path *r) {
  if (take(r, 'L'))
    read_lifetime(r);
  else if (take(r, 'K'))
    read_constant(r);
  else
    read_type(r);
}

/* <Type>, or <Type as Trait>. */
static void read_impl(struct reader_of_path *r, char kind) {
  if (kind != 'Y') read_impl_place(r);
  write_text(r, "<");
  read_type(r);
  if (kind != 'M') write_text(r, " as ");
  if (kind != 'M') read_path(r, false);
  write_text(r, ">");
}

static void read_crate(struct reader_of_path *r) {
  size_t n;
  bool plain;
  (void)read_disambiguator(r);
  const char *p = read_name(r, &n, &plain);
  write_name(r, p, n, plain);
}

static void read_path_of(struct reader_of_path *r, char c, bool in_value) {
  switch (c) {
  case 'C':
    read_crate(r);
    return;
  case 'M':
  case 'X':
  case 'Y':
    read_impl(r, c);
    return;
  case 'N':
    read_nested(r, in_value);
    return;
  case 'I':
    read_path(r, in_value);
    write_text(r, in_value ? "::<" : "<");
    (void)read_list(r, read_argument);
    write_text(r, ">");
    return;
  case 'B':
    read_back(r, in_value ? read_value_path : read_type_path);
    return;
  default:
    r->failed = true;
  }
}

static void read_path(struct reader_of_path *r, bool in_value) {
  if (++r->depth > DEPTH_MAX) r->failed = true;
  char c = next(r);
  if (!r->failed) read_path_of(r, c, in_value);
  r->depth--;
}

bool name_rust_path(const char *symbol, struct text *to) {
  if (strncmp(symbol, "_R", 2) != 0) return false;
  struct reader_of_path r = {.symbol = symbol + 2, .n = strcspn(symbol + 2, ".$"), .to = to, .start = to->n};
  size_t before = to->n;
  read_path(&r, true);
  if (!r.failed && r.at < r.n) { /* the crate that needed it */
    r.silent = true;
    read_path(&r, false);
  }
  if (!r.failed && r.at == r.n && to->n > before) return true;
  to->n = before;
  if (to->at) to->at[before] = 0;
  return false;
}
