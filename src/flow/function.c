/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker keeps from function to function: the memory of maps and vectors, which are empty when the next one
 * starts.
 */
#include "flow/backward.h"

#include <errno.h>
#include <string.h>

#define MAP_KEEP 1024 /* places; few of a larger one are in the cache at once */

struct map *flow_worker_map(struct map *m) {
  if (m->cap > MAP_KEEP)
    map_done(m);
  else
    map_clear(m);
  return m;
}

int flow_function_start(struct flow_function *f, struct flow_worker *worker, const struct code *code) {
  *f = (struct flow_function){.worker = worker, .image = code->image, .code = code};
  f->origins = flow_worker_map(&worker->origins);
  f->call_of = flow_worker_map(&worker->call_of);
  f->stamps = arena_zalloc(&worker->scratch, (code->n_blocks + 1) * sizeof *f->stamps);
  if (!worker->marks) worker->marks = arena_zalloc(&worker->keep, ORIGIN_MARKS * sizeof *worker->marks);
  if (worker->stamp > UINT32_MAX / 2 && worker->marks) { /* no function asks that much */
    memset(worker->marks, 0, ORIGIN_MARKS * sizeof *worker->marks);
    worker->stamp = 0;
  }
  if (!f->stamps || !worker->marks) return -ENOMEM;
  room_take(&f->origin_values, &worker->rooms[ROOM_ORIGINS]);
  room_take(&f->calls, &worker->rooms[ROOM_CALLS]);
  room_take(&f->call_insn, &worker->rooms[ROOM_CALL_INSNS]);
  return 0;
}

void flow_function_done(struct flow_function *f) {
  if (!f->worker) return;
  room_give(&f->origin_values, &f->worker->rooms[ROOM_ORIGINS]);
  room_give(&f->calls, &f->worker->rooms[ROOM_CALLS]);
  room_give(&f->call_insn, &f->worker->rooms[ROOM_CALL_INSNS]);
}

void flow_worker_done(struct flow_worker *w) {
  arena_done(&w->scratch);
  arena_done(&w->keep);
  map_done(&w->transforms);
  map_done(&w->visited);
  map_done(&w->emitted);
  map_done(&w->origins);
  map_done(&w->call_of);
  map_done(&w->conditions);
  for (size_t i = 0; i < COUNT(w->rooms); i++)
    vec_free(&w->rooms[i].at);
  map_done(&w->changed);
  map_done(&w->identities);
}
