/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of murphy test, replay and verify share. */
#pragma once

#include "campaign/campaign.h"
#include "cmd/cmd.h"
#include "cmd/run_parts.h"
#include "report/report.h"
#include "site/site.h"
#include "store/store.h"

#include <jansson.h>

/* --- what can fail, and where it was seen to be called (test_space.c) --------------------------------------------- */

struct test_space {
  const char *data, *runtime;
  struct program_target target;
  struct program_modules modules;
  struct scenario *scenario; /* a rule for each function, with all its errors */
  struct program_world world;
  struct text plan; /* without area and preload: for its faults and names */
  struct site_likely *likely;
  struct profile_facts *facts;
  struct map verdicts; /* of call sites, by module and return address */
  VEC(struct inject_fault) faults;
  VEC(struct inject_point) points;
  VEC(struct wire_point) seen; /* as many as points */
  cmd_names opened;            /* libraries that it opens, which are modules too */
  program_places sites;        /* calls from elsewhere are left out, if there are any */
  bool named;                  /* the functions were asked for by name */
  struct arena arena;
  struct injector injector;
  const struct injector *injectors[1];
  bool follow;                 /* other programs are started, and their calls may fail too */
  bool watch;                  /* other processes are */
  struct text notes;           /* of them, a line each */
  struct map outputs;          /* points that close what was written, by their hashes (test_points.c) */
  struct map witnesses;        /* functions that are recorded and not tried, by their names */
  VEC(const char *) untried;   /* functions of libraries that nothing is known about */
  VEC(char *) languages;       /* names of libraries of languages */
  VEC(char *) compilers;       /* ... that put such a library into what they make */
  VEC(const char *) histories; /* patterns of files that have what was typed (data/histories) */
};

struct test_scope {
  cmd_names from; /* modules whose calls may fail; if there are none, the program and what is outside of the system's
                     folders */
  cmd_names functions, errnos, sites; /* only these, if there are any */
  bool follow;
  cmd_names opened; /* libraries that it was seen to open */
  bool system;      /* ... into programs of the system's folders too, though the command is none */
};

/* Finds the program and its modules. *ret_starts: it may start other processes. S has `data` and `runtime`. */
int test_space_open(char *const *command, struct test_space *s, bool *ret_starts, struct err *e) MUST_USE;
/* Takes what a run has started: programs are added to the modules, notes say which are, or why not (test_tree.c). */
int test_space_follow(struct test_space *s, const struct test_scope *scope, const struct sandbox_tree *tree,
                      struct err *e) MUST_USE;
/* Is a program that the command starts left alone, as one of the system? */
bool test_space_is_guest(const struct test_space *s, const struct test_scope *scope, const char *program);
/* Finds all faults of the modules. */
int test_space_fill(const struct test_scope *scope, struct test_space *s, struct err *e) MUST_USE;
/* ... and once more, when there are more modules. */
int test_space_refill(const struct test_scope *scope, struct test_space *s, struct err *e) MUST_USE;
/* Is it a library of a language, which calls what the program means? */
bool test_is_language(const struct test_space *s, const char *path);
/* Is it the C library, by its name? */
bool test_is_c_library(const struct test_space *s, const char *path);
/* Is the program one of the system's folders? */
bool test_is_system_program(const char *path);
/* Is it in one of the folders of the system's libraries? */
bool test_is_system_library(const char *path);
/* Finds which calls in scope check their errors; may run beside anything that does not use the verdicts. */
int test_space_judge(struct test_space *s, struct err *e) MUST_USE;
/* All of these, of the program alone. */
int test_space_make(char *const *command, const struct test_scope *scope, struct test_space *s, struct err *e) MUST_USE;
void test_space_done(struct test_space *s);
/* For lab_request.injectors: one list, which is there as long as the space. */
const struct injector *const *test_injectors(struct test_space *s);
/* Takes the points that the lab's last run recorded and that are not there yet. */
int test_take_points(struct test_space *s, const struct lab *l, struct err *e) MUST_USE;
/* For inject_plan.likely; CONTEXT is a struct test_space. */
int test_likely(void *context, const struct inject_point *p, const struct inject_fault *f);
/* Adds a line about the functions that were called and that nothing is known about, if there are any. */
void test_note_untried(const struct test_space *s, const struct test_scope *scope, struct text *notes);
unsigned test_traits(void *context, const struct inject_point *p, const struct inject_fault *f);
/* Name of function I of the plan. */
const char *test_function(const struct test_space *s, uint32_t i);
/* All code that a word of --only-site means: FILE:LINE, FUNCTION or MODULE+0xOFFSET. */
int test_find_site(struct program_modules *m, const char *site, program_places *ret, struct err *e) MUST_USE;

/* --- what is tested (test_subject.c) ------------------------------------------------------------------------------ */

/* All that an experiment depends on but its fault. Strings are the caller's, or in the arena. */
struct test_subject {
  VEC(char *) command; /* ends with NULL */
  const char *cwd, *input;
  bool no_sandbox;
  struct test_scope scope;
  uint64_t timeout_ns;
  struct arena arena;
};

void test_subject_done(struct test_subject *s);

/*
 * Adds libraries that the area's last run has opened, if they are not the system's, and notes them; *ret: whether there
 * were any (test_opened.c).
 */
int test_space_take_opened(struct test_space *s, const struct test_subject *is, const struct run_area *area, bool *ret,
                           struct err *e) MUST_USE;
/* ... those that the scope knows already. */
int test_space_add_opened(struct test_space *s, const struct test_scope *scope, struct err *e) MUST_USE;

/*
 * If no input was asked for and murphy's own is a file with a name, the command is given that one: every run begins at
 * its start. What comes through a pipe could be given once only.
 */
int test_subject_take_input(struct test_subject *s) MUST_USE;
/* ... which may surprise those who write to that pipe: does something wait in it? */
bool test_subject_loses_input(const struct test_subject *s);
/* "a,b" is two names. */
int test_subject_add(struct test_subject *s, cmd_names *to, const char *list) MUST_USE;
/* As a JSON object, and from one. WHERE is what messages call it. */
void test_subject_json(const struct test_subject *s, struct text *to);
int test_subject_load(const json_t *from, const char *where, struct test_subject *ret, struct err *e) MUST_USE;
/* A list of libraries, in JSON; the second adds it to the scope. */
void test_opened_json(const cmd_names *opened, struct text *to);
int test_subject_load_opened(const json_t *from, struct test_subject *to) MUST_USE;
void test_command_json(char *const *command, struct text *to);
void test_command_line(char *const *command, struct text *to);

/* Program and libraries, as JSON: [{"path","build_id"}, …]. */
void test_modules_json(const struct program_modules *m, struct text *to);
/*
 * The path of the first module that is not as FROM says; NULL if all are the same. Programs that the command starts are
 * in the order in which they began, and not every run meets all of them: one that only one side has is no change.
 */
const char *test_modules_changed(const struct program_modules *m, const json_t *from);

/* --- where it is tested (test_setup.c) ---------------------------------------------------------------------------- */

struct test_setup {
  const struct test_subject *is;
  const char *hidden; /* the campaign's folder, or NULL */
  char *data, *runtime;
  struct test_space space;
  struct lab *recorder;
  VEC(struct lab *) labs;
  struct baseline baseline;
  bool has_baseline;
};

/* The subject must live as long. -ENODATA with a message if it calls nothing that could fail as its scope says. */
int test_setup_space(struct test_setup *s, const struct test_subject *subject, struct err *e) MUST_USE;
int test_setup_labs(struct test_setup *s, unsigned n, struct err *e) MUST_USE;
/* Runs without faults, and what they came by. */
int test_setup_points(struct test_setup *s, struct err *e) MUST_USE;
void test_setup_done(struct test_setup *s);
/* How long an experiment may take. */
uint64_t test_setup_wall(const struct test_setup *s);

/*
 * Signals that ask murphy to end do so at once as long as there is nothing to lose; when there are labs, these are
 * stopped, and *test_interrupted() is the signal. FOLDER, which may be NULL, is removed if it is empty; it must stay.
 */
void test_catch_signals(const char *folder);
void test_release_signals(void);
volatile int *test_interrupted(void);

/* --- stacks in names and lines (test_stacks.c) -------------------------------------------------------------------- */

typedef VEC(struct store_frame) test_frames;

/* Strings go to the arena. */
int test_name_inject(struct run_symbols *symbols, const struct wire_event *event, struct arena *arena,
                     test_frames *ret) MUST_USE;
int test_name_point(struct run_symbols *symbols, const struct wire_point *p, struct arena *arena,
                    test_frames *ret) MUST_USE;
int test_name_crash(struct run_symbols *symbols, const struct lab_result *traced, struct arena *arena,
                    test_frames *ret) MUST_USE;

/* --- what was done (test_keep.c) ---------------------------------------------------------------------------------- */

/* The experiment that stands for a finding: others at the same stack may be clearer. */
struct test_shown {
  uint64_t hash; /* of the point; 0 if none is */
  int weight;    /* the more the clearer */
  bool onwards;  /* it stays */
};

struct test_keeper {
  struct test_setup *setup;
  struct store *store;
  const char *folder;
  const struct candidate *experiments;
  size_t n_experiments;
  VEC(int64_t) points; /* ids in the store */
  int64_t *ids;        /* of each experiment, in the store; 0 if it was not made, nor begun */
  struct map stored;   /* points by their hashes: ids in the store */
  struct map made;     /* experiments of one injection, by their keys: likewise */
  VEC(struct campaign_failure) known;
  VEC(struct test_shown) shown; /* of each finding */
  uint8_t *before;              /* an enum sweep_before for each experiment */
  struct arena arena;
  const char *murphy; /* path of this binary */
};

/* Writes points and plan to the store, or finds there what was done of them; again, when there are more experiments. */
int test_keeper_start(struct test_keeper *k, struct err *e) MUST_USE;
/* Writes points that are new, with names from the lab that has just met them. */
int test_keeper_points(struct test_keeper *k, const struct lab *l, struct err *e) MUST_USE;
int test_keeper_add(struct test_keeper *k, const struct sweep_done *d, struct err *e) MUST_USE;
void test_keeper_done(struct test_keeper *k);

/* What is known when it begins, and of its baseline (test_facts.c). */
int test_facts_begin(struct store *s, const struct test_setup *setup, struct err *e) MUST_USE;
int test_facts_baseline(struct store *s, const struct baseline *b, struct err *e) MUST_USE;

/* --- pairs of faults (test_pairs.c) ------------------------------------------------------------------------------- */

struct test_pairs {
  struct test_setup *setup;
  struct test_keeper *keeper;
  struct candidate *experiments; /* of one fault, and then those of two; malloc'ed, and the caller's */
  size_t n, n_single;
  const uint8_t *outcomes;         /* of the former, enum outcome + 1; 0 if it was not made by this process */
  VEC(struct observation *) alone; /* what became of those that others are behind, */
  struct map references;           /* ... by their experiment_key */
  uint64_t deadline;               /* for the search; 0 for none */
};

/*
 * Makes experiments of one fault that were no failures once more, looks which calls they lead to that the baseline does
 * not make, and adds an experiment for each fault of those.
 */
int test_pairs_find(struct test_pairs *p, struct err *e) MUST_USE;
void test_pairs_done(struct test_pairs *p);

/* --- the folder of a finding (test_finding.c) --------------------------------------------------------------------- */

struct test_finding {
  int64_t id;
  const char *kind;
  int signal;
  const char *function, *written; /* as the binary imports it, and as people know it */
  uint64_t hash, nth, call;
  uint32_t process;
  bool onwards;
  int64_t retval;
  int error;
  const char *act; /* as inject_act_word has it */
  test_frames inject;
  /* The fault before it, of two; function is NULL if there is none. */
  struct store_first first;
  const char *first_written;
  uint64_t first_hash;
  test_frames first_stack;
};

/* Writes all that repeats and explains the finding. */
int test_finding_write(const struct test_keeper *k, const struct test_finding *f, const struct sweep_done *d,
                       struct err *e) MUST_USE;
/* A finding as it was written, with what it is about. */
struct test_known {
  struct test_finding is;
  struct test_subject subject;
  json_t *modules, *environment;
  struct arena arena;
};
int test_finding_load(const char *path, struct test_known *ret, struct err *e) MUST_USE;
void test_known_done(struct test_known *k);
/* The environment as it is kept: names, and values where these are known to be harmless (test_environment.c). */
void test_environment_json(char *const *envp, struct text *to);
/* In what ENVP differs from what was KEPT, for people; nothing if it does not, or is not known. */
int test_environment_differs(char *const *envp, const json_t *kept, struct text *to) MUST_USE;
/* Says so, if it does. */
void test_environment_complain(const json_t *kept);
/* "crash (SIGSEGV) when malloc returns 0 with ENOMEM" */
void test_finding_title(const struct test_finding *f, struct text *to);

/* --- the same again (again.c) ------------------------------------------------------------------------------------- */

/* The experiment of a finding. */
struct again {
  struct lab_order order;
  struct campaign_case is;
  bool patient; /* it is a hang */
  struct injection injections[2];
  struct inject_call calls[2];
  struct observation alone; /* of the first fault alone, if there are two */
};

/* A failure that does not come each time is gone only if it stays away this often. */
enum { AGAIN_TRIES = 3 };

/*
 * Finds it in a setup that has points, which may become more. -ENOENT if the call is not made any more; any other
 * negative errno says that this is not known. again_done belongs to it in any case.
 */
int again_locate(struct test_setup *s, const struct test_finding *f, struct again *ret, struct err *e) MUST_USE;
void again_done(struct again *a);
struct again_result {
  enum outcome outcome;
  bool failed;    /* it is a failure, as a campaign would call it */
  unsigned tries; /* so many were made: the last has failed, or none has */
  struct lab_result run;
  struct text difference; /* how it looked different, for people */
};
void again_result_done(struct again_result *r);
/* Until it fails, or has not AGAIN_TRIES times. */
int again_run(struct test_setup *s, const struct again *a, struct again_result *ret, struct err *e) MUST_USE;

/* --- progress (test_progress.c) ----------------------------------------------------------------------------------- */

struct test_progress {
  bool terminal, shown;
  uint64_t started, drawn; /* nanoseconds */
  uint64_t deadline;       /* 0 if there is none */
  size_t runs;             /* at most, 0 if there is no limit */
  size_t before;           /* done in an earlier part of the campaign */
};

/*
 * Between the first and the last of these, a thread tells what is going on: the text of the last test_stage, which must
 * stay, if that takes long; NULL for nothing.
 */
void test_stages_start(void);
void test_stage(const char *what);
void test_stages_end(void);
/* As cmd_complain, while stages are told. */
void test_complain(const char *message);

void test_progress_start(struct test_progress *p);
void test_progress_step(struct test_progress *p, size_t done, size_t total, size_t findings);
void test_progress_end(struct test_progress *p);
uint64_t test_now(void);
