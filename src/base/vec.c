/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The growing half of the VEC macros: what does not depend on the type of an element.
 *
 * The pointer is read and written as bytes, because AT points to a pointer of another type than void *.
 */
#include "base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The macros of the header write -ENOMEM as a number, so that it need not include errno.h. */
_Static_assert(ENOMEM == 12, "vec_push returns -12");

int vec_grow(void **at, size_t *cap, size_t need, size_t size) {
  if (need <= *cap) return 0;
  size_t wanted = *cap < 4 ? 8 : *cap + *cap / 2;
  if (wanted < need) wanted = need;
  void *old;
  memcpy(&old, at, sizeof old);
  void *grown = reallocarray(old, wanted, size);
  if (!grown) return -ENOMEM;
  memcpy(at, &grown, sizeof grown);
  *cap = wanted;
  return 0;
}

void vec_free(void **at) {
  void *p, *none = NULL;
  memcpy(&p, at, sizeof p);
  free(p);
  memcpy(at, &none, sizeof none);
}
