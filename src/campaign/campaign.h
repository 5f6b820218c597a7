/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A campaign: experiments are made, what became of each is judged, and those of one cause are one finding.
 */
#pragma once

#include "base/base.h"
#include "inject/inject.h"
#include "observe/observe.h"
#include "run/run.h"
#include "sandbox/sandbox.h"
#include "space/space.h"

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
  struct expectation expect;
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
  const char *input; /* path of standard input; NULL for /dev/null */
  /* What may fail; NULL: nothing, and nothing of murphy is in the command. It must stay. */
  const struct injector *const *injectors;
  bool points;      /* record them */
  bool before_asan; /* as run_folder_make has it */
  bool fork;        /* runs that are not traced are made by a fork server, if that is possible */
  struct sandbox_limits limits;
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

struct lab_order {
  struct experiment x;
  bool trace, brief; /* as of struct sandbox_job */
  uint64_t wall_ns;
  uint64_t patience_ns; /* as of struct sandbox_job */
  uint64_t until_ns;    /* ... */
};

/* How a run was made. */
enum lab_mode { LAB_EXEC, LAB_FORK, LAB_BRANCH, LAB_MODES };

extern const char *const lab_mode_words[LAB_MODES];

struct lab_result {
  struct observation seen;
  bool timed_out, injected; /* injected: all that was to be was */
  bool locked;              /* as of struct sandbox_result */
  bool attached;            /* the runtime was there */
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
  struct wire_event *events; /* of each injection, the first; zeros if it did not come */
  size_t n_events;
};

/* One run. *ret is initialised by this, and only on success. */
int lab_run(struct lab *l, const struct lab_order *order, struct lab_result *ret, struct err *e) MUST_USE;
void lab_result_done(struct lab_result *r);
/* Of the last injection; zeros if there is none, or it did not come. */
const struct wire_event *lab_last_event(const struct lab_result *r);
/* The same run once more, traced; the result of the first gets its stack, and stays as it is otherwise. */
int lab_take_stack(struct lab *l, const struct lab_order *order, struct lab_result *of, struct err *e) MUST_USE;

/* At most so many orders at once. */
enum { LAB_BRANCHES = 4096 };

struct lab_branch {
  const struct experiment *const *experiments; /* all have the same injections before their last one */
  size_t n;
  uint64_t wall_ns;  /* of each experiment */
  uint64_t until_ns; /* as of struct sandbox_job */
  /* Order I was made. Not 0 ends it, and is returned. The lab cannot be used meanwhile, but for lab_area. */
  int (*done)(void *context, size_t i, const struct lab_result *result, struct err *e);
  void *context;
  char why[SANDBOX_WHY]; /* out: the first reason why an order was not made; "" if there was none */
  const char **whys;     /* out, if not NULL: for each order the reason; NULL if it was made, or none is known */
  /*
   * What the run from which they branch must look like at its end, since nothing but what they have in common is
   * injected there; NULL if nothing is known. The first time in a lab, it is tried without any branch.
   */
  const struct observation *expected;
  const struct observe_mask *mask;
  bool unlike;              /* out: it does not look so, and what was DONE is not to be trusted */
  struct experiment prefix; /* out: what they have in common */
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
  struct expectation expect;
  const struct observation *reference; /* what the injections before the last did alone; NULL if there are none */
};

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
  size_t experiment; /* index of the candidate */
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
  const struct candidate *candidates;
  size_t n_candidates;
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
  /* By experiment_prefix_key, a struct observation: what the injections before the last did alone; NULL: none. */
  const struct map *references;
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
