/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All functions' results: callees before callers, and circles of functions again and again until nothing changes.
 *
 * Circles are found with Tarjan's algorithm, without recursion: call chains of large libraries are long. A circle needs
 * the results of those that it calls and of nothing else, so all processors work on those that are ready.
 */
#include "solver/evaluate.h"

#include <errno.h>
#include <stdlib.h>

#define ROUNDS_MAX 12

struct frame {
  uint32_t node;
  uint32_t next; /* the next callee to look at */
};

/* Functions that call each other; most are one function. */
struct circle {
  uint32_t first, n; /* in MEMBERS */
  uint32_t waits;    /* for so many calls of circles that are not done */
  uint32_t callers;  /* the first of its WAITING, plus one, or 0 */
};

/* CIRCLE waits for another one, whose next entry is NEXT - 1. */
struct waiting {
  uint32_t circle, next;
};

/* Of finding them, and of those that are ready. */
struct circles {
  struct solver *solver;
  VEC(struct frame) frames;
  VEC(uint32_t) stack;
  uint32_t counter;
  VEC(uint32_t) members;
  VEC(struct circle) circles; /* callees before callers */
  VEC(struct waiting) waiting;
  VEC(uint32_t) ready;
  size_t done;
  int error;
};

/* The callee number I of a node; UINT32_MAX behind the last, -ENOENT for a call that leads nowhere. */
static int64_t callee(const struct solver *solver, uint32_t node, uint32_t i) {
  const struct node *n = solver->nodes.at[node];
  if (i < n->summary.n_calls) return solver_callee(solver, node, &n->summary.calls[i]);
  i -= n->summary.n_calls;
  if (!n->ifunc || i >= n->summary.n_outcomes) return UINT32_MAX;
  const struct flow_value *v = &n->summary.outcomes[i].ret;
  if (v->kind != VALUE_ADDRESS) return -ENOENT;
  return solver_callee(solver, node, &(struct flow_call){.kind = CALL_ADDRESS, .target = v->value});
}

static bool calls_itself(const struct solver *solver, uint32_t node) {
  int64_t to;
  for (uint32_t i = 0; (to = callee(solver, node, i)) != UINT32_MAX; i++)
    if (to == (int64_t)node) return true;
  return false;
}

static int evaluate_circle(struct solver *solver, struct evaluation *e, const uint32_t *nodes, size_t n) {
  for (unsigned round = 0; round < ROUNDS_MAX; round++) {
    bool changed = false;
    for (size_t i = n; i-- > 0;) {
      struct node *node = solver->nodes.at[nodes[i]];
      struct solver_results rs;
      int r = evaluate(e, nodes[i], &rs);
      if (r < 0) return r;
      changed |= !results_equal(&rs, &node->results);
      results_keep_origin(&node->results, &rs);
      node->results = rs;
    }
    if (!changed || (n == 1 && !calls_itself(solver, nodes[0]))) return 0;
  }
  for (size_t i = 0; i < n; i++) { /* no end in sight: what was found holds, but there is more */
    struct node *node = solver->nodes.at[nodes[i]];
    node->summary.problems |= FLOW_COMPLEX;
    int r = evaluate(e, nodes[i], &node->results);
    if (r < 0) return r;
  }
  return 0;
}

static int enter(struct circles *s, uint32_t node) {
  struct node *n = s->solver->nodes.at[node];
  n->index = n->low = s->counter++;
  n->indexed = n->on_stack = true;
  int r = vec_push(&s->stack, node);
  return r < 0 ? r : vec_push(&s->frames, (struct frame){node, 0});
}

/* All callees of the top frame are done: closes a circle if this node is its root. */
static int leave(struct circles *s) {
  uint32_t node = s->frames.at[--s->frames.n].node;
  struct node *n = s->solver->nodes.at[node];
  if (s->frames.n) {
    struct node *caller = s->solver->nodes.at[s->frames.at[s->frames.n - 1].node];
    if (n->low < caller->low) caller->low = n->low;
  }
  if (n->low != n->index) return 0;
  size_t first = s->stack.n;
  do
    first--;
  while (s->stack.at[first] != node);
  struct circle c = {.first = (uint32_t)s->members.n, .n = (uint32_t)(s->stack.n - first)};
  int r = 0;
  for (size_t i = first; i < s->stack.n && r >= 0; i++) {
    struct node *member = s->solver->nodes.at[s->stack.at[i]];
    member->on_stack = false;
    member->circle = (uint32_t)s->circles.n;
    r = vec_push(&s->members, s->stack.at[i]);
  }
  s->stack.n = first;
  return r < 0 ? r : vec_push(&s->circles, c);
}

static int visit(struct circles *s, uint32_t root) {
  int r = enter(s, root);
  while (r >= 0 && s->frames.n) {
    struct frame *f = &s->frames.at[s->frames.n - 1];
    struct node *n = s->solver->nodes.at[f->node];
    int64_t to = callee(s->solver, f->node, f->next++);
    if (to == UINT32_MAX)
      r = leave(s);
    else if (to >= 0) {
      const struct node *m = s->solver->nodes.at[to];
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
static uint32_t *node_order(struct solver *solver) {
  uint32_t *order = arena_alloc(&solver->arena, (solver->nodes.n + 1) * sizeof *order);
  for (size_t i = 0; order && i < solver->nodes.n; i++)
    order[i] = (uint32_t)i;
  if (order) qsort_r(order, solver->nodes.n, sizeof *order, by_place, solver->nodes.at);
  return order;
}

/* --- on all processors -------------------------------------------------------------------------------------------- */

/* Notes that circle K waits for the circle of each function that its own call. */
static int note_waiting(struct circles *s, uint32_t k) {
  struct circle *c = &s->circles.at[k];
  for (uint32_t i = 0; i < c->n; i++) {
    uint32_t node = s->members.at[c->first + i];
    int64_t to;
    for (uint32_t call = 0; (to = callee(s->solver, node, call)) != UINT32_MAX; call++) {
      if (to < 0 || s->solver->nodes.at[to]->circle == k) continue;
      struct circle *needed = &s->circles.at[s->solver->nodes.at[to]->circle];
      if (vec_push(&s->waiting, (struct waiting){k, needed->callers}) < 0) return -ENOMEM;
      needed->callers = (uint32_t)s->waiting.n;
      c->waits++;
    }
  }
  return c->waits ? 0 : vec_push(&s->ready, k);
}

/* With the lock held. */
static void finish(struct circles *s, uint32_t k, int r) {
  s->done++;
  for (uint32_t i = s->circles.at[k].callers; i; i = s->waiting.at[i - 1].next)
    if (--s->circles.at[s->waiting.at[i - 1].circle].waits == 0)
      s->ready.at[s->ready.n++] = s->waiting.at[i - 1].circle; /* there is room for all */
  if (r < 0 && !s->error) s->error = r;
  MUST(pthread_cond_broadcast(&s->solver->more) == 0);
}

static void solve_work(void *context, unsigned number) {
  struct circles *s = context;
  struct solver *solver = s->solver;
  struct map syscalls = {0};
  struct evaluation e = {.solver = solver, .arena = &solver->workers[number].keep, .syscalls = &syscalls};
  MUST(pthread_mutex_lock(&solver->lock) == 0);
  for (;;) {
    while (!s->ready.n && s->done < s->circles.n && !s->error)
      MUST(pthread_cond_wait(&solver->more, &solver->lock) == 0);
    if (s->done == s->circles.n || s->error) break;
    uint32_t k = s->ready.at[--s->ready.n];
    MUST(pthread_mutex_unlock(&solver->lock) == 0);
    const struct circle *c = &s->circles.at[k];
    e.circle = k;
    int r = evaluate_circle(solver, &e, s->members.at + c->first, c->n);
    MUST(pthread_mutex_lock(&solver->lock) == 0);
    finish(s, k, r);
  }
  MUST(pthread_mutex_unlock(&solver->lock) == 0);
  evaluation_done(&e);
  map_done(&syscalls);
}

/* The circles, in an order that does not depend on which worker found the functions first. */
static int find_circles(struct circles *s) {
  struct solver *solver = s->solver;
  const uint32_t *order = node_order(solver);
  int r = order ? 0 : -ENOMEM;
  for (size_t i = 0; i < solver->nodes.n; i++)
    solver->nodes.at[i]->indexed = solver->nodes.at[i]->on_stack = false;
  for (size_t i = 0; i < solver->nodes.n && r >= 0; i++)
    if (!solver->nodes.at[order[i]]->indexed) r = visit(s, order[i]);
  return r;
}

int solver_solve_results(struct solver *solver) {
  struct circles s = {.solver = solver};
  int r = find_circles(&s);
  if (r >= 0) r = vec_reserve(&s.ready, s.circles.n + 1);
  for (uint32_t k = 0; k < s.circles.n && r >= 0; k++)
    r = note_waiting(&s, k);
  if (r >= 0) {
    worker_run(solver->n_workers, solve_work, &s);
    r = s.error;
  }
  vec_done(&s.frames);
  vec_done(&s.stack);
  vec_done(&s.members);
  vec_done(&s.circles);
  vec_done(&s.waiting);
  vec_done(&s.ready);
  return r;
}
