/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scenario as its parts come in: files of XML or of rules, and rules of the command line.
 */
#include "scenario/scenario_xml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A scenario for every call of a large program is far below this. */
#define FILE_LIMIT (64u << 20)
#define INCLUDES_MAX 16

struct scenario *scenario_new(void) {
  return calloc(1, sizeof(struct scenario));
}

void scenario_set_plugins(struct scenario *s, const struct scenario_plugins *plugins) { s->plugins = *plugins; }

void scenario_free(struct scenario *s) {
  if (!s) return;
  vec_done(&s->rules);
  vec_done(&s->triggers);
  vec_done(&s->names);
  map_done(&s->named);
  map_done(&s->ids);
  vec_done(&s->opened);
  arena_done(&s->arena);
  free(s);
}

const struct source_text *scenario_source(struct scenario *s, const char *name, const char *bytes, size_t size,
                                          bool one_line) {
  struct source_text *source = arena_zalloc(&s->arena, sizeof *source);
  char *copy = arena_alloc(&s->arena, size + 1);
  const char *label = arena_strdup(&s->arena, name);
  if (!source || !copy || !label) return NULL;
  if (size) memcpy(copy, bytes, size);
  copy[size] = '\0';
  *source = (struct source_text){.name = label, .bytes = copy, .size = size, .one_line = one_line};
  return source;
}

static int add_names(struct scenario *s, size_t from) {
  for (size_t i = from; i < s->rules.n; i++) {
    const char *name = s->rules.at[i].function;
    if (map_get(&s->named, hash_string(name), NULL)) continue;
    if (map_put(&s->named, hash_string(name), 1) < 0 || vec_push(&s->names, name) < 0) return -ENOMEM;
  }
  return 0;
}

/*
 * Ends what began when there were N rules and N_TRIGGERS triggers, with the result R: a file counts as a whole or not
 * at all.
 */
static int settle(struct scenario *s, const char *name, size_t n, size_t n_triggers, int r, struct err *e) {
  if (r >= 0 && add_names(s, n) < 0) r = err_set(e, -ENOMEM, "%s: out of memory", name);
  if (r >= 0) return 0;
  s->rules.n = n;
  s->triggers.n = n_triggers;
  return r;
}

int scenario_add_rule(struct scenario *s, const char *origin, const char *rule, struct err *e) {
  const struct source_text *source = scenario_source(s, origin, rule, strlen(rule), true);
  if (!source) return err_set(e, -ENOMEM, "%s: out of memory", origin);
  size_t n = s->rules.n;
  int r = source_check(source, e);
  if (r >= 0) r = rule_parse(s, source, 0, source->size, e);
  return settle(s, origin, n, s->triggers.n, r, e);
}

struct trigger *scenario_trigger(const struct scenario *s, const char *id) {
  uint64_t i;
  if (!map_get(&s->ids, hash_string(id), &i) || i >= s->triggers.n) return NULL;
  return strcmp(s->triggers.at[i]->id, id) == 0 ? s->triggers.at[i] : NULL;
}

static int parse_lines(struct scenario *s, const struct source_text *source, struct err *e) {
  for (size_t at = 0; at < source->size;) {
    const char *newline = memchr(source->bytes + at, '\n', source->size - at);
    size_t end = newline ? (size_t)(newline - source->bytes) : source->size, first = at;
    while (first < end && strchr(" \t\r", source->bytes[first]))
      first++;
    int r = first == end || source->bytes[first] == '#' ? 0 : rule_parse(s, source, first, end, e);
    if (r < 0) return r;
    at = end + 1;
  }
  return 0;
}

static int parse_source(struct scenario *s, const struct source_text *source, struct err *e) {
  size_t first = 0;
  int r = source_check(source, e);
  if (r < 0) return r;
  while (first < source->size && strchr(" \t\r\n", source->bytes[first]))
    first++;
  if (first == source->size)
    return source_error(source, first, e, -EINVAL, "the file is empty (write <scenario>, or rules, one a line)");
  return source->bytes[first] == '<' ? scenario_read_xml(s, source, e) : parse_lines(s, source, e);
}

static int parse(struct scenario *s, const char *name, const char *bytes, size_t size, struct err *e) {
  if (size > FILE_LIMIT)
    return err_set(e, -EFBIG, "%s: larger than %u bytes (is it the right file?)", name, FILE_LIMIT);
  if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
    bytes += 3;
    size -= 3;
  }
  const struct source_text *source = scenario_source(s, name, bytes, size, false);
  if (!source) return err_set(e, -ENOMEM, "%s: out of memory", name);
  return parse_source(s, source, e);
}

int scenario_parse(struct scenario *s, const char *name, const char *bytes, size_t size, struct err *e) {
  size_t n = s->rules.n, n_triggers = s->triggers.n;
  return settle(s, name, n, n_triggers, parse(s, name, bytes, size, e), e);
}

/* The file's one path, so that a circle is noticed however it is written. */
static int load(struct scenario *s, const char *path, struct err *e) {
  char *bytes = NULL, *real = realpath(path, NULL);
  size_t size;
  /* A pipe, as of a shell's <(command), has none. */
  const char *kept = arena_strdup(&s->arena, real ? real : path);
  free(real);
  if (!kept || vec_push(&s->opened, kept) < 0) return err_set(e, -ENOMEM, "%s: out of memory", path);
  int r = file_read(path, FILE_LIMIT, &bytes, &size, e);
  if (r >= 0) r = parse(s, path, bytes, size, e);
  free(bytes);
  s->opened.n--;
  return r;
}

static bool is_open(const struct scenario *s, const char *path) {
  char *real = realpath(path, NULL);
  bool found = false;
  for (size_t i = 0; real && i < s->opened.n; i++)
    found |= strcmp(s->opened.at[i], real) == 0;
  free(real);
  return found;
}

int scenario_include(struct scenario *s, const char *path, struct where at, struct err *e) {
  struct err why = {0};
  if (is_open(s, path)) return FAIL_AT(at, e, -ELOOP, "%.200s includes itself (remove one of the includes)", path);
  if (s->opened.n >= INCLUDES_MAX) return FAIL_AT(at, e, -ELOOP, "files include each other too deeply");
  int r = access(path, R_OK) < 0 ? -errno : 0;
  if (r < 0) return FAIL_AT(at, e, r, "%.200s cannot be read: %s", path, strerror(-r));
  r = load(s, path, &why);
  return r < 0 ? err_set(e, r, "%s", why.text) : 0;
}

int scenario_load(struct scenario *s, const char *path, struct err *e) {
  size_t n = s->rules.n, n_triggers = s->triggers.n;
  return settle(s, path, n, n_triggers, load(s, path, e), e);
}

int scenario_functions(const struct scenario *s, const char *const **ret, size_t *ret_n) {
  *ret = s->names.at;
  *ret_n = s->names.n;
  return 0;
}
