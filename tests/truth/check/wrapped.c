/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of all kinds, with callers that look and callers that do not. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

volatile long sink;
volatile int fails;
void *volatile keep;
#define NOINLINE __attribute__((noinline))
#define S(e) (sink += (long)(e))
static NOINLINE void note(const char *what) { fails++; perror(what); }
static NOINLINE _Noreturn void die(const char *what)
{
    fprintf(stderr, "fatal: %s: %m\n", what);           /* @fprintf none ignored */
    exit(2);
}

/* ---- wrappers that die ---- */
static void *xmalloc(size_t n)
{
    void *p = malloc(n);                                /* @malloc all */
    if (!p) die("malloc");
    return p;
}
static NOINLINE void *xrealloc(void *o, size_t n)
{
    void *p = realloc(o, n);                            /* @realloc all */
    if (p == NULL && n != 0) die("realloc");
    return p;
}
static char *xstrdup(const char *s)
{
    char *d = strdup(s);                                /* @strdup all */
    return d ? d : (die("strdup"), d);
}
static int xopen(const char *p, int fl)
{
    int fd = open(p, fl, 0666);                         /* @open all */
    if (fd < 0) die(p);
    return fd;
}
static NOINLINE int xdup(int fd)
{
    int n;
    while ((n = dup(fd)) == -1)                         /* @dup all */
        if (errno != EINTR) die("dup");
    return n;
}
static void use_dying(const char *p, size_t n)
{
    char *a = xmalloc(n); a[0] = 1; keep = a;
    a = xrealloc(a, n * 2); a[1] = 2; keep = a;
    keep = xstrdup(p);
    S(xopen(p, O_RDONLY)); S(xdup(1));
}

/* ---- loops ---- */
static NOINLINE ssize_t safe_read(int fd, void *b, size_t n)
{
    ssize_t r;
    do r = read(fd, b, n);                              /* @read all */
    while (r < 0 && errno == EINTR);
    return r;
}
static void use_safe_read(int fd) { char b[8]; if (safe_read(fd, b, 8) < 0) note("safe_read"); else S(b[0]); }
static NOINLINE ssize_t hasty_write(int fd, const void *b, size_t n)
{
    ssize_t r;
    do r = write(fd, b, n);                             /* @write some missing=ENOSPC */
    while (r == -1 && errno == EINTR);
    return r;
}
static void use_hasty_write(int fd, const char *s) { hasty_write(fd, s, 3); }
static NOINLINE int full_pwrite(int fd, const char *b, size_t n)
{
    size_t done = 0;
    while (done < n) {
        ssize_t w = pwrite(fd, b + done, n - done, (off_t)done); /* @pwrite all */
        if (w <= 0) return -1;
        done += (size_t)w;
    }
    return 0;
}
static void use_full(int fd, const char *s) { if (full_pwrite(fd, s, strlen(s))) note("pwrite"); }

/* ---- translated results ---- */
static NOINLINE bool ok_mkdir(const char *p)
{
    return mkdir(p, 0755) == 0;                         /* @mkdir all */
}
static void use_bool(const char *p) { if (!ok_mkdir(p)) note("mkdir"); }
static NOINLINE int neg_rmdir(const char *p)
{
    return rmdir(p) < 0 ? -errno : 0;                   /* @rmdir all */
}
static void use_neg(const char *p) { int e = neg_rmdir(p); if (e < 0) { errno = -e; note("rmdir"); } }
static NOINLINE int neg_unlink(const char *p)
{
    int rc = unlink(p);                                 /* @unlink some missing=EACCES */
    return rc == 0 ? 0 : -errno;
}
static void use_neg_one(const char *p) { if (neg_unlink(p) == -ENOENT) note("no such file"); }
enum status { ST_OK, ST_MISSING, ST_DENIED, ST_ERROR };
static NOINLINE enum status to_enum(const char *p)
{
    if (access(p, X_OK) == 0) return ST_OK;             /* @access all */
    return errno == ENOENT ? ST_MISSING : errno == EACCES ? ST_DENIED : ST_ERROR;
}
static void use_enum(const char *p) { enum status s = to_enum(p); if (s != ST_OK) note(s == ST_MISSING ? "none" : "bad"); }
static NOINLINE enum status to_enum_leaky(const char *p)
{
    if (chdir(p) < 0) {                                 /* @chdir some missing=ENOTDIR */
        if (errno == ENOENT) return ST_MISSING;
        if (errno == EACCES) return ST_DENIED;
    }
    return ST_OK;
}
static void use_enum_leaky(const char *p) { if (to_enum_leaky(p) != ST_OK) note("chdir"); }
static NOINLINE int flip_stat(const char *p, struct stat *st)
{
    return !stat(p, st);                                /* @stat all */
}
static void use_flip(const char *p) { struct stat st; if (flip_stat(p, &st)) S(st.st_size); else note("stat"); }
struct ctx { int fd, err, count; char *name; };
static NOINLINE void ctx_open(struct ctx *c)
{
    c->fd = open(c->name, O_RDWR);                      /* @open all */
    if (c->fd < 0) c->err = errno;
}
static NOINLINE void ctx_sync(struct ctx *c)
{
    if (c->err) return;
    if (fsync(c->fd)) c->err = errno;                   /* @fsync all */
}
static void use_ctx(char *p)
{
    struct ctx c = { -1, 0, 0, p };
    ctx_open(&c); ctx_sync(&c);
    if (c.err != 0) note("context");
}
static NOINLINE void ctx_lock(struct ctx *c)
{
    c->err = 0;
    if (lockf(c->fd, F_TLOCK, 0) == -1) c->err = errno; /* @lockf some missing=EBADF */
}
static void use_ctx_one(int fd) { struct ctx c = { .fd = fd }; ctx_lock(&c); if (c.err == EAGAIN) note("busy"); }

/* ---- ignored and two callers ---- */
static NOINLINE int w_chmod(const char *p) { S(1); return chmod(p, 0600); } /* @chmod none ignored */
static void ignores_w(const char *p) { w_chmod(p); }
static NOINLINE int w_link(const char *a, const char *b) { S(2); return link(a, b); } /* @link some */
static void one_looks(const char *a, const char *b) { if (w_link(a, b)) note("link"); }
static void other_does_not(const char *a, const char *b) { w_link(b, a); }
static NOINLINE int deep3(int fd, off_t n) { return ftruncate(fd, n); } /* @ftruncate all */
static NOINLINE int deep2(int fd, off_t n) { int r = deep3(fd, n); S(r); return r; }
static NOINLINE int deep1(int fd, off_t n) { return deep2(fd, n + 1); }
static void use_deep(int fd) { if (deep1(fd, 4) == -1) note("ftruncate"); }
static NOINLINE int lost3(int fd) { return fdatasync(fd); } /* @fdatasync none ignored */
static NOINLINE int lost2(int fd) { int r = lost3(fd); sink++; return r; }
static void lost1(int fd) { lost2(fd); }
static NOINLINE char *deep_env(const char *k) { char *v = getenv(k); return v; } /* @getenv none dereferenced */
static NOINLINE const char *deep_env2(const char *k) { sink++; return deep_env(k); }
static void use_deep_env(const char *k) { S(deep_env2(k)[0]); }
static char *env_default(const char *k, char *d) { char *v = getenv(k); return v ? v : d; } /* @getenv all */
static NOINLINE FILE *half_open(const char *p, const char *m)
{
    FILE *f = fopen(p, m);                              /* @fopen all */
    if (!f) note("fopen");
    return f;
}
static void use_half(const char *p) { FILE *f = half_open(p, "r"); if (f) fclose(f); } /* @fclose none ignored */
static NOINLINE void close_and_null(int *fd)
{
    if (*fd >= 0 && close(*fd) != 0) note("close");     /* @close all */
    *fd = -1;
}

/* ---- tables of pointers to own functions ---- */
struct ops { int (*open)(const char *); int (*sync)(int); int (*del)(const char *); void *(*map)(size_t); };
static int op_open(const char *p) { return open(p, O_RDONLY | O_CLOEXEC); } /* @open all */
static int op_sync(int fd) { return fsync(fd); }        /* @fsync none ignored */
static int op_del(const char *p) { return unlink(p); }  /* @unlink none used */
static void *op_map(size_t n) { return mmap(NULL, n, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0); } /* @mmap all */
static const struct ops real_ops = { op_open, op_sync, op_del, op_map };
const struct ops *volatile cur = &real_ops;
static void use_ops(const char *p, size_t n)
{
    const struct ops *o = cur;
    int fd = o->open(p);
    if (fd < 0) { note("ops"); return; }
    o->sync(fd);
    S(o->del(p));
    void *m = o->map(n);
    if (m == MAP_FAILED) note("map"); else keep = m;
}

/* ---- callbacks ---- */
static int visit(const char *p, const struct stat *st, int kind, struct FTW *w)
{
    (void)st; (void)kind; (void)w;
    return remove(p);                                   /* @remove all */
}
static void walk(const char *p) { if (nftw(p, visit, 8, FTW_DEPTH) != 0) note("nftw"); } /* @nftw all */
static int by_size(const void *a, const void *b)
{
    struct stat x = { 0 }, y = { 0 };
    stat(*(char *const *)a, &x);                        /* @stat none ignored */
    if (lstat(*(char *const *)b, &y) < 0) return 1;     /* @lstat all */
    return (x.st_size > y.st_size) - (x.st_size < y.st_size);
}
static void sort(char **v, int n) { qsort(v, (size_t)n, sizeof *v, by_size); }
static int same_mode(const void *k, const void *e)
{
    struct stat x, y;
    if (stat(k, &x) || stat(*(char *const *)e, &y)) return -1; /* @stat all */
    return (int)(x.st_mode - y.st_mode);
}
static void find(const char *k, char **v, int n) { keep = bsearch(k, v, (size_t)n, sizeof *v, same_mode); } /* @bsearch any */
struct job { const char *path; int rc; };
static void *job_main(void *a)
{
    struct job *j = a;
    j->rc = rmdir(j->path);                             /* @rmdir all */
    return j;
}
static void *job_idle(void *a) { (void)a; return (void *)(long)chdir("/tmp"); } /* @chdir none ignored/returned */
static void run_jobs(const char *p)
{
    struct job j = { p, 0 };
    pthread_t t, u;
    if (pthread_create(&t, NULL, job_main, &j) != 0) return; /* @pthread_create all */
    if (pthread_create(&u, NULL, job_idle, NULL) == 0) pthread_join(u, NULL); /* @pthread_create all; @pthread_join none ignored */
    if (pthread_join(t, NULL)) note("join");            /* @pthread_join all */
    if (j.rc != 0) note("job");
}
static void at_end(void) { fflush(stdout); }            /* @fflush none ignored */
static NOINLINE pid_t start(void)
{
    pid_t pid = fork();                                 /* @fork all */
    if (pid == -1) return -1;
    if (pid == 0) { close(0); _exit(0); }               /* @close none ignored */
    return pid;
}
static void use_start(void)
{
    int st;
    pid_t pid = start();
    if (pid > 0 && waitpid(pid, &st, 0) == pid) S(st); else note("child"); /* @waitpid all */
}

int main(int argc, char **argv)
{
    char *p = argv[argc - 1], *q = argv[0];
    int fd = argc + 2;
    use_dying(p, argc + 1); use_safe_read(fd); use_hasty_write(fd, p); use_full(fd, p);
    use_bool(p); use_neg(p); use_neg_one(p); use_enum(p); use_enum_leaky(p); use_flip(p); use_ctx(p); use_ctx_one(fd);
    ignores_w(p); one_looks(p, q); other_does_not(p, q); use_deep(fd); lost1(fd); use_deep_env(p);
    keep = env_default(p, q); use_half(p); close_and_null(&fd); use_ops(p, argc);
    walk(p); sort(argv, argc); find(p, argv, argc); run_jobs(p); use_start();
    atexit(at_end);                                     /* @atexit? any */
    return 0;
}
