/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where functions are called, by source line: the code of each module with debug information is read through once for
 * each function that is asked for.
 */
#include "cmd/run.h"
#include "code/code.h"

#include <errno.h>
#include <string.h>

struct search {
  struct run_world *w;
  size_t module;
  const char *function;
  struct scenario_sites *ret;
};

static int add_site(const struct search *s, struct wire_place place) {
  struct run_module *m = &s->w->modules->modules.at[s->module];
  struct image_frame frame;
  if (image_debug_at(run_module_debug(m), place.start, &frame, 1) != 1 || !frame.file || !frame.line) return 0;
  struct scenario_site site = {
      .place = place, .file = frame.file, .in = frame.function ? frame.function : "", .line = frame.line};
  return vec_push(&s->ret->sites, site);
}

/* Up to what cannot be read, which is data or the end. */
static int search_function(const struct search *s, const struct image_function *f) {
  const struct image *img = s->w->modules->modules.at[s->module].image;
  struct insn in;
  int r = 0;
  for (uint64_t at = f->address; at < f->end && r >= 0 && code_read(img, at, &in) == 0 && in.length; at += in.length) {
    struct wire_place place = {.module = (uint32_t)s->module, .start = at, .end = at + in.length};
    if (insn_calls(&in) && run_world_calls(s->w, &place, s->function)) r = add_site(s, place);
  }
  return r;
}

int run_world_sites(void *context, const char *function, struct scenario_sites *ret, struct err *e) {
  struct search s = {.w = context, .function = function, .ret = ret};
  int r = 0;
  for (; s.module < s.w->modules->modules.n && r >= 0; s.module++) {
    struct run_module *m = &s.w->modules->modules.at[s.module];
    const struct image_function *all;
    if (!run_module_debug(m)) continue;
    size_t n = image_functions(m->image, &all);
    for (size_t i = 0; i < n && r >= 0; i++)
      r = search_function(&s, &all[i]);
  }
  return r < 0 ? err_set(e, r, "out of memory") : 0;
}
