/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: a program that is being checked. */
#pragma once

#include "follow/follow.h"
#include "site/relevance.h"
#include "site/site.h"

#define ERRORS_MAX 64

/* --- what is imported (site_imports.c) ---------------------------------------------------------------------------- */

struct import {
  const char *name, *written, *library;
  const struct profile_function *profile;
  enum profile_success success;
  bool said;   /* data/functions says so: what its code looks like may be a number of 64 bits, too */
  bool wanted; /* its sites are asked for */
  bool answers;
  bool pointer;     /* an error of it is no address */
  bool looked_at;   /* somebody looks at what it returns */
  int8_t size;      /* the written argument that says how much, or -1 */
  int8_t returns;   /* the one that it returns when it succeeds, or -1 */
  int8_t fills;     /* from this one on, all point to what it sets if it succeeds, or -1 */
  int8_t whence;    /* ... unless this one is known and not 0; or -1 */
  int8_t starts;    /* the one that is a function, which another thread calls with the argument behind it, or -1 */
  int8_t arguments; /* how many there are at most */
  int8_t hands;     /* the one that is a function, whose result it returns unless that is 0, or -1 */
  bool floating;    /* it returns a floating-point number: errno alone tells that it has failed */
  bool returned;    /* it returns the number of the error, and errno says nothing */
  bool foreseen;    /* that it equals a variable, or does not, tells whether it has failed */
  unsigned n_errors;
  const int64_t *errors; /* values, as far as there is room for them elsewhere */
  const struct profile_error *const *details;
};

/* --- what is found in one function (gather.c) --------------------------------------------------------------------- */

struct range {
  uint64_t from, to;
};

/* What comparisons of errno make of errors. */
struct guard {
  uint64_t errors; /* that are handled for the errnos in HANDLED only, as bits */
  struct errno_set handled;
};

/* A call of an import. */
struct found {
  uint64_t at, entry, after;
  uint32_t import;
  bool always, torn;
  bool again;          /* the same was asked before, and there was an answer (call_again.c) */
  bool kept;           /* a stream keeps the failure, and is asked for it (kept.c) */
  bool kept_returned;  /* ... but the answer is only returned, which debug information may know better */
  bool preset;         /* what it would have set has a value that the caller gave it before */
  bool passed_on;      /* the next call gets the error, refuses it, and is checked (neighbours.c) */
  uint64_t refused_at; /* that call, or 0 */
  bool errno_cleared;  /* the function sets errno to 0 somewhere, so errno alone can tell */
  const struct follow_event *events;
  uint32_t n_events;
  struct guard guard;
  uint64_t codes; /* errors whose errno the function returns, which is all that it does about them, as bits */
  struct guard guard_nothing; /* the same if the function returns nothing, which debug information tells later */
  const struct range *recovery;
  uint32_t n_recovery;
  struct relevance_call call;
};

/* A call of a function of the program itself. */
struct inner_call {
  uint64_t at, entry, to;
};

/* A call of a library that has another thread call TO, with argument ARG. */
struct started {
  uint64_t at, entry, to;
  uint8_t arg;
};

/* What became of a value at another place of the program. */
struct question {
  uint64_t entry, at;        /* AT: the call or load; 0 for an argument */
  struct follow_start start; /* but for INSN */
  bool answered;
  bool torn;                   /* ... but not to the end: what was not seen may be a check */
  bool lost;                   /* ... but the place could not be read */
  bool nothing;                /* the function there returns nothing */
  const struct sample *sample; /* a question about its guard: what is returned there; or NULL */
  struct guard guard;
  const struct range *recovery; /* what runs there only if it is an error */
  uint32_t n_recovery;
  const struct follow_event *events;
  uint32_t n_events;
};

/* An instruction that reads a variable. */
struct reader {
  uint64_t variable, at, entry;
  bool array; /* ... or any element of an array that begins there */
};

struct worker {
  struct flow_worker flow;
  struct flow_probe probe;
  struct arena arena; /* what is kept */
  VEC(struct found) found;
  VEC(struct inner_call) calls;
  VEC(struct reader) readers;
  VEC(uint64_t) parts;                  /* starts that are in the middle of another function */
  VEC(uint64_t) referenced;             /* functions whose address is taken */
  VEC(uint64_t) given;                  /* ... and goes to a library, as far as can be seen */
  VEC(struct inner_call) pointer_calls; /* through pointers; TO: see functions_pointer_callers */
  VEC(struct started) started;
  VEC(struct inner_call) handed; /* calls of libraries that return what TO does, which they are given */
  VEC(uint64_t) tables;          /* of functions, where they begin */
  VEC(uint64_t) fresh;           /* functions that only a call or a reference tells of */
  struct follow_events events;
};

struct program {
  const struct site_request *request;
  const struct image *image;
  struct profile_facts *facts;
  struct relevance *relevance;
  const struct profile *profile;
  struct map profile_of;    /* by the hash of a name: library << 32, and number of the function in it */
  struct profile *overlays; /* from files; the last counts */
  size_t n_overlays;
  VEC(struct import) imports;
  struct arena arena;   /* what imports refer to */
  struct map import_of; /* slot to import + 1, or 0 */
  struct worker *workers;
  unsigned n_workers;
  VEC(uint64_t) functions;
  struct map function_set;
  size_t n_read; /* of them, in order */
  size_t next;   /* the next to be taken by a worker */
  int error;
  /* All workers' findings, in order. */
  VEC(struct found) found;
  VEC(struct inner_call) calls;         /* by TO */
  VEC(struct reader) readers;           /* by variable */
  VEC(struct inner_call) pointer_calls; /* by TO */
  VEC(struct started) started;          /* by TO */
  VEC(struct inner_call) handed;        /* by TO */
  struct map part_set, given_set;
  struct map referenced_set; /* how many places have its address */
  struct map virtual_of;     /* functions in tables of virtual ones: 1 + offset, or 0 if it is in several */
  struct map table_of;       /* the same for those in other tables of functions */
  struct map table_set;      /* where such tables begin */
  VEC(struct question) questions;
  const struct batches *batches; /* of questions that are being answered */
  struct map question_of;
  struct image_debug *debug; /* or NULL */
  struct map no_result;      /* by function that was asked for: does it return nothing? */
};

/* The import that the slot is, or NULL. */
const struct import *site_program_import(const struct program *p, uint64_t slot);
/* Does it import a function of this name, as written or as imported? */
bool imports_has(const struct program *p, const char *name);
int imports_find(struct program *p, struct err *e) MUST_USE;
/* The profile of what the program imports. */
int imports_profile(struct program *p, struct profile *ret, struct err *e) MUST_USE;

/*
 * May a function begin at ADDRESS that is in no table? The address is taken somewhere, and nothing is known of the code
 * there.
 */
bool gather_is_untold(const struct image *img, uint64_t address);
/* Reads the function at ENTRY: its sites, its calls, what it refers to. */
int gather_function(struct program *p, struct worker *w, uint64_t entry) MUST_USE;
struct follow_graph_options gather_options(struct program *p, struct worker *w);

/* --- descriptors (descriptor.c) ----------------------------------------------------------------------------------- */

/* A function that is looked at while its graph is open. */
struct looking {
  struct program *p;
  struct follow_graph *g;
  const struct code *code;
};

/* Where a descriptor or stream came from: a call's result, or an argument of the function. */
struct thing {
  bool known, argument;
  uint32_t maker; /* the call, or the number of the argument */
};

/* Where the function holds it: a register that calls keep, or a slot of the stack that nobody else knows of. */
struct home {
  bool known, on_stack;
  uint8_t reg;
  int32_t slot;
  uint32_t read; /* the instruction by which the call gets it from there, or the call itself */
};

enum treatment { NOT_TOUCHED, HANDED_ON, WRITTEN_TO };

/* What the call INSN has as its argument ARG, as imported. */
struct thing descriptor_thing(const struct looking *t, uint32_t insn, unsigned arg);
/* Where the call INSN has its argument ARG, as imported, from. */
struct home descriptor_home(const struct looking *t, uint32_t insn, unsigned arg);
/* Is what X held when it was read what the later call LATER gets from Y? */
bool descriptor_is_at_home(const struct looking *t, const struct home *x, const struct home *y, uint32_t later);
/* Does the call get the thing as its argument ARG? */
bool descriptor_gets(const struct looking *t, uint32_t insn, int arg, const struct thing *thing);
/* What the call INSN does with the thing. */
enum treatment descriptor_treatment(const struct looking *t, uint32_t insn, const struct thing *thing);

/* What is known of the descriptor or stream that the call INSN of NAME, an import, has as the written argument ARG. */
void descriptor_look(struct program *p, struct follow_graph *g, uint32_t insn, const char *name, unsigned arg,
                     struct relevance_call *c);

/* --- functions (site_functions.c) --------------------------------------------------------------------------------- */

/* Reads all functions, on all processors, and puts together what was found. */
int functions_read(struct program *p) MUST_USE;
/* Runs WORK for each number below N, on all processors. */
int functions_each(struct program *p, size_t n, int (*work)(struct program *, struct worker *, size_t)) MUST_USE;
/* The calls of the function at ENTRY. */
size_t functions_callers(const struct program *p, uint64_t entry, const struct inner_call **ret);
size_t functions_readers(const struct program *p, uint64_t variable, const struct reader **ret);
/* May the variable, which nobody reads by itself, be an element of an array that is read? */
bool functions_maybe_element(const struct program *p, uint64_t variable, unsigned size);
/* May it be called from where nobody sees it: exported, or its address is taken? */
bool functions_visible(const struct program *p, uint64_t entry);
/* Does the slot hold a function? */
bool functions_in_slot(const struct image *img, const struct image_slot *s);
/*
 * A call of a pointer that is read from OFFSET behind an address, which TABLE says was read from memory itself. Calls
 * of pointers of which this is not seen have 0.
 */
#define POINTER_AT(offset, table) ((1 + (uint64_t)(offset)) << 1 | (table))
/*
 * The calls through pointers that may be calls of it, if its address is taken and stays inside: of a virtual function
 * those through its offset in the table, likewise of one in a table of functions if it is seen of all calls what they
 * read, of others all of the program. 0 if that is not so, or if they are too many to say anything. Their TO is
 * POINTER_AT, or 0.
 */
size_t functions_pointer_callers(const struct program *p, uint64_t entry, const struct inner_call **ret);
/* The calls of libraries that return what it does; none if its address is taken elsewhere, too. */
size_t functions_handed(const struct program *p, uint64_t entry, const struct inner_call **ret);
/* Where threads are started with it. */
size_t functions_starters(const struct program *p, uint64_t entry, const struct started **ret);
/* Does it return nothing, as debug information says? */
bool functions_no_result(struct program *p, uint64_t entry);
/* Marks in REACHED (a set of entries) what can be reached. */
int functions_reach(struct program *p, struct map *reached) MUST_USE;

/* --- judging (site_compare.c, site_judge.c) ----------------------------------------------------------------------- */

/* The error values and values of success where the value is looked at. */
#define SUCCESSES_MAX 3
enum { A_NUMBER = 3 }; /* of success, the first that is not special: no standard descriptor */
struct sample {
  const struct import *import;
  uint64_t errors[ERRORS_MAX], successes[SUCCESSES_MAX];
  unsigned n_successes;
  bool all;       /* a comparison must tell an error from all of them, not from one */
  bool renewed;   /* 0 is a success to who asks for it alone */
  uint64_t count; /* how much was asked for; 0 if that is not known */
};

/* CALL: what is known of its arguments. */
void sample_start(struct sample *s, const struct import *m, const struct relevance_call *call);
/* The same values after OPS. */
void sample_step(struct sample *to, const struct sample *from, const struct transform *ops, const struct image *img);
/* All errors, as bits. */
uint64_t judge_every(const struct import *m);
/* Is it the value itself that is used, not one that was made of it? */
bool judge_itself(const struct follow_event *e);
/* Is it compared for equality? */
bool judge_equality(const struct follow_event *e);
/*
 * A chain that takes the sign of the value is a comparison with 0: compilers write "x < 0 ? a : b" so. Which errors it
 * tells from success.
 */
uint64_t judge_sign(const struct program *p, const struct sample *s, const struct follow_event *e);
/*
 * Is it not known any more what an error has become, since something was added? Of calls that return 0 unless they
 * fail, the sum is 0 unless one has failed.
 */
bool judge_mixed(const struct program *p, const struct sample *s, const struct follow_event *e);
/* Are the upper bits gone? An error is a number then as others are: no variable and no bound tells it. */
bool judge_masked(const struct transform *t);
/* Which errors a comparison tells from success, as bits. */
uint64_t judge_compare(const struct program *p, const struct sample *s, const struct follow_event *e);

/* Is the value, if it is an error, no address where it is used as one? */
bool judge_crashes(const struct import *m, const struct follow_event *e);
/* A success that the constant of a comparison suggests, or 0. */
uint64_t judge_suggested(const struct sample *s, const struct follow_event *e);

enum {
  SEEN_USED = 1,
  SEEN_DEREFERENCED = 2,
  SEEN_RETURNED = 4, /* to callers that are not seen */
  SEEN_STORED = 8,
  SEEN_COMPARED = 16, /* with what tells nothing */
  SEEN_TOLERATED = 32,
  SEEN_LOST = 128,         /* goes to where it is not followed */
  SEEN_MIXED_CALLERS = 64, /* some callers check, some do not */
  SEEN_ELSEWHERE = 256,    /* stored where nobody knows who reads it */
};

struct judgement {
  uint64_t noticed;              /* errors, as bits */
  bool errno_tested;             /* errno is compared with 0 */
  struct errno_set errno_values; /* ... with these */
  unsigned seen;
  const char *goes_to; /* the function that gets it, for people */
  bool crashes_there;
  unsigned callers, bad_callers;
  bool other_codes;   /* it is compared with codes that are not among the known errors */
  bool cut;           /* not all was looked at: what was not seen may be a check */
  bool missing;       /* a question is open: judge again when it is answered */
  struct guard guard; /* of callers */
};

int judge(struct program *p, const struct found *f, struct judgement *ret) MUST_USE;

/* --- guards (site_guard.c) ---------------------------------------------------------------------------------------- */

/* Do the events compare errno? */
bool guard_asks(const struct follow_event *events, size_t n);
/* EVENTS: of what the call INSN returns. NOTHING: the function that the call is in returns nothing. */
void guard_look(struct follow_graph *g, uint32_t insn, const struct follow_events *events, const struct sample *s,
                bool nothing, struct guard *ret);
/* Of sites in functions that return nothing, the guard is the one for those. */
void guard_choose(struct program *p);
/* The errors whose errno the function hands on as a code of its own, and does nothing else about, as bits. */
uint64_t guard_codes(struct follow_graph *g, uint32_t insn, const struct follow_events *events, const struct sample *s);

/* --- questions (site_ask.c) --------------------------------------------------------------------------------------- */

/* The answer, or NULL, and the question is noted for the next round. */
const struct question *ask(struct program *p, uint64_t entry, uint64_t at, struct follow_start start);
/* The same, for what a call returns: which errors of the sample are handled for some errnos only? */
const struct question *ask_guard(struct program *p, uint64_t entry, uint64_t at, const struct sample *s);
/* Answers all open questions. Returns how many there were. */
int ask_answer(struct program *p) MUST_USE;

/* --- verdicts (verdict.c), ranks (rank.c), words (reason.c) ------------------------------------------------------- */

/* Fills verdict, use, checked and missing. */
int verdict_fill(struct program *p, const struct found *f, const struct judgement *j, struct arena *arena,
                 struct site *s) MUST_USE;
void rank_fill(const struct program *p, const struct found *f, const struct judgement *j, struct site *s);
int reason_fill(const struct import *m, const struct judgement *j, struct arena *arena, struct site *s) MUST_USE;

/* --- recovery.c --------------------------------------------------------------------------------------------------- */

/* An edge that is taken on failure: out of BLOCK, the one of KIND. */
struct failing {
  uint32_t block, site; /* SITE: index in the worker's found */
  uint8_t kind;
  uint32_t insn, import; /* the call whose failure it is */
  bool ordinary;         /* ... and an answer that is no failure takes it, too */
};
typedef VEC(struct failing) failing_vec;

/* Gives each site from FIRST on its blocks. */
int recovery_find(struct worker *w, const struct follow_graph *g, const failing_vec *edges, size_t first) MUST_USE;
/* Adds the failing edges of the checks among EVENTS. */
int recovery_note_checks(const struct program *p, struct follow_graph *g, const struct follow_events *events,
                         const struct sample *s, uint32_t site, uint32_t insn, failing_vec *ret) MUST_USE;
/* Answers what runs in a caller only if it gets an error: a question with a sample, whose events W has. */
int recovery_answer(struct program *p, struct worker *w, struct follow_graph *g, struct question *q) MUST_USE;
/* Asks what the next does, so that it is answered together with what verdicts need. */
int recovery_ask_callers(struct program *p) MUST_USE;
/* Adds to each site the blocks of the functions that its value is returned to. */
int recovery_find_in_callers(struct program *p) MUST_USE;

/* --- neighbours.c ------------------------------------------------------------------------------------------------- */

/* Does the call INSN of M get a descriptor that was closed just before? Which one. */
bool neighbours_lowest(const struct program *p, struct follow_graph *g, uint32_t insn, const struct import *m,
                       uint64_t *ret);
/* Has a loop closed descriptors before the call INSN of M, and nothing was opened since? */
bool neighbours_renewed(const struct program *p, struct follow_graph *g, uint32_t insn, const struct import *m);
/*
 * The call that gets what the call INSN of M returns, refuses an error, and is passed on every way before anything else
 * is done with it; 0 if there is none. EVENTS: of that value.
 */
uint64_t neighbours_refusing(const struct program *p, struct follow_graph *g, uint32_t insn, const struct import *m,
                             const struct follow_events *events);
/* Marks the sites whose error the next call notices. */
void neighbours_notice(struct program *p, const struct judgement *js);

/* --- call_again.c ------------------------------------------------------------------------------------------------- */

/* Marks the sites from FIRST on whose question was answered before. EDGES: of their checks. */
int again_find(const struct program *p, struct worker *w, struct follow_graph *g, const failing_vec *edges,
               size_t first) MUST_USE;

/* --- ended.c ------------------------------------------------------------------------------------------------------ */

/* What the sites from FIRST on that end something written can still tell. EDGES: of the function's checks. */
int ended_find(const struct looking *t, struct worker *w, const failing_vec *edges, size_t first) MUST_USE;

/* --- kept.c ------------------------------------------------------------------------------------------------------- */

/* Marks the sites from FIRST on whose failure a stream keeps until it is asked for. EDGES: of the function's checks. */
int kept_find(const struct looking *t, struct worker *w, const failing_vec *edges, size_t first) MUST_USE;

/* --- clock.c ------------------------------------------------------------------------------------------------------ */

/* Is it known that argument ARG of the call INSN points to the current time, or to another date that is near enough? */
bool clock_is_now(const struct program *p, struct follow_graph *g, uint32_t insn, unsigned arg);
/* The stack slot, relative to the stack pointer at the entry, that the call INSN gets the address of; if it is seen. */
bool clock_given_slot(const struct follow_graph *g, uint32_t insn, unsigned arg, int64_t *ret);

/* --- where.c ------------------------------------------------------------------------------------------------------ */

int where_fill(struct program *p, struct site_list *l) MUST_USE;
