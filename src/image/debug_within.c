/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in which namespace or type; and types that are declared in one unit and defined in another.
 */
#include <dwarf.h>
#include <errno.h>

#include "image/debug_variable.h"

enum { NAME_BYTES = 1024, DEPTH_MAX = 64 };

static bool is_record(int tag) {
  return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

bool debug_within_enter(const struct debug_within *in, Dwarf_Die *die, struct debug_within *ret) {
  int tag = dwarf_tag(die);
  if (tag != DW_TAG_namespace && tag != DW_TAG_module && !is_record(tag)) return false;
  const char *name = debug_string(die, DW_AT_name);
  *ret = (struct debug_within){.outer = in,
                               .name = name,
                               .silent = !name || dwarf_hasattr(die, DW_AT_export_symbols),
                               .depth = in ? in->depth + 1 : 1};
  if (!name && tag == DW_TAG_namespace) ret->name = "(anonymous namespace)";
  return dwarf_haschildren(die) > 0;
}

/* SPACE::NAME in BUFFER, of which too long a start is cut; ALL names, or without those that may be left out. */
static const char *qualified(const struct debug_within *in, const char *name, bool all, char buffer[NAME_BYTES]) {
  size_t at = NAME_BYTES - 1, n = strlen(name);
  buffer[at] = '\0';
  if (n > at) return name;
  memcpy(buffer + (at -= n), name, n);
  for (; in; in = in->outer) {
    n = in->name && (all || !in->silent) ? strlen(in->name) : 0;
    if (n == 0) continue;
    if (n + 2 > at) break;
    memcpy(buffer + (at -= 2), "::", 2);
    memcpy(buffer + (at -= n), in->name, n);
  }
  return buffer + at;
}

bool debug_within_is(const struct debug_within *in, const char *name, const char *wanted) {
  char buffer[NAME_BYTES];
  return debug_is_tail(qualified(in, name, true, buffer), wanted, "::") ||
         debug_is_tail(qualified(in, name, false, buffer), wanted, "::");
}

/* --- types -------------------------------------------------------------------------------------------------------- */

/* A type that is looked for. */
struct type_search {
  struct variable_search *s;
  int tag;
  const char *name, *whole; /* whole: with what it is in */
  const void *declaration;
  char buffer[NAME_BYTES]; /* for whole */
  Dwarf_Die *ret;
};

/* A class is declared as a struct by some, and the other way round. */
static bool same_kind(int a, int b) {
  bool classes = (a == DW_TAG_class_type || b == DW_TAG_class_type) && a != DW_TAG_union_type && b != DW_TAG_union_type;
  return a == b || (classes && is_record(a) && is_record(b));
}

static bool find_type(struct type_search *q, Dwarf_Die *space, const struct debug_within *in,
                      bool (*take)(struct type_search *, Dwarf_Die *, const struct debug_within *)) {
  Dwarf_Die child;
  if (in && in->depth > DEPTH_MAX) return false;
  for (bool more = variable_child(q->s, space, &child); more; more = variable_next(q->s, &child)) {
    struct debug_within inside;
    int tag = dwarf_tag(&child);
    if (same_kind(tag, q->tag) && take(q, &child, in)) return true;
    if (debug_within_enter(in, &child, &inside) && find_type(q, &child, &inside, take)) return true;
  }
  return false;
}

static bool take_itself(struct type_search *q, Dwarf_Die *die, const struct debug_within *in) {
  if (die->addr != q->declaration) return false;
  q->whole = qualified(in, q->name, true, q->buffer);
  return true;
}

static bool take_definition(struct type_search *q, Dwarf_Die *die, const struct debug_within *in) {
  char buffer[NAME_BYTES];
  const char *name = debug_string(die, DW_AT_name);
  if (!name || strcmp(name, q->name) != 0 || dwarf_hasattr(die, DW_AT_declaration)) return false;
  if (strcmp(qualified(in, name, true, buffer), q->whole) != 0) return false;
  *q->ret = *die;
  return true;
}

bool debug_definition(struct variable_search *s, Dwarf_Die *type, Dwarf_Die *ret) {
  Dwarf_Attribute a;
  struct type_search q = {.s = s, .tag = dwarf_tag(type), .name = debug_string(type, DW_AT_name), .ret = ret};
  uint64_t unit;
  if (dwarf_attr(type, DW_AT_signature, &a) && dwarf_formref_die(&a, ret)) return true;
  if (!q.name || !map_get(&s->d->by_cu, (uintptr_t)type->cu, &unit)) return false;
  q.declaration = type->addr;
  struct debug_unit *own = (struct debug_unit *)(uintptr_t)unit;
  if (!find_type(&q, &own->body, NULL, take_itself)) return false;
  for (size_t i = 0; i < s->d->units.n; i++) {
    struct debug_unit *u = s->d->units.at[i];
    if (debug_unit_load(s->d, u) == -ENOMEM) return false;
    if (find_type(&q, &u->body, NULL, take_definition)) return true;
  }
  return false;
}
