/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the program wordcount. */
#pragma once
#include <stddef.h>

void *xmalloc(size_t n);
void *xrealloc(void *old, size_t n);
char *xstrdup(const char *s);
void *try_alloc(size_t count, size_t size);
char *copy_text(const char *s, size_t n);
