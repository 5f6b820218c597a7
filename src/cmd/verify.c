/* SPDX-License-Identifier: Apache-2.0 */
/*
 * murphy verify: repeats all findings of a campaign, and says which are gone.
 */
#include "cmd/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct job {
  const char *campaign;
  char *folder; /* absolute */
  bool json;
  VEC(int64_t) ids;
  VEC(struct test_known) known;
  struct test_subject *subject; /* of the first: it is the same for all */
  struct test_setup setup;
  struct text out;
  bool calls; /* the program still calls some function of a finding */
  size_t left;
};

static void job_done(struct job *job) {
  test_setup_done(&job->setup);
  for (size_t i = 0; i < job->known.n; i++)
    test_known_done(&job->known.at[i]);
  vec_done(&job->known);
  vec_done(&job->ids);
  text_done(&job->out);
  free(job->folder);
}

static int read_options(struct job *job, const struct cmd_args *args, struct err *e) {
  for (size_t i = 0; i < args->options.n; i++) {
    if (args->options.at[i].option->id == OPT_VERIFY_CAMPAIGN) job->campaign = args->options.at[i].value;
    if (args->options.at[i].option->id == OPT_VERIFY_FORMAT) job->json = strcmp(args->options.at[i].value, "json") == 0;
  }
  return args->operands.n
             ? err_set(e, -EINVAL, "verify repeats all findings (murphy replay %s repeats one)", args->operands.at[0])
             : 0;
}

/* --- the findings ------------------------------------------------------------------------------------------------- */

static int take_id(void *context, const struct store_finding *f) {
  struct job *job = context;
  return vec_push(&job->ids, f->id);
}

static int load_one(struct job *job, int64_t id, struct err *e) {
  char *folder = NULL, *path = NULL;
  struct test_known known;
  int r = store_folder_finding(job->folder, id, false, &folder, e);
  if (r < 0) return r;
  if (asprintf(&path, "%s/finding.json", folder) < 0) {
    path = NULL;
    r = err_set(e, -ENOMEM, "out of memory");
  }
  if (r == 0) r = test_finding_load(path, &known, e);
  if (r == 0 && vec_push(&job->known, known) < 0) {
    test_known_done(&known);
    r = err_set(e, -ENOMEM, "out of memory");
  }
  free(folder);
  free(path);
  return r;
}

static int load_all(struct job *job, struct err *e) {
  struct store *store = NULL;
  int r = store_open(job->campaign, false, &store, e);
  if (r == 0) r = store_findings(store, take_id, job, e);
  store_close(store);
  if (r < 0) return r;
  job->folder = realpath(job->campaign, NULL);
  if (!job->folder) return err_set(e, -errno, "%s: %m", job->campaign);
  for (size_t i = 0; i < job->ids.n && r == 0; i++)
    r = load_one(job, job->ids.at[i], e);
  return r;
}

static int add_function(struct test_scope *scope, const char *name) {
  return name ? vec_push(&scope->functions, name) : 0;
}

/* One space for all: the functions that some finding is about. */
static int prepare(struct job *job, struct err *e) {
  struct test_scope *scope = &job->subject->scope;
  scope->functions.n = scope->errnos.n = scope->sites.n = 0;
  for (size_t i = 0; i < job->known.n; i++)
    if (add_function(scope, job->known.at[i].is.function) < 0 ||
        add_function(scope, job->known.at[i].is.first.function) < 0)
      return err_set(e, -ENOMEM, "out of memory");
  job->setup.hidden = job->folder;
  int r = replay_space(&job->setup, job->subject, e);
  if (r >= 0) r = test_setup_labs(&job->setup, 1, e);
  return r < 0 ? r : test_setup_points(&job->setup, e);
}

/* --- what became of them ------------------------------------------------------------------------------------------ */

static void tell(struct job *job, const struct test_finding *f, const struct again_result *a, const char *how) {
  bool left = a && a->failed;
  unsigned tries = a ? a->tries : 0;
  job->left += left;
  if (job->json) {
    text_addf(&job->out, "%s{\"id\":%" PRId64 ",\"kind\":\"%s\",\"left\":%s,\"outcome\":\"%s\",\"tries\":%u}",
              job->out.n ? "," : "", f->id, f->kind, left ? "true" : "false", how, tries);
    return;
  }
  text_addf(&job->out, "finding %" PRId64 ": ", f->id);
  test_finding_title(f, &job->out);
  text_addf(&job->out, ": %s (%s", left ? "still there" : "gone", how);
  if (left && tries > 1) text_addf(&job->out, ", in run %u of %d", tries, AGAIN_TRIES);
  text_add(&job->out, ")\n");
}

static int verify_one(struct job *job, const struct test_finding *f, struct err *e) {
  struct again again = {0};
  struct again_result a;
  int r = job->calls ? again_locate(&job->setup, f, &again, e) : -ENOENT;
  bool there = r != -ENOENT;
  if (r == 0) r = again_run(&job->setup, &again, &a, e);
  again_done(&again);
  if (!there) tell(job, f, NULL, job->json ? "unreached" : "the call is not made any more");
  if (r < 0) return there ? r : 0;
  tell(job, f, &a, outcome_words[a.outcome]);
  again_result_done(&a);
  return 0;
}

static int print(struct job *job, struct err *e) {
  struct text t = {0};
  size_t n = job->known.n;
  const char *all = job->out.at ? job->out.at : "";
  if (job->json)
    text_addf(&t, "{\"findings\":[%s],\"left\":%zu,\"gone\":%zu}\n", all, job->left, n - job->left);
  else
    text_addf(&t, "%s%zu of %zu finding%s left\n", all, job->left, n, n == 1 ? "" : "s");
  int r = job->out.failed ? err_set(e, -ENOMEM, "out of memory") : cmd_print(&t, e);
  text_done(&t);
  return r;
}

/* Findings of a campaign that was resumed may be of several environments; each is compared once. */
static void compare_environments(const struct job *job) {
  for (size_t i = 0; i < job->known.n; i++) {
    json_t *kept = job->known.at[i].environment;
    bool known = false;
    for (size_t k = 0; k < i && !known; k++)
      known = json_equal(kept, job->known.at[k].environment);
    if (!known) test_environment_complain(kept);
  }
}

static int verify(struct job *job, struct err *e) {
  int r = load_all(job, e);
  if (r < 0) return r;
  if (job->known.n) {
    job->subject = &job->known.at[0].subject;
    compare_environments(job);
    r = prepare(job, e);
    job->calls = r >= 0;
    if (r == -ENODATA) r = 0;
  }
  for (size_t i = 0; i < job->known.n && r >= 0; i++)
    r = verify_one(job, &job->known.at[i].is, e);
  if (r >= 0) r = print(job, e);
  return r < 0 ? r : job->left ? EXIT_FINDINGS : EXIT_NOTHING;
}

int cmd_verify_run(const struct cmd_args *args, struct err *e) {
  struct job job = {.campaign = ".murphy"};
  int r = read_options(&job, args, e);
  test_catch_signals(NULL);
  if (r >= 0) r = verify(&job, e);
  if (*test_interrupted()) r = 128 + *test_interrupted();
  job_done(&job);
  test_release_signals();
  return r;
}
