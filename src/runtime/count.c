/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of calls; count.h says how. */
#include "count.h"

#include "rt_condition.h"
#include "system.h"

#define MAX_THREADS 1024 /* that have an allowance at the same time; others use the common counter */
#define MAX_MEMORY (4u << 20)
#define NEAR 32            /* numbers that are tried one by one before ranges of them are */
#define GRANT (1ull << 40) /* at most */
#define DRAIN 2000         /* pauses, at least some 10 µs: until a store of another processor can be seen */
#define OPEN (1ull << 63)  /* in wire_allowance.state, with a serial number; else what was left when it was closed */

__thread struct rt_self rt_self __attribute__((tls_model("initial-exec")));
static struct wire_asking nobodys; /* which no thread owns */

/* Blocks of allowances, and whose they are: the thread pointer, which a later thread may have again. */
static struct {
  char *blocks_end;
  uint64_t *owners;
  uint32_t n_blocks, n_functions, used;
  size_t block_size;
} count;

uint64_t rt_count_thread_offset(void) { return (uint64_t)&rt_self.mine - rt_thread_pointer(); }

bool rt_count_start(uint32_t n) {
  count.n_functions = n;
  count.block_size = (n * sizeof(struct wire_allowance) + rt.plan->thread_slots * sizeof(uint64_t) + 63) / 64 * 64;
  count.n_blocks = MAX_THREADS;
  while (count.n_blocks > 16 && count.n_blocks * count.block_size > MAX_MEMORY)
    count.n_blocks /= 2;
  size_t blocks = count.n_blocks * count.block_size;
  char *p = rt_map(blocks + count.n_blocks * sizeof(uint64_t));
  if (!p) return false;
  count.blocks_end = p + blocks;
  count.owners = (void *)count.blocks_end;
  return true;
}

/* Downwards from where the owners are: what a process with one thread uses is together, and near what came before. */
static struct wire_allowance *block(uint32_t i) { return (void *)(count.blocks_end - (i + 1) * count.block_size); }

/* The thread's block; NULL if all are taken. */
static struct wire_allowance *find_block(void) {
  uint64_t self = rt_thread_pointer();
  /* The first thread's, of which a handler may be that came when it was taken and rt_mine was not yet set. */
  if (rt_load(&count.owners[0]) == self) return block(0);
  uint32_t first = rt_load(&count.used) == 0 ? 0 : (uint32_t)(self * 0x9e3779b97f4a7c15u >> 40) & (count.n_blocks - 1);
  for (uint32_t k = 0; k < count.n_blocks; k++) {
    uint32_t i = (first + k) & (count.n_blocks - 1);
    uint64_t owner = rt_load(&count.owners[i]);
    if (owner == 0 && rt_swap_if(&count.owners[i], &owner, self)) {
      (void)rt_add(&count.used, 1);
      return block(i);
    }
    if (owner == self) return block(i);
  }
  return NULL;
}

static inline struct wire_allowance *allowance(uint32_t function) {
  if (__builtin_expect(!rt_self.mine, 0)) {
    if (!rt_self.mark) rt_self.mark = &nobodys;
    rt_self.mine = find_block();
  }
  return rt_self.mine ? &rt_self.mine[function] : NULL;
}

uint64_t *rt_count_thread(void) { return allowance(0) ? (uint64_t *)(rt_self.mine + count.n_functions) : NULL; }

/* --- what is quiet ------------------------------------------------------------------------------------------------ */

bool rt_any_may_hold(const struct rt_function *f, uint64_t first, uint64_t last) {
  for (uint32_t i = 0; i < f->n_rules; i++)
    if (rt_may_hold(f->rule + i, first, last)) return true;
  return false;
}

uint64_t rt_quiet(uint32_t function, uint64_t first) {
  const struct rt_function *f = &rt.functions[function];
  if (!rt_any_may_hold(f, first, INT64_MAX)) return UINT64_MAX;
  for (uint64_t k = 0; k < NEAR; k++)
    if (rt_any_may_hold(f, first + k, first + k)) return k;
  uint64_t quiet = NEAR;
  for (uint64_t step = GRANT; step > 0; step /= 2)
    if (!rt_any_may_hold(f, first + quiet, first + quiet + step - 1)) quiet += step;
  return quiet;
}

/* --- grants ------------------------------------------------------------------------------------------------------- */

static void pause_a_while(void) {
  for (int i = 0; i < DRAIN; i++)
    __builtin_ia32_pause();
}

/* Ends a grant that is still in STATE, of which LEFT were not used: they are ungranted again. */
static bool close_grant(struct rt_function *counter, struct wire_allowance *a, uint64_t state, int64_t left) {
  uint64_t rest = left > 0 ? (uint64_t)left : 0;
  if (!rt_swap_if(&a->state, &state, rest)) return false;
  (void)rt_add(&counter->given, -rest);
  return true;
}

/*
 * Takes back what other threads have not used; false if there was nothing. A thread that is just using one up has
 * stored that before it looks at `recall`. So after a while either its store is seen here, or it sees `recall`, and
 * finds out in spend() on which side of the line it was.
 */
static bool recall(struct rt_function *counter, uint32_t function) {
  bool any = false;
  for (uint32_t i = 0; i < count.n_blocks; i++) {
    struct wire_allowance *a = &block(i)[function];
    if (rt_load(&count.owners[i]) != 0 && rt_load(&a->state) & OPEN) {
      rt_store(&a->recall, 1);
      any = true;
    }
  }
  if (!any) return false;
  pause_a_while();
  for (uint32_t i = 0; i < count.n_blocks; i++) {
    struct wire_allowance *a = &block(i)[function];
    uint64_t state = rt_load(&a->state);
    if (rt_load(&count.owners[i]) != 0 && state & OPEN && rt_load(&a->recall))
      (void)close_grant(counter, a, state, rt_load(&a->left));
  }
  return true;
}

/*
 * Gives the thread MORE numbers; its grant must be closed. What calls that this one interrupts have taken already, and
 * not put back yet, comes out of it.
 */
static void open_grant(struct wire_allowance *a, int64_t more) {
  static uint64_t serial;
  int64_t change = more - (int64_t)rt_load(&a->state);
  __asm__ volatile("addq %1, %0" : "+m"(a->left) : "r"(change) : "memory");
  rt_store(&a->recall, 0);
  rt_store(&a->state, OPEN | (rt_add(&serial, 1) & (OPEN - 1)));
}

/* One instruction each, so that a signal handler of this thread comes before or after it. */
static int64_t take_one(struct wire_allowance *a) {
  int64_t left;
  __asm__ volatile("decq %0\n\tmovq %0, %1" : "+m"(a->left), "=r"(left) : : "memory");
  return left;
}

static void put_back(struct wire_allowance *a) { __asm__ volatile("incq %0" : "+m"(a->left) : : "memory"); }

/* One was taken from the allowance for this call. True if it counts; else it is put back, and the grant is closed. */
static bool spend(struct rt_function *counter, struct wire_allowance *a) {
  uint64_t state = rt_load(&a->state);
  int64_t left = rt_load(&a->left);
  if (state & OPEN && left >= 0 && !rt_load(&a->recall)) return true;
  /* What was left before this call; all taken by calls that this one interrupts counts as used. */
  if (state & OPEN && close_grant(counter, a, state, left + 1)) {
    put_back(a);
    return false;
  }
  /* Somebody else has closed it, having seen this call's store or not. */
  if (left >= (int64_t)rt_load(&a->state)) return true;
  put_back(a);
  return false;
}

/* A number from the common counter, or a grant that has one for this call. False: quiet. */
static bool ask(struct rt_call *c, struct rt_function *counter, struct wire_allowance *a) {
  uint32_t function = (uint32_t)c->index;
  for (;;) {
    uint64_t given = rt_load(&counter->given), quiet = rt_quiet(function, given + 1);
    if (quiet == UINT64_MAX) {
      if (rt.entries[function].real != 0) rt_store(&rt.entries[function].target, rt.entries[function].real);
      return false;
    }
    if (quiet == 0) {
      if (recall(counter, function)) continue;
      if (!rt_swap_if(&counter->given, &given, given + 1)) continue;
      c->number = given + 1;
      return true;
    }
    uint32_t threads = rt_load(&count.used);
    uint64_t grant = !a ? 1 : threads <= 1 ? quiet : quiet / (4 * (uint64_t)threads) + 1;
    if (!rt_swap_if(&counter->given, &given, given + grant)) continue;
    if (grant > 1) open_grant(a, (int64_t)grant - 1);
    return false;
  }
}

/* In a signal handler, above a call of the same function that is not done with its allowance: that is left alone. */
static bool count_interrupting(struct rt_call *c, struct rt_function *f, struct wire_allowance *a, bool counted) {
  if (counted && rt_load(&a->state) & OPEN && rt_load(&a->left) >= 0 && !rt_load(&a->recall)) return false;
  if (counted) put_back(a);
  return ask(c, f, NULL);
}

static bool count_granted(struct rt_call *c, struct rt_function *f, struct wire_allowance *a, bool counted) {
  if (!a) return ask(c, f, NULL);
  if (rt_load(&a->tally)) return count_interrupting(c, f, a, counted);
  rt_store(&a->tally, 1); /* until this call is done; nothing else is tallied here */
  bool number = false;
  if (rt_load(&a->state) & OPEN) {
    if (!counted) (void)take_one(a);
    number = !spend(f, a) && ask(c, f, a);
  } else if (counted && rt_load(&a->left) >= (int64_t)rt_load(&a->state)) {
    /* closed by another thread, which has seen that this one was taken */
  } else {
    if (counted) put_back(a);
    number = ask(c, f, a);
  }
  rt_store(&a->tally, 0);
  return number;
}

bool rt_count_asked(struct rt_call *c, struct rt_function *f, bool counted) {
  if (f->how == RT_ONE) {
    c->number = rt_add(&f->given, 1) + 1;
    return true;
  }
  struct wire_allowance *a = allowance((uint32_t)c->index);
  if (f->how == RT_GRANTED) return count_granted(c, f, a, counted);
  if (a)
    rt_tally(a);
  else
    (void)rt_add(&f->given, 1);
  return true;
}

uint64_t rt_count_sum(uint32_t function) {
  uint64_t sum = rt_load(&rt.functions[function].given);
  for (uint32_t i = 0; i < count.n_blocks; i++)
    if (rt_load(&count.owners[i]) != 0) sum += rt_load(&block(i)[function].tally);
  return sum;
}
