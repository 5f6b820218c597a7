/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the target's side has to say about triggers that were asked outside of the plan. A plugin that crashes takes the
 * program with it; that is no finding about the program.
 */
#include "cmd/run_parts.h"
#include "cmd/cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

static const char *text_of(const struct wire_plan *plan, uint32_t at) {
  return (const char *)plan + plan->text.at + at;
}

static const struct wire_trigger *trigger_of(const struct wire_plan *plan, uint32_t i) {
  return i < plan->triggers.n ? (const struct wire_trigger *)((const char *)plan + plan->triggers.at) + i : NULL;
}

/* "trigger 'pipe' (class ReadPipe of /x/y.so)" */
static void add_trigger(const struct wire_plan *plan, const struct wire_trigger *t, struct text *to) {
  text_addf(to, "trigger '%s' (", text_of(plan, t->id));
  if (t->kind == WIRE_TRIGGER_PLUGIN) text_addf(to, "class %s of ", text_of(plan, t->class));
  text_addf(to, "%s)", text_of(plan, t->file));
}

const char *cmd_plugins_first(const struct wire_plan *plan) {
  const struct wire_trigger *t;
  for (uint32_t i = 0; (t = trigger_of(plan, i)); i++)
    if (t->kind == WIRE_TRIGGER_PLUGIN) return text_of(plan, t->file);
  return NULL;
}

static bool is_crash(int status) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP};
  for (size_t i = 0; i < COUNT(signals); i++)
    if (status == 128 + signals[i]) return true;
  return false;
}

static const char *const kinds[WIRE_TROUBLE_COUNT] = {
    [WIRE_TROUBLE_MISSING] = "its class was not there when the program was started",
    [WIRE_TROUBLE_VERSION] = "it is of another version of murphy (build it again)",
    [WIRE_TROUBLE_REFUSED] = "it refuses its arguments",
    [WIRE_TROUBLE_GONE] = "the hub could not be reached",
    [WIRE_TROUBLE_LATE] = "the hub did not answer in time; calls went on",
    [WIRE_TROUBLE_WRONG] = "what answered is no hub of this version; calls went on",
    [WIRE_TROUBLE_EXIT] = "it has called exit, and so ended process",
    [WIRE_TROUBLE_CRASH] = "it has crashed, and a handler of the program for that has ended process",
    [WIRE_TROUBLE_HANDLER] = "a handler of the program for a signal that came in it has ended process",
    [WIRE_TROUBLE_ENDED] = "it, or a handler of the program for a signal that came in it, has ended process",
    [WIRE_TROUBLE_FULL] = "more threads asked than can at once; their calls went on",
};

/* The process was ended in the middle of it. */
static bool is_end(uint32_t kind) { return kind >= WIRE_TROUBLE_EXIT && kind <= WIRE_TROUBLE_ENDED; }

static bool is_fatal(uint32_t kind) { return kind <= WIRE_TROUBLE_REFUSED || is_end(kind); }

/* Of a hub: questions were not answered. */
static bool is_silence(uint32_t kind) { return kind < WIRE_TROUBLE_COUNT && !is_fatal(kind); }

static void add_log(const struct wire_plan *plan, const struct wire_trigger *t, const char *what, struct text *log) {
  text_add(log, "{\"event\":\"trigger\",\"trigger\":");
  text_add_json(log, text_of(plan, t->id));
  text_add(log, ",\"class\":");
  text_add_json(log, text_of(plan, t->class));
  text_add(log, ",\"file\":");
  text_add_json(log, text_of(plan, t->file));
  text_add(log, ",\"problem\":");
  text_add_json(log, what);
  text_add(log, "}\n");
}

/* Says it; what makes the run useless is the command's error. */
static int tell(const struct wire_plan *plan, const struct wire_trigger *t, const char *what, bool fatal,
                struct text *log, struct err *e) {
  struct text message = {0};
  add_trigger(plan, t, &message);
  text_addf(&message, ": %s", what);
  add_log(plan, t, what, log);
  int r = message.failed || log->failed ? -ENOMEM : 0;
  if (r >= 0 && fatal) r = err_set(e, -ECANCELED, "%s", message.at);
  if (r >= 0) cmd_complain(message.at);
  text_done(&message);
  return r;
}

/* A local socket is a file, and may be out of reach for who has changed. */
static void add_reason(uint32_t error, struct text *to) {
  bool changed = error == EACCES || error == ENOENT;
  if (error > 0 && error < 4096) text_addf(to, ": %s", strerror((int)error));
  if (changed)
    text_add(
        to,
        " (a process that changes its user needs --mode 0666 of the hub, one that changes its root a tcp: address)");
  text_add(to, "; calls went on");
}

static int tell_trouble(const struct wire_plan *plan, const struct wire_trouble *trouble, uint32_t unanswered,
                        struct text *log, struct err *e) {
  const struct wire_trigger *t = trigger_of(plan, trouble->trigger);
  struct text what = {0};
  if (!t || trouble->kind >= WIRE_TROUBLE_COUNT) return 0;
  text_add(&what, kinds[trouble->kind]);
  if (trouble->kind == WIRE_TROUBLE_GONE) add_reason(trouble->error, &what);
  if (*trouble->text) {
    text_add(&what, ": ");
    text_add_plain(&what, trouble->text);
  }
  if (is_end(trouble->kind)) text_addf(&what, " %" PRIu32, trouble->pid);
  if (is_silence(trouble->kind)) text_addf(&what, " (%" PRIu32 " in all)", unanswered);
  int r = what.failed ? -ENOMEM : tell(plan, t, what.at, is_fatal(trouble->kind), log, e);
  text_done(&what);
  return r;
}

/*
 * A thread was in a plugin when its process ended, and nobody else had called exit. How the command ended is known of
 * its own process; if that has exited with the number of a signal, as shells do, the signal was another's. What became
 * of others is not known: a server may just have ended its workers.
 */
static int tell_end(const struct wire_plan *plan, const struct wire_asking *a, const struct run_ended *end,
                    struct text *log, struct err *e) {
  const struct wire_trigger *t = trigger_of(plan, a->trigger - 1);
  struct text what = {0};
  bool own = (pid_t)(a->owner >> 32) == end->pid, crash = is_crash(end->status) && own == (end->signal != 0);
  bool ended = own && end->signal == 0;
  if (!t || t->kind != WIRE_TRIGGER_PLUGIN || (a->ended && !crash)) return 0;
  text_addf(&what, "process %u ended while its thread %u was in this trigger", (unsigned)(a->owner >> 32),
            (unsigned)a->owner);
  if (crash) {
    const char *name = signal_name(end->status - 128);
    text_addf(&what, ", by %s: a crash of the trigger, not of the program", name ? name : "a signal");
  } else if (ended) {
    text_addf(&what,
              ", with exit status %d: the trigger has ended it, or a handler of the program by a system call; this is "
              "no result of the program",
              end->status);
  }
  int r = what.failed ? -ENOMEM : tell(plan, t, what.at, crash || ended, log, e);
  text_done(&what);
  return r;
}

int cmd_trouble(const struct run_area *area, const struct wire_plan *plan, const struct run_ended *end,
                struct text *log, struct err *e) {
  struct run_troubles all;
  int first = 0;
  if (plan->triggers.n == 0) return 0;
  if (run_area_troubles(area, &all) < 0) return 0; /* whoever damaged the area is told of elsewhere */
  for (size_t i = 0; i < WIRE_TROUBLES; i++) {
    all.troubles[i].text[sizeof all.troubles[i].text - 1] = 0;
    int r = all.troubles[i].ready == 1 ? tell_trouble(plan, &all.troubles[i], all.unanswered, log, e) : 0;
    if (r < 0 && first >= 0) first = r;
  }
  struct wire_asking asking;
  for (uint32_t i = 0; run_area_asking(area, i, &asking); i++) {
    int r = asking.trigger ? tell_end(plan, &asking, end, log, e) : 0;
    if (r < 0 && first >= 0) first = r;
  }
  return first;
}
