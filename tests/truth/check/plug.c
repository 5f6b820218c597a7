/* SPDX-License-Identifier: Apache-2.0 */
/* plug: filters text through a chain of stages, some of them loaded at run time. */
/* link: -ldl */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <iconv.h>
#include <langinfo.h>
#include <locale.h>
#include <pwd.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

struct stage;

struct stage_ops
{
    const char *name;
    int (*open) (struct stage *, const char *arg);
    ssize_t (*feed) (struct stage *, char *line, size_t len);
    void (*close) (struct stage *);
};

struct stage
{
    const struct stage_ops *ops;
    void *priv;
    iconv_t cd;
    regex_t re;
    FILE *tee;
    struct stage *next;
};

static struct stage *chain;
static void *handles[8];
static int nhandles;
static char *histfile;
static int dropped;

/* ---- grep: keeps the lines that match ---- */

static int
grep_open (struct stage *st, const char *arg)
{
    char msg[128];
    int rc = regcomp (&st->re, arg, REG_EXTENDED | REG_NOSUB);  /* @regcomp all */

    if (rc != 0)
    {
        regerror (rc, &st->re, msg, sizeof msg);
        warnx ("%s: %s", arg, msg);
        return -1;
    }
    return 0;
}

static ssize_t
grep_feed (struct stage *st, char *line, size_t len)
{
    if (regexec (&st->re, line, 0, NULL, 0) != 0)       /* @regexec all */
        return 0;
    return (ssize_t) len;
}

static void
grep_close (struct stage *st)
{
    regfree (&st->re);
}

/* ---- recode: from a named charset to that of the locale ---- */

static int
recode_open (struct stage *st, const char *arg)
{
    st->cd = iconv_open (nl_langinfo (CODESET), arg);   /* @iconv_open all */
    st->priv = malloc (8192);                           /* @malloc none used/dereferenced */
    if (st->cd == (iconv_t) -1)
    {
        warn ("%s", arg);
        return -1;
    }
    return 0;
}

static ssize_t
recode_feed (struct stage *st, char *line, size_t len)
{
    char *in = line, *out = st->priv;
    size_t inleft = len, outleft = 8191, n;

    do
    {
        n = iconv (st->cd, &in, &inleft, &out, &outleft);       /* @iconv all */
        if (n == (size_t) -1)
            switch (errno)
            {
            case EILSEQ:
                in++;
                inleft--;
                dropped++;
                break;
            case E2BIG:
            case EINVAL:
            default:
                return -1;
            }
    }
    while (inleft > 0);
    *out = '\0';
    n = (size_t) (out - (char *) st->priv);
    memcpy (line, st->priv, n < len ? n + 1 : len);
    return (ssize_t) (n < len ? n : len);
}

static void
recode_close (struct stage *st)
{
    iconv_close (st->cd);               /* @iconv_close none ignored */
    free (st->priv);
}

/* ---- tee: copies the lines into a file ---- */

static int
tee_open (struct stage *st, const char *arg)
{
    st->tee = fopen (arg, "a");         /* @fopen all */
    return st->tee ? 0 : -1;
}

static ssize_t
tee_feed (struct stage *st, char *line, size_t len)
{
    if (fwrite (line, 1, len, st->tee) != len || putc ('\n', st->tee) == EOF)   /* @fwrite all; @putc/fputc all */
        return -1;
    return (ssize_t) len;
}

static void
tee_close (struct stage *st)
{
    if (fclose (st->tee) == EOF)        /* @fclose all */
        warn ("tee");
}

static const struct stage_ops builtin[] = {
    { "grep", grep_open, grep_feed, grep_close },
    { "recode", recode_open, recode_feed, recode_close },
    { "tee", tee_open, tee_feed, tee_close },
};

static const struct stage_ops *
load_ops (const char *file)
{
    const struct stage_ops *ops;
    void *h;

    h = dlopen (file, RTLD_NOW | RTLD_LOCAL);   /* @dlopen all */
    if (h == NULL)
    {
        warnx ("%s", dlerror ());
        return NULL;
    }
    ops = dlsym (h, "plug_stage_ops");          /* @dlsym all */
    if (ops == NULL || nhandles == 8)
    {
        warnx ("%s is no stage", file);
        dlclose (h);                            /* @dlclose none ignored */
        return NULL;
    }
    handles[nhandles++] = h;
    return ops;
}

static void
call_hook (void *h, const char *name)
{
    void (*hook) (void) = (void (*) (void)) dlsym (h, name);    /* @dlsym none dereferenced/used */

    hook ();
}

static void
add_stage (const struct stage_ops *ops, const char *arg)
{
    struct stage *st, **pp;

    st = calloc (1, sizeof *st);        /* @calloc all */
    if (!st)
        err (1, NULL);
    st->ops = ops;
    if (ops->open (st, arg) < 0)
    {
        free (st);
        errx (1, "stage %s failed", ops->name);
    }
    for (pp = &chain; *pp; pp = &(*pp)->next)
        ;
    *pp = st;
}

static void
stage_by_name (char *spec)
{
    char *arg = strchr (spec, '=');
    size_t i;

    if (arg)
        *arg++ = '\0';
    for (i = 0; i < sizeof builtin / sizeof builtin[0]; i++)
        if (strcmp (builtin[i].name, spec) == 0)
        {
            add_stage (&builtin[i], arg ? arg : "");
            return;
        }
    errx (2, "no stage %s", spec);
}

static void
load_dir (const char *dir)
{
    const struct stage_ops *ops;
    char *pattern;
    glob_t g;
    size_t i;

    if (asprintf (&pattern, "%s/*.so", dir) == -1)      /* @asprintf all */
        err (1, "asprintf");
    if (glob (pattern, 0, NULL, &g) == GLOB_NOSPACE)    /* @glob some */
        errx (1, "glob: no memory");
    free (pattern);
    for (i = 0; i < g.gl_pathc; i++)
        if ((ops = load_ops (g.gl_pathv[i])) != NULL)
            add_stage (ops, "");
    globfree (&g);
}

static void
cleanup (void)
{
    struct stage *st;
    int i;

    while ((st = chain) != NULL)
    {
        chain = st->next;
        st->ops->close (st);
        free (st);
    }
    for (i = 0; i < nhandles; i++)
    {
        call_hook (handles[i], "plug_exit");
        if (dlclose (handles[i]) != 0)          /* @dlclose all */
            warnx ("%s", dlerror ());
    }
    if (fclose (stdout) != 0)                   /* @fclose all */
    {
        warn ("stdout");
        _exit (1);
    }
}

static char *
home_file (const char *leaf)
{
    const char *home = getenv ("HOME");         /* @getenv all */
    struct passwd *pw;
    char *path;
    size_t n;

    if (home == NULL)
    {
        pw = getpwuid (getuid ());              /* @getpwuid none dereferenced */
        home = pw->pw_dir;
    }
    n = strlen (home) + strlen (leaf) + 2;
    path = malloc (n);                          /* @malloc none dereferenced/used */
    snprintf (path, n, "%s/%s", home, leaf);    /* @snprintf none ignored */
    return path;
}

static void
remember (int argc, char **argv)
{
    int fd, i;

    fd = open (histfile, O_WRONLY | O_APPEND | O_CREAT, 0600);  /* @open all */
    if (fd < 0)
        return;
    for (i = 1; i < argc; i++)
        if (write (fd, argv[i], strlen (argv[i])) < 0 || write (fd, " ", 1) < 0)    /* @write all */
            break;
    write (fd, "\n", 1);                        /* @write none ignored */
    if (fchmod (fd, 0600) < 0 && errno == EPERM)        /* @fchmod some missing=EROFS,EIO */
        warn ("%s", histfile);
    close (fd);                                 /* @close none ignored */
}

static size_t
width (const char *s)
{
    size_t n = mbstowcs (NULL, s, 0);           /* @mbstowcs none used */
    return n > 0 ? n : 1;
}

int
main (int argc, char **argv)
{
    char *line = NULL;
    size_t cap = 0, columns = 0;
    ssize_t n;
    int i;

    if (!setlocale (LC_ALL, ""))                /* @setlocale all */
        warnx ("locale not supported");
    if (atexit (cleanup) != 0)                  /* @atexit? any */
        errx (1, "atexit");
    if (setvbuf (stdout, NULL, _IOFBF, 1 << 16) != 0)   /* @setvbuf all */
        warnx ("setvbuf");
    histfile = home_file (".plug_history");
    remember (argc, argv);
    for (i = 1; i < argc; i++)
        if (argv[i][0] == '/')
            load_dir (argv[i]);
        else
            stage_by_name (argv[i]);
    while ((n = getline (&line, &cap, stdin)) != -1)    /* @getline/__getdelim all */
    {
        struct stage *st;

        if (n > 0 && line[n - 1] == '\n')
            line[--n] = '\0';
        for (st = chain; st && n > 0; st = st->next)
            n = st->ops->feed (st, line, (size_t) n);
        if (n < 0)
            errx (1, "a stage failed");
        if (n == 0)
            continue;
        columns += width (line);
        if (puts (line) == EOF)                 /* @puts all */
            err (1, "stdout");
    }
    if (ferror (stdin))
        err (1, "stdin");
    fprintf (stderr, "%zu columns, %d characters dropped\n", columns, dropped); /* @fprintf none ignored */
    free (line);
    return 0;
}
