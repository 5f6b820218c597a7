/* SPDX-License-Identifier: Apache-2.0 */
/* Modules of plans made by hand: what plan_compile takes from the files of a program. */
#pragma once

#include <stdio.h>

#include "image/image.h"
#include "made_plan.h"

_Static_assert(sizeof(struct wire_row) == sizeof(struct image_row) && WIRE_CFA_NONE == (int)IMAGE_CFA_NONE, "rows");

static inline void made_rows(struct made_plan *p, const struct image *img, struct wire_module *m) {
  struct image_row *rows = NULL;
  size_t n = 0;
  made_must(image_unwind(img, &rows, &n) == 0);
  m->row = (uint32_t)p->rows.n;
  m->n_rows = (uint32_t)n;
  for (size_t i = 0; i < n; i++) {
    struct wire_row row;
    memcpy(&row, &rows[i], sizeof row);
    made_must(vec_push(&p->rows, row) == 0);
  }
  free(rows);
}

/* Its index. */
static inline uint32_t made_module(struct made_plan *p, const char *name, uint32_t flags, const struct image *img,
                                   bool rows) {
  struct wire_module m = {.name = made_text(p, name), .flags = flags};
  if (rows) made_rows(p, img, &m);
  const char *id = image_build_id(img);
  for (; id[2 * m.n_build_id] && m.n_build_id < sizeof m.build_id; m.n_build_id++) {
    unsigned byte;
    made_must(sscanf(id + 2 * m.n_build_id, "%2x", &byte) == 1);
    m.build_id[m.n_build_id] = (uint8_t)byte;
  }
  made_must(vec_push(&p->modules, m) == 0);
  return (uint32_t)p->modules.n - 1;
}

/* A place that ends its set, and a pattern with it as its only frame; they have the same index if all are made here. */
static inline uint32_t made_place(struct made_plan *p, uint32_t module, uint32_t flags, uint64_t start, uint64_t end) {
  made_must(vec_push(&p->places, (struct wire_place){module, flags | WIRE_LAST, start, end}) == 0);
  made_must(vec_push(&p->patterns, (struct wire_pattern){.place = (uint32_t)p->places.n - 1, .flags = WIRE_LAST}) == 0);
  return (uint32_t)p->places.n - 1;
}

static inline const struct image_function *made_find(const struct image *img, const char *name) {
  const struct image_function *f;
  size_t n = image_functions(img, &f);
  for (size_t i = 0; i < n; i++)
    if (f[i].name && strcmp(f[i].name, name) == 0) return &f[i];
  return NULL;
}
