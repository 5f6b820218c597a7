/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sandbox with a shim and an area of its own. Runs follow each other in it, each with another order in the area.
 */
#include "campaign/campaign.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* More of an output than this is not compared. */
enum { OUTPUT_MAX = 16 << 20 };
/* A fork server that was lost is started anew so often. */
enum { TRIES = 8 };
/* All files that a run is given. */
enum stream { STREAM_IN, STREAM_OUT, STREAM_ERROR, STREAM_CHILD_OUT, STREAM_CHILD_ERROR, STREAMS };

struct lab {
  struct run_folder folder;
  char *stage;
  struct run_area area;
  struct sandbox *sandbox;
  struct text preload;
  VEC(char *) environment; /* strings of the caller's, but for the one at `own` */
  size_t own;
  char *caches[2]; /* the user's folders for what can be made again; NULL where the command works in it */
  char *home;      /* likewise, for files that match the patterns */
  const char *const *histories;
  size_t n_histories;
  int in, out, error;
  int child_out, child_error; /* of branches */
  mode_t mode;        /* of files in memory, at first: whether they may be programs is a setting of the kernel */
  int given[STREAMS]; /* the same files, opened anew for the run: its flags, position and locks end with it */
  bool fork, watch, bare;
  struct sandbox_places in_place; /* lab_empty_in_place */
  unsigned processor;             /* as in the request */
  const struct injector *const *injectors;
  size_t n_armed;          /* injections of the run, or of the trunk */
  struct wire_event *came; /* WIRE_ORDERS: the first event by each of them, */
  bool has[WIRE_ORDERS];   /* ... if it came */
  bool proved, unlike;     /* runs from which others branch look as without; or do not, and there will be none */
  char what[160];          /* ... in what they do not */
  bool unforked;           /* nor do forks: all runs are made from the start */
};

const char *const lab_mode_words[LAB_MODES] = {[LAB_EXEC] = "exec", [LAB_FORK] = "fork", [LAB_BRANCH] = "branch"};

/* --- making it ---------------------------------------------------------------------------------------------------- */

static int make_environment(struct lab *l, char *const *envp) {
  char *own = NULL;
  if (asprintf(&own, "LD_PRELOAD=%s", l->preload.at) < 0) return -ENOMEM;
  l->own = 0;
  int r = vec_push(&l->environment, own);
  if (r < 0) {
    free(own);
    return r;
  }
  for (; *envp && r == 0; envp++)
    if (strncmp(*envp, "LD_PRELOAD=", 11) != 0) r = vec_push(&l->environment, *envp);
  return r < 0 ? r : vec_push(&l->environment, NULL);
}

static const char *find_variable(char *const *envp, const char *name) {
  size_t n = strlen(name);
  for (; *envp; envp++)
    if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=') return *envp + n + 1;
  return NULL;
}

static bool is_below(const char *path, const char *folder) {
  size_t n = strlen(folder);
  return path && strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* The folder that the variable names, or one below it; NULL if it names none. */
static int find_folder(char *const *envp, const char *variable, const char *below, char **ret) {
  const char *folder = find_variable(envp, variable);
  *ret = NULL;
  if (!folder || *folder != '/') return 0;
  int n = (int)strlen(folder);
  while (n > 1 && folder[n - 1] == '/')
    n--;
  return asprintf(ret, "%.*s%s", n, folder, below) < 0 ? -ENOMEM : 0;
}

/* As the XDG Base Directory Specification has it; many programs do not look at the variable. */
static int find_caches(struct lab *l, char *const *envp, const char *cwd) {
  static const struct {
    const char *variable, *below;
  } places[COUNT(l->caches)] = {{"XDG_CACHE_HOME", ""}, {"HOME", "/.cache"}};
  for (size_t i = 0; i < COUNT(places); i++) {
    char *cache;
    int r = find_folder(envp, places[i].variable, places[i].below, &cache);
    if (r < 0) return r;
    if (cache && is_below(cwd, cache))
      free(cache);
    else
      l->caches[i] = cache;
  }
  return 0;
}

static int find_histories(struct lab *l, const struct lab_request *request) {
  char *home;
  int r = find_folder(request->envp, "HOME", "", &home);
  if (r < 0) return r;
  if (home && request->cwd && strcmp(request->cwd, home) == 0)
    free(home);
  else
    l->home = home;
  l->histories = request->histories;
  l->n_histories = request->n_histories;
  return 0;
}

static int make_files(struct lab *l, const char *input, struct err *e) {
  const char *path = input ? input : "/dev/null";
  l->in = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (l->in < 0) return err_set(e, -errno, "%s: %m", path);
  l->out = memfd_create("output", MFD_CLOEXEC);
  l->error = memfd_create("error", MFD_CLOEXEC);
  l->child_out = memfd_create("output", MFD_CLOEXEC);
  l->child_error = memfd_create("error", MFD_CLOEXEC);
  struct stat st;
  if (l->out < 0 || l->error < 0 || l->child_out < 0 || l->child_error < 0 || fstat(l->out, &st) < 0)
    return err_set(e, -errno, "cannot make a file in memory: %m");
  l->mode = st.st_mode & 07777;
  return 0;
}

static int write_shim(struct lab *l, const struct lab_request *request, struct err *e) {
  struct text shim = {0};
  const struct injector *with = request->injectors ? request->injectors[0] : NULL;
  int r = 0;
  if (with) r = with->prepare(with->self, request->points, l->folder.area, l->folder.shim, &shim, &l->preload, e);
  if (!with) text_add(&l->preload, "");
  if (r >= 0 && l->preload.failed) r = err_set(e, -ENOMEM, "out of memory");
  if (r >= 0) r = run_folder_write(&l->folder, &shim, e);
  text_done(&shim);
  return r;
}

static int make_sandbox(struct lab *l, const struct lab_request *request, struct err *e) {
  struct sandbox_options options = {
      .folder = l->stage,
      .shared = l->folder.path,
      .cwd = request->cwd,
      .path = request->target->path,
      .argv = request->target->argv,
      .envp = l->environment.at,
      .limits = request->limits,
      .input = request->input,
      .hidden = request->hidden,
      .bare = request->bare,
      .processor = l->processor,
  };
  return sandbox_new(&options, &l->sandbox, e);
}

/* In the run's folder, which is cleaned up by the next murphy if this one is killed. */
static int make_stage(struct lab *l, struct err *e) {
  if (asprintf(&l->stage, "%s/%s", l->folder.path, RUN_FOLDER_STAGE) < 0) {
    l->stage = NULL;
    return err_set(e, -ENOMEM, "out of memory");
  }
  return mkdir(l->stage, 0700) < 0 ? err_set(e, -errno, "%s: %m", l->stage) : 0;
}

static int build(struct lab *l, const struct lab_request *request, struct err *e) {
  int r = run_folder_make(request->before_asan, &l->folder, e);
  if (r >= 0) r = make_stage(l, e);
  const struct injector *with = request->injectors ? request->injectors[0] : NULL;
  size_t n_functions = with ? with->functions(with->self) : 0;
  if (r >= 0) r = run_area_make(l->folder.area, n_functions, request->points, &l->area, e);
  if (r >= 0) r = write_shim(l, request, e);
  if (r >= 0) r = make_environment(l, request->envp);
  if (r >= 0) r = find_caches(l, request->envp, request->cwd);
  if (r >= 0) r = find_histories(l, request);
  if (r >= 0) r = make_files(l, request->input, e);
  return r < 0 ? r : make_sandbox(l, request, e);
}

int lab_new(const struct lab_request *request, struct lab **ret, struct err *e) {
  struct lab *l = calloc(1, sizeof *l);
  if (!l) return err_set(e, -ENOMEM, "out of memory");
  l->in = l->out = l->error = l->child_out = l->child_error = -1;
  for (size_t i = 0; i < STREAMS; i++)
    l->given[i] = -1;
  l->fork = request->fork && !request->watch;
  l->watch = request->watch;
  l->bare = request->bare;
  l->processor = request->bare ? 0 : request->processor;
  l->injectors = request->injectors;
  l->came = calloc(WIRE_ORDERS, sizeof *l->came);
  if (!l->came) {
    lab_free(l);
    return err_set(e, -ENOMEM, "out of memory");
  }
  int r = build(l, request, e);
  if (r < 0) {
    lab_free(l);
    return r;
  }
  *ret = l;
  return 0;
}

static void take_back(struct lab *l) {
  for (size_t i = 0; i < STREAMS; i++) {
    if (l->given[i] >= 0) (void)close(l->given[i]);
    l->given[i] = -1;
  }
}

void lab_free(struct lab *l) {
  if (!l) return;
  sandbox_free(l->sandbox);
  run_area_done(&l->area);
  if (l->stage) (void)rmdir(l->stage);
  free(l->stage);
  for (size_t i = 0; i < COUNT(l->caches); i++)
    free(l->caches[i]);
  free(l->home);
  free(l->came);
  run_folder_done(&l->folder);
  if (l->environment.n) free(l->environment.at[l->own]);
  vec_done(&l->environment);
  text_done(&l->preload);
  take_back(l);
  const int files[] = {l->in, l->out, l->error, l->child_out, l->child_error};
  for (size_t i = 0; i < COUNT(files); i++)
    if (files[i] >= 0) (void)close(files[i]);
  free(l);
}

struct processors lab_settle(const struct lab *l) {
  struct processors before = {0};
  if (!l->processor) return before;
  before = processors_now();
  if (before.known) processors_keep_to(0, l->processor);
  return before;
}

void lab_leave(const struct processors *before) { processors_use(before); }

void lab_empty_in_place(struct lab *l, const struct sandbox_places *places) { l->in_place = *places; }

void lab_stop(const struct lab *l) {
  if (l->sandbox) sandbox_stop(l->sandbox);
}

const char *lab_note(const struct lab *l) { return sandbox_note(l->sandbox); }

bool lab_is_bare(const struct lab *l) { return l->bare; }

const struct run_area *lab_area(const struct lab *l) { return &l->area; }

/* --- a run -------------------------------------------------------------------------------------------------------- */

/* All processes of the run before have ended, so nobody reads or writes these. */
static int empty_file(int fd, mode_t mode, struct err *e) {
  struct stat st;
  int r = fstat(fd, &st);
  if (r == 0 && (st.st_uid != geteuid() || st.st_gid != getegid())) r = fchown(fd, geteuid(), getegid());
  if (r == 0 && (st.st_mode & 07777) != mode) r = fchmod(fd, mode);
  if (r == 0) r = ftruncate(fd, 0);
  return r < 0 ? err_set(e, -errno, "cannot empty a file in memory: %m") : 0;
}

/* A pipe or a terminal is only there once. */
static int open_anew(int fd, int how, struct err *e) {
  char path[32];
  struct stat st;
  int r = fstat(fd, &st);
  bool again = r == 0 && (S_ISREG(st.st_mode) || (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)));
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  if (r == 0) r = again ? open(path, how | O_CLOEXEC | O_NOCTTY) : fcntl(fd, F_DUPFD_CLOEXEC, 3);
  return r < 0 ? err_set(e, -errno, "cannot open %s: %m", path) : r;
}

/* The first N of them: only trunks need all. */
static int give_files(struct lab *l, size_t n, struct err *e) {
  const int files[STREAMS] = {l->in, l->out, l->error, l->child_out, l->child_error};
  int r = 0;
  take_back(l);
  for (size_t i = STREAM_OUT; i < n && r == 0; i++)
    r = empty_file(files[i], l->mode, e);
  for (size_t i = 0; i < n && r == 0; i++) {
    l->given[i] = open_anew(files[i], i == STREAM_IN ? O_RDONLY : O_RDWR, e);
    if (l->given[i] < 0) r = l->given[i];
  }
  return r;
}

static struct wire_order order_of(const struct lab *l, const struct injection *i) {
  const struct injector *with = l->injectors[i->injector];
  return with->order(with->self, i);
}

/* N of the injections, of which a branch may add one more. */
static int arm(struct lab *l, const struct injection *injections, size_t n, struct err *e) {
  struct wire_area *area = l->area.at;
  if (n >= WIRE_ORDERS)
    return err_set(e, -E2BIG, "an experiment has %zu injections (at most %d are possible)", n, WIRE_ORDERS - 1);
  for (size_t i = 0; i < n; i++)
    area->orders[i] = order_of(l, &injections[i]);
  area->n_orders = (uint32_t)n;
  l->n_armed = n;
  memset(l->has, 0, sizeof l->has);
  return 0;
}

static int see_files(struct lab *l, const struct sandbox_result *from, struct observation *to) {
  int r = 0;
  for (size_t i = 0; i < from->n_layers && r == 0; i++)
    r = observe_layer(to, from->layers[i].at, from->layers[i].fd, l->folder.path);
  for (size_t i = 0; i < COUNT(l->caches); i++)
    if (l->caches[i]) observe_spare(to, l->caches[i]);
  if (l->home) observe_spare_named(to, l->home, l->histories, l->n_histories);
  observe_finish(to);
  return r;
}

/*
 * The first event by each order. OWN: the run is a branch, with one order more than the trunk; what comes behind its
 * own event is the branch's alone, and not there for the next one.
 */
static int take_events(struct lab *l, bool own, struct lab_result *ret) {
  const size_t n = l->n_armed + own;
  bool branched = false, has[WIRE_ORDERS];
  struct wire_event event;
  memcpy(has, l->has, sizeof has);
  while (run_area_take(&l->area, &event)) {
    size_t i = event.order ? event.order - 1 : n;
    if (i >= n || has[i]) continue;
    l->came[i] = event;
    has[i] = true;
    branched |= own && i == l->n_armed;
    if (!branched) l->has[i] = true;
  }
  ret->injected = n > 0;
  for (size_t i = 0; i < n; i++)
    ret->injected &= has[i];
  if (n == 0) return 0;
  ret->events = calloc(n, sizeof *ret->events);
  if (!ret->events) return -ENOMEM;
  ret->n_events = n;
  for (size_t i = 0; i < n; i++)
    if (has[i]) ret->events[i] = l->came[i];
  return 0;
}

/* A command that has damaged the area shows nothing of what was injected; the next run has a whole one again. */
static int see_events(struct lab *l, bool own, struct lab_result *ret) {
  int r = run_area_drain(&l->area, true);
  if (r == -EIO) return 0;
  if (r == 0) r = take_events(l, own, ret);
  if (r < 0) return r;
  struct run_totals totals;
  ret->attached = run_area_totals(&l->area, &totals) >= 0 && totals.attached;
  return 0;
}

/* Where the command was: what it does in murphy's own library, between a call and its failure, tells nothing. */
static void see_stack(const struct lab *l, const struct sandbox_result *from, struct lab_result *ret) {
  for (size_t i = 0; i < from->n_frames; i++) {
    const char *path = from->frames[i].path, *slash = strrchr(path, '/');
    if (strcmp(path, l->folder.shim) == 0 || strcmp(slash ? slash + 1 : path, "libmurphy-rt.so") == 0) continue;
    ret->frames[ret->n_frames++] = from->frames[i];
  }
}

/* What was started, as far as there is any: most runs have no names of programs, and room for many. */
static void see_tree(const struct sandbox_tree *from, struct sandbox_tree *to) {
  to->forks = from->forks;
  to->again = from->again;
  to->died = from->died;
  to->n_programs = from->n_programs;
  to->more = from->more;
  memcpy(to->programs, from->programs, from->n_programs * sizeof from->programs[0]);
}

/* OWN: as of take_events. */
static int see(struct lab *l, const struct sandbox_result *from, bool own, struct lab_result *ret, struct err *e) {
  const int out = own ? l->child_out : l->out, error = own ? l->child_error : l->error;
  struct observation *seen = &ret->seen;
  seen->status = from->status;
  int r = observe_stream(seen, OBSERVE_OUT, out, OUTPUT_MAX);
  if (r == 0) r = observe_stream(seen, OBSERVE_ERROR, error, OUTPUT_MAX);
  if (r == 0) r = see_files(l, from, seen);
  if (r == 0) r = see_events(l, own, ret);
  if (r < 0) return err_set(e, r, "cannot read what the command left behind: %s", strerror(-r));
  ret->timed_out = from->timed_out;
  ret->locked = from->locked;
  ret->wall_ns = from->wall_ns;
  ret->asks_ns = from->asks_ns;
  ret->left = from->left;
  see_tree(&from->tree, &ret->tree);
  ret->memory = (uint64_t)from->usage.ru_maxrss * 1024;
  see_stack(l, from, ret);
  return 0;
}

/* Everything is as before the first run. */
static int prepare(struct lab *l, const struct experiment *x, bool fork, size_t n_streams, struct err *e) {
  int r = run_area_reset(&l->area, e);
  if (r == 0) r = give_files(l, n_streams, e);
  if (r == 0) r = arm(l, x->injections, x->n, e);
  if (r < 0) return r;
  l->area.at->server.version = fork ? WIRE_SERVER_VERSION : 0;
  return 0;
}

/* Frames and names of programs mean nothing beyond their number. */
static void result_init(struct lab_result *r) {
  memset(r, 0, offsetof(struct lab_result, frames));
  r->left = 0;
  r->tree.n_programs = 0;
  r->events = NULL;
  r->n_events = 0;
}

static void say_unlike(const struct lab *l, char why[SANDBOX_WHY]) {
  (void)snprintf(why, SANDBOX_WHY, "without faults, it did not look as in the baseline%s%s", l->what[0] ? ": " : "",
                 l->what);
}

int lab_run(struct lab *l, const struct lab_order *order, struct lab_result *ret, struct err *e) {
  struct sandbox_result result;
  struct sandbox_job job = {.wall_ns = order->wall_ns,
                            .patience_ns = order->patience_ns,
                            .until_ns = order->until_ns,
                            .in_place = l->in_place,
                            .trace = order->trace || l->watch,
                            .brief = order->brief,
                            .fork = l->fork && !l->unforked && !order->trace};
  int r;
  unsigned tries = 0;
  do {
    r = prepare(l, &order->x, job.fork, STREAM_CHILD_OUT, e);
    job.in = l->given[STREAM_IN];
    job.out = l->given[STREAM_OUT];
    job.error = l->given[STREAM_ERROR];
    if (r == 0) r = sandbox_run(l->sandbox, &job, &result, e);
  } while (r == -EAGAIN && ++tries < TRIES);
  take_back(l);
  if (r == -EAGAIN) return err_set(e, -ECANCELED, "sandbox: no process can be started (is there a limit on them?)");
  if (r < 0) return r;
  result_init(ret);
  ret->mode = result.forked ? LAB_FORK : LAB_EXEC;
  memcpy(ret->why, result.why, sizeof ret->why);
  if (l->unforked) say_unlike(l, ret->why);
  ret->emptied = result.emptied;
  r = see(l, &result, false, ret, e);
  sandbox_result_done(&result);
  if (r < 0) lab_result_done(ret);
  return r;
}

void lab_result_done(struct lab_result *r) {
  observation_done(&r->seen);
  free(r->events);
}

const struct wire_event *lab_last_event(const struct lab_result *r) {
  static const struct wire_event none;
  return r->n_events ? &r->events[r->n_events - 1] : &none;
}

int lab_take_stack(struct lab *l, const struct lab_order *order, struct lab_result *of, struct err *e) {
  struct lab_order traced = *order;
  struct lab_result result;
  traced.trace = true;
  int r = lab_run(l, &traced, &result, e);
  if (r < 0) return r;
  of->n_frames = result.n_frames;
  memcpy(of->frames, result.frames, sizeof of->frames);
  lab_result_done(&result);
  return 0;
}

/* --- branches ----------------------------------------------------------------------------------------------------- */

struct branching {
  struct lab *l;
  struct lab_branch *b;
  struct wire_order *orders; /* of the experiments' last injections */
  size_t *index;             /* of the orders in the area, which are sorted */
  bool ended;                /* the trunk, by itself */
};

static int by_hash(const void *a, const void *b, void *context) {
  const struct wire_order *orders = context, *x = &orders[*(const size_t *)a], *y = &orders[*(const size_t *)b];
  if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
  if (x->rule != y->rule) return x->rule < y->rule ? -1 : 1;
  return *(const size_t *)a < *(const size_t *)b ? -1 : 1;
}

static void give_branches(const struct branching *g) {
  struct wire_area *area = g->l->area.at;
  struct wire_branch *to = (struct wire_branch *)((char *)area + g->l->area.branches.at);
  for (size_t i = 0; i < g->b->n; i++) {
    const struct wire_order *o = &g->orders[g->index[i]];
    to[i] = (struct wire_branch){
        .hash = o->hash, .nth = o->nth, .rule = o->rule, .fault = o->fault, .persistent = o->persistent};
  }
  area->n_branches = (uint32_t)g->b->n;
  area->shown_pid = SANDBOX_PID;
}

static int child_done(void *context, uint32_t order, const struct sandbox_result *from, struct err *e) {
  struct branching *g = context;
  struct wire_branch is;
  /* What has not come into its world was nothing. */
  if (order >= g->b->n || !run_area_branch(&g->l->area, order, &is) || !is.made) return 0;
  struct lab_result *result = calloc(1, sizeof *result);
  if (!result) return err_set(e, -ENOMEM, "out of memory");
  result->mode = LAB_BRANCH;
  int r = see(g->l, from, true, result, e);
  g->l->area.pending.n = g->l->area.taken = 0;
  if (r == 0) r = g->b->done(g->b->context, g->index[order], result, e);
  lab_result_done(result);
  free(result);
  return r;
}

/* A call that comes has a child or a refusal, if the run goes on to its end. What the program becomes does not ask. */
static void find_why(const struct branching *g) {
  const char *unmet = g->ended ? "the program that others branch from did not make the call" : NULL;
  struct wire_branch is;
  for (uint32_t i = 0; i < g->b->n; i++) {
    if (!run_area_branch(&g->l->area, i, &is) || is.made) continue;
    const char *refusal = is.refusal ? sandbox_refusal(is.refusal) : NULL;
    if (refusal && !g->b->why[0]) (void)snprintf(g->b->why, sizeof g->b->why, "%s", refusal);
    if (g->b->whys) g->b->whys[g->index[i]] = refusal ? refusal : unmet;
  }
}

/* The first lines of a difference, as one. */
static void keep_what(struct lab *l, const struct text *what) {
  (void)snprintf(l->what, sizeof l->what, "%s", what->at ? what->at : "");
  size_t n = strlen(l->what);
  while (n > 0 && l->what[n - 1] == '\n')
    l->what[--n] = '\0';
  for (char *s = l->what; *s; s++)
    if (*s == '\n') *s = ' ';
}

/* The trunk has come to its end: was it what it would have been without murphy's detours? */
static int trunk_ended(void *context, const struct sandbox_result *from, struct err *e) {
  struct branching *g = context;
  struct lab_result *result = g->b->expected ? calloc(1, sizeof *result) : NULL;
  g->ended = true;
  if (!g->b->expected) return 0;
  if (!result) return err_set(e, -ENOMEM, "out of memory");
  int r = see(g->l, from, false, result, e);
  struct text what = {0};
  g->b->unlike = r == 0 && observe_compare(g->b->expected, &result->seen, g->b->mask, &what) != 0;
  if (g->b->unlike) keep_what(g->l, &what);
  text_done(&what);
  lab_result_done(result);
  free(result);
  return r;
}

static int run_trunk(struct branching *g, struct err *e) {
  struct lab *l = g->l;
  int r = prepare(l, &g->b->prefix, true, STREAMS, e);
  if (r < 0) return r;
  give_branches(g);
  struct sandbox_branch branch = {.in = l->given[STREAM_IN],
                                  .in_place = l->in_place,
                                  .out = l->given[STREAM_OUT],
                                  .error = l->given[STREAM_ERROR],
                                  .child_out = l->given[STREAM_CHILD_OUT],
                                  .child_error = l->given[STREAM_CHILD_ERROR],
                                  .wall_ns = g->b->wall_ns,
                                  .until_ns = g->b->until_ns,
                                  .done = child_done,
                                  .context = g,
                                  .ended = trunk_ended};
  r = sandbox_branch(l->sandbox, &branch, g->b->why, e);
  take_back(l);
  find_why(g);
  return r;
}

/* Once for each lab. */
static int prove_trunk(struct lab *l, struct lab_branch *b, struct err *e) {
  struct lab_branch none = {
      .wall_ns = b->wall_ns, .until_ns = b->until_ns, .expected = b->expected, .mask = b->mask, .prefix = b->prefix};
  struct branching g = {.l = l, .b = &none};
  if (!b->expected || l->proved) return 0;
  int r = run_trunk(&g, e);
  l->unlike = r == 0 && !none.why[0] && (none.unlike || !g.ended);
  l->proved = r == 0;
  memcpy(b->why, none.why, sizeof b->why);
  return r;
}

/*
 * A run from which others branch was not as the baseline. Is a plain fork? What is so twice is no chance: what the
 * server's children lack or share shows in all of them.
 */
static int prove_fork(struct lab *l, const struct lab_branch *b, struct err *e) {
  const struct lab_order none = {.wall_ns = b->wall_ns, .until_ns = b->until_ns};
  bool like = !b->expected || b->prefix.n || l->unforked;
  int r = 0;
  for (int i = 0; i < 2 && !like && r == 0; i++) {
    struct lab_result result;
    r = lab_run(l, &none, &result, e);
    if (r < 0) return r;
    like =
        result.mode != LAB_FORK || result.timed_out || observe_compare(b->expected, &result.seen, b->mask, NULL) == 0;
    lab_result_done(&result);
  }
  l->unforked |= !like;
  return r;
}

/* What the experiments have in common, and the order of the last injection of each. */
static void take_orders(struct branching *g) {
  struct lab_branch *b = g->b;
  if (b->n) b->prefix = experiment_prefix(b->experiments[0]);
  for (size_t i = 0; i < b->n; i++) {
    const struct experiment *x = b->experiments[i];
    MUST(x->n == b->prefix.n + 1);
    g->orders[i] = order_of(g->l, &x->injections[x->n - 1]);
    g->index[i] = i;
    if (b->whys) b->whys[i] = NULL;
  }
  qsort_r(g->index, b->n, sizeof *g->index, by_hash, g->orders);
}

int lab_branch(struct lab *l, struct lab_branch *b, struct err *e) {
  struct branching g = {
      .l = l, .b = b, .index = calloc(b->n + 1, sizeof *g.index), .orders = calloc(b->n + 1, sizeof *g.orders)};
  bool before = l->unlike;
  int r = g.index && g.orders ? 0 : err_set(e, -ENOMEM, "out of memory");
  MUST(b->n <= LAB_BRANCHES);
  b->why[0] = '\0';
  b->unlike = false;
  if (r == 0) take_orders(&g);
  if (r == 0) r = prove_trunk(l, b, e);
  if (r == 0 && !b->why[0] && !l->unlike) r = run_trunk(&g, e);
  l->unlike |= b->unlike;
  if (r == 0 && l->unlike && !before) r = prove_fork(l, b, e);
  if (l->unlike) say_unlike(l, b->why);
  b->unlike = l->unlike;
  free(g.index);
  free(g.orders);
  return r;
}
