/* SPDX-License-Identifier: Apache-2.0 */
/* One function for one way to look, or not to look, at a result; nothing is static, main calls each once. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct holder {
    int before;
    int fd;
    void *map;
    size_t len;
    struct holder *next;
};

struct holder global_holder;
int global_fd;
static int fds[8];

void c01_eq_minus_one(const char *p)
{
    if (open(p, O_WRONLY) == -1) /* @open all */
        perror(p);
}

void c02_plus_one(const char *p)
{
    int fd = open(p, O_RDONLY); /* @open all */
    if (fd + 1 == 0)
        perror(p);
}

int c03_ge_zero(const char *p)
{
    int fd = open(p, O_RDONLY); /* @open all */
    if (fd >= 0)
        return fd;
    return 255;
}

void c04_not(const char *p)
{
    int fd = open(p, O_RDONLY); /* @open none used */
    if (!fd) {
        perror(p);
        return;
    }
    write(fd, "x", 1); /* @write none ignored */
}

void c05_gt_zero(const char *p)
{
    int fd = open(p, O_RDONLY); /* @open all */
    if (fd > 0)
        close(fd); /* @close none ignored */
}

void c06_unsigned(const char *p)
{
    unsigned fd = open(p, O_RDONLY); /* @open none used */
    if (fd < 0)
        exit(1);
    lseek(fd, 10, SEEK_SET); /* @lseek none ignored */
}

void c07_unsigned_max(const char *p)
{
    unsigned fd = open(p, O_RDONLY); /* @open all */
    if (fd == UINT_MAX)
        exit(1);
    ftruncate(fd, 0); /* @ftruncate none ignored */
}

void c08_char(int fd)
{
    char c;
    if (1 != read(fd, &c, 1)) /* @read all */
        exit(c);
}

void c09_enoent_only(const char *p)
{
    if (unlink(p) == -1 && errno == ENOENT) /* @unlink some missing=EACCES */
        fputs("gone\n", stderr); /* @fputs/fwrite none ignored */
}

void c10_not_enoent(const char *p)
{
    if (unlink(p) == -1 && errno != ENOENT) /* @unlink all */
        exit(1);
}

int c11_switch_errno(const char *p)
{
    if (mkdir(p, 0755) < 0) /* @mkdir all */
        switch (errno) {
        case EEXIST:
            return 0;
        case ENOSPC:
            return 1;
        default:
            return 2;
        }
    return 0;
}

/* A switch without a default: errors not named go on like success. */
int c12_switch_some(const char *p)
{
    int r = 0;
    if (rmdir(p) < 0) /* @rmdir some missing=EBUSY */
        switch (errno) {
        case ENOTEMPTY:
            r = 1;
            break;
        case ENOENT:
            r = 2;
            break;
        case EACCES:
            r = 3;
            break;
        }
    return r;
}

void c13_errno_only(const char *p)
{
    errno = 0;
    chdir(p); /* @chdir all */
    if (errno)
        exit(1);
}

void *c14_mmap_null(int fd, size_t n)
{
    void *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0); /* @mmap none used/returned/dereferenced */
    if (p == NULL)
        exit(1);
    return memchr(p, 'x', n);
}

int c15_mmap_failed(int fd, size_t n)
{
    char *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0); /* @mmap all */
    if (p == MAP_FAILED)
        return -1;
    int c = *p;
    munmap(p, n); /* @munmap none ignored */
    return c;
}

int c16_mmap_unchecked(size_t n)
{
    int *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* @mmap none dereferenced */
    p[0] = 1;
    return p[n / 8];
}

int c17_mmap_signed(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* @mmap all */
    if ((intptr_t)p == -1)
        return 1;
    return mprotect(p, n, PROT_NONE) != 0; /* @mprotect all */
}

void c18_fopen_negative(const char *p)
{
    FILE *f = fopen(p, "w"); /* @fopen none dereferenced/used */
    if ((long)f < 0)
        exit(1);
    fputc('x', f); /* @fputc/putc none ignored */
    fclose(f); /* @fclose none ignored */
}

void c19_fopen_eof(const char *p)
{
    FILE *f = fopen(p, "r"); /* @fopen none dereferenced/used */
    if (f == (FILE *)EOF)
        exit(1);
    fgetc(f); /* @fgetc/getc none ignored */
}

void c20_into_struct(const char *p)
{
    struct holder h = { .fd = open(p, O_RDWR) }; /* @open all */
    h.len = 10;
    if (h.fd < 0)
        exit(1);
}

void c21_into_pointer(struct holder *h, const char *p)
{
    h->fd = open(p, O_RDWR); /* @open all */
    h->len = strlen(p);
    if (h->fd == -1)
        h->len = 0;
}

void c22_into_global(const char *p)
{
    global_holder.fd = open(p, O_RDWR); /* @open all */
    global_holder.before = 1;
    if (global_holder.fd < 0)
        exit(1);
}

void c23_into_array(const char *p)
{
    int i;
    for (i = 0; i < 8; i++) {
        fds[i] = open(p, O_RDWR); /* @open all */
        if (fds[i] < 0)
            break;
    }
    while (--i >= 0)
        close(fds[i]); /* @close none ignored */
}

void c24_array_unchecked(const char *p)
{
    int set[4];
    for (int i = 0; i < 4; i++)
        set[i] = open(p, O_RDONLY); /* @open none used */
    for (int i = 0; i < 4; i++)
        posix_fadvise(set[i], 0, 0, POSIX_FADV_WILLNEED); /* @posix_fadvise none ignored */
}

void c25_array_later(const char *p)
{
    int set[4];
    for (int i = 0; i < 4; i++)
        set[i] = open(p, O_RDONLY); /* @open all */
    for (int i = 0; i < 4; i++)
        if (set[i] == -1)
            exit(i);
}

int c26_saved_over_calls(const char *p, const char *q)
{
    int a = open(p, O_RDONLY); /* @open all */
    int b = open(q, O_RDONLY); /* @open all */
    getppid();
    if (a < 0 || b < 0)
        return -1;
    return a ^ b;
}

int c27_first_only(const char *p, const char *q)
{
    int a = open(p, O_RDONLY); /* @open all */
    int b = open(q, O_RDONLY); /* @open none used */
    if (a < 0)
        return -1;
    return dup2(a, b); /* @dup2 none ignored/used/returned */
}

int c28_one_path_only(const char *p, int verbose)
{
    char *s = malloc(100); /* @malloc all */
    if (verbose) {
        if (!s)
            exit(1);
    } else if (s == NULL) {
        return 0;
    }
    strcpy(s, p);
    return s[0];
}

int c29_malloc_deref(int n)
{
    int *v = malloc(sizeof *v * n); /* @malloc none dereferenced */
    for (int i = 0; i < n; i++)
        v[i] = i * i;
    return v[n - 1];
}

int c30_calloc_struct(void)
{
    struct holder *h = calloc(1, sizeof *h); /* @calloc none dereferenced */
    h->next = &global_holder;
    global_holder.next = h;
    return 0;
}

char *c31_returned(const char *p)
{
    return strdup(p); /* @strdup all */
}

char *c32_returned_bad(const char *p)
{
    return strndup(p, 20); /* @strndup none dereferenced/used */
}

int c33_and_chain(const char *p, struct stat *st)
{
    int fd;
    return (fd = open(p, O_RDONLY)) >= 0 && fstat(fd, st) == 0 && st->st_size > 0; /* @open all; @fstat all */
}

int c34_comma(const char *p)
{
    int r;
    if (r = access(p, R_OK), r < 0) /* @access all */
        return 1;
    return 0;
}

int c35_ternary(const char *p, const char *q, int w)
{
    int rc = w ? link(p, q) : symlink(p, q); /* @link all; @symlink all */
    if (rc)
        return 1;
    return 0;
}

int c36_accumulate(const char *p, const char *q)
{
    int rc = chmod(p, 0600); /* @chmod all */
    rc += chmod(q, 0600); /* @chmod all */
    rc += chown(p, 0, 0); /* @chown all */
    return rc < 0;
}

int c37_lost(const char *p, const char *q)
{
    int rc;
    rc = chmod(p, 0600); /* @chmod none ignored/used */
    rc = chmod(q, 0644); /* @chmod all */
    return rc ? -1 : 0;
}

int c38_xor(const char *p)
{
    return (truncate(p, 0) ^ -1) == 0; /* @truncate all */
}

int c39_shift(int fd)
{
    return (unsigned)fsync(fd) >> 31; /* @fsync all */
}

int c40_assign_default(int fd)
{
    char b[8];
    long n = read(fd, b, sizeof b); /* @read all */
    n = n < 0 ? 0 : n;
    return (int)n;
}

long c41_clamped(int fd)
{
    char b[8];
    long n = read(fd, b, sizeof b); /* @read all */
    return n > 0 ? b[n - 1] : -1;
}

long c42_size_t(int fd)
{
    char b[64];
    size_t n = read(fd, b, sizeof b); /* @read none used */
    if (n < 0)
        return -1;
    return b[n / 2];
}

long c43_short_read(int fd)
{
    char b[64];
    ssize_t n = read(fd, b, sizeof b); /* @read all */
    if (n < (ssize_t)sizeof b)
        return -1;
    return b[0];
}

int c44_eof_only(int fd)
{
    char b[64];
    if (read(fd, b, sizeof b) == 0) /* @read none ignored/used */
        return -1;
    return b[0];
}

void c45_write_loop(int fd, const char *s, size_t n)
{
    ssize_t k;
    for (; n; s += k, n -= k)
        if ((k = write(fd, s, n)) <= 0) /* @write all */
            break;
}

void c46_write_full(int fd, const char *s, size_t n)
{
    if ((size_t)write(fd, s, n) != n) /* @write all */
        abort();
}

int c47_bool(const char *p)
{
    struct stat st;
    _Bool missing = lstat(p, &st); /* @lstat all */
    return missing ? 0 : S_ISLNK(st.st_mode);
}

int c48_stat_unchecked(const char *p)
{
    struct stat st;
    stat(p, &st); /* @stat none ignored */
    return S_ISDIR(st.st_mode);
}

int c49_readdir_errno(DIR *d)
{
    struct dirent *e;
    int n = 0;
    for (;;) {
        errno = 0;
        e = readdir(d); /* @readdir all */
        if (!e) {
            if (errno)
                return -1;
            break;
        }
        n++;
    }
    return n;
}

int c50_opendir_used(const char *p)
{
    DIR *d = opendir(p); /* @opendir none dereferenced/used */
    struct dirent *e;
    int n = 0;
    while ((e = readdir(d))) /* @readdir all */
        n += e->d_name[0] != '.';
    closedir(d); /* @closedir none ignored */
    return n;
}

int c51_readdir_one(DIR *d)
{
    return readdir(d)->d_name[0]; /* @readdir none dereferenced */
}

int c52_do_while(const char *p)
{
    int tries = 0, rc;
    do {
        rc = mkdir(p, 0700); /* @mkdir all */
    } while (rc < 0 && ++tries < 3);
    return rc;
}

int c53_retry_then_use(int fd)
{
    int d;
    while ((d = dup(fd)) < 0 && errno == EINTR) /* @dup some missing=EMFILE */
        continue;
    return lockf(d, F_LOCK, 0) == 0; /* @lockf all */
}

int c54_static_state(const char *p)
{
    static int fd = -1;
    if (fd < 0)
        fd = open(p, O_RDONLY); /* @open all */
    if (fd < 0)
        return -1;
    return fd;
}

long c55_lseek_cast(int fd)
{
    if (lseek(fd, 0, SEEK_END) == (off_t)-1) /* @lseek all */
        return 0;
    return lseek(fd, 0, SEEK_CUR) + 1; /* @lseek none used/returned */
}

long c56_time(void)
{
    struct tm *tm;
    time_t t = time(NULL); /* @time any */
    tm = localtime(&t); /* @localtime none dereferenced */
    return tm->tm_hour;
}

long c57_mktime(struct tm *tm)
{
    time_t t = mktime(tm); /* @mktime all */
    return t == (time_t)-1 ? 0 : t;
}

int c58_sysconf(void)
{
    long n = sysconf(_SC_OPEN_MAX); /* @sysconf none used */
    for (int fd = 3; fd < (int)(n & 0xffff); fd++)
        close(fd); /* @close none ignored */
    return 0;
}

int c59_uname(void)
{
    struct utsname u;
    if (uname(&u) != 0) /* @uname all */
        return 0;
    return u.release[0] == '6';
}

int c60_min(int fd, const void *b)
{
    long n = write(fd, b, 100); /* @write all */
    return n == 100 ? 0 : n < 0 ? 2 : 1;
}

int c61_loop_cond(int fd)
{
    char b[10];
    int total = 0;
    for (long n; (n = pread(fd, b, sizeof b, total)) > 0;) /* @pread all */
        total += n;
    return total;
}

int c62_loop_wrong(int fd)
{
    char b[10];
    int total = 0;
    long n;
    while ((n = pread(fd, b, sizeof b, total))) /* @pread none used */
        total += n;
    return total;
}

int c63_fork_only_child(void)
{
    if (fork() == 0) /* @fork none ignored/used */
        _exit(0);
    return 0;
}

int c64_fork_positive(void)
{
    pid_t p = fork(); /* @fork all */
    if (p > 0)
        return p;
    if (p < 0)
        return 0;
    _exit(1);
}

int c65_wait_status(void)
{
    int st;
    if (wait(&st) < 0) /* @wait all */
        st = -1;
    return st;
}

int c66_system(const char *cmd)
{
    return system(cmd) == 0 ? 0 : 1; /* @system all */
}

int c67_system_minus_one(const char *cmd)
{
    if (system(cmd) == -1) /* @system all */
        return 1;
    return 0;
}

FILE *c68_popen(const char *cmd)
{
    FILE *f = popen(cmd, "r"); /* @popen all */
    if (!f)
        return stdin;
    return f;
}

int c69_pclose(FILE *f)
{
    int st = pclose(f); /* @pclose all */
    return st != -1 && WIFEXITED(st) && WEXITSTATUS(st) == 0;
}

int c70_getitimer(void)
{
    struct itimerval v;
    if (-1 == getitimer(ITIMER_REAL, &v)) /* @getitimer all */
        return 0;
    return v.it_value.tv_sec != 0;
}

int main(int argc, char **argv)
{
    struct stat st;
    struct tm tm = { 0 };
    const char *p = argv[1], *q = argv[2];
    DIR *d = opendir("."); /* @opendir all */
    char *s;
    int r = 0;

    if (d == NULL || argc < 3)
        return 1;
    c01_eq_minus_one(p); c02_plus_one(p); r += (int)c03_ge_zero(p); c04_not(p); c05_gt_zero(p); c06_unsigned(p);
    c07_unsigned_max(p); c08_char(3); c09_enoent_only(p); c10_not_enoent(q); r += (int)c11_switch_errno(p);
    r += (int)c12_switch_some(p); c13_errno_only(p); r += c14_mmap_null(3, 10) != NULL;
    r += (int)c15_mmap_failed(3, 10); r += (int)c16_mmap_unchecked(40);
    r += (int)c17_mmap_signed(10); c18_fopen_negative(p); c19_fopen_eof(p); c20_into_struct(p);
    c21_into_pointer(&global_holder, p);
    c22_into_global(p); c23_into_array(p); c24_array_unchecked(p); c25_array_later(p);
    r += (int)c26_saved_over_calls(p, q);
    r += (int)c27_first_only(p, q); r += (int)c28_one_path_only(p, argc); r += (int)c29_malloc_deref(argc);
    r += (int)c30_calloc_struct();
    if ((s = c31_returned(p)) == NULL)
        return 1;
    s[0] = c32_returned_bad(q)[1];
    r += (int)c33_and_chain(p, &st); r += (int)c34_comma(p); r += (int)c35_ternary(p, q, argc);
    r += (int)c36_accumulate(p, q); r += (int)c37_lost(p, q); r += (int)c38_xor(p);
    r += (int)c39_shift(3); r += (int)c40_assign_default(3); r += (int)c41_clamped(3); r += (int)c42_size_t(3);
    r += (int)c43_short_read(3); r += (int)c44_eof_only(3);
    c45_write_loop(1, s, 1); c46_write_full(1, s, 1); r += (int)c47_bool(p); r += (int)c48_stat_unchecked(p);
    r += (int)c49_readdir_errno(d);
    r += (int)c50_opendir_used(p); r += (int)c51_readdir_one(d); r += (int)c53_retry_then_use(3);
    r += (int)c54_static_state(p);
    if (c52_do_while(p))
        return 1;
    r += (int)c55_lseek_cast(3); r += (int)c56_time(); r += (int)c57_mktime(&tm); r += (int)c58_sysconf();
    r += (int)c59_uname(); r += (int)c60_min(1, s); r += (int)c61_loop_cond(3);
    r += (int)c62_loop_wrong(3); r += (int)c63_fork_only_child(); r += (int)c64_fork_positive();
    r += (int)c65_wait_status(); r += (int)c66_system(p);
    r += (int)c67_system_minus_one(p); r += (int)c69_pclose(c68_popen(p)); r += (int)c70_getitimer();
    global_fd = s[0];
    return r;
}
