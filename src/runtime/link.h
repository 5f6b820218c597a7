/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader's list of what is in the process, and the symbols of each, read in place: dlsym would take locks, allocate
 * and see the shim's own symbols first.
 */
#pragma once

#include <link.h>

#include "runtime.h"

/* The first of the list; NULL if there is none. */
const struct link_map *rt_link_first(void) RT_HIDDEN;

/* The shim's; NULL if it is not in the list. */
const struct link_map *rt_link_shim(void) RT_HIDDEN;
/* The path of the runtime itself; NULL if it is not in the list. */
const char *rt_link_runtime(void) RT_HIDDEN;
/* Whether the list can be read: nobody is adding to it or taking from it right now. */
bool rt_link_settled(void) RT_HIDDEN;

/* A table of the object's dynamic section as an address; 0 if it has none. */
uint64_t rt_link_table(const struct link_map *m, int64_t tag) RT_HIDDEN;

/* A definition: where it is, or, if it is indirect, the function that says so. */
struct rt_symbol {
  uint64_t address;
  bool indirect;
};

/* The definition of NAME in one object; its address is 0 if there is none. VERSION may be NULL: the default one. */
struct rt_symbol rt_link_find(const struct link_map *m, const char *name, const char *version) RT_HIDDEN;
/* Its address in the end: an indirect function is asked. */
uint64_t rt_link_resolved(struct rt_symbol s) RT_HIDDEN;
/* Both. */
uint64_t rt_link_symbol(const struct link_map *m, const char *name, const char *version) RT_HIDDEN;

/* The first definition behind the shim: what the target would have without murphy. 0 if there is none. */
uint64_t rt_link_real(const char *name, const char *version) RT_HIDDEN;
/* ... before it, the program apart: musl has itself there, though it looks for names in the shim first. */
uint64_t rt_link_before(const char *name) RT_HIDDEN;
/* The first definition in all objects, the program first. */
uint64_t rt_link_any(const char *name) RT_HIDDEN;

/* Calls WORK for each symbol that the object exports, with its version ("" if it has none). */
typedef void rt_link_work(const char *name, const char *version, uint64_t address, void *context);
void rt_link_each(const struct link_map *m, rt_link_work *work, void *context) RT_HIDDEN;
