/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EachPathTrigger: true the first so many times that a path is seen, and then never again for that path. Programs that
 * try again are tested with it: <times>1</times> and each file can be opened only at the second attempt.
 *
 *   times      how often each path fails (1)
 *   argument   which argument is the path, from 1 (1)
 *   pattern    only paths that match, as of glob(7)
 *
 * Up to 1024 paths are told apart, by a hash; from then on others pass.
 */
#include <murphy/trigger.h>

#include <fnmatch.h>

#define PATHS 1024
#define TRIES 16

struct state {
  int64_t times, argument;
  const char *pattern;
  struct {
    uint64_t hash; /* 0: free */
    int64_t seen;
  } paths[PATHS];
};

static int init(struct murphy_trigger *t) {
  struct state *s = t->state;
  s->times = s->argument = 1;
  s->pattern = murphy_trigger_text(t, "pattern", NULL);
  if (murphy_trigger_number(t, "times", &s->times) || murphy_trigger_number(t, "argument", &s->argument)) return -1;
  if (s->argument >= 1 && s->argument <= 6) return 0;
  t->problem = "argument is from 1 to 6";
  return -1;
}

static uint64_t hash_of(const char *path) {
  uint64_t h = 0xcbf29ce484222325u;
  for (; *path; path++)
    h = (h ^ (unsigned char)*path) * 0x100000001b3u;
  return h ? h : 1;
}

static int eval(struct murphy_trigger *t, const struct murphy_call *call) {
  struct state *s = t->state;
  const char *path = (const char *)call->args[s->argument - 1];
  if (!path || (s->pattern && fnmatch(s->pattern, path, 0) != 0)) return 0;
  uint64_t hash = hash_of(path);
  for (uint64_t i = 0; i < TRIES; i++) {
    uint64_t at = (hash + i) % PATHS, none = 0;
    /* Several threads may come at once; the first takes the place, the others see what it put there. */
    if (__atomic_compare_exchange_n(&s->paths[at].hash, &none, hash, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
        none == hash)
      return __atomic_fetch_add(&s->paths[at].seen, 1, __ATOMIC_ACQ_REL) < s->times;
  }
  return 0;
}

MURPHY_TRIGGER(EachPathTrigger, .eval = eval, .init = init, .state_size = sizeof(struct state));
