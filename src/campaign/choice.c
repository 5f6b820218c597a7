/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which way to make experiments is cheaper, by what they have cost so far.
 *
 * A branch saves what comes before its point, and costs a fork of all the memory that the program has by then, and a
 * world with copies of what it has changed. Both are measured, not estimated. A run of its own is only tried for that
 * where branches cost so much that it may be better: as long as two of them take less than a run of the baseline did,
 * there is nothing to gain.
 */
#include "campaign/campaign.h"

/* Fewer tell nothing. */
enum { ENOUGH_BRANCHES = 8, ENOUGH_RUNS = CAMPAIGN_PROBE };

void campaign_cost_add(struct campaign_costs *c, enum campaign_choice way, uint64_t ns, size_t n) {
  struct campaign_cost *cost = way == CHOICE_BRANCH ? &c->branch : &c->run;
  cost->ns += ns;
  cost->n += n;
}

/* Of each experiment; what was paid for none at all counts as one. */
static uint64_t average(const struct campaign_cost *c) { return c->ns / (c->n ? c->n : 1); }

enum campaign_choice campaign_choose(const struct campaign_costs *c, uint64_t baseline_ns) {
  if (c->branch.n < ENOUGH_BRANCHES && c->branch.ns < ENOUGH_BRANCHES * baseline_ns) return CHOICE_BRANCH;
  if (c->run.n >= ENOUGH_RUNS) return average(&c->run) < average(&c->branch) ? CHOICE_RUN : CHOICE_BRANCH;
  return average(&c->branch) * 2 > baseline_ns ? CHOICE_PROBE : CHOICE_BRANCH;
}
