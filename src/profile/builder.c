/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns what a reader meets, in the order of a file, into a profile, in the order that a profile has.
 *
 * Everything that stays lives in the profile's arena. No step compares all with all, because a file may come from
 * anywhere and be of any size.
 */
#include "profile/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A map that was large once is not worth clearing again and again. */
enum { MAP_KEEP = 1024 };

/* --- orders ------------------------------------------------------------------------------------------------------- */

static int compare_strings(const char *a, const char *b) {
  if (!a || !b) return (a != NULL) - (b != NULL);
  return strcmp(a, b);
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_places(const struct profile_side *a, const struct profile_side *b) {
  int c = COMPARE(a->kind, b->kind);
  c = c ? c : compare_strings(a->module, b->module);
  c = c ? c : COMPARE(a->argument, b->argument);
  c = c ? c : COMPARE(a->offset, b->offset);
  return c ? c : compare_strings(a->name, b->name);
}

static int compare_side_values(const void *left, const void *right) {
  const struct profile_side_value *a = left, *b = right;
  int c = compare_places(&a->place, &b->place);
  return c ? c : COMPARE(a->value, b->value);
}

static int compare_errors(const void *left, const void *right) {
  const struct profile_error *a = left, *b = right;
  return COMPARE(a->retval, b->retval);
}

static int compare_functions(const void *left, const void *right) {
  const struct profile_function *a = left, *b = right;
  int c = strcmp(a->name, b->name);
  return c ? c : compare_strings(a->version, b->version);
}

/* --- parts -------------------------------------------------------------------------------------------------------- */

static void forget(struct map *m) {
  if (m->cap > MAP_KEEP)
    map_done(m);
  else
    map_clear(m);
}

/* Copies the vector's elements to the arena and empties it. N is set even if there are none. */
#define TAKE(b, vector, ret_at, ret_n)                                                                                 \
  take(b, (vector)->at, (vector)->n * sizeof *(vector)->at, (const void **)(ret_at))                                   \
      ? (*(ret_n) = (vector)->n, (vector)->n = 0, 0)                                                                   \
      : -ENOMEM

static bool take(struct profile_builder *b, const void *at, size_t size, const void **ret) {
  if (size == 0) return true;
  const void *copy = arena_memdup(&b->result.arena, at, size);
  if (!copy) return false;
  memcpy(ret, &copy, sizeof copy);
  return true;
}

static void sort(void *at, size_t n, size_t size, int (*compare)(const void *, const void *)) {
  if (n > 1) qsort(at, n, size, compare);
}

const char *profile_builder_string(struct profile_builder *b, const char *s) {
  return arena_strdup(&b->result.arena, s);
}

int profile_builder_errno_at(struct profile_builder *b, const char *module, uint64_t offset) {
  if (b->result.errno_module)
    return strcmp(b->result.errno_module, module) == 0 && b->result.errno_offset == offset ? 0 : -EEXIST;
  b->result.errno_module = profile_builder_string(b, module);
  b->result.errno_offset = offset;
  return b->result.errno_module ? 0 : -ENOMEM;
}

int profile_builder_side(struct profile_builder *b, const struct profile_side *place, int64_t value) {
  return vec_push(&b->sides, (struct profile_side_value){.place = *place, .value = value});
}

/* --- an error ----------------------------------------------------------------------------------------------------- */

/* The places of the sorted values, each with its own, no value twice; of several widths the largest. */
static int merge_sides(struct profile_builder *b) {
  int64_t *values = arena_alloc(&b->result.arena, b->sides.n * sizeof *values);
  if (!values) return -ENOMEM;
  b->merged.n = 0;
  for (size_t i = 0; i < b->sides.n; i++) {
    const struct profile_side_value *s = &b->sides.at[i];
    bool again = i > 0 && compare_side_values(s - 1, s) == 0;
    if (i == 0 || compare_places(&s[-1].place, &s->place) != 0) {
      struct profile_side *side = vec_more(&b->merged);
      if (!side) return -ENOMEM;
      *side = s->place;
      side->values = values;
      side->n_values = 0;
    }
    struct profile_side *side = &b->merged.at[b->merged.n - 1];
    if (s->place.width > side->width) side->width = s->place.width;
    if (again) continue;
    *values++ = s->value;
    side->n_values++;
  }
  return 0;
}

int profile_builder_end_error(struct profile_builder *b) {
  if (map_get(&b->retvals_seen, (uint64_t)b->error.retval, NULL)) return -EEXIST;
  int r = map_put(&b->retvals_seen, (uint64_t)b->error.retval, 1);
  if (r == 0 && b->sides.n > 0) {
    sort(b->sides.at, b->sides.n, sizeof *b->sides.at, compare_side_values);
    r = merge_sides(b);
    b->sides.n = 0;
  }
  if (r == 0) r = TAKE(b, &b->merged, &b->error.sides, &b->error.n_sides);
  if (r == 0) r = TAKE(b, &b->evidence, &b->error.evidence, &b->error.n_evidence);
  if (r == 0) r = vec_push(&b->errors, b->error);
  b->error = (struct profile_error){0};
  return r;
}

/* --- functions and libraries -------------------------------------------------------------------------------------- */

/* -EEXIST if the library has this function already. */
static int note_function(struct profile_builder *b) {
  const struct profile_function *f = &b->function;
  uint64_t key = hash_string(f->name) ^ hash_mix(f->version ? hash_string(f->version) : 0), index;
  if (map_get(&b->functions_seen, key, &index) && compare_functions(&b->functions.at[index], f) == 0) return -EEXIST;
  return map_put(&b->functions_seen, key, b->functions.n);
}

int profile_builder_end_function(struct profile_builder *b) {
  int r = note_function(b);
  sort(b->errors.at, b->errors.n, sizeof *b->errors.at, compare_errors);
  if (r == 0) r = TAKE(b, &b->errors, &b->function.errors, &b->function.n_errors);
  if (r == 0) r = vec_push(&b->functions, b->function);
  b->function = (struct profile_function){0};
  forget(&b->retvals_seen);
  return r;
}

int profile_builder_end_library(struct profile_builder *b) {
  sort(b->functions.at, b->functions.n, sizeof *b->functions.at, compare_functions);
  int r = TAKE(b, &b->functions, &b->library.functions, &b->library.n_functions);
  if (r == 0) r = vec_push(&b->libraries, b->library);
  b->library = (struct profile_library){0};
  forget(&b->functions_seen);
  return r;
}

int profile_builder_finish(struct profile_builder *b, struct profile *ret) {
  int r = TAKE(b, &b->libraries, &b->result.libraries, &b->result.n_libraries);
  if (r < 0) return r;
  *ret = b->result;
  b->result = (struct profile){0};
  return 0;
}

void profile_builder_done(struct profile_builder *b) {
  profile_done(&b->result);
  vec_done(&b->libraries);
  vec_done(&b->functions);
  vec_done(&b->errors);
  vec_done(&b->sides);
  vec_done(&b->evidence);
  vec_done(&b->merged);
  map_done(&b->functions_seen);
  map_done(&b->retvals_seen);
}
