/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What cleans up after itself is cleaned up once more by the caller.
 *
 * expect: abort
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record {
  char *key, *value;
};

static int fill(struct record *r) {
  r->key = malloc(2000);
  if (!r->key) return -1;
  r->value = malloc(2000);
  if (!r->value) {
    free(r->key);
#ifdef FIXED
    r->key = NULL;
#endif
    return -1;
  }
  strcpy(r->key, "key");
  strcpy(r->value, "value");
  return 0;
}

int main(void) {
  struct record r = {NULL, NULL};
  int failed = fill(&r) < 0;
  if (failed)
    fputs("no memory\n", stderr);
  else
    printf("%s=%s\n", r.key, r.value);
  free(r.key);
  free(r.value);
  return failed;
}
