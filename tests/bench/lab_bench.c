/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many runs of a command a second: started with posix_spawn, and as experiments in a lab by exec and by the fork
 * server, with an order that no call fulfils, so that all do the same work. Prints "spawn RATE", "exec RATE"...
 *
 * There are 20 rounds of SECONDS, or of so many RUNS. -w: in that way only.
 *
 *   lab_bench [-s SECONDS] [-n RUNS] [-w WAY] -- COMMAND...
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

/* The best of some rounds counts, since others use the machine too. */
enum { ROUNDS = 20 };

static const char *const names[] = {"spawn", "exec", "fork"};

static double now(void) {
  struct timespec t = {0};
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct bench {
  char **command;
  posix_spawn_file_actions_t actions;
  struct test_space space;
  struct test_writer writer;
  struct lab *labs[2];
  double seconds;
  unsigned runs;    /* 0: for some seconds */
  const char *only; /* NULL: all ways */
};

static int spawn_one(struct bench *b, struct err *e) {
  pid_t pid;
  int r = posix_spawnp(&pid, b->command[0], &b->actions, NULL, b->command, environ);
  if (r) return err_set(e, -r, "cannot start %s: %s", b->command[0], strerror(r));
  return waitpid(pid, NULL, 0) < 0 ? -errno : 0;
}

static int run_one(struct lab *l, enum lab_mode mode, struct err *e) {
  struct lab_result result;
  struct lab_order order = {.hash = 1, .nth = 1, .armed = true, .wall_ns = 10000000000u};
  int r = lab_run(l, &order, &result, e);
  if (r < 0) return r;
  enum lab_mode was = result.mode;
  if (was != mode) r = err_set(e, -ECANCELED, "was made by %s: %s", lab_mode_words[was], result.why);
  lab_result_done(&result);
  return r;
}

static int measure(struct bench *b, int way, double *best, struct err *e) {
  double start = now(), end = start;
  unsigned n = 0;
  int r = 0;
  for (; r == 0 && (b->runs ? n < b->runs : end - start < b->seconds); n++, end = now())
    r = way == 0 ? spawn_one(b, e) : run_one(b->labs[way - 1], way == 1 ? LAB_EXEC : LAB_FORK, e);
  if (r == 0 && n / (end - start) > *best) *best = n / (end - start);
  return r;
}

static int make_labs(struct bench *b, char *cwd, struct err *e) {
  const struct wire_plan *plan = (const struct wire_plan *)b->space.plan.at;
  b->writer = (struct test_writer){.space = &b->space};
  int r = 0;
  for (int i = 0; i < 2 && r >= 0; i++) {
    struct lab_request request = {.target = &b->space.target,
                                  .cwd = cwd,
                                  .envp = environ,
                                  .n_functions = plan->functions.n,
                                  .fork = i == 1,
                                  .write = test_write_shim,
                                  .context = &b->writer};
    r = lab_new(&request, &b->labs[i], e);
  }
  return r;
}

static int run_bench(struct bench *b, struct err *e) {
  char *cwd = getcwd(NULL, 0), *data = NULL, *runtime = NULL;
  double best[COUNT(names)] = {0};
  int r = cwd ? cmd_data_dir(&data) : -ENOMEM;
  if (r >= 0) r = cmd_runtime(&runtime);
  b->space.data = data;
  b->space.runtime = runtime;
  if (r >= 0) r = test_space_make(b->command, &(struct test_scope){0}, &b->space, e);
  if (r >= 0) r = make_labs(b, cwd, e);
  for (int round = 0; round < ROUNDS; round++)
    for (int way = 0; way < (int)COUNT(names) && r >= 0; way++)
      if (!b->only || strcmp(b->only, names[way]) == 0) r = measure(b, way, &best[way], e);
  for (size_t i = 0; i < COUNT(names) && r >= 0; i++)
    printf("%s %.1f\n", names[i], best[i]);
  for (int i = 0; i < 2; i++)
    lab_free(b->labs[i]);
  test_space_done(&b->space);
  free(cwd);
  free(data);
  free(runtime);
  return r;
}

int main(int argc, char **argv) {
  struct bench b = {.seconds = 0.1};
  struct err e = {0};
  for (int c; (c = getopt(argc, argv, "+n:s:w:")) >= 0;) {
    if (c == '?') return 2;
    if (c == 'n') b.runs = (unsigned)strtoul(optarg, NULL, 10);
    if (c == 'w') b.only = optarg;
    if (c == 's') b.seconds = strtod(optarg, NULL);
  }
  if (optind >= argc) return 2;
  b.command = argv + optind;
  if (posix_spawn_file_actions_init(&b.actions) != 0) return 2;
  for (int fd = 1; fd <= 2; fd++)
    if (posix_spawn_file_actions_addopen(&b.actions, fd, "/dev/null", O_WRONLY, 0) != 0) return 2;
  int r = run_bench(&b, &e);
  (void)posix_spawn_file_actions_destroy(&b.actions);
  if (r < 0) fprintf(stderr, "lab_bench: %s\n", e.text[0] ? e.text : strerror(-r));
  return r < 0 ? 1 : 0;
}
