/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fault points: a function and the call stack that reached it, as a number that is the same in each run.
 *
 * Two processes that run the same code come by the same stacks, one of them perhaps before the other in this run and
 * behind it in the next: points of an order or of the table are those of one process.
 *
 * Addresses differ from run to run; a module's name and the ELF address in it do not. Code in no module counts as a
 * frame without an address.
 */
#include <fcntl.h>

#include "apart.h"
#include "fd.h"
#include "modules.h"
#include "process.h"
#include "stack.h"
#include "rt_walk.h"
#include "words.h"

/* How many places of the table are tried. */
#define TRIES 64
#define REPEATS 3

static uint64_t *function_hashes; /* of the functions' names; NULL if there was no memory */

static uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9e3779b97f4a7c15u;
  return h ^ h >> 29;
}

static uint64_t text_hash(const char *s) {
  uint64_t h = 0x6d757270687921u;
  for (; *s; s++)
    h = mix(h, (unsigned char)*s);
  return h;
}

void rt_points_start(void) {
  uint32_t n = rt.plan->functions.n;
  function_hashes = n ? rt_map(n * sizeof *function_hashes) : NULL;
  for (uint32_t i = 0; i < n && function_hashes; i++)
    function_hashes[i] = text_hash(rt_text(rt_array(functions, struct wire_function)[i].name));
}

static uint64_t function_hash(uint64_t index) {
  return function_hashes ? function_hashes[index]
                         : text_hash(rt_text(rt_array(functions, struct wire_function)[index].name));
}

/* Of all frames but the first SKIPPED; 0 if the list of modules has changed under the walk. */
RT_RAW static uint64_t hash_frames(const struct rt_call *c, uint64_t h, unsigned skipped) {
  struct rt_walk w;
  unsigned n = 0;
  if (!rt_walk_start(c, &w)) return h;
  do {
    const struct rt_module *m = rt_walk_module(&w);
    if (n >= skipped) h = m ? mix(h, m->name + (w.pc - m->bias) * 2) : mix(h, 0);
  } while (++n < WIRE_FRAMES && rt_walk_up(&w));
  return rt_walk_valid(&w) ? h : 0;
}

static uint64_t hash_stack(const struct rt_call *c, unsigned skipped) {
  uint64_t function = function_hash(c->index), h = 0;
  for (unsigned i = 0; i < REPEATS && h == 0; i++)
    h = hash_frames(c, function, skipped);
  return h ? h : 1;
}

uint64_t rt_point_hash(const struct rt_call *c) { return hash_stack(c, 0); }

static uint64_t of_this_process(uint64_t h) {
  uint32_t lineage = rt_process_lineage();
  return lineage ? mix(h, lineage) | 1 : h;
}

uint64_t rt_point_here(const struct rt_call *c) { return of_this_process(hash_stack(c, 0)); }

uint64_t rt_point_around(const struct rt_call *c) { return of_this_process(hash_stack(c, 1)); }

/* --- facts about the first call ----------------------------------------------------------------------------------- */

#define SIGNALS 64

static uint8_t handlers(void) {
  uint8_t found = 0;
  for (long signal = 1; signal <= SIGNALS; signal++) {
    struct rt_sigaction a = {0};
    if (rt_system(SYS_rt_sigaction, signal, 0, (long)&a, sizeof a.mask, 0, 0) < 0) continue;
    if (a.handler > 1) found |= WIRE_HANDLER | (a.flags & RT_RESTART ? 0 : WIRE_HANDLER_STOPS);
  }
  return found;
}

/* The descriptor that the call is about; -1 if there is none. */
static int descriptor(const struct rt_call *c) {
  const struct wire_function *f = &rt_array(functions, struct wire_function)[c->index];
  if (f->descriptor >= 0 && f->descriptor < 6) return (int)c->args[f->descriptor];
  if (f->stream < 0 || f->stream >= 6 || c->args[f->stream] == 0) return -1;
  return *(const volatile int *)(c->args[f->stream] + RT_FILE_FD);
}

/* Has its stream bytes that were not yet written? */
static bool has_pending(const struct rt_call *c) {
  const struct wire_function *f = &rt_array(functions, struct wire_function)[c->index];
  if (f->stream < 0 || f->stream >= 6 || c->args[f->stream] == 0) return false;
  const volatile uint64_t *words = (const volatile uint64_t *)c->args[f->stream];
  return words[RT_FILE_WRITE_AT] > words[RT_FILE_WRITE_BASE];
}

/* Another thread may be here already; what it has seen stays. */
static void note_pending(struct wire_point *p, const struct rt_call *c) {
  uint8_t unknown = WIRE_PENDING_UNKNOWN;
  if (!has_pending(c))
    rt_store(&p->pending, WIRE_PENDING_NOT);
  else
    (void)rt_swap_if(&p->pending, &unknown, WIRE_PENDING);
}

/* Where system calls are filtered the kernel is not asked, and nothing is known. */
static void enter(struct wire_point *p, const struct rt_call *c) {
  bool may_ask = !rt_apart_filtered();
  int fd = may_ask ? descriptor(c) : -1;
  long flags = fd < 0 ? -1 : rt_system(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0);
  p->function = (uint32_t)c->index;
  p->process = rt_process();
  for (unsigned i = 0; i < WIRE_ARGS; i++)
    p->args[i] = c->args[i];
  p->fd = fd < 0 ? WIRE_FD_NONE : (uint8_t)rt_fd_kind(fd);
  p->local = p->fd == WIRE_FD_SOCKET && rt_fd_local(fd);
  p->nonblocking = flags >= 0 && flags & O_NONBLOCK;
  p->writable = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
  note_pending(p, c);
  p->handlers = may_ask ? handlers() : 0;
  p->n_frames = rt_stack_frames(c, p->frames, WIRE_FRAMES);
  rt_store(&p->ready, 1);
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

/* Of the caller's module, as of enum wire_module_flag. */
static uint32_t module_flags(const struct rt_call *c) {
  struct rt_modules *m = rt_modules_now();
  uint64_t pc = rt_return_address(c) - 1;
  if (!m) return 0;
  (void)rt_step_at(&m, pc); /* looks for new modules */
  const struct rt_module *module = rt_module_at(m, pc);
  return module && module->plan ? rt_array(modules, struct wire_module)[module->plan - 1].flags : 0;
}

bool rt_in_scope(const struct rt_call *c) { return module_flags(c) & WIRE_IN_SCOPE; }

bool rt_in_own_code(const struct rt_call *c) {
  return (module_flags(c) & (WIRE_IN_SCOPE | WIRE_LANGUAGE)) == WIRE_IN_SCOPE;
}

void rt_point_record(const struct rt_call *c) {
  if (!rt.area || rt.area->points.n == 0 || !rt_in_scope(c)) return;
  uint64_t hash = rt_point_here(c);
  struct wire_point *points = rt_area_array(points, struct wire_point);
  uint64_t mask = rt.area->points.n - 1;
  for (uint64_t i = 0; i < TRIES && i <= mask; i++) {
    struct wire_point *p = &points[(hash + i) & mask];
    uint64_t found = rt_load(&p->hash);
    bool mine = found == 0 && rt_swap_if(&p->hash, &found, hash);
    if (!mine && found != hash) continue;
    uint32_t order = rt_add(&rt.area->recorded, 1) + 1;
    if (mine) {
      p->first = order;
      enter(p, c);
    } else {
      note_pending(p, c);
    }
    (void)rt_add(&p->count, 1);
    rt_store(&p->last, order);
    return;
  }
  (void)rt_add(&rt.area->lost_points, 1);
}
