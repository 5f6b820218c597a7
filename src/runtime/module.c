/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One module: which of the plan's it is, and what murphy is told about it.
 */
#include "link.h"
#include "modules.h"
#include "words.h"

/* The program's path; the loader has no name for it. */
static char program[sizeof((struct wire_loaded *)NULL)->path];

static uint64_t name_hash(const char *s) {
  uint64_t h = RT_HASH;
  for (; *s; s++)
    h = rt_hash(h, *s);
  return h;
}

static const struct wire_module *plan_at(uint32_t i) { return &rt_array(modules, struct wire_module)[i]; }

static bool is_exact(const struct link_map *m, const struct wire_module *w) {
  return w->n_build_id == 0 || rt_object_is(m, w->build_id, w->n_build_id);
}

/* Is M, which is this process's program, the one that the plan was made for? Followed programs are others. */
static bool is_program(const struct link_map *m, const struct wire_module *w) {
  if (!(w->flags & WIRE_PROGRAM) || !is_exact(m, w)) return false;
  return w->n_build_id > 0 || !*program || rt_same(rt_last_part(rt_text(w->name)), rt_last_part(program));
}

/* Is the shorter of two paths the end of the longer? */
static bool ends_alike(const char *a, const char *b) {
  while (rt_behind(a, "./"))
    a += 2;
  while (rt_behind(b, "./"))
    b += 2;
  size_t n = rt_length(a), m = rt_length(b);
  const char *from = n > m ? a + (n - m) : b + (m - n);
  return rt_same(from, n > m ? b : a) && (n == m || from[-1] == '/' || *from == '/');
}

static bool is_named(const struct wire_module *w, const char *path) {
  const char *name = rt_text(w->name);
  return w->flags & WIRE_AS_SAID ? ends_alike(name, path) : rt_same(rt_last_part(name), rt_last_part(path));
}

/* The module of the plan that M is, plus 1: the program, or by its whole name, else by the last part of it. */
static uint32_t plan_module(const struct link_map *m, const char *path, bool first) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < rt.plan->modules.n; i++) {
    const char *name = rt_text(plan_at(i)->name);
    if (first && is_program(m, plan_at(i))) return i + 1;
    if (!first && plan_at(i)->flags & WIRE_PROGRAM) continue;
    if (rt_same(name, path)) return i + 1;
    if (!found && is_named(plan_at(i), path)) found = i + 1;
  }
  return found;
}

static void copy_path(const char *path, char *to, size_t room) {
  if (rt_length(path) >= room) path = rt_last_part(path);
  size_t i = 0;
  for (; path[i] && i + 1 < room; i++)
    to[i] = path[i];
  to[i] = 0;
}

/* What murphy has been told already, by any process of the run; 0 if it has not. */
static uint32_t published(uint64_t start, uint64_t end, const char *path) {
  uint32_t n = rt_load(&rt.area->next_loaded);
  for (uint32_t i = 0; i < n && i < rt.area->loaded.n; i++) {
    const struct wire_loaded *l = &rt_area_array(loaded, struct wire_loaded)[i];
    if (rt_load(&l->ready) && l->start == start && l->end == end && rt_same(l->path, path)) return i + 1;
  }
  return 0;
}

/* Tells murphy about it: its place in the area's list, plus 1; 0 if there is no room left. */
static uint32_t publish(const struct rt_module *m, const char *name) {
  char path[sizeof((struct wire_loaded *)NULL)->path];
  uint64_t start = m->start - m->bias, end = m->end - m->bias;
  if (!rt.area) return 0;
  copy_path(name, path, sizeof path);
  uint32_t known = published(start, end, path);
  if (known || rt_load(&rt.area->next_loaded) >= rt.area->loaded.n) return known;
  uint32_t i = rt_add(&rt.area->next_loaded, 1);
  if (i >= rt.area->loaded.n) return 0;
  struct wire_loaded *l = &rt_area_array(loaded, struct wire_loaded)[i];
  l->process = rt_process();
  l->start = start;
  l->end = end;
  copy_path(path, l->path, sizeof l->path);
  rt_store(&l->ready, 1);
  return i + 1;
}

/* A list is never changed but for this: whoever comes first writes what all others would. */
uint32_t rt_module_number(const struct rt_module *m) {
  uint32_t number = rt_load(&m->loaded);
  const char *path = rt_load(&m->path);
  if (number == 0 && path) {
    number = publish(m, path);
    rt_store((uint32_t *)&m->loaded, number);
  }
  if (number == 0 && rt.area) (void)rt_add(&rt.area->lost_loaded, 1);
  return number;
}

bool rt_module_describe(const struct link_map *m, const struct rt_object *o, bool stays, struct rt_module *ret) {
  struct rt_module module = {.bias = m->l_addr, .object = *o};
  bool first = m == rt_link_first();
  const char *path = first ? program : m->l_name;
  if (!rt_object_extent(m, &module.start, &module.end)) return false;
  module.name = name_hash(rt_last_part(path));
  module.plan = plan_module(m, path, first);
  if (module.plan) {
    const struct wire_module *w = plan_at(module.plan - 1);
    module.exact = is_exact(m, w);
    if (module.exact) module.rows = (uint64_t)w->row << 32 | w->n_rows;
  }
  if ((uint32_t)module.rows == 0) module.frames = rt_object_frames(m);
  if (stays)
    module.path = path;
  else
    module.loaded = publish(&module, path);
  *ret = module;
  return true;
}

void rt_module_start(void) {
  long n = rt_system(SYS_readlink, (long)"/proc/self/exe", (long)program, sizeof program - 1, 0, 0, 0);
  program[n > 0 ? n : 0] = 0;
}
