/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP/1.0 server for static files: one thread, poll, and a table of handlers for the states of a connection. */
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
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAXCONN 128

enum phase { READ_HEAD, SEND_HEAD, SEND_BODY, CLOSING, NPHASE };

struct conn {
    int fd;
    int file;
    enum phase phase;
    char *in;
    size_t nin, cap;
    char out[512];
    size_t nout, sent;
    off_t pos, size;
    time_t since;
};

static struct conn *conns[MAXCONN];
static struct pollfd fds[MAXCONN + 1];
static int nconn;
static FILE *access_log;
static int root_fd = -1;

static void logf_(const char *fmt, ...)
{
    va_list ap;
    if (!access_log)
        return;
    va_start(ap, fmt);
    vfprintf(access_log, fmt, ap); /* @vfprintf none ignored */
    va_end(ap);
    fflush(access_log); /* @fflush none ignored */
}

static int nonblocking(int fd)
{
    int on = 1;
    return ioctl(fd, FIONBIO, &on); /* @ioctl all */
}

static int listen_on(const char *port)
{
    struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM };
    struct addrinfo *list = NULL, *a;
    int fd = -1, one = 1, rc;
    if ((rc = getaddrinfo(NULL, port, &hints, &list)) != 0) { /* @getaddrinfo all */
        fprintf(stderr, "httpoll: %s\n", gai_strerror(rc)); /* @fprintf any */
        return -1;
    }
    for (a = list; a; a = a->ai_next) {
        if ((fd = socket(a->ai_family, a->ai_socktype, a->ai_protocol)) < 0) /* @socket all */
            continue;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one); /* @setsockopt none ignored */
        if (!bind(fd, a->ai_addr, a->ai_addrlen) && !listen(fd, 64)) /* @bind all; @listen all */
            break;
        close(fd); /* @close none ignored */
        fd = -1;
    }
    freeaddrinfo(list);
    return fd;
}

static void accept_new(int lfd)
{
    struct sockaddr_storage ss;
    socklen_t len = sizeof ss;
    char host[64];
    struct conn *c;
    int one = 1, fd = accept(lfd, (struct sockaddr *)&ss, &len); /* @accept all */
    if (fd < 0) {
        if (errno != EAGAIN && errno != ECONNABORTED)
            perror("accept");
        return;
    }
    if (nonblocking(fd) == -1 || nconn == MAXCONN) {
        close(fd); /* @close? none ignored */
        return;
    }
    c = calloc(1, sizeof *c); /* @calloc all */
    if (!c) {
        close(fd); /* @close? none ignored */
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* @setsockopt none ignored */
    if (getnameinfo((struct sockaddr *)&ss, len, host, sizeof host, NULL, 0, NI_NUMERICHOST)) /* @getnameinfo all */
        strcpy(host, "?");
    logf_("%s connected\n", host);
    c->fd = fd;
    c->file = -1;
    c->since = time(NULL); /* @time any */
    conns[nconn++] = c;
}

static void set_reply(struct conn *c, int code, const char *text)
{
    int n = snprintf(c->out, sizeof c->out, "HTTP/1.0 %d %s\r\nContent-Length: %lld\r\n\r\n", code, text, (long long)c->size); /* @snprintf any */
    c->nout = (size_t)n;
    c->sent = 0;
    c->phase = SEND_HEAD;
}

static void open_target(struct conn *c, char *path)
{
    struct stat st;
    while (*path == '/')
        path++;
    c->file = openat(root_fd, *path ? path : "index.html", O_RDONLY | O_NOFOLLOW | O_CLOEXEC); /* @openat all */
    if (c->file < 0) {
        switch (errno) {
        case ENOENT:
            set_reply(c, 404, "Not Found");
            break;
        case EACCES:
        case ELOOP:
            set_reply(c, 403, "Forbidden");
            break;
        default:
            set_reply(c, 500, "Error");
        }
        return;
    }
    if (fstat(c->file, &st) < 0 || !S_ISREG(st.st_mode)) { /* @fstat all */
        set_reply(c, 403, "Forbidden");
        return;
    }
    c->size = st.st_size;
    set_reply(c, 200, "OK");
}

static int do_read_head(struct conn *c)
{
    char *save, *verb, *path;
    ssize_t n;
    if (c->nin + 512 > c->cap) {
        char *p = realloc(c->in, c->cap + 1024); /* @realloc all */
        if (!p)
            return -1;
        c->in = p;
        c->cap += 1024;
    }
    n = recv(c->fd, c->in + c->nin, 511, 0); /* @recv all */
    if (n < 0)
        return errno == EAGAIN ? 0 : -1;
    if (n == 0 || c->nin > 8192)
        return -1;
    c->nin += (size_t)n;
    c->in[c->nin] = 0;
    if (!strstr(c->in, "\r\n\r\n")) /* @strstr any */
        return 0;
    verb = strtok_r(c->in, " ", &save); /* @strtok_r any */
    path = strtok_r(NULL, " ", &save); /* @strtok_r any */
    if (!verb || !path || strcasecmp(verb, "GET")) /* @strcasecmp any */
        set_reply(c, 400, "Bad Request");
    else
        open_target(c, path);
    return 0;
}

static int do_send_head(struct conn *c)
{
    ssize_t n = send(c->fd, c->out + c->sent, c->nout - c->sent, MSG_NOSIGNAL); /* @send all */
    if (n == -1)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    c->sent += (size_t)n;
    if (c->sent == c->nout)
        c->phase = c->size ? SEND_BODY : CLOSING;
    return 0;
}

static int do_send_body(struct conn *c)
{
    ssize_t n = sendfile(c->fd, c->file, &c->pos, (size_t)(c->size - c->pos)); /* @sendfile/sendfile64 some missing=EIO */
    if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
        return -1;
    if (c->pos >= c->size)
        c->phase = CLOSING;
    return 0;
}

static int do_closing(struct conn *c)
{
    return shutdown(c->fd, SHUT_WR) == 0 ? 1 : -1; /* @shutdown all */
}

static int (*const handlers[NPHASE])(struct conn *) = {
    [READ_HEAD] = do_read_head,
    [SEND_HEAD] = do_send_head,
    [SEND_BODY] = do_send_body,
    [CLOSING] = do_closing,
};

static void drop(int i)
{
    struct conn *c = conns[i];
    int err = 0;
    socklen_t len = sizeof err;
    getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &err, &len); /* @getsockopt none ignored */
    if (err)
        logf_("connection ended: %s\n", strerror(err));
    close(c->fd); /* @close none ignored */
    if (c->file >= 0)
        close(c->file); /* @close none ignored */
    free(c->in);
    free(c);
    conns[i] = conns[--nconn];
}

static int loop(int lfd)
{
    for (;;) {
        int i, n = 1, ready;
        fds[0].fd = lfd;
        fds[0].events = POLLIN;
        for (i = 0; i < nconn; i++, n++) {
            fds[n].fd = conns[i]->fd;
            fds[n].events = conns[i]->phase == READ_HEAD ? POLLIN : POLLOUT;
        }
        ready = poll(fds, (nfds_t)n, 1000); /* @poll all */
        if (ready == -1) {
            if (errno == EINTR)
                continue;
            return -1;
        }
        for (i = nconn - 1; i >= 0; i--) {
            int rc = fds[i + 1].revents ? handlers[conns[i]->phase](conns[i]) : 0;
            if (rc < 0)
                logf_("connection %d broke\n", i);
            if (rc)
                drop(i);
        }
        if (fds[0].revents & POLLIN)
            accept_new(lfd);
    }
}

static bool write_port(int lfd, const char *path)
{
    struct sockaddr_in sin;
    socklen_t len = sizeof sin;
    FILE *f;
    getsockname(lfd, (struct sockaddr *)&sin, &len); /* @getsockname none ignored */
    f = fopen(path, "w"); /* @fopen all */
    if (!f)
        return false;
    fprintf(f, "%d\n", ntohs(sin.sin_port)); /* @fprintf none ignored */
    return fclose(f) == 0; /* @fclose all */
}

int main(int argc, char **argv)
{
    struct sigaction ign = { .sa_handler = SIG_IGN };
    int lfd;
    if (argc < 4)
        return 2;
    sigaction(SIGPIPE, &ign, NULL); /* @sigaction any */
    if ((root_fd = open(argv[2], O_PATH | O_DIRECTORY | O_CLOEXEC)) == -1) { /* @open all */
        perror(argv[2]);
        return 1;
    }
    access_log = fopen("access.log", "ae"); /* @fopen all */
    if (chroot(argv[2])) /* @chroot all */
        perror("chroot");
    lfd = listen_on(argv[1]);
    if (lfd < 0 || nonblocking(lfd) != 0)
        return 1;
    if (!write_port(lfd, argv[3]))
        return 1;
    if (loop(lfd) < 0)
        perror("poll");
    return 1;
}
