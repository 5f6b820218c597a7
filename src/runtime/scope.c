/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader's scopes, read where it keeps them: the list of all that everybody sees, then those of the dlopen calls
 * that an object came with. Two libraries that are opened for themselves alone may have functions of one name, and only
 * this tells which of them a caller means.
 *
 * They are in the part of the loader's struct link_map that no header describes. Behind the program headers follow the
 * entry point, two short numbers, and the list of the objects that were loaded together; further on an array of four
 * pointers to such lists, the number of them that there is room for, and a pointer to the array. Nothing of this is
 * believed unless it is so for the program and for our own object.
 *
 * The lists change when libraries are opened and closed. The loader frees an old one only after each thread has been
 * seen outside of a lookup, as a flag in the thread's structure says; that flag is raised here too. It is where lazy
 * binding has it, at the same place in all versions of glibc for this machine.
 */
#include "scope.h"

#include "link.h"
#include "object.h"
#include "system.h"

#define SEARCHED 0x480 /* bytes of struct link_map; glibc has the array at 0x370 to 0x388 */
#define MAX_OBJECTS 65536

struct scope {
  const struct link_map **list;
  uint32_t n;
};

static struct {
  size_t list, scopes;         /* offsets; 0: not known */
  const struct link_map *shim; /* is never closed */
} where;

static uint64_t word(const struct link_map *m, size_t at) { return *(const volatile uint64_t *)((const char *)m + at); }

/* Is the list at AT one of objects, starting with M itself, that are all in the loader's? */
static bool is_list(const struct link_map *m, size_t at) {
  const struct scope *s = (const struct scope *)((const char *)m + at);
  if (!s->list || (uint64_t)s->list % 8 != 0 || s->n == 0 || s->n > MAX_OBJECTS || s->list[0] != m) return false;
  const struct link_map *l = m;
  for (uint32_t i = 0; i < s->n; i++) {
    /* The two are nearly in the same order. */
    while (l && l != s->list[i])
      l = l->l_next;
    for (l = l ? l : m; l && l != s->list[i];)
      l = l->l_next;
    if (!l) return false;
  }
  return true;
}

void rt_scope_start(void) {
  const struct link_map *program = rt_link_first(), *own = program;
  size_t headers = rt_object_headers();
  where.list = where.scopes = 0;
  where.shim = rt_link_shim();
  while (own && own->l_ld != _DYNAMIC)
    own = own->l_next;
  if (!own || headers == 0 || !rt_object_findable() || !is_list(program, headers + 24)) return;
  for (size_t at = headers + 40; at < SEARCHED; at += 8)
    if (word(own, at) == (uint64_t)program + headers + 24 && word(own, at + 40) == (uint64_t)own + at) {
      where.list = headers + 24;
      where.scopes = at + 40;
      return;
    }
}

bool rt_scope_known(void) { return where.scopes != 0; }

/* --- the flag ----------------------------------------------------------------------------------------------------- */

/* In the thread's structure; who waits for it to go down makes it WANTED. */
enum { DOWN, RAISED, WANTED };

/* False if it is up already: this is a signal handler, above a lookup of the loader's. */
static bool raise_flag(void) {
  uint32_t before;
  __asm__ volatile("movl %%fs:0x1c, %0" : "=r"(before)::"memory");
  if (before != DOWN) return false;
  __asm__ volatile("movl %0, %%fs:0x1c" ::"i"(RAISED) : "memory");
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return true;
}

static void lower_flag(void) {
  uint32_t before = DOWN;
  __asm__ volatile("xchgl %0, %%fs:0x1c" : "+r"(before)::"memory");
  if (before != WANTED) return;
  uint64_t self = rt_thread_pointer();
  (void)rt_system(SYS_futex, (long)(self + 0x1c), 129 /* wake, private */, 1, 0, 0, 0);
}

/* --- a search ----------------------------------------------------------------------------------------------------- */

static bool visit_list(const struct scope *s, rt_scope_visit *visit, void *context) {
  uint32_t first = 0;
  for (uint32_t i = 0; i < s->n && first == 0; i++)
    if (s->list[i] == where.shim) first = i + 1;
  for (uint32_t i = first; i < s->n; i++)
    if (s->list[i]->l_ld != _DYNAMIC && visit(s->list[i], context)) return true;
  return false;
}

bool rt_scope_each(const struct link_map *of, rt_scope_visit *visit, void *context) {
  if (where.scopes == 0) return false;
  bool raised = raise_flag(), found = false;
  const struct scope *const *scopes = (const struct scope *const *)word(of ? of : rt_link_first(), where.scopes);
  for (; *scopes && !found; scopes++)
    found = visit_list(*scopes, visit, context);
  if (raised) lower_flag();
  return found;
}

struct wanted {
  const char *name, *version;
  struct rt_symbol found;
};

static bool has_symbol(const struct link_map *m, void *context) {
  struct wanted *w = context;
  w->found = rt_link_find(m, w->name, w->version);
  return w->found.address != 0;
}

uint64_t rt_scope_symbol(const struct link_map *of, const char *name, const char *version) {
  struct wanted w = {.name = name, .version = version};
  return rt_scope_each(of, has_symbol, &w) ? rt_link_resolved(w.found) : 0;
}
