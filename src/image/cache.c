/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader's cache, /etc/ld.so.cache: which file has which library name, in variants for processors.
 *
 * Read in the format "glibc-ld.so.cache1.1", alone or behind the older one. It is only a file: all its offsets are
 * checked, and a cache that lies is one that does not have the library.
 */
#include <errno.h>
#include <stdlib.h>

#include "image/layout.h"

#define CACHE_PATH "/etc/ld.so.cache"
#define CACHE_LIMIT (64u << 20)
#define NEW_MAGIC "glibc-ld.so.cache1.1"
#define OLD_MAGIC "ld.so-1.7.0"
#define EXTENSION_MAGIC 0xeaa42174u
#define EXTENSION_HWCAPS 1u

enum {
  HEADER_SIZE = 48,
  ENTRY_SIZE = 24,
  OLD_HEADER_SIZE = 16,
  OLD_ENTRY_SIZE = 12,
  /* An entry's flags: a library for the GNU C library, in the 64-bit ABI of x86-64. */
  ENTRY_FLAGS_X86_64 = 0x0303
};

const char *const *hwcaps_usable(void) {
  static const char *const names[] = {"x86-64-v4", "x86-64-v3", "x86-64-v2", NULL};
  bool v2 = __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
            __builtin_cpu_supports("fma");
  bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl");
  return names + (v4 ? 0 : v3 ? 1 : v2 ? 2 : 3);
}

/* The part in the new format, to whose start all offsets are relative. */
static struct bytes cache_part(const uint8_t *p, size_t n) {
  struct bytes none = {NULL, 0};
  size_t at = 0;
  if (n >= OLD_HEADER_SIZE && memcmp(p, OLD_MAGIC, sizeof OLD_MAGIC - 1) == 0) {
    uint64_t behind = OLD_HEADER_SIZE + (uint64_t)read_u32(p + 12) * OLD_ENTRY_SIZE;
    behind = (behind + 7) & ~7ULL;
    if (behind > n) return none;
    at = behind;
  }
  if (n - at < HEADER_SIZE || memcmp(p + at, NEW_MAGIC, sizeof NEW_MAGIC - 1) != 0) return none;
  return (struct bytes){p + at, n - at};
}

static const char *cache_string(struct bytes cache, uint32_t offset) {
  return string_at(bytes_of_strings(cache), offset);
}

/* The name of the glibc-hwcaps folder number INDEX, or NULL. */
static const char *hwcaps_name(struct bytes cache, uint32_t index) {
  uint32_t at = read_u32(cache.at + 32);
  if (at == 0 || at > cache.n || cache.n - at < 8 || read_u32(cache.at + at) != EXTENSION_MAGIC) return NULL;
  uint32_t count = read_u32(cache.at + at + 4);
  const uint8_t *sections = cache.at + at + 8;
  if (count > (cache.n - at - 8) / 16) return NULL;
  for (uint32_t i = 0; i < count; i++) {
    const uint8_t *s = sections + (size_t)i * 16;
    uint32_t from = read_u32(s + 8), size = read_u32(s + 12);
    if (read_u32(s) != EXTENSION_HWCAPS || from > cache.n || size > cache.n - from || index >= size / 4) continue;
    return cache_string(cache, read_u32(cache.at + from + (size_t)index * 4));
  }
  return NULL;
}

/* How much an entry is wanted: 0 not at all, 1 it is for all processors, more for a better variant. */
static unsigned entry_rank(struct bytes cache, const uint8_t *entry) {
  uint64_t hwcap = read_u64(entry + 16);
  if (read_u32(entry) != ENTRY_FLAGS_X86_64) return 0;
  if (hwcap == 0) return 1;
  if (hwcap >> 32 != 1u << 30) /* the bits of old processor features, which no loader looks at any more */
    return 0;
  const char *name = hwcaps_name(cache, (uint32_t)hwcap);
  const char *const *usable = hwcaps_usable();
  unsigned n = 0, rank = 0;
  for (; usable[n]; n++)
    if (name && strcmp(name, usable[n]) == 0) rank = n + 1;
  return rank ? n - rank + 2 : 0;
}

static const char *cache_search(struct bytes cache, const char *name) {
  uint32_t count = read_u32(cache.at + 20);
  const char *best = NULL;
  unsigned best_rank = 0;
  if (count > (cache.n - HEADER_SIZE) / ENTRY_SIZE) return NULL;
  cache = bytes_of_strings(cache);
  for (uint32_t i = 0; i < count; i++) {
    const uint8_t *entry = cache.at + HEADER_SIZE + (size_t)i * ENTRY_SIZE;
    const char *key = string_at(cache, read_u32(entry + 4)), *value = string_at(cache, read_u32(entry + 8));
    if (!key || !value || value[0] != '/' || strcmp(key, name) != 0) continue;
    unsigned rank = entry_rank(cache, entry);
    if (rank > best_rank) {
      best = value;
      best_rank = rank;
    }
  }
  return best;
}

int cache_find(const char *name, char **ret) {
  char *bytes;
  size_t size;
  int r = file_read(CACHE_PATH, CACHE_LIMIT, &bytes, &size, NULL);
  if (r < 0) return r == -ENOMEM ? r : -ENOENT;
  struct bytes cache = cache_part((const uint8_t *)bytes, size);
  const char *found = cache.at ? cache_search(cache, name) : NULL;
  char *copy = found ? strdup(found) : NULL;
  free(bytes);
  if (!found) return -ENOENT;
  if (!copy) return -ENOMEM;
  *ret = copy;
  return 0;
}
