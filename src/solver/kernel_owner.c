/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which structure a pointer to a function was loaded from.
 *
 * The types that a kernel carries say what a function's arguments point to, so that the loads on the way to a pointer
 * name a member of a structure (path.c gives the loads). Where a type is lost on the way, the functions that are given
 * the object tell it, or the call itself, which gives the object to the function that it finds through it.
 */
#include "solver/kernel_owner.h"

#include <string.h>

static const char *name_at(const struct tables *t, uint64_t address) {
  const struct image_function *f = image_function_at(t->image, address);
  return f && f->name ? f->name : "";
}

/* What parameter ARG of the function at ADDRESS points to. */
static uint32_t parameter_type(const struct tables *t, uint64_t address, unsigned arg) {
  uint32_t type = tables_function_type(t->types, name_at(t, address), false);
  return types_pointee(t->types, types_parameter(t->types, type, arg));
}

static bool is_structure(const struct tables *t, uint32_t type) { return types_member_count(t->types, type) > 0; }

/* Is the object of the hint what the first N loads of the path lead to? */
static bool same_object(const struct flow_path *hint, const struct flow_path *p, unsigned n) {
  return hint->root == p->root && hint->arg == p->arg && hint->call == p->call && hint->where == p->where &&
         hint->n == n && memcmp(hint->offsets, p->offsets, n * sizeof *p->offsets) == 0;
}

/* The type that functions which are given the object take. */
static uint32_t hinted_type(const struct asker *a, const struct flow_path *p, unsigned n) {
  for (uint32_t i = 0; i < a->s->n_hints; i++) {
    const struct flow_hint *h = &a->s->hints[i];
    if (!h->target || !same_object(&h->path, p, n)) continue;
    uint32_t type = parameter_type(a->t, h->target, h->arg);
    if (is_structure(a->t, type)) return type;
  }
  return 0;
}

/* What the root of a path points to. */
static uint32_t root_type(const struct asker *a, const struct flow_path *p) {
  const struct tables *t = a->t;
  const struct flow_call *from = &a->s->calls[p->call];
  uint32_t type = 0;
  if (p->root == PATH_ARG) type = parameter_type(t, a->address, p->arg);
  if (p->root == PATH_CALL && from->kind == CALL_ADDRESS)
    type =
        types_pointee(t->types, types_return(t->types, tables_function_type(t->types, name_at(t, from->target), true)));
  if (p->root == PATH_PERCPU) type = types_percpu(t->types, p->where);
  return type;
}

/* The call gives the object to the function that it finds through it: object->operations->function(object, ...). */
static bool gives_object(const struct asker *a, const struct flow_path *p, unsigned n, unsigned *ret_arg) {
  for (uint32_t i = 0; i < a->s->n_hints; i++) {
    const struct flow_hint *h = &a->s->hints[i];
    if (h->at != a->call->at || !same_object(&h->path, p, n)) continue;
    *ret_arg = h->arg;
    return true;
  }
  return false;
}

/* Follows the path from an object of TYPE that its first N loads lead to. */
static int follow_types(struct tables *t, uint32_t type, const struct flow_path *p, unsigned n, uint32_t *ret_owner,
                        unsigned *ret_stuck) {
  for (unsigned i = n; type && i < p->n; i++) {
    struct type_member m;
    *ret_stuck = i;
    if (p->offsets[i] < 0 || !types_member(t->types, type, (uint32_t)p->offsets[i], &m)) return 0;
    uint32_t to = types_pointee(t->types, m.type);
    if (i + 1 == p->n) {
      *ret_owner = type;
      return to && types_is_function(t->types, to);
    }
    type = is_structure(t, to) ? to : 0;
    *ret_stuck = i + 1;
  }
  return 0;
}

/*
 * Where no type is known: the structure whose function at the last offset takes, as argument ARG, an object that has a
 * pointer to that structure where the path says. 0 if there is none, or more than one.
 */
static uint32_t self_typed(struct tables *t, const struct flow_path *p, unsigned n, unsigned arg) {
  uint32_t found = 0, owner;
  unsigned stuck;
  size_t all = types_count(t->types);
  for (uint32_t u = 1; u < all; u++) {
    struct type_member m;
    if (!is_structure(t, u) || !types_member(t->types, u, (uint32_t)p->offsets[p->n - 1], &m)) continue;
    uint32_t function = types_pointee(t->types, m.type);
    if (!function || !types_is_function(t->types, function)) continue;
    uint32_t object = types_pointee(t->types, types_parameter(t->types, function, arg));
    if (!is_structure(t, object) || !follow_types(t, object, p, n, &owner, &stuck)) continue;
    if (types_key(t->types, owner) != types_key(t->types, u)) continue;
    if (found && types_key(t->types, found) != types_key(t->types, u)) return 0;
    found = u;
  }
  return found;
}

uint32_t owner_of_last_load(const struct asker *a, const struct flow_path *p) {
  uint32_t type = root_type(a, p), owner = 0;
  unsigned stuck = 0, arg;
  /* A variable of a processor, or what an argument points to, may be a pointer itself. */
  bool known = is_structure(a->t, type) || types_pointee(a->t->types, type);
  if (known && follow_types(a->t, type, p, 0, &owner, &stuck)) return owner;
  for (unsigned n = stuck; n < p->n; n++) {
    type = hinted_type(a, p, n);
    if (type && follow_types(a->t, type, p, n, &owner, &stuck)) return owner;
  }
  for (unsigned n = 0; n < p->n; n++) {
    if (p->n - n > 2 || p->offsets[p->n - 1] < 0 || !gives_object(a, p, n, &arg)) continue;
    uint64_t key = hash_mix(hash_mix((uint64_t)p->offsets[p->n - 1] * 8 + arg) + (uint64_t)p->offsets[n] * 2 +
                            (p->n - n)),
             u;
    if (!map_get(a->known, key, &u)) {
      u = self_typed(a->t, p, n, arg);
      (void)map_put(a->known, key, u);
    }
    if (u) return (uint32_t)u;
  }
  return 0;
}
