/* SPDX-License-Identifier: Apache-2.0 */
/* One object of the loader's list: where it is and which file it was. */
#pragma once

#include <link.h>

#include "frames.h"
#include "runtime.h"

/* What the loader has at an address: two that are equal are the same object, unless somebody means to deceive. */
struct rt_object {
  const struct link_map *map; /* NULL: nothing */
  uint64_t start, end, frames;
};

/* Finds out what the loader can tell; before all others. */
void rt_object_start(void) RT_HIDDEN;
/* Can the loader be asked by address? glibc before 2.35 cannot. */
bool rt_object_findable(void) RT_HIDDEN;
/* Where in the loader's struct link_map the program headers are; 0 if that is not known. */
size_t rt_object_headers(void) RT_HIDDEN;
/* The object at ADDRESS, without any lock; its map is NULL if there is none. */
struct rt_object rt_object_at(uint64_t address) RT_HIDDEN;

static inline bool rt_object_same(const struct rt_object *a, const struct rt_object *b) {
  return a->map == b->map && a->start == b->start && a->end == b->end && a->frames == b->frames;
}

/* The addresses from the first to the last segment; false if it cannot be told. */
bool rt_object_extent(const struct link_map *m, uint64_t *ret_start, uint64_t *ret_end) RT_HIDDEN;
/* Its unwinding tables; their header is 0 if it has none. */
struct rt_frames rt_object_frames(const struct link_map *m) RT_HIDDEN;
/* Its variables of each thread, as the file has them: where they start, how large they are; false if it has none. */
bool rt_object_thread_block(const struct link_map *m, uint64_t *ret_address, uint64_t *ret_size,
                            uint64_t *ret_align) RT_HIDDEN;
/* Is its build ID the N bytes at ID? */
bool rt_object_is(const struct link_map *m, const uint8_t *id, uint32_t n) RT_HIDDEN;
