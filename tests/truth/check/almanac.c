/* SPDX-License-Identifier: Apache-2.0 */
/* A program that keeps an almanac: dates, days in files, an index in memory, a lock, notices to others, a few reports. */
/* flags: -D_GNU_SOURCE -D_FORTIFY_SOURCE=2 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <glob.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

typedef enum { ST_OK, ST_SYS, ST_FULL, ST_BAD } status_t;

struct day {
    struct day *next;
    char date[11];
    char *text;
    unsigned lines;
};

struct index {
    struct day **bucket;
    size_t n, used;
    uint32_t (*hash)(const char *);
};

struct almanac {
    struct index index;
    char *dir;
    int dirfd, lockfd, notify;
    FILE *journal;
    struct {
        unsigned long reads, writes, errors;
    } count;
    status_t status;
};

static void complain(struct almanac *a, const char *fmt, ...)
{
    va_list ap;

    a->count.errors++;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap); /* @vfprintf none ignored */
    va_end(ap);
    fputc('\n', stderr); /* @fputc none ignored */
}

static uint32_t fnv(const char *s)
{
    uint32_t h = 2166136261u;

    while (*s)
        h = (h ^ (unsigned char)*s++) * 16777619u;
    return h;
}

status_t index_init(struct index *x, size_t n)
{
    x->hash = fnv;
    x->n = n;
    x->used = 0;
    x->bucket = calloc(n, sizeof *x->bucket); /* @calloc all */
    return x->bucket ? ST_OK : ST_FULL;
}

struct day *index_get(struct index *x, const char *date, bool make)
{
    struct day **at = &x->bucket[x->hash(date) % x->n], *d;

    for (d = *at; d; d = d->next)
        if (!strcmp(d->date, date))
            return d;
    if (!make || !(d = malloc(sizeof *d))) /* @malloc/calloc all */
        return NULL;
    memset(d, 0, sizeof *d);
    strncpy(d->date, date, sizeof d->date - 1);
    d->next = *at;
    x->used++;
    return *at = d;
}

/* Twice as many buckets; if there is no room for them, the old ones go on. */
void index_grow(struct index *x)
{
    struct day **more = calloc(x->n * 2, sizeof *more); /* @calloc all */

    if (!more)
        return;
    for (size_t i = 0; i < x->n; i++)
        for (struct day *d = x->bucket[i], *next; d; d = next) {
            size_t k = x->hash(d->date) % (x->n * 2);

            next = d->next;
            d->next = more[k];
            more[k] = d;
        }
    free(x->bucket);
    x->bucket = more;
    x->n *= 2;
}

int day_append(struct day *d, const char *line)
{
    size_t have = d->text ? strlen(d->text) : 0, n = strlen(line);
    char *t = realloc(d->text, have + n + 2); /* @realloc/malloc all */

    if (t == NULL)
        return -1;
    memcpy(t + have, line, n);
    strcpy(t + have + n, "\n");
    d->text = t;
    d->lines++;
    return 0;
}

void day_replace(struct day *d, const char *line)
{
    free(d->text);
    d->text = strdup(line); /* @strdup none dereferenced/used */
    d->lines = 1 + (strchr(d->text, '\n') != NULL);
}

static bool parse_date(const char *s, struct tm *tm)
{
    char *end = strptime(s, "%Y-%m-%d", tm); /* @strptime all */

    return end && !*end;
}

static int weekday(const char *s)
{
    struct tm tm = { 0 };

    strptime(s, "%Y-%m-%d", &tm); /* @strptime none ignored */
    mktime(&tm); /* @mktime none ignored */
    return tm.tm_wday;
}

static bool today(char to[11])
{
    time_t t;
    struct tm tm;

    if (time(&t) == (time_t)-1) /* @time any */
        return false;
    if (localtime_r(&t, &tm) == NULL) /* @localtime_r all */
        return false;
    return strftime(to, 11, "%Y-%m-%d", &tm) == 10; /* @strftime all */
}

static double elapsed(void)
{
    struct timespec ts;
    struct timeval tv;

    if (!clock_gettime(CLOCK_MONOTONIC, &ts)) /* @clock_gettime all */
        return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
    gettimeofday(&tv, NULL); /* @gettimeofday any */
    return (double)tv.tv_sec;
}

bool almanac_lock(struct almanac *a)
{
    if ((a->lockfd = openat(a->dirfd, ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600)) < 0) { /* @openat all */
        complain(a, "lock: %s", strerror(errno));
        return false;
    }
    for (int i = 0; flock(a->lockfd, LOCK_EX | LOCK_NB) != 0; i++) { /* @flock all */
        if (errno != EWOULDBLOCK || i == 10)
            return false;
        usleep(100000); /* @usleep none ignored */
    }
    if (ftruncate(a->lockfd, 0) == -1 || dprintf(a->lockfd, "%d\n", (int)getpid()) < 0) /* @ftruncate all; @dprintf all */
        return false;
    return true;
}

void almanac_unlock(struct almanac *a)
{
    flock(a->lockfd, LOCK_UN); /* @flock none ignored */
    close(a->lockfd); /* @close none ignored */
    a->lockfd = -1;
}

status_t almanac_open(struct almanac *a, const char *dir)
{
    memset(a, 0, sizeof *a);
    a->lockfd = a->notify = -1;
    if (!(a->dir = realpath(dir, NULL))) { /* @realpath all */
        if (errno != ENOENT || mkdir(dir, 0777) != 0) /* @mkdir all */
            return ST_SYS;
        a->dir = strdup(dir); /* @strdup all */
        if (!a->dir)
            return ST_FULL;
    }
    a->dirfd = open(a->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* @open all */
    if (a->dirfd == -1)
        goto no_dir;
    if (index_init(&a->index, 64) != ST_OK)
        goto no_index;
    if (!almanac_lock(a))
        goto no_lock;
    return a->status = ST_OK;
no_lock:
    free(a->index.bucket);
no_index:
    close(a->dirfd); /* @close none ignored */
no_dir:
    free(a->dir);
    return a->status = ST_SYS;
}

static char *path_of(const struct almanac *a, const char *date)
{
    char *path = NULL;

    return asprintf(&path, "%s/%s", a->dir, date) > 0 ? path : NULL; /* @asprintf all */
}

status_t almanac_load(struct almanac *a, const char *date)
{
    char *path = path_of(a, date), *line = NULL;
    size_t room = 0;
    struct day *d;
    FILE *f;

    if (!path)
        return ST_FULL;
    f = fopen(path, "re"); /* @fopen all */
    free(path);
    if (!f)
        return errno == ENOENT ? ST_OK : ST_SYS;
    flockfile(f);
    d = index_get(&a->index, date, true);
    while (d && getline(&line, &room, f) >= 0) { /* @getline/getdelim? all */
        line[strcspn(line, "\r\n")] = 0;
        if (day_append(d, line))
            break;
        a->count.reads++;
    }
    funlockfile(f);
    free(line);
    bool bad = ferror(f) || !d; /* @ferror any */
    fclose(f); /* @fclose none ignored */
    return bad ? ST_SYS : ST_OK;
}

status_t almanac_store(struct almanac *a, const struct day *d)
{
    char tmp[32];
    int fd, rc;
    struct iovec v[2] = { { d->text, d->text ? strlen(d->text) : 0 }, { "\n", 1 } };

    snprintf(tmp, sizeof tmp, ".%s.new", d->date); /* @snprintf none ignored */
    fd = openat(a->dirfd, tmp, O_WRONLY | O_CREAT | O_TRUNC, 0666); /* @openat all */
    if (fd < 0)
        return ST_SYS;
    rc = writev(fd, v, 2) == (ssize_t)(v[0].iov_len + 1) ? 0 : -1; /* @writev all */
    if (rc == 0)
        rc = fsync(fd); /* @fsync all */
    if (close(fd) == -1) /* @close all */
        rc = -1;
    if (rc == 0)
        rc = renameat(a->dirfd, tmp, a->dirfd, d->date); /* @renameat all */
    if (rc != 0) {
        unlinkat(a->dirfd, tmp, 0); /* @unlinkat none ignored */
        return ST_SYS;
    }
    a->count.writes++;
    return ST_OK;
}

/* For the impatient. */
void almanac_store_fast(struct almanac *a, const struct day *d)
{
    int fd = openat(a->dirfd, d->date, O_WRONLY | O_CREAT, 0666); /* @openat none used */

    if (pwrite(fd, d->text, strlen(d->text), 0) < (ssize_t)strlen(d->text)) /* @pwrite all */
        a->count.errors++;
    a->count.writes += fdatasync(fd) == 0; /* @fdatasync all */
    close(fd); /* @close none ignored */
}

unsigned almanac_store_all(struct almanac *a)
{
    unsigned bad = 0;

    for (size_t i = 0; i < a->index.n; i++)
        for (struct day *d = a->index.bucket[i]; d; d = d->next)
            bad += almanac_store(a, d) != ST_OK;
    return bad;
}

static int only_dates(const struct dirent *e)
{
    struct tm tm;

    return parse_date(e->d_name, &tm);
}

int almanac_list(struct almanac *a, char ***ret)
{
    struct dirent **names;
    int n = scandir(a->dir, &names, only_dates, alphasort), k = 0; /* @scandir all */
    char **list;

    if (n < 0)
        return -1;
    list = malloc((size_t)(n + 1) * sizeof *list); /* @malloc none dereferenced/used */
    for (int i = 0; i < n; i++) {
        if ((list[k] = strdup(names[i]->d_name)) != NULL) /* @strdup all */
            k++;
        free(names[i]);
    }
    free(names);
    list[k] = NULL;
    *ret = list;
    return k;
}

void almanac_touch(struct almanac *a, const char *date)
{
    struct timespec now[2] = { { 0, UTIME_NOW }, { 0, UTIME_OMIT } };

    if (faccessat(a->dirfd, date, F_OK, 0) < 0) /* @faccessat all */
        return;
    utimensat(a->dirfd, date, now, 0); /* @utimensat none ignored */
}

static int age(struct almanac *a, const char *date)
{
    struct stat st;

    fstatat(a->dirfd, date, &st, AT_SYMLINK_NOFOLLOW); /* @fstatat none ignored */
    return (int)(time(NULL) - st.st_mtime) / 86400; /* @time any */
}

static bool room(struct almanac *a)
{
    struct statvfs v;

    return fstatvfs(a->dirfd, &v) < 0 || v.f_bavail > 100; /* @fstatvfs all */
}

bool notify_open(struct almanac *a, const char *path)
{
    struct sockaddr_un sun = { .sun_family = AF_UNIX };

    if (stpncpy(sun.sun_path, path, sizeof sun.sun_path) == sun.sun_path + sizeof sun.sun_path) /* @stpncpy any */
        return false;
    a->notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0); /* @socket all */
    if (a->notify < 0)
        return false;
    if (connect(a->notify, (const struct sockaddr *)&sun, offsetof(struct sockaddr_un, sun_path) + strlen(path)) == 0) /* @connect all */
        return true;
    complain(a, "%s: %m", path);
    close(a->notify); /* @close none ignored */
    a->notify = -1;
    return false;
}

void notify(struct almanac *a, const char *date)
{
    if (a->notify < 0)
        return;
    if (send(a->notify, date, strlen(date), MSG_NOSIGNAL) == -1 && errno == EPIPE) { /* @send some missing=ECONNREFUSED */
        close(a->notify); /* @close none ignored */
        a->notify = -1;
    }
}

static int mail(const char *to, const char *text)
{
    FILE *p = popen("/usr/sbin/sendmail -t", "w"); /* @popen all */
    int st;

    if (!p)
        return -1;
    fprintf(p, "To: %s\n\n", to); /* @fprintf none ignored */
    fputs(text, p); /* @fputs none ignored */
    st = pclose(p); /* @pclose all */
    if (st == -1 || !WIFEXITED(st))
        return -1;
    return WEXITSTATUS(st);
}

static int mail_blind(const char *text)
{
    FILE *p = popen("mail root", "w"); /* @popen none dereferenced/used */

    fwrite(text, 1, strlen(text), p); /* @fwrite none ignored */
    return pclose(p) >> 8; /* @pclose all */
}

static bool edit(const char *path)
{
    const char *editor = getenv("VISUAL"); /* @getenv all */
    pid_t pid;
    int st;

    if (!editor)
        editor = getenv("EDITOR"); /* @getenv all */
    if (!editor)
        editor = "vi";
    if ((pid = fork()) == -1) /* @fork all */
        return false;
    if (!pid) {
        execlp(editor, editor, path, (char *)NULL); /* @execlp any */
        _exit(127);
    }
    while (waitpid(pid, &st, 0) != pid) /* @waitpid all */
        if (errno != EINTR)
            return false;
    return !st;
}

struct picture {
    void *at;
    size_t len;
};

static struct picture picture(const char *path)
{
    struct picture p = { NULL, 0 };
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC); /* @open all */

    if (fd != -1) {
        if (!fstat(fd, &st) && st.st_size) { /* @fstat all */
            p.at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0); /* @mmap all */
            if (p.at != MAP_FAILED)
                p.len = (size_t)st.st_size;
            else
                p.at = NULL;
        }
        close(fd); /* @close none ignored */
    }
    return p;
}

static unsigned char first_pixel(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY); /* @open none used */
    unsigned char *p, c;

    fstat(fd, &st); /* @fstat none ignored */
    p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0); /* @mmap none dereferenced */
    c = p[16];
    munmap(p, (size_t)st.st_size); /* @munmap none ignored */
    return c;
}

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
    stop = sig;
}

static void signals(void)
{
    struct sigaction sa;
    sigset_t set;

    sa.sa_handler = on_signal;
    sa.sa_flags = 0;
    sigemptyset(&sa.sa_mask); /* @sigemptyset any */
    sigaction(SIGTERM, &sa, NULL); /* @sigaction none ignored */
    if (sigaction(SIGINT, &sa, NULL)) /* @sigaction all */
        abort();
    sigemptyset(&set); /* @sigemptyset any */
    sigaddset(&set, SIGPIPE); /* @sigaddset any */
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0) /* @sigprocmask all */
        abort();
}

static long limit(const char *s)
{
    char *end;
    long n;

    errno = 0;
    n = strtol(s, &end, 0); /* @strtol all */
    if (errno || end == s || *end || n < 0)
        return -1;
    return n;
}

int main(int argc, char **argv)
{
    static struct almanac a;
    struct day *d;
    struct picture pic;
    char date[11], **list;
    long keep = 10;
    int c, n, bad = 0;

    setlocale(LC_ALL, ""); /* @setlocale none ignored */
    signals();
    while ((c = getopt(argc, argv, "k:n:")) != -1) /* @getopt any */
        switch (c) {
        case 'k':
            if ((keep = limit(optarg)) < 0)
                return 2;
            break;
        case 'n':
            if (!notify_open(&a, optarg))
                return 2;
            break;
        default:
            return 2;
        }
    if (optind + 1 >= argc || almanac_open(&a, argv[optind]) != ST_OK)
        return 1;
    if (!today(date) || almanac_load(&a, date) != ST_OK)
        return 1;
    d = index_get(&a.index, date, true);
    if (!d || day_append(d, argv[optind + 1]) < 0)
        return 1;
    if (a.index.used > a.index.n)
        index_grow(&a.index);
    if (weekday(date) == 0)
        day_replace(d, "sunday");
    bad += keep > 100 ? (almanac_store_fast(&a, d), 0) : almanac_store_all(&a);
    notify(&a, date);
    n = almanac_list(&a, &list);
    for (int i = 0; i < n && !stop; i++) {
        almanac_touch(&a, list[i]);
        bad += age(&a, list[i]) > keep && room(&a);
    }
    if (mail("root", d->text) != 0 || mail_blind(d->text) || !edit(date))
        bad++;
    pic = picture("/usr/share/almanac.pgm");
    if (pic.at)
        bad += ((char *)pic.at)[0] == first_pixel("/usr/share/almanac.pgm");
    almanac_unlock(&a);
    printf("%f %d\n", elapsed(), bad); /* @printf none ignored */
    return fflush(stdout) || bad; /* @fflush all */
}
