/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, closing and asking libraries. */
#include "hooks.h"

#include "link.h"
#include "operand.h"
#include "stack.h"
#include "system.h"
#include "words.h"

/* Handles of dlsym that mean: where the caller stands. */
#define DEFAULT_HANDLE 0ull
#define NEXT_HANDLE ~0ull

/* ADDRESS is what the loader has for NAME: the stub, if it is the function that is intercepted. */
static uint64_t stub_for(const char *name, uint64_t address) {
  const struct wire_function *f = rt_array(functions, struct wire_function);
  for (uint32_t i = 0; i < rt.plan->functions.n; i++) {
    struct wire_entry *e = &rt.entries[i];
    if ((e->real != address && e->real != 0) || !rt_same(rt_text(f[i].name), name)) continue;
    /* Its library was not there before, or is not for all to see. */
    uint64_t none = 0;
    (void)rt_swap_if(&e->real, &none, address);
    return e->stub;
  }
  return address;
}

typedef uint64_t looking(uint64_t, uint64_t, uint64_t);

static bool named(const char *name) {
  const struct wire_function *f = rt_array(functions, struct wire_function);
  for (uint32_t i = 0; i < rt.plan->functions.n; i++)
    if (rt_same(rt_text(f[i].name), name)) return true;
  return false;
}

/*
 * Handles that depend on who asks are asked by a jump, so that the loader sees the caller; dlsym finds the shim's
 * symbols by itself then. But dlvsym passes over those that have no version: if it would find the real function,
 * whoever asks, then the stub is meant.
 */
static enum rt_action hook_dlsym(struct rt_call *c, bool version) {
  const char *name = (const char *)c->args[1];
  bool depends = c->args[0] == DEFAULT_HANDLE || c->args[0] == NEXT_HANDLE;
  if (!name || (depends && !(version && c->args[0] == DEFAULT_HANDLE && named(name)))) return RT_PASS;
  uint64_t found = ((looking *)c->real)(c->args[0], c->args[1], c->args[2]);
  c->retval = found != 0 ? stub_for(name, found) : 0;
  return depends && c->retval == found ? RT_PASS : RT_RETURN;
}

static enum rt_action hook_dlclose(struct rt_call *c) {
  c->retval = (uint64_t)((int (*)(uint64_t))c->real)(c->args[0]);
  rt_modules_changed();
  return RT_RETURN;
}

enum rt_action rt_hook(struct rt_call *c, const struct rt_function *f) {
  switch ((enum wire_hook)f->hook) {
  case WIRE_HOOK_DLSYM:
    return hook_dlsym(c, false);
  case WIRE_HOOK_DLVSYM:
    return hook_dlsym(c, true);
  case WIRE_HOOK_DLOPEN:
    /* Where the library is looked for depends on the caller, so this is a jump too; the next call looks again. */
    (void)__atomic_fetch_or(&rt.busy, RT_BUSY_MODULES, __ATOMIC_ACQ_REL);
    return RT_PASS;
  case WIRE_HOOK_DLCLOSE:
    return hook_dlclose(c);
  case WIRE_HOOK_LOCK:
  case WIRE_HOOK_UNLOCK:
  case WIRE_HOOK_OUTPUT:
  case WIRE_HOOK_CLOSE:
    return rt_hook_watch(c, f);
  case WIRE_HOOK_NONE:
  case WIRE_HOOK_MAIN:
  case WIRE_HOOK_COUNT:
    return RT_PASS;
  default:
    return rt_hook_exec(c, f);
  }
}
