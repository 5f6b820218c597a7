/* SPDX-License-Identifier: Apache-2.0 */
/* Who is asking, and what is answered. */
#include "hub/hub.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* --- reading ------------------------------------------------------------------------------------------------------ */

static const struct {
  const char *name;
  enum hub_policy_kind kind;
  bool number, choose;
} policies[] = {
    {.name = "round-robin", .kind = HUB_ROUND_ROBIN},
    {.name = "nth", .kind = HUB_NTH, .number = true},
    {.name = "at-most", .kind = HUB_AT_MOST, .number = true},
    {.name = "script", .kind = HUB_SCRIPT},
    {.name = "choose", .kind = HUB_SCRIPT, .choose = true},
    {.name = "always", .kind = HUB_ALWAYS},
    {.name = "never", .kind = HUB_NEVER},
};

static int unknown_policy(const char *text, struct err *e) {
  const char *names[COUNT(policies)], *near;
  char word[32];
  for (size_t i = 0; i < COUNT(policies); i++)
    names[i] = policies[i].name;
  (void)snprintf(word, sizeof word, "%.*s", (int)strcspn(text, "="), text);
  near = name_nearest(word, names, COUNT(names));
  if (near) return err_set(e, -EINVAL, "--policy cannot be '%.60s' (did you mean '%s'?)", text, near);
  return err_set(e, -EINVAL,
                 "--policy cannot be '%.60s' (it is round-robin, nth=N, at-most=N, script=COMMAND, choose=COMMAND, "
                 "always or never)",
                 text);
}

int hub_policy_parse(const char *text, struct hub_policy *ret, struct err *e) {
  size_t n = strcspn(text, "="), i = 0;
  int64_t number = 0;
  while (i < COUNT(policies) && (strlen(policies[i].name) != n || strncmp(policies[i].name, text, n) != 0))
    i++;
  if (i == COUNT(policies)) return unknown_policy(text, e);
  const char *value = text[n] ? text + n + 1 : "";
  bool script = policies[i].kind == HUB_SCRIPT;
  if (policies[i].number && (number_parse(value, &number) < 0 || number < 1))
    return err_set(e, -EINVAL, "--policy %s needs a number from 1 on (as %s=3)", policies[i].name, policies[i].name);
  if (script && !*value)
    return err_set(e, -EINVAL, "--policy %s needs a command (as %s='./decide.py')", policies[i].name, policies[i].name);
  if (!policies[i].number && !script && text[n])
    return err_set(e, -EINVAL, "--policy %s takes no value", policies[i].name);
  ret->kind = policies[i].kind;
  ret->n = (uint64_t)number;
  ret->script = script ? value : NULL;
  ret->choose = policies[i].choose;
  return 0;
}

/* --- processes ---------------------------------------------------------------------------------------------------- */

static void copy_name(char to[WIRE_HUB_NAME], const char from[WIRE_HUB_NAME]) {
  memcpy(to, from, WIRE_HUB_NAME);
  to[WIRE_HUB_NAME - 1] = 0;
}

int hub_meet(struct hub_state *s, const struct wire_hub_hello *hello, size_t *ret) {
  struct hub_process p = {
      .number = s->processes.n + 1, .pid = hello->pid, .process = hello->process, .identity = hello->identity};
  copy_name(p.host, hello->host);
  copy_name(p.name, hello->name);
  size_t i = 0;
  while (i < s->processes.n && s->processes.at[i].identity != p.identity)
    i++;
  if (i == s->processes.n && vec_push(&s->processes, p) < 0) return -ENOMEM;
  s->processes.at[i].connections++;
  *ret = i;
  return 0;
}

void hub_leave(struct hub_state *s, size_t process) {
  MUST(process < s->processes.n && s->processes.at[process].connections > 0);
  s->processes.at[process].connections--;
}

/* --- deciding ----------------------------------------------------------------------------------------------------- */

/* Whose turn it is: those that are gone are passed over. */
static bool has_turn(struct hub_state *s, size_t process) {
  size_t n = s->processes.n;
  for (size_t i = 0; i < n && s->processes.at[s->turn % n].connections == 0; i++)
    s->turn = (s->turn + 1) % n;
  if (s->turn % n != process) return false;
  return true;
}

static bool among_few(const struct hub_state *s, size_t process) {
  uint64_t others = 0;
  for (size_t i = 0; i < s->processes.n; i++)
    others += i != process && s->processes.at[i].connections > 0 && s->processes.at[i].failed > 0;
  return others < s->policy.n;
}

static bool allowed(const struct hub_state *s) {
  const struct hub_policy *p = &s->policy;
  if (p->limit && s->failed >= p->limit) return false;
  if (s->asked <= p->after) return false;
  return s->last == 0 || p->every == 0 || s->asked - s->last >= p->every;
}

static bool wanted(struct hub_state *s, size_t process, const bool *says) {
  switch (s->policy.kind) {
  case HUB_NEVER:
    return false;
  case HUB_ALWAYS:
    return true;
  case HUB_ROUND_ROBIN:
    return has_turn(s, process);
  case HUB_NTH:
    return s->asked == s->policy.n;
  case HUB_AT_MOST:
    return among_few(s, process);
  case HUB_SCRIPT:
    return says && *says;
  }
  return false;
}

bool hub_decide(struct hub_state *s, size_t process, const bool *says) {
  if (!allowed(s) || !wanted(s, process, says)) return false;
  s->failed++;
  s->last = s->asked;
  s->processes.at[process].failed++;
  if (s->policy.kind == HUB_ROUND_ROBIN) s->turn = (s->turn + 1) % s->processes.n;
  return true;
}

/* --- telling ------------------------------------------------------------------------------------------------------ */

/* What a process sent need not end. */
static void add_name(const char *name, size_t size, struct text *to) {
  char copy[80];
  (void)snprintf(copy, sizeof copy, "%.*s", (int)(size - 1), name);
  text_add_json(to, copy);
}

void hub_log_line(const struct hub_process *p, const struct wire_hub_ask *ask, uint64_t number, const bool *answer,
                  struct text *to) {
  text_addf(to, "{\"event\":\"ask\",\"seq\":%" PRIu64 ",\"member\":%" PRIu64 ",\"host\":", number, p->number);
  text_add_json(to, p->host);
  text_addf(to, ",\"pid\":%u,\"tid\":%u,\"process\":%u,\"name\":", p->pid, ask->tid, p->process);
  text_add_json(to, p->name);
  text_add(to, ",\"trigger\":");
  add_name(ask->trigger, sizeof ask->trigger, to);
  text_add(to, ",\"function\":");
  add_name(ask->function, sizeof ask->function, to);
  text_addf(to, ",\"call\":%" PRIu64 ",\"args\":[", ask->call);
  for (uint32_t i = 0; i < ask->n_args && i < WIRE_ARGS; i++)
    text_addf(to, "%s%" PRId64, i ? "," : "", (int64_t)ask->args[i]);
  text_addf(to, "],\"point\":\"%016" PRIx64 "\",\"stack\":[", ask->stack);
  for (uint32_t i = 0; i < ask->n_frames && i < WIRE_HUB_FRAMES; i++) {
    text_addf(to, "%s{\"module\":", i ? "," : "");
    add_name(ask->frames[i].module, sizeof ask->frames[i].module, to);
    text_addf(to, ",\"offset\":\"0x%" PRIx64 "\"}", ask->frames[i].offset);
  }
  text_add(to, "]");
  if (answer) text_addf(to, ",\"inject\":%s", *answer ? "true" : "false");
  text_add(to, "}\n");
}
