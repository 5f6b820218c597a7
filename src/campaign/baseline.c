/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the command behaves when nothing fails. Everything later is measured against this, so a baseline that is not
 * good enough ends the campaign.
 */
#include "campaign/campaign.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

static int refuse_status(const struct lab_result *r, struct err *e) {
  int status = r->seen.status;
  const struct observe_stream *said = &r->seen.streams[OBSERVE_ERROR];
  int n = said->n > 200 ? 200 : (int)said->n;
  if (WIFSIGNALED(status))
    return err_set(e, -ECANCELED, "the command ends with %s without any fault; it says: %.*s",
                   signal_name(WTERMSIG(status)) ? signal_name(WTERMSIG(status)) : "a signal", n,
                   said->n ? said->at : "");
  return 0;
}

static int check_run(const struct lab_result *r, uint64_t wall_ns, struct err *e) {
  if (r->timed_out)
    return err_set(e, -ECANCELED,
                   "the command does not end within %.0f s without any fault (does it wait for input, or serve for "
                   "ever? give it a command that ends, or a longer --timeout)",
                   (double)wall_ns / 1e9);
  if (!r->attached) return err_set(e, -ECANCELED, "murphy's runtime was not loaded into the command");
  return refuse_status(r, e);
}

static int run_all(struct lab *l, uint64_t wall_ns, struct baseline *b, struct err *e) {
  struct lab_order order = {.wall_ns = wall_ns};
  for (; b->n < BASELINE_RUNS; b->n++) {
    int r = lab_run(l, &order, &b->runs[b->n], e);
    if (r < 0) return r;
    if (b->runs[b->n].wall_ns > b->wall_ns) b->wall_ns = b->runs[b->n].wall_ns;
    r = check_run(&b->runs[b->n], wall_ns, e);
    if (r < 0) {
      b->n++;
      return r;
    }
  }
  return 0;
}

int baseline_make(struct lab *l, uint64_t wall_ns, struct baseline *ret, struct err *e) {
  memset(ret, 0, sizeof *ret);
  int r = run_all(l, wall_ns, ret, e);
  if (r < 0) return r;
  struct observation runs[BASELINE_RUNS];
  for (size_t i = 0; i < BASELINE_RUNS; i++)
    runs[i] = ret->runs[i].seen;
  r = observe_learn(runs, BASELINE_RUNS, &ret->mask, &ret->notes);
  if (r == -EAGAIN)
    return err_set(e, -ECANCELED, "the command does not do the same twice, without any fault:\n%s", ret->notes.at);
  return r;
}

void baseline_done(struct baseline *b) {
  for (size_t i = 0; i < b->n; i++)
    lab_result_done(&b->runs[i]);
  observe_mask_done(&b->mask);
  text_done(&b->notes);
}
