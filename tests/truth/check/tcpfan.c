/* SPDX-License-Identifier: Apache-2.0 */
/* A TCP proxy: listens, connects to a backend for every client, and copies both ways with one poll loop. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#define MAXCONN 512

struct conn {
    int client, server;
    size_t up, down;
    int err;
};

static struct conn conns[MAXCONN];
static int nconns;
static int listen_fd = -1, control_fd = -1, timer_fd = -1;
static struct sockaddr_in backend;
static const char *prog;

static void logmsg(int level, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsyslog(level, fmt, ap);
    va_end(ap);
}

__attribute__((noinline)) static void die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n", prog, what, why); /* @fprintf any */
    exit(2);
}

static int ck(int rc, const char *what)
{
    if (rc == -1)
        die(what, strerror(errno));
    return rc;
}

#define TRY(call) do { if ((call) < 0) { logmsg(LOG_ERR, "%s: %m", #call); goto failed; } } while (0)

static void raise_limit(void)
{
    struct rlimit rl;
    getrlimit(RLIMIT_NOFILE, &rl); /* @getrlimit any */
    rl.rlim_cur = rl.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &rl)) /* @setrlimit all */
        logmsg(LOG_WARNING, "setrlimit: %m");
}

static void make_listener(int port)
{
    struct sockaddr_in sa;
    int on = 1;
    memset(&sa, 0, sizeof sa);
    sa.sin_family = AF_INET;
    sa.sin_port = htons((unsigned short)port);
    sa.sin_addr.s_addr = htonl(INADDR_ANY);
    listen_fd = ck(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), "socket"); /* @socket all */
    setsockopt(listen_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); /* @setsockopt none ignored */
    ck(bind(listen_fd, (struct sockaddr *)&sa, sizeof sa), "bind"); /* @bind all */
    ck(listen(listen_fd, 128), "listen"); /* @listen all */
}

static int make_control(const char *path)
{
    struct sockaddr_un un;
    int fd = -1;
    memset(&un, 0, sizeof un);
    un.sun_family = AF_UNIX;
    strncpy(un.sun_path, path, sizeof un.sun_path - 1);
    unlink(path); /* @unlink none ignored */
    TRY(fd = socket(AF_UNIX, SOCK_DGRAM, 0)); /* @socket all */
    TRY(bind(fd, (struct sockaddr *)&un, sizeof un)); /* @bind all */
    TRY(chmod(path, 0600)); /* @chmod all */
    return fd;
failed:
    if (fd >= 0)
        close(fd); /* @close none ignored */
    return -1;
}

static int make_timer(int seconds)
{
    struct itimerspec its;
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC); /* @timerfd_create none used */
    memset(&its, 0, sizeof its);
    its.it_interval.tv_sec = its.it_value.tv_sec = seconds;
    timerfd_settime(fd, 0, &its, NULL); /* @timerfd_settime none ignored */
    return fd;
}

static int connect_backend(int timeout_ms)
{
    struct pollfd p;
    int fd, err = 0;
    socklen_t len = sizeof err;

    fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0); /* @socket all */
    if (fd < 0)
        return -1;
    if (connect(fd, (struct sockaddr *)&backend, sizeof backend) == 0) /* @connect all */
        return fd;
    if (errno != EINPROGRESS)
        goto fail;
    p.fd = fd;
    p.events = POLLOUT;
    switch (poll(&p, 1, timeout_ms)) { /* @poll all */
    case -1:
        goto fail;
    case 0:
        errno = ETIMEDOUT;
        goto fail;
    default:
        break;
    }
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len); /* @getsockopt none ignored */
    if (err) {
        errno = err;
        goto fail;
    }
    return fd;
fail:
    close(fd); /* @close none ignored */
    return -1;
}

static void drop(int i)
{
    close(conns[i].client); /* @close none ignored */
    close(conns[i].server); /* @close none ignored */
    conns[i] = conns[--nconns];
}

static void describe(int fd, char *out, size_t n)
{
    struct sockaddr_in peer;
    socklen_t len = sizeof peer;
    char host[INET_ADDRSTRLEN], name[256];
    int rc;
    getpeername(fd, (struct sockaddr *)&peer, &len); /* @getpeername none ignored */
    inet_ntop(AF_INET, &peer.sin_addr, host, sizeof host); /* @inet_ntop any */
    rc = getnameinfo((struct sockaddr *)&peer, len, name, sizeof name, NULL, 0, NI_NAMEREQD); /* @getnameinfo some missing=EAI_AGAIN */
    if (rc == EAI_NONAME)
        strcpy(name, "unknown");
    snprintf(out, n, "%s (%s)", host, name); /* @snprintf any */
}

static void accept_clients(void)
{
    char who[512];
    int on = 1;
    for (;;) {
        struct conn *c;
        int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK); /* @accept4 all */
        if (fd < 0) {
            if (errno == EINTR || errno == ECONNABORTED)
                continue;
            if (errno != EAGAIN)
                logmsg(LOG_ERR, "accept: %m");
            return;
        }
        if (nconns == MAXCONN) {
            close(fd); /* @close? none ignored */
            return;
        }
        if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0) /* @setsockopt all */
            logmsg(LOG_DEBUG, "no TCP_NODELAY");
        c = &conns[nconns];
        memset(c, 0, sizeof *c);
        c->client = fd;
        c->server = connect_backend(3000);
        if (c->server < 0) {
            send(fd, "unavailable\n", 12, MSG_NOSIGNAL); /* @send none ignored */
            close(fd); /* @close? none ignored */
            continue;
        }
        describe(fd, who, sizeof who);
        logmsg(LOG_INFO, "connection from %s", who);
        nconns++;
    }
}

static ssize_t pump(int from, int to, int *err)
{
    char buf[8192], *p = buf;
    ssize_t n, w, left;
    n = recv(from, buf, sizeof buf, 0); /* @recv all */
    if (n == -1)
        *err = errno;
    if (n <= 0)
        return n;
    for (left = n; left > 0; left -= w, p += w) {
        w = send(to, p, (size_t)left, MSG_NOSIGNAL); /* @send some missing=EPIPE */
        if (w < 0 && (errno == EAGAIN || errno == EINTR))
            w = 0;
    }
    return n;
}

static void control_message(void)
{
    char cmd[64];
    struct sockaddr_un from;
    socklen_t len = sizeof from;
    ssize_t n = recvfrom(control_fd, cmd, sizeof cmd - 1, MSG_DONTWAIT, (struct sockaddr *)&from, &len); /* @recvfrom none used */
    cmd[n] = 0;
    if (!strcmp(cmd, "count")) {
        n = snprintf(cmd, sizeof cmd, "%d\n", nconns); /* @snprintf any */
        if (sendto(control_fd, cmd, (size_t)n, 0, (struct sockaddr *)&from, len) != n) /* @sendto all */
            logmsg(LOG_NOTICE, "no answer was possible");
    } else if (!strcmp(cmd, "quit")) {
        exit(0);
    }
}

static int wait_ready(fd_set *rd)
{
    int i, rc, max = listen_fd;
    FD_ZERO(rd);
    FD_SET(listen_fd, rd);
    if (control_fd >= 0) {
        FD_SET(control_fd, rd);
        max = control_fd > max ? control_fd : max;
    }
    for (i = 0; i < nconns; i++) {
        FD_SET(conns[i].client, rd);
        FD_SET(conns[i].server, rd);
        max = conns[i].client > max ? conns[i].client : max;
        max = conns[i].server > max ? conns[i].server : max;
    }
    do {
        rc = select(max + 1, rd, NULL, NULL, NULL); /* @select all */
    } while (rc < 0 && errno == EINTR);
    return rc;
}

static void report_ticks(void)
{
    unsigned long long ticks = 0;
    if (read(timer_fd, &ticks, sizeof ticks) == sizeof ticks) /* @read all */
        logmsg(LOG_INFO, "%d connections", nconns);
}

static void loop(void)
{
    fd_set rd;
    int i;
    while (wait_ready(&rd) > 0) {
        report_ticks();
        if (FD_ISSET(listen_fd, &rd))
            accept_clients();
        if (control_fd >= 0 && FD_ISSET(control_fd, &rd))
            control_message();
        for (i = nconns - 1; i >= 0; i--) {
            struct conn *c = &conns[i];
            ssize_t n = 1;
            if (FD_ISSET(c->client, &rd))
                n = pump(c->client, c->server, &c->err);
            else if (FD_ISSET(c->server, &rd))
                n = pump(c->server, c->client, &c->err);
            if (c->err && c->err != EAGAIN)
                logmsg(LOG_NOTICE, "connection lost: %s", strerror(c->err));
            if (n <= 0)
                drop(i);
        }
    }
    logmsg(LOG_CRIT, "select: %m");
}

int main(int argc, char **argv)
{
    struct sigaction sa;
    long port;
    prog = argv[0];
    if (argc < 4)
        die("usage", "PORT ADDRESS BACKEND-PORT [CONTROL]");
    openlog("tcpfan", LOG_PID, LOG_DAEMON);
    port = strtol(argv[1], NULL, 10); /* @strtol all */
    if (port < 1 || port > 65535)
        return 2;
    backend.sin_family = AF_INET;
    backend.sin_port = htons((unsigned short)strtol(argv[3], NULL, 10)); /* @strtol none used */
    if (inet_pton(AF_INET, argv[2], &backend.sin_addr) != 1) /* @inet_pton all */
        die(argv[2], "not an address");
    memset(&sa, 0, sizeof sa);
    sa.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &sa, NULL); /* @sigaction any */
    raise_limit();
    make_listener((int)port);
    if (argc > 4 && (control_fd = make_control(argv[4])) == -1)
        return 1;
    timer_fd = make_timer(60);
    if (daemon(0, 0)) { /* @daemon all */
        perror("daemon");
        return 1;
    }
    loop();
    return 1;
}
