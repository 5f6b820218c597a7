/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many runs of a command a second: started with posix_spawn, as forks of the least server that there can be (BARE,
 * which is bare_server.c), and as experiments in a lab by exec and by the fork server, with an order that no call
 * fulfils, so that all do the same work. "caged" is the whole measurement of "bare" as a command in the sandbox: what
 * the world of an experiment costs the command itself, with nothing of murphy in its process and nothing asked between
 * two runs. Prints for each way "NAME RATE US N": runs a second in the best round, processor time of one run over all
 * rounds, of all processes that have a part in it, and how many runs there were.
 *
 * There are 20 or so many ROUNDS of SECONDS, or of so many RUNS. -w: in that way only. -j: by so many threads at once, each with
 * servers and labs of its own.
 *
 *   lab_bench [-r ROUNDS] [-s SECONDS] [-n RUNS] [-w WAY] [-j THREADS] [-b BARE] -- COMMAND...
 */
#include "cmd/test.h"
#include "used.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The best of some rounds counts, since others use the machine too. */
enum { ROUNDS = 20, MOST_LANES = 64 };
/* Descriptors that bare_server.c knows; how many runs it makes for one word. */
enum { ASK = 198, ANSWER = 199, AT_ONCE = 8 };
/* A server in the cage is a new one each time, and the kernel tells its time in ticks: it gets longer rounds, but few. */
enum { CAGED_ONCE_IN = 5 };

enum way { SPAWN, BARE, EXEC, FORK, CAGED, WAYS };
static const char *const names[WAYS] = {"spawn", "bare", "exec", "fork", "caged"};

/* What runs one at a time. */
struct lane {
  struct bench *bench;
  int ask, answer; /* of the bare server; -1 if there is none */
  pid_t pid;
  uint64_t used; /* of the bare server and its children, microseconds of processor time */
  struct lab *labs[2];
  unsigned runs;
  int r;
  struct err e;
};

struct bench {
  char **command;
  const char *bare; /* NULL: none */
  struct test_space space;
  struct injector injector;
  const struct injector *injectors[1];
  double seconds;
  unsigned rounds;
  unsigned runs;    /* 0: for some seconds */
  const char *only; /* NULL: all ways */
  unsigned n_lanes;
  struct lane lanes[MOST_LANES];
  enum way way; /* what is measured now */
  double end;
  struct measured {
    double best, used; /* runs a second; seconds of processor time */
    unsigned runs;
  } measured[WAYS];
};

static double now(void) {
  struct timespec t = {0};
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- without murphy ----------------------------------------------------------------------------------------------- */

static int start(char **command, char **environment, const int pipes[2], pid_t *ret, struct err *e) {
  posix_spawn_file_actions_t actions;
  int r = posix_spawn_file_actions_init(&actions);
  if (r) return -r;
  for (int fd = 1; fd <= 2 && r == 0; fd++)
    r = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
  for (int i = 0; i < 2 && pipes && r == 0; i++)
    r = posix_spawn_file_actions_adddup2(&actions, pipes[i], i ? ANSWER : ASK);
  if (r == 0) r = posix_spawnp(ret, command[0], &actions, NULL, command, environment);
  (void)posix_spawn_file_actions_destroy(&actions);
  return r ? err_set(e, -r, "cannot start %s: %s", command[0], strerror(r)) : 0;
}

static int spawn_one(const struct lane *l, struct err *e) {
  pid_t pid;
  int r = start(l->bench->command, environ, NULL, &pid, e);
  if (r < 0) return r;
  return waitpid(pid, NULL, 0) < 0 ? -errno : 1;
}

static int start_bare(struct lane *l, struct err *e) {
  char preload[PATH_MAX + 16], **environment;
  int to[2], from[2];
  size_t n = 0;
  if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0) return err_set(e, -errno, "no pipe: %m");
  (void)snprintf(preload, sizeof preload, "LD_PRELOAD=%s", l->bench->bare);
  while (environ[n])
    n++;
  environment = calloc(n + 2, sizeof *environment);
  if (!environment) return -ENOMEM;
  memcpy(environment, environ, n * sizeof *environment);
  environment[n] = preload;
  int r = start(l->bench->command, environment, (const int[2]){to[0], from[1]}, &l->pid, e);
  free(environment);
  (void)close(to[0]);
  (void)close(from[1]);
  l->ask = to[1];
  l->answer = from[0];
  return r;
}

static int fork_some(struct lane *l, struct err *e) {
  uint32_t n = AT_ONCE;
  if (write(l->ask, &n, sizeof n) != (ssize_t)sizeof n ||
      read(l->answer, &l->used, sizeof l->used) != (ssize_t)sizeof l->used)
    return err_set(e, -EPIPE, "the bare server has ended");
  return (int)n;
}

/* --- in a lab ----------------------------------------------------------------------------------------------------- */

/* An injection that never comes. */
static struct wire_order order_never(void *self, const struct injection *i) {
  (void)self, (void)i;
  return (struct wire_order){.hash = 1, .nth = 1};
}

static int run_one(struct lab *l, enum lab_mode mode, struct err *e) {
  struct lab_result result;
  const struct injection injection = {0};
  struct lab_order order = {.x = {.n = 1, .injections = &injection}, .wall_ns = 10000000000u};
  int r = lab_run(l, &order, &result, e);
  if (r < 0) return r;
  enum lab_mode was = result.mode;
  if (was != mode) r = err_set(e, -ECANCELED, "was made by %s: %s", lab_mode_words[was], result.why);
  lab_result_done(&result);
  return r < 0 ? r : 1;
}

static int make_labs(struct lane *l, const char *cwd, struct err *e) {
  struct bench *b = l->bench;
  const struct processors processors = processors_now();
  int r = 0;
  for (int i = 0; i < 2 && r >= 0; i++) {
    struct lab_request request = {.target = &b->space.target,
                                  .cwd = cwd,
                                  .envp = environ,
                                  .injectors = b->injectors,
                                  .fork = i == 1,
                                  .processor = processors_pick(&processors, (unsigned)(l - b->lanes))};
    r = lab_new(&request, &l->labs[i], e);
    /* As in a campaign of a command whose baseline does not show it. */
    if (r >= 0) lab_empty_in_place(l->labs[i], &(struct sandbox_places){.all = true});
  }
  return r;
}

static bool needs_labs(const struct bench *b) {
  return !b->only || strcmp(b->only, names[EXEC]) == 0 || strcmp(b->only, names[FORK]) == 0;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

static int make_lanes(struct bench *b, const char *cwd, struct err *e) {
  int r = 0;
  b->injector = *test_injectors(&b->space)[0];
  b->injector.order = order_never;
  b->injectors[0] = &b->injector;
  for (unsigned i = 0; i < b->n_lanes && r >= 0; i++) {
    b->lanes[i] = (struct lane){.bench = b, .ask = -1, .answer = -1};
    if (needs_labs(b)) r = make_labs(&b->lanes[i], cwd, e);
    if (r >= 0 && b->bare) r = start_bare(&b->lanes[i], e);
    /* How much it has used for its own start. */
    if (r >= 0 && b->bare) r = fork_some(&b->lanes[i], e);
  }
  return r;
}

static void lane_done(struct lane *l) {
  for (int i = 0; i < 2; i++)
    lab_free(l->labs[i]);
  if (!l->pid) return;
  /* Others may hold the pipe too: its end would not show. */
  (void)!write(l->ask, &(uint32_t){0}, sizeof(uint32_t));
  (void)close(l->ask);
  (void)close(l->answer);
  (void)waitpid(l->pid, NULL, 0);
}

static void work(void *context, unsigned worker) {
  struct bench *b = context;
  struct lane *l = &b->lanes[worker];
  /* As a sweep does; what murphy has no part in goes where the kernel likes. */
  struct processors before = b->way == EXEC || b->way == FORK ? lab_settle(l->labs[0]) : (struct processors){0};
  for (l->runs = 0, l->r = 0; l->r >= 0 && (b->runs ? l->runs < b->runs : now() < b->end);) {
    switch (b->way) {
    case SPAWN:
      l->r = spawn_one(l, &l->e);
      break;
    case BARE:
      l->r = fork_some(l, &l->e);
      break;
    default:
      l->r = run_one(l->labs[b->way == FORK], b->way == FORK ? LAB_FORK : LAB_EXEC, &l->e);
    }
    if (l->r > 0) l->runs += (unsigned)l->r;
  }
  lab_leave(&before);
}

/* So far. The bare server knows better than the kernel's ticks, which are too long for a short round. */
static double used_in(const struct bench *b, enum way way) {
  double sum = 0;
  if (way != BARE) return used_seconds();
  for (unsigned i = 0; i < b->n_lanes; i++)
    sum += (double)b->lanes[i].used / 1e6;
  return sum + used_alone();
}

static int measure(struct bench *b, enum way way, struct err *e) {
  struct measured *m = &b->measured[way];
  double before = used_in(b, way), start = now();
  unsigned n = 0;
  b->way = way;
  b->end = start + b->seconds;
  worker_run(b->n_lanes, work, b);
  double took = now() - start;
  for (unsigned i = 0; i < b->n_lanes; i++) {
    if (b->lanes[i].r < 0) {
      *e = b->lanes[i].e;
      return b->lanes[i].r;
    }
    n += b->lanes[i].runs;
  }
  if (n / took > m->best) m->best = n / took;
  m->used += used_in(b, way) - before;
  m->runs += n;
  return 0;
}

/* --- in a cage ---------------------------------------------------------------------------------------------------- */

/* This program once more, as a command in the sandbox, to measure "bare" alone. */
struct cage {
  struct run_folder folder;
  char *stage, path[PATH_MAX], lanes[16], seconds[32];
  const char *argv[64];
  struct sandbox *sandbox;
};

static void fill_cage(struct cage *c, const struct bench *b) {
  const char *const words[] = {"lab_bench", "-r", "1",        "-w", "bare",  "-j",
                               c->lanes,    "-s", c->seconds, "-b", b->bare, "--"};
  size_t n = 0;
  (void)snprintf(c->lanes, sizeof c->lanes, "%u", b->n_lanes);
  (void)snprintf(c->seconds, sizeof c->seconds, "%f", b->seconds * CAGED_ONCE_IN);
  for (; n < COUNT(words); n++)
    c->argv[n] = words[n];
  for (char **word = b->command; *word && n < COUNT(c->argv) - 1; word++)
    c->argv[n++] = *word;
}

static int make_cage(struct cage *c, const struct bench *b, const char *cwd, struct err *e) {
  fill_cage(c, b);
  if (readlink("/proc/self/exe", c->path, sizeof c->path - 1) < 0) return err_set(e, -errno, "/proc/self/exe: %m");
  int r = run_folder_make(false, &c->folder, e);
  if (r < 0) return r;
  if (asprintf(&c->stage, "%s/" RUN_FOLDER_STAGE, c->folder.path) < 0) c->stage = NULL;
  if (!c->stage || mkdir(c->stage, 0700) < 0) return err_set(e, -errno, "no folder: %m");
  struct sandbox_options options = {
      .folder = c->stage, .cwd = cwd, .path = c->path, .argv = (char *const *)(uintptr_t)c->argv, .envp = environ};
  return sandbox_new(&options, &c->sandbox, e);
}

static void cage_done(struct cage *c) {
  sandbox_free(c->sandbox);
  if (c->stage) (void)rmdir(c->stage);
  free(c->stage);
  run_folder_done(&c->folder);
}

/* One round. */
static int measure_caged(struct bench *b, struct cage *c, struct err *e) {
  struct measured *m = &b->measured[CAGED];
  static struct sandbox_result result;
  char output[256] = {0};
  double rate = 0, us = 0;
  unsigned n = 0;
  struct sandbox_job job = {
      .in = open("/dev/null", O_RDONLY | O_CLOEXEC), .out = memfd_create("out", MFD_CLOEXEC), .error = STDERR_FILENO};
  int r = job.in < 0 || job.out < 0 ? err_set(e, -errno, "no file: %m") : sandbox_run(c->sandbox, &job, &result, e);
  if (r >= 0) sandbox_result_done(&result);
  if (r >= 0 &&
      (pread(job.out, output, sizeof output - 1, 0) <= 0 || sscanf(output, "bare %lf %lf %u", &rate, &us, &n) != 3))
    r = err_set(e, -EIO, "nothing came out of the cage");
  (void)close(job.in);
  (void)close(job.out);
  if (rate > m->best) m->best = rate;
  m->used += us * n / 1e6;
  m->runs += n;
  return r;
}

/* --- what is asked for -------------------------------------------------------------------------------------------- */

static bool is_wanted(const struct bench *b, enum way way) {
  return (b->bare || (way != BARE && way != CAGED)) && (!b->only || strcmp(b->only, names[way]) == 0);
}

static int make_space(struct bench *b, const char *data, const char *runtime, struct err *e) {
  b->space.data = data;
  b->space.runtime = runtime;
  return test_space_make(b->command, &(struct test_scope){0}, &b->space, e);
}

static int run_rounds(struct bench *b, const char *cwd, struct err *e) {
  static struct cage c = {.folder.lock = -1};
  int r = is_wanted(b, CAGED) ? make_cage(&c, b, cwd, e) : 0;
  if (r >= 0) r = make_lanes(b, cwd, e);
  for (unsigned round = 0; round < b->rounds; round++)
    for (int way = 0; way < WAYS && r >= 0; way++)
      if (is_wanted(b, (enum way)way) && (way != CAGED || round % CAGED_ONCE_IN == 0))
        r = way == CAGED ? measure_caged(b, &c, e) : measure(b, (enum way)way, e);
  for (int i = 0; i < WAYS && r >= 0; i++) {
    const struct measured *m = &b->measured[i];
    if (m->runs) printf("%s %.1f %.1f %u\n", names[i], m->best, m->used / m->runs * 1e6, m->runs);
  }
  for (unsigned i = 0; i < b->n_lanes; i++)
    lane_done(&b->lanes[i]);
  cage_done(&c);
  return r;
}

static int run_bench(struct bench *b, struct err *e) {
  char *cwd = getcwd(NULL, 0), *data = NULL, *runtime = NULL;
  int r = cwd ? 0 : -ENOMEM;
  if (r >= 0 && needs_labs(b)) r = installed_data_dir(&data);
  if (r >= 0 && needs_labs(b)) r = installed_runtime(&runtime);
  if (r >= 0 && needs_labs(b)) r = make_space(b, data, runtime, e);
  if (r >= 0) r = run_rounds(b, cwd, e);
  test_space_done(&b->space);
  free(cwd);
  free(data);
  free(runtime);
  return r;
}

int main(int argc, char **argv) {
  static struct bench b = {.rounds = ROUNDS, .seconds = 0.1, .n_lanes = 1};
  struct err e = {0};
  for (int c; (c = getopt(argc, argv, "+b:j:n:r:s:w:")) >= 0;) {
    if (c == '?') return 2;
    if (c == 'b') b.bare = optarg;
    if (c == 'j') b.n_lanes = (unsigned)strtoul(optarg, NULL, 10);
    if (c == 'n') b.runs = (unsigned)strtoul(optarg, NULL, 10);
    if (c == 'r') b.rounds = (unsigned)strtoul(optarg, NULL, 10);
    if (c == 'w') b.only = optarg;
    if (c == 's') b.seconds = strtod(optarg, NULL);
  }
  if (optind >= argc || b.n_lanes < 1 || b.n_lanes > MOST_LANES) return 2;
  b.command = argv + optind;
  int r = run_bench(&b, &e);
  if (r < 0) fprintf(stderr, "lab_bench: %s\n", e.text[0] ? e.text : strerror(-r));
  return r < 0 ? 1 : 0;
}
