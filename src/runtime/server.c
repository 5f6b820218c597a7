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

#include "below.h"
#include "process.h"
#include "sound.h"
#include "stack.h"
#include "start.h"
#include "system.h"

#define INTERRUPTED 4 /* EINTR */
#define PATH_ROOM 4096

static struct {
  bool wanted, early;
  char folder[PATH_ROOM]; /* working directory */
  uint64_t robust, robust_size;
  struct wire_loaded *loaded; /* what murphy was told of the modules */
  uint32_t n_loaded;
} server;

char rt_below[RT_BELOW];

void rt_server_start(void) {
  server.wanted = rt_load(&rt.area->server.version) == WIRE_SERVER_VERSION && rt_process() == 1;
  if (!server.wanted) return;
  (void)rt_system(SYS_fcntl, WIRE_SERVER_FD, F_SETFD, FD_CLOEXEC, 0, 0, 0);
  rt.busy |= RT_BUSY_EARLY;
}

void rt_server_early(const struct rt_call *c) {
  const struct rt_function *f = &rt.functions[c->index];
  server.early |= f->n_rules > 0 && rt_in_scope(c);
}

/* --- the child ---------------------------------------------------------------------------------------------------- */

/* The area was emptied since. */
static void tell_modules(void) {
  struct wire_loaded *to = rt_area_array(loaded, struct wire_loaded);
  for (uint32_t i = 0; i < server.n_loaded; i++)
    to[i] = server.loaded[i];
  rt_store(&rt.area->next_loaded, server.n_loaded);
}

static void become_child(void) {
  (void)rt_system(SYS_close, WIRE_SERVER_FD, 0, 0, 0, 0, 0);
  (void)rt_system(SYS_setsid, 0, 0, 0, 0, 0, 0);
  if (server.robust) (void)rt_system(SYS_set_robust_list, (long)server.robust, (long)server.robust_size, 0, 0, 0, 0);
  /* The first process of its run, whatever the area has from the server's own start. */
  rt_store(&rt.area->next_process, 0);
  rt_process_forked();
  tell_modules();
  rt_store(&rt.area->attached, 1);
  rt_aim();
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

static enum wire_refusal get_ready(void) {
  if (server.early) return WIRE_FORK_CALLS;
  enum wire_refusal r = rt_sound_process();
  if (r == WIRE_FORK_GOOD) r = rt_sound_untouched(WIRE_SERVER_FD);
  if (r != WIRE_FORK_GOOD) return r;
  if (rt_system(SYS_getcwd, (long)server.folder, sizeof server.folder, 0, 0, 0, 0) < 0) return WIRE_FORK_UNKNOWN;
  if (rt_system(SYS_get_robust_list, 0, (long)&server.robust, (long)&server.robust_size, 0, 0, 0) < 0)
    server.robust = 0;
  return rt_process_tid() && keep_modules() ? WIRE_FORK_GOOD : WIRE_FORK_UNKNOWN;
}

static bool say(const void *p, size_t n) {
  return rt_system(SYS_write, WIRE_SERVER_FD, (long)p, (long)n, 0, 0, 0) == (long)n;
}

/* Standard input and output that came beside a request. */
static bool take_files(const struct msghdr *m) {
  const struct cmsghdr *c = m->msg_control;
  if (m->msg_controllen < CMSG_LEN(3 * sizeof(int)) || c->cmsg_type != SCM_RIGHTS ||
      c->cmsg_len != CMSG_LEN(3 * sizeof(int)))
    return false;
  const int *files = (const int *)(c + 1);
  bool good = true;
  for (int i = 0; i < 3; i++) {
    good &= rt_system(SYS_dup2, files[i], i, 0, 0, 0, 0) == i;
    (void)rt_system(SYS_close, files[i], 0, 0, 0, 0, 0);
  }
  return good;
}

/* False if murphy is gone, or speaks another language. */
static bool hear(struct wire_fork_request *ret) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(3 * sizeof(int))];
  } control;
  struct iovec part = {.iov_base = ret, .iov_len = sizeof *ret};
  struct msghdr m = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  long n;
  do
    n = rt_system(SYS_recvmsg, WIRE_SERVER_FD, (long)&m, 0, 0, 0, 0);
  while (n == -INTERRUPTED);
  return n == (long)sizeof *ret && take_files(&m);
}

/* As libc's fork does it: the kernel writes the child's number to where libc keeps it. */
static long fork_beside(void) {
  const long flags = 0x01208000 /* CLONE_CHILD_SETTID, CLONE_CHILD_CLEARTID, CLONE_PARENT */ | 17 /* SIGCHLD */;
  long r = rt_system(SYS_chdir, (long)server.folder, 0, 0, 0, 0, 0);
  return r < 0 ? r : rt_system(SYS_clone, flags, 0, 0, (long)rt_process_tid(), 0, 0);
}

static void serve(void) {
  (void)__atomic_fetch_and(&rt.busy, ~(uint32_t)RT_BUSY_EARLY, __ATOMIC_ACQ_REL);
  struct wire_hello hello = {
      .magic = WIRE_SERVER_MAGIC, .version = WIRE_SERVER_VERSION, .refusal = (uint32_t)get_ready()};
  struct wire_fork_request request;
  bool good = say(&hello, sizeof hello) && hello.refusal == WIRE_FORK_GOOD;
  while (good && hear(&request)) {
    struct wire_fork_answer answer = {.number = request.number, .pid = fork_beside()};
    if (answer.pid == 0) {
      become_child();
      return;
    }
    good = say(&answer, sizeof answer);
  }
  (void)rt_system(SYS_close, WIRE_SERVER_FD, 0, 0, 0, 0, 0);
}

__attribute__((noinline)) void rt_server(void) {
  if (!server.wanted) return;
  server.wanted = false;
  rt_stack_keep();
  serve();
  rt_stack_put_back();
}
