/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of a finding: finding.json, from which it is repeated; replay, a script that has the same in it and needs
 * nothing else of the campaign; log.json and scenario.xml for murphy run; what the command wrote to stdout and stderr.
 */
#include "cmd/test.h"
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* More of an output is not kept. */
enum { OUTPUT_MAX = 1 << 20, FINDING_MAX = 16 << 20 };

/* As a programmer writes it. It is a name of the library's, and goes into scripts. */
static void add_function(const char *name, struct text *to) {
  struct text readable = {0};
  (void)name_readable(name, &readable);
  text_add_plain(to, readable.at ? readable.at : name);
  to->failed |= readable.failed;
  text_done(&readable);
}

void test_finding_title(const struct test_finding *f, struct text *to) {
  const char *name = f->error ? errno_name(f->error) : NULL;
  text_add(to, f->kind);
  if (f->signal && signal_name(f->signal)) text_addf(to, " (%s)", signal_name(f->signal));
  text_add(to, " when ");
  add_function(f->written, to);
  report_fault(f->act, f->retval, name, to);
  if (f->onwards) text_add(to, ", from then on every time");
  if (!f->first.function) return;
  text_add(to, ", after ");
  add_function(f->first_written, to);
  report_fault(f->first.act, f->first.retval, f->first.error ? errno_name(f->first.error) : NULL, to);
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static void add_word(const char *key, const char *value, struct text *to) {
  text_addf(to, ",\"%s\":", key);
  if (value)
    text_add_json(to, value);
  else
    text_add(to, "null");
}

static void add_frames(const test_frames *frames, struct text *to) {
  text_add(to, ",\"stack\":[");
  for (size_t i = 0; i < frames->n; i++) {
    const struct store_frame *frame = &frames->at[i];
    text_addf(to, "%s{\"offset\":%" PRIu64 ",\"line\":%u", i ? "," : "", frame->offset, frame->line);
    add_word("module", frame->module, to);
    add_word("function", frame->function, to);
    add_word("file", frame->file, to);
    text_add(to, "}");
  }
  text_add(to, "]");
}

static void add_first(const struct test_finding *f, struct text *to) {
  const struct store_first *first = &f->first;
  text_addf(to, ",\"first\":{\"hash\":\"0x%" PRIx64 "\",\"nth\":%" PRIu64, f->first_hash, first->nth);
  add_word("function", first->function, to);
  add_word("written", f->first_written, to);
  text_addf(to, ",\"call\":%" PRIu64 ",\"process\":%" PRIu32 ",\"retval\":%" PRId64 ",\"errno\":%d", first->call,
            first->process, first->retval, first->error);
  add_word("act", first->act, to);
  add_frames(&f->first_stack, to);
  text_add(to, "}");
}

static void add_json(const struct test_keeper *k, const struct test_finding *f, struct text *to) {
  text_addf(to, "{\"murphy\":\"" MURPHY_VERSION "\",\"id\":%" PRId64, f->id);
  add_word("kind", f->kind, to);
  text_addf(to, ",\"signal\":%d", f->signal);
  add_word("function", f->function, to);
  add_word("written", f->written, to);
  /* As text: more bits than what some readers of JSON keep of a number. */
  text_addf(to, ",\"hash\":\"0x%" PRIx64 "\",\"nth\":%" PRIu64 ",\"onwards\":%s", f->hash, f->nth,
            f->onwards ? "true" : "false");
  text_addf(to, ",\"call\":%" PRIu64 ",\"process\":%" PRIu32 ",\"retval\":%" PRId64 ",\"errno\":%d", f->call,
            f->process, f->retval, f->error);
  add_word("act", f->act, to);
  add_frames(&f->inject, to);
  if (f->first.function) add_first(f, to);
  text_add(to, ",\"modules\":");
  test_modules_json(&k->setup->space.modules, to);
  text_add(to, ",\"subject\":");
  test_subject_json(k->setup->is, to);
  test_opened_json(&k->setup->space.opened, to);
  text_add(to, ",\"environment\":");
  test_environment_json(environ, to);
  text_add(to, "}\n");
}

static void add_script(const struct test_keeper *k, const struct test_finding *f, const struct text *json,
                       struct text *to) {
  text_add(to, "#!/bin/sh\n# murphy: ");
  test_finding_title(f, to);
  text_add(to,
           "\n# Does it again, in a sandbox; --gdb stops there in a debugger. Needs murphy and the program, no other "
           "file.\n# Exits with 1 if it comes again, with 0 if it does not.\nmurphy=${MURPHY:-murphy}\n"
           "command -v \"$murphy\" >/dev/null 2>&1 || murphy=");
  text_add_shell(to, k->murphy);
  text_add(to, "\nexec \"$murphy\" replay /dev/fd/3 \"$@\" 3<<'END OF FINDING'\n");
  text_add(to, json->at ? json->at : "");
  text_add(to, "END OF FINDING\n");
}

static int save(const char *folder, const char *name, const char *at, size_t n, mode_t mode, struct err *e) {
  char *path = NULL;
  if (asprintf(&path, "%s/%s", folder, name) < 0) return err_set(e, -ENOMEM, "out of memory");
  int r = file_write(path, at ? at : "", n, e);
  if (r == 0 && chmod(path, mode) < 0) r = err_set(e, -errno, "%s: %m", path);
  free(path);
  return r;
}

static int save_text(const char *folder, const char *name, const struct text *t, mode_t mode, struct err *e) {
  return t->failed ? err_set(e, -ENOMEM, "out of memory") : save(folder, name, t->at, t->n, mode, e);
}

/* The injection as murphy run would have logged it, and the scenario that a log becomes. */
static int save_log(const struct test_keeper *k, const struct test_finding *f, const struct sweep_done *d,
                    const char *folder, struct err *e) {
  struct run_log log = {
      .plan = (const struct wire_plan *)k->setup->space.plan.at, .start = lab_last_event(d->result)->time, .events = 1};
  struct text line = {0}, xml = {0};
  char *path = NULL;
  int r = run_symbols_new(&k->setup->space.modules, lab_area(d->lab), &log.symbols);
  if (r == 0 && d->modules) run_symbols_tell(log.symbols, d->modules);
  if (r == 0) {
    for (size_t i = 0; i < d->result->n_events; i++)
      run_log_json(&log, &d->result->events[i], &line);
    r = save_text(folder, "log.json", &line, 0644, e);
  }
  if (r == 0 && asprintf(&path, "%s/log.json", folder) < 0) r = err_set(e, -ENOMEM, "out of memory");
  if (r == 0) r = run_replay_load(path, &xml, e);
  /* In an attribute, XML allows '>' as it is. */
  char *once = r == 0 && f->onwards && !xml.failed ? strstr(xml.at, "call==") : NULL;
  if (once) once[strlen("call")] = '>';
  if (r == 0) r = save_text(folder, "scenario.xml", &xml, 0644, e);
  free(path);
  text_done(&line);
  text_done(&xml);
  run_log_done(&log);
  run_symbols_free(log.symbols);
  return r;
}

static int save_outputs(const struct sweep_done *d, const char *folder, struct err *e) {
  static const char *const names[] = {[OBSERVE_OUT] = "stdout", [OBSERVE_ERROR] = "stderr"};
  int r = 0;
  for (size_t i = 0; i < COUNT(names) && r == 0; i++) {
    const struct observe_stream *s = &d->result->seen.streams[i];
    r = save(folder, names[i], s->at, s->n < OUTPUT_MAX ? s->n : OUTPUT_MAX, 0644, e);
  }
  size_t n = d->difference ? strlen(d->difference) : 0;
  return r < 0 || !n ? r : save(folder, "difference", d->difference, n, 0644, e);
}

int test_finding_write(const struct test_keeper *k, const struct test_finding *f, const struct sweep_done *d,
                       struct err *e) {
  struct text json = {0}, script = {0};
  char *folder = NULL;
  int r = store_folder_finding(k->folder, f->id, true, &folder, e);
  if (r < 0) return r;
  add_json(k, f, &json);
  add_script(k, f, &json, &script);
  r = save_text(folder, "finding.json", &json, 0644, e);
  if (r == 0) r = save_text(folder, "replay", &script, 0755, e);
  if (r == 0) r = save_log(k, f, d, folder, e);
  if (r == 0) r = save_outputs(d, folder, e);
  text_done(&json);
  text_done(&script);
  free(folder);
  return r;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static const char *keep(struct test_known *k, const json_t *value) {
  const char *s = json_string_value(value);
  return s ? arena_strdup(&k->arena, s) : NULL;
}

static int load_stack(const json_t *from, struct test_known *k, test_frames *ret) {
  for (size_t i = 0; i < json_array_size(from); i++) {
    const json_t *f = json_array_get(from, i);
    struct store_frame add = {.module = keep(k, json_object_get(f, "module")),
                              .function = keep(k, json_object_get(f, "function")),
                              .file = keep(k, json_object_get(f, "file")),
                              .offset = (uint64_t)json_integer_value(json_object_get(f, "offset")),
                              .line = (unsigned)json_integer_value(json_object_get(f, "line"))};
    if (vec_push(ret, add) < 0) return -ENOMEM;
  }
  return 0;
}

/* Of two faults, the first; most findings have one only. */
static int load_first(const json_t *from, struct test_known *k) {
  const char *hash = json_string_value(json_object_get(from, "hash"));
  int64_t number = 0;
  if (!from || json_is_null(from)) return 0;
  k->is.first = (struct store_first){.function = keep(k, json_object_get(from, "function")),
                                     .act = keep(k, json_object_get(from, "act")),
                                     .retval = json_integer_value(json_object_get(from, "retval")),
                                     .error = (int)json_integer_value(json_object_get(from, "errno")),
                                     .nth = (uint64_t)json_integer_value(json_object_get(from, "nth")),
                                     .call = (uint64_t)json_integer_value(json_object_get(from, "call")),
                                     .process = (uint32_t)json_integer_value(json_object_get(from, "process"))};
  if (!k->is.first.function || !k->is.first.nth || !hash || number_parse(hash, &number) < 0) return -EINVAL;
  k->is.first_hash = (uint64_t)number;
  k->is.first_written = keep(k, json_object_get(from, "written"));
  if (!k->is.first_written) k->is.first_written = k->is.first.function;
  return load_stack(json_object_get(from, "stack"), k, &k->is.first_stack);
}

static int load_finding(const json_t *from, struct test_known *k) {
  const char *hash = json_string_value(json_object_get(from, "hash"));
  int64_t number = 0;
  k->is = (struct test_finding){.id = json_integer_value(json_object_get(from, "id")),
                                .kind = keep(k, json_object_get(from, "kind")),
                                .signal = (int)json_integer_value(json_object_get(from, "signal")),
                                .function = keep(k, json_object_get(from, "function")),
                                .written = keep(k, json_object_get(from, "written")),
                                .nth = (uint64_t)json_integer_value(json_object_get(from, "nth")),
                                .onwards = json_is_true(json_object_get(from, "onwards")),
                                .call = (uint64_t)json_integer_value(json_object_get(from, "call")),
                                .process = (uint32_t)json_integer_value(json_object_get(from, "process")),
                                .retval = json_integer_value(json_object_get(from, "retval")),
                                .error = (int)json_integer_value(json_object_get(from, "errno")),
                                .act = keep(k, json_object_get(from, "act"))};
  if (!k->is.kind || !k->is.function || !k->is.nth || !hash || number_parse(hash, &number) < 0) return -EINVAL;
  if (!k->is.written) k->is.written = k->is.function; /* of an earlier version */
  k->is.hash = (uint64_t)number;
  int r = load_stack(json_object_get(from, "stack"), k, &k->is.inject);
  return r < 0 ? r : load_first(json_object_get(from, "first"), k);
}

int test_finding_load(const char *path, struct test_known *ret, struct err *e) {
  struct test_known k = {0};
  char *bytes = NULL;
  size_t n = 0;
  int r = file_read(path, FINDING_MAX, &bytes, &n, e);
  if (r < 0) return r;
  json_t *from = json_loadb(bytes, n, 0, NULL);
  free(bytes);
  r = json_is_object(from) ? load_finding(from, &k) : -EINVAL;
  if (r < 0)
    (void)err_set(e, r, r == -ENOMEM ? "%s: out of memory" : "%s: not a finding of murphy test (it is damaged)", path);
  if (r == 0) r = test_subject_load(json_object_get(from, "subject"), path, &k.subject, e);
  if (r == 0 && test_subject_load_opened(json_object_get(from, "opened"), &k.subject) < 0)
    r = err_set(e, -EINVAL, "%s: not a finding of murphy test (it is damaged)", path);
  if (r == 0) k.modules = json_incref(json_object_get(from, "modules"));
  if (r == 0) k.environment = json_incref(json_object_get(from, "environment"));
  json_decref(from);
  if (r < 0)
    test_known_done(&k);
  else
    *ret = k;
  return r;
}

void test_known_done(struct test_known *k) {
  vec_done(&k->is.inject);
  vec_done(&k->is.first_stack);
  test_subject_done(&k->subject);
  json_decref(k->modules);
  json_decref(k->environment);
  arena_done(&k->arena);
}
