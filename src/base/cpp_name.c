/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols of C++ (Itanium ABI), for people: the name alone, without parameters, and with "<...>" for the arguments of
 * templates. So types are only skipped, nothing is expanded, and the work is linear in the length of the symbol,
 * whatever a file has there. What is not understood is no name.
 */
#include "base/name.h"

#include <ctype.h>
#include <string.h>

enum { LONGEST = 4096, DEEPEST = 64 };

struct parse {
  const char *p;
  struct text *to;
  unsigned quiet, depth; /* QUIET: what is read is not shown */
  const char *last;      /* the last part of the path, which constructors are called after */
  size_t last_n;
};

static const struct {
  char code[3];
  const char *text;
} operators[] = {
    {"nw", " new"}, {"na", " new[]"}, {"dl", " delete"}, {"da", " delete[]"}, {"aw", " co_await"}, {"ps", "+"},
    {"ng", "-"},    {"ad", "&"},      {"de", "*"},       {"co", "~"},         {"pl", "+"},         {"mi", "-"},
    {"ml", "*"},    {"dv", "/"},      {"rm", "%"},       {"an", "&"},         {"or", "|"},         {"eo", "^"},
    {"aS", "="},    {"pL", "+="},     {"mI", "-="},      {"mL", "*="},        {"dV", "/="},        {"rM", "%="},
    {"aN", "&="},   {"oR", "|="},     {"eO", "^="},      {"ls", "<<"},        {"rs", ">>"},        {"lS", "<<="},
    {"rS", ">>="},  {"eq", "=="},     {"ne", "!="},      {"lt", "<"},         {"gt", ">"},         {"le", "<="},
    {"ge", ">="},   {"ss", "<=>"},    {"nt", "!"},       {"aa", "&&"},        {"oo", "||"},        {"pp", "++"},
    {"mm", "--"},   {"cm", ","},      {"pm", "->*"},     {"pt", "->"},        {"cl", "()"},        {"ix", "[]"},
    {"qu", "?"},
};

static const struct {
  char code;
  const char *text, *last;
} standard[] = {
    {'t', "std", "std"},
    {'a', "std::allocator", "allocator"},
    {'b', "std::basic_string", "basic_string"},
    {'s', "std::string", "basic_string"},
    {'i', "std::istream", "basic_istream"},
    {'o', "std::ostream", "basic_ostream"},
    {'d', "std::iostream", "basic_iostream"},
};

static bool skip_type(struct parse *s);
static bool add_name(struct parse *s);
static bool skip_template(struct parse *s);

static bool at(const struct parse *s, const char *code) { return strncmp(s->p, code, strlen(code)) == 0; }

static bool take(struct parse *s, char c) {
  if (*s->p != c) return false;
  s->p++;
  return true;
}

static void show(struct parse *s, const char *text, size_t n) {
  if (!s->quiet) text_add_bytes(s->to, text, n);
}

static void show_text(struct parse *s, const char *text) { show(s, text, strlen(text)); }

static void show_template(struct parse *s) {
  if (!s->quiet && s->to->n && s->to->at[s->to->n - 1] == '<') text_add(s->to, " "); /* "operator<< <...>" */
  show_text(s, "<...>");
}

static bool deeper(struct parse *s) { return ++s->depth <= DEEPEST; }

/* Digits and large letters, then '_': the number of something that came before. */
static bool skip_sequence(struct parse *s) {
  while (isdigit((unsigned char)*s->p) || isupper((unsigned char)*s->p))
    s->p++;
  return take(s, '_');
}

static void skip_digits(struct parse *s) {
  (void)take(s, 'n');
  while (isdigit((unsigned char)*s->p))
    s->p++;
}

/* A length and so many letters. */
static bool take_source(struct parse *s, const char **ret, size_t *ret_n) {
  size_t n = 0;
  while (isdigit((unsigned char)*s->p) && n <= LONGEST)
    n = n * 10 + (size_t)(*s->p++ - '0');
  if (n == 0 || strnlen(s->p, n) < n) return false;
  *ret = s->p;
  *ret_n = n;
  s->p += n;
  return true;
}

static bool add_source(struct parse *s) {
  const char *name;
  size_t n;
  if (!take_source(s, &name, &n)) return false;
  if (n >= 11 && strncmp(name, "_GLOBAL__N_", 11) == 0)
    show_text(s, "(anonymous namespace)");
  else
    show(s, name, n);
  if (!s->quiet) {
    s->last = name;
    s->last_n = n;
  }
  return true;
}

/* --- what is skipped ---------------------------------------------------------------------------------------------- */

static bool skip_types(struct parse *s) {
  while (*s->p && *s->p != 'E')
    if (!skip_type(s)) return false;
  return take(s, 'E');
}

/* Behind "Lx": a value of a type, or a function or variable. */
static bool skip_literal(struct parse *s) {
  if (at(s, "_Z")) {
    s->p += 2;
    return add_name(s) && skip_types(s);
  }
  if (!skip_type(s)) return false;
  while (*s->p && *s->p != 'E')
    s->p++;
  return take(s, 'E');
}

static bool skip_argument(struct parse *s) {
  if (take(s, 'L')) return skip_literal(s);
  if (take(s, 'J')) {
    while (*s->p && *s->p != 'E')
      if (!skip_argument(s)) return false;
    return take(s, 'E');
  }
  return skip_type(s); /* an expression, 'X', is none: it is not understood */
}

/* Behind 'I', the arguments of a template. */
static bool skip_template(struct parse *s) {
  bool good = deeper(s);
  s->quiet++;
  while (good && *s->p && *s->p != 'E')
    good = skip_argument(s);
  s->quiet--;
  s->depth--;
  return good && take(s, 'E');
}

static bool skip_templates(struct parse *s) {
  while (take(s, 'I'))
    if (!skip_template(s)) return false;
  return true;
}

/* Behind 'D'. */
static bool skip_d_type(struct parse *s) {
  char c = *s->p;
  if (!c) return false;
  s->p++;
  if (c == 'p' || c == 'o') return skip_type(s); /* a pack; a function that does not throw */
  if (c == 'F') {                                /* _Float16 and others */
    skip_digits(s);
    return take(s, '_') || take(s, 'b') || take(s, 'x');
  }
  if (c == 'v') { /* a vector */
    skip_digits(s);
    return take(s, '_') && skip_type(s);
  }
  return strchr("defhisuacn", c);
}

/* Behind 'S'. */
static bool skip_known_type(struct parse *s) {
  if (take(s, 't')) {
    s->quiet++;
    bool good = isdigit((unsigned char)*s->p) && add_source(s);
    s->quiet--;
    return good && skip_templates(s);
  }
  if (*s->p && strchr("absiod", *s->p))
    s->p++;
  else if (!skip_sequence(s))
    return false;
  return skip_templates(s);
}

static bool skip_named_type(struct parse *s) {
  s->quiet++;
  bool good = add_name(s);
  s->quiet--;
  return good;
}

static bool skip_one_type(struct parse *s) {
  char c = *s->p;
  const char *name;
  size_t n;
  if (isdigit((unsigned char)c) || c == 'N' || c == 'Z') return skip_named_type(s);
  if (!c) return false;
  s->p++;
  if (strchr("vwbcahstijlmxynofdegz", c)) return true;
  switch (c) {
  case 'u':
    return take_source(s, &name, &n);
  case 'U':
    return take_source(s, &name, &n) && skip_templates(s) && skip_type(s);
  case 'D':
    return skip_d_type(s);
  case 'F':
    (void)take(s, 'Y');
    while (*s->p && *s->p != 'E' && !at(s, "RE") && !at(s, "OE"))
      if (!skip_type(s)) return false;
    if (take(s, 'E')) return true;
    if (!*s->p) return false;
    s->p += 2; /* RE or OE: of a member function for one kind of object */
    return true;
  case 'A':
    skip_digits(s);
    return take(s, '_') && skip_type(s);
  case 'M':
    return skip_type(s) && skip_type(s);
  case 'T':
    return skip_sequence(s) && skip_templates(s);
  case 'S':
    return skip_known_type(s);
  default:
    return false;
  }
}

static bool skip_type(struct parse *s) {
  bool good = deeper(s);
  while (*s->p && strchr("rVKPROCG", *s->p))
    s->p++;
  good = good && skip_one_type(s);
  s->depth--;
  return good;
}

/* --- what is shown ------------------------------------------------------------------------------------------------ */

static bool add_operator(struct parse *s) {
  if (at(s, "cv")) {
    s->p += 2;
    show_text(s, *s->p == 'b' ? "operator bool" : "operator <...>");
    return skip_type(s);
  }
  if (at(s, "li")) {
    s->p += 2;
    show_text(s, "operator\"\" ");
    return add_source(s);
  }
  for (size_t i = 0; i < COUNT(operators); i++) {
    if (!at(s, operators[i].code)) continue;
    bool makes = *s->p == 'n' && (s->p[1] == 'w' || s->p[1] == 'a');
    s->p += 2;
    show_text(s, "operator");
    show_text(s, operators[i].text);
    /* Its errors are others. */
    if (makes && strstr(s->p, "RKSt9nothrow_t")) show_text(s, " (nothrow)");
    return true;
  }
  return false;
}

/* Behind "Ul" or "Ut": which of its kind, from 1. */
static bool add_unnamed(struct parse *s, bool lambda) {
  if (lambda) {
    s->quiet++;
    bool good = skip_types(s);
    s->quiet--;
    if (!good) return false;
  }
  unsigned n = isdigit((unsigned char)*s->p) ? 2 : 1;
  if (n == 2) {
    unsigned given = 0;
    while (isdigit((unsigned char)*s->p) && given < 100000)
      given = given * 10 + (unsigned)(*s->p++ - '0');
    n += given;
  }
  if (!s->quiet) text_addf(s->to, lambda ? "{lambda#%u}" : "{unnamed#%u}", n);
  return take(s, '_');
}

static bool add_structor(struct parse *s, bool end) {
  bool inherited = !end && take(s, 'I');
  if (!*s->p || !strchr("0123459", *s->p)) return false;
  s->p++;
  if (end) show_text(s, "~");
  if (!s->quiet && !s->last) return false;
  if (!s->quiet) show(s, s->last, s->last_n);
  return !inherited || skip_type(s);
}

/* One part of a path, without the arguments of a template. */
static bool add_part(struct parse *s) {
  const char *tag;
  size_t n;
  (void)take(s, 'L');
  bool good = false;
  if (isdigit((unsigned char)*s->p))
    good = add_source(s);
  else if (at(s, "Ul") || at(s, "Ut")) {
    s->p += 2;
    good = add_unnamed(s, s->p[-1] == 'l');
  } else if (take(s, 'C'))
    good = add_structor(s, false);
  else if (*s->p == 'D' && isdigit((unsigned char)s->p[1])) {
    s->p++;
    good = add_structor(s, true);
  } else if (islower((unsigned char)*s->p))
    good = add_operator(s);
  while (good && take(s, 'B')) /* tags of the library's version */
    good = take_source(s, &tag, &n);
  return good;
}

/* Behind 'S', one of the standard's names. In a type, what came before may be meant too. */
static bool add_standard(struct parse *s) {
  for (size_t i = 0; i < COUNT(standard); i++) {
    if (*s->p != standard[i].code) continue;
    s->p++;
    show_text(s, standard[i].text);
    if (!s->quiet) {
      s->last = standard[i].last;
      s->last_n = strlen(s->last);
    }
    return true;
  }
  return s->quiet && skip_sequence(s);
}

/* Behind 'N'. */
static bool add_nested(struct parse *s) {
  bool first = true, good = true;
  while (*s->p && strchr("rVKRO", *s->p))
    s->p++;
  while (good && *s->p && *s->p != 'E') {
    if (!first && take(s, 'I')) {
      show_template(s);
      good = skip_template(s);
      continue;
    }
    if (!first && take(s, 'M')) continue; /* a lambda in what a member is set to */
    if (!first) show_text(s, "::");
    if (s->quiet && first && *s->p == 'T') {
      s->p++;
      good = skip_sequence(s);
    } else {
      good = first && take(s, 'S') ? add_standard(s) : add_part(s);
    }
    first = false;
  }
  return good && !first && take(s, 'E');
}

/* Behind what is local: which of those with the name. */
static bool skip_discriminator(struct parse *s) {
  if (*s->p != '_' || !(s->p[1] == '_' || isdigit((unsigned char)s->p[1]))) return true;
  s->p++;
  if (!take(s, '_')) {
    s->p++;
    return true;
  }
  skip_digits(s);
  return take(s, '_');
}

/* Behind 'Z': something in a function. */
static bool add_local(struct parse *s) {
  if (!add_name(s)) return false;
  s->quiet++;
  bool good = skip_types(s);
  s->quiet--;
  if (!good) return false;
  if (take(s, 's')) return skip_discriminator(s);
  if (take(s, 'd')) {
    skip_digits(s);
    if (!take(s, '_')) return false;
  }
  show_text(s, "::");
  return add_name(s) && skip_discriminator(s);
}

static bool add_plain(struct parse *s) {
  bool known = take(s, 'S');
  if (known && *s->p == 't') {
    s->p++;
    show_text(s, "std::");
    known = false;
  }
  if (!(known ? add_standard(s) : add_part(s))) return false;
  if (*s->p == 'I') show_template(s);
  return skip_templates(s);
}

static bool add_name(struct parse *s) {
  bool good = deeper(s);
  if (good) good = take(s, 'N') ? add_nested(s) : take(s, 'Z') ? add_local(s) : add_plain(s);
  s->depth--;
  return good;
}

/* "h8_", "v0_n24_": by how much a thunk moves the object; it is shown what it is. */
static bool skip_thunk(struct parse *s) {
  if (!at(s, "Th") && !at(s, "Tv")) return true;
  bool is_virtual = s->p[1] == 'v';
  s->p += 2;
  show_text(s, is_virtual ? "virtual thunk to " : "non-virtual thunk to ");
  skip_digits(s);
  if (!take(s, '_')) return false;
  if (is_virtual) skip_digits(s);
  return !is_virtual || take(s, '_');
}

bool name_cpp(const char *symbol, struct text *to) {
  struct text name = {0};
  struct parse s = {.p = symbol + 2, .to = &name};
  if (strncmp(symbol, "_Z", 2) != 0 || strnlen(symbol, LONGEST) == LONGEST) return false;
  bool good = skip_thunk(&s) && add_name(&s) && name.at;
  to->failed |= name.failed;
  if (good) text_add(to, name.at);
  /* What compilers split off, "f.cold", "f.part.0". */
  const char *suffix = strchr(s.p, '.');
  if (good && suffix && isalpha((unsigned char)suffix[1])) text_add(to, suffix);
  text_done(&name);
  return good;
}

bool name_readable(const char *symbol, struct text *to) {
  bool known = symbol[0] == '_' && (name_rust(symbol, to) || name_cpp(symbol, to));
  if (!known) text_add(to, symbol);
  return known;
}
