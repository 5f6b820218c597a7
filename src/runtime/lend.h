/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for the time of a call that starts a program. The child of a vfork runs in its parent's memory and does not
 * return from exec, so it cannot give anything back: what it has left is found when its thread comes here again.
 */
#pragma once

#include "runtime.h"

/* NULL if there is none. What is in it is not known. */
void *rt_lend(size_t size) RT_HIDDEN;
void rt_lend_back(void *p, size_t size) RT_HIDDEN;
