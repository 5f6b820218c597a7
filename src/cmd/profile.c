/* SPDX-License-Identifier: Apache-2.0 */
/*
 * murphy profile: what can the functions of a library fail with?
 */
#include "profile/profile.h"
#include "cmd/cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What was asked for. Strings belong to argv, or to the arena. */
struct job {
  struct arena arena;
  struct profile_request request;
  struct cmd_progress progress;
  const char *format, *output, *why;
  cmd_names functions, files;
  bool all;
};

static void job_done(struct job *job) {
  vec_done(&job->functions);
  vec_done(&job->files);
  free((char *)job->request.data);
  arena_done(&job->arena);
}

/* --- options ------------------------------------------------------------------------------------------------------ */

static int take_option(struct job *job, const struct cmd_arg *arg, struct err *e) {
  switch ((enum cmd_profile_option)arg->option->id) {
  case OPT_FOR:
    job->request.for_program = arg->value;
    return 0;
  case OPT_KERNEL:
    job->request.kernel = arg->value;
    return 0;
  case OPT_MODULES:
    job->request.modules = arg->value;
    return 0;
  case OPT_FORMAT:
    job->format = arg->value;
    return 0;
  case OPT_OUTPUT:
    job->output = arg->value;
    return 0;
  case OPT_FUNCTION:
    return cmd_value_functions(&job->arena, arg->value, &job->functions, e);
  case OPT_WHY:
    job->why = arg->value;
    return 0;
  case OPT_FILE:
    return vec_push(&job->files, arg->value);
  case OPT_ALL:
    job->all = job->request.all_ways = true;
    return 0;
  case OPT_NO_CACHE:
    job->request.no_cache = true;
    return 0;
  case OPT_JOBS:
    return cmd_value_jobs(arg->value, &job->request.workers, e);
  }
  return 0;
}

static bool has_libraries(const struct job *job) {
  return job->request.n_inputs > 0 || job->request.for_program || job->request.kernel;
}

static int check_kernel(const struct job *job, struct err *e) {
  if (job->request.kernel && (job->request.n_inputs || job->request.for_program))
    return err_set(e, -EINVAL, "--kernel stands alone (leave out LIB and --for)");
  if (job->request.modules && !job->request.kernel)
    return err_set(e, -EINVAL, "--modules needs the kernel (as in --kernel /boot/vmlinuz-RELEASE)");
  if (strcmp(job->format, "errors") == 0 && !job->request.kernel)
    return err_set(e, -EINVAL, "--format errors is for kernels (as in --kernel /boot/vmlinuz-RELEASE)");
  return 0;
}

static int check_options(const struct job *job, struct err *e) {
  if (job->why && !has_libraries(job))
    return err_set(e, -EINVAL, "--why needs the library (murphy profile --why %s LIB)", job->why);
  if (job->why && strcmp(job->format, "text") != 0)
    return err_set(e, -EINVAL, "--why is text for people (leave out --format %s)", job->format);
  if (job->why && (job->functions.n > 0 || job->files.n > 0))
    return err_set(e, -EINVAL, "--why stands alone (leave out --function and --profile)");
  if (!has_libraries(job) && job->files.n == 0)
    return err_set(e, -EINVAL, "no library given (as in murphy profile libc.so.6, or --for PROG)");
  return check_kernel(job, e);
}

static int read_options(const struct cmd_args *args, struct job *job, struct err *e) {
  char *data = NULL;

  job->format = "text";
  job->request.inputs = args->operands.at;
  job->request.n_inputs = args->operands.n;
  for (size_t i = 0; i < args->options.n; i++) {
    int ret = take_option(job, &args->options.at[i], e);
    if (ret < 0) return ret;
  }
  int ret = check_options(job, e);
  if (ret < 0) return ret;
  ret = installed_data_dir(&data);
  if (ret < 0) return ret;
  job->request.data = data;
  job->request.progress = cmd_progress_step;
  job->request.context = &job->progress;
  return 0;
}

/* --- the profile -------------------------------------------------------------------------------------------------- */

/* Puts the profiles of --profile over FOUND, one after another. On success *found is the result. */
static int overlay_files(const struct job *job, struct profile *stack, size_t *n, struct err *e) {
  for (size_t i = 0; i < job->files.n; i++) {
    struct profile *file = &stack[*n], *both = &stack[*n + 1];
    int ret = profile_load(job->files.at[i], file, e);
    if (ret < 0) return ret;
    ret = profile_overlay(&stack[*n - 1], file, both);
    if (ret < 0) {
      *n += 1;
      return ret;
    }
    *n += 2;
  }
  return 0;
}

static int filter_functions(const struct job *job, struct profile *stack, size_t *n, struct err *e) {
  const char *missing = NULL;

  if (job->functions.n == 0) return 0;
  const struct profile *all = &stack[*n - 1];
  int ret = profile_select(all, job->functions.at, job->functions.n, &stack[*n], &missing);
  if (ret == -ENOENT) {
    const char *near = profile_near(all, missing);
    const char *where = all->n_libraries > 0 ? all->libraries[0].name : "the profile";
    const char *more = all->n_libraries > 1 ? " and the others" : "";
    if (near) return err_set(e, ret, "%s%s: no function '%s' (did you mean '%s'?)", where, more, missing, near);
    return err_set(e, ret, "%s%s: no function '%s' (--all without --function lists them)", where, more, missing);
  }
  if (ret == 0) ++*n;
  return ret;
}

static int write_profile(const struct job *job, const struct profile *p, struct text *to, struct err *e) {
  if (strcmp(job->format, "errors") == 0) return profile_write_errors(p, job->request.data, to, e);
  if (strcmp(job->format, "json") == 0) {
    profile_write_json(p, to);
    return 0;
  }
  if (strcmp(job->format, "xml") == 0) {
    profile_write_xml(p, to);
    return 0;
  }
  struct cmd_terminal terminal = cmd_terminal(job->output);
  struct profile_text_options options = {
      .color = terminal.color,
      .columns = terminal.columns,
      .all = job->all || job->functions.n > 0, /* who asks for a function by name wants its answer */
  };
  profile_write_text(p, &options, to);
  return 0;
}

/* What is found, then each file and what it makes of the profile so far, then the selection: the last one counts. */
static int make_profile(struct job *job, struct text *to, struct err *e) {
  size_t room = 2 * job->files.n + 2, n = 1;
  struct profile *stack = calloc(room, sizeof *stack);
  if (!stack) return -ENOMEM;

  int ret = 0;
  if (has_libraries(job)) {
    ret = (job->request.kernel ? profile_kernel : profile_analyse)(&job->request, &stack[0], e);
    cmd_progress_end(&job->progress);
  }
  if (ret == 0) ret = overlay_files(job, stack, &n, e);
  if (ret == 0) ret = filter_functions(job, stack, &n, e);
  if (ret == 0) ret = write_profile(job, &stack[n - 1], to, e);
  while (room > 0)
    profile_done(&stack[--room]);
  free(stack);
  return ret;
}

static int run_job(struct job *job, struct err *e) {
  struct text t = {0};
  int ret;

  cmd_progress_start(&job->progress, "profile");
  if (job->why) {
    ret = (job->request.kernel ? profile_kernel_why : profile_why)(&job->request, job->why, &t, e);
    cmd_progress_end(&job->progress);
  } else {
    ret = make_profile(job, &t, e);
  }
  if (ret == 0) ret = cmd_save(job->output ? job->output : "-", &t, e);
  text_done(&t);
  return ret;
}

int cmd_profile_run(const struct cmd_args *args, struct err *e) {
  struct job job = {0};

  int ret = read_options(args, &job, e);
  if (ret == 0) ret = run_job(&job, e);
  job_done(&job);
  return ret < 0 ? ret : EXIT_NOTHING;
}
