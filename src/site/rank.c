/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which site is worse than another: by what becomes of the error, by what happens if nobody notices, by how likely it
 * is, and by whether anything refers to the code.
 */
#include "site/site_program.h"

static int of_use(const struct site *s, const struct judgement *j) {
  switch (s->use) {
  case USE_DEREFERENCED:
    return s->always ? 100 : 90;
  case USE_USED:
    if (!(j->seen & (SEEN_USED | SEEN_STORED | SEEN_COMPARED))) return -200; /* only where an error does no harm */
    if (j->seen & (SEEN_USED | SEEN_COMPARED)) return 60;
    return j->seen & SEEN_ELSEWHERE ? -230 : -30; /* others may check it */
  case USE_IGNORED:
    return 50;
  default:
    return 0;
  }
}

static int of_consequence(enum consequence c, const struct site *s) {
  static const int weight[] = {-70, -20, 10, 5, 30, 30};
  if (c == WORST_CRASH && s->use == USE_DEREFERENCED) return 25;
  if (c == WORST_CRASH && s->use == USE_IGNORED) return -45; /* what is not used does not crash */
  return weight[c];
}

/* The likeliest of the errors that are missing. */
static enum likelihood likeliest(const struct program *p, const struct found *f, const struct site *s) {
  const struct import *m = &p->imports.at[f->import];
  enum likelihood best = s->verdict == SITE_NONE ? relevance_fails(p->relevance, &f->call) : LIKELY_CONTRIVED;
  for (unsigned i = 0; i < m->n_errors; i++) {
    const struct profile_error *e = m->details[i];
    bool missing = false;
    for (size_t k = 0; k < s->n_missing; k++)
      missing |= s->missing[k] == m->errors[i];
    if (!missing) continue;
    bool any = false;
    for (int number = 1; number <= ERRNO_MAX; number++) {
      if (!errno_set_has(&e->errnos, number)) continue;
      any = true;
      enum likelihood l = relevance_likelihood(p->relevance, &f->call, number, m->errors[i]);
      if (l > best) best = l;
    }
    if (!any || e->errno_unknown) {
      enum likelihood l = relevance_likelihood(p->relevance, &f->call, 0, m->errors[i]);
      if (l > best) best = l;
    }
  }
  return best;
}

/* By enum likelihood. */
static const int weights[] = {-130, -70, 10, 20};

int site_rank_if(const struct site *s, int likely) { return s->rank - weights[s->likely & 3] + weights[likely & 3]; }

void rank_fill(const struct program *p, const struct found *f, const struct judgement *j, struct site *s) {
  const struct import *m = &p->imports.at[f->import];
  s->rank = -1000;
  s->again = f->again;
  if (s->verdict != SITE_NONE && s->verdict != SITE_SOME) return;
  s->rank = of_use(s, j) + of_consequence(relevance_unnoticed(p->relevance, &f->call), s);
  enum likelihood likely = likeliest(p, f, s);
  bool ordinary = relevance_ignored(p->relevance, &f->call); /* not to look is good practice */
  s->likely = (int)likely;
  s->rank += weights[likely];
  if (s->verdict == SITE_SOME) s->rank -= 20;
  if (m->answers) s->rank -= 200;
  bool looked_at = s->use == USE_USED && likely > LIKELY_RARE;
  if (ordinary && (s->verdict == SITE_SOME || s->use == USE_IGNORED || (s->use == USE_USED && !looked_at)))
    s->rank -= 200;
  /* The stream keeps the failure, and whoever closes it is told. */
  if (s->use != USE_DEREFERENCED && relevance_kept(p->relevance, m->written) >= 0) s->rank -= 200;
  if (j->seen & SEEN_LOST && s->use != USE_DEREFERENCED) s->rank -= 200;
  bool handed_on = s->verdict == SITE_SOME && j->seen & SEEN_RETURNED && !j->bad_callers;
  if (s->use == USE_RETURNED || handed_on) s->rank -= 200;
  /* Nobody has said what its errors mean: only that the program crashes says something. */
  if (s->use != USE_DEREFERENCED && !relevance_knows(p->relevance, m->written)) s->rank -= 200;
  /* What calls nothing lacks nothing: its error is an answer about the arguments. */
  if (m->profile && m->profile->alone && !relevance_knows(p->relevance, m->written)) s->rank -= 500;
  /* What it did not set has a value of the caller's own choice. */
  if (f->preset && s->use != USE_DEREFERENCED) s->rank -= 200;
  if (s->unreached) s->rank -= 150;
  if (f->again || (f->passed_on && s->use != USE_DEREFERENCED)) s->rank -= 200;
  /* There was more to follow than could be: a check may be behind. */
  if (f->torn) s->rank -= 200;
}
