/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hub's loop: connections, whole messages, answers. A script has one question open, unless it is one that
 * chooses among several.
 */
#include "hub/script.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* What is polled before the connections. */
enum { POLL_SIGNAL, POLL_LISTEN, POLL_SCRIPT_OUT, POLL_SCRIPT_IN, POLL_FIRST };
#define MAX_CONNECTIONS 4096
#define OTHER_FILES 64
#define FULL_PAUSE 100 /* milliseconds until connections are tried again, if there were no descriptors for one */
#define NOBODY SIZE_MAX

struct client {
  int fd;
  size_t process; /* NOBODY: has not said who it is */
  uint64_t serial;
  size_t got; /* bytes of the message that is coming */
  union {
    struct wire_hub_head head;
    struct wire_hub_hello hello;
    struct wire_hub_ask ask;
  } message;
};

/* A question that the script has not answered yet. The client may be gone by then. */
struct pending {
  uint64_t serial, number;
  struct wire_hub_ask ask;
  struct hub_process process; /* as it was */
  size_t index;
};

struct hub {
  const struct hub_options *options;
  struct hub_state state;
  int listener, signals;
  bool bound; /* the socket's file is ours */
  bool full;  /* who wants to connect waits */
  VEC(struct client) clients;
  VEC(struct pollfd) polled;
  VEC(struct pending) pending; /* in the order in which they came */
  size_t given;                /* so many of them, the first ones, the script has got */
  struct hub_script script;
  bool numbered; /* the script says which question it answers */
  uint64_t serial;
  struct text line;
};

static int no_memory(struct err *e) { return err_set(e, -ENOMEM, "out of memory"); }

/* --- answers ------------------------------------------------------------------------------------------------------ */

static int write_log(struct hub *h, const struct hub_process *p, const struct wire_hub_ask *ask, uint64_t number,
                     bool answer, struct err *e) {
  if (!h->options->log) return 0;
  h->line.n = 0;
  hub_log_line(p, ask, number, &answer, &h->line);
  return h->line.failed ? no_memory(e) : h->options->log(h->options->context, &h->line, e);
}

/* A client that does not take it is no longer there for us. */
static bool send_answer(int fd, uint32_t number, bool inject) {
  struct wire_hub_answer a = {.head = {.magic = WIRE_HUB_MAGIC,
                                       .size = sizeof a,
                                       .version = WIRE_HUB_VERSION,
                                       .kind = WIRE_HUB_ANSWER,
                                       .number = number},
                              .inject = inject};
  return send(fd, &a, sizeof a, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof a;
}

static void drop_client(struct hub *h, size_t i) {
  struct client *c = &h->clients.at[i];
  (void)close(c->fd);
  if (c->process != NOBODY) hub_leave(&h->state, c->process);
  *c = h->clients.at[--h->clients.n];
}

/* --- questions ---------------------------------------------------------------------------------------------------- */

static int script_failed(const struct hub *h, int r, struct err *e) {
  const char *script = h->options->policy.script;
  if (r == -ENOMEM) return no_memory(e);
  if (r == -ENOENT) return err_set(e, -ECANCELED, "'%s' answers a question that is not open, or is none", script);
  if (r == -EINVAL)
    return err_set(e, -ECANCELED, "'%s' does not say which question it answers (as '#12 yes', by its seq)", script);
  if (r == -E2BIG)
    return err_set(e, -ECANCELED, "'%s' writes more than it is asked (a line for each question is wanted)", script);
  return err_set(e, -ECANCELED, "'%s' has ended, and nobody decides any more", script);
}

static int ask_script(struct hub *h, const struct client *c, struct err *e) {
  struct pending p = {.serial = c->serial,
                      .number = h->state.asked,
                      .ask = c->message.ask,
                      .process = h->state.processes.at[c->process],
                      .index = c->process};
  return vec_push(&h->pending, p) < 0 ? no_memory(e) : 0;
}

/* 1 if the client must go. */
static int take_question(struct hub *h, struct client *c, struct err *e) {
  struct hub_process *p = &h->state.processes.at[c->process];
  h->state.asked++;
  p->asked++;
  if (h->state.policy.kind == HUB_SCRIPT) return ask_script(h, c, e);
  bool answer = hub_decide(&h->state, c->process, NULL);
  if (!send_answer(c->fd, c->message.head.number, answer)) return 1;
  return write_log(h, p, &c->message.ask, h->state.asked, answer, e);
}

static int take_hello(struct hub *h, struct client *c, struct err *e) {
  if (c->process != NOBODY) return 1;
  /* A pid of 0 only wants to know whether we are there. */
  if (c->message.hello.pid != 0 && hub_meet(&h->state, &c->message.hello, &c->process) < 0) return no_memory(e);
  return send_answer(c->fd, c->message.head.number, false) ? 0 : 1;
}

/* How long the message will be, from its head; 0 if it is none. */
static size_t wanted_size(const struct client *c) {
  const struct wire_hub_head *head = &c->message.head;
  if (c->got < sizeof *head) return sizeof *head;
  if (head->magic != WIRE_HUB_MAGIC || head->version != WIRE_HUB_VERSION) return 0;
  size_t size = head->kind == WIRE_HUB_HELLO ? sizeof(struct wire_hub_hello)
                : head->kind == WIRE_HUB_ASK ? sizeof(struct wire_hub_ask)
                                             : 0;
  return head->size == size ? size : 0;
}

/* 1 if the client must go. */
static int read_client(struct hub *h, struct client *c, struct err *e) {
  size_t size = wanted_size(c);
  if (size == 0) return 1;
  ssize_t n = recv(c->fd, (char *)&c->message + c->got, size - c->got, MSG_DONTWAIT);
  if (n < 0) return errno != EAGAIN && errno != EINTR;
  if (n == 0) return 1;
  c->got += (size_t)n;
  size = wanted_size(c);
  if (size == 0) return 1;
  if (c->got < size) return 0;
  c->got = 0;
  if (c->message.head.kind == WIRE_HUB_HELLO) return take_hello(h, c, e);
  return c->process == NOBODY ? 1 : take_question(h, c, e);
}

static int accept_client(struct hub *h, struct err *e) {
  int on = 1, fd = accept4(h->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    /* Or gone again. What waits would wake us at once, again and again. */
    h->full = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    return 0;
  }
  if (h->clients.n >= MAX_CONNECTIONS) {
    (void)close(fd);
    return 0;
  }
  if (h->options->address.at.ss_family != AF_UNIX) (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  struct client c = {.fd = fd, .process = NOBODY, .serial = ++h->serial};
  if (vec_push(&h->clients, c) == 0) return 0;
  (void)close(fd);
  return no_memory(e);
}

/* --- the script --------------------------------------------------------------------------------------------------- */

static struct pending take_pending(struct hub *h, size_t i) {
  struct pending p = h->pending.at[i];
  memmove(h->pending.at + i, h->pending.at + i + 1, (--h->pending.n - i) * sizeof *h->pending.at);
  if (i < h->given) h->given--;
  return p;
}

/* The client that waits for it; NOBODY if it did not. */
static size_t who_waits(const struct hub *h, const struct pending *p) {
  size_t i = 0;
  while (i < h->clients.n && h->clients.at[i].serial != p->serial)
    i++;
  return i == h->clients.n ? NOBODY : i;
}

/*
 * Which question the script has answered: the one whose number it says, or the first that is open; NOBODY if there is
 * none. What it says before it has read the question is no answer.
 */
static size_t which_pending(const struct hub *h, const struct script_word *word) {
  size_t i = 0, read = h->given - (h->given > 0 && script_unread(&h->script));
  while (word->numbered && i < read && h->pending.at[i].number != word->number)
    i++;
  return i < read ? i : NOBODY;
}

static int answer_pending(struct hub *h, const struct script_word *word, struct err *e) {
  size_t which = which_pending(h, word);
  h->numbered |= word->numbered;
  if (h->numbered && !word->numbered) return script_failed(h, -EINVAL, e);
  if (which == NOBODY) return script_failed(h, word->numbered ? -ENOENT : -E2BIG, e);
  struct pending p = take_pending(h, which);
  size_t i = who_waits(h, &p);
  if (i == NOBODY) return 0;
  bool answer = hub_decide(&h->state, p.index, &word->says);
  if (!send_answer(h->clients.at[i].fd, p.ask.head.number, answer)) drop_client(h, i);
  return write_log(h, &p.process, &p.ask, p.number, answer, e);
}

/*
 * May the script get another question? One that chooses may at any time. Another has one at a time: were there two, a
 * line without a number could be to any of them. What it says too much, and only when it has got the next question, is
 * still taken for the answer to that, unless it gives numbers.
 */
static bool has_next(const struct hub *h) {
  return h->given < h->pending.n && (h->given == 0 || h->options->policy.choose);
}

/* The next question that somebody still waits for. */
static int give_next(struct hub *h, struct err *e) {
  while (h->given < h->pending.n && who_waits(h, &h->pending.at[h->given]) == NOBODY)
    (void)take_pending(h, h->given);
  if (h->given == h->pending.n) return 0;
  const struct pending *p = &h->pending.at[h->given++];
  hub_log_line(&p->process, &p->ask, p->number, NULL, &h->script.to);
  return h->script.to.failed ? no_memory(e) : 0;
}

/* IN and OUT: what poll says of it. That it has ended is told behind what it has said before. */
static int serve_script(struct hub *h, short in, short out, struct err *e) {
  struct script_word word;
  int r = in || out ? script_read(&h->script) : 0, told = 0;
  while (told >= 0 && script_answer(&h->script, &word))
    told = answer_pending(h, &word, e);
  if (told >= 0 && h->given == 0 && h->script.from.n > 0) r = -E2BIG;
  if (in & POLLERR && r >= 0) r = -EPIPE;
  if (told >= 0 && r >= 0 && in && h->script.to.n == 0 && has_next(h)) told = give_next(h, e);
  if (told < 0) return told;
  int flushed = script_flush(&h->script);
  if (r >= 0) r = flushed;
  return r < 0 ? script_failed(h, r, e) : 0;
}

/* --- the loop ----------------------------------------------------------------------------------------------------- */

/* A socket that nobody serves any more refuses connections. */
static bool is_refused(const struct hub_address *a) {
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  bool refused = connect(fd, (const struct sockaddr *)&a->at, a->size) < 0 && errno == ECONNREFUSED;
  (void)close(fd);
  return refused;
}

/* Such a socket may stand in the way; anything else is somebody's file. */
static void remove_stale(const struct hub_address *a) {
  const char *path = ((const struct sockaddr_un *)&a->at)->sun_path;
  struct stat s;
  if (lstat(path, &s) == 0 && S_ISSOCK(s.st_mode) && is_refused(a)) (void)unlink(path);
}

static int listen_there(struct hub *h, struct err *e) {
  const struct hub_address *a = &h->options->address;
  struct hub_address bound = {.size = sizeof bound.at};
  struct text name = {0};
  int on = 1;
  if (a->at.ss_family == AF_UNIX) remove_stale(a);
  h->listener = socket(a->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int r = h->listener < 0 ? -errno : 0;
  if (r >= 0 && a->at.ss_family != AF_UNIX) (void)setsockopt(h->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (r >= 0 && bind(h->listener, (const struct sockaddr *)&a->at, a->size) < 0) r = -errno;
  h->bound = r >= 0 && a->at.ss_family == AF_UNIX;
  if (h->bound && chmod(((const struct sockaddr_un *)&a->at)->sun_path, h->options->mode) < 0) r = -errno;
  if (r >= 0 && listen(h->listener, SOMAXCONN) < 0) r = -errno;
  if (r >= 0 && getsockname(h->listener, (struct sockaddr *)&bound.at, &bound.size) < 0) r = -errno;
  hub_address_text(r < 0 ? a : &bound, &name);
  if (name.failed) r = -ENOMEM;
  r = r < 0 ? err_set(e, r, "cannot listen at %s: %s", name.failed ? "?" : name.at, strerror(-r))
            : h->options->ready(h->options->context, name.at, e);
  text_done(&name);
  return r;
}

static int fill_polled(struct hub *h) {
  h->polled.n = 0;
  struct pollfd first[POLL_FIRST] = {
      [POLL_SIGNAL] = {.fd = h->signals, .events = POLLIN},
      [POLL_LISTEN] = {.fd = h->full ? -1 : h->listener, .events = POLLIN},
      [POLL_SCRIPT_OUT] = {.fd = h->script.out, .events = POLLIN},
      [POLL_SCRIPT_IN] = {.fd = h->script.to.n || has_next(h) ? h->script.in : -1, .events = POLLOUT},
  };
  int r = 0;
  for (size_t i = 0; i < POLL_FIRST && r >= 0; i++)
    r = vec_push(&h->polled, first[i]);
  for (size_t i = 0; i < h->clients.n && r >= 0; i++)
    r = vec_push(&h->polled, ((struct pollfd){.fd = h->clients.at[i].fd, .events = POLLIN}));
  return r;
}

/* From the last to the first: one that goes is replaced by the last, which was looked at. */
static int serve_clients(struct hub *h, struct err *e) {
  for (size_t i = h->polled.n - POLL_FIRST; i-- > 0;) {
    if (!h->polled.at[POLL_FIRST + i].revents) continue;
    int r = read_client(h, &h->clients.at[i], e);
    if (r < 0) return r;
    if (r > 0) drop_client(h, i);
  }
  return 0;
}

static int loop(struct hub *h, struct err *e) {
  for (;;) {
    if (fill_polled(h) < 0) return no_memory(e);
    if (poll(h->polled.at, h->polled.n, h->full ? FULL_PAUSE : -1) < 0) {
      if (errno == EINTR) continue;
      return err_set(e, -errno, "poll: %s", strerror(errno));
    }
    h->full = false;
    if (h->polled.at[POLL_SIGNAL].revents) return 0;
    int r = serve_clients(h, e);
    if (r >= 0 && h->polled.at[POLL_LISTEN].revents) r = accept_client(h, e);
    if (r >= 0 && h->script.pid > 0)
      r = serve_script(h, h->polled.at[POLL_SCRIPT_IN].revents, h->polled.at[POLL_SCRIPT_OUT].revents, e);
    if (r < 0) return r;
  }
}

static void hub_done(struct hub *h) {
  while (h->clients.n > 0)
    drop_client(h, h->clients.n - 1);
  if (h->bound) (void)unlink(((const struct sockaddr_un *)&h->options->address.at)->sun_path);
  if (h->listener >= 0) (void)close(h->listener);
  if (h->signals >= 0) (void)close(h->signals);
  script_end(&h->script);
  vec_done(&h->clients);
  vec_done(&h->polled);
  vec_done(&h->pending);
  vec_done(&h->state.processes);
  text_done(&h->line);
}

/* Each thread that asks has a connection; usual limits are for programs that have less to do with the world. */
static void want_descriptors(void) {
  struct rlimit l;
  rlim_t wanted = MAX_CONNECTIONS + OTHER_FILES;
  if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur >= wanted) return;
  l.rlim_cur = l.rlim_max < wanted ? l.rlim_max : wanted;
  (void)setrlimit(RLIMIT_NOFILE, &l);
}

int hub_serve(const struct hub_options *options, struct hub_totals *ret, struct err *e) {
  struct hub h = {.options = options, .listener = -1, .signals = -1, .script = {.in = -1, .out = -1}};
  h.state.policy = options->policy;
  h.numbered = options->policy.choose;
  want_descriptors();
  h.signals = signalfd(-1, options->ends, SFD_CLOEXEC);
  int r = h.signals < 0 ? err_set(e, -errno, "signalfd: %s", strerror(errno)) : 0;
  if (r >= 0 && options->policy.script) r = script_start(&h.script, options->policy.script, e);
  if (r >= 0) r = listen_there(&h, e);
  if (r >= 0) r = loop(&h, e);
  *ret = (struct hub_totals){h.state.asked, h.state.failed, h.state.processes.n};
  hub_done(&h);
  return r;
}
