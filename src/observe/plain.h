/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text with what varies taken out of it.
 */
#pragma once

#include "observe/observe.h"

/* A hash of the N bytes at P with what LEVEL leaves out; two texts are the same at a level if their hashes are. */
uint64_t plain_hash(const char *p, size_t n, enum observe_level level);
/* The lowest level at which all texts are the same. */
enum observe_level plain_level(const struct observe_stream *texts, size_t n);
/* The first line in which they differ at LEVEL, for a person: "- …\n+ …\n". */
void plain_difference(const struct observe_stream *a, const struct observe_stream *b, enum observe_level level,
                      struct text *to);
