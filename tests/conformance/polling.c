/* SPDX-License-Identifier: Apache-2.0 */
/* Signals, and waiting for many descriptors. */
#include "conform.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct sigaction action, old_action;
static sigset_t set, old_set;
static struct pollfd polled;
static fd_set readable;
static struct epoll_event event, events[4];
static struct timespec no_time;
static struct timeval no_wait;
static int pair[2], epoll;
static unsigned before;

static void handler(int number) { (void)number; }

static void is_zero(uint64_t result) { check((int)result == 0, "result", "0"); }
static void none_made(void) { effect(x_count_open() == before, "no descriptor is made"); }
static void one_made(uint64_t result) {
  effect(x_is_open((int)result) && x_count_open() == before + 1, "there is one");
}

/* Bits of /proc/self/status, one of the lines about signals. */
static bool signal_bit(const char *line, int number) {
  char text[8192], *at;
  unsigned long bits = 0;
  if (x_read_file("/proc/self/status", text, sizeof(text)) <= 0 || !(at = strstr(text, line))) return false;
  for (at += strlen(line); *at && *at != '\n'; at++) {
    int digit = *at >= '0' && *at <= '9' ? *at - '0' : *at >= 'a' && *at <= 'f' ? *at - 'a' + 10 : -1;
    if (digit >= 0) bits = bits << 4 | (unsigned long)digit;
  }
  return bits >> (number - 1) & 1;
}

static void sigaction_prepare(uint64_t *args) {
  action.sa_handler = handler;
  paint(&old_action, sizeof(old_action));
  args[0] = SIGUSR1, args[1] = ARG(&action), args[2] = ARG(&old_action);
}

static void sigaction_unchanged(void) {
  effect(!signal_bit("SigCgt:", SIGUSR1), "the handler is not installed");
  argument(painted(&old_action, sizeof(old_action)), "the old action is not written to");
}

static void sigaction_done(uint64_t result) {
  is_zero(result);
  effect(signal_bit("SigCgt:", SIGUSR1), "the handler is installed");
  argument(old_action.sa_handler == SIG_DFL, "the old action is filled in");
}

static void sigprocmask_prepare(uint64_t *args) {
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  paint(&old_set, sizeof(old_set));
  args[0] = SIG_BLOCK, args[1] = ARG(&set), args[2] = ARG(&old_set);
}

static void sigprocmask_unchanged(void) {
  effect(!signal_bit("SigBlk:", SIGUSR1), "the signal is not blocked");
  argument(painted(&old_set, sizeof(old_set)), "the old set is not written to");
}

static void sigprocmask_done(uint64_t result) {
  is_zero(result);
  effect(signal_bit("SigBlk:", SIGUSR1), "the signal is blocked");
}

static void sigtimedwait_prepare(uint64_t *args) {
  uint64_t ignored[6];
  sigprocmask_prepare(ignored);
  sigprocmask(SIG_BLOCK, &set, NULL);
  raise(SIGUSR1);
  args[0] = ARG(&set), args[2] = ARG(&no_time);
}

static void sigtimedwait_unchanged(void) { effect(signal_bit("SigPnd:", SIGUSR1), "the signal still waits"); }

static void sigtimedwait_done(uint64_t result) {
  check((int)result == SIGUSR1, "result", "the signal");
  effect(!signal_bit("SigPnd:", SIGUSR1), "the signal is taken");
}

static void pipe_prepare(void) {
  if (pipe(pair) != 0 || write(pair[1], "x", 1) != 1) x_exit(98);
}

static void poll_prepare(uint64_t *args) {
  pipe_prepare();
  polled = (struct pollfd){pair[0], POLLIN, 0x5555};
  args[0] = ARG(&polled), args[1] = 1, args[2] = 0;
}

static void poll_unchanged(void) { argument(polled.revents == 0x5555, "the events are not written to"); }

static void poll_done(uint64_t result) {
  check((int)result == 1, "result", "the count");
  argument(polled.revents == POLLIN, "the events are filled in");
}

static void select_prepare(uint64_t *args) {
  pipe_prepare();
  FD_ZERO(&readable);
  FD_SET(pair[0], &readable);
  FD_SET(pair[1], &readable);
  args[0] = (uint64_t)pair[1] + 1, args[1] = ARG(&readable), args[4] = ARG(&no_wait);
}

static void select_unchanged(void) {
  argument(FD_ISSET(pair[0], &readable) && FD_ISSET(pair[1], &readable), "the set is not written to");
}

static void select_done(uint64_t result) {
  check((int)result == 1, "result", "the count");
  argument(FD_ISSET(pair[0], &readable) && !FD_ISSET(pair[1], &readable), "the set is filled in");
}

static void made_prepare(uint64_t *args) {
  (void)args;
  before = x_count_open();
}

static void epoll_ctl_prepare(uint64_t *args) {
  pipe_prepare();
  epoll = epoll_create1(0);
  event = (struct epoll_event){.events = EPOLLIN, .data.fd = pair[0]};
  args[0] = (uint64_t)epoll, args[1] = EPOLL_CTL_ADD, args[2] = (uint64_t)pair[0], args[3] = ARG(&event);
}

static long epoll_ready(void) { return x_call(SYS_epoll_pwait2, epoll, (long)events, 4, (long)&no_time, 0, 0); }

static void epoll_ctl_unchanged(void) { effect(epoll_ready() == 0, "the descriptor is not added"); }

static void epoll_ctl_done(uint64_t result) {
  is_zero(result);
  effect(epoll_ready() == 1, "the descriptor is added");
}

static void epoll_wait_prepare(uint64_t *args) {
  epoll_ctl_prepare(args);
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &event) != 0) x_exit(98);
  paint(events, sizeof(events));
  args[1] = ARG(events), args[2] = 4, args[3] = 0;
}

static void epoll_wait_unchanged(void) { argument(painted(events, sizeof(events)), "the events are not written to"); }

static void epoll_wait_done(uint64_t result) {
  check((int)result == 1, "result", "the count");
  argument(events[0].data.fd == pair[0], "the events are filled in");
}

static void eventfd_prepare(uint64_t *args) {
  before = x_count_open();
  args[0] = 1, args[1] = EFD_CLOEXEC;
}

static void signalfd_prepare(uint64_t *args) {
  before = x_count_open();
  sigemptyset(&set);
  args[0] = (uint64_t)-1, args[1] = ARG(&set), args[2] = SFD_CLOEXEC;
}

static const struct function_case cases[] = {
    {"sigaction", sigaction, INT, -1, EINVAL, 0, 0, sigaction_prepare, sigaction_unchanged, sigaction_done},
    {"sigprocmask", sigprocmask, INT, -1, EINVAL, 0, 0, sigprocmask_prepare, sigprocmask_unchanged, sigprocmask_done},
    {"sigtimedwait", sigtimedwait, INT, -1, EAGAIN, 0, 0, sigtimedwait_prepare, sigtimedwait_unchanged,
     sigtimedwait_done},
    {"poll", poll, INT, -1, EINTR, 0, 0, poll_prepare, poll_unchanged, poll_done},
    {"select", select, INT, -1, EINTR, 0, 0, select_prepare, select_unchanged, select_done},
    {"epoll_create1", epoll_create1, INT, -1, EMFILE, 0, 0, made_prepare, none_made, one_made},
    {"epoll_ctl", epoll_ctl, INT, -1, ENOSPC, 0, 0, epoll_ctl_prepare, epoll_ctl_unchanged, epoll_ctl_done},
    {"epoll_wait", epoll_wait, INT, -1, EINTR, 0, 0, epoll_wait_prepare, epoll_wait_unchanged, epoll_wait_done},
    {"eventfd", eventfd, INT, -1, EMFILE, 0, 0, eventfd_prepare, none_made, one_made},
    {"signalfd", signalfd, INT, -1, EMFILE, 0, 0, signalfd_prepare, none_made, one_made},
    {"inotify_init1", inotify_init1, INT, -1, EMFILE, 0, 0, made_prepare, none_made, one_made},
};
FAMILY(polling, cases);
