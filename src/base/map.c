/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From number to number: open addressing with linear probing, at most three quarters full.
 *
 * What belongs together stands together, since each question is likely to be a miss of the cache. A place is taken if
 * it says so for this round, so that forgetting all of them takes no time. There is no removal, so there are no
 * tombstones and a search ends at the first free place.
 */
#include "base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 16 };

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

static int make_room(struct map *m) {
  size_t cap = m->cap ? m->cap * 2 : FIRST_CAPACITY;
  struct map larger = {.places = calloc(cap, sizeof *larger.places), .n = m->n, .cap = cap, .round = 1};
  if (!larger.places) return -ENOMEM;
  for (size_t i = 0; i < m->cap; i++) {
    if (m->places[i].round != m->round) continue;
    struct map_place *to = &larger.places[map_place_of(&larger, m->places[i].key)];
    *to = (struct map_place){m->places[i].key, m->places[i].value, larger.round};
  }
  free(m->places);
  *m = larger;
  return 0;
}

int map_put(struct map *m, uint64_t key, uint64_t value) {
  if (m->n >= m->cap / 4 * 3) {
    int r = make_room(m);
    if (r < 0) return r;
  }
  struct map_place *p = &m->places[map_place_of(m, key)];
  m->n += p->round != m->round;
  *p = (struct map_place){key, value, m->round};
  return 0;
}

bool map_next(const struct map *m, size_t *at, uint64_t *ret_key) {
  while (*at < m->cap && m->places[*at].round != m->round)
    ++*at;
  if (*at >= m->cap) return false;
  *ret_key = m->places[(*at)++].key;
  return true;
}

void map_clear(struct map *m) {
  if (m->n) m->round++;
  m->n = 0;
}

void map_done(struct map *m) {
  if (!m) return;
  free(m->places);
  *m = (struct map){0};
}
