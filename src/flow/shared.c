/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all workers know of small functions, so that each of these is looked into once and not once by every worker.
 *
 * An answer depends on its question alone, so that it does not matter who gave it. A worker asks here what it does not
 * know itself; that there is no room for an answer is no loss.
 */
#include "flow/flow.h"

#include <errno.h>

int flow_shared_init(struct flow_shared *s) {
  *s = (struct flow_shared){0};
  return pthread_mutex_init(&s->lock, NULL) == 0 ? 0 : -ENOMEM;
}

void flow_shared_done(struct flow_shared *s) {
  map_done(&s->answers);
  (void)pthread_mutex_destroy(&s->lock);
}

bool flow_shared_get(struct flow_shared *s, uint64_t question, uint64_t *ret) {
  if (!s) return false;
  MUST(pthread_mutex_lock(&s->lock) == 0);
  bool known = map_get(&s->answers, question, ret);
  MUST(pthread_mutex_unlock(&s->lock) == 0);
  return known;
}

void flow_shared_put(struct flow_shared *s, uint64_t question, uint64_t answer) {
  if (!s) return;
  MUST(pthread_mutex_lock(&s->lock) == 0);
  (void)map_put(&s->answers, question, answer);
  MUST(pthread_mutex_unlock(&s->lock) == 0);
}
