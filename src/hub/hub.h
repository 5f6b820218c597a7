/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hub: one process that decides, for all processes that ask it, which of their calls fail.
 *
 * Processes under `murphy run` with a DistributedTrigger connect to it, a connection for each of their threads, and put
 * one question for each call. What they send is not trusted: a message of a wrong size or version ends the connection.
 * One thread, one loop; nothing here prints.
 */
#pragma once

#include "base/base.h"
#include "wire/wire.h"

#include <signal.h>
#include <sys/socket.h>

/* --- addresses (address.c) ---------------------------------------------------------------------------------------- */

/* unix:PATH, or a PATH with a slash in it; tcp:HOST:PORT, or HOST:PORT. */
struct hub_address {
  struct sockaddr_storage at;
  socklen_t size;
};

/* -EHOSTUNREACH if the host has no address. */
int hub_address_parse(const char *text, struct hub_address *ret, struct err *e) MUST_USE;
/* As hub_address_parse reads it. */
void hub_address_text(const struct hub_address *a, struct text *to);
/* Is there a hub of this version? -ECANCELED with a message if none answers within MS milliseconds. */
int hub_probe(const struct hub_address *a, unsigned ms, struct err *e) MUST_USE;

/* --- decisions (policy.c) ----------------------------------------------------------------------------------------- */

enum hub_policy_kind {
  HUB_NEVER,
  HUB_ALWAYS,
  HUB_ROUND_ROBIN, /* a call of one process, then one of the next, and round again */
  HUB_NTH,         /* call number N of all */
  HUB_AT_MOST,     /* calls of N processes at once; when one of them ends, another takes its place */
  HUB_SCRIPT,      /* what a program answers */
};

struct hub_policy {
  enum hub_policy_kind kind;
  uint64_t n;
  const char *script; /* for sh -c */
  bool choose;        /* it may have several questions open, and says which one it answers */
  uint64_t every, limit,
      after; /* at least this many calls from one fault to the next; faults; calls before the first */
};

/* round-robin, nth=N, at-most=N, script=COMMAND, choose=COMMAND, always, never. The text must live as long. */
int hub_policy_parse(const char *text, struct hub_policy *ret, struct err *e) MUST_USE;

/* A process that has asked; the same one whatever connections it has. */
struct hub_process {
  uint64_t number; /* from 1, in the order in which they came */
  uint32_t pid, process;
  char host[WIRE_HUB_NAME], name[WIRE_HUB_NAME];
  unsigned connections; /* 0: it is gone */
  uint64_t asked, failed;
  uint64_t identity; /* as of struct wire_hub_hello */
};

/* What decisions are made from. */
struct hub_state {
  struct hub_policy policy;
  VEC(struct hub_process) processes;
  uint64_t asked, failed; /* questions, and those with the answer yes */
  uint64_t last;          /* number of the question that got the last yes */
  size_t turn;            /* whose it is, in HUB_ROUND_ROBIN: an index in `processes` */
};

/* Question number state->asked, which is counted already, is PROCESS's. *SAYS: what the script wants; or NULL. */
bool hub_decide(struct hub_state *s, size_t process, const bool *says);
/* The process of a connection that says HELLO: an index. Or -ENOMEM. */
int hub_meet(struct hub_state *s, const struct wire_hub_hello *hello, size_t *ret) MUST_USE;
/* One of its connections is closed. */
void hub_leave(struct hub_state *s, size_t process);

/* A question, and its answer, as a line of JSON. */
void hub_log_line(const struct hub_process *p, const struct wire_hub_ask *ask, uint64_t number, const bool *answer,
                  struct text *to);

/* --- service (serve.c) -------------------------------------------------------------------------------------------- */

struct hub_options {
  struct hub_address address;
  struct hub_policy policy;
  mode_t mode;                                                       /* of a local socket */
  const sigset_t *ends;                                              /* signals that end it; blocked by the caller */
  int (*ready)(void *context, const char *address, struct err *e);   /* it listens there */
  int (*log)(void *context, const struct text *line, struct err *e); /* NULL: no log */
  void *context;
};

struct hub_totals {
  uint64_t asked, failed, processes;
};

/* Until a signal of `ends` comes, or the script has ended (-ECANCELED). */
int hub_serve(const struct hub_options *options, struct hub_totals *ret, struct err *e) MUST_USE;
