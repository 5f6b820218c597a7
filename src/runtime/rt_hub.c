/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks a hub, which sees all processes, whether a call fails.
 *
 * Each thread has a connection of its own, so that there is no lock; a fork's child makes new ones and closes those it
 * has inherited. The descriptor is high and close-on-exec, and before each use it is looked at whether it still is the
 * socket that was opened: programs close all descriptors, and then it is made anew. Only raw system calls are made.
 * Whatever goes wrong or takes longer than the trigger's patience, the call goes on, and for a second nobody asks this
 * hub.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "ask.h"
#include "count.h"
#include "process.h"
#include "stack.h"
#include "system.h"
#include "words.h"

#define CONNECTIONS 1024
#define HIGHEST 4096 /* a table of descriptors that reaches further costs the process memory */
#define BELOW 64
#define REST 1000000000ull /* nanoseconds without a question after one that was not answered */
#define MS 1000000ull
#define MAX_WAITS 1000 /* a wait that signals interrupt again and again ends, even without a clock */
#define EINTR 4
#define EAGAIN 11
#define ESRCH 3
#define EINPROGRESS 115
#define ETIMEDOUT 110
#define EPROTO 71
#define EPIPE 32
#define ENOSPC 28

/* A thread's way to a hub. */
struct connection {
  uint64_t owner;   /* process << 32 | tid; 0: free */
  uint32_t trigger; /* the first one of this hub */
  uint32_t waiting; /* a question was sent, and its answer is not here */
  int32_t fd;       /* -1: none */
  uint32_t number;
  uint64_t inode;
};

static struct connection *connections;
static uint64_t *rest_until; /* by the first trigger of a hub: of rt_time_fine */
static uint64_t full_until;  /* there was no place for another connection: nobody looks for one before */
static uint64_t drawn;       /* by this image of a program, and only by it */

/* The kernel's random numbers; where there are none, what differs between programs. */
static uint64_t draw(void) {
  uint64_t n = 0;
  long r = rt_system(SYS_getrandom, (long)&n, sizeof n, 1 /* do not wait */, 0, 0, 0);
  if (r == (long)sizeof n) return n;
  return rt_time_fine() ^ (uint64_t)&n << 16 ^ (uint64_t)rt_system(SYS_getpid, 0, 0, 0, 0, 0, 0) << 40;
}

void rt_hub_start(void) {
  uint32_t n = rt.plan->triggers.n;
  size_t size = CONNECTIONS * sizeof *connections;
  for (uint32_t i = 0; i < n; i++)
    if (rt_array(triggers, struct wire_trigger)[i].kind == WIRE_TRIGGER_HUB && !connections)
      connections = rt_map(size + n * sizeof *rest_until);
  for (uint32_t i = 0; connections && i < CONNECTIONS; i++)
    connections[i].fd = -1;
  rest_until = connections ? (uint64_t *)((char *)connections + size) : NULL;
  if (connections) drawn = draw();
}

/* A fork's child has what its parent has drawn, but another number. */
static uint64_t identity(void) { return wire_draw(drawn, rt_process()); }

static const struct wire_trigger *trigger_at(uint32_t i) { return &rt_array(triggers, struct wire_trigger)[i]; }

/* The first trigger of the same hub: they share connections. */
static uint32_t first_of(uint32_t trigger) {
  const struct wire_trigger *t = trigger_at(trigger);
  for (uint32_t i = 0; i < trigger; i++)
    if (trigger_at(i)->kind == WIRE_TRIGGER_HUB && trigger_at(i)->file == t->file) return i;
  return trigger;
}

/* --- descriptors -------------------------------------------------------------------------------------------------- */

static uint64_t inode_of(int fd) {
  struct stat s = {0};
  if (fd < 0 || rt_system(SYS_fstat, fd, (long)&s, 0, 0, 0, 0) < 0 || (s.st_mode & S_IFMT) != S_IFSOCK) return 0;
  return s.st_ino;
}

static bool is_open(const struct connection *n) { return n->fd >= 0 && inode_of(n->fd) == n->inode; }

/* What the program has put in its place is left alone. */
static void drop(struct connection *n) {
  if (is_open(n)) (void)rt_system(SYS_close, n->fd, 0, 0, 0, 0, 0);
  n->fd = -1;
  n->waiting = 0;
}

/* The same socket where programs do not look for descriptors, if there is such a place. */
static int moved_up(int fd) {
  struct rlimit limit = {0};
  long to = -1;
  if (rt_system(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit, 0, 0) < 0) limit.rlim_cur = 1024;
  long top = limit.rlim_cur < HIGHEST ? (long)limit.rlim_cur : HIGHEST;
  for (long from = top > 2 * BELOW ? top - BELOW : top / 2; to < 0 && from > 2; from = from / 2)
    to = rt_system(SYS_fcntl, fd, F_DUPFD_CLOEXEC, from, 0, 0, 0);
  if (to < 0) return fd;
  (void)rt_system(SYS_close, fd, 0, 0, 0, 0, 0);
  return (int)to;
}

/* --- time --------------------------------------------------------------------------------------------------------- */

struct deadline {
  uint64_t at; /* of rt_time_fine: a limit may be shorter than a tick of the other */
  uint32_t patience, waits;
};

static struct deadline deadline_in(uint32_t patience) {
  return (struct deadline){.at = rt_time_fine() + patience * MS, .patience = patience};
}

/* 0 when FD is ready for EVENTS; -ETIMEDOUT. */
static int wait_for(int fd, int events, struct deadline *d) {
  for (; d->waits < MAX_WAITS; d->waits++) {
    uint64_t now = rt_time_fine(), left = now == 0 ? d->patience * MS : now < d->at ? d->at - now : 0;
    struct pollfd p = {.fd = fd, .events = (short)events};
    struct timespec t = {.tv_sec = (long)(left / 1000000000u), .tv_nsec = (long)(left % 1000000000u)};
    long r = rt_system(SYS_ppoll, (long)&p, 1, (long)&t, 0, 0, 0);
    if (r > 0) return 0;
    if (r == 0) return -ETIMEDOUT;
    if (r != -EINTR) return (int)r;
  }
  return -ETIMEDOUT;
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

static int send_all(int fd, const void *from, size_t size, struct deadline *d) {
  for (size_t done = 0; done < size;) {
    long r = rt_system(SYS_sendto, fd, (long)((const char *)from + done), (long)(size - done),
                       MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
    if (r > 0) done += (size_t)r;
    if (r == -EAGAIN || r == -EINTR) r = wait_for(fd, POLLOUT, d);
    if (r < 0) return (int)r;
  }
  return 0;
}

static int receive_all(int fd, void *to, size_t size, struct deadline *d) {
  for (size_t done = 0; done < size;) {
    int w = wait_for(fd, POLLIN, d);
    if (w < 0) return w;
    long r = rt_system(SYS_recvfrom, fd, (long)((char *)to + done), (long)(size - done), MSG_DONTWAIT, 0, 0);
    if (r == 0) return -EPIPE;
    if (r < 0 && r != -EAGAIN && r != -EINTR) return (int)r;
    if (r > 0) done += (size_t)r;
  }
  return 0;
}

/* 0 or 1 as the hub says. */
static int answer_to(struct connection *n, struct deadline *d) {
  struct wire_hub_answer a = {0};
  int r = receive_all(n->fd, &a, sizeof a, d);
  if (r < 0) return r;
  bool good = a.head.magic == WIRE_HUB_MAGIC && a.head.version == WIRE_HUB_VERSION && a.head.size == sizeof a &&
              a.head.kind == WIRE_HUB_ANSWER && a.head.number == n->number;
  return good ? a.inject != 0 : -EPROTO;
}

static struct wire_hub_head head(struct connection *n, enum wire_hub_kind kind, uint32_t size) {
  return (struct wire_hub_head){.magic = WIRE_HUB_MAGIC,
                                .size = size,
                                .version = WIRE_HUB_VERSION,
                                .kind = (uint16_t)kind,
                                .number = ++n->number};
}

static int exchange(struct connection *n, const void *message, size_t size, struct deadline *d) {
  n->waiting = 1;
  int r = send_all(n->fd, message, size, d);
  if (r >= 0) r = answer_to(n, d);
  if (r >= 0) n->waiting = 0;
  return r;
}

static int say_hello(struct connection *n, struct deadline *d) {
  struct wire_hub_hello hello = {
      .head = head(n, WIRE_HUB_HELLO, sizeof hello), .pid = rt_pid(), .process = rt_process(), .identity = identity()};
  struct utsname machine = {0};
  char name[16] = {0};
  (void)rt_system(SYS_uname, (long)&machine, 0, 0, 0, 0, 0);
  (void)rt_system(SYS_prctl, PR_GET_NAME, (long)name, 0, 0, 0, 0);
  rt_copy_text(hello.host, sizeof hello.host, machine.nodename);
  rt_copy_text(hello.name, sizeof hello.name, name);
  return exchange(n, &hello, sizeof hello, d);
}

/* --- connections -------------------------------------------------------------------------------------------------- */

static int connect_socket(int fd, const struct wire_trigger *t, struct deadline *d) {
  int error = 0, size = sizeof error, on = 1;
  long r = rt_system(SYS_connect, fd, (long)t->address, t->n_address, 0, 0, 0);
  if (r == -EINPROGRESS || r == -EINTR) {
    r = wait_for(fd, POLLOUT, d);
    if (r >= 0) r = rt_system(SYS_getsockopt, fd, SOL_SOCKET, SO_ERROR, (long)&error, (long)&size, 0);
    if (r >= 0) r = -error;
  }
  /* Not for a local one, where it fails and does not matter. */
  (void)rt_system(SYS_setsockopt, fd, IPPROTO_TCP, TCP_NODELAY, (long)&on, sizeof on, 0);
  return (int)r;
}

static int open_connection(struct connection *n, const struct wire_trigger *t, struct deadline *d) {
  uint16_t family = (uint16_t)(t->address[0] | t->address[1] << 8);
  long fd = rt_system(SYS_socket, family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, 0, 0, 0);
  if (fd >= 0) fd = moved_up((int)fd);
  if (fd < 0) return (int)fd;
  n->fd = (int)fd;
  n->inode = inode_of(n->fd);
  n->waiting = 0;
  int r = connect_socket(n->fd, t, d);
  if (r >= 0) r = say_hello(n, d);
  if (r < 0) drop(n);
  return r < 0 ? r : 0;
}

/* May the entry be taken from who has it? A thread that is gone has left it; or it is the parent's, after a fork. */
static bool left(uint64_t owner, uint32_t process) {
  if (owner >> 32 != process) return true;
  return rt_system(SYS_tgkill, rt_pid(), (long)(owner & 0xffffffffu), 0, 0, 0, 0) == -ESRCH;
}

/* Place number I of those where a thread looks; near the first ones are few others. */
static struct connection *place_of(uint32_t tid, uint32_t i) { return &connections[(tid * 5 + i) % CONNECTIONS]; }

/* A place for a connection of this thread: a free one, or one whose owner is gone. NULL if there is none. */
static struct connection *take_place(uint64_t self, uint32_t trigger) {
  for (uint32_t i = 0; i < 2 * CONNECTIONS; i++) {
    struct connection *n = place_of((uint32_t)self, i);
    uint64_t owner = rt_load(&n->owner);
    bool possible = owner == 0 || (i >= CONNECTIONS && left(owner, (uint32_t)(self >> 32)));
    if (!possible || !rt_swap_if(&n->owner, &owner, self)) continue;
    if (owner != 0) drop(n);
    n->trigger = trigger;
    return n;
  }
  return NULL;
}

/* This thread's connection, open or not; NULL if all are taken. */
static struct connection *own_connection(uint32_t trigger, uint64_t now) {
  uint64_t self = (uint64_t)rt_process() << 32 | rt_tid();
  for (uint32_t i = 0; i < CONNECTIONS; i++) {
    struct connection *n = place_of((uint32_t)self, i);
    if (rt_load(&n->owner) == self && n->trigger == trigger) return n;
  }
  if (now != 0 && now < rt_load(&full_until)) return NULL;
  struct connection *n = take_place(self, trigger);
  if (!n) rt_store(&full_until, now + REST);
  return n;
}

/*
 * In a fork's child: what came over from the parent is closed, or the hub would not see the parent's end. An entry is
 * this thread's until that is done: another one that found it free would put a descriptor of its own there.
 */
static void close_inherited(void) {
  static uint32_t done_for;
  uint32_t process = rt_process();
  uint64_t self = (uint64_t)process << 32 | rt_tid();
  if (rt_load(&done_for) == process) return;
  rt_store(&done_for, process);
  for (uint32_t i = 0; i < CONNECTIONS; i++) {
    uint64_t owner = rt_load(&connections[i].owner);
    if (owner == 0 || owner >> 32 == process || !rt_swap_if(&connections[i].owner, &owner, self)) continue;
    drop(&connections[i]);
    rt_store(&connections[i].owner, 0);
  }
}

/* --- questions ---------------------------------------------------------------------------------------------------- */

static void add_frames(const struct rt_call *c, struct wire_hub_ask *ask) {
  struct wire_frame frames[WIRE_HUB_FRAMES];
  ask->n_frames = rt_stack_frames(c, frames, WIRE_HUB_FRAMES);
  for (uint32_t i = 0; i < ask->n_frames; i++) {
    const struct wire_loaded *loaded = rt_area_array(loaded, struct wire_loaded);
    const char *path = frames[i].module ? loaded[frames[i].module - 1].path : "";
    rt_copy_text(ask->frames[i].module, sizeof ask->frames[i].module, rt_last_part(path));
    ask->frames[i].offset = frames[i].at;
  }
}

static int put_question(struct connection *n, const struct rt_call *c, uint32_t trigger, struct deadline *d) {
  const struct wire_function *f = &rt_array(functions, struct wire_function)[c->index];
  struct wire_hub_ask ask = {.head = head(n, WIRE_HUB_ASK, sizeof ask), .tid = rt_tid(), .n_args = f->n_args};
  rt_copy_text(ask.trigger, sizeof ask.trigger, rt_text(trigger_at(trigger)->id));
  rt_copy_text(ask.function, sizeof ask.function, rt_text(f->written ? f->written : f->name));
  ask.call = c->number != 0 ? c->number : rt_count_sum((uint32_t)c->index);
  ask.stack = rt_point_hash(c);
  for (unsigned i = 0; i < WIRE_ARGS; i++)
    ask.args[i] = c->args[i];
  add_frames(c, &ask);
  return exchange(n, &ask, sizeof ask, d);
}

/* An answer, or what is wrong. A connection that was good once may have been the old hub's: then a new one is tried. */
static int ask_hub(struct connection *n, const struct rt_call *c, uint32_t trigger, struct deadline *d) {
  const struct wire_trigger *t = trigger_at(trigger);
  int r = -EPIPE;
  if (n->waiting || !is_open(n)) drop(n);
  if (n->fd >= 0) r = put_question(n, c, trigger, d);
  if (r >= 0 || r == -ETIMEDOUT) return r;
  drop(n);
  r = open_connection(n, t, d);
  return r < 0 ? r : put_question(n, c, trigger, d);
}

static enum wire_trouble_kind kind_of(int error) {
  return error == -ENOSPC      ? WIRE_TROUBLE_FULL
         : error == -ETIMEDOUT ? WIRE_TROUBLE_LATE
         : error == -EPROTO    ? WIRE_TROUBLE_WRONG
                               : WIRE_TROUBLE_GONE;
}

bool rt_hub_ask(const struct rt_call *c, uint32_t trigger) {
  if (!connections) return false;
  uint64_t now = rt_time_fine();
  uint32_t hub = first_of(trigger);
  bool rests = now != 0 && now < rt_load(&rest_until[hub]);
  close_inherited();
  struct connection *n = rests ? NULL : own_connection(hub, now);
  struct deadline d = deadline_in(trigger_at(trigger)->patience);
  int r = n ? ask_hub(n, c, trigger, &d) : -ENOSPC;
  if (r >= 0) return r != 0;
  (void)rt_add(&rt.area->unanswered, 1);
  if (rests) return false;
  if (n) {
    drop(n);
    rt_store(&rest_until[hub], rt_time_fine() + REST);
  }
  rt_trouble(kind_of(r), trigger, -r, NULL);
  return false;
}
