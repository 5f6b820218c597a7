/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox from outside: makes the namespaces with the keeper in them, and talks to it.
 *
 * Who may do what is decided by the maps of user numbers: everybody is who they were. Root maps all numbers, others
 * only their own, which is all that the kernel allows them.
 */
#include "sandbox/sandbox_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct sandbox {
  struct sandbox_options options;
  pid_t outer;
  pid_t keeper; /* 0 if it is not known */
  int nice;     /* its nice value at first */
  int socket;
  char note[sizeof((struct keeper_answer *)NULL)->text];
};

/* --- making it ---------------------------------------------------------------------------------------------------- */

/* False if there is none. A signal that comes meanwhile is no answer: both sides wait for each other here. */
static bool read_byte(int fd) {
  char byte;
  ssize_t n;
  do
    n = read(fd, &byte, 1);
  while (n < 0 && errno == EINTR);
  return n == 1;
}

static int write_file(pid_t pid, const char *name, const char *content) {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  ssize_t n = write(fd, content, strlen(content));
  int code = n < 0 ? -errno : 0;
  (void)close(fd);
  return code;
}

/* Whoever may map all numbers does; the kernel lets others map themselves if they give up setgroups(2). */
static int write_maps(pid_t pid, struct err *e) {
  char map[64];
  if (write_file(pid, "uid_map", "0 0 4294967295") == 0) {
    int r = write_file(pid, "gid_map", "0 0 4294967295");
    return r < 0 ? err_set(e, r, "sandbox: cannot map groups: %s", strerror(-r)) : 0;
  }
  (void)snprintf(map, sizeof map, "%u %u 1", geteuid(), geteuid());
  int r = write_file(pid, "uid_map", map);
  if (r == 0) r = write_file(pid, "setgroups", "deny");
  (void)snprintf(map, sizeof map, "%u %u 1", getegid(), getegid());
  if (r == 0) r = write_file(pid, "gid_map", map);
  return r < 0 ? err_set(e, r, "sandbox: cannot map users: %s", strerror(-r)) : 0;
}

static void say_refused(struct keeper_answer *a) {
  struct err e;
  a->code = -errno;
  (void)err_set(&e, a->code,
                "sandbox: the kernel refuses new namespaces: %m (sysctl user.max_user_namespaces must not be 0, and "
                "kernel.unprivileged_userns_clone or kernel.apparmor_restrict_unprivileged_userns must allow them; a "
                "container needs a seccomp profile that allows unshare; or use --no-sandbox)");
  memcpy(a->text, e.text, sizeof a->text);
}

/* The outer process: new namespaces, then the keeper as pid 1 of the new pid namespace. */
static _Noreturn void outer_main(const struct sandbox_options *options, int socket, int ready, int go) {
  struct keeper_answer a = {0};
  char byte = 0;
  if (options->bare) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)close(ready);
    (void)close(go);
    bare_main(options, socket);
  }
  /* Who must end a crowd of processes cannot wait for its turn among them. Only root may, and only root needs it. */
  if (sched_getscheduler(0) == SCHED_OTHER)
    (void)sched_setscheduler(0, SCHED_RR, &(struct sched_param){.sched_priority = 1});
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC) < 0) {
    say_refused(&a);
    (void)!message_send(socket, &a, sizeof a, NULL, 0);
    _exit(1);
  }
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (write(ready, &byte, 1) != 1 || !read_byte(go)) _exit(1);
  pid_t pid = fork();
  if (pid == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    keeper_main(options, socket);
  }
  int status = 1;
  (void)close(socket);
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  _exit(pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* --- its nice value ----------------------------------------------------------------------------------------------- */

/* -1 is a nice value, too. */
static bool get_nice(pid_t pid, int *ret) {
  errno = 0;
  *ret = getpriority(PRIO_PROCESS, (id_t)pid);
  return *ret != -1 || errno == 0;
}

/* The only child of the outer process. */
static void find_keeper(struct sandbox *s) {
  char path[64], text[16] = "";
  (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)s->outer, (int)s->outer);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (read(fd, text, sizeof text - 1) > 0) s->keeper = (pid_t)strtol(text, NULL, 10);
  (void)close(fd);
  if (s->keeper > 0 && !get_nice(s->keeper, &s->nice)) s->keeper = 0;
}

/* A command can make all processes of its user nicer, the keeper too; it takes rights outside to take that back. */
static void renew_nice(const struct sandbox *s) {
  int now;
  if (s->keeper > 0 && get_nice(s->keeper, &now) && now > s->nice)
    (void)setpriority(PRIO_PROCESS, (id_t)s->keeper, s->nice);
}

/* The keeper's first words: it is ready, or why not. */
static int hear_ready(struct sandbox *s, struct err *e) {
  struct keeper_answer a;
  size_t n_fds = 0;
  int r = message_receive(s->socket, &a, sizeof a, NULL, 0, &n_fds);
  if (r < 0) return err_set(e, r, "sandbox: no answer: %s", strerror(-r));
  if (r == 0) return err_set(e, -EPIPE, "sandbox: its first process has ended");
  a.text[sizeof a.text - 1] = '\0';
  if (a.code < 0) return err_set(e, a.code, "%s", a.text);
  memcpy(s->note, a.text, sizeof s->note);
  if (!s->options.bare) find_keeper(s);
  return 0;
}

static int start_outer(struct sandbox *s, const int sockets[2], const int ready[2], const int go[2], struct err *e) {
  s->outer = fork();
  if (s->outer < 0) return err_set(e, -errno, "sandbox: cannot start a process: %m");
  if (s->outer == 0) {
    (void)close(sockets[0]);
    (void)close(ready[0]);
    (void)close(go[1]);
    outer_main(&s->options, sockets[1], ready[1], go[0]);
  }
  return 0;
}

static int make_namespaces(struct sandbox *s, const int sockets[2], const int ready[2], const int go[2],
                           struct err *e) {
  int r = start_outer(s, sockets, ready, go, e);
  (void)close(sockets[1]);
  (void)close(ready[1]);
  (void)close(go[0]);
  if (r < 0) return r;
  if (read_byte(ready[0])) {
    if ((r = write_maps(s->outer, e)) < 0) return r;
    if (write(go[1], "", 1) != 1) return err_set(e, -EPIPE, "sandbox: its first process has ended");
  }
  return hear_ready(s, e);
}

int sandbox_new(const struct sandbox_options *options, struct sandbox **ret, struct err *e) {
  struct sandbox *s = calloc(1, sizeof *s);
  if (!s) return err_set(e, -ENOMEM, "sandbox: out of memory");
  *s = (struct sandbox){.options = *options, .socket = -1};
  int sockets[2] = {-1, -1}, ready[2] = {-1, -1}, go[2] = {-1, -1}, r;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0 || pipe2(ready, O_CLOEXEC) < 0 ||
      pipe2(go, O_CLOEXEC) < 0) {
    r = err_set(e, -errno, "sandbox: cannot make a socket: %m");
    for (int i = 0; i < 2; i++)
      if (sockets[i] >= 0) (void)close(sockets[i]);
    for (int i = 0; i < 2; i++)
      if (ready[i] >= 0) (void)close(ready[i]);
    free(s);
    return r;
  }
  s->socket = sockets[0];
  r = make_namespaces(s, sockets, ready, go, e);
  (void)close(ready[0]);
  (void)close(go[1]);
  if (r < 0) {
    sandbox_free(s);
    return r;
  }
  *ret = s;
  return 0;
}

void sandbox_free(struct sandbox *s) {
  if (!s) return;
  if (s->socket >= 0) (void)close(s->socket);
  if (s->outer > 0) {
    /* The keeper is told by the signal of its parent's death, and its own death ends the whole namespace. */
    (void)kill(s->outer, SIGKILL);
    while (waitpid(s->outer, NULL, 0) < 0 && errno == EINTR) {
    }
  }
  free(s);
}

const char *sandbox_note(const struct sandbox *s) { return s->note; }

void sandbox_stop(const struct sandbox *s) {
  if (s->outer > 0) (void)kill(s->outer, SIGKILL);
}

/* --- using it ----------------------------------------------------------------------------------------------------- */

static void take_layers(struct sandbox_result *ret, struct keeper_answer *a, const int *fds, size_t n_fds) {
  ret->n_layers = a->n_layers < n_fds ? a->n_layers : n_fds;
  for (size_t i = 0; i < n_fds; i++) {
    if (i >= ret->n_layers) {
      (void)close(fds[i]);
      continue;
    }
    ret->layers[i].fd = fds[i];
    memcpy(ret->layers[i].at, a->at[i], sizeof ret->layers[i].at);
    ret->layers[i].at[sizeof ret->layers[i].at - 1] = '\0';
  }
}

static int take_stack(struct sandbox *s, struct sandbox_result *ret, struct err *e) {
  struct keeper_stack *stack = malloc(sizeof *stack);
  size_t n_fds = 0;
  int r = stack ? message_receive(s->socket, stack, sizeof *stack, NULL, 0, &n_fds) : -ENOMEM;
  if (r > 0 && stack->n <= COUNT(ret->frames)) {
    ret->n_frames = stack->n;
    memcpy(ret->frames, stack->frames, sizeof ret->frames);
  }
  if (r > 0) ret->tree = stack->tree;
  free(stack);
  if (r > 0) return 0;
  sandbox_result_done(ret);
  return err_set(e, r ? r : -EPIPE, "sandbox: its first process has ended");
}

/* The next answer; *ret has all of it that is not about a stack. */
static int hear(struct sandbox *s, struct sandbox_result *ret, int32_t *ret_order, struct err *e) {
  struct keeper_answer a;
  int fds[SANDBOX_LAYERS];
  size_t n_fds = 0;
  int r = message_receive_part(s->socket, &a, ANSWER_HEAD, sizeof a, fds, COUNT(fds), &n_fds);
  if (r <= 0) return err_set(e, r ? r : -EPIPE, "sandbox: its first process has ended");
  if (a.n_layers > COUNT(a.at) || (size_t)r < answer_size(&a)) a.n_layers = 0;
  a.text[sizeof a.text - 1] = '\0';
  memcpy(ret->why, a.why, sizeof ret->why);
  ret->why[sizeof ret->why - 1] = '\0';
  if (a.code < 0) {
    for (size_t i = 0; i < n_fds; i++)
      (void)close(fds[i]);
    return err_set(e, a.code, "%s", a.text[0] ? a.text : strerror(-a.code));
  }
  ret->status = a.status;
  ret->timed_out = a.timed_out;
  ret->wall_ns = a.wall_ns;
  ret->asks_ns = a.asks_ns;
  ret->usage = a.usage;
  ret->left = a.left;
  ret->forked = a.forked;
  ret->ended = a.ended;
  ret->emptied = a.emptied;
  ret->locked = a.locked;
  take_layers(ret, &a, fds, n_fds);
  ret->n_frames = 0;
  tree_clear(&ret->tree);
  *ret_order = a.order;
  return 0;
}

static int ask(struct sandbox *s, const struct keeper_request *request, const int *fds, size_t n, struct err *e) {
  if (n) renew_nice(s); /* a run begins */
  int r = message_send(s->socket, request, sizeof *request, fds, n);
  return r < 0 ? err_set(e, r, "sandbox: cannot be reached: %s", strerror(-r)) : 0;
}

int sandbox_run(struct sandbox *s, const struct sandbox_job *job, struct sandbox_result *ret, struct err *e) {
  struct keeper_request request = {.wall_ns = job->wall_ns,
                                   .patience_ns = job->patience_ns,
                                   .trace = job->trace,
                                   .brief = job->brief,
                                   .fork = job->fork && !job->trace,
                                   .until_ns = job->until_ns,
                                   .in_place = job->in_place};
  const int descriptors[3] = {job->in, job->out, job->error};
  int32_t order;
  int r = ask(s, &request, descriptors, COUNT(descriptors), e);
  if (r == 0) r = hear(s, ret, &order, e);
  return r == 0 && job->trace ? take_stack(s, ret, e) : r;
}

int sandbox_branch(struct sandbox *s, const struct sandbox_branch *b, char ret_why[SANDBOX_WHY], struct err *e) {
  struct keeper_request request = {
      .wall_ns = b->wall_ns, .until_ns = b->until_ns, .in_place = b->in_place, .branch = true};
  const int descriptors[KEEPER_FILES] = {b->in, b->out, b->error, b->child_out, b->child_error};
  struct sandbox_result *result = calloc(1, sizeof *result);
  int32_t order = -1;
  int r = result ? ask(s, &request, descriptors, COUNT(descriptors), e) : err_set(e, -ENOMEM, "out of memory");
  int stop = 0;
  while (r == 0 && (r = hear(s, result, &order, e)) == 0 && order >= 0) {
    if (stop == 0) stop = b->done(b->context, (uint32_t)order, result, e);
    sandbox_result_done(result);
    request.branch = stop == 0;
    r = ask(s, &request, NULL, 0, e);
  }
  if (r == 0) memcpy(ret_why, result->why, SANDBOX_WHY);
  if (r == 0 && result->ended && b->ended) r = b->ended(b->context, result, e);
  sandbox_result_done(result);
  free(result);
  return r < 0 ? r : stop;
}

void sandbox_result_done(struct sandbox_result *r) {
  for (size_t i = 0; i < r->n_layers; i++)
    (void)close(r->layers[i].fd);
  r->n_layers = 0;
}
