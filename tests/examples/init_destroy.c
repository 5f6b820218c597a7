/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LFI, table III: in BIND, what cleans up after a failed start insists that the start succeeded.
 *
 * expect: abort
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static int initialized;
static void *table;

static void destroy(void) {
#ifdef FIXED
  if (!initialized) return;
#else
  assert(initialized);
#endif
  free(table);
  initialized = 0;
}

static int init(void) {
  table = calloc(64, 8);
  if (!table) goto failed;
  initialized = 1;
  return 0;
failed:
  destroy();
  return -1;
}

int main(void) {
  if (init() < 0) {
    fputs("cannot start\n", stderr);
    return 1;
  }
  puts("started");
  destroy();
  return 0;
}
