/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of the program. Where they are was found out by murphy; here addresses become those of the process, and
 * frames are looked for on the stack. Memory is read after the kernel was asked whether it is there.
 */
#include "length.h"
#include "modules.h"
#include "operand.h"
#include "walk.h"

#define DEPTH_MAX 16384
#define REPEATS 3

static const struct rt_module *find_module(const struct rt_modules *list, uint32_t module) {
  for (uint32_t i = 0; i < list->n; i++)
    if (list->at[i].plan == module + 1 && list->at[i].exact) return &list->at[i];
  return NULL;
}

uint64_t rt_static(uint32_t module, uint64_t address) {
  uint64_t found = 0;
  for (unsigned i = 0; i < REPEATS; i++) {
    const struct rt_modules *list = rt_modules_now();
    if (!list) return 0;
    uint64_t version = rt_load(&list->version);
    const struct rt_module *m = find_module(list, module);
    found = m ? m->bias + address : 0;
    if (rt_modules_same(list, version)) return found;
  }
  return 0;
}

static int64_t extended(uint64_t value, unsigned width, bool sign) {
  unsigned unused = 64 - 8 * width;
  return sign ? (int64_t)(value << unused) >> unused : (int64_t)(value << unused >> unused);
}

RT_RAW bool rt_read(uint64_t address, unsigned width, bool sign, int64_t *ret) {
  uint64_t value = 0;
  if (!rt_readable(address, width)) return false;
  for (unsigned i = 0; i < width; i++) /* it need not be aligned */
    value |= (uint64_t)((const volatile uint8_t *)address)[i] << 8 * i;
  *ret = extended(value, width, sign);
  return true;
}

/* The frame that a variable is in. */
struct frame {
  uint64_t pc; /* ELF address */
  uint64_t sp, rbp, cfa;
  uint64_t bias;
};

/* The innermost frame of the function. 1; 0 if there is none; -1 if the list of modules has changed under the walk. */
RT_RAW static int find_frame(const struct rt_call *c, uint32_t place, struct frame *ret) {
  struct rt_walk w;
  unsigned depth = 0;
  if (!rt_walk_start(c, &w)) return 0;
  while (!rt_in_range(w.modules, place, w.pc))
    if (++depth >= DEPTH_MAX || !rt_walk_up(&w)) return rt_walk_valid(&w) ? 0 : -1;
  const struct rt_module *m = rt_walk_module(&w);
  if (!m || !m->exact) return rt_walk_valid(&w) ? 0 : -1;
  *ret = (struct frame){.pc = w.pc - m->bias, .sp = w.sp, .rbp = w.rbp, .bias = m->bias};
  if (rt_walk_up(&w)) ret->cfa = w.sp; /* its caller's stack starts there */
  return rt_walk_valid(&w) ? 1 : -1;
}

/* Where it is, in *AT; or what it is, in *IS. */
static bool locate(const struct frame *f, const struct wire_location *l, uint64_t *at, int64_t *is) {
  uint64_t offset = (uint64_t)l->offset;
  switch ((enum wire_location_kind)l->kind) {
  case WIRE_AT_CFA:
    *at = f->cfa + offset;
    return f->cfa != 0;
  case WIRE_AT_RBP:
    *at = f->rbp + offset;
    return true;
  case WIRE_AT_RSP:
    *at = f->sp + offset;
    return true;
  case WIRE_AT_STATIC:
    *at = f->bias + offset;
    return true;
  case WIRE_IS_RBP:
    *is = (int64_t)(f->rbp + offset);
    return true;
  case WIRE_IS_NUMBER:
    *is = l->offset;
    return true;
  default:
    return false;
  }
}

bool rt_local(const struct rt_call *c, const struct wire_variable *v, int64_t *ret) {
  struct frame f = {0};
  int found = -1;
  for (unsigned i = 0; i < REPEATS && found < 0; i++)
    found = find_frame(c, v->place, &f);
  if (found <= 0) return false;
  const struct wire_location *l = &rt_array(locations, struct wire_location)[v->location];
  for (uint32_t i = 0; i < v->n_locations; i++, l++) {
    uint64_t at = 0;
    int64_t is = 0;
    if (f.pc < l->start || f.pc >= l->end || !locate(&f, l, &at, &is)) continue;
    at += (uint64_t)v->offset;
    bool value = l->kind == WIRE_IS_RBP || l->kind == WIRE_IS_NUMBER;
    if (value && (v->width == 0 || v->offset != 0)) return false;
    *ret = value ? extended((uint64_t)is, v->width, v->sign) : (int64_t)at;
    return value || v->width == 0 || rt_read(at, v->width, v->sign, ret);
  }
  return false;
}
