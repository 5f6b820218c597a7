/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One experiment: a command is started under a plan, watched until it ends, and its events are read.
 *
 * In the order of a run: where the target's side of it lives (run_folder_make, run_area_make), the start and the watch
 * (run_start), and the log (run_log_json), from which a scenario can be made that does the same again
 * (run_replay_load).
 *
 * -ECANCELED with a message: nothing is wrong with what was asked, but the experiment cannot be made.
 */
#pragma once

#include "base/base.h"
#include "image/image.h"
#include "program/program.h"
#include "wire/wire.h"

#include <sys/types.h>

/* --- where the target's side lives (run_folder.c, area.c) --------------------------------------------------------- */

/* A folder for one run, that only this user can read; removed with what is in it by run_folder_done. */
struct run_folder {
  char *path, *area, *shim;
  int lock; /* of the folder, so that others can tell that it is used; -1 if there is none */
};

/* The name of a folder in it that its owner may make, and removes before it is done; else the next murphy does. */
#define RUN_FOLDER_STAGE "stage"

/*
 * Removes what others have left there, too. BEFORE_ASAN: the program needs libasan, which must not notice that the shim
 * comes before it.
 */
int run_folder_make(bool before_asan, struct run_folder *ret, struct err *e) MUST_USE;
void run_folder_done(struct run_folder *f);
/* Writes the shim's bytes there. */
int run_folder_write(const struct run_folder *f, const struct text *shim, struct err *e) MUST_USE;

/* The shared area. What murphy relies on is kept here: the target may write what it likes to the mapping. */
struct run_area {
  struct wire_area *at;
  size_t size;
  int file; /* of the mapping, for run_area_reset */
  struct wire_span events, loaded, points, counts, branches, asking;
  uint64_t read;
  VEC(struct wire_event) pending; /* read, and not yet taken */
  size_t taken;
  struct batch *batch;
  uint64_t passed;                  /* events that were begun and never finished */
  uint64_t waiting, waited, looked; /* for the rest of which event, for how long, and when that was last looked at */
};

struct run_totals {
  uint32_t attached, refused; /* process images whose runtime accepted the plan, or did not */
  uint32_t processes;         /* process images that calls were intercepted in */
  uint64_t lost;              /* events that found no place, or that nobody finished */
  uint64_t unnamed;           /* frames in modules that found no place */
  uint64_t unreached;         /* calls to start programs that were not followed, since they could not read the shim */
};

/* Makes the file PATH and maps it. N_FUNCTIONS: of the plan. */
int run_area_make(const char *path, size_t n_functions, bool points, struct run_area *ret, struct err *e) MUST_USE;
void run_area_done(struct run_area *a);
/* As it was made, for another run; nobody else uses it now. */
int run_area_reset(struct run_area *a, struct err *e) MUST_USE;
/* The first entry of the table of points, from I on, that may be there; most of the file is a hole. */
uint32_t run_area_point_from(const struct run_area *a, uint32_t i);
/* A copy of entry I of the table of points, which has `points.n` entries; false if there is none. */
bool run_area_point(const struct run_area *a, uint32_t i, struct wire_point *ret);
/*
 * Moves complete events to `pending`. What is incomplete is waited for, unless its writer is gone. FINAL: nobody writes
 * any more. 0, -ENOMEM, or -EIO if the target has made the file shorter. From one thread at a time, of all areas.
 */
int run_area_drain(struct run_area *a, bool final) MUST_USE;
/* The next event that was not yet taken; false if there is none. */
bool run_area_take(struct run_area *a, struct wire_event *ret);
/* A copy of module number N (from 1) of what the target's frames are in; false if there is none. */
bool run_area_loaded(const struct run_area *a, uint32_t n, struct wire_loaded *ret);

/* Modules of an event's stack, for when the area is that of another run. */
enum { RUN_KEPT = 24 };
struct run_kept {
  size_t n;
  struct {
    uint32_t number;
    struct wire_loaded loaded;
  } at[RUN_KEPT];
};
/* Adds those of EVENT, as far as there is room. */
void run_area_keep(const struct run_area *a, const struct wire_event *event, struct run_kept *to);
/* A copy of branch I of the area; false if there is none. */
bool run_area_branch(const struct run_area *a, uint32_t i, struct wire_branch *ret);
uint64_t run_area_count(const struct run_area *a, uint32_t function);
/* 0 or -EIO. */
int run_area_totals(const struct run_area *a, struct run_totals *ret) MUST_USE;
/* A copy of entry I of the threads that asked plugins; false if there is none. */
bool run_area_asking(const struct run_area *a, uint32_t i, struct wire_asking *ret);
/* What became of triggers that were asked outside of the plan: copies. Text in it need not end. */
struct run_troubles {
  struct wire_trouble troubles[WIRE_TROUBLES];
  uint32_t unanswered;
};
/* 0 or -EIO. */
int run_area_troubles(const struct run_area *a, struct run_troubles *ret) MUST_USE;
/* Nothing is injected any more. 0 or -EIO. */
int run_area_stop(struct run_area *a);

/* --- the run itself (run_start.c) --------------------------------------------------------------------------------- */

struct run_request {
  const struct program_target *target;
  const char *preload; /* what LD_PRELOAD is set to */
  bool follow;         /* programs that the command starts get it too */
  /* Called every few milliseconds while the command runs, sooner if it returned 1, and once behind its end (FINAL). */
  int (*tick)(void *context, bool final, struct err *e);
  void *context;
};

/* How the command ended. */
struct run_ended {
  int status; /* as a shell has it: what it exited with, 128 + N if signal N killed it */
  int signal; /* that killed it itself; 0: none */
  pid_t pid;
};

/* Starts the command, passes signals on, waits. A tick that fails ends the watch, not the command. */
int run_start(const struct run_request *request, struct run_ended *ret, struct err *e) MUST_USE;

/* LD_PRELOAD for the command: the shim, then what the user had there. */
void run_preload(const char *shim, struct text *to);

/* --- what became of it (run_symbols.c, log.c) --------------------------------------------------------------------- */

/* A place in code that some process of the target has loaded. Strings live as long as the run_symbols. */
struct run_symbol {
  const char *module;           /* last part of its path; "" if the place is in no module */
  const char *path;             /* "" if not known */
  uint64_t offset;              /* ELF address, or the address itself */
  const char *function;         /* NULL if not known */
  uint64_t plus;                /* bytes from its start */
  struct image_frame frames[8]; /* where it is in the source, inlined functions first */
  size_t n_frames;
};

struct run_symbols;

/* Modules that are there already are not opened again; M must live as long. */
int run_symbols_new(struct program_modules *m, const struct run_area *area, struct run_symbols **ret) MUST_USE;
/* From here on, the numbers that are kept mean that, whatever the area says. */
void run_symbols_tell(struct run_symbols *s, const struct run_kept *kept);
void run_symbols_free(struct run_symbols *s);
/* What the return address FRAME belongs to: the call before it. False if its module is not known, or not yet. */
bool run_symbols_at(struct run_symbols *s, const struct wire_frame *frame, struct run_symbol *ret);
/* The same of a frame that was read from a stopped process; FRAME must live as long as *ret. */
void run_symbols_frame(struct run_symbols *s, const struct image_process_frame *frame, struct run_symbol *ret);

/* What an event's numbers mean. */
struct run_log {
  const struct wire_plan *plan; /* checked */
  struct run_symbols *symbols;
  uint64_t start;     /* nanoseconds of CLOCK_MONOTONIC */
  uint64_t events;    /* the number of the event that is being written, from 1 */
  struct map frames;  /* what is kept from one event to the next */
  struct arena arena; /* ... */
};

void run_log_done(struct run_log *log);

/* One JSON object and a newline. */
void run_log_json(struct run_log *log, const struct wire_event *event, struct text *to);
/* One line for people, without a newline. */
void run_log_line(struct run_log *log, const struct wire_event *event, struct text *to);
/* What the scenario wanted to be set and was not, in a few words; nothing if there is none. */
void run_log_missed(const struct wire_plan *plan, const struct wire_event *event, struct text *to);
/* Events that could not be recorded, and frames whose module could not, as a JSON line. */
void run_log_lost(const struct run_totals *totals, struct text *to);

/* --- the same again (run_replay.c) -------------------------------------------------------------------------------- */

/*
 * Appends the scenario, as XML, that makes the calls of the log PATH fail again. -EINVAL with file and line if it is
 * not what run_log_json writes; -ENODATA if it has no injection.
 */
int run_replay_load(const char *path, struct text *ret, struct err *e) MUST_USE;
