/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of the local family, in the test's folder; and a look-up that needs no network. */
#include "conform.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
static struct sockaddr_un peer;
static socklen_t size;
static int fd, pair[2], value;
static char buffer[32];
static unsigned before;
static struct addrinfo *found;

static int option(int s, int name) {
  int v = -1;
  socklen_t n = sizeof(v);
  x_call(SYS_getsockopt, s, SOL_SOCKET, name, (long)&v, (long)&n, 0);
  return v;
}

static bool connected(int s) {
  struct sockaddr_un a;
  socklen_t n = sizeof(a);
  return x_call(SYS_getpeername, s, (long)&a, (long)&n, 0, 0, 0) == 0;
}

static int waiting(int s) {
  int n = -1;
  x_call(SYS_ioctl, s, FIONREAD, (long)&n, 0, 0, 0);
  return n;
}

static void one_prepare(uint64_t *args) {
  fd = socket(AF_UNIX, SOCK_STREAM, 0);
  args[0] = (uint64_t)fd;
}

static void two_prepare(uint64_t *args) {
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) x_exit(98);
  paint(buffer, sizeof(buffer));
  args[0] = (uint64_t)pair[0];
}

static int listener(void) {
  int s = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(s, (const struct sockaddr *)&address, sizeof(address)) != 0 || listen(s, 5) != 0) x_exit(98);
  return s;
}

static void is_zero(uint64_t result) { check((int)result == 0, "result", "0"); }

/* --- socket, socketpair, bind, listen, connect, accept ------------------------------------------------------------ */

static void socket_prepare(uint64_t *args) {
  before = x_count_open();
  args[0] = AF_UNIX, args[1] = SOCK_STREAM;
}

static void socket_unchanged(void) { effect(x_count_open() == before, "no socket is made"); }
static void socket_done(uint64_t result) { effect(option((int)result, SO_TYPE) == SOCK_STREAM, "a socket is made"); }

static void socketpair_prepare(uint64_t *args) {
  socket_prepare(args);
  paint(pair, sizeof(pair));
  args[3] = ARG(pair);
}

static void socketpair_unchanged(void) {
  socket_unchanged();
  argument(painted(pair, sizeof(pair)), "the array is not written to");
}

static void socketpair_done(uint64_t result) {
  is_zero(result);
  argument(x_is_open(pair[0]) && x_is_open(pair[1]) && pair[0] != pair[1], "the array holds two sockets");
}

static void bind_prepare(uint64_t *args) {
  one_prepare(args);
  args[1] = ARG(&address), args[2] = sizeof(address);
}

static void bind_unchanged(void) { effect(!x_exists("socket"), "the name is not there"); }

static void bind_done(uint64_t result) {
  is_zero(result);
  effect(x_exists("socket"), "the name is there");
}

static void listen_prepare(uint64_t *args) {
  one_prepare(args);
  if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) x_exit(98);
  args[1] = 5;
}

static void listen_unchanged(void) { effect(option(fd, SO_ACCEPTCONN) == 0, "the socket does not listen"); }

static void listen_done(uint64_t result) {
  is_zero(result);
  effect(option(fd, SO_ACCEPTCONN) == 1, "the socket listens");
}

static void connect_prepare(uint64_t *args) {
  (void)listener();
  bind_prepare(args);
}

static void connect_unchanged(void) { effect(!connected(fd), "the socket is not connected"); }

static void connect_done(uint64_t result) {
  is_zero(result);
  effect(connected(fd), "the socket is connected");
}

static void accept_prepare(uint64_t *args) {
  int s = listener();
  one_prepare(args);
  if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) x_exit(98);
  paint(&peer, sizeof(peer));
  size = sizeof(peer);
  before = x_count_open();
  args[0] = (uint64_t)s, args[1] = ARG(&peer), args[2] = ARG(&size);
}

static void accept_unchanged(void) {
  socket_unchanged();
  argument(painted(&peer, sizeof(peer)) && size == sizeof(peer), "address and size are not written to");
}

static void accept_done(uint64_t result) {
  effect(connected((int)result), "the connection is there");
  argument(peer.sun_family == AF_UNIX && size < sizeof(peer), "address and size are filled in");
}

/* --- send, recv, options ------------------------------------------------------------------------------------------ */

static void send_prepare(uint64_t *args) {
  two_prepare(args);
  args[1] = ARG("data"), args[2] = 4;
}

static void send_unchanged(void) { effect(waiting(pair[1]) == 0, "nothing is sent"); }

static void send_done(uint64_t result) {
  check(result == 4, "result", "the count, in all 64 bits");
  effect(waiting(pair[1]) == 4, "the data are sent");
}

static void recv_prepare(uint64_t *args) {
  two_prepare(args);
  if (write(pair[1], "data", 4) != 4) x_exit(98);
  args[1] = ARG(buffer), args[2] = sizeof(buffer);
}

static void recv_unchanged(void) {
  effect(waiting(pair[0]) == 4, "the data are still waiting");
  argument(painted(buffer, sizeof(buffer)), "the buffer is not written to");
}

static void recv_done(uint64_t result) {
  check(result == 4, "result", "the count, in all 64 bits");
  argument(memcmp(buffer, "data", 4) == 0, "the buffer holds the data");
}

static void shutdown_prepare(uint64_t *args) {
  two_prepare(args);
  args[1] = SHUT_WR;
}

static bool is_shut(void) {
  return x_call(SYS_sendto, pair[0], (long)"x", 1, MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0) == -EPIPE;
}

static void shutdown_unchanged(void) { effect(!is_shut(), "data can still be sent"); }

static void shutdown_done(uint64_t result) {
  is_zero(result);
  effect(is_shut(), "data can no longer be sent");
}

static void setsockopt_prepare(uint64_t *args) {
  one_prepare(args);
  value = 1;
  args[1] = SOL_SOCKET, args[2] = SO_PASSCRED, args[3] = ARG(&value), args[4] = sizeof(value);
}

static void setsockopt_unchanged(void) { effect(option(fd, SO_PASSCRED) == 0, "the option is as it was"); }

static void setsockopt_done(uint64_t result) {
  is_zero(result);
  effect(option(fd, SO_PASSCRED) == 1, "the option is set");
}

static void getsockname_prepare(uint64_t *args) {
  one_prepare(args);
  paint(&peer, sizeof(peer));
  size = sizeof(peer);
  args[1] = ARG(&peer), args[2] = ARG(&size);
}

static void getsockname_unchanged(void) {
  argument(painted(&peer, sizeof(peer)) && size == sizeof(peer), "address and size are not written to");
}

static void getsockname_done(uint64_t result) {
  is_zero(result);
  argument(peer.sun_family == AF_UNIX && size == sizeof(sa_family_t), "address and size are filled in");
}

static void getaddrinfo_prepare(uint64_t *args) {
  static const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
  paint(&found, sizeof(found));
  args[0] = ARG("127.0.0.1"), args[1] = ARG("80"), args[2] = ARG(&hints), args[3] = ARG(&found);
}

static void getaddrinfo_unchanged(void) { argument(painted(&found, sizeof(found)), "the list is not written to"); }

static void getaddrinfo_done(uint64_t result) {
  is_zero(result);
  argument(found && found->ai_family == AF_INET, "the list holds the address");
}

static const struct function_case cases[] = {
    {"socket", socket, INT, -1, EMFILE, 0, 0, socket_prepare, socket_unchanged, socket_done},
    {"socketpair", socketpair, INT, -1, EMFILE, 0, 0, socketpair_prepare, socketpair_unchanged, socketpair_done},
    {"bind", bind, INT, -1, EADDRINUSE, 0, 0, bind_prepare, bind_unchanged, bind_done},
    {"listen", listen, INT, -1, EADDRINUSE, 0, 0, listen_prepare, listen_unchanged, listen_done},
    {"connect", connect, INT, -1, ECONNREFUSED, 0, 0, connect_prepare, connect_unchanged, connect_done},
    {"accept", accept, INT, -1, ECONNABORTED, 0, 0, accept_prepare, accept_unchanged, accept_done},
    {"send", send, LONG, -1, ECONNRESET, 0, 0, send_prepare, send_unchanged, send_done},
    {"recv", recv, LONG, -1, ECONNRESET, 0, 0, recv_prepare, recv_unchanged, recv_done},
    {"shutdown", shutdown, INT, -1, ENOTCONN, 0, 0, shutdown_prepare, shutdown_unchanged, shutdown_done},
    {"setsockopt", setsockopt, INT, -1, ENOPROTOOPT, 0, 0, setsockopt_prepare, setsockopt_unchanged, setsockopt_done},
    {"getsockname", getsockname, INT, -1, ENOBUFS, 0, 0, getsockname_prepare, getsockname_unchanged, getsockname_done},
    {"getaddrinfo", getaddrinfo, INT, EAI_AGAIN, 0, 0, SUCCESS_OPEN, getaddrinfo_prepare, getaddrinfo_unchanged,
     getaddrinfo_done},
};
FAMILY(sockets, cases);
