/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One experiment: a command is started under a plan, watched until it ends, and its events are read.
 */
#pragma once

#include "base/base.h"
#include "image/image.h"
#include "wire/wire.h"

#include <sys/resource.h>

/* --- sandbox ------------------------------------------------------------------------------------------------------ */

/*
 * A place to run one command again and again, each time in the world as it is outside: own user, mount, pid, network and
 * IPC namespaces, the file system under overlays whose changes are seen afterwards and thrown away, nothing left running.
 * Needs no privileges, but a kernel that lets users make namespaces.
 */
struct sandbox;

/* 0 means no limit. */
struct sandbox_limits {
  uint64_t cpu_seconds;   /* of each process */
  uint64_t address_space; /* of each process, bytes */
  uint64_t file_size;     /* of each file, output too, bytes */
  uint64_t processes;
  uint64_t disk; /* all that is written, bytes; 0 for half of the machine's memory */
};

struct sandbox_options {
  const char *folder; /* an empty folder of the caller's, for mount points; stays as long as the sandbox */
  const char *shared; /* a folder that is the same inside and outside, or NULL */
  const char *cwd;    /* absolute */
  const char *path;   /* the program: absolute, or relative to cwd */
  char *const *argv, *const *envp;
  struct sandbox_limits limits;
};

/*
 * Call it before threads are started. The strings of OPTIONS must stay. -EPERM and the like come with a message that
 * says what the kernel refused and what would allow it.
 */
int sandbox_new(const struct sandbox_options *options, struct sandbox **ret, struct err *e) MUST_USE;
/* Ends what still runs. */
void sandbox_free(struct sandbox *s);

struct sandbox_job {
  int in, out, error; /* descriptors for the command; files, so that what it writes is there when it has ended */
  uint64_t wall_ns;   /* killed when this has passed; 0 for never */
  bool trace;         /* under ptrace, so that the stack is there if it crashes or hangs; slower */
};

/* A part of the file system that was changed. */
struct sandbox_layer {
  char at[256]; /* where it is: "/home" */
  int fd;       /* of the folder with what is new: files as they are, deleted ones as overlay's whiteouts */
};

enum { SANDBOX_LAYERS = 64, SANDBOX_FRAMES = 64 };

struct sandbox_result {
  int status;     /* as of waitpid */
  bool timed_out; /* killed by murphy */
  uint64_t wall_ns;
  struct rusage usage;
  unsigned left; /* processes that still ran when the command had ended, and were killed */
  size_t n_layers;
  struct sandbox_layer layers[SANDBOX_LAYERS];
  size_t n_frames; /* of a traced run that crashed or was killed */
  struct image_process_frame frames[SANDBOX_FRAMES];
};

/* Runs the command once. The layers are valid until the next run; sandbox_result_done closes their descriptors. */
int sandbox_run(struct sandbox *s, const struct sandbox_job *job, struct sandbox_result *ret, struct err *e) MUST_USE;
void sandbox_result_done(struct sandbox_result *r);
