/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run has changed, and the layers as new for the next one.
 *
 * A layer whose upper folder is as it was mounted was not changed. Another one is emptied if that can be done without
 * anybody noticing; if not, its overlay goes, and another is mounted.
 */
#include "sandbox/layers.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

static bool is_same_time(const struct timespec *a, const struct timespec *b) {
  return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/*
 * Has nobody changed the folder? A memory file system's folder is larger by each entry, so what was changed within one
 * tick of its clock shows too. The time of the last access is not looked at: who only reads changes it.
 */
static bool is_same_folder(const struct stat *a, const struct stat *b) {
  return a->st_mode == b->st_mode && a->st_uid == b->st_uid && a->st_gid == b->st_gid && a->st_size == b->st_size &&
         a->st_nlink == b->st_nlink && is_same_time(&a->st_mtim, &b->st_mtim) && is_same_time(&a->st_ctim, &b->st_ctim);
}

bool layer_is_changed(const struct layer *layer) {
  struct stat st;
  const struct upper *u = &layer->upper;
  return !layer->fixed && (u->dirty || u->fd < 0 || fstat(u->fd, &st) < 0 || !is_same_folder(&st, &u->clean));
}

bool layers_changed(const struct layers *l) {
  for (size_t i = 0; i < l->at.n; i++)
    if (layer_is_changed(&l->at.at[i])) return true;
  return false;
}

int layers_open_changed(struct layers *l, size_t i) {
  char path[PATH_MAX];
  l->at.at[i].changed = layer_is_changed(&l->at.at[i]);
  if (!l->at.at[i].changed) return -ENOENT;
  int r = upper_path(l, l->at.at[i].upper.number, "/u", path, NULL);
  if (r < 0) return r;
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return fd < 0 ? -errno : fd;
}

void upper_remove(const struct layers *l, unsigned number) {
  char path[PATH_MAX];
  if (upper_path(l, number, "", path, NULL) < 0) return;
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    layers_empty(fd);
    (void)close(fd);
  }
  (void)rmdir(path);
}

int layer_take_off(const struct layers *l, const char *target, unsigned number, struct err *e) {
  if (umount2(target, MNT_DETACH) < 0) return failed("renew", target, e);
  upper_remove(l, number);
  return 0;
}

bool layer_has_shared(const struct layers *l, const struct layer *layer) {
  size_t n = strlen(layer->at);
  return l->shared && strncmp(l->shared, layer->at, n) == 0 && l->shared[n] == '/';
}

/* --- in place ----------------------------------------------------------------------------------------------------- */

/* All that the overlay notes there for itself; what the program has set by such a name has the prefix twice. */
static bool has_own_attributes_only(const char *path) {
  static const char own[] = "user.overlay.", escaped[] = "user.overlay.overlay.";
  char names[256];
  ssize_t n = listxattr(path, names, sizeof names);
  for (const char *name = names; n >= 0 && name < names + n; name += strlen(name) + 1)
    if (strncmp(name, own, sizeof own - 1) != 0 || strncmp(name, escaped, sizeof escaped - 1) == 0) return false;
  return n >= 0;
}

/* Are mode, owner, flags and attributes of the layer's own root as they were? Then only its times are to be set. */
static bool has_same_root(const struct upper *u, const char *path, int folder) {
  struct stat st;
  int flags = 0;
  if (fstat(folder, &st) < 0 || st.st_mode != u->clean.st_mode || st.st_uid != u->clean.st_uid ||
      st.st_gid != u->clean.st_gid)
    return false;
  if (ioctl(folder, FS_IOC_GETFLAGS, &flags) == 0 && flags) return false;
  return has_own_attributes_only(path);
}

/* Has the overlay its own folder as it was? A whiteout that it links to stays there, and is a file more in statfs. */
static bool has_same_work(const struct layers *l, const struct upper *u) {
  char path[PATH_MAX];
  struct stat st;
  if (u->work == 0 || upper_path(l, u->number, "/w/work", path, NULL) < 0 || stat(path, &st) < 0) return false;
  return st.st_size == u->work;
}

static bool may_forget(struct layers *l) {
  if (!l->asked) l->forgets = overlay_forgets(l->stage);
  l->asked = true;
  return l->forgets;
}

/* FOLDER is the layer's upper one, which becomes as it was when it was mounted. */
static bool empty_upper(struct upper *u, const char *target, int folder) {
  const struct timespec times[2] = {u->clean.st_atim, u->clean.st_mtim};
  struct stat st;
  layers_empty(folder);
  /* The overlay remembers that it has noted this; and the note takes room. */
  (void)fremovexattr(folder, "user.overlay.impure");
  if (utimensat(AT_FDCWD, target, times, 0) < 0 || fstat(folder, &st) < 0) return false;
  if (st.st_size != u->clean.st_size || st.st_nlink != u->clean.st_nlink || st.st_mode != u->clean.st_mode)
    return false;
  u->clean = st;
  return true;
}

/* False if the layer cannot be as new, since somebody stands on it, or more was changed than what is in it. */
static bool renew_in_place(const struct layers *l, struct layer *layer) {
  char target[PATH_MAX], path[PATH_MAX];
  struct upper *u = &layer->upper;
  if (u->dirty || u->fd < 0 || inside(l, layer->at, target, NULL) < 0) return false;
  if (upper_path(l, u->number, "/u", path, NULL) < 0) return false;
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  int r = has_same_root(u, path, folder) && has_same_work(l, u) ? overlay_forget(target) : -EBUSY;
  bool good = r == 0 && empty_upper(u, target, folder);
  u->gone = r == -ENOENT;
  (void)close(folder);
  return good;
}

uint64_t layers_count(const struct layers *l) {
  struct statfs s;
  return statfs(l->stage, &s) < 0 || s.f_files <= s.f_ffree ? 0 : s.f_files - s.f_ffree;
}

/* Are there as many files as when all was new? One of which an overlay still knows is there as long, without a name. */
static bool is_complete(const struct layers *l) { return layers_count(l) == l->n_files; }

static bool may_stay(const struct layers *l, size_t i) { return l->in_place.set >> i & 1; }

/* What is to be made new: also what was emptied when it might be, and may not have been. */
static bool is_due(const struct layers *l, size_t i, bool held) {
  const struct layer *layer = &l->at.at[i];
  return layer->changed || (layer->over && !held) || (layer->upper.emptied && !may_stay(l, i));
}

/*
 * Makes all layers as new without another mount. False if that cannot be; then the overlays of all that were changed
 * must go.
 */
static bool renew_all_in_place(struct layers *l, bool held) {
  enum { TRIES = 8 }; /* where it never can be, it is not tried for ever */
  if (l->n_files == 0 || l->refused == TRIES) return false;
  for (size_t i = 0; i < l->at.n; i++)
    /* What lies over another one stays only as long as somebody stands on that. */
    if (is_due(l, i, held) && (!may_stay(l, i) || (l->at.at[i].over && !held))) return false;
  if (!may_forget(l)) return false;
  l->refused++;
  for (size_t i = 0; i < l->at.n; i++) {
    struct layer *layer = &l->at.at[i];
    if (!is_due(l, i, held)) continue;
    if (!renew_in_place(l, layer)) return false;
    layer->upper.emptied = true;
  }
  if (!is_complete(l)) return false;
  l->refused = 0;
  return true;
}

/* --- by another mount --------------------------------------------------------------------------------------------- */

static int renew(struct layers *l, struct layer *layer, bool held, struct err *e) {
  char target[PATH_MAX];
  int r = inside(l, layer->at, target, e);
  if (r < 0) return r;
  unsigned number = layer->upper.number;
  bool gone = layer->upper.gone;
  upper_forget(&layer->upper);
  if (held && !layer->over && !gone) {
    layer->below = number;
    layer->over = true;
  } else {
    if (gone)
      upper_remove(l, number);
    else
      r = layer_take_off(l, target, number, e);
    if (r == 0 && layer->over && !held) {
      r = layer_take_off(l, target, layer->below, e);
      layer->over = false;
    }
    if (r < 0) return r;
  }
  r = layer_mount(l, layer, target, e);
  /* What was mounted below it went with it. */
  return r < 0 || !layer_has_shared(l, layer) ? r : layers_show_shared(l, e);
}

static bool shm_shares(const struct layers *l) { return l->shared && strncmp(l->shared, "/dev/shm/", 9) == 0; }

bool shm_is_clean(const struct layers *l) {
  char path[PATH_MAX];
  struct stat st;
  return inside(l, "/dev/shm", path, NULL) == 0 && stat(path, &st) == 0 && is_same_folder(&st, &l->shm);
}

int shm_renew(struct layers *l, struct err *e) {
  char path[PATH_MAX];
  if (shm_is_clean(l)) return 0;
  int r = inside(l, "/dev/shm", path, e);
  if (r < 0) return r;
  if (umount2(path, MNT_DETACH) < 0) return failed("renew", path, e);
  r = shm_mount(l, e);
  if (r == 0 && shm_shares(l)) r = layers_show_shared(l, e);
  return r < 0 ? r : shm_watch(l, e);
}

/* Which layers were changed? What was seen when the last run had ended holds until something runs again. */
static bool look_for_changes(struct layers *l) {
  bool any = false, settled = l->settled;
  l->settled = false;
  for (size_t i = 0; i < l->at.n; i++) {
    struct layer *layer = &l->at.at[i];
    if (!settled) layer->changed = layer_is_changed(layer);
    any |= layer->changed;
  }
  return any;
}

static bool has_stale(const struct layers *l) {
  for (size_t i = 0; i < l->at.n; i++)
    if (l->at.at[i].upper.emptied && !may_stay(l, i)) return true;
  return false;
}

int layers_renew(struct layers *l, bool held, struct err *e) {
  int shm = shm_renew(l, e);
  if (shm < 0) return shm;
  if (!look_for_changes(l) && l->held == held && !has_stale(l)) return 0;
  l->held = held;
  /* What a run changes its branches will change, which would end the trunk if they shared it. */
  for (size_t i = 0; i < l->at.n; i++)
    l->at.at[i].branches |= l->at.at[i].changed;
  if (renew_all_in_place(l, held)) return 0;
  for (size_t i = 0; i < l->at.n; i++) {
    int r = is_due(l, i, held) ? renew(l, &l->at.at[i], held, e) : 0;
    if (r < 0) return r;
  }
  l->n_files = layers_count(l);
  return 0;
}

/* --- which may be emptied in place -------------------------------------------------------------------------------- */

void layers_ready(struct layers *l) {
  l->n_files = layers_count(l);
  l->in_place.names = 0;
  for (size_t i = 0; i < l->at.n; i++)
    l->in_place.names = hash_mix(l->in_place.names ^ hash_string(l->at.at[i].at));
}

void layers_allow(struct layers *l, const struct sandbox_places *places) {
  bool known = places->names == l->in_place.names;
  l->in_place.set = places->all ? UINT64_MAX : known ? places->set : 0;
}

struct sandbox_places layers_emptied(const struct layers *l) {
  struct sandbox_places p = {.names = l->in_place.names};
  for (size_t i = 0; i < l->at.n; i++)
    if (l->at.at[i].upper.emptied) p.set |= (uint64_t)1 << i;
  return p;
}

/* --- for one child after the other -------------------------------------------------------------------------------- */

static int aside_path(const struct layers *l, unsigned number, char out[PATH_MAX], struct err *e) {
  return upper_path(l, number, "/aside", out, e);
}

/* The overlay keeps what it knows of its own root, so that must be the same. */
bool spare_fits(const struct layers *l, const struct layer *layer) {
  char path[PATH_MAX];
  struct stat has, wanted;
  if (!layer->spare || upper_path(l, layer->spare_number, "/u", path, NULL) < 0 || stat(path, &has) < 0) return false;
  if (upper_path(l, layer->upper.number, "/u", path, NULL) < 0 || stat(path, &wanted) < 0) return false;
  return has.st_mode == wanted.st_mode && has.st_uid == wanted.st_uid && has.st_gid == wanted.st_gid;
}

int spare_take(const struct layers *l, struct layer *layer, const char *target, struct err *e) {
  char path[PATH_MAX];
  struct stat st;
  int r = upper_path(l, layer->spare_number, "/u", path, e);
  if (r == 0 && stat(path, &st) < 0) r = failed("look at", path, e);
  if (r == 0) r = aside_path(l, layer->spare_number, path, e);
  if (r < 0) return r;
  if (mount(path, target, NULL, MS_MOVE, NULL) < 0) return failed("move", path, e);
  layer->spare = false;
  /* By way of the overlay, so that it knows them. */
  const struct timespec times[2] = {st.st_atim, st.st_mtim};
  if (utimensat(AT_FDCWD, target, times, 0) == 0) return 0;
  r = failed("renew", target, e);
  (void)umount2(target, MNT_DETACH);
  return r;
}

bool spare_put_aside(struct layers *l, size_t i, const char *target) {
  struct layer *layer = &l->at.at[i];
  char path[PATH_MAX];
  if (!may_stay(l, i) || layer_has_shared(l, layer) || !may_forget(l)) return false;
  if (aside_path(l, layer->upper.number, path, NULL) < 0 || (mkdir(path, 0700) < 0 && errno != EEXIST)) return false;
  if (mount(target, path, NULL, MS_MOVE, NULL) < 0) return false;
  int r = overlay_forget(path);
  layer->spare = r == 0;
  layer->spare_number = layer->upper.number;
  if (r < 0 && r != -ENOENT) (void)umount2(path, MNT_DETACH);
  return true;
}

bool spare_empty(const struct layers *l, struct layer *layer) {
  char path[PATH_MAX];
  struct stat st;
  if (!layer->spare) return false;
  int folder =
      upper_path(l, layer->upper.number, "/u", path, NULL) < 0 ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool good = folder >= 0 && has_same_root(&layer->upper, path, folder) && has_same_work(l, &layer->upper);
  if (good) {
    layers_empty(folder);
    (void)fremovexattr(folder, "user.overlay.impure");
    /* As large as the overlay's own folder, which is empty: a file that could not be removed would show. */
    good = fstat(folder, &st) == 0 && st.st_nlink == 2 && st.st_size == layer->upper.work;
  }
  if (folder >= 0) (void)close(folder);
  if (!good) spare_drop(l, layer);
  return true;
}

void spare_drop(const struct layers *l, struct layer *layer) {
  char path[PATH_MAX];
  if (!layer->spare) return;
  if (aside_path(l, layer->spare_number, path, NULL) == 0) (void)umount2(path, MNT_DETACH);
  upper_remove(l, layer->spare_number);
  layer->spare = false;
}
