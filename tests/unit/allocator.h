/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An allocator that fails when it is told to, for tests of lack of memory. It takes the place of libc's in the test
 * that includes it; sanitizers have their own, and there is no such test under them.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_ALLOCATOR 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_ALLOCATOR 0
#endif
#endif
#ifndef OWN_ALLOCATOR
#define OWN_ALLOCATOR 1
#endif

#if OWN_ALLOCATOR
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

/* How many allocations succeed before one fails; all do if negative. While one is to fail, those alive are counted. */
static long countdown = -1, alive;
static bool failed_one, failing;
/* Allocations of fewer bytes succeed and are not counted. */
static size_t fails_from;

static bool fails_now(size_t size) {
  if (size < fails_from || countdown < 0 || countdown-- > 0) return false;
  failed_one = true;
  errno = ENOMEM;
  return true;
}

static void *counted(void *p) {
  if (failing && p) alive++;
  return p;
}

void *malloc(size_t size) { return fails_now(size) ? NULL : counted(__libc_malloc(size)); }

void *calloc(size_t n, size_t size) { return fails_now(n * size) ? NULL : counted(__libc_calloc(n, size)); }

void *realloc(void *p, size_t size) {
  if (fails_now(size)) return NULL;
  return p ? __libc_realloc(p, size) : counted(__libc_realloc(NULL, size));
}

void free(void *p) {
  if (failing && p) alive--;
  __libc_free(p);
}
#endif
