/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many experiments of a command a second, in each mode: the first MOST of those that murphy test would make. Prints
 * "bare RATE" (fork and wait), "spawn RATE", "exec RATE", "fork RATE", "branch RATE" and "made PERCENT": of the branches.
 * What cannot be made by a branch is made by a fork, as in a sweep, and is in the rate of branches.
 *
 *   branch_bench MOST COMMAND...
 */
#include "cmd/test.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXEC, FAST, LABS, SPAWNS = 50, ROUNDS = 2 };

struct bench {
  struct test_space space;
  struct test_writer recording, trying;
  struct lab *recorder, *labs[LABS];
  struct baseline baseline;
  struct campaign_experiment *experiments;
  struct lab_order *orders, *left;
  bool *made;
  size_t *index;
  size_t n, n_made;
};

static double now(void) {
  struct timespec t = {0};
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int make_lab(struct bench *b, char *cwd, bool points, bool fork, struct lab **ret, struct err *e) {
  const struct wire_plan *plan = (const struct wire_plan *)b->space.plan.at;
  struct test_writer *writer = points ? &b->recording : &b->trying;
  *writer = (struct test_writer){.space = &b->space, .points = points};
  struct lab_request request = {.target = &b->space.target,
                                .cwd = cwd,
                                .envp = environ,
                                .n_functions = plan->functions.n,
                                .points = points,
                                .fork = fork,
                                .write = test_write_shim,
                                .context = writer};
  return lab_new(&request, ret, e);
}

static int plan_orders(struct bench *b, size_t most, struct err *e) {
  int r = baseline_make(b->recorder, 30000000000u, &b->baseline, e);
  if (r >= 0) r = test_take_points(&b->space, b->recorder, e);
  if (r < 0) return r;
  struct campaign_order order = {.points = b->space.points.at,
                                 .n_points = b->space.points.n,
                                 .faults = b->space.faults.at,
                                 .n_faults = b->space.faults.n,
                                 .likely = test_likely,
                                 .traits = test_traits,
                                 .context = &b->space};
  r = campaign_plan(&order, &b->experiments, &b->n);
  if (r < 0) return r;
  if (b->n > most) b->n = most;
  b->orders = calloc(b->n + 1, sizeof *b->orders);
  b->left = calloc(b->n + 1, sizeof *b->left);
  b->made = calloc(b->n + 1, sizeof *b->made);
  b->index = calloc(b->n + 1, sizeof *b->index);
  if (!b->orders || !b->left || !b->made || !b->index) return -ENOMEM;
  for (size_t i = 0; i < b->n; i++) {
    const struct campaign_experiment *x = &b->experiments[i];
    const struct campaign_fault *f = &b->space.faults.at[x->fault];
    b->orders[i] = (struct lab_order){.hash = b->space.points.at[x->point].hash,
                                      .nth = x->nth,
                                      .rule = f->rule,
                                      .fault = f->fault,
                                      .armed = true,
                                      .onwards = x->onwards,
                                      .wall_ns = b->baseline.wall_ns * 10 + 1000000000u};
  }
  return 0;
}

static int run_one(struct lab *l, const struct lab_order *order, struct err *e) {
  struct lab_result result;
  int r = lab_run(l, order, &result, e);
  if (r >= 0) lab_result_done(&result);
  return r;
}

static int run_all(struct bench *b, struct lab *l, double *ret, struct err *e) {
  double start = now();
  int r = 0;
  for (size_t i = 0; i < b->n && r >= 0; i++)
    r = run_one(l, &b->orders[i], e);
  double rate = (double)b->n / (now() - start);
  if (rate > *ret) *ret = rate;
  return r;
}

static int one_done(void *context, size_t i, const struct lab_result *result, struct err *e) {
  struct bench *b = context;
  (void)result, (void)e;
  b->made[b->index[i]] = true;
  b->n_made++;
  return 0;
}

static int branch_all(struct bench *b, double *ret, struct err *e) {
  double start = now();
  int r = 0;
  memset(b->made, 0, b->n);
  b->n_made = 0;
  for (size_t before = SIZE_MAX; r >= 0 && before != b->n_made;) {
    size_t n = 0;
    before = b->n_made;
    for (size_t i = 0; i < b->n && n < LAB_BRANCHES; i++)
      if (!b->made[i]) {
        b->index[n] = i;
        b->left[n++] = b->orders[i];
      }
    struct lab_branch branch = {
        .orders = b->left, .n = n, .wall_ns = b->orders[0].wall_ns, .done = one_done, .context = b};
    if (n) r = lab_branch(b->labs[FAST], &branch, e);
  }
  for (size_t i = 0; i < b->n && r >= 0; i++)
    if (!b->made[i]) r = run_one(b->labs[FAST], &b->orders[i], e);
  double rate = (double)b->n / (now() - start);
  if (rate > *ret) *ret = rate;
  return r;
}

static double bare_rate(void) {
  double start = now();
  for (int i = 0; i < SPAWNS; i++) {
    pid_t pid = fork();
    if (pid == 0) _exit(0);
    (void)waitpid(pid, NULL, 0);
  }
  return SPAWNS / (now() - start);
}

static double spawn_rate(char **command) {
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return 0;
  for (int fd = 1; fd <= 2; fd++)
    if (posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0) != 0) return 0;
  double start = now();
  for (int i = 0; i < SPAWNS; i++) {
    pid_t pid;
    if (posix_spawnp(&pid, command[0], &actions, NULL, command, environ) != 0) return 0;
    (void)waitpid(pid, NULL, 0);
  }
  double rate = SPAWNS / (now() - start);
  (void)posix_spawn_file_actions_destroy(&actions);
  return rate;
}

static int run_bench(struct bench *b, size_t most, char **command, struct err *e) {
  char *cwd = getcwd(NULL, 0), *data = NULL, *runtime = NULL;
  double exec = 0, fork = 0, branch = 0, bare = 0, spawn = 0;
  int r = cwd ? cmd_data_dir(&data) : -ENOMEM;
  if (r >= 0) r = cmd_runtime(&runtime);
  b->space.data = data;
  b->space.runtime = runtime;
  if (r >= 0) r = test_space_make(command, &(struct test_scope){0}, &b->space, e);
  if (r >= 0) r = make_lab(b, cwd, true, false, &b->recorder, e);
  for (int i = 0; i < LABS && r >= 0; i++)
    r = make_lab(b, cwd, false, i == FAST, &b->labs[i], e);
  if (r >= 0) r = plan_orders(b, most, e);
  for (int i = 0; i < ROUNDS && r >= 0; i++) {
    double rate = bare_rate();
    bare = rate > bare ? rate : bare;
    r = run_all(b, b->labs[EXEC], &exec, e);
    if (r >= 0) r = run_all(b, b->labs[FAST], &fork, e);
    if (r >= 0) r = branch_all(b, &branch, e);
  }
  for (int i = 0; i < ROUNDS && r >= 0; i++) {
    double rate = spawn_rate(command);
    spawn = rate > spawn ? rate : spawn;
  }
  if (r >= 0)
    printf("bare %.1f\nspawn %.1f\nexec %.1f\nfork %.1f\nbranch %.1f\nmade %.1f\n", bare, spawn, exec, fork, branch,
           b->n ? 100.0 * (double)b->n_made / (double)b->n : 0);
  lab_free(b->recorder);
  for (int i = 0; i < LABS; i++)
    lab_free(b->labs[i]);
  baseline_done(&b->baseline);
  test_space_done(&b->space);
  void *const all[] = {b->experiments, b->orders, b->left, b->made, b->index, cwd, data, runtime};
  for (size_t i = 0; i < COUNT(all); i++)
    free(all[i]);
  return r;
}

int main(int argc, char **argv) {
  static struct bench b;
  struct err e = {0};
  if (argc < 3) return 2;
  int r = run_bench(&b, strtoul(argv[1], NULL, 10), argv + 2, &e);
  if (r < 0) fprintf(stderr, "branch_bench: %s\n", e.text[0] ? e.text : strerror(-r));
  return r < 0 ? 1 : 0;
}
