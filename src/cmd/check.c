/* SPDX-License-Identifier: Apache-2.0 */
/*
 * murphy check: which calls of a program do not handle failure?
 */
#include "cmd/cmd.h"
#include "program/program.h"
#include "site/site.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What was asked for. Strings belong to argv, or to the arena. */
struct job {
  struct arena arena;
  struct site_request request;
  struct cmd_progress progress;
  struct site_text_options show;
  const char *format, *output, *scenario, *fail_on;
  cmd_names functions, baselines, profiles;
};

static void job_done(struct job *job) {
  vec_done(&job->functions);
  vec_done(&job->baselines);
  vec_done(&job->profiles);
  free((char *)job->request.data);
  arena_done(&job->arena);
}

/* --- options ------------------------------------------------------------------------------------------------------ */

static int add_verdicts(struct job *job, const char *list, struct err *e) {
  char *words = arena_strdup(&job->arena, list);
  if (!words) return -ENOMEM;
  for (char *rest = words, *word; (word = strsep(&rest, ","));) {
    unsigned v = 0;
    while (v < COUNT(site_verdict_words) && strcmp(word, site_verdict_words[v]) != 0)
      v++;
    if (v == COUNT(site_verdict_words))
      return err_set(e, -EINVAL, "--verdict cannot be '%s' (it is none, some, all or unknown)", word);
    job->show.verdicts |= 1u << v;
  }
  return 0;
}

static int take_option(struct job *job, const struct cmd_arg *arg, struct err *e) {
  switch ((enum cmd_check_option)arg->option->id) {
  case OPT_CHECK_FORMAT:
    job->format = arg->value;
    return 0;
  case OPT_CHECK_OUTPUT:
    job->output = arg->value;
    return 0;
  case OPT_CHECK_FUNCTION:
    return cmd_value_functions(&job->arena, arg->value, &job->functions, e);
  case OPT_VERDICT:
    return add_verdicts(job, arg->value, e);
  case OPT_CHECK_ALL:
    job->show.all = true;
    return 0;
  case OPT_RECOVERY:
    job->show.recovery = true;
    return 0;
  case OPT_SCENARIO:
    job->scenario = arg->value;
    return 0;
  case OPT_FAIL_ON:
    job->fail_on = arg->value;
    return 0;
  case OPT_BASELINE:
    return vec_push(&job->baselines, arg->value);
  case OPT_CHECK_PROFILE:
    return vec_push(&job->profiles, arg->value);
  case OPT_CHECK_JOBS:
    return cmd_value_jobs(arg->value, &job->request.workers, e);
  }
  return 0;
}

static int read_options(const struct cmd_args *args, struct job *job, struct err *e) {
  char *data = NULL;
  job->format = "text";
  for (size_t i = 0; i < args->options.n; i++) {
    int r = take_option(job, &args->options.at[i], e);
    if (r < 0) return r;
  }
  if (args->operands.n == 0) return err_set(e, -EINVAL, "no program given (as in murphy check /bin/cp)");
  if (job->scenario && strcmp(job->format, "text") != 0)
    return err_set(e, -EINVAL, "--scenario writes XML (leave out --format %s)", job->format);
  job->show.several = args->operands.n > 1;
  job->request.unknown = job->show.verdicts >> SITE_UNKNOWN & 1;
  job->request.recovery = job->show.recovery || strcmp(job->format, "json") == 0;
  if (!job->show.verdicts) {
    bool json = strcmp(job->format, "json") == 0;
    job->show.verdicts = 1u << SITE_NONE | 1u << SITE_SOME | (json || job->show.recovery ? 1u << SITE_ALL : 0);
  }
  int r = installed_data_dir(&data);
  if (r < 0) return r;
  job->request.data = data;
  job->request.functions = job->functions.at;
  job->request.n_functions = job->functions.n;
  job->request.profiles = job->profiles.at;
  job->request.n_profiles = job->profiles.n;
  job->request.progress = cmd_progress_step;
  job->request.context = &job->progress;
  return 0;
}

/* --- input that is no program ------------------------------------------------------------------------------------- */

/* A script: the interpreter is what could be checked. The message, or 0 if it is none. */
static int refuse_script(struct arena *arena, const char *path, struct err *e) {
  char head[256];
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return 0; /* whoever opens it next says why */
  ssize_t n = read(fd, head, sizeof head - 1);
  (void)close(fd);
  if (n < 3 || head[0] != '#' || head[1] != '!') return 0;
  head[n] = 0;
  head[strcspn(head, "\r\n")] = 0;
  char *save = NULL, *word = strtok_r(head + 2, " \t", &save), *name = word;
  const char *slash = word ? strrchr(word, '/') : NULL;
  /* env finds the interpreter: the first word that is neither an option nor a variable. */
  if (slash && strcmp(slash, "/env") == 0)
    while ((name = strtok_r(NULL, " \t", &save)) != NULL && (*name == '-' || strchr(name, '=')))
      ;
  if (name) word = name;
  const char *program = word ? program_in_path(arena, word) : path;
  if (!program) return -ENOMEM;
  if (!word) return 0;
  return err_set(e, -ENOEXEC, "%s: is a script for %s (check that instead: murphy check %s)", path, word, program);
}

/* --- output ------------------------------------------------------------------------------------------------------- */

/* The working folder; NULL if it has no name, or is the root, below which everything is. */
static const char *working_folder(char folder[PATH_MAX]) {
  return getcwd(folder, PATH_MAX) && folder[0] == '/' && folder[1] ? folder : NULL;
}

static void write_lists(struct job *job, const struct site_list *l, size_t n, struct text *to) {
  char folder[PATH_MAX];
  job->show.folder = working_folder(folder);
  if (job->scenario)
    site_write_scenario(l, n, strcmp(job->scenario, "none") == 0 ? SITE_NONE : SITE_SOME, to);
  else if (strcmp(job->format, "json") == 0)
    site_write_json(l, n, &job->show, to);
  else if (strcmp(job->format, "sarif") == 0)
    site_write_sarif(l, n, &job->show, to);
  else if (strcmp(job->format, "baseline") == 0)
    site_write_baseline(l, n, &job->show, to);
  else
    for (size_t i = 0; i < n; i++) {
      if (i) text_add(to, "\n");
      site_write_text(&l[i], &job->show, to);
    }
  job->show.folder = NULL; /* it ends with this function */
}

/* Is there a finding for which --fail-on asks? */
static bool fails(const struct job *job, const struct site_list *l, size_t n) {
  bool some = job->fail_on && strcmp(job->fail_on, "some") == 0;
  for (size_t i = 0; job->fail_on && i < n; i++)
    for (size_t k = 0; k < l[i].n; k++) {
      const struct site *s = &l[i].sites[k];
      bool meant = s->verdict == SITE_NONE || (some && s->verdict == SITE_SOME);
      if (meant && job->show.verdicts >> s->verdict & 1 && site_counts(s, job->show.all)) return true;
    }
  return false;
}

/* A function that was asked for and that no program imports is a slip: nothing would ever be found. */
static int refuse_names(const struct job *job, const struct site_list *l, size_t n, struct err *e) {
  for (size_t k = 0; n && k < job->functions.n; k++) {
    bool imported = false;
    for (size_t i = 0; i < n; i++)
      imported |= l[i].imported[k];
    if (imported) continue;
    struct err slip = {0};
    int r = n == 1 ? err_set(&slip, -ENOENT, "%s: does not import a function '%s'", l[0].program, job->functions.at[k])
                   : err_set(&slip, -ENOENT, "no program given imports a function '%s'", job->functions.at[k]);
    if (job->fail_on) *e = slip;
    if (job->fail_on) return r;
    cmd_complain(slip.text);
  }
  return 0;
}

/* Where findings are asked for, that there are none must not mean that something was not found. */
static int refuse_missing(const struct job *job, const struct site_list *l, size_t n, struct err *e) {
  for (size_t i = 0; job->fail_on && i < n; i++)
    if (l[i].n_missing_libraries)
      return err_set(e, -ENOENT,
                     "%s: needs %s, which was not found, so that nothing is known of calls of its functions (set "
                     "LD_LIBRARY_PATH as it is for the program)",
                     l[i].program, l[i].missing_libraries[0]);
  for (size_t i = 0; job->fail_on && i < n; i++)
    if (l[i].unseen)
      return err_set(e, -ENOENT, "%s: imports functions that can fail, and no call of any was found", l[i].program);
  return 0;
}

static int check_one(struct job *job, const char *program, struct site_list *ret, struct err *e) {
  program = program_in_path(&job->arena, program);
  if (!program) return -ENOMEM;
  int r = refuse_script(&job->arena, program, e);
  if (r < 0) return r;
  job->request.program = program;
  cmd_progress_start(&job->progress, "check");
  r = site_check(&job->request, ret, e);
  cmd_progress_end(&job->progress);
  if (r < 0) return r;
  r = site_suppress(ret);
  for (size_t i = 0; i < job->baselines.n && r >= 0; i++)
    r = site_baseline_apply(ret, job->baselines.at[i], e);
  if (job->functions.n) ret->stale = 0; /* the others were not looked at */
  return r;
}

/* Checks all programs; RET holds those that could be, *ret_n of them. The first failure, or 0. */
static int check_all(struct job *job, const struct cmd_args *args, struct site_list *ret, size_t *ret_n,
                     struct err *e) {
  int first = 0;
  for (size_t i = 0; i < args->operands.n; i++) {
    struct err failed = {0};
    int r = check_one(job, args->operands.at[i], &ret[*ret_n], &failed);
    if (r >= 0) {
      ++*ret_n;
      continue;
    }
    site_list_done(&ret[*ret_n]);
    ret[*ret_n] = (struct site_list){0};
    if (first < 0 && failed.text[0] && strcmp(failed.text, e->text) != 0) cmd_complain(failed.text);
    if (first == 0) *e = failed;
    if (first == 0) first = r;
    if (r == -ENOMEM) break;
  }
  return first;
}

static int run_job(struct job *job, const struct cmd_args *args, struct err *e) {
  size_t n = 0;
  struct text t = {0};
  struct site_list *l = calloc(args->operands.n, sizeof *l);
  if (!l) return -ENOMEM;
  /* What is known of the others is told; then the failure. */
  int failed = check_all(job, args, l, &n, e), r = 0;
  struct cmd_terminal terminal = cmd_terminal(job->output);
  job->show.color = terminal.color;
  job->show.columns = terminal.columns;
  if (n) write_lists(job, l, n, &t);
  if (n) r = cmd_save(job->output ? job->output : "-", &t, failed < 0 ? NULL : e);
  if (failed < 0) r = failed;
  if (r >= 0) r = refuse_names(job, l, n, e);
  if (r >= 0 && !fails(job, l, n)) r = refuse_missing(job, l, n, e);
  if (r >= 0) r = fails(job, l, n) ? EXIT_FINDINGS : EXIT_NOTHING;
  for (size_t i = 0; i < n; i++)
    site_list_done(&l[i]);
  free(l);
  text_done(&t);
  return r;
}

#define KEPT_BYTES (64 << 20)

/* What one function needs is freed before the next is read: the kernel need not clear the same pages each time. */
static void keep_memory(void) {
  (void)mallopt(M_MMAP_THRESHOLD, KEPT_BYTES / 2);
  (void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
}

int cmd_check_run(const struct cmd_args *args, struct err *e) {
  struct job job = {0};
  keep_memory();
  int r = read_options(args, &job, e);
  if (r >= 0) r = run_job(&job, args, e);
  job_done(&job);
  return r;
}
