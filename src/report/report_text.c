/* SPDX-License-Identifier: Apache-2.0 */
/* The report for a terminal. */
#include "report/report_inside.h"

#include <inttypes.h>
#include <string.h>

enum { SHOWN_FRAMES = 8, SHOWN_LEFT = 12, SHOWN_DOUBTS = 8, COLUMNS_LEAST = 40 };

static void add_frame(const struct store_frame *f, struct text *to) {
  struct text place = {0}, name = {0};
  text_add(to, "      ");
  if (f->function) {
    report_function(f, &name);
    text_add_plain(to, name.at ? name.at : "");
    text_add(to, "  ");
  }
  report_place(f, &place);
  to->failed |= place.failed || name.failed;
  text_add_plain(to, place.at ? place.at : "");
  text_add(to, "\n");
  text_done(&place);
  text_done(&name);
}

static void add_stack(const char *title, const struct report_stack *s, struct text *to) {
  if (!s->n) return;
  text_addf(to, "    %s:\n", title);
  size_t n = report_depth(s);
  for (size_t i = 0; i < n && i < SHOWN_FRAMES; i++)
    add_frame(&s->frames[i], to);
}

static void add_indented(const char *lines, struct text *to) {
  while (*lines) {
    size_t n = strcspn(lines, "\n");
    text_add(to, "      ");
    text_add_bytes(to, lines, n);
    text_add(to, "\n");
    lines += n + (lines[n] == '\n');
  }
}

void report_text_finding(const struct report_finding *f, struct text *to) {
  text_addf(to, "finding %" PRId64 ": ", f->is.id);
  report_title(f, to);
  text_add(to, "\n");
  add_stack("the call that failed first", &f->first, to);
  add_stack(f->first.n ? "the call that failed then" : "the call that failed", &f->inject, to);
  add_stack(report_ending(f), &f->crash, to);
  bool silent = strcmp(f->is.kind, "silent") == 0;
  if (report_is_limited(f)) text_addf(to, "    how it ended: %s", f->is.difference);
  if ((silent || report_is_sanitizer(f)) && f->is.difference[0]) {
    text_add(to, silent ? "    what is different:\n" : "    what the sanitizer says:\n");
    add_indented(f->is.difference, to);
  }
  text_addf(to, "    again: %s\n    %" PRIu64 " experiment%s, %.0f %% of repeats the same\n\n", f->replay, f->is.count,
            f->is.count == 1 ? "" : "s", f->is.precision * 100);
}

/* What the budget left out, by function: the most of it first. */
static void add_left(const struct report *r, struct text *to) {
  uint64_t total = 0, rest = 0;
  for (size_t i = 0; i < r->left.n; i++)
    total += r->left.at[i].n;
  if (!total) return;
  text_addf(to, "%" PRIu64 " experiment%s not made", total, total == 1 ? " was" : "s were");
  if (strcmp(r->state, "finished") == 0 && r->left_why[0]) text_addf(to, " %s", r->left_why);
  text_add(to, ":");
  for (size_t i = 0; i < r->left.n; i++)
    if (i < SHOWN_LEFT) {
      text_add(to, i ? ", " : " ");
      (void)name_readable(r->left.at[i].name, to);
      text_addf(to, " %" PRIu64, r->left.at[i].n);
    } else {
      rest += r->left.at[i].n;
    }
  size_t others = r->left.n > SHOWN_LEFT ? r->left.n - SHOWN_LEFT : 0;
  if (rest) text_addf(to, ", %zu other function%s %" PRIu64, others, others == 1 ? "" : "s", rest);
  text_add(to, "\n");
}

static void add_modes(const struct report *r, struct text *to) {
  if (!r->modes.n) return;
  text_add(to, "modes: ");
  report_modes(r, to);
  text_add(to, "\n");
}

/* A campaign that meets few of its calls has not tested much. */
static void add_missed(const struct report *r, struct text *to) {
  for (size_t i = 0; i < r->outcomes.n; i++)
    if (strcmp(r->outcomes.at[i].name, "missed") == 0 && r->outcomes.at[i].n * 2 > r->done)
      text_add(to,
               "most experiments did not come to their call: the command does not make it in every run (does it depend "
               "on the time, or on which process is first?)\n");
}

/* Failures that are no findings, and why. */
static void add_doubts(const struct report *r, struct text *to) {
  if (!r->doubts.n) return;
  text_addf(to, "%zu failure%s no finding:\n", r->doubts.n, r->doubts.n == 1 ? " is" : "s are");
  for (size_t i = 0; i < r->doubts.n && i < SHOWN_DOUBTS; i++) {
    text_add(to, "  ");
    report_doubt(&r->doubts.at[i], to);
    text_add(to, "\n");
  }
  if (r->doubts.n > SHOWN_DOUBTS) text_addf(to, "  and %zu others\n", r->doubts.n - SHOWN_DOUBTS);
  if (report_is_unsure(r)) text_addf(to, "%s makes sure of those for which no time was left\n", r->resume);
}

/* Numbers are for ever, also when a campaign goes on, and so they cannot be in the order that is worth reading. */
static void add_order(const struct report *r, struct text *to) {
  for (size_t i = 1; i < r->findings.n; i++)
    if (r->findings.at[i].is.id < r->findings.at[i - 1].is.id) {
      text_add(to, "findings are numbered as they were found, and the worst stand first\n");
      return;
    }
}

static void add_summary(const struct report *r, struct text *to) {
  text_add(to, r->notes);
  text_addf(to, "%zu finding%s; %" PRIu64 " of %" PRIu64 " experiments at %" PRIu64 " place%s in %.1f s%s",
            r->findings.n, r->findings.n == 1 ? "" : "s", r->done, r->planned, r->points, r->points == 1 ? "" : "s",
            r->seconds, r->outcomes.n ? ":" : "");
  for (size_t i = 0; i < r->outcomes.n; i++)
    text_addf(to, " %" PRIu64 " %s", r->outcomes.at[i].n, r->outcomes.at[i].name);
  text_add(to, "\n");
  add_order(r, to);
  bool finished = strcmp(r->state, "finished") == 0;
  if (!r->planned && finished)
    text_addf(to, "nothing was tried: %s (--from adds libraries)\n",
              r->points ? "none of the errors of the calls that were seen is likely enough"
                        : "no call of the program itself that is known to fail was seen");
  if (r->pairs) text_addf(to, "%" PRIu64 " of them with two faults, the second where the first had led\n", r->pairs);
  add_missed(r, to);
  add_modes(r, to);
  add_left(r, to);
  bool begun = r->line && r->line[0];
  if (!begun && !finished)
    text_add(to, "the campaign had not begun: murphy test without --resume begins anew\n");
  else if (!finished)
    text_addf(to, "not finished: %s goes on\n", r->resume);
  add_doubts(r, to);
  if (r->excused)
    text_addf(to, "%" PRIu64 " silent failure%s no finding: where it came, it is custom not to look\n", r->excused,
              r->excused == 1 ? " is" : "s are");
}

/* Between words, if the reader has so many columns; what follows is indented. */
static void add_folded(const char *line, size_t n, unsigned columns, struct text *to) {
  static const char indent[] = "    ";
  size_t column = 0;
  for (size_t i = 0, k; i < n; i = k) {
    size_t spaces = strspn(line + i, " ");
    k = i + spaces + strcspn(line + i + spaces, " \n");
    if (column && column + (k - i) > columns) {
      text_addf(to, "\n%s", indent);
      column = strlen(indent);
      i += spaces;
    }
    text_add_bytes(to, line + i, k - i);
    column += k - i;
  }
  text_add(to, "\n");
}

void report_text(const struct report *r, struct text *to) {
  struct text summary = {0};
  for (size_t i = 0; i < r->findings.n; i++) {
    const struct report_finding *f = &r->findings.at[i];
    if (f->foreign && (i == 0 || !f[-1].foreign)) {
      text_add(to, "In calls of ");
      text_add_plain(to, r->interpreter);
      text_add(to, ", which runs the script and is not part of it:\n\n");
    }
    report_text_finding(f, to);
  }
  add_summary(r, &summary);
  if (r->columns < COLUMNS_LEAST) text_add(to, summary.at ? summary.at : "");
  for (const char *line = summary.at; r->columns >= COLUMNS_LEAST && line && *line;) {
    size_t n = strcspn(line, "\n");
    add_folded(line, n, r->columns, to);
    line += n + (line[n] == '\n');
  }
  if (summary.failed) to->failed = true;
  text_done(&summary);
}
