/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery code: the blocks that run only if a check says failure. They are those that the entry of the function does
 * not reach once all failing edges are taken away.
 */
#include "site/program.h"

#include <errno.h>
#include <stdlib.h>

struct coloring {
  const struct flow_graph *g;
  uint8_t *cut;   /* by block: kinds of its edges that only failure takes, as bits */
  uint8_t *plain; /* reached without failure */
  uint8_t *mine;  /* reached from the failing edges of the site at hand */
  uint32_t *todo;
  uint32_t *found; /* the blocks of MINE */
  size_t n_found;
};

static void spread(struct coloring *c, uint8_t *color, uint32_t start, bool cutting) {
  size_t n_todo = 0;
  if (color[start]) return;
  color[start] = 1;
  for (c->todo[n_todo++] = start; n_todo > 0;) {
    uint32_t block = c->todo[--n_todo];
    if (!cutting) c->found[c->n_found++] = block;
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
  struct range *ranges = arena_alloc(&w->arena, (c->n_found + 1) * sizeof *ranges);
  if (!ranges) return -ENOMEM;
  for (size_t i = 0; i < c->n_found; i++) {
    const struct block *b = &code->blocks[c->found[i]];
    const struct insn *first = &code->insns[b->first], *last = &code->insns[b->first + b->n - 1];
    ranges[i] = (struct range){first->address, last->address + last->length};
  }
  qsort(ranges, c->n_found, sizeof *ranges, by_start);
  f->n_recovery = (uint32_t)c->n_found;
  f->recovery = ranges;
  return 0;
}

/* From one failing edge; what is reached without failure is not recovery. */
static void color_edge(struct coloring *c, const struct failing *e) {
  const uint32_t *next;
  const uint8_t *kinds;
  uint32_t n = flow_graph_next(c->g, e->block, &next, &kinds);
  for (uint32_t k = 0; k < n; k++)
    if (kinds[k] == e->kind && !c->plain[next[k]]) spread(c, c->mine, next[k], false);
}

static int start_coloring(struct coloring *c, struct arena *a, uint32_t n_blocks) {
  c->cut = arena_zalloc(a, n_blocks + 1);
  c->plain = arena_zalloc(a, n_blocks + 1);
  c->mine = arena_zalloc(a, n_blocks + 1);
  c->todo = arena_alloc(a, (n_blocks + 1) * sizeof *c->todo);
  c->found = arena_alloc(a, (n_blocks + 1) * sizeof *c->found);
  return c->cut && c->plain && c->mine && c->todo && c->found ? 0 : -ENOMEM;
}

/* The edges of a site follow each other. */
int recovery_find(struct worker *w, const struct flow_graph *g, const failing_vec *edges, size_t first) {
  const struct code *code = flow_graph_code(g);
  struct coloring c = {.g = g};
  if (!edges->n) return 0;
  int r = start_coloring(&c, &w->flow.scratch, code->n_blocks);
  if (r < 0) return r;
  for (size_t i = 0; i < edges->n; i++)
    c.cut[edges->at[i].block] |= (uint8_t)(1u << edges->at[i].kind);
  spread(&c, c.plain, code->entry_block, true);
  for (size_t i = 0; i < edges->n && r >= 0;) {
    uint32_t site = edges->at[i].site;
    for (; i < edges->n && edges->at[i].site == site; i++)
      color_edge(&c, &edges->at[i]);
    if (site >= first && site < w->found.n) r = keep(w, code, &c, &w->found.at[site]);
    while (c.n_found > 0)
      c.mine[c.found[--c.n_found]] = 0;
  }
  return r;
}
