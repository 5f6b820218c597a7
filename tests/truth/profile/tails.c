/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fcf-protection=full */
/* Tail calls: to internal functions, to the PLT, and chains of them; with CET marks as distributions build. */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static NOINLINE int store_at(long *slots, unsigned i, long v) {
  if (i >= 32)
    return -34;
  if (slots[i] != 0)
    return -17;
  slots[i] = v;
  return 0;
}

static NOINLINE int store_hashed(long *slots, unsigned key, long v) {
  return store_at(slots, key % 37, v);
}

/* errors: -17 -22 -34 */
EXPORT int slot_store(long *slots, unsigned key, long v) {
  if (v == 0)
    return -22;
  return store_hashed(slots, key * 2654435761u, v);
}

/* errors: -1 -2 -3 -4 */
EXPORT int slot_import(const unsigned char *p, size_t n) {
  return base_frame_check(p, n);
}

/* errors: -1 -2 -3 -4 -9 */
EXPORT int slot_import_at(const unsigned char *p, size_t n, size_t skip) {
  if (skip > n)
    return -9;
  return base_frame_check(p + skip, n - skip);
}

/* errors: -1[EINVAL,@lseek] */
EXPORT long slot_seek(int fd, int slot) {
  return base_seek_to(fd, slot * 512L);
}

/* errors: -1[@ftruncate] */
EXPORT int slot_truncate(int fd) {
  return ftruncate(fd, 0);
}

/* errors: none */
EXPORT void slot_note(int quiet, const char *text) {
  if (quiet)
    return;
  base_log(text);
}

typedef int (*visit_fn)(void *, int);

/* errors: -22 */
EXPORT int slot_visit(visit_fn visit, void *context, int key) {
  if (visit == NULL)
    return -22;
  return visit(context, key);
}
