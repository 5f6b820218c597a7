/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place to run one command again and again, each time in the world as it is outside: own user, mount, pid, network
 * and IPC namespaces, the file system under overlays whose changes are seen afterwards and thrown away, nothing left
 * running. Needs no privileges, but a kernel that lets users make namespaces.
 */
#pragma once

#include "base/base.h"
#include "image/image.h"
#include "wire/wire.h"

#include <sys/resource.h>
#include <sys/types.h>

struct sandbox;

/* 0 means no limit. */
struct sandbox_limits {
  uint64_t cpu_seconds;   /* of each process */
  uint64_t address_space; /* of each process, bytes */
  uint64_t file_size;     /* of each file, output too, bytes */
  uint64_t processes;     /* more than 301; before Linux 6.14, nothing holds root back */
  uint64_t disk;          /* all that is written, bytes; 0 for half of the machine's memory */
  uint64_t memory;        /* bytes of each process that are its own and can be written to, the stack left out */
};

struct sandbox_options {
  const char *folder; /* an empty folder of the caller's, for mount points; stays as long as the sandbox */
  const char *shared; /* a folder that is the same inside and outside, or NULL */
  const char *cwd;    /* absolute */
  const char *path;   /* the program: absolute, or relative to cwd */
  char *const *argv, *const *envp;
  struct sandbox_limits limits;
  const char *input;  /* the file that is standard input, or NULL */
  const char *hidden; /* a folder or file that is not there inside; absolute, or NULL */
  bool bare;          /* no sandbox at all: no namespaces, no layers; the command runs in the world as it is */
  unsigned processor; /* the one that all but the command runs on, from 1; 0 for any */
};

/*
 * Call it before threads are started. The strings of OPTIONS must stay. -EPERM and the like come with a message that
 * says what the kernel refused and what would allow it.
 */
int sandbox_new(const struct sandbox_options *options, struct sandbox **ret, struct err *e) MUST_USE;
/* What is worth knowing about it, for people: a folder that cannot be written; "" if nothing is. */
const char *sandbox_note(const struct sandbox *s);
/* Ends what still runs. */
void sandbox_free(struct sandbox *s);
/* Ends it at once: what waits for it in another thread fails. May be called by a signal handler. */
void sandbox_stop(const struct sandbox *s);

enum { SANDBOX_LAYERS = 64, SANDBOX_FRAMES = 64, SANDBOX_WHY = 256, SANDBOX_PROGRAMS = 32 };

/* Layers, by their place in the sandbox. Of one that has other layers than those that were meant, there are none. */
struct sandbox_places {
  bool all;
  uint64_t names; /* hash of the paths of all layers */
  uint64_t set;
};
_Static_assert(SANDBOX_LAYERS <= 64, "a bit for each");

struct sandbox_job {
  int in, out, error;   /* descriptors for the command; files, so that what it writes is there when it has ended */
  uint64_t wall_ns;     /* killed when this has passed, time without a processor not counted; 0 for never */
  bool trace;           /* under ptrace, so that the stack is there if it crashes or hangs; slower */
  uint64_t patience_ns; /* so long where it may be about to end, as it sleeps for limited times; 3 times that at most
                           if it sleeps long, and 6 times if it sleeps longer and longer */
  bool brief;           /* if that is more than patience_ns it is not waited for, but said: `asks_ns` */
  bool fork;            /* by the fork server, if that is possible; never with trace */
  uint64_t until_ns;    /* killed at this time of CLOCK_MONOTONIC, whatever else holds; 0 for never */
  struct sandbox_places in_place; /* what may be emptied in place if the run before has changed it */
};

/* A part of the file system that was changed. */
struct sandbox_layer {
  char at[256]; /* where it is: "/home" */
  int fd;       /* of the folder with what is new: files as they are, deleted ones as overlay's whiteouts */
};

/* What was seen of all processes of a traced run. */
struct sandbox_tree {
  unsigned forks; /* processes but the first */
  unsigned again; /* how often the program that was started first was started once more */
  int died;       /* the signal of a crash that ended one of them first; 0 if none was */
  size_t n_programs;
  char programs[SANDBOX_PROGRAMS][256]; /* the files that were started, each once, in their order */
  bool more;                            /* there were others */
};

struct sandbox_result {
  int status;     /* as of waitpid */
  bool timed_out; /* killed by murphy */
  uint64_t wall_ns;
  uint64_t asks_ns; /* of a brief run that was killed: it could take so long to make sure of it; 0 if it is sure */
  struct rusage usage;
  unsigned left;                 /* processes that still ran when the command had ended, and were killed */
  struct sandbox_places emptied; /* these were emptied in place since they were mounted, before this run */
  size_t n_layers;
  struct sandbox_layer layers[SANDBOX_LAYERS];
  size_t n_frames; /* of a traced run that crashed or was killed */
  struct image_process_frame frames[SANDBOX_FRAMES];
  bool forked;           /* it was not started anew, but is a fork of one that had stopped before main */
  char why[SANDBOX_WHY]; /* not, though that was asked for; "" if it was, or was not asked for */
  bool ended;            /* of a trunk: it came to its own end */
  bool locked;           /* of one that was started anew: it has locked its standard input, which is there only once */
  struct sandbox_tree tree;
};

/*
 * Runs the command once. -EAGAIN if it was to be forked and that is not possible, with the reason in ret->why alone:
 * something has run, so what the caller has prepared must be prepared again, and then exec is what it gets.
 *
 * The layers are valid until the next run; sandbox_result_done closes their descriptors. */
int sandbox_run(struct sandbox *s, const struct sandbox_job *job, struct sandbox_result *ret, struct err *e) MUST_USE;
void sandbox_result_done(struct sandbox_result *r);

/* The number that the command has as a process. */
enum { SANDBOX_PID = 2 };

struct sandbox_branch {
  int in, out, error; /* as of a job, for the trunk */
  int child_out,
      child_error;   /* files for its children, one after another: they begin with what the trunk has written */
  uint64_t wall_ns;  /* of each child */
  uint64_t until_ns; /* as of a job */
  struct sandbox_places in_place; /* ... */
  /* A child, for number ORDER of the area's branches, has ended. Not 0 ends the trunk. */
  int (*done)(void *context, uint32_t order, const struct sandbox_result *result, struct err *e);
  void *context;
  /* The trunk has come to its own end; may be NULL. */
  int (*ended)(void *context, const struct sandbox_result *result, struct err *e);
};

/*
 * Runs the command once without faults, with children that take those of the area's branches. What DONE returns, if
 * that is not 0. RET_WHY: there was no trunk; else "".
 */
int sandbox_branch(struct sandbox *s, const struct sandbox_branch *b, char ret_why[SANDBOX_WHY],
                   struct err *e) MUST_USE;
/* For people: why a process cannot be forked. */
const char *sandbox_refusal(uint32_t refusal);
/* ... as it is before main, by what constructors of libraries did. */
const char *sandbox_early_refusal(uint32_t refusal);
