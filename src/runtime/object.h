/* SPDX-License-Identifier: Apache-2.0 */
/* One object of the loader's list: where it is and which file it was. */
#pragma once

#include <link.h>

#include "runtime.h"

/* Finds out where the loader keeps program headers; before all others. */
void rt_object_start(void) RT_HIDDEN;
/* The addresses from the first to the last segment; false if it cannot be told. */
bool rt_object_extent(const struct link_map *m, uint64_t *ret_start, uint64_t *ret_end) RT_HIDDEN;
/* Is its build ID the N bytes at ID? */
bool rt_object_is(const struct link_map *m, const uint8_t *id, uint32_t n) RT_HIDDEN;
