/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real functions of libraries that come and go; real.h says what is asked.
 *
 * What a caller's object was led to once stays so until one of the two is closed, as the loader would have it: a
 * library that is opened later must not change it. In front of these bindings stands a table by return address, so that
 * a call need not find out which object it comes from.
 */
#include "real.h"

#include "link.h"
#include "object.h"
#include "scope.h"
#include "system.h"

#define BINDINGS 512
#define RECENT 512
#define NO_FUNCTION UINT32_MAX

/* A record that any thread may read and write. `turn` is odd while it is written, and 0 if it never was. */
struct binding {
  uint64_t turn;
  uint32_t function;
  struct rt_object caller, in;
  uint64_t real;
};
struct recent {
  uint64_t turn;
  uint64_t pc, what; /* what: generation << 32 | function */
  uint64_t real;
};

static struct binding bindings[BINDINGS];
static struct recent recent[RECENT];
static uint64_t generation; /* of what is in `recent` */

/* The caller that stands for all that have no function of the name themselves. */
static const struct rt_object anybody = {.start = 1};

/* False if another thread, or a call that this one interrupts, is writing. */
static bool begin_write(uint64_t *turn) {
  uint64_t now = rt_load(turn);
  return !(now & 1) && rt_swap_if(turn, &now, now + 1);
}

static void end_write(uint64_t *turn) { rt_store(turn, *turn + 1); }

static const struct wire_function *function_at(uint32_t i) { return &rt_array(functions, struct wire_function)[i]; }
static const char *name_of(uint32_t i) { return rt_text(function_at(i)->name); }
static const char *version_of(uint32_t i) { return function_at(i)->version ? rt_text(function_at(i)->version) : NULL; }

/* The symbol that is looked for by its address, and what it stands for. */
struct early {
  uint64_t stub, real;
};

static void find_early(const char *name, const char *version, uint64_t address, void *context) {
  struct early *e = context;
  if (address != e->stub || e->real != 0) return;
  e->real = rt_link_real(name, *version ? version : NULL);
  if (e->real == 0) e->real = rt_link_before(name);
}

uint64_t rt_real_early(uint32_t index) {
  struct early e = {.stub = rt.entries[index].stub};
  const struct link_map *shim = rt_link_shim();
  /* While the program starts the list is whole, though the loader does not say so yet. */
  if (shim && (rt_load(&rt.ready) < RT_OFF || rt_link_settled())) rt_link_each(shim, find_early, &e);
  return e.real;
}

void rt_real_start(void) {
  for (uint32_t i = 0; i < rt.plan->functions.n; i++)
    rt.entries[i].real = rt_link_real(name_of(i), version_of(i));
}

/* --- bindings ----------------------------------------------------------------------------------------------------- */

/* A copy that is of one piece; false if there is nothing. */
static bool read_binding(const struct binding *b, struct binding *ret) {
  uint64_t turn = rt_load(&b->turn);
  if (turn == 0 || turn & 1) return false;
  *ret = *b;
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return rt_load(&b->turn) == turn && ret->function != NO_FUNCTION;
}

static uint64_t bound(uint32_t function, const struct rt_object *caller) {
  struct binding b;
  for (uint32_t i = 0; i < BINDINGS && rt_load(&bindings[i].turn) != 0; i++)
    if (read_binding(&bindings[i], &b) && b.function == function && rt_object_same(&b.caller, caller)) return b.real;
  return 0;
}

/* If there is no room, it will have to be found again. */
static void bind(uint32_t function, const struct rt_object *caller, uint64_t real) {
  struct rt_object in = rt_object_at(real);
  for (uint32_t i = 0; i < BINDINGS; i++) {
    struct binding *b = &bindings[i], other;
    if (read_binding(b, &other) || !begin_write(&b->turn)) continue;
    bool first = b->turn == 1 || b->function == NO_FUNCTION;
    if (first) {
      b->function = function;
      b->caller = *caller;
      b->in = in;
      b->real = real;
    }
    end_write(&b->turn);
    if (first) return;
  }
}

static bool still_there(const struct rt_object *o) {
  if (!o->map) return true;
  struct rt_object now = rt_object_at(o->start);
  return rt_object_same(o, &now);
}

void rt_real_changed(void) {
  struct binding b;
  for (uint32_t i = 0; i < BINDINGS && rt_load(&bindings[i].turn) != 0; i++) {
    if (!read_binding(&bindings[i], &b) || (b.in.map && still_there(&b.caller) && still_there(&b.in))) continue;
    if (!begin_write(&bindings[i].turn)) continue;
    bindings[i].function = NO_FUNCTION;
    end_write(&bindings[i].turn);
  }
  (void)rt_add(&generation, 1);
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

/*
 * For a caller in whose scope there is none (it has a pointer from dlsym, or jumped here in place of a call, so that
 * the return address is another's), it is the one that was asked for, else the first that there is. The loader's list
 * is walked for that, if nobody is changing it; that somebody begins to meanwhile cannot be ruled out.
 */
uint64_t rt_real_for(uint32_t function, uint64_t pc) {
  struct rt_object caller = rt_object_at(pc);
  uint64_t real = bound(function, &caller);
  if (real != 0) return real;
  real = rt_scope_symbol(caller.map, name_of(function), version_of(function));
  if (real != 0) {
    bind(function, &caller, real);
    return real;
  }
  real = bound(function, &anybody);
  return real == 0 && rt_link_settled() ? rt_link_real(name_of(function), version_of(function)) : real;
}

uint64_t rt_real_late(const struct rt_call *c) {
  uint64_t pc = rt_return_address(c) - 1, what = rt_load(&generation) << 32 | c->index;
  struct recent *r = &recent[(pc ^ pc >> 9 ^ c->index * 37) % RECENT];
  uint64_t turn = rt_load(&r->turn), real = r->real;
  bool known = !(turn & 1) && r->pc == pc && r->what == what;
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  if (known && rt_load(&r->turn) == turn) return real;
  real = rt_real_for((uint32_t)c->index, pc);
  if (real == 0 || !begin_write(&r->turn)) return real;
  r->pc = pc;
  r->what = what;
  r->real = real;
  end_write(&r->turn);
  return real;
}

bool rt_real_exists(uint32_t function, uint64_t pc) {
  struct rt_object caller = rt_object_at(pc);
  return !rt_scope_known() || rt_scope_symbol(caller.map, name_of(function), version_of(function)) != 0;
}

bool rt_real_asked(uint32_t function, uint64_t address) {
  if (bound(function, &anybody) == 0) bind(function, &anybody, address);
  return bound(function, &anybody) == address;
}
