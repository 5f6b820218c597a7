/* SPDX-License-Identifier: Apache-2.0 */
/* The wrappers of brew_main.c: some give up, some hand the error on, some swallow it. */
/* program: brew */
/* flags: -D_GNU_SOURCE */
#include "brew.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *program_name = "brew";
int error_count;

void die(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap); /* @vfprintf none ignored */
    va_end(ap);
    exit(1);
}

void complain(const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", program_name, what, strerror(errno)); /* @fprintf none ignored */
    error_count++;
}

static void *nonnull(void *p)
{
    if (p == NULL)
        die("%s: memory exhausted\n", program_name);
    return p;
}

void *xmalloc(size_t n)
{
    return nonnull(malloc(n)); /* @malloc all */
}

void *xcalloc(size_t n, size_t m)
{
    void *p = calloc(n, m); /* @calloc all */

    if (p)
        return p;
    die("memory\n");
}

void *xrealloc(void *p, size_t n)
{
    void *q;

    if (n == 0)
        n = 1;
    q = realloc(p, n); /* @realloc all */
    if (__builtin_expect(!q, 0))
        die("memory\n");
    return q;
}

char *xstrdup(const char *s)
{
    return nonnull(strdup(s)); /* @strdup all */
}

char *xasprintf(const char *fmt, ...)
{
    char *s;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&s, fmt, ap); /* @vasprintf all */
    va_end(ap);
    return n < 0 ? nonnull(NULL) : s;
}

/* Not what its name says: no one looks. */
char *fast_strdup(const char *s)
{
    size_t n = strlen(s) + 1;

    return memcpy(malloc(n), s, n); /* @malloc none dereferenced/used */
}

int xopen(const char *path, int flags, int mode)
{
    int fd = open(path, flags, mode); /* @open all */

    if (fd < 0)
        die("%s: %s\n", path, strerror(errno));
    return fd;
}

/* Handed on as -1: every caller looks. */
int open_input(const char *path)
{
    if (strcmp(path, "-") == 0)
        return STDIN_FILENO;
    return open(path, O_RDONLY | O_CLOEXEC); /* @open all */
}

/* Handed on, and no caller looks. */
int open_log(const char *path)
{
    return open(path, O_WRONLY | O_APPEND | O_CREAT, 0644); /* @open none used */
}

/* Two steps up. */
static FILE *inner_fopen(const char *path, const char *mode)
{
    return fopen(path, mode); /* @fopen all */
}

FILE *outer_fopen(const char *dir, const char *name, const char *mode)
{
    char *path = xasprintf("%s/%s", dir, name);
    FILE *f = inner_fopen(path, mode);

    free(path);
    return f;
}

ssize_t safe_read(int fd, void *to, size_t n)
{
    for (;;) {
        ssize_t got = read(fd, to, n); /* @read all */

        if (got >= 0)
            return got;
        if (errno == EINTR)
            continue;
        return got;
    }
}

ssize_t safe_write(int fd, const void *from, size_t n)
{
    ssize_t done;

    do {
        done = write(fd, from, n); /* @write all */
    } while (done < 0 && errno == EINTR);
    return done;
}

size_t full_write(int fd, const void *from, size_t n)
{
    const char *p = from;
    size_t total = 0;

    while (n > 0) {
        ssize_t k = safe_write(fd, p, n);

        if (k == -1)
            break;
        if (k == 0) {
            errno = ENOSPC;
            break;
        }
        total += (size_t)k;
        p += k;
        n -= (size_t)k;
    }
    return total;
}

/* An error as a negative number of its own. */
int make_dir(const char *path)
{
    if (mkdir(path, 0777) == 0) /* @mkdir all */
        return 0;
    return -errno;
}

int file_size(const char *path, off_t *ret)
{
    struct stat st;
    int rc;

    rc = stat(path, &st); /* @stat all */
    if (!rc)
        *ret = st.st_size;
    return rc;
}

void close_stream(FILE *f, const char *name)
{
    int bad = ferror(f); /* @ferror any */

    if (fclose(f) || bad) /* @fclose all */
        complain(name);
}

void remove_quietly(const char *path)
{
    unlink(path); /* @unlink none ignored */
}

int remove_or_tell(const char *path)
{
    if (unlink(path)) { /* @unlink all */
        complain(path);
        return 0;
    }
    return 1;
}

int status_of(int rc)
{
    return rc < 0 ? errno : 0;
}
