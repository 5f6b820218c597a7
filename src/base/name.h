/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of compilers, for people: the parts of name_readable. Each adds nothing if it returns false. */
#pragma once

#include "base/base.h"

/* name_rust for the newer form of symbols. */
bool name_rust_path(const char *symbol, struct text *to);
/* The path of a symbol of C++. */
bool name_cpp(const char *symbol, struct text *to);
