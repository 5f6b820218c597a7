/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The units of DWARF, one for a compiled file, and which addresses each covers.
 *
 * The index is made from the units' own ranges. .debug_aranges would be shorter to read, but clang writes none, and
 * one table that is sometimes there is no help over one that always is. Only when a unit is asked for are its lines
 * and functions read, once.
 */
#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "image/debug.h"

/* --- spans -------------------------------------------------------------------------------------------------------- */

/* Of equal starts the longer comes first, so that a search backwards meets the innermost first. */
static int by_start(const void *a, const void *b) {
  const struct debug_span *x = a, *y = b;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  return x->end > y->end ? -1 : x->end < y->end;
}

void debug_spans_sort(debug_spans *spans) {
  uint64_t reach = 0;
  if (spans->n > 0) qsort(spans->at, spans->n, sizeof *spans->at, by_start);
  for (size_t i = 0; i < spans->n; i++) {
    if (spans->at[i].end > reach) reach = spans->at[i].end;
    spans->at[i].reach = reach;
  }
}

/* How many spans start at or before ADDRESS. */
static size_t spans_up_to(const debug_spans *spans, uint64_t address) {
  size_t low = 0, high = spans->n;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (spans->at[mid].start <= address)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

const struct debug_span *debug_spans_next(const debug_spans *spans, uint64_t address, size_t *i) {
  if (*i == spans->n) *i = spans_up_to(spans, address);
  while (*i > 0 && spans->at[*i - 1].reach > address) {
    const struct debug_span *s = &spans->at[--*i];
    if (s->end > address) return s;
  }
  *i = 0;
  return NULL;
}

int debug_ranges(struct image_debug *d, Dwarf_Die *die) {
  Dwarf_Addr base, start, end;
  ptrdiff_t at = 0;
  d->found.n = 0;
  while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
    if (d->budget == 0) return -EBADMSG;
    d->budget--; /* for empty ones too, or they would cost time without end */
    if (start >= end) continue;
    if (vec_push(&d->found, (struct debug_span){.start = start, .end = end}) < 0) return -ENOMEM;
  }
  return 0; /* where a list is damaged, what is before the damage counts */
}

/* --- the index ---------------------------------------------------------------------------------------------------- */

static int unit_spans_add(struct image_debug *d, struct debug_unit *u) {
  int r = debug_ranges(d, &u->die);
  if (r < 0) return r;
  for (size_t i = 0; i < d->found.n; i++) {
    struct debug_span s = d->found.at[i];
    s.of = u;
    /* Of what the linker left out, the addresses count from 0. */
    if (s.start == 0 || !image_is_code(d->img, s.start)) continue;
    if (vec_push(&d->spans, s) < 0) return -ENOMEM;
  }
  return 0;
}

static int unit_add(struct image_debug *d, Dwarf_CU *cu, const Dwarf_Die *die) {
  struct debug_unit *u = arena_zalloc(&d->arena, sizeof *u);
  if (!u || vec_push(&d->units, u) < 0) return -ENOMEM;
  u->die = u->body = *die;
  if (map_put(&d->by_cu, (uintptr_t)cu, (uintptr_t)u) < 0) return -ENOMEM;
  return unit_spans_add(d, u);
}

int debug_index(struct image_debug *d) {
  Dwarf_CU *cu = NULL;
  Dwarf_Half version;
  Dwarf_Die die;
  uint8_t type;
  int r = 0;
  if (d->indexed) return 0;
  d->indexed = true;
  while (r == 0 && dwarf_get_units(d->dwarf, cu, &cu, &version, &type, &die, NULL) == 0)
    /* Type units have no code, and split units have no addresses without the skeleton in another file. */
    if (die.addr && (type == DW_UT_compile || type == DW_UT_skeleton || type == DW_UT_partial))
      r = unit_add(d, cu, &die);
  debug_spans_sort(&d->spans);
  return r;
}

/* --- one unit ----------------------------------------------------------------------------------------------------- */

/* Whether the .dwo file of a skeleton is a file that can be read; libdw would wait for the writer of a FIFO. */
static bool split_is_regular(struct image_debug *d, Dwarf_Die *die, const char *folder) {
  const char *name = debug_string(die, DW_AT_dwo_name);
  struct text path = {0};
  struct stat st;
  if (!name) name = debug_string(die, DW_AT_GNU_dwo_name);
  if (!name) return false;
  if (name[0] != '/' && folder) text_addf(&path, "%s/", folder);
  text_add(&path, name);
  bool regular = !path.failed && stat(path.at, &st) == 0 && S_ISREG(st.st_mode);
  if (!regular && !path.failed && !d->lacks) d->lacks = arena_strdup(&d->arena, path.at);
  text_done(&path);
  return regular;
}

const char *image_debug_lacks(const struct image_debug *d) { return d->lacks; }

static int unit_split_load(struct image_debug *d, struct debug_unit *u) {
  Dwarf_Half version;
  Dwarf_Die die, body;
  uint8_t type;
  if (dwarf_cu_info(u->die.cu, &version, &type, NULL, NULL, NULL, NULL, NULL) < 0 || type != DW_UT_skeleton) return 0;
  if (!split_is_regular(d, &u->die, u->folder)) return 0;
  if (dwarf_cu_info(u->die.cu, &version, &type, &die, &body, NULL, NULL, NULL) < 0 || !body.addr) return 0;
  u->body = body;
  return map_put(&d->by_cu, (uintptr_t)body.cu, (uintptr_t)u);
}

static bool is_plain(int language) {
  switch (language) {
  case DW_LANG_C89:
  case DW_LANG_C:
  case DW_LANG_C99:
  case DW_LANG_C11:
  case DW_LANG_Mips_Assembler:
    return true;
  default:
    return false;
  }
}

void debug_lines_load(struct image_debug *d, struct debug_unit *u) {
  if (u->lines_tried) return;
  u->lines_tried = true;
  if (d->budget == 0 || !debug_table_fits(d, &u->die, u->folder)) return;
  if (dwarf_getsrclines(&u->die, &u->lines, &u->n_lines) != 0) u->n_lines = 0;
  /* The calls in a .dwo file count its own files, if it has a table. */
  if (u->body.cu == u->die.cu || debug_table_fits(d, &u->body, u->folder))
    if (dwarf_getsrcfiles(&u->body, &u->files, &u->n_files) != 0) u->n_files = 0;
  d->budget -= u->n_lines < d->budget ? u->n_lines : d->budget;
}

int debug_unit_load(struct image_debug *d, struct debug_unit *u) {
  if (u->tried) return 0;
  u->tried = true;
  if (d->budget == 0) return -EBADMSG;
  u->folder = debug_string(&u->die, DW_AT_comp_dir);
  int r = unit_split_load(d, u);
  u->plain = is_plain(dwarf_srclang(&u->body));
  u->typed = dwarf_srclang(&u->body) > 0 && dwarf_srclang(&u->body) != DW_LANG_Mips_Assembler;
  return r < 0 ? r : debug_scopes_load(d, u);
}

void debug_unit_done(struct debug_unit *u) {
  vec_done(&u->functions);
  map_done(&u->spaces);
}
