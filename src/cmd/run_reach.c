/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reach report: which calls of the functions of a scenario were intercepted, and which cannot be, and why.
 */
#include "cmd/run_parts.h"
#include "site/site.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 80 };

struct reach {
  const struct cmd_reach_request *request;
  const char **names; /* of the plan's functions that rules are for, each once */
  size_t n;
  struct site_reach *sites; /* of module m and function f: [m * n + f] */
  uint64_t *syscalls;       /* of each module */
  struct run_totals totals;
};

static const char *module_name(const struct reach *r, size_t module) {
  const char *path = r->request->modules->modules.at[module].path, *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static const struct site_reach *at(const struct reach *r, size_t module, size_t function) {
  return &r->sites[module * r->n + function];
}

/* --- counts of the run -------------------------------------------------------------------------------------------- */

static const struct wire_function *plan_function(const struct wire_plan *p, uint32_t i) {
  return (const struct wire_function *)((const char *)p + p->functions.at) + i;
}

static const char *plan_name(const struct wire_plan *p, const struct wire_function *f) {
  return f->name < p->text.n ? (const char *)p + p->text.at + f->name : "";
}

/* Calls of all versions of the function. */
static uint64_t calls_of(const struct reach *r, const char *name) {
  const struct wire_plan *p = r->request->plan;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < p->functions.n; i++)
    if (strcmp(plan_name(p, plan_function(p, i)), name) == 0) sum += run_area_count(r->request->area, i);
  return sum;
}

/* --- why not ------------------------------------------------------------------------------------------------------ */

/* The loader finds the program's own definition before the shim's. */
static bool is_shadowed(const struct reach *r, size_t function) { return at(r, 0, function)->defined; }

static void why_shadowed(const struct reach *r, struct text *to) {
  text_addf(to, "%s defines it itself: only what that passes on is intercepted", module_name(r, 0));
}

/* --- for people --------------------------------------------------------------------------------------------------- */

static void line(struct text *to, size_t column) {
  text_add(to, "\n");
  text_pad(to, column);
}

/* ITEM behind MARK, on a new line if it would go beyond the width of a terminal. */
static void list_item(struct text *to, size_t column, const char *mark, const struct text *item) {
  const char *start = memrchr(to->at, '\n', to->n);
  size_t width = to->n - (start ? (size_t)(start + 1 - to->at) : 0);
  text_add(to, mark);
  if (width + 3 + item->n > WIDTH)
    line(to, column);
  else
    text_add(to, " ");
  text_add(to, item->at);
}

static void text_sites(const struct reach *r, size_t f, size_t column, struct text *to) {
  const char *mark = ";";
  for (size_t m = 0; m < r->request->modules->modules.n; m++) {
    struct text item = {0};
    unsigned n = at(r, m, f)->through;
    if (!n) continue;
    text_addf(&item, "%s: %u site%s", module_name(r, m), n, n == 1 ? "" : "s");
    if (item.failed || to->failed)
      to->failed = true;
    else
      list_item(to, column, mark, &item);
    text_done(&item);
    mark = ",";
  }
}

static void text_function(const struct reach *r, size_t f, size_t column, struct text *to) {
  uint64_t calls = calls_of(r, r->names[f]);
  bool shadowed = is_shadowed(r, f);
  text_addf(to, "  %s", r->names[f]);
  text_pad(to, column);
  text_addf(to, "%" PRIu64 " call%s intercepted", calls, calls == 1 ? "" : "s");
  if (!shadowed) text_sites(r, f, column, to);
  if (shadowed) {
    line(to, column);
    why_shadowed(r, to);
  }
  for (size_t m = 0; m < r->request->modules->modules.n; m++) {
    if (!at(r, m, f)->inside) continue;
    line(to, column);
    text_addf(to, "cannot be intercepted: %u site%s of %s itself", at(r, m, f)->inside,
              at(r, m, f)->inside == 1 ? "" : "s", module_name(r, m));
  }
  text_add(to, "\n");
}

/* Functions of the scenario that the plan does not have: nobody could call them through the loader. */
static bool is_planned(const struct reach *r, const char *name) {
  for (size_t f = 0; f < r->n; f++)
    if (strcmp(r->names[f], name) == 0 || strcmp(site_names_written(r->request->aliases, r->names[f]), name) == 0)
      return true;
  return false;
}

static void text_absent(const struct reach *r, struct text *to) {
  for (size_t i = 0; i < r->request->n_functions; i++)
    if (!is_planned(r, r->request->functions[i]))
      text_addf(to, "  %s is imported by nothing here: its rules are never asked\n", r->request->functions[i]);
}

static uint64_t count_started(const struct reach *r) {
  const struct wire_plan *p = r->request->plan;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < p->functions.n; i++)
    if (wire_hook_starts(plan_function(p, i)->hook)) sum += run_area_count(r->request->area, i);
  return sum;
}

static void text_started(const struct reach *r, struct text *to) {
  uint64_t calls = count_started(r);
  uint32_t programs = r->totals.attached ? r->totals.attached - 1 : 0;
  if (calls == 0) return;
  text_addf(to, "  %" PRIu64 " call%s to start other programs", calls, calls == 1 ? "" : "s");
  if (!r->request->follow) {
    text_add(to, ", not followed (see --follow)\n");
    return;
  }
  text_addf(to, "; %u program%s followed\n", programs, programs == 1 ? " was" : "s were");
  if (r->totals.unreached)
    text_addf(to, "  %" PRIu64 " of them as another user, with another root or another C library: not followed\n",
              r->totals.unreached);
}

/* What a library that defines the functions does in the kernel is how they work. */
static bool is_home(const struct reach *r, size_t module) {
  for (size_t f = 0; f < r->n; f++)
    if (at(r, module, f)->defined) return true;
  return false;
}

static void text_syscalls(const struct reach *r, struct text *to) {
  for (size_t m = 0; m < r->request->modules->modules.n; m++)
    if (r->syscalls[m] && !is_home(r, m))
      text_addf(to, "  cannot be intercepted: system calls at %" PRIu64 " place%s in %s\n", r->syscalls[m],
                r->syscalls[m] == 1 ? "" : "s", module_name(r, m));
}

static void write_text(const struct reach *r, struct text *to) {
  size_t column = 0;
  for (size_t f = 0; f < r->n; f++)
    if (strlen(r->names[f]) > column) column = strlen(r->names[f]);
  text_addf(to, "reach of %s, in %u process%s:\n", r->request->modules->modules.at[0].path, r->totals.processes,
            r->totals.processes == 1 ? "" : "es");
  for (size_t f = 0; f < r->n; f++)
    text_function(r, f, column + 4, to);
  text_absent(r, to);
  text_started(r, to);
  text_syscalls(r, to);
  if (r->request->modules->missing)
    text_addf(to, "  %s was not found: nothing is known of its calls\n", r->request->modules->missing);
}

/* --- for scripts -------------------------------------------------------------------------------------------------- */

static void json_function(const struct reach *r, size_t f, struct text *to) {
  bool shadowed = is_shadowed(r, f);
  const char *comma = "";
  text_add(to, "{\"function\":");
  text_add_json(to, r->names[f]);
  text_addf(to, ",\"calls\":%" PRIu64 ",\"sites\":[", calls_of(r, r->names[f]));
  for (size_t m = 0; m < r->request->modules->modules.n; m++) {
    const struct site_reach *s = at(r, m, f);
    if (!s->through && !s->inside) continue;
    text_addf(to, "%s{\"module\":", comma);
    text_add_json(to, module_name(r, m));
    text_addf(to, ",\"intercepted\":%u,\"inside\":%u}", shadowed ? 0 : s->through, s->inside);
    comma = ",";
  }
  text_add(to, "],\"why_not\":");
  struct text why = {0};
  if (shadowed) why_shadowed(r, &why);
  if (why.n)
    text_add_json(to, why.at);
  else
    text_add(to, "null");
  text_done(&why);
  text_add(to, "}");
}

static void json_started(const struct reach *r, struct text *to) {
  const struct wire_plan *p = r->request->plan;
  const char *comma = "";
  text_add(to, ",\"started\":[");
  for (uint32_t i = 0; i < p->functions.n; i++) {
    uint64_t calls = run_area_count(r->request->area, i);
    if (!calls || !wire_hook_starts(plan_function(p, i)->hook)) continue;
    text_addf(to, "%s{\"function\":", comma);
    text_add_json(to, plan_name(p, plan_function(p, i)));
    text_addf(to, ",\"calls\":%" PRIu64 "}", calls);
    comma = ",";
  }
  text_addf(to, "],\"followed\":%s,\"processes\":%u,\"programs\":%u,\"unreachable\":%" PRIu64,
            r->request->follow ? "true" : "false", r->totals.processes, r->totals.attached, r->totals.unreached);
}

static void write_json(const struct reach *r, struct text *to) {
  const char *comma = "";
  text_add(to, "{\"event\":\"reach\",\"functions\":[");
  for (size_t f = 0; f < r->n; f++) {
    if (f) text_add(to, ",");
    json_function(r, f, to);
  }
  text_add(to, "]");
  comma = "";
  text_add(to, ",\"absent\":[");
  for (size_t i = 0; i < r->request->n_functions; i++) {
    if (is_planned(r, r->request->functions[i])) continue;
    text_add(to, comma);
    text_add_json(to, r->request->functions[i]);
    comma = ",";
  }
  text_add(to, "]");
  json_started(r, to);
  comma = "";
  text_add(to, ",\"syscalls\":[");
  for (size_t m = 0; m < r->request->modules->modules.n; m++) {
    if (!r->syscalls[m] || is_home(r, m)) continue;
    text_addf(to, "%s{\"module\":", comma);
    text_add_json(to, module_name(r, m));
    text_addf(to, ",\"sites\":%" PRIu64 "}", r->syscalls[m]);
    comma = ",";
  }
  text_add(to, "]}\n");
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

static int find_names(struct reach *r) {
  const struct wire_plan *p = r->request->plan;
  r->names = calloc((size_t)p->functions.n + 1, sizeof *r->names);
  if (!r->names) return -ENOMEM;
  for (uint32_t i = 0; i < p->functions.n; i++) {
    const struct wire_function *f = plan_function(p, i);
    bool seen = f->n_rules == 0;
    for (size_t k = 0; k < r->n; k++)
      seen |= strcmp(r->names[k], plan_name(p, f)) == 0;
    if (!seen) r->names[r->n++] = plan_name(p, f);
  }
  return 0;
}

int cmd_reach(const struct cmd_reach_request *request, struct text *text, struct text *json) {
  struct reach r = {.request = request};
  size_t modules = request->modules->modules.n;
  int status = find_names(&r);
  if (run_area_totals(request->area, &r.totals) < 0) r.totals = (struct run_totals){0};
  r.sites = calloc(modules * r.n + 1, sizeof *r.sites);
  r.syscalls = calloc(modules + 1, sizeof *r.syscalls);
  if (!r.sites || !r.syscalls) status = -ENOMEM;
  for (size_t m = 0; m < modules && status >= 0; m++)
    status = site_reach(request->modules->modules.at[m].image, r.names, r.n, &r.sites[m * r.n], &r.syscalls[m]);
  if (status >= 0) {
    write_text(&r, text);
    write_json(&r, json);
    if (text->failed || json->failed) status = -ENOMEM;
  }
  free(r.names);
  free(r.sites);
  free(r.syscalls);
  return status;
}
