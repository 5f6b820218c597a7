/* SPDX-License-Identifier: Apache-2.0 */
/* Side effects of a fault: behind arguments, in variables, in the flags of a stream. */
#include "side.h"

#include "bounds.h"
#include "fd.h"
#include "link.h"
#include "object.h"
#include "real.h"
#include "scope.h"
#include "system.h"
#include "thread_place.h"
#include "words.h"
#include "written.h"

static uint64_t argument(const struct rt_call *c, uint32_t i) { return i < 6 ? c->args[i] : c->sp[1 + i - 6]; }

static void store(uint64_t at, unsigned width, int64_t value) {
  switch (width) {
  case 1:
    *(volatile uint8_t *)at = (uint8_t)value;
    break;
  case 2:
    *(volatile uint16_t *)at = (uint16_t)value;
    break;
  case 4:
    *(volatile uint32_t *)at = (uint32_t)value;
    break;
  default:
    *(volatile uint64_t *)at = (uint64_t)value;
  }
}

/*
 * Can the 32 bits around AT be written? An operation that changes nothing there is tried, on behalf of a futex that
 * nobody waits for: of what the kernel writes to memory, the one that most filters know.
 */
#define FUTEX_WAKE_OP_PRIVATE (5 | 128)
#define FUTEX_OR_NOTHING (2l << 28)
static bool kernel_writes(uint64_t at) {
  uint32_t nobody = 0;
  long r = rt_system(SYS_futex, (long)&nobody, FUTEX_WAKE_OP_PRIVATE, 0, 0, (long)(at & ~3ull), FUTEX_OR_NOTHING);
  return r != -14 /* EFAULT */;
}

/* The stack is known without the kernel, and most results are there. */
static bool is_writable(const struct rt_call *c, uint64_t at, unsigned width) {
  struct rt_bounds b = rt_bounds_of((uint64_t)c->sp);
  if (at >= b.low && at < b.high && b.high - at >= width) return true;
  return kernel_writes(at) && kernel_writes(at + width - 1);
}

/* Is M the module of the plan? */
static bool is_module(const struct link_map *m, uint32_t module) {
  const struct wire_module *w = &rt_array(modules, struct wire_module)[module];
  if (w->flags & WIRE_PROGRAM) return m == rt_link_first();
  const char *wanted = rt_text(w->name), *name = m->l_name ? m->l_name : "";
  return *name && (rt_same(name, wanted) || rt_same(rt_last_part(name), rt_last_part(wanted)));
}

/*
 * Where a side effect is. What is found at the start stays there; what comes with a library that is opened later is
 * looked for each time, since it may be gone or there may be several, as the caller sees them.
 */
enum where { NOWHERE, ADDRESS, FUNCTION /* that says where */, OF_THREAD };
struct place {
  uint32_t where;
  uint64_t at;
  struct rt_thread_place thread;
};
static struct place *places; /* one for each side of the plan */

/* One side effect that is looked for, object by object. */
struct search {
  const struct wire_side *side;
  struct place place;
  struct rt_symbol function;
};

static bool says_where(const struct wire_side *s) { return s->kind == WIRE_SIDE_TLS && s->name != 0; }

static bool look_in(const struct link_map *m, void *context) {
  struct search *x = context;
  const struct wire_side *s = x->side;
  if (s->name != 0) {
    struct rt_symbol found = rt_link_find(m, rt_text(s->name), NULL);
    if (found.address == 0) return false;
    if (says_where(s)) x->function = found;
    x->place = (struct place){.where = says_where(s) ? FUNCTION : ADDRESS, .at = found.address};
  } else if (is_module(m, s->module)) {
    x->place = (struct place){.where = ADDRESS, .at = m->l_addr + s->offset};
    if (s->kind == WIRE_SIDE_TLS)
      x->place = (struct place){.where = rt_thread_place(m, &x->place.thread) ? OF_THREAD : NOWHERE,
                                .at = s->offset,
                                .thread = x->place.thread};
  }
  return x->place.where != NOWHERE;
}

static struct place found(const struct search *x) {
  struct place p = x->place;
  if (p.where == FUNCTION) p.at = rt_link_resolved(x->function);
  return p;
}

/* The program may have a copy of a library's variable, and that counts. But functions are the real ones. */
static struct place find_at_start(const struct wire_side *s) {
  struct search x = {.side = s};
  const struct link_map *shim = rt_link_shim(), *m = says_where(s) && shim ? shim->l_next : rt_link_first();
  while (m && !look_in(m, &x))
    m = m->l_next;
  return found(&x);
}

static bool has_variable(const struct wire_side *s) {
  return s->kind == WIRE_SIDE_GLOBAL || s->kind == WIRE_SIDE_TLS || (s->kind == WIRE_SIDE_STREAM && s->name != 0);
}

void rt_side_start(void) {
  uint32_t n = rt.plan->sides.n;
  const struct wire_side *s = rt_array(sides, struct wire_side);
  places = n > 0 ? rt_map(n * sizeof *places) : NULL;
  for (uint32_t i = 0; places && i < n; i++)
    if (has_variable(&s[i])) places[i] = find_at_start(&s[i]);
}

/* As the caller sees it, else as the function itself does. */
static struct place find_now(const struct rt_call *c, const struct wire_side *s) {
  struct search x = {.side = s};
  struct rt_object caller = rt_object_at(rt_return_address(c) - 1);
  if (!rt_scope_each(caller.map, look_in, &x)) {
    struct rt_object real = rt_object_at(c->real);
    if (real.map) (void)rt_scope_each(real.map, look_in, &x);
  }
  return found(&x);
}

/* 0 if it is not there. */
static uint64_t variable(const struct rt_call *c, const struct wire_side *s) {
  struct place p = places ? places[s - rt_array(sides, struct wire_side)] : (struct place){0};
  if (p.where == NOWHERE) p = find_now(c, s);
  switch ((enum where)p.where) {
  case ADDRESS:
    return p.at;
  case FUNCTION:
    return ((uint64_t(*)(void))p.at)() + s->offset;
  case OF_THREAD:
    return rt_thread_at(&p.thread, p.at);
  case NOWHERE:
    break;
  }
  return 0;
}

/*
 * A FILE starts with its flags, 32 bits; of its pointers, the fourth is where unwritten bytes begin, the fifth their
 * end.
 */
static void set_flags(uint64_t stream, int64_t bits) {
  volatile uint64_t *words = (volatile uint64_t *)stream;
  *(volatile uint32_t *)stream |= (uint32_t)bits;
  if (bits & WIRE_STREAM_EMPTIED) words[RT_FILE_WRITE_AT] = words[RT_FILE_WRITE_BASE];
}

/* --- failing for real --------------------------------------------------------------------------------------------- */

#define NAME_MAX 256

/* The name that the caller has given, and more: whatever is looked for, there is none such. */
static void misname(uint64_t from, char to[NAME_MAX]) {
  static const char behind[] = ".missing";
  const char *name = from ? (const char *)from : "";
  size_t n = 0;
  for (; name[n] && n < NAME_MAX - sizeof behind; n++)
    to[n] = name[n];
  for (size_t i = 0; i < sizeof behind; i++)
    to[n + i] = behind[i];
}

/* The real function is jumped to, so that the name cannot be on our stack; a call takes less time than all others. */
#define NAMES 64
void rt_side_misname(struct rt_call *c, uint32_t argument) {
  static char names[NAMES][NAME_MAX];
  static uint32_t next;
  char *name = names[rt_add(&next, 1) % NAMES];
  misname(c->args[argument], name);
  c->args[argument] = (uint64_t)name;
}

static bool fail_for_real(const struct rt_call *c, uint32_t argument) {
  char name[NAME_MAX];
  uint64_t a[6];
  for (unsigned i = 0; i < 6; i++)
    a[i] = c->args[i];
  misname(a[argument], name);
  a[argument] = (uint64_t)name;
  (void)rt_real_call(c, a);
  return true;
}

/* Its descriptor is closed, and its memory given back; whoever reads at the other end of a pipe must see that. */
static void end_stream(const struct rt_call *c) {
  rt_written_forget(rt_written_fd(c));
  (void)rt_real_call(c, c->args);
}

bool rt_side(const struct rt_call *c, const struct wire_side *s) {
  if (s->kind == WIRE_SIDE_MISNAMED) return fail_for_real(c, s->argument);
  uint64_t at = has_variable(s) ? variable(c, s) : argument(c, s->argument);
  if (at != 0 && s->kind == WIRE_SIDE_STREAM && s->name != 0) at = *(const uint64_t *)at;
  if (at == 0) return false;
  if (s->kind == WIRE_SIDE_STREAM) {
    set_flags(at, s->value);
    if (s->value & WIRE_STREAM_ENDED) end_stream(c);
    return true;
  }
  if (s->kind == WIRE_SIDE_ARG) at += s->offset;
  if (s->kind == WIRE_SIDE_ARG && !is_writable(c, at, s->width)) return false;
  store(at, s->width, s->value);
  return true;
}
