/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a debugger. */
#pragma once

#include "runtime.h"

/* A call is about to fail: waits, if the order says so. */
void rt_hold(void) RT_HIDDEN;
