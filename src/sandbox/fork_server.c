/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper's side of the fork server: the hand-shake, and requests for children.
 *
 * The server is the command, stopped before main by the runtime. Whatever it does that is not as agreed, the keeper
 * goes on with exec, and says why.
 */
#include "sandbox/sandbox_inside.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* Constructors may take their time; a server that was stopped by its own child never answers. */
enum { HELLO_MS = 5000, ANSWER_MS = 2000 };
/* So many servers may be lost, and one more for each so many runs. */
enum { LOSSES = 3, RUNS_FOR_ONE = 16 };

/* What libraries have done before main. */
static const char *const early_words[WIRE_REFUSALS] = {
    [WIRE_FORK_CALLS] = "constructors of libraries make calls that are tested",
    [WIRE_FORK_THREADS] = "constructors of libraries start threads",
    [WIRE_FORK_CHILDREN] = "constructors of libraries start processes",
    [WIRE_FORK_FILES] = "constructors of libraries keep files open",
    [WIRE_FORK_MAPPINGS] = "constructors of libraries share memory",
    [WIRE_FORK_TIMERS] = "constructors of libraries start timers",
    [WIRE_FORK_UNKNOWN] = "the process could not be looked at before main",
    [WIRE_FORK_LOCKS] = "constructors of libraries lock files",
    [WIRE_FORK_WORLD] = "constructors of libraries change files that cannot be had again",
    [WIRE_FORK_SIGNALS] = "constructors of libraries leave signals pending",
    [WIRE_FORK_NAMED] = "constructors of libraries make shared memory, semaphores, queues or connections",
    [WIRE_FORK_KNOWN] = "constructors of libraries change files, and know files by device and inode",
    [WIRE_FORK_READING] = "constructors of libraries change files while they read a folder",
    [WIRE_FORK_FILTERED] = "constructors of libraries filter system calls",
    [WIRE_FORK_APART] = "constructors of libraries make namespaces or settings that no copy has",
    [WIRE_FORK_SPENT] = "constructors of libraries look at the processor time",
    [WIRE_FORK_SOCKETS] = "constructors of libraries keep sockets open",
    [WIRE_FORK_PIPES] = "constructors of libraries keep pipes open",
    [WIRE_FORK_NAMELESS] = "constructors of libraries keep files open that have no name",
    [WIRE_FORK_EPOLL] = "constructors of libraries use epoll",
    [WIRE_FORK_RINGS] = "constructors of libraries use io_uring",
    [WIRE_FORK_EVENTS] = "constructors of libraries use inotify, eventfd or the like",
};

const char *sandbox_early_refusal(uint32_t refusal) {
  const char *word = refusal < WIRE_REFUSALS ? early_words[refusal] : NULL;
  return word ? word : early_words[WIRE_FORK_UNKNOWN];
}

int server_receive(int socket, void *p, size_t n, int patience) {
  struct pollfd poll_for = {.fd = socket, .events = POLLIN};
  int r;
  do
    r = poll(&poll_for, 1, patience);
  while (r < 0 && errno == EINTR);
  if (r <= 0) return r < 0 ? -errno : -ETIMEDOUT;
  ssize_t got = read(socket, p, n);
  return got < 0 ? -errno : (size_t)got == n ? 0 : -EPROTO;
}

const char *sandbox_refusal(uint32_t refusal) {
  static const char *const words[WIRE_REFUSALS] = {
      [WIRE_FORK_CALLS] = "calls that are tested were made before",
      [WIRE_FORK_THREADS] = "other threads run",
      [WIRE_FORK_CHILDREN] = "other processes run",
      [WIRE_FORK_FILES] = "files are open that a fork would share",
      [WIRE_FORK_MAPPINGS] = "memory is shared",
      [WIRE_FORK_TIMERS] = "timers run",
      [WIRE_FORK_UNKNOWN] = "the process could not be looked at",
      [WIRE_FORK_LOCKS] = "files are locked",
      [WIRE_FORK_WORLD] = "files that were changed cannot be had again",
      [WIRE_FORK_SIGNALS] = "signals are pending",
      [WIRE_FORK_NAMED] = "there are shared memory, semaphores, queues or connections",
      [WIRE_FORK_KNOWN] = "files were changed, and the program knows files by device and inode",
      [WIRE_FORK_READING] = "files were changed while a folder is read",
      [WIRE_FORK_FILTERED] = "system calls are filtered",
      [WIRE_FORK_APART] = "the process has namespaces or settings that no copy has",
      [WIRE_FORK_SPENT] = "the program looks at its processor time",
      [WIRE_FORK_SOCKETS] = "sockets are open",
      [WIRE_FORK_PIPES] = "pipes are open",
      [WIRE_FORK_NAMELESS] = "files are open that have no name",
      [WIRE_FORK_EPOLL] = "epoll is used",
      [WIRE_FORK_RINGS] = "io_uring is used",
      [WIRE_FORK_EVENTS] = "inotify, eventfd or the like is used",
  };
  const char *word = refusal < WIRE_REFUSALS ? words[refusal] : NULL;
  return word ? word : words[WIRE_FORK_UNKNOWN];
}

void server_refuse(struct fork_server *s, const char *why) {
  s->refused = true;
  (void)snprintf(s->why, sizeof s->why, "%s", why);
}

void server_gone(struct fork_server *s) {
  if (s->socket >= 0) (void)close(s->socket);
  s->socket = -1;
  s->pid = 0;
  if (++s->lost > LOSSES + s->runs / RUNS_FOR_ONE) server_refuse(s, "the fork server does not survive the runs");
}

int server_hello(struct fork_server *s) {
  struct wire_hello hello;
  int r = server_receive(s->socket, &hello, sizeof hello, HELLO_MS);
  if (r < 0) {
    server_refuse(s, r == -ETIMEDOUT ? "no hand-shake in time: main was not reached"
                                     : "no hand-shake: the program does not come to main through libc");
  } else if (hello.magic != WIRE_SERVER_MAGIC || hello.version != WIRE_SERVER_VERSION) {
    r = -EPROTO;
    server_refuse(s, "the hand-shake was not understood");
  } else if (hello.refusal != WIRE_FORK_GOOD) {
    r = -ECANCELED;
    server_refuse(s, sandbox_early_refusal(hello.refusal));
  }
  return r;
}

int server_let_go(struct fork_server *s) {
  struct wire_fork_request request = {.number = ++s->number, .let_go = 1};
  struct wire_fork_answer answer;
  int r = message_send(s->socket, &request, sizeof request, NULL, 0);
  if (r == 0) r = server_receive(s->socket, &answer, sizeof answer, ANSWER_MS);
  return r < 0 ? r : answer.number == request.number && answer.pid == 0 ? 0 : -EPROTO;
}

int server_fork(struct fork_server *s, const int descriptors[3], bool trunk, bool kept, pid_t *ret) {
  struct wire_fork_request request = {.number = ++s->number, .trunk = trunk, .kept = kept};
  struct wire_fork_answer answer;
  int r = message_send(s->socket, &request, sizeof request, descriptors, 3);
  if (r == 0) r = server_receive(s->socket, &answer, sizeof answer, ANSWER_MS);
  if (r < 0) return r;
  if (answer.number != request.number) return -EPROTO;
  if (answer.pid <= 1) return answer.pid < 0 && answer.pid > -4096 ? (int)answer.pid : -EPROTO;
  s->runs++;
  *ret = (pid_t)answer.pid;
  return 0;
}
