/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The area. Its file is opened, mapped and closed at the start, so that no descriptor stays. What is in it is checked
 * once; only murphy and the runtimes of the run write to it.
 */
#include "events.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "count.h"
#include "process.h"
#include "stack.h"
#include "system.h"

#define AREA_NAME "area"     /* beside the shim */
#define PATIENCE 1000000000u /* nanoseconds */

static bool span_fits(const struct wire_area *a, struct wire_span s, size_t size) {
  return s.at % 8 == 0 && s.at >= sizeof *a && s.at <= a->size && s.n <= (a->size - s.at) / size;
}

static bool is_area(const struct wire_area *a, uint64_t size) {
  return a->magic == WIRE_AREA_MAGIC && a->version == WIRE_VERSION && a->header == sizeof *a && a->size == size;
}

static bool area_good(const struct wire_area *a, uint64_t size) {
  if (!is_area(a, size)) return false;
  bool points = a->points.n == 0 || (a->points.n & (a->points.n - 1)) == 0;
  return points && span_fits(a, a->events, sizeof(struct wire_event)) && a->events.n > 0 &&
         span_fits(a, a->loaded, sizeof(struct wire_loaded)) && span_fits(a, a->points, sizeof(struct wire_point)) &&
         (a->branches.n == 0 || span_fits(a, a->branches, sizeof(struct wire_branch))) &&
         (a->asking.n == 0 || span_fits(a, a->asking, sizeof(struct wire_asking))) &&
         span_fits(a, a->counts, sizeof(uint64_t)) && (a->counts.n == 0 || a->counts.n >= rt.plan->functions.n);
}

/* The file at PATH; NULL if it cannot be an area. */
static struct wire_area *map_area(const char *path, uint64_t *ret_size) {
  long fd = rt_system(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0, 0, 0);
  if (fd < 0) return NULL;
  struct stat s = {0};
  long p = -1;
  if (rt_system(SYS_fstat, fd, (long)&s, 0, 0, 0, 0) == 0 && s.st_size >= (long)sizeof(struct wire_area))
    p = rt_system(SYS_mmap, 0, s.st_size, 3 /* read, write */, 1 /* shared */, fd, 0);
  (void)rt_system(SYS_close, fd, 0, 0, 0, 0, 0);
  if (p < 0 && p > -4096) return NULL;
  *ret_size = (uint64_t)s.st_size;
  return (struct wire_area *)p;
}

static void unmap_area(struct wire_area *a, uint64_t size) {
  (void)rt_system(SYS_munmap, (long)a, (long)size, 0, 0, 0, 0);
}

bool rt_area_start(void) {
  uint64_t size;
  struct wire_area *a = map_area(rt_text(rt.plan->area), &size);
  if (a && area_good(a, size))
    rt.area = a;
  else if (a)
    unmap_area(a, size);
  return rt.area;
}

void rt_area_refuse(const char *shim) {
  char path[4096];
  uint64_t size;
  size_t folder = 0, n = 0;
  for (; shim[n] && n < sizeof path - sizeof AREA_NAME; n++) {
    path[n] = shim[n];
    if (shim[n] == '/') folder = n + 1;
  }
  if (shim[n] || folder == 0) return;
  for (n = 0; n < sizeof AREA_NAME; n++)
    path[folder + n] = AREA_NAME[n];
  struct wire_area *a = map_area(path, &size);
  if (!a) return;
  if (is_area(a, size)) (void)rt_add(&a->refused, 1);
  unmap_area(a, size);
}

/*
 * Is it worth waiting on for murphy to read? Not for longer than PATIENCE, and not at all if it has read nothing since
 * somebody waited in vain. Nothing is called that a filter could forbid, so this is a loop.
 */
static bool worth_waiting(const struct wire_area *a, uint64_t *start) {
  static uint64_t read_in_vain = UINT64_MAX;
  uint64_t now = rt_time(), read = rt_load(&a->read);
  if (*start == 0) *start = now;
  if (read == rt_load(&read_in_vain)) return false;
  if (now != 0 && now - *start < PATIENCE) return true;
  rt_store(&read_in_vain, read);
  return false;
}

/* The number of an event that is this call's alone; false if murphy has not made room in time. */
static bool reserve(struct wire_area *a, uint64_t *ret) {
  uint64_t next = rt_load(&a->next_event), start = 0;
  for (;;) {
    if (next - rt_load(&a->read) < a->events.n) {
      if (!rt_swap_if(&a->next_event, &next, next + 1)) continue;
      *ret = next;
      return true;
    }
    if (!worth_waiting(a, &start)) break;
    __builtin_ia32_pause();
    next = rt_load(&a->next_event);
  }
  (void)rt_add(&a->lost, 1);
  return false;
}

/* Says who writes event NUMBER, so that murphy can tell if that is a process which is gone; false if it is too late. */
static bool claim(struct wire_event *e, uint64_t number, uint64_t *ret) {
  uint64_t seen = rt_load(&e->ready);
  *ret = WIRE_WRITING | rt_pid();
  do
    if (seen == (WIRE_PASSED | (number + 1))) return false;
  while (!rt_swap_if(&e->ready, &seen, *ret));
  return true;
}

void rt_event(const struct rt_call *c, int32_t error, uint64_t missed, uint32_t signal) {
  struct wire_area *a = rt.area;
  uint64_t number, writing;
  if (!a || !reserve(a, &number)) return;
  struct wire_event *e = &rt_area_array(events, struct wire_event)[number % a->events.n];
  if (!claim(e, number, &writing)) return;
  e->time = rt_time();
  e->pid = rt_pid();
  e->tid = rt_tid();
  e->process = rt_process();
  e->function = (uint32_t)c->index;
  e->rule = (uint32_t)c->rule;
  e->fault = (uint32_t)c->fault;
  e->call = c->number != 0 ? c->number : rt_count_sum((uint32_t)c->index);
  e->retval = (int64_t)c->retval;
  e->error = error;
  e->missed = missed;
  e->signal = signal;
  e->order = c->order;
  for (unsigned i = 0; i < WIRE_ARGS; i++)
    e->args[i] = c->args[i];
  e->n_frames = rt_stack_frames(c, e->frames, WIRE_FRAMES);
  (void)rt_swap_if(&e->ready, &writing, number + 1);
}
