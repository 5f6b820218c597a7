/* SPDX-License-Identifier: Apache-2.0 */
/* A registry of settings: INI files into a hash table, with error codes that go through several layers. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum rc { R_OK_ = 0, R_NOMEM = -1, R_IO = -2, R_SYNTAX = -3, R_NOENT = -4 };

struct entry {
    struct entry *next;
    char *key;
    char *value;
};

struct table {
    struct entry **slot;
    size_t nslot, used;
    enum rc error;
};

typedef void *(*alloc_fn)(size_t);

static inline void *grab(alloc_fn f, size_t n)
{
    return f ? f(n) : malloc(n); /* @malloc all */
}

static enum rc copy_string(const char *s, size_t n, char **out)
{
    *out = strndup(s, n); /* @strndup all */
    return *out ? R_OK_ : R_NOMEM;
}

static unsigned hash(const char *s)
{
    unsigned h = 5381;
    while (*s)
        h = h * 33 + (unsigned char)*s++;
    return h;
}

static bool table_init(struct table *t, size_t n)
{
    t->nslot = n;
    t->used = 0;
    t->error = R_OK_;
    return (t->slot = calloc(n, sizeof *t->slot)) != NULL; /* @calloc all */
}

static enum rc table_grow(struct table *t)
{
    size_t i, n = t->nslot * 2;
    struct entry **s = reallocarray(NULL, n, sizeof *s); /* @reallocarray all */
    if (!s)
        return t->error = R_NOMEM;
    for (i = 0; i < n; i++)
        s[i] = NULL;
    for (i = 0; i < t->nslot; i++) {
        struct entry *e, *next;
        for (e = t->slot[i]; e; e = next) {
            next = e->next;
            e->next = s[hash(e->key) % n];
            s[hash(e->key) % n] = e;
        }
    }
    free(t->slot);
    t->slot = s;
    t->nslot = n;
    return R_OK_;
}

static struct entry *table_find(struct table *t, const char *key)
{
    struct entry *e = t->slot[hash(key) % t->nslot];
    while (e && strcmp(e->key, key))
        e = e->next;
    return e;
}

static enum rc table_put(struct table *t, const char *key, const char *val, size_t n)
{
    enum rc rc;
    struct entry *e = table_find(t, key);
    if (e) {
        free(e->value);
        return copy_string(val, n, &e->value);
    }
    if (t->used > t->nslot && (rc = table_grow(t)) != R_OK_)
        return rc;
    e = grab(NULL, sizeof *e);
    if (!e)
        return t->error = R_NOMEM;
    e->key = strdup(key); /* @strdup none used/dereferenced */
    if ((rc = copy_string(val, n, &e->value)) < 0) {
        free(e->key);
        free(e);
        return rc;
    }
    e->next = t->slot[hash(key) % t->nslot];
    t->slot[hash(e->key) % t->nslot] = e;
    t->used++;
    return R_OK_;
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

static int load_whole(const char *path, char **text)
{
    struct stat st;
    size_t done = 0;
    int rc = R_IO;
    int fd = open(path, O_RDONLY | O_CLOEXEC); /* @open all */
    if (fd < 0)
        return errno == ENOENT ? R_NOENT : R_IO;
    if (fstat(fd, &st) < 0) /* @fstat all */
        goto out;
    *text = malloc((size_t)st.st_size + 1); /* @malloc all */
    if (!*text) {
        rc = R_NOMEM;
        goto out;
    }
    while (done < (size_t)st.st_size) {
        ssize_t n = read(fd, *text + done, (size_t)st.st_size - done); /* @read all */
        if (n == 0)
            break;
        if (n < 0) {
            if (errno == EINTR)
                continue;
            free(*text);
            goto out;
        }
        done += (size_t)n;
    }
    (*text)[done] = 0;
    rc = R_OK_;
out:
    close(fd); /* @close none ignored */
    return rc;
}

static enum rc parse(struct table *t, char *text)
{
    static regex_t re;
    static bool compiled;
    char section[128] = "";
    char *save = NULL, *line;
    if (!compiled && regcomp(&re, "^[a-z][a-z0-9_.]*$", REG_EXTENDED | REG_ICASE | REG_NOSUB) != 0) /* @regcomp all */
        return R_NOMEM;
    compiled = true;
    for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) { /* @strtok_r any */
        char key[256], *eq, *name;
        enum rc rc;
        int len;
        line = trim(line);
        if (!*line || *line == ';')
            continue;
        if (*line == '[') {
            char *end = strchr(line, ']'); /* @strchr any */
            if (!end || end - line >= (long)sizeof section)
                return R_SYNTAX;
            memcpy(section, line + 1, (size_t)(end - line - 1));
            section[end - line - 1] = 0;
            continue;
        }
        if (!(eq = strchr(line, '='))) /* @strchr any */
            return R_SYNTAX;
        *eq++ = 0;
        name = trim(line);
        if (regexec(&re, name, 0, NULL, 0) == REG_NOMATCH) /* @regexec all */
            return R_SYNTAX;
        len = snprintf(key, sizeof key, "%s.%s", section, name); /* @snprintf none ignored/used/dereferenced/returned */
        if (len >= (int)sizeof key)
            return R_SYNTAX;
        eq = trim(eq);
        if ((rc = table_put(t, key, eq, strlen(eq))) != R_OK_)
            return rc;
    }
    return R_OK_;
}

static enum rc load_file(struct table *t, const char *path)
{
    char *text = NULL;
    enum rc rc = load_whole(path, &text);
    if (rc == R_OK_) {
        rc = parse(t, text);
        free(text);
    }
    return rc;
}

static enum rc load_dir(struct table *t, const char *pattern)
{
    glob_t g;
    enum rc rc = R_OK_;
    int e = glob(pattern, GLOB_MARK, NULL, &g); /* @glob/glob64 all */
    if (e == GLOB_NOMATCH)
        return R_OK_;
    if (e)
        return R_IO;
    for (size_t i = 0; i < g.gl_pathc && rc == R_OK_; i++)
        rc = load_file(t, g.gl_pathv[i]);
    globfree(&g);
    return rc;
}

static const char *get_string(struct table *t, const char *key, const char *dflt)
{
    struct entry *e = table_find(t, key);
    return e ? e->value : dflt;
}

static long get_long(struct table *t, const char *key)
{
    return strtol(get_string(t, key, "0"), NULL, 0); /* @strtol/__isoc23_strtol none used */
}

static bool get_port(struct table *t, const char *key, uint16_t *port)
{
    char *end;
    const char *s = get_string(t, key, "80");
    unsigned long v = strtoul(s, &end, 10); /* @strtoul/__isoc23_strtoul all */
    if (*end || v == 0 || v > 65535)
        return false;
    *port = (uint16_t)v;
    return true;
}

static bool get_ratio(struct table *t, const char *key, double *out)
{
    errno = 0;
    *out = strtod(get_string(t, key, "1"), NULL); /* @strtod all */
    return errno == 0;
}

static int save(struct table *t, const char *path)
{
    char tmp[PATH_MAX];
    FILE *f;
    int fd, err;
    if (strlen(path) > sizeof tmp - 8)
        return -ENAMETOOLONG;
    strcpy(stpcpy(tmp, path), ".XXXXXX");
    fd = mkstemp(tmp); /* @mkstemp/mkstemp64 all */
    if (fd < 0)
        return -errno;
    if (!(f = fdopen(fd, "w"))) { /* @fdopen all */
        err = -errno;
        close(fd); /* @close none ignored */
        unlink(tmp); /* @unlink? none ignored */
        return err;
    }
    for (size_t i = 0; i < t->nslot; i++)
        for (struct entry *e = t->slot[i]; e; e = e->next)
            if (fprintf(f, "%s=%s\n", e->key, e->value) < 0) { /* @fprintf all */
                fclose(f); /* @fclose none ignored */
                unlink(tmp); /* @unlink? none ignored */
                return -EIO;
            }
    fflush(f); /* @fflush any */
    err = fclose(f) ? -errno : 0; /* @fclose all */
    chmod(tmp, 0644); /* @chmod none ignored */
    if (!err && rename(tmp, path)) /* @rename all */
        err = -errno;
    return err;
}

static const char *message(enum rc rc)
{
    static const char *const text[] = { "ok", "no memory", "input/output error", "syntax error", "missing" };
    return text[-(int)rc];
}

int main(int argc, char **argv)
{
    struct table t;
    enum rc rc;
    uint16_t port;
    double ratio;
    if (argc < 2)
        return 2;
    if (!table_init(&t, 64)) {
        perror("inireg");
        return 1;
    }
    rc = load_file(&t, argv[1]);
    if (rc == R_OK_ || rc == R_NOENT)
        rc = load_dir(&t, "/etc/inireg.d/*.ini");
    if (rc != R_OK_) {
        fprintf(stderr, "inireg: %s: %s\n", argv[1], message(rc)); /* @fprintf any */
        return 1;
    }
    if (!get_port(&t, "net.port", &port) || !get_ratio(&t, "cache.ratio", &ratio))
        return 1;
    printf("%u %g %ld\n", port, ratio, get_long(&t, "log.level")); /* @printf none ignored */
    if (argc > 2) {
        int err = save(&t, argv[2]);
        if (err < 0) {
            fprintf(stderr, "inireg: %s: %s\n", argv[2], strerror(-err)); /* @fprintf any */
            return 1;
        }
    }
    if (fflush(stdout) || ferror(stdout)) /* @fflush all; @ferror any */
        return 1;
    return 0;
}
