/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triggers of the user's own, in shared objects that the shim needs, so that the loader has them ready before anything
 * runs. Their calls of functions that the plan intercepts are led around it: they are not the program's.
 *
 * The area says which thread is in which plugin, so that murphy can tell a crash there, or an exit, from one of the
 * program.
 */
#include <elf.h>

#include "ask.h"
#include "interrupted.h"
#include "link.h"
#include <murphy/trigger.h>
#include "process.h"
#include "system.h"
#include "terms.h"
#include "words.h"

#define PAGE 4096ull
#define CACHE_LINE 64
#define PREFIX "murphy_trigger_"
#define SYMBOL_SIZE 256

/* One for each trigger of the plan. */
struct rt_plugin {
  struct murphy_trigger trigger;
  struct murphy_trigger_class *class; /* NULL: cannot be asked */
  uint64_t eval;
  const uint32_t *ended; /* not 0: there is more to it than to call `eval` */
  uint64_t mark;         /* of this trigger in the area */
};

/* By function: what is the same in all calls. */
struct told {
  struct murphy_call call;
  uint64_t pad[3];
};

static struct rt_plugin *plugins;
static const uint32_t never = 1;

/*
 * What enter.S asks by: all plugins, once they can be asked; what they are told; where errno is, from the thread
 * pointer, or 0, where nothing changes, if that is not known.
 */
extern struct told *rt_plugin_told RT_HIDDEN;
extern uint64_t rt_plugin_errno RT_HIDDEN;
struct rt_plugin *rt_plugins;
struct told *rt_plugin_told;
uint64_t rt_plugin_errno;

_Static_assert(sizeof(struct rt_plugin) == 80 && offsetof(struct rt_plugin, trigger) == 0, "enter.S");
_Static_assert(offsetof(struct rt_plugin, eval) == 56 && offsetof(struct rt_plugin, ended) == 64, "enter.S");
_Static_assert(offsetof(struct rt_plugin, mark) == 72 && offsetof(struct wire_asking, trigger) == 8, "enter.S");
_Static_assert(sizeof(struct told) == sizeof(struct rt_function) && sizeof(struct murphy_call) == 40, "enter.S");
_Static_assert(offsetof(struct murphy_call, args) == 24 && offsetof(struct murphy_call, caller) == 32, "enter.S");

/* --- its own calls ------------------------------------------------------------------------------------------------ */

static uint64_t table_size(const struct link_map *m, int64_t tag) {
  for (const Elf64_Dyn *d = m->l_ld; d && d->d_tag != DT_NULL; d++)
    if (d->d_tag == tag) return d->d_un.d_val;
  return 0;
}

/* The real function in place of the stub that NAME is, or would be, bound to; 0 if it is not intercepted. */
static uint64_t real_of(const char *name, uint64_t bound) {
  const struct wire_function *f = rt_array(functions, struct wire_function);
  uint64_t real = 0;
  for (uint32_t i = 0; i < rt.plan->functions.n; i++) {
    if (!rt_same(rt_text(f[i].name), name)) continue;
    if (rt.entries[i].stub == bound) return rt.entries[i].real;
    if (real == 0) real = rt.entries[i].real;
  }
  return real;
}

/* A slot may be on a page that the loader has made read-only since. */
static void set_slot(const struct link_map *m, uint64_t *slot, uint64_t value) {
  const Elf64_Ehdr *head = (const void *)m->l_addr;
  const Elf64_Phdr *p = (const void *)(m->l_addr + head->e_phoff);
  uint64_t page = (uint64_t)slot & -PAGE;
  bool locked = false;
  for (unsigned i = 0; i < head->e_phnum; i++)
    locked |= p[i].p_type == PT_GNU_RELRO && (uint64_t)slot - m->l_addr - p[i].p_vaddr < p[i].p_memsz;
  if (locked && rt_system(SYS_mprotect, (long)page, (long)PAGE, 3 /* read, write */, 0, 0, 0) < 0) return;
  rt_store(slot, value);
  if (locked) (void)rt_system(SYS_mprotect, (long)page, (long)PAGE, 1 /* read */, 0, 0, 0);
}

static void lead_around(const struct link_map *m, int64_t table, int64_t size) {
  const Elf64_Rela *r = (const void *)rt_link_table(m, table);
  const Elf64_Sym *symbols = (const void *)rt_link_table(m, DT_SYMTAB);
  const char *strings = (const void *)rt_link_table(m, DT_STRTAB);
  uint64_t n = r && symbols && strings ? table_size(m, size) / sizeof *r : 0;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t type = ELF64_R_TYPE(r[i].r_info);
    const Elf64_Sym *s = &symbols[ELF64_R_SYM(r[i].r_info)];
    bool address = type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
    if (!address || s->st_name == 0 || s->st_shndx != SHN_UNDEF) continue;
    uint64_t *slot = (uint64_t *)(m->l_addr + r[i].r_offset);
    uint64_t real = real_of(strings + s->st_name, *slot);
    if (real != 0) set_slot(m, slot, real);
  }
}

/* --- what there is ------------------------------------------------------------------------------------------------ */

/* The object at PATH. The last part of it will do: the loader may name a file otherwise than it was asked for. */
static const struct link_map *find_object(const char *path) {
  const struct link_map *near = NULL;
  for (const struct link_map *m = rt_link_first(); m; m = m->l_next) {
    const char *name = m->l_name ? m->l_name : "", *last = rt_last_part(name);
    if (rt_same(name, path)) return m;
    if (!near && *last && rt_same(last, rt_last_part(path))) near = m;
  }
  return near;
}

static struct murphy_trigger_class *find_class(const struct link_map *m, const char *name) {
  char symbol[SYMBOL_SIZE] = PREFIX;
  size_t n = sizeof PREFIX - 1;
  for (; *name && n + 1 < sizeof symbol; name++)
    symbol[n++] = *name;
  symbol[n] = 0;
  return (struct murphy_trigger_class *)rt_link_symbol(m, symbol, NULL);
}

/* Memory of the process's own for the arguments and the state; NULL if there is none. */
static bool make_room(struct murphy_trigger *t, const struct wire_trigger *w, size_t state) {
  size_t args = w->n_settings * sizeof(struct murphy_trigger_arg);
  size_t start = (args + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
  struct murphy_trigger_arg *to = rt_map(start + state + 1);
  if (!to) return false;
  const struct wire_setting *from = &rt_array(settings, struct wire_setting)[w->setting];
  for (uint32_t i = 0; i < w->n_settings; i++)
    to[i] = (struct murphy_trigger_arg){rt_text(from[i].name), rt_text(from[i].value)};
  t->args = to;
  t->n_args = w->n_settings;
  t->state = (char *)to + start;
  return true;
}

/* --- who is in one ------------------------------------------------------------------------------------------------ */

#define NEAR 16 /* entries of the area that are looked at for a place */

static uint64_t own_name(void) { return (uint64_t)rt_pid() << 32 | rt_tid(); }

/*
 * A place for the thread: a free one, or else one of a thread that is in no plugin. Should that go into one at this
 * very moment, the two share the entry for once, and one of them may be missing in it.
 */
static __attribute__((noinline)) struct wire_asking *take_mark(uint64_t self) {
  struct wire_asking *all = rt_area_array(asking, struct wire_asking);
  uint32_t n = rt.area->asking.n;
  for (uint32_t i = 0; n > 0 && i < 2 * NEAR; i++) {
    struct wire_asking *a = &all[((uint32_t)self + i % NEAR) % n];
    uint64_t owner = rt_load(&a->owner);
    bool possible = i < NEAR ? owner == 0 : rt_load(&a->trigger) == 0;
    if (!possible || !rt_swap_if(&a->owner, &owner, self)) continue;
    a->process = rt_process();
    a->ended = 0;
    return rt_self.mark = a;
  }
  return NULL;
}

/* Is it where this thread says what it is in? A fork's child is a thread of another number. */
static inline bool is_own(const struct wire_asking *m) { return m && (uint32_t)rt_load(&m->owner) == rt_tid(); }

/* M: where to say it; or NULL. */
static inline uint64_t call_marked(struct wire_asking *m, uint32_t trigger, uint64_t function, uint64_t a, uint64_t b) {
  uint32_t error = rt_thread_word(rt_plugin_errno);
  struct rt_question question;
  rt_ask_begin(&question);
  if (m) rt_store(&m->trigger, trigger + 1);
  uint64_t result = rt_foreign(function, a, b);
  if (m) rt_store(&m->trigger, 0);
  rt_ask_end();
  rt_thread_set_word(rt_plugin_errno, error);
  return result;
}

static uint64_t call_plugin(uint32_t trigger, uint64_t function, uint64_t a, uint64_t b) {
  struct wire_asking *m = rt_self.mark;
  return call_marked(is_own(m) ? m : take_mark(own_name()), trigger, function, a, b);
}

void rt_plugin_left(void) {
  if (is_own(rt_self.mark)) rt_store(&rt_self.mark->trigger, 0);
}

/* Whatever the threads of this process are in, it is no reason for its end. */
static void forgive(uint32_t pid) {
  struct wire_asking *all = rt_area_array(asking, struct wire_asking);
  for (uint32_t i = 0; i < rt.area->asking.n; i++)
    if (rt_load(&all[i].owner) >> 32 == pid) rt_store(&all[i].ended, 1);
}

/* The process, if there are plugins in it; else 0. A child of vfork is in its parent's memory, and not the parent. */
static uint32_t own_process(void) {
  uint32_t pid = plugins ? rt_pid_if_known() : 0;
  return pid && pid == (uint32_t)rt_system(SYS_getpid, 0, 0, 0, 0, 0, 0) ? pid : 0;
}

void rt_plugin_leave(void) {
  uint32_t pid = own_process();
  if (pid) forgive(pid);
}

/*
 * `done` is called from here, and not by the destructor of the plugin (which does it if the loader should ever come
 * there first), so that what happens in it is told as the plugin's. What threads were in before has been forgiven.
 */
static void end_plugins(void) {
  for (uint32_t i = 0; plugins && i < rt.plan->triggers.n; i++) {
    struct murphy_trigger_class *class = rt_load(&plugins[i].class);
    if (!class || rt_load(&class->ended)) continue;
    rt_store(&class->ended, 1);
    class->triggers = NULL;
    for (uint32_t k = i; class->done && k < rt.plan->triggers.n; k++) {
      if (rt_load(&plugins[k].class) != class) continue;
      struct wire_asking *m = is_own(rt_self.mark) ? rt_self.mark : take_mark(own_name());
      if (m) rt_store(&m->ended, 0);
      (void)call_marked(m, k, (uint64_t) class->done, (uint64_t)&plugins[k].trigger, 0);
      if (m) rt_store(&m->ended, 1);
    }
  }
}

/*
 * The process ends by C: of a handler of the program's that came in the middle of a plugin it is known whether the
 * plugin is to blame.
 */
static void note_end(const struct rt_call *c, uint32_t trigger) {
  switch (rt_ending(c, rt_self.asking)) {
  case RT_ENDING_PLAIN:
    return rt_trouble(WIRE_TROUBLE_EXIT, trigger, 0, NULL);
  case RT_ENDING_CRASH:
    return rt_trouble(WIRE_TROUBLE_CRASH, trigger, 0, NULL);
  case RT_ENDING_HANDLER:
    return rt_trouble(WIRE_TROUBLE_HANDLER, trigger, 0, NULL);
  case RT_ENDING_UNKNOWN:
    return rt_trouble(WIRE_TROUBLE_ENDED, trigger, 0, NULL);
  case RT_ENDING_SIGNAL:
  case RT_ENDING_LEFT:
    return;
  }
}

/* In the thread that ends the process. One that has asked nobody has no entry. */
static void note_own(const struct rt_call *c, uint32_t pid) {
  struct wire_asking *mark = rt_self.mark;
  bool own = mark && rt_load(&mark->owner) == ((uint64_t)pid << 32 | rt_tid());
  uint32_t trigger = own && rt_asking((uint64_t)c->sp) ? rt_load(&mark->trigger) : 0;
  if (trigger == 0) return;
  note_end(c, trigger - 1);
  rt_store(&mark->trigger, 0);
}

/* Other threads may be in plugins, which is no fault of these. What a plugin calls itself does not come here. */
void rt_plugin_end(const struct rt_call *c) {
  uint32_t pid = own_process();
  if (!pid) return;
  note_own(c, pid);
  forgive(pid);
}

/* The process exits in good order: somebody has called exit, in the thread that this runs in. */
__attribute__((destructor)) static void note_exit(void) {
  uint64_t *frame = __builtin_frame_address(0);
  const struct rt_call here = {.sp = frame + 1, .rbp = frame[0]};
  rt_plugin_end(&here);
  end_plugins();
}

/* --- start -------------------------------------------------------------------------------------------------------- */

static void start_one(uint32_t i) {
  const struct wire_trigger *w = &rt_array(triggers, struct wire_trigger)[i];
  const struct link_map *m = find_object(rt_text(w->file));
  struct murphy_trigger_class *class = m ? find_class(m, rt_text(w->class)) : NULL;
  struct rt_plugin *p = &plugins[i];
  if (!class) return rt_trouble(WIRE_TROUBLE_MISSING, i, 0, NULL);
  if (class->version != MURPHY_TRIGGER_VERSION || class->size < MURPHY_TRIGGER_CLASS_SIZE || !class->eval)
    return rt_trouble(WIRE_TROUBLE_VERSION, i, 0, NULL);
  lead_around(m, DT_JMPREL, DT_PLTRELSZ);
  lead_around(m, DT_RELA, DT_RELASZ);
  p->trigger = (struct murphy_trigger){.size = sizeof p->trigger, .id = rt_text(w->id), .next = class->triggers};
  if (!make_room(&p->trigger, w, class->state_size)) return rt_trouble(WIRE_TROUBLE_REFUSED, i, 0, "out of memory");
  if (class->init && (int)call_plugin(i, (uint64_t) class->init, (uint64_t)&p->trigger, 0) != 0)
    return rt_trouble(WIRE_TROUBLE_REFUSED, i, 0, p->trigger.problem);
  class->triggers = &p->trigger;
  p->eval = (uint64_t) class->eval;
  p->ended = &class->ended;
  rt_store(&p->class, class);
}

static void learn_functions(void) {
  const struct wire_function *f = rt_array(functions, struct wire_function);
  for (uint32_t i = 0; i < rt.plan->functions.n; i++)
    rt_plugin_told[i].call = (struct murphy_call){.size = sizeof(struct murphy_call),
                                                  .n_args = f[i].n_args,
                                                  .function = rt_text(f[i].written ? f[i].written : f[i].name),
                                                  .symbol = rt_text(f[i].name)};
}

/* Most functions with such a trigger have nothing else to be looked at before. */
static void learn_first(struct rt_function *f) {
  uint32_t first = f->terms && !f->guarded && f->real != 0 ? f->terms->instruction : WIRE_OP_END;
  if ((first & 0xff) == WIRE_OP_ASK && plugins[first >> 8].class) rt_store(&f->ask, &plugins[first >> 8]);
}

bool rt_plugin_start(void) {
  int *(*location)(void) = (int *(*)(void))rt_link_real("__errno_location", NULL);
  rt_plugin_errno = location ? (uint64_t)location() - rt_thread_pointer() : 0;
  uint32_t n = rt.plan->triggers.n;
  size_t told = rt.plan->functions.n * sizeof *rt_plugin_told;
  rt_plugin_told = rt_map(told + n * sizeof *plugins);
  if (!rt_plugin_told) return false;
  plugins = (struct rt_plugin *)((char *)rt_plugin_told + told);
  learn_functions();
  for (uint32_t i = 0; i < n; i++) {
    plugins[i].mark = i + 1;
    plugins[i].ended = &never;
    if (rt_array(triggers, struct wire_trigger)[i].kind == WIRE_TRIGGER_PLUGIN) start_one(i);
  }
  rt_store(&rt_plugins, plugins);
  for (uint32_t i = 0; i < rt.plan->functions.n; i++)
    learn_first(&rt.functions[i]);
  return true;
}

static inline struct murphy_call describe(const struct rt_call *c) {
  struct murphy_call call = rt_plugin_told[c->index].call;
  call.args = c->args;
  call.caller = (const void *)rt_return_address(c);
  return call;
}

/* A thread that asks for the first time. */
static __attribute__((noinline)) bool ask_first(const struct rt_call *c, uint32_t trigger) {
  struct rt_plugin *p = plugins + trigger;
  struct murphy_call call = describe(c);
  return (int)call_plugin(trigger, p->eval, (uint64_t)&p->trigger, (uint64_t)&call) != 0;
}

RT_HOT bool rt_ask(const struct rt_call *c, uint32_t trigger) {
  struct rt_plugin *p = plugins + trigger;
  struct murphy_trigger_class *class;
  if (__builtin_expect(!plugins || !(class = rt_load(&p->class)), 0)) return rt_ask_other(c, trigger);
  if (rt_load(&class->ended)) return false;
  if (__builtin_expect(rt_self.asking != NULL, 0) && rt_asking((uint64_t)c->sp)) return false;
  struct wire_asking *m = rt_self.mark;
  if (__builtin_expect(!is_own(m), 0)) return ask_first(c, trigger);
  struct murphy_call call = describe(c);
  return (int)call_marked(m, trigger, p->eval, (uint64_t)&p->trigger, (uint64_t)&call) != 0;
}
