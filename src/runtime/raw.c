/* SPDX-License-Identifier: Apache-2.0 */
/* A system call by its number: what matters of those that other hooks are about by their names. */
#include "hooks.h"

#include <time.h>

#include "apart.h"
#include "branch.h"
#include "numbers.h"
#include "pinned.h"
#include "sound.h"
#include "system.h"

/* Which arguments of the system call are numbers of processes or threads. */
enum { NONE, FIRST = 1, SECOND = 2 };

static unsigned numbers_of(uint64_t call) {
  switch (call) {
  case SYS_kill:
  case SYS_tkill:
  case SYS_pidfd_open:
  case SYS_prlimit64:
  case SYS_sched_getaffinity:
  case SYS_sched_setaffinity:
  case SYS_sched_getattr:
  case SYS_sched_setattr:
  case SYS_sched_getscheduler:
  case SYS_sched_setscheduler:
  case SYS_sched_getparam:
  case SYS_sched_setparam:
  case SYS_wait4:
  case SYS_process_vm_readv:
  case SYS_process_vm_writev:
  case SYS_get_robust_list:
    return FIRST;
  case SYS_ioprio_get:
  case SYS_ioprio_set:
  case SYS_getpriority:
  case SYS_setpriority:
  case SYS_waitid:
    return SECOND;
  case SYS_tgkill:
  case SYS_kcmp:
    return FIRST | SECOND;
  default:
    return NONE;
  }
}

/* What is only noted. */
static void note(const struct rt_call *c) {
  switch (c->args[0]) {
  case SYS_madvise:
    return rt_sound_advised(c->args[3]);
  case SYS_prctl:
    return rt_apart_control(c->args[1]);
  case SYS_seccomp:
    return rt_apart_filter();
  case SYS_unshare:
  case SYS_setns:
  case SYS_mlockall:
  case SYS_ptrace:
  case SYS_add_key:
  case SYS_request_key:
  case SYS_keyctl:
  case SYS_landlock_restrict_self: /* is about files, and those of a copy are others */
    return rt_apart_leave();
  case SYS_mlock:
  case SYS_mlock2:
    return rt_pinned_note();
  case SYS_mmap:
    return rt_pinned_mapped(c->args[4]);
  case SYS_times:
  case SYS_getrusage:
    return rt_apart_spent(CLOCK_PROCESS_CPUTIME_ID);
  case SYS_clock_gettime:
    return rt_apart_spent(c->args[1]);
  case SYS_stat:
  case SYS_fstat:
  case SYS_lstat:
  case SYS_newfstatat:
  case SYS_statx:
  case SYS_getdents:
  case SYS_getdents64:
    return rt_numbers_tell();
  case SYS_clone:
  case SYS_clone3:
  case SYS_fork:
  case SYS_vfork:
  case SYS_rename:
  case SYS_renameat:
  case SYS_renameat2:
  case SYS_rmdir:
  case SYS_unlinkat:
    return rt_numbers_settle();
  default:
    return;
  }
}

enum rt_action rt_hook_raw(struct rt_call *c) {
  switch (c->args[0]) {
  case SYS_getpid:
  case SYS_gettid:
  case SYS_getppid:
  case SYS_getpgrp:
  case SYS_getpgid:
  case SYS_getsid:
    return rt_hook_self(c, 1);
  default:
    break;
  }
  note(c);
  if (!rt_trunk()) return RT_PASS;
  unsigned which = numbers_of(c->args[0]);
  if (which & FIRST) c->args[1] = rt_trunk_meant(c->args[1]);
  if (which & SECOND) c->args[2] = rt_trunk_meant(c->args[2]);
  return RT_PASS;
}
