/* SPDX-License-Identifier: Apache-2.0 */
/* confmerge: read ini files, merge them, print or store the result. */
#define _GNU_SOURCE
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <pwd.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct entry {
    char *section;
    char *key;
    char *value;
    struct entry *next;
} entry_t;

typedef struct {
    entry_t *head, **tail;
    size_t count;
    char **names;
    size_t nnames, cap;
    int errors;
} conf_t;

enum kind { K_INT, K_BOOL, K_SIZE, K_TEXT };

struct rule {
    const char *key;
    enum kind kind;
    bool (*valid)(const char *value, long *out);
};

#define FAIL_IF(cond, ...)                                   \
    do {                                                     \
        if (cond) {                                          \
            complain(__VA_ARGS__);                           \
            exit(EXIT_FAILURE);                              \
        }                                                    \
    } while (0)

static const char *progname = "confmerge";

static void complain(const char *what)
{
    int e = errno;

    fprintf(stderr, "%s: %s: %s\n", progname, what, strerror(e)); /* @fprintf none ignored */
}

static void *must(void *p)
{
    FAIL_IF(p == NULL, "memory");
    return p;
}

static bool valid_int(const char *v, long *out)
{
    char *end;

    errno = 0;
    *out = strtol(v, &end, 0); /* @strtol all */
    if (end == v || *end)
        return false;
    return errno == 0;
}

static bool valid_size(const char *v, long *out)
{
    char *end;
    unsigned long long n;

    n = strtoull(v, &end, 10); /* @strtoull none used */
    switch (tolower((unsigned char)*end)) {
    case 'g':
        n <<= 10;
        /* fall through */
    case 'm':
        n <<= 10;
        /* fall through */
    case 'k':
        n <<= 10;
        break;
    }
    *out = (long)n;
    return true;
}

static bool valid_bool(const char *v, long *out)
{
    *out = !strcasecmp(v, "yes") || !strcasecmp(v, "true") || !strcmp(v, "1");
    return *out || !strcasecmp(v, "no") || !strcasecmp(v, "false") || !strcmp(v, "0");
}

static const struct rule rules[] = {
    { "port", K_INT, valid_int },
    { "workers", K_INT, valid_int },
    { "daemon", K_BOOL, valid_bool },
    { "cache", K_SIZE, valid_size },
    { "title", K_TEXT, NULL },
};

static void note_name(conf_t *c, const char *name)
{
    if (c->nnames == c->cap) {
        c->cap = c->cap ? c->cap * 2 : 4;
        c->names = realloc(c->names, c->cap * sizeof *c->names); /* @realloc none dereferenced */
    }
    c->names[c->nnames++] = must(strdup(name)); /* @strdup all */
}

static int put(conf_t *c, const char *section, const char *key, const char *value)
{
    entry_t *e;

    for (e = c->head; e; e = e->next) {
        if (strcmp(e->section, section) == 0 && strcmp(e->key, key) == 0) {
            char *copy = strdup(value); /* @strdup all */

            if (!copy)
                return -ENOMEM;
            free(e->value);
            e->value = copy;
            return 0;
        }
    }
    e = malloc(sizeof *e); /* @malloc all */
    if (e == NULL)
        return -ENOMEM;
    e->section = strdup(section); /* @strdup all */
    e->key = strdup(key); /* @strdup all */
    e->value = strdup(value); /* @strdup none used/dereferenced */
    if (!e->section || !e->key) {
        free(e->section);
        free(e->key);
        free(e->value);
        free(e);
        return -ENOMEM;
    }
    e->next = NULL;
    *c->tail = e;
    c->tail = &e->next;
    c->count++;
    return 0;
}

static char *expand_home(const char *path)
{
    const char *home;
    struct passwd *pw;
    char *out;

    if (path[0] != '~')
        return must(strdup(path)); /* @strdup all */
    home = getenv("HOME"); /* @getenv all */
    if (!home) {
        pw = getpwuid(getuid()); /* @getpwuid none dereferenced */
        home = pw->pw_dir;
    }
    FAIL_IF(asprintf(&out, "%s%s", home, path + 1) < 0, "asprintf"); /* @asprintf all */
    return out;
}

static char *trim(char *s)
{
    size_t n;

    while (isspace((unsigned char)*s))
        s++;
    n = strlen(s);
    while (n && isspace((unsigned char)s[n - 1]))
        s[--n] = '\0';
    return s;
}

static int load(conf_t *c, const char *arg)
{
    char *path = expand_home(arg), *line = NULL, *section;
    size_t cap = 0;
    ssize_t len;
    FILE *f;
    int status = -1;

    section = must(strdup("global")); /* @strdup all */
    if (!(f = fopen(path, "r"))) { /* @fopen all */
        if (errno == ENOENT)
            status = 0;
        goto out;
    }
    note_name(c, path);
    while ((len = getline(&line, &cap, f)) != -1) { /* @getline/__getdelim? all */
        char *s = trim(line), *eq;

        if (*s == '\0' || *s == '#' || *s == ';')
            continue;
        if (*s == '[' && s[strlen(s) - 1] == ']') {
            s[strlen(s) - 1] = '\0';
            free(section);
            section = strdup(s + 1); /* @strdup none dereferenced/used */
            continue;
        }
        eq = strchr(s, '='); /* @strchr any */
        if (!eq) {
            c->errors++;
            continue;
        }
        *eq = '\0';
        if ((status = put(c, section, trim(s), trim(eq + 1))) < 0) {
            errno = -status;
            goto out_close;
        }
    }
    status = ferror(f) ? -1 : 0;
out_close:
    fclose(f); /* @fclose none ignored */
out:
    free(line);
    free(section);
    free(path);
    return status;
}

static int load_dir(conf_t *c, const char *pattern)
{
    glob_t g;
    size_t i;
    int rc, bad = 0;

    rc = glob(pattern, GLOB_ERR, NULL, &g); /* @glob some */
    if (rc == GLOB_NOMATCH)
        return 0;
    if (rc == GLOB_NOSPACE)
        return -1;
    for (i = 0; i < g.gl_pathc; i++)
        bad |= load(c, g.gl_pathv[i]);
    globfree(&g);
    return bad ? -1 : 0;
}

static int validate(const conf_t *c)
{
    const entry_t *e;
    size_t i;
    long v;
    int bad = 0;

    for (e = c->head; e; e = e->next)
        for (i = 0; i < sizeof rules / sizeof rules[0]; i++)
            if (!strcmp(rules[i].key, e->key) && rules[i].valid && !rules[i].valid(e->value, &v)) {
                fprintf(stderr, "[%s] %s: bad value '%s'\n", e->section, e->key, e->value); /* @fprintf none ignored */
                bad++;
            }
    return bad;
}

/* Write everything; the caller learns of every failure. */
static bool dump(const conf_t *c, FILE *out)
{
    const char *last = "";
    const entry_t *e;

    for (e = c->head; e; e = e->next) {
        if (strcmp(e->section, last) != 0) {
            fprintf(out, "[%s]\n", e->section); /* @fprintf all */
            last = e->section;
        }
        fputs(e->key, out); /* @fputs all */
        putc('=', out); /* @putc/fputc all */
        fprintf(out, "%s\n", e->value); /* @fprintf all */
    }
    fflush(out); /* @fflush all */
    return !ferror(out);
}

static int grep_keys(const conf_t *c, const char *pattern)
{
    regex_t re;
    const entry_t *e;
    int hits = 0;

    if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) < 0) { /* @regcomp none used */
        fputs("bad pattern\n", stderr); /* @fputs/fwrite none ignored */
        return -1;
    }
    for (e = c->head; e; e = e->next)
        if (regexec(&re, e->key, 0, NULL, 0) == 0) { /* @regexec all */
            printf("%s.%s = %s\n", e->section, e->key, e->value); /* @printf none ignored */
            hits++;
        }
    regfree(&re);
    return hits;
}

static void store(const conf_t *c, const char *path)
{
    char tmp[PATH_MAX];
    struct stat st;
    FILE *f;
    int n, rc;

    n = snprintf(tmp, sizeof tmp, "%s.new", path); /* @snprintf all */
    FAIL_IF(n < 0 || n >= (int)sizeof tmp, "path");
    f = fopen(tmp, "w"); /* @fopen all */
    FAIL_IF(f == NULL, tmp);
    if (stat(path, &st) == 0) { /* @stat all */
        rc = fchmod(fileno(f), st.st_mode & 0777); /* @fchmod all; @fileno any */
        assert(rc == 0);
        if (fchown(fileno(f), -1, st.st_gid) < 0) { /* @fchown some missing=EIO; @fileno any */
            switch (errno) {
            case EPERM:
                fprintf(stderr, "%s: group not kept\n", path); /* @fprintf none ignored */
                break;
            case EROFS:
                exit(1);
            default:
                break;
            }
        }
    }
    FAIL_IF(!dump(c, f), tmp);
    FAIL_IF(fsync(fileno(f)) < 0, tmp); /* @fsync all; @fileno any */
    FAIL_IF(fclose(f), tmp); /* @fclose all */
    if (rename(tmp, path) && errno == EXDEV) { /* @rename some missing=EACCES */
        complain("different file systems");
        exit(1);
    }
}

int main(int argc, char **argv)
{
    conf_t c = { .tail = &c.head };
    const char *save = NULL, *find = NULL;
    int opt, i;

    while ((opt = getopt(argc, argv, "o:g:d:")) != -1) { /* @getopt any */
        if (opt == 'o')
            save = optarg;
        else if (opt == 'g')
            find = optarg;
        else if (opt == 'd')
            FAIL_IF(load_dir(&c, optarg) < 0, optarg);
        else
            return 2;
    }
    for (i = optind; i < argc; i++)
        if (load(&c, argv[i]))
            complain(argv[i]);
    if (validate(&c) || c.errors)
        return 3;
    if (find)
        return grep_keys(&c, find) > 0 ? 0 : 1;
    if (save) {
        store(&c, save);
        if (unlink("confmerge.bak") == -1 && errno == EPERM) /* @unlink some missing=EACCES */
            return 4;
        return 0;
    }
    return dump(&c, stdout) ? 0 : 1;
}
