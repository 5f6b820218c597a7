/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that the program has locked, which a fork's child has not: it locks it again. */
#pragma once

#include "runtime.h"

/* The program locks memory. */
void rt_pinned_note(void) RT_HIDDEN;
/* It maps memory, with these flags of mmap. */
void rt_pinned_mapped(uint64_t flags) RT_HIDDEN;
/* Is any locked now, whoever locked it? WIRE_FORK_GOOD, or why that is not known. */
enum wire_refusal rt_pinned_any(bool *ret) RT_HIDDEN;
/* In the trunk: finds what is locked. WIRE_FORK_GOOD, or why no child can have it. */
enum wire_refusal rt_pinned_list(void) RT_HIDDEN;
/* In the child; false if it cannot be locked. */
bool rt_pinned_take(void) RT_HIDDEN;
