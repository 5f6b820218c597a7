/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls whose question was asked before: the same function with the same arguments, whose answer was looked at, and
 * the way to the second call leads through the success of the first. "if (getenv(x)) use(getenv(x))" is one.
 */
#include "site/program.h"

#include <errno.h>
#include <string.h>

#define ARGUMENTS 2 /* of the functions that data/relevance names */

struct asking {
  const struct program *p;
  struct worker *w;
  struct flow_graph *g;
  const struct code *code;
  uint8_t *seen;
  uint32_t *todo;
};

/* Is the argument known, and the same, at both calls? */
static bool same_argument(const struct asking *a, uint32_t x, uint32_t y, unsigned arg) {
  struct flow_value v = {0}, w = {0};
  if (flow_graph_same_argument(a->g, x, y, arg)) return true;
  bool known = flow_graph_argument(a->g, x, arg, &v) && flow_graph_argument(a->g, y, arg, &w);
  if (!known && (flow_graph_sources(a->g, x, arg, &v, 1) != 1 || flow_graph_sources(a->g, y, arg, &w, 1) != 1))
    return false;
  return v.kind == w.kind && v.value == w.value && v.raw == w.raw && v.arg == w.arg && v.call == w.call &&
         v.ops == w.ops;
}

static bool same_arguments(const struct asking *a, const struct import *m, uint32_t x, uint32_t y) {
  int n = profile_facts_roles(a->p->facts, m->written).arguments;
  if (n < 1 || n > ARGUMENTS) return false;
  for (unsigned i = 0; i < (unsigned)n; i++)
    if (!same_argument(a, x, y, i)) return false;
  return true;
}

/* Does a way lead from the entry to block TO that takes no edge out of E's block but the failing one? */
static bool leads_past(const struct asking *a, const struct failing *e, uint32_t to) {
  uint32_t n_todo = 0, start = a->code->entry_block;
  memset(a->seen, 0, a->code->n_blocks);
  a->seen[start] = 1;
  for (a->todo[n_todo++] = start; n_todo > 0 && !a->seen[to];) {
    uint32_t block = a->todo[--n_todo];
    const uint32_t *next;
    const uint8_t *kinds;
    uint32_t n = flow_graph_next(a->g, block, &next, &kinds);
    for (uint32_t i = 0; i < n; i++) {
      if (a->seen[next[i]] || (block == e->block && kinds[i] != e->kind)) continue;
      a->seen[next[i]] = 1;
      a->todo[n_todo++] = next[i];
    }
  }
  return a->seen[to];
}

static bool was_asked(const struct asking *a, const struct found *f, const failing_vec *edges, size_t first) {
  const struct import *m = &a->p->imports.at[f->import];
  uint32_t here, there;
  if (!code_find(a->code, f->at, &here)) return false;
  for (size_t i = 0; i < edges->n; i++) {
    const struct failing *e = &edges->at[i];
    const struct found *other = e->site >= first && e->site < a->w->found.n ? &a->w->found.at[e->site] : NULL;
    if (!other || other == f || other->import != f->import || !code_find(a->code, other->at, &there)) continue;
    if (same_arguments(a, m, here, there) && !leads_past(a, e, flow_graph_block(a->g, here))) return true;
  }
  return false;
}

int again_find(const struct program *p, struct worker *w, struct flow_graph *g, const failing_vec *edges,
               size_t first) {
  struct asking a = {.p = p, .w = w, .g = g, .code = flow_graph_code(g)};
  for (size_t i = first; i < w->found.n && edges->n; i++) {
    struct found *f = &w->found.at[i];
    if (!relevance_again(p->relevance, p->imports.at[f->import].written)) continue;
    if (!a.seen) a.seen = arena_alloc(&w->flow.scratch, a.code->n_blocks + 1);
    if (!a.todo) a.todo = arena_alloc(&w->flow.scratch, (a.code->n_blocks + 1) * sizeof *a.todo);
    if (!a.seen || !a.todo) return -ENOMEM;
    f->again = was_asked(&a, f, edges, first);
  }
  return 0;
}
