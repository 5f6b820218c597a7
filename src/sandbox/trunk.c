/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branch mode, as the keeper sees it: a trunk, and one child after another.
 *
 * While a child runs the trunk waits, so that nobody changes the files that it sees; both processors are used by two
 * sandboxes. The child's overlays lie over the trunk's, in the same places, and are taken off when it has ended: what
 * the trunk stands on was there all the time.
 */
#include "sandbox/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BORN_MS = 2000, LOOK_MS = 20 };
/* The trunk stops often to look at itself. */
enum { PATIENCE = 4 };

struct trunk {
  struct keeper *k;
  const struct keeper_request *request;
  const int *files;
  int socket;      /* of the child that is being made */
  uint64_t waited; /* of its time, for children */
  bool ended;      /* by itself */
};

static int say(int socket, enum wire_branch_what what, int64_t value, const int *fds, size_t n) {
  struct wire_branch_message m = {.what = (uint32_t)what, .value = value};
  return message_send(socket, &m, sizeof m, fds, n);
}

/* --- who speaks --------------------------------------------------------------------------------------------------- */

/* Any process of the command's can connect. */
static bool is_from(int socket, pid_t pid) {
  struct ucred who;
  socklen_t n = sizeof who;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 && who.pid == pid;
}

/* A number that somebody says a child of the keeper's has. */
static bool is_child(const struct keeper *k, int64_t pid) {
  siginfo_t info;
  if (pid <= 1 || pid > INT32_MAX || pid == k->server.pid || pid == k->trunk) return false;
  return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

/* What the other side starts has numbers from NEXT on. */
static int let_go(const struct trunk *t, int socket, unsigned next) {
  keeper_next_pid(t->k, next);
  return say(socket, WIRE_BRANCH_GO, 0, NULL, 0);
}

/* A child that must not begin before its number is taken says so on a connection of its own. */
static int greet(const struct trunk *t, pid_t child, unsigned next) {
  struct pollfd p = {.fd = t->k->branches, .events = POLLIN};
  struct wire_branch_message m;
  for (;;) {
    if (poll(&p, 1, BORN_MS) <= 0) return -ETIMEDOUT;
    int socket = accept4(t->k->branches, NULL, NULL, SOCK_CLOEXEC);
    if (socket < 0) return -errno;
    bool right = is_from(socket, child);
    int r = right ? server_receive(socket, &m, sizeof m, BORN_MS) : 0;
    if (right && r == 0) r = m.what == WIRE_BRANCH_HELLO ? let_go(t, socket, next) : -EPROTO;
    (void)close(socket);
    if (right) return r;
  }
}

/* --- standard input and output ------------------------------------------------------------------------------------ */

/* The same file at the same place, but apart from it: what a child does with its flags and locks is its own. */
static int open_again(int fd, int how) {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  off_t at = lseek(fd, 0, SEEK_CUR);
  int copy = open(path, how | O_CLOEXEC);
  if (copy < 0) return -errno;
  if (at >= 0 && lseek(copy, at, SEEK_SET) != at) {
    (void)close(copy);
    return -EIO;
  }
  return copy;
}

/* TO has what was written to FROM, its owner and its mode, and is at the same place in it. */
static int copy_output(int from, int to) {
  struct stat st, own;
  off_t at = lseek(from, 0, SEEK_CUR), done = 0;
  if (at < 0 || fstat(from, &st) < 0 || fstat(to, &own) < 0 || ftruncate(to, 0) < 0 || lseek(to, 0, SEEK_SET) < 0)
    return -errno;
  bool same = own.st_uid == st.st_uid && own.st_gid == st.st_gid;
  if (!same && fchown(to, st.st_uid, st.st_gid) < 0) return -errno;
  if (fchmod(to, st.st_mode & 07777) < 0) return -errno;
  while (done < st.st_size) {
    ssize_t n = sendfile(to, from, &done, (size_t)(st.st_size - done));
    if (n <= 0) return n < 0 ? -errno : -EIO;
  }
  return lseek(to, at, SEEK_SET) < 0 ? -errno : 0;
}

/* --- one child ---------------------------------------------------------------------------------------------------- */

static int tell_child(const struct trunk *t, pid_t pid, uint32_t order) {
  static struct keeper_stack stack;
  struct keeper_answer a;
  memset(&a, 0, ANSWER_HEAD);
  a.order = (int32_t)order;
  a.forked = true;
  stack_clear(&stack);
  uint64_t start = keeper_now();
  keeper_watch(t->k, pid, start, t->request, &a, &stack);
  struct err e = {0};
  int r = keeper_answer_with(t->k, t->request, &a, &stack);
  /*
   * murphy looks at what the child has left behind, in the folders below the overlays. Meanwhile these go: the kernel
   * lets whoever takes one off wait until no processor is looking at it.
   */
  int uncovered = layers_uncover(&t->k->layers, &e);
  struct keeper_request go;
  size_t n = 0;
  if (r == 0 && message_receive(t->k->socket, &go, sizeof go, NULL, 0, &n) <= 0) _exit(0);
  if (r == 0) r = uncovered;
  return r < 0 ? r : go.branch ? 0 : -ECANCELED;
}

/* Its world is there: so are its standard streams, and a list of the numbers of files. */
static int say_ready(const struct trunk *t, const int files[3], bool others) {
  int all[4] = {files[0], files[1], files[2], numbers_file(&t->k->layers.numbers)};
  if (all[3] < -1) return all[3];
  int r = say(t->socket, WIRE_BRANCH_READY, others, all, all[3] < 0 ? 3 : 4);
  if (all[3] >= 0) (void)close(all[3]);
  return r;
}

/* The child is born and lives; 0 or a negative errno. Its own children have the numbers that the trunk's would have. */
static int raise_child(struct trunk *t, uint32_t order, const int files[3]) {
  struct wire_branch_message born;
  unsigned last = keeper_last_pid(t->k);
  bool others = last > SANDBOX_PID; /* the trunk has started some */
  keeper_next_pid(t->k, SANDBOX_PID);
  int r = say_ready(t, files, others);
  if (r == 0) r = server_receive(t->socket, &born, sizeof born, BORN_MS);
  if (r < 0) return r;
  if (born.what != WIRE_BRANCH_BORN || !is_child(t->k, born.value)) return -EPROTO;
  /* A child with another number ends by itself. */
  if (others && born.value == SANDBOX_PID) r = greet(t, (pid_t)born.value, last + 1);
  if (r == 0) r = tell_child(t, (pid_t)born.value, order);
  keeper_next_pid(t->k, last + 1);
  return r;
}

/* Its standard streams. Who calls closes those that are there. */
static int make_streams(const struct trunk *t, int files[3]) {
  int r = 0;
  for (int i = 1; i < 3 && r == 0; i++)
    r = copy_output(t->files[i], t->files[i + 2]);
  for (int i = 0; i < 3 && r == 0; i++) {
    files[i] = open_again(t->files[i ? i + 2 : 0], i ? O_RDWR : O_RDONLY);
    if (files[i] < 0) r = files[i];
  }
  return r;
}

/* Everything that a child would share with the trunk, or that its end would end, as the keeper sees it. */
static enum wire_refusal make_world(struct trunk *t, int64_t state, int files[3]) {
  enum wire_refusal why = WIRE_FORK_WORLD;
  struct err e = {0};
  if (!keeper_is_alone(t->k)) return WIRE_FORK_CHILDREN;
  if (ipc_used(t->k) || network_used(t->k)) return WIRE_FORK_NAMED;
  if (settings_changed(t->k)) return WIRE_FORK_APART;
  if (make_streams(t, files) < 0) return why;
  return layers_branch(&t->k->layers, state, &why, &e) == 0 ? WIRE_FORK_GOOD : why;
}

/* -ESTALE: the trunk cannot go on, since a child has changed its world. */
static int branch(struct trunk *t, const struct wire_branch_message *ask) {
  struct err e = {0};
  int files[3] = {-1, -1, -1};
  enum wire_refusal why = make_world(t, ask->value, files);
  bool ready = why == WIRE_FORK_GOOD;
  int r = ready ? raise_child(t, ask->order, files) : say(t->socket, WIRE_BRANCH_NOT, (int64_t)why, NULL, 0);
  int after = layers_unbranch(&t->k->layers, ready, &e);
  if (after == 0 && ready && (ipc_used(t->k) || network_used(t->k))) after = -ESTALE;
  if (r == 0) r = after;
  for (int i = 0; i < 3; i++)
    if (files[i] >= 0) (void)close(files[i]);
  return r < 0 || !ready ? r : say(t->socket, WIRE_BRANCH_DONE, 0, NULL, 0);
}

/* --- the trunk ---------------------------------------------------------------------------------------------------- */

/* The trunk begins, or asks for a child, which is made. */
static int answer(struct trunk *t) {
  struct wire_branch_message m;
  int r = server_receive(t->socket, &m, sizeof m, BORN_MS);
  if (r < 0) return r;
  /* What it starts itself has the numbers that it would have. */
  if (m.what == WIRE_BRANCH_HELLO) return let_go(t, t->socket, SANDBOX_PID + 1);
  return m.what == WIRE_BRANCH_ASK && m.order <= INT32_MAX ? branch(t, &m) : -EPROTO;
}

static int hear(struct trunk *t) {
  t->socket = accept4(t->k->branches, NULL, NULL, SOCK_CLOEXEC);
  if (t->socket < 0) return errno == EAGAIN || errno == EINTR ? 0 : -errno;
  int r = is_from(t->socket, t->k->trunk) ? answer(t) : 0;
  (void)close(t->socket);
  return r;
}

/* A child may have killed it. */
static void see_end(struct trunk *t) {
  while (keeper_bury(t->k, false)) {
  }
  int status = t->k->trunk_status;
  t->ended = !t->k->trunk && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Until the trunk has ended, or its time is over. */
static void follow(struct trunk *t) {
  uint64_t start = keeper_now(), most = t->request->wall_ns * PATIENCE;
  /* The kernel tells its end there, if it is one that does; others are looked at. */
  int end = (int)syscall(SYS_pidfd_open, t->k->trunk, 0);
  struct pollfd p[] = {{.fd = t->k->branches, .events = POLLIN}, {.fd = end, .events = POLLIN}};
  int r = 0;
  uint64_t until = t->request->until_ns;
  while (r == 0 && t->k->trunk && (!most || keeper_now() - start < most + t->waited) &&
         (!until || keeper_now() < until)) {
    if (poll(p, COUNT(p), LOOK_MS) <= 0 || !p[0].revents) {
      see_end(t);
      continue;
    }
    uint64_t asked = keeper_now();
    r = hear(t);
    t->waited += keeper_now() - asked;
  }
  if (end >= 0) (void)close(end);
}

static int listen_for_trunks(struct keeper *k) {
  struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = WIRE_BRANCH_NAME};
  if (k->branches >= 0) return 0;
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -errno;
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof WIRE_BRANCH_NAME - 1);
  if (bind(fd, (const struct sockaddr *)&name, size) < 0 || listen(fd, 8) < 0) {
    int code = -errno;
    (void)close(fd);
    return code;
  }
  k->branches = fd;
  return 0;
}

static int start(struct trunk *t, const struct keeper_request *request, struct keeper_answer *a) {
  struct err e = {0};
  int r = keeper_renew(t->k, &e);
  if (r < 0) {
    memcpy(a->text, e.text, sizeof a->text);
    return r;
  }
  t->request = request;
  pid_t pid = 0;
  if (t->k->server.refused || listen_for_trunks(t->k) < 0 || keeper_fork(t->k, t->files, true, &pid) < 0) return 0;
  t->k->trunk = pid;
  return 0;
}

int trunk_serve(struct keeper *k, const struct keeper_request *request, const int descriptors[KEEPER_FILES]) {
  struct trunk t = {.k = k, .files = descriptors, .socket = -1};
  struct keeper_answer a = {.order = -1};
  a.code = start(&t, request, &a);
  if (a.code == 0 && k->trunk) follow(&t);
  if (k->server.refused) (void)snprintf(a.why, sizeof a.why, "%s", k->server.why);
  if (k->trunk) (void)kill(k->trunk, SIGKILL);
  k->trunk = 0;
  a.left = keeper_end_others(k);
  layers_drop_spares(&k->layers);
  keeper_free_input(k, descriptors[0], true);
  a.ended = t.ended;
  a.status = k->trunk_status;
  return keeper_answer_with(k, request, &a, &(struct keeper_stack){0});
}
