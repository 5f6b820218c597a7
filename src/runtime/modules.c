/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of modules: made from the loader's, matched with the plan's, published.
 *
 * One thread makes a list at a time; another one that would like to leaves word and goes on with the old list. After a
 * fork the maker may be gone: a process that is not the maker's takes the work over.
 */
#include "modules.h"

#include "link.h"
#include "object.h"
#include "stack.h"
#include "words.h"

/* Lists in turn; and modules that a list has room for at first. */
#define LISTS 16
#define CAPACITY 128

static struct rt_modules lists[LISTS];
struct rt_modules *rt_modules_list;
static uint64_t made;  /* how many lists there have been */
static uint64_t maker; /* process << 1 of who makes one, 0 if nobody does; bit 0: make another one after that */

static char program[sizeof((struct wire_loaded *)NULL)->path];

/* --- one module --------------------------------------------------------------------------------------------------- */

static const char *last_component(const char *path) {
  const char *last = path;
  for (; *path; path++)
    if (*path == '/') last = path + 1;
  return last;
}

/* FNV-1a; never one of the small numbers that have a meaning of their own. */
static uint64_t name_hash(const char *s) {
  uint64_t h = 0xcbf29ce484222325u;
  for (; *s; s++)
    h = (h ^ (unsigned char)*s) * 0x100000001b3u;
  return h | 1ull << 63;
}

/* The module of the plan that M is: by its whole name, else by the last part of it. */
static uint32_t plan_module(const struct link_map *m, bool is_program) {
  const struct wire_module *w = rt_array(modules, struct wire_module);
  uint32_t found = 0;
  for (uint32_t i = 0; i < rt.plan->modules.n; i++, w++) {
    if (is_program != !!(w->flags & WIRE_PROGRAM)) continue;
    const char *name = rt_text(w->name);
    if (is_program || rt_same(name, m->l_name)) return i + 1;
    if (!found && rt_same(last_component(name), last_component(m->l_name))) found = i + 1;
  }
  return found;
}

static void copy_path(const char *path, char *to, size_t room) {
  if (rt_length(path) >= room) path = last_component(path);
  size_t i = 0;
  for (; path[i] && i + 1 < room; i++)
    to[i] = path[i];
  to[i] = 0;
}

/* Tells murphy about it; how many it has been told about with that. 0 if there is no room left. */
static uint32_t publish(const struct rt_module *m, const char *path) {
  if (!rt.area || rt_load(&rt.area->next_loaded) >= rt.area->loaded.n) return 0;
  uint32_t i = rt_add(&rt.area->next_loaded, 1);
  if (i >= rt.area->loaded.n) return 0;
  struct wire_loaded *l = &rt_area_array(loaded, struct wire_loaded)[i];
  l->process = rt_process();
  l->start = m->start;
  l->end = m->end;
  l->bias = m->bias;
  copy_path(path, l->path, sizeof l->path);
  rt_store(&l->ready, 1);
  return i + 1;
}

static const struct rt_module *known_before(const struct rt_modules *old, const struct rt_module *m) {
  for (uint32_t i = 0; old && i < old->n; i++)
    if (old->at[i].map == m->map && old->at[i].start == m->start && old->at[i].name == m->name) return &old->at[i];
  return NULL;
}

/* M as a module; false if it cannot be told where it is. */
static bool module_of(const struct link_map *m, bool is_program, const struct rt_modules *old, struct rt_module *ret) {
  struct rt_module module = {.bias = m->l_addr, .map = m};
  if (!rt_object_extent(m, &module.start, &module.end)) return false;
  module.name = is_program ? RT_PROGRAM : name_hash(last_component(m->l_name));
  const struct rt_module *before = known_before(old, &module);
  if (before) {
    *ret = *before;
    return true;
  }
  module.plan = plan_module(m, is_program);
  if (module.plan) {
    const struct wire_module *w = &rt_array(modules, struct wire_module)[module.plan - 1];
    module.exact = w->n_build_id == 0 || rt_object_is(m, w->build_id, w->n_build_id);
    if (module.exact) module.rows = (uint64_t)w->row << 32 | w->n_rows;
  }
  module.loaded = publish(&module, is_program ? program : m->l_name);
  *ret = module;
  return true;
}

/* --- one list ----------------------------------------------------------------------------------------------------- */

/* Puts the module into its place; sorting is by insertion, since the loader puts most of them in order already. */
static void insert(struct rt_modules *list, struct rt_module m) {
  uint32_t i = list->n++;
  for (; i > 0 && list->at[i - 1].start > m.start; i--)
    list->at[i] = list->at[i - 1];
  list->at[i] = m;
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

static uint32_t link_count(void) {
  uint32_t n = 0;
  for (const struct link_map *m = rt_link_first(); m; m = m->l_next)
    n++;
  return n;
}

static void fill(struct rt_modules *list, const struct rt_modules *old) {
  bool is_program = true;
  list->n = 0;
  for (const struct link_map *m = rt_link_first(); m && list->n < list->capacity; m = m->l_next, is_program = false) {
    struct rt_module module;
    if (module_of(m, is_program, old, &module)) insert(list, module);
  }
  resolve(list);
}

/* Is the loader's list what OLD was made from? Entries come and go at the end, so that the same ones are the same. */
static bool unchanged(const struct rt_modules *old) {
  uint32_t n = 0;
  bool is_program = true;
  for (const struct link_map *m = rt_link_first(); m; m = m->l_next, is_program = false) {
    struct rt_module module = {.map = m};
    uint64_t end;
    if (!rt_object_extent(m, &module.start, &end)) continue;
    module.name = is_program ? RT_PROGRAM : name_hash(last_component(m->l_name));
    if (!known_before(old, &module)) return false;
    n++;
  }
  return n == old->n;
}

static bool make(void) {
  struct rt_modules *old = rt_load(&rt_modules_list), *list = &lists[made % LISTS];
  if (old && unchanged(old)) return false;
  uint64_t version = list->version;
  rt_store(&list->version, version + 1);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (!reserve(list, link_count())) return false;
  fill(list, old);
  rt_store(&list->version, version + 2);
  made++;
  rt_store(&rt_modules_list, list);
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

bool rt_modules_refresh(void) {
  uint64_t self = (uint64_t)rt_process() << 1;
  bool changed = false;
  if (!rt_load(&rt_modules_list) || !rt_link_settled() || !begin_making(self)) return false;
  do
    changed |= make();
  while (!end_making(self));
  return changed;
}

void rt_modules_changed(void) { (void)rt_modules_refresh(); }

void rt_modules_start(void) {
  long n = rt_system(SYS_readlink, (long)"/proc/self/exe", (long)program, sizeof program - 1, 0, 0, 0);
  program[n > 0 ? n : 0] = 0;
  rt_object_start();
  rt_store(&rt_modules_list, NULL);
  (void)make();
}

const struct rt_module *rt_module_at(const struct rt_modules *m, uint64_t address) {
  uint32_t low = 0, high = m->n;
  while (low < high) {
    uint32_t mid = low + (high - low) / 2;
    if (m->at[mid].start <= address)
      low = mid + 1;
    else
      high = mid;
  }
  return low > 0 && address < m->at[low - 1].end ? &m->at[low - 1] : NULL;
}
