/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last steps of the command's process before it becomes the command: the new root, limits, descriptors, no way to
 * more privileges.
 */
#include "sandbox/sandbox_inside.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static int failed(const char *what, struct err *e) {
  int code = -errno;
  return err_set(e, code, "sandbox: cannot %s: %m", what);
}

/*
 * A process leaves a changed root only with CAP_SYS_CHROOT, or through /proc/1/root with all that the keeper may do;
 * the command has neither. A mount namespace and pivot_root would cost as much as the rest of the start together.
 */
static int change_root(const char *root, struct err *e) {
  if (chroot(root) < 0) return failed("change the root", e);
  return chdir("/") < 0 ? failed("enter the new root", e) : 0;
}

static int limit(int resource, uint64_t value, struct err *e) {
  if (!value) return 0;
  struct rlimit now, l = {.rlim_cur = value, .rlim_max = value};
  if (getrlimit((__rlimit_resource_t)resource, &now) < 0) return failed("read a limit", e);
  if (now.rlim_max < l.rlim_max) l.rlim_cur = l.rlim_max = now.rlim_max;
  return setrlimit((__rlimit_resource_t)resource, &l) < 0 ? failed("set a limit", e) : 0;
}

/* A limit of 1 keeps the kernel from starting a crash handler, where core files are piped to one; 0 does not. */
static int limit_core(struct err *e) {
  struct rlimit l = {.rlim_cur = 1, .rlim_max = 1};
  return setrlimit(RLIMIT_CORE, &l) < 0 ? failed("set a limit", e) : 0;
}

static int set_limits(const struct sandbox_limits *l, struct err *e) {
  int r = limit(RLIMIT_CPU, l->cpu_seconds, e);
  if (r == 0) r = limit(RLIMIT_AS, l->address_space, e);
  if (r == 0) r = limit(RLIMIT_FSIZE, l->file_size, e);
  if (r == 0) r = limit(RLIMIT_NPROC, l->processes, e);
  if (r == 0) r = limit(RLIMIT_DATA, l->memory, e);
  return r < 0 ? r : limit_core(e);
}

/* The three are above 2, close-on-exec, and their copies are not. */
static int set_descriptors(const int descriptors[3], struct err *e) {
  for (int i = 0; i < 3; i++)
    if (dup2(descriptors[i], i) < 0) return failed("set up standard input and output", e);
  return 0;
}

/* What murphy was started with beyond the three would be a way out: to a file, or to whoever listens. */
static int leave_others(struct err *e) {
  return close_range(3, ~0u, CLOSE_RANGE_CLOEXEC) < 0 ? failed("close descriptors", e) : 0;
}

/* Not close-on-exec; the runtime makes it so. */
static int set_server(int server, struct err *e) {
  if (server < 0) return 0;
  return dup2(server, WIRE_SERVER_FD) < 0 ? failed("set up a fork server", e) : 0;
}

/* Root in the namespace could mount, or leave the changed root. */
static int drop_privileges(struct err *e) {
  static const int dropped[] = {CAP_SYS_ADMIN, CAP_SYS_CHROOT, CAP_SYS_PTRACE, CAP_MKNOD};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return failed("give up privileges", e);
  for (size_t i = 0; i < COUNT(dropped); i++)
    if (prctl(PR_CAPBSET_DROP, dropped[i], 0, 0, 0) < 0) return failed("give up privileges", e);
  return 0;
}

static void default_signals(void) {
  struct sigaction action = {.sa_handler = SIG_DFL};
  for (int i = 1; i < NSIG; i++)
    (void)sigaction(i, &action, NULL); /* refused for SIGKILL, SIGSTOP and libc's own */
  sigset_t none;
  (void)sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

int jail_enter(const struct sandbox_options *options, const char *root, const int descriptors[3], int server,
               struct err *e) {
  int r = root ? change_root(root, e) : 0;
  if (r < 0) return r;
  if (chdir(options->cwd) < 0) return failed("change to the working directory", e);
  if (setsid() < 0 && errno != EPERM) return failed("start a session", e);
  if ((r = set_descriptors(descriptors, e)) < 0) return r;
  if ((r = leave_others(e)) < 0) return r;
  if ((r = set_server(server, e)) < 0) return r;
  if (root && (r = drop_privileges(e)) < 0) return r;
  if ((r = set_limits(&options->limits, e)) < 0) return r;
  if (sched_getscheduler(0) == SCHED_RR) (void)sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
  default_signals();
  (void)execve(options->path, options->argv, options->envp);
  int code = -errno;
  return err_set(e, code, "%s: cannot start: %m", options->path);
}
