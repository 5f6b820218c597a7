/* SPDX-License-Identifier: Apache-2.0 */
/* echod: a single-threaded epoll echo server with idle timer, pid file and statistics. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { NEVENTS = 32, BUFSZ = 4096 };

typedef struct conn {
    int fd;
    size_t have;
    unsigned idle;
    struct conn *next, **prev;
    char buf[BUFSZ];
} conn_t;

static struct server {
    int ep;
    int lfd;
    int tfd;
    conn_t *conns;
    unsigned long long in, out;
} srv = { -1, -1, -1, NULL, 0, 0 };

static volatile sig_atomic_t stop;

static void on_term(int sig)
{
    (void)sig;
    stop = 1;
}

static int set_nonblock(int fd)
{
    int fl = fcntl(fd, F_GETFL);                     /* @fcntl none used */
    return fcntl(fd, F_SETFL, fl | O_NONBLOCK);      /* @fcntl all */
}

static int make_listener(const char *host, const char *port)
{
    struct addrinfo hints, *res, *ai;
    int fd = -1, one = 1, rc;

    memset(&hints, 0, sizeof hints);
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    if ((rc = getaddrinfo(host, port, &hints, &res)) != 0) {     /* @getaddrinfo all */
        fprintf(stderr, "echod: %s: %s\n", port, gai_strerror(rc));  /* @fprintf none ignored */
        return -1;
    }
    for (ai = res; ai != NULL; ai = ai->ai_next) {
        fd = socket(ai->ai_family, ai->ai_socktype, ai->ai_protocol);    /* @socket all */
        if (fd < 0)
            continue;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);  /* @setsockopt none ignored */
        if (bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 && listen(fd, 64) == 0)   /* @bind all; @listen all */
            break;
        close(fd);      /* @close none ignored */
        fd = -1;
    }
    freeaddrinfo(res);
    return fd;
}

static int watch(int fd, uint32_t events, void *ptr)
{
    struct epoll_event ev;

    memset(&ev, 0, sizeof ev);
    ev.events = events;
    ev.data.ptr = ptr;
    return epoll_ctl(srv.ep, EPOLL_CTL_ADD, fd, &ev);    /* @epoll_ctl all */
}

static void drop(conn_t *c)
{
    if (epoll_ctl(srv.ep, EPOLL_CTL_DEL, c->fd, NULL) < 0 && errno == EBADF)     /* @epoll_ctl some missing=ENOENT,ENOMEM */
        abort();
    close(c->fd);                                        /* @close none ignored */
    *c->prev = c->next;
    if (c->next)
        c->next->prev = c->prev;
    free(c);
}

static void greet(const struct sockaddr *sa, socklen_t len)
{
    char host[NI_MAXHOST], serv[NI_MAXSERV];

    if (getnameinfo(sa, len, host, sizeof host, serv, sizeof serv,   /* @getnameinfo all */
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return;
    dprintf(2, "echod: connection from %s port %s\n", host, serv);  /* @dprintf none ignored */
}

static void take_new(void)
{
    struct sockaddr_storage ss;
    socklen_t sl;
    conn_t *c;
    int fd;

    for (;;) {
        sl = sizeof ss;
        fd = accept(srv.lfd, (struct sockaddr *)&ss, &sl);       /* @accept all */
        if (fd < 0) {
            switch (errno) {
            case EINTR:
            case ECONNABORTED:
                continue;
            case EAGAIN:
                return;
            default:
                perror("accept");
                return;
            }
        }
        greet((struct sockaddr *)&ss, sl);
        c = malloc(sizeof *c);                   /* @malloc all */
        if (!c || set_nonblock(fd) < 0) {
            free(c);
            close(fd);                           /* @close? none ignored */
            continue;
        }
        c->fd = fd;
        c->have = 0;
        c->idle = 0;
        if (watch(fd, EPOLLIN | EPOLLRDHUP, c) != 0) {
            perror("epoll_ctl");
            free(c);
            close(fd);                           /* @close? none ignored */
            continue;
        }
        c->next = srv.conns;
        c->prev = &srv.conns;
        if (c->next)
            c->next->prev = &c->next;
        srv.conns = c;
    }
}

/* returns 0 to go on, -1 when the connection is to be dropped */
static int serve(conn_t *c)
{
    ssize_t n, w;

    n = recv(c->fd, c->buf + c->have, sizeof c->buf - c->have, 0);   /* @recv all */
    if (n == 0)
        return -1;
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    c->idle = 0;
    c->have += (size_t)n;
    srv.in += (unsigned long long)n;
    w = send(c->fd, c->buf, c->have, MSG_NOSIGNAL);     /* @send some missing=ECONNRESET,ENOBUFS */
    if (w == -1 && (errno == EPIPE || errno == EBADF))
        return -1;
    srv.out += (unsigned long long)w;
    memmove(c->buf, c->buf + w, c->have - (size_t)w);
    c->have -= (size_t)w;
    return 0;
}

static void tick(void)
{
    uint64_t expired;
    conn_t *c, *next;

    if (read(srv.tfd, &expired, sizeof expired) < 0 && errno == EAGAIN)  /* @read some missing=EIO,EINTR */
        return;
    for (c = srv.conns; c; c = next) {
        next = c->next;
        c->idle += (unsigned)expired;
        if (c->idle > 60)
            drop(c);
    }
}

static void start_timer(void)
{
    struct itimerspec its = { { 1, 0 }, { 1, 0 } };

    srv.tfd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);     /* @timerfd_create all */
    if (srv.tfd == -1) {
        perror("timerfd_create");
        exit(1);
    }
    if (timerfd_settime(srv.tfd, 0, &its, NULL) < 0)     /* @timerfd_settime all */
        exit(1);
}

static void write_pid(const char *path)
{
    char num[24];
    int fd, len;

    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);     /* @open none used */
    if (!fd)
        return;
    len = sprintf(num, "%ld\n", (long)getpid());     /* @sprintf none used/ignored */
    if (write(fd, num, len) < (size_t)len)           /* @write none used/ignored */
        dprintf(2, "echod: short write to %s\n", path);      /* @dprintf none ignored */
    close(fd);                                       /* @close none ignored */
}

static void raise_limits(void)
{
    struct rlimit rl;

    if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {    /* @getrlimit all */
        rl.rlim_cur = rl.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &rl) != 0 && errno == EPERM)    /* @setrlimit some missing=EINVAL */
            perror("setrlimit");
    }
}

static void install_signals(void)
{
    struct sigaction sa;

    memset(&sa, 0, sizeof sa);
    sa.sa_handler = on_term;
    sigemptyset(&sa.sa_mask);                    /* @sigemptyset? any */
    if (sigaction(SIGTERM, &sa, NULL) | sigaction(SIGINT, &sa, NULL)) {  /* @sigaction all */
        perror("sigaction");
        exit(1);
    }
    signal(SIGPIPE, SIG_IGN);                    /* @signal none ignored */
}

static int loop(void)
{
    struct epoll_event ev[NEVENTS];
    int i, n;

    while (!stop) {
        n = epoll_wait(srv.ep, ev, NEVENTS, -1);     /* @epoll_wait all */
        if (n < 0) {
            if (errno == EINTR)
                continue;
            return -1;
        }
        for (i = 0; i < n; i++) {
            if (ev[i].data.ptr == &srv.lfd)
                take_new(); /* @close? none ignored */
            else if (ev[i].data.ptr == &srv.tfd)
                tick();
            else if (serve(ev[i].data.ptr) < 0)
                drop(ev[i].data.ptr);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *port = argc > 1 ? argv[1] : "7007";
    int rc;

    install_signals();
    raise_limits();
    srv.lfd = make_listener(NULL, port);
    if (srv.lfd < 0)
        return 1;
    if (set_nonblock(srv.lfd) == -1)
        return 1;
    if (argc > 2 && daemon(1, 1) < 0) {          /* @daemon all */
        perror("daemon");
        return 1;
    }
    if (argc > 3)
        write_pid(argv[3]);
    srv.ep = epoll_create1(EPOLL_CLOEXEC);       /* @epoll_create1 all */
    if (srv.ep < 0) {
        perror("epoll_create1");
        return 1;
    }
    start_timer();
    if (watch(srv.lfd, EPOLLIN, &srv.lfd) < 0 || watch(srv.tfd, EPOLLIN, &srv.tfd) < 0) {
        perror("epoll_ctl");
        return 1;
    }
    rc = loop();
    while (srv.conns)
        drop(srv.conns);
    if (argc > 3)
        unlink(argv[3]);                         /* @unlink none ignored */
    printf("in %llu out %llu\n", srv.in, srv.out);   /* @printf none ignored */
    return rc < 0;
}
