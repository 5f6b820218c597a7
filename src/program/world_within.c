/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of a stack that are one frame of the machine: calls in a function that was inlined, with the one that it was
 * inlined into behind it.
 */
#include "program/program_world.h"
#include "code/code.h"

#include <string.h>

enum { CHAIN_MAX = 64 };

/* Is WANTED the end of NAME, behind a separator? */
static bool is_tail(const char *name, const char *wanted, const char *separator) {
  size_t n = strlen(name), m = strlen(wanted), s = strlen(separator);
  if (n < m || strcmp(name + n - m, wanted) != 0) return false;
  return n == m || (n >= m + s && memcmp(name + n - m - s, separator, s) == 0);
}

/* The symbol itself, or with what the compiler has put behind it: NAME.part.0 */
static bool is_symbol(const struct image *img, uint64_t address, const char *name) {
  const struct image_function *f = image_function_at(img, address);
  size_t n = strlen(name);
  return f && f->name && strncmp(f->name, name, n) == 0 && (f->name[n] == 0 || f->name[n] == '.');
}

/* One that can be told from what it is inlined into: by its name or its line. */
static bool has_name(const struct program_world *w, const struct scenario_frame *f) {
  if (f->any) return program_modules_named(w->modules, f->any) < 0;
  return !f->has_offset && (f->function || f->file);
}

/* The call that is asked about, and all that was inlined around it. */
struct chain {
  const struct image *image;
  uint64_t address;
  size_t n;
  struct image_frame frames[CHAIN_MAX];
};

static bool is_frame(const struct chain *c, size_t i, const struct scenario_frame *f) {
  const struct image_frame *own = &c->frames[i];
  const char *name = f->any ? f->any : f->function;
  if (f->file) return own->file && is_tail(own->file, f->file, "/") && (!f->line || own->line == f->line);
  if (own->function && is_tail(own->function, name, "::")) return true;
  return i + 1 == c->n && is_symbol(c->image, c->address, name);
}

/* Are the N frames there, each around the one before? */
static bool is_around(const struct chain *c, const struct scenario_frame *frames, size_t n) {
  size_t seen = 0;
  for (size_t i = 0; i < c->n && seen < n; i++)
    seen += is_frame(c, i, &frames[seen]);
  return seen == n;
}

struct question {
  struct program_world *w;
  const struct scenario_frame *frames;
  size_t n;
  struct scenario_places *ret;
};

/* All calls from START up to END, as far as the code can be read. */
static int look_at(const struct question *q, uint32_t module, uint64_t start, uint64_t end) {
  struct program_module *m = &q->w->modules->modules.at[module];
  struct image_debug *d = program_module_debug(m);
  struct insn in;
  int r = 0;
  if (!d) return 0;
  for (uint64_t at = start; at < end && r >= 0 && code_read(m->image, at, &in) == 0 && in.length; at += in.length) {
    if (!insn_calls(&in)) continue;
    struct chain c = {.image = m->image, .address = at};
    c.n = image_debug_at(d, at, c.frames, CHAIN_MAX);
    if (c.n > 1 && is_around(&c, q->frames, q->n))
      r = vec_push(&q->ret->places, (struct wire_place){.module = module, .start = at, .end = at + in.length});
  }
  return r;
}

int program_world_within(void *context, const struct scenario_frame *frames, size_t n, size_t inner_at, size_t outer_at,
                         struct scenario_places *ret) {
  struct question q = {.w = context, .frames = frames, .n = n, .ret = ret};
  int r = 0;
  bool more = true;
  for (size_t i = 0; i < n; i++)
    more = more && has_name(q.w, &frames[i]);
  for (size_t i = inner_at; more && r >= 0; i++) {
    struct wire_place a = ret->places.at[i];
    bool others = true;
    for (size_t k = outer_at; others && r >= 0; k++) {
      struct wire_place b = ret->places.at[k];
      uint64_t start = a.start > b.start ? a.start : b.start, end = a.end < b.end ? a.end : b.end;
      if (a.module == b.module) r = look_at(&q, a.module, start, end);
      others = !(b.flags & WIRE_LAST);
    }
    more = !(a.flags & WIRE_LAST);
  }
  return r;
}
