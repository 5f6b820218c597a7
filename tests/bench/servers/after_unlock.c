/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CloseAfterUnlock, as the LFI authors wrote one for their table IV: the call comes shortly behind the last call of
 * pthread_mutex_unlock in the same thread, at most `bytes` of code further on. It must see pthread_mutex_unlock.
 */
#include <murphy/trigger.h>

#include <string.h>

static __thread const char *last;

static int init(struct murphy_trigger *t) { return murphy_trigger_number(t, "bytes", t->state); }

static int eval(struct murphy_trigger *t, const struct murphy_call *call) {
  const char *at = call->caller;
  if (strcmp(call->function, "pthread_mutex_unlock") == 0) {
    last = at;
    return 0;
  }
  return last && at > last && at - last <= *(const int64_t *)t->state;
}

MURPHY_TRIGGER(CloseAfterUnlock, .init = init, .eval = eval, .state_size = sizeof(int64_t));
