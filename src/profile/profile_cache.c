/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles that were made before, in the user's cache directory, by build-id.
 *
 * A profile depends on the library, on the libraries it calls, on the data files and on this program: the key holds
 * them all, so an entry is right or is not found. Files are whole or absent; one that cannot be read is made anew.
 */
#include "profile/analyse.h"

#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CACHE_VERSION 1
#define TEXT_MAX (4u << 20)

/* A file without a build-id: its name, size and time. */
static uint64_t file_key(const char *path) {
  struct stat st;
  if (stat(path, &st) < 0) return hash_string(path);
  const struct timespec *time = &st.st_mtim;
  uint64_t parts[] = {hash_string(path), (uint64_t)st.st_size, (uint64_t)time->tv_sec, (uint64_t)time->tv_nsec};
  return hash_bytes(parts, sizeof parts);
}

uint64_t cache_key(const struct image_set *set, size_t root, const struct knowledge *k) {
  uint64_t h = hash_mix(k->hash ^ hash_string(MURPHY_VERSION) ^ file_key("/proc/self/exe") ^ CACHE_VERSION);
  if (!*image_build_id(set->images.at[root])) return 0;
  h = hash_mix(h ^ hash_string(image_path(set->images.at[root])));
  for (size_t i = 0; i < set->images.n; i++) {
    const struct image *img = set->images.at[i];
    const char *id = image_build_id(img);
    h = hash_mix(h ^ (*id ? hash_string(id) : file_key(image_path(img))));
  }
  return h ? h : 1;
}

uint64_t cache_file_key(const char *const *files, size_t n, uint64_t data) {
  uint64_t h = hash_mix(data ^ hash_string(MURPHY_VERSION) ^ file_key("/proc/self/exe") ^ CACHE_VERSION);
  for (size_t i = 0; i < n; i++)
    h = hash_mix(h ^ file_key(files[i]));
  return h;
}

static bool cache_path(const char *name, const char *end, uint64_t key, struct text *folder, struct text *path) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (cache && *cache == '/')
    text_addf(folder, "%s/murphy/profiles", cache);
  else if (home && *home == '/')
    text_addf(folder, "%s/.cache/murphy/profiles", home);
  else
    return false;
  if (folder->failed) return false;
  text_addf(path, "%s/%s-%016llx.%s", folder->at, name, (unsigned long long)key, end);
  return !path->failed;
}

int cache_load(const struct image *img, uint64_t key, struct profile *ret) {
  struct text folder = {0}, path = {0};
  int r = cache_path(image_build_id(img), "json", key, &folder, &path) ? profile_load(path.at, ret, NULL) : -ENOENT;
  if (r >= 0 && ret->n_libraries != 1) {
    profile_done(ret);
    r = -ENOENT;
  }
  text_done(&folder);
  text_done(&path);
  return r;
}

void cache_save(const struct image *img, uint64_t key, const struct profile *p) {
  struct text folder = {0}, path = {0}, json = {0};
  if (cache_path(image_build_id(img), "json", key, &folder, &path) && dir_make(folder.at) >= 0) {
    profile_write_json(p, &json);
    int r = json.failed ? -ENOMEM : file_write(path.at, json.at, json.n, NULL);
    (void)r; /* no cache, then */
  }
  text_done(&json);
  text_done(&folder);
  text_done(&path);
}

int cache_load_text(const char *name, uint64_t key, char **ret) {
  struct text folder = {0}, path = {0};
  size_t size = 0;
  int r = cache_path(name, "errors", key, &folder, &path) ? file_read(path.at, TEXT_MAX, ret, &size, NULL) : -ENOENT;
  text_done(&folder);
  text_done(&path);
  return r < 0 ? -ENOENT : 0;
}

void cache_save_text(const char *name, uint64_t key, const struct text *t) {
  struct text folder = {0}, path = {0};
  if (cache_path(name, "errors", key, &folder, &path) && dir_make(folder.at) >= 0) {
    int r = file_write(path.at, t->at, t->n, NULL);
    (void)r; /* no cache, then */
  }
  text_done(&folder);
  text_done(&path);
}
