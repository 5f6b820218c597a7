/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is freed at once: a list of chunks, each twice as large as the one before, up to a limit.
 *
 * The first chunk of the list is the one that is being filled. An allocation that is large against it gets a chunk of
 * its own, behind the first, so that the space left in the first is not lost. Nothing is moved, ever.
 */
#include "base/base.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16, FIRST_CHUNK = 4 << 10, LAST_CHUNK = 1 << 20 };

struct arena_chunk {
  struct arena_chunk *next;
  size_t size, used; /* of bytes */
  alignas(ALIGNMENT) unsigned char bytes[];
};

static struct arena_chunk *chunk_new(size_t size) {
  struct arena_chunk *chunk = malloc(sizeof *chunk + size);
  if (chunk) *chunk = (struct arena_chunk){.size = size};
  return chunk;
}

static void *chunk_take(struct arena_chunk *chunk, size_t size) {
  void *p = chunk->bytes + chunk->used;
  chunk->used += size;
  return p;
}

/* The first chunk has no room for SIZE bytes. */
static void *alloc_slowly(struct arena *a, size_t size) {
  struct arena_chunk *first = a->chunk;
  size_t usual = !first ? FIRST_CHUNK : first->size < LAST_CHUNK / 2 ? first->size * 2 : LAST_CHUNK;
  bool alone = first && size > usual / 4;
  struct arena_chunk *chunk = chunk_new(alone || size > usual ? size : usual);
  if (!chunk) return NULL;
  if (alone) {
    chunk->next = first->next;
    first->next = chunk;
  } else {
    chunk->next = first;
    a->chunk = chunk;
  }
  return chunk_take(chunk, size);
}

void *arena_alloc(struct arena *a, size_t size) {
  if (size > PTRDIFF_MAX - 4096) return NULL;
  size = size ? (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1) : ALIGNMENT;
  struct arena_chunk *chunk = a->chunk;
  if (chunk && chunk->size - chunk->used >= size) return chunk_take(chunk, size);
  return alloc_slowly(a, size);
}

void *arena_zalloc(struct arena *a, size_t size) {
  void *p = arena_alloc(a, size);
  return p ? memset(p, 0, size) : NULL;
}

void *arena_memdup(struct arena *a, const void *p, size_t size) {
  void *copy = arena_alloc(a, size);
  if (copy && size) memcpy(copy, p, size);
  return copy;
}

char *arena_strdup(struct arena *a, const char *s) { return arena_memdup(a, s, strlen(s) + 1); }

static void free_list(struct arena_chunk *chunk) {
  while (chunk) {
    struct arena_chunk *next = chunk->next;
    free(chunk);
    chunk = next;
  }
}

void arena_reset(struct arena *a) {
  if (!a->chunk) return;
  free_list(a->chunk->next);
  a->chunk->next = NULL;
  a->chunk->used = 0;
}

void arena_done(struct arena *a) {
  if (!a) return;
  free_list(a->chunk);
  a->chunk = NULL;
}

void arena_adopt(struct arena *a, struct arena *from) {
  struct arena_chunk **end = &a->chunk;
  while (*end)
    end = &(*end)->next;
  *end = from->chunk;
  from->chunk = NULL;
}
