/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libraries of a request, and what they need, in the order in which the dynamic loader would search them.
 *
 * A library that was asked for must be there; one that only another needs may be missing: its functions are then
 * not known, which the profile says.
 */
#include "profile/analyse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool present(const struct image_set *s, const char *path) {
  for (size_t i = 0; i < s->images.n; i++)
    if (strcmp(image_path(s->images.at[i]), path) == 0) return true;
  return false;
}

/* The loader takes what it has under a name before it looks for a file. */
static bool has_name(const struct image_set *s, const char *name) {
  for (size_t i = 0; i < s->images.n; i++)
    if (strcmp(image_name(s->images.at[i]), name) == 0) return true;
  return false;
}

/* Opens PATH unless it is there already, under any of its names; ROOT: its exports will be listed. */
static int add_path(struct image_set *s, const char *path, bool root, struct err *e) {
  char *real = realpath(path, NULL);
  if (real && present(s, real)) {
    free(real);
    return 0;
  }
  struct image *img = NULL;
  const char *name = real ? real : path;
  int r = root ? image_open(name, &img, e) : image_open_outline(name, &img, e);
  free(real);
  if (r < 0) return r;
  if (!image_is_dynamic(img)) {
    image_free(img);
    return err_set(e, -EINVAL, "%s: is statically linked: it exports no functions", path);
  }
  r = vec_push(&s->images, img);
  if (r < 0) image_free(img);
  return r;
}

static int add_input(struct image_set *s, const char *name, struct err *e) {
  char *path = NULL;
  int r = strchr(name, '/') ? -ENOENT : image_find(name, NULL, &path, e);
  if (r >= 0)
    r = add_path(s, path, true, e);
  else if (strchr(name, '/') || access(name, F_OK) == 0)
    r = add_path(s, name, true, e);
  free(path);
  return r;
}

/* Whether the library that R is about is missing or broken; whatever else R is, murphy could not look. */
static bool is_no_library(int r) {
  return r == -ENOENT || r == -ENOTDIR || r == -ELOOP || r == -EISDIR || r == -EINVAL || r == -ENOEXEC;
}

/* What an image needs, as roots if STRICT; what is missing or broken is then an error, else passed over. */
static int add_needed(struct image_set *s, const struct image *img, bool strict, struct err *e) {
  const char *const *needed;
  size_t n = image_needed(img, &needed);
  for (size_t i = 0; i < n; i++) {
    char *path = NULL;
    struct err why = {0};
    if (has_name(s, needed[i])) continue;
    int r = image_find(needed[i], img, &path, &why);
    if (r >= 0) r = add_path(s, path, strict, &why);
    free(path);
    if (r < 0 && (strict || !is_no_library(r))) return err_set(e, r, "%s", why.text[0] ? why.text : "out of memory");
  }
  return 0;
}

/* Everything from image number FROM on, breadth first. */
static int add_closure(struct image_set *s, size_t from, bool strict, struct err *e) {
  for (size_t i = from; i < s->images.n; i++) {
    int r = add_needed(s, s->images.at[i], strict, e);
    if (r < 0) return r;
  }
  return 0;
}

/* The program's libraries become roots, the program itself does not. */
static int add_program(struct image_set *s, const char *program, struct err *e) {
  struct image *img = NULL;
  int r = image_open(program, &img, e);
  if (r < 0) return r;
  size_t first = s->images.n;
  if (!image_is_dynamic(img))
    r = err_set(e, -EINVAL, "%s: is statically linked: there is no library to profile", program);
  else
    r = add_needed(s, img, true, e);
  if (r >= 0) r = add_closure(s, first, true, e);
  if (r >= 0 && s->images.n == first)
    r = err_set(e, -ENOENT,
                "%s: none of the libraries it needs was found (is LD_LIBRARY_PATH set as it is for the program?)",
                program);
  image_free(img);
  return r;
}

int profile_images_load(const struct profile_request *request, struct image_set *ret, struct err *e) {
  struct image_set s = {0};
  int r = 0;
  for (size_t i = 0; i < request->n_inputs && r >= 0; i++)
    r = add_input(&s, request->inputs[i], e);
  if (r >= 0 && request->for_program) r = add_program(&s, request->for_program, e);
  s.n_roots = s.images.n;
  if (r >= 0) r = add_closure(&s, 0, false, e);
  if (r < 0)
    profile_images_done(&s);
  else
    *ret = s;
  return r;
}

int profile_images_needs(const struct image *program, struct image_set *ret, struct err *e) {
  struct image_set s = {0};
  int r = add_needed(&s, program, false, e);
  if (r >= 0) r = add_closure(&s, 0, false, e);
  s.n_roots = s.images.n;
  if (r < 0)
    profile_images_done(&s);
  else
    *ret = s;
  return r;
}

void profile_images_done(struct image_set *s) {
  for (size_t i = 0; i < s->images.n; i++)
    image_free(s->images.at[i]);
  vec_done(&s->images);
}
