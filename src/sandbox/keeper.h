/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the keeper, between its files. */
#pragma once

#include "sandbox/sandbox_inside.h"

#include <limits.h>
#include <net/if.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* What anybody who may can set of another process. */
struct settings {
  int io; /* priority for input and output */
  int policy, priority;
  struct rlimit limits[RLIM_NLIMITS];
};

/* What can be seen of the loopback device, and all addresses that there are. */
struct loopback {
  int mtu;
  short flags;
  int n_addresses; /* bytes of them */
  struct ifreq addresses[8];
};

struct keeper {
  const struct sandbox_options *options;
  struct layers layers;
  int socket;
  int last_pid;                 /* descriptor of ns_last_pid, or -1 */
  int children;                 /* descriptor of the list of the keeper's children, or -1 */
  struct processors processors; /* that the command may use */
  unsigned most_pid;            /* below this: server and trunk have the last numbers, the command always the first */
  struct fork_server server;
  pid_t trunk;      /* 0 if there is none */
  int trunk_status; /* of the last one that has ended, as of waitpid */
  int branches;     /* the socket that trunks connect to, or -1 */
  int queues;       /* the folder of message queues, or -1 */
  off_t no_queues;  /* its size when it is empty */
  int connections;  /* descriptor of how many there are, or -1 */
  int network;      /* a socket of its network, or -1 */
  struct loopback loopback;
  long session;                 /* number of its session's keys, or -1 */
  long persistent;              /* ... of the user's keys that stay, 0 if not known yet; -1 if there are none */
  struct settings own, servers; /* at first */
  int oom, no_oom;              /* descriptor of its oom_score_adj, or -1, and what that was */
  int terminals;                /* where terminals are made, or -1 */
  struct stat ptmx;             /* its status at first */
  int nothing;                  /* /dev/null as the command sees it, or -1 */
  int input;                    /* the file that it reads, where it cannot be changed, or -1 */
  char root[PATH_MAX];
};

uint64_t keeper_now(void);
/* The number of the next process, as far as the kernel lets one choose. */
void keeper_next_pid(const struct keeper *k, unsigned pid);
/* The number of the last one. */
unsigned keeper_last_pid(const struct keeper *k);

/* Waits until PID ends or the time is over: true if it has ended. Others that end meanwhile are buried. */
bool keeper_wait(struct keeper *k, pid_t pid, uint64_t deadline, struct keeper_answer *a, struct keeper_stack *stack);
/* Buries one that has ended; if there is none, waits for one if BLOCK. False if there is none to wait for. */
bool keeper_bury(struct keeper *k, bool block);
/* Everything else in the namespace ends; server and trunk stay if that is possible. How many were still there. */
unsigned keeper_end_others(struct keeper *k);
/* Does nothing run in the namespace but the keeper, server and trunk? False if that cannot be told. */
bool keeper_is_alone(struct keeper *k);
/* Everything is to end, all at once if it is much: where there are many, one alone may take long to die. */
void keeper_end_crowd(struct keeper *k);
/* Until the run of PID, which began at START, has ended, with all that it has started. */
void keeper_watch(struct keeper *k, pid_t pid, uint64_t start, const struct keeper_request *request,
                  struct keeper_answer *a, struct keeper_stack *stack);
/* Tells murphy, with the layers that were changed. */
int keeper_answer_with(struct keeper *k, const struct keeper_request *request, struct keeper_answer *a,
                       const struct keeper_stack *stack) MUST_USE;
/* Files, shared memory, semaphores, queues and ports as before the first run. */
int keeper_renew(struct keeper *k, struct err *e) MUST_USE;
/*
 * Before murphy is told that a run, or a trunk, has ended: locks of its input are gone, which might be that of another
 * sandbox, too. Nobody else has it open any more, but the server that of a trunk.
 */
void keeper_free_input(struct keeper *k, int fd, bool trunk);
/* A fork of the server, which is started if need be. TRUNK: it is to branch. */
int keeper_fork(struct keeper *k, const int descriptors[3], bool trunk, pid_t *ret) MUST_USE;

/* Objects of the IPC namespace (ipc.c): looked at from here on; are there any; from here on there are none. */
int ipc_watch(struct keeper *k, struct err *e) MUST_USE;
bool ipc_used(const struct keeper *k);
int ipc_renew(struct keeper *k, struct err *e) MUST_USE;

/* The same of connections (network.c). */
void network_watch(struct keeper *k);
bool network_used(const struct keeper *k);
int network_renew(struct keeper *k, struct err *e) MUST_USE;

/*
 * What belongs to the keeper's own process, and may be set from within (settings.c): looked at from here on; again as
 * it was. True if the server has others than it had, and must go.
 */
void settings_watch(struct keeper *k);
bool settings_renew(struct keeper *k);
/* Those of PID, or of the keeper, if that is 0. */
void settings_of(pid_t pid, struct settings *ret);
/* Are they others than they were? Nobody branches off from the server, which is looked at before it forks. */
bool settings_changed(const struct keeper *k);

/* The file that is standard input (input.c): found, while there are no layers; the same, for the command to read. */
void input_watch(struct keeper *k);
int input_replace(const struct keeper *k, int fd, struct err *e) MUST_USE;

/* A whole run in branch mode (trunk.c). */
int trunk_serve(struct keeper *k, const struct keeper_request *request, const int descriptors[KEEPER_FILES]) MUST_USE;
