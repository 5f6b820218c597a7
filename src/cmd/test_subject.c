/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is tested, as it is kept in a campaign and in the folder of a finding: a JSON object from which the same is made
 * again.
 */
#include "cmd/test.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

void test_subject_done(struct test_subject *s) {
  vec_done(&s->command);
  vec_done(&s->scope.from);
  vec_done(&s->scope.functions);
  vec_done(&s->scope.errnos);
  vec_done(&s->scope.sites);
  vec_done(&s->scope.opened);
  arena_done(&s->arena);
}

int test_subject_take_input(struct test_subject *s) {
  char path[PATH_MAX];
  struct stat is, named;
  if (s->input || fstat(STDIN_FILENO, &is) < 0 || !S_ISREG(is.st_mode)) return 0;
  ssize_t n = readlink("/proc/self/fd/0", path, sizeof path);
  if (n <= 0 || n == (ssize_t)sizeof path) return 0;
  path[n] = '\0';
  if (stat(path, &named) < 0 || named.st_dev != is.st_dev || named.st_ino != is.st_ino) return 0;
  s->input = arena_strdup(&s->arena, path);
  return s->input ? 0 : -ENOMEM;
}

bool test_subject_loses_input(const struct test_subject *s) {
  struct stat is;
  int waiting = 0;
  if (s->input || fstat(STDIN_FILENO, &is) < 0 || !(S_ISFIFO(is.st_mode) || S_ISSOCK(is.st_mode))) return false;
  return ioctl(STDIN_FILENO, FIONREAD, &waiting) == 0 && waiting > 0;
}

int test_subject_add(struct test_subject *s, cmd_names *to, const char *list) {
  char *copy = arena_strdup(&s->arena, list), *save = NULL;
  if (!copy) return -ENOMEM;
  for (char *name = strtok_r(copy, ",", &save); name; name = strtok_r(NULL, ",", &save))
    if (vec_push(to, name) < 0) return -ENOMEM;
  return 0;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

void test_command_json(char *const *command, struct text *to) {
  text_add(to, "[");
  for (char *const *p = command; *p; p++) {
    if (p != command) text_add(to, ",");
    text_add_json(to, *p);
  }
  text_add(to, "]");
}

void test_command_line(char *const *command, struct text *to) {
  for (char *const *p = command; *p; p++) {
    if (p != command) text_add(to, " ");
    text_add_shell(to, *p);
  }
}

static void add_names(const char *key, const cmd_names *names, struct text *to) {
  text_addf(to, ",\"%s\":[", key);
  for (size_t i = 0; i < names->n; i++) {
    if (i) text_add(to, ",");
    text_add_json(to, names->at[i]);
  }
  text_add(to, "]");
}

void test_opened_json(const cmd_names *opened, struct text *to) { add_names("opened", opened, to); }

void test_subject_json(const struct test_subject *s, struct text *to) {
  text_add(to, "{\"command\":");
  test_command_json(s->command.at, to);
  text_add(to, ",\"cwd\":");
  text_add_json(to, s->cwd);
  text_add(to, ",\"input\":");
  if (s->input)
    text_add_json(to, s->input);
  else
    text_add(to, "null");
  text_addf(to, ",\"follow\":%s,\"system\":%s,\"sandbox\":%s,\"timeout_ns\":%" PRIu64,
            s->scope.follow ? "true" : "false", s->scope.system ? "true" : "false", s->no_sandbox ? "false" : "true",
            s->timeout_ns);
  add_names("from", &s->scope.from, to);
  add_names("functions", &s->scope.functions, to);
  add_names("errnos", &s->scope.errnos, to);
  add_names("sites", &s->scope.sites, to);
  text_add(to, "}");
}

/* A file without a build-id is told by its size and its bytes. */
static void add_identity(const char *path, const char *build_id, struct text *to) {
  char *bytes = NULL;
  size_t n = 0;
  if (build_id) {
    text_add_json(to, build_id);
    return;
  }
  if (file_read(path, 1u << 30, &bytes, &n, NULL) < 0) {
    text_add(to, "null");
    return;
  }
  text_addf(to, "\"%zu-%016" PRIx64 "\"", n, hash_bytes(bytes, n));
  free(bytes);
}

void test_modules_json(const struct program_modules *m, struct text *to) {
  text_add(to, "[");
  for (size_t i = 0; i < m->modules.n; i++) {
    text_add(to, i ? ",{\"path\":" : "{\"path\":");
    text_add_json(to, m->modules.at[i].path);
    text_add(to, ",\"build_id\":");
    add_identity(m->modules.at[i].path, image_build_id(m->modules.at[i].image), to);
    text_add(to, "}");
  }
  text_add(to, "]");
}

static const json_t *find_module(const json_t *list, const char *path) {
  for (size_t i = 0; i < json_array_size(list); i++) {
    const char *at = json_string_value(json_object_get(json_array_get(list, i), "path"));
    if (at && strcmp(at, path) == 0) return json_array_get(list, i);
  }
  return NULL;
}

const char *test_modules_changed(const struct program_modules *m, const json_t *from) {
  for (size_t i = 0; i < m->modules.n; i++) {
    const json_t *was = find_module(from, m->modules.at[i].path);
    if (!was) continue;
    const char *id = json_string_value(json_object_get(was, "build_id"));
    struct text t = {0};
    add_identity(m->modules.at[i].path, image_build_id(m->modules.at[i].image), &t);
    size_t n = id ? strlen(id) : 0;
    bool same = id && t.n == n + 2 && memcmp(t.at + 1, id, n) == 0;
    text_done(&t);
    if (!same) return m->modules.at[i].path;
  }
  return NULL;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static int load_names(const json_t *from, struct test_subject *to, cmd_names *ret) {
  for (size_t i = 0; i < json_array_size(from); i++) {
    const char *name = json_string_value(json_array_get(from, i));
    char *copy = name ? arena_strdup(&to->arena, name) : NULL;
    if (!name) return -EINVAL;
    if (!copy || vec_push(ret, copy) < 0) return -ENOMEM;
  }
  return 0;
}

int test_subject_load_opened(const json_t *from, struct test_subject *to) {
  return load_names(from, to, &to->scope.opened);
}

static int load_command(const json_t *from, struct test_subject *to) {
  if (json_array_size(from) == 0) return -EINVAL;
  for (size_t i = 0; i < json_array_size(from); i++) {
    const char *word = json_string_value(json_array_get(from, i));
    char *copy = word ? arena_strdup(&to->arena, word) : NULL;
    if (!word) return -EINVAL;
    if (!copy || vec_push(&to->command, copy) < 0) return -ENOMEM;
  }
  return vec_push(&to->command, NULL);
}

static int load(const json_t *from, struct test_subject *to) {
  const char *cwd = json_string_value(json_object_get(from, "cwd"));
  const char *input = json_string_value(json_object_get(from, "input"));
  json_int_t timeout = json_integer_value(json_object_get(from, "timeout_ns"));
  if (!cwd || cwd[0] != '/' || timeout <= 0) return -EINVAL;
  to->cwd = arena_strdup(&to->arena, cwd);
  to->input = input ? arena_strdup(&to->arena, input) : NULL;
  to->timeout_ns = (uint64_t)timeout;
  to->scope.follow = json_is_true(json_object_get(from, "follow"));
  to->scope.system = json_is_true(json_object_get(from, "system"));
  to->no_sandbox = json_is_false(json_object_get(from, "sandbox"));
  if (!to->cwd || (input && !to->input)) return -ENOMEM;
  int r = load_command(json_object_get(from, "command"), to);
  if (r >= 0) r = load_names(json_object_get(from, "from"), to, &to->scope.from);
  if (r >= 0) r = load_names(json_object_get(from, "functions"), to, &to->scope.functions);
  if (r >= 0) r = load_names(json_object_get(from, "errnos"), to, &to->scope.errnos);
  return r < 0 ? r : load_names(json_object_get(from, "sites"), to, &to->scope.sites);
}

int test_subject_load(const json_t *from, const char *where, struct test_subject *ret, struct err *e) {
  struct test_subject s = {0};
  int r = load(from, &s);
  if (r < 0) {
    test_subject_done(&s);
    return err_set(e, r, r == -ENOMEM ? "%s: out of memory" : "%s: does not say what is tested (it is damaged)", where);
  }
  *ret = s;
  return 0;
}
