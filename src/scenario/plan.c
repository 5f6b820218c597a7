/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a plan: strings once each, arrays behind each other, and a sum over all.
 */
#include "scenario/plan.h"

#include <errno.h>
#include <string.h>

int plan_no_memory(const struct plan *p) { return err_set(p->e, -ENOMEM, "out of memory"); }

int plan_string(struct plan *p, const char *s, uint32_t *ret) {
  uint64_t at;
  if (!p->text.n) text_add_bytes(&p->text, "", 1);
  if (!s || !*s) {
    *ret = 0;
    return p->text.failed ? plan_no_memory(p) : 0;
  }
  uint64_t hash = hash_string(s);
  if (!map_get(&p->strings, hash, &at) || strcmp(p->text.at + at, s) != 0) {
    at = p->text.n;
    text_add_bytes(&p->text, s, strlen(s) + 1);
    if (p->text.failed || p->text.n > UINT32_MAX || map_put(&p->strings, hash, at) < 0) return plan_no_memory(p);
  }
  *ret = (uint32_t)at;
  return 0;
}

int plan_slot(struct plan *p, const void *owner, uint32_t *ret) {
  uint64_t slot;
  if (!map_get(&p->slots, (uintptr_t)owner, &slot)) {
    slot = p->n_slots++;
    if (map_put(&p->slots, (uintptr_t)owner, slot) < 0) return plan_no_memory(p);
  }
  *ret = (uint32_t)slot;
  return 0;
}

/* Appends an array on a boundary of 8 bytes. */
static struct wire_span put(struct text *t, size_t start, const void *at, size_t n, size_t size) {
  while ((t->n - start) % 8 && !t->failed)
    text_add_bytes(t, "", 1);
  struct wire_span span = {(uint32_t)(t->n - start), (uint32_t)n};
  if (n) text_add_bytes(t, at, n * size);
  return span;
}

#define PUT(t, start, v) put(t, start, (v)->at, (v)->n, sizeof *(v)->at)

static void put_arrays(struct plan *p, struct text *t, size_t start, struct wire_plan *h) {
  h->functions = PUT(t, start, &p->functions);
  h->rules = PUT(t, start, &p->rules);
  h->code = PUT(t, start, &p->code);
  h->numbers = PUT(t, start, &p->numbers);
  h->faults = PUT(t, start, &p->faults);
  h->sides = PUT(t, start, &p->sides);
  h->modules = PUT(t, start, &p->modules);
  h->places = PUT(t, start, &p->places.places);
  h->patterns = PUT(t, start, &p->patterns);
  h->triggers = PUT(t, start, &p->triggers);
  h->settings = PUT(t, start, &p->settings);
  h->rows = put(t, start, p->world->rows, p->world->n_rows, sizeof *p->world->rows);
  h->tables = PUT(t, start, &p->tables);
  h->variables = PUT(t, start, &p->variables);
  h->locations = PUT(t, start, &p->locations);
  h->memories = PUT(t, start, &p->memories);
  h->text = PUT(t, start, &p->text);
  (void)put(t, start, NULL, 0, 1); /* the size is a multiple of 8 too */
}

int plan_bytes(struct plan *p, struct text *ret) {
  struct wire_plan h = {.magic = WIRE_PLAN_MAGIC, .version = WIRE_VERSION, .header = sizeof h};
  size_t start = ret->n;
  int r = plan_string(p, p->world->area, &h.area);
  if (r >= 0) r = plan_string(p, p->world->preload, &h.preload);
  if (r < 0) return r;
  h.flags = p->world->flags;
  h.slots = p->n_slots;
  h.thread_slots = p->n_thread_slots;
  h.seed = p->world->seed;
  text_add_bytes(ret, &h, sizeof h);
  put_arrays(p, ret, start, &h);
  h.size = ret->n - start;
  if (ret->failed) return plan_no_memory(p);
  if (h.size > UINT32_MAX) return err_set(p->e, -EFBIG, "the scenario is too large for a plan (write fewer rules)");
  memcpy(ret->at + start, &h, sizeof h);
  size_t behind = offsetof(struct wire_plan, sum) + sizeof h.sum;
  h.sum = wire_sum(ret->at + start + behind, h.size - behind);
  memcpy(ret->at + start, &h, sizeof h);
  return 0;
}
