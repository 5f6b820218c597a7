/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data/relevance asked about a call that was seen: its arguments are known, and what its descriptor is.
 */
#include "site/relevance.h"
#include "site/site.h"

#include <errno.h>
#include <stdlib.h>

struct site_likely {
  struct relevance *relevance;
};

int site_likely_load(const char *data, struct site_likely **ret, struct err *e) {
  struct site_likely *l = calloc(1, sizeof *l);
  if (!l) return err_set(e, -ENOMEM, "%s: out of memory", data);
  int r = relevance_load(data, &l->relevance, e);
  if (r < 0) {
    free(l);
    return r;
  }
  *ret = l;
  return 0;
}

void site_likely_free(struct site_likely *l) {
  if (l) relevance_free(l->relevance);
  free(l);
}

static void set(struct relevance_call *c, enum subject subject, bool holds) {
  c->about[subject] = holds ? TRUE_FOR_CALL : FALSE_FOR_CALL;
}

static void tell_descriptor(struct relevance_call *to, const struct site_call *c) {
  if (c->descriptor == DESCRIPTOR_NONE) return;
  set(to, ABOUT_FILE, c->descriptor == DESCRIPTOR_FILE);
  set(to, ABOUT_DIR, c->descriptor == DESCRIPTOR_DIR);
  set(to, ABOUT_PIPE, c->descriptor == DESCRIPTOR_PIPE);
  set(to, ABOUT_SOCKET, c->descriptor == DESCRIPTOR_SOCKET);
  set(to, ABOUT_TTY, c->descriptor == DESCRIPTOR_TTY);
  set(to, ABOUT_REMOTE, !c->local);
  set(to, ABOUT_NONBLOCKING, c->nonblocking);
  set(to, ABOUT_WRITTEN, c->writable);
  set(to, ABOUT_UNWRITTEN, !c->writable);
}

static void tell_arguments(const struct relevance *r, struct relevance_call *to, const struct site_call *c) {
  for (unsigned i = 0; i < RELEVANCE_ARGS; i++) {
    int at = relevance_argument_of(r, c->function, i);
    if (at < 0 || (unsigned)at >= c->n_args) continue;
    to->known |= 1u << i;
    to->args[i] = c->args[at];
  }
}

static struct relevance_call tell(const struct relevance *r, const struct site_call *c) {
  struct relevance_call call = {.name = relevance_written(r, c->function)};
  tell_descriptor(&call, c);
  tell_arguments(r, &call, c);
  set(&call, ABOUT_ANY_HANDLER, c->any_handler);
  set(&call, ABOUT_HANDLER, c->plain_handler);
  set(&call, ABOUT_PENDING, c->pending);
  return call;
}

bool site_likely_knows(const struct site_likely *l, const char *function) {
  return relevance_knows(l->relevance, relevance_written(l->relevance, function));
}

bool site_likely_names(const struct site_likely *l, const char *function, int error) {
  return relevance_names(l->relevance, relevance_written(l->relevance, function), error, -1);
}

const char *site_likely_written(const struct site_likely *l, const char *function) {
  return relevance_written(l->relevance, function);
}

bool site_likely_writes(const struct site_likely *l, const struct site_call *c, uint64_t *ret) {
  int arg = relevance_writes(l->relevance, relevance_written(l->relevance, c->function));
  if (arg < 0 || arg >= RELEVANCE_ARGS) return false;
  int at = relevance_argument_of(l->relevance, c->function, (unsigned)arg);
  if (at < 0 || (unsigned)at >= c->n_args) return false;
  *ret = c->args[at];
  return true;
}

bool site_likely_closes(const struct site_likely *l, const char *function) {
  return relevance_closes(l->relevance, relevance_written(l->relevance, function));
}

/* Its error looks like the end of a file that is read. */
static bool is_input(const struct relevance *r, const char *written) {
  return relevance_nothing(r, written) && relevance_descriptor(r, written) >= 0;
}

/* ... and without an errno is nothing else, since no stream keeps that it was one. */
static bool is_end(const struct relevance *r, const char *written) {
  return is_input(r, written) && relevance_kept(r, written) < 0;
}

int site_likely_of(const struct site_likely *l, const struct site_call *c, int error, int64_t retval) {
  struct relevance_call call = tell(l->relevance, c);
  if (!relevance_knows(l->relevance, call.name) || relevance_answers(l->relevance, call.name)) return 0;
  enum cause cause = relevance_cause(l->relevance, call.name, error, retval);
  /* A failure whose errno is not known may be the end of the input, or any that the function is known for; but a code
   * is that one and no other. */
  if (cause == CAUSE_INPUT && !error && retval <= 0)
    return is_end(l->relevance, call.name) ? 0 : (int)relevance_fails_outside(l->relevance, &call);
  if (relevance_is_inside(cause)) return 0;
  return (int)relevance_likelihood(l->relevance, &call, error, retval);
}

int site_likely_short(const struct site_likely *l, const struct site_call *c) {
  struct relevance_call call = tell(l->relevance, c);
  return (int)relevance_short(l->relevance, &call);
}

bool site_likely_shortens(const struct site_likely *l, const char *function) {
  return relevance_shortens(l->relevance, relevance_written(l->relevance, function));
}

unsigned site_likely_traits(const struct site_likely *l, const struct site_call *c, int error, int64_t retval) {
  struct relevance_call call = tell(l->relevance, c);
  enum cause cause = relevance_cause(l->relevance, call.name, error, retval);
  bool passes = relevance_passes(cause, error);
  bool answers = cause == CAUSE_MISSING || cause == CAUSE_RACE;
  bool loses = relevance_lost(l->relevance, &call, error);
  enum consequence worst = relevance_unnoticed(l->relevance, &call);
  return (passes ? SITE_PASSES : 0) | (answers ? SITE_ANSWERS : 0) | (loses ? SITE_LOSES : 0) |
         (worst == WORST_LEAK ? SITE_LEAVES : 0) | (worst == WORST_SECURITY ? SITE_GUARDS : 0);
}

bool site_likely_excused(const struct site_likely *l, const char *function) {
  const char *written = relevance_written(l->relevance, function);
  if (is_input(l->relevance, written)) return false;
  return relevance_nothing(l->relevance, written) || relevance_answers(l->relevance, written) ||
         relevance_kept(l->relevance, written) >= 0 || relevance_writes(l->relevance, written) >= RELEVANCE_ARGS;
}

bool site_likely_nothing(const struct site_likely *l, const char *function) {
  return relevance_nothing(l->relevance, relevance_written(l->relevance, function));
}

bool site_likely_absent(const struct site_likely *l, const char *function) {
  return relevance_absent(l->relevance, relevance_written(l->relevance, function));
}

bool site_likely_keeps(const struct site_likely *l, const char *function) {
  const char *written = relevance_written(l->relevance, function);
  int to = relevance_writes(l->relevance, written);
  return relevance_kept(l->relevance, written) >= 0 && to >= 0 && to < RELEVANCE_ARGS;
}

bool site_likely_told_by(const struct site_likely *l, const char *function, const char *other) {
  const struct relevance *r = l->relevance;
  return relevance_told_by(r, relevance_written(r, function), relevance_written(r, other));
}

bool site_likely_brings_out(const struct site_likely *l, const char *function) {
  const char *written = relevance_written(l->relevance, function);
  return relevance_kept(l->relevance, written) >= 0 && relevance_flushes(l->relevance, written) >= 0;
}

bool site_likely_reads(const struct site_likely *l, const char *function) {
  return is_input(l->relevance, relevance_written(l->relevance, function));
}

bool site_likely_input(const struct site_likely *l, const char *function) {
  return site_likely_reads(l, function) || relevance_reads(l->relevance, relevance_written(l->relevance, function));
}
