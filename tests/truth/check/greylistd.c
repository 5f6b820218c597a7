/* SPDX-License-Identifier: Apache-2.0 */
/* A policy daemon for a mail server: an event loop, connections with states, a white list that is read again on SIGHUP. */
/* flags: -D_FORTIFY_SOURCE=2 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

enum state { ST_READ, ST_THINK, ST_WRITE, ST_CLOSE };

struct conn {
  int fd;
  enum state state;
  char in[512], out[64];
  size_t nin, nout, sent;
  struct conn *next;
};

static int epfd;
static struct conn *conns;
static char **white;
static size_t nwhite;
static volatile sig_atomic_t hup;

static void on_hup(int sig) { hup = sig; }

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *fmt, ...) {
  va_list ap;
  int saved = errno;

  va_start(ap, fmt);
  vfprintf(stderr, fmt, ap); /* @vfprintf none ignored */
  va_end(ap);
  fprintf(stderr, ": %s\n", strerror(saved)); /* @fprintf none ignored */
  exit(EXIT_FAILURE);
}

static int set_nonblocking(int fd) {
  int fl = fcntl(fd, F_GETFL); /* @fcntl all */
  if (fl < 0) return -1;
  return fcntl(fd, F_SETFL, fl | O_NONBLOCK); /* @fcntl all */
}

static int tcp_listener(const char *host, const char *port) {
  struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
  struct addrinfo *res, *ai;
  int fd = -1, one = 1, rc;

  if ((rc = getaddrinfo(host, port, &hints, &res)) != 0) { /* @getaddrinfo all */
    fprintf(stderr, "%s: %s\n", host, gai_strerror(rc)); /* @fprintf none ignored */
    return -1;
  }
  for (ai = res; ai; ai = ai->ai_next) {
    if ((fd = socket(ai->ai_family, ai->ai_socktype, ai->ai_protocol)) < 0) continue; /* @socket all */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one); /* @setsockopt none ignored */
    if (bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 && listen(fd, 16) == 0) break; /* @bind all; @listen all */
    close(fd); /* @close none ignored */
    fd = -1;
  }
  freeaddrinfo(res);
  return fd;
}

/* The listener for local clients; nobody made sure that there is a socket. */
static int unix_listener(const char *path) {
  struct sockaddr_un sun = { .sun_family = AF_UNIX };
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); /* @socket none used */

  strncpy(sun.sun_path, path, sizeof sun.sun_path - 1);
  if (unlink(path) < 0 && errno != ENOENT) die("unlink %s", path); /* @unlink all */
  if (bind(fd, (struct sockaddr *)&sun, sizeof sun) == -1) die("bind %s", path); /* @bind all */
  again:
  if (listen(fd, 4) == -1) { /* @listen all */
    if (errno == EINTR) goto again;
    die("listen");
  }
  return fd;
}

static void watch(int fd, uint32_t what, void *tag) {
  struct epoll_event ev = { .events = what, .data.ptr = tag };
  if (epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev) == -1) die("epoll_ctl"); /* @epoll_ctl all */
}

static void change(struct conn *c, uint32_t what) {
  struct epoll_event ev = { .events = what, .data.ptr = c };
  epoll_ctl(epfd, EPOLL_CTL_MOD, c->fd, &ev); /* @epoll_ctl none ignored */
}

static void take_all(int lfd) {
  int one = 1;

  for (;;) {
    struct conn *c;
    int fd = accept4(lfd, NULL, NULL, SOCK_CLOEXEC); /* @accept4 all */

    if (fd < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN) return;
      die("accept");
    }
    if (set_nonblocking(fd) == -1 || !(c = calloc(1, sizeof *c))) { /* @calloc all */
      close(fd); /* @close none ignored */
      continue;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* @setsockopt none ignored */
    c->fd = fd;
    c->next = conns;
    conns = c;
    watch(fd, EPOLLIN, c);
  }
}

/* Only EAGAIN is asked for; any other failure makes the length smaller. */
static void step_read(struct conn *c) {
  ssize_t n = read(c->fd, c->in + c->nin, sizeof c->in - 1 - c->nin); /* @read some missing=EIO */

  if (n == 0) {
    c->state = ST_CLOSE;
    return;
  }
  if (n < 0 && errno == EAGAIN) return;
  c->nin += (size_t)n;
  c->in[c->nin % sizeof c->in] = 0;
  if (strstr(c->in, "\n\n")) c->state = ST_THINK;
}

static void step_write(struct conn *c) {
  ssize_t n = send(c->fd, c->out + c->sent, c->nout - c->sent, MSG_NOSIGNAL); /* @send all */

  if (n == -1) {
    switch (errno) {
    case EAGAIN:
    case EINTR:
      return;
    case EPIPE:
    case ECONNRESET:
      c->state = ST_CLOSE;
      return;
    default:
      die("send");
    }
  }
  c->sent += (size_t)n;
  if (c->sent == c->nout) c->state = ST_CLOSE;
}

static bool listed(const char *addr) {
  for (size_t i = 0; i < nwhite; i++)
    if (!strcmp(white[i], addr)) return true;
  return false;
}

static void step_think(struct conn *c) {
  char *a = strstr(c->in, "client_address=");
  struct in_addr ip;
  int n;

  if (!a) {
    c->state = ST_CLOSE;
    return;
  }
  a += 15;
  a[strcspn(a, "\n")] = 0;
  if (inet_pton(AF_INET, a, &ip) != 1) { /* @inet_pton all */
    c->state = ST_CLOSE;
    return;
  }
  n = snprintf(c->out, sizeof c->out, "action=%s\n\n", listed(a) ? "dunno" : "defer_if_permit"); /* @snprintf all */
  if (n < 0 || n >= (int)sizeof c->out) die("snprintf");
  c->nout = (size_t)n;
  c->state = ST_WRITE;
  change(c, EPOLLOUT);
}

/* One line a name. strdup may fail, and the list is used later without a look. */
static void load_white(const char *path) {
  FILE *f = fopen(path, "r"); /* @fopen all */
  char line[256];

  if (!f) {
    if (errno == ENOENT) return;
    die("%s", path);
  }
  while (fgets(line, sizeof line, f)) { /* @fgets all */
    char **more = reallocarray(white, nwhite + 1, sizeof *white); /* @reallocarray all */

    if (!more) break;
    white = more;
    line[strcspn(line, "\n")] = 0;
    white[nwhite] = strdup(line); /* @strdup none used/dereferenced */
    nwhite++;
  }
  fclose(f); /* @fclose none ignored */
}

static void peer_name(int fd, char *to, socklen_t n) {
  struct sockaddr_storage ss;
  socklen_t len = sizeof ss;

  if (getpeername(fd, (struct sockaddr *)&ss, &len) < 0 || /* @getpeername all */
      getnameinfo((struct sockaddr *)&ss, len, to, n, NULL, 0, NI_NUMERICHOST)) /* @getnameinfo all */
    strncpy(to, "?", n);
}

static void drop(struct conn *c) {
  char who[64] = "";

  for (struct conn **p = &conns; *p; p = &(*p)->next)
    if (*p == c) {
      *p = c->next;
      break;
    }
  peer_name(c->fd, who, sizeof who);
  if (shutdown(c->fd, SHUT_WR) == -1 && errno != ENOTCONN) fprintf(stderr, "shutdown %s\n", who); /* @shutdown all; @fprintf none ignored */
  close(c->fd); /* @close none ignored */
  free(c);
}

static void run(struct conn *c) {
  enum state before;

  do {
    before = c->state;
    switch (c->state) {
    case ST_READ: step_read(c); break;
    case ST_THINK: step_think(c); break;
    case ST_WRITE: step_write(c); break;
    case ST_CLOSE: drop(c); return;
    }
  } while (c->state != before);
}

int main(int argc, char **argv) {
  struct sigaction sa = { .sa_handler = on_hup };
  struct epoll_event evs[32];
  int lfd, ufd, n;

  if (argc < 4) return 2;
  if (sigaction(SIGHUP, &sa, NULL) == -1) die("sigaction"); /* @sigaction all */
  if (signal(SIGPIPE, SIG_IGN) == SIG_ERR) die("signal"); /* @signal all */
  if ((epfd = epoll_create1(EPOLL_CLOEXEC)) == -1) die("epoll"); /* @epoll_create1 all */
  load_white(argv[3]);
  lfd = tcp_listener(argv[1], argv[2]);
  if (lfd < 0) die("no listener");
  ufd = unix_listener("/tmp/greylistd.sock");
  if (set_nonblocking(lfd) || set_nonblocking(ufd)) die("fcntl");
  watch(lfd, EPOLLIN, NULL);
  watch(ufd, EPOLLIN, &ufd);
  while ((n = epoll_wait(epfd, evs, 32, 1000)) >= 0 || errno == EINTR) { /* @epoll_wait all */
    if (hup) {
      hup = 0;
      load_white(argv[3]);
    }
    for (int i = 0; i < n; i++) {
      if (evs[i].data.ptr == NULL)
        take_all(lfd);
      else if (evs[i].data.ptr == &ufd)
        take_all(ufd);
      else
        run(evs[i].data.ptr);
    }
  }
  die("epoll_wait");
}
