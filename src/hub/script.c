/* SPDX-License-Identifier: Apache-2.0 */
/* A program that decides. */
#include "hub/script.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 1 << 16 };
/* Milliseconds that a script has to end when there is nothing left to read, and when it is told to. */
enum { GRACE = 1000 };

static void become(const char *command, int in, int out) {
  sigset_t none;
  (void)sigemptyset(&none);
  (void)signal(SIGPIPE, SIG_DFL);
  /* A group of its own, so that what the shell has started ends with it. */
  if (setpgid(0, 0) < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
      sigprocmask(SIG_SETMASK, &none, NULL) < 0)
    _exit(126);
  (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
  _exit(127);
}

int script_start(struct hub_script *s, const char *command, struct err *e) {
  int to[2] = {-1, -1}, from[2] = {-1, -1};
  int r = pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0 ? -errno : 0;
  if (r >= 0) {
    s->pid = fork();
    if (s->pid == 0) become(command, to[0], from[1]);
    r = s->pid < 0 ? -errno : 0;
    if (s->pid > 0) (void)setpgid(s->pid, s->pid); /* whoever of the two comes first */
  }
  if (to[0] >= 0) (void)close(to[0]);
  if (from[1] >= 0) (void)close(from[1]);
  s->in = to[1];
  s->out = from[0];
  /* A page has no room left before all is read: what it has not begun to read need not be asked. */
  if (r >= 0) (void)fcntl(s->in, F_SETPIPE_SZ, 1);
  if (r >= 0 && (fcntl(s->in, F_SETFL, O_NONBLOCK) < 0 || fcntl(s->out, F_SETFL, O_NONBLOCK) < 0)) r = -errno;
  return r < 0 ? err_set(e, r, "cannot start '%s': %s", command, strerror(-r)) : 0;
}

/* Has it ended within the time that it has? */
static bool ends_soon(int process) {
  struct pollfd p = {.fd = process, .events = POLLIN};
  int r;
  do
    r = poll(&p, 1, GRACE);
  while (r < 0 && errno == EINTR);
  return r > 0;
}

/*
 * At its end of input a script ends, and has time for it; one that does not is told to, and then not asked. What it has
 * left behind is told to, in any case. The group has its number until the script is waited for.
 */
static void end_process(pid_t pid) {
  int process = pidfd_open(pid, 0);
  bool ended = process >= 0 && ends_soon(process);
  (void)kill(-pid, SIGTERM);
  if (!ended && (process < 0 || !ends_soon(process))) (void)kill(-pid, SIGKILL);
  (void)waitpid(pid, NULL, 0);
  if (process >= 0) (void)close(process);
}

void script_end(struct hub_script *s) {
  if (s->in >= 0) (void)close(s->in);
  if (s->out >= 0) (void)close(s->out);
  if (s->pid > 0) end_process(s->pid);
  text_done(&s->to);
  text_done(&s->from);
  *s = (struct hub_script){.in = -1, .out = -1};
}

static void cut(struct text *t, size_t n) {
  memmove(t->at, t->at + n, t->n - n);
  t->n -= n;
}

int script_flush(struct hub_script *s) {
  while (s->to.n > 0) {
    ssize_t n = write(s->in, s->to.at, s->to.n);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (n < 0) return -EPIPE;
    cut(&s->to, (size_t)n);
  }
  return 0;
}

int script_read(struct hub_script *s) {
  char bytes[4096];
  ssize_t n = read(s->out, bytes, sizeof bytes);
  if (n < 0) return errno == EAGAIN || errno == EINTR ? 0 : -EPIPE;
  if (n == 0) return -EPIPE;
  text_add_bytes(&s->from, bytes, (size_t)n);
  if (s->from.failed) return -ENOMEM;
  return s->from.n > LINE_MAX_BYTES ? -E2BIG : 0;
}

bool script_unread(const struct hub_script *s) {
  int n = 0;
  return s->to.n > 0 || (ioctl(s->in, FIONREAD, &n) == 0 && n > 0);
}

/* #12 yes: numbers that are none are those of no question. */
static struct script_word read_word(const char *line) {
  struct script_word word = {.numbered = *line == '#'};
  if (word.numbered) {
    char *end = NULL;
    bool number = line[1] >= '0' && line[1] <= '9';
    word.number = number ? strtoull(line + 1, &end, 10) : 0;
    if (number && *end != ' ' && *end != '\t') word.number = 0;
    line = number ? end + strspn(end, " \t") : "";
  }
  word.says = *line == '1' || *line == 'y' || *line == 'Y';
  return word;
}

bool script_answer(struct hub_script *s, struct script_word *ret) {
  char *end = s->from.n ? memchr(s->from.at, '\n', s->from.n) : NULL;
  if (!end) return false;
  *end = 0;
  *ret = read_word(s->from.at);
  cut(&s->from, (size_t)(end - s->from.at) + 1);
  return true;
}
