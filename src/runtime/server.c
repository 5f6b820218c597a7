/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fork server.
 *
 * It stops where the program's first instructions call libc: the libraries' constructors have run, the program's own
 * come next, in each child. So all that a child inherits is what the loader and the libraries did, which must be
 * nothing that an experiment could be about, or that children would share. Addresses, the stack protector's value and
 * what constructors drew at random are the same in all children.
 *
 * The child is a child of the server's parent, with libc's structures as fork(2) leaves them. Nothing is locked: there
 * is one thread, and it is in no function of libc.
 */
#include "server.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "aim.h"
#include "apart.h"
#include "branch.h"
#include "pinned.h"
#include "process.h"
#include "sound.h"
#include "stack.h"
#include "system.h"

#define INTERRUPTED 4 /* EINTR */
#define PATH_ROOM 4096
#define PROCESSORS 8192 /* more than any kernel has */
#define STACK 65536     /* far more than all that the server does takes */

static struct {
  bool wanted, early;
  char folder[PATH_ROOM]; /* working directory */
  uint64_t robust, robust_size;
  struct wire_loaded *loaded; /* what murphy was told of the modules */
  uint32_t n_loaded;
  long pid;
  uint64_t processors[PROCESSORS / 64]; /* that it may use */
  long n_processors;                    /* bytes of these; a negative errno if they are not known */
} server;

void rt_server_start(void) {
  server.wanted = rt_load(&rt.area->server.version) == WIRE_SERVER_VERSION && rt_process() == 1;
  if (!server.wanted) return;
  (void)rt_system(SYS_fcntl, WIRE_SERVER_FD, F_SETFD, FD_CLOEXEC, 0, 0, 0);
  rt.busy |= RT_BUSY_EARLY;
}

void rt_server_early(const struct rt_call *c) {
  const struct rt_function *f = &rt.functions[c->index];
  /* A library of a language gets itself ready; nothing of that is tried. */
  server.early |= f->n_rules > 0 && rt_in_own_code(c);
}

/* --- the child ---------------------------------------------------------------------------------------------------- */

/* The area was emptied since. */
static void tell_modules(void) {
  struct wire_loaded *to = rt_area_array(loaded, struct wire_loaded);
  for (uint32_t i = 0; i < server.n_loaded; i++)
    to[i] = server.loaded[i];
  rt_store(&rt.area->next_loaded, server.n_loaded);
}

static void become_child(const struct wire_fork_request *request) {
  /* Who reads first is given all pages of the area that are there, who writes one at a time. */
  (void)rt_load(&rt.area->attached);
  (void)rt_system(SYS_close, WIRE_SERVER_FD, 0, 0, 0, 0, 0);
  if (request->kept && server.n_processors > 0)
    (void)rt_system(SYS_sched_setaffinity, 0, server.n_processors, (long)server.processors, 0, 0, 0);
  (void)rt_system(SYS_setsid, 0, 0, 0, 0, 0, 0);
  rt_child_lists();
  rt_apart_put_back();
  /* The first process of its run, whatever the area has from the server's own start. */
  rt_store(&rt.area->next_process, 0);
  rt_store(&rt.area->processes, 0);
  rt_process_forked();
  tell_modules();
  rt_store(&rt.area->attached, 1);
  if (request->trunk) rt_trunk_start(server.pid);
  rt_aim_again();
}

void rt_child_lists(void) {
  if (server.robust) (void)rt_system(SYS_set_robust_list, (long)server.robust, (long)server.robust_size, 0, 0, 0, 0);
}

/* --- the server --------------------------------------------------------------------------------------------------- */

static bool keep_modules(void) {
  uint32_t n = rt_load(&rt.area->next_loaded);
  server.n_loaded = n < rt.area->loaded.n ? n : rt.area->loaded.n;
  server.loaded = rt_map(server.n_loaded * sizeof *server.loaded + 1);
  for (uint32_t i = 0; i < server.n_loaded && server.loaded; i++)
    server.loaded[i] = rt_area_array(loaded, struct wire_loaded)[i];
  return server.loaded;
}

/* Whether a child could lock as much is known only when it has been made, which is too late for a run. */
static enum wire_refusal judge_pinned(void) {
  bool any;
  enum wire_refusal r = rt_pinned_any(&any);
  return r == WIRE_FORK_GOOD && any ? WIRE_FORK_APART : r;
}

/* The server itself stands in the root, so that no layer is in use while it waits. */
static void leave_folder(void) { (void)rt_system(SYS_chdir, (long)"/", 0, 0, 0, 0, 0); }

static enum wire_refusal get_ready(void) {
  if (server.early) return WIRE_FORK_CALLS;
  server.pid = rt_system(SYS_getpid, 0, 0, 0, 0, 0, 0);
  enum wire_refusal r = rt_apart_judge();
  if (r == WIRE_FORK_GOOD) r = judge_pinned();
  if (r == WIRE_FORK_GOOD) r = rt_sound_process();
  if (r == WIRE_FORK_GOOD) r = rt_sound_memory(NULL, 0);
  if (r == WIRE_FORK_GOOD) r = rt_sound_untouched(WIRE_SERVER_FD);
  if (r != WIRE_FORK_GOOD) return r;
  if (rt_system(SYS_getcwd, (long)server.folder, sizeof server.folder, 0, 0, 0, 0) < 0) return WIRE_FORK_UNKNOWN;
  if (rt_system(SYS_get_robust_list, 0, (long)&server.robust, (long)&server.robust_size, 0, 0, 0) < 0)
    server.robust = 0;
  rt_apart_keep_all();
  server.n_processors = rt_system(SYS_sched_getaffinity, 0, sizeof server.processors, (long)server.processors, 0, 0, 0);
  return rt_process_tid() && keep_modules() ? WIRE_FORK_GOOD : WIRE_FORK_UNKNOWN;
}

bool rt_say(int socket, const void *p, size_t n) {
  return rt_system(SYS_sendto, socket, (long)p, (long)n, MSG_NOSIGNAL, 0, 0) == (long)n;
}

long rt_hear(int socket, void *p, size_t n, int files[RT_FILES]) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(RT_FILES * sizeof(int))];
  } control;
  struct iovec part = {.iov_base = p, .iov_len = n};
  struct msghdr m = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  long got;
  do
    got = rt_system(SYS_recvmsg, socket, (long)&m, 0, 0, 0, 0);
  while (got == -INTERRUPTED);
  size_t room = got > 0 && m.msg_controllen >= sizeof(struct cmsghdr) ? control.header.cmsg_len - CMSG_LEN(0) : 0;
  const int *came = (const int *)(control.bytes + CMSG_LEN(0));
  for (size_t i = 0; i < RT_FILES; i++)
    files[i] = i < room / sizeof(int) ? came[i] : -1;
  return got;
}

/* Nothing of the last run's is open any more; the numbers stay in use, for others would get them. */
static bool let_go(void) {
  bool good = true;
  for (int i = 0; i <= 2; i++)
    good &= rt_system(SYS_dup2, WIRE_SERVER_FD, i, 0, 0, 0, 0) == i;
  return good;
}

/* A request, with standard input and output beside it; false if murphy is gone, or speaks another language. */
static bool hear(struct wire_fork_request *ret) {
  int files[RT_FILES];
  bool good = rt_hear(WIRE_SERVER_FD, ret, sizeof *ret, files) == (long)sizeof *ret;
  if (good && ret->let_go) return let_go();
  for (int i = 0; i < RT_FILES; i++) {
    if (i <= 2) good &= files[i] >= 0 && rt_system(SYS_dup2, files[i], i, 0, 0, 0, 0) == i;
    if (files[i] >= 0) (void)rt_system(SYS_close, files[i], 0, 0, 0, 0, 0);
  }
  return good;
}

/* As libc's fork does it: the kernel writes the child's number to where libc keeps it. */
long rt_fork_beside(void) {
  const long flags = 0x01208000 /* CLONE_CHILD_SETTID, CLONE_CHILD_CLEARTID, CLONE_PARENT */ | 17 /* SIGCHLD */;
  return rt_system(SYS_clone, flags, 0, 0, (long)rt_process_tid(), 0, 0);
}

static long fork_one(void) {
  long r = rt_system(SYS_chdir, (long)server.folder, 0, 0, 0, 0, 0);
  if (r == 0) r = rt_fork_beside();
  if (r != 0) leave_folder();
  return r;
}

static void serve(void) {
  (void)__atomic_fetch_and(&rt.busy, ~(uint32_t)RT_BUSY_EARLY, __ATOMIC_ACQ_REL);
  struct wire_hello hello = {
      .magic = WIRE_SERVER_MAGIC, .version = WIRE_SERVER_VERSION, .refusal = (uint32_t)get_ready()};
  struct wire_fork_request request;
  bool good = rt_say(WIRE_SERVER_FD, &hello, sizeof hello) && hello.refusal == WIRE_FORK_GOOD, served = good;
  /* Not before: where nobody asks for a server any more, this is the command itself. */
  if (good) {
    rt_aim_ahead();
    leave_folder();
  }
  while (good && hear(&request)) {
    struct wire_fork_answer answer = {.number = request.number, .pid = request.let_go ? 0 : fork_one()};
    if (answer.pid == 0 && !request.let_go) {
      become_child(&request);
      return;
    }
    /* Who branches compares its own with these. */
    if (!request.trunk) good = let_go();
    good = rt_say(WIRE_SERVER_FD, &answer, sizeof answer) && good;
  }
  (void)rt_system(SYS_close, WIRE_SERVER_FD, 0, 0, 0, 0, 0);
  if (served) {
    (void)rt_system(SYS_chdir, (long)server.folder, 0, 0, 0, 0, 0);
    rt_aim_again();
  }
}

/*
 * Calls FUNCTION with its stack below TOP. What lies below the stack pointer is nobody's, and yet programs show it, in
 * variables that they forgot to set: a child must find there what it would have found without the server.
 */
static inline __attribute__((always_inline)) void call_aside(void (*function)(void), char *top) {
  __asm__ volatile("mov %%rsp, %%rbx\n\t"
                   "mov %0, %%rsp\n\t"
                   "call *%1\n\t"
                   "mov %%rbx, %%rsp"
                   : "+S"(top), "+a"(function)
                   :
                   : "rbx", "rcx", "rdx", "rdi", "r8", "r9", "r10", "r11", "cc", "memory");
}

/* No mapping of its own: those of a child lie where they would lie without the server. */
static char stack[STACK] __attribute__((aligned(16)));

__attribute__((noinline)) void rt_server(void) {
  if (!server.wanted) return;
  server.wanted = false;
  call_aside(serve, stack + sizeof stack);
}
