/* SPDX-License-Identifier: Apache-2.0 */
/*
 * murphy test: finds the failures that a command does not survive.
 *
 * Everything that is found goes to the campaign as it comes, and what is printed at the end is made from there: the
 * same that murphy report would print.
 */
#include "cmd/test.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job {
  const struct cmd_args *args;
  struct test_subject subject;
  const char *campaign;
  bool json, resume, scoped; /* scoped: what is tested was said by options */
  uint64_t seconds, runs;
  unsigned jobs;
  struct test_setup setup;
  struct candidate *experiments;
  size_t n_experiments, done;
  struct store_folder folder;
  struct store *store;
  struct test_keeper keeper;
  struct test_progress progress;
  uint64_t started;
  double before; /* seconds of earlier parts of a campaign that goes on */
  char murphy[PATH_MAX];
  char *cwd;
  bool random; /* the order of experiments */
  bool deep;   /* pairs of faults are tried, too */
  uint8_t *outcomes;
  struct test_pairs pairs;
};

static void job_done(struct job *job) {
  test_keeper_done(&job->keeper);
  test_setup_done(&job->setup);
  store_close(job->store);
  store_folder_done(&job->folder);
  test_subject_done(&job->subject);
  test_pairs_done(&job->pairs);
  free(job->outcomes);
  free(job->experiments);
  free(job->cwd);
}

/* --- options ------------------------------------------------------------------------------------------------------ */

/* 90, 90s, 5m, 2h in seconds. */
static int parse_time(const char *option, const char *value, uint64_t *ret, struct err *e) {
  enum { LONGEST = 10000000 }; /* in nanoseconds, and some times that, it is still a number */
  char *end = NULL;
  errno = 0;
  unsigned long long n = strtoull(value, &end, 10);
  uint64_t unit = *end == 'm' ? 60 : *end == 'h' ? 3600 : 1;
  if (*end && strchr("smh", *end)) end++;
  if (errno || end == value || *end || n == 0 || n > LONGEST / unit)
    return err_set(e, -EINVAL, "--%s cannot be '%s' (as in 90s%s)", option, value,
                   strcmp(option, "budget") == 0 ? ", 5m or 500runs" : " or 5m");
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

static int set_timeout(struct job *job, const char *value, struct err *e) {
  uint64_t seconds = 0;
  int r = parse_time("timeout", value, &seconds, e);
  job->subject.timeout_ns = seconds * 1000000000u;
  return r;
}

/* Options that say what is tested; 1 if it is another one. */
static int take_scope(struct job *job, const struct cmd_arg *arg, struct err *e) {
  struct test_scope *scope = &job->subject.scope;
  switch ((enum cmd_test_option)arg->option->id) {
  case OPT_TEST_FROM:
    return test_subject_add(&job->subject, &scope->from, arg->value);
  case OPT_TEST_FUNCTION:
    return test_subject_add(&job->subject, &scope->functions, arg->value);
  case OPT_TEST_ERRNO:
    return test_subject_add(&job->subject, &scope->errnos, arg->value);
  case OPT_TEST_ONLY_SITE:
    return test_subject_add(&job->subject, &scope->sites, arg->value);
  case OPT_TEST_INPUT:
    job->subject.input = arg->value;
    return 0;
  case OPT_TEST_TIMEOUT:
    return set_timeout(job, arg->value, e);
  case OPT_TEST_FOLLOW:
  case OPT_TEST_NO_FOLLOW:
    scope->follow = scope->system = arg->option->id == OPT_TEST_FOLLOW;
    return 0;
  case OPT_TEST_NO_SANDBOX:
    job->subject.no_sandbox = true;
    return 0;
  default:
    return 1;
  }
}

static int take_option(struct job *job, const struct cmd_arg *arg, struct err *e) {
  switch ((enum cmd_test_option)arg->option->id) {
  case OPT_TEST_BUDGET:
    return set_budget(job, arg->value, e);
  case OPT_TEST_CAMPAIGN:
    job->campaign = arg->value;
    return 0;
  case OPT_TEST_RESUME:
    job->resume = true;
    return 0;
  case OPT_TEST_FORMAT:
    job->json = strcmp(arg->value, "json") == 0;
    return 0;
  case OPT_TEST_ORDER:
    job->random = strcmp(arg->value, "random") == 0;
    return 0;
  case OPT_TEST_DEPTH:
    job->deep = strcmp(arg->value, "2") == 0;
    return 0;
  case OPT_TEST_JOBS:
    return cmd_value_jobs(arg->value, &job->jobs, e);
  default:
    job->scoped = true;
    int r = take_scope(job, arg, e);
    return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
  }
}

static int read_options(struct job *job, struct err *e) {
  const struct cmd_args *args = job->args;
  int r = 0;
  for (size_t i = 0; i < args->options.n && r >= 0; i++)
    r = take_option(job, &args->options.at[i], e);
  if (r < 0) return r;
  if (args->operands.n == 0 && !job->resume)
    return err_set(e, -EINVAL, "no command: it stands behind -- (as in murphy test -- sort FILE)");
  if (args->operands.n == 0 && job->scoped)
    return err_set(e, -EINVAL, "--resume goes on with what the campaign tests: leave out all that says otherwise");
  for (size_t i = 0; i < args->operands.n; i++)
    if (vec_push(&job->subject.command, (char *)(uintptr_t)args->operands.at[i]) < 0) return -ENOMEM;
  if (vec_push(&job->subject.command, NULL) < 0) return -ENOMEM;
  job->cwd = getcwd(NULL, 0);
  if (!job->cwd) return err_set(e, -errno, "the working directory cannot be told: %m");
  job->subject.cwd = job->cwd;
  if (test_subject_take_input(&job->subject) < 0) return err_set(e, -ENOMEM, "out of memory");
  ssize_t n = readlink("/proc/self/exe", job->murphy, sizeof job->murphy - 1);
  if (n > 0) job->murphy[n] = '\0';
  return 0;
}

/* --- a campaign that goes on -------------------------------------------------------------------------------------- */

/* With a command or options, these must say the same as the campaign. */
static int check_same(struct job *job, const char *stored, struct err *e) {
  struct text t = {0};
  test_subject_json(&job->subject, &t);
  bool same = !t.failed && strcmp(t.at, stored) == 0;
  text_done(&t);
  if (same) return 0;
  const char *line = store_get(job->store, "line");
  return err_set(e, -EINVAL,
                 "%s: the campaign tests something else: %s, in its own folder and with its own options (murphy test "
                 "--resume alone goes on with it; without --resume a new one begins)",
                 job->campaign, line ? line : "?");
}

static int load_subject(struct job *job, const char *stored, struct err *e) {
  json_t *from = json_loads(stored, 0, NULL);
  test_subject_done(&job->subject);
  job->subject = (struct test_subject){0};
  int r = test_subject_load(from, job->campaign, &job->subject, e);
  json_decref(from);
  if (r < 0) return r;
  if (strcmp(job->subject.cwd, job->cwd) == 0) return 0;
  return err_set(e, -EINVAL, "%s: the campaign is for %s (go there, and name the folder with --campaign)",
                 job->campaign, job->subject.cwd);
}

static int open_campaign(struct job *job, struct err *e) {
  int r = store_open(job->folder.path, false, &job->store, e);
  if (r < 0) return r;
  const char *stored = store_get(job->store, "subject");
  char *copy = stored ? strdup(stored) : NULL;
  if (!copy) return err_set(e, -EINVAL, "%s: the campaign had not begun (begin anew without --resume)", job->campaign);
  r = job->args->operands.n ? check_same(job, copy, e) : load_subject(job, copy, e);
  free(copy);
  const char *seconds = store_get(job->store, "seconds");
  job->before = seconds ? strtod(seconds, NULL) : 0;
  const char *depth = store_get(job->store, "depth");
  job->deep |= depth && strcmp(depth, "2") == 0;
  return r;
}

/* A program that is another one by now has other places and other failures. */
static int check_unchanged(struct job *job, struct err *e) {
  const char *stored = store_get(job->store, "modules");
  json_t *from = stored ? json_loads(stored, 0, NULL) : NULL;
  const char *changed = test_modules_changed(&job->setup.space.modules, from);
  json_decref(from);
  if (!changed) return 0;
  return err_set(e, -EINVAL, "%s has changed since the campaign began (begin anew without --resume)", changed);
}

/* --- what is kept of it ------------------------------------------------------------------------------------------- */

static int set_state(struct job *job, const char *state, struct err *e) {
  char seconds[32];
  (void)snprintf(seconds, sizeof seconds, "%.3f", job->before + (double)(test_now() - job->started) / 1e9);
  int r = store_set(job->store, "seconds", seconds, e);
  if (r == 0) r = store_set(job->store, "state", state, e);
  return r < 0 ? r : store_flush(job->store, e);
}

/* A new campaign, beside which an earlier one is kept. */
static int begin_campaign(struct job *job, struct err *e) {
  unsigned kept = 0;
  int r = store_folder_clear(&job->folder, &kept, e);
  if (r >= 0) r = store_open(job->folder.path, true, &job->store, e);
  if (r >= 0) r = test_facts_begin(job->store, &job->setup, e);
  if (r >= 0) r = store_set(job->store, "depth", job->deep ? "2" : "1", e);
  if (r < 0 || !kept) return r;
  char note[PATH_MAX + 64];
  (void)snprintf(note, sizeof note, "the earlier campaign is kept in %s/campaign-%u", job->campaign, kept);
  test_complain(note);
  return 0;
}

/* --- the campaign ------------------------------------------------------------------------------------------------- */

static int plan(struct job *job, struct err *e) {
  struct test_space *space = &job->setup.space;
  struct inject_plan order = {.points = space->points.at,
                              .n_points = space->points.n,
                              .faults = space->faults.at,
                              .n_faults = space->faults.n,
                              .likely = test_likely,
                              .traits = test_traits,
                              .random = job->random,
                              .arena = &space->arena,
                              .context = space};
  int r = inject_plan(&order, &job->experiments, &job->n_experiments);
  if (r < 0) return err_set(e, r, "out of memory");
  if (space->notes.n) text_add(&job->setup.baseline.notes, space->notes.at);
  const struct test_scope *scope = &job->subject.scope;
  test_note_untried(space, scope, &job->setup.baseline.notes);
  if (job->n_experiments == 0 && (scope->functions.n || scope->errnos.n || scope->sites.n))
    return err_set(e, -ENODATA, "%s makes no call that could fail in this way", space->target.path);
  return 0;
}

/* Told late, since who writes to a pipe may begin later than murphy. */
static void tell_input(const struct job *job) {
  if (job->args->operands.n && test_subject_loses_input(&job->subject))
    test_complain("standard input is not a file, and the command gets an empty one (--input FILE gives it one)");
}

static int prepare(struct job *job, struct err *e) {
  int r = store_folder_take(job->campaign, &job->folder, e);
  test_catch_signals(job->folder.made ? job->folder.path : NULL);
  if (r >= 0 && job->resume) r = open_campaign(job, e);
  job->setup.hidden = job->folder.path;
  if (r >= 0) r = test_setup_space(&job->setup, &job->subject, e);
  if (r >= 0 && job->resume) r = check_unchanged(job, e);
  if (r >= 0) r = test_setup_labs(&job->setup, job->jobs, e);
  if (r >= 0) {
    r = test_setup_points(&job->setup, e);
    tell_input(job);
  }
  if (r >= 0) r = plan(job, e);
  if (r >= 0 && !job->resume) r = begin_campaign(job, e);
  if (r >= 0) r = test_facts_baseline(job->store, &job->setup.baseline, e);
  return r;
}

static int start_keeper(struct job *job, struct err *e) {
  job->keeper.setup = &job->setup;
  job->keeper.store = job->store;
  job->keeper.folder = job->folder.path;
  job->keeper.experiments = job->experiments;
  job->keeper.n_experiments = job->n_experiments;
  job->keeper.murphy = job->murphy;
  int r = test_keeper_start(&job->keeper, e);
  return r < 0 ? r : set_state(job, "running", e);
}

static int on_done(void *context, const struct sweep_done *d, struct err *e) {
  struct job *job = context;
  if (job->outcomes && job->experiments[d->experiment].x.n == 1)
    job->outcomes[d->experiment] = (uint8_t)(d->outcome + 1);
  return test_keeper_add(&job->keeper, d, e);
}

static void on_progress(void *context, size_t done, size_t total, size_t findings) {
  struct job *job = context;
  test_progress_step(&job->progress, done, total, findings);
}

static bool is_over(const struct job *job, uint64_t deadline) {
  return *test_interrupted() || (job->runs && job->done >= job->runs) || (deadline && test_now() >= deadline);
}

static bool is_language(const void *space, const char *path) { return test_is_language(space, path); }
static bool is_libc(const void *space, const char *path) { return test_is_c_library(space, path); }

/* Until the deadline, or so many runs; but what was made BEFORE. */
static int sweep_part(struct job *job, uint64_t deadline, uint64_t runs, const uint8_t *before, struct err *e) {
  size_t done = 0;
  struct sweep sweep = {.branch = !job->subject.no_sandbox && !job->setup.space.watch,
                        .why = job->setup.space.watch ? "it starts processes, and is watched with all of them"
                                                      : "there is no sandbox",
                        .labs = job->setup.labs.at,
                        .n_labs = job->setup.labs.n,
                        .candidates = job->experiments,
                        .n_candidates = job->n_experiments,
                        .baseline = &job->setup.baseline,
                        .wall_ns = test_setup_wall(&job->setup),
                        .deadline = deadline,
                        .runs = runs,
                        .references = &job->pairs.references,
                        .stop = test_interrupted(),
                        .sink = {.done = on_done, .progress = on_progress, .context = job},
                        .known = job->keeper.known.at,
                        .n_known = job->keeper.known.n,
                        .before = before,
                        .is_language = is_language,
                        .is_libc = is_libc,
                        .language_context = &job->setup.space};
  job->progress.deadline = sweep.deadline;
  job->progress.runs = sweep.runs;
  job->progress.before = 0;
  for (size_t i = 0; i < job->n_experiments; i++)
    job->progress.before += before[i] != BEFORE_NOTHING;
  test_progress_start(&job->progress);
  test_stage("making the first experiments");
  int r = sweep_run(&sweep, &done, e);
  test_progress_end(&job->progress);
  job->done += done;
  return r;
}

/* Of what is planned now, the pairs; and then, if there is time, what was left of the others. */
static int sweep_behind(struct job *job, uint64_t deadline, struct err *e) {
  uint8_t *before = calloc(job->n_experiments + 1, 1);
  if (!before) return err_set(e, -ENOMEM, "out of memory");
  for (size_t i = 0; i < job->n_experiments; i++)
    before[i] = i < job->pairs.n_single ? BEFORE_DONE : job->keeper.before[i];
  int r = sweep_part(job, deadline, job->runs ? job->runs - job->done : 0, before, e);
  free(before);
  if (r < 0 || is_over(job, deadline)) return r;
  r = test_keeper_start(&job->keeper, e);
  return r < 0 ? r : sweep_part(job, deadline, job->runs ? job->runs - job->done : 0, job->keeper.before, e);
}

/* The faults that come behind those that were survived. */
static int sweep_pairs(struct job *job, uint64_t deadline, struct err *e) {
  if (is_over(job, deadline)) return 0;
  job->pairs = (struct test_pairs){.setup = &job->setup,
                                   .keeper = &job->keeper,
                                   .experiments = job->experiments,
                                   .n = job->n_experiments,
                                   .outcomes = job->outcomes};
  uint64_t now = test_now();
  if (deadline) job->pairs.deadline = now < deadline ? now + (deadline - now) / 2 : now;
  int r = test_pairs_find(&job->pairs, e);
  job->keeper.experiments = job->experiments = job->pairs.experiments;
  job->n_experiments = job->keeper.n_experiments = job->pairs.n;
  if (r < 0 || *test_interrupted()) return r;
  r = test_keeper_start(&job->keeper, e);
  return r < 0 ? r : sweep_behind(job, deadline, e);
}

static int sweep_all(struct job *job, struct err *e) {
  uint64_t now = test_now(), ns = job->seconds * 1000000000u, deadline = ns ? now + ns : 0;
  if (!job->deep) return sweep_part(job, deadline, job->runs, job->keeper.before, e);
  job->outcomes = calloc(job->n_experiments + 1, sizeof *job->outcomes);
  if (!job->outcomes) return err_set(e, -ENOMEM, "out of memory");
  int r = sweep_part(job, ns ? now + ns / 2 : 0, (job->runs + 1) / 2, job->keeper.before, e);
  return r < 0 ? r : sweep_pairs(job, deadline, e);
}

/* Of what is in the database, however it came to an end. *ret_untried: so many experiments, of which none was made. */
static int print_report(struct job *job, bool *ret_findings, uint64_t *ret_untried, struct err *e) {
  struct report report = {0};
  struct text t = {0};
  int r = report_load(job->store, job->campaign, &report, e);
  if (r < 0) return r;
  report.columns = cmd_terminal(NULL).columns;
  if (job->json)
    report_json(&report, &t);
  else
    report_text(&report, &t);
  r = cmd_print(&t, e);
  *ret_findings = report.findings.n > 0;
  *ret_untried = report.done ? 0 : report.planned;
  text_done(&t);
  report_done(&report);
  return r;
}

/* Why experiments are left, if there are any: sweeps leave out calls that are known to hang by themselves. */
static int set_left(struct job *job, struct err *e) {
  bool used = (job->progress.deadline && test_now() >= job->progress.deadline) || (job->runs && job->done >= job->runs);
  return store_set(job->store, "left", used ? "for lack of budget" : "at calls where it is known to hang", e);
}

static int run_campaign(struct job *job, struct err *e) {
  int r = start_keeper(job, e);
  if (r >= 0) r = sweep_all(job, e);
  if (r >= 0) r = set_left(job, e);
  struct err ignored;
  bool findings = false;
  uint64_t untried = 0;
  const char *state = *test_interrupted() ? "interrupted" : r < 0 ? "failed" : "finished";
  int kept = set_state(job, state, r < 0 ? &ignored : e);
  int printed = print_report(job, &findings, &untried, r < 0 || kept < 0 ? &ignored : e);
  if (*test_interrupted()) return 128 + *test_interrupted();
  if (r < 0 || kept < 0 || printed < 0) return r < 0 ? r : kept < 0 ? kept : printed;
  if (untried)
    return err_set(e, -ECANCELED, "the budget was too short for the first of %" PRIu64 " experiment%s (see --budget)",
                   untried, untried == 1 ? "" : "s");
  return findings ? EXIT_FINDINGS : EXIT_NOTHING;
}

int cmd_test_run(const struct cmd_args *args, struct err *e) {
  struct job job = {.args = args,
                    .campaign = ".murphy",
                    .seconds = 60,
                    .subject = {.timeout_ns = 10000000000u, .scope.follow = true},
                    .jobs = worker_count(),
                    .folder = {.fd = -1},
                    .started = test_now()};
  int r = read_options(&job, e);
  test_stages_start();
  if (r >= 0) r = prepare(&job, e);
  if (r >= 0) r = run_campaign(&job, e);
  test_stages_end();
  /* What was interrupted may look like any failure. */
  if (r < 0 && *test_interrupted()) r = 128 + *test_interrupted();
  job_done(&job);
  test_release_signals();
  return r;
}
