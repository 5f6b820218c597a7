/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper: pid 1 of the sandbox's namespace. It starts the command as often as it is asked to, and when the command
 * has ended, or its time is over, ends everything else in the namespace.
 *
 * It runs murphy's own code in a copy of murphy's memory, and what it starts may be hostile: it takes no input from
 * there but exit statuses.
 */
#include "sandbox/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

uint64_t keeper_now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- one run ------------------------------------------------------------------------------------------------------ */

void keeper_next_pid(const struct keeper *k, unsigned pid) {
  char last[16];
  int n = snprintf(last, sizeof last, "%u", pid - 1);
  if (k->last_pid >= 0) (void)!pwrite(k->last_pid, last, (size_t)n, 0);
}

/* In the child. A failure is told through the pipe; if the command starts, the pipe closes by itself. */
static _Noreturn void become_command(const struct keeper *k, const int descriptors[3], int go, int pipe, int server) {
  struct err e = {0};
  char byte;
  if (server >= 0) pipe = fcntl(pipe, F_DUPFD_CLOEXEC, WIRE_SERVER_FD + 1);
  /* Until the keeper has attached, or at once if it will not. */
  (void)!read(go, &byte, 1);
  if (k->options->processor) processors_use(&k->processors);
  int r = jail_enter(k->options, k->root, descriptors, server, &e);
  struct keeper_answer a = {.code = r};
  memcpy(a.text, e.text, sizeof a.text);
  (void)!write(pipe, &a, offsetof(struct keeper_answer, at));
  _exit(127);
}

/* Waits for the pipe's end: nothing if the command has started. */
static int hear_start(int pipe, struct keeper_answer *a) {
  ssize_t n;
  do
    n = read(pipe, a, offsetof(struct keeper_answer, at));
  while (n < 0 && errno == EINTR);
  return n == 0 ? 0 : n < 0 || a->code >= 0 ? -EIO : a->code;
}

static void close_pipes(const int ends[4]) {
  for (int i = 0; i < 4; i++)
    if (ends[i] >= 0) (void)close(ends[i]);
}

static int start_command(const struct keeper *k, const int descriptors[3], bool trace, int server, pid_t *ret,
                         struct keeper_answer *a) {
  int ends[4] = {-1, -1, -1, -1}; /* go: 0 and 1; failure: 2 and 3 */
  if (pipe2(ends, O_CLOEXEC) < 0 || pipe2(ends + 2, O_CLOEXEC) < 0) {
    int code = -errno;
    close_pipes(ends);
    return code;
  }
  keeper_next_pid(k, server >= 0 ? k->most_pid - 1 : SANDBOX_PID);
  pid_t pid = fork();
  if (pid == 0) {
    (void)close(ends[1]);
    become_command(k, descriptors, ends[0], ends[3], server);
  }
  int r = pid < 0 ? -errno : 0, traced = pid > 0 && trace ? trace_attach(pid) : 0;
  if (traced < 0) trace_refused(traced, a);
  (void)close(ends[1]);
  (void)close(ends[3]);
  ends[1] = ends[3] = -1;
  if (pid > 0) {
    *ret = pid;
    int heard = hear_start(ends[2], a);
    if (r == 0) r = heard;
  }
  close_pipes(ends);
  return r;
}

void keeper_watch(struct keeper *k, pid_t pid, uint64_t start, const struct keeper_request *request,
                  struct keeper_answer *a, struct keeper_stack *stack) {
  struct patience p = {.start = start,
                       .wall_ns = request->wall_ns,
                       .most_ns = request->patience_ns,
                       .brief = request->brief,
                       .but = {k->server.pid, k->trunk},
                       .end = request->until_ns};
  uint64_t until = patience_first(&p);
  bool ended;
  while (!(ended = keeper_wait(k, pid, until, a, stack)) && (until = patience_until(&p, keeper_now()))) {
  }
  if (!ended) {
    a->timed_out = true;
    a->asks_ns = p.asks;
    if (request->trace) trace_interrupted(trace_stuck(pid), stack);
    keeper_end_crowd(k);
    (void)keeper_wait(k, pid, 0, a, stack);
  }
  a->wall_ns = keeper_now() - start;
  a->left = keeper_end_others(k);
}

static size_t collect_layers(struct keeper *k, struct keeper_answer *a, int fds[SANDBOX_LAYERS]) {
  size_t n = 0;
  for (size_t i = 0; i < k->layers.at.n; i++) {
    int fd = layers_open_changed(&k->layers, i);
    if (fd < 0) continue;
    (void)snprintf(a->at[n], sizeof a->at[n], "%s", k->layers.at.at[i].at);
    fds[n++] = fd;
  }
  a->n_layers = (uint32_t)n;
  return n;
}

int keeper_answer_with(struct keeper *k, const struct keeper_request *request, struct keeper_answer *a,
                       const struct keeper_stack *stack) {
  int fds[SANDBOX_LAYERS] = {-1};
  size_t n = a->code == 0 ? collect_layers(k, a, fds) : 0;
  a->emptied = layers_emptied(&k->layers);
  k->layers.settled = a->code == 0;
  int r = message_send(k->socket, a, answer_size(a), fds, n);
  for (size_t i = 0; i < n; i++)
    (void)close(fds[i]);
  if (r == 0 && a->code == 0 && request->trace) r = message_send(k->socket, stack, sizeof *stack, NULL, 0);
  return r;
}

/* The command knows its files by their paths in its own root. */
static void shorten_path(const struct keeper *k, char *path) {
  size_t n = strlen(k->root);
  if (strncmp(path, k->root, n) == 0 && path[n] == '/') memmove(path, path + n, strlen(path + n) + 1);
}

static void shorten_paths(const struct keeper *k, struct keeper_stack *stack) {
  for (uint32_t i = 0; i < stack->n; i++)
    shorten_path(k, stack->frames[i].path);
  for (size_t i = 0; i < stack->tree.n_programs; i++)
    shorten_path(k, stack->tree.programs[i]);
}

/* --- the fork server ---------------------------------------------------------------------------------------------- */

/* Where the standard streams are; what cannot say so does not change. */
static void tell_positions(const int descriptors[3], off_t ret[3]) {
  for (int i = 0; i < 3; i++)
    ret[i] = lseek(descriptors[i], 0, SEEK_CUR);
}

/* Would a child miss something that constructors have left behind, since each run begins anew? */
static bool left_traces(const struct keeper *k, const int descriptors[3], const off_t before[3]) {
  off_t after[3];
  tell_positions(descriptors, after);
  return memcmp(before, after, sizeof after) != 0 || layers_changed(&k->layers);
}

static int start_server(struct keeper *k, const int descriptors[3]) {
  int sockets[2];
  off_t before[3];
  struct keeper_answer a = {0};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0) return -errno;
  tell_positions(descriptors, before);
  k->server.socket = sockets[0];
  int r = start_command(k, descriptors, false, sockets[1], &k->server.pid, &a);
  (void)close(sockets[1]);
  if (r < 0) server_refuse(&k->server, "the command cannot be started with a socket");
  if (r == 0) r = server_hello(&k->server);
  if (r == 0) processors_keep_to(k->server.pid, k->options->processor);
  if (r == 0) settings_of(k->server.pid, &k->servers);
  if (r == 0 && left_traces(k, descriptors, before)) {
    server_refuse(&k->server, "constructors of libraries write");
    r = -ECANCELED;
  }
  return r;
}

static void end_server(struct keeper *k) {
  (void)kill(-1, SIGKILL);
  while (keeper_bury(k, true)) {
  }
  if (k->server.socket >= 0) (void)close(k->server.socket);
  k->server.socket = -1;
}

int keeper_renew(struct keeper *k, struct err *e) {
  int r = 0;
  bool objects = ipc_used(k), connections = network_used(k), server = settings_renew(k);
  /* The server would stay where they are. */
  if ((objects || connections || server) && k->server.pid) end_server(k);
  if (objects) r = ipc_renew(k, e);
  if (r == 0 && connections) r = network_renew(k, e);
  return r < 0 ? r : layers_renew(&k->layers, k->server.pid != 0, e);
}

int keeper_fork(struct keeper *k, const int descriptors[3], bool trunk, pid_t *ret) {
  int r = k->server.pid ? 0 : start_server(k, descriptors);
  if (r == 0) {
    keeper_next_pid(k, trunk ? k->most_pid - 2 : SANDBOX_PID);
    r = server_fork(&k->server, descriptors, trunk, k->options->processor != 0, ret);
  }
  if (r == 0) return 0;
  end_server(k);
  return r;
}

void keeper_free_input(struct keeper *k, int fd, bool trunk) {
  if (trunk && k->server.pid && server_let_go(&k->server) < 0) end_server(k);
  (void)dup3(k->nothing, fd, O_CLOEXEC);
}

/* -EAGAIN: there is no server, but the attempt has left traces; whoever asks again gets what exec does. */
static int start(struct keeper *k, const struct keeper_request *request, const int descriptors[3], pid_t *ret,
                 struct keeper_answer *a) {
  bool fork = request->fork && !k->server.refused;
  if (fork && keeper_fork(k, descriptors, false, ret) == 0) {
    a->forked = true;
    return 0;
  }
  const char *why = k->server.refused ? k->server.why : "the fork server was lost";
  if (request->fork) (void)snprintf(a->why, sizeof a->why, "%s", why);
  if (fork) return -EAGAIN;
  return start_command(k, descriptors, request->trace, -1, ret, a);
}

static int serve(struct keeper *k, const struct keeper_request *request, const int descriptors[3]) {
  static struct keeper_stack stack;
  struct keeper_answer a;
  memset(&a, 0, ANSWER_HEAD);
  stack_clear(&stack);
  struct err e = {0};
  a.code = keeper_renew(k, &e);
  pid_t pid = -1;
  uint64_t started = keeper_now();
  if (a.code < 0)
    memcpy(a.text, e.text, sizeof a.text);
  else if ((a.code = start(k, request, descriptors, &pid, &a)) < 0)
    (void)keeper_end_others(k);
  else
    keeper_watch(k, pid, a.forked ? keeper_now() : started, request, &a, &stack);
  a.locked = a.code == 0 && !a.forked && input_locked(descriptors[0]);
  keeper_free_input(k, descriptors[0], false);
  shorten_paths(k, &stack);
  return keeper_answer_with(k, request, &a, &stack);
}

/* --- the keeper --------------------------------------------------------------------------------------------------- */

/*
 * RLIMIT_NPROC does not hold for root. Since Linux 6.14 a pid namespace has a pid_max of its own; before that, the file
 * is that of the whole machine, and must be left alone.
 */
static void limit_pids(uint64_t processes) {
  struct utsname name;
  unsigned major = 0, minor = 0;
  if (!processes || uname(&name) < 0 || sscanf(name.release, "%u.%u", &major, &minor) != 2) return;
  if (major < 6 || (major == 6 && minor < 14)) return;
  char text[24];
  int n = snprintf(text, sizeof text, "%llu", (unsigned long long)processes);
  int fd = open("/proc/sys/kernel/pid_max", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  (void)!write(fd, text, (size_t)n);
  (void)close(fd);
}

/* One more than the largest number that is used here. */
static unsigned find_most_pid(void) {
  enum { ENOUGH = 32768 };
  char text[24] = {0};
  int fd = open("/proc/sys/kernel/pid_max", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ENOUGH;
  ssize_t n = read(fd, text, sizeof text - 1);
  (void)close(fd);
  unsigned long most = n > 0 ? strtoul(text, NULL, 10) : ENOUGH;
  return most < ENOUGH ? (unsigned)most : ENOUGH;
}

static int prepare(struct keeper *k, struct err *e) {
  sigset_t set;
  (void)sigfillset(&set);
  (void)sigprocmask(SIG_SETMASK, &set, NULL);
  k->processors = processors_now();
  processors_keep_to(0, k->options->processor);
  input_watch(k);
  int r = layers_mount(&k->layers, k->options, e);
  if (r == 0) r = ipc_watch(k, e);
  if (r < 0) return r;
  /* The keeper's own, of its namespace: stacks are read through it. */
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
    return err_set(e, -errno, "sandbox: cannot mount /proc: %m");
  network_watch(k);
  limit_pids(k->options->limits.processes);
  k->most_pid = find_most_pid();
  k->last_pid = open("/proc/sys/kernel/ns_last_pid", O_RDWR | O_CLOEXEC);
  k->children = open("/proc/1/task/1/children", O_RDONLY | O_CLOEXEC);
  int n = snprintf(k->root, sizeof k->root, "%s/world", k->options->folder);
  if (n < 0 || (size_t)n >= sizeof k->root) return err_set(e, -ENAMETOOLONG, "sandbox: path too long");
  settings_watch(k);
  layers_ready(&k->layers);
  return 0;
}

/* One run, or all that branch off from one. */
static int answer(struct keeper *k, const struct keeper_request *request, const int fds[KEEPER_FILES]) {
  struct err e = {0};
  int r = input_replace(k, fds[0], &e);
  if (r == 0) return request->branch ? trunk_serve(k, request, fds) : serve(k, request, fds);
  struct keeper_answer a = {.code = r, .order = -1};
  memcpy(a.text, e.text, sizeof a.text);
  return keeper_answer_with(k, request, &a, NULL);
}

_Noreturn void keeper_main(const struct sandbox_options *options, int socket) {
  struct keeper k = {.options = options,
                     .socket = socket,
                     .last_pid = -1,
                     .children = -1,
                     .branches = -1,
                     .queues = -1,
                     .connections = -1,
                     .network = -1,
                     .oom = -1,
                     .terminals = -1,
                     .nothing = -1,
                     .input = -1,
                     .server = {.socket = -1}};
  struct err e = {0};
  struct keeper_answer ready = {.code = prepare(&k, &e)};
  memcpy(ready.text, e.text, sizeof ready.text);
  if (ready.code == 0) layers_note(&k.layers, ready.text, sizeof ready.text);
  if (message_send(socket, &ready, sizeof ready, NULL, 0) < 0 || ready.code < 0) _exit(1);
  for (;;) {
    struct keeper_request request;
    int fds[KEEPER_FILES] = {-1, -1, -1, -1, -1};
    size_t n_fds = 0;
    if (message_receive(socket, &request, sizeof request, fds, COUNT(fds), &n_fds) <= 0) _exit(0);
    if (n_fds != (request.branch ? KEEPER_FILES : 3)) _exit(1);
    layers_allow(&k.layers, &request.in_place);
    if (answer(&k, &request, fds) < 0) _exit(1);
    for (size_t i = 0; i < n_fds; i++)
      (void)close(fds[i]);
  }
}
