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

/* How long to wait for news: a target that injects a lot must not wait for its ring to be emptied. */
enum { TICK_NS = 5000000, BUSY_NS = 100000 };

static const int passed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH};

void run_preload(const char *shim, struct text *to) {
  const char *own = getenv("LD_PRELOAD");
  text_add(to, shim);
  if (own && *own) text_addf(to, ":%s", own);
}

/* --- the environment ---------------------------------------------------------------------------------------------- */

/* "NAME=VALUE" or, if there is MORE, even if it is empty, "NAME=VALUE:MORE". */
static char *make_variable(const char *name, const char *value, const char *more) {
  struct text t = {0};
  text_addf(&t, "%s=%s", name, value);
  if (more) text_addf(&t, ":%s", more);
  if (!t.failed) return t.at;
  text_done(&t);
  return NULL;
}

static bool is_variable(const char *entry, const char *name) {
  size_t n = strlen(name);
  return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

/* Ours, with a few variables in place of those of the same name, or behind all others. */
struct environment {
  char **all;
  char *own[2]; /* LD_PRELOAD, ASAN_OPTIONS; NULL if left alone */
};

static void environment_done(struct environment *env) {
  for (size_t i = 0; i < COUNT(env->own); i++)
    free(env->own[i]);
  free(env->all);
}

/*
 * A program that is started later may have been built with gcc's address sanitizer, which insists on being first. Only
 * an option makes it accept the shim there, and only if programs are followed is it given. The runtime takes it away
 * again from what the program can see, and gives it to those that are started.
 */
static int make_own(const struct run_request *request, struct environment *env) {
  env->own[0] = make_variable("LD_PRELOAD", request->preload, NULL);
  if (request->follow) env->own[1] = make_variable("ASAN_OPTIONS", "verify_asan_link_order=0", getenv("ASAN_OPTIONS"));
  return env->own[0] && (env->own[1] || !request->follow) ? 0 : -ENOMEM;
}

static int make_environment(const struct run_request *request, struct environment *env) {
  static const char *const names[COUNT(env->own)] = {"LD_PRELOAD", "ASAN_OPTIONS"};
  size_t n = 0, used = 0;
  while (environ[n])
    n++;
  env->all = calloc(n + COUNT(env->own) + 1, sizeof *env->all);
  if (!env->all || make_own(request, env) < 0) return -ENOMEM;
  for (size_t i = 0; i < n; i++) {
    bool replaced = false;
    for (size_t k = 0; k < COUNT(names); k++)
      replaced |= env->own[k] && is_variable(environ[i], names[k]);
    if (!replaced) env->all[used++] = environ[i];
  }
  for (size_t k = 0; k < COUNT(names); k++)
    if (env->own[k]) env->all[used++] = env->own[k];
  return 0;
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

static _Noreturn void become(const struct program_target *t, char *const *env, const struct signals *s, int report) {
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

static int start(const struct program_target *t, char *const *env, const struct signals *s, pid_t *ret, struct err *e) {
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

/* 1 and how, if the command has ended. */
static int look(pid_t pid, struct run_ended *ret) {
  int status;
  pid_t r = waitpid(pid, &status, WNOHANG);
  if (r < 0) return errno == EINTR ? 0 : -errno;
  if (r == 0) return 0;
  int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  *ret = (struct run_ended){.status = signal ? 128 + signal : WEXITSTATUS(status), .signal = signal, .pid = pid};
  return 1;
}

static int watch(const struct run_request *request, const struct signals *s, pid_t pid, struct run_ended *ret,
                 struct err *e) {
  const struct timespec tick = {.tv_nsec = TICK_NS}, busy = {.tv_nsec = BUSY_NS};
  int ticked = 0;
  for (;;) {
    siginfo_t info;
    int sig = sigtimedwait(&s->waited, &info, ticked > 0 ? &busy : &tick);
    if (sig > 0 && sig != SIGCHLD && was_sent(&info, pid)) (void)kill(pid, sig);
    int r = look(pid, ret);
    if (r < 0) return err_set(e, r, "cannot wait for %s: %s", request->target->path, strerror(-r));
    if (ticked >= 0) ticked = request->tick(request->context, r == 1, e);
    if (r == 1) return ticked < 0 ? ticked : 0;
  }
}

int run_start(const struct run_request *request, struct run_ended *ret, struct err *e) {
  struct environment env = {0};
  struct signals s;
  pid_t pid = 0;
  int r = make_environment(request, &env);
  if (r < 0) {
    environment_done(&env);
    return err_set(e, r, "out of memory");
  }
  signals_take(&s);
  r = start(request->target, env.all, &s, &pid, e);
  if (r >= 0) r = watch(request, &s, pid, ret, e);
  signals_give_back(&s);
  environment_done(&env);
  return r;
}
