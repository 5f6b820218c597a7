/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From number to number: open addressing with linear probing, at most three quarters full.
 *
 * The three arrays are one block of memory that starts at keys. There is no removal, so there are no tombstones and a
 * search ends at the first free place.
 */
#include "base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 16, PLACE_SIZE = 2 * sizeof(uint64_t) + sizeof(uint8_t) };

static inline uint64_t fnv1a(uint64_t hash, unsigned char byte) { return (hash ^ byte) * 0x100000001b3u; }

static const uint64_t FNV_START = 0xcbf29ce484222325u;

uint64_t hash_bytes(const void *p, size_t n) {
  const unsigned char *bytes = p;
  uint64_t hash = FNV_START;
  for (size_t i = 0; i < n; i++)
    hash = fnv1a(hash, bytes[i]);
  return hash;
}

uint64_t hash_string(const char *s) {
  uint64_t hash = FNV_START;
  for (; *s; s++)
    hash = fnv1a(hash, (unsigned char)*s);
  return hash;
}

/* Where KEY is, or the free place where it belongs. There is always a free place. */
static inline size_t place_of(const struct map *m, uint64_t key) {
  size_t i = hash_mix(key) & (m->cap - 1);
  while (m->used[i] && m->keys[i] != key)
    i = (i + 1) & (m->cap - 1);
  return i;
}

static int make_room(struct map *m) {
  size_t cap = m->cap ? m->cap * 2 : FIRST_CAPACITY;
  if (cap > SIZE_MAX / PLACE_SIZE) return -ENOMEM;
  struct map larger = {.keys = malloc(cap * PLACE_SIZE), .n = m->n, .cap = cap};
  if (!larger.keys) return -ENOMEM;
  larger.values = larger.keys + cap;
  larger.used = (uint8_t *)(larger.values + cap);
  memset(larger.used, 0, cap);
  for (size_t i = 0; i < m->cap; i++) {
    if (!m->used[i]) continue;
    size_t to = place_of(&larger, m->keys[i]);
    larger.keys[to] = m->keys[i];
    larger.values[to] = m->values[i];
    larger.used[to] = 1;
  }
  free(m->keys);
  *m = larger;
  return 0;
}

bool map_get(const struct map *m, uint64_t key, uint64_t *ret_value) {
  if (!m->n) return false;
  size_t i = place_of(m, key);
  if (!m->used[i]) return false;
  if (ret_value) *ret_value = m->values[i];
  return true;
}

int map_put(struct map *m, uint64_t key, uint64_t value) {
  if (m->n >= m->cap / 4 * 3) {
    int r = make_room(m);
    if (r < 0) return r;
  }
  size_t i = place_of(m, key);
  if (!m->used[i]) {
    m->used[i] = 1;
    m->keys[i] = key;
    m->n++;
  }
  m->values[i] = value;
  return 0;
}

void map_clear(struct map *m) {
  if (m->n) memset(m->used, 0, m->cap);
  m->n = 0;
}

void map_done(struct map *m) {
  if (!m) return;
  free(m->keys);
  *m = (struct map){0};
}
