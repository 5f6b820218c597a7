/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All functions' results: callees before callers, and circles of functions again and again until nothing changes.
 *
 * Circles are found with Tarjan's algorithm, without recursion: call chains of large libraries are long.
 */
#include "flow/evaluate.h"

#include <errno.h>
#include <stdlib.h>

#define ROUNDS_MAX 12

struct frame {
  uint32_t node;
  uint32_t next; /* the next callee to look at */
};

struct solver {
  struct flow_world *world;
  VEC(struct frame) frames;
  VEC(uint32_t) stack;
  uint32_t counter;
  struct evaluation evaluation;
};

/* The callee number I of a node; UINT32_MAX behind the last, -ENOENT for a call that leads nowhere. */
static int64_t callee(const struct flow_world *w, uint32_t node, uint32_t i) {
  const struct node *n = w->nodes.at[node];
  if (i < n->summary.n_calls) return flow_world_callee(w, node, &n->summary.calls[i]);
  i -= n->summary.n_calls;
  if (!n->ifunc || i >= n->summary.n_outcomes) return UINT32_MAX;
  const struct flow_value *v = &n->summary.outcomes[i].ret;
  if (v->kind != VALUE_ADDRESS) return -ENOENT;
  return flow_world_callee(w, node, &(struct flow_call){.kind = CALL_ADDRESS, .target = v->value});
}

static bool calls_itself(const struct flow_world *w, uint32_t node) {
  int64_t to;
  for (uint32_t i = 0; (to = callee(w, node, i)) != UINT32_MAX; i++)
    if (to == (int64_t)node) return true;
  return false;
}

static int evaluate_circle(struct solver *s, const uint32_t *nodes, size_t n) {
  for (unsigned round = 0; round < ROUNDS_MAX; round++) {
    bool changed = false;
    for (size_t i = n; i-- > 0;) {
      struct node *node = s->world->nodes.at[nodes[i]];
      struct flow_results rs;
      int r = evaluate(&s->evaluation, nodes[i], &rs);
      if (r < 0) return r;
      changed |= !results_equal(&rs, &node->results);
      results_keep_origin(&node->results, &rs);
      node->results = rs;
    }
    if (!changed || (n == 1 && !calls_itself(s->world, nodes[0]))) return 0;
  }
  for (size_t i = 0; i < n; i++) { /* no end in sight: what was found holds, but there is more */
    struct node *node = s->world->nodes.at[nodes[i]];
    node->summary.problems |= FLOW_COMPLEX;
    int r = evaluate(&s->evaluation, nodes[i], &node->results);
    if (r < 0) return r;
  }
  return 0;
}

static int enter(struct solver *s, uint32_t node) {
  struct node *n = s->world->nodes.at[node];
  n->index = n->low = s->counter++;
  n->indexed = n->on_stack = true;
  int r = vec_push(&s->stack, node);
  return r < 0 ? r : vec_push(&s->frames, (struct frame){node, 0});
}

/* All callees of the top frame are done: closes a circle if this node is its root. */
static int leave(struct solver *s) {
  uint32_t node = s->frames.at[--s->frames.n].node;
  struct node *n = s->world->nodes.at[node];
  if (s->frames.n) {
    struct node *caller = s->world->nodes.at[s->frames.at[s->frames.n - 1].node];
    if (n->low < caller->low) caller->low = n->low;
  }
  if (n->low != n->index) return 0;
  size_t first = s->stack.n;
  do
    first--;
  while (s->stack.at[first] != node);
  int r = evaluate_circle(s, s->stack.at + first, s->stack.n - first);
  for (size_t i = first; i < s->stack.n; i++)
    s->world->nodes.at[s->stack.at[i]]->on_stack = false;
  s->stack.n = first;
  return r;
}

static int visit(struct solver *s, uint32_t root) {
  int r = enter(s, root);
  while (r >= 0 && s->frames.n) {
    struct frame *f = &s->frames.at[s->frames.n - 1];
    struct node *n = s->world->nodes.at[f->node];
    int64_t to = callee(s->world, f->node, f->next++);
    if (to == UINT32_MAX)
      r = leave(s);
    else if (to >= 0) {
      const struct node *m = s->world->nodes.at[to];
      if (!m->indexed)
        r = enter(s, (uint32_t)to);
      else if (m->on_stack && m->index < n->low)
        n->low = m->index;
    }
  }
  return r;
}

static int by_place(const void *x, const void *y, void *context) {
  struct node *const *nodes = context;
  const struct node *a = nodes[*(const uint32_t *)x], *b = nodes[*(const uint32_t *)y];
  if (a->image != b->image) return a->image < b->image ? -1 : 1;
  if (a->address != b->address) return a->address < b->address ? -1 : 1;
  return a->ifunc - b->ifunc;
}

/* The nodes in an order that does not depend on which worker found them first. */
static uint32_t *node_order(struct flow_world *w) {
  uint32_t *order = arena_alloc(&w->arena, (w->nodes.n + 1) * sizeof *order);
  for (size_t i = 0; order && i < w->nodes.n; i++)
    order[i] = (uint32_t)i;
  if (order) qsort_r(order, w->nodes.n, sizeof *order, by_place, w->nodes.at);
  return order;
}

int world_solve(struct flow_world *w) {
  struct solver s = {.world = w, .evaluation = {.world = w}};
  const uint32_t *order = node_order(w);
  int r = order ? 0 : -ENOMEM;
  for (size_t i = 0; i < w->nodes.n; i++)
    w->nodes.at[i]->indexed = w->nodes.at[i]->on_stack = false;
  for (size_t i = 0; i < w->nodes.n && r >= 0; i++)
    if (!w->nodes.at[order[i]]->indexed) r = visit(&s, order[i]);
  evaluation_done(&s.evaluation);
  vec_done(&s.frames);
  vec_done(&s.stack);
  return r;
}
