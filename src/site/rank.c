/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which site is worse than another: by what becomes of the error, by what happens if nobody notices, by how likely it
 * is, and by whether anything refers to the code.
 */
#include "site/program.h"

static int of_use(const struct site *s, const struct judgement *j) {
  switch (s->use) {
  case USE_DEREFERENCED:
    return s->always ? 100 : 90;
  case USE_USED:
    if (!(j->seen & (SEEN_USED | SEEN_STORED | SEEN_COMPARED))) return 0; /* only where an error does no harm */
    return j->seen & SEEN_STORED && !(j->seen & (SEEN_USED | SEEN_COMPARED)) ? 35 : 60;
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
      missing |= s->missing[k] == e->retval;
    if (!missing) continue;
    bool any = false;
    for (int number = 1; number <= ERRNO_MAX; number++) {
      if (!errno_set_has(&e->errnos, number)) continue;
      any = true;
      enum likelihood l = relevance_likelihood(p->relevance, &f->call, number, e->retval);
      if (l > best) best = l;
    }
    if (!any || e->errno_unknown) {
      enum likelihood l = relevance_likelihood(p->relevance, &f->call, 0, e->retval);
      if (l > best) best = l;
    }
  }
  return best;
}

void rank_fill(const struct program *p, const struct found *f, const struct judgement *j, struct site *s) {
  static const int weight[] = {-80, -15, 10, 20};
  const struct import *m = &p->imports.at[f->import];
  s->rank = -1000;
  if (s->verdict != SITE_NONE && s->verdict != SITE_SOME) return;
  s->rank = of_use(s, j) + of_consequence(relevance_unnoticed(p->relevance, &f->call), s);
  s->rank += weight[likeliest(p, f, s)];
  if (s->verdict == SITE_SOME) s->rank -= 20;
  if (m->answers) s->rank -= 200;
  if (s->use == USE_IGNORED && relevance_ignored(p->relevance, &f->call)) s->rank -= 200;
  if (s->use == USE_IGNORED && relevance_kept(p->relevance, m->written) >= 0) s->rank -= 60;
  if (s->use == USE_RETURNED) s->rank -= 200;
  if (s->unreached) s->rank -= 80;
  if (f->torn) s->rank -= 40;
}
