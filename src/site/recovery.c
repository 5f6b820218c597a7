/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery code: the blocks that run only if a check says failure. They are those that the entry of the function does
 * not reach once all failing edges are taken away.
 */
#include "site/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct coloring {
  const struct flow_graph *g;
  const failing_vec *edges;
  uint8_t *cut;   /* by block: kinds of its edges that only failure takes, as bits */
  uint8_t *plain; /* reached without failure */
  uint8_t *mine;  /* reached from the failing edges of the site at hand */
  uint32_t *todo;
};

static void spread(const struct coloring *c, uint8_t *color, uint32_t start, bool cutting) {
  size_t n_todo = 0;
  if (color[start]) return;
  color[start] = 1;
  for (c->todo[n_todo++] = start; n_todo > 0;) {
    uint32_t block = c->todo[--n_todo];
    const uint32_t *next;
    const uint8_t *kinds;
    uint32_t n = flow_graph_next(c->g, block, &next, &kinds);
    for (uint32_t i = 0; i < n; i++) {
      if (color[next[i]] || (cutting && c->cut[block] >> kinds[i] & 1)) continue;
      if (!cutting && c->plain[next[i]]) continue;
      color[next[i]] = 1;
      c->todo[n_todo++] = next[i];
    }
  }
}

static int by_start(const void *x, const void *y) {
  const struct range *a = x, *b = y;
  return (a->from > b->from) - (a->from < b->from);
}

/* The blocks of one site as ranges of addresses. */
static int keep(struct worker *w, const struct code *code, const struct coloring *c, struct found *f) {
  VEC(struct range) ranges = {0};
  int r = 0;
  for (uint32_t k = 0; k < code->n_blocks && r >= 0; k++) {
    if (!c->mine[k] || c->plain[k]) continue;
    const struct block *b = &code->blocks[k];
    const struct insn *first = &code->insns[b->first], *last = &code->insns[b->first + b->n - 1];
    r = vec_push(&ranges, (struct range){first->address, last->address + last->length});
  }
  if (ranges.n) qsort(ranges.at, ranges.n, sizeof *ranges.at, by_start);
  f->n_recovery = (uint32_t)ranges.n;
  f->recovery = ranges.n ? arena_memdup(&w->arena, ranges.at, ranges.n * sizeof *ranges.at) : NULL;
  if (ranges.n && !f->recovery) r = -ENOMEM;
  vec_done(&ranges);
  return r;
}

static void color_site(const struct coloring *c, uint32_t site) {
  for (size_t i = 0; i < c->edges->n; i++) {
    const struct failing *e = &c->edges->at[i];
    const uint32_t *next;
    const uint8_t *kinds;
    if (e->site != site) continue;
    uint32_t n = flow_graph_next(c->g, e->block, &next, &kinds);
    for (uint32_t k = 0; k < n; k++)
      if (kinds[k] == e->kind && !c->plain[next[k]]) spread(c, c->mine, next[k], false);
  }
}

int recovery_find(struct worker *w, const struct flow_graph *g, const failing_vec *edges, size_t first) {
  const struct code *code = flow_graph_code(g);
  struct arena *a = &w->flow.scratch;
  struct coloring c = {.g = g, .edges = edges};
  if (!edges->n) return 0;
  c.cut = arena_zalloc(a, code->n_blocks + 1);
  c.plain = arena_zalloc(a, code->n_blocks + 1);
  c.mine = arena_zalloc(a, code->n_blocks + 1);
  c.todo = arena_alloc(a, (code->n_blocks + 1) * sizeof *c.todo);
  if (!c.cut || !c.plain || !c.mine || !c.todo) return -ENOMEM;
  for (size_t i = 0; i < edges->n; i++)
    c.cut[edges->at[i].block] |= (uint8_t)(1u << edges->at[i].kind);
  spread(&c, c.plain, code->entry_block, true);
  uint32_t last = UINT32_MAX;
  for (size_t i = 0; i < edges->n; i++) {
    uint32_t site = edges->at[i].site;
    if (site == last) continue;
    last = site;
    memset(c.mine, 0, code->n_blocks);
    color_site(&c, site);
    int r = site >= first && site < w->found.n ? keep(w, code, &c, &w->found.at[site]) : 0;
    if (r < 0) return r;
  }
  return 0;
}
