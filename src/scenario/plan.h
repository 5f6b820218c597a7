/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the room: a plan as it is put together.
 */
#pragma once

#include "scenario/model.h"
#include "site/site.h"

#include <string.h>

/* Where the arguments of a function are that triggers and faults ask for; -1 if it has none such. */
struct roles {
  int descriptor, size, stream, cleared, emptied, flushed;
  const char *stream_name; /* stdout, stdin: the stream is no argument */
  int n_args;              /* -1 if it is not known */
  int max_args;            /* it has no more; -1 if that is not known */
  int length;              /* what says how many bytes it reads or writes */
  enum wire_length how;
  bool throws;
  bool done;             /* what it ends is to have ended even if it fails */
  int path, flags, mode; /* arguments by what they are */
  int code, misnamed;    /* how it tells what went wrong */
  int file;              /* a stream that it works on, whether its error flag is set or not */
};

/* The function that a rule is being compiled for. */
struct subject {
  const char *name;    /* as it is imported */
  const char *written; /* as the programmer wrote it */
  struct roles roles;
  const struct profile_function *profile; /* NULL if there is none */
};

/* A function that the runtime intercepts for itself. */
struct hook {
  const char *name;
  enum wire_hook kind;
};

/* A function whose calls set a slot of their thread. */
struct mark {
  const char *function;
  struct where at;
  uint32_t slot;
  int64_t value;
  const struct scenario_site *site; /* only calls from there; NULL: all of them */
};

struct plan {
  const struct scenario *scenario;
  const struct scenario_world *world;
  struct err *e;
  struct arena arena;
  struct profile_facts *facts;
  struct site_names *names;
  const char **names_of; /* of the world's functions, in their order, as programmers know them */
  VEC(struct hook) hooks;
  VEC(const char *) chosen; /* the functions that rules are about, sorted */
  struct text text;
  struct map strings; /* hash of a string to its offset in text */
  VEC(struct wire_function) functions;
  VEC(struct wire_rule) rules;
  VEC(uint32_t) code;
  VEC(int64_t) numbers;
  VEC(struct wire_fault) faults;
  VEC(struct wire_side) sides;
  struct scenario_places places;
  VEC(struct wire_pattern) patterns;
  VEC(struct wire_module) modules;
  struct map slots; /* what has state to its slot */
  uint32_t n_slots;
  struct map draws; /* a random node to its ordinal */
  VEC(struct wire_trigger) triggers;
  VEC(struct wire_setting) settings;
  struct map asked; /* a trigger to its place in `triggers` */
  VEC(struct mark) marks;
  struct map thread_slots; /* what has state of its own for each thread to its slot */
  uint32_t n_thread_slots; /* 0: none is used */
  bool locks, written;     /* they are asked for */
  bool plugins;            /* so are triggers of somebody's own */
  VEC(uint16_t) tables;
  VEC(struct wire_variable) variables;
  VEC(struct wire_location) locations;
  VEC(uint32_t) memories;
  struct map memory_of; /* hash of a file's path, or who has one of its own, to its memory */
  struct map constants; /* hash of a name to its value, once they were asked for */
  VEC(const char *) constant_names;
};

int plan_no_memory(const struct plan *p);
/* Offset of S in the plan's text. */
int plan_string(struct plan *p, const char *s, uint32_t *ret) MUST_USE;
/* The state slot of OWNER, a pointer into the model; the same each time. */
int plan_slot(struct plan *p, const void *owner, uint32_t *ret) MUST_USE;
/* The bytes of the whole. */
int plan_bytes(struct plan *p, struct text *ret) MUST_USE;

/* --- choose.c ----------------------------------------------------------------------------------------------------- */

/* Fills `chosen`. -ENOENT with a message if there is none, or a name that is not known. */
int plan_choose(struct plan *p) MUST_USE;
/* Every rule is compared with every function, and most names differ in their first byte. */
static inline bool plan_same(const char *a, const char *b) { return a[0] == b[0] && strcmp(a, b) == 0; }
/* Is the rule about the function that is imported as NAME, and that a programmer writes as WRITTEN? */
bool plan_about(const struct rule *rule, const char *name, const char *written);
/* The profile of NAME, or of one of its aliases; NULL if there is none. */
const struct profile_function *plan_profile(const struct plan *p, const char *name);
/* Can the program open libraries? */
bool plan_opens(const struct plan *p);
enum wire_hook plan_hook(const struct plan *p, const char *name);

/* --- scenario_hooks.c --------------------------------------------------------------------------------------------- */

int plan_load_hooks(struct plan *p) MUST_USE;

/* --- emit.c ------------------------------------------------------------------------------------------------------- */

/* What is being written: the code of one condition. */
struct emitter {
  struct plan *plan;
  const struct subject *subject;
  unsigned depth;   /* values on the stack */
  unsigned pending; /* jumps that have not landed */
  struct where at;  /* for messages: the condition */
};

/* One instruction; its effect on the stack is known. */
int emit(struct emitter *m, enum wire_op op, uint32_t operand) MUST_USE;
int emit_number(struct emitter *m, int64_t number) MUST_USE;
/* A jump whose target is not known yet; *ret is for emit_land. */
int emit_jump(struct emitter *m, enum wire_op op, size_t *ret) MUST_USE;
/* The jump goes to what is emitted next. */
int emit_land(struct emitter *m, size_t jump) MUST_USE;
/* True with this probability. OWNER has the state; SEED is what the decisions depend on. */
int emit_random(struct emitter *m, const void *owner, double chance, uint64_t seed) MUST_USE;
/* Is what is on the stack FROM, FROM + STEP, … up to TO? */
int emit_series(struct emitter *m, int64_t from, int64_t to, int64_t step) MUST_USE;
/*
 * The direct caller; or frames of the stack, innermost first, with others between them. AT is for messages. With SITES,
 * a single frame that is a call of the function itself means that call, which is told without a walk; not one that is
 * under way further up, because the function calls back or a signal came.
 */
int emit_caller(struct emitter *m, const struct scenario_frame *frame, struct where at) MUST_USE;
int emit_stack(struct emitter *m, const struct scenario_frame *frames, size_t n, bool sites, struct where at) MUST_USE;
/* X as code, one value; and as 0 or 1. */
int emit_expr(struct emitter *m, const struct expr *x) MUST_USE;
int emit_truth(struct emitter *m, const struct expr *x) MUST_USE;
/* The code that FRAME means, as an operand. */
int emit_places(struct emitter *m, const struct scenario_frame *frame, struct where at, uint32_t *ret) MUST_USE;
/* What the draws of OWNER depend on: the same for the same scenario and seed, another for each owner. */
uint64_t plan_draw_seed(struct plan *p, const void *owner);
/* The code of X, and its end. *ret is where it starts. */
int plan_condition(struct plan *p, const struct subject *s, const struct expr *x, uint32_t *ret) MUST_USE;

/* --- scenario_act.c ----------------------------------------------------------------------------------------------- */

/* What a rule does to a call of the function, as a fault. Its condition must be plan_act_condition. */
int plan_act(struct plan *p, const struct rule *rule, const struct subject *s, struct wire_fault *ret) MUST_USE;
/* The rule's condition, and what the fault itself needs: NULL, *ret_failed, if there is no memory. */
const struct expr *plan_act_condition(struct plan *p, const struct rule *rule, bool *ret_failed);

/* --- marks.c ------------------------------------------------------------------------------------------------------ */

/* Finds what conditions ask of calls of other functions: fills `marks`, `locks` and `written`. */
int plan_find_marks(struct plan *p) MUST_USE;
/* The slot of each thread that belongs to OWNER, a node of the model. */
int plan_thread_slot(struct plan *p, const void *owner, uint32_t *ret) MUST_USE;
/* The rules of the function NAME that only set marks. */
int plan_push_marks(struct plan *p, const char *name) MUST_USE;

/* --- scenario_operand.c ------------------------------------------------------------------------------------------- */

/* What a condition asks of the call, its thread and its process; X must be such. */
int emit_operand(struct emitter *m, const struct expr *x) MUST_USE;
/* May it be that its value is not known when it is asked for? */
bool expr_may_be_unknown(const struct expr *x);
/* The descriptor that the function works on, or its stream does; -ENOTSUP, without a message, if it has none. */
int emit_descriptor(struct emitter *m) MUST_USE;
/* How many bytes it is about; the same. */
int emit_bytes(struct emitter *m) MUST_USE;
/* The argument that says so by itself; -1 if there is none. */
int bytes_argument(const struct roles *roles);

/* --- near.c ------------------------------------------------------------------------------------------------------- */

/* Adds marks for all calls of the function that X is about. */
int plan_mark_sites(struct plan *p, const struct expr *x) MUST_USE;
int emit_near(struct emitter *m, const struct expr *x) MUST_USE;

/* --- scenario_variable.c ------------------------------------------------------------------------------------------ */

/* The value of a variable: a number, or with TEXT an address of characters. */
int emit_variable(struct emitter *m, const struct expr *x, bool text) MUST_USE;

/* --- constants.c -------------------------------------------------------------------------------------------------- */

/* -ENOENT with a message and near names if there is no such constant. */
int plan_constant(struct plan *p, const struct expr *x, int64_t *ret) MUST_USE;

/* --- scenario_fault.c --------------------------------------------------------------------------------------------- */

/*
 * What FROM, an error of the function's profile, or NULL, and the rule itself set beside value and errno, as sides of
 * *F, which has them already.
 */
int plan_sides(struct plan *p, const struct rule *rule, const struct subject *s, const struct profile_error *from,
               struct wire_fault *f) MUST_USE;
/* The same of a fault that does something to the call. */
int plan_act_sides(struct plan *p, const struct rule *rule, const struct subject *s, struct wire_fault *f) MUST_USE;
/* The faults of a rule for a function; they are behind each other. */
int plan_faults(struct plan *p, const struct rule *rule, const struct subject *s, uint32_t *ret,
                uint32_t *ret_n) MUST_USE;
