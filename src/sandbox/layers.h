/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the layers, between their files: layers.c mounts them, renew.c makes them as new after a run. */
#pragma once

#include "sandbox/sandbox_inside.h"

#include <errno.h>
#include <limits.h>

static inline int join(char out[PATH_MAX], const char *a, const char *b, struct err *e) {
  int n = snprintf(out, PATH_MAX, "%s%s", a, b);
  return n < 0 || n >= PATH_MAX ? err_set(e, -ENAMETOOLONG, "%s%s: path too long", a, b) : 0;
}

/* Where PATH of the world outside is in the sandbox's tree. */
static inline int inside(const struct layers *l, const char *path, char out[PATH_MAX], struct err *e) {
  char root[PATH_MAX];
  int r = join(root, l->stage, "/world", e);
  return r < 0 ? r : join(out, root, path, e);
}

static inline int failed(const char *what, const char *path, struct err *e) {
  int code = -errno;
  return err_set(e, code, "sandbox: cannot %s %s: %m", what, path);
}

/* Where PART of the upper folder NUMBER is: "/u" are the changes, "/w" is the overlay's own. */
int upper_path(const struct layers *l, unsigned number, const char *part, char out[PATH_MAX], struct err *e) MUST_USE;
/* It is not looked at any more. */
void upper_forget(struct upper *u);
void upper_remove(const struct layers *l, unsigned number);

/* A new overlay for the layer, at TARGET. */
int layer_mount(struct layers *l, struct layer *layer, const char *target, struct err *e) MUST_USE;
/* The uppermost overlay at TARGET goes, with the changes in upper folder NUMBER. */
int layer_take_off(const struct layers *l, const char *target, unsigned number, struct err *e) MUST_USE;
bool layer_is_changed(const struct layer *layer);
/* Is the shared folder mounted on it? */
bool layer_has_shared(const struct layers *l, const struct layer *layer);
int layers_show_shared(const struct layers *l, struct err *e) MUST_USE;

/* How many files there are in memory, with those that have no name any more; 0 if that is not known. */
uint64_t layers_count(const struct layers *l);

/* /dev/shm, which is no overlay: it starts empty each time. */
int shm_mount(const struct layers *l, struct err *e) MUST_USE;
/* It is empty now, but perhaps for the shared folder. */
int shm_watch(struct layers *l, struct err *e) MUST_USE;
bool shm_is_clean(const struct layers *l);
int shm_renew(struct layers *l, struct err *e) MUST_USE;

/*
 * The overlay at TARGET, on which nobody stands and in which nothing is open, forgets all names that it knows: what is
 * changed in its upper folder now is what it will find. A negative errno if that cannot be. Nothing was done then, but
 * with -ENOENT: it is not mounted any more.
 */
int overlay_forget(const char *target) MUST_USE;
/* Does this kernel do so? Looked at once, in the folder STAGE. */
bool overlay_forgets(const char *stage);

/*
 * Overlays for one child after the other, since a mount and its end cost more than all else. A child's overlay is moved
 * aside, forgets what it knows, and its upper folder is emptied; the next one's copy goes there. Only where the numbers
 * of folders, which go on, do not show: in layers that may be emptied in place.
 */
/* Is there one, and would it look like the trunk's? */
bool spare_fits(const struct layers *l, const struct layer *layer);
/* With the copy in its upper folder: it is laid over TARGET, and is no spare any more. */
int spare_take(const struct layers *l, struct layer *layer, const char *target, struct err *e) MUST_USE;
/* The overlay of a child that has ended goes from TARGET. False: it is still there. */
bool spare_put_aside(struct layers *l, size_t i, const char *target);
/* Nobody looks at the child's changes any more: it is a spare, if it can be. False: its upper folder must go. */
bool spare_empty(const struct layers *l, struct layer *layer);
void spare_drop(const struct layers *l, struct layer *layer);
