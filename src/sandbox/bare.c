/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs without a sandbox, for machines that allow none: what the keeper is otherwise, without namespaces and layers.
 * The command runs in the world as it is, and its files are not looked at. What it leaves running becomes a child of
 * this process, which the kernel is asked for, and is ended by that. It is apart from keeper.c because that ends all
 * processes that it can see, which must never run here.
 */
#include "sandbox/sandbox_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How often processes that come while others are ended are looked for, and how long a look takes. */
enum { ROUNDS = 100 };

static uint64_t now_ns(void) {
  struct timespec t = {0};
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- its processes ------------------------------------------------------------------------------------------------ */

/* Ends this process's children, and gives those that they leave behind to it; false if there are none. */
static bool end_children(void) {
  char path[64], line[4096];
  (void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
  if (fd >= 0) (void)close(fd);
  if (n <= 0) return false;
  line[n] = '\0';
  char *save = NULL;
  for (char *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save))
    if (atoi(word) > 1) (void)kill(atoi(word), SIGKILL);
  return true;
}

/* How many processes were still there. */
static unsigned end_all(pid_t group) {
  unsigned n = 0;
  (void)kill(-group, SIGKILL);
  for (int round = 0; round < ROUNDS; round++) {
    bool more = end_children();
    while (wait4(-1, NULL, WNOHANG | __WALL, NULL) > 0)
      n++;
    if (!more) return n;
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  return n;
}

/* True if it has ended before the time was over. */
static bool wait_for(pid_t pid, uint64_t deadline, struct keeper_answer *a, struct keeper_stack *stack) {
  sigset_t set;
  (void)sigemptyset(&set);
  (void)sigaddset(&set, SIGCHLD);
  for (;;) {
    int status;
    struct rusage usage;
    pid_t got = wait4(-1, &status, WNOHANG | __WALL, &usage);
    if (got > 0 && WIFSTOPPED(status)) {
      trace_stopped(got, status, stack);
      continue;
    }
    if (got == pid) {
      a->status = status;
      a->usage = usage;
      return true;
    }
    if (got > 0) trace_ended(status, stack);
    if (got > 0) continue;
    uint64_t now = now_ns();
    if (deadline && now >= deadline) return false;
    uint64_t left = deadline ? deadline - now : 1000000000u;
    struct timespec t = {.tv_sec = (time_t)(left / 1000000000u), .tv_nsec = (long)(left % 1000000000u)};
    (void)sigtimedwait(&set, NULL, &t);
  }
}

/* --- a run -------------------------------------------------------------------------------------------------------- */

/* In the child. A failure is told through the pipe; if the command starts, the pipe closes by itself. */
static _Noreturn void become_command(const struct sandbox_options *options, const int descriptors[3], int go,
                                     int pipe) {
  struct err e = {0};
  char byte;
  (void)!read(go, &byte, 1);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* there is no namespace that would end it */
  struct keeper_answer a = {.code = jail_enter(options, NULL, descriptors, -1, &e)};
  memcpy(a.text, e.text, sizeof a.text);
  (void)!write(pipe, &a, offsetof(struct keeper_answer, at));
  _exit(127);
}

static int start(const struct sandbox_options *options, const int descriptors[3], bool trace, pid_t *ret,
                 struct keeper_answer *a) {
  int go[2], told[2];
  if (pipe2(go, O_CLOEXEC) < 0) return -errno;
  if (pipe2(told, O_CLOEXEC) < 0) {
    int code = -errno;
    (void)close(go[0]);
    (void)close(go[1]);
    return code;
  }
  pid_t pid = fork();
  if (pid == 0) {
    (void)close(go[1]);
    become_command(options, descriptors, go[0], told[1]);
  }
  int r = pid < 0 ? -errno : 0, traced = pid > 0 && trace ? trace_attach(pid) : 0;
  if (traced < 0) trace_refused(traced, a);
  (void)close(go[0]);
  (void)close(go[1]);
  (void)close(told[1]);
  ssize_t n = 0;
  while (pid > 0 && (n = read(told[0], a, offsetof(struct keeper_answer, at))) < 0 && errno == EINTR) {
  }
  (void)close(told[0]);
  *ret = pid;
  if (r < 0) return r;
  return n == 0 ? 0 : n < 0 || a->code >= 0 ? -EIO : a->code;
}

static int serve(const struct sandbox_options *options, int socket, const struct keeper_request *request,
                 const int descriptors[3]) {
  struct keeper_answer a = {0};
  struct keeper_stack stack = {0};
  pid_t pid = -1;
  uint64_t begin = now_ns();
  a.code = start(options, descriptors, request->trace, &pid, &a);
  struct patience p = {.start = begin,
                       .wall_ns = request->wall_ns,
                       .most_ns = request->patience_ns,
                       .brief = request->brief,
                       .only = pid,
                       .end = request->until_ns};
  bool ended = a.code < 0;
  uint64_t until = patience_first(&p);
  while (!ended && !(ended = wait_for(pid, until, &a, &stack)) && p.most_ns && (until = patience_until(&p, now_ns()))) {
  }
  if (!ended) {
    a.timed_out = true;
    a.asks_ns = p.asks;
    if (request->trace) trace_interrupted(trace_stuck(pid), &stack);
    (void)kill(pid, SIGKILL);
    (void)wait_for(pid, 0, &a, &stack);
  }
  a.wall_ns = now_ns() - begin;
  if (pid > 0) a.left = end_all(pid);
  a.locked = input_locked(descriptors[0]);
  int r = message_send(socket, &a, sizeof a, NULL, 0);
  return r == 0 && a.code >= 0 && request->trace ? message_send(socket, &stack, sizeof stack, NULL, 0) : r;
}

_Noreturn void bare_main(const struct sandbox_options *options, int socket) {
  sigset_t set;
  struct keeper_answer ready = {0};
  (void)sigfillset(&set);
  (void)sigprocmask(SIG_SETMASK, &set, NULL);
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) ready.code = -errno;
  if (message_send(socket, &ready, sizeof ready, NULL, 0) < 0 || ready.code < 0) _exit(1);
  for (;;) {
    struct keeper_request request;
    int fds[3];
    size_t n_fds = 0;
    if (message_receive(socket, &request, sizeof request, fds, COUNT(fds), &n_fds) <= 0) _exit(0);
    if (n_fds != COUNT(fds) || serve(options, socket, &request, fds) < 0) _exit(1);
    for (size_t i = 0; i < n_fds; i++)
      (void)close(fds[i]);
  }
}
