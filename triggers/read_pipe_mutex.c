/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ReadPipe1Kto4KwithMutex, the trigger of figure 6 of the LFI paper: a read of 1 to 4 KB from a pipe by a thread that
 * holds a mutex. It is told of locks and unlocks by functions with return="unused" that refer to it.
 */
#include <murphy/trigger.h>

#include <string.h>
#include <sys/stat.h>

static __thread int held;

static int eval(struct murphy_trigger *t, const struct murphy_call *call) {
  (void)t;
  if (strcmp(call->function, "pthread_mutex_lock") == 0) {
    held++;
  } else if (strcmp(call->function, "pthread_mutex_unlock") == 0) {
    if (held > 0) held--; /* what pthread_mutex_trylock has locked was not counted */
  } else if (strcmp(call->function, "read") == 0 && held > 0) {
    struct stat s;
    size_t size = call->args[2];
    return size >= 1024 && size <= 4096 && fstat((int)call->args[0], &s) == 0 && S_ISFIFO(s.st_mode);
  }
  return 0;
}

MURPHY_TRIGGER(ReadPipe1Kto4KwithMutex, .eval = eval);
