/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many experiments of a command a second, in each way: MOST of those that murphy test would make, taken from all
 * over its plan, or with -l from those whose call is among the last tenth of all calls of the run. Prints "bare RATE"
 * (fork and wait), "apart RATE" (fork into namespaces of its own and wait: what a child needs whose parent goes on
 * meanwhile), "spawn RATE", "exec RATE", "fork RATE", "branch RATE", "both RATE" (by branches, in as many labs as there
 * are processors), "made PERCENT" (of the experiments of "branch"), "child MS" (from the birth of a branch's child to
 * its end) and "experiments NUMBER"; "exec-us US" and so on are the least processor time of an experiment. What cannot
 * be made by a branch is made by a fork, as in a sweep, and is in the rate of branches. -f: calls from that module fail.
 * -v: why not by a branch, on standard error.
 *
 *   branch_bench [-l] [-v] [-f MODULE] [-w WAY]... [-r ROUNDS] MOST COMMAND...
 */
#include "cmd/test.h"
#include "used.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum way { BARE, APART, SPAWN, EXEC, FORK, BRANCH, BOTH, WAYS };
static const char *const names[WAYS] = {"bare", "apart", "spawn", "exec", "fork", "branch", "both"};

enum { SPAWNS = 50, MOST_WORKERS = 8 };
/* Of what is only compared with. */
#define LONG_ENOUGH 1.0

/* One lab, and its share of the experiments. */
struct worker {
  struct bench *b;
  struct lab *lab;
  const struct experiment **left;
  size_t *index;
  unsigned number, of;
  uint64_t child_ns;
  int r;
  struct err e;
};

struct bench {
  char **command;
  struct test_space space;
  struct lab *recorder, *exec;
  struct worker workers[MOST_WORKERS];
  unsigned n_workers;
  struct baseline baseline;
  struct candidate *experiments;
  struct lab_order *orders;
  bool *made;
  size_t n, n_made;
  bool late, verbose;
  struct test_scope scope;
};

static double now(void) {
  struct timespec t = {0};
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- what is made ------------------------------------------------------------------------------------------------- */

static int make_lab(struct bench *b, char *cwd, bool points, bool fork, unsigned processor, struct lab **ret,
                    struct err *e) {
  struct lab_request request = {.target = &b->space.target,
                                .cwd = cwd,
                                .envp = environ,
                                .injectors = test_injectors(&b->space),
                                .points = points,
                                .fork = fork,
                                .processor = processor};
  return lab_new(&request, ret, e);
}

static int make_labs(struct bench *b, char *cwd, struct err *e) {
  const struct processors processors = processors_now();
  int r = make_lab(b, cwd, true, false, 0, &b->recorder, e);
  if (r >= 0) r = make_lab(b, cwd, false, false, processors_pick(&processors, 0), &b->exec, e);
  for (unsigned i = 0; i < b->n_workers && r >= 0; i++) {
    b->workers[i] = (struct worker){.b = b, .number = i};
    r = make_lab(b, cwd, false, true, processors_pick(&processors, i), &b->workers[i].lab, e);
  }
  return r;
}

/* Those whose call is among the last tenth of all calls, or all. */
static void choose(struct bench *b) {
  size_t n = 0;
  uint64_t last = 0;
  for (size_t i = 0; i < b->space.seen.n; i++)
    if (b->space.seen.at[i].last > last) last = b->space.seen.at[i].last;
  for (size_t i = 0; i < b->n && b->late; i++) {
    const struct inject_call *x = inject_last_call(&b->experiments[i].x);
    const struct wire_point *p = &b->space.seen.at[x->point];
    if (x->nth == p->count && p->last > last - last / 10) b->experiments[n++] = b->experiments[i];
  }
  if (b->late) b->n = n;
}

/* MOST of them, as far from each other in the plan as can be. */
static void thin_out(struct bench *b, size_t most) {
  if (b->n <= most) return;
  for (size_t i = 0; i < most; i++)
    b->experiments[i] = b->experiments[i * b->n / most];
  b->n = most;
}

static int plan_orders(struct bench *b, size_t most, struct err *e) {
  int r = baseline_make(b->recorder, 30000000000u, &b->baseline, e);
  lab_empty_in_place(b->exec, &b->baseline.in_place);
  for (unsigned i = 0; i < b->n_workers; i++)
    lab_empty_in_place(b->workers[i].lab, &b->baseline.in_place);
  if (r >= 0) r = test_take_points(&b->space, b->recorder, e);
  if (r < 0) return r;
  struct inject_plan order = {.points = b->space.points.at,
                              .n_points = b->space.points.n,
                              .faults = b->space.faults.at,
                              .n_faults = b->space.faults.n,
                              .likely = test_likely,
                              .traits = test_traits,
                              .arena = &b->space.arena,
                              .context = &b->space};
  r = inject_plan(&order, &b->experiments, &b->n);
  if (r < 0) return r;
  choose(b);
  thin_out(b, most);
  b->orders = calloc(b->n + 1, sizeof *b->orders);
  b->made = calloc(b->n + 1, sizeof *b->made);
  if (!b->orders || !b->made) return -ENOMEM;
  for (size_t i = 0; i < b->n; i++)
    b->orders[i] = (struct lab_order){.x = b->experiments[i].x, .wall_ns = b->baseline.wall_ns * 10 + 1000000000u};
  return 0;
}

/* --- one by one --------------------------------------------------------------------------------------------------- */

static int run_one(struct lab *l, const struct lab_order *order, struct err *e) {
  struct lab_result result;
  int r = lab_run(l, order, &result, e);
  if (r >= 0) lab_result_done(&result);
  return r;
}

static int run_all(struct bench *b, struct lab *l, struct err *e) {
  struct processors before = lab_settle(l);
  int r = 0;
  for (size_t i = 0; i < b->n && r >= 0; i++)
    r = run_one(l, &b->orders[i], e);
  lab_leave(&before);
  return r;
}

/* --- branches ----------------------------------------------------------------------------------------------------- */

static int one_done(void *context, size_t i, const struct lab_result *result, struct err *e) {
  struct worker *w = context;
  (void)e;
  w->child_ns += result->wall_ns;
  w->b->made[w->index[i]] = true;
  return 0;
}

static bool is_mine(const struct worker *w, size_t i) { return i % w->of == w->number; }

/* What is not made of the worker's share; how much that is. */
static size_t gather(struct worker *w) {
  size_t n = 0;
  for (size_t i = 0; i < w->b->n && n < LAB_BRANCHES; i++) {
    if (w->b->made[i] || !is_mine(w, i)) continue;
    w->index[n] = i;
    w->left[n++] = &w->b->orders[i].x;
  }
  return n;
}

/* For each reason, how many there were. */
static void tell_why(const struct worker *w, size_t n, const char *why) {
  size_t refused[WIRE_REFUSALS] = {0};
  struct wire_branch is;
  for (uint32_t i = 0; i < n; i++)
    if (run_area_branch(lab_area(w->lab), i, &is) && !is.made && is.refusal < WIRE_REFUSALS) refused[is.refusal]++;
  fprintf(stderr, "%zu orders: %s\n", n, why);
  for (uint32_t i = 0; i < WIRE_REFUSALS; i++)
    if (refused[i]) fprintf(stderr, "%6zu %s\n", refused[i], i ? sandbox_refusal(i) : "not reached");
}

static void work(void *context, unsigned number) {
  struct bench *b = context;
  struct worker *w = &b->workers[number];
  struct processors usual = lab_settle(w->lab);
  size_t before = SIZE_MAX, n;
  while (w->r >= 0 && (n = gather(w)) > 0 && n != before) {
    struct lab_branch branch = {
        .experiments = w->left, .n = n, .wall_ns = b->orders[0].wall_ns, .done = one_done, .context = w};
    before = n;
    w->r = lab_branch(w->lab, &branch, &w->e);
    if (b->verbose) tell_why(w, n, branch.why);
  }
  for (size_t i = 0; i < b->n && w->r >= 0; i++)
    if (is_mine(w, i) && !b->made[i]) w->r = run_one(w->lab, &b->orders[i], &w->e);
  lab_leave(&usual);
}

static int branch_all(struct bench *b, unsigned n_workers, struct err *e) {
  memset(b->made, 0, b->n);
  for (unsigned i = 0; i < n_workers; i++) {
    struct worker *w = &b->workers[i];
    if (!w->left) w->left = calloc(b->n + 1, sizeof *w->left);
    if (!w->index) w->index = calloc(b->n + 1, sizeof *w->index);
    if (!w->left || !w->index) return -ENOMEM;
    w->of = n_workers;
    w->child_ns = 0;
  }
  worker_run(n_workers, work, b);
  b->n_made = 0;
  for (size_t i = 0; i < b->n; i++)
    b->n_made += b->made[i];
  for (unsigned i = 0; i < n_workers; i++)
    if (b->workers[i].r < 0) {
      *e = b->workers[i].e;
      return b->workers[i].r;
    }
  return 0;
}

/* --- what it is compared with ------------------------------------------------------------------------------------- */

static double bare_rate(void) {
  double start = now();
  for (int i = 0; i < SPAWNS; i++) {
    pid_t pid = fork();
    if (pid == 0) _exit(0);
    (void)waitpid(pid, NULL, 0);
  }
  return SPAWNS / (now() - start);
}

/* The status of a child that does WHAT, or -1. */
static int status_of(int what(void)) {
  int status;
  pid_t pid = fork();
  if (pid == 0) _exit(what());
  return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The first process of its namespace, so that it can have any number, in mounts of its own. */
static int live_apart(void) { return mount("proc", "/proc", "proc", 0, NULL) < 0; }

static int go_apart(void) { return unshare(CLONE_NEWNS | CLONE_NEWPID) < 0 || status_of(live_apart) != 0; }

static int try_apart(void) {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) return 1;
  for (int i = 0; i < SPAWNS; i++)
    if (status_of(go_apart) != 0) return 1;
  return 0;
}

static double apart_rate(void) {
  double start = now();
  return status_of(try_apart) == 0 ? SPAWNS / (now() - start) : 0;
}

static double spawn_rate(char **command) {
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return 0;
  for (int fd = 1; fd <= 2; fd++)
    if (posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0) != 0) return 0;
  double start = now();
  int n = 0;
  for (; n < SPAWNS && now() - start < LONG_ENOUGH; n++) {
    pid_t pid;
    if (posix_spawnp(&pid, command[0], &actions, NULL, command, environ) != 0) return 0;
    (void)waitpid(pid, NULL, 0);
  }
  double rate = n / (now() - start);
  (void)posix_spawn_file_actions_destroy(&actions);
  return rate;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

static int measure(struct bench *b, enum way way, double *best, double *us, struct err *e) {
  double start = now(), rate = 0, before = used_seconds();
  int r = 0;
  if (way == BARE) rate = bare_rate();
  if (way == APART) rate = apart_rate();
  if (way == SPAWN) rate = spawn_rate(b->command);
  if (way == EXEC || way == FORK) r = run_all(b, way == EXEC ? b->exec : b->workers[0].lab, e);
  if (way == BRANCH || way == BOTH) r = branch_all(b, way == BRANCH ? 1 : b->n_workers, e);
  if (way >= EXEC && b->n) {
    rate = (double)b->n / (now() - start);
    double one = (used_seconds() - before) * 1e6 / (double)b->n;
    if (*us == 0 || one < *us) *us = one;
  }
  if (rate > *best) *best = rate;
  return r;
}

static int run_bench(struct bench *b, size_t most, const bool ways[WAYS], unsigned rounds, struct err *e) {
  char *cwd = getcwd(NULL, 0), *data = NULL, *runtime = NULL;
  double best[WAYS] = {0}, us[WAYS] = {0}, made = 0, child = 0;
  int r = cwd ? installed_data_dir(&data) : -ENOMEM;
  if (r >= 0) r = installed_runtime(&runtime);
  b->space.data = data;
  b->space.runtime = runtime;
  if (r >= 0) r = test_space_make(b->command, &b->scope, &b->space, e);
  if (r >= 0) r = make_labs(b, cwd, e);
  if (r >= 0) r = plan_orders(b, most, e);
  for (unsigned i = 0; i < rounds; i++)
    for (enum way way = BARE; way < WAYS && r >= 0; way++) {
      /* What the command leaves behind outside of the sandbox is there for good: last. */
      if (ways[way] && way != SPAWN) r = measure(b, way, &best[way], &us[way], e);
      if (way != BRANCH || !ways[way]) continue;
      made = b->n ? 100.0 * (double)b->n_made / (double)b->n : 0;
      child = b->n_made ? (double)b->workers[0].child_ns / 1e6 / (double)b->n_made : 0;
    }
  for (unsigned i = 0; i < rounds && r >= 0 && ways[SPAWN]; i++)
    r = measure(b, SPAWN, &best[SPAWN], &us[SPAWN], e);
  for (enum way way = BARE; way < WAYS && r >= 0; way++)
    if (ways[way]) printf("%s %.1f\n%s-us %.0f\n", names[way], best[way], names[way], us[way]);
  if (r >= 0) printf("made %.1f\nchild %.3f\nexperiments %zu\n", made, child, b->n);
  lab_free(b->recorder);
  lab_free(b->exec);
  for (unsigned i = 0; i < b->n_workers; i++) {
    lab_free(b->workers[i].lab);
    free(b->workers[i].left);
    free(b->workers[i].index);
  }
  baseline_done(&b->baseline);
  test_space_done(&b->space);
  void *const all[] = {b->experiments, b->orders, b->made, cwd, data, runtime};
  for (size_t i = 0; i < COUNT(all); i++)
    free(all[i]);
  return r;
}

static bool add_way(const char *name, bool ways[WAYS]) {
  for (int i = 0; i < WAYS; i++)
    if (strcmp(names[i], name) == 0) return ways[i] = true;
  return false;
}

int main(int argc, char **argv) {
  static struct bench b;
  struct err e = {0};
  bool ways[WAYS] = {false}, any = false;
  unsigned rounds = 2;
  for (int c; (c = getopt(argc, argv, "+lvf:w:r:")) >= 0;) {
    if (c == '?' || (c == 'w' && !add_way(optarg, ways)) || (c == 'f' && vec_push(&b.scope.from, optarg) < 0)) return 2;
    any |= c == 'w';
    b.late |= c == 'l';
    b.verbose |= c == 'v';
    if (c == 'r') rounds = (unsigned)strtoul(optarg, NULL, 10);
  }
  for (int i = 0; i < WAYS && !any; i++)
    ways[i] = true;
  if (argc < optind + 2) return 2;
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  b.n_workers = processors < 1 ? 1 : processors > MOST_WORKERS ? MOST_WORKERS : (unsigned)processors;
  b.command = argv + optind + 1;
  int r = run_bench(&b, strtoul(argv[optind], NULL, 10), ways, rounds, &e);
  if (r < 0) fprintf(stderr, "branch_bench: %s\n", e.text[0] ? e.text : strerror(-r));
  vec_done(&b.scope.from);
  return r < 0 ? 1 : 0;
}
