/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exceptions that are caught, and those that are not.
 *
 * A program of C++ that has no memory and ends by std::bad_alloc, which nobody catches, has given up, and that is
 * handled. One that catches it in main, and ends with a message, does not mean to: an exception that cannot get there,
 * since it would have to leave a function that is noexcept, or a destructor, is a failure. Which of the two a program
 * is, other experiments show; so those that ended by such an exception are made again at the end, a few of them.
 *
 * main is told from what runs before it, where nobody can catch anything, and from threads, by where in libc its
 * stacks end.
 */
#include "campaign/sweep.h"

#include <signal.h>
#include <sys/wait.h>

/* So many are made again. */
enum { AGAIN_MOST = 32 };

static bool is_thrown(const struct sweep *s, size_t experiment) {
  return s->faults[s->experiments[experiment].fault].act == WIRE_ACT_THROW;
}

/* From where the outermost function of libc but one was called; 0 if the stack does not end there. */
static uint64_t outer_of(const struct sweep *s, const struct lab *l, const struct lab_result *r) {
  uint64_t stack[WIRE_FRAMES];
  size_t n = r->injected ? sweep_number_inject(s, lab_area(l), &r->event, stack) : 0;
  return n < 2 || r->event.n_frames >= WIRE_FRAMES ? 0 : stack[n - 2];
}

void sweep_recall_caught(struct sweep_state *st, const struct lab *l, size_t experiment, const struct lab_result *r) {
  size_t point = st->s->experiments[experiment].point;
  if (!is_thrown(st->s, experiment)) return;
  uint64_t outer = outer_of(st->s, l, r);
  (void)pthread_mutex_lock(&st->lock);
  if (outer && map_get(&st->uncaught, point + 1, NULL) && map_get(&st->catchers, outer, NULL))
    __atomic_store_n(&st->caught[point], true, __ATOMIC_RELEASE);
  (void)pthread_mutex_unlock(&st->lock);
}

/* The lock is held. */
static bool postpone(struct sweep_state *st, size_t experiment) {
  uint64_t point = st->s->experiments[experiment].point + 1;
  if (map_get(&st->uncaught, point, NULL) || st->n_uncaught == AGAIN_MOST) return false;
  if (map_put(&st->uncaught, point, 1) < 0) return false;
  st->n_uncaught++;
  if (vec_push(&st->later, experiment) < 0) return false;
  st->taken--;
  return true;
}

bool sweep_note_caught(struct sweep_state *st, const struct lab *l, size_t experiment, const struct lab_result *r) {
  const struct campaign_point *at = &st->s->points[st->s->experiments[experiment].point];
  int status = r->seen.status;
  uint64_t outer = is_thrown(st->s, experiment) ? outer_of(st->s, l, r) : 0;
  bool again = false;
  if (!outer) return false;
  (void)pthread_mutex_lock(&st->lock);
  /* A stream catches what is thrown inside of the library, and tells it in another way. */
  if (WIFEXITED(status) && WEXITSTATUS(status) && !at->indirect) (void)map_put(&st->catchers, outer, 1);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) again = postpone(st, experiment);
  (void)pthread_mutex_unlock(&st->lock);
  return again;
}
