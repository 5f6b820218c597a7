/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fault points: a function and the call stack that reached it, as a number that is the same in each run.
 *
 * Addresses differ from run to run; a module's name and the ELF address in it do not. Code in no module counts as a
 * frame without an address.
 */
#include "modules.h"
#include "stack.h"
#include "walk.h"
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

/* 0 if the list of modules has changed under the walk. */
RT_RAW static uint64_t hash_frames(const struct rt_call *c, uint64_t h) {
  struct rt_walk w;
  unsigned n = 0;
  if (!rt_walk_start(c, &w)) return h;
  do {
    const struct rt_module *m = rt_walk_module(&w);
    h = m ? mix(h, m->name + (w.pc - m->bias) * 2) : mix(h, 0);
  } while (++n < WIRE_FRAMES && rt_walk_up(&w));
  return rt_walk_valid(&w) ? h : 0;
}

uint64_t rt_point_hash(const struct rt_call *c) {
  uint64_t function = function_hash(c->index), h = 0;
  for (unsigned i = 0; i < REPEATS && h == 0; i++)
    h = hash_frames(c, function);
  return h ? h : 1;
}

/* The first call of a point: what only it knows. */
static void enter(struct wire_point *p, const struct rt_call *c) {
  p->function = (uint32_t)c->index;
  p->process = rt_process();
  p->n_frames = rt_stack_frames(c, p->frames, WIRE_FRAMES);
  rt_store(&p->ready, 1);
}

void rt_point_record(const struct rt_call *c) {
  if (!rt.area || rt.area->points.n == 0) return;
  uint64_t hash = rt_point_hash(c);
  struct wire_point *points = rt_area_array(points, struct wire_point);
  uint64_t mask = rt.area->points.n - 1;
  for (uint64_t i = 0; i < TRIES && i <= mask; i++) {
    struct wire_point *p = &points[(hash + i) & mask];
    uint64_t found = rt_load(&p->hash);
    bool mine = found == 0 && rt_swap_if(&p->hash, &found, hash);
    if (!mine && found != hash) continue;
    if (mine) enter(p, c);
    (void)rt_add(&p->count, 1);
    return;
  }
  (void)rt_add(&rt.area->lost_points, 1);
}
