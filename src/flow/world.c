/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All functions that matter: those asked for, and what they call, each summarised once, on all processors.
 *
 * A worker takes the next node, summarises it without any lock, and adds the functions it calls as new nodes. The
 * order in which nodes come to be does not matter for what is known of them in the end.
 */
#include "flow/world.h"
#include "flow/assume.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION_INSNS 400000
#define DECIDING_INSNS 20000
#define PROGRESS_EVERY 256

/* --- images and nodes --------------------------------------------------------------------------------------------- */

int flow_world_new(const struct flow_world_options *options, struct flow_world **ret) {
  struct flow_world *w = calloc(1, sizeof *w);
  if (!w) return -ENOMEM;
  w->options = *options;
  if (pthread_mutex_init(&w->lock, NULL) != 0) {
    free(w);
    return -ENOMEM;
  }
  if (pthread_cond_init(&w->more, NULL) != 0) {
    (void)pthread_mutex_destroy(&w->lock);
    free(w);
    return -ENOMEM;
  }
  if (flow_shared_init(&w->shared) < 0) {
    (void)pthread_cond_destroy(&w->more);
    (void)pthread_mutex_destroy(&w->lock);
    free(w);
    return -ENOMEM;
  }
  *ret = w;
  return 0;
}

int flow_world_new_kernel(const struct flow_world_options *options, const struct flow_ways *ways,
                          const struct image *img, struct flow_world **ret) {
  struct flow_world *w;
  int r = flow_world_new(options, &w);
  if (r < 0) return r;
  if (ways) w->ways = *ways;
  r = flow_world_add(w, img);
  if (r >= 0) r = code_kernel_new(img, &w->kernel);
  if (r >= 0) r = types_new(img, &w->types);
  if (r == -ENODATA) r = 0;
  if (r >= 0) r = targets_new(img, w->types, &w->ways, &w->targets);
  if (r < 0) {
    flow_world_free(w);
    return r;
  }
  *ret = w;
  return 0;
}

void flow_world_free(struct flow_world *w) {
  if (!w) return;
  for (size_t i = 0; i < w->nodes.n; i++)
    if (w->nodes.at[i]->errors) vec_done(&w->nodes.at[i]->errors->found);
  targets_free(w->targets);
  types_free(w->types);
  code_kernel_free(w->kernel);
  for (unsigned i = 0; i < w->n_workers; i++)
    flow_worker_done(&w->workers[i]);
  free(w->workers);
  vec_done(&w->images);
  vec_done(&w->nodes);
  map_done(&w->node_of);
  map_done(&w->slot_node);
  map_done(&w->deciding);
  arena_done(&w->arena);
  flow_shared_done(&w->shared);
  (void)pthread_cond_destroy(&w->more);
  (void)pthread_mutex_destroy(&w->lock);
  free(w);
}

int flow_world_add(struct flow_world *w, const struct image *img) {
  if (w->images.n >= UINT16_MAX) return -E2BIG;
  int r = vec_push(&w->images, img);
  if (r < 0) return r;
  const struct image_symbol *s = w->has_errno ? NULL : image_export(img, "errno", NULL);
  if (s && s->kind == SYMBOL_TLS) {
    w->has_errno = true;
    w->errno_image = (unsigned)w->images.n - 1;
    w->errno_offset = s->address;
  }
  return (int)w->images.n - 1;
}

bool flow_world_errno(const struct flow_world *w, unsigned *ret_image, uint64_t *ret_offset) {
  if (w->has_errno) {
    *ret_image = w->errno_image;
    *ret_offset = w->errno_offset;
  }
  return w->has_errno;
}

const struct image *flow_world_image(const struct flow_world *w, unsigned image) { return w->images.at[image]; }

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
static int node_get_for(struct flow_world *w, unsigned image, uint64_t address, bool ifunc,
                        const struct flow_assume *assume) {
  uint64_t key = node_key(image, address, ifunc), n;
  if (assume && assume->known) key = hash_mix(key ^ assume_hash(assume));
  if (map_get(&w->node_of, key, &n)) return (int)n;
  struct node *node = arena_zalloc(&w->arena, sizeof *node);
  if (!node || w->nodes.n >= INT32_MAX) return -ENOMEM;
  if (assume && assume->known) {
    node->assume = arena_memdup(&w->arena, assume, sizeof *assume);
    if (!node->assume) return -ENOMEM;
  }
  node->image = (uint16_t)image;
  node->address = address;
  node->ifunc = ifunc;
  node->depth = UINT8_MAX;
  n = w->nodes.n;
  if (vec_push(&w->nodes, node) < 0 || map_put(&w->node_of, key, n) < 0) return -ENOMEM;
  return (int)n;
}

static int node_get(struct flow_world *w, unsigned image, uint64_t address, bool ifunc) {
  return node_get_for(w, image, address, ifunc, NULL);
}

int flow_world_want(struct flow_world *w, unsigned image, uint64_t address, bool ifunc) {
  if (image >= w->images.n) return -EINVAL;
  int r = node_get(w, image, address, ifunc);
  if (r >= 0) w->nodes.at[r]->depth = 0;
  return r;
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

const struct image_symbol *world_symbol(const struct flow_world *w, unsigned image, const char *name,
                                        const char *version, unsigned *ret_image) {
  uint32_t hash = image_name_hash(name);
  const struct image_symbol *s = image_export_hashed(w->images.at[image], name, hash, version);
  *ret_image = image;
  for (unsigned i = 0; !s && i < w->images.n; i++) {
    s = image_export_hashed(w->images.at[i], name, hash, version);
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
static struct bound bind_slot(const struct flow_world *w, unsigned image, uint64_t at) {
  struct image_slot slot;
  struct bound b = {.image = image};
  if (!image_slot(w->images.at[image], at, &slot)) return b;
  b.address = slot.value;
  b.found = slot.kind == SLOT_LOCAL || slot.kind == SLOT_IFUNC;
  b.ifunc = slot.kind == SLOT_IFUNC;
  if (slot.kind != SLOT_IMPORT) return b;
  const struct image_symbol *s = world_symbol(w, image, slot.name, slot.version, &b.image);
  if (!s || (s->kind != SYMBOL_FUNCTION && s->kind != SYMBOL_IFUNC)) return b;
  return (struct bound){b.image, s->address, s->kind == SYMBOL_IFUNC, true};
}

static uint64_t slot_key(unsigned image, uint64_t at) { return hash_mix(at) + hash_mix(image + 7); }

/* With the lock held. The node that a call goes to, which is added if it is new; -ENOENT if it leads nowhere. */
static int callee_get(struct flow_world *w, unsigned image, const struct flow_call *c, const struct bound *b) {
  uint64_t n;
  if (c->kind == CALL_ADDRESS) return node_get(w, image, c->target, false);
  uint64_t key = slot_key(image, c->target);
  if (map_get(&w->slot_node, key, &n)) return n ? (int)n - 1 : -ENOENT;
  struct bound found = b ? *b : bind_slot(w, image, c->target);
  int node = found.found ? node_get(w, found.image, found.address, found.ifunc) : -ENOENT;
  if (node < 0 && node != -ENOENT) return node;
  int r = map_put(&w->slot_node, key, node < 0 ? 0 : (uint64_t)node + 1);
  return r < 0 ? r : node;
}

/* Is the call near enough for its function to be read? */
static bool is_near(const struct flow_world *w, const struct node *n, const struct flow_call *c) {
  const struct flow_reach *r = &w->options.reach;
  if (!r->value) return true;
  return (c->asked & ASKED_VALUE && n->depth < r->value) || (c->asked & ASKED_CONDITION && n->depth < r->condition) ||
         (c->asked & ASKED_MADE && n->depth < r->made);
}

int flow_world_callee(const struct flow_world *w, uint32_t node, const struct flow_call *call) {
  uint64_t n;
  unsigned image = w->nodes.at[node]->image;
  switch (call->kind) {
  case CALL_ADDRESS:
    return map_get(&w->node_of, node_key(image, call->target, false), &n) ? (int)n : -ENOENT;
  case CALL_SLOT:
    return map_get(&w->slot_node, slot_key(image, call->target), &n) && n ? (int)n - 1 : -ENOENT;
  default:
    return -ENOENT;
  }
}

/* --- workers ------------------------------------------------------------------------------------------------------ */

struct crew {
  struct flow_world *world;
  struct flow_probe *probes; /* one for each worker and image */
  bool *wanted;              /* by image: something of it is to be read */
  size_t next_image;
};

/* Does it make a system call whose number or errors depend on its own arguments? */
static bool depends_on_args(const struct flow_world *w, const struct flow_summary *s) {
  for (uint32_t i = 0; i < s->n_calls; i++) {
    const struct flow_call *c = &s->calls[i];
    if (c->kind != CALL_SYSTEM) continue;
    if (c->number.kind == VALUE_ARG) return true;
    if (c->number.kind != VALUE_CONST || !w->options.syscall_args) continue;
    unsigned deciding = w->options.syscall_args(w->options.syscalls_context, (uint32_t)c->number.value);
    for (unsigned k = 0; k < FLOW_ARGS; k++)
      if (deciding >> k & 1 && c->args[k].kind == VALUE_ARG) return true;
  }
  return false;
}

/* Adds where calls through pointers can go. With the lock held. */
static int add_pointers(struct flow_world *w, struct node *n) {
  const struct flow_summary *s = &n->summary;
  n->errors = arena_zalloc(&w->arena, sizeof *n->errors);
  if (!n->errors) return -ENOMEM;
  n->errors->pointers = arena_alloc(&w->arena, (s->n_calls + 1) * sizeof *n->errors->pointers);
  if (!n->errors->pointers) return -ENOMEM;
  for (uint32_t i = 0; i < s->n_calls; i++) {
    struct pointer_call p = {.call = i};
    if (s->calls[i].kind != CALL_POINTER || s->calls[i].n_paths == 0) continue;
    int r = targets_of_call(w->targets, n->address, s, i, &p.targets, &p.known);
    if (r < 0) return r;
    p.n = (uint32_t)r;
    n->errors->pointers[n->errors->n_pointers++] = p;
    for (uint32_t k = 0; k < p.n; k++)
      if (node_get(w, n->image, p.targets[k].function, false) < 0) return -ENOMEM;
  }
  return 0;
}

/* Which arguments matter to a function that is called with constants. */
static int learn_deciding(struct flow_world *w, struct flow_worker *worker, const struct node *n) {
  for (uint32_t i = 0; i < n->summary.n_calls; i++) {
    const struct flow_call *c = &n->summary.calls[i];
    uint64_t known = 1;
    bool constants = false;
    for (unsigned k = 0; k < FLOW_ARGS; k++)
      constants |= c->args[k].kind == VALUE_CONST;
    if (c->kind != CALL_ADDRESS || !constants) continue;
    MUST(pthread_mutex_lock(&w->lock) == 0);
    known = map_get(&w->deciding, c->target, NULL);
    MUST(pthread_mutex_unlock(&w->lock) == 0);
    if (known) continue;
    struct code code;
    struct code_options o = {.max_insns = DECIDING_INSNS, .kernel = w->kernel};
    struct arena arena = {0};
    int r = code_build(w->images.at[n->image], c->target, &o, &arena, &code);
    uint8_t args = r >= 0 && !code.problems ? flow_assume_deciding(&code, &arena) : 0;
    arena_done(&arena);
    if (r == -ENOMEM) return r;
    MUST(pthread_mutex_lock(&w->lock) == 0);
    r = map_put(&w->deciding, c->target, args);
    MUST(pthread_mutex_unlock(&w->lock) == 0);
    if (r < 0) return r;
  }
  (void)worker;
  return 0;
}

/* The constants of a call that matter to its function. */
static struct flow_assume assumed(const struct flow_world *w, const struct flow_call *c) {
  struct flow_assume a = {0};
  uint64_t deciding = 0;
  if (!map_get(&w->deciding, c->target, &deciding)) return a;
  for (unsigned k = 0; k < FLOW_ARGS; k++) {
    if (!(deciding >> k & 1) || c->args[k].kind != VALUE_CONST) continue;
    a.known |= (uint8_t)(1u << k);
    a.values[k] = c->args[k].value;
  }
  return a;
}

/* With the lock held. Each call's function for the constants that it is given. */
static int add_callees(struct flow_world *w, struct node *n) {
  n->errors->callees = arena_alloc(&w->arena, (n->summary.n_calls + 1) * sizeof *n->errors->callees);
  if (!n->errors->callees) return -ENOMEM;
  for (uint32_t i = 0; i < n->summary.n_calls; i++) {
    const struct flow_call *c = &n->summary.calls[i];
    n->errors->callees[i] = -1;
    if (c->kind != CALL_ADDRESS) continue;
    struct flow_assume a = assumed(w, c);
    int to = node_get_for(w, n->image, c->target, false, &a);
    if (to < 0) return to;
    n->errors->callees[i] = to;
  }
  return 0;
}

static int add_needs(struct flow_world *w, struct node *n, const struct bound *bounds);

/* There is a way of DEPTH calls to NODE. What it needs may be near enough now. */
static int come_near(struct flow_world *w, int node, unsigned depth) {
  struct node *n = w->nodes.at[node];
  if (!w->options.reach.value || depth >= n->depth) return 0;
  n->depth = (uint8_t)depth;
  return n->read ? add_needs(w, n, NULL) : 0;
}

/* Adds what a summary needs. With the lock held. BOUNDS: what the slots of its calls are bound to; may be NULL. */
static int add_needs(struct flow_world *w, struct node *n, const struct bound *bounds) {
  if (w->kernel) {
    int r = add_pointers(w, n);
    return r < 0 ? r : add_callees(w, n);
  }
  for (uint32_t i = 0; i < n->summary.n_calls; i++) {
    const struct flow_call *c = &n->summary.calls[i];
    if ((c->kind != CALL_ADDRESS && c->kind != CALL_SLOT) || !is_near(w, n, c)) continue;
    int r = callee_get(w, n->image, c, bounds ? &bounds[i] : NULL);
    if (r >= 0) r = come_near(w, r, n->depth + 1u);
    if (r < 0 && r != -ENOENT) return r;
  }
  for (uint32_t i = 0; n->ifunc && i < n->summary.n_outcomes; i++) {
    const struct flow_value *v = &n->summary.outcomes[i].ret;
    int r = v->kind == VALUE_ADDRESS ? node_get(w, n->image, v->value, false) : -ENOENT;
    if (r >= 0) r = come_near(w, r, n->depth);
    if (r < 0 && r != -ENOENT) return r;
  }
  return 0;
}

/* Is it a function that the calls of ordinary programs do not come to? */
static bool is_beyond(const struct flow_world *w, const struct node *n) {
  const struct image_function *f = w->ways.beyond ? image_function_at(w->images.at[n->image], n->address) : NULL;
  return f && f->name && w->ways.beyond(w->ways.context, f->name);
}

/* Is it known that it does not fail? */
static bool is_infallible(const struct flow_world *w, const struct node *n) {
  if (!w->options.infallible) return false;
  const struct image_function *f = image_function_at(w->images.at[n->image], n->address);
  return f && f->name && w->options.infallible(w->options.noreturn_context, f->name);
}

static int work_on(struct flow_world *w, struct flow_worker *worker, struct flow_probe *probe, struct node *n) {
  const struct image *img = w->images.at[n->image];
  int r = image_complete(img);
  if (r < 0 || is_beyond(w, n)) return r;
  if (is_infallible(w, n)) {
    n->summary = (struct flow_summary){.problems = FLOW_BAD_CODE};
    return 0;
  }
  probe->image = img;
  probe->kernel = w->kernel;
  probe->noreturn = w->options.noreturn;
  probe->context = w->options.noreturn_context;
  probe->shared = w->n_workers > 1 ? &w->shared : NULL;
  struct code_options o = {.max_insns = FUNCTION_INSNS, .kernel = w->kernel, .noreturn = flow_probe_noreturn};
  o.context = probe;
  r = flow_summarise(worker, img, n->address, &o, n->assume, &n->summary);
  if (probe->failed) return -ENOMEM;
  if (r == -EFAULT) {
    n->summary = (struct flow_summary){.problems = FLOW_BAD_CODE};
    return 0;
  }
  if (r < 0) return r;
  n->depends_on_args = depends_on_args(w, &n->summary);
  struct bound *bounds = arena_zalloc(&worker->scratch, (n->summary.n_calls + 1) * sizeof *bounds);
  if (!bounds) return -ENOMEM;
  for (uint32_t i = 0; i < n->summary.n_calls; i++)
    if (n->summary.calls[i].kind == CALL_SLOT) bounds[i] = bind_slot(w, n->image, n->summary.calls[i].target);
  r = w->kernel ? learn_deciding(w, worker, n) : 0;
  if (r < 0) return r;
  MUST(pthread_mutex_lock(&w->lock) == 0);
  n->read = true;
  r = add_needs(w, n, bounds);
  MUST(pthread_mutex_unlock(&w->lock) == 0);
  return r;
}

/* The next node, or NULL when there is none left and nobody can add one. */
static struct node *take(struct flow_world *w) {
  struct node *n = NULL;
  MUST(pthread_mutex_lock(&w->lock) == 0);
  while (w->next == w->nodes.n && w->active && !w->error)
    MUST(pthread_cond_wait(&w->more, &w->lock) == 0);
  if (!w->error && w->next < w->nodes.n) {
    n = w->nodes.at[w->next++];
    w->active++;
    if (w->options.progress && w->next % PROGRESS_EVERY == 0)
      w->options.progress(w->options.progress_context, w->next, w->nodes.n);
  }
  MUST(pthread_mutex_unlock(&w->lock) == 0);
  return n;
}

static void done(struct flow_world *w, int r) {
  MUST(pthread_mutex_lock(&w->lock) == 0);
  w->active--;
  if (r < 0 && !w->error) w->error = r;
  MUST(pthread_cond_broadcast(&w->more) == 0);
  MUST(pthread_mutex_unlock(&w->lock) == 0);
}

/* Images are completed by one worker each: when it is needed, a worker would wait for another that is at it. */
static void complete_images(struct crew *crew) {
  const struct flow_world *w = crew->world;
  for (size_t i; (i = __atomic_fetch_add(&crew->next_image, 1, __ATOMIC_RELAXED)) < w->images.n;)
    if (crew->wanted[i] && image_complete(w->images.at[i]) < 0) return; /* who needs it is told the same */
}

static void crew_work(void *context, unsigned worker) {
  struct crew *crew = context;
  struct flow_world *w = crew->world;
  struct node *n;
  if (w->n_workers > 1) complete_images(crew);
  while ((n = take(w)) != NULL)
    done(w, work_on(w, &w->workers[worker], &crew->probes[worker * w->images.n + n->image], n));
}

static int run_crew(struct flow_world *w) {
  struct crew crew = {.world = w};
  size_t maps = (size_t)w->n_workers * w->images.n;
  crew.probes = calloc(maps + 1, sizeof *crew.probes);
  crew.wanted = calloc(w->images.n + 1, sizeof *crew.wanted);
  if (!crew.probes || !crew.wanted) {
    free(crew.probes);
    free(crew.wanted);
    return -ENOMEM;
  }
  for (size_t i = 0; i < w->nodes.n; i++)
    crew.wanted[w->nodes.at[i]->image] = true;
  worker_run(w->n_workers, crew_work, &crew);
  for (size_t i = 0; i < maps; i++)
    flow_probe_done(&crew.probes[i]);
  free(crew.probes);
  free(crew.wanted);
  return w->error;
}

static int summarise_all(struct flow_world *w) {
  if (!w->workers) {
    unsigned n = w->options.workers ? w->options.workers : worker_count();
    w->workers = calloc(n, sizeof *w->workers);
    if (!w->workers) return -ENOMEM;
    w->n_workers = n;
    for (unsigned i = 0; i < n; i++)
      w->workers[i].brief = w->options.reach.value;
    for (unsigned i = 0; n > 1 && i < n; i++)
      w->workers[i].shared = &w->shared;
  }
  return run_crew(w);
}

int flow_world_solve(struct flow_world *w) {
  int r = summarise_all(w);
  return r < 0 ? r : world_solve(w);
}

int flow_world_solve_errors(struct flow_world *w) {
  int r = summarise_all(w);
  return r < 0 ? r : world_solve_errors(w);
}

struct flow_results flow_world_results(const struct flow_world *w, uint32_t node) {
  return w->nodes.at[node]->results;
}

const struct flow_summary *flow_world_summary(const struct flow_world *w, uint32_t node) {
  return &w->nodes.at[node]->summary;
}

void flow_world_node(const struct flow_world *w, uint32_t node, unsigned *ret_image, uint64_t *ret_address) {
  *ret_image = w->nodes.at[node]->image;
  *ret_address = w->nodes.at[node]->address;
}

struct flow_counts flow_world_counts(const struct flow_world *w) {
  struct flow_counts c = {.functions = w->nodes.n};
  for (size_t i = 0; i < w->images.n; i++)
    c.bytes += image_code_size(w->images.at[i]);
  return c;
}
