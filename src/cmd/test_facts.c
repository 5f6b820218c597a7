/* SPDX-License-Identifier: Apache-2.0 */
/* What a campaign knows of the command and of its surroundings, as facts in the database. */
#include "cmd/test.h"
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

static int set_text(struct store *s, const char *name, struct text *t, struct err *e) {
  int r = t->failed ? err_set(e, -ENOMEM, "out of memory") : store_set(s, name, t->at ? t->at : "", e);
  text_done(t);
  return r;
}

/* What of the surroundings may matter to who repeats it; not all, since there are secrets in environments. */
static void add_environment(struct text *to) {
  static const char *const names[] = {"PATH",
                                      "HOME",
                                      "LANG",
                                      "LC_ALL",
                                      "LANGUAGE",
                                      "TZ",
                                      "TMPDIR",
                                      "TERM",
                                      "LD_LIBRARY_PATH",
                                      "LD_PRELOAD",
                                      "ASAN_OPTIONS",
                                      "UBSAN_OPTIONS",
                                      "MALLOC_ARENA_MAX"};
  bool first = true;
  text_add(to, "{");
  for (size_t i = 0; i < COUNT(names); i++) {
    const char *value = getenv(names[i]);
    if (!value) continue;
    text_addf(to, "%s\"%s\":", first ? "" : ",", names[i]);
    text_add_json(to, value);
    first = false;
  }
  text_add(to, "}");
}

static int set_surroundings(struct store *s, struct err *e) {
  struct utsname system;
  struct text t = {0};
  if (uname(&system) == 0) text_addf(&t, "%s %s %s", system.sysname, system.release, system.machine);
  int r = set_text(s, "kernel", &t, e);
  if (r < 0) return r;
  add_environment(&t);
  r = set_text(s, "environment", &t, e);
  if (r < 0) return r;
  char stamp[32] = "";
  time_t now = time(NULL);
  struct tm tm;
  if (gmtime_r(&now, &tm)) (void)strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &tm);
  r = store_set(s, "started", stamp, e);
  return r < 0 ? r : store_set(s, "murphy", MURPHY_VERSION, e);
}

static int set_subject(struct store *s, const struct test_setup *setup, struct err *e) {
  struct text t = {0};
  test_subject_json(setup->is, &t);
  int r = set_text(s, "subject", &t, e);
  if (r == 0) {
    test_command_json(setup->is->command.at, &t);
    r = set_text(s, "command", &t, e);
  }
  if (r == 0) {
    test_command_line(setup->is->command.at, &t);
    r = set_text(s, "line", &t, e);
  }
  if (r == 0) {
    test_modules_json(&setup->space.modules, &t);
    r = set_text(s, "modules", &t, e);
  }
  const char *program = setup->space.modules.modules.at[0].path;
  bool foreign = setup->space.target.script && test_is_system_program(program);
  if (r == 0) r = store_set(s, "interpreter", foreign ? program : "", e);
  const char *id = image_build_id(setup->space.modules.modules.at[0].image);
  if (r == 0) r = store_set(s, "cwd", setup->is->cwd, e);
  if (r == 0) r = store_set(s, "follow", setup->space.follow ? "1" : "0", e);
  if (r == 0) r = store_set(s, "program", setup->space.target.path, e);
  return r < 0 ? r : store_set(s, "build_id", id ? id : "", e);
}

int test_facts_baseline(struct store *s, const struct baseline *b, struct err *e) {
  const struct lab_result *first = &b->runs[0];
  struct text t = {0};
  text_addf(&t, "{\"status\":%d,\"seconds\":%.6f,\"memory\":%llu,\"files\":%zu}", first->seen.status,
            (double)b->wall_ns / 1e9, (unsigned long long)first->memory, first->seen.entries.n);
  int r = set_text(s, "baseline", &t, e);
  return r < 0 ? r : store_set(s, "notes", b->notes.n ? b->notes.at : "", e);
}

int test_facts_begin(struct store *s, const struct test_setup *setup, struct err *e) {
  int r = set_surroundings(s, e);
  return r < 0 ? r : set_subject(s, setup, e);
}
