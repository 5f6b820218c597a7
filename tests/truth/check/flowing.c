/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fno-pie */
/* link: -no-pie */
/* The way of a result from the call to the place where it is, or is not, looked at. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

volatile long sink;
volatile int fails;
void *volatile keep;
#define NOINLINE __attribute__((noinline))
#define S(e) (sink += (long)(e))
static NOINLINE void note(const char *what) { fails++; perror(what); }

/* ---- locals and stack slots ---- */
static void copies(const char *p)
{
    int a = open(p, O_RDONLY);                          /* @open all */
    int b = a, c = b;
    S(a);
    if (c < 0) note("open");
}
static void copies_lost(const char *p)
{
    int a = open(p, O_WRONLY);                          /* @open none used */
    int b = a; long c = b;
    S(c);
}
static NOINLINE void touch(int *p) { if (sink == -77) *p = 0; }
static void slot_taken(int fd)
{
    int rc = fsync(fd);                                 /* @fsync all */
    touch(&rc);
    if (rc != 0) note("fsync");
}
static void slot_pointer(int fd) { int rc = 0, *q = &rc; *q = fdatasync(fd); if (rc) note("fdatasync"); } /* @fdatasync all */
static void slot_pointer_lost(int fd)
{
    int rc, *q = &rc;
    *q = dup(fd);                                       /* @dup none used/ignored */
    touch(&rc);
}
static void volatile_slot(const char *p)
{
    volatile int rc = unlink(p);                        /* @unlink all */
    if (rc == -1) note("unlink");
}
static void volatile_lost(const char *p)
{
    volatile int rc = rmdir(p);                         /* @rmdir none used/ignored */
    (void)rc;
}
static void across_calls(const char *p, const char *q)
{
    int a = mkdir(p, 0700);                             /* @mkdir all */
    int b = chmod(q, 0600);                             /* @chmod all */
    char *d = strdup(q);                                /* @strdup all */
    S(getpid()); S(getuid());
    if (a) note("mkdir");
    S(getgid());
    if (b) note("chmod");
    if (!d) note("strdup"); else keep = d;
}
static void last_of_loop(int fd, const char *b)
{
    ssize_t n = 0;
    for (int i = 0; i < 5; i++) n = write(fd, b + i, 1); /* @write any */
    if (n < 0) note("last write");
}
static void sticky_of_loop(int fd, const char *b)
{
    bool bad = false;
    for (int i = 0; i < 5; i++) if (pwrite(fd, b, 1, i) != 1) bad = true; /* @pwrite all */
    if (bad) note("some write");
}
static void previous_of_loop(int fd)
{
    int prev = 0;
    for (int i = 0; i < 4; i++) {
        if (prev < 0) note("previous");
        prev = dup2(fd, 20 + i);                        /* @dup2 all */
    }
    if (prev < 0) note("final");
}

/* ---- members ---- */
struct io { const char *name; int fd; int err; void *buf; };
struct outer { long pad[3]; struct io in, out; };
static NOINLINE void io_open(struct io *io)
{
    io->fd = open(io->name, O_RDWR);                    /* @open all */
}
static void io_use(const char *p)
{
    struct io io = { p, -2, 0, NULL };
    io_open(&io);
    if (io.fd == -1) note(io.name); else S(io.fd);
}
static NOINLINE void io_creat(struct io *io)
{
    io->fd = creat(io->name, 0600);                     /* @creat none used */
}
static void io_creat_use(const char *p) { struct io io = { p, 0, 0, NULL }; io_creat(&io); S(io.fd); }
static void nested(struct outer *o)
{
    o->in.fd = openat(AT_FDCWD, o->in.name, O_RDONLY);  /* @openat all */
    o->out.fd = openat(o->in.fd, o->out.name, O_WRONLY); /* @openat none used/ignored */
    if (o->in.fd < 0) note("in");
}
static void member_neighbour(struct io *io)
{
    io->fd = 0;
    io->err = ftruncate(3, 9);                          /* @ftruncate none used/ignored */
    if (io->fd < 0) note("other member");
}
static void member_buf(struct io *io, size_t n)
{
    io->buf = malloc(n);                                /* @malloc all */
    if (io->buf == NULL) note("buf"); else { memset(io->buf, 1, n); keep = io->buf; }
}
static void member_buf_lost(struct io *io, size_t n)
{
    io->buf = malloc(n + 1);                            /* @malloc none dereferenced */
    ((char *)io->buf)[0] = 'b';
}
union num { int i; unsigned u; long l; };
static void in_union(int fd) { union num n; n.i = dup(fd); if (n.u == -1u) note("dup"); else S(n.u); } /* @dup all */
static void in_union_lost(int fd) { union num n; n.l = lseek(fd, 0, SEEK_CUR); S(n.u); } /* @lseek none used */
struct bits { signed rc : 2; unsigned ok : 1; unsigned rest : 5; };
static void bit_field(const char *p) { struct bits b; b.rc = access(p, W_OK); touch((int *)keep); if (b.rc < 0) note("access"); } /* @access all */
static NOINLINE void bit_set(struct bits *b, int fd) { b->ok = fchdir(fd) == 0; } /* @fchdir all */
static void bit_use(int fd) { struct bits b = { 0, 0, 0 }; bit_set(&b, fd); if (!b.ok) note("fchdir"); }

/* ---- arrays, globals, heap ---- */
static void array_const(int fd)
{
    int r[3];
    r[0] = dup(fd); r[1] = fsync(fd); r[2] = 0;         /* @dup none used; @fsync all */
    S(r[0]);
    if (r[1]) note("fsync");
}
static void array_var(char **v, int n)
{
    int r[8];
    for (int i = 0; i < n && i < 8; i++) r[i] = truncate(v[i], 0); /* @truncate all */
    for (int i = 0; i < n && i < 8; i++) if (r[i] < 0) note(v[i]);
}
static void array_var_lost(int n, int fd)
{
    int r[8] = { 0 };
    for (int i = 0; i < n && i < 8; i++) r[i] = fcntl(fd, F_DUPFD, i); /* @fcntl none used */
    for (int i = 0; i < n && i < 8; i++) S(r[i]);
}
int global_fd = -3, global_rc;
static NOINLINE void global_set(const char *p) { global_fd = open(p, O_APPEND); } /* @open all */
static void global_use(const char *p) { global_set(p); if (global_fd < 0) note("global"); }
static void global_lost(const char *p, const char *q) { global_rc = link(p, q); } /* @link none used/ignored */
static int static_local(const char *p)
{
    static int fd = -2;
    if (fd == -2) fd = creat(p, 0640);                  /* @creat all */
    if (fd == -1) { note("static"); return 0; }
    return fd;
}
static FILE *log_file;
static NOINLINE void log_open(const char *p) { log_file = fopen(p, "a"); } /* @fopen all */
static NOINLINE void log_put(const char *s) { if (log_file) fputs(s, log_file); } /* @fputs none ignored */
static FILE *trace_file;
static NOINLINE void trace_open(const char *p) { trace_file = fopen(p, "w"); } /* @fopen none dereferenced */
static NOINLINE void trace_put(int c) { fputc(c, trace_file); } /* @fputc none ignored */
static void heap_object(const char *p)
{
    struct io *io = calloc(1, sizeof *io);              /* @calloc all */
    if (!io) return;
    keep = io;
    io->fd = open(p, O_DIRECTORY);                      /* @open all */
    touch(&io->err);
    if (io->fd < 0) note("heap");
}

/* ---- out-parameters and structs by value ---- */
static NOINLINE void out_param(const char *p, DIR **d) { *d = opendir(p); } /* @opendir all */
static void out_use(const char *p)
{
    DIR *d;
    out_param(p, &d);
    if (!d) { note("opendir"); return; }
    closedir(d);                                        /* @closedir none ignored */
}
static NOINLINE void out_param_lost(const char *p, char **r) { *r = realpath(p, NULL); } /* @realpath none dereferenced */
static void out_use_lost(const char *p) { char *r; out_param_lost(p, &r); S(strlen(r)); keep = r; }
struct small { int rc, err; };
static NOINLINE struct small small_ret(const char *p)
{
    struct small s = { .err = 0 };
    s.rc = symlink("t", p);                             /* @symlink all */
    if (s.rc) s.err = errno;
    return s;
}
static void small_use(const char *p) { struct small s = small_ret(p); if (s.rc < 0) note("symlink"); else S(s.err); }
static NOINLINE struct small small_raw(int a, int b)
{
    return (struct small){ listen(a, 1), shutdown(b, 1) }; /* @listen all; @shutdown none used */
}
static void small_raw_use(int a, int b) { struct small s = small_raw(a, b); if (s.rc == -1) note("listen"); S(s.err); }
struct large { long a[4]; int rc; void *m; };
static NOINLINE struct large large_ret(size_t n, int fd)
{
    struct large l = { { 1, 2, 3, 4 }, 0, NULL };
    l.rc = fchmod(fd, 0600);                            /* @fchmod all */
    l.m = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0); /* @mmap all */
    return l;
}
static void large_use(size_t n, int fd)
{
    struct large l = large_ret(n, fd);
    if (l.rc < 0) note("fchmod");
    if (l.m == MAP_FAILED) note("mmap"); else keep = l.m;
}
static NOINLINE struct large large_lost(int fd)
{
    struct large l = { { 5, 6 }, 1, NULL };
    l.a[1] = lseek(fd, 0, SEEK_END);                    /* @lseek none used */
    return l;
}
static void large_lost_use(int fd) { struct large l = large_lost(fd); S(l.a[0] + l.a[1]); }

/* ---- callees that look ---- */
static NOINLINE void must(int rc, const char *what) { if (rc < 0) { note(what); exit(1); } }
static void checked_by_callee(int fd) { must(fcntl(fd, F_GETFD), "fcntl"); } /* @fcntl all */
static NOINLINE void check_many(int n, ...)
{
    va_list ap;
    va_start(ap, n);
    for (int i = 0; i < n; i++) if (va_arg(ap, int) != 0) note("variadic");
    va_end(ap);
}
static void checked_variadic(int a, const char *p) { check_many(2, close(a), unlink(p)); } /* @close all; @unlink all */
static NOINLINE int recurse(char *const *v, int n)
{
    if (n == 0) return 0;
    int rc = remove(v[0]);                              /* @remove all */
    int rest = recurse(v + 1, n - 1);
    return rc != 0 ? rc : rest;
}
static NOINLINE int recurse_sum(char *const *v, int n) { return n ? rename(v[0], "y") + recurse_sum(v + 1, n - 1) : 0; } /* @rename none used */
static void *worker(void *a) { return (void *)(long)fsync((int)(long)a); } /* @fsync all */
static void through_join(int fd)
{
    pthread_t t; void *r = NULL;
    if (pthread_create(&t, NULL, worker, (void *)(long)fd)) return; /* @pthread_create all */
    if (pthread_join(t, &r)) return;                    /* @pthread_join all */
    if (r != NULL) note("thread");
}
static void stack_errno(const char *p)
{
    int e = 0;
    if (chdir(p) == -1) e = errno;                      /* @chdir all */
    S(getpid());
    if (e == 0) S(1); else note("chdir");
}

int main(int argc, char **argv)
{
    const char *p = argv[argc - 1], *q = argv[0];
    int fd = argc + 2;
    struct io io = { p, 0, 0, NULL };
    struct outer o = { { 0 }, io, io };
    copies(p); copies_lost(p); slot_taken(fd); slot_pointer(fd); slot_pointer_lost(fd); volatile_slot(p);
    volatile_lost(p); across_calls(p, q); last_of_loop(fd, q); sticky_of_loop(fd, q); previous_of_loop(fd);
    io_use(p); io_creat_use(p); nested(&o); member_neighbour(&io); member_buf(&io, argc); member_buf_lost(&io, argc);
    keep = &io; in_union(fd); in_union_lost(fd); bit_field(p); bit_use(fd);
    array_const(fd); array_var(argv, argc); array_var_lost(argc, fd); global_use(p); global_lost(p, q);
    S(static_local(p)); log_open(p); log_put(q); trace_open(p); trace_put(argc); heap_object(p);
    out_use(p); out_use_lost(p); small_use(p); small_raw_use(fd, argc); large_use(argc, fd); large_lost_use(fd);
    checked_by_callee(fd); checked_variadic(fd, p); if (recurse(argv, argc)) note("recurse");
    S(recurse_sum(argv, argc)); through_join(fd); stack_errno(p);
    return 0;
}
