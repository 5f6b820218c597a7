/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What functions and files are called.
 *
 * A function's DIE with code often has no name of its own: it refers to an abstract instance, that to a declaration in
 * a type. The name is found at the end of that way, and the type and namespaces by where the declaration stands.
 */
#include <dwarf.h>
#include <errno.h>

#include "image/debug.h"

/* How many references are followed from one DIE to the next. Compilers need three. */
enum { ORIGINS = 8 };

bool debug_origin(Dwarf_Die *die, Dwarf_Die *ret) {
  Dwarf_Attribute a;
  if (!dwarf_attr(die, DW_AT_abstract_origin, &a) && !dwarf_attr(die, DW_AT_specification, &a)) return false;
  return dwarf_formref_die(&a, ret) != NULL;
}

const char *debug_string(Dwarf_Die *die, unsigned attribute) {
  Dwarf_Attribute a;
  return dwarf_attr(die, attribute, &a) ? dwarf_formstring(&a) : NULL;
}

unsigned debug_number(Dwarf_Die *die, unsigned attribute) {
  Dwarf_Attribute a;
  Dwarf_Word value;
  if (!dwarf_attr(die, attribute, &a) || dwarf_formudata(&a, &value) != 0) return 0;
  return value <= UINT32_MAX ? (unsigned)value : 0;
}

/* What DIE is declared in, or NULL. */
static const struct debug_space *space_of(struct image_debug *d, Dwarf_Die *die) {
  uint64_t unit, space;
  if (!map_get(&d->by_cu, (uintptr_t)die->cu, &unit)) return NULL;
  struct debug_unit *u = (struct debug_unit *)(uintptr_t)unit;
  if (debug_unit_load(d, u) < 0 || !map_get(&u->spaces, dwarf_dieoffset(die), &space)) return NULL;
  return (const struct debug_space *)(uintptr_t)space;
}

/* SPACE::NAME, or NULL if there is no memory. */
static const char *name_qualified(struct image_debug *d, const struct debug_space *space, const char *name) {
  size_t n = strlen(name) + 1;
  for (const struct debug_space *s = space; s; s = s->outer)
    n += strlen(s->name) + 2;
  char *whole = arena_alloc(&d->arena, n), *at = whole + n - strlen(name) - 1;
  if (!whole) return NULL;
  strcpy(at, name);
  for (const struct debug_space *s = space; s; s = s->outer) {
    size_t len = strlen(s->name);
    at -= 2;
    memcpy(at, "::", 2);
    at -= len;
    memcpy(at, s->name, len);
  }
  return whole;
}

const char *debug_scope_name(struct image_debug *d, struct debug_scope *s) {
  const struct debug_space *space = NULL;
  const char *name = NULL;
  Dwarf_Die die = s->die, next;
  if (s->named) return s->name;
  s->named = true;
  bool typed = false;
  for (unsigned i = 0; i < ORIGINS; i++) {
    if (!name) name = debug_string(&die, DW_AT_name);
    if (!space) space = space_of(d, &die);
    typed |= dwarf_hasattr(&die, DW_AT_type);
    if (!debug_origin(&die, &next)) break;
    die = next;
  }
  s->no_result = name && !typed;
  s->name = name && space ? name_qualified(d, space, name) : name;
  return s->name;
}

/* FOLDER/NAME; the same pointer for the same NAME of libdw, which makes one for each file of a unit. */
static const char *path_join(struct image_debug *d, const char *folder, const char *name) {
  uint64_t known;
  if (map_get(&d->paths, (uintptr_t)name, &known)) return (const char *)(uintptr_t)known;
  size_t n = strlen(folder), m = strlen(name);
  char *path = arena_alloc(&d->arena, n + m + 2);
  if (!path) return NULL;
  memcpy(path, folder, n);
  path[n] = '/';
  memcpy(path + n + 1, name, m + 1);
  return map_put(&d->paths, (uintptr_t)name, (uintptr_t)path) < 0 ? NULL : path;
}

void debug_path(struct image_debug *d, const struct debug_unit *u, const char *name, struct image_frame *frame) {
  const char *folder = u->folder;
  size_t n = folder ? strlen(folder) : 0;
  frame->file = frame->relative = NULL;
  /* libdw's word for a file that the table does not have. */
  if (!name || !name[0] || strcmp(name, "???") == 0) return;
  while (n > 0 && folder[n - 1] == '/')
    n--;
  if (name[0] == '/' || n == 0) {
    bool below = n > 0 && strncmp(name, folder, n) == 0 && name[n] == '/' && name[n + 1];
    frame->file = name;
    frame->relative = below ? name + n + 1 : name;
    return;
  }
  frame->file = path_join(d, folder, name);
  if (frame->file) frame->relative = frame->file + strlen(frame->file) - strlen(name);
}
