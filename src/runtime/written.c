/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many bytes were written to what is open. A descriptor is one of perhaps several numbers of an open file, and what
 * is written by one of them counts for all: each has the number of a counter, which dup passes on.
 *
 * Of functions that return how much they have written, that is taken. What streams write, libc writes without a call
 * that could be intercepted, at any time and as much as it likes; so the kernel is asked before and behind each call of
 * a stream how many bytes the thread has written in its life (wchar of /proc/thread-self/io).
 */
#include "written.h"

#include <fcntl.h>

#include "fd.h"
#include "link.h"
#include "operand.h"
#include "system.h"

#define DESCRIPTORS 65536u
#define COUNTERS 65536u /* no more are in use than there are descriptors */
#define UNKNOWN (1ull << 63)

struct counter {
  uint64_t bytes; /* | UNKNOWN */
  uint32_t users; /* descriptors; 0: it is free */
};

static uint32_t *counter_of; /* by descriptor: the number of its counter plus 1; NULL if nobody asks */
static struct counter *counters;
static uint32_t last; /* that was taken */

void rt_written_start(void) {
  const struct wire_function *f = rt_array(functions, struct wire_function);
  for (uint32_t i = 0; i < rt.plan->functions.n && !counter_of; i++)
    if (f[i].hook >= WIRE_HOOK_OUTPUT && f[i].hook <= WIRE_HOOK_STREAM) {
      counters = rt_map(COUNTERS * sizeof *counters);
      counter_of = counters ? rt_map(DESCRIPTORS * sizeof *counter_of) : NULL;
    }
}

/* --- counters ----------------------------------------------------------------------------------------------------- */

static bool is_counted(int64_t fd) { return counter_of && fd >= 0 && fd < DESCRIPTORS; }

static uint32_t take(void) {
  for (uint32_t i = 0; i < COUNTERS; i++) {
    uint32_t k = rt_add(&last, 1) % COUNTERS, none = 0;
    if (rt_swap_if(&counters[k].users, &none, 1)) {
      rt_store(&counters[k].bytes, 0);
      return k + 1;
    }
  }
  return 0;
}

static void leave(uint32_t number) {
  if (number != 0) (void)__atomic_fetch_sub(&counters[number - 1].users, 1, __ATOMIC_ACQ_REL);
}

/* NULL if there is none. */
static struct counter *counter(int64_t fd) {
  if (!is_counted(fd)) return NULL;
  uint32_t number = rt_load(&counter_of[fd]), none = 0;
  if (number == 0) {
    number = take();
    if (number == 0) return NULL;
    if (!rt_swap_if(&counter_of[fd], &none, number)) { /* another thread was first */
      leave(number);
      number = none;
    }
  }
  return &counters[number - 1];
}

void rt_written_add(int64_t fd, uint64_t bytes) {
  struct counter *c = counter(fd);
  if (c) (void)rt_add(&c->bytes, bytes);
}

void rt_written_lose(int64_t fd) {
  struct counter *c = counter(fd);
  if (c) (void)__atomic_fetch_or(&c->bytes, UNKNOWN, __ATOMIC_ACQ_REL);
}

void rt_written_forget(int64_t fd) {
  if (is_counted(fd)) leave(__atomic_exchange_n(&counter_of[fd], 0, __ATOMIC_ACQ_REL));
}

void rt_written_forget_all(uint32_t from, uint32_t to) {
  for (uint32_t fd = from; counter_of && fd < DESCRIPTORS && fd <= to; fd++)
    if (rt_load(&counter_of[fd]) != 0) rt_written_forget(fd);
}

int64_t rt_written(uint64_t fd) {
  uint32_t number = is_counted((int64_t)fd) ? rt_load(&counter_of[fd]) : 0;
  if (number == 0 && rt_system(SYS_fcntl, (int)fd, F_GETFD, 0, 0, 0, 0) < 0) return -1; /* not open: it has no bytes */
  uint64_t bytes = number != 0 ? rt_load(&counters[number - 1].bytes) : 0;
  return !is_counted((int64_t)fd) || bytes & UNKNOWN ? -1 : (int64_t)bytes;
}

static bool is_copy(const struct rt_call *c) {
  bool asks = rt.functions[c->index].hook == WIRE_HOOK_FCNTL;
  return !asks || (int)c->args[1] == F_DUPFD || (int)c->args[1] == F_DUPFD_CLOEXEC;
}

void rt_written_copy(const struct rt_call *c) {
  int64_t from = rt_written_fd(c), to = (int)c->retval;
  if (to < 0 || to == from || !is_counted(to) || !is_copy(c)) return;
  struct counter *of = counter(from);
  if (!of) return;
  (void)rt_add(&of->users, 1);
  leave(__atomic_exchange_n(&counter_of[to], (uint32_t)(of - counters) + 1, __ATOMIC_ACQ_REL));
}

/* --- streams ------------------------------------------------------------------------------------------------------ */

int64_t rt_stream_fd(uint64_t stream) {
  int64_t fd;
  return stream != 0 && rt_read(stream + RT_FILE_FD, 4, true, &fd) ? fd : -1;
}

uint64_t rt_stream_named(int which) {
  static uint64_t in, out;
  uint64_t *at = which == WIRE_STDIN ? &in : &out, found = rt_load(at);
  if (found == 0) {
    found = rt_link_any(which == WIRE_STDIN ? "stdin" : "stdout");
    rt_store(at, found);
  }
  return found != 0 ? *(const uint64_t *)found : 0;
}

int64_t rt_written_fd(const struct rt_call *c) {
  const struct wire_function *f = &rt_array(functions, struct wire_function)[c->index];
  if (f->descriptor >= 0) return f->descriptor < 6 ? (int)c->args[f->descriptor] : -1;
  if (f->stream < -1) return rt_stream_fd(rt_stream_named(f->stream));
  return f->stream >= 0 && f->stream < 6 ? rt_stream_fd(c->args[f->stream]) : -1;
}

/* --- what the kernel counts --------------------------------------------------------------------------------------- */

/* The number behind "wchar: ". */
static int64_t parse(const char *text, long n) {
  static const char word[] = "wchar: ";
  int64_t value = 0;
  long at = 0;
  for (unsigned k = 0; k < sizeof word - 1; at++) {
    if (at >= n) return -1;
    k = text[at] == word[k] ? k + 1 : 0;
  }
  for (; at < n && text[at] >= '0' && text[at] <= '9'; at++)
    value = value * 10 + (text[at] - '0');
  return value;
}

int64_t rt_written_by_thread(void) {
  char text[256];
  long fd = rt_system(SYS_openat, AT_FDCWD, (long)"/proc/thread-self/io", O_RDONLY | O_CLOEXEC, 0, 0, 0);
  if (fd < 0) return -1;
  long n = rt_system(SYS_read, fd, (long)text, sizeof text, 0, 0, 0);
  (void)rt_system(SYS_close, fd, 0, 0, 0, 0, 0);
  return parse(text, n);
}
