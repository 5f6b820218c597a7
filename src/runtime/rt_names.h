/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which names the shim shows. A function that nobody defines must not be there for the loader either: programs ask
 * whether it is, by weak references and by dlsym.
 */
#pragma once

#include "runtime.h"

/* A library is about to be opened, and may define any: all are shown. */
void rt_names_open(void) RT_HIDDEN;
/* All are shown, or not, as they were before the last rt_name_show. */
void rt_names_again(void) RT_HIDDEN;
/* Function I, for now. */
void rt_name_show(uint32_t i, bool shown) RT_HIDDEN;
