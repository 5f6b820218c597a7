/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads data/hooks: what the runtime intercepts for itself.
 */
#include "scenario/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DATA_MAX (1u << 20)

static const char *const kinds[] = {
    [WIRE_HOOK_EXECVE] = "execve",
    [WIRE_HOOK_EXECVEAT] = "execveat",
    [WIRE_HOOK_EXECV] = "execv",
    [WIRE_HOOK_EXECVPE] = "execvpe",
    [WIRE_HOOK_SPAWN] = "spawn",
    [WIRE_HOOK_DLOPEN] = "dlopen",
    [WIRE_HOOK_DLCLOSE] = "dlclose",
    [WIRE_HOOK_DLSYM] = "dlsym",
    [WIRE_HOOK_DLVSYM] = "dlvsym",
    [WIRE_HOOK_MAIN] = "main",
    [WIRE_HOOK_EXECVP] = "execvp",
    [WIRE_HOOK_EXECL] = "execl",
    [WIRE_HOOK_EXECLP] = "execlp",
    [WIRE_HOOK_EXECLE] = "execle",
    [WIRE_HOOK_SYSTEM] = "system",
    [WIRE_HOOK_SELF] = "self",
    [WIRE_HOOK_LOOK] = "look",
    [WIRE_HOOK_DLADDR] = "dladdr",
    [WIRE_HOOK_FORK] = "fork",
    [WIRE_HOOK_LOCK] = "lock",
    [WIRE_HOOK_UNLOCK] = "unlock",
    [WIRE_HOOK_END] = "end",
    [WIRE_HOOK_OUTPUT] = "output",
    [WIRE_HOOK_MESSAGES] = "messages",
    [WIRE_HOOK_CLOSE_ALL] = "close-all",
    [WIRE_HOOK_CLOSE_SOME] = "close-some",
    [WIRE_HOOK_CLOSE] = "close",
    [WIRE_HOOK_LOOK_FILE] = "look-file",
    [WIRE_HOOK_LOOK_AT] = "look-at",
    [WIRE_HOOK_LOOK_X] = "look-x",
    [WIRE_HOOK_LOOK_OLD] = "look-old",
    [WIRE_HOOK_LOOK_FILE_OLD] = "look-file-old",
    [WIRE_HOOK_LOOK_AT_OLD] = "look-at-old",
    [WIRE_HOOK_TELL] = "tell",
    [WIRE_HOOK_MOVE] = "move",
    [WIRE_HOOK_DUP] = "dup",
    [WIRE_HOOK_FCNTL] = "fcntl",
    [WIRE_HOOK_STREAM] = "stream",
    [WIRE_HOOK_ENTRY] = "entry",
    [WIRE_HOOK_ENTRY_INTO] = "entry-into",
    [WIRE_HOOK_ENTRIES] = "entries",
    [WIRE_HOOK_SCAN] = "scan",
    [WIRE_HOOK_SCAN_AT] = "scan-at",
    [WIRE_HOOK_RAW] = "raw",
    [WIRE_HOOK_WHOM] = "whom",
    [WIRE_HOOK_WHOM_2] = "whom2",
    [WIRE_HOOK_WHOMS] = "whoms",
    [WIRE_HOOK_ADVISE] = "advise",
    [WIRE_HOOK_THREAD] = "thread",
    [WIRE_HOOK_CONTROL] = "control",
    [WIRE_HOOK_LEAVE] = "leave",
    [WIRE_HOOK_SPENT] = "spent",
    [WIRE_HOOK_SPENT_BY] = "spent-by",
    [WIRE_HOOK_PIN] = "pin",
    [WIRE_HOOK_MAP] = "map",
};

static int read_hook(struct plan *p, const char *path, unsigned line, char *text) {
  char *save = NULL, *kind = strtok_r(text, " \t\r", &save), *name = strtok_r(NULL, " \t\r", &save);
  if (!kind || *kind == '#') return 0;
  if (!name) return err_set(p->e, -EINVAL, "%s:%u: a name is missing behind '%s'", path, line, kind);
  for (unsigned i = 1; i < COUNT(kinds); i++) {
    if (strcmp(kinds[i], kind) != 0) continue;
    struct hook hook = {.name = arena_strdup(&p->arena, name), .kind = i};
    return !hook.name || vec_push(&p->hooks, hook) < 0 ? plan_no_memory(p) : 0;
  }
  return err_set(p->e, -EINVAL, "%s:%u: not a kind of hook: '%s'", path, line, kind);
}

int plan_load_hooks(struct plan *p) {
  struct text path = {0};
  char *bytes = NULL;
  size_t size;
  unsigned line = 0;
  text_addf(&path, "%s/hooks", p->world->data);
  int r = path.failed ? plan_no_memory(p) : file_read(path.at, DATA_MAX, &bytes, &size, p->e);
  for (char *rest = bytes, *text; r >= 0 && (text = strsep(&rest, "\n")) != NULL;)
    r = read_hook(p, path.at, ++line, text);
  free(bytes);
  text_done(&path);
  return r;
}

/* Does the call make a process, or another program of this one? */
static bool starts(uint32_t kind) { return kind == WIRE_HOOK_FORK || wire_hook_starts(kind); }

static bool opens(unsigned kind) { return kind == WIRE_HOOK_DLOPEN; }

static int find_hook(const char *data, const char *const *functions, size_t n, bool (*is_kind)(unsigned), bool *ret,
                     struct err *e) {
  const struct scenario_world world = {.data = data};
  struct plan p = {.world = &world, .e = e};
  int r = plan_load_hooks(&p);
  bool found = false;
  for (size_t i = 0; i < p.hooks.n && r >= 0; i++)
    for (size_t k = 0; k < n && !found && is_kind(p.hooks.at[i].kind); k++)
      found = strcmp(p.hooks.at[i].name, functions[k]) == 0;
  if (r >= 0) *ret = found;
  vec_done(&p.hooks);
  arena_done(&p.arena);
  return r;
}

int scenario_starts(const char *data, const char *const *functions, size_t n, bool *ret, struct err *e) {
  return find_hook(data, functions, n, starts, ret, e);
}

int scenario_opens(const char *data, const char *const *functions, size_t n, bool *ret, struct err *e) {
  return find_hook(data, functions, n, opens, ret, e);
}
