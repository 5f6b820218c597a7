/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenarios: which calls fail, how, and when. XML files and one-line rules become one model, and the model a plan.
 *
 * Everything in a scenario lives in its arena. Errors carry file, line and column ("--fail" and a column for a rule).
 */
#pragma once

#include "base/base.h"
#include "profile/profile.h"
#include "wire/wire.h"

struct scenario;

/* An empty scenario; NULL if there is no memory. */
struct scenario *scenario_new(void);
void scenario_free(struct scenario *s);

/*
 * Who knows classes of triggers that are not murphy's own. Strings must live as long as the scenario. -ENOENT: no such
 * class; other errors with a message.
 */
struct scenario_plugins {
  int (*find)(void *context, const char *class, const char **ret_file, struct err *e);
  /* All that it knows, for messages; how many. */
  size_t (*list)(void *context, const char *const **ret);
  void *context;
};
void scenario_set_plugins(struct scenario *s, const struct scenario_plugins *plugins);

/* Adds what an XML file, or a file of one-line rules, says. The form is told by its first character. */
int scenario_load(struct scenario *s, const char *path, struct err *e) MUST_USE;
/* The same from memory; NAME is for messages. Include files are looked for beside NAME. */
int scenario_parse(struct scenario *s, const char *name, const char *bytes, size_t size, struct err *e) MUST_USE;
/* Adds one rule: FUNCTION:FAULT [when EXPR]. ORIGIN says where it stood, "--fail" for instance. */
int scenario_add_rule(struct scenario *s, const char *origin, const char *rule, struct err *e) MUST_USE;

/* The names of the functions that its rules are about; pointers are valid as long as the scenario. */
int scenario_functions(const struct scenario *s, const char *const **ret, size_t *ret_n) MUST_USE;

/* A frame, a caller or a piece of the stack, as the user named it; what is NULL or 0 was not said. */
struct scenario_frame {
  const char *module, *function, *file;
  unsigned line;
  bool has_offset;
  uint64_t offset; /* ELF address of the call instruction, or behind it */
  const char *any; /* "module-or-function" */
};

struct scenario_places {
  VEC(struct wire_place) places;
};

/*
 * A call of a function, with the source lines that it stands on: that of the function of the program that it is in
 * comes first, then those of what was inlined there, up to the call itself.
 */
struct scenario_line {
  const char *file, *in; /* the file, and the function that it is in */
  unsigned line;
};
#define SCENARIO_LINES 16
struct scenario_site {
  struct wire_place place;
  struct scenario_line lines[SCENARIO_LINES];
  size_t n_lines; /* 1 at least */
  bool perhaps;   /* through a register, in a function that reads the address: it may be a call of another one */
};
struct scenario_sites {
  VEC(struct scenario_site) sites;
};

/* How to come from a variable to what is asked of it: OFFSET bytes on; the address there is loaded, but in the last. */
struct scenario_step {
  int64_t offset;
};
#define SCENARIO_STEPS 8

/* A variable of the program, or a part of it. */
struct scenario_variable {
  bool local;       /* of a function: locations say where it is; else it is at `address` */
  uint32_t module;  /* of `address` */
  uint64_t address; /* ELF address */
  bool of_thread;   /* ... or, of a variable of each thread, its offset in the module's block */
  VEC(struct wire_location) locations;
  VEC(struct wire_location) entries; /* what callers hand over, for WIRE_IS_ENTRY */
  struct scenario_step steps[SCENARIO_STEPS];
  size_t n_steps;
  unsigned width; /* in bytes, of what is asked for */
  bool sign;
  bool pointer;             /* it is one */
  bool characters;          /* it is an array of them, or a pointer to them */
  unsigned bit, bits;       /* of a bit-field: its lowest bit and how many; 0 if it is none */
  const char *file, *other; /* source files: its own, and that of another variable of the name; NULL if there is none */
};

/*
 * What a scenario is compiled against: the program and its libraries. Who calls plan_compile fills this in; the modules
 * and their unwind rows go into the plan as they are.
 */
struct scenario_world {
  const struct profile *profile; /* of all that the functions of the scenario are in */
  const char *data;              /* folder of data files */
  const char *const *functions;  /* names that the program or one of its libraries imports, sorted */
  size_t n_functions;
  const struct wire_module *modules; /* `name` is an index into module_names; rows index into ROWS */
  const char *const *module_names;
  size_t n_modules;
  const struct wire_row *rows;
  size_t n_rows;
  /*
   * All code that FRAME means: places are pushed on *RET with their module's index. -ENOENT with a message if none. It
   * may add to the modules, behind those that are there.
   */
  int (*places)(void *context, const struct scenario_frame *frame, struct scenario_places *ret, struct err *e);
  /*
   * Calls that are in the code of both sets of places that begin at INNER_AT and OUTER_AT of *RET, those of the last
   * two of N frames, where each frame is inlined into the next: pushed on *RET, too. May be NULL.
   */
  int (*within)(void *context, const struct scenario_frame *frames, size_t n, size_t inner_at, size_t outer_at,
                struct scenario_places *ret);
  /* Is the instruction at the start of PLACE a call of FUNCTION itself? May be NULL: not known. */
  bool (*calls)(void *context, const struct wire_place *place, const char *function);
  /*
   * Does the code of the set of places that begins with PLACE get to FUNCTION by jumps only, in tail calls? None of its
   * frames is on the stack then. May be NULL: not known.
   */
  bool (*only_jumps)(void *context, const struct wire_place *place, const char *function);
  /*
   * The symbol versions of FUNCTION that are imported, where its library has several; at most MAX. 0: one entry without
   * a version serves all. May be NULL.
   */
  size_t (*versions)(void *context, const char *function, const char **ret, size_t max);
  /* Does any library define FUNCTION? Hooks that none defines are left out. May be NULL. */
  bool (*defined)(void *context, const char *function);
  /* Something worth knowing that is not a mistake, with its position. May be NULL. */
  void (*note)(void *context, const char *text);
  /*
   * The variable NAME ("a.b[3].c"), a global one, or of FUNCTION if that is not NULL; with a NULL NAME, argument number
   * PARAMETER of it, from 0. *ret is cleared first, and its locations are the caller's to free. -ENOENT with a message
   * and near names, -ESRCH if there is no such function. May be NULL.
   */
  int (*find_variable)(void *context, const char *function, const char *name, unsigned parameter,
                       struct scenario_variable *ret, struct err *e);
  /*
   * All calls of FUNCTION, as it is imported, whose lines are known, pushed on *RET; strings live as long as the world.
   * May be NULL.
   */
  int (*call_sites)(void *context, const char *function, struct scenario_sites *ret, struct err *e);
  void *context;
  const char *area, *preload; /* paths, for the plan */
  uint32_t flags;             /* of enum wire_plan_flag */
  bool lenient;               /* a rule that its function cannot carry out is left out, without a word */
  bool ends; /* what a function ends however it fails has ended: a stream is closed, without what was still in it */
  uint64_t seed;
  /* Does any module export a variable NAME, one for all threads? May be NULL: not known. */
  bool (*variable)(void *context, const char *name);
  /*
   * The hub at ADDRESS, as the user wrote it; NULL if the scenario does not say: fills in file, address and n_address
   * of *RET, `file` as an index into no text: *RET_NAME is what goes there. May be NULL: no hub is known.
   */
  int (*hub)(void *context, const char *address, struct wire_trigger *ret, const char **ret_name, struct err *e);
  void *hub_context;
};

/*
 * Compiles to a wire plan that wire_plan_check accepts. RET is appended to. Functions that are intercepted whatever the
 * rules say (struct wire_function with a hook) are added from the file data/hooks.
 */
int plan_compile(const struct scenario *s, const struct scenario_world *world, struct text *ret,
                 struct err *e) MUST_USE;

/* Is one of these functions one that starts processes or programs, as the file data/hooks has it? */
int scenario_starts(const char *data, const char *const *functions, size_t n, bool *ret, struct err *e) MUST_USE;
/* ... libraries? */
int scenario_opens(const char *data, const char *const *functions, size_t n, bool *ret, struct err *e) MUST_USE;

/* What a plan that wire_plan_check accepts does, in words; functions that only have hooks are left out. */
void plan_dump(const void *plan, struct text *to);
