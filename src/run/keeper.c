/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper: pid 1 of the sandbox's namespace. It starts the command as often as it is asked to, and when the command
 * has ended, or its time is over, ends everything else in the namespace.
 *
 * It runs murphy's own code in a copy of murphy's memory, and what it starts may be hostile: it takes no input from
 * there but exit statuses.
 */
#include "run/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct keeper {
  const struct sandbox_options *options;
  struct layers layers;
  int socket;
  int last_pid; /* descriptor of ns_last_pid, or -1 */
  int children; /* descriptor of the list of the keeper's children, or -1 */
  struct fork_server server;
  char root[PATH_MAX];
};

static uint64_t now_ns(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- one run ------------------------------------------------------------------------------------------------------ */

/* The same process numbers in each run: programs show them, and name files after them. A server is out of the way. */
static void reset_pids(const struct keeper *k, bool server) {
  const char *last = server ? "32000" : "1";
  if (k->last_pid >= 0) (void)!pwrite(k->last_pid, last, strlen(last), 0);
}

/* In the child. A failure is told through the pipe; if the command starts, the pipe closes by itself. */
static _Noreturn void become_command(const struct keeper *k, const int descriptors[3], int go, int pipe, int server) {
  struct err e = {0};
  char byte;
  if (server >= 0) pipe = fcntl(pipe, F_DUPFD_CLOEXEC, WIRE_SERVER_FD + 1);
  /* Until the keeper has attached, or at once if it will not. */
  (void)!read(go, &byte, 1);
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
  reset_pids(k, server >= 0);
  pid_t pid = fork();
  if (pid == 0) {
    (void)close(ends[1]);
    become_command(k, descriptors, ends[0], ends[3], server);
  }
  int r = pid < 0 ? -errno : trace ? trace_attach(pid) : 0;
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

/* Waits until PID ends or the time is over: true if it has ended. Others that end meanwhile are buried. */
static bool wait_for(struct keeper *k, pid_t pid, uint64_t deadline, struct keeper_answer *a,
                     struct keeper_stack *stack) {
  sigset_t set;
  (void)sigemptyset(&set);
  (void)sigaddset(&set, SIGCHLD);
  for (;;) {
    int status;
    struct rusage usage;
    pid_t got = wait4(-1, &status, WNOHANG | __WALL, &usage);
    if (got > 0 && WIFSTOPPED(status)) {
      trace_stopped(got, status, stack);
      continue;
    }
    if (got == pid) {
      a->status = status;
      a->usage = usage;
      return true;
    }
    if (got > 0 && got == k->server.pid) server_gone(&k->server);
    if (got > 0) continue;
    uint64_t now = now_ns();
    if (deadline && now >= deadline) return false;
    uint64_t left = deadline ? deadline - now : 1000000000u;
    struct timespec t = {.tv_sec = (time_t)(left / 1000000000u), .tv_nsec = (long)(left % 1000000000u)};
    (void)sigtimedwait(&set, NULL, &t);
  }
}

/* What has lost its parent is the keeper's child: is the server the only one? False if the kernel does not say. */
static bool only_server_left(const struct keeper *k) {
  char list[64];
  ssize_t n = k->children < 0 ? -1 : pread(k->children, list, sizeof list - 1, 0);
  if (n <= 0) return false;
  list[n] = '\0';
  char *end = list;
  return strtol(list, &end, 10) == k->server.pid && strspn(end, " \n") == strlen(end);
}

/* Kills all but the keeper and the server, one by one. How many there were. */
static unsigned kill_others(const struct keeper *k) {
  DIR *d = opendir("/proc");
  unsigned n = 0;
  if (!d) return 1;
  for (struct dirent *entry; (entry = readdir(d));) {
    pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
    if (pid <= 1 || pid == k->server.pid) continue;
    (void)kill(pid, SIGKILL);
    n++;
  }
  (void)closedir(d);
  return n;
}

/* Buries one that has ended; if there is none, waits for one if BLOCK. False if there is none to wait for. */
static bool bury(struct keeper *k, bool block) {
  pid_t pid;
  do
    pid = wait4(-1, NULL, (block ? 0 : WNOHANG) | __WALL, NULL);
  while (pid < 0 && errno == EINTR);
  if (pid > 0 && pid == k->server.pid) server_gone(&k->server);
  return pid > 0;
}

/* Everything ends but the server. False if that cannot be done: what forks without end is never seen to be gone. */
static bool end_others(struct keeper *k, unsigned *ret_n) {
  enum { ROUNDS = 100, ROUND_NS = 1000000 };
  sigset_t set;
  (void)sigemptyset(&set);
  (void)sigaddset(&set, SIGCHLD);
  for (unsigned i = 0; i < ROUNDS && k->server.pid; i++) {
    unsigned n = only_server_left(k) ? 0 : kill_others(k);
    if (n == 0) return true;
    if (i == 0) *ret_n = n;
    (void)sigtimedwait(&set, NULL, &(struct timespec){.tv_nsec = ROUND_NS});
    while (bury(k, false)) {
    }
  }
  return false;
}

/* Everything else in the namespace ends; a server stays if that is possible. How many were still there. */
static unsigned end_all(struct keeper *k) {
  unsigned n = 0;
  while (bury(k, false)) {
  }
  if (k->server.pid && end_others(k, &n)) return n;
  (void)kill(-1, SIGKILL);
  bool server = k->server.pid;
  for (n = 0; bury(k, true); n++) {
  }
  return n - (server && n > 0);
}

/* All at once: where there are many, one alone may take long to die. Then the server goes with them. */
static void end_crowd(struct keeper *k) {
  enum { FEW = 32 };
  if (!k->server.pid || kill_others(k) > FEW) (void)kill(-1, SIGKILL);
}

static void watch_command(struct keeper *k, pid_t pid, uint64_t start, const struct keeper_request *request,
                          struct keeper_answer *a, struct keeper_stack *stack) {
  struct patience p = {
      .start = start, .wall_ns = request->wall_ns, .most_ns = request->patience_ns, .but = k->server.pid};
  uint64_t until = request->wall_ns ? start + request->wall_ns : 0;
  bool ended;
  while (!(ended = wait_for(k, pid, until, a, stack)) && (until = patience_until(&p, now_ns()))) {
  }
  if (!ended) {
    a->timed_out = true;
    if (request->trace) trace_interrupted(pid, stack);
    end_crowd(k);
    (void)wait_for(k, pid, 0, a, stack);
  }
  a->wall_ns = now_ns() - start;
  a->left = end_all(k);
}

static size_t collect_layers(const struct keeper *k, struct keeper_answer *a, int fds[SANDBOX_LAYERS]) {
  size_t n = 0;
  for (size_t i = 0; i < k->layers.at.n && layers_changed(&k->layers); i++) {
    int fd = layers_open_changed(&k->layers, i);
    if (fd < 0) continue;
    (void)snprintf(a->at[n], sizeof a->at[n], "%s", k->layers.at.at[i].at);
    fds[n++] = fd;
  }
  a->n_layers = (uint32_t)n;
  return n;
}

static int answer(const struct keeper *k, const struct keeper_request *request, struct keeper_answer *a,
                  const struct keeper_stack *stack) {
  int fds[SANDBOX_LAYERS];
  size_t n = a->code == 0 ? collect_layers(k, a, fds) : 0;
  int r = message_send(k->socket, a, sizeof *a, fds, n);
  for (size_t i = 0; i < n; i++)
    (void)close(fds[i]);
  if (r == 0 && a->code == 0 && request->trace) r = message_send(k->socket, stack, sizeof *stack, NULL, 0);
  return r;
}

/* The command knows its files by their paths in its own root. */
static void shorten_paths(const struct keeper *k, struct keeper_stack *stack) {
  size_t n = strlen(k->root);
  for (uint32_t i = 0; i < stack->n; i++) {
    char *path = stack->frames[i].path;
    if (strncmp(path, k->root, n) == 0 && path[n] == '/') memmove(path, path + n, strlen(path + n) + 1);
  }
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
  if (r == 0 && left_traces(k, descriptors, before)) {
    server_refuse(&k->server, "constructors of libraries write");
    r = -ECANCELED;
  }
  return r;
}

static void end_server(struct keeper *k) {
  (void)kill(-1, SIGKILL);
  while (bury(k, true)) {
  }
  if (k->server.socket >= 0) (void)close(k->server.socket);
  k->server.socket = -1;
}

/* A fork of the server, which is started if need be. */
static int start_fork(struct keeper *k, const int descriptors[3], pid_t *ret) {
  int r = k->server.pid ? 0 : start_server(k, descriptors);
  if (r == 0) {
    reset_pids(k, false);
    r = server_fork(&k->server, descriptors, ret);
  }
  if (r == 0) return 0;
  end_server(k);
  return r;
}

/* -EAGAIN: there is no server, but the attempt has left traces; whoever asks again gets what exec does. */
static int start(struct keeper *k, const struct keeper_request *request, const int descriptors[3], pid_t *ret,
                 struct keeper_answer *a) {
  bool fork = request->fork && !k->server.refused;
  if (fork && start_fork(k, descriptors, ret) == 0) {
    a->forked = true;
    return 0;
  }
  const char *why = k->server.refused ? k->server.why : "the fork server was lost";
  if (request->fork) (void)snprintf(a->why, sizeof a->why, "%s", why);
  return fork ? -EAGAIN : start_command(k, descriptors, request->trace, -1, ret, a);
}

static int serve(struct keeper *k, const struct keeper_request *request, const int descriptors[3]) {
  struct keeper_answer a = {0};
  struct keeper_stack stack = {0};
  struct err e = {0};
  a.code = layers_renew(&k->layers, k->server.pid != 0, &e);
  pid_t pid = -1;
  uint64_t started = now_ns();
  if (a.code < 0)
    memcpy(a.text, e.text, sizeof a.text);
  else if ((a.code = start(k, request, descriptors, &pid, &a)) < 0)
    (void)end_all(k);
  else
    watch_command(k, pid, a.forked ? now_ns() : started, request, &a, &stack);
  shorten_paths(k, &stack);
  return answer(k, request, &a, &stack);
}

/* --- the keeper --------------------------------------------------------------------------------------------------- */

static void bring_loopback_up(void) {
  struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  (void)ioctl(fd, SIOCSIFFLAGS, &request);
  (void)close(fd);
}

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

static int prepare(struct keeper *k, struct err *e) {
  sigset_t set;
  (void)sigfillset(&set);
  (void)sigprocmask(SIG_SETMASK, &set, NULL);
  bring_loopback_up();
  int r = layers_mount(&k->layers, k->options, e);
  if (r < 0) return r;
  /* The keeper's own, of its namespace: stacks are read through it. */
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
    return err_set(e, -errno, "sandbox: cannot mount /proc: %m");
  limit_pids(k->options->limits.processes);
  k->last_pid = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
  k->children = open("/proc/1/task/1/children", O_RDONLY | O_CLOEXEC);
  int n = snprintf(k->root, sizeof k->root, "%s/root", k->options->folder);
  return n < 0 || (size_t)n >= sizeof k->root ? err_set(e, -ENAMETOOLONG, "sandbox: path too long") : 0;
}

_Noreturn void keeper_main(const struct sandbox_options *options, int socket) {
  struct keeper k = {.options = options, .socket = socket, .last_pid = -1, .children = -1, .server = {.socket = -1}};
  struct err e = {0};
  struct keeper_answer ready = {.code = prepare(&k, &e)};
  memcpy(ready.text, e.text, sizeof ready.text);
  if (message_send(socket, &ready, sizeof ready, NULL, 0) < 0 || ready.code < 0) _exit(1);
  for (;;) {
    struct keeper_request request;
    int fds[3];
    size_t n_fds = 0;
    if (message_receive(socket, &request, sizeof request, fds, COUNT(fds), &n_fds) <= 0) _exit(0);
    if (n_fds != COUNT(fds)) _exit(1);
    if (serve(&k, &request, fds) < 0) _exit(1);
    for (size_t i = 0; i < n_fds; i++)
      (void)close(fds[i]);
  }
}
