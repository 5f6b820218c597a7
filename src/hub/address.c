/* SPDX-License-Identifier: Apache-2.0 */
/* Where a hub is, and whether there is one. */
#include "hub/hub.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

static const char *behind(const char *s, const char *prefix) {
  size_t n = strlen(prefix);
  return strncmp(s, prefix, n) == 0 ? s + n : NULL;
}

/* The target may be in another folder than we are. */
static int parse_path(const char *path, struct hub_address *ret, struct err *e) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  struct text whole = {0};
  char *here = *path == '/' ? NULL : getcwd(NULL, 0);
  if (*path != '/' && !here) return err_set(e, -errno, "the working directory is not known: %s", strerror(errno));
  text_addf(&whole, "%s%s%s", here ? here : "", here ? "/" : "", path);
  int r = whole.failed ? -ENOMEM : 0;
  if (r >= 0 && (!*path || whole.n >= sizeof at.sun_path))
    r = err_set(e, -EINVAL, "'%s' is no path for a socket (it has 1 to %zu characters)", whole.at,
                sizeof at.sun_path - 1);
  if (r >= 0) {
    memcpy(at.sun_path, whole.at, whole.n);
    memcpy(&ret->at, &at, sizeof at);
    ret->size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + whole.n + 1);
  }
  text_done(&whole);
  free(here);
  return r;
}

static int no_address(const char *text, struct err *e) {
  return err_set(e, -EINVAL, "'%s' is no address of a hub (write unix:PATH or tcp:HOST:PORT)", text);
}

static bool is_digits(const char *s) { return *s && strspn(s, "0123456789") == strlen(s); }

/* A word and a colon, behind which is more than a port, mean a way of another kind: udp:host:1. */
static bool is_other_way(const char *text) {
  size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz");
  return n > 0 && text[n] == ':' && text[n + 1] && !is_digits(text + n + 1);
}

static int parse_tcp(const char *text, struct hub_address *ret, struct err *e) {
  const char *colon = strrchr(text, ':');
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_UNSPEC}, *found = NULL;
  char host[256];
  if (!colon || colon == text || !colon[1] || (size_t)(colon - text) >= sizeof host) return no_address(text, e);
  bool brackets = *text == '[' && colon[-1] == ']';
  size_t n = (size_t)(colon - text) - (brackets ? 2 : 0);
  memcpy(host, text + brackets, n);
  host[n] = 0;
  if (!is_digits(colon + 1) || strlen(colon + 1) > 5 || atoi(colon + 1) > 65535)
    return err_set(e, -EINVAL, "'%s' is no port (it is a number up to 65535)", colon + 1);
  int failed = getaddrinfo(host, colon + 1, &hints, &found);
  if (failed) return err_set(e, -EHOSTUNREACH, "%s: %s", host, gai_strerror(failed));
  memcpy(&ret->at, found->ai_addr, found->ai_addrlen);
  ret->size = found->ai_addrlen;
  freeaddrinfo(found);
  return 0;
}

int hub_address_parse(const char *text, struct hub_address *ret, struct err *e) {
  const char *path = behind(text, "unix:"), *tcp = behind(text, "tcp:");
  memset(ret, 0, sizeof *ret);
  if (!path && !tcp && is_other_way(text)) return no_address(text, e);
  if (!path && !tcp && strchr(text, '/')) path = text;
  int r = path ? parse_path(path, ret, e) : parse_tcp(tcp ? tcp : text, ret, e);
  return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}

void hub_address_text(const struct hub_address *a, struct text *to) {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (a->at.ss_family == AF_UNIX) {
    text_addf(to, "unix:%s", ((const struct sockaddr_un *)&a->at)->sun_path);
    return;
  }
  if (getnameinfo((const struct sockaddr *)&a->at, a->size, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return text_add(to, "tcp:?");
  text_addf(to, strchr(host, ':') ? "tcp:[%s]:%s" : "tcp:%s:%s", host, port);
}

/* --- is there one? ------------------------------------------------------------------------------------------------ */

static int wait_for(int fd, short events, unsigned ms) {
  struct pollfd p = {.fd = fd, .events = events};
  int r = poll(&p, 1, (int)ms);
  return r > 0 ? 0 : r == 0 ? -ETIMEDOUT : -errno;
}

static int connect_within(int fd, const struct hub_address *a, unsigned ms) {
  int error = 0;
  socklen_t size = sizeof error;
  if (connect(fd, (const struct sockaddr *)&a->at, a->size) == 0) return 0;
  if (errno != EINPROGRESS && errno != EINTR) return -errno;
  int r = wait_for(fd, POLLOUT, ms);
  if (r >= 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0) return -errno;
  return r < 0 ? r : -error;
}

static int ask_version(int fd, unsigned ms) {
  struct wire_hub_hello hello = {
      .head = {.magic = WIRE_HUB_MAGIC, .size = sizeof hello, .version = WIRE_HUB_VERSION, .kind = WIRE_HUB_HELLO}};
  struct wire_hub_answer answer = {0};
  if (send(fd, &hello, sizeof hello, MSG_NOSIGNAL) != (ssize_t)sizeof hello) return -EPROTO;
  int r = wait_for(fd, POLLIN, ms);
  if (r < 0) return r;
  if (recv(fd, &answer, sizeof answer, MSG_WAITALL) != (ssize_t)sizeof answer) return -EPROTO;
  bool good = answer.head.magic == WIRE_HUB_MAGIC && answer.head.version == WIRE_HUB_VERSION;
  return good ? 0 : -EPROTO;
}

int hub_probe(const struct hub_address *a, unsigned ms, struct err *e) {
  struct text name = {0};
  int fd = socket(a->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int r = fd < 0 ? -errno : connect_within(fd, a, ms);
  if (r >= 0) r = ask_version(fd, ms);
  if (fd >= 0) (void)close(fd);
  hub_address_text(a, &name);
  const char *where = name.failed ? "?" : name.at;
  if (r == -EPROTO)
    (void)err_set(e, r, "what answers at %s is no hub of this version of murphy", where);
  else if (r < 0)
    (void)err_set(e, r, "no hub answers at %s: %s (start one: murphy hub %s)", where, strerror(-r), where);
  text_done(&name);
  return r < 0 ? -ECANCELED : 0;
}
