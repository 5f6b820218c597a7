/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks with the names of functions and lines, as they are kept. */
#include "cmd/test.h"

#include <errno.h>

static const char *keep(struct arena *a, const char *s) { return s ? arena_strdup(a, s) : NULL; }

/* A symbol may stand for several functions, inlined into each other. */
static int add_symbol(const struct run_symbol *s, struct arena *arena, test_frames *ret) {
  size_t n = s->n_frames ? s->n_frames : 1;
  for (size_t i = 0; i < n; i++) {
    const struct image_frame *f = s->n_frames ? &s->frames[i] : NULL;
    const char *function = f && f->function ? f->function : i + 1 == n ? s->function : NULL;
    struct store_frame add = {.module = keep(arena, s->module),
                              .path = keep(arena, s->path),
                              .function = keep(arena, function),
                              .file = keep(arena, f ? f->relative ? f->relative : f->file : NULL),
                              .offset = s->offset,
                              .line = f ? f->line : 0};
    if (!add.module || vec_push(ret, add) < 0) return -ENOMEM;
  }
  return 0;
}

static int add_frames(struct run_symbols *symbols, const struct wire_frame *frames, size_t n, struct arena *arena,
                      test_frames *ret) {
  struct run_symbol s;
  int r = 0;
  for (size_t i = 0; i < n && i < WIRE_FRAMES && r == 0; i++) {
    (void)run_symbols_at(symbols, &frames[i], &s);
    r = add_symbol(&s, arena, ret);
  }
  return r;
}

int test_name_inject(struct run_symbols *symbols, const struct wire_event *event, struct arena *arena,
                     test_frames *ret) {
  return add_frames(symbols, event->frames, event->n_frames, arena, ret);
}

int test_name_point(struct run_symbols *symbols, const struct wire_point *p, struct arena *arena, test_frames *ret) {
  return add_frames(symbols, p->frames, p->n_frames, arena, ret);
}

int test_name_crash(struct run_symbols *symbols, const struct lab_result *traced, struct arena *arena,
                    test_frames *ret) {
  struct run_symbol s;
  int r = 0;
  for (size_t i = 0; i < traced->n_frames && r == 0; i++) {
    run_symbols_frame(symbols, &traced->frames[i], &s);
    r = add_symbol(&s, arena, ret);
  }
  return r;
}
