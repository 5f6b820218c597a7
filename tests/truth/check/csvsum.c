/* SPDX-License-Identifier: Apache-2.0 */
/* csvsum: reads separated values and writes sums per group; errors leave by longjmp. */
/* link: -lm */
#define _POSIX_C_SOURCE 200809L
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define TRY(ctx)    if (setjmp((ctx)->out) == 0)
#define MAXCOL      64
#define ARRAY(a)    (sizeof (a) / sizeof *(a))

typedef struct group {
  char   *name;
  double  sum;
  double  low, high;
  size_t  rows;
} Group;

typedef struct context {
  jmp_buf  out;
  char     message[256];
  Group   *groups;
  size_t   ngroups, cap;
  unsigned long line;
  int      keycol, valcol;
  char     sep;
} Context;

static Context ctx;

static _Noreturn void fail(Context *c, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(c->message, sizeof c->message, fmt, ap);    /* @vsnprintf none ignored */
  va_end(ap);
  longjmp(c->out, 1);
}

static void *need(Context *c, void *p)
{
  if (p == NULL)
    fail(c, "out of memory in line %lu", c->line);
  return p;
}

static Group *find(Context *c, const char *name)
{
  for (size_t i = 0; i < c->ngroups; i++)
    if (strcmp(c->groups[i].name, name) == 0)
      return &c->groups[i];
  if (c->ngroups == c->cap) {
    c->cap = c->cap ? c->cap * 2 : 16;
    c->groups = need(c, realloc(c->groups, c->cap * sizeof *c->groups));  /* @realloc all */
  }
  Group *g = &c->groups[c->ngroups++];
  memset(g, 0, sizeof *g);
  g->name = need(c, strdup(name));              /* @strdup all */
  g->low = DBL_MAX;
  g->high = -DBL_MAX;
  return g;
}

static double number(Context *c, const char *s)
{
  char *end;
  errno = 0;
  double v = strtod(s, &end);                   /* @strtod all */
  if (errno == ERANGE)
    fail(c, "line %lu: number out of range", c->line);
  while (isspace((unsigned char)*end))
    end++;
  if (end == s || *end != '\0')
    fail(c, "line %lu: not a number", c->line);
  return v;
}

static int column(const char *s)
{
  return (int)(strtoul(s, NULL, 10) % MAXCOL);  /* @strtoul none used */
}

static void row(Context *c, char *line)
{
  char *field = line, *next, *key, *val, *fields[MAXCOL] = { NULL };
  for (int i = 1; field != NULL && i < MAXCOL; i++, field = next) {
    next = strchr(field, c->sep);
    if (next != NULL)
      *next++ = '\0';
    fields[i] = field;
  }
  key = fields[c->keycol];
  val = fields[c->valcol];
  if (key == NULL || val == NULL)
    fail(c, "line %lu: too few fields", c->line);
  double v = number(c, val);
  Group *g = find(c, key);
  g->sum += v;
  g->low = fmin(g->low, v);
  g->high = fmax(g->high, v);
  g->rows++;
}

static bool slurp_line(FILE *f, char **buf, size_t *cap)
{
  size_t n = 0;
  int ch;
  while ((ch = getc(f)) != EOF && ch != '\n') { /* @getc all */
    if (n + 1 >= *cap) {
      *cap = *cap ? 2 * *cap : 80;
      *buf = realloc(*buf, *cap);               /* @realloc none dereferenced */
    }
    (*buf)[n++] = (char)ch;
  }
  if (ch == EOF && n == 0)
    return false;
  if (*cap == 0)
    *buf = need(&ctx, malloc(*cap = 80));       /* @malloc all */
  (*buf)[n] = '\0';
  return true;
}

static void load(Context *c, const char *name)
{
  FILE *f = strcmp(name, "-") == 0 ? stdin : fopen(name, "r");  /* @fopen all */
  char *buf = NULL;
  size_t cap = 0;
  if (f == NULL)
    fail(c, "%s: %s", name, strerror(errno));
  for (c->line = 1; slurp_line(f, &buf, &cap); c->line++)
    if (buf[0] != '\0' && buf[0] != '#')
      row(c, buf);
  if (ferror(f))
    fail(c, "%s: read error", name);
  free(buf);
  if (f != stdin)
    fclose(f);                                  /* @fclose none ignored */
}

static long line_limit(const char *name)
{
  char word[32];
  long limit = 0;
  FILE *f = fopen(name, "r");                   /* @fopen none dereferenced */
  if (fgets(word, sizeof word, f))              /* @fgets all */
    sscanf(word, "%ld", &limit);                /* @sscanf/__isoc99_sscanf none ignored */
  fclose(f);                                    /* @fclose none ignored */
  return limit;
}

static int by_sum(const void *a, const void *b)
{
  const Group *x = a, *y = b;
  return x->sum < y->sum ? 1 : x->sum > y->sum ? -1 : strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
  return strcoll(((const Group *)a)->name, ((const Group *)b)->name);
}

static const struct order {
  const char *name;
  int (*cmp)(const void *, const void *);
} orders[] = {
  { "sum", by_sum },
  { "name", by_name },
};

static void emit_text(const Context *c, FILE *out)
{
  for (size_t i = 0; i < c->ngroups; i++) {
    const Group *g = &c->groups[i];
    fprintf(out, "%-20s %12.2f %8zu\n", g->name, g->sum, g->rows);      /* @fprintf none ignored */
  }
}

static void emit_json(const Context *c, FILE *out)
{
  putc('[', out);                               /* @putc/fputc all */
  for (size_t i = 0; i < c->ngroups; i++) {
    const Group *g = &c->groups[i];
    if (i > 0)
      fputs(",\n", out);                        /* @fputs/fwrite all */
    fprintf(out, "{\"name\":\"%s\",\"sum\":%g,\"min\":%g,\"max\":%g}",  /* @fprintf all */
            g->name, g->sum, g->low, g->high);
  }
  fputs("]\n", out);                            /* @fputs/fwrite all */
  if (ferror(out))
    fail(&ctx, "cannot write");
}

static void emit_csv(const Context *c, FILE *out)
{
  int n = 0;
  for (size_t i = 0; n >= 0 && i < c->ngroups; i++)
    n = fprintf(out, "%s%c%.17g\n", c->groups[i].name, c->sep, c->groups[i].sum);  /* @fprintf all */
  if (n < 0)
    fail(&ctx, "cannot write");
}

static void stamp(FILE *out)
{
  char when[64];
  time_t t = time(NULL);                        /* @time any */
  struct tm tm;
  assert(localtime_r(&t, &tm) != NULL);         /* @localtime_r all */
  if (!strftime(when, sizeof when, "%c", &tm))  /* @strftime all */
    return;
  fprintf(out, "# %s\n", when);                 /* @fprintf none ignored */
}

static FILE *scratch_file(char *name)
{
  int fd = mkstemp(name);                       /* @mkstemp all */
  FILE *f = fd < 0 ? NULL : fdopen(fd, "w");    /* @fdopen all */
  if (f == NULL && fd >= 0)
    close(fd);                                  /* @close none ignored */
  return f;
}

static void save(const Context *c, const char *name, void (*emit)(const Context *, FILE *))
{
  char tmp[PATH_MAX];
  int n = snprintf(tmp, sizeof tmp, "%s.XXXXXX", name);         /* @snprintf all */
  if ((unsigned)n >= sizeof tmp)
    fail(&ctx, "name too long");
  FILE *f = scratch_file(tmp);
  if (f == NULL)
    fail(&ctx, "%s: %s", tmp, strerror(errno));
  emit(c, f);
  bool bad = fflush(f) != 0;                    /* @fflush all */
  bad |= fsync(fileno(f)) != 0;                 /* @fsync all; @fileno any */
  bad |= fclose(f) != 0;                        /* @fclose all */
  if (bad || rename(tmp, name) != 0) {          /* @rename all */
    remove(tmp);                                /* @remove none ignored */
    fail(&ctx, "%s: not saved", name);
  }
}

int main(int argc, char **argv)
{
  void (*emit)(const Context *, FILE *) = emit_text;
  const char *order = getenv("CSVSUM_ORDER");   /* @getenv all */
  volatile int status = 0;

  if (setlocale(LC_ALL, "") == NULL)            /* @setlocale all */
    fputs("csvsum: no such locale\n", stderr);  /* @fputs/fwrite none ignored */
  if (argc < 5) {
    fprintf(stderr, "usage: %s KEY VALUE FORMAT FILE [OUT]\n", argv[0]);    /* @fprintf none ignored */
    return 2;
  }
  ctx.sep = ',';
  ctx.keycol = column(argv[1]);
  ctx.valcol = column(argv[2]);
  if (strcasecmp(argv[3], "json") == 0)
    emit = emit_json;
  else if (strcasecmp(argv[3], "csv") == 0)
    emit = emit_csv;
  if (access(".csvlimit", R_OK) == 0)           /* @access all */
    printf("limit %ld\n", line_limit(".csvlimit"));     /* @printf none ignored */
  TRY(&ctx) {
    load(&ctx, argv[4]);
    for (size_t i = 0; order != NULL && i < ARRAY(orders); i++)
      if (strcmp(orders[i].name, order) == 0)
        qsort(ctx.groups, ctx.ngroups, sizeof *ctx.groups, orders[i].cmp);
    if (argc > 5)
      save(&ctx, argv[5], emit);
    else {
      stamp(stdout);
      emit(&ctx, stdout);
    }
  } else {
    fprintf(stderr, "csvsum: %s\n", ctx.message);       /* @fprintf none ignored */
    status = 1;
  }
  for (size_t i = 0; i < ctx.ngroups; i++)
    free(ctx.groups[i].name);
  free(ctx.groups);
  if (fflush(stdout) != 0 && errno == ENOSPC)   /* @fflush some missing=EIO,EPIPE */
    status = 1;
  return status;
}
