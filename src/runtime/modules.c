/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of modules: made from the loader's at the start, then from what is met on stacks, and published.
 *
 * One thread makes a list at a time; another one that would like to leaves word and goes on with the old list. After a
 * fork the maker may be gone: a process that is not the maker's takes the work over.
 */
#include "modules.h"

#include "link.h"
#include "stack.h"

/* Lists in turn; and modules that a list has room for at first. */
#define LISTS 16
#define CAPACITY 128

static struct rt_modules lists[LISTS];
struct rt_modules *rt_modules_list;
static uint64_t made;  /* how many lists there have been */
static uint64_t maker; /* process << 1 of who makes one, 0 if nobody does; bit 0: somebody else wanted to */

/* --- one list ----------------------------------------------------------------------------------------------------- */

/* Puts the module into its place; sorting is by insertion, since the loader puts most of them in order already. */
static void insert(struct rt_modules *list, struct rt_module m) {
  uint32_t i = list->n;
  for (; i > 0 && list->at[i - 1].start > m.start; i--)
    list->at[i] = list->at[i - 1];
  list->at[i] = m;
  rt_store(&list->n, list->n + 1);
}

/* The addresses of each place, in the first module that is the one of the plan. */
static void resolve(struct rt_modules *list) {
  const struct wire_place *p = rt_array(places, struct wire_place);
  for (uint32_t i = 0; i < rt.plan->places.n; i++) {
    uint64_t start = 0, size = 0;
    for (uint32_t k = 0; k < list->n && size == 0; k++) {
      const struct rt_module *m = &list->at[k];
      if (m->plan != p[i].module + 1 || !(m->exact || (p[i].flags & WIRE_ANYWHERE))) continue;
      bool anywhere = p[i].flags & WIRE_ANYWHERE;
      start = anywhere ? m->start : m->bias + p[i].start;
      size = anywhere ? m->end - m->start : p[i].end - p[i].start;
    }
    list->ranges[i] = (struct rt_range){start, size << 1 | !!(p[i].flags & WIRE_LAST)};
  }
}

/* Memory for N modules, the places and the steps. A list that grows leaves its old memory behind: it may be in use. */
static bool reserve(struct rt_modules *list, uint32_t n) {
  if (list->steps && n <= list->capacity) {
    for (uint32_t i = 0; i < 1u << STEP_BITS; i++)
      __atomic_store_n(&list->steps[i], 0, __ATOMIC_RELAXED);
    return true;
  }
  uint32_t capacity = n <= CAPACITY ? CAPACITY : 2 * n;
  size_t steps = sizeof(uint64_t) << STEP_BITS, ranges = rt.plan->places.n * sizeof(struct rt_range);
  char *memory = rt_map(steps + ranges + capacity * sizeof(struct rt_module));
  if (!memory) return false;
  list->steps = (void *)memory;
  list->ranges = (void *)(memory + steps);
  list->at = (void *)(memory + steps + ranges);
  list->capacity = capacity;
  return true;
}

/* A list to be filled, with room for N modules; NULL if there is no memory. */
static struct rt_modules *begin_list(uint32_t n) {
  struct rt_modules *list = &lists[made % LISTS];
  rt_store(&list->version, list->version | 1);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (!reserve(list, n)) return NULL;
  list->n = 0;
  return list;
}

static void end_list(struct rt_modules *list) {
  resolve(list);
  rt_store(&list->version, list->version + 1);
  made++;
  rt_store(&rt_modules_list, list);
}

/* All that the loader has, by its list: at the start, when nobody changes it and what is there stays. */
static void list_all(bool start) {
  uint32_t n = 0;
  for (const struct link_map *m = rt_link_first(); m; m = m->l_next)
    n++;
  struct rt_modules *list = begin_list(n);
  if (!list) return;
  for (const struct link_map *m = rt_link_first(); m && list->n < list->capacity; m = m->l_next) {
    struct rt_module module;
    uint64_t first, end;
    if (!rt_object_extent(m, &first, &end)) continue;
    struct rt_object o = rt_object_at(first);
    if (rt_module_describe(m, &o, start, &module)) insert(list, module);
  }
  end_list(list);
}

/* Is it what it was? What the loader never knew by address stays. */
static bool still_there(const struct rt_module *m) {
  struct rt_object o = rt_object_at(m->start);
  return !m->object.map || rt_object_same(&m->object, &o);
}

/* The modules of OLD that are still there, and MORE, if it is not NULL. */
static void list_again(const struct rt_modules *old, const struct rt_module *more) {
  struct rt_modules *list = begin_list(old->n + 1);
  if (!list) return;
  for (uint32_t i = 0; i < old->n; i++)
    if (still_there(&old->at[i])) insert(list, old->at[i]);
  if (more) insert(list, *more);
  end_list(list);
}

static bool all_there(const struct rt_modules *list) {
  for (uint32_t i = 0; i < list->n; i++)
    if (!still_there(&list->at[i])) return false;
  return true;
}

/* --- the current list --------------------------------------------------------------------------------------------- */

/* True if the caller may make lists now; else whoever does is asked to make one more. */
static bool begin_making(uint64_t self) {
  uint64_t seen = rt_load(&maker);
  for (;;) {
    bool busy = (seen & ~1ull) == self;
    if (rt_swap_if(&maker, &seen, busy ? seen | 1 : self)) return !busy;
  }
}

/* False if somebody has asked for one more. */
static bool end_making(uint64_t self) {
  uint64_t expected = self;
  if (rt_swap_if(&maker, &expected, 0)) return true;
  if ((expected & ~1ull) == self) rt_store(&maker, self);
  return (expected & ~1ull) != self;
}

bool rt_modules_learn(uint64_t pc) {
  uint64_t self = (uint64_t)rt_process() << 1;
  struct rt_object o = rt_object_at(pc);
  struct rt_module module;
  if (!begin_making(self)) return false;
  const struct rt_modules *now = rt_modules_now();
  const struct rt_module *known = rt_module_at(now, pc);
  bool same = known && rt_object_same(&known->object, &o);
  if (!same && o.map && rt_module_describe(o.map, &o, false, &module)) list_again(now, &module);
  if (!end_making(self)) rt_modules_changed();
  return true;
}

/*
 * A loader that cannot be asked by address is asked for its list again, if that is not just changing; another thread
 * may still change it under our eyes, which is the reason why it is not done where it need not be.
 */
void rt_modules_changed(void) {
  uint64_t self = (uint64_t)rt_process() << 1;
  if (!rt_modules_now() || !begin_making(self)) return;
  do {
    if (!rt_object_findable() && rt_link_settled())
      list_all(false);
    else if (rt_object_findable() && !all_there(rt_modules_now()))
      list_again(rt_modules_now(), NULL);
  } while (!end_making(self));
}

void rt_modules_start(void) {
  rt_object_start();
  rt_module_start();
  rt_store(&rt_modules_list, NULL);
  list_all(true);
}

const struct rt_module *rt_module_at(const struct rt_modules *m, uint64_t address) {
  /* Before `at`: if the list is becoming another one, there may be more of them than the old memory has. */
  uint32_t low = 0, high = rt_load(&m->n);
  while (low < high) {
    uint32_t mid = low + (high - low) / 2;
    if (m->at[mid].start <= address)
      low = mid + 1;
    else
      high = mid;
  }
  return low > 0 && address < m->at[low - 1].end ? &m->at[low - 1] : NULL;
}
