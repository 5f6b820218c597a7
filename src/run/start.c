/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the command and waits for it.
 *
 * The command gets what it would get without murphy: the terminal, the process group, descriptors, signal mask and
 * dispositions, and the environment but for LD_PRELOAD. Signals from the terminal reach it by themselves, since it is
 * in the foreground group; those that somebody sends to murphy are passed on.
 */
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TICK_MS = 5 };

static const int passed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH};

void run_preload(const struct run_modules *m, const char *shim, struct text *to) {
  const char *own = getenv("LD_PRELOAD");
  if (m->sanitizer) text_addf(to, "%s:", m->sanitizer);
  text_add(to, shim);
  if (own && *own) text_addf(to, ":%s", own);
}

/* --- the environment ---------------------------------------------------------------------------------------------- */

/* A copy of ours with LD_PRELOAD=VALUE behind all others; strings are shared but for the last. */
static char **make_environment(const char *value) {
  static const char name[] = "LD_PRELOAD=";
  size_t n = 0, used = 0;
  struct text t = {0};
  while (environ[n])
    n++;
  char **to = calloc(n + 2, sizeof *to);
  text_addf(&t, "%s%s", name, value);
  if (!to || t.failed) {
    free(to);
    text_done(&t);
    return NULL;
  }
  for (size_t i = 0; i < n; i++)
    if (strncmp(environ[i], name, sizeof name - 1) != 0) to[used++] = environ[i];
  to[used] = t.at;
  return to;
}

static void free_environment(char **env) {
  size_t n = 0;
  while (env && env[n])
    n++;
  if (n) free(env[n - 1]);
  free(env);
}

/* --- signals ------------------------------------------------------------------------------------------------------ */

/* How signals were before, for the command and for the time behind it. */
struct signals {
  sigset_t mask, waited;
  struct sigaction child, pipe;
};

static void signals_take(struct signals *s) {
  struct sigaction plain = {.sa_handler = SIG_DFL}, ignore = {.sa_handler = SIG_IGN};
  (void)sigemptyset(&s->waited);
  (void)sigaddset(&s->waited, SIGCHLD);
  for (size_t i = 0; i < COUNT(passed_on); i++)
    (void)sigaddset(&s->waited, passed_on[i]);
  (void)sigprocmask(SIG_BLOCK, &s->waited, &s->mask);
  /* Whoever started murphy may ignore SIGCHLD, and then nobody could be waited for. */
  (void)sigaction(SIGCHLD, &plain, &s->child);
  /* A reader of the log that goes away must not leave the command without its watcher. */
  (void)sigaction(SIGPIPE, &ignore, &s->pipe);
}

static void signals_give_back(const struct signals *s) {
  (void)sigaction(SIGCHLD, &s->child, NULL);
  (void)sigaction(SIGPIPE, &s->pipe, NULL);
  (void)sigprocmask(SIG_SETMASK, &s->mask, NULL);
}

/* --- the start ---------------------------------------------------------------------------------------------------- */

static _Noreturn void become(const struct run_target *t, char *const *env, const struct signals *s, int report) {
  signals_give_back(s);
  (void)execve(t->path, t->argv, env);
  int code = errno;
  ssize_t n = write(report, &code, sizeof code);
  _exit(n == (ssize_t)sizeof code ? 127 : 126);
}

/* The errno that execve failed with, or 0 once it has succeeded: the pipe's end closes itself then. */
static int exec_result(int report) {
  int code = 0;
  ssize_t n;
  do {
    n = read(report, &code, sizeof code);
  } while (n < 0 && errno == EINTR);
  return n == (ssize_t)sizeof code ? code : 0;
}

static int start(const struct run_target *t, char *const *env, const struct signals *s, pid_t *ret, struct err *e) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return err_set(e, -errno, "cannot start %s: %s", t->path, strerror(errno));
  pid_t pid = fork();
  if (pid == 0) become(t, env, s, ends[1]);
  int code = pid < 0 ? errno : 0;
  (void)close(ends[1]);
  if (pid > 0) code = exec_result(ends[0]);
  (void)close(ends[0]);
  if (code == 0) {
    *ret = pid;
    return 0;
  }
  if (pid > 0) (void)waitpid(pid, NULL, 0);
  return err_set(e, -ECANCELED, "%s: cannot be started: %s", t->path, strerror(code));
}

/* --- the watch ---------------------------------------------------------------------------------------------------- */

/* Did a process send it, rather than the terminal, which has told the command too? */
static bool was_sent(const siginfo_t *info, pid_t command) {
  return (info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL) &&
         info->si_pid != command;
}

/* 1 and the status if the command has ended. */
static int look(pid_t pid, int *ret_status) {
  int status;
  pid_t r = waitpid(pid, &status, WNOHANG);
  if (r < 0) return errno == EINTR ? 0 : -errno;
  if (r == 0) return 0;
  *ret_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return 1;
}

static int watch(const struct run_request *request, const struct signals *s, pid_t pid, int *ret_status,
                 struct err *e) {
  const struct timespec tick = {.tv_nsec = TICK_MS * 1000000}, none = {0};
  int ticked = 0;
  for (;;) {
    siginfo_t info;
    int sig = sigtimedwait(&s->waited, &info, ticked > 0 ? &none : &tick);
    if (sig > 0 && sig != SIGCHLD && was_sent(&info, pid)) (void)kill(pid, sig);
    int r = look(pid, ret_status);
    if (r < 0) return err_set(e, r, "cannot wait for %s: %s", request->target->path, strerror(-r));
    if (ticked >= 0) ticked = request->tick(request->context, r == 1, e);
    if (r == 1) return ticked < 0 ? ticked : 0;
  }
}

int run_start(const struct run_request *request, int *ret_status, struct err *e) {
  struct signals s;
  pid_t pid = 0;
  char **env = make_environment(request->preload);
  if (!env) return err_set(e, -ENOMEM, "out of memory");
  signals_take(&s);
  int r = start(request->target, env, &s, &pid, e);
  if (r >= 0) r = watch(request, &s, pid, ret_status, e);
  signals_give_back(&s);
  free_environment(env);
  return r;
}
