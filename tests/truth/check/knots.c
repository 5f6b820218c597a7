/* SPDX-License-Identifier: Apache-2.0 */
/* Results that go through many hands: tables of functions, callbacks, unions, out-parameters, tuples, long jumps. */
/* flags: -D_GNU_SOURCE */
#include <errno.h>
#include <fcntl.h>
#include <iconv.h>
#include <locale.h>
#include <netdb.h>
#include <regex.h>
#include <search.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <ftw.h>
#include <unistd.h>
#include <wchar.h>

#define SLOW __attribute__((noinline, noclone))

typedef int (*opener)(const char *, int, ...);
typedef ssize_t (*reader)(int, void *, size_t);

struct io {
    opener open;
    reader read;
    int (*close)(int);
};

union answer {
    int fd;
    long value;
    void *pointer;
};

struct result {
    int error;
    long value;
};

static const struct io plain = { open, read, close };
static jmp_buf top;
char *kept;

static SLOW struct result wrap(long rc)
{
    struct result r = { 0, rc };

    if (rc < 0)
        r.error = errno;
    return r;
}

static SLOW void out_param(const char *path, int *ret)
{
    *ret = open(path, O_RDONLY); /* @open all */
}

static SLOW void out_param_lost(const char *path, int *ret)
{
    *ret = creat(path, 0600); /* @creat none used */
}

static SLOW bool out_both(const char *path, char **text)
{
    struct stat st;

    if (stat(path, &st)) /* @stat all */
        return false;
    *text = malloc((size_t)st.st_size); /* @malloc all */
    return *text != NULL;
}

static SLOW struct result tuple(int fd)
{
    return wrap(lseek(fd, 0, SEEK_CUR)); /* @lseek all */
}

static SLOW struct result tuple_direct(int fd)
{
    struct result r;

    r.value = fcntl(fd, F_DUPFD, 10); /* @fcntl all */
    r.error = r.value == -1 ? errno : 0;
    return r;
}

static SLOW int in_union(const char *path)
{
    union answer a;

    a.value = 0;
    a.fd = open(path, O_RDONLY | O_DIRECTORY); /* @open all */
    if (a.fd < 0)
        return -errno;
    return a.fd;
}

static SLOW int unlucky(const char *path)
{
    int fd = open(path, O_RDWR); /* @open all */

    if (fd < 0)
        longjmp(top, 1);
    return fd;
}

static SLOW int narrow(const char *path)
{
    short fd = (short)open(path, O_RDONLY); /* @open all */

    if (fd == -1)
        return 0;
    return fd;
}

static SLOW unsigned char byte(FILE *f)
{
    unsigned char c = (unsigned char)getc(f); /* @getc none used/returned */

    return c;
}

/* The famous mistake: the type is too small to tell the end from 0xff, or never tells it. */
static SLOW int copy_bytes(FILE *from, FILE *to)
{
    unsigned char c;
    int n = 0;

    while ((c = (unsigned char)getc(from)) != (unsigned char)'\n' && n < 100) { /* @getc none used */
        putc(c, to); /* @putc none ignored */
        n++;
    }
    return n;
}

static SLOW int count_lines(FILE *f)
{
    int c, n = 0;

    while ((c = getc(f)) != EOF) /* @getc all */
        n += c == '\n';
    return n;
}

static SLOW int by_hand(const char *path, mode_t mode)
{
    int (*change)(const char *, mode_t) = mode & 1 ? chmod : mkdir;

    return change(path, mode); /* @mkdir? any; @chmod? any */
}

static SLOW int in_register(char **paths)
{
    int bad = 0;

    for (; *paths; paths++)
        if (rmdir(*paths) == -1) /* @rmdir all */
            bad++;
    return bad;
}

static SLOW unsigned in_register_blind(char **paths)
{
    unsigned n = 0;

    for (; *paths; paths++, n++)
        rmdir(*paths); /* @rmdir none ignored */
    return n;
}

static SLOW int tail(const char *path)
{
    return rmdir(path); /* @rmdir all */
}

static SLOW void tail_void(const char *path)
{
    rmdir(path); /* @rmdir none ignored */
}

static SLOW int last_of_three(const char *p)
{
    int a = access(p, R_OK), b = access(p, W_OK), c = access(p, X_OK); /* @access all */

    return !a + 2 * !b + 4 * !c;
}

static SLOW int two_of_three(const char *p, const char *q)
{
    int a = link(p, q); /* @link all */
    int b = symlink(p, q); /* @symlink none ignored */
    int c = rename(p, q); /* @rename all */

    (void)b;
    return (a & c) == -1 ? 2 : a < 0 || c < 0;
}

static SLOW int max_fd(const char *p, const char *q)
{
    int a = open(p, O_RDONLY); /* @open none used */
    int b = open(q, O_RDONLY); /* @open none used */

    return (a > b ? a : b) + 1;
}

static SLOW int convert(const char *from, char *in, size_t n, char *out, size_t m)
{
    iconv_t cd = iconv_open("UTF-8", from); /* @iconv_open all */
    size_t rc;

    if (cd == (iconv_t)-1)
        return -1;
    rc = iconv(cd, &in, &n, &out, &m); /* @iconv all */
    iconv_close(cd); /* @iconv_close none ignored */
    if (rc == (size_t)-1)
        return -2;
    return (int)m;
}

static SLOW int convert_wrong(const char *from, char *in, size_t n, char *out, size_t m)
{
    iconv_t cd = iconv_open("UTF-8", from); /* @iconv_open none used/dereferenced */

    if (!cd)
        return -1;
    return (int)iconv(cd, &in, &n, &out, &m); /* @iconv none used/ignored */
}

static SLOW bool matches(const char *pattern, const char *text)
{
    regex_t re;
    bool yes;

    if (regcomp(&re, pattern, REG_NOSUB)) /* @regcomp all */
        return false;
    yes = !regexec(&re, text, 0, NULL, 0); /* @regexec all */
    regfree(&re);
    return yes;
}

static SLOW bool matches_blind(const char *pattern, const char *text)
{
    regex_t re;

    regcomp(&re, pattern, REG_EXTENDED); /* @regcomp none ignored */
    return regexec(&re, text, 0, NULL, 0) == REG_NOMATCH; /* @regexec all */
}

static SLOW int shared(key_t key)
{
    int id = shmget(key, 100, IPC_CREAT | 0600); /* @shmget all */
    char *at;

    if (id == -1)
        return -1;
    at = shmat(id, NULL, 0); /* @shmat all */
    if (at == (void *)-1)
        return -1;
    at[0] = 1;
    return shmdt(at); /* @shmdt all */
}

static SLOW int shared_wrong(int id)
{
    char *at = shmat(id, NULL, 0); /* @shmat none dereferenced */

    if (at == NULL)
        return -1;
    at[0] = 2;
    return 0;
}

static SLOW int messages(const char *path)
{
    struct {
        long type;
        char text[16];
    } m = { 1, "hello" };
    key_t key = ftok(path, 'k'); /* @ftok none used */
    int q = msgget(key, IPC_CREAT | 0600); /* @msgget all */

    if (q < 0)
        return 0;
    while (msgsnd(q, &m, sizeof m.text, 0) < 0) /* @msgsnd all */
        if (errno != EINTR)
            return 0;
    return (int)msgrcv(q, &m, sizeof m.text, 1, IPC_NOWAIT) > 0 ? m.text[0] : -1; /* @msgrcv all */
}

static SLOW int columns(void)
{
    struct winsize w;

    return ioctl(1, TIOCGWINSZ, &w) == -1 || !w.ws_col ? 80 : w.ws_col; /* @ioctl all */
}

static SLOW speed_t speed(int fd)
{
    struct termios t;

    tcgetattr(fd, &t); /* @tcgetattr none ignored */
    return cfgetospeed(&t); /* @cfgetospeed any */
}

static SLOW size_t wide(const char *s, wchar_t *to, size_t n)
{
    size_t k = mbstowcs(to, s, n); /* @mbstowcs all */

    return k != (size_t)-1 ? k : 0;
}

static SLOW size_t wide_blind(const char *s)
{
    wchar_t b[20];

    b[mbstowcs(b, s, 19)] = 0; /* @mbstowcs none used */
    return wcslen(b);
}

static SLOW void stamp(char *to, size_t n)
{
    time_t now = time(NULL); /* @time any */
    struct tm tm, *p = gmtime_r(&now, &tm); /* @gmtime_r all */

    if (p && strftime(to, n, "%F", p) != 0) /* @strftime all */
        return;
    *to = 0;
}

static SLOW int parse_pair(const char *s, int *a, int *b)
{
    if (sscanf(s, "%d,%d", a, b) != 2) /* @sscanf all */
        return -1;
    return 0;
}

static SLOW int parse_blind(const char *s)
{
    int a = 0, b = 0;

    sscanf(s, "%d %d", &a, &b); /* @sscanf none ignored */
    return a + b;
}

static int visit(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)at;
    if (kind == FTW_DP) /* @rmdir? any */
        return rmdir(path); /* @rmdir? any */
    return remove(path) ? errno : 0; /* @remove all */
}

static SLOW int clean(const char *dir)
{
    return nftw(dir, visit, 8, FTW_DEPTH | FTW_PHYS) == 0; /* @nftw all */
}

static SLOW int with_io(const struct io *io, const char *path)
{
    char b[16];
    int fd = io->open(path, O_RDONLY); /* @open? all */
    ssize_t n;

    if (fd < 0)
        return -1;
    n = io->read(fd, b, sizeof b); /* @read? all */
    return io->close(fd) < 0 || n < 0 ? -1 : b[0]; /* @close? all */
}

static SLOW char *temp(void)
{
    char name[] = "/tmp/knotXXXXXX";
    char *dir = mkdtemp(name); /* @mkdtemp all */

    return dir ? strdup(dir) : NULL; /* @strdup all */
}

static SLOW char *chain(const char *a, const char *b)
{
    char *p = malloc(strlen(a) + strlen(b) + 1); /* @malloc none dereferenced */

    return strcat(strcpy(p, a), b);
}

static SLOW int both_or_nothing(size_t n)
{
    char *a = malloc(n), *b = malloc(n); /* @malloc all */

    if (!a || !b) {
        free(a);
        free(b);
        return -1;
    }
    memset(a, 1, n);
    memcpy(b, a, n);
    return b[n / 2];
}

static SLOW int neither_alone(size_t n)
{
    char *a = malloc(n); /* @malloc none dereferenced/used */
    char *b = calloc(n, 1); /* @calloc all */

    if (!b)
        return -1;
    a[n - 1] = b[0];
    kept = a;
    return strlen(b) < n;
}

int main(int argc, char **argv)
{
    static char buf[64];
    static wchar_t wide_buf[64];
    int fd = -1, lost = -1, x = 0, y = 0;
    char *text = NULL;
    struct result r;

    if (argc < 4 || setjmp(top))
        return 2;
    if (!setlocale(LC_ALL, "")) /* @setlocale all */
        return 1;
    out_param(argv[1], &fd);
    if (fd == -1)
        return 1;
    out_param_lost(argv[2], &lost);
    ftruncate(lost, 10); /* @ftruncate none ignored */
    if (!out_both(argv[1], &text))
        return 1;
    if ((r = tuple(fd)).error || (r = tuple_direct(fd)).error)
        return r.error;
    x += in_union(argv[1]) + unlucky(argv[2]) + narrow(argv[3]) + byte(stdin) + copy_bytes(stdin, stdout);
    x += count_lines(stdin) + by_hand(argv[1], 0700) + in_register(argv + 1) + (int)in_register_blind(argv + 2);
    if (tail(argv[3]) != 0)
        x++;
    tail_void(argv[2]);
    x += last_of_three(argv[1]) + two_of_three(argv[1], argv[2]) + max_fd(argv[1], argv[2]);
    x += convert(argv[1], argv[2], 3, buf, 10) + convert_wrong(argv[1], argv[2], 3, buf, 10);
    x += matches(argv[1], argv[2]) + matches_blind(argv[1], argv[2]) + shared_wrong(3) + messages(argv[1]);
    if (shared(12) < 0)
        return 1;
    x += columns() + (int)speed(0) + (int)wide(argv[1], wide_buf, 64) + (int)wide_blind(argv[2]);
    stamp(buf, sizeof buf);
    if (parse_pair(argv[1], &x, &y))
        return 1;
    x += parse_blind(argv[2]) + clean(argv[3]) + with_io(&plain, argv[1]);
    if (!(text = temp()))
        return 1;
    x += chain(text, argv[1])[0] + both_or_nothing(100) + neither_alone(50);
    return x + y + lost;
}
