/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A finding in a debugger. gdb starts the command with murphy's library in it and the order in the area, and stops in
 * murphy_rt_fault, which the runtime calls when it has decided that a call fails and before anything of that happened.
 *
 * Of a command with several processes it is not known which one that will be, so the one that comes to the call waits
 * there for gdb.
 *
 * This is outside of the sandbox, since whoever debugs wants a terminal, sources and time.
 */
#include "cmd/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TICK_NS = 20000000 };

typedef VEC(const char *) arguments;

/* A run's folder with the shim, and the area with the order. */
struct place {
  struct run_folder folder;
  struct run_area area;
  struct text preload, shim;
};

static void place_done(struct place *p) {
  run_area_done(&p->area);
  run_folder_done(&p->folder);
  text_done(&p->preload);
  text_done(&p->shim);
}

static int place_make(struct test_setup *s, const struct lab_order *order, struct place *p, struct err *e) {
  const struct injector *with = test_injectors(&s->space)[0];
  int r = run_folder_make(s->space.modules.asan, &p->folder, e);
  if (r >= 0) r = run_area_make(p->folder.area, with->functions(with->self), false, &p->area, e);
  if (r >= 0) r = with->prepare(with->self, false, p->folder.area, p->folder.shim, &p->shim, &p->preload, e);
  if (r >= 0) r = run_folder_write(&p->folder, &p->shim, e);
  if (r < 0) return r;
  const struct experiment *x = &order->x;
  for (uint32_t i = 0; i < x->n; i++)
    p->area.at->orders[i] = with->order(with->self, &x->injections[i]);
  p->area.at->n_orders = x->n;
  return 0;
}

/*
 * How gdb is to start the command: by a shell that gets neither the preloaded library nor the command's input, since it
 * would be taken for the command. gdb gives it a path; the command gets the name that it was called by, which it may
 * look at, and the shell finds it by that as murphy did.
 */
static const char *wrapper_of(const struct test_setup *s, struct arena *arena, const char *preload) {
  struct text t = {0}, script = {0};
  text_add(&script, "LD_PRELOAD=");
  text_add_shell(&script, preload);
  const char *name = s->space.target.argv[0];
  bool named = name && *name && *name != '-';
  text_add(&script, named ? "; export LD_PRELOAD; shift; exec " : "; export LD_PRELOAD; exec");
  if (named) text_add_shell(&script, name);
  text_add(&script, " \"$@\"");
  if (s->is->input) text_add(&script, " <");
  if (s->is->input) text_add_shell(&script, s->is->input);
  text_add(&t, "set exec-wrapper sh -c ");
  text_add_shell(&t, script.at ? script.at : "");
  text_add(&t, " sh");
  const char *copy = t.failed || script.failed ? NULL : arena_strdup(arena, t.at);
  text_done(&t);
  text_done(&script);
  return copy;
}

/* gdb's own commands, then the user's, then the program. */
static int make_arguments(struct test_setup *s, struct arena *arena, const char *preload, const char *const *more,
                          size_t n_more, arguments *ret) {
  const char *wrapper = wrapper_of(s, arena, preload);
  if (!wrapper) return -ENOMEM;
  const char *const first[] = {"gdb",  "-q",
                               "-iex", "set breakpoint pending on",
                               "-ex",  "break murphy_rt_fault",
                               "-ex",  wrapper,
                               "-ex",  "run",
                               "-ex",  "frame function murphy_rt_enter",
                               "-ex",  "up"};
  int r = 0;
  for (size_t i = 0; i < COUNT(first) && r == 0; i++)
    r = vec_push(ret, first[i]);
  for (size_t i = 0; i < n_more && r == 0; i++)
    r = vec_push(ret, more[i]);
  if (r == 0) r = vec_push(ret, "--args");
  if (r == 0) r = vec_push(ret, s->space.target.path);
  for (char **a = s->space.target.argv + 1; r == 0 && s->space.target.argv[0] && *a; a++)
    r = vec_push(ret, *a);
  return r < 0 ? r : vec_push(ret, NULL);
}

/* The terminal's signals are gdb's while it runs. */
static int run_gdb(const arguments *args, struct err *e) {
  test_release_signals();
  struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
  (void)sigaction(SIGINT, &ignore, &before);
  pid_t pid = fork();
  if (pid == 0) {
    (void)sigaction(SIGINT, &before, NULL);
    (void)execvp("gdb", (char *const *)(uintptr_t)args->at);
    _exit(errno == ENOENT ? 127 : 126);
  }
  if (pid < 0) return err_set(e, -errno, "cannot start gdb: %m");
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  (void)sigaction(SIGINT, &before, NULL);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    return err_set(e, -ECANCELED, "gdb is not installed (or not in PATH)");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* --- one of several processes ------------------------------------------------------------------------------------- */

/* In the child, in a group of its own; the terminal's input is gdb's. */
static _Noreturn void become_command(const struct test_setup *s, const char *preload) {
  int in = open(s->is->input ? s->is->input : "/dev/null", O_RDONLY | O_NOCTTY | O_CLOEXEC);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)setpgid(0, 0);
  if (in >= 0 && dup2(in, STDIN_FILENO) >= 0 && setenv("LD_PRELOAD", preload, 1) == 0)
    (void)execv(s->space.target.path, s->space.target.argv);
  _exit(127);
}

/* Waits until a process of the command's is at the call; 0 if that never comes, or if nobody wants to wait on. */
static pid_t wait_for_call(const struct place *p, pid_t command) {
  while (!*test_interrupted()) {
    siginfo_t ended = {0};
    uint32_t held = __atomic_load_n(&p->area.at->held, __ATOMIC_ACQUIRE);
    if (held) return (pid_t)held;
    /* It stays a zombie, so that its group is not somebody else's yet. */
    if (waitid(P_PID, (id_t)command, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == command) return 0;
    (void)nanosleep(&(struct timespec){.tv_nsec = TICK_NS}, NULL);
  }
  return 0;
}

/* With all that it has started, unless that has left its group. */
static void end_command(pid_t command) {
  (void)kill(-command, SIGKILL);
  (void)kill(command, SIGKILL);
  while (waitpid(command, NULL, 0) < 0 && errno == EINTR) {
  }
}

/* gdb's own commands for a process that waits, then the user's. */
static int attach_arguments(pid_t pid, struct arena *arena, const char *const *more, size_t n_more, arguments *ret) {
  char number[16];
  (void)snprintf(number, sizeof number, "%d", (int)pid);
  const char *const first[] = {
      "gdb", "-q",       "-p",  arena_strdup(arena, number),      "-ex", "break murphy_rt_fault",
      "-ex", "continue", "-ex", "frame function murphy_rt_enter", "-ex", "up"};
  int r = first[3] ? 0 : -ENOMEM;
  for (size_t i = 0; i < COUNT(first) && r == 0; i++)
    r = vec_push(ret, first[i]);
  for (size_t i = 0; i < n_more && r == 0; i++)
    r = vec_push(ret, more[i]);
  return r < 0 ? r : vec_push(ret, NULL);
}

static int attach_gdb(struct test_setup *s, struct place *p, const char *const *more, size_t n_more,
                      struct arena *arena, struct err *e) {
  arguments args = {0};
  p->area.at->hold = 1;
  pid_t command = fork();
  if (command == 0) become_command(s, p->preload.at);
  if (command < 0) return err_set(e, -errno, "cannot start the command: %m");
  (void)setpgid(command, command); /* whoever of both comes first */
  pid_t held = wait_for_call(p, command);
  int r = held ? attach_arguments(held, arena, more, n_more, &args) : EXIT_NOTHING;
  if (held && r >= 0) r = run_gdb(&args, e);
  if (!held && !*test_interrupted()) cmd_complain("outside of the sandbox the call was not made");
  end_command(command);
  vec_done(&args);
  return r;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

int replay_gdb(struct test_setup *s, const struct lab_order *order, const char *const *more, size_t n_more,
               struct err *e) {
  struct place p = {0};
  struct arena arena = {0};
  arguments args = {0};
  int r = place_make(s, order, &p, e);
  if (r >= 0 && s->space.watch) {
    r = attach_gdb(s, &p, more, n_more, &arena, e);
  } else {
    if (r >= 0) r = make_arguments(s, &arena, p.preload.at, more, n_more, &args);
    if (r >= 0) r = run_gdb(&args, e);
  }
  if (r == -ENOMEM) (void)err_set(e, r, "out of memory");
  vec_done(&args);
  arena_done(&arena);
  place_done(&p);
  return r;
}
