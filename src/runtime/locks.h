/* SPDX-License-Identifier: Apache-2.0 */
/* Locks on files, which a fork does not copy, or shares. */
#pragma once

#include "runtime.h"

/* None are known any more. */
void rt_locks_forget(void) RT_HIDDEN;
/* Adds those that are held by FD, of which the kernel says INFO. False if there is one that cannot be taken again. */
bool rt_locks_add(int fd, const char *info) RT_HIDDEN;
/* Are any held by FD? */
bool rt_locks_any(int fd) RT_HIDDEN;
/* In the child, when its files were opened again: takes all that were added. False if one cannot be had. */
bool rt_locks_take(void) RT_HIDDEN;
