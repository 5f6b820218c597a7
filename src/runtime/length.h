/* SPDX-License-Identifier: Apache-2.0 */
/* How many bytes a call is about, and fewer of them. */
#pragma once

#include "runtime.h"

/* Can N bytes at AT be read right now? Another thread may still take them away. */
bool rt_readable(uint64_t at, uint64_t n) RT_HIDDEN;
/* How many bytes; -1 if it is not known. */
int64_t rt_call_length(const struct rt_call *c, enum wire_length how, uint32_t argument) RT_HIDDEN;
/* Makes the real call with at most BYTES, which is less than it asked for; what it returned. */
uint64_t rt_call_shortened(const struct rt_call *c, enum wire_length how, uint32_t argument, uint64_t bytes) RT_HIDDEN;
