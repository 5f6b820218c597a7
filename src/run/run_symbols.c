/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From return addresses in the target to functions and source lines.
 *
 * The target says which file is loaded where; files that the program did not start with (opened later, or of programs
 * that it has started) are opened here when an event first has an address in them. A path that the target gives is only
 * a path: what is there is read with the same care as any other file.
 */
#include "run/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What number N of the area's modules is; looked up once. */
struct known {
  bool tried;
  struct program_module *module; /* NULL if it cannot be read */
  char *path;
};

struct run_symbols {
  struct program_modules *modules;
  const struct run_area *area;
  VEC(struct program_module *) opened;
  struct known *known;
};

int run_symbols_new(struct program_modules *m, const struct run_area *area, struct run_symbols **ret) {
  struct run_symbols *s = calloc(1, sizeof *s);
  if (!s) return -ENOMEM;
  s->modules = m;
  s->area = area;
  s->known = calloc((size_t)area->loaded.n + 1, sizeof *s->known);
  if (!s->known) {
    free(s);
    return -ENOMEM;
  }
  *ret = s;
  return 0;
}

void run_symbols_free(struct run_symbols *s) {
  if (!s) return;
  for (size_t i = 0; i < s->opened.n; i++) {
    image_debug_free(s->opened.at[i]->debug);
    image_free(s->opened.at[i]->image);
    free(s->opened.at[i]->path);
    free(s->opened.at[i]);
  }
  vec_done(&s->opened);
  for (size_t i = 0; i <= s->area->loaded.n; i++)
    free(s->known[i].path);
  free(s->known);
  free(s);
}

/* --- modules ------------------------------------------------------------------------------------------------------ */

static struct program_module *find_module(struct run_symbols *s, const char *path) {
  for (size_t i = 0; i < s->modules->modules.n; i++)
    if (strcmp(s->modules->modules.at[i].path, path) == 0) return &s->modules->modules.at[i];
  for (size_t i = 0; i < s->opened.n; i++)
    if (strcmp(s->opened.at[i]->path, path) == 0) return s->opened.at[i];
  return NULL;
}

/* NULL if it cannot be opened; names are then not known, which is no reason to stop. */
static struct program_module *open_module(struct run_symbols *s, const char *path) {
  struct program_module *m = calloc(1, sizeof *m);
  if (!m) return NULL;
  m->path = strdup(path);
  if (m->path && image_open(path, &m->image, NULL) >= 0 && vec_push(&s->opened, m) == 0) return m;
  image_free(m->image);
  free(m->path);
  free(m);
  return NULL;
}

/* Is IMG of the size that the target has loaded? Else its file is another one by now, or was found by a wrong name. */
static bool is_size(const struct image *img, const struct wire_loaded *l) {
  return image_is_mapped(img, l->start) && image_is_mapped(img, l->end - 1) && !image_is_mapped(img, l->end);
}

/* A name that is relative was so for the target; murphy was started in the same folder. */
static struct program_module *find_or_open(struct run_symbols *s, const struct wire_loaded *l) {
  struct program_module *m = find_module(s, l->path);
  if (!m && strchr(l->path, '/')) m = open_module(s, l->path);
  return m && is_size(m->image, l) ? m : NULL;
}

static void know(struct run_symbols *s, struct known *k, const struct wire_loaded *loaded) {
  free(k->path);
  *k = (struct known){.tried = true, .path = strdup(loaded->path)};
  if (k->path) k->module = find_or_open(s, loaded);
}

void run_symbols_tell(struct run_symbols *s, const struct run_kept *kept) {
  for (size_t i = 0; i < kept->n; i++)
    if (kept->at[i].number <= s->area->loaded.n) know(s, &s->known[kept->at[i].number], &kept->at[i].loaded);
}

static const struct known *module_of(struct run_symbols *s, uint32_t number) {
  struct wire_loaded loaded;
  if (number == 0 || number > s->area->loaded.n) return NULL;
  struct known *k = &s->known[number];
  if (k->tried) return k;
  if (!run_area_loaded(s->area, number, &loaded)) return NULL;
  know(s, k, &loaded);
  return k;
}

/* --- the question ------------------------------------------------------------------------------------------------- */

static void name_function(const struct image *img, uint64_t call, struct run_symbol *ret) {
  const struct image_function *f = image_function_before(img, call);
  if (!f || !f->name || (f->end && call >= f->end)) return;
  ret->function = f->name;
  ret->plus = ret->offset - f->address;
}

/* CALL is inside of the instruction, RET->offset what is shown. */
static void fill(struct program_module *m, const char *path, uint64_t call, struct run_symbol *ret) {
  const char *slash = strrchr(path, '/');
  ret->path = path;
  ret->module = slash ? slash + 1 : path;
  if (!m) return;
  name_function(m->image, call, ret);
  struct image_debug *debug = program_module_debug(m);
  if (debug) ret->n_frames = image_debug_at(debug, call, ret->frames, COUNT(ret->frames));
  if (!ret->function && ret->n_frames) ret->function = ret->frames[ret->n_frames - 1].function;
}

bool run_symbols_at(struct run_symbols *s, const struct wire_frame *frame, struct run_symbol *ret) {
  *ret = (struct run_symbol){.module = "", .path = "", .offset = frame->at};
  const struct known *k = module_of(s, frame->module);
  if (!k || !k->path) return false;
  /* A return address may be the first byte behind a function that ends with a call. */
  fill(k->module, k->path, frame->at - 1, ret);
  return true;
}

void run_symbols_frame(struct run_symbols *s, const struct image_process_frame *frame, struct run_symbol *ret) {
  *ret = (struct run_symbol){.module = "", .path = "", .offset = frame->at};
  if (!frame->path[0]) return;
  struct program_module *m = find_module(s, frame->path);
  if (!m && frame->path[0] == '/') m = open_module(s, frame->path);
  fill(m, m ? m->path : frame->path, frame->exact ? frame->at : frame->at - 1, ret);
}
