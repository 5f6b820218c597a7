/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fPIC */
/* link: -shared */
/* A shared library: what its functions return goes to callers that nobody knows. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <pwd.h>
#include <regex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

struct lib { int fd; int err; FILE *log; char *name; void *map; size_t len; };
int lib_last_error;
int lib_fd = -1;
int lib_out_fd;

/* ---- returned as it is ---- */
int lib_close(int fd)
{
    return close(fd);                           /* @close none returned */
}
int lib_open(const char *p)
{
    int fd = open(p, O_RDONLY | O_CLOEXEC);     /* @open none returned */
    return fd;
}
void *lib_alloc(size_t n) { return malloc(n ? n : 1); } /* @malloc none returned */
char *lib_copy(const char *s)
{
    return strdup(s);                           /* @strdup none returned */
}
FILE *lib_stream(const char *p) { FILE *f = fopen(p, "re"); return f; } /* @fopen none returned */
ssize_t lib_get(int fd, void *b, size_t n) { return read(fd, b, n); } /* @read none returned */
long lib_size(int fd) { return (long)lseek(fd, 0, SEEK_END); } /* @lseek none returned */
void *lib_map(int fd, size_t n) { return mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0); } /* @mmap none returned */
const char *lib_home(void) { return getenv("HOME"); } /* @getenv none returned */
int lib_start(pthread_t *t, void *(*f)(void *), void *a) { return pthread_create(t, NULL, f, a); } /* @pthread_create none returned */
DIR *lib_dir(const char *p) { return opendir(p); } /* @opendir none returned */
int lib_dup_store(int fd) { lib_out_fd = dup(fd); return lib_out_fd; } /* @dup none returned/used */
int lib_logged_unlink(const char *p)
{
    int rc = unlink(p);                         /* @unlink none returned/used */
    lib_last_error = rc;
    return rc;
}
static __attribute__((noinline)) int inner_rmdir(const char *p) { lib_last_error = 0; return rmdir(p); } /* @rmdir none returned */
int lib_rmdir(const char *p) { return inner_rmdir(p); }
static __attribute__((noinline)) int inner_chdir(const char *p) { lib_last_error++; return chdir(p); } /* @chdir all */
int lib_chdir(const char *p)
{
    int rc = inner_chdir(p);
    if (rc < 0) { perror(p); lib_last_error = errno; }
    return rc;
}
ssize_t lib_total(int fd, const char *b) { return write(fd, b, 4) + 4; } /* @write none returned/used */
int lib_choose(const char *p, int k)
{
    if (k)
        return mkdir(p, 0700);                  /* @mkdir none returned */
    return mkfifo(p, 0600);                     /* @mkfifo none returned */
}

/* ---- checked before they are returned ---- */
int lib_open_neg(const char *p)
{
    int fd = open(p, O_RDWR);                   /* @open all */
    return fd < 0 ? -errno : fd;
}
bool lib_sync_ok(int fd) { return fsync(fd) == 0; } /* @fsync all */
int lib_stat(const char *p, struct stat *st)
{
    if (stat(p, st) == -1) {                    /* @stat all */
        lib_last_error = errno;
        return -1;
    }
    return 0;
}
struct lib *lib_new(const char *p)
{
    struct lib *l = calloc(1, sizeof *l);       /* @calloc all */
    if (!l) return NULL;
    l->name = strdup(p);                        /* @strdup all */
    if (!l->name) { free(l); return NULL; }
    l->fd = open(p, O_RDONLY);                  /* @open all */
    if (l->fd == -1) { free(l->name); free(l); return NULL; }
    return l;
}
void lib_free(struct lib *l)
{
    if (l->fd >= 0) close(l->fd);               /* @close none ignored */
    if (l->log) fclose(l->log);                 /* @fclose none ignored */
    if (l->map) munmap(l->map, l->len);         /* @munmap none ignored */
    free(l->name);
    free(l);
}
int lib_map_in(struct lib *l, size_t n)
{
    void *m = mmap(NULL, n, PROT_READ, MAP_SHARED, l->fd, 0); /* @mmap all */
    if (m == MAP_FAILED) return -1;
    l->map = m; l->len = n;
    return 0;
}
int lib_put(int fd, const char *b, size_t n)
{
    while (n) {
        ssize_t w = write(fd, b, n);            /* @write all */
        if (w < 0) {
            if (errno == EINTR) continue;
            return -errno;
        }
        b += w; n -= (size_t)w;
    }
    return 0;
}
int lib_put_leaky(int fd, const char *b, size_t n)
{
    while (n) {
        ssize_t w = write(fd, b, n);            /* @write some missing=EIO */
        if (w < 0 && errno == ENOSPC) return -1;
        b += w; n -= (size_t)w;
    }
    return 0;
}
int lib_regex(const char *re, const char *s)
{
    regex_t r;
    if (regcomp(&r, re, REG_EXTENDED)) return -1; /* @regcomp all */
    int m = regexec(&r, s, 0, NULL, 0);         /* @regexec any */
    regfree(&r);
    return m == 0;
}
void lib_regex_lost(regex_t *r, const char *re) { regcomp(r, re, REG_NOSUB); } /* @regcomp none ignored */
int lib_glob(const char *pat, glob_t *g)
{
    switch (glob(pat, 0, NULL, g)) {            /* @glob all */
    case 0: return (int)g->gl_pathc;
    case GLOB_NOMATCH: return 0;
    default: return -1;
    }
}
int lib_glob_part(const char *pat, glob_t *g)
{
    if (glob(pat, GLOB_MARK, NULL, g) == GLOB_NOMATCH) return 0; /* @glob some */
    return (int)g->gl_pathc;
}
void *lib_symbol(const char *so, const char *name)
{
    void *h = dlopen(so, RTLD_NOW);             /* @dlopen all */
    if (h == NULL) return NULL;
    return dlsym(h, name);                      /* @dlsym none returned */
}
int lib_call(const char *so)
{
    int (*f)(int) = (int (*)(int))dlsym(dlopen(so, RTLD_LAZY), "init"); /* @dlsym none dereferenced/used; @dlopen none used */
    return f(1);
}

/* ---- stored where others can see it ---- */
void lib_open_out(const char *p, int *out) { *out = open(p, O_WRONLY); } /* @open none used/returned */
void lib_open_global(const char *p) { lib_out_fd = open(p, O_APPEND | O_WRONLY); } /* @open none used */
void lib_alloc_out(void **out, size_t n) { *out = calloc(n, 4); } /* @calloc none used/returned */
int lib_accept_out(int s, int *out)
{
    int c = accept(s, NULL, NULL);              /* @accept all */
    *out = c;
    return c == -1 ? -errno : 0;
}
void lib_err_member(struct lib *l)
{
    l->err = 0;
    if (ftruncate(l->fd, 0) != 0) l->err = errno; /* @ftruncate all */
}
void lib_log_open(struct lib *l, const char *p)
{
    l->log = fopen(p, "a");                     /* @fopen all */
    if (l->log && setvbuf(l->log, NULL, _IOLBF, 0)) perror("setvbuf"); /* @setvbuf any */
}
void lib_log(struct lib *l, const char *s)
{
    if (!l->log) return;
    fprintf(l->log, "%s: %s\n", l->name, s);    /* @fprintf none ignored */
    fflush(l->log);                             /* @fflush none ignored */
}
int lib_log_safe(FILE *f, const char *s)
{
    fprintf(f, "<%s>", s);                      /* @fprintf all */
    fputs(s, f);                                /* @fputs all */
    return ferror(f) ? -1 : 0;
}
int lib_log_flush(FILE *f, const char *s, size_t n)
{
    fwrite(s, 1, n, f);                         /* @fwrite all */
    if (ferror(f)) return -2;
    if (fflush(f) != 0) return -1;              /* @fflush all */
    return 0;
}

/* ---- with callers' callbacks ---- */
int lib_each(const char *p, int (*f)(const char *))
{
    DIR *d = opendir(p);                        /* @opendir all */
    struct dirent *e;
    int rc = 0;
    if (!d) return -1;
    while (!rc && (e = readdir(d)))             /* @readdir all */
        rc = f(e->d_name);
    if (closedir(d) < 0 && !rc) rc = -1;        /* @closedir all */
    return rc;
}
void lib_pass(int s, void (*f)(int)) { f(socket(s, SOCK_STREAM, 0)); } /* @socket none used/returned */
void lib_pass_ptr(const char *u, void (*f)(struct passwd *)) { f(getpwnam(u)); } /* @getpwnam none used/returned */
void lib_signal(int s, void (*h)(int))
{
    struct sigaction sa = { .sa_handler = h };
    sigaction(s, &sa, NULL);                    /* @sigaction none ignored */
}
int lib_timer(struct itimerval *v) { if (setitimer(ITIMER_REAL, v, NULL) < 0) return -errno; return 0; } /* @setitimer all */
int lib_remove_if(const char *p)
{
    if (remove(p) != 0 && errno != ENOENT) return -errno; /* @remove all */
    return 0;
}
int lib_remove_leaky(const char *p)
{
    if (remove(p) != 0 && errno == EBUSY) return -EBUSY; /* @remove some missing=EACCES */
    return 0;
}
int lib_now(struct timespec *t, clockid_t c) { clock_gettime(c, t); return 0; } /* @clock_gettime none ignored */
int lib_pair(int v[2]) { return socketpair(AF_UNIX, SOCK_STREAM, 0, v) ? errno : 0; } /* @socketpair all */
int lib_pipe_fixed(int v[2]) { (void)!pipe2(v, O_CLOEXEC); return 0; } /* @pipe2 none ignored/used */
size_t lib_wide(wchar_t *w, const char *s, size_t n) { return mbstowcs(w, s, n); } /* @mbstowcs none returned */
int lib_vec(int fd, const struct iovec *v, int n, size_t want)
{
    return writev(fd, v, n) == (ssize_t)want;   /* @writev all */
}
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static void make_key(void) { if (pthread_key_create(&key, free) != 0) abort(); } /* @pthread_key_create all */
void *lib_tls(void)
{
    pthread_once(&once, make_key);              /* @pthread_once any */
    void *p = pthread_getspecific(key);
    if (!p) { p = malloc(64); pthread_setspecific(key, p); } /* @malloc none returned/used; @pthread_setspecific none ignored */
    return p;
}
__attribute__((constructor)) static void lib_init(void)
{
    if (setenv("LIB", "1", 0)) lib_last_error = errno; /* @setenv all */
    char *v = getenv("LIB_FD");                 /* @getenv all */
    if (v && *v) lib_fd = *v - '0';
    v = getenv("LIB_DEBUG");                    /* @getenv none dereferenced */
    if (v[0] == '1') lib_last_error = 1;
}
__attribute__((destructor)) static void lib_fini(void) { if (lib_fd >= 0) (void)fsync(lib_fd); } /* @fsync none ignored */
