/* SPDX-License-Identifier: Apache-2.0 */
/* Idioms once more, in many small functions: switches and tables, errno in all forms, wrappers of wrappers, loops. */
#define _GNU_SOURCE
#include <assert.h>
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define TRY(x) do { if ((x) < 0) goto fail; } while (0)
#define RETRY(x) ({ __typeof__(x) r_; do r_ = (x); while (r_ == -1 && errno == EINTR); r_; })

static int verbose, failures;
static const char *last_error;

/* --- switches --------------------------------------------------------------------------------------------------- */

KEEP const char *sw_read(int fd, char *b)
{
    switch (read(fd, b, 4)) { /* @read all */
    case -1: return "error";
    case 0: return "end";
    case 4: return "whole";
    default: return "part";
    }
}

KEEP int sw_read_no_error(int fd, char *b)
{
    switch (read(fd, b, 3)) { /* @read any */
    case 0: return 10;
    case 1: return 11;
    case 2: return 12;
    case 3: return 13;
    }
    return 0;
}

KEEP int sw_errno(const char *p)
{
    int fd = open(p, O_RDWR | O_CREAT | O_EXCL, 0600); /* @open all */
    if (fd != -1)
        return fd;
    switch (errno) {
    case EEXIST:
    case ENOTEMPTY: return -2;
    case EACCES:
    case EPERM:
    case EROFS: return -3;
    case ENOSPC:
    case EDQUOT: return -4;
    default: return -1;
    }
}

KEEP const char *sw_wait(pid_t pid)
{
    int st;
    switch (waitpid(pid, &st, WNOHANG)) { /* @waitpid all */
    case 0: return "running";
    case -1: return "error";
    default: return WIFEXITED(st) ? "done" : "killed";
    }
}

KEEP int sw_fork(char **argv)
{
    switch (fork()) { /* @fork none used/ignored */
    case 0:
        execv(argv[0], argv); /* @execv any */
        _exit(127);
    default:
        return 1;
    }
}

KEEP int sw_pthread(pthread_mutex_t *m)
{
    switch (pthread_mutex_trylock(m)) { /* @pthread_mutex_trylock some */
    case EBUSY: return 0;
    case EINVAL: abort();
    }
    return 1;
}

/* --- errno ------------------------------------------------------------------------------------------------------ */

KEEP int er_saved(const char *p)
{
    int rc = mkdir(p, 0755), saved = errno; /* @mkdir all */
    if (rc && saved != EEXIST)
        return -saved;
    return 0;
}

KEEP int er_only_exist(const char *p)
{
    int rc = mkdir(p, 0700); /* @mkdir some missing=EACCES */
    if (rc < 0 && errno == EEXIST)
        return 1;
    return 2;
}

KEEP int er_two(const char *p)
{
    if (unlink(p) && (errno == EPERM || errno == EACCES)) /* @unlink some missing=EBUSY */
        return -1;
    return 0;
}

KEEP int er_not_two(const char *p)
{
    if (rmdir(p) && errno != ENOENT && errno != ENOTEMPTY) /* @rmdir all */
        return -1;
    return 0;
}

KEEP ssize_t er_again(int fd, void *b, size_t n)
{
    ssize_t r = recv(fd, b, n, MSG_DONTWAIT); /* @recv all */
    if (r == -1)
        return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
    return r;
}

KEEP ssize_t er_again_only(int fd, void *b, size_t n)
{
    ssize_t r = recv(fd, b, n, MSG_DONTWAIT); /* @recv some missing=ECONNREFUSED */
    if (r < 0 && errno == EAGAIN)
        r = 0;
    return write(1, b, r) > 0; /* @write all */
}

KEEP int er_readdir(DIR *d, const char *name)
{
    struct dirent *e;
    errno = 0;
    while ((e = readdir(d)) != NULL) /* @readdir all */
        if (!strcmp(e->d_name, name))
            return 1;
    return errno ? -1 : 0;
}

KEEP long er_strtol(const char *s)
{
    char *end;
    long n;
    errno = 0;
    n = strtol(s, &end, 10); /* @strtol all */
    if ((errno == ERANGE && (n == LONG_MAX || n == LONG_MIN)) || (errno != 0 && n == 0))
        err(1, "strtol");
    if (end == s)
        errx(1, "no digits");
    return n;
}

KEEP unsigned er_strtoul_end_only(const char *s)
{
    char *end;
    unsigned long n = strtoul(s, &end, 10); /* @strtoul none used */
    if (*end != '\0')
        exit(2);
    return (unsigned)n * 2u;
}

KEEP int er_perror(const char *p)
{
    struct stat st;
    if (stat(p, &st)) { /* @stat all */
        if (errno != ENOENT)
            perror(p);
        return 0;
    }
    return 1;
}

KEEP int er_message_only(const char *p)
{
    if (chmod(p, 0600) < 0) /* @chmod all */
        fprintf(stderr, "chmod: %s\n", strerror(errno)); /* @fprintf none ignored */
    return 3;
}

KEEP int er_sys_nerr(const char *p, const char *q)
{
    rename(p, q); /* @rename none ignored */
    return errno;
}

/* --- returned through functions ------------------------------------------------------------------------------------ */

static KEEP int w1(const char *p) { return open(p, O_RDONLY); } /* @open all */
static KEEP int w2(const char *p) { int fd = w1(p); if (verbose) fprintf(stderr, "%d\n", fd); return fd; } /* @fprintf none ignored */
static KEEP int w3(const char *p) { return w2(p); }

KEEP int through_three(const char *p)
{
    int fd = w3(p);
    if (fd < 0)
        return 1;
    close(fd); /* @close none ignored */
    return 0;
}

static KEEP void *a1(size_t n) { return calloc(1, n); } /* @calloc none dereferenced/used */
static KEEP void *a2(size_t n) { return a1(n + 16); }

KEEP int through_two_unchecked(size_t n)
{
    int *p = a2(n);
    p[1] = 2;
    return p[0] + p[1];
}

static KEEP bool is_ok(int rc) { return rc == 0; }

KEEP int by_predicate(const char *p)
{
    if (!is_ok(truncate(p, 100))) /* @truncate all */
        return -1;
    return 0;
}

static KEEP int negative_errno(int rc) { return rc == -1 ? -errno : rc; }

KEEP int by_translation(int fd)
{
    int rc = negative_errno(fsync(fd)); /* @fsync all */
    if (rc == -EIO)
        last_error = "io";
    else if (rc < 0)
        last_error = "other";
    return rc;
}

KEEP int by_translation_ignored(int fd)
{
    negative_errno(fdatasync(fd)); /* @fdatasync any */
    return 0;
}

static KEEP void must(int rc, const char *what)
{
    if (unlikely(rc != 0)) {
        perror(what);
        exit(EXIT_FAILURE);
    }
}

KEEP void with_must(const char *p, const char *q)
{
    must(link(p, q), "link"); /* @link all */
    must(pthread_sigmask(SIG_BLOCK, NULL, NULL), "sigmask"); /* @pthread_sigmask all */
}

static KEEP void note(const char *what, int rc) { if (verbose) fprintf(stderr, "%s: %d\n", what, rc); } /* @fprintf none ignored */

KEEP void with_note(const char *p)
{
    note("chdir", chdir(p)); /* @chdir none used/ignored */
}

static KEEP FILE *opened(const char *p, int *ret_error)
{
    FILE *f = fopen(p, "r"); /* @fopen all */
    *ret_error = f ? 0 : errno;
    return f;
}

KEEP int out_error(const char *p)
{
    int e;
    FILE *f = opened(p, &e);
    if (e)
        return -e;
    return fclose(f); /* @fclose none used/returned/ignored */
}

struct reply { bool ok; int value; };

static KEEP struct reply in_struct(const char *p)
{
    struct reply r;
    r.value = open(p, O_WRONLY); /* @open all */
    r.ok = r.value >= 0;
    return r;
}

KEEP int from_struct(const char *p)
{
    struct reply r = in_struct(p);
    return r.ok ? r.value : -1;
}

/* --- loops --------------------------------------------------------------------------------------------------------- */

KEEP int lo_write_all(int fd, const char *b, size_t n)
{
    size_t done = 0;
    while (done < n) {
        ssize_t k = write(fd, b + done, n - done); /* @write all */
        if (k == -1) {
            if (errno == EINTR || errno == EAGAIN)
                continue;
            return -1;
        }
        done += k;
    }
    return 0;
}

KEEP int lo_read_until(int fd, char *b, int max)
{
    int n = 0;
    while (n < max && read(fd, b + n, 1) == 1 && b[n] != '\n') /* @read all */
        n++;
    return n;
}

KEEP size_t lo_count(FILE *f)
{
    size_t n = 0;
    int c;
    for (c = fgetc(f); c != EOF; c = fgetc(f)) /* @fgetc/getc all */
        n++;
    return n;
}

KEEP int lo_retry_macro(int fd)
{
    char b[16];
    ssize_t n = RETRY(read(fd, b, sizeof b)); /* @read all */
    return n <= 0 ? -1 : b[0];
}

KEEP int lo_retry_macro_used(int fd)
{
    char b[16];
    ssize_t n = RETRY(read(fd, b, sizeof b)); /* @read some missing=EIO */
    b[n] = 0;
    return strlen(b) > 2;
}

KEEP int lo_connect(int fd, struct sockaddr *sa, socklen_t len)
{
    int tries;
    for (tries = 0; tries < 5; tries++) {
        if (!connect(fd, sa, len)) /* @connect all */
            return 0;
        sleep(1u << tries);
    }
    return -1;
}

KEEP void lo_close_from(int low)
{
    for (long fd = low; fd < sysconf(_SC_OPEN_MAX); fd++) /* @sysconf any */
        close((int)fd); /* @close none ignored */
}

KEEP int lo_select(int fd)
{
    fd_set set;
    struct timeval tv = { 5, 0 };
    int n;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    n = select(fd + 1, &set, NULL, NULL, &tv); /* @select all */
    if (n > 0)
        return 1;
    if (n == 0)
        return 0;
    return -1;
}

KEEP int lo_select_fd(const char *p)
{
    fd_set set;
    int fd = open(p, O_RDONLY | O_NONBLOCK); /* @open none used */
    FD_ZERO(&set);
    FD_SET(fd, &set);
    return select(fd + 1, &set, NULL, NULL, NULL) > 0 && FD_ISSET(fd, &set); /* @select all */
}

KEEP int lo_first_good(char **paths)
{
    int fd = -1;
    for (int i = 0; paths[i] && fd < 0; i++)
        fd = open(paths[i], O_RDONLY); /* @open all */
    return fd;
}

KEEP FILE *lo_any(char **paths)
{
    FILE *f;
    do
        f = fopen(*paths++, "r"); /* @fopen all */
    while (!f && *paths);
    return f;
}

/* --- memory -------------------------------------------------------------------------------------------------------- */

KEEP char *me_dup(const char *s)
{
    char *p = strdup(s); /* @strdup all */
    assert(p != NULL);
    p[0] = 'x';
    return p;
}

KEEP int me_two(size_t n)
{
    char *a = NULL, *b = NULL;
    int rc = -ENOMEM;
    if ((a = malloc(n)) && (b = malloc(n))) { /* @malloc? all */
        a[0] = b[0] = 1;
        rc = 0;
    }
    free(a);
    free(b);
    return rc;
}

KEEP char *me_grow(char *p, size_t *cap)
{
    char *q = realloc(p, *cap *= 2); /* @realloc all */
    if (likely(q))
        return q;
    free(p);
    return NULL;
}

KEEP char *me_grow_leak(char *p, size_t n)
{
    p = realloc(p, n); /* @realloc none dereferenced/used */
    p[n - 1] = 0;
    return p;
}

KEEP int me_used_then_checked(size_t n)
{
    char *p = malloc(n); /* @malloc/calloc any */
    memset(p, 0, n);
    if (!p)
        return -1;
    return p[n - 1];
}

KEEP int me_string(const char *s)
{
    char *t;
    if (asprintf(&t, "<%s>", s) < 0) /* @asprintf all */
        return -1;
    int n = (int)strlen(t);
    free(t);
    return n;
}

KEEP void *me_map(int fd, size_t n)
{
    void *p = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0); /* @mmap all */
    return p == MAP_FAILED ? NULL : p;
}

KEEP int me_map_zero(int fd, size_t n)
{
    unsigned char *p = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0); /* @mmap none dereferenced */
    if (!p)
        return -1;
    return p[0];
}

KEEP int me_lock(void *p, size_t n)
{
    mlock(p, n); /* @mlock none ignored */
    return madvise(p, n, MADV_DONTDUMP) == -1 && verbose; /* @madvise all */
}

/* --- wrong questions -------------------------------------------------------------------------------------------------- */

KEEP int wr_socket(void)
{
    int s = socket(AF_INET, SOCK_DGRAM, 0); /* @socket none used */
    if (s == 0)
        return 1;
    return listen(s, 1) == 0 ? 0 : 1; /* @listen all */
}

KEEP int wr_fopen(const char *p)
{
    FILE *f = fopen(p, "r"); /* @fopen none dereferenced/used */
    if (f < (FILE *)0)
        return -1;
    return getc(f); /* @getc none used/returned */
}

KEEP int wr_opendir(const char *p)
{
    DIR *d = opendir(p); /* @opendir none dereferenced/used */
    if (d == (DIR *)-1)
        return -1;
    return closedir(d); /* @closedir none used/returned */
}

KEEP int wr_mutex(pthread_mutex_t *m)
{
    if (pthread_mutex_lock(m) < 0) { /* @pthread_mutex_lock none used/ignored */
        perror("lock");
        return -1;
    }
    pthread_mutex_unlock(m); /* @pthread_mutex_unlock none ignored */
    return 0;
}

KEEP int wr_getaddr(int fd)
{
    int on;
    socklen_t len = sizeof on;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &on, &len) == 1) /* @getsockopt none used/ignored */
        return -1;
    return on;
}

KEEP int wr_signal(void (*h)(int))
{
    if (signal(SIGUSR1, h) == NULL) /* @signal none used/ignored */
        return -1;
    return 0;
}

KEEP int wr_assign(const char *p)
{
    int fd;
    if ((fd = open(p, O_RDONLY) < 0)) /* @open all */
        return -1;
    return fd;
}

KEEP int wr_late(const char *p)
{
    char b[32];
    int fd = open(p, O_RDONLY); /* @open all */
    ssize_t n = read(fd, b, sizeof b); /* @read all */
    if (fd == -1 || n == -1)
        return -1;
    return b[0];
}

KEEP int wr_pipe(void)
{
    int p[2] = { -1, -1 };
    pipe(p); /* @pipe none ignored */
    write(p[1], "x", 1); /* @write none ignored */
    return p[0];
}

/* --- streams ------------------------------------------------------------------------------------------------------------ */

KEEP int st_whole(FILE *f, const void *b, size_t n)
{
    return fwrite(b, n, 1, f) == 1 && !fflush(f) ? 0 : -1; /* @fwrite all; @fflush all */
}

KEEP int st_items(FILE *f, double *v, int n)
{
    if (fread(v, sizeof *v, n, f) != (size_t)n) /* @fread all */
        return ferror(f) ? -1 : 0; /* @ferror any */
    return n;
}

KEEP int st_line(FILE *f, char *b, int n)
{
    if (fgets(b, n, f) == NULL) /* @fgets all */
        return 0;
    b[strcspn(b, "\n")] = 0;
    return 1;
}

KEEP int st_line_blind(FILE *f)
{
    char b[80];
    fgets(b, sizeof b, f); /* @fgets none ignored */
    return b[0];
}

KEEP int st_scan(FILE *f)
{
    int a, b;
    if (fscanf(f, "%d %d", &a, &b) < 2) /* @fscanf all */
        return 0;
    return a * b;
}

KEEP int st_scan_loop(FILE *f)
{
    int a, sum = 0;
    while (fscanf(f, "%d", &a) == 1) /* @fscanf all */
        sum += a;
    return sum;
}

KEEP int st_print(FILE *f, const char *s)
{
    if (fprintf(f, "%s;%zu\n", s, strlen(s)) < 0) /* @fprintf all */
        failures++;
    return fputs(s, f) == EOF ? -1 : 0; /* @fputs all */
}

KEEP int st_close(FILE *f)
{
    if (fclose(f) == EOF) { /* @fclose all */
        failures++;
        return -1;
    }
    return 0;
}

KEEP int st_format(char *b, size_t n, const char *s)
{
    int k = snprintf(b, n, "%s/%s", s, s); /* @snprintf all */
    if (k < 0)
        return -1;
    return (size_t)k < n;
}

KEEP int st_format_exact(const char *s)
{
    char b[64];
    if ((size_t)snprintf(b, sizeof b, "[%s]", s) >= sizeof b) /* @snprintf all */
        return -1;
    return b[1];
}

KEEP int st_temp(void)
{
    FILE *f = tmpfile(); /* @tmpfile none dereferenced/used */
    int n = fprintf(f, "%d", verbose); /* @fprintf none used */
    rewind(f);
    fclose(f); /* @fclose none ignored */
    return n;
}

/* --- with goto ---------------------------------------------------------------------------------------------------------- */

KEEP int go_copy(const char *from, const char *to)
{
    int in = -1, out = -1, rc = -1;
    char b[512];
    ssize_t n;

    TRY(in = open(from, O_RDONLY)); /* @open all */
    TRY(out = open(to, O_WRONLY | O_CREAT, 0644)); /* @open all */
    while ((n = read(in, b, sizeof b)) > 0) /* @read all */
        TRY(lo_write_all(out, b, n));
    TRY(n);
    TRY(fchmod(out, 0600)); /* @fchmod all */
    TRY(fsync(out)); /* @fsync all */
    rc = 0;
fail:
    if (in >= 0)
        close(in); /* @close none ignored */
    if (out >= 0)
        rc |= close(out); /* @close all */
    return rc;
}

KEEP int go_back(const char *p)
{
    int fd, tries = 0;
again:
    fd = open(p, O_RDWR | O_CREAT | O_EXCL, 0600); /* @open all */
    if (fd < 0) {
        if (errno == EEXIST && tries++ < 3) {
            unlink(p); /* @unlink none ignored */
            goto again;
        }
        return -errno;
    }
    return fd;
}

static void handler(int sig) { (void)sig; }

int main(int argc, char **argv)
{
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    char b[512], *s = argv[0];
    const char *p = argv[1], *q = argv[2];
    size_t cap = 100;
    double v[3];
    int r = 0;
    FILE *f;
    DIR *d;

    if (argc < 3)
        return 2;
    verbose = argc > 4;
    r += *sw_read(0, b) + sw_read_no_error(0, b) + *sw_wait(argc) + sw_fork(argv) + sw_pthread(&m);
    if (sw_errno(p) < 0 || er_saved(p) < 0)
        return 1;
    r += er_only_exist(p) + er_two(p) + er_not_two(p) + er_again_only(0, b, 10) + er_perror(p) + er_message_only(p);
    if (er_again(0, b, 10) < 0 || !(d = opendir(p)) || er_readdir(d, q) < 0) /* @opendir all */
        return 1;
    r += er_strtol(p) + er_strtoul_end_only(q) + er_sys_nerr(p, q) + through_three(p) + through_two_unchecked(cap);
    r += by_predicate(p) + by_translation(1) + by_translation_ignored(1) + out_error(p) + from_struct(p);
    with_must(p, q);
    with_note(p);
    r += lo_write_all(1, b, 10) + lo_read_until(0, b, 10) + lo_count(stdin) + lo_retry_macro(0) + lo_retry_macro_used(0);
    r += lo_connect(3, NULL, 0) + lo_select(0) + lo_select_fd(p);
    lo_close_from(3);
    if (lo_first_good(argv) < 0 || !(f = lo_any(argv)))
        return 1;
    s = me_dup(s);
    r += me_two(10) + me_used_then_checked(10) + me_string(p) + me_map_zero(3, 10) + me_lock(b, 10);
    if (!(s = me_grow(s, &cap)) || !me_map(3, 100))
        return 1;
    r += *me_grow_leak(s, 1000);
    r += wr_socket() + wr_fopen(p) + wr_opendir(p) + wr_mutex(&m) + wr_getaddr(3) + wr_signal(handler) + wr_assign(p);
    r += wr_late(p) + wr_pipe();
    r += st_whole(f, b, 10) + st_items(f, v, 3) + st_line(f, b, 10) + st_line_blind(f) + st_scan(f) + st_scan_loop(f);
    r += st_print(f, p) + st_close(f) + st_format(b, 10, p) + st_format_exact(p) + st_temp();
    if (go_copy(p, q) || go_back(p) < 0)
        return 1;
    return r + failures + (last_error != NULL);
}
