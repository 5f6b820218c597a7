/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the sandbox, between its files.
 *
 *   murphy ── outer process ── keeper (pid 1 of the namespace) ── the command, once a run
 *
 * The outer process owns the user namespace and waits; the keeper mounts the layers once and replaces only those that a
 * run has changed. The command's root is the tree of these layers, and it has no privilege that leads out of there.
 */
#pragma once

#include "sandbox/sandbox.h"

#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

/* What goes over the socket between murphy and the keeper. Descriptors travel beside it. */
struct keeper_request {
  uint64_t wall_ns;
  uint64_t patience_ns;
  bool trace, fork, brief;
  uint64_t until_ns;
  struct sandbox_places in_place; /* as of a job */
  bool branch; /* a whole run of a trunk; each of its children is answered, and the answer must be answered */
};

/* Descriptors that come with a request: the command's three, and for a branch output and error of its children. */
enum { KEEPER_FILES = 5 };

/* Where the command was when a signal ended it, or when its time was over; follows the answer to a traced run. */
struct keeper_stack {
  uint32_t n;
  int32_t signal; /* 0 if its time was over */
  int32_t pid;
  struct image_process_frame frames[SANDBOX_FRAMES];
  struct sandbox_tree tree;
};

struct keeper_answer {
  int32_t code; /* 0, or a negative errno with `text` */
  int32_t status;
  uint64_t wall_ns, asks_ns;
  uint32_t left, n_layers;
  int32_t order; /* of a branch: which one; -1 when the trunk has ended */
  bool timed_out, forked;
  bool locked; /* as of a result */
  bool ended;  /* of the trunk: by itself, and not because it could not go on */
  struct rusage usage;
  struct sandbox_places emptied; /* as of a result */
  char why[SANDBOX_WHY];         /* it was not forked, though that was asked for */
  char text[512];
  char at[SANDBOX_LAYERS][256];
};

/*
 * Most of an answer and of a stack are paths, of which there are none in most runs: only what is used is cleared and
 * sent.
 */
enum { ANSWER_HEAD = offsetof(struct keeper_answer, at) };
static inline size_t answer_size(const struct keeper_answer *a) { return ANSWER_HEAD + a->n_layers * sizeof a->at[0]; }

static inline void tree_clear(struct sandbox_tree *t) {
  t->forks = t->again = 0;
  t->died = 0;
  t->n_programs = 0;
  t->more = false;
}

static inline void stack_clear(struct keeper_stack *s) {
  s->n = 0;
  s->signal = s->pid = 0;
  tree_clear(&s->tree);
}

/* The upper folder of an overlay. Whatever a program changes changes its status: an entry, mode, owner, times. */
struct upper {
  unsigned number;
  int fd;            /* for its status alone; -1 if it could not be opened */
  bool dirty;        /* it had changes from the first */
  struct stat clean; /* its status then */
  off_t work;        /* size of the overlay's own folder then; 0 if it is not known */
  bool emptied;      /* it had changes since, which were removed */
  bool gone;         /* its overlay is not mounted any more */
};

/* What a layer's upper folder has, by its path in the layer, and the inode that it has in that folder. */
struct copied_file {
  char *path;
  uint64_t inode;
};
typedef VEC(struct copied_file) copied_list;
/* Numbers of files in a trunk's world and in a child's. */
typedef VEC(struct wire_number) number_list;

/* The file system of the sandbox, as the keeper sees it. */
struct layer {
  char *at;           /* path of what it covers */
  struct upper upper; /* where its changes go */
  bool fixed;         /* cannot be an overlay: read-only */
  bool over;          /* an overlay lies over one that the fork server stands on */
  unsigned below;     /* number of that one's upper folder */
  bool branches;      /* children of trunks get one of their own here, since some run has changed it */
  bool branched;      /* it is there: `upper` is the child's, `trunk` the trunk's */
  bool uncovered;     /* ... and only its changes are left of it */
  struct upper trunk;
  bool spare;            /* an overlay waits for the next child, with an empty upper folder of this number: spare_*() */
  unsigned spare_number; /* ... */
  bool changed;          /* when it was looked at last */
  char *sample;          /* path in it of a file that is no folder and that nobody has changed; NULL if none is known */
};

enum { FOREIGN_MAX = 4 };

struct layers {
  const char *stage;                         /* where the keeper has mounted its own memory file system */
  const char *shared;                        /* as in the options */
  const char *hidden;                        /* ... NULL if it cannot be hidden */
  const char *cwd;                           /* of the command */
  unsigned long unknown_user, unknown_group; /* which stand for all whom the namespace does not know */
  char *foreign[FOREIGN_MAX];                /* folders of others that can be written to; a slash at their end */
  VEC(struct layer) at;
  VEC(char *) mounts; /* mount points of the world outside */
  unsigned next;
  bool held;                      /* some process stands on the layers that were mounted first */
  bool known;                     /* the layers of a child are all shared with its trunk */
  bool settled;                   /* nothing has run since all layers were looked at: their `changed` holds */
  bool asked, forgets;            /* what an overlay knows can be made to be forgotten, if that was asked */
  struct sandbox_places in_place; /* layers that may be emptied in place now; the set is of all of this sandbox's */
  unsigned refused;               /* how often in a row that could not be */
  uint64_t n_files;               /* in memory, when all layers were new; 0 if that is not known */
  uint64_t before;                /* ... before a child for which all overlays were there already; 0 otherwise */
  struct stat shm;                /* of /dev/shm when it was empty */
  number_list numbers;            /* of what the child sees copies of */
  const char *important[3];       /* folders that must be layers if that is possible; or NULL */
};

/* Mounts everything under stage/root. */
int layers_mount(struct layers *l, const struct sandbox_options *options, struct err *e) MUST_USE;
/* A folder in which programs write can only be read; "" if there is none. */
void layers_note(const struct layers *l, char *ret, size_t size);
/* Was any layer changed? */
bool layers_changed(const struct layers *l);
/* The folder with a layer's changes, opened; -ENOENT if it has none. */
int layers_open_changed(struct layers *l, size_t i) MUST_USE;
/*
 * Makes all layers that were changed as new. HELD: some process stands on the layers as they were first mounted, and
 * must go on finding its own program and folder by their paths: what is new is laid over them.
 */
int layers_renew(struct layers *l, bool held, struct err *e) MUST_USE;
/* Only these may be emptied in place from here on. */
void layers_allow(struct layers *l, const struct sandbox_places *places);
/* Those that were, since they were mounted. */
struct sandbox_places layers_emptied(const struct layers *l);
/* All that is there before the first run is there. */
void layers_ready(struct layers *l);
void layers_done(struct layers *l);
/*
 * The world for a child of a trunk, which waits. Layers that nobody has changed are shared; of those that the trunk or
 * another child has changed, a copy lies over the trunk's. Device and inode of a file are others in a copy, and where
 * one is in a folder: if the program knows the former all are shared, and if it is reading folders there are no copies
 * (STATE, of enum wire_branch_state). A negative errno, with the reason in *ret_why, if that cannot be.
 */
int layers_branch(struct layers *l, int64_t state, enum wire_refusal *ret_why, struct err *e) MUST_USE;
/* The child has ended: its overlays go, and what it has changed is left. */
int layers_uncover(struct layers *l, struct err *e) MUST_USE;
/*
 * The trunk's again. -ESTALE if a child that RAN has changed a layer that it shared with the trunk, whose world is
 * lost.
 */
int layers_unbranch(struct layers *l, bool ran, struct err *e) MUST_USE;
/* The trunk has ended: nothing waits for a child any more. */
void layers_drop_spares(struct layers *l);
/* Removes all that is in the folder TOP, as far as that can be. */
void layers_empty(int top);
void copied_done(copied_list *c);
/*
 * Copies all in the folder FROM to TO, of which at most *BUDGET bytes and files. Adds to LIST what was copied.
 */
int layers_copy(int from, int to, uint64_t *budget, copied_list *list) MUST_USE;
/*
 * The numbers of a layer's files, in either world. TRUNK and CHILD are its roots there, UPPER is the folder with the
 * trunk's changes, of which the child has a copy of LIST. CWD: where to look first for a file that nobody has changed.
 * -EFBIG if that is too much.
 */
int numbers_add(number_list *n, struct layer *layer, const char *cwd, int trunk, int child, int upper,
                const copied_list *list) MUST_USE;
/* A file in memory with all of them; -1 if there are none, -ENOMEM. */
int numbers_file(const number_list *n) MUST_USE;

/* The command, stopped before main: each run is a fork of it. */
struct fork_server {
  pid_t pid; /* 0 if there is none */
  int socket;
  uint64_t number;
  unsigned runs, lost; /* children that were made, servers that were lost */
  bool refused;        /* for ever; `why` says the reason */
  char why[SANDBOX_WHY];
};

/* Waits until the server is ready. A negative errno if there will be none; then it is refused for ever. */
int server_hello(struct fork_server *s) MUST_USE;
/*
 * A child of the server's, which is a child of the caller, with these for its standard input and output. TRUNK: it
 * is to branch. KEPT: the server is on one processor only.
 */
/* It keeps the standard streams of the last child no longer. */
int server_let_go(struct fork_server *s) MUST_USE;
int server_fork(struct fork_server *s, const int descriptors[3], bool trunk, bool kept, pid_t *ret) MUST_USE;
/* The whole message, before so many milliseconds have passed. 0 or a negative errno. */
int server_receive(int socket, void *p, size_t n, int patience) MUST_USE;
/* It has ended. After too many of these it is refused. */
void server_gone(struct fork_server *s);
void server_refuse(struct fork_server *s, const char *why);

/* The keeper's whole life, in the new namespaces as pid 1. Does not return. */
_Noreturn void keeper_main(const struct sandbox_options *options, int socket);

/* The same without a sandbox. */
_Noreturn void bare_main(const struct sandbox_options *options, int socket);

/*
 * In the command's process: goes into the new root, unless ROOT is NULL, and becomes the command. Returns only if
 * something fails, with the message in E. SERVER: the socket of a fork server, or -1.
 */
int jail_enter(const struct sandbox_options *options, const char *root, const int descriptors[3], int server,
               struct err *e);

/* How long a run may take (patience.c). */
struct patience {
  uint64_t start, wall_ns;
  uint64_t most_ns;  /* for one that may still end, and more if it sleeps long; 0: it has no more than wall_ns */
  pid_t but[2];      /* processes that are no part of the run; 0 if there are none */
  pid_t only;        /* what else is in /proc may be anybody's: only this one is looked at, if it is not 0 */
  uint64_t switches; /* at the last look */
  bool looked;
  uint64_t since;                  /* when that was done first */
  uint64_t moved, nap;             /* when that became more, and the longest time in which it did not */
  uint64_t last, before;           /* ... and the last such times; 0 if there were none */
  uint64_t last_most, before_most; /* as long may these have been, with what was not seen of them */
  uint64_t glanced, missed;        /* when the last look was; what was missed when the present one began */
  uint64_t still;                  /* the present one, as far as it was seen */
  uint64_t napped;                 /* when it was last seen to sleep for a limited time */
  uint64_t used;                   /* time on a processor, when it was looked at first, or slept */
  uint64_t end;                    /* nobody waits any longer then; 0 if there is no such time */
  bool brief;                      /* as of a job */
  uint64_t asks;                   /* of one that is brief: as of a result */
};
/* When a run that begins at START is looked at first; 0 for never. */
uint64_t patience_first(const struct patience *p);
/* The time is over: until when to wait on, or 0 if it hangs. */
uint64_t patience_until(struct patience *p, uint64_t now);

/* Will a thread that sleeps go on by itself (sleep.c)? */
enum sleep_limit { SLEEP_ENDLESS, SLEEP_UNKNOWN, SLEEP_LIMITED };
/* Of what /proc/PID/task/TID/syscall says; THREAD is that folder. */
enum sleep_limit sleep_limit(int thread, const char *line);
/*
 * May a timer of the process wake it, whatever it waits for? PROCESS is its folder, THREAD that of one that lives.
 * FILES_SEEN: its open files need not be looked at, and have been afterwards.
 */
bool sleep_has_timer(int process, int thread, bool *files_seen);
/* The text of a file of /proc: its length, or a negative errno. */
ssize_t sleep_read(int folder, const char *name, char *to, size_t size);

/* Has the run that had FD as its standard input left it locked (input.c)? */
bool input_locked(int fd);

/* Attaches to a process that has not become the command yet. 0 or a negative errno. */
int trace_attach(pid_t pid) MUST_USE;
/* It could not be: the run goes on without a stack, and the answer says why. */
void trace_refused(int r, struct keeper_answer *a);
/* A thread of the command's has stopped: it goes on, and its stack is taken if it is about to die. */
void trace_stopped(pid_t tid, int status, struct keeper_stack *stack);
/* A process or thread of the command's has ended, which is not the command itself. */
void trace_ended(int status, struct keeper_stack *stack);
/* Who is it that hangs? PID, or a process that it waits for, however far away. */
pid_t trace_stuck(pid_t pid);
/* Takes the stack of a process that is to be killed. */
void trace_interrupted(pid_t pid, struct keeper_stack *stack);

/* A message of the keeper's with descriptors beside it. */
int message_send(int socket, const void *p, size_t n, const int *fds, size_t n_fds) MUST_USE;
/* How many bytes came: N, or 0 if the other side is gone. Descriptors beyond MAX are closed. */
int message_receive(int socket, void *p, size_t n, int *fds, size_t max, size_t *ret_fds) MUST_USE;
/* The same for one that may be shorter, but has LEAST bytes: how many came. */
int message_receive_part(int socket, void *p, size_t least, size_t n, int *fds, size_t max, size_t *ret_fds) MUST_USE;
