/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program has made of its process, by calls that the kernel tells nobody of afterwards, or that make it
 * impossible to ask: filters of system calls, namespaces, settings that fork(2) does not hand on. The runtime sees the
 * calls themselves (data/hooks).
 */
#include "apart.h"

#include <linux/prctl.h>
#include <time.h>

#include "branch.h"
#include "system.h"

static struct {
  bool filtered, left, spent;
  bool slack;      /* a child's default is what the parent has now, and nobody can set it */
  bool controlled; /* one of those below was set */
  long death_signal, reaper;
} apart;

void rt_apart_filter(void) { apart.filtered = true; }

void rt_apart_leave(void) { apart.left = true; }

bool rt_apart_filtered(void) { return apart.filtered; }

void rt_apart_control(uint64_t option) {
  switch ((uint32_t)option) {
  case PR_SET_SECCOMP:
  case PR_SET_SYSCALL_USER_DISPATCH: /* from most code they become signals, and a child has no such setting */
    apart.filtered = true;
    break;
  case PR_SET_TIMERSLACK:
    apart.slack = true;
    break;
  case PR_SET_PDEATHSIG:
  case PR_SET_CHILD_SUBREAPER:
    apart.controlled = true;
    break;
  default:
    break;
  }
}

/* Those of a process or thread by its number are negative. */
void rt_apart_spent(uint64_t clock) {
  int32_t which = (int32_t)clock;
  apart.spent |= rt_trunk() && (which == CLOCK_PROCESS_CPUTIME_ID || which == CLOCK_THREAD_CPUTIME_ID || which < 0);
}

enum wire_refusal rt_apart_judge(void) {
  if (apart.filtered) return WIRE_FORK_FILTERED;
  if (apart.left || apart.slack) return WIRE_FORK_APART;
  return apart.spent ? WIRE_FORK_SPENT : WIRE_FORK_GOOD;
}

static long get(long option) {
  int value = 0;
  return rt_system(SYS_prctl, option, (long)&value, 0, 0, 0, 0) < 0 ? 0 : value;
}

void rt_apart_keep(void) {
  if (!apart.controlled) return;
  apart.death_signal = get(PR_GET_PDEATHSIG);
  apart.reaper = get(PR_GET_CHILD_SUBREAPER);
}

void rt_apart_keep_all(void) {
  apart.controlled = true;
  rt_apart_keep();
  apart.controlled = apart.death_signal || apart.reaper;
}

void rt_apart_put_back(void) {
  if (!apart.controlled) return;
  (void)rt_system(SYS_prctl, PR_SET_PDEATHSIG, apart.death_signal, 0, 0, 0, 0);
  (void)rt_system(SYS_prctl, PR_SET_CHILD_SUBREAPER, apart.reaper, 0, 0, 0, 0);
}
