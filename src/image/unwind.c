/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind rows of a whole image: .eh_frame in a form that can be searched and used without reading anything else.
 *
 * Entries are sorted first, since of two that overlap the later one counts from its start on, as for a search in
 * .eh_frame_hdr. Rows are made in one pass over them. All programs together may be as long as the file, which honest
 * ones are by far not; so entries that share their bytes cost no more than others.
 */
#include <errno.h>
#include <stdlib.h>

#include "image/cfa.h"

struct entry {
  uint64_t start, end;
  size_t group; /* index in groups; SIZE_MAX if the entry could not be read */
  struct cursor program;
};

/* A CIE, and what holds at the start of its entries. */
struct group {
  struct cie cie;
  struct cfa_rules initial;
  bool usable;
};

struct gathering {
  VEC(struct entry) entries;
  VEC(struct group) groups;
  struct map group_at; /* address of a CIE → index of its group */
  VEC(struct image_row) rows;
  uint64_t budget; /* bytes of programs that may still be carried out */
};

static bool spend(struct gathering *g, uint64_t n) {
  bool enough = n <= g->budget;
  g->budget = enough ? g->budget - n : 0;
  return enough;
}

static int group_of(struct gathering *g, const struct cie *cie, size_t *ret) {
  uint64_t known;
  if (map_get(&g->group_at, cie->address, &known)) {
    *ret = known;
    return 0;
  }
  struct group group = {.cie = *cie};
  group.usable = spend(g, cie->program.left) && cfa_begin(cie, &group.initial);
  *ret = g->groups.n;
  int r = vec_push(&g->groups, group);
  return r < 0 ? r : map_put(&g->group_at, cie->address, *ret);
}

static int take_entry(void *context, const struct fde *f) {
  struct gathering *g = context;
  struct entry e = {f->start, f->end, SIZE_MAX, f->program};
  int r = f->cie ? group_of(g, f->cie, &e.group) : 0;
  return r < 0 ? r : vec_push(&g->entries, e);
}

static int by_start(const void *a, const void *b) {
  const struct entry *x = a, *y = b;
  return x->start < y->start ? -1 : x->start > y->start;
}

static void sort_entries(struct gathering *g) {
  for (size_t i = 1; i < g->entries.n; i++)
    if (g->entries.at[i - 1].start > g->entries.at[i].start) {
      qsort(g->entries.at, g->entries.n, sizeof *g->entries.at, by_start);
      return;
    }
}

static bool rows_equal(const struct image_row *a, const struct image_row *b) {
  return a->cfa == b->cfa && a->add == b->add && a->rbp == b->rbp && a->offset == b->offset;
}

/* The last word on an address counts; a row that says what the one before it says is left out. */
static int take_row(void *context, struct image_row row) {
  struct gathering *g = context;
  if (g->rows.n && g->rows.at[g->rows.n - 1].start == row.start) g->rows.n--;
  if (g->rows.n && rows_equal(&g->rows.at[g->rows.n - 1], &row)) return 0;
  return vec_push(&g->rows, row);
}

/* The rows of an entry up to END, and that there is nothing behind it. */
static int entry_rows(struct gathering *g, const struct entry *e, uint64_t end) {
  const struct group *group = e->group < g->groups.n ? &g->groups.at[e->group] : NULL;
  int r;
  if (group && group->usable && spend(g, e->program.left))
    r = cfa_run(&group->cie, &group->initial, e->program, e->start, end, take_row, g);
  else
    r = take_row(g, (struct image_row){.start = (uint32_t)e->start});
  return r < 0 ? r : take_row(g, (struct image_row){.start = (uint32_t)end, .cfa = IMAGE_CFA_NONE});
}

static int make_rows(struct gathering *g) {
  for (size_t i = 0; i < g->entries.n; i++) {
    const struct entry *e = &g->entries.at[i];
    uint64_t end = e->end > e->start ? e->end : e->start + 1;
    if (i + 1 < g->entries.n && g->entries.at[i + 1].start < end) end = g->entries.at[i + 1].start;
    if (end > UINT32_MAX) { /* not for rows: all or nothing */
      g->rows.n = 0;
      return 0;
    }
    int r = end > e->start ? entry_rows(g, e, end) : 0;
    if (r < 0) return r;
  }
  return 0;
}

int image_unwind(const struct image *img, struct image_row **ret, size_t *ret_n) {
  struct gathering g = {.budget = img->size};
  int r = frames_each(img, take_entry, &g);
  if (r >= 0) {
    sort_entries(&g);
    r = make_rows(&g);
  }
  vec_done(&g.entries);
  vec_done(&g.groups);
  map_done(&g.group_at);
  if (r < 0) {
    vec_done(&g.rows);
    return r;
  }
  *ret = g.rows.at;
  *ret_n = g.rows.n;
  return 0;
}
