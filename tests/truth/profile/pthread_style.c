/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that return a positive error number and leave errno alone. */
#include "truth.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct gate {
  int owner, count;
  unsigned flags;
  pthread_mutex_t mutex;
};

/* errors: EINVAL EPERM */
EXPORT int gate_unlock(struct gate *g, int self) {
  if (g == NULL)
    return EINVAL;
  if (g->owner != self)
    return EPERM;
  if (--g->count == 0)
    g->owner = 0;
  return 0;
}

/* errors: EBUSY EDEADLK EAGAIN */
EXPORT int gate_trylock(struct gate *g, int self) {
  if (g->owner == self) {
    if (!(g->flags & 1))
      return EDEADLK;
    if (g->count == 255)
      return EAGAIN;
    g->count++;
    return 0;
  }
  if (g->owner != 0)
    return EBUSY;
  g->owner = self;
  g->count = 1;
  return 0;
}

/* errors: EINVAL ENOTSUP */
EXPORT int gate_attr(struct gate *g, unsigned flags) {
  int result = 0;
  if (flags & ~7u)
    result = EINVAL;
  else if ((flags & 6) == 6)
    result = ENOTSUP;
  else
    g->flags = flags;
  return result;
}

/* errors: ENOMEM[@malloc] ERANGE */
EXPORT int gate_new(struct gate **ret, unsigned flags) {
  struct gate *g;
  if (flags > 15)
    return ERANGE;
  g = malloc(sizeof *g);
  if (g == NULL)
    return ENOMEM;
  memset(g, 0, sizeof *g);
  g->flags = flags;
  *ret = g;
  return 0;
}

/* Number of the callee in another library, with one value singled out. */
/* errors: EBUSY EOWNERDEAD */
EXPORT int gate_enter(struct gate *g) {
  int r = base_lock_try(&g->owner);
  if (r != 0)
    return r;
  if (g->flags & 8)
    return EOWNERDEAD;
  g->count++;
  return 0;
}

/* errors: ENOENT ESRCH */
EXPORT int gate_find(struct gate *const *gates, unsigned n, int owner, struct gate **ret) {
  if (n == 0)
    return ENOENT;
  for (unsigned i = 0; i < n; i++)
    if (gates[i]->owner == owner) {
      *ret = gates[i];
      return 0;
    }
  return ESRCH;
}
