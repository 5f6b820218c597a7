/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration compiler: reads "key = value" files with includes, checks types, writes a binary table. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <iconv.h>
#include <limits.h>
#include <locale.h>
#include <langinfo.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum type { T_STRING, T_INT, T_SIZE, T_DATE, T_PATH, T_FLOAT };

struct entry {
    char *key;
    char *text;
    enum type type;
    long long num;
    double real;
};

struct table {
    struct entry *v;
    size_t n, cap;
};

static struct table table;
static int nerrors;
static iconv_t to_utf8;
static const char *current = "?";
static unsigned long lineno;

static void error(const char *fmt, ...)
{
    va_list ap;
    fprintf(stderr, "%s:%lu: ", current, lineno); /* @fprintf any */
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap); /* @vfprintf any */
    va_end(ap);
    fputs("\n", stderr); /* @fputs/fputc/fwrite any */
    nerrors++;
}

static void fatal(const char *what)
{
    perror(what);
    exit(3);
}

static void *must(void *p)
{
    if (p == NULL)
        fatal("out of memory");
    return p;
}

static char *trim(char *s)
{
    char *e;
    while (isspace((unsigned char)*s))
        s++;
    e = s + strlen(s);
    while (e > s && isspace((unsigned char)e[-1]))
        *--e = 0;
    return s;
}

static struct entry *add(const char *key)
{
    struct entry *e;
    if (table.n == table.cap) {
        table.cap = table.cap ? table.cap * 2 : 64;
        table.v = realloc(table.v, table.cap * sizeof *table.v); /* @realloc none dereferenced/used */
    }
    e = &table.v[table.n++];
    memset(e, 0, sizeof *e);
    e->key = must(strdup(key)); /* @strdup all */
    return e;
}

static char *recode(char *text)
{
    size_t in = strlen(text), out = in * 4 + 1;
    char *buf = must(malloc(out)); /* @malloc/calloc all */
    char *ip = text, *op = buf;
    size_t left = out - 1;

    if (to_utf8 == (iconv_t)-1) {
        strcpy(buf, text);
        return buf;
    }
    iconv(to_utf8, NULL, NULL, NULL, NULL); /* @iconv any */
    while (in > 0) {
        if (iconv(to_utf8, &ip, &in, &op, &left) != (size_t)-1) /* @iconv all */
            break;
        if (errno == EILSEQ || errno == EINVAL) {
            error("byte %#x is not valid in this character set", (unsigned char)*ip);
            ip++;
            in--;
        } else {
            fatal("iconv");
        }
    }
    *op = 0;
    return buf;
}

static int parse_int(const char *s, long long *out)
{
    char *end;
    errno = 0;
    *out = strtoll(s, &end, 0); /* @strtoll all */
    if (errno == ERANGE)
        return -1;
    return end == s || *end ? -1 : 0;
}

static int parse_size(const char *s, long long *out)
{
    char *end;
    unsigned long long v = strtoull(s, &end, 10); /* @strtoull none used */
    switch (*end) {
    case 'k': v <<= 10; break;
    case 'M': v <<= 20; break;
    case 'G': v <<= 30; break;
    case 0: break;
    default: return -1;
    }
    *out = (long long)v;
    return 0;
}

static int parse_date(const char *s, long long *out)
{
    struct tm tm;
    char *rest;
    time_t t;
    memset(&tm, 0, sizeof tm);
    rest = strptime(s, "%Y-%m-%d", &tm); /* @strptime all */
    if (!rest || *rest)
        return -1;
    tm.tm_isdst = -1;
    t = mktime(&tm); /* @mktime all */
    if (t == (time_t)-1)
        return -1;
    *out = t;
    return 0;
}

static int parse_float(const char *s, double *out)
{
    *out = strtod(s, NULL); /* @strtod none used */
    return 0;
}

static int check_path(const char *s)
{
    struct stat st;
    int rc = stat(s, &st); /* @stat some missing=EACCES */
    if (rc < 0 && errno == ENOENT) {
        error("%s does not exist", s);
        return -1;
    }
    return 0;
}

static enum type guess(const char *key)
{
    const char *dot = strrchr(key, '.'); /* @strrchr/memrchr any */
    if (!dot)
        return T_STRING;
    if (!strcmp(dot, ".int"))
        return T_INT;
    if (!strcmp(dot, ".size"))
        return T_SIZE;
    if (!strcmp(dot, ".date"))
        return T_DATE;
    if (!strcmp(dot, ".path"))
        return T_PATH;
    if (!strcmp(dot, ".float"))
        return T_FLOAT;
    return T_STRING;
}

static void define(char *key, char *text)
{
    struct entry *e = add(key);
    int rc = 0;
    e->type = guess(key);
    e->text = recode(text);
    switch (e->type) {
    case T_INT: rc = parse_int(text, &e->num); break;
    case T_SIZE: rc = parse_size(text, &e->num); break;
    case T_DATE: rc = parse_date(text, &e->num); break;
    case T_PATH: rc = check_path(text); break;
    case T_FLOAT: rc = parse_float(text, &e->real); break;
    case T_STRING: break;
    }
    if (rc)
        error("bad value '%s' for %s", text, key);
}

static void compile(const char *path, int depth);

static void include(const char *pattern, int depth)
{
    glob_t g;
    int rc = glob(pattern, GLOB_NOSORT, NULL, &g); /* @glob some missing=GLOB_NOSPACE */
    size_t i;
    if (rc == GLOB_NOMATCH) {
        error("nothing matches %s", pattern);
        return;
    }
    for (i = 0; i < g.gl_pathc; i++)
        compile(g.gl_pathv[i], depth + 1);
    globfree(&g);
}

static void compile(const char *path, int depth)
{
    const char *before = current;
    unsigned long line_before = lineno;
    char *real, *line = NULL;
    size_t cap = 0;
    FILE *f;

    if (depth > 16) {
        error("too many nested includes");
        return;
    }
    real = realpath(path, NULL); /* @realpath all */
    f = real ? fopen(real, "re") : NULL; /* @fopen all */
    if (!f) {
        error("cannot read %s: %s", path, strerror(errno));
        free(real);
        return;
    }
    current = real;
    lineno = 0;
    while (getline(&line, &cap, f) != -1) { /* @getline/__getdelim/getdelim? all */
        char *s = trim(line), *eq;
        lineno++;
        if (!*s || *s == '#')
            continue;
        if (!strncmp(s, "include ", 8)) {
            include(trim(s + 8), depth);
            continue;
        }
        eq = strchr(s, '='); /* @strchr any */
        if (!eq) {
            error("no '=' in this line");
            continue;
        }
        *eq = 0;
        define(trim(s), trim(eq + 1));
    }
    if (ferror(f)) /* @ferror any */
        error("read error");
    fclose(f); /* @fclose none ignored */
    free(line);
    free(real);
    current = before;
    lineno = line_before;
}

static int put32(FILE *f, uint32_t v)
{
    return fwrite(&v, sizeof v, 1, f) == 1; /* @fwrite all */
}

static int put_string(FILE *f, const char *s)
{
    uint32_t n = (uint32_t)strlen(s);
    int ok = put32(f, n);
    ok &= fputs(s, f) >= 0; /* @fputs/fwrite all */
    ok &= fputc(0, f) != EOF; /* @fputc/putc all */
    return ok;
}

static int emit(const char *path)
{
    FILE *f = fopen(path, "wb"); /* @fopen all */
    int ok = 1;
    size_t i;
    if (!f)
        return 0;
    fputs("CNF1", f); /* @fputs/fwrite any */
    ok &= put32(f, (uint32_t)table.n);
    for (i = 0; i < table.n; i++) {
        const struct entry *e = &table.v[i];
        ok &= put32(f, e->type);
        ok &= put_string(f, e->key);
        ok &= put_string(f, e->text);
        ok &= fwrite(&e->num, sizeof e->num, 1, f) == 1; /* @fwrite all */
        fwrite(&e->real, sizeof e->real, 1, f); /* @fwrite any */
    }
    if (fclose(f) == EOF) /* @fclose all */
        ok = 0;
    if (!ok)
        remove(path); /* @remove none ignored */
    return ok;
}

static void set_mode(const char *from, const char *to)
{
    struct stat st;
    if (!stat(from, &st)) { /* @stat all */
        chmod(to, st.st_mode & 0777); /* @chmod none ignored */
        if (chown(to, (uid_t)-1, st.st_gid) < 0) /* @chown all */
            fprintf(stderr, "warning: %s: group not kept\n", to); /* @fprintf any */
    }
}

int main(int argc, char **argv)
{
    char *charset;
    int i;

    setlocale(LC_ALL, ""); /* @setlocale any */
    if (argc < 3) {
        fprintf(stderr, "usage: confc OUT FILE...\n"); /* @fprintf/fwrite/fputs any */
        return 2;
    }
    charset = nl_langinfo(CODESET); /* @nl_langinfo any */
    to_utf8 = iconv_open("UTF-8", charset); /* @iconv_open all */
    for (i = 2; i < argc; i++)
        compile(argv[i], 0);
    if (nerrors) {
        fprintf(stderr, "%d errors\n", nerrors); /* @fprintf any */
        return 1;
    }
    if (!emit(argv[1]))
        fatal(argv[1]);
    set_mode(argv[2], argv[1]);
    printf("%zu entries\n", table.n); /* @printf all */
    if (fflush(stdout) || ferror(stdout)) /* @fflush all; @ferror any */
        return 1;
    return 0;
}
