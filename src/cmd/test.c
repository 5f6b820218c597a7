/* SPDX-License-Identifier: Apache-2.0 */
/*
 * murphy test: finds the failures that a command does not survive.
 */
#include "cmd/test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef VEC(const char *) name_list;

struct job {
  const struct cmd_args *args;
  VEC(char *) command;
  name_list from, functions, errnos;
  struct arena arena;
  const char *campaign, *input;
  bool follow, json;
  uint64_t seconds, runs, timeout_ns;
  unsigned jobs;
  char *data, *runtime, *cwd;
  struct test_space space;
  struct test_writer recording, trying;
  struct lab *recorder;
  VEC(struct lab *) labs;
  struct baseline baseline;
  bool has_baseline;
  struct campaign_experiment *experiments;
  size_t n_experiments, done;
  int64_t *points, *ids; /* in the store, of points and experiments */
  struct store *store;
  struct test_record record;
  struct cmd_progress progress;
  uint64_t started;
};

static volatile int interrupted;

static void on_interrupt(int signal) {
  (void)signal;
  interrupted = 1;
}

static uint64_t now_ns(void) {
  struct timespec t = {0};
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void job_done(struct job *job) {
  test_record_done(&job->record);
  lab_free(job->recorder);
  for (size_t i = 0; i < job->labs.n; i++)
    lab_free(job->labs.at[i]);
  vec_done(&job->labs);
  if (job->has_baseline) baseline_done(&job->baseline);
  test_space_done(&job->space);
  store_close(job->store);
  free(job->experiments);
  free(job->points);
  free(job->ids);
  free(job->data);
  free(job->runtime);
  free(job->cwd);
  vec_done(&job->command);
  vec_done(&job->from);
  vec_done(&job->functions);
  vec_done(&job->errnos);
  arena_done(&job->arena);
}

/* --- options ------------------------------------------------------------------------------------------------------ */

static int add_names(struct job *job, name_list *to, const char *value) {
  char *copy = arena_strdup(&job->arena, value), *save = NULL;
  if (!copy) return -ENOMEM;
  for (char *name = strtok_r(copy, ",", &save); name; name = strtok_r(NULL, ",", &save))
    if (vec_push(to, name) < 0) return -ENOMEM;
  return 0;
}

/* 90, 90s, 5m, 2h in seconds. */
static int parse_time(const char *option, const char *value, uint64_t *ret, struct err *e) {
  char *end = NULL;
  errno = 0;
  unsigned long long n = strtoull(value, &end, 10);
  uint64_t unit = *end == 'm' ? 60 : *end == 'h' ? 3600 : 1;
  if (*end && strchr("smh", *end)) end++;
  if (errno || end == value || *end || n == 0 || n > 10000000)
    return err_set(e, -EINVAL, "--%s cannot be '%s' (as in 90s or 5m)", option, value);
  *ret = n * unit;
  return 0;
}

static int set_budget(struct job *job, const char *value, struct err *e) {
  size_t n = strlen(value);
  if (n <= 4 || strcmp(value + n - 4, "runs") != 0) return parse_time("budget", value, &job->seconds, e);
  char number[32];
  int64_t runs = 0;
  if (n - 4 >= sizeof number) return err_set(e, -EINVAL, "--budget cannot be '%s'", value);
  memcpy(number, value, n - 4);
  number[n - 4] = '\0';
  if (number_parse(number, &runs) < 0 || runs <= 0)
    return err_set(e, -EINVAL, "--budget cannot be '%s' (as in 60s or 500runs)", value);
  job->runs = (uint64_t)runs;
  job->seconds = 0;
  return 0;
}

static int set_jobs(struct job *job, const char *value, struct err *e) {
  int64_t n = 0;
  if (number_parse(value, &n) < 0 || n < 1 || n > 256) return err_set(e, -EINVAL, "--jobs cannot be '%s'", value);
  job->jobs = (unsigned)n;
  return 0;
}

static int take_option(struct job *job, const struct cmd_arg *arg, struct err *e) {
  uint64_t seconds = 0;
  int r;
  switch ((enum cmd_test_option)arg->option->id) {
  case OPT_TEST_BUDGET:
    return set_budget(job, arg->value, e);
  case OPT_TEST_CAMPAIGN:
    job->campaign = arg->value;
    return 0;
  case OPT_TEST_FROM:
    return add_names(job, &job->from, arg->value);
  case OPT_TEST_FUNCTION:
    return add_names(job, &job->functions, arg->value);
  case OPT_TEST_ERRNO:
    return add_names(job, &job->errnos, arg->value);
  case OPT_TEST_INPUT:
    job->input = arg->value;
    return 0;
  case OPT_TEST_TIMEOUT:
    r = parse_time("timeout", arg->value, &seconds, e);
    job->timeout_ns = seconds * 1000000000u;
    return r;
  case OPT_TEST_FOLLOW:
    job->follow = true;
    return 0;
  case OPT_TEST_FORMAT:
    job->json = strcmp(arg->value, "json") == 0;
    return 0;
  case OPT_TEST_JOBS:
    return set_jobs(job, arg->value, e);
  }
  return 0;
}

static int read_options(struct job *job, struct err *e) {
  const struct cmd_args *args = job->args;
  int r = 0;
  for (size_t i = 0; i < args->options.n && r >= 0; i++)
    r = take_option(job, &args->options.at[i], e);
  if (r < 0) return r;
  if (args->operands.n == 0)
    return err_set(e, -EINVAL, "no command: it stands behind -- (as in murphy test -- sort FILE)");
  for (size_t i = 0; i < args->operands.n; i++)
    if (vec_push(&job->command, (char *)(uintptr_t)args->operands.at[i]) < 0) return -ENOMEM;
  if (vec_push(&job->command, NULL) < 0) return -ENOMEM;
  job->cwd = getcwd(NULL, 0);
  if (!job->cwd) return err_set(e, -errno, "the working directory cannot be told: %m");
  r = cmd_data_dir(&job->data);
  return r < 0 ? r : cmd_runtime(&job->runtime);
}

/* --- the campaign ------------------------------------------------------------------------------------------------- */

static int find_space(struct job *job, struct err *e) {
  struct test_scope scope = {.from = job->from.at,
                             .n_from = job->from.n,
                             .functions = job->functions.at,
                             .n_functions = job->functions.n,
                             .errnos = job->errnos.at,
                             .n_errnos = job->errnos.n,
                             .follow = job->follow};
  job->space.data = job->data;
  job->space.runtime = job->runtime;
  int r = test_space_make(job->command.at, &scope, &job->space, e);
  if (r < 0) return r;
  if (job->space.faults.n == 0)
    return err_set(e, -EINVAL, "%s calls nothing that could fail in this way", job->space.target.path);
  return 0;
}

static struct lab_request lab_request_of(struct job *job, struct test_writer *writer, bool points) {
  const struct wire_plan *plan = (const struct wire_plan *)job->space.plan.at;
  *writer = (struct test_writer){.space = &job->space, .points = points, .follow = job->follow};
  return (struct lab_request){.target = &job->space.target,
                              .cwd = job->cwd,
                              .envp = environ,
                              .input = job->input,
                              .n_functions = plan->functions.n,
                              .points = points,
                              .before_asan = job->space.modules.asan,
                              .fork = !points,
                              .limits = {.file_size = 256u << 20, .processes = 4096, .disk = 1024u << 20},
                              .write = test_write_shim,
                              .context = writer};
}

static int make_labs(struct job *job, struct err *e) {
  struct lab_request request = lab_request_of(job, &job->recording, true);
  int r = lab_new(&request, &job->recorder, e);
  request = lab_request_of(job, &job->trying, false);
  for (unsigned i = 0; i < job->jobs && r >= 0; i++) {
    struct lab *l = NULL;
    r = lab_new(&request, &l, e);
    if (r >= 0 && vec_push(&job->labs, l) < 0) {
      lab_free(l);
      r = -ENOMEM;
    }
  }
  /* Whoever may not make a sandbox cannot make the experiment. */
  return r == -EPERM || r == -ENOSPC || r == -EACCES ? -ECANCELED : r;
}

static int find_points(struct job *job, struct err *e) {
  job->has_baseline = true;
  int r = baseline_make(job->recorder, job->timeout_ns, &job->baseline, e);
  if (r >= 0) r = test_take_points(&job->space, job->recorder, e);
  if (r < 0) return r;
  struct campaign_order order = {.points = job->space.points.at,
                                 .n_points = job->space.points.n,
                                 .faults = job->space.faults.at,
                                 .n_faults = job->space.faults.n,
                                 .likely = test_likely,
                                 .context = &job->space};
  return campaign_plan(&order, &job->experiments, &job->n_experiments);
}

static int on_done(void *context, const struct sweep_done *d, struct err *e) {
  struct job *job = context;
  return test_record_add(&job->record, d, e);
}

static void on_progress(void *context, size_t done, size_t total, size_t findings) {
  struct job *job = context;
  (void)findings;
  cmd_progress_step(&job->progress, done, total);
}

static int sweep_all(struct job *job, struct err *e) {
  uint64_t wall = job->baseline.wall_ns * 10 + 1000000000u;
  struct sweep sweep = {.labs = job->labs.at,
                        .n_labs = job->labs.n,
                        .points = job->space.points.at,
                        .faults = job->space.faults.at,
                        .experiments = job->experiments,
                        .n_experiments = job->n_experiments,
                        .baseline = &job->baseline,
                        .wall_ns = wall,
                        .deadline = job->seconds ? job->started + job->seconds * 1000000000u : 0,
                        .runs = job->runs,
                        .stop = &interrupted,
                        .sink = {.done = on_done, .progress = on_progress, .context = job}};
  struct sigaction action = {.sa_handler = on_interrupt}, before;
  (void)sigaction(SIGINT, &action, &before);
  cmd_progress_start(&job->progress, "test");
  int r = sweep_run(&sweep, &job->done, e);
  cmd_progress_end(&job->progress);
  (void)sigaction(SIGINT, &before, NULL);
  return r;
}

static int run_campaign(struct job *job, struct err *e) {
  int r = find_space(job, e);
  if (r >= 0) r = make_labs(job, e);
  if (r >= 0) r = find_points(job, e);
  if (r < 0) return r;
  struct test_summary summary = {.space = &job->space,
                                 .baseline = &job->baseline,
                                 .experiments = job->experiments,
                                 .n_experiments = job->n_experiments,
                                 .command = job->command.at,
                                 .follow = job->follow};
  r = test_record_start(&job->record, &summary, e);
  if (r >= 0) r = sweep_all(job, e);
  if (r < 0) return r;
  test_record_finish(&job->record);
  job->record.seconds = (double)(now_ns() - job->started) / 1e9;
  struct text t = {0};
  if (job->json)
    test_write_json(&job->record, &t);
  else
    test_write_text(&job->record, &t);
  r = cmd_print(&t, e);
  text_done(&t);
  if (r < 0) return r;
  if (interrupted) return 130;
  return job->record.findings.n ? EXIT_FINDINGS : EXIT_NOTHING;
}

int cmd_test_run(const struct cmd_args *args, struct err *e) {
  struct job job = {.args = args,
                    .campaign = ".murphy",
                    .seconds = 60,
                    .timeout_ns = 10000000000u,
                    .jobs = worker_count(),
                    .started = now_ns()};
  int r = read_options(&job, e);
  if (r >= 0) r = run_campaign(&job, e);
  job_done(&job);
  return r;
}
