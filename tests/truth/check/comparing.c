/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fcf-protection=full */
/* Every way to compare a result with the right thing. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <netdb.h>

volatile long sink;
volatile int fails;
void *volatile keep;
#define S(e) (sink += (long)(e))
static __attribute__((noinline)) void note(const char *what) { fails++; perror(what); }

static void eq_minus1(const char *p)
{
    int fd = open(p, O_RDONLY);                 /* @open all */
    if (fd == -1) { note(p); return; }
    close(fd);                                  /* @close none ignored */
}
static void lt_zero(int t) { int s = socket(AF_INET, t, 0); if (s < 0) note("socket"); else S(s); } /* @socket all */
static void le_zero(int fd) { char b[9]; if (read(fd, b, 9) <= 0) note("read"); else S(b[0]); } /* @read all */
static void ne_zero(const char *p) { if (mkdir(p, 0755) != 0) note("mkdir"); } /* @mkdir all */
static void plain_truth(const char *p) { if (rmdir(p)) note("rmdir"); } /* @rmdir all */
static void bang(const char *a, const char *b) { if (!rename(a, b)) return; note("rename"); } /* @rename all */
static void gt_zero(int fd) { char b[5]; if (read(fd, b, 5) > 0) S(b[1]); else note("r"); } /* @read all */
static void gt_minus1(int fd) { if (dup(fd) > -1) return; note("dup"); } /* @dup all */
static void ge_zero(const char *p)
{
    int fd;
    if ((fd = open(p, O_WRONLY)) >= 0) {        /* @open all */
        if (close(fd) >= 0) return;             /* @close all */
        note("close");
    } else
        note("open");
}
static void open_gt_zero(const char *p)
{
    int fd = open(p, O_RDWR);                   /* @open all */
    if (fd > 0) S(fd); else note("open");
}
static void eq_null(const char *p)
{
    DIR *d = opendir(p);                        /* @opendir all */
    if (d == NULL) note("opendir");
    else if (closedir(d) == -1) note("closedir"); /* @closedir all */
}
static void eq_map_failed(size_t n)
{
    void *m = mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* @mmap all */
    if (m == MAP_FAILED) note("mmap"); else keep = m;
}
static void eq_void_minus1(int id) { void *m = shmat(id, NULL, 0); if (m == (void *)-1) note("shmat"); else keep = m; } /* @shmat all */
static void intptr_minus1(size_t n)
{
    intptr_t m = (intptr_t)mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* @mmap all */
    if (m + 1 == 0) note("mmap"); else S(m);
}
static void eq_sig_err(int s) { if (signal(s, SIG_IGN) == SIG_ERR) note("signal"); } /* @signal all */
static void eq_file0(const char *p) { FILE *f = fopen(p, "r"); if (f == (FILE *)0) note("fopen"); else keep = f; } /* @fopen all */
static void eq_eof(FILE *f) { if (fflush(f) == EOF) note("fflush"); } /* @fflush all */
static void eq_eof_char(FILE *f) { int c = fgetc(f); if (c == EOF) note("fgetc"); else S(c); } /* @fgetc all */
static void signed_char_eof(FILE *f) { signed char c = fgetc(f); if (c == EOF) note("fgetc"); else S(c); } /* @fgetc all */
static void eq_size_minus1(const char *s)
{
    wchar_t w[16];
    if (mbstowcs(w, s, 16) == (size_t)-1) note("mbstowcs"); else S(w[0]); /* @mbstowcs all */
}
static void eq_off_minus1(int fd) { if (lseek(fd, 1, SEEK_CUR) == (off_t)-1) note("lseek"); } /* @lseek all */
static void not_bits(int fd) { if (~fchdir(fd)) S(1); else note("fchdir"); } /* @fchdir all */
static void plus_one(const char *p) { if (chdir(p) + 1) S(2); else note("chdir"); } /* @chdir all */
static void bang_plus_one(const char *p) { int fd = creat(p, 0600); if (!(fd + 1)) note("creat"); else S(fd); } /* @creat all */
static void shift_sign(int fd) { if (fsync(fd) >> 31) note("fsync"); } /* @fsync all */
static void negated(int fd) { int r = fdatasync(fd); if (-r > 0) note("fdatasync"); } /* @fdatasync all */
static void with_abs(const char *p) { if (abs(unlink(p)) == 1) note("unlink"); } /* @unlink all */
static void high_bit(int fd) { int e = epoll_create1(fd); if (e & INT_MIN) note("epoll"); else S(e); } /* @epoll_create1 all */
static void low_bit(int fd, mode_t m) { if (fchmod(fd, m) & 1) note("fchmod"); } /* @fchmod all */
static void xor_minus1(int fd) { if (!(dup2(fd, 9) ^ -1)) note("dup2"); } /* @dup2 all */
static void unsigned_big(const char *p)
{
    int fd = open(p, O_RDONLY | O_DIRECTORY);   /* @open all */
    if ((unsigned)fd > 1000u) note("open"); else S(fd);
}
static void as_double(int fd) { double r = isatty(fd) ? 1.0 : (double)dup(fd); if (r < 0.0) note("tty"); } /* @isatty all; @dup all */
static void ternary(const char *p) { S(access(p, R_OK) < 0 ? errno : 100); } /* @access all */
static void max_zero(int fd, char *b) { ssize_t n = recv(fd, b, 1, 0); n = n < 0 ? 0 : n; S(n); } /* @recv all */
static void min_of_two(int a, int b)
{
    int x = listen(a, 5);                       /* @listen all */
    int y = shutdown(b, SHUT_WR);               /* @shutdown all */
    if ((x < y ? x : y) < 0) note("listen/shutdown");
}
static void or_chain(int fd, const char *p, const char *q)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || link(p, q) < 0 || symlink(p, q) == -1) /* @fstat all; @link all; @symlink all */
        note("chain");
}
static void and_chain(const char *p, const char *q)
{
    struct stat a, b;
    if (stat(p, &a) == 0 && lstat(q, &b) == 0)  /* @stat all; @lstat all */
        S(a.st_ino - b.st_ino);
    else note("stat");
}
static void comma(int fd) { int r; if (r = ftruncate(fd, 4), r != 0) note("ftruncate"); } /* @ftruncate all */
static void switch_three(void)
{
    switch (fork()) {                           /* @fork all */
    case -1: note("fork"); break;
    case 0: _exit(0);
    default: if (wait(NULL) < 0) note("wait");  /* @wait all */
    }
}
static void switch_success(int pr) { switch (setpgid(0, pr)) { case 0: S(3); break; default: note("setpgid"); } } /* @setpgid all */
static void kept_bool(int a, int b)
{
    bool bad = close(a) != 0;                   /* @close all */
    S(getpid());
    if (b > 1) S(b);
    if (bad) note("close, later");
}
static void kept_two(int a, const char *p)
{
    bool ok = fsync(a) == 0;                    /* @fsync all */
    ok = ok && unlink(p) == 0;                  /* @unlink all */
    if (!ok) note("kept");
}
static void or_bits(int a, int b) { int r = 0; r |= close(a); r |= fsync(b); if (r) note("closes"); } /* @close all; @fsync all */
static void sign_of_or(int *fds) { int a = dup(fds[0]), b = dup(fds[1]); if ((a | b) < 0) note("dups"); else S(a + b); } /* @dup all */
static void count_errors(char **v, int n)
{
    int bad = 0;
    for (int i = 0; i < n; i++) bad += chmod(v[i], 0600) < 0; /* @chmod all */
    if (bad) note("chmod");
}
static void with_n(int fd, const char *b, size_t n) { if (write(fd, b, n) != (ssize_t)n) note("write"); } /* @write all */
static void with_sizeof(int fd) { long x; if (read(fd, &x, sizeof x) != sizeof x) note("short"); else S(x); } /* @read all */
static void unsigned_gt_size(int fd) { char b[64]; size_t n = read(fd, b, sizeof b); if (n > sizeof b) note("read"); else S(n); } /* @read all */
static void items(FILE *f) { int v[4]; if (fread(v, sizeof v, 1, f) != 1) note("fread"); else S(v[0]); } /* @fread all */
static void item_lt(FILE *f, const int *v) { if (fwrite(v, sizeof *v, 1, f) < 1) note("fwrite"); } /* @fwrite all */
static void asserted(int *p) { int r = pipe(p); assert(r == 0); S(p[0]); } /* @pipe all */
static void or_abort(int a) { if (setuid(a) != 0) abort(); } /* @setuid all */
static void goto_out(int fd, struct pollfd *pf)
{
    if (poll(pf, 1, 0) == -1) goto out;         /* @poll all */
    if (fchown(fd, 0, 0)) goto out;             /* @fchown all */
    return;
out: note("goto");
}
static void loop_until(int fd) { char c; while (read(fd, &c, 1) == 1) S(c); } /* @read all */
static void loop_break(FILE *f) { char b[64]; for (;;) { if (!fgets(b, 64, f)) break; S(b[0]); } } /* @fgets all */
static void loop_getline(FILE *f) { char *l = NULL; size_t n = 0; while (getline(&l, &n, f) != -1) S(l[0]); free(l); } /* @getline/__getdelim all */
static void index_by(const char *p) { static const char *const w[] = { "no", "yes" }; const char *s = w[!truncate(p, 1)]; if (s[0] == 'n') note(s); } /* @truncate all */
static void err_or_zero(int s) { int e = kill(getpid(), s) ? errno : 0; if (e != 0) note("kill"); } /* @kill all */
static void error_number(pthread_t *t, void *(*f)(void *))
{
    int e = pthread_create(t, NULL, f, NULL);   /* @pthread_create all */
    if (e) { errno = e; note("create"); return; }
    if (pthread_join(*t, NULL) > 0) note("join"); /* @pthread_join all */
}
static void gai_negative(const char *h)
{
    struct addrinfo *ai;
    if (getaddrinfo(h, "80", NULL, &ai) < 0) { note("gai"); return; } /* @getaddrinfo all */
    freeaddrinfo(ai);
}
static void memalign_zero(size_t a) { void *p; if (posix_memalign(&p, a, 64) == 0) keep = p; else note("ma"); } /* @posix_memalign all */
static void alloc_if(size_t n) { char *p = malloc(n); if (p) { p[0] = 1; keep = p; } } /* @malloc all */
static void alloc_fold(size_t n) { void *p; if (!(p = calloc(n, 8))) abort(); keep = p; } /* @calloc all */
static void pton_one(const char *s) { struct in_addr a; if (inet_pton(AF_INET, s, &a) != 1) note("pton"); else S(a.s_addr); } /* @inet_pton all */
static void errno_sign(const char *s) { errno = 0; long v = strtol(s, NULL, 10); if (errno) note("strtol"); else S(v); } /* @strtol all */
static void errno_range(const char *s) { errno = 0; unsigned long v = strtoul(s, NULL, 16); if (errno == ERANGE) note(s); S(v); } /* @strtoul all */
static void errno_only(const char *p) { errno = 0; mkfifo(p, 0600); if (errno != 0) note("mkfifo"); } /* @mkfifo all */
static void asked_later(FILE *f, const char *s)
{
    fputs(s, f);                                /* @fputs all */
    fputc('\n', f);                             /* @fputc all */
    if (ferror(f)) note("stream");
}
static void not_asked(FILE *f, const char *s)
{
    fputs(s, f);                                /* @fputs none ignored */
    fputc('\t', f);                             /* @fputc none ignored */
}
static void *thr(void *a) { return a; }

int main(int argc, char **argv)
{
    const char *p = argv[argc - 1], *q = argv[0];
    int fd = argc + 3, two[2] = { argc, argc + 1 };
    char buf[8]; struct pollfd pf = { .fd = fd }; pthread_t t;
    eq_minus1(p); lt_zero(argc); le_zero(fd); ne_zero(p); plain_truth(p); bang(p, q); gt_zero(fd); gt_minus1(fd);
    ge_zero(p); open_gt_zero(p); eq_null(p); eq_map_failed(argc); eq_void_minus1(argc); intptr_minus1(argc);
    eq_sig_err(argc); eq_file0(p); eq_eof(stdout); eq_eof_char(stdin); signed_char_eof(stdin); eq_size_minus1(p);
    eq_off_minus1(fd); not_bits(fd); plus_one(p); bang_plus_one(p); shift_sign(fd); negated(fd); with_abs(p);
    high_bit(fd); low_bit(fd, argc); xor_minus1(fd); unsigned_big(p); as_double(fd); ternary(p); max_zero(fd, buf);
    min_of_two(fd, argc); or_chain(fd, p, q); and_chain(p, q); comma(fd); switch_three(); switch_success(argc);
    kept_bool(fd, argc); kept_two(fd, p); or_bits(fd, argc); sign_of_or(two); count_errors(argv, argc);
    with_n(fd, p, strlen(p)); with_sizeof(fd); unsigned_gt_size(fd); items(stdin); item_lt(stdout, two);
    asserted(two); or_abort(argc); goto_out(fd, &pf); loop_until(fd); loop_break(stdin); loop_getline(stdin);
    index_by(p); err_or_zero(argc); error_number(&t, thr); gai_negative(p); memalign_zero(argc); alloc_if(argc);
    alloc_fold(argc); pton_one(p); errno_sign(p); errno_range(p); errno_only(p); asked_later(stdout, p);
    not_asked(stderr, p);
    return fails != 0;
}
