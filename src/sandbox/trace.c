/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor: the command runs under ptrace, and when a signal is about to end a process of it, or its time is
 * over, the stack is taken before it goes on.
 *
 * Every process and thread of the command is attached from its birth. Signals are passed on as they come; only their
 * arrival is looked at. What becomes of processes that others wait for nobody else would learn: the kernel tells who
 * traces them first.
 */
#include "sandbox/sandbox_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool is_fatal(int signal) {
  switch (signal) {
  case SIGSEGV:
  case SIGBUS:
  case SIGFPE:
  case SIGILL:
  case SIGABRT:
  case SIGSYS:
  case SIGTRAP:
    return true;
  default:
    return false;
  }
}

/* The process that the thread belongs to. */
static pid_t process_of(pid_t tid) {
  char path[64], line[128];
  (void)snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
  FILE *f = fopen(path, "re");
  if (!f) return tid;
  int pid = tid;
  while (fgets(line, sizeof line, f))
    if (sscanf(line, "Tgid: %d", &pid) == 1) break;
  (void)fclose(f);
  return (pid_t)pid;
}

static void take_stack(pid_t tid, int signal, struct keeper_stack *stack) {
  pid_t pid = process_of(tid);
  /* A handler that raises the signal again adds nothing to where it first came. */
  if (stack->pid == pid && stack->n) return;
  size_t n = 0;
  if (image_process_stack(pid, tid, stack->frames, COUNT(stack->frames), &n, NULL) < 0) return;
  stack->n = (uint32_t)n;
  stack->signal = signal;
  stack->pid = pid;
}

/* --- the tree ----------------------------------------------------------------------------------------------------- */

static void add_program(pid_t pid, struct sandbox_tree *tree) {
  char path[64], program[PATH_MAX];
  (void)snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
  ssize_t n = readlink(path, program, sizeof program - 1);
  if (n <= 0) return;
  program[n] = '\0';
  for (size_t i = 0; i < tree->n_programs; i++)
    if (strcmp(tree->programs[i], program) == 0) {
      tree->again += i == 0;
      return;
    }
  if (tree->n_programs == COUNT(tree->programs) || (size_t)n >= sizeof tree->programs[0]) {
    tree->more = true;
    return;
  }
  memcpy(tree->programs[tree->n_programs++], program, (size_t)n + 1);
}

static void note_event(pid_t tid, int event, struct sandbox_tree *tree) {
  if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK) tree->forks++;
  if (event == PTRACE_EVENT_EXEC) add_program(tid, tree);
}

void trace_ended(int status, struct keeper_stack *stack) {
  if (WIFSIGNALED(status) && is_fatal(WTERMSIG(status)) && !stack->tree.died) stack->tree.died = WTERMSIG(status);
}

/* --- following it ------------------------------------------------------------------------------------------------- */

int trace_attach(pid_t pid) {
  unsigned long options =
      PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC;
  return ptrace(PTRACE_SEIZE, pid, NULL, options) < 0 ? -errno : 0;
}

void trace_refused(int r, struct keeper_answer *a) {
  (void)snprintf(a->why, sizeof a->why, "it cannot be traced (%s): stacks and other processes are not seen",
                 strerror(-r));
}

void trace_stopped(pid_t tid, int status, struct keeper_stack *stack) {
  int signal = WSTOPSIG(status), event = status >> 16;
  if (event == PTRACE_EVENT_STOP &&
      (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU)) {
    (void)ptrace(PTRACE_LISTEN, tid, NULL, NULL);
    return;
  }
  if (event) note_event(tid, event, &stack->tree);
  if (!event && is_fatal(signal)) take_stack(tid, signal, stack);
  (void)ptrace(PTRACE_CONT, tid, NULL, event ? 0ul : (unsigned long)signal);
}

/* Does it wait for a child of its own? */
static bool waits_for_child(pid_t pid) {
  char path[64], text[32] = {0};
  (void)snprintf(path, sizeof path, "/proc/%d/syscall", (int)pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t n = read(fd, text, sizeof text - 1);
  (void)close(fd);
  long number = n > 0 ? strtol(text, NULL, 10) : -1;
  return number == SYS_wait4 || number == SYS_waitid;
}

/* Its youngest child: shells start the last of a pipeline last. 0 if there is none. */
static pid_t last_child(pid_t pid) {
  char path[64], list[4096];
  (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t n = read(fd, list, sizeof list - 1);
  (void)close(fd);
  pid_t child = 0;
  list[n > 0 ? n : 0] = '\0';
  for (char *at = list, *end; at[strspn(at, " \n")]; at = end) {
    child = (pid_t)strtol(at, &end, 10);
    if (end == at) return 0;
  }
  return child;
}

pid_t trace_stuck(pid_t pid) {
  enum { DEEPEST = 64 };
  for (int i = 0; i < DEEPEST && waits_for_child(pid); i++) {
    pid_t child = last_child(pid);
    if (child <= 1) break;
    pid = child;
  }
  return pid;
}

/* --- where it hangs ----------------------------------------------------------------------------------------------- */

/*
 * A loop is not seen in one stack. Between them it goes on for so long, on a processor, and then for longer and longer:
 * how long it takes to go round is not known. On a busy machine that takes more time, but not for ever.
 */
enum { SAMPLES = 10, SAMPLE_NS = 1000000, SAMPLE_TIMES = 2, SAMPLE_STEP_NS = 1000000, SAMPLE_STEPS = 300 };

/* Waits until it has stopped. Its end is left to who waits for that. */
static bool wait_for_stop(pid_t pid, int *ret_status) {
  for (int i = 0; i < 200; i++) {
    siginfo_t now = {0};
    if (waitid(P_PID, (id_t)pid, &now, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) < 0) return false;
    if (now.si_pid == pid && now.si_code != CLD_TRAPPED && now.si_code != CLD_STOPPED) return false;
    if (now.si_pid == pid) return waitpid(pid, ret_status, WNOHANG | __WALL) == pid && WIFSTOPPED(*ret_status);
    (void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
  }
  return false;
}

/* What it has used of processors, in nanoseconds; 0 if that is not known. */
static uint64_t used_by(pid_t pid) {
  clockid_t clock;
  struct timespec t = {0};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) < 0) return 0;
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* It goes on for a while, and is stopped again. */
static bool go_on(pid_t pid, uint64_t ns, int *status) {
  unsigned long signal = *status >> 16 ? 0 : (unsigned long)WSTOPSIG(*status);
  pid_t process = process_of(pid);
  uint64_t until = used_by(process) + ns;
  if (ptrace(PTRACE_CONT, pid, NULL, signal) < 0) return false;
  for (int i = 0; i < SAMPLE_STEPS && used_by(process) < until; i++)
    (void)nanosleep(&(struct timespec){.tv_nsec = SAMPLE_STEP_NS}, NULL);
  return ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == 0 && wait_for_stop(pid, status);
}

/* It was met at another place. */
static void note_place(struct image_process_frame *f, const struct image_process_frame *again) {
  if (!f->moves) f->from = f->to = f->at;
  f->moves = true;
  if (strcmp(f->path, again->path) != 0) return;
  if (again->at < f->from) f->from = again->at;
  if (again->at > f->to) f->to = again->at;
}

/*
 * What the two stacks have in common, from the outside, and the function that was called there: since it was never
 * left, that is where the loop is. A stack that has nothing in common could not be read.
 */
static void cut_to_loop(struct keeper_stack *stack, const struct image_process_frame *again, size_t n) {
  size_t common = 0;
  while (common < stack->n && common < n &&
         stack->frames[stack->n - 1 - common].address == again[n - 1 - common].address)
    common++;
  if (!common || common == stack->n) return;
  size_t inner = stack->n - common - 1;
  memmove(stack->frames, stack->frames + inner, (common + 1) * sizeof *stack->frames);
  stack->n = (uint32_t)common + 1;
  if (common < n) note_place(&stack->frames[0], &again[n - 1 - common]);
}

void trace_interrupted(pid_t pid, struct keeper_stack *stack) {
  static struct image_process_frame again[SANDBOX_FRAMES];
  uint64_t ns = SAMPLE_NS, used = used_by(process_of(pid));
  int status = 0;
  if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0 || !wait_for_stop(pid, &status)) return;
  stack->n = 0;
  take_stack(pid, 0, stack);
  /* Of a stack that is cut off, the outer end is not known. Who sleeps stays where it is. */
  for (int i = 1; i < SAMPLES && stack->n && stack->n < COUNT(again) && go_on(pid, ns, &status); i++) {
    size_t n = 0;
    uint64_t now = used_by(process_of(pid));
    if (now - used < SAMPLE_NS / 2) break;
    used = now;
    ns *= SAMPLE_TIMES;
    if (image_process_stack(process_of(pid), pid, again, COUNT(again), &n, NULL) == 0 && n < COUNT(again))
      cut_to_loop(stack, again, n);
  }
}
