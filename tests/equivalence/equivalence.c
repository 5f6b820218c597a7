/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes every experiment of a command in each mode, and compares what could be seen: exit status, output, files, and
 * which call failed. exec is the truth; what exec itself does not do twice is left out, and counted.
 *
 *   equivalence [-n MOST] [-f FUNCTION] [-s STEADY] [-i INPUT] [-d] [-b] [-c] -- COMMAND...
 *
 * With -b in branch mode, else by the fork server. With -f only calls of this function fail. With -i the command reads
 * this file, else nothing. With -d those with two faults, behind each that is chosen. With -c it is known that chance
 * may come to the same each time that exec is asked.
 *
 * What differs in an experiment, then a line of numbers. What differs from an exec that repeats is made three times
 * more: if it is like exec in all of them it was once different, else it differs. What exec does not repeat is tried
 * again where nothing is chance: with the library STEADY in the command, and without random addresses. If it is as by
 * exec there, it was different by chance; if exec does not repeat even then, it does not repeat; else it differs. With
 * -c that decides of an exec that repeats, too. Exit status: 0 all are equal, 1 some differ, 2 the comparison could not
 * be made, 3 some were once different.
 */
#include "cmd/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <time.h>
#include <unistd.h>

enum { EXEC, FAST, AGAIN, WAYS };
/* How often exec is asked whether it repeats: a program that draws may come to the same a few times. */
enum { ASKED = 12 };

enum verdict { EQUAL, DIFFERS, ONCE, CHANCE, UNSTABLE, VERDICTS };
static const char *const verdict_words[VERDICTS] = {
    [DIFFERS] = "DIFFERS", [ONCE] = "ONCE DIFFERENT", [CHANCE] = "BY CHANCE", [UNSTABLE] = "DOES NOT REPEAT"};

struct job {
  struct test_space space;
  struct lab *recorder, *labs[WAYS];
  struct lab *steady[WAYS]; /* without chance; made when they are needed */
  const char *library;      /* what takes chance away; NULL: nothing does */
  const char *input;        /* what the command reads; NULL: nothing */
  struct baseline baseline;
  struct candidate *experiments;
  size_t n, most;
  const struct candidate **chosen; /* of the experiments, those that are made */
  size_t n_chosen;
  bool branch, deep, drawn;
  VEC(struct candidate) pairs;
  struct test_scope scope;
  size_t passes;
  size_t modes[LAB_MODES], verdicts[VERDICTS];
  char *cwd;
  char why[SANDBOX_WHY];
};

static struct lab_request request_of(struct job *job, bool points, bool fork) {
  return (struct lab_request){.target = &job->space.target,
                              .cwd = job->cwd,
                              .input = job->input,
                              .envp = environ,
                              .injectors = test_injectors(&job->space),
                              .points = points,
                              .before_asan = job->space.modules.asan,
                              .fork = fork,
                              .limits = {.file_size = 256u << 20, .processes = 4096, .disk = 1024u << 20}};
}

static int make_labs(struct job *job, struct lab *labs[WAYS], struct err *e) {
  const struct processors processors = processors_now();
  int r = 0;
  for (int i = 0; i < WAYS && r >= 0; i++) {
    struct lab_request request = request_of(job, false, i == FAST);
    /* What the command may use is the same. */
    request.processor = i == FAST ? processors_pick(&processors, 0) : 0;
    r = lab_new(&request, &labs[i], e);
  }
  return r;
}

static int make_recorder(struct job *job, struct err *e) {
  struct lab_request request = request_of(job, true, false);
  return lab_new(&request, &job->recorder, e);
}

/* What a lab is made with its command has. */
static int make_steady(struct job *job, struct err *e) {
  if (job->steady[0]) return 0;
  int before = personality(0xffffffff);
  if (before < 0 || personality((unsigned)before | ADDR_NO_RANDOMIZE) < 0 || setenv("LD_PRELOAD", job->library, 1) < 0)
    return err_set(e, -errno, "cannot take chance away: %m");
  int r = make_labs(job, job->steady, e);
  (void)personality((unsigned)before);
  (void)unsetenv("LD_PRELOAD");
  return r;
}

static int plan_all(struct job *job, struct err *e) {
  int r = baseline_make(job->recorder, 30000000000u, &job->baseline, e);
  for (int i = 0; i < WAYS; i++)
    lab_empty_in_place(job->labs[i], &job->baseline.in_place);
  if (r >= 0) r = test_take_points(&job->space, job->recorder, e);
  if (r < 0) return r;
  struct inject_plan order = {.points = job->space.points.at,
                              .n_points = job->space.points.n,
                              .faults = job->space.faults.at,
                              .n_faults = job->space.faults.n,
                              .likely = test_likely,
                              .arena = &job->space.arena,
                              .context = &job->space};
  return inject_plan(&order, &job->experiments, &job->n);
}

static struct lab_order order_of(const struct job *job, const struct candidate *c) {
  return (struct lab_order){.x = c->x, .wall_ns = job->baseline.wall_ns * 10 + 1000000000u};
}

/* Time is what differs between two hangs. */
static bool same(const struct job *job, const struct lab_result *a, const struct lab_result *b, struct text *what) {
  if (a->timed_out != b->timed_out) {
    text_addf(what, "timed out: %d, %d\n", a->timed_out, b->timed_out);
    return false;
  }
  if (a->timed_out) return true;
  const struct wire_event *x = lab_last_event(a), *y = lab_last_event(b);
  if (a->injected != b->injected || (a->injected && x->call != y->call)) {
    text_addf(what, "injected: %d at call %llu, %d at call %llu\n", a->injected, (unsigned long long)x->call,
              b->injected, (unsigned long long)y->call);
    return false;
  }
  if (a->injected && (x->process != y->process || x->n_frames != y->n_frames)) {
    text_addf(what, "injected: in process %u, %u frames; in process %u, %u frames\n", x->process, x->n_frames,
              y->process, y->n_frames);
    return false;
  }
  return observe_compare(&a->seen, &b->seen, &job->baseline.mask, what) == 0;
}

/*
 * Does exec do it twice? In another lab, so that what a device number does to the content of a file shows here too.
 * Where processes were still running when the command ended, it is chance how far they came.
 */
static int look_again(struct job *job, struct lab *labs[WAYS], const struct lab_order *order,
                      const struct lab_result *first, bool *ret_stable, struct err *e) {
  *ret_stable = first->left == 0;
  for (int i = 0; i < ASKED && *ret_stable; i++) {
    struct lab_result again;
    struct text what = {0};
    /* What has the time of day in it is another one then. */
    if (i == 2) (void)nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 100000000}, NULL);
    int r = lab_run(labs[i % 2 ? EXEC : AGAIN], order, &again, e);
    if (r < 0) return r;
    *ret_stable = same(job, first, &again, &what);
    text_done(&what);
    lab_result_done(&again);
  }
  return 0;
}

/* --- once more in the fast way ------------------------------------------------------------------------------------ */

/* What one order came to in a branch, when that was made once more. */
struct once {
  const struct job *job;
  const struct lab_result *truth;
  bool same;
};

static int once_done(void *context, size_t i, const struct lab_result *result, struct err *e) {
  struct once *o = context;
  struct text what = {0};
  (void)i;
  (void)e;
  o->same = same(o->job, o->truth, result, &what);
  text_done(&what);
  return 0;
}

static int make_once(struct lab *lab, const struct lab_order *order, enum lab_mode mode, struct once *once,
                     struct err *e) {
  struct lab_result result;
  const struct experiment *x = &order->x;
  struct lab_branch b = {.experiments = &x, .n = 1, .wall_ns = order->wall_ns, .done = once_done, .context = once};
  if (mode == LAB_BRANCH) return lab_branch(lab, &b, e);
  int r = lab_run(lab, order, &result, e);
  if (r < 0) return r;
  r = once_done(once, 0, &result, e);
  lab_result_done(&result);
  return r;
}

/*
 * Is it like exec whenever it is made once more? Where a process is not waited for, its output comes when it comes, and
 * on a machine that does much else a run may come to its limit by chance. That exec repeats says nothing about the fast
 * mode: what is wrong in it from time to time is wrong, so that this is counted for itself.
 */
static int was_once(struct job *job, const struct lab_order *order, const struct lab_result *truth, enum lab_mode mode,
                    bool *ret, struct err *e) {
  int r = 0;
  *ret = true;
  for (int i = 0; i < 3 && r >= 0 && *ret; i++) {
    struct once once = {.job = job, .truth = truth}; /* a branch that is not made is not the same */
    r = make_once(job->labs[FAST], order, mode, &once, e);
    *ret = once.same;
  }
  return r;
}

static void tell(const struct job *job, const struct candidate *c, const struct lab_result *r, const struct text *what,
                 const char *how) {
  const struct inject_call *x = inject_last_call(&c->x);
  const struct inject_fault *f = &job->space.faults.at[x->fault];
  const char *error = f->error ? errno_name(f->error) : "no errno";
  printf("%s %s: %s %lld %s, time %llu%s:\n%s", how, lab_mode_words[r->mode], test_function(&job->space, f->function),
         (long long)f->retval, error ? error : "?", (unsigned long long)x->nth, x->persistent ? " and on" : "",
         what->at ? what->at : "");
}

/* --- what it was -------------------------------------------------------------------------------------------------- */

/* Without chance: equal, different, or even then exec does not repeat. What cannot be made so is not known. */
static int try_steady(struct job *job, const struct lab_order *order, enum lab_mode mode, enum verdict *ret,
                      struct err *e) {
  struct lab_result truth;
  bool stable = true;
  int r = make_steady(job, e);
  if (r >= 0) r = lab_run(job->steady[EXEC], order, &truth, e);
  if (r < 0) return r;
  /* Where the point is not reached there is no branch. */
  struct once once = {.job = job, .truth = &truth, .same = mode == LAB_BRANCH && !truth.injected};
  r = make_once(job->steady[FAST], order, mode, &once, e);
  if (r >= 0 && !once.same) r = look_again(job, job->steady, order, &truth, &stable, e);
  lab_result_done(&truth);
  *ret = once.same ? EQUAL : stable ? DIFFERS : UNSTABLE;
  return r;
}

/*
 * Of a result in a fast mode that is not as TRUTH, the one by exec. What takes chance away also takes away what a fast
 * mode may get wrong, as the time that has gone by since a library was loaded: where exec repeats, that both are the same
 * then excuses nothing. Only if it is known of a program may chance have come to the same each time that exec was asked,
 * as for a place in memory that all children of a fork server have.
 */
static int judge(struct job *job, const struct lab_order *order, const struct lab_result *truth, enum lab_mode mode,
                 enum verdict *ret, struct err *e) {
  bool stable, once = false;
  enum verdict steady = UNSTABLE;
  int r = look_again(job, job->labs, order, truth, &stable, e);
  if (r >= 0 && stable) r = was_once(job, order, truth, mode, &once, e);
  if (r >= 0 && !once && job->library && (!stable || job->drawn)) r = try_steady(job, order, mode, &steady, e);
  *ret = once ? ONCE : steady == EQUAL ? CHANCE : stable || steady == DIFFERS ? DIFFERS : UNSTABLE;
  return r;
}

/* Of a result in a fast mode: is it what exec shows? */
static int compare(struct job *job, const struct candidate *x, const struct lab_result *other, struct err *e) {
  struct lab_order order = order_of(job, x);
  struct lab_result truth;
  struct text what = {0};
  enum verdict verdict = EQUAL;
  int r = lab_run(job->labs[EXEC], &order, &truth, e);
  if (r < 0) return r;
  job->modes[other->mode]++;
  if (!same(job, &truth, other, &what)) r = judge(job, &order, &truth, other->mode, &verdict, e);
  if (r >= 0 && verdict != EQUAL) tell(job, x, other, &what, verdict_words[verdict]);
  if (r >= 0) job->verdicts[verdict]++;
  lab_result_done(&truth);
  text_done(&what);
  return r;
}

static int compare_fork(struct job *job, struct err *e) {
  int r = 0;
  for (size_t i = 0; i < job->n_chosen && r >= 0; i++) {
    struct lab_order order = order_of(job, job->chosen[i]);
    struct lab_result result;
    r = lab_run(job->labs[FAST], &order, &result, e);
    if (r < 0) break;
    if (result.why[0]) memcpy(job->why, result.why, sizeof job->why);
    r = compare(job, job->chosen[i], &result, e);
    lab_result_done(&result);
  }
  return r;
}

/* --- branches ----------------------------------------------------------------------------------------------------- */

/*
 * Results are compared when the trunk has ended: to compare takes longer than to branch, and a trunk that waits for
 * seconds sees by the clock that it did. For the same reason there are not many in one pass. If the trunk does not look
 * as without faults, nothing that branched from it counts, as in a campaign.
 */
enum { PASS_MOST = 200 };

struct pass {
  struct job *job;
  bool *made;
  size_t n_held, index[PASS_MOST], held[PASS_MOST];
  struct lab_result results[PASS_MOST];
  const char *whys[PASS_MOST];
};

/* What was seen is taken from RESULT. */
static int one_done(void *context, size_t i, const struct lab_result *result, struct err *e) {
  struct pass *p = context;
  struct lab_result *from = (struct lab_result *)(uintptr_t)result;
  (void)e;
  p->held[p->n_held] = p->index[i];
  p->results[p->n_held++] = *from;
  from->seen = (struct observation){0};
  from->events = NULL;
  from->n_events = 0;
  return 0;
}

static int compare_held(struct pass *p, bool trusted, struct err *e) {
  int r = 0;
  for (size_t i = 0; i < p->n_held; i++) {
    p->made[p->held[i]] |= trusted;
    if (r >= 0 && trusted) r = compare(p->job, p->job->chosen[p->held[i]], &p->results[i], e);
    lab_result_done(&p->results[i]);
  }
  p->n_held = 0;
  return r;
}

/* Those behind the same injections as FIRST from number FROM on, which goes on to where the next pass begins. */
static int pass_once(struct job *job, struct pass *p, const struct experiment *first, size_t *from, struct err *e) {
  const struct experiment **experiments = calloc(PASS_MOST, sizeof *experiments);
  size_t n = 0;
  if (!experiments) return -ENOMEM;
  for (; *from < job->n_chosen && n < PASS_MOST; ++*from)
    if (!p->made[*from] && experiment_prefix_key(&job->chosen[*from]->x) == experiment_prefix_key(first)) {
      p->index[n] = *from;
      experiments[n++] = &job->chosen[*from]->x;
    }
  struct lab_branch b = {.experiments = experiments,
                         .n = n,
                         .wall_ns = job->baseline.wall_ns * 10 + 1000000000u,
                         .done = one_done,
                         .context = p,
                         .whys = p->whys,
                         .expected = first->n > 1 ? NULL : &job->baseline.runs[0].seen,
                         .mask = &job->baseline.mask};
  int r = n ? lab_branch(job->labs[FAST], &b, e) : 0;
  int compared = compare_held(p, r >= 0 && !b.unlike, e);
  if (b.why[0]) memcpy(job->why, b.why, sizeof job->why);
  for (size_t i = 0; i < n && !b.why[0]; i++)
    if (p->whys[i]) (void)snprintf(job->why, sizeof job->why, "%s", p->whys[i]);
  free(experiments);
  job->passes += n > 0;
  return r < 0 ? r : compared;
}

/* As long as there is one more: a pass ends when a child has changed the trunk's files. */
static int pass_all(struct job *job, struct pass *p, const struct experiment *first, struct err *e) {
  int r = 0;
  for (size_t before = SIZE_MAX; r >= 0 && job->modes[LAB_BRANCH] != before;) {
    before = job->modes[LAB_BRANCH];
    for (size_t from = 0; r >= 0 && from < job->n_chosen;)
      r = pass_once(job, p, first, &from, e);
  }
  return r;
}

static int compare_branch(struct job *job, struct err *e) {
  struct pass *p = calloc(1, sizeof *p);
  if (!p) return -ENOMEM;
  p->job = job;
  p->made = calloc(job->n_chosen + 1, sizeof *p->made);
  int r = p->made ? 0 : -ENOMEM;
  for (size_t i = 0; r >= 0 && i < job->n_chosen; i++) {
    const struct experiment *first = &job->chosen[i]->x;
    if (i == 0 || experiment_prefix_key(first) != experiment_prefix_key(&job->chosen[i - 1]->x))
      r = pass_all(job, p, first, e);
  }
  free(p->made);
  free(p);
  return r;
}

/* As many as are wanted, evenly. */
static int choose(struct job *job) {
  size_t step = job->most && job->n > job->most ? (job->n + job->most - 1) / job->most : 1;
  job->chosen = calloc(job->n + 1, sizeof(const struct candidate *));
  if (!job->chosen) return -ENOMEM;
  for (size_t i = 0; i < job->n; i += step)
    job->chosen[job->n_chosen++] = &job->experiments[i];
  return 0;
}

/* All faults at calls that experiment X leads to, and nothing before it did. */
static int add_pairs(struct job *job, const struct candidate *x, struct err *e) {
  struct test_space *space = &job->space;
  struct lab_order order = order_of(job, x);
  struct lab_result result;
  size_t from = space->points.n, n = 0;
  int r = lab_run(job->recorder, &order, &result, e);
  if (r < 0) return r;
  bool survived = result.injected && !result.timed_out && result.left == 0 && (result.seen.status & 0x7f) == 0;
  lab_result_done(&result);
  if (survived) r = test_take_points(space, job->recorder, e);
  struct inject_plan plan = {.points = space->points.at,
                             .n_points = space->points.n,
                             .from = from,
                             .behind = x,
                             .arena = &space->arena,
                             .faults = space->faults.at,
                             .n_faults = space->faults.n,
                             .likely = test_likely,
                             .context = space};
  struct candidate *found = NULL;
  if (r >= 0) r = inject_plan(&plan, &found, &n);
  for (size_t i = 0; i < n && r >= 0; i++)
    r = vec_push(&job->pairs, found[i]);
  free(found);
  return r;
}

/* In place of those with one fault. */
static int choose_pairs(struct job *job, struct err *e) {
  int r = 0;
  for (size_t i = 0; i < job->n_chosen && r >= 0; i++)
    if (job->chosen[i]->time == 2)
      r = /* once, the first time */
          add_pairs(job, job->chosen[i], e);
  free(job->chosen);
  job->chosen = calloc(job->pairs.n + 1, sizeof(const struct candidate *));
  if (!job->chosen) return -ENOMEM;
  job->n_chosen = job->n = job->pairs.n;
  for (size_t i = 0; i < job->pairs.n; i++)
    job->chosen[i] = &job->pairs.at[i];
  return r;
}

static void tell_all(const struct job *job) {
  const size_t *n = job->verdicts;
  printf("%zu of %zu experiments: %zu exec, %zu fork, %zu branch (%zu runs); %zu differ, %zu once different, "
         "%zu by chance, %zu do not repeat%s%s%s\n",
         job->n_chosen, job->n, job->modes[LAB_EXEC], job->modes[LAB_FORK], job->modes[LAB_BRANCH], job->passes,
         n[DIFFERS], n[ONCE], n[CHANCE], n[UNSTABLE], job->why[0] ? " (" : "", job->why, job->why[0] ? ")" : "");
}

static void free_labs(struct job *job) {
  lab_free(job->recorder);
  for (int i = 0; i < WAYS; i++) {
    lab_free(job->labs[i]);
    lab_free(job->steady[i]);
  }
}

static int compare_all(struct job *job, char **command, struct err *e) {
  char *data = NULL, *runtime = NULL;
  job->cwd = getcwd(NULL, 0);
  int r = job->cwd ? installed_data_dir(&data) : -ENOMEM;
  if (r >= 0) r = installed_runtime(&runtime);
  job->space.data = data;
  job->space.runtime = runtime;
  if (r >= 0) r = test_space_make(command, &job->scope, &job->space, e);
  if (r >= 0) r = make_recorder(job, e);
  if (r >= 0) r = make_labs(job, job->labs, e);
  if (r >= 0) r = plan_all(job, e);
  if (r >= 0) r = choose(job);
  if (r >= 0 && job->deep) r = choose_pairs(job, e);
  if (r >= 0) r = job->branch ? compare_branch(job, e) : compare_fork(job, e);
  if (r >= 0) tell_all(job);
  free_labs(job);
  baseline_done(&job->baseline);
  free(job->experiments);
  free(job->chosen);
  vec_done(&job->pairs);
  vec_done(&job->scope.functions);
  test_space_done(&job->space);
  free(job->cwd);
  free(data);
  free(runtime);
  return r;
}

int main(int argc, char **argv) {
  struct job job = {0};
  struct err e = {0};
  for (int c; (c = getopt(argc, argv, "+n:f:s:i:dbc")) >= 0;) {
    if (c == '?') return 2;
    if (c == 'n') job.most = strtoul(optarg, NULL, 10);
    if (c == 'f' && vec_push(&job.scope.functions, optarg) < 0) return 2;
    if (c == 's') job.library = optarg;
    if (c == 'i') job.input = optarg;
    job.branch |= c == 'b';
    job.deep |= c == 'd';
    job.drawn |= c == 'c';
  }
  if (optind >= argc) return 2;
  int r = compare_all(&job, argv + optind, &e);
  if (r < 0) fprintf(stderr, "equivalence: %s\n", e.text[0] ? e.text : strerror(-r));
  if (r < 0) return 2;
  return job.verdicts[DIFFERS] ? 1 : job.verdicts[ONCE] ? 3 : 0;
}
