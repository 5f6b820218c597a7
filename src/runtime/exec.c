/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that the target starts get an environment in which LD_PRELOAD is as it should be. If it already is, the call
 * is passed through; else it is made here, with an environment in this frame, since only a call that fails returns.
 */
#include "ask.h"
#include "environment.h"
#include "hooks.h"
#include "lend.h"
#include "link.h"
#include "process.h"
#include "system.h"

#define WORDS 1024 /* of an execl that gets a new environment; for more of them memory is mapped */

typedef uint64_t function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

/* Makes the call with argument AT replaced by an environment that is good. */
static enum rt_action with_environment(struct rt_call *c, uint64_t real, unsigned at, char **envp) {
  struct rt_environment e;
  e.mapped = NULL;
  e.kept = false;
  rt_environment_make(&e, envp);
  uint64_t a[6];
  for (unsigned i = 0; i < 6; i++)
    a[i] = i == at ? (uint64_t)e.at : c->args[i];
  c->retval = ((function *)real)(a[0], a[1], a[2], a[3], a[4], a[5]);
  rt_environment_done(&e);
  return RT_RETURN;
}

/* The environment is argument AT. */
static enum rt_action hook_given(struct rt_call *c, unsigned at) {
  char **envp = (char **)c->args[at];
  return rt_environment_good(envp) ? RT_PASS : with_environment(c, c->real, at, envp);
}

/* The ones that take an environment, found at the start. */
static struct { uint64_t execve, execvpe; } real_ones;

void rt_hook_start(void) {
  real_ones.execve = rt_link_real("execve", NULL);
  real_ones.execvpe = rt_link_real("execvpe", NULL);
}

/* The environment is the process's: REAL does the same with one that is given. */
static enum rt_action hook_own(struct rt_call *c, uint64_t real) {
  char **envp = rt_environment_own();
  return real == 0 || rt_environment_good(envp) ? RT_PASS : with_environment(c, real, 2, envp);
}

static uint64_t word(const struct rt_call *c, unsigned i) { return i < 6 ? c->args[i] : c->sp[1 + i - 6]; }

static enum rt_action with_list(struct rt_call *c, uint64_t real, unsigned n, uint64_t *argv, char **envp) {
  for (unsigned i = 0; i < n; i++)
    argv[i] = word(c, 1 + i);
  c->args[1] = (uint64_t)argv;
  return with_environment(c, real, 2, envp);
}

/* Apart, so that only a list that needs it takes so much of the stack. */
static __attribute__((noinline)) enum rt_action with_short_list(struct rt_call *c, uint64_t real, unsigned n,
                                                                char **envp) {
  uint64_t argv[WORDS];
  return with_list(c, real, n, argv, envp);
}

/* (path, argument..., NULL[, envp]) becomes (path, argv, envp) of REAL. */
static enum rt_action hook_listed(struct rt_call *c, uint64_t real, bool given) {
  unsigned end = 1;
  while (word(c, end) != 0)
    end++;
  char **envp = given ? (char **)word(c, end + 1) : rt_environment_own();
  if (real == 0 || rt_environment_good(envp)) return RT_PASS;
  if (end <= WORDS) return with_short_list(c, real, end, envp);
  size_t size = end * sizeof(uint64_t);
  uint64_t *argv = rt_lend(size);
  if (!argv) return RT_PASS;
  enum rt_action action = with_list(c, real, end, argv, envp);
  rt_lend_back(argv, size);
  return action;
}

/*
 * libc itself starts a program with the process's environment: that is another one for the time of the call. Other
 * threads see it meanwhile, and may copy what is in it, so it is one for ever and for all; the last one who needs it
 * puts back what was there before. That somebody begins in this very moment is possible: what he starts is not
 * followed.
 */
static enum rt_action hook_inside(struct rt_call *c) {
  static struct rt_environment inside = {.kept = true};
  static char **before;
  static uint32_t users;
  (void)rt_add(&users, 1);
  char **own = rt_environment_own();
  bool good = rt_environment_good(own);
  if (good && own != inside.at) {
    (void)rt_add(&users, -1);
    return RT_PASS;
  }
  if (!good) {
    rt_environment_make(&inside, own);
    rt_store(&before, own);
    rt_environment_set(own, inside.at);
  }
  c->retval = ((function *)c->real)(c->args[0], c->args[1], c->args[2], c->args[3], c->args[4], c->args[5]);
  if (rt_add(&users, -1) == 1) rt_environment_restore(&inside, rt_load(&before));
  return RT_RETURN;
}

enum rt_action rt_hook_exec(struct rt_call *c, const struct rt_function *f) {
  bool stays = f->hook == WIRE_HOOK_SPAWN || f->hook == WIRE_HOOK_SYSTEM;
  if (stays) {
    rt_process_spawn();
  } else {
    rt_process_leave();
    rt_plugin_leave();
  }
  switch ((enum wire_hook)f->hook) {
  case WIRE_HOOK_EXECVE:
  case WIRE_HOOK_EXECVPE:
    return hook_given(c, 2);
  case WIRE_HOOK_EXECVEAT:
    return hook_given(c, 3);
  case WIRE_HOOK_SPAWN:
    return hook_given(c, 5);
  case WIRE_HOOK_EXECV:
    return hook_own(c, real_ones.execve);
  case WIRE_HOOK_EXECVP:
    return hook_own(c, real_ones.execvpe);
  case WIRE_HOOK_EXECL:
    return hook_listed(c, real_ones.execve, false);
  case WIRE_HOOK_EXECLE:
    return hook_listed(c, real_ones.execve, true);
  case WIRE_HOOK_EXECLP:
    return hook_listed(c, real_ones.execvpe, false);
  case WIRE_HOOK_SYSTEM:
    return hook_inside(c);
  default:
    return RT_PASS;
  }
}
