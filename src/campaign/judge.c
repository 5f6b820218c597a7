/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether an experiment is a failure: what became of it, and whether anybody would expect the program to notice. Sweeps
 * ask this, and whoever repeats one experiment of a sweep; they must get the same answer.
 */
#include "campaign/campaign.h"

#include <sys/wait.h>

/* To be sure of a hang, a run has so many times its limit. */
enum { TIMES = 2 };

/* Nobody expects a program to notice this. */
static bool is_custom(const struct campaign_case *c, unsigned differs) {
  bool quiet = c->expect.quiet || c->expect.traits & TRAIT_RARE_END;
  bool only_left = c->expect.traits & TRAIT_LEAVES && differs == (DIFFERS_FILES | DIFFERS_MORE);
  /* Who copies what cannot be renamed makes a file as all are made. */
  bool only_modes = !(c->expect.traits & TRAIT_GUARDS) && differs == (DIFFERS_FILES | DIFFERS_LOSS | DIFFERS_MODES);
  return c->expect.excused || only_left || only_modes || (quiet && !(differs & DIFFERS_LOSS));
}

/* The signal of a crash of some process that no run without faults had. */
static int died_anew(const struct baseline *b, const struct lab_result *r) {
  for (size_t i = 0; i < b->n; i++)
    if (b->runs[i].tree.died == r->tree.died) return 0;
  return r->tree.died;
}

enum outcome campaign_judge(const struct campaign_case *c, const struct lab_result *r, struct text *what,
                            bool *ret_failed) {
  const struct lab_result *before = &c->baseline->runs[0];
  struct outcome_facts facts = {.baseline = &before->seen,
                                .run = &r->seen,
                                .mask = c->mask ? c->mask : &c->baseline->mask,
                                .injected = r->injected,
                                .timed_out = r->timed_out,
                                .expect = c->expect,
                                .died = died_anew(c->baseline, r)};
  unsigned differs = 0;
  struct text report = {0};
  enum outcome o = outcome_of(&facts, what, &differs);
  if (o == OUTCOME_SANITIZER && what) sanitizer_report(&r->seen.streams[OBSERVE_ERROR], &report);
  if (o == OUTCOME_HANG && what && !r->timed_out && campaign_wrote_too_much(&r->seen))
    text_addf(&report, "it wrote until a file had %u MiB, which is the limit (SIGXFSZ)\n", CAMPAIGN_FILE_SIZE >> 20);
  /* These say more than that the output is another. */
  if (report.n) {
    text_done(what);
    *what = report;
  }
  /* That a message about an earlier fault could not be written is no failure. */
  bool alike = c->reference && !(observe_compare(c->reference, &r->seen, facts.mask, NULL) & ~(unsigned)DIFFERS_ERROR);
  if (o == OUTCOME_SILENT && alike) o = OUTCOME_HANDLED;
  *ret_failed = outcome_is_failure(o) && !(o == OUTCOME_SILENT && is_custom(c, differs));
  return o;
}

bool campaign_traced(enum outcome o) { return o == OUTCOME_CRASH || o == OUTCOME_ABORT || o == OUTCOME_HANG; }

int campaign_signal(const struct lab_result *r) {
  if (r->timed_out) return 0;
  return WIFSIGNALED(r->seen.status) ? WTERMSIG(r->seen.status) : r->tree.died;
}

void campaign_be_patient(struct lab_order *order) {
  order->wall_ns *= TIMES;
  order->patience_ns = CAMPAIGN_PATIENCE_NS;
}
