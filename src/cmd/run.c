/* SPDX-License-Identifier: Apache-2.0 */
/*
 * murphy run: runs a command and makes the calls fail that a scenario says.
 */
#include "cmd/run_parts.h"
#include "cmd/cmd.h"
#include "shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What was asked for, and what is made on the way. Strings belong to argv. */
struct job {
  const struct cmd_args *args;
  struct scenario *scenario;
  struct cmd_progress progress;
  const char *log;
  VEC(const char *) profiles;
  VEC(char *) command; /* ends with NULL */
  bool follow, reach, explain;
  uint64_t seed;
  char *data, *runtime;
  struct program_target target;
  struct program_modules modules;
  struct program_world world;
  struct run_folder folder;
  struct run_area area;
  struct cmd_watch watch;
  struct program_plugins plugins;
  struct cmd_hub hub;
  struct text preload, plan, shim;
};

static void job_done(struct job *job) {
  text_done(&job->watch.ready);
  text_done(&job->watch.missed);
  run_log_done(&job->watch.log);
  run_symbols_free(job->watch.log.symbols);
  run_area_done(&job->area);
  run_folder_done(&job->folder);
  program_world_done(&job->world);
  program_modules_done(&job->modules);
  program_target_done(&job->target);
  scenario_free(job->scenario);
  program_plugins_done(&job->plugins);
  text_done(&job->hub.name);
  vec_done(&job->profiles);
  vec_done(&job->command);
  text_done(&job->preload);
  text_done(&job->plan);
  text_done(&job->shim);
  free(job->data);
  free(job->runtime);
}

/* --- options ------------------------------------------------------------------------------------------------------ */

static int add_replay(struct job *job, const char *path, struct err *e) {
  struct text xml = {0};
  int r = run_replay_load(path, &xml, e);
  if (r >= 0) r = scenario_parse(job->scenario, path, xml.at, xml.n, e);
  text_done(&xml);
  return r;
}

static int set_seed(struct job *job, const char *value, struct err *e) {
  int64_t n = 0;
  if (number_parse(value, &n) < 0) return err_set(e, -EINVAL, "--seed cannot be '%s' (it is a number)", value);
  job->seed = (uint64_t)n;
  return 0;
}

static int take_option(struct job *job, const struct cmd_arg *arg, struct err *e) {
  switch ((enum cmd_run_option)arg->option->id) {
  case OPT_RUN_FAIL:
    return scenario_add_rule(job->scenario, "--fail", arg->value, e);
  case OPT_RUN_LOG:
    job->log = arg->value;
    return 0;
  case OPT_RUN_REPLAY:
    return add_replay(job, arg->value, e);
  case OPT_RUN_REACH:
    job->reach = true;
    return 0;
  case OPT_RUN_FOLLOW:
  case OPT_RUN_NO_FOLLOW:
    job->follow = arg->option->id == OPT_RUN_FOLLOW;
    return 0;
  case OPT_RUN_SEED:
    return set_seed(job, arg->value, e);
  case OPT_RUN_PROFILE:
    return vec_push(&job->profiles, arg->value);
  case OPT_RUN_EXPLAIN:
    job->explain = true;
    return 0;
  case OPT_RUN_TRIGGERS:
    return program_plugins_add(&job->plugins, arg->value, e);
  case OPT_RUN_HUB:
    job->hub.address = arg->value;
    return 0;
  }
  return 0;
}

/* Operands before "--" are scenarios, those behind it the command. */
static int take_operands(struct job *job, struct err *e) {
  const struct cmd_args *args = job->args;
  static const char hint[] = "(as in murphy run --fail 'read:EIO when call==3' -- cat FILE)";
  if (!args->dashes || args->operands.n == args->n_before)
    return err_set(e, -EINVAL, "no command: it stands behind -- %s", hint);
  for (size_t i = 0; i < args->n_before; i++) {
    int r = scenario_load(job->scenario, args->operands.at[i], e);
    if (r < 0) return r;
  }
  for (size_t i = args->n_before; i < args->operands.n; i++)
    if (vec_push(&job->command, (char *)(uintptr_t)args->operands.at[i]) < 0) return -ENOMEM;
  return vec_push(&job->command, NULL);
}

static int check_rules(struct job *job, struct err *e) {
  const char *const *names;
  size_t n = 0;
  int r = scenario_functions(job->scenario, &names, &n);
  if (r < 0 || n > 0) return r;
  if (job->args->n_before)
    return err_set(e, -EINVAL, "%s: this scenario has no rules, so nothing is to fail (write <function name=…>)",
                   job->args->operands.at[0]);
  return err_set(e, -EINVAL, "nothing is to fail: give a SCENARIO, --fail RULE or --replay LOG");
}

static int read_options(struct job *job, struct err *e) {
  int r = 0;
  job->scenario = scenario_new();
  if (!job->scenario) return -ENOMEM;
  for (size_t i = 0; i < job->args->options.n && r >= 0; i++)
    r = take_option(job, &job->args->options.at[i], e);
  if (r >= 0) r = program_plugins_defaults(&job->plugins, e);
  struct scenario_plugins plugins = program_plugins_for(&job->plugins);
  scenario_set_plugins(job->scenario, &plugins);
  if (r >= 0) r = take_operands(job, e);
  if (r >= 0) r = check_rules(job, e);
  if (r >= 0) r = installed_data_dir(&job->data);
  return r;
}

/* --- before the start --------------------------------------------------------------------------------------------- */

static int make_plan(struct job *job, struct err *e) {
  struct scenario_world *w = &job->world.world;
  struct program_world_request request = {
      .data = job->data,
      .profiles = job->profiles.at,
      .n_profiles = job->profiles.n,
      .follow = job->follow,
      .progress = cmd_progress_step,
      .context = &job->progress,
      .note = cmd_note,
  };
  cmd_progress_start(&job->progress, "run");
  int r = program_world_make(&request, &job->modules, job->scenario, &job->world, e);
  cmd_progress_end(&job->progress);
  if (r < 0) return r;
  run_preload(job->folder.shim, &job->preload);
  if (job->preload.failed) return -ENOMEM;
  w->area = job->folder.area;
  w->preload = job->preload.at;
  w->flags = (job->follow ? WIRE_FOLLOW : 0) | (job->reach ? WIRE_COUNT : 0);
  w->seed = job->seed;
  job->hub.probe = !job->explain;
  w->hub = cmd_hub_find;
  w->hub_context = &job->hub;
  return plan_compile(job->scenario, w, &job->plan, e);
}

static int make_shim(struct job *job, struct err *e) {
  const struct wire_plan *plan = (const struct wire_plan *)job->plan.at;
  int r = installed_runtime(&job->runtime);
  if (r < 0) return r;
  if (access(job->runtime, R_OK) < 0)
    return err_set(e, -ECANCELED, "%s: %s (murphy is not completely installed)", job->runtime, strerror(errno));
  r = run_area_make(job->folder.area, plan->functions.n, false, &job->area, e);
  if (r >= 0) r = shim_write(job->plan.at, job->plan.n, job->runtime, &job->shim, e);
  return r < 0 ? r : run_folder_write(&job->folder, &job->shim, e);
}

static int open_log(struct job *job, struct err *e) {
  job->watch.path = job->log;
  if (!job->log) return 0;
  if (strcmp(job->log, "-") == 0) {
    job->watch.file = STDOUT_FILENO;
    return 0;
  }
  job->watch.file = open(job->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
  return job->watch.file < 0 ? err_set(e, -errno, "%s: %s", job->log, strerror(errno)) : 0;
}

static int prepare(struct job *job, struct err *e) {
  int r = program_target_find(job->command.at, &job->target, e);
  if (r >= 0) r = program_modules_load(job->target.path, job->follow, &job->modules, e);
  if (r >= 0) r = run_folder_make(job->modules.asan, &job->folder, e);
  if (r >= 0) r = make_plan(job, e);
  return r;
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

static uint64_t now_ns(void) {
  struct timespec t = {0};
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A run into which nothing was injected because murphy was not there must not look like one that passed. */
static int check_attached(const struct job *job, struct err *e) {
  struct run_totals totals;
  if (run_area_totals(&job->area, &totals) < 0) return cmd_watch_damaged(e);
  if (totals.attached) return 0;
  if (totals.refused)
    return err_set(e, -ECANCELED, "%s: the runtime refused the plan, nothing was injected (is %s of this murphy?)",
                   job->target.path, job->runtime);
  if (totals.unreached)
    return err_set(e, -ECANCELED, "%s: has another C library than glibc, nothing was injected (link it with glibc)",
                   job->target.path);
  const char *plugin = cmd_plugins_first((const struct wire_plan *)job->plan.at);
  if (plugin)
    return err_set(e, -ECANCELED, "%s: it ended before its start (does it start at all, without %s?)", job->target.path,
                   plugin);
  return err_set(e, -ECANCELED, "%s: the runtime was not loaded into it, nothing was injected (does it start at all?)",
                 job->target.path);
}

/* On standard error: standard output is the command's. */
static int report_reach(struct job *job, struct err *e) {
  struct cmd_reach_request request = {
      .modules = &job->modules,
      .plan = (const struct wire_plan *)job->plan.at,
      .area = &job->area,
      .follow = job->follow,
  };
  struct text text = {0}, json = {0};
  struct site_names *aliases = NULL;
  int r = scenario_functions(job->scenario, &request.functions, &request.n_functions);
  if (r >= 0) r = site_names_load(job->data, &aliases, e);
  request.aliases = aliases;
  if (r >= 0) r = cmd_reach(&request, &text, &json);
  if (r >= 0) r = cmd_report(&text, e);
  if (r >= 0) r = cmd_watch_write(&job->watch, &json, e);
  site_names_free(aliases);
  text_done(&text);
  text_done(&json);
  return r;
}

/* Of a script, the interpreter may not be what was meant. */
static void say_nothing_failed(const struct job *job) {
  struct text t = {0};
  text_add(&t, "no call was made to fail");
  if (job->target.script && !job->follow)
    text_addf(&t, " in %s, which runs the script (see --follow)", job->modules.command);
  if (!t.failed) cmd_complain(t.at);
  text_done(&t);
}

/* Programs of which one would think that they were followed. The reach report has them in its own words. */
static void say_unreached(const struct job *job) {
  struct run_totals totals;
  struct text t = {0};
  if (!job->follow || job->reach || run_area_totals(&job->area, &totals) < 0 || totals.unreached == 0) return;
  text_addf(&t,
            "%" PRIu64 " program%s not followed: started as another user, with another root, or of another C library",
            totals.unreached, totals.unreached == 1 ? " was" : "s were");
  if (!t.failed) cmd_complain(t.at);
  text_done(&t);
}

static int report_trouble(struct job *job, const struct run_ended *end, struct err *e) {
  struct text log = {0};
  int r = cmd_trouble(&job->area, job->watch.log.plan, end, &log, e);
  struct err later = {0};
  int written = cmd_watch_write(&job->watch, &log, r < 0 ? &later : e);
  text_done(&log);
  return r < 0 ? r : written;
}

static int run_command(struct job *job, struct err *e) {
  struct run_ended end = {0};
  struct run_request request = {.target = &job->target,
                                .preload = job->preload.at,
                                .follow = job->follow,
                                .tick = cmd_watch_tick,
                                .context = &job->watch};
  job->watch.area = &job->area;
  job->watch.terminal = isatty(STDERR_FILENO) == 1;
  job->watch.log.plan = (const struct wire_plan *)job->plan.at;
  job->watch.log.start = now_ns();
  int r = run_symbols_new(&job->modules, &job->area, &job->watch.log.symbols);
  if (r >= 0) r = run_start(&request, &end, e);
  (void)run_area_stop(&job->area);
  if (r >= 0) r = check_attached(job, e);
  if (r >= 0) r = report_trouble(job, &end, e);
  if (r >= 0) cmd_watch_say_missed(&job->watch);
  if (r >= 0) say_unreached(job);
  if (r >= 0 && job->reach) r = report_reach(job, e);
  if (r >= 0 && job->watch.terminal && job->watch.log.events == 0) say_nothing_failed(job);
  return r < 0 ? r : end.status;
}

static int print_plan(struct job *job, struct err *e) {
  struct text t = {0};
  plan_dump(job->plan.at, &t);
  int r = cmd_print(&t, e);
  text_done(&t);
  return r;
}

/* What could not be written may come out only now. */
static int close_log(struct job *job, int r, struct err *e) {
  int file = job->watch.file;
  if (file < 0 || file == STDOUT_FILENO || close(file) == 0 || r < 0) return r;
  return err_set(e, -errno, "%s: %s", job->log, strerror(errno));
}

static int start_job(struct job *job, struct err *e) {
  int r = make_shim(job, e);
  if (r >= 0) r = open_log(job, e);
  if (r >= 0) r = run_command(job, e);
  return close_log(job, r, e);
}

int cmd_run_run(const struct cmd_args *args, struct err *e) {
  struct job job = {.args = args, .watch.file = -1};
  int r = read_options(&job, e);
  if (r >= 0) r = prepare(&job, e);
  if (r >= 0) r = job.explain ? print_plan(&job, e) : start_job(&job, e);
  job_done(&job);
  return r;
}
