/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the command behaves when nothing fails. Everything later is measured against this, so a baseline that is not
 * good enough ends the campaign.
 */
#include "campaign/campaign.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool says(const struct lab_result *r, const char *const *words, size_t n) {
  for (unsigned i = 0; i < OBSERVE_STREAMS; i++)
    for (size_t k = 0; k < n; k++) {
      const struct observe_stream *said = &r->seen.streams[i];
      if (said->n && memmem(said->at, said->n, words[k], strlen(words[k]))) return true;
    }
  return false;
}

/* What it seems to miss, by what it says. */
static const char *missing_thing(const struct lab *l, const struct lab_result *r) {
  static const char *const read_only[] = {"Read-only file system", "EROFS"};
  static const char *const unknown[] = {"Value too large for defined data type", "EOVERFLOW"};
  static const char *const displays[] = {"DISPLAY", "display:", "X server", "Wayland", "wayland"};
  static const char *const terminals[] = {"/dev/tty", "not a tty",           "not a terminal",
                                          "tty get",  "Inappropriate ioctl", "\033["};
  static const char *const networks[] = {"resolve host",
                                         "resolve proxy",
                                         "Network is unreachable",
                                         "network is unreachable",
                                         "in name resolution",
                                         "Name or service not known",
                                         "Name does not resolve",
                                         "No address associated with hostname",
                                         "no such host"};
  const char *note = lab_note(l);
  if (note[0] && says(r, read_only, COUNT(read_only))) return note;
  if (geteuid() != 0 && says(r, unknown, COUNT(unknown)))
    return "in the sandbox, files of other users, or of groups other than the user's first, cannot be changed, which "
           "may be why: chown or chgrp them, or use --no-sandbox";
  if (says(r, displays, COUNT(displays))) return "it needs a display, and has none here";
  if (says(r, terminals, COUNT(terminals)))
    return "it wants a terminal, and has none here: is there an option for that?";
  if (!lab_is_bare(l) && says(r, networks, COUNT(networks)))
    return "it wants a network, and the sandbox has none but loopback: --no-sandbox has";
  return NULL;
}

enum { SHOWN = 240 };

/* The first lines, in one. */
static void show_lines(const char *at, size_t n, char ret[SHOWN + 1]) {
  while (n && at[n - 1] == '\n')
    n--;
  size_t length = n < SHOWN ? n : SHOWN;
  for (size_t i = 0; i < length; i++)
    ret[i] = at[i];
  ret[length] = '\0';
  for (size_t i = 0; i + 1 < length; i++)
    if (ret[i] == '\n') ret[i] = '|';
}

static int refuse_end(const struct lab *l, const struct lab_result *r, const char *how, const char *otherwise,
                      struct err *e) {
  const struct observe_stream *said = &r->seen.streams[OBSERVE_ERROR];
  const char *thing = missing_thing(l, r);
  struct text report = {0};
  char lines[SHOWN + 1];
  sanitizer_report(said, &report);
  if (report.n)
    show_lines(report.at, report.n, lines);
  else
    show_lines(said->n ? said->at : "", said->n, lines);
  text_done(&report);
  return err_set(e, -ECANCELED, "the command %s without any fault (%s)%s%s", how, thing ? thing : otherwise,
                 said->n ? "; it says: " : "", lines);
}

static int check_status(const struct lab *l, const struct lab_result *r, struct err *e) {
  int status = r->seen.status;
  char how[64], way[96];
  if (campaign_wrote_too_much(&r->seen))
    return err_set(e, -ECANCELED,
                   "the command writes without end, without any fault: more than %u MiB to a file or its output, which "
                   "is murphy's limit (give it less to do)",
                   CAMPAIGN_FILE_SIZE >> 20);
  if (WIFSIGNALED(status)) {
    const char *name = signal_name(WTERMSIG(status));
    (void)snprintf(how, sizeof how, "ends with %s", name ? name : "a signal");
    return refuse_end(l, r, how, "mend that first", e);
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) == 0) return 0;
  (void)snprintf(how, sizeof how, "fails with exit status %d", WEXITSTATUS(status));
  (void)snprintf(way, sizeof way, "if it should, let a shell say so: sh -c 'COMMAND; test $? = %d'",
                 WEXITSTATUS(status));
  return refuse_end(l, r, how, way, e);
}

static int check_run(const struct lab *l, const struct lab_result *r, uint64_t wall_ns, struct err *e) {
  const char *thing = missing_thing(l, r);
  if (r->timed_out)
    return err_set(e, -ECANCELED, "the command does not end within %.0f s without any fault (%s)",
                   (double)wall_ns / 1e9,
                   thing ? thing
                         : "does it wait for input, or serve for ever? give it a command that ends, or a longer "
                           "--timeout");
  int code = check_status(l, r, e);
  if (code < 0) return code;
  return r->attached ? 0 : err_set(e, -ECANCELED, "murphy's runtime was not loaded into the command");
}

/* What differed, in one line, and why that may be. */
static int refuse_unstable(const struct lab *l, const struct baseline *b, struct err *e) {
  const char *thing = missing_thing(l, &b->runs[0]);
  char lines[SHOWN + 1];
  show_lines(b->notes.at ? b->notes.at : "", b->notes.n, lines);
  return err_set(e, -ECANCELED, "the command does not do the same twice, without any fault%s%s%s: %s",
                 thing ? " (" : "", thing ? thing : "", thing ? ")" : "", lines);
}

static int run_all(struct lab *l, uint64_t wall_ns, struct baseline *b, struct err *e) {
  struct lab_order order = {.wall_ns = wall_ns};
  for (; b->n < BASELINE_RUNS; b->n++) {
    int r = lab_run(l, &order, &b->runs[b->n], e);
    if (r < 0) return r;
    if (b->runs[b->n].wall_ns > b->wall_ns) b->wall_ns = b->runs[b->n].wall_ns;
    r = check_run(l, &b->runs[b->n], wall_ns, e);
    if (r < 0) {
      b->n++;
      return r;
    }
  }
  return 0;
}

/* The runs, and what is not the same in all of them. -EAGAIN if that is too much. */
static int learn(struct lab *l, uint64_t wall_ns, struct baseline *ret, struct err *e) {
  struct observation runs[BASELINE_RUNS];
  memset(ret, 0, sizeof *ret);
  int r = run_all(l, wall_ns, ret, e);
  if (r < 0) return r;
  for (size_t i = 0; i < BASELINE_RUNS; i++)
    runs[i] = ret->runs[i].seen;
  return observe_learn(runs, BASELINE_RUNS, &ret->mask, &ret->notes);
}

/* The layers that were emptied in place before some run, so that it would show what comes of that. */
static struct sandbox_places find_emptied(const struct baseline *b) {
  struct sandbox_places p = {0};
  for (size_t i = 0; i < b->n; i++) {
    p.names = b->runs[i].emptied.names;
    p.set |= b->runs[i].emptied.set;
  }
  return p;
}

static bool is_same_text(const struct text *a, const struct text *b) {
  return a->n == b->n && (a->n == 0 || memcmp(a->at, b->at, a->n) == 0);
}

/*
 * An overlay that stays gives its folders other numbers in each run: is that why B varies? Then *b becomes what it is
 * with new mounts. R is what was learned, and so is the result.
 */
static int learn_anew(struct lab *l, uint64_t wall_ns, struct baseline *b, int r, struct err *e) {
  struct baseline *other = malloc(sizeof *other);
  struct err why = {0};
  if (!other) return -ENOMEM;
  int r_other = learn(l, wall_ns, other, &why);
  bool same = r_other == r && is_same_text(&b->notes, &other->notes);
  /* What was good enough stays so, if the command varies so much that it is not each time. */
  if (same || (r == 0 && r_other < 0)) {
    if (!same) b->in_place.set = 0;
    baseline_done(other);
  } else {
    baseline_done(b);
    *b = *other;
    r = r_other;
    if (r < 0) *e = why;
  }
  free(other);
  return r;
}

int baseline_make(struct lab *l, uint64_t wall_ns, struct baseline *ret, struct err *e) {
  lab_empty_in_place(l, &(struct sandbox_places){.all = true});
  int r = learn(l, wall_ns, ret, e);
  lab_empty_in_place(l, &(struct sandbox_places){0});
  ret->in_place = find_emptied(ret);
  if (ret->in_place.set && ((r == 0 && ret->notes.n) || r == -EAGAIN)) r = learn_anew(l, wall_ns, ret, r, e);
  lab_empty_in_place(l, &ret->in_place);
  if (r == 0 && lab_note(l)[0]) text_addf(&ret->notes, "%s\n", lab_note(l));
  if (r == -EAGAIN) return refuse_unstable(l, ret, e);
  return r;
}

void baseline_done(struct baseline *b) {
  for (size_t i = 0; i < b->n; i++)
    lab_result_done(&b->runs[i]);
  observe_mask_done(&b->mask);
  text_done(&b->notes);
}
