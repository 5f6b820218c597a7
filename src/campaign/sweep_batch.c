/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many experiments at once, as branches of one run.
 */
#include "campaign/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * A batch should take about so long, since the order in which experiments are made in it is the program's, and nothing
 * is kept of it before its end; but at least as long as so many runs, since it costs one itself.
 */
enum { BATCH_NS = 1000000000, BATCH_RUNS = 8 };
/* The smallest, and the first: as many as take this long if each is as long as a run, within bounds. */
enum { BATCH_LEAST = 8, BATCH_FIRST = 64 };
#define FIRST_NS UINT64_C(4000000000)

struct batch {
  struct sweep_state *st;
  struct lab *l;
  size_t n, taken[LAB_BRANCHES];
  bool made[LAB_BRANCHES];
  const struct experiment *experiments[LAB_BRANCHES];
  size_t index[LAB_BRANCHES]; /* of those that are not made yet */
  size_t again;               /* a new failure, which is to be made sure of before others are made */
  bool hung;                  /* ... and it is a hang */
  held_list held;
  size_t later; /* of the n, those that were put off */
  uint64_t hung_ns;
  /* As of the last struct lab_branch: why there was no branch, and for each of the n. */
  char why[SANDBOX_WHY];
  const char *whys[LAB_BRANCHES], *found[LAB_BRANCHES];
};

/* What else is to be made where a failure is known waits until everything else was tried. */
static void put_off(struct batch *b) {
  struct sweep_state *st = b->st;
  (void)pthread_mutex_lock(&st->lock);
  for (size_t i = 0; i < b->n; i++) {
    if (b->made[i] || !st->failed[st->s->candidates[b->taken[i]].place] || vec_push(&st->later, b->taken[i]) < 0)
      continue;
    b->made[i] = true;
    b->later++;
    st->taken--;
  }
  (void)pthread_mutex_unlock(&st->lock);
}

static int branch_done(void *context, size_t i, const struct lab_result *result, struct err *e) {
  struct batch *b = context;
  (void)e;
  size_t at = b->index[i];
  if (result->timed_out) b->hung_ns += result->wall_ns;
  int r = sweep_take_result(b->st, b->l, b->taken[at], result, &b->held);
  if (r < 0) return r;
  b->made[at] = r == 0;
  if (r > 0) {
    b->again = at;
    b->hung = result->timed_out;
    return -EAGAIN;
  }
  const struct sweep *s = b->st->s;
  return sweep_is_over(s) ? -ECANCELED : 0;
}

/* --- one in many is made in another way, too ---------------------------------------------------------------------- */

/* How an experiment came out. */
struct end {
  enum outcome outcome;
  int status;
  bool injected;
  uint64_t call;
  char *difference;
};

static bool is_same_end(const struct end *a, const struct end *b) {
  return a->outcome == b->outcome && a->status == b->status && a->injected == b->injected &&
         (!a->injected || a->call == b->call) && strcmp(a->difference, b->difference) == 0;
}

/* Are two texts the same but for digits? */
static bool is_same_without_digits(const char *a, const char *b) {
  static const char digits[] = "0123456789";
  for (;;) {
    a += strspn(a, digits);
    b += strspn(b, digits);
    if (*a != *b) return false;
    if (!*a) return true;
    a++;
    b++;
  }
}

static bool is_like_end(const struct end *a, const struct end *b) {
  return a->outcome == b->outcome && a->status == b->status && a->injected == b->injected &&
         (!a->injected || a->call == b->call) && is_same_without_digits(a->difference, b->difference);
}

/* -ECANCELED if that tells nothing. */
static int run_to_end(struct batch *b, size_t experiment, struct end *ret, struct err *e) {
  struct sweep_state *st = b->st;
  struct lab_order order = sweep_order(st->s, experiment);
  struct lab_result result;
  struct text what = {0};
  bool failed;
  uint64_t start = sweep_now();
  int r = lab_run(b->l, &order, &result, e);
  if (r < 0) return r;
  sweep_note_cost(st, CHOICE_RUN, sweep_now() - start, 1);
  *ret = (struct end){.outcome = sweep_judge(st, experiment, &result, &what, &failed),
                      .status = result.seen.status,
                      .injected = result.injected,
                      .call = lab_last_event(&result)->call,
                      .difference = strdup(what.at ? what.at : "")};
  bool cut = sweep_is_cut(st->s, &result) || sweep_stopped(st->s);
  text_done(&what);
  lab_result_done(&result);
  if (ret->difference && !cut) return 0;
  free(ret->difference);
  return cut ? -ECANCELED : -ENOMEM;
}

static size_t line_length(const char *s) { return strcspn(s, "\n"); }

/* The first line of A that B does not have; NULL if there is none. */
static const char *line_beyond(const char *a, const char *b) {
  for (; *a; a += line_length(a), a += *a == '\n') {
    size_t n = line_length(a);
    const char *at = b;
    while (*at && (line_length(at) != n || strncmp(at, a, n) != 0)) {
      at += line_length(at);
      at += *at == '\n';
    }
    if (n && !*at) return a;
  }
  return NULL;
}

/* In a few words: how the branch came out, and not a run from the start. */
static void say_difference(const struct end *branch, const struct end *run, char *ret, size_t size) {
  const char *more = line_beyond(branch->difference, run->difference);
  const char *less = line_beyond(run->difference, branch->difference), *line = more ? more : less;
  if (branch->injected != run->injected)
    (void)snprintf(ret, size, "the call that fails came only in %s", branch->injected ? "the branch" : "the run");
  else if (branch->injected && branch->call != run->call)
    (void)snprintf(ret, size, "the call that fails was call %llu of its function, not %llu",
                   (unsigned long long)branch->call, (unsigned long long)run->call);
  else if (branch->status != run->status)
    (void)snprintf(ret, size, "it ended with status 0x%x, not 0x%x", (unsigned)branch->status, (unsigned)run->status);
  else if (line)
    (void)snprintf(ret, size, "only the %s has this beside the baseline: %.*s", more ? "branch" : "run",
                   (int)line_length(line), line);
  else
    (void)snprintf(ret, size, "%s, not %s", outcome_words[branch->outcome], outcome_words[run->outcome]);
}

/* The same for lines that differ in digits alone. */
static uint64_t kind_of_line(const char *line, size_t n) {
  uint64_t kind = 0;
  for (size_t i = 0; i < n; i++)
    if (line[i] < '0' || line[i] > '9') kind = hash_mix(kind + (unsigned char)line[i]);
  return kind | 1;
}

/* A and B are the same without digits: is each line that differs known to count? LEARN: now it is. The lock is held. */
static bool are_counting(struct map *known, const char *a, const char *b, bool learn) {
  while (*a || *b) {
    size_t n = line_length(a), m = line_length(b);
    uint64_t kind = kind_of_line(a, n), is;
    bool differs = n != m || strncmp(a, b, n) != 0;
    if (differs && !map_get(known, kind, &is) && (!learn || map_put(known, kind, 1) < 0)) return false;
    a += n + (a[n] == '\n');
    b += m + (b[m] == '\n');
  }
  return true;
}

static bool is_counting(struct sweep_state *st, const struct end *a, const struct end *b, bool learn) {
  (void)pthread_mutex_lock(&st->lock);
  bool is = are_counting(&st->counting, a->difference, b->difference, learn);
  (void)pthread_mutex_unlock(&st->lock);
  return is;
}

/*
 * FIRST is not what the branch was: is it the same once more? What has the time of day in it is the same for a second,
 * so if nothing but digits differs the other run is made later. If these differ then those of such lines tell nothing.
 */
static int confirm(struct batch *b, const struct held *h, const struct end *branch, const struct end *first,
                   bool *ret_same, struct err *e) {
  struct end second;
  bool alike = is_like_end(branch, first);
  *ret_same = false;
  if (alike && is_counting(b->st, branch, first, false)) return 0;
  if (alike) (void)nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 100000000}, NULL);
  int r = run_to_end(b, h->experiment, &second, e);
  if (r < 0) return r;
  *ret_same = is_same_end(first, &second);
  if (alike && !*ret_same && is_like_end(first, &second)) {
    (void)is_counting(b->st, first, &second, true);
    *ret_same = !is_counting(b->st, branch, first, false); /* other lines may differ as well, and not by the time */
  }
  free(second.difference);
  return 0;
}

/*
 * Does it come out otherwise when it is made from the start? Only what does so twice in the same way counts. In what it
 * differs goes to RET; "" if it does not.
 */
static int compare_with_run(struct batch *b, const struct held *h, char ret[SANDBOX_WHY], struct err *e) {
  const struct end branch = {.outcome = h->outcome,
                             .status = h->status,
                             .injected = h->injected,
                             .call = h->n_events ? h->events[h->n_events - 1].call : 0,
                             .difference = h->difference};
  struct end first;
  bool twice = false;
  int r = run_to_end(b, h->experiment, &first, e);
  ret[0] = '\0';
  if (r < 0) return r == -ECANCELED ? 0 : r;
  if (!is_same_end(&branch, &first)) r = confirm(b, h, &branch, &first, &twice, e);
  if (r == 0 && twice) say_difference(&branch, &first, ret, SANDBOX_WHY);
  free(first.difference);
  return r == -ECANCELED ? 0 : r;
}

/* One in so many, since what is no failure is looked at by nobody else. */
enum { SAMPLE = 50 };

static bool is_sample(struct sweep_state *st) {
  (void)pthread_mutex_lock(&st->lock);
  bool is = st->held++ % SAMPLE == SAMPLE / 2;
  (void)pthread_mutex_unlock(&st->lock);
  return is;
}

static void distrust(struct sweep_state *st, const char *what) {
  (void)pthread_mutex_lock(&st->lock);
  st->distrust = true;
  (void)snprintf(st->why, sizeof st->why, "a branch was not what a run from the start is: %.*s", 200, what);
  (void)pthread_mutex_unlock(&st->lock);
}

static bool is_distrusted(struct sweep_state *st) {
  (void)pthread_mutex_lock(&st->lock);
  bool is = st->distrust;
  (void)pthread_mutex_unlock(&st->lock);
  return is;
}

static void keep_error(struct sweep_state *st, const struct err *e) {
  (void)pthread_mutex_lock(&st->lock);
  if (e->text[0]) st->e = *e;
  (void)pthread_mutex_unlock(&st->lock);
}

/* Are those that are held what they would be otherwise? */
static int check_samples(struct batch *b, bool *trusted) {
  int r = 0;
  for (size_t i = 0; i < b->held.n && r == 0 && *trusted; i++) {
    struct err e = {0};
    char differs[SANDBOX_WHY] = "";
    if (!is_sample(b->st) || sweep_is_over(b->st->s)) continue;
    r = compare_with_run(b, &b->held.at[i], differs, &e);
    if (r < 0) keep_error(b->st, &e);
    if (differs[0]) distrust(b->st, differs);
    *trusted = !differs[0];
  }
  return r;
}

/* --- batches ------------------------------------------------------------------------------------------------------ */

/* The run from which they branched is over. If it cannot be trusted they are to be made again, in another way. */
static int release(struct batch *b, bool trusted) {
  struct lab_result *result = calloc(1, sizeof *result);
  int r = result ? 0 : -ENOMEM;
  for (size_t i = 0; i < b->held.n; i++) {
    struct held *h = &b->held.at[i];
    if (r == 0 && trusted) r = sweep_tell_held(b->st, b->l, h, NULL, result);
    for (size_t k = 0; !trusted && k < b->n; k++)
      if (b->taken[k] == h->experiment) b->made[k] = false;
    sweep_held_done(h);
  }
  b->held.n = 0;
  free(result);
  return r;
}

/* The run from which they branch looks as without faults, or as with the injections that they have in common. */
static const struct observation *expected_of(const struct batch *b) {
  const struct sweep *s = b->st->s;
  const struct experiment *x = &s->candidates[b->taken[0]].x;
  return x->n < 2 ? &s->baseline->runs[0].seen : sweep_reference(s, x);
}

/*
 * A new failure stands for its finding. In a run, faults of one call come in no order; if there is a likelier one that
 * was not made yet, that is the one to look at first. What hangs takes too long for that.
 */
static size_t clearest(const struct batch *b) {
  const struct candidate *all = b->st->s->candidates;
  size_t best = b->again;
  for (size_t i = 0; i < b->n && !b->hung; i++) {
    const struct candidate *x = &all[b->taken[i]], *y = &all[b->taken[best]];
    bool same = x->place == y->place && x->time == y->time; /* all of a batch have one prefix */
    if (same && !b->made[i] && x->weight > y->weight) best = i;
  }
  return best;
}

static bool is_known_to_fail(struct sweep_state *st, size_t place) {
  (void)pthread_mutex_lock(&st->lock);
  bool is = st->failed[place];
  (void)pthread_mutex_unlock(&st->lock);
  return is;
}

/* By itself, and if another one was clearer and no failure, that one too. */
static int look_at_failure(struct batch *b, size_t *made) {
  const size_t which[] = {clearest(b), b->again};
  const size_t place = b->st->s->candidates[b->taken[b->again]].place;
  int r = 0;
  for (size_t i = 0; i < COUNT(which) && r == 0 && !b->made[which[i]]; i++) {
    if (i && is_known_to_fail(b->st, place)) break;
    r = sweep_make(b->st, b->l, b->taken[which[i]], "a new failure is looked at by itself",
                   b->hung ? KNOWN_HUNG : KNOWN_NOT);
    b->made[which[i]] = true;
    (*made)++;
  }
  return r;
}

/* All that were not made yet; how many of them were now. */
static int branch_once(struct batch *b, size_t *ret_made) {
  struct err e = {0};
  size_t n = 0, made = 0;
  for (size_t i = 0; i < b->n; i++)
    if (!b->made[i]) {
      b->index[n] = i;
      b->experiments[n++] = &b->st->s->candidates[b->taken[i]].x;
    }
  struct lab_branch branch = {.experiments = b->experiments,
                              .n = n,
                              .wall_ns = b->st->s->wall_ns,
                              .until_ns = sweep_latest(b->st->s),
                              .done = branch_done,
                              .context = b,
                              .whys = b->found,
                              .expected = n ? expected_of(b) : NULL,
                              .mask = __atomic_load_n(&b->st->mask, __ATOMIC_ACQUIRE)};
  uint64_t start = sweep_now();
  int r = n ? lab_branch(b->l, &branch, &e) : 0;
  uint64_t took = sweep_now() - start;
  bool trusted = !branch.unlike;
  int checked = check_samples(b, &trusted), told = release(b, trusted);
  if (told == 0) told = checked;
  if (told < 0 && (r == 0 || r == -EAGAIN || r == -ECANCELED)) r = told;
  (void)pthread_mutex_lock(&b->st->lock);
  if (r < 0 && r != -ECANCELED && r != -EAGAIN && e.text[0]) b->st->e = e;
  if (!b->st->why[0]) memcpy(b->st->why, branch.why, sizeof b->st->why);
  memcpy(b->why, branch.why, sizeof b->why);
  (void)pthread_mutex_unlock(&b->st->lock);
  for (size_t i = 0; i < n; i++) {
    made += b->made[b->index[i]];
    b->whys[b->index[i]] = b->found[i];
  }
  sweep_note_cost(b->st, CHOICE_BRANCH, took > b->hung_ns ? took - b->hung_ns : 0, made);
  b->hung_ns = 0;
  *ret_made = made;
  if (r != -EAGAIN) return r == -ECANCELED ? 0 : r;
  *ret_made = made;
  r = look_at_failure(b, ret_made);
  put_off(b);
  return r;
}

/* Is a branch worth it? A child that changes files ends the trunk, and then it is no better than a fork. */
static int branch_batch(struct batch *b, size_t *ret_made) {
  size_t made = 0, runs = 0, more = 1;
  int r = 0;
  for (; r == 0 && more > 0 && made >= runs && !sweep_is_over(b->st->s) && !is_distrusted(b->st); runs++, made += more)
    r = branch_once(b, &more);
  *ret_made = made;
  return r;
}

/* WHY: for people, where an experiment has no reason of its own; NULL for that of the sweep, for all. */
static int make_rest(struct batch *b, const char *why, size_t *ret_made) {
  int r = 0;
  *ret_made = 0;
  for (size_t i = 0; i < b->n && r == 0; i++) {
    const struct sweep *s = b->st->s;
    if (sweep_is_over(s)) break;
    if (b->made[i]) continue;
    r = sweep_make(b->st, b->l, b->taken[i], why && b->whys[i] ? b->whys[i] : why, KNOWN_NOT);
    *ret_made += r == 0;
  }
  return r;
}

/* What no branch was made for. */
static int make_refused(struct batch *b) {
  size_t made;
  if (is_distrusted(b->st)) return make_rest(b, NULL, &made);
  int r = make_rest(b, b->why[0] ? b->why : sweep_cut_short, &made);
  (void)pthread_mutex_lock(&b->st->lock);
  if (b->why[0]) b->st->refused += made;
  (void)pthread_mutex_unlock(&b->st->lock);
  return r;
}

static size_t first_size(uint64_t run_ns) {
  uint64_t n = FIRST_NS / (run_ns ? run_ns : 1);
  return n > BATCH_FIRST ? BATCH_FIRST : n > BATCH_LEAST ? (size_t)n : BATCH_LEAST;
}

static size_t next_size(size_t size, uint64_t took, uint64_t run_ns) {
  const size_t first = first_size(run_ns);
  const uint64_t most = run_ns > BATCH_NS / BATCH_RUNS ? run_ns * BATCH_RUNS : BATCH_NS;
  if (took > most) return size > 2 * first ? size / 2 : first;
  return took < most / 4 && size * 2 <= LAB_BRANCHES ? size * 2 : size;
}

static void take_batch(struct batch *b, size_t size) {
  memset(b->made, 0, sizeof b->made);
  memset(b->whys, 0, sizeof b->whys);
  b->later = 0;
  b->why[0] = '\0';
  for (b->n = 0; b->n < size && sweep_take(b->st, b->n ? &b->taken[0] : NULL, &b->taken[b->n]);)
    b->n++;
}

static enum campaign_choice choose(struct sweep_state *st) {
  (void)pthread_mutex_lock(&st->lock);
  enum campaign_choice choice = campaign_choose(&st->costs, st->s->baseline->wall_ns);
  /* If few were refused, that is not what made branches dear. */
  if (choice == CHOICE_RUN && !st->distrust && (!st->why[0] || st->refused < st->costs.branch.n))
    (void)snprintf(st->why, sizeof st->why, "a branch takes longer than a run from the start");
  (void)pthread_mutex_unlock(&st->lock);
  return choice;
}

/* Are branches cheaper than runs that begin at main? If there is doubt, a few such runs tell. */
static bool is_worth_it(struct batch *b) {
  struct sweep_state *st = b->st;
  if (choose(st) == CHOICE_PROBE) {
    take_batch(b, CAMPAIGN_PROBE);
    size_t made;
    int r = make_rest(b, "some are made from the start, to compare what that takes", &made);
    if (r < 0) sweep_fail(st, r);
  }
  return choose(st) != CHOICE_RUN;
}

/* Batches, as long as branches are cheaper. */
void sweep_work_in_batches(struct sweep_state *st, struct lab *l) {
  struct batch *b = calloc(1, sizeof *b);
  if (!b) return; /* one by one, then */
  const uint64_t run_ns = st->s->baseline->wall_ns;
  size_t size = first_size(run_ns), made = 0;
  *b = (struct batch){.st = st, .l = l};
  do {
    uint64_t start = sweep_now();
    take_batch(b, size);
    int r = b->n ? branch_batch(b, &made) : 0;
    if (r == 0) r = make_refused(b);
    if (r < 0) sweep_fail(st, r);
    size = next_size(size, sweep_now() - start, run_ns);
    while (sweep_make_waiting(st, l, false)) {
    }
  } while (b->n > 0 && !is_distrusted(st) && is_worth_it(b));
  vec_done(&b->held);
  free(b);
}
