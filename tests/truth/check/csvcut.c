/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts, sums and sorts columns of text: streams, numbers, growing tables, temporary files that replace old ones. */
/* flags: -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -D_FORTIFY_SOURCE=2 */
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct row {
    char **field;
    int n;
};

struct table {
    struct row *rows;
    size_t n, cap;
    int error;
};

static const char *progname = "csvcut";

static _Noreturn void oom(void)
{
    fprintf(stderr, "%s: out of memory\n", progname); /* @fprintf none ignored */
    exit(3);
}

static void *grow(void *p, size_t n, size_t size)
{
    void *q = reallocarray(p, n, size); /* @reallocarray all */
    if (!q)
        oom();
    return q;
}

/* The table is lost if it cannot grow, and nobody asks. */
static void table_add_careless(struct table *t, struct row r)
{
    if (t->n == t->cap) {
        t->cap = t->cap ? t->cap * 2 : 8;
        t->rows = realloc(t->rows, t->cap * sizeof *t->rows); /* @realloc none dereferenced */
    }
    t->rows[t->n++] = r;
}

static int table_add(struct table *t, struct row r)
{
    if (t->n == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 8;
        struct row *rows = realloc(t->rows, cap * sizeof *rows); /* @realloc all */

        if (rows == NULL) {
            t->error = ENOMEM;
            return -1;
        }
        t->rows = rows;
        t->cap = cap;
    }
    t->rows[t->n++] = r;
    return 0;
}

static struct row parse(char *line, char sep)
{
    struct row r = { NULL, 0 };
    char *p = line;

    do {
        char *e = strchrnul(p, sep);
        char *next = *e ? e + 1 : NULL;

        r.field = grow(r.field, (size_t)r.n + 1, sizeof *r.field);
        if (!(r.field[r.n++] = strndup(p, (size_t)(e - p)))) /* @strndup all */
            oom();
        p = next;
    } while (p);
    return r;
}

static bool to_long(const char *s, long *ret)
{
    char *end;

    errno = 0;
    *ret = strtol(s, &end, 10); /* @strtol all */
    if (errno != 0 || end == s || *end != '\0')
        return false;
    return true;
}

static double to_double(const char *s)
{
    double d;

    errno = 0;
    d = strtod(s, NULL); /* @strtod all */
    if (errno == ERANGE && (d == HUGE_VAL || d == -HUGE_VAL))
        return d > 0 ? DBL_MAX : -DBL_MAX;
    return d;
}

static intmax_t to_max(const char *s)
{
    return strtoimax(s, NULL, 0); /* @strtoimax/strtol none used */
}

static size_t read_rows(FILE *in, struct table *t, bool careless)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t len;

    while ((len = getline(&line, &cap, in)) > 0) { /* @getline/getdelim? all */
        if (line[len - 1] == '\n')
            line[len - 1] = 0;
        if (careless)
            table_add_careless(t, parse(line, ','));
        else if (table_add(t, parse(line, ',')) < 0)
            break;
    }
    free(line);
    if (ferror(in)) /* @ferror any */
        t->error = EIO;
    return t->n;
}

/* One block; what is read is trusted to be there. */
static uint32_t magic(FILE *in)
{
    uint32_t m = 0;

    fread(&m, sizeof m, 1, in); /* @fread none ignored */
    return m;
}

static int version(FILE *in)
{
    unsigned char v[2];

    if (fread(v, 1, sizeof v, in) < sizeof v) /* @fread all */
        return -1;
    return v[0] << 8 | v[1];
}

static long skip_bom(FILE *in)
{
    int c = fgetc(in); /* @fgetc/getc all */

    if (c == EOF)
        return -1;
    if (c != 0xef)
        return ungetc(c, in), 0; /* @ungetc none ignored */
    if (fseek(in, 3, SEEK_SET)) /* @fseek all */
        return -1;
    return ftell(in); /* @ftell all */
}

static off_t length_of(FILE *in)
{
    off_t end;

    fseeko(in, 0, SEEK_END); /* @fseeko none ignored */
    end = ftello(in); /* @ftello none used */
    rewind(in);
    return end / 2;
}

static char *slurp(const char *path, size_t *ret_size)
{
    FILE *f = NULL;
    char *text = NULL;
    struct stat st;
    size_t got;

    if ((f = fopen(path, "rbe")) == NULL) /* @fopen all */
        goto out;
    if (fstat(fileno(f), &st) == -1) /* @fstat all; @fileno any */
        goto out;
    text = malloc((size_t)st.st_size + 1); /* @malloc all */
    if (!text)
        goto out;
    got = fread(text, 1, (size_t)st.st_size, f); /* @fread all */
    if (got != (size_t)st.st_size) {
        free(text);
        text = NULL;
        goto out;
    }
    text[got] = 0;
    *ret_size = got;
out:
    if (f)
        fclose(f); /* @fclose none ignored */
    return text;
}

static __attribute__((noinline)) size_t copy_stream(FILE *from, FILE *to)
{
    char buf[4096];
    size_t n, total = 0;

    while ((n = fread(buf, 1, sizeof buf, from)) > 0) { /* @fread? all */
        fwrite(buf, 1, n, to); /* @fwrite none ignored */
        total += n;
    }
    return total;
}

static int print_row(FILE *out, const struct row *r, int from, int to)
{
    for (int i = from; i < to && i < r->n; i++) {
        if (i > from && putc(',', out) == EOF) /* @putc/fputc all */
            return -1;
        if (fputs(r->field[i], out) < 0) /* @fputs all */
            return -1;
    }
    return putc('\n', out) < 0 ? -1 : 0; /* @putc/fputc all */
}

/* A new file beside the old one, then over it. */
static bool save(const struct table *t, const char *path, int from, int to)
{
    char *tmp;
    FILE *out;
    int fd;
    bool good = true;

    if (asprintf(&tmp, "%s.XXXXXX", path) < 0) /* @asprintf all */
        return false;
    fd = mkstemp(tmp); /* @mkstemp all */
    if (fd == -1) {
        free(tmp);
        return false;
    }
    out = fdopen(fd, "w"); /* @fdopen all */
    if (!out) {
        close(fd); /* @close none ignored */
        unlink(tmp); /* @unlink none ignored */
        free(tmp);
        return false;
    }
    for (size_t i = 0; good && i < t->n; i++)
        good = print_row(out, &t->rows[i], from, to) == 0;
    good = !fflush(out) && good; /* @fflush all */
    good = fsync(fileno(out)) == 0 && good; /* @fsync all; @fileno any */
    good &= fclose(out) == 0; /* @fclose all */
    if (good)
        good = rename(tmp, path) != -1; /* @rename all */
    if (!good)
        remove(tmp); /* @remove none ignored */
    free(tmp);
    return good;
}

static void save_quickly(const struct table *t, const char *path)
{
    char name[64];
    FILE *out;

    sprintf(name, "%.50s.bak", path); /* @sprintf none ignored */
    rename(path, name); /* @rename none ignored */
    out = fopen(path, "w"); /* @fopen none dereferenced */
    for (size_t i = 0; i < t->n; i++)
        fprintf(out, "%s\n", t->rows[i].field[0]); /* @fprintf none ignored */
    fclose(out); /* @fclose none ignored */
}

/* The name is looked at only if there is one. */
static char *label_of(const char *path, long n)
{
    char *label = NULL;

    if (asprintf(&label, "%s#%ld", path, n) == -1) /* @asprintf all */
        label = NULL;
    return label;
}

static char *label_blind(const char *path)
{
    char *label;

    asprintf(&label, "[%s]", path); /* @asprintf none ignored */
    return label;
}

static int fits(const char *path, char *to, size_t room)
{
    int n = snprintf(to, room, "%s.sorted", path); /* @snprintf all */

    if (n < 0 || (size_t)n >= room)
        return -ENAMETOOLONG;
    return n;
}

static int by_first(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    return strcmp(x->field[0], y->field[0]);
}

int main(int argc, char **argv)
{
    struct table t = { 0 };
    FILE *in = stdin;
    char name[128], *text, *label;
    long from = 0, to = INT_MAX;
    size_t size = 0;
    double sum = 0;

    if (argc > 2 && (!to_long(argv[2], &from) || from < 0))
        return 2;
    if (argc > 3 && !to_long(argv[3], &to))
        return 2;
    if (argc > 1) {
        in = fopen(argv[1], "r"); /* @fopen all */
        if (!in) {
            perror(argv[1]);
            return 1;
        }
        if (skip_bom(in) < 0 || version(in) == 0xffff || magic(in) == 7)
            return 1;
        sum += (double)length_of(in);
    }
    read_rows(in, &t, argc > 4);
    if (t.error)
        return 1;
    qsort(t.rows, t.n, sizeof *t.rows, by_first);
    for (size_t i = 0; i < t.n; i++)
        sum += to_double(t.rows[i].field[0]) + (double)to_max(t.rows[i].field[0]);
    printf("%f\n", sum); /* @printf none ignored */
    if (argc > 1) {
        if (fits(argv[1], name, sizeof name) < 0)
            return 1;
        if (!save(&t, name, (int)from, (int)to))
            return 1;
        save_quickly(&t, argv[1]);
        text = slurp(argv[1], &size);
        if (text)
            sum += text[0];
        label = label_of(argv[1], from);
        puts(label ? label : argv[1]); /* @puts none ignored */
        puts(label_blind(argv[1])); /* @puts none ignored */
    }
    size += copy_stream(in, stdout);
    if (fclose(stdout)) /* @fclose all */
        return 1;
    return size > 1000000 || sum < 0;
}
