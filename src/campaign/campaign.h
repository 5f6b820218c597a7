/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A campaign: which experiment next, what became of it, and which experiments have one cause.
 *
 * Everything here is decided from data: points, faults, observations. Who runs the experiments, and who keeps the
 * results, are the caller's (struct campaign_runner, struct campaign_sink).
 */
#pragma once

#include "base/base.h"
#include "observe/observe.h"
#include "run/run.h"
#include "sandbox/sandbox.h"

/* --- outcomes ----------------------------------------------------------------------------------------------------- */

enum outcome {
  OUTCOME_SAME,      /* nothing visible changed */
  OUTCOME_HANDLED,   /* a clean error: another exit status, or a message */
  OUTCOME_CRASH,     /* a signal */
  OUTCOME_ABORT,     /* an assertion, abort(3) */
  OUTCOME_HANG,      /* past its limit */
  OUTCOME_SILENT,    /* exit status as ever, no message, and yet output or files differ */
  OUTCOME_SANITIZER, /* a report of a sanitizer */
  OUTCOME_MISSED,    /* the fault was not injected: the run did not come there */
  OUTCOMES,
};

extern const char *const outcome_words[OUTCOMES];

/* OUTCOME_MISSED if there is no such word. */
enum outcome outcome_named(const char *word);
/* Is it worth telling? */
bool outcome_is_failure(enum outcome o);

struct outcome_facts {
  const struct observation *baseline, *run;
  const struct observe_mask *mask;
  bool injected, timed_out;
  int error;       /* of the fault */
  unsigned traits; /* enum campaign_trait */
  bool indirect;   /* the library of a language made the call */
  int died; /* the signal of a crash that ended a process which the command has started, as it never does; or 0 */
};

/*
 * What became of a run. For people, in WHAT (may be NULL): how it looked different from the baseline. *ret_differs:
 * enum observe_difference; may be NULL.
 */
enum outcome outcome_of(const struct outcome_facts *f, struct text *what, unsigned *ret_differs);

/*
 * What matters of the first report of a sanitizer in SAID, a line each: the error, what was done, the first frames;
 * nothing if there is none.
 */
void sanitizer_report(const struct observe_stream *said, struct text *to);

/* --- which experiment next ---------------------------------------------------------------------------------------- */

/* A fault that can be tried at a point. */
struct campaign_fault {
  uint32_t function, rule, fault; /* of the plan; the fault counts from the rule's first */
  int64_t retval;                 /* of one that is short, how many bytes */
  int error;
  uint8_t act; /* enum wire_act */
};

/* How acts are called where they are kept; NULL for a plain error. */
const char *campaign_act_word(unsigned act);
unsigned campaign_act_named(const char *word);

/* A call stack that reached a function in the baseline. */
struct campaign_point {
  uint64_t hash, count;
  uint32_t function;
  uint64_t site; /* what calls from the same instruction have in common */
  int verdict;   /* 0: the call's errors are checked, 1: not known, 2: some are not, 3: none is */
  bool usual;    /* that they are not is usual, and no reason to try it sooner */
  bool quiet;    /* not to look at this call's errors is custom: it is no finding as long as no file is lost */
  bool excused;  /* nor is it then */
  bool indirect; /* a library of a language calls it for the program */
  bool again;    /* the same was asked before, and answered: it cannot fail now */
};

enum campaign_trait {
  TRAIT_PASSES = 1,   /* the fault does not stay: to make it come every time would be unfair */
  TRAIT_ANSWERS = 2,  /* it says how the world is: that the program goes on in another way is no failure */
  TRAIT_LOSES = 4,    /* what was written before may be gone: that nothing changed is no comfort */
  TRAIT_RARE_END = 8, /* it looks like the end of the input, and hardly ever comes: as campaign_point.quiet */
  TRAIT_LEAVES = 16,  /* what was to be removed stays: files that are there besides are no failure */
  TRAIT_GUARDS = 32,  /* the call is about who may do what: another mode of a file is a failure */
};

struct campaign_experiment {
  size_t point, fault;
  uint64_t nth;
  bool onwards;    /* from then on, every time */
  int weight;      /* the higher the sooner */
  unsigned traits; /* enum campaign_trait */
  size_t first;    /* the experiment, from 1, whose fault comes before, in one run; 0 if there is none */
};

/*
 * All experiments for the points, best first: unchecked calls, then by how likely the error is, new stacks before those
 * that have another experiment already, input and output before memory. LIKELY says how likely a fault is at a point: 0
 * never, 3 common.
 */
struct campaign_order {
  const struct campaign_point *points;
  size_t n_points;
  const struct campaign_fault *faults;
  size_t n_faults;
  int (*likely)(void *context, const struct campaign_point *p, const struct campaign_fault *f);
  void *context;
  /* enum campaign_trait of a fault at a point; may be NULL. */
  unsigned (*traits)(void *context, const struct campaign_point *p, const struct campaign_fault *f);
  bool random; /* the same experiments in no order, always the same one: to see what the order is good for */
};
int campaign_plan(const struct campaign_order *order, struct campaign_experiment **ret, size_t *ret_n) MUST_USE;

/* --- one cause ---------------------------------------------------------------------------------------------------- */

/* A call stack as a row of numbers, one for each frame, innermost first. */
struct campaign_stack {
  const uint64_t *at;
  size_t n;
};

/*
 * A crash that begins with this is a loop: the first and the last place in it where the program was met follow, and who
 * called the function that has it.
 */
enum { CAMPAIGN_LOOP = 1, CAMPAIGN_LOOP_HEAD = 3 };

struct campaign_failure {
  enum outcome outcome;
  int signal;
  struct campaign_stack inject, crash; /* crash may be empty */
};

/* How many frames must be changed, added or taken away to make one of the other. */
size_t campaign_distance(const struct campaign_stack *a, const struct campaign_stack *b);
/* Have the two one cause: the same outcome, and the same place of the fault or of the crash, or nearly so? */
bool campaign_same_cause(const struct campaign_failure *a, const struct campaign_failure *b);

/* --- the lab: where experiments are made (lab.c) ------------------------------------------------------------------ */

struct lab;

struct lab_request {
  const struct program_target *target;
  const char *cwd;
  char *const *envp;
  const char *input;  /* path of standard input; NULL for /dev/null */
  size_t n_functions; /* of the plan */
  bool points;        /* record them */
  bool before_asan;   /* as run_folder_make has it */
  bool fork;          /* runs that are not traced are made by a fork server, if that is possible */
  struct sandbox_limits limits;
  /* Appends the shim with a plan for this area, and what LD_PRELOAD must be if the shim lies at SHIM. */
  int (*write)(void *context, const char *area, const char *shim, struct text *ret_shim, struct text *ret_preload,
               struct err *e);
  void *context;
  const char *hidden;           /* as in struct sandbox_options */
  const char *const *histories; /* patterns of files in HOME that are spare */
  size_t n_histories;
  bool watch;         /* all runs are traced: what becomes of processes that the command starts is seen */
  bool bare;          /* ... */
  unsigned processor; /* ... */
};

/* Call it before threads are started. The request's strings must stay. */
int lab_new(const struct lab_request *request, struct lab **ret, struct err *e) MUST_USE;
void lab_free(struct lab *l);
/* The calling thread stays where the lab's processes are, until lab_leave with what this has returned. */
struct processors lab_settle(const struct lab *l);
void lab_leave(const struct processors *before);
/*
 * From now on these layers, if a run has changed them, are emptied in place where that is possible; others are mounted
 * anew, as all are at first. That is slower; but of an overlay that stays the numbers of folders go on, and a program
 * may show them.
 */
void lab_empty_in_place(struct lab *l, const struct sandbox_places *places);
/* As sandbox_stop. */
void lab_stop(const struct lab *l);
/* As sandbox_note. */
const char *lab_note(const struct lab *l);
/* Are its runs made without a sandbox? */
bool lab_is_bare(const struct lab *l);
/* For symbols of what it saw. Valid until the next run. */
const struct run_area *lab_area(const struct lab *l);

/* A fault that comes before the one that a run is about. */
struct lab_first {
  uint64_t hash, nth;
  uint32_t rule, fault;
  bool armed;
};

struct lab_order {
  uint64_t hash, nth;
  uint32_t rule, fault;
  bool armed, onwards;
  bool trace, brief; /* as of struct sandbox_job */
  uint64_t wall_ns;
  uint64_t patience_ns; /* as of struct sandbox_job */
  uint64_t until_ns;    /* ... */
  struct lab_first first;
};

/* How a run was made. */
enum lab_mode { LAB_EXEC, LAB_FORK, LAB_BRANCH, LAB_MODES };

extern const char *const lab_mode_words[LAB_MODES];

struct lab_result {
  struct observation seen;
  bool timed_out, injected;
  bool locked;             /* as of struct sandbox_result */
  bool attached;           /* the runtime was there */
  struct wire_event event; /* the first injection */
  uint64_t wall_ns;
  uint64_t asks_ns; /* as of struct sandbox_result */
  uint64_t memory;  /* most resident bytes */
  size_t n_frames;
  struct image_process_frame frames[SANDBOX_FRAMES];
  enum lab_mode mode;
  char why[SANDBOX_WHY];         /* it was not made in the fastest way; else "" */
  unsigned left;                 /* processes that still ran when the command had ended, and were killed */
  struct sandbox_places emptied; /* as of struct sandbox_result */
  struct sandbox_tree tree;
  struct wire_event first; /* the injection of lab_order.first, if it came */
};

/* One run. *ret is initialised by this, and only on success. */
int lab_run(struct lab *l, const struct lab_order *order, struct lab_result *ret, struct err *e) MUST_USE;
void lab_result_done(struct lab_result *r);
/* The same run once more, traced; the result of the first gets its stack, and stays as it is otherwise. */
int lab_take_stack(struct lab *l, const struct lab_order *order, struct lab_result *of, struct err *e) MUST_USE;

/* At most so many orders at once. */
enum { LAB_BRANCHES = 4096 };

struct lab_branch {
  const struct lab_order *orders;
  size_t n;
  uint64_t wall_ns;  /* of each experiment */
  uint64_t until_ns; /* as of struct sandbox_job */
  /* Order I was made. Not 0 ends it, and is returned. The lab cannot be used meanwhile, but for lab_area. */
  int (*done)(void *context, size_t i, const struct lab_result *result, struct err *e);
  void *context;
  char why[SANDBOX_WHY]; /* out: the first reason why an order was not made; "" if there was none */
  const char **whys;     /* out, if not NULL: for each order the reason; NULL if it was made, or none is known */
  /*
   * What the run from which they branch must look like at its end, since no fault but `first` is injected there; NULL
   * if nothing is known. The first time in a lab, it is tried without any branch.
   */
  const struct observation *expected;
  const struct observe_mask *mask;
  bool unlike;            /* out: it does not look so, and what was DONE is not to be trusted */
  struct lab_first first; /* of all orders: the run from which they branch has it */
};

/*
 * One run in which all orders are carried out where that is possible, in the order in which the run comes by. Those
 * that are not, for whatever reason, are simply not DONE.
 */
int lab_branch(struct lab *l, struct lab_branch *b, struct err *e) MUST_USE;

/* --- the baseline (baseline.c) ------------------------------------------------------------------------------------ */

enum { BASELINE_RUNS = 3 };

struct baseline {
  struct lab_result runs[BASELINE_RUNS];
  size_t n;
  struct observe_mask mask;
  struct text notes;              /* what varies, a line each */
  uint64_t wall_ns;               /* the longest */
  struct sandbox_places in_place; /* layers of which it does not show that they are: lab_empty_in_place */
};

/*
 * Runs the command without faults. -ECANCELED with a message if it fails, does not end in WALL_NS, or differs from run
 * to run in more than can be masked; NOTES has the first difference then.
 */
int baseline_make(struct lab *l, uint64_t wall_ns, struct baseline *ret, struct err *e) MUST_USE;
void baseline_done(struct baseline *b);

/* --- the verdict (judge.c) ---------------------------------------------------------------------------------------- */

struct campaign_case {
  const struct baseline *baseline;
  const struct observe_mask *mask; /* what varies without faults; NULL for the baseline's */
  const struct campaign_point *point;
  const struct campaign_fault *fault;
  unsigned traits;                 /* enum campaign_trait */
  const struct observation *alone; /* what the fault before it did alone; NULL if there is none */
};

/*
 * The traits of a pair of faults. That a program goes on in another way because of what the first one ANSWERS excuses
 * what that does alone, which a pair must not look like; it does not excuse what the second one does there.
 */
unsigned campaign_pair_traits(unsigned first, unsigned second);

/*
 * What became of a run. *ret_failed: it is a failure that is worth telling. WHAT, which may be NULL: how it looked
 * different, or what a sanitizer says.
 */
enum outcome campaign_judge(const struct campaign_case *c, const struct lab_result *r, struct text *what,
                            bool *ret_failed);
/*
 * Can a run that is traced be judged, if this is to come of it? Then a signal ends it, or murphy does. What comes to
 * its own end may have the leak sanitizer inside, which does not bear to be traced and fails at the end.
 */
bool campaign_traced(enum outcome o);
/* The signal that ended the command, or a process that it had started; 0 if none did, or murphy did. */
int campaign_signal(const struct lab_result *r);
/* So large may a file become in a run, output too. Who writes more ends with SIGXFSZ, and would have written on. */
#define CAMPAIGN_FILE_SIZE (256u << 20)
/* Did it write more, or does a shell say so of another process, whose file is there? */
bool campaign_wrote_too_much(const struct observation *o);
/* Who sleeps and tries again has so long to give up, until it is a hang. */
#define CAMPAIGN_PATIENCE_NS 10000000000u
/* To be sure of a hang: so long may the run take. */
void campaign_be_patient(struct lab_order *order);

/* --- what an experiment costs (choice.c) -------------------------------------------------------------------------- */

/* So many runs are made to learn what they cost. */
enum { CAMPAIGN_PROBE = 4 };

struct campaign_cost {
  uint64_t ns;
  size_t n; /* experiments that it was paid for */
};

struct campaign_costs {
  struct campaign_cost branch, run;
};

enum campaign_choice {
  CHOICE_BRANCH,
  CHOICE_RUN,   /* each by itself */
  CHOICE_PROBE, /* CAMPAIGN_PROBE of them by themselves, to see what is better */
};

/* N experiments were made so in NS; of CHOICE_BRANCH and CHOICE_RUN. */
void campaign_cost_add(struct campaign_costs *c, enum campaign_choice way, uint64_t ns, size_t n);
/* How to make the next ones. BASELINE_NS: what a run without faults takes that begins with exec. */
enum campaign_choice campaign_choose(const struct campaign_costs *c, uint64_t baseline_ns);

/* --- the sweep: one experiment after another (sweep.c) ------------------------------------------------------------ */

/* What became of an experiment. */
struct sweep_done {
  size_t experiment;
  enum outcome outcome;
  const struct lab *lab; /* for symbols */
  const struct lab_result *result;
  const struct lab_result *traced; /* with the stack of the crash, or NULL */
  const struct run_kept *modules;  /* of the stacks in RESULT, for a new finding; NULL otherwise */
  const char *difference;
  size_t finding; /* number of the finding from 1 that it belongs to; 0 if it is none */
  bool is_new;    /* the finding was made by it */
  double precision;
  const struct campaign_failure *failure; /* of a new finding: its stacks as numbers; NULL otherwise */
  const char *doubt;                      /* of a failure that is no finding: why; NULL otherwise */
};

/* What is known of an experiment before the sweep. */
enum sweep_before { BEFORE_NOTHING, BEFORE_DONE, BEFORE_FAILED };

struct sweep_sink {
  int (*done)(void *context, const struct sweep_done *d, struct err *e); /* one at a time */
  void (*progress)(void *context, size_t done, size_t total, size_t findings);
  void *context;
};

struct sweep {
  struct lab **labs; /* as many as experiments run at once */
  size_t n_labs;
  const struct campaign_point *points;
  const struct campaign_fault *faults;
  const struct campaign_experiment *experiments;
  size_t n_experiments;
  const struct baseline *baseline;
  uint64_t wall_ns;   /* of an experiment */
  uint64_t deadline;  /* CLOCK_MONOTONIC; 0 for none */
  size_t runs;        /* at most; 0 for all */
  volatile int *stop; /* what runs when this is set is not told any more */
  struct sweep_sink sink;
  /* Of a campaign that goes on: findings that are known, numbers 1 to N_KNOWN, and an enum sweep_before for each
   * experiment; may be NULL. */
  const struct campaign_failure *known;
  size_t n_known;
  const uint8_t *before;
  /* Of experiments that are `first` of others, what became of the run with that fault alone; NULL if there are none. */
  const struct observation *alone;
  bool branch;     /* many at once, by branches of one run, where that is possible */
  const char *why; /* if not: the reason, for people */
  /* Is PATH a library that only does what the program has asked it for? Its frames tell no causes apart. NULL: none. */
  bool (*is_language)(const void *context, const char *path);
  /* ... the C library, in which crashes end whose causes are elsewhere? NULL: none. */
  bool (*is_libc)(const void *context, const char *path);
  const void *language_context;
};

/* 0 when all is done, or the budget is used up, or *stop is set. *ret_done: how many experiments were done. */
int sweep_run(const struct sweep *s, size_t *ret_done, struct err *e) MUST_USE;
