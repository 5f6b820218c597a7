/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the runtime comes to be ready: by the shim's initialiser, or by the first call through a gate, if some other
 * library's initialiser makes one before. All relocations are done by then.
 *
 * If the plan, the shim or the area is not as it should be, calls go straight to the real functions from then on.
 */
#include "act.h"
#include "aim.h"
#include "ask.h"
#include "rt_condition.h"
#include "count.h"
#include "decide.h"
#include "environment.h"
#include "events.h"
#include "fault.h"
#include "guard.h"
#include "hooks.h"
#include "link.h"
#include "operand.h"
#include "process.h"
#include "real.h"
#include "server.h"
#include "stack.h"
#include "start.h"
#include "system.h"
#include "terms.h"

/* What enter.S takes for granted. */
_Static_assert(offsetof(struct rt_call, rax) == 48 && offsetof(struct rt_call, r10) == 56, "enter.S");
_Static_assert(offsetof(struct rt_call, rbp) == 64 && offsetof(struct rt_call, index) == 72, "enter.S");
_Static_assert(offsetof(struct rt_call, real) == 80 && offsetof(struct rt_call, retval) == 88, "enter.S");
_Static_assert(offsetof(struct rt_call, rdx) == 96 && offsetof(struct rt_call, sp) == 128, "enter.S");
_Static_assert(offsetof(struct rt_call, words) == 136, "enter.S");
_Static_assert(offsetof(struct rt_call, number) == 104 && offsetof(struct rt_call, term) == 144, "enter.S");
_Static_assert(offsetof(struct rt_call, question) == 152 && offsetof(struct rt_call, error) == 160, "enter.S");
_Static_assert(offsetof(struct rt_call, told) == 168 && sizeof(struct rt_call) == 208, "enter.S");
_Static_assert(offsetof(struct rt, ready) == 0 && RT_OFF == 2 && RT_RETURN_FP == 2 && RT_THEN == 3, "enter.S");
_Static_assert(RT_ASK == 4 && offsetof(struct rt, busy) == 4 && offsetof(struct rt, functions) == 24, "enter.S");
_Static_assert(offsetof(struct rt_function, real) == 40 && offsetof(struct rt_function, ask) == 48, "enter.S");
_Static_assert(offsetof(struct rt_function, terms) == 56 && sizeof(struct rt_term) == 8, "enter.S");
_Static_assert(offsetof(struct rt_term, next) == 4 && WIRE_OP_ASK == 52, "enter.S");
_Static_assert(offsetof(struct rt_self, mine) == 0 && offsetof(struct rt_self, mark) == 8, "enter.S");
_Static_assert(offsetof(struct rt_self, asking) == 16, "enter.S");

/* Calls for which a rule asks more than their number, before and behind which only that counts. */
#define FEW 64

struct rt rt = {.busy = RT_BUSY_OFF};
extern struct wire_shim murphy_shim __attribute__((weak));

/* Which function's rules use a slot: marks both functions if there are two. */
static void own_slot(uint32_t *owners, uint32_t slot, uint32_t function) {
  uint32_t owner = owners[slot];
  owners[slot] = function + 1;
  if (owner != 0 && owner != function + 1) rt.functions[function].shared = rt.functions[owner - 1].shared = 1;
}

/* Where points are recorded the kernel is asked about each: has the program forbidden that? */
static bool may_filter(uint32_t hook) {
  return rt.plan->flags & WIRE_POINTS && (hook == WIRE_HOOK_CONTROL || hook == WIRE_HOOK_RAW);
}

/* What the runtime itself has to do at its calls. Some of it is for a trunk, which only a fork server can become. */
static uint16_t hook_of(const struct wire_function *f) {
  bool server = rt_load(&rt.area->server.version) == WIRE_SERVER_VERSION;
  bool left_out = !server && wire_hook_is_trunks((enum wire_hook)f->hook) && !may_filter(f->hook);
  return left_out ? WIRE_HOOK_NONE : f->hook;
}

/* How a function's calls are counted, from what its rules ask. */
static void learn_rules(uint32_t function, uint32_t *owners) {
  const struct wire_function *f = &rt_array(functions, struct wire_function)[function];
  bool counts = true, asks = false, unused = false;
  for (uint32_t i = 0; i < f->n_rules; i++) {
    const struct wire_rule *r = &rt_array(rules, struct wire_rule)[f->rule + i];
    counts &= rt_only_counts(r->code) || (r->last - r->first < FEW && rt_only_looks(r->code));
    asks |= rt_asks_number(r->code);
    unused |= r->flags & WIRE_UNUSED;
    const uint32_t *at = rt_array(code, uint32_t) + (r->code == WIRE_NO_CODE ? 0 : r->code);
    for (; r->code != WIRE_NO_CODE && (*at & 0xff) != WIRE_OP_END; at++) {
      uint32_t op = *at & 0xff;
      /* What is asked outside has a state that nobody here sees. */
      if (op == WIRE_OP_ASK) rt.functions[function].shared = 1;
      if (op == WIRE_OP_NEXT || op == WIRE_OP_ONCE || op == WIRE_OP_RANDOM) own_slot(owners, *at >> 8, function);
    }
  }
  rt.functions[function].hook = hook_of(f);
  bool seen = rt.plan->flags & (WIRE_COUNT | WIRE_POINTS) || rt.functions[function].hook != WIRE_HOOK_NONE;
  /* Where nothing asks for the number there is no piece of numbers to grant. */
  bool granted = counts && asks && !unused && !seen;
  rt.functions[function].how = granted ? RT_GRANTED : asks ? RT_ONE : RT_TALLY;
  rt.functions[function].real = rt.functions[function].how == RT_TALLY ? rt.entries[function].real : 0;
  rt.functions[function].rule = f->rule;
  rt.functions[function].n_rules = f->n_rules;
  rt_guard_learn(function);
  rt_terms_learn(&rt.functions[function]);
}

static bool plan_good(void) {
  const struct wire_shim *s = rt.shim;
  rt.plan = (const struct wire_plan *)s->plan;
  if (s->magic != WIRE_SHIM_MAGIC || s->version != WIRE_VERSION) return false;
  return !wire_plan_check(rt.plan, s->plan_size) && rt.plan->functions.n == s->n;
}

/* Memory for what is kept about functions, terms and slots; the last part is needed only while rules are learnt. */
static uint32_t *make_room(uint32_t functions, uint32_t slots) {
  size_t size = functions * sizeof(struct rt_function), terms = rt_terms_room();
  char *p = rt_map(size + terms + slots * (sizeof(uint64_t) + sizeof(uint32_t)) + 1);
  if (!p) return NULL;
  rt.functions = (struct rt_function *)p;
  rt_terms_start(p + size);
  rt.slots = (uint64_t *)(p + size + terms);
  return (uint32_t *)(rt.slots + slots);
}

static bool get_ready(void) {
  uint32_t n = rt.plan->functions.n;
  rt.rules = rt_array(rules, struct wire_rule);
  rt.code = rt_array(code, uint32_t);
  rt.numbers = rt_array(numbers, int64_t);
  uint32_t *owners = make_room(n, rt.plan->slots);
  if (!rt_area_start() || !owners || !rt_count_start(n)) return false;
  for (uint32_t i = 0; i < n; i++)
    learn_rules(i, owners);
  rt_process_start();
  rt_fault_start();
  rt_act_start();
  rt_operand_start();
  rt_hook_start();
  rt_stack_start();
  rt.shim->thread = rt_count_thread_offset();
  bool counts = rt.plan->flags & WIRE_COUNT && rt.area->counts.n > 0;
  rt.busy = (counts ? RT_BUSY_COUNT : 0) | (rt.plan->flags & WIRE_POINTS ? RT_BUSY_POINTS : 0);
  rt_server_start();
  return true;
}

/* --- without faults ----------------------------------------------------------------------------------------------- */

static void count_stub(const char *name, const char *version, uint64_t address, void *n) {
  (void)name, (void)version;
  *(uint32_t *)n += address != (uint64_t)rt.shim;
}

/*
 * The runtime knows where glibc has what belongs to a thread and to a stream. A program with another libc that is
 * followed into is left alone.
 */
static bool alien;
static bool is_alien(void) { return rt_link_any("gnu_get_libc_version") == 0; }

/*
 * All calls go to the real functions from now on. What is wrong may be anything in plan and table, so that names and
 * number of the stubs are taken from the shim's symbols. An entry is believed to be one if it knows its stub.
 */
static void refuse(void) {
  if (alien && rt_area_start())
    (void)rt_add(&rt.area->unreached, 1);
  else if (rt.area)
    (void)rt_add(&rt.area->refused, 1);
  rt.busy = RT_BUSY_OFF;
  rt.plan = NULL;
  const struct link_map *shim = rt_link_shim();
  if (shim && !rt.area) rt_area_refuse(shim->l_name);
  uint32_t n = 0;
  if (shim) rt_link_each(shim, count_stub, &n);
  for (uint32_t i = 0; i < n; i++) {
    struct wire_entry *e = &rt.entries[i];
    uint64_t real = rt_real_early(i);
    if (real == 0) continue;
    e->real = real;
    rt_store(&e->target, real);
  }
  rt_store(&rt.ready, RT_OFF);
}

static void start(void) {
  bool good = plan_good();
  alien = good && is_alien();
  if (good && !alien) {
    rt_real_start();
    if (get_ready()) {
      (void)rt_add(&rt.area->attached, 1);
      rt_aim();
      rt_store(&rt.ready, RT_READY);
      return;
    }
  }
  refuse();
}

/*
 * Whatever interrupts this, from here on or before, finds enough to pass its calls through: the table is there, and so
 * is the name of who is at it, so that a signal's handler does not wait for what it interrupts.
 */
void rt_start_once(void) {
  static uint64_t starter;
  uint64_t self = rt_thread_pointer(), nobody = 0;
  if (rt_load(&starter) == 0) {
    rt.shim = &murphy_shim;
    rt.entries = (struct wire_entry *)murphy_shim.entries;
  }
  if (rt_swap_if(&starter, &nobody, self)) {
    rt_store(&rt.ready, RT_STARTING);
    start();
  }
  /* Another thread is at it, and waits for nothing; or this one is, and the call is passed through. */
  while (rt_load(&rt.ready) < RT_OFF && rt_load(&starter) != self)
    __builtin_ia32_pause();
}

/* The shim's initialiser comes here. */
__attribute__((visibility("default"))) void murphy_rt_start(int argc, char **argv, char **envp,
                                                            struct wire_shim *shim) {
  (void)shim;
  rt_start_once();
  if (alien) return; /* who has other ideas of what an initialiser is given */
  rt_text_start(argc > 0 ? argv[0] : NULL);
  rt_environment_start(envp);
  rt_ask_start();
}
