/* SPDX-License-Identifier: Apache-2.0 */
/* A client and a small proxy: names, addresses, sockets, partial sends, polling, options. */
/* flags: -D_GNU_SOURCE -fno-plt -fno-pie */
/* link: -no-pie */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

struct peer {
    int fd;
    struct sockaddr_storage sa;
    socklen_t len;
    unsigned long in, out;
    char name[NI_MAXHOST];
};

static int debug;

int peer_connect(struct peer *p, const char *host, const char *port)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list, *a;
    int e, fd = -1;

    if ((e = getaddrinfo(host, port, &hints, &list))) { /* @getaddrinfo all */
        syslog(LOG_ERR, "%s: %s", host, gai_strerror(e));
        return -1;
    }
    for (a = list; a; a = a->ai_next) {
        if ((fd = socket(a->ai_family, a->ai_socktype, a->ai_protocol)) < 0) /* @socket all */
            continue;
        if (connect(fd, a->ai_addr, a->ai_addrlen) == 0) /* @connect all */
            break;
        close(fd); /* @close none ignored */
        fd = -1;
    }
    freeaddrinfo(list);
    p->fd = fd;
    return fd == -1 ? -1 : 0;
}

int peer_connect_old(struct peer *p, const char *host, unsigned short port)
{
    struct sockaddr_in sin = { .sin_family = AF_INET };
    struct hostent *h = gethostbyname(host); /* @gethostbyname none dereferenced */

    memcpy(&sin.sin_addr, h->h_addr_list[0], sizeof sin.sin_addr);
    sin.sin_port = htons(port);
    p->fd = socket(AF_INET, SOCK_STREAM, 0); /* @socket any */
    return connect(p->fd, (struct sockaddr *)&sin, sizeof sin); /* @connect all */
}

int peer_connect_unix(struct peer *p, const char *path)
{
    struct sockaddr_un sun = { .sun_family = AF_UNIX };

    if (strlen(path) >= sizeof sun.sun_path)
        return -ENAMETOOLONG;
    strcpy(sun.sun_path, path);
    p->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); /* @socket none used */
    if (p->fd == 0)
        return -EBADF;
    if (connect(p->fd, (void *)&sun, sizeof sun) < 0) { /* @connect all */
        int e = errno;
        close(p->fd); /* @close none ignored */
        return -e;
    }
    return 0;
}

/* Non-blocking: one error means that it goes on. */
int peer_connect_later(struct peer *p)
{
    int rc = connect(p->fd, (struct sockaddr *)&p->sa, p->len); /* @connect all */

    if (rc == 0)
        return 1;
    if (errno == EINPROGRESS)
        return 0;
    return -1;
}

/* Everything but "in progress" goes on as if connected. */
int peer_connect_lax(struct peer *p)
{
    if (connect(p->fd, (struct sockaddr *)&p->sa, p->len) < 0 && errno == EINPROGRESS) /* @connect some missing=ECONNREFUSED */
        return 0;
    return 1;
}

static int nonblock(int fd)
{
    int fl = fcntl(fd, F_GETFL); /* @fcntl all */

    if (fl == -1 || fcntl(fd, F_SETFL, fl | O_NONBLOCK) == -1) /* @fcntl all */
        return -1;
    return 0;
}

static void nonblock_careless(int fd)
{
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL, 0) | O_NONBLOCK); /* @fcntl none ignored/used */
}

static void tune(int fd)
{
    int on = 1, size = 65536;

    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) && debug) /* @setsockopt all */
        syslog(LOG_DEBUG, "nodelay: %m");
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size); /* @setsockopt none ignored */
}

int send_all(struct peer *p, const char *b, size_t n)
{
    while (n > 0) {
        ssize_t w = send(p->fd, b, n, MSG_NOSIGNAL); /* @send all */

        if (w < 0) {
            if (errno == EINTR)
                continue;
            return -errno;
        }
        b += w;
        n -= (size_t)w;
        p->out += (unsigned long)w;
    }
    return 0;
}

/* The same, wrong: an error moves the pointer back. */
void send_all_wrong(struct peer *p, const char *b, size_t n)
{
    size_t done = 0;

    do {
        done += (size_t)send(p->fd, b + done, n - done, 0); /* @send none used */
    } while (done != n);
}

long receive(struct peer *p, char *b, size_t n)
{
    ssize_t r;

again:
    r = recv(p->fd, b, n, 0); /* @recv all */
    switch (r) {
    case -1:
        if (errno == EINTR)
            goto again;
        return -1;
    case 0:
        return 0;
    }
    p->in += (unsigned long)r;
    return r;
}

/* Only the end is seen. */
long receive_until_end(struct peer *p, char *b, size_t n)
{
    ssize_t r, total = 0;

    while ((r = recv(p->fd, b, n, 0)) != 0) /* @recv none used */
        total += r;
    return total;
}

long receive_retry(struct peer *p, void *b, size_t n)
{
    ssize_t r;

    do
        r = recvfrom(p->fd, b, n, 0, (struct sockaddr *)&p->sa, &p->len); /* @recvfrom some missing=EBADF */
    while (r == -1 && errno == EINTR);
    p->in += (unsigned long)r;
    return 0;
}

int greet(struct peer *p)
{
    char line[100];
    struct iovec v[2] = { { "HELLO ", 6 }, { p->name, strlen(p->name) } };
    ssize_t n;

    if (writev(p->fd, v, 2) != (ssize_t)(6 + v[1].iov_len)) /* @writev all */
        return -1;
    n = read(p->fd, line, sizeof line - 1); /* @read none used */
    line[n] = 0;
    return strncmp(line, "OK", 2);
}

int wait_for(struct peer *p, int ms)
{
    struct pollfd f = { .fd = p->fd, .events = POLLIN };
    int n = poll(&f, 1, ms); /* @poll all */

    if (n <= 0)
        return n;
    return f.revents & POLLIN;
}

int wait_for_wrong(struct peer *p, int ms)
{
    struct pollfd f = { .fd = p->fd, .events = POLLIN };

    if (poll(&f, 1, ms) == 0) /* @poll none used/ignored */
        return -ETIMEDOUT;
    return f.revents & POLLIN;
}

int wait_either(int a, int b)
{
    fd_set r;
    int n;

    FD_ZERO(&r);
    FD_SET(a, &r);
    FD_SET(b, &r);
    do {
        n = select((a > b ? a : b) + 1, &r, NULL, NULL, NULL); /* @select all */
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -1;
    return FD_ISSET(a, &r) ? a : b;
}

int parse_address(struct peer *p, const char *text)
{
    struct sockaddr_in *sin = (struct sockaddr_in *)&p->sa;

    sin->sin_family = AF_INET;
    p->len = sizeof *sin;
    if (inet_pton(AF_INET, text, &sin->sin_addr) <= 0) /* @inet_pton all */
        return -1;
    return 0;
}

int parse_address_old(struct peer *p, const char *text)
{
    struct sockaddr_in *sin = (struct sockaddr_in *)&p->sa;

    return inet_aton(text, &sin->sin_addr) ? 0 : -1; /* @inet_aton all */
}

void name_peer(struct peer *p)
{
    if (getpeername(p->fd, (struct sockaddr *)&p->sa, &p->len) == -1) { /* @getpeername all */
        strcpy(p->name, "?");
        return;
    }
    getnameinfo((struct sockaddr *)&p->sa, p->len, p->name, sizeof p->name, NULL, 0, 0); /* @getnameinfo none ignored */
}

int name_peer_wrong(struct peer *p)
{
    /* EAI_ codes are negative numbers, but nobody should rely on one of them */
    int rc = getnameinfo((struct sockaddr *)&p->sa, p->len, p->name, sizeof p->name, NULL, 0, NI_NAMEREQD); /* @getnameinfo some missing=EAI_AGAIN */

    if (rc == EAI_NONAME)
        return 0;
    return 1;
}

int serve(unsigned short port)
{
    struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    int one = 1, fd, rc;

    if (~(fd = socket(AF_INET6, SOCK_STREAM, 0)) == 0) /* @socket all */
        return -1;
    rc = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one); /* @setsockopt all */
    rc = rc ?: bind(fd, (struct sockaddr *)&sin6, sizeof sin6); /* @bind all */
    rc = rc ?: listen(fd, 16); /* @listen all */
    if (rc) {
        close(fd); /* @close none ignored */
        return -1;
    }
    return fd;
}

int serve_careless(const char *path)
{
    struct sockaddr_un sun = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0); /* @socket all */

    strncpy(sun.sun_path, path, sizeof sun.sun_path - 1);
    unlink(path); /* @unlink none ignored */
    bind(fd, (struct sockaddr *)&sun, sizeof sun); /* @bind none ignored */
    listen(fd, 5); /* @listen none ignored */
    return fd;
}

int loop(int listener)
{
    struct epoll_event ev = { .events = EPOLLIN }, evs[8];
    int ep = epoll_create1(EPOLL_CLOEXEC); /* @epoll_create1 all */
    int c, n, served = 0;

    if (ep < 0)
        return -1;
    ev.data.fd = listener;
    if (epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev)) { /* @epoll_ctl all */
        close(ep); /* @close? none ignored */
        return -1;
    }
    while ((n = epoll_wait(ep, evs, 8, 1000)) >= 0 || errno == EINTR) { /* @epoll_wait all */
        for (int i = 0; i < n; i++) {
            if (evs[i].data.fd == listener) {
                c = accept4(listener, NULL, NULL, SOCK_NONBLOCK); /* @accept4 none used */
                ev.data.fd = c;
                epoll_ctl(ep, EPOLL_CTL_ADD, c, &ev); /* @epoll_ctl none ignored */
            } else {
                shutdown(evs[i].data.fd, SHUT_RDWR); /* @shutdown none ignored */
                served++;
            }
        }
    }
    close(ep); /* @close? none ignored */
    return served;
}

int waiting(int fd)
{
    int n;

    if (ioctl(fd, FIONREAD, &n) < 0) /* @ioctl all */
        n = 0;
    return n;
}

int main(int argc, char **argv)
{
    static struct peer p, q;
    char buf[512];
    int fd, rc = 0;

    if (argc < 3)
        return 2;
    openlog("fetchd", LOG_PID, LOG_DAEMON);
    debug = argc > 3;
    if (peer_connect(&p, argv[1], argv[2]) < 0 && peer_connect_old(&p, argv[1], 80) != 0)
        return 1;
    if (nonblock(p.fd))
        return 1;
    tune(p.fd);
    if (peer_connect_unix(&q, argv[2]) < 0)
        return 1;
    nonblock_careless(q.fd);
    if (parse_address(&q, argv[1]) && parse_address_old(&q, argv[1]))
        return 1;
    if (peer_connect_later(&q) < 0 || !peer_connect_lax(&q))
        return 1;
    if (greet(&p) || send_all(&p, "GET /\r\n", 7) < 0)
        return 1;
    send_all_wrong(&q, "x", 1);
    if (wait_for(&p, 100) <= 0 || wait_for_wrong(&q, 100) < 0 || wait_either(p.fd, q.fd) < 0)
        return 1;
    name_peer(&p);
    rc += name_peer_wrong(&q);
    while (receive(&p, buf, sizeof buf) > 0)
        rc++;
    rc += (int)receive_until_end(&q, buf, sizeof buf) + (int)receive_retry(&q, buf, sizeof buf);
    fd = argc > 4 ? serve_careless(argv[4]) : serve(8080);
    if (fd < 0)
        return 1;
    rc += waiting(fd);
    return loop(fd) < 0 || rc > 100;
}
