/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the runtime does around calls that are not made to fail: those to the loader, which must not find the shim;
 * forks; and what is noted of others, or put right in a trunk. System calls by number are in raw.c.
 */
#include "hooks.h"

#include <time.h>

#include "apart.h"
#include "ask.h"
#include "modules.h"
#include "rt_names.h"
#include "numbers.h"
#include "operand.h"
#include "pinned.h"
#include "process.h"
#include "real.h"
#include "server.h"
#include "sound.h"
#include "branch.h"
#include "stack.h"
#include "system.h"
#include "words.h"

/* Handles of dlsym that mean: where the caller stands. */
#define DEFAULT_HANDLE 0ull
#define NEXT_HANDLE ~0ull

/* The next function of that NAME, from I on; all of them have been seen if it is as many as there are. */
static uint32_t next_named(const char *name, uint32_t i) {
  const struct wire_function *f = rt_array(functions, struct wire_function);
  while (i < rt.plan->functions.n && !rt_same(rt_text(f[i].name), name))
    i++;
  return i;
}

/* ADDRESS is what the loader has for NAME: the stub, if it is the function that is intercepted. */
static uint64_t stub_for(const char *name, uint64_t address) {
  for (uint32_t i = next_named(name, 0); i < rt.plan->functions.n; i = next_named(name, i + 1)) {
    if (rt.entries[i].stub == address) return address;
    if (rt_real_is_late(i) ? rt_real_asked(i, address) : rt.entries[i].real == address) return rt.entries[i].stub;
  }
  return address;
}

/* Is ADDRESS the stub of a function that nobody defines? Then the shim itself was found. */
static bool found_shim(const char *name, uint64_t address, uint64_t pc) {
  for (uint32_t i = next_named(name, 0); i < rt.plan->functions.n; i = next_named(name, i + 1))
    if (rt.entries[i].stub == address && rt_real_is_late(i)) return !rt_real_exists(i, pc);
  return false;
}

/* Shows the loader those of NAME that there are for code at PC, and no others; until the next call. */
static void show_existing(const char *name, uint64_t pc) {
  for (uint32_t i = next_named(name, 0); i < rt.plan->functions.n; i = next_named(name, i + 1))
    if (rt_real_is_late(i)) {
      rt_name_show(i, rt_real_exists(i, pc));
      (void)__atomic_fetch_or(&rt.busy, RT_BUSY_MODULES, __ATOMIC_ACQ_REL);
    }
}

typedef uint64_t looking(uint64_t, uint64_t, uint64_t);

/* Where points are recorded, murphy wants to know of libraries that the program has opened and uses. */
static void note_opened(const struct link_map *handle) {
  if (rt.area && rt.area->points.n && handle) (void)rt_modules_learn((uint64_t)handle->l_ld);
}

/*
 * Handles that depend on who asks are asked by a jump, so that the loader sees the caller; dlsym finds the shim's
 * symbols by itself then. But dlvsym passes over those that have no version: if it would find the real function,
 * whoever asks, then the stub is meant.
 */
static enum rt_action hook_dlsym(struct rt_call *c, bool version) {
  const char *name = (const char *)c->args[1];
  bool depends = c->args[0] == DEFAULT_HANDLE || c->args[0] == NEXT_HANDLE;
  if (!depends) note_opened((const struct link_map *)c->args[0]);
  if (!name || next_named(name, 0) == rt.plan->functions.n) return RT_PASS;
  uint64_t pc = depends ? rt_return_address(c) - 1 : 0;
  if (depends) show_existing(name, pc);
  if (depends && !(version && c->args[0] == DEFAULT_HANDLE)) return RT_PASS;
  uint64_t found = ((looking *)c->real)(c->args[0], c->args[1], c->args[2]);
  if (found != 0 && found_shim(name, found, pc)) {
    show_existing(name, pc);
    found = ((looking *)c->real)(c->args[0], c->args[1], c->args[2]);
  }
  c->retval = found != 0 ? stub_for(name, found) : 0;
  return depends && c->retval == found ? RT_PASS : RT_RETURN;
}

static enum rt_action hook_dlclose(struct rt_call *c) {
  c->retval = (uint64_t)((int (*)(uint64_t))c->real)(c->args[0]);
  rt_modules_changed();
  rt_real_changed();
  return RT_RETURN;
}

/* A program that looks where its functions are must not see the shim. */
static enum rt_action hook_dladdr(struct rt_call *c) {
  for (uint32_t i = 0; i < rt.plan->functions.n; i++) {
    if (rt.entries[i].stub != c->args[0]) continue;
    uint64_t real = rt_real_is_late(i) ? rt_real_for(i, rt_return_address(c) - 1) : rt.entries[i].real;
    if (real != 0) c->args[0] = real;
  }
  return RT_PASS;
}

/*
 * A child that took its number when it is first asked for it would get another one in a run that asks at other times,
 * such as the replay of this one.
 */
static enum rt_action hook_fork(struct rt_call *c) {
  rt_numbers_settle();
  struct rt_child child = rt_process_reserve();
  c->retval = (uint64_t)(int64_t)((int (*)(void))c->real)();
  if (c->retval == 0) rt_process_born(child);
  if ((int64_t)c->retval < 0) rt_process_unborn(child);
  return RT_RETURN;
}

/* A trunk shows another number than it has: the one must mean the other, where it is an argument. */
static enum rt_action hook_whom(struct rt_call *c, bool first, bool second) {
  if (first) c->args[0] = rt_trunk_meant(c->args[0]);
  if (second) c->args[1] = rt_trunk_meant(c->args[1]);
  return RT_PASS;
}

enum rt_action rt_hook_self(struct rt_call *c, unsigned argument) {
  if (!rt_trunk()) return RT_PASS;
  c->args[argument] = rt_trunk_meant(c->args[argument]);
  c->retval = rt_trunk_shown(((looking *)c->real)(c->args[0], c->args[1], c->args[2]));
  return RT_RETURN;
}

/* What libc has as the number of a trunk's thread is the one that it shows; the kernel is asked about the real one. */
static enum rt_action hook_thread(struct rt_call *c) {
  uint32_t *number = rt_process_tid();
  if (!rt_trunk() || c->args[0] != rt_thread_pointer() || !number || rt_trunk_meant(*number) == *number) return RT_PASS;
  uint32_t shown = *number;
  *number = rt_trunk_pid;
  c->retval = ((looking *)c->real)(c->args[0], c->args[1], c->args[2]);
  *number = shown;
  return RT_RETURN;
}

/* What is only noted. */
static enum rt_action hook_note(const struct rt_call *c, enum wire_hook hook) {
  switch (hook) {
  case WIRE_HOOK_TELL:
    rt_numbers_tell();
    break;
  case WIRE_HOOK_MOVE:
    rt_numbers_settle();
    break;
  case WIRE_HOOK_ADVISE:
    rt_sound_advised(c->args[2]);
    break;
  case WIRE_HOOK_CONTROL:
    rt_apart_control(c->args[0]);
    break;
  case WIRE_HOOK_LEAVE:
    rt_apart_leave();
    break;
  case WIRE_HOOK_SPENT:
    rt_apart_spent(CLOCK_PROCESS_CPUTIME_ID);
    break;
  case WIRE_HOOK_SPENT_BY:
    rt_apart_spent(c->args[0]);
    break;
  case WIRE_HOOK_PIN:
    rt_pinned_note();
    break;
  case WIRE_HOOK_MAP:
    rt_pinned_mapped(c->args[3]);
    break;
  default:
    break;
  }
  return RT_PASS;
}

static enum rt_action hook_loader(struct rt_call *c, enum wire_hook hook) {
  switch (hook) {
  case WIRE_HOOK_DLOPEN:
    /* Where the library is looked for depends on the caller, so this is a jump too; the next call looks again. */
    rt_names_open();
    (void)__atomic_fetch_or(&rt.busy, RT_BUSY_MODULES, __ATOMIC_ACQ_REL);
    return RT_PASS;
  case WIRE_HOOK_DLCLOSE:
    return hook_dlclose(c);
  case WIRE_HOOK_DLADDR:
    return hook_dladdr(c);
  default:
    return hook_dlsym(c, hook == WIRE_HOOK_DLVSYM);
  }
}

enum rt_action rt_hook(struct rt_call *c, const struct rt_function *f) {
  enum wire_hook hook = (enum wire_hook)f->hook;
  switch (hook) {
  case WIRE_HOOK_DLSYM:
  case WIRE_HOOK_DLVSYM:
  case WIRE_HOOK_DLOPEN:
  case WIRE_HOOK_DLCLOSE:
  case WIRE_HOOK_DLADDR:
    return hook_loader(c, hook);
  case WIRE_HOOK_FORK:
    return hook_fork(c);
  case WIRE_HOOK_END:
    rt_plugin_end(c);
    return RT_PASS;
  case WIRE_HOOK_LOOK:
  case WIRE_HOOK_LOOK_FILE:
  case WIRE_HOOK_LOOK_AT:
  case WIRE_HOOK_LOOK_X:
  case WIRE_HOOK_LOOK_OLD:
  case WIRE_HOOK_LOOK_FILE_OLD:
  case WIRE_HOOK_LOOK_AT_OLD:
    return rt_numbers_look(c, hook);
  case WIRE_HOOK_ENTRY:
  case WIRE_HOOK_ENTRY_INTO:
  case WIRE_HOOK_ENTRIES:
  case WIRE_HOOK_SCAN:
  case WIRE_HOOK_SCAN_AT:
    return rt_numbers_list(c, hook);
  case WIRE_HOOK_SELF:
    return rt_hook_self(c, 0);
  case WIRE_HOOK_RAW:
    return rt_hook_raw(c);
  case WIRE_HOOK_WHOM:
  case WIRE_HOOK_WHOM_2:
  case WIRE_HOOK_WHOMS:
    return rt_trunk() ? hook_whom(c, hook != WIRE_HOOK_WHOM_2, hook != WIRE_HOOK_WHOM) : RT_PASS;
  case WIRE_HOOK_THREAD:
    return hook_thread(c);
  case WIRE_HOOK_TELL:
  case WIRE_HOOK_MOVE:
  case WIRE_HOOK_ADVISE:
  case WIRE_HOOK_CONTROL:
  case WIRE_HOOK_LEAVE:
  case WIRE_HOOK_SPENT:
  case WIRE_HOOK_SPENT_BY:
  case WIRE_HOOK_PIN:
  case WIRE_HOOK_MAP:
    return hook_note(c, hook);
  case WIRE_HOOK_LOCK:
  case WIRE_HOOK_UNLOCK:
  case WIRE_HOOK_OUTPUT:
  case WIRE_HOOK_MESSAGES:
  case WIRE_HOOK_CLOSE_ALL:
  case WIRE_HOOK_CLOSE_SOME:
  case WIRE_HOOK_CLOSE:
  case WIRE_HOOK_DUP:
  case WIRE_HOOK_FCNTL:
  case WIRE_HOOK_STREAM:
    return rt_hook_watch(c, f);
  case WIRE_HOOK_MAIN:
    rt_server();
    return RT_PASS;
  case WIRE_HOOK_NONE:
  case WIRE_HOOK_COUNT:
    return RT_PASS;
  default:
    rt_numbers_settle();
    return rt_hook_exec(c, f);
  }
}
