/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile for people: a table of function, return value and errno, as wide as the terminal.
 *
 *   close      -1   EINTR EIO EBADF ENOSPC EDQUOT
 *   fopen      NULL EINTR ENOMEM ...
 *
 * What is sure is plain; what is not has a mark, and the marks that were used are explained at the end.
 */
#include "profile/format.h"

#include <errno.h>
#include <string.h>

enum {
  INDENT = 2,
  NARROW = 80,
  LEAST_WIDTH = 60,
};

static const char RESET[] = "\033[0m", BOLD[] = "\033[1m", DIM[] = "\033[2m";

/* Where words go: each behind a space, or on the next line below the first. */
struct page {
  struct text *to;
  bool color;
  size_t width;
  size_t indent;            /* of the lines that follow */
  size_t column;            /* of the next word */
  size_t values, list;      /* columns of the table */
  bool errno_home;          /* this library has errno */
  bool likely, more, style; /* marks that were used */
};

/* Names come from files, and must not reach the terminal as commands. Characters count, not bytes. */
static void put(struct page *p, const char *style, const char *s) {
  bool color = p->color && style;
  text_add(p->to, color ? style : "");
  size_t from = p->to->n;
  text_add(p->to, s);
  for (size_t i = from; i < p->to->n; i++) {
    unsigned char c = (unsigned char)p->to->at[i];
    if (c < 0x20 || c == 0x7f) p->to->at[i] = '?';
    p->column += (c & 0xc0) != 0x80;
  }
  text_add(p->to, color ? RESET : "");
}

static void go_to(struct page *p, size_t column) {
  if (p->column < column) text_addf(p->to, "%*s", (int)(column - p->column), "");
  p->column = p->column < column ? column : p->column;
}

static void new_line(struct page *p) {
  text_add(p->to, "\n");
  p->column = 0;
}

/* Starts the next line if S does not fit on this one, unless this one is empty so far. */
static void word(struct page *p, const char *style, const char *s) {
  if (p->column > p->indent && p->column + 1 + strlen(s) > p->width) new_line(p);
  go_to(p, p->column > p->indent ? p->column + 1 : p->indent);
  put(p, style, s);
}

/* The words of S, one by one. */
static void sentence(struct page *p, const char *style, const char *s) {
  while (*s) {
    size_t n = strcspn(s, " ");
    char one[128];
    (void)snprintf(one, sizeof one, "%.*s", (int)(n < sizeof one ? n : sizeof one - 1), s);
    word(p, style, one);
    s += n + (s[n] == ' ');
  }
}

/* --- values ------------------------------------------------------------------------------------------------------- */

typedef char value_text[32];

static const char *value_of(const struct profile_error *e, value_text ret) {
  if (e->retval == 0 && e->wide)
    (void)snprintf(ret, sizeof(value_text), "NULL");
  else
    (void)snprintf(ret, sizeof(value_text), "%lld", (long long)e->retval);
  if (e->confidence == PROFILE_LIKELY) (void)strcat(ret, "?");
  return ret;
}

/* Nothing but the value is known of it; errno may be set, to what is not known. */
static bool bare(const struct profile_error *e) { return errno_set_empty(&e->errnos) && e->n_sides == 0; }

/*
 * Returns the error's number itself, as the functions of POSIX threads do. Elsewhere than in the library that has
 * errno, the same numbers are as often codes of the library's own. ENOMEM alone proves nothing: it is also regcomp's
 * REG_ESPACE.
 */
static bool returns_errno(const struct page *p, const struct profile_function *f) {
  bool usual = false;
  for (size_t i = 0; i < f->n_errors; i++) {
    const struct profile_error *e = &f->errors[i];
    if (e->wide || e->n_sides || e->retval < 1 || e->retval > ERRNO_MAX || !errno_name((int)e->retval)) return false;
    usual |= e->retval == EINVAL || e->retval == EAGAIN || e->retval == EBUSY;
  }
  return usual && p->errno_home;
}

/* --- a function --------------------------------------------------------------------------------------------------- */

static void write_errno_style(struct page *p, const struct profile_function *f) {
  go_to(p, p->values);
  put(p, NULL, "=");
  p->indent = p->list;
  p->style = true;
  for (size_t i = 0; i < f->n_errors; i++) {
    const struct profile_error *e = &f->errors[i];
    value_text name;
    (void)snprintf(name, sizeof name, "%s%s", errno_name((int)e->retval), e->confidence == PROFILE_LIKELY ? "?" : "");
    word(p, NULL, name);
    p->likely |= e->confidence == PROFILE_LIKELY;
  }
  new_line(p);
}

/* The bare values from the I-th on, on lines of their own. Returns the first that is not one. */
static size_t write_bare(struct page *p, const struct profile_function *f, size_t i) {
  bool more = f->errors[i].errno_unknown;
  p->indent = p->values;
  for (; i < f->n_errors && bare(&f->errors[i]) && f->errors[i].errno_unknown == more; i++) {
    value_text value;
    word(p, NULL, value_of(&f->errors[i], value));
    p->likely |= f->errors[i].confidence == PROFILE_LIKELY;
  }
  if (more) word(p, DIM, "...");
  p->more |= more;
  new_line(p);
  return i;
}

static void write_side(struct page *p, const struct profile_side *side) {
  struct text where = {0};
  profile_side_where(side, &where);
  p->to->failed |= where.failed;
  p->indent = p->list;
  go_to(p, p->list);
  put(p, DIM, "sets");
  p->indent = p->list + INDENT;
  sentence(p, NULL, where.at ? where.at : "");
  sentence(p, DIM, "to");
  text_done(&where);
  for (size_t i = 0; i < side->n_values; i++) {
    value_text value;
    (void)snprintf(value, sizeof value, "%lld", (long long)side->values[i]);
    word(p, NULL, value);
  }
  new_line(p);
}

static void write_error(struct page *p, const struct profile_error *e) {
  value_text value;
  go_to(p, p->values);
  put(p, NULL, value_of(e, value));
  p->likely |= e->confidence == PROFILE_LIKELY;
  p->indent = p->list;
  if (p->column >= p->list) p->indent = p->column + 1;
  for (int i = 1; i <= ERRNO_MAX; i++) {
    if (!errno_set_has(&e->errnos, i)) continue;
    value_text number;
    (void)snprintf(number, sizeof number, "%d", i);
    word(p, NULL, errno_name(i) ? errno_name(i) : number);
    p->indent = p->list;
  }
  if (e->errno_unknown) {
    word(p, DIM, "...");
    p->more = true;
  }
  bool alone = errno_set_empty(&e->errnos) && !e->errno_unknown && p->column < p->list;
  if (!alone) new_line(p);
  for (size_t i = 0; i < e->n_sides; i++)
    write_side(p, &e->sides[i]);
}

/* Function names that are there in several versions are told apart. */
static bool several_versions(const struct profile_library *l, size_t i) {
  const char *name = l->functions[i].name;
  return (i > 0 && strcmp(l->functions[i - 1].name, name) == 0) ||
         (i + 1 < l->n_functions && strcmp(l->functions[i + 1].name, name) == 0);
}

static void write_name(struct page *p, const struct profile_library *l, size_t i) {
  const struct profile_function *f = &l->functions[i];
  go_to(p, INDENT);
  put(p, NULL, f->name);
  if (f->version && several_versions(l, i)) {
    put(p, DIM, "@");
    put(p, DIM, f->version);
  }
  if (p->column >= p->values) new_line(p);
}

/* "indirect call, memory" */
static void add_reasons(struct text *to, unsigned unknown) {
  const char *before = "";
  for (size_t i = 0; i < profile_n_reasons; i++)
    if (unknown & profile_reasons[i].bit) {
      text_addf(to, "%s%s", before, profile_reasons[i].word);
      before = ", ";
    }
}

static void write_unknown(struct page *p, const struct profile_function *f) {
  struct text reasons = {0};
  add_reasons(&reasons, f->unknown);
  p->to->failed |= reasons.failed;
  p->indent = p->values;
  sentence(p, DIM, f->n_errors ? "and more:" : "not known:");
  sentence(p, DIM, reasons.at ? reasons.at : "");
  text_done(&reasons);
  new_line(p);
}

static void write_function(struct page *p, const struct profile_library *l, size_t index, bool all) {
  const struct profile_function *f = &l->functions[index];
  write_name(p, l, index);
  if (f->n_errors && returns_errno(p, f)) {
    write_errno_style(p, f);
  } else {
    for (size_t i = 0; i < f->n_errors;) {
      if (bare(&f->errors[i]))
        i = write_bare(p, f, i);
      else
        write_error(p, &f->errors[i++]);
    }
  }
  if (all && f->unknown)
    write_unknown(p, f);
  else if (f->n_errors == 0) {
    go_to(p, p->values);
    put(p, DIM, "no errors");
    new_line(p);
  }
}

/* --- a library ---------------------------------------------------------------------------------------------------- */

struct counts {
  size_t failing, unknown;
};

static struct counts count(const struct profile_library *l) {
  struct counts c = {0};
  for (size_t i = 0; i < l->n_functions; i++) {
    c.failing += l->functions[i].n_errors > 0;
    c.unknown += l->functions[i].unknown != 0;
  }
  return c;
}

/* The columns of the table: wide enough for most, because few long names must not cost all others their space. */
static void set_columns(struct page *p, const struct profile_library *l, bool all) {
  size_t name_limit = p->width >= 120 ? 32 : p->width / 4 + 4, value_limit = 8, longest = 4, widest = 1;
  for (size_t i = 0; i < l->n_functions; i++) {
    const struct profile_function *f = &l->functions[i];
    size_t length = strlen(f->name);
    if (length > longest && length <= name_limit && (all || f->n_errors)) longest = length;
    for (size_t k = 0; k < f->n_errors; k++) {
      value_text value;
      size_t width = bare(&f->errors[k]) ? 1 : strlen(value_of(&f->errors[k], value));
      if (width > widest && width <= value_limit) widest = width;
    }
  }
  p->values = INDENT + longest + 2;
  p->list = p->values + widest + 1;
}

static void write_header(struct page *p, const struct profile_library *l, struct counts c) {
  char numbers[96];
  const char *name = l->name && l->name[0] ? l->name : "(no library)";
  const char *what = l->n_functions && l->functions[0].syscall ? "system calls" : "functions";
  int n = snprintf(numbers, sizeof numbers, "%zu of %zu %s can fail", c.failing, l->n_functions, what);
  if (n > 0 && c.unknown) (void)snprintf(numbers + n, sizeof numbers - (size_t)n, ", %zu not fully known", c.unknown);
  p->indent = 0;
  put(p, BOLD, name);
  if (l->path && strcmp(l->path, name) != 0) {
    go_to(p, p->column + 2);
    put(p, NULL, l->path);
  }
  if (p->column + 2 + strlen(numbers) > p->width) new_line(p);
  go_to(p, p->column ? p->column + 2 : INDENT);
  put(p, NULL, numbers);
  new_line(p);
}

/* "12 functions may return more than is known: indirect call (7), memory (5)" */
static void write_unknown_count(struct page *p, const struct profile_library *l, struct counts c) {
  struct text line = {0};
  const char *before = ":";
  text_addf(&line, "%zu function%s may return more than is known", c.unknown, c.unknown == 1 ? "" : "s");
  for (size_t i = 0; i < profile_n_reasons; i++) {
    size_t n = 0;
    for (size_t k = 0; k < l->n_functions; k++)
      n += (l->functions[k].unknown & profile_reasons[i].bit) != 0;
    if (n) {
      text_addf(&line, "%s %s (%zu)", before, profile_reasons[i].word, n);
      before = ",";
    }
  }
  p->to->failed |= line.failed;
  p->indent = INDENT;
  sentence(p, DIM, line.at ? line.at : "");
  text_done(&line);
  new_line(p);
}

static void note(struct page *p, const char *s) {
  p->indent = INDENT;
  sentence(p, DIM, s);
  new_line(p);
}

/* What is missing because the kernel did not come whole. */
static void write_gaps(struct page *p, const struct profile_library *l) {
  struct text line = {0};
  if (l->modules_missing && *l->modules_missing) {
    text_addf(&line,
              "Not analysed, because they are neither built in nor found as modules: %s. What is returned through them "
              "is missing (--modules says where they are).",
              l->modules_missing);
    p->to->failed |= line.failed;
    note(p, line.at ? line.at : "");
  }
  if (l->functions_only)
    note(p,
         "The kernel's symbols name functions only (it was built without CONFIG_KALLSYMS_ALL), so that calls through "
         "tables of operations were not followed.");
  text_done(&line);
}

static void write_library(struct page *p, const struct profile_library *l, bool all) {
  struct counts c = count(l);
  write_header(p, l, c);
  set_columns(p, l, all);
  for (size_t i = 0; i < l->n_functions; i++)
    if (all || l->functions[i].n_errors) write_function(p, l, i, all);
  if (c.unknown) write_unknown_count(p, l, c);
  write_gaps(p, l);
}

static void write_legend(struct page *p) {
  const struct {
    bool used;
    const char *text;
  } marks[] = {
      {p->likely, "?   likely, but not certain"},
      {p->more, "... errno may have values that could not be found"},
      {p->style, "=   the errno itself is returned"},
  };
  bool first = true;
  for (size_t i = 0; i < COUNT(marks); i++) {
    if (!marks[i].used) continue;
    if (first) new_line(p);
    first = false;
    go_to(p, INDENT);
    put(p, DIM, marks[i].text);
    new_line(p);
  }
}

/* Only if it may not be what the programs will meet. */
static void write_kernel(struct page *p, const struct profile *profile) {
  struct text line = {0};
  if (!profile->kernel || !profile->kernel_note) return;
  text_addf(&line, "What system calls return is that of %s; %s.", profile->kernel, profile->kernel_note);
  p->to->failed |= line.failed;
  new_line(p);
  note(p, line.at ? line.at : "");
  text_done(&line);
}

void profile_write_text(const struct profile *p, const struct profile_text_options *options, struct text *to) {
  size_t width = options->columns ? options->columns : NARROW;
  struct page page = {.to = to, .color = options->color, .width = width < LEAST_WIDTH ? LEAST_WIDTH : width};
  for (size_t i = 0; i < p->n_libraries; i++) {
    if (i) new_line(&page);
    page.errno_home = p->errno_module && strcmp(p->errno_module, p->libraries[i].name) == 0;
    write_library(&page, &p->libraries[i], options->all);
  }
  write_legend(&page);
  write_kernel(&page, p);
}
