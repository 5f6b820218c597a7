/* SPDX-License-Identifier: Apache-2.0 */
/* From the database to what is told. */
#include "report/report_inside.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Of each mode; the others are counted together. */
enum { SHOWN_REASONS = 4 };

struct loader {
  struct report *to;
  const char *folder;
  VEC(struct store_frame) frames;
};

static const char *keep(struct report *r, const char *s) { return s ? arena_strdup(&r->arena, s) : NULL; }

/* --- facts and numbers -------------------------------------------------------------------------------------------- */

static int load_facts(struct store *s, struct report *r) {
  const struct {
    const char *name, **to;
  } facts[] = {
      {"line", &r->line},         {"command", &r->command}, {"baseline", &r->baseline},
      {"notes", &r->notes},       {"program", &r->program}, {"build_id", &r->build_id},
      {"cwd", &r->cwd},           {"kernel", &r->kernel},   {"murphy", &r->murphy},
      {"started", &r->started},   {"state", &r->state},     {"why_exec", &r->why_exec},
      {"why_fork", &r->why_fork}, {"left", &r->left_why},   {"interpreter", &r->interpreter},
  };
  for (size_t i = 0; i < COUNT(facts); i++) {
    const char *value = store_get(s, facts[i].name);
    *facts[i].to = arena_strdup(&r->arena, value ? value : "");
    if (!*facts[i].to) return -ENOMEM;
  }
  const char *seconds = store_get(s, "seconds");
  r->seconds = seconds ? strtod(seconds, NULL) : 0;
  return 0;
}

#define DEFINE_COUNTER(field)                                                                                          \
  static int add_##field(void *context, const char *name, uint64_t n) {                                                \
    struct report *r = context;                                                                                        \
    const char *copy = keep(r, name);                                                                                  \
    return copy ? vec_push(&r->field, (struct report_count){.name = copy, .n = n}) : -ENOMEM;                          \
  }

DEFINE_COUNTER(outcomes)
DEFINE_COUNTER(modes)
DEFINE_COUNTER(reasons)
DEFINE_COUNTER(left)
DEFINE_COUNTER(functions)

static int add_total(void *context, const char *name, uint64_t n) {
  struct report *r = context;
  const struct {
    const char *name;
    uint64_t *to;
  } totals[] = {{"points", &r->points},           {"planned", &r->planned}, {"done", &r->done},
                {"unconfirmed", &r->unconfirmed}, {"excused", &r->excused}, {"pairs", &r->pairs}};
  for (size_t i = 0; i < COUNT(totals); i++)
    if (strcmp(totals[i].name, name) == 0) *totals[i].to = n;
  return 0;
}

static int load_counts(struct store *s, struct report *r, struct err *e) {
  int code = store_counts(s, STORE_OUTCOMES, add_outcomes, r, e);
  if (code == 0) code = store_counts(s, STORE_MODES, add_modes, r, e);
  if (code == 0) code = store_counts(s, STORE_REASONS, add_reasons, r, e);
  if (code == 0) code = store_counts(s, STORE_LEFT, add_left, r, e);
  if (code == 0) code = store_counts(s, STORE_FUNCTIONS, add_functions, r, e);
  return code < 0 ? code : store_counts(s, STORE_TOTALS, add_total, r, e);
}

/* --- findings ----------------------------------------------------------------------------------------------------- */

static int add_frame(void *context, const struct store_frame *f) {
  struct loader *l = context;
  struct store_frame copy = {.module = keep(l->to, f->module ? f->module : ""),
                             .path = keep(l->to, f->path),
                             .function = keep(l->to, f->function),
                             .file = keep(l->to, f->file),
                             .offset = f->offset,
                             .line = f->line};
  return vec_push(&l->frames, copy);
}

static int load_stack(struct store *s, struct loader *l, int64_t finding, enum store_stack which,
                      struct report_stack *ret, struct err *e) {
  l->frames.n = 0;
  int r = store_frames(s, finding, which, add_frame, l, e);
  if (r < 0 || !l->frames.n) return r;
  ret->frames = arena_memdup(&l->to->arena, l->frames.at, l->frames.n * sizeof *l->frames.at);
  ret->n = ret->frames ? l->frames.n : 0;
  return ret->frames ? 0 : -ENOMEM;
}

/* A command about this campaign. Frees T. */
static const char *command_of(const struct loader *l, struct text *t) {
  if (strcmp(l->folder, ".murphy") != 0) {
    text_add(t, " --campaign ");
    text_add_shell(t, l->folder);
  }
  const char *copy = t->failed ? NULL : keep(l->to, t->at);
  text_done(t);
  return copy;
}

static const char *replay_of(const struct loader *l, const struct store_finding *f) {
  struct text t = {0};
  text_addf(&t, "murphy replay %" PRId64, f->id);
  return command_of(l, &t);
}

static const char *resume_of(const struct loader *l) {
  struct text t = {0};
  text_add(&t, "murphy test --resume");
  return command_of(l, &t);
}

/*
 * By the number of the call, which is another one if the program does things in another order. The scenario has what a
 * rule of murphy run would have to repeat: whether the call is made before it fails, and what else the fault sets.
 */
static const char *run_of(const struct loader *l, struct store *s, const struct store_finding *f) {
  const char *follow = store_get(s, "follow");
  struct text t = {0}, path = {0};
  text_addf(&path, "%s/findings/%" PRId64 "/scenario.xml", l->folder, f->id);
  text_addf(&t, "murphy run%s ", follow && strcmp(follow, "1") == 0 ? " --follow" : "");
  text_add_shell(&t, path.failed ? "" : path.at);
  text_addf(&t, " -- %s", l->to->line);
  const char *copy = t.failed || path.failed ? NULL : keep(l->to, t.at);
  text_done(&t);
  text_done(&path);
  return copy;
}

static int add_finding(void *context, const struct store_finding *f) {
  struct loader *l = context;
  struct report_finding copy = {.is = *f};
  copy.is.kind = keep(l->to, f->kind);
  copy.is.function = keep(l->to, f->function);
  copy.is.act = keep(l->to, f->act);
  copy.is.first.function = keep(l->to, f->first.function);
  copy.is.first.act = keep(l->to, f->first.act);
  copy.is.difference = keep(l->to, f->difference ? f->difference : "");
  copy.is.keys[0] = copy.is.keys[1] = NULL;
  copy.is.n_keys[0] = copy.is.n_keys[1] = 0;
  if (!copy.is.kind || !copy.is.function || !copy.is.difference) return -ENOMEM;
  if (f->first.function && !copy.is.first.function) return -ENOMEM;
  return vec_push(&l->to->findings, copy);
}

static int worth(const struct report_finding *f) {
  static const char *const order[] = {"abort", "hang", "silent", "sanitizer", "crash"};
  for (int i = 0; i < (int)COUNT(order); i++)
    if (strcmp(order[i], f->is.kind) == 0) return i;
  return -1;
}

/* Whoever wrote the script may not be able to help what its interpreter does. */
static bool is_foreign(const struct report *r, const struct report_finding *f) {
  const char *path = report_site(f)->path;
  return r->interpreter[0] && path && strcmp(path, r->interpreter) == 0;
}

/* The worst first, and those of an interpreter last; among equals, in the order in which they were found. */
static int by_worth(const void *a, const void *b) {
  const struct report_finding *x = a, *y = b;
  if (x->foreign != y->foreign) return x->foreign ? 1 : -1;
  if (worth(x) != worth(y)) return worth(x) > worth(y) ? -1 : 1;
  return x->is.id < y->is.id ? -1 : x->is.id > y->is.id;
}

static int load_findings(struct store *s, struct loader *l, struct err *e) {
  struct report *r = l->to;
  int code = store_findings(s, add_finding, l, e);
  for (size_t i = 0; i < r->findings.n && code == 0; i++) {
    struct report_finding *f = &r->findings.at[i];
    code = load_stack(s, l, f->is.id, STORE_INJECT, &f->inject, e);
    if (code == 0) code = load_stack(s, l, f->is.id, STORE_CRASH, &f->crash, e);
    if (code == 0) code = load_stack(s, l, f->is.id, STORE_FIRST, &f->first, e);
    f->foreign = is_foreign(r, f);
    f->replay = replay_of(l, &f->is);
    f->run = run_of(l, s, &f->is);
    if (!f->replay || !f->run) code = -ENOMEM;
  }
  if (r->findings.n) qsort(r->findings.at, r->findings.n, sizeof *r->findings.at, by_worth);
  return code;
}

static int add_doubt(void *context, const struct store_doubt *d) {
  struct report *r = context;
  struct store_doubt copy = *d;
  copy.outcome = keep(r, d->outcome);
  copy.function = keep(r, d->function);
  copy.act = keep(r, d->act);
  copy.in = keep(r, d->in);
  copy.file = keep(r, d->file);
  copy.module = keep(r, d->module ? d->module : "");
  copy.why = keep(r, d->why);
  return copy.outcome && copy.function && copy.module && copy.why ? vec_push(&r->doubts, copy) : -ENOMEM;
}

int report_load(struct store *s, const char *folder, struct report *ret, struct err *e) {
  struct report r = {0};
  struct loader l = {.to = &r, .folder = folder};
  int code = load_facts(s, &r);
  if (code == 0) code = load_counts(s, &r, e);
  if (code == 0) code = load_findings(s, &l, e);
  if (code == 0) code = store_doubts(s, add_doubt, &r, e);
  r.resume = resume_of(&l);
  if (code == 0 && !r.resume) code = -ENOMEM;
  vec_done(&l.frames);
  if (code == -ENOMEM) (void)err_set(e, code, "out of memory");
  if (code < 0)
    report_done(&r);
  else
    *ret = r;
  return code;
}

void report_done(struct report *r) {
  vec_done(&r->outcomes);
  vec_done(&r->modes);
  vec_done(&r->reasons);
  vec_done(&r->left);
  vec_done(&r->functions);
  vec_done(&r->findings);
  vec_done(&r->doubts);
  arena_done(&r->arena);
}

/* --- what all forms say alike ------------------------------------------------------------------------------------- */

void report_fault(const char *act, int64_t retval, const char *error, struct text *to) {
  if (act && strcmp(act, "short") == 0)
    text_addf(to, " does only %" PRId64 " byte%s of what it is asked for", retval, retval == 1 ? "" : "s");
  else if (act && strcmp(act, "throw") == 0)
    text_add(to, " throws std::bad_alloc");
  else
    text_addf(to, " returns %" PRId64 "%s%s", retval, error ? " with " : "", error ? error : "");
}

void report_doubt(const struct store_doubt *d, struct text *to) {
  const struct store_frame at = {
      .module = d->module, .function = d->in, .file = d->file, .offset = d->offset, .line = d->line};
  struct text place = {0};
  report_place(&at, &place);
  text_addf(to, "%s when ", d->outcome);
  (void)name_readable(d->function, to);
  report_fault(d->act, d->retval, d->error ? errno_name(d->error) : NULL, to);
  text_add(to, " at ");
  text_add_plain(to, place.at ? place.at : "?");
  text_addf(to, ": %s", d->why);
  to->failed |= place.failed;
  text_done(&place);
}

bool report_is_unsure(const struct report *r) {
  for (size_t i = 0; i < r->doubts.n; i++)
    if (r->doubts.at[i].precision < 0) return true;
  return false;
}

const char *report_reason(const struct report_count *c, const char *mode) {
  size_t n = strlen(mode);
  bool of = strncmp(c->name, "why_", 4) == 0 && strncmp(c->name + 4, mode, n) == 0 && c->name[4 + n] == ':';
  return of ? c->name + 4 + n + 2 : NULL;
}

/* Several with their numbers; one alone, or what is known of a campaign that did not count them, without. */
static void add_reasons_of(const struct report *r, const char *mode, const char *why, struct text *to) {
  uint64_t rest = 0;
  size_t n = 0, shown = 0;
  for (size_t i = 0; i < r->reasons.n; i++)
    n += report_reason(&r->reasons.at[i], mode) != NULL;
  if (n < 2) {
    if (why[0]) text_addf(to, " (%s)", why);
    return;
  }
  for (size_t i = 0; i < r->reasons.n; i++) {
    const struct report_count *c = &r->reasons.at[i];
    const char *reason = report_reason(c, mode);
    if (reason && shown < SHOWN_REASONS)
      text_addf(to, "%s%" PRIu64 ": %s", shown++ ? "; " : " (", c->n, reason);
    else if (reason)
      rest += c->n;
  }
  if (rest) text_addf(to, "; %" PRIu64 ": others", rest);
  text_add(to, ")");
}

void report_modes(const struct report *r, struct text *to) {
  for (size_t i = 0; i < r->modes.n; i++) {
    const char *name = r->modes.at[i].name;
    const char *why = strcmp(name, "exec") == 0 ? r->why_exec : strcmp(name, "fork") == 0 ? r->why_fork : "";
    text_addf(to, "%s%" PRIu64 " by %s", i ? ", " : "", r->modes.at[i].n, name);
    add_reasons_of(r, name, why, to);
  }
}

void report_title(const struct report_finding *f, struct text *to) {
  const char *name = f->is.error ? errno_name(f->is.error) : NULL;
  text_add(to, f->is.kind);
  if (f->is.signal && signal_name(f->is.signal)) text_addf(to, " (%s)", signal_name(f->is.signal));
  text_add(to, " when ");
  (void)name_readable(f->is.function, to);
  report_fault(f->is.act, f->is.retval, name, to);
  if (f->is.onwards) text_add(to, ", from then on every time");
  const struct store_first *first = &f->is.first;
  if (!first->function) return;
  text_add(to, ", after ");
  (void)name_readable(first->function, to);
  report_fault(first->act, first->retval, first->error ? errno_name(first->error) : NULL, to);
}

const struct store_frame *report_site(const struct report_finding *f) {
  static const struct store_frame none = {.module = ""};
  return f->inject.n ? &f->inject.frames[0] : &none;
}

void report_function(const struct store_frame *f, struct text *to) {
  if (f->function)
    (void)name_readable(f->function, to);
  else
    text_add(to, f->module);
}

void report_place(const struct store_frame *f, struct text *to) {
  if (f->file && f->line)
    text_addf(to, "%s:%u", f->file, f->line);
  else if (!f->module || !f->module[0])
    text_addf(to, "0x%" PRIx64 " (in no module)", f->offset);
  else
    text_addf(to, "%s+0x%" PRIx64, f->module, f->offset);
}

static bool is_start(const struct store_frame *f) {
  return f->function && (strncmp(f->function, "__libc_start", 12) == 0 || strcmp(f->function, "_start") == 0);
}

size_t report_depth(const struct report_stack *s) {
  size_t n = 0;
  while (n < s->n && !is_start(&s->frames[n]))
    n++;
  return n;
}

bool report_is_sanitizer(const struct report_finding *f) { return strcmp(f->is.kind, "sanitizer") == 0; }

bool report_is_limited(const struct report_finding *f) {
  bool ended = WIFSIGNALED(f->is.status) ? WTERMSIG(f->is.status) == SIGXFSZ
                                         : WIFEXITED(f->is.status) && WEXITSTATUS(f->is.status) == 128 + SIGXFSZ;
  return ended && strcmp(f->is.kind, "hang") == 0 && f->is.difference[0];
}

const char *report_ending(const struct report_finding *f) {
  return strcmp(f->is.kind, "hang") == 0 ? "where it hangs" : "where it ended";
}
