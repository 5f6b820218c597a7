/* SPDX-License-Identifier: Apache-2.0 */
/*
 * murphy replay: repeats one finding, from its folder or from the script that has all of it inside.
 */
#include "cmd/replay.h"
#include "cmd/test.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHOWN_FRAMES = 12 };

struct job {
  const struct cmd_args *args;
  const char *campaign;
  bool gdb;
  char *hidden; /* the campaign's folder */
  struct test_known known;
  struct test_setup setup;
  struct again again;
};

static void job_done(struct job *job) {
  again_done(&job->again);
  test_setup_done(&job->setup);
  test_known_done(&job->known);
  free(job->hidden);
}

/* --- which finding ------------------------------------------------------------------------------------------------ */

static bool is_number(const char *s) { return *s && s[strspn(s, "0123456789")] == 0 && strlen(s) < 10; }

static int load_by_number(struct job *job, const char *id, struct err *e) {
  struct stat st;
  char *folder = NULL, *path = NULL;
  int r = store_folder_finding(job->campaign, atoi(id), false, &folder, e);
  if (r < 0) return r;
  if (asprintf(&path, "%s/finding.json", folder) < 0) {
    path = NULL;
    r = err_set(e, -ENOMEM, "out of memory");
  } else if (stat(path, &st) < 0) {
    r = err_set(e, -ENOENT, "%s: no finding %s here (murphy report lists them; --campaign says where else)",
                job->campaign, id);
  }
  if (r == 0) r = test_finding_load(path, &job->known, e);
  job->hidden = realpath(job->campaign, NULL);
  free(folder);
  free(path);
  return r;
}

static int load_by_path(struct job *job, const char *path, struct err *e) {
  struct stat st;
  char *inside = NULL;
  if (stat(path, &st) == 0 && S_ISDIR(st.st_mode) && asprintf(&inside, "%s/finding.json", path) < 0)
    return err_set(e, -ENOMEM, "out of memory");
  int r = test_finding_load(inside ? inside : path, &job->known, e);
  free(inside);
  /* The script's own descriptor is not for the command. */
  if (strncmp(path, "/dev/fd/", 8) == 0 && is_number(path + 8)) (void)fcntl(atoi(path + 8), F_SETFD, FD_CLOEXEC);
  return r;
}

static int read_options(struct job *job, struct err *e) {
  const struct cmd_args *args = job->args;
  for (size_t i = 0; i < args->options.n; i++) {
    if (args->options.at[i].option->id == OPT_REPLAY_CAMPAIGN) job->campaign = args->options.at[i].value;
    if (args->options.at[i].option->id == OPT_REPLAY_GDB) job->gdb = true;
  }
  if (args->n_before != 1) return err_set(e, -EINVAL, "which finding? (as in murphy replay 3)");
  if (args->operands.n > args->n_before && !job->gdb)
    return err_set(e, -EINVAL, "what stands behind -- is for gdb, and needs --gdb");
  const char *what = args->operands.at[0];
  return is_number(what) ? load_by_number(job, what, e) : load_by_path(job, what, e);
}

/* There is no error in what the user said if the command is gone by now. */
static int refuse_command(int r) { return r == -ENODATA || r == -ENOMEM || r == -EINTR || r >= 0 ? r : -ECANCELED; }

int replay_space(struct test_setup *s, const struct test_subject *subject, struct err *e) {
  if (chdir(subject->cwd) < 0) return err_set(e, -ECANCELED, "%s: %m (the command ran there)", subject->cwd);
  return refuse_command(test_setup_space(s, subject, e));
}

/* --- what becomes of it ------------------------------------------------------------------------------------------- */

static void tell_change(const struct job *job) {
  const char *changed = test_modules_changed(&job->setup.space.modules, job->known.modules);
  struct text t = {0};
  if (!changed) return;
  text_addf(&t, "%s has changed since this was found", changed);
  if (!t.failed) cmd_complain(t.at);
  text_done(&t);
}

static void add_crash(struct job *job, const struct lab_result *run, struct text *to) {
  struct run_symbols *symbols = NULL;
  struct arena arena = {0};
  test_frames frames = {0};
  int r = run_symbols_new(&job->setup.space.modules, lab_area(job->setup.labs.at[0]), &symbols);
  if (r == 0) r = test_name_crash(symbols, run, &arena, &frames);
  for (size_t i = 0; r == 0 && i < frames.n && i < SHOWN_FRAMES; i++) {
    const struct store_frame *f = &frames.at[i];
    text_add(to, "  ");
    struct text name = {0};
    if (f->function) {
      (void)name_readable(f->function, &name);
      text_add_plain(to, name.at ? name.at : f->function);
      text_add(to, "  ");
    }
    to->failed |= name.failed;
    text_done(&name);
    bool line = f->file && f->line, code = f->module && f->module[0];
    text_add_plain(to, line ? f->file : code ? f->module : "");
    text_addf(to,
              line   ? ":%llu\n"
              : code ? "+0x%llx\n"
                     : "0x%llx (in no module)\n",
              (unsigned long long)(line ? f->line : f->offset));
  }
  run_symbols_free(symbols);
  vec_done(&frames);
  arena_done(&arena);
}

/* What the command wrote goes where it would have gone; what murphy says of it, to standard error. */
static int tell_result(struct job *job, const struct again_result *a, struct err *e) {
  const struct observe_stream *streams = a->run.seen.streams;
  bool again = a->failed;
  struct text t = {0};
  int r = cmd_write(STDOUT_FILENO, streams[OBSERVE_OUT].at, streams[OBSERVE_OUT].n);
  if (r < 0) return err_set(e, r, "standard output: %s", strerror(-r));
  (void)cmd_write(STDERR_FILENO, streams[OBSERVE_ERROR].at, streams[OBSERVE_ERROR].n);
  int signal = campaign_signal(&a->run);
  const char *name = signal ? signal_name(signal) : NULL;
  text_addf(&t, "murphy: %s%s%s%s: ", outcome_words[a->outcome], name ? " (" : "", name ? name : "", name ? ")" : "");
  text_add(&t, again ? strcmp(outcome_words[a->outcome], job->known.is.kind) == 0 ? "it came again"
                                                                                  : "it came again, in another way"
                     : "it did not come again");
  if (again && a->tries > 1) text_addf(&t, ", in run %u of %d", a->tries, AGAIN_TRIES);
  text_add(&t, "\n");
  if (again) add_crash(job, &a->run, &t);
  if (a->outcome == OUTCOME_SILENT && a->difference.n) text_add(&t, a->difference.at);
  r = cmd_report(&t, e);
  text_done(&t);
  return r < 0 ? r : again ? EXIT_FINDINGS : EXIT_NOTHING;
}

/* The program, runs of it without faults, and where the finding's call is in them. */
static int prepare(struct job *job, struct err *e) {
  struct test_scope *scope = &job->known.subject.scope;
  scope->functions.n = scope->errnos.n = scope->sites.n = 0;
  const char *first = job->known.is.first.function;
  if (vec_push(&scope->functions, job->known.is.function) < 0 || (first && vec_push(&scope->functions, first) < 0))
    return err_set(e, -ENOMEM, "out of memory");
  job->setup.hidden = job->hidden;
  int r = replay_space(&job->setup, &job->known.subject, e);
  if (r < 0 && r != -ENODATA) return r;
  tell_change(job);
  test_environment_complain(job->known.environment);
  if (r >= 0) r = test_setup_labs(&job->setup, 1, e);
  if (r >= 0) r = test_setup_points(&job->setup, e);
  return r;
}

static int replay(struct job *job, struct err *e) {
  struct again_result a = {0};
  int r = prepare(job, e);
  if (r < 0 && r != -ENODATA) return r;
  if (r >= 0) r = again_locate(&job->setup, &job->known.is, &job->again, e);
  if (r < 0 && r != -ENODATA && r != -ENOENT) return r;
  if (r < 0) {
    cmd_complain("the call is not made any more, so it cannot fail");
    return EXIT_NOTHING;
  }
  if (job->gdb) {
    size_t n = job->args->n_before;
    return replay_gdb(&job->setup, &job->again.order, job->args->operands.at + n, job->args->operands.n - n, e);
  }
  job->again.order.trace = campaign_traced(outcome_named(job->known.is.kind));
  r = again_run(&job->setup, &job->again, &a, e);
  if (r < 0) return r;
  if (a.outcome == OUTCOME_SANITIZER) r = lab_take_stack(job->setup.labs.at[0], &job->again.order, &a.run, e);
  if (r < 0) {
    again_result_done(&a);
    return r;
  }
  r = tell_result(job, &a, e);
  again_result_done(&a);
  return r;
}

int cmd_replay_run(const struct cmd_args *args, struct err *e) {
  struct job job = {.args = args, .campaign = ".murphy"};
  int r = read_options(&job, e);
  test_catch_signals(NULL);
  if (r >= 0) r = replay(&job, e);
  if (*test_interrupted()) r = 128 + *test_interrupted();
  job_done(&job);
  test_release_signals();
  return r;
}
