/* SPDX-License-Identifier: Apache-2.0 */
/* An image converter: PNM in, several formats out, with a table of codecs. */
/* link: -lm */
#define _GNU_SOURCE
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <wchar.h>

struct image {
    unsigned w, h, max;
    uint8_t *px;
};

struct codec {
    const char *ext;
    int (*probe)(FILE *);
    int (*load)(FILE *, struct image *);
    int (*save)(FILE *, const struct image *);
};

static int verbose;
static const char *why = "unknown";

__attribute__((noinline)) static void complain(const char *what, const char *reason)
{
    fprintf(stderr, "%s: %s\n", what, reason); /* @fprintf any */
}

static int fail(const char *reason)
{
    why = reason;
    return -1;
}

static void *xrealloc(void *p, size_t n)
{
    void *q = realloc(p, n); /* @realloc/malloc all */
    if (q == NULL && n != 0) {
        perror("realloc");
        exit(1);
    }
    return q;
}

static int number(FILE *f, unsigned *out)
{
    int c;
    do {
        c = getc(f); /* @getc/_IO_getc/fgetc all */
        if (c == '#')
            while ((c = fgetc(f)) != '\n' && c != EOF) /* @fgetc/getc all */
                ;
    } while (c != EOF && isspace(c));
    if (c == EOF)
        return -1;
    ungetc(c, f); /* @ungetc any */
    return fscanf(f, "%u", out) == 1 ? 0 : -1; /* @fscanf/__isoc99_fscanf all */
}

static int pnm_probe(FILE *f)
{
    char magic[2];
    size_t n = fread(magic, 1, 2, f); /* @fread all */
    if (fseek(f, 0, SEEK_SET) != 0) /* @fseek all */
        return 0;
    return n == 2 && magic[0] == 'P' && magic[1] == '6';
}

static int pnm_load(FILE *f, struct image *im)
{
    char magic[3];
    size_t size;
    if (!fgets(magic, sizeof magic, f)) /* @fgets all */
        return fail("empty file");
    if (number(f, &im->w) || number(f, &im->h) || number(f, &im->max))
        return fail("bad header");
    getc(f); /* @getc/_IO_getc/fgetc none ignored */
    if (im->w == 0 || im->h == 0 || im->max > 255 || im->w > 65535 || im->h > 65535)
        return fail("not supported");
    size = (size_t)im->w * im->h * 3;
    im->px = xrealloc(NULL, size);
    return fread(im->px, 1, size, f) == size ? 0 : fail("truncated"); /* @fread all */
}

static int pnm_save(FILE *f, const struct image *im)
{
    size_t n = (size_t)im->w * im->h;
    if (fprintf(f, "P6\n%u %u\n%u\n", im->w, im->h, im->max) < 0) /* @fprintf all */
        return fail("header");
    return fwrite(im->px, 3, n, f) == n ? 0 : fail("pixels"); /* @fwrite all */
}

static int raw_probe(FILE *f)
{
    struct stat st;
    return fstat(fileno(f), &st) == 0 && st.st_size % 3 == 0; /* @fstat all; @fileno any */
}

static int raw_load(FILE *f, struct image *im)
{
    long size;
    fseek(f, 0, SEEK_END); /* @fseek none ignored */
    size = ftell(f); /* @ftell none used */
    rewind(f);
    im->w = (unsigned)sqrt((double)(size / 3)); /* @sqrt any */
    im->h = im->w ? (unsigned)((size_t)size / 3 / im->w) : 0;
    im->max = 255;
    im->px = malloc((size_t)size); /* @malloc none dereferenced/used */
    fread(im->px, 1, (size_t)size, f); /* @fread none ignored */
    im->px[0] |= 0;
    return 0;
}

static int raw_save(FILE *f, const struct image *im)
{
    size_t i, n = (size_t)im->w * im->h * 3;
    for (i = 0; i < n; i++)
        if (putc(im->px[i], f) == EOF) /* @putc/_IO_putc/fputc all */
            return -1;
    return 0;
}

static int xpm_save(FILE *f, const struct image *im)
{
    unsigned x, y;
    fprintf(f, "! XPM2\nstatic char *im[] = {\n\"%u %u 8 1\",\n", im->w, im->h); /* @fprintf all */
    for (x = 0; x < 8; x++)
        fprintf(f, "\"%u c #%02x%02x%02x\",\n", x, x & 4 ? 255 : 0, x & 2 ? 255 : 0, x & 1 ? 255 : 0); /* @fprintf all */
    for (y = 0; y < im->h; y++) {
        fputc('"', f); /* @fputc/putc all */
        for (x = 0; x < im->w; x++) {
            const uint8_t *p = im->px + 3 * ((size_t)y * im->w + x);
            fputc('0' + (p[0] > 127) * 4 + (p[1] > 127) * 2 + (p[2] > 127), f); /* @fputc/putc all */
        }
        fputs("\",\n", f); /* @fputs/fwrite all */
    }
    fputs("};\n", f); /* @fputs/fwrite all */
    return ferror(f) ? fail("write error") : 0; /* @ferror any */
}

static const struct codec codecs[] = {
    { ".ppm", pnm_probe, pnm_load, pnm_save },
    { ".raw", raw_probe, raw_load, raw_save },
    { ".xpm", NULL, NULL, xpm_save },
};

static const struct codec *for_output(const char *path)
{
    size_t i, n = strlen(path);
    for (i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        size_t k = strlen(codecs[i].ext);
        if (n > k && !strcmp(path + n - k, codecs[i].ext))
            return &codecs[i];
    }
    return NULL;
}

static const struct codec *for_input(FILE *f)
{
    size_t i;
    for (i = 0; i < sizeof codecs / sizeof *codecs; i++)
        if (codecs[i].probe && codecs[i].probe(f))
            return &codecs[i];
    return NULL;
}

static void halve(struct image *im)
{
    unsigned w = im->w / 2, h = im->h / 2, x, y, c;
    uint8_t *out = malloc((size_t)w * h * 3 + 1); /* @malloc all */
    assert(out != NULL);
    for (y = 0; y < h; y++)
        for (x = 0; x < w; x++)
            for (c = 0; c < 3; c++)
                out[3 * ((size_t)y * w + x) + c] = im->px[3 * ((size_t)y * 2 * im->w + x * 2) + c];
    free(im->px);
    im->px = out;
    im->w = w;
    im->h = h;
}

static int enough_space(const char *dir, size_t need)
{
    struct statvfs v;
    if (statvfs(dir, &v) == -1 && errno == ENOSYS) /* @statvfs/statvfs64 some missing=EACCES */
        return 1;
    return (size_t)v.f_bavail * v.f_frsize > need;
}

static int keep_backup(const char *path)
{
    char old[PATH_MAX];
    struct stat st;
    off_t off = 0;
    int in, out, rc = -1;

    in = open(path, O_RDONLY); /* @open all */
    if (in < 0)
        return errno == ENOENT ? 0 : -1;
    if (strlen(path) + 2 > sizeof old)
        goto done;
    sprintf(old, "%s~", path); /* @sprintf/strcpy/stpcpy any */
    out = open(old, O_WRONLY | O_CREAT | O_TRUNC, 0666); /* @open none used */
    fstat(in, &st); /* @fstat none ignored */
    while (off < st.st_size)
        if (sendfile(out, in, &off, (size_t)(st.st_size - off)) <= 0) /* @sendfile/sendfile64 all */
            break;
    rc = off == st.st_size ? 0 : -1;
    close(out); /* @close? none ignored */
done:
    close(in); /* @close? none ignored */
    return rc;
}

static long option(const char *s, long min, long max)
{
    char *end;
    long v;
    errno = 0;
    v = strtol(s, &end, 10); /* @strtol all */
    if (errno || end == s || *end || v < min || v > max) {
        fprintf(stderr, "imgconv: '%s' is not between %ld and %ld\n", s, min, max); /* @fprintf any */
        exit(2);
    }
    return v;
}

static void progress(const char *s)
{
    static FILE *tty;
    if (!tty)
        tty = fopen("/dev/tty", "w"); /* @fopen all */
    if (!tty)
        return;
    fputs(s, tty); /* @fputs/fwrite none ignored */
    fflush(tty); /* @fflush none ignored */
}

int main(int argc, char **argv)
{
    const struct codec *in, *out;
    struct image im;
    FILE *src, *dst;
    long times;
    int rc;

    if (argc < 4) {
        complain("imgconv", "usage: imgconv IN OUT HALVINGS [-v]");
        return 2;
    }
    verbose = argc > 4;
    times = option(argv[3], 0, 16);
    memset(&im, 0, sizeof im);
    src = strcmp(argv[1], "-") ? fopen(argv[1], "rb") : stdin; /* @fopen all */
    if (!src) {
        perror(argv[1]);
        return 1;
    }
    in = for_input(src);
    out = for_output(argv[2]);
    if (!in || !in->load || !out) {
        complain("imgconv", "unknown format");
        return 1;
    }
    if (in->load(src, &im) < 0) {
        complain(argv[1], why);
        return 1;
    }
    fclose(src); /* @fclose none ignored */
    while (times-- > 0 && im.w > 1 && im.h > 1)
        halve(&im);
    if (verbose)
        progress("writing\n");
    if (!enough_space(".", (size_t)im.w * im.h * 3) || keep_backup(argv[2]) != 0) {
        complain("imgconv", "no space");
        return 1;
    }
    if ((dst = fopen(argv[2], "wb")) == NULL) { /* @fopen all */
        perror(argv[2]);
        return 1;
    }
    rc = out->save(dst, &im);
    if (fclose(dst) == EOF && rc == 0) /* @fclose all */
        rc = fail("close");
    if (rc) {
        complain(argv[2], why);
        remove(argv[2]); /* @remove none ignored */
    }
    free(im.px);
    return rc ? 1 : 0;
}
