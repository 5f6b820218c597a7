/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All functions that matter: those asked for, and what they call, each summarised once, on all processors.
 *
 * A worker takes the next node, summarises it without any lock, and adds the functions it calls as new nodes. The
 * order in which nodes come to be does not matter for what is known of them in the end.
 */
#include "solver/node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION_INSNS 400000
#define DECIDING_INSNS 20000
#define PROGRESS_EVERY 256

/* --- images and nodes --------------------------------------------------------------------------------------------- */

int solver_new(const struct solver_options *options, struct solver **ret) {
  struct solver *solver = calloc(1, sizeof *solver);
  if (!solver) return -ENOMEM;
  solver->options = *options;
  if (pthread_mutex_init(&solver->lock, NULL) != 0) {
    free(solver);
    return -ENOMEM;
  }
  if (pthread_cond_init(&solver->more, NULL) != 0) {
    (void)pthread_mutex_destroy(&solver->lock);
    free(solver);
    return -ENOMEM;
  }
  if (flow_shared_init(&solver->shared) < 0) {
    (void)pthread_cond_destroy(&solver->more);
    (void)pthread_mutex_destroy(&solver->lock);
    free(solver);
    return -ENOMEM;
  }
  *ret = solver;
  return 0;
}

int solver_new_kernel(const struct solver_options *options, const struct solver_ways *ways, const struct image *img,
                      struct solver **ret) {
  struct solver *solver;
  int r = solver_new(options, &solver);
  if (r < 0) return r;
  if (ways) solver->ways = *ways;
  r = solver_add(solver, img);
  if (r >= 0) r = code_kernel_new(img, &solver->kernel);
  if (r >= 0) r = types_new(img, &solver->types);
  if (r == -ENODATA) r = 0;
  if (r >= 0) r = targets_new(img, solver->types, &solver->ways, &solver->targets);
  if (r < 0) {
    solver_free(solver);
    return r;
  }
  *ret = solver;
  return 0;
}

void solver_free(struct solver *solver) {
  if (!solver) return;
  for (size_t i = 0; i < solver->nodes.n; i++)
    if (solver->nodes.at[i]->errors) vec_done(&solver->nodes.at[i]->errors->found);
  targets_free(solver->targets);
  types_free(solver->types);
  code_kernel_free(solver->kernel);
  for (unsigned i = 0; i < solver->n_workers; i++)
    flow_worker_done(&solver->workers[i]);
  free(solver->workers);
  vec_done(&solver->images);
  vec_done(&solver->nodes);
  map_done(&solver->node_of);
  map_done(&solver->slot_node);
  map_done(&solver->deciding);
  arena_done(&solver->arena);
  flow_shared_done(&solver->shared);
  (void)pthread_cond_destroy(&solver->more);
  (void)pthread_mutex_destroy(&solver->lock);
  free(solver);
}

int solver_add(struct solver *solver, const struct image *img) {
  if (solver->images.n >= UINT16_MAX) return -E2BIG;
  int r = vec_push(&solver->images, img);
  if (r < 0) return r;
  const struct image_symbol *s = solver->has_errno ? NULL : image_export(img, "errno", NULL);
  if (s && s->kind == SYMBOL_TLS) {
    solver->has_errno = true;
    solver->errno_image = (unsigned)solver->images.n - 1;
    solver->errno_offset = s->address;
  }
  return (int)solver->images.n - 1;
}

bool solver_errno(const struct solver *solver, unsigned *ret_image, uint64_t *ret_offset) {
  if (solver->has_errno) {
    *ret_image = solver->errno_image;
    *ret_offset = solver->errno_offset;
  }
  return solver->has_errno;
}

const struct image *solver_image(const struct solver *solver, unsigned image) { return solver->images.at[image]; }

static uint64_t node_key(unsigned image, uint64_t address, bool ifunc) {
  return hash_mix(address * 2 + ifunc) + hash_mix(image + 1);
}

static uint64_t assume_hash(const struct flow_assume *a) {
  uint64_t h = a->known;
  for (unsigned k = 0; k < FLOW_ARGS; k++)
    if (a->known >> k & 1) h = hash_mix(h ^ a->values[k]) + k;
  return h;
}

/* With the lock held, or before there are workers. ASSUME may be NULL. */
static int node_get_for(struct solver *solver, unsigned image, uint64_t address, bool ifunc,
                        const struct flow_assume *assume) {
  uint64_t key = node_key(image, address, ifunc), n;
  if (assume && assume->known) key = hash_mix(key ^ assume_hash(assume));
  if (map_get(&solver->node_of, key, &n)) return (int)n;
  struct node *node = arena_zalloc(&solver->arena, sizeof *node);
  if (!node || solver->nodes.n >= INT32_MAX) return -ENOMEM;
  if (assume && assume->known) {
    node->assume = arena_memdup(&solver->arena, assume, sizeof *assume);
    if (!node->assume) return -ENOMEM;
  }
  node->image = (uint16_t)image;
  node->address = address;
  node->ifunc = ifunc;
  node->depth = UINT8_MAX;
  n = solver->nodes.n;
  if (vec_push(&solver->nodes, node) < 0 || map_put(&solver->node_of, key, n) < 0) return -ENOMEM;
  return (int)n;
}

static int node_get(struct solver *solver, unsigned image, uint64_t address, bool ifunc) {
  return node_get_for(solver, image, address, ifunc, NULL);
}

int solver_want(struct solver *solver, unsigned image, uint64_t address, bool ifunc) {
  if (image >= solver->images.n) return -EINVAL;
  int r = node_get(solver, image, address, ifunc);
  if (r >= 0) solver->nodes.at[r]->depth = 0;
  return r;
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

const struct image_symbol *solver_symbol(const struct solver *solver, unsigned image, const char *name,
                                         const char *version, unsigned *ret_image) {
  uint32_t hash = image_name_hash(name);
  const struct image_symbol *s = image_export_hashed(solver->images.at[image], name, hash, version);
  *ret_image = image;
  for (unsigned i = 0; !s && i < solver->images.n; i++) {
    s = image_export_hashed(solver->images.at[i], name, hash, version);
    *ret_image = i;
  }
  return s;
}

struct bound {
  unsigned image;
  uint64_t address;
  bool ifunc, found;
};

/* What a slot is bound to; needs no lock. */
static struct bound bind_slot(const struct solver *solver, unsigned image, uint64_t at) {
  struct image_slot slot;
  struct bound b = {.image = image};
  if (!image_slot(solver->images.at[image], at, &slot)) return b;
  b.address = slot.value;
  b.found = slot.kind == SLOT_LOCAL || slot.kind == SLOT_IFUNC;
  b.ifunc = slot.kind == SLOT_IFUNC;
  if (slot.kind != SLOT_IMPORT) return b;
  const struct image_symbol *s = solver_symbol(solver, image, slot.name, slot.version, &b.image);
  if (!s || (s->kind != SYMBOL_FUNCTION && s->kind != SYMBOL_IFUNC)) return b;
  return (struct bound){b.image, s->address, s->kind == SYMBOL_IFUNC, true};
}

static uint64_t slot_key(unsigned image, uint64_t at) { return hash_mix(at) + hash_mix(image + 7); }

/* With the lock held. The node that a call goes to, which is added if it is new; -ENOENT if it leads nowhere. */
static int callee_get(struct solver *solver, unsigned image, const struct flow_call *c, const struct bound *b) {
  uint64_t n;
  if (c->kind == CALL_ADDRESS) return node_get(solver, image, c->target, false);
  uint64_t key = slot_key(image, c->target);
  if (map_get(&solver->slot_node, key, &n)) return n ? (int)n - 1 : -ENOENT;
  struct bound found = b ? *b : bind_slot(solver, image, c->target);
  int node = found.found ? node_get(solver, found.image, found.address, found.ifunc) : -ENOENT;
  if (node < 0 && node != -ENOENT) return node;
  int r = map_put(&solver->slot_node, key, node < 0 ? 0 : (uint64_t)node + 1);
  return r < 0 ? r : node;
}

/* Is the call near enough for its function to be read? */
static bool is_near(const struct solver *solver, const struct node *n, const struct flow_call *c) {
  const struct solver_reach *r = &solver->options.reach;
  if (!r->value) return true;
  return (c->asked & ASKED_VALUE && n->depth < r->value) || (c->asked & ASKED_CONDITION && n->depth < r->condition) ||
         (c->asked & ASKED_MADE && n->depth < r->made);
}

int solver_callee(const struct solver *solver, uint32_t node, const struct flow_call *call) {
  uint64_t n;
  unsigned image = solver->nodes.at[node]->image;
  switch (call->kind) {
  case CALL_ADDRESS:
    return map_get(&solver->node_of, node_key(image, call->target, false), &n) ? (int)n : -ENOENT;
  case CALL_SLOT:
    return map_get(&solver->slot_node, slot_key(image, call->target), &n) && n ? (int)n - 1 : -ENOENT;
  default:
    return -ENOENT;
  }
}

/* --- workers ------------------------------------------------------------------------------------------------------ */

struct crew {
  struct solver *solver;
  struct flow_probe *probes; /* one for each worker and image */
  bool *wanted;              /* by image: something of it is to be read */
  size_t next_image;
};

/* Does it make a system call whose number or errors depend on its own arguments? */
static bool depends_on_args(const struct solver *solver, const struct flow_summary *s) {
  for (uint32_t i = 0; i < s->n_calls; i++) {
    const struct flow_call *c = &s->calls[i];
    if (c->kind != CALL_SYSTEM) continue;
    if (c->number.kind == VALUE_ARG) return true;
    if (c->number.kind != VALUE_CONST || !solver->options.syscall_args) continue;
    unsigned deciding = solver->options.syscall_args(solver->options.syscalls_context, (uint32_t)c->number.value);
    for (unsigned k = 0; k < FLOW_ARGS; k++)
      if (deciding >> k & 1 && c->args[k].kind == VALUE_ARG) return true;
  }
  return false;
}

/* Adds where calls through pointers can go. With the lock held. */
static int add_pointers(struct solver *solver, struct node *n) {
  const struct flow_summary *s = &n->summary;
  n->errors = arena_zalloc(&solver->arena, sizeof *n->errors);
  if (!n->errors) return -ENOMEM;
  n->errors->pointers = arena_alloc(&solver->arena, (s->n_calls + 1) * sizeof *n->errors->pointers);
  if (!n->errors->pointers) return -ENOMEM;
  for (uint32_t i = 0; i < s->n_calls; i++) {
    struct pointer_call p = {.call = i};
    if (s->calls[i].kind != CALL_POINTER || s->calls[i].n_paths == 0) continue;
    int r = targets_of_call(solver->targets, n->address, s, i, &p.targets, &p.known);
    if (r < 0) return r;
    p.n = (uint32_t)r;
    n->errors->pointers[n->errors->n_pointers++] = p;
    for (uint32_t k = 0; k < p.n; k++)
      if (node_get(solver, n->image, p.targets[k].function, false) < 0) return -ENOMEM;
  }
  return 0;
}

/* Which arguments matter to a function that is called with constants. */
static int learn_deciding(struct solver *solver, struct flow_worker *worker, const struct node *n) {
  for (uint32_t i = 0; i < n->summary.n_calls; i++) {
    const struct flow_call *c = &n->summary.calls[i];
    uint64_t known = 1;
    bool constants = false;
    for (unsigned k = 0; k < FLOW_ARGS; k++)
      constants |= c->args[k].kind == VALUE_CONST;
    if (c->kind != CALL_ADDRESS || !constants) continue;
    MUST(pthread_mutex_lock(&solver->lock) == 0);
    known = map_get(&solver->deciding, c->target, NULL);
    MUST(pthread_mutex_unlock(&solver->lock) == 0);
    if (known) continue;
    struct code code;
    struct code_options o = {.max_insns = DECIDING_INSNS, .kernel = solver->kernel};
    struct arena arena = {0};
    int r = code_build(solver->images.at[n->image], c->target, &o, &arena, &code);
    uint8_t args = r >= 0 && !code.problems ? flow_assume_deciding(&code, &arena) : 0;
    arena_done(&arena);
    if (r == -ENOMEM) return r;
    MUST(pthread_mutex_lock(&solver->lock) == 0);
    r = map_put(&solver->deciding, c->target, args);
    MUST(pthread_mutex_unlock(&solver->lock) == 0);
    if (r < 0) return r;
  }
  (void)worker;
  return 0;
}

/* The constants of a call that matter to its function. */
static struct flow_assume assumed(const struct solver *solver, const struct flow_call *c) {
  struct flow_assume a = {0};
  uint64_t deciding = 0;
  if (!map_get(&solver->deciding, c->target, &deciding)) return a;
  for (unsigned k = 0; k < FLOW_ARGS; k++) {
    if (!(deciding >> k & 1) || c->args[k].kind != VALUE_CONST) continue;
    a.known |= (uint8_t)(1u << k);
    a.values[k] = c->args[k].value;
  }
  return a;
}

/* With the lock held. Each call's function for the constants that it is given. */
static int add_callees(struct solver *solver, struct node *n) {
  n->errors->callees = arena_alloc(&solver->arena, (n->summary.n_calls + 1) * sizeof *n->errors->callees);
  if (!n->errors->callees) return -ENOMEM;
  for (uint32_t i = 0; i < n->summary.n_calls; i++) {
    const struct flow_call *c = &n->summary.calls[i];
    n->errors->callees[i] = -1;
    if (c->kind != CALL_ADDRESS) continue;
    struct flow_assume a = assumed(solver, c);
    int to = node_get_for(solver, n->image, c->target, false, &a);
    if (to < 0) return to;
    n->errors->callees[i] = to;
  }
  return 0;
}

static int add_needs(struct solver *solver, struct node *n, const struct bound *bounds);

/* There is a way of DEPTH calls to NODE. What it needs may be near enough now. */
static int come_near(struct solver *solver, int node, unsigned depth) {
  struct node *n = solver->nodes.at[node];
  if (!solver->options.reach.value || depth >= n->depth) return 0;
  n->depth = (uint8_t)depth;
  return n->read ? add_needs(solver, n, NULL) : 0;
}

/* Adds what a summary needs. With the lock held. BOUNDS: what the slots of its calls are bound to; may be NULL. */
static int add_needs(struct solver *solver, struct node *n, const struct bound *bounds) {
  if (solver->kernel) {
    int r = add_pointers(solver, n);
    return r < 0 ? r : add_callees(solver, n);
  }
  for (uint32_t i = 0; i < n->summary.n_calls; i++) {
    const struct flow_call *c = &n->summary.calls[i];
    if ((c->kind != CALL_ADDRESS && c->kind != CALL_SLOT) || !is_near(solver, n, c)) continue;
    int r = callee_get(solver, n->image, c, bounds ? &bounds[i] : NULL);
    if (r >= 0) r = come_near(solver, r, n->depth + 1u);
    if (r < 0 && r != -ENOENT) return r;
  }
  for (uint32_t i = 0; n->ifunc && i < n->summary.n_outcomes; i++) {
    const struct flow_value *v = &n->summary.outcomes[i].ret;
    int r = v->kind == VALUE_ADDRESS ? node_get(solver, n->image, v->value, false) : -ENOENT;
    if (r >= 0) r = come_near(solver, r, n->depth);
    if (r < 0 && r != -ENOENT) return r;
  }
  return 0;
}

/* Is it a function that the calls of ordinary programs do not come to? */
static bool is_beyond(const struct solver *solver, const struct node *n) {
  const struct image_function *f =
      solver->ways.beyond ? image_function_at(solver->images.at[n->image], n->address) : NULL;
  return f && f->name && solver->ways.beyond(solver->ways.context, f->name);
}

/* Is it known that it does not fail? */
static bool is_infallible(const struct solver *solver, const struct node *n) {
  if (!solver->options.infallible) return false;
  const struct image_function *f = image_function_at(solver->images.at[n->image], n->address);
  return f && f->name && solver->options.infallible(solver->options.noreturn_context, f->name);
}

static int work_on(struct solver *solver, struct flow_worker *worker, struct flow_probe *probe, struct node *n) {
  const struct image *img = solver->images.at[n->image];
  int r = image_complete(img);
  if (r < 0 || is_beyond(solver, n)) return r;
  if (is_infallible(solver, n)) {
    n->summary = (struct flow_summary){.problems = FLOW_BAD_CODE};
    return 0;
  }
  probe->image = img;
  probe->kernel = solver->kernel;
  probe->noreturn = solver->options.noreturn;
  probe->context = solver->options.noreturn_context;
  probe->shared = solver->n_workers > 1 ? &solver->shared : NULL;
  struct code_options o = {.max_insns = FUNCTION_INSNS, .kernel = solver->kernel, .noreturn = flow_probe_noreturn};
  o.context = probe;
  r = flow_summarise(worker, img, n->address, &o, n->assume, &n->summary);
  if (probe->failed) return -ENOMEM;
  if (r == -EFAULT) {
    n->summary = (struct flow_summary){.problems = FLOW_BAD_CODE};
    return 0;
  }
  if (r < 0) return r;
  n->depends_on_args = depends_on_args(solver, &n->summary);
  struct bound *bounds = arena_zalloc(&worker->scratch, (n->summary.n_calls + 1) * sizeof *bounds);
  if (!bounds) return -ENOMEM;
  for (uint32_t i = 0; i < n->summary.n_calls; i++)
    if (n->summary.calls[i].kind == CALL_SLOT) bounds[i] = bind_slot(solver, n->image, n->summary.calls[i].target);
  r = solver->kernel ? learn_deciding(solver, worker, n) : 0;
  if (r < 0) return r;
  MUST(pthread_mutex_lock(&solver->lock) == 0);
  n->read = true;
  r = add_needs(solver, n, bounds);
  MUST(pthread_mutex_unlock(&solver->lock) == 0);
  return r;
}

/* The next node, or NULL when there is none left and nobody can add one. */
static struct node *take(struct solver *solver) {
  struct node *n = NULL;
  MUST(pthread_mutex_lock(&solver->lock) == 0);
  while (solver->next == solver->nodes.n && solver->active && !solver->error)
    MUST(pthread_cond_wait(&solver->more, &solver->lock) == 0);
  if (!solver->error && solver->next < solver->nodes.n) {
    n = solver->nodes.at[solver->next++];
    solver->active++;
    if (solver->options.progress && solver->next % PROGRESS_EVERY == 0)
      solver->options.progress(solver->options.progress_context, solver->next, solver->nodes.n);
  }
  MUST(pthread_mutex_unlock(&solver->lock) == 0);
  return n;
}

static void done(struct solver *solver, int r) {
  MUST(pthread_mutex_lock(&solver->lock) == 0);
  solver->active--;
  if (r < 0 && !solver->error) solver->error = r;
  MUST(pthread_cond_broadcast(&solver->more) == 0);
  MUST(pthread_mutex_unlock(&solver->lock) == 0);
}

/* Images are completed by one worker each: when it is needed, a worker would wait for another that is at it. */
static void complete_images(struct crew *crew) {
  const struct solver *solver = crew->solver;
  for (size_t i; (i = __atomic_fetch_add(&crew->next_image, 1, __ATOMIC_RELAXED)) < solver->images.n;)
    if (crew->wanted[i] && image_complete(solver->images.at[i]) < 0) return; /* who needs it is told the same */
}

static void crew_work(void *context, unsigned worker) {
  struct crew *crew = context;
  struct solver *solver = crew->solver;
  struct node *n;
  if (solver->n_workers > 1) complete_images(crew);
  while ((n = take(solver)) != NULL)
    done(solver, work_on(solver, &solver->workers[worker], &crew->probes[worker * solver->images.n + n->image], n));
}

static int run_crew(struct solver *solver) {
  struct crew crew = {.solver = solver};
  size_t maps = (size_t)solver->n_workers * solver->images.n;
  crew.probes = calloc(maps + 1, sizeof *crew.probes);
  crew.wanted = calloc(solver->images.n + 1, sizeof *crew.wanted);
  if (!crew.probes || !crew.wanted) {
    free(crew.probes);
    free(crew.wanted);
    return -ENOMEM;
  }
  for (size_t i = 0; i < solver->nodes.n; i++)
    crew.wanted[solver->nodes.at[i]->image] = true;
  worker_run(solver->n_workers, crew_work, &crew);
  for (size_t i = 0; i < maps; i++)
    flow_probe_done(&crew.probes[i]);
  free(crew.probes);
  free(crew.wanted);
  return solver->error;
}

static int summarise_all(struct solver *solver) {
  if (!solver->workers) {
    unsigned n = solver->options.workers ? solver->options.workers : worker_count();
    solver->workers = calloc(n, sizeof *solver->workers);
    if (!solver->workers) return -ENOMEM;
    solver->n_workers = n;
    for (unsigned i = 0; i < n; i++)
      solver->workers[i].brief = solver->options.reach.value;
    for (unsigned i = 0; n > 1 && i < n; i++)
      solver->workers[i].shared = &solver->shared;
  }
  return run_crew(solver);
}

int solver_run(struct solver *solver) {
  int r = summarise_all(solver);
  return r < 0 ? r : solver_solve_results(solver);
}

int solver_run_errors(struct solver *solver) {
  int r = summarise_all(solver);
  return r < 0 ? r : solver_solve_errors(solver);
}

struct solver_results solver_results_of(const struct solver *solver, uint32_t node) {
  return solver->nodes.at[node]->results;
}

const struct flow_summary *solver_summary(const struct solver *solver, uint32_t node) {
  return &solver->nodes.at[node]->summary;
}

void solver_node(const struct solver *solver, uint32_t node, unsigned *ret_image, uint64_t *ret_address) {
  *ret_image = solver->nodes.at[node]->image;
  *ret_address = solver->nodes.at[node]->address;
}

struct solver_counts solver_count(const struct solver *solver) {
  struct solver_counts c = {.functions = solver->nodes.n};
  for (size_t i = 0; i < solver->images.n; i++)
    c.bytes += image_code_size(solver->images.at[i]);
  return c;
}
