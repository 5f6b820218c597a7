/* SPDX-License-Identifier: Apache-2.0 */
/* Stores that belong to a fault, beside return value and errno. */
#pragma once

#include "runtime.h"

void rt_side(const struct rt_call *c, const struct wire_side *s) RT_HIDDEN;
