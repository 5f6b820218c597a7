/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short reason of a verdict, for people: "opendir's NULL goes to readdir unchecked".
 */
#include "site/site_program.h"

#include <errno.h>

/* ADDRESS: it is known to return one. */
static void add_value(struct text *t, bool address, int64_t v) {
  if (v == 0 && address)
    text_add(t, "NULL");
  else if (v == INT64_MIN || v == INT64_MAX)
    text_add(t, v < 0 ? "LONG_MIN" : "LONG_MAX");
  else if (v == INT32_MIN)
    text_add(t, "INT_MIN");
  else
    text_addf(t, "%lld", (long long)v);
}

/* What the reason names, as people know it. */
struct named {
  struct text written, goes_to;
};

/* "open's -1", "getaddrinfo's -2, -3, ..." */
static void add_values(struct text *t, const char *written, const struct import *m, const struct site *s) {
  bool address = m->success == SUCCESS_POINTER && (m->said || s->use == USE_DEREFERENCED);
  text_addf(t, "%s's ", written);
  for (size_t i = 0; i < s->n_missing && i < 4; i++) {
    if (i) text_add(t, ", ");
    add_value(t, address, s->missing[i]);
  }
  if (s->n_missing > 4) text_addf(t, " and %zu more", s->n_missing - 4);
}

static unsigned add_errnos(struct text *t, const struct errno_set *s) {
  unsigned n = 0;
  for (int i = 1; i <= ERRNO_MAX; i++) {
    if (!errno_set_has(s, i) || !errno_name(i)) continue;
    if (++n > 5) continue;
    text_addf(t, "%s%s", n > 1 ? " " : "", errno_name(i));
  }
  if (n > 5) text_addf(t, " and %u more", n - 5);
  return n;
}

static const char *is_are(size_t n) { return n == 1 ? "is" : "are"; }

static void add_fate(struct text *t, const struct judgement *j, const char *goes_to, const struct site *s) {
  const char *is = is_are(s->n_missing), *goes = s->n_missing == 1 ? "goes" : "go";
  if (s->use == USE_DEREFERENCED && goes_to && j->crashes_there)
    text_addf(t, " %s to %s unchecked, which crashes", goes, goes_to);
  else if (s->use == USE_DEREFERENCED)
    text_addf(t, " %s dereferenced%s", is, s->always ? " on every way" : "");
  else if (j->seen & SEEN_COMPARED)
    text_addf(t, " %s compared, but not told from success", is);
  else if (j->seen & SEEN_USED && goes_to)
    text_addf(t, " %s to %s unchecked", goes, goes_to);
  else if (j->seen & SEEN_USED)
    text_addf(t, " %s used unchecked", is);
  else if (j->seen & SEEN_STORED)
    text_addf(t, " %s stored %s", is, j->seen & SEEN_ELSEWHERE ? "where it is not followed" : "unchecked");
  else if (j->seen & SEEN_TOLERATED)
    text_addf(t, " %s not checked, and %s no harm", is, s->n_missing == 1 ? "does" : "do");
  else if (s->use == USE_RETURNED)
    text_addf(t, " %s returned to callers that are not seen", is);
  else
    text_addf(t, " %s ignored", is);
}

/* Some errnos are handled: what becomes of the others? */
static void explain_errnos(struct text *t, const char *written, const struct judgement *j, const struct site *s) {
  text_addf(t, "%s: ", written);
  unsigned n = add_errnos(t, &s->checked_errnos);
  text_addf(t, " %s handled, but ", is_are(n));
  n = errno_set_empty(&s->missing_errnos) ? 0 : add_errnos(t, &s->missing_errnos);
  if (!n) text_add(t, "other errors");
  text_addf(t, " %s ", n == 1 ? "is" : "are");
  if (j->bad_callers)
    text_addf(t, "returned, and %u of %u callers do not check", j->bad_callers, j->callers);
  else if (j->seen & SEEN_RETURNED)
    text_add(t, "returned to callers that are not seen");
  else
    text_add(t, "taken for success");
}

static void explain(struct text *t, const struct import *m, const struct judgement *j, const struct named *named,
                    const struct site *s) {
  const char *written = named->written.at;
  if (s->verdict == SITE_UNKNOWN) {
    text_addf(t, m->n_errors ? "%s may return nothing" : "the errors of %s are not known", written);
    return;
  }
  if (s->verdict == SITE_ALL) {
    text_addf(t, "all errors of %s are checked", written);
    return;
  }
  if (!errno_set_empty(&s->missing_errnos) ||
      (s->verdict == SITE_SOME && !s->n_checked && !errno_set_empty(&s->checked_errnos))) {
    explain_errnos(t, written, j, s);
    return;
  }
  if (m->floating) {
    text_addf(t, "%s's errno is not asked for", written);
    return;
  }
  add_values(t, written, m, s);
  if (j->seen & SEEN_MIXED_CALLERS && !j->bad_callers) {
    text_addf(t, " %s returned, and callers do not check %s", is_are(s->n_missing),
              s->n_missing == 1 ? "it on every way" : "all of them");
    return;
  }
  if (j->seen & SEEN_MIXED_CALLERS) {
    text_addf(t, " %s returned, and %u of %u callers do not check", is_are(s->n_missing), j->bad_callers, j->callers);
    return;
  }
  if (s->verdict == SITE_SOME)
    text_addf(t, " %s not told from success", is_are(s->n_missing));
  else
    add_fate(t, j, named->goes_to.at, s);
}

int reason_fill(const struct import *m, const struct judgement *j, struct arena *arena, struct site *s) {
  struct text t = {0};
  struct named named = {0};
  (void)name_readable(m->written, &named.written);
  if (j->goes_to) (void)name_readable(j->goes_to, &named.goes_to);
  bool failed = named.written.failed || named.goes_to.failed;
  if (!failed) explain(&t, m, j, &named, s);
  s->reason = failed || t.failed ? NULL : arena_strdup(arena, t.at);
  text_done(&t);
  text_done(&named.written);
  text_done(&named.goes_to);
  return s->reason ? 0 : -ENOMEM;
}
