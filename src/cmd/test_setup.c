/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a command is tested: its fault space, the labs, the baseline. And how all of that ends when somebody wants
 * murphy to end.
 */
#include "cmd/test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- signals ------------------------------------------------------------------------------------------------------ */

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
static struct sigaction before[COUNT(signals)];
static volatile int interrupted;
static pid_t own;
static const char *removed;
/* The handler reads these; labs are added behind the last one, and n is set after that. */
static struct lab *stoppable[260];
static volatile sig_atomic_t n_stoppable, something_to_lose;

volatile int *test_interrupted(void) { return &interrupted; }

/* The sandbox's processes have this handler too, as copies of murphy, and must go on. */
static void on_signal(int number) {
  if (getpid() != own) return;
  interrupted = number;
  if (!something_to_lose) {
    if (removed) (void)rmdir(removed);
    _exit(128 + number);
  }
  for (int i = 0; i < n_stoppable; i++)
    lab_stop(stoppable[i]);
}

void test_catch_signals(const char *folder) {
  struct sigaction action = {.sa_handler = on_signal};
  own = getpid();
  removed = folder;
  interrupted = 0;
  for (size_t i = 0; i < COUNT(signals); i++) {
    (void)sigaction(signals[i], NULL, &before[i]);
    /* Who was started with a signal ignored, as under nohup, is to go on ignoring it. */
    if (before[i].sa_handler != SIG_IGN) (void)sigaction(signals[i], &action, NULL);
  }
}

void test_release_signals(void) {
  if (own == 0) return; /* they were not caught */
  n_stoppable = something_to_lose = 0;
  own = 0;
  removed = NULL;
  for (size_t i = 0; i < COUNT(signals); i++)
    (void)sigaction(signals[i], &before[i], NULL);
}

static void add_stoppable(struct lab *l) {
  if ((size_t)n_stoppable == COUNT(stoppable)) return;
  stoppable[n_stoppable] = l;
  n_stoppable++;
  if (interrupted) lab_stop(l); /* the signal came before this one could be found */
}

/* --- making it ---------------------------------------------------------------------------------------------------- */

/* A campaign in the command's own folder stays visible: there would be no folder to run in. */
static const char *hidden_for(const struct test_setup *s) {
  size_t n = s->hidden ? strlen(s->hidden) : 0;
  bool above = n && strncmp(s->is->cwd, s->hidden, n) == 0 && (s->is->cwd[n] == '/' || !s->is->cwd[n]);
  return above ? NULL : s->hidden;
}

/* Sanitizers map more than any machine has, and are in the program itself with some compilers. */
static bool is_sanitized(const struct test_space *s) {
  static const char *const names[] = {"__asan_init", "__hwasan_init", "__msan_init", "__tsan_init"};
  if (s->modules.sanitizer) return true;
  for (size_t i = 0; i < COUNT(names) && s->modules.modules.n; i++)
    if (image_export(s->modules.modules.at[0].image, names[i], NULL)) return true;
  return false;
}

/* More than a process should need, and less than would stop all others. */
static struct sandbox_limits limits_for(const struct test_space *s) {
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  uint64_t memory = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 8 : 0;
  if (memory && memory < 1u << 30) memory = 1u << 30;
  return (struct sandbox_limits){
      .file_size = CAMPAIGN_FILE_SIZE, .processes = 512, .disk = 1024u << 20, .memory = is_sanitized(s) ? 0 : memory};
}

/* What all labs have in common. */
static struct lab_request lab_for(const struct test_setup *s) {
  return (struct lab_request){.target = &s->space.target,
                              .cwd = s->is->cwd,
                              .envp = environ,
                              .input = s->is->input,
                              .before_asan = s->space.modules.asan,
                              .limits = limits_for(&s->space),
                              .hidden = hidden_for(s),
                              .histories = s->space.histories.at,
                              .n_histories = s->space.histories.n,
                              .bare = s->is->no_sandbox};
}

/* Whoever may not make a sandbox cannot make the experiment. */
static int refuse_lab(int r) { return r == -EPERM || r == -ENOSPC || r == -EACCES || r == -ENODEV ? -ECANCELED : r; }

/* One run without faults and without a shim, under the supervisor, which sees all that is started. */
static int look_around(struct test_setup *s, struct err *e) {
  struct lab_order order = {.wall_ns = s->is->timeout_ns};
  struct lab_request request = lab_for(s);
  struct lab_result result = {0};
  struct lab *l = NULL;
  test_stage("running the command to see what it starts");
  request.watch = true;
  something_to_lose = 1;
  int r = lab_new(&request, &l, e);
  if (r >= 0) {
    add_stoppable(l);
    r = lab_run(l, &order, &result, e);
    n_stoppable = 0;
  }
  if (r >= 0 && result.why[0]) text_addf(&s->space.notes, "%s\n", result.why);
  if (r >= 0 && !s->is->scope.follow) result.tree.n_programs = 0;
  if (r >= 0) r = test_space_follow(&s->space, &s->is->scope, &result.tree, e);
  /* The leak sanitizer wants to be the only one who traces, and ends a program that somebody else does. */
  if (is_sanitized(&s->space)) s->space.watch = false;
  lab_result_done(&result);
  lab_free(l);
  return refuse_lab(r);
}

/* PROCESSOR: as in struct lab_request. */
static int make_lab(struct test_setup *s, bool points, unsigned processor, struct lab **ret, struct err *e) {
  struct lab_request request = lab_for(s);
  request.points = points;
  request.fork = !points && !s->is->no_sandbox;
  request.watch = s->space.watch;
  request.injectors = test_injectors(&s->space);
  request.processor = processor;
  if (interrupted) return err_set(e, -EINTR, "interrupted");
  int r = lab_new(&request, ret, e);
  if (r >= 0) add_stoppable(*ret);
  return refuse_lab(r);
}

/* Does the scope name what a library may have that is not known yet? */
static bool is_narrow(const struct test_scope *scope) {
  return scope->from.n || scope->functions.n || scope->errnos.n || scope->sites.n;
}

/* One run without faults and without a scope, if the command may open libraries: which it does. */
static int look_for_libraries(struct test_setup *s, struct err *e) {
  const struct test_scope all = {.follow = s->is->scope.follow, .system = s->is->scope.system};
  struct lab_order order = {.wall_ns = s->is->timeout_ns};
  struct lab_result result = {0};
  struct lab *l = NULL;
  bool opens = false;
  int r = scenario_opens(s->data, s->space.modules.functions.at, s->space.modules.functions.n, &opens, e);
  if (r < 0 || !opens) return r;
  test_stage("running the command to see what it opens");
  r = test_space_fill(&all, &s->space, e);
  if (r == -ENODATA) return 0;
  something_to_lose = 1;
  if (r >= 0) r = make_lab(s, true, 0, &l, e);
  if (r >= 0) r = lab_run(l, &order, &result, e);
  n_stoppable = 0;
  if (r >= 0) r = test_space_take_opened(&s->space, s->is, lab_area(l), &opens, e);
  lab_result_done(&result);
  lab_free(l);
  return refuse_lab(r);
}

static const char stage_reading[] = "reading which errors its libraries return";

int test_setup_space(struct test_setup *s, const struct test_subject *subject, struct err *e) {
  s->is = subject;
  int r = installed_data_dir(&s->data);
  if (r >= 0) r = installed_runtime(&s->runtime);
  if (r < 0) return r;
  if (access(s->runtime, R_OK) < 0)
    return err_set(e, -ECANCELED, "%s: %s (murphy is not completely installed)", s->runtime, strerror(errno));
  s->space.data = s->data;
  s->space.runtime = s->runtime;
  bool starts = false;
  test_stage("reading the program");
  r = test_space_open(subject->command.at, &s->space, &starts, e);
  if (r >= 0 && starts) r = look_around(s, e);
  if (r >= 0) r = test_space_add_opened(&s->space, &subject->scope, e);
  if (r >= 0 && is_narrow(&subject->scope)) r = look_for_libraries(s, e);
  test_stage(stage_reading);
  if (r >= 0) r = test_space_refill(&subject->scope, &s->space, e);
  if (r < 0) return r;
  if (s->space.faults.n == 0)
    return err_set(e, -ENODATA, "%s calls nothing that could fail in this way", s->space.target.path);
  return 0;
}

static int make_labs(struct test_setup *s, unsigned n, struct err *e) {
  const struct processors processors = processors_now();
  int r = make_lab(s, true, 0, &s->recorder, e);
  for (unsigned i = 0; i < n && r >= 0; i++) {
    struct lab *l = NULL;
    r = make_lab(s, false, processors_pick(&processors, i), &l, e);
    if (r >= 0 && vec_push(&s->labs, l) < 0) {
      lab_free(l);
      r = -ENOMEM;
    }
  }
  return r;
}

int test_setup_labs(struct test_setup *s, unsigned n, struct err *e) {
  something_to_lose = 1;
  if (s->is->no_sandbox)
    test_complain(
        "there is no sandbox: the command changes files as it likes, and what it does to them is not compared");
  return make_labs(s, n, e);
}

struct judging {
  struct test_space *space;
  struct err e;
  int r;
};

static void *judge(void *context) {
  struct judging *j = context;
  j->r = test_space_judge(j->space, &j->e);
  return NULL;
}

/* All sandboxes have the same standard input. Who locks it would be in the way of others at the same time. */
static void keep_one_lab(struct test_setup *s) {
  bool locked = false;
  for (size_t i = 0; i < s->baseline.n; i++)
    locked |= s->baseline.runs[i].locked;
  if (!locked || s->labs.n < 2) return;
  n_stoppable = 0;
  while (s->labs.n > 1)
    lab_free(s->labs.at[--s->labs.n]);
  add_stoppable(s->recorder);
  add_stoppable(s->labs.at[0]);
}

/* Meanwhile the calls of the program are looked at: the runs are other processes, which wait for nothing here. */
static int make_baseline(struct test_setup *s, struct err *e) {
  struct judging j = {.space = &s->space};
  pthread_t thread;
  bool beside = pthread_create(&thread, NULL, judge, &j) == 0;
  s->has_baseline = true;
  test_stage("running the command without faults");
  int r = baseline_make(s->recorder, s->is->timeout_ns, &s->baseline, e);
  if (r >= 0) keep_one_lab(s);
  for (size_t i = 0; i < s->labs.n; i++)
    lab_empty_in_place(s->labs.at[i], &s->baseline.in_place);
  test_stage("looking which of its calls are checked");
  if (beside)
    (void)pthread_join(thread, NULL);
  else
    (void)judge(&j);
  if (r >= 0 && j.r < 0 && e) *e = j.e;
  if (r >= 0) r = j.r;
  return r;
}

static void drop_labs(struct test_setup *s) {
  n_stoppable = 0;
  lab_free(s->recorder);
  s->recorder = NULL;
  for (size_t i = 0; i < s->labs.n; i++)
    lab_free(s->labs.at[i]);
  vec_done(&s->labs);
  if (s->has_baseline) baseline_done(&s->baseline);
  s->has_baseline = false;
}

/* The plan lacks what the libraries import that came to light. */
static int begin_again(struct test_setup *s, struct err *e) {
  unsigned n = (unsigned)s->labs.n;
  drop_labs(s);
  test_stage(stage_reading);
  int r = test_space_refill(&s->is->scope, &s->space, e);
  if (r >= 0) r = make_labs(s, n, e);
  return r < 0 ? r : make_baseline(s, e);
}

int test_setup_points(struct test_setup *s, struct err *e) {
  bool more = false;
  int r = make_baseline(s, e);
  if (r >= 0) r = test_space_take_opened(&s->space, s->is, lab_area(s->recorder), &more, e);
  if (r >= 0 && more) r = begin_again(s, e);
  return r < 0 ? r : test_take_points(&s->space, s->recorder, e);
}

uint64_t test_setup_wall(const struct test_setup *s) { return s->baseline.wall_ns * 10 + 1000000000u; }

void test_setup_done(struct test_setup *s) {
  something_to_lose = 1; /* a signal is only remembered from now on */
  drop_labs(s);
  test_space_done(&s->space);
  free(s->data);
  free(s->runtime);
}
