/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The area that murphy shares with the processes of the target.
 *
 * The target is about to misbehave, and the area is memory that it can write to: nothing in it is used as an index, a
 * size or a string before it was checked against what murphy itself remembers. It can even make the file shorter, after
 * which to look at it is a SIGBUS; so murphy looks through area_read and area_write only.
 */
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The file is sparse: what no event reaches costs nothing. */
enum { EVENTS = 1 << 14, LOADED = 2048, POINTS = 1 << 16, BRANCHES = 4096, ASKING = 1024 };
/* So many wait to be written at most; then the ring fills, and the target waits. */
enum { PENDING_MAX = 1 << 16, BATCH = 64 };
/*
 * So long an event that was begun is waited for if its writer is there, or has not yet said who it is. Longer pauses
 * than a tick's do not count: murphy itself was stopped, and the writer perhaps with it.
 */
enum { PATIENCE_NS = 1000000000, PAUSE_MAX_NS = 20000000 };

/* Events on their way from the ring, many at a time. */
struct batch {
  const struct run_area *area;
  uint64_t read, next, passed;
  bool final;
  bool impatient; /* the event at `read` has been waited for */
  size_t n;
  struct wire_event events[BATCH];
};

/* --- the area ----------------------------------------------------------------------------------------------------- */

static struct wire_span place(size_t *end, size_t n, size_t size) {
  struct wire_span s = {.at = (uint32_t)*end, .n = (uint32_t)n};
  *end = (*end + n * size + 63) & ~(size_t)63;
  return s;
}

static int map_file(const char *path, size_t size, void **ret, int *ret_file, struct err *e) {
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return err_set(e, -errno, "%s: %s", path, strerror(errno));
  int r = ftruncate(fd, (off_t)size) < 0 ? -errno : 0;
  void *at = r < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (r == 0 && at == MAP_FAILED) r = -errno;
  if (r < 0) {
    (void)close(fd);
    return err_set(e, r, "%s: %s", path, strerror(-r));
  }
  *ret = at;
  *ret_file = fd;
  return 0;
}

static void write_header(struct run_area *a) {
  *a->at = (struct wire_area){
      .magic = WIRE_AREA_MAGIC,
      .version = WIRE_VERSION,
      .header = sizeof *a->at,
      .size = a->size,
      .events = a->events,
      .loaded = a->loaded,
      .points = a->points,
      .counts = a->counts,
      .branches = a->branches,
      .asking = a->asking,
  };
}

int run_area_make(const char *path, size_t n_functions, bool points, struct run_area *ret, struct err *e) {
  struct run_area a = {0};
  void *at = NULL;
  size_t end = (sizeof(struct wire_area) + 63) & ~(size_t)63;
  a.counts = place(&end, n_functions, sizeof(uint64_t));
  a.loaded = place(&end, LOADED, sizeof(struct wire_loaded));
  a.events = place(&end, EVENTS, sizeof(struct wire_event));
  a.points = place(&end, points ? POINTS : 0, sizeof(struct wire_point));
  a.branches = place(&end, BRANCHES, sizeof(struct wire_branch));
  a.asking = place(&end, ASKING, sizeof(struct wire_asking));
  a.size = end;
  int r = map_file(path, a.size, &at, &a.file, e);
  if (r < 0) return r;
  a.at = at;
  write_header(&a);
  a.batch = malloc(sizeof *a.batch);
  if (!a.batch) {
    run_area_done(&a);
    return err_set(e, -ENOMEM, "out of memory");
  }
  *ret = a;
  return 0;
}

/* Zeroes what is there, if it is little: pages that stay need not be made again. False if it must be done otherwise. */
static bool wipe(const struct run_area *a) {
  static const char zeroes[1 << 16];
  size_t left = sizeof zeroes;
  off_t at = 0, end;
  while ((at = lseek(a->file, at, SEEK_DATA)) >= 0) {
    end = lseek(a->file, at, SEEK_HOLE);
    if (end <= at || (size_t)(end - at) > left) return false;
    left -= (size_t)(end - at);
    if (pwrite(a->file, zeroes, (size_t)(end - at), at) != end - at) return false;
    at = end;
  }
  return errno == ENXIO;
}

/* Holes in the file are as good as zeroes; the target may have made it shorter. */
int run_area_reset(struct run_area *a, struct err *e) {
  if (ftruncate(a->file, (off_t)a->size) < 0 ||
      (!wipe(a) && fallocate(a->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)a->size) < 0))
    return err_set(e, -errno, "cannot empty the area: %m");
  write_header(a);
  a->read = 0;
  a->passed = a->waited = a->looked = 0;
  a->pending.n = a->taken = 0;
  return 0;
}

void run_area_done(struct run_area *a) {
  if (a->at) {
    (void)munmap(a->at, a->size);
    (void)close(a->file);
  }
  vec_done(&a->pending);
  free(a->batch);
  memset(a, 0, sizeof *a);
}

/* --- looking at it ------------------------------------------------------------------------------------------------ */

/* Where the thread goes on if the area is not there any more; NULL while it does not look at it. */
static _Thread_local sigjmp_buf *volatile looking;

static void area_is_gone(int number) {
  if (looking) siglongjmp(*looking, 1);
  /* Not ours: it happens again, and does what it would have done without us. */
  (void)signal(number, SIG_DFL);
}

/* Once and for all: several threads may look at several areas. */
static void catch_bus(void) {
  struct sigaction action = {.sa_handler = area_is_gone, .sa_flags = SA_NODEFER};
  (void)sigaction(SIGBUS, &action, NULL); /* cannot fail for this signal */
}

/* Does COPY(to, from, n) over the area; -EIO if it is not there. */
static int look(void (*copy)(void *to, const void *from, size_t n), void *to, const void *from, size_t n) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  sigjmp_buf here;
  volatile int r = 0;
  (void)pthread_once(&once, catch_bus);
  if (sigsetjmp(here, 0) == 0) {
    looking = &here;
    copy(to, from, n);
  } else {
    r = -EIO;
  }
  looking = NULL;
  return r;
}

static void copy_bytes(void *to, const void *from, size_t n) { memcpy(to, from, n); }

static void load_word(void *to, const void *from, size_t n) {
  if (n == sizeof(uint64_t))
    *(uint64_t *)to = __atomic_load_n((const uint64_t *)from, __ATOMIC_ACQUIRE);
  else
    *(uint32_t *)to = __atomic_load_n((const uint32_t *)from, __ATOMIC_ACQUIRE);
}

static void store_word(void *to, const void *from, size_t n) {
  if (n == sizeof(uint64_t))
    __atomic_store_n((uint64_t *)to, *(const uint64_t *)from, __ATOMIC_RELEASE);
  else
    __atomic_store_n((uint32_t *)to, *(const uint32_t *)from, __ATOMIC_RELEASE);
}

/* A field that the target changes while murphy looks; *RET is left alone if the area is gone. */
#define LOAD(field, ret) look(load_word, (ret), &(field), sizeof(field))
#define STORE(field, value) look(store_word, &(field), (value), sizeof(field))

static void *element(const struct run_area *a, struct wire_span span, uint64_t i, size_t size) {
  return (char *)a->at + span.at + (i % span.n) * size;
}

/* --- events ------------------------------------------------------------------------------------------------------- */

/* A process that a signal has ended in the middle of an event. What the target says of itself may be anything. */
static bool is_gone(uint64_t writing) {
  uint64_t pid = writing & ~WIRE_WRITING;
  return writing & WIRE_WRITING && pid > 1 && pid <= INT32_MAX && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/* Is event b->read, which is not complete, given up? Its writer learns of it, if it is still there. */
static bool pass_over(const struct batch *b, struct wire_event *event, uint64_t ready) {
  if (!b->final && !b->impatient && !is_gone(ready)) return false;
  return __atomic_compare_exchange_n(&event->ready, &ready, WIRE_PASSED | (b->read + 1), false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
}

/* Copies complete events. Their bytes may still change afterwards, in the mapping but not in the copy. */
static void take_batch(void *to, const void *from, size_t unused) {
  struct batch *b = to;
  (void)unused;
  (void)from;
  b->next = __atomic_load_n(&b->area->at->next_event, __ATOMIC_ACQUIRE);
  /* A target that scribbles over the counter must not keep us here for 2^64 events. */
  if (b->next - b->read > b->area->events.n) b->next = b->read + b->area->events.n;
  for (b->n = b->passed = 0; b->read < b->next && b->n < BATCH; b->read++) {
    struct wire_event *event = element(b->area, b->area->events, b->read, sizeof *event);
    uint64_t ready = __atomic_load_n(&event->ready, __ATOMIC_ACQUIRE);
    if (ready == b->read + 1)
      memcpy(&b->events[b->n++], event, sizeof *event);
    else if (pass_over(b, event, ready))
      b->passed++;
    else
      break;
    b->impatient = false;
  }
  __atomic_store_n(&b->area->at->read, b->read, __ATOMIC_RELEASE);
}

static uint64_t now_ns(void) {
  struct timespec t = {0};
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* For how long the event that comes next is waited for, if it was begun. */
static void count_wait(struct run_area *a, bool begun) {
  uint64_t now = now_ns(), pause = now - a->looked;
  bool same = begun && a->waiting == a->read && a->looked;
  a->waited = same ? a->waited + (pause < PAUSE_MAX_NS ? pause : PAUSE_MAX_NS) : 0;
  a->waiting = a->read;
  a->looked = begun ? now : 0;
}

/* 1 if there may be more. */
static int drain_batch(struct run_area *a, struct batch *b) {
  int r = look(take_batch, b, NULL, 0);
  if (r < 0) return r;
  a->passed += b->passed;
  a->read = b->read;
  count_wait(a, b->read < b->next && b->n < BATCH);
  for (size_t i = 0; i < b->n; i++) {
    if (b->events[i].n_frames > WIRE_FRAMES) b->events[i].n_frames = WIRE_FRAMES;
    if (vec_push(&a->pending, b->events[i]) < 0) return -ENOMEM;
  }
  return b->read < b->next && (b->n == BATCH || b->final);
}

int run_area_drain(struct run_area *a, bool final) {
  struct batch *b = a->batch;
  int r = 1;
  if (a->taken == a->pending.n) a->taken = a->pending.n = 0;
  while (r > 0 && a->pending.n - a->taken < PENDING_MAX) {
    b->area = a;
    b->read = a->read;
    b->final = final;
    b->impatient = a->waiting == a->read && a->waited >= PATIENCE_NS;
    r = drain_batch(a, b);
  }
  return r < 0 ? r : 0;
}

bool run_area_take(struct run_area *a, struct wire_event *ret) {
  if (a->taken == a->pending.n) return false;
  *ret = a->pending.at[a->taken++];
  return true;
}

/* --- the rest ----------------------------------------------------------------------------------------------------- */

bool run_area_loaded(const struct run_area *a, uint32_t n, struct wire_loaded *ret) {
  uint32_t ready = 0;
  if (n == 0 || n > a->loaded.n) return false;
  const struct wire_loaded *from = element(a, a->loaded, n - 1, sizeof *from);
  if (LOAD(from->ready, &ready) < 0 || ready != 1) return false;
  struct wire_loaded copy;
  if (look(copy_bytes, &copy, from, sizeof copy) < 0) return false;
  copy.path[sizeof copy.path - 1] = 0;
  *ret = copy;
  return true;
}

static bool is_kept(const struct run_kept *kept, uint32_t number) {
  for (size_t i = 0; i < kept->n; i++)
    if (kept->at[i].number == number) return true;
  return false;
}

void run_area_keep(const struct run_area *a, const struct wire_event *event, struct run_kept *to) {
  size_t n = event->n_frames < WIRE_FRAMES ? event->n_frames : WIRE_FRAMES;
  for (size_t i = 0; i < n && to->n < RUN_KEPT; i++) {
    uint32_t number = event->frames[i].module;
    if (is_kept(to, number) || !run_area_loaded(a, number, &to->at[to->n].loaded)) continue;
    to->at[to->n++].number = number;
  }
}

uint64_t run_area_count(const struct run_area *a, uint32_t function) {
  uint64_t count = 0;
  if (function >= a->counts.n) return 0;
  const uint64_t *at = element(a, a->counts, function, sizeof *at);
  (void)LOAD(*at, &count);
  return count;
}

int run_area_totals(const struct run_area *a, struct run_totals *ret) {
  struct run_totals t = {0};
  int r = LOAD(a->at->attached, &t.attached);
  if (r >= 0) r = LOAD(a->at->refused, &t.refused);
  if (r >= 0) r = LOAD(a->at->processes, &t.processes);
  if (r >= 0) r = LOAD(a->at->lost, &t.lost);
  if (r >= 0) r = LOAD(a->at->lost_loaded, &t.unnamed);
  if (r >= 0) r = LOAD(a->at->unreached, &t.unreached);
  t.lost += a->passed;
  if (r >= 0) *ret = t;
  return r;
}

int run_area_troubles(const struct run_area *a, struct run_troubles *ret) {
  struct run_troubles t = {0};
  int r = look(copy_bytes, t.troubles, a->at->troubles, sizeof t.troubles);
  if (r >= 0) r = LOAD(a->at->unanswered, &t.unanswered);
  if (r >= 0) *ret = t;
  return r;
}

int run_area_stop(struct run_area *a) {
  uint32_t stop = 1;
  return STORE(a->at->stop, &stop);
}

bool run_area_asking(const struct run_area *a, uint32_t i, struct wire_asking *ret) {
  const struct wire_asking *t = (const struct wire_asking *)((const char *)a->at + a->asking.at) + i;
  return i < a->asking.n && look(copy_bytes, ret, t, sizeof *ret) == 0;
}

bool run_area_branch(const struct run_area *a, uint32_t i, struct wire_branch *ret) {
  const struct wire_branch *b = (const struct wire_branch *)((const char *)a->at + a->branches.at) + i;
  return i < a->branches.n && look(copy_bytes, ret, b, sizeof *ret) == 0;
}

uint32_t run_area_point_from(const struct run_area *a, uint32_t i) {
  off_t start = (off_t)a->points.at, size = (off_t)sizeof(struct wire_point), at = start + (off_t)i * size;
  if (i >= a->points.n) return a->points.n;
  off_t data = lseek(a->file, at, SEEK_DATA);
  if (data < 0) return errno == ENXIO ? a->points.n : i;
  /* An entry may begin in a hole and end behind it. */
  off_t next = data <= at ? (off_t)i : (data - start) / size;
  return next < (off_t)a->points.n ? (uint32_t)next : a->points.n;
}

bool run_area_point(const struct run_area *a, uint32_t i, struct wire_point *ret) {
  if (i >= a->points.n) return false;
  const struct wire_point *p = (const struct wire_point *)((const char *)a->at + a->points.at) + i;
  uint32_t ready = 0;
  if (look(copy_bytes, &ready, &p->ready, sizeof ready) < 0 || ready != 1) return false;
  if (look(copy_bytes, ret, p, sizeof *ret) < 0) return false;
  if (ret->n_frames > WIRE_FRAMES) ret->n_frames = WIRE_FRAMES;
  return true;
}
