/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the shim: the shared object, preloaded into the target, whose exported functions stand before the real ones.
 *
 * Machine code and ELF are written here, byte by byte; no compiler, assembler or linker is needed where murphy runs.
 */
#pragma once

#include "base/base.h"
#include "wire/wire.h"

/*
 * Appends to RET a shared object that exports each function of PLAN (checked before), needs RUNTIME (a path, its
 * DT_NEEDED), and holds the plan and the struct wire_shim. A function with a version is exported with that version.
 */
int shim_write(const void *plan, size_t size, const char *runtime, struct text *ret, struct err *e) MUST_USE;
