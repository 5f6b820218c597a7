/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a scenario is compiled against: the modules of a program, the functions that they import, the profile of those
 * that the scenario names, and the code that names of functions and modules mean.
 */
#include "program/program_world.h"
#include "code/code.h"
#include "site/site.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef VEC(const char *) name_list;

/* --- places ------------------------------------------------------------------------------------------------------- */

/* One call: the instruction at OFFSET if that is a call, else the one before it. */
static int add_offset(const struct program_modules *m, size_t module, uint64_t offset, program_places *ret) {
  struct insn in;
  bool call = code_read(m->modules.at[module].image, offset, &in) == 0 && insn_calls(&in);
  struct wire_place p = {
      .module = (uint32_t)module,
      .start = call ? offset : offset - 1,
      .end = call ? offset + in.length : offset,
  };
  return vec_push(ret, p);
}

static int find_offset(const struct program_modules *m, const struct scenario_frame *f, program_places *ret,
                       struct err *e) {
  int module = f->module ? program_modules_named(m, f->module) : 0;
  if (module < 0)
    return err_set(e, -ENOENT, "no module '%s' in %s and its libraries", f->module, m->modules.at[0].path);
  const struct image *img = m->modules.at[module].image;
  if (!image_is_code(img, f->offset) && !(f->offset && image_is_code(img, f->offset - 1)))
    return err_set(e, -ENOENT, "%s: there is no code at 0x%llx", m->modules.at[module].path,
                   (unsigned long long)f->offset);
  return add_offset(m, (size_t)module, f->offset, ret);
}

/* A library that is opened later, or that is in a program that is started: known by its name when it comes. */
static bool may_come(const struct program_world *w, const char *name) {
  return name && *name && (strstr(name, ".so") || w->follow);
}

static int find_late(struct program_world *w, const char *name, program_places *ret) {
  size_t i = w->modules->modules.n;
  while (i < w->names.n && strcmp(w->names.at[i], name) != 0)
    i++;
  if (i == w->names.n) {
    struct wire_module m = {.name = (uint32_t)i, .row = (uint32_t)w->rows.n, .flags = WIRE_AS_SAID};
    if (vec_push(&w->names, name) < 0 || vec_push(&w->wire, m) < 0) return -ENOMEM;
    w->world.modules = w->wire.at;
    w->world.module_names = w->names.at;
    w->world.n_modules = w->wire.n;
  }
  return vec_push(ret, (struct wire_place){.module = (uint32_t)i, .flags = WIRE_ANYWHERE});
}

/* A library of the name that NAME ends with, in another folder; NULL if there is none. */
static const char *elsewhere(const struct program_world *w, const char *name) {
  const char *slash = strrchr(name, '/');
  int module = slash ? program_modules_named(w->modules, slash + 1) : -1;
  return module < 0 ? NULL : w->modules->modules.at[module].path;
}

/* What is said with a folder and cannot come from there. */
static int check_folder(const struct program_world *w, const char *name, struct err *e) {
  const char *other = elsewhere(w, name);
  if (other && !w->follow) return err_set(e, -ENOENT, "%s is not what the program uses (that is %s)", name, other);
  if (name[0] == '/' && access(name, F_OK) < 0) return err_set(e, -ENOENT, "%s: %s", name, strerror(errno));
  return 0;
}

/* 1 if F is a whole module that is not there yet. */
static int try_late(struct program_world *w, const struct scenario_frame *f, program_places *ret, struct err *e) {
  const char *name = f->any ? f->any : f->function || f->file || f->has_offset ? NULL : f->module;
  if (!may_come(w, name) || program_modules_named(w->modules, name) >= 0) return 0;
  struct program_where where = {.any = name};
  if (f->any && program_modules_find(w->modules, &where, ret, NULL) >= 0) return 1;
  int r = check_folder(w, name, e);
  if (r >= 0) r = find_late(w, name, ret);
  return r < 0 ? r : 1;
}

static int find_known(struct program_world *w, const struct scenario_frame *f, program_places *ret, struct err *e) {
  struct program_where where = {
      .module = f->module, .function = f->function, .file = f->file, .line = f->line, .any = f->any};
  return f->has_offset ? find_offset(w->modules, f, ret, e) : program_modules_find(w->modules, &where, ret, e);
}

static int find_places(void *context, const struct scenario_frame *f, struct scenario_places *ret, struct err *e) {
  struct program_world *w = context;
  program_places found = {0};
  int r = try_late(w, f, &found, e);
  if (r == 0) r = find_known(w, f, &found, e);
  for (size_t i = 0; i < found.n && r >= 0; i++)
    r = vec_push(&ret->places, found.at[i]);
  vec_done(&found);
  return r < 0 ? r : 0;
}

/* --- versions ----------------------------------------------------------------------------------------------------- */

static bool is_function(const struct image_symbol *s) { return s->kind == SYMBOL_FUNCTION || s->kind == SYMBOL_IFUNC; }

/* How many versions of FUNCTION one library exports. */
static size_t count_versions(const struct image *img, const char *function) {
  const struct image_symbol *all;
  size_t n = image_exports(img, &all), low = 0, high = n, count = 0;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (strcmp(all[middle].name, function) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < n && strcmp(all[low].name, function) == 0; low++)
    count += is_function(&all[low]);
  return count;
}

static size_t add_version(const char **ret, size_t n, size_t max, const char *version) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(ret[i], version) == 0) return n;
  if (n < max) ret[n++] = version;
  return n;
}

static size_t look_for_versions(const struct program_world *w, const char *function, const char **ret, size_t max) {
  const struct program_module *home = program_modules_define(w->modules, function);
  size_t n = 0;
  if (!home || count_versions(home->image, function) < 2) return 0;
  for (size_t i = 0; i < w->modules->modules.n; i++) {
    struct image_slot slot = {0};
    const struct image *img = w->modules->modules.at[i].image;
    for (uint64_t at = 0; image_slot_after(img, at, &slot); at = slot.at + 1)
      if (slot.kind == SLOT_IMPORT && slot.name && slot.version && strcmp(slot.name, function) == 0)
        n = add_version(ret, n, max, slot.version);
  }
  return n;
}

static void keep_versions(struct program_world *w, uint64_t key, const char *const *versions, size_t n) {
  size_t start = w->versions.n;
  for (size_t i = 0; i < n; i++)
    if (vec_push(&w->versions, versions[i]) < 0) return;
  (void)map_put(&w->asked, key, (uint64_t)start << 32 | n);
}

static size_t find_versions(void *context, const char *function, const char **ret, size_t max) {
  struct program_world *w = context;
  uint64_t key = hash_mix(hash_string(function) + max), known;
  if (w->asked_modules != w->modules->modules.n) map_done(&w->asked);
  w->asked_modules = w->modules->modules.n;
  if (!map_get(&w->asked, key, &known)) {
    size_t n = look_for_versions(w, function, ret, max);
    keep_versions(w, key, ret, n);
    return n;
  }
  size_t n = known & UINT32_MAX;
  if (n) memcpy(ret, w->versions.at + (known >> 32), n * sizeof *ret);
  return n;
}

static bool is_defined(void *context, const char *function) {
  const struct program_world *w = context;
  return program_modules_define(w->modules, function) != NULL;
}

static bool is_variable(void *context, const char *name) {
  const struct program_world *w = context;
  for (size_t i = 0; i < w->modules->modules.n; i++) {
    const struct image_symbol *s = image_export(w->modules->modules.at[i].image, name, NULL);
    if (s && s->kind == SYMBOL_OBJECT) return true;
  }
  return false;
}

/* --- modules ------------------------------------------------------------------------------------------------------ */

static int hex_digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

static void copy_build_id(const char *hex, struct wire_module *to) {
  while (to->n_build_id < sizeof to->build_id && hex_digit(hex[0]) >= 0 && hex_digit(hex[1]) >= 0) {
    to->build_id[to->n_build_id++] = (uint8_t)(hex_digit(hex[0]) << 4 | hex_digit(hex[1]));
    hex += 2;
  }
}

static int add_rows(struct program_world *w, const struct image *img, struct wire_module *to) {
  struct image_row *rows = NULL;
  size_t n = 0;
  _Static_assert(sizeof(struct image_row) == sizeof(struct wire_row), "rows are copied as they are");
  int r = image_unwind(img, &rows, &n);
  if (r >= 0 && n) r = vec_grow((void **)&w->rows.at, &w->rows.cap, w->rows.n + n, sizeof *w->rows.at);
  if (r >= 0 && n) {
    to->row = (uint32_t)w->rows.n;
    to->n_rows = (uint32_t)n;
    memcpy(w->rows.at + w->rows.n, rows, n * sizeof *rows);
    w->rows.n += n;
  }
  free(rows);
  return r;
}

static int add_modules(struct program_world *w) {
  for (size_t i = 0; i < w->modules->modules.n; i++) {
    const struct program_module *m = &w->modules->modules.at[i];
    struct wire_module to = {.name = (uint32_t)i, .flags = i == 0 ? WIRE_PROGRAM | WIRE_IN_SCOPE : 0};
    copy_build_id(image_build_id(m->image), &to);
    int r = add_rows(w, m->image, &to);
    if (r >= 0) r = vec_push(&w->wire, to);
    if (r >= 0) r = vec_push(&w->names, m->path);
    if (r < 0) return r;
  }
  return 0;
}

/* --- the profile -------------------------------------------------------------------------------------------------- */

static bool is_asked_for(const struct map *wanted, const struct site_names *names, const char *import) {
  return map_get(wanted, hash_string(import), NULL) ||
         map_get(wanted, hash_string(site_names_written(names, import)), NULL);
}

/* The functions that S names, and the imports that are another name of one. */
static int find_names(const struct program_world *w, const char *data, const struct scenario *s, name_list *ret,
                      struct err *e) {
  const char *const *asked;
  struct site_names *names = NULL;
  struct map wanted = {0};
  size_t n = 0;
  int r = scenario_functions(s, &asked, &n);
  if (r >= 0) r = site_names_load(data, &names, e);
  for (size_t i = 0; i < n && r >= 0; i++) {
    r = map_put(&wanted, hash_string(asked[i]), 1);
    if (r >= 0) r = vec_push(ret, asked[i]);
  }
  for (size_t i = 0; i < w->modules->functions.n && r >= 0; i++)
    if (is_asked_for(&wanted, names, w->modules->functions.at[i])) r = vec_push(ret, w->modules->functions.at[i]);
  map_done(&wanted);
  site_names_free(names);
  return r;
}

/*
 * A sanitizer's own malloc shows no errno; what it stands for is the one behind it. Profiles are asked for the first
 * library that has a function, so the sanitizer becomes the last.
 */
static void put_sanitizer_last(const struct program_modules *m, struct profile *p) {
  struct profile_library *all = (struct profile_library *)p->libraries;
  char *path = m->sanitizer ? realpath(m->sanitizer, NULL) : NULL;
  for (size_t i = 0; path && i + 1 < p->n_libraries; i++) {
    if (strcmp(all[i].path, path) != 0) continue;
    struct profile_library own = all[i];
    memmove(&all[i], &all[i + 1], (p->n_libraries - i - 1) * sizeof *all);
    all[p->n_libraries - 1] = own;
    break;
  }
  free(path);
}

/* What a person gives is meant as it stands. */
static void mark_stated(struct profile *p) {
  for (size_t i = 0; i < p->n_libraries; i++)
    for (size_t k = 0; k < p->libraries[i].n_functions; k++)
      ((struct profile_function *)&p->libraries[i].functions[k])->stated = true;
}

static int overlay(const struct program_world_request *request, struct program_world *w, struct err *e) {
  for (size_t i = 0; i < request->n_profiles; i++) {
    struct profile *file = &w->profiles[w->n_profiles];
    int r = profile_load(request->profiles[i], file, e);
    if (r < 0) return r;
    w->n_profiles++;
    mark_stated(file);
    r = profile_overlay(file - 1, file, file + 1);
    if (r < 0) return r;
    w->n_profiles++;
  }
  return 0;
}

static bool has_function(const struct profile *p, const char *name) {
  for (size_t i = 0; i < p->n_libraries; i++)
    for (size_t k = 0; k < p->libraries[i].n_functions; k++)
      if (strcmp(p->libraries[i].functions[k].name, name) == 0) return true;
  return false;
}

/* What programs beside the first call of libraries that it does not have. */
static int profile_other(const struct profile_request *request, struct program_world *w, const struct image *program,
                         name_list *names, struct err *e) {
  struct profile *so_far = &w->profiles[w->n_profiles - 1];
  size_t left = 0;
  for (size_t i = 0; i < names->n; i++)
    if (!has_function(so_far, names->at[i])) names->at[left++] = names->at[i];
  names->n = left;
  if (!left) return 0;
  int r = profile_functions(request, program, names->at, names->n, so_far + 1, e);
  if (r < 0) return r;
  w->n_profiles++;
  r = profile_overlay(so_far, so_far + 1, so_far + 2);
  if (r == 0) w->n_profiles++;
  return r;
}

static size_t count_programs(const struct program_modules *m) {
  size_t n = 0;
  for (size_t i = 0; i < m->modules.n; i++)
    n += m->modules.at[i].program;
  return n;
}

static int find_profile(const struct program_world_request *request, struct program_world *w, const struct scenario *s,
                        struct err *e) {
  struct profile_request p = {.data = request->data, .progress = request->progress, .context = request->context};
  const struct program_modules *m = w->modules;
  name_list names = {0};
  w->profiles = calloc(1 + 2 * (request->n_profiles + count_programs(m)), sizeof *w->profiles);
  int r = w->profiles ? find_names(w, request->data, s, &names, e) : -ENOMEM;
  if (r >= 0) r = profile_functions(&p, m->modules.at[0].image, names.at, names.n, &w->profiles[0], e);
  if (r >= 0) {
    w->n_profiles = 1;
    put_sanitizer_last(w->modules, &w->profiles[0]);
  }
  for (size_t i = 1; i < m->modules.n && r >= 0; i++)
    if (m->modules.at[i].program) r = profile_other(&p, w, m->modules.at[i].image, &names, e);
  vec_done(&names);
  return r < 0 ? r : overlay(request, w, e);
}

static void say_note(void *context, const char *text) {
  const struct program_world *w = context;
  if (w->note) w->note(text);
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

int program_world_make(const struct program_world_request *request, struct program_modules *m, const struct scenario *s,
                       struct program_world *ret, struct err *e) {
  memset(ret, 0, sizeof *ret);
  ret->modules = m;
  ret->follow = request->follow;
  ret->note = request->note;
  int r = find_profile(request, ret, s, e);
  if (r >= 0) r = add_modules(ret);
  if (r < 0) {
    program_world_done(ret);
    return r;
  }
  ret->world = (struct scenario_world){
      .profile = &ret->profiles[ret->n_profiles - 1],
      .data = request->data,
      .functions = m->functions.at,
      .n_functions = m->functions.n,
      .modules = ret->wire.at,
      .module_names = ret->names.at,
      .n_modules = ret->wire.n,
      .rows = ret->rows.at,
      .n_rows = ret->rows.n,
      .places = find_places,
      .within = program_world_within,
      .calls = program_world_calls,
      .only_jumps = program_world_only_jumps,
      .versions = find_versions,
      .defined = is_defined,
      .note = say_note,
      .find_variable = program_world_variable,
      .call_sites = program_world_sites,
      .context = ret,
      .variable = is_variable,
  };
  return 0;
}

void program_world_done(struct program_world *w) {
  for (size_t i = 0; i < w->n_profiles; i++)
    profile_done(&w->profiles[i]);
  free(w->profiles);
  vec_done(&w->wire);
  vec_done(&w->names);
  vec_done(&w->rows);
  vec_done(&w->versions);
  map_done(&w->asked);
  memset(w, 0, sizeof *w);
}
