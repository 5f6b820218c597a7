/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Injections as JSON lines and as lines for people. What an event says about itself comes from the target: its indices
 * are looked up only where the plan has such an element.
 */
#include "run/run.h"

#include <inttypes.h>
#include <string.h>

/* --- the plan ----------------------------------------------------------------------------------------------------- */

static const void *plan_at(const struct wire_plan *p, struct wire_span s, uint32_t i, size_t size) {
  return i < s.n ? (const char *)p + s.at + i * size : NULL;
}

static const char *plan_text(const struct wire_plan *p, uint32_t at) {
  return at < p->text.n ? (const char *)p + p->text.at + at : "";
}

/* What one event is about; what the plan does not have is NULL. */
struct about {
  const struct wire_function *function;
  const struct wire_rule *rule;
  const struct wire_fault *fault;
  const char *name;
};

static struct about look_up(const struct wire_plan *p, const struct wire_event *event) {
  struct about a = {
      .function = plan_at(p, p->functions, event->function, sizeof *a.function),
      .rule = plan_at(p, p->rules, event->rule, sizeof *a.rule),
      .fault = plan_at(p, p->faults, event->fault, sizeof *a.fault),
  };
  a.name = a.function ? plan_text(p, a.function->name) : "?";
  return a;
}

static unsigned count_args(const struct about *a) {
  unsigned n = a->function ? a->function->n_args : 0;
  return n < WIRE_ARGS ? n : WIRE_ARGS;
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

static void add_errno(int error, struct text *to) {
  const char *name = error ? errno_name(error) : NULL;
  if (name)
    text_add_json(to, name);
  else if (error)
    text_addf(to, "%d", error);
  else
    text_add(to, "null");
}

/* By its name, or its number if it has none. */
static void add_signal(uint32_t number, struct text *to) {
  const char *name = number <= INT32_MAX ? signal_name((int)number) : NULL;
  if (number == 0)
    text_add(to, "null");
  else if (name)
    text_add_json(to, name);
  else
    text_addf(to, "%" PRIu32, number);
}

static void add_side(const struct wire_plan *p, const struct wire_side *s, bool missed, struct text *to) {
  static const char *const kinds[] = {"arg", "global", "tls", "stream", "misnamed"};
  text_addf(to, "{\"kind\":\"%s\"", s->kind < COUNT(kinds) ? kinds[s->kind] : "?");
  if (s->kind == WIRE_SIDE_ARG || s->kind == WIRE_SIDE_MISNAMED || (s->kind == WIRE_SIDE_STREAM && !s->name))
    text_addf(to, ",\"argument\":%u", s->argument + 1u);
  const struct wire_module *m = plan_at(p, p->modules, s->module, sizeof *m);
  if (s->kind == WIRE_SIDE_GLOBAL || s->kind == WIRE_SIDE_TLS) {
    text_add(to, ",\"module\":");
    text_add_json(to, m ? plan_text(p, m->name) : "");
  }
  if (s->name) {
    text_add(to, ",\"name\":");
    text_add_json(to, plan_text(p, s->name));
  }
  text_addf(to, ",\"offset\":%" PRId64 ",\"width\":%u,\"value\":%" PRId64 "%s}", (int64_t)s->offset, s->width, s->value,
            missed ? ",\"missed\":true" : "");
}

/* What was set beside the result, and what should have been: nothing is claimed that did not happen. */
static void add_sides(const struct wire_plan *p, const struct wire_fault *f, uint64_t missed, struct text *to) {
  text_add(to, "[");
  for (uint32_t i = 0; f && i < f->n_sides; i++) {
    const struct wire_side *s = plan_at(p, p->sides, f->side + i, sizeof *s);
    if (i) text_add(to, ",");
    if (s) add_side(p, s, missed >> (i < 64 ? i : 63) & 1, to);
  }
  text_add(to, "]");
}

void run_log_missed(const struct wire_plan *plan, const struct wire_event *event, struct text *to) {
  struct about a = look_up(plan, event);
  for (uint32_t i = 0; a.fault && i < a.fault->n_sides; i++) {
    const struct wire_side *s = plan_at(plan, plan->sides, a.fault->side + i, sizeof *s);
    if (!s || !(event->missed >> (i < 64 ? i : 63) & 1) || !(s->flags & WIRE_SIDE_ASKED)) continue;
    if (to->n) text_add(to, ", ");
    if (s->name)
      text_addf(to, "the variable %s", plan_text(plan, s->name));
    else if (s->kind == WIRE_SIDE_GLOBAL || s->kind == WIRE_SIDE_TLS)
      text_add(to, "a variable");
    else
      text_addf(to, "what argument %u points to", s->argument + 1u);
    text_add(to, " of ");
    text_add_plain(to, a.name);
  }
}

static const char *const actions[WIRE_ACT_COUNT] = {"return", "short", "delay", "eintr", "kill", "throw"};

static bool is_interrupted(const struct wire_fault *f) { return f && f->act == WIRE_ACT_EINTR; }
static bool has_amount(const struct wire_fault *f) { return f->act == WIRE_ACT_SHORT || f->act == WIRE_ACT_DELAY; }

/* What was done to the call, where that is more than a result; bytes or nanoseconds. */
static void add_action(const struct wire_fault *f, struct text *to) {
  if (!f || f->act == WIRE_ACT_RETURN || f->act >= WIRE_ACT_COUNT) return;
  text_addf(to, ",\"action\":\"%s\"", actions[f->act]);
  if (has_amount(f)) text_addf(to, ",\"amount\":%" PRId64, f->retval);
}

static void add_place(const struct image_frame *f, struct text *to) {
  text_add(to, "\"file\":");
  if (f && f->file)
    text_add_json(to, f->file);
  else
    text_add(to, "null");
  text_addf(to, ",\"line\":%s", f && f->line ? "" : "null");
  if (f && f->line) text_addf(to, "%u", f->line);
}

/* The innermost place; the functions that were inlined there beside it. */
static void add_frame(const struct run_symbol *s, struct text *to) {
  text_add(to, "{\"module\":");
  text_add_json(to, s->module);
  text_addf(to, ",\"offset\":\"0x%" PRIx64 "\",\"symbol\":", s->offset);
  if (s->function)
    text_add_json(to, s->function);
  else
    text_add(to, "null");
  if (s->function && s->plus) text_addf(to, ",\"symbol_offset\":\"0x%" PRIx64 "\"", s->plus);
  text_add(to, ",");
  add_place(s->n_frames ? &s->frames[0] : NULL, to);
  if (s->n_frames > 1) {
    text_add(to, ",\"inlined\":[");
    for (size_t i = 0; i + 1 < s->n_frames; i++) {
      text_addf(to, "%s{\"function\":", i ? "," : "");
      text_add_json(to, s->frames[i].function ? s->frames[i].function : "");
      text_add(to, ",");
      add_place(&s->frames[i], to);
      text_add(to, "}");
    }
    text_add(to, "]");
  }
  text_add(to, ",\"path\":");
  text_add_json(to, s->path);
  text_add(to, "}");
}

/* A frame comes again and again; what was written for it once is kept. */
static const char *known_frame(struct run_log *log, const struct wire_frame *frame) {
  uint64_t key = hash_mix(frame->at) ^ frame->module, kept;
  if (map_get(&log->frames, key, &kept)) return (const char *)(uintptr_t)kept;
  struct text t = {0};
  struct run_symbol s;
  bool whole = run_symbols_at(log->symbols, frame, &s);
  add_frame(&s, &t);
  const char *copy = t.failed ? NULL : arena_strdup(&log->arena, t.at);
  text_done(&t);
  /* Of a module that is not yet in the area more may be known later. */
  if (copy && whole && map_put(&log->frames, key, (uintptr_t)copy) < 0) copy = NULL;
  return copy;
}

static void add_stack(struct run_log *log, const struct wire_event *event, struct text *to) {
  text_add(to, "[");
  for (uint32_t i = 0; i < event->n_frames && i < WIRE_FRAMES; i++) {
    const char *frame = known_frame(log, &event->frames[i]);
    if (i) text_add(to, ",");
    if (!frame) to->failed = true;
    if (frame) text_add(to, frame);
  }
  text_add(to, "]");
}

static double seconds(const struct run_log *log, const struct wire_event *event) {
  return event->time > log->start ? (double)(event->time - log->start) / 1e9 : 0;
}

void run_log_done(struct run_log *log) {
  map_done(&log->frames);
  arena_done(&log->arena);
}

void run_log_json(struct run_log *log, const struct wire_event *event, struct text *to) {
  struct about a = look_up(log->plan, event);
  text_addf(to, "{\"event\":\"inject\",\"seq\":%" PRIu64 ",\"time\":%.6f,\"pid\":%u,\"tid\":%u,\"process\":%u",
            log->events, seconds(log, event), event->pid, event->tid, event->process);
  text_add(to, ",\"function\":");
  text_add_json(to, a.name);
  text_addf(to, ",\"call\":%" PRIu64 ",\"retval\":%" PRId64 ",\"errno\":", event->call, event->retval);
  add_errno(event->error, to);
  text_add(to, ",\"side\":");
  add_sides(log->plan, a.fault, event->missed, to);
  add_action(a.fault, to);
  text_addf(to, ",\"then\":%s,\"trigger\":", a.rule && a.rule->flags & WIRE_THEN ? "true" : "false");
  const char *trigger = a.rule ? plan_text(log->plan, a.rule->trigger) : "";
  text_add_json(to, a.rule && !*trigger ? "always" : trigger);
  text_add(to, ",\"args\":[");
  for (unsigned i = 0; i < count_args(&a); i++)
    text_addf(to, "%s%" PRId64, i ? "," : "", (int64_t)event->args[i]);
  text_add(to, "],\"stack\":");
  add_stack(log, event, to);
  if (event->signal || is_interrupted(a.fault)) {
    text_add(to, ",\"signal\":");
    add_signal(event->signal, to);
  }
  text_add(to, "}\n");
}

void run_log_lost(const struct run_totals *totals, struct text *to) {
  text_addf(to, "{\"event\":\"lost\",\"count\":%" PRIu64 ",\"frames\":%" PRIu64 "}\n", totals->lost, totals->unnamed);
}

/* --- for people --------------------------------------------------------------------------------------------------- */

/* Small numbers are counts and descriptors, others addresses. */
static void add_value(uint64_t v, struct text *to) {
  int64_t number = (int64_t)v;
  if (number > -4096 && number < 1 << 24)
    text_addf(to, "%" PRId64, number);
  else
    text_addf(to, "0x%" PRIx64, v);
}

static void add_where(const struct run_symbol *s, struct text *to) {
  const struct image_frame *f = s->n_frames ? &s->frames[0] : NULL;
  const char *function = f && f->function ? f->function : s->function;
  if (function) text_add_plain(to, function);
  if (f && f->file && f->line) {
    const char *slash = strrchr(f->file, '/');
    text_addf(to, "%s(", function ? " " : "");
    text_add_plain(to, slash ? slash + 1 : f->file);
    text_addf(to, ":%u)", f->line);
    return;
  }
  text_addf(to, "%s(", function ? " " : "");
  text_add_plain(to, *s->module ? s->module : "?");
  text_addf(to, "+0x%" PRIx64 ")", s->offset);
}

void run_log_line(struct run_log *log, const struct wire_event *event, struct text *to) {
  struct about a = look_up(log->plan, event);
  const char *error = event->error ? errno_name(event->error) : NULL;
  text_add_plain(to, a.name);
  text_add(to, "(");
  for (unsigned i = 0; i < count_args(&a); i++) {
    if (i) text_add(to, ", ");
    add_value(event->args[i], to);
  }
  text_add(to, ")");
  if (a.fault && a.fault->act != WIRE_ACT_RETURN && a.fault->act < WIRE_ACT_COUNT)
    text_addf(to, " %s", actions[a.fault->act]);
  if (a.fault && has_amount(a.fault)) {
    text_addf(to, "=%" PRId64 "%s", a.fault->retval, a.fault->act == WIRE_ACT_DELAY ? "ns" : "");
  } else if (!a.fault || a.fault->act < WIRE_ACT_KILL) {
    text_add(to, " = ");
    add_value((uint64_t)event->retval, to);
  }
  if (error)
    text_addf(to, " %s", error);
  else if (event->error)
    text_addf(to, " errno %d", event->error);
  const char *signal = event->signal && event->signal <= INT32_MAX ? signal_name((int)event->signal) : NULL;
  if (event->signal) text_addf(to, " with %s", signal ? signal : "a signal");
  if (!event->signal && is_interrupted(a.fault)) text_add(to, " without a signal");
  text_addf(to, ", call %" PRIu64, event->call);
  if (event->process > 1) text_addf(to, " of process %u", event->pid);
  if (event->n_frames) {
    struct run_symbol s;
    (void)run_symbols_at(log->symbols, &event->frames[0], &s);
    text_add(to, ", from ");
    add_where(&s, to);
  }
}
