/* SPDX-License-Identifier: Apache-2.0 */
/* A log shipper: follows a log file, sends what is new to a collector, and remembers how far it got. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct shipper {
    const char *path;
    const char *state;
    const char *host;
    const char *port;
    int in;
    int sock;
    long long pos;
    unsigned errors;
    int verbose;
};

static volatile sig_atomic_t stop;

static void on_term(int sig)
{
    (void)sig;
    stop = 1;
}

static void say(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap); /* @vfprintf any */
    va_end(ap);
    fputc('\n', stderr); /* @fputc/putc any */
}

__attribute__((noreturn)) static void die(const char *what)
{
    say("logship: %s: %s", what, strerror(errno));
    exit(1);
}

static void install_handlers(void)
{
    static const int sigs[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };
    struct sigaction sa;
    memset(&sa, 0, sizeof sa);
    sa.sa_handler = on_term;
    sigemptyset(&sa.sa_mask); /* @sigemptyset any */
    for (size_t i = 0; i < sizeof sigs / sizeof *sigs; i++)
        if (sigaction(sigs[i], &sa, NULL) < 0) /* @sigaction all */
            die("sigaction");
    signal(SIGPIPE, SIG_IGN); /* @signal any */
}

static int dial(const char *host, const char *port)
{
    struct addrinfo hints, *list, *ai;
    int fd = -1, rc, fl;

    memset(&hints, 0, sizeof hints);
    hints.ai_socktype = SOCK_STREAM;
    rc = getaddrinfo(host, port, &hints, &list); /* @getaddrinfo all */
    if (rc != 0) {
        say("%s:%s: %s", host, port, gai_strerror(rc));
        return -1;
    }
    for (ai = list; ai; ai = ai->ai_next) {
        fd = socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC, ai->ai_protocol); /* @socket all */
        if (fd == -1)
            continue;
        if (connect(fd, ai->ai_addr, ai->ai_addrlen) == 0) /* @connect all */
            break;
        close(fd); /* @close none ignored */
        fd = -1;
    }
    freeaddrinfo(list);
    if (fd >= 0) {
        int on = 1;
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on); /* @setsockopt none ignored */
        fl = fcntl(fd, F_GETFL); /* @fcntl/fcntl64 none used */
        fcntl(fd, F_SETFL, fl | O_NONBLOCK); /* @fcntl/fcntl64 none ignored */
    }
    return fd;
}

static int send_all(int fd, const char *buf, size_t len)
{
    size_t off = 0;
    while (off != len) {
        ssize_t n = send(fd, buf + off, len - off, MSG_NOSIGNAL); /* @send all */
        if (n < 0) {
            struct pollfd p = { .fd = fd, .events = POLLOUT };
            if (errno == EINTR)
                continue;
            if (errno != EAGAIN)
                return -1;
            if (poll(&p, 1, 5000) <= 0) /* @poll all */
                return -1;
            continue;
        }
        off += (size_t)n;
    }
    return 0;
}

static long long load_position(const char *state)
{
    long long v;
    FILE *f = fopen(state, "r"); /* @fopen all */
    if (!f) {
        if (errno != ENOENT)
            die(state);
        return 0;
    }
    if (fscanf(f, "%lld", &v) != 1) /* @fscanf/__isoc99_fscanf all */
        v = 0;
    fclose(f); /* @fclose none ignored */
    return v;
}

static int save_position(struct shipper *s)
{
    char tmp[4096];
    int bad = 0;
    FILE *f;

    if ((size_t)snprintf(tmp, sizeof tmp, "%s.new", s->state) >= sizeof tmp) /* @snprintf all */
        return -1;
    f = fopen(tmp, "w"); /* @fopen all */
    if (f == NULL) {
        s->errors++;
        return -1;
    }
    fprintf(f, "%lld %s\n", s->pos, s->path); /* @fprintf all */
    if (fflush(f) == EOF || ferror(f)) /* @fflush all; @ferror any */
        bad = 1;
    if (fsync(fileno(f))) /* @fsync all; @fileno any */
        bad = 1;
    if (fclose(f)) /* @fclose all */
        bad = 1;
    if (bad) {
        unlink(tmp); /* @unlink none ignored */
        return -1;
    }
    return rename(tmp, s->state); /* @rename all */
}

static void open_log(struct shipper *s)
{
    s->in = open(s->path, O_RDONLY | O_CLOEXEC); /* @open all */
}

static void skip_to_position(struct shipper *s)
{
    struct stat st;
    fstat(s->in, &st); /* @fstat none ignored */
    if (st.st_size < s->pos) {
        say("%s: was truncated", s->path);
        s->pos = 0;
    }
    lseek(s->in, s->pos, SEEK_SET); /* @lseek/lseek64 none ignored */
}

static int rotated(struct shipper *s)
{
    struct stat now, mine;
    if (stat(s->path, &now) != 0) /* @stat all */
        return 0;
    if (fstat(s->in, &mine) == -1) /* @fstat all */
        return 1;
    return now.st_ino != mine.st_ino || now.st_dev != mine.st_dev;
}

static int ship_chunk(struct shipper *s)
{
    static char buf[65536];
    ssize_t n = read(s->in, buf, sizeof buf); /* @read some missing=EIO */
    if (n == -1 && errno == EINTR)
        return 0;
    if (n == 0)
        return 0;
    if (send_all(s->sock, buf, n) != 0)
        return -1;
    s->pos += n;
    return 1;
}

static void heartbeat(struct shipper *s)
{
    struct timespec now, gap = { 0, 250 * 1000 * 1000 };
    static time_t last;
    clock_gettime(CLOCK_MONOTONIC, &now); /* @clock_gettime any */
    if (now.tv_sec - last >= 30) {
        write(s->sock, "\n", 1); /* @write none ignored */
        last = now.tv_sec;
    }
    nanosleep(&gap, NULL); /* @nanosleep none ignored */
}

static void be_nice(void)
{
    int p;
    errno = 0;
    p = getpriority(PRIO_PROCESS, 0); /* @getpriority all */
    if (p == -1 && errno != 0)
        die("getpriority");
    if (p < 10)
        setpriority(PRIO_PROCESS, 0, p + 5); /* @setpriority none ignored */
}

static void write_pid(const char *path)
{
    FILE *f = fopen(path, "w"); /* @fopen none dereferenced/used */
    fprintf(f, "%ld\n", (long)getpid()); /* @fprintf none ignored */
    fclose(f); /* @fclose none ignored */
}

static int follow(struct shipper *s)
{
    int r;
    while (!stop) {
        r = ship_chunk(s);
        if (r < 0) {
            close(s->sock); /* @close none ignored */
            while ((s->sock = dial(s->host, s->port)) < 0 && !stop)
                sleep(5); /* @sleep any */
            continue;
        }
        if (r == 0) {
            if (rotated(s)) {
                close(s->in); /* @close none ignored */
                open_log(s);
                if (s->in < 0)
                    return -1;
                s->pos = 0;
            }
            heartbeat(s);
        }
        if (save_position(s) < 0)
            s->errors++;
        if (s->errors > 10)
            return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct shipper s;
    memset(&s, 0, sizeof s);
    if (argc < 5) {
        say("usage: logship LOG STATE HOST PORT [PIDFILE]");
        return 2;
    }
    s.path = argv[1];
    s.state = argv[2];
    s.host = argv[3];
    s.port = argv[4];
    if (argc > 5)
        write_pid(argv[5]);
    install_handlers();
    be_nice();
    s.pos = load_position(s.state);
    open_log(&s);
    if (s.in < 0)
        die(s.path);
    skip_to_position(&s);
    s.sock = dial(s.host, s.port);
    if (s.sock < 0)
        return 1;
    if (follow(&s) < 0)
        die("giving up");
    if (save_position(&s))
        say("position not saved");
    shutdown(s.sock, SHUT_WR); /* @shutdown none ignored */
    return 0;
}
