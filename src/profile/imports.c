/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile of what one program imports: only the functions that it can call are analysed, with what they call.
 */
#include "profile/analyse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int profile_facts_load(const char *data, struct profile_facts **ret, struct err *e) {
  struct profile_facts *f = calloc(1, sizeof *f);
  if (!f) return -ENOMEM;
  int r = knowledge_load_functions(data, &f->knowledge, e);
  if (r < 0)
    free(f);
  else
    *ret = f;
  return r;
}

void profile_facts_free(struct profile_facts *f) {
  if (!f) return;
  knowledge_done(&f->knowledge);
  free(f);
}

bool profile_facts_noreturn(void *facts, const char *name) {
  return knowledge_noreturn(&((struct profile_facts *)facts)->knowledge, name);
}

bool profile_facts_errno(void *facts, const char *name) {
  uint64_t known;
  return map_get(&((struct profile_facts *)facts)->knowledge.errnos, hash_string(name), &known) &&
         known == KNOWN_ADDRESS;
}

bool profile_facts_keeps_errno(void *facts, const char *name) {
  return map_get(&((struct profile_facts *)facts)->knowledge.errnos, hash_string(name), NULL);
}

enum profile_success profile_facts_success(const struct profile_facts *facts, const char *name) {
  uint64_t kind;
  bool known = map_get(&facts->knowledge.success, hash_string(name), &kind);
  return known ? (enum profile_success)kind : SUCCESS_UNKNOWN;
}

bool profile_facts_infallible(const struct profile_facts *facts, const char *name) {
  return map_get(&facts->knowledge.infallible, hash_string(name), NULL);
}

size_t profile_facts_errors(const struct profile_facts *facts, const char *name, int64_t *ret, size_t max) {
  uint64_t hash = hash_string(name);
  size_t n = 0;
  for (size_t i = 0; i < facts->knowledge.told.n && n < max; i++)
    if (facts->knowledge.told.at[i].name == hash) ret[n++] = facts->knowledge.told.at[i].value;
  return n;
}

static int calling_of(const struct profile_facts *facts, enum calling_fact fact, uint64_t name_hash) {
  uint64_t n;
  return map_get(&facts->knowledge.calling, calling_key_of(fact, name_hash), &n) ? (int)n : -1;
}

static int calling(const struct profile_facts *facts, enum calling_fact fact, const char *name) {
  return calling_of(facts, fact, hash_string(name));
}

bool profile_facts_twice(const struct profile_facts *facts, const char *name) {
  return calling(facts, CALL_TWICE, name) >= 0;
}

bool profile_facts_struct(const struct profile_facts *facts, const char *name) {
  return calling(facts, CALL_STRUCT, name) >= 0;
}

bool profile_facts_float(const struct profile_facts *facts, const char *name) {
  return calling(facts, CALL_FLOAT, name) >= 0;
}

bool profile_facts_returned(const struct profile_facts *facts, const char *name) {
  return calling(facts, CALL_RETURNED, name) >= 0;
}

bool profile_facts_done(const struct profile_facts *facts, const char *name) {
  return calling(facts, CALL_DONE, name) >= 0;
}

bool profile_facts_by_errno(const struct profile_facts *facts, const char *name, int64_t *ret) {
  uint64_t n;
  if (!map_get(&facts->knowledge.calling, calling_key(CALL_BY_ERRNO, name), &n)) return false;
  *ret = (int64_t)n;
  return true;
}

/* TOLD: the facts that there are of the name. */
static int role(const struct profile_facts *facts, uint64_t told, enum calling_fact fact, uint64_t name_hash) {
  return told >> fact & 1 ? calling_of(facts, fact, name_hash) : -1;
}

struct profile_roles profile_facts_roles(const struct profile_facts *facts, const char *name) {
  uint64_t hash = hash_string(name), told = 0;
  (void)map_get(&facts->knowledge.called, hash, &told);
  int stream = role(facts, told, CALL_STREAM, hash);
  struct profile_roles roles = {
      .descriptor = role(facts, told, CALL_DESCRIPTOR, hash),
      .size = role(facts, told, CALL_SIZE, hash),
      .stream = stream < STREAM_STDIN ? stream : -1,
      .variable = stream == STREAM_STDIN    ? "stdin"
                  : stream == STREAM_STDOUT ? "stdout"
                                            : NULL,
      .cleared = role(facts, told, CALL_CLEARED, hash),
      .emptied = role(facts, told, CALL_EMPTIED, hash),
      .flushed = role(facts, told, CALL_FLUSHED, hash),
      .arguments = role(facts, told, CALL_ARGUMENTS, hash),
      .length = role(facts, told, CALL_LENGTH, hash),
      .items = role(facts, told, CALL_ITEMS, hash),
      .vector = role(facts, told, CALL_VECTOR, hash),
      .message = role(facts, told, CALL_MESSAGE, hash),
      .path = role(facts, told, CALL_PATH, hash),
      .flags = role(facts, told, CALL_FLAGS, hash),
      .mode = role(facts, told, CALL_MODE, hash),
      .file = role(facts, told, CALL_FILE, hash),
      .code = role(facts, told, CALL_CODE, hash),
      .misnamed = role(facts, told, CALL_MISNAMED, hash),
      .variadic = role(facts, told, CALL_VARIADIC, hash) >= 0,
      .throws = role(facts, told, CALL_THROWS, hash) >= 0,
      .returns = role(facts, told, CALL_RETURNS, hash),
      .foreseen = role(facts, told, CALL_FORESEEN, hash) >= 0,
      .object = role(facts, told, CALL_OBJECT, hash) >= 0,
      .only = role(facts, told, CALL_ONLY, hash) >= 0,
      .starts = role(facts, told, CALL_STARTS, hash),
      .hands = role(facts, told, CALL_HANDS, hash),
      .whence = role(facts, told, CALL_WHENCE, hash),
      .fills = role(facts, told, CALL_FILLS, hash),
  };
  return roles;
}

/* A function that is imported, and the node that it is bound to. */
struct import {
  const struct image_symbol *symbol;
  unsigned image;
  uint32_t node;
};

typedef VEC(struct import) import_vec;

static const struct image_symbol *defined(const struct image_set *set, const char *name, const char *version,
                                          unsigned *image) {
  uint32_t hash = image_name_hash(name);
  for (size_t i = 0; i < set->images.n; i++) {
    const struct image_symbol *s = image_export_hashed(set->images.at[i], name, hash, version);
    *image = (unsigned)i;
    if (s) return s;
  }
  return NULL;
}

/* Asks for SYMBOL unless it was asked for or is no function. */
static int add_import(struct analysis *a, const struct image_symbol *symbol, unsigned image, struct map *seen,
                      import_vec *ret) {
  struct import import = {.symbol = symbol, .image = image};
  bool ifunc = symbol->kind == SYMBOL_IFUNC;
  if (!ifunc && symbol->kind != SYMBOL_FUNCTION) return 0;
  if (map_get(seen, (uintptr_t)symbol, NULL)) return 0;
  int r = map_put(seen, (uintptr_t)symbol, 1);
  if (r >= 0) r = solver_want(a->solver, image, symbol->address, ifunc);
  import.node = (uint32_t)r;
  return r < 0 ? r : vec_push(ret, import);
}

static int find_imports(struct analysis *a, const struct image *program, struct map *seen, import_vec *ret) {
  struct image_slot slot = {0};
  int r = 0;
  for (uint64_t at = 0; r >= 0 && image_slot_after(program, at, &slot); at = slot.at + 1) {
    unsigned image = 0;
    if (slot.kind != SLOT_IMPORT || image_export(program, slot.name, NULL)) continue;
    const struct image_symbol *symbol = defined(&a->set, slot.name, slot.version, &image);
    if (symbol) r = add_import(a, symbol, image, seen, ret);
  }
  return r < 0 ? r : 0;
}

/* Of all libraries that define one: what stands before another (a sanitizer, an allocator) mostly calls that. */
static int find_named(struct analysis *a, const char *const *names, size_t n, struct map *seen, import_vec *ret) {
  int r = 0;
  for (size_t i = 0; i < n; i++) {
    uint32_t hash = image_name_hash(names[i]);
    for (size_t k = 0; k < a->set.images.n && r >= 0; k++) {
      const struct image_symbol *symbol = image_export_hashed(a->set.images.at[k], names[i], hash, NULL);
      if (symbol) r = add_import(a, symbol, (unsigned)k, seen, ret);
    }
  }
  return r < 0 ? r : 0;
}

static int by_image_and_name(const void *x, const void *y) {
  const struct import *a = x, *b = y;
  if (a->image != b->image) return a->image < b->image ? -1 : 1;
  int r = strcmp(a->symbol->name, b->symbol->name);
  return r ? r : (a->symbol > b->symbol) - (a->symbol < b->symbol);
}

static int write_imports(struct analysis *a, const import_vec *imports, bool brief, struct profile *ret) {
  struct profile_builder b = {.brief = brief};
  int r = 0;
  for (size_t i = 0; i < imports->n && r >= 0; i++) {
    const struct import *m = &imports->at[i];
    bool first = i == 0 || m[-1].image != m->image, last = i + 1 == imports->n || m[1].image != m->image;
    if (first) r = analysis_add_heads(&b, a->solver, m->image);
    if (r >= 0) r = analysis_add_function(&b, a->solver, m->node, m->symbol);
    if (r == -EEXIST) r = 0; /* an old version of a function beside its new one */
    if (r >= 0 && last) r = profile_builder_end_library(&b);
  }
  if (r >= 0) r = profile_builder_finish(&b, ret);
  profile_builder_done(&b);
  return r;
}

/* What is read before anything is known: the libraries, and the data. */
struct reading {
  const struct profile_request *request;
  const struct image *program;
  struct analysis *a;
  struct err *e, why; /* of the data, and of the libraries */
  int libraries, data;
  unsigned n; /* threads */
};

static void read_part(void *context, unsigned worker) {
  struct reading *r = context;
  if (worker + 1 == r->n) r->libraries = profile_images_needs(r->program, &r->a->set, &r->why);
  const struct profile_request *q = r->request;
  if (worker == 0 && q->facts)
    r->data = knowledge_load_kernel(q->data, q->no_cache, &r->a->knowledge, r->e);
  else if (worker == 0)
    r->data = knowledge_load(q->data, q->no_cache, &r->a->knowledge, r->e);
}

static int read_all(const struct profile_request *request, const struct image *program, struct analysis *a,
                    struct err *e) {
  unsigned n = request->workers ? request->workers : worker_count();
  struct reading r = {.request = request, .program = program, .a = a, .e = e, .n = n > 1 ? 2 : 1};
  r.libraries = r.n > 1 ? 1 : 0;
  worker_run(r.n, read_part, &r);
  if (r.libraries > 0)
    r.libraries = profile_images_needs(program, &a->set, &r.why); /* the thread could not be started */
  if (r.data < 0) return r.data;
  if (r.libraries < 0 && e) *e = r.why;
  return r.libraries;
}

/* What PROGRAM imports if ALL, and what it would bind NAMES to. */
static int profile_bound(const struct profile_request *request, const struct image *program, bool all,
                         const char *const *names, size_t n, struct profile *ret, struct err *e) {
  struct analysis a = {0};
  import_vec imports = {0};
  struct map seen = {0};
  int r = read_all(request, program, &a, e);
  if (r >= 0) r = analysis_make_solver(request, &a);
  if (r >= 0 && all) r = find_imports(&a, program, &seen, &imports);
  if (r >= 0) r = find_named(&a, names, n, &seen, &imports);
  map_done(&seen);
  if (r >= 0 && imports.n) qsort(imports.at, imports.n, sizeof *imports.at, by_image_and_name);
  if (r >= 0) r = solver_run(a.solver);
  if (r >= 0) r = write_imports(&a, &imports, request->brief, ret);
  vec_done(&imports);
  analysis_done(&a);
  if (r == -ENOMEM && e && !e->text[0]) (void)err_set(e, r, "out of memory");
  return r;
}

int profile_imports(const struct profile_request *request, const struct image *program, const char *const *names,
                    size_t n, struct profile *ret, struct err *e) {
  return profile_bound(request, program, true, names, n, ret, e);
}

int profile_functions(const struct profile_request *request, const struct image *program, const char *const *names,
                      size_t n, struct profile *ret, struct err *e) {
  return profile_bound(request, program, false, names, n, ret, e);
}
