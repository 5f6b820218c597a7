/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of a unit and the calls that were inlined into them: one walk over all its DIEs, from which small
 * trees in the arena are left.
 *
 * The walk goes forward only. Where a level ends, libdw says where, and the parent's next sibling is behind it; asking
 * for the sibling of a parent would make libdw walk over all its children again.
 */
#include <dwarf.h>
#include <errno.h>

#include "image/debug.h"

/* What the children of a DIE are in. */
struct level {
  struct debug_scope *scope; /* the function or inlined call, or NULL */
  struct debug_scope **last; /* where the scope's next inlined call goes */
  const struct debug_space *space;
};

struct walk {
  struct image_debug *d;
  struct debug_unit *u;
  const uint8_t *end; /* of the unit */
  unsigned depth;
  struct level levels[DEBUG_DEPTH];
};

/* --- functions ---------------------------------------------------------------------------------------------------- */

static struct debug_scope *scope_new(struct walk *w, Dwarf_Die *die) {
  struct image_debug *d = w->d;
  struct debug_scope *s = arena_zalloc(&d->arena, sizeof *s);
  struct debug_span *spans = arena_memdup(&d->arena, d->found.at, d->found.n * sizeof *spans);
  if (!s || !spans) return NULL;
  s->die = *die;
  s->spans = spans;
  s->n_spans = (uint32_t)d->found.n;
  return s;
}

static int function_add(struct walk *w, Dwarf_Die *die, struct level *inside) {
  struct image_debug *d = w->d;
  size_t kept = 0;
  int r = debug_ranges(d, die);
  if (r < 0) return r;
  for (size_t i = 0; i < d->found.n; i++) {
    struct debug_span s = d->found.at[i];
    if (s.start != 0)
      d->found.at[kept++] = s;
    else if (s.end > w->u->discarded_end)
      w->u->discarded_end = s.end;
  }
  d->found.n = kept;
  inside->scope = NULL;
  if (kept == 0) return 0;
  struct debug_scope *s = scope_new(w, die);
  if (!s) return -ENOMEM;
  for (size_t i = 0; i < kept; i++) {
    struct debug_span one = s->spans[i];
    one.of = s;
    if (vec_push(&w->u->functions, one) < 0) return -ENOMEM;
  }
  inside->scope = s;
  inside->last = &s->inner;
  return 0;
}

static int inlined_add(struct walk *w, Dwarf_Die *die, struct level *at, struct level *inside) {
  if (!at->scope) return 0;
  int r = debug_ranges(w->d, die);
  if (r < 0) return r;
  inside->scope = NULL;
  if (w->d->found.n == 0) return 0;
  struct debug_scope *s = scope_new(w, die);
  if (!s) return -ENOMEM;
  s->call_file = debug_number(die, DW_AT_call_file);
  s->call_line = debug_number(die, DW_AT_call_line);
  s->call_column = debug_number(die, DW_AT_call_column);
  *at->last = s;
  at->last = &s->next;
  inside->scope = s;
  inside->last = &s->inner;
  return 0;
}

/* --- namespaces and types ----------------------------------------------------------------------------------------- */

static int space_note(struct walk *w, Dwarf_Die *die, const struct debug_space *space) {
  return space ? map_put(&w->u->spaces, dwarf_dieoffset(die), (uintptr_t)space) : 0;
}

static int space_add(struct walk *w, Dwarf_Die *die, bool is_namespace, struct level *inside) {
  const struct debug_space *outer = inside->space;
  const char *name = debug_string(die, DW_AT_name);
  Dwarf_Die origin;
  uint64_t other;
  int r = space_note(w, die, outer);
  if (r < 0) return r;
  /* A type that is defined elsewhere than declared: the declaration says where it belongs. */
  if (!outer && debug_origin(die, &origin) && origin.cu == die->cu) {
    if (map_get(&w->u->spaces, dwarf_dieoffset(&origin), &other)) outer = (const struct debug_space *)(uintptr_t)other;
    if (!name) name = debug_string(&origin, DW_AT_name);
  }
  if (!name && is_namespace) name = "(anonymous namespace)";
  inside->space = outer;
  if (!name) return 0;
  struct debug_space *s = arena_alloc(&w->d->arena, sizeof *s);
  if (!s) return -ENOMEM;
  *s = (struct debug_space){.outer = outer, .name = name};
  inside->space = s;
  return 0;
}

/* --- the walk ----------------------------------------------------------------------------------------------------- */

/* Takes what DIE says. 1 if its children are wanted, with what they are in; 0 if not; or a negative errno. */
static int die_take(struct walk *w, Dwarf_Die *die, struct level *at, struct level *inside) {
  int r, tag = dwarf_tag(die);
  *inside = *at;
  switch (tag) {
  case DW_TAG_subprogram:
    w->u->types |= dwarf_hasattr(die, DW_AT_type);
    r = space_note(w, die, at->space);
    if (r == 0) r = function_add(w, die, inside);
    inside->space = NULL;
    return r < 0 ? r : 1;
  case DW_TAG_inlined_subroutine:
    r = inlined_add(w, die, at, inside);
    return r < 0 ? r : 1;
  case DW_TAG_formal_parameter:
  case DW_TAG_base_type:
    w->u->types = true;
    return 0;
  case DW_TAG_lexical_block:
  case DW_TAG_try_block:
  case DW_TAG_catch_block:
    return 1;
  case DW_TAG_namespace:
  case DW_TAG_module:
  case DW_TAG_class_type:
  case DW_TAG_structure_type:
  case DW_TAG_union_type:
  case DW_TAG_interface_type:
    if (w->u->plain) return 0;
    r = space_add(w, die, tag == DW_TAG_namespace, inside);
    return r < 0 ? r : 1;
  default:
    return 0;
  }
}

/*
 * What a block's children add to the function must be seen by what follows the block: the end of the list is the same
 * for all levels of one scope.
 */
static void level_leave(struct walk *w) {
  struct level *inner = &w->levels[w->depth--], *outer = &w->levels[w->depth];
  if (inner->scope == outer->scope) outer->last = inner->last;
}

/* From the last of a level, whose end is at END, to what follows its parents. False at the end of the unit. */
static bool step_up(struct walk *w, Dwarf_Die *die, const uint8_t *end) {
  while (end && end < w->end && *end == 0) {
    if (w->depth == 0) return false;
    level_leave(w);
    end++;
  }
  if (!end || end >= w->end) return false;
  *die = (Dwarf_Die){.addr = (void *)end, .cu = die->cu};
  return true;
}

/* Goes to the DIE behind DIE and its children. False at the end of the unit. */
static bool step_over(struct walk *w, Dwarf_Die *die) {
  Dwarf_Die next;
  int r = dwarf_siblingof(die, &next);
  if (r < 0) return false;
  if (r == 0) {
    *die = next;
    return true;
  }
  return step_up(w, die, next.addr);
}

static int walk_all(struct walk *w, Dwarf_Die die) {
  for (;;) {
    struct level inside;
    Dwarf_Die child;
    int r = die_take(w, &die, &w->levels[w->depth], &inside);
    if (r < 0) return r;
    if (r > 0 && w->depth + 1 < DEBUG_DEPTH && dwarf_child(&die, &child) == 0) {
      w->levels[++w->depth] = inside;
      die = child;
    } else if (!step_over(w, &die)) {
      return 0;
    }
  }
}

/* Where the unit of DIE ends, or NULL. */
static const uint8_t *unit_end(Dwarf_Die *die) {
  Dwarf *dwarf = dwarf_cu_getdwarf(die->cu);
  Dwarf_Off in_unit = dwarf_cuoffset(die), start = dwarf_dieoffset(die) - in_unit, next;
  Dwarf_Half version;
  size_t header;
  if (dwarf_next_unit(dwarf, start, &next, &header, &version, NULL, NULL, NULL, NULL, NULL) != 0) return NULL;
  return (const uint8_t *)die->addr - in_unit + (next - start);
}

int debug_scopes_load(struct image_debug *d, struct debug_unit *u) {
  Dwarf_Die first;
  struct walk w = {.d = d, .u = u, .end = unit_end(&u->body)};
  int r = 0;
  if (w.end && dwarf_child(&u->body, &first) == 0) r = walk_all(&w, first);
  debug_spans_sort(&u->functions);
  return r;
}
