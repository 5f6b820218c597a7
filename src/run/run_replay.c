/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log becomes a scenario that makes the same calls fail again: the same call of the same function in the process with
 * the same number. Processes are numbered in the order in which they come, so that a program that starts them in a
 * fixed order gets the same faults.
 */
#include "run/run.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define LOG_MAX (1u << 30)

/* Where a line of the log is, for messages. */
struct line {
  const char *file;
  size_t number;
  struct err *e;
};

static int bad(const struct line *l, const char *field) {
  return err_set(l->e, -EINVAL, "%s:%zu: an injection without a usable \"%s\" (is it a log of murphy run?)", l->file,
                 l->number, field);
}

/* --- one injection ------------------------------------------------------------------------------------------------ */

static int add_errno(const struct line *l, const json_t *value, struct text *to) {
  if (json_is_null(value)) return 0;
  if (json_is_integer(value) && json_integer_value(value) > 0) {
    text_addf(to, " errno=\"%lld\"", (long long)json_integer_value(value));
    return 0;
  }
  const char *name = json_string_value(value);
  if (!name || !errno_number(name)) return bad(l, "errno");
  text_addf(to, " errno=\"%s\"", name);
  return 0;
}

static void add_attribute(const json_t *object, const char *key, struct text *to) {
  const json_t *value = json_object_get(object, key);
  if (json_is_integer(value)) text_addf(to, " %s=\"%lld\"", key, (long long)json_integer_value(value));
  if (!json_is_string(value)) return;
  text_addf(to, " %s=\"", key);
  text_add_xml(to, json_string_value(value));
  text_add(to, "\"");
}

static void add_sides(const json_t *sides, struct text *to) {
  static const char *const keys[] = {"kind", "argument", "module", "name", "offset", "width", "value"};
  for (size_t i = 0; i < json_array_size(sides); i++) {
    text_add(to, "    <side");
    for (size_t k = 0; k < COUNT(keys); k++)
      add_attribute(json_array_get(sides, i), keys[k], to);
    text_add(to, "/>\n");
  }
}

/* A result, or what was done to the call. */
static int add_fault(const struct line *l, const json_t *event, struct text *to) {
  const char *action = json_string_value(json_object_get(event, "action"));
  const json_t *amount = json_object_get(event, "amount"), *error = json_object_get(event, "errno");
  bool is_short = action && strcmp(action, "short") == 0, is_delay = action && strcmp(action, "delay") == 0;
  if (is_short || is_delay) {
    if (!json_is_integer(amount)) return bad(l, "amount");
    text_addf(to, "\" %s=\"%lld%s\"", action, (long long)json_integer_value(amount), is_delay ? "ns" : "");
    return is_short ? add_errno(l, error, to) : 0;
  }
  if (action) {
    text_add(to, "\" fault=\"");
    text_add_xml(to, action);
    text_add(to, "\"");
    return 0;
  }
  text_addf(to, "\" retval=\"%lld\"", (long long)json_integer_value(json_object_get(event, "retval")));
  return add_errno(l, error, to);
}

static int add_injection(const struct line *l, const json_t *event, struct text *to) {
  const char *function = json_string_value(json_object_get(event, "function"));
  const json_t *call = json_object_get(event, "call"), *process = json_object_get(event, "process");
  const json_t *retval = json_object_get(event, "retval");
  if (!function || !*function) return bad(l, "function");
  if (!json_is_integer(call) || json_integer_value(call) < 1) return bad(l, "call");
  if (!json_is_integer(retval)) return bad(l, "retval");
  text_add(to, "  <function name=\"");
  text_add_xml(to, function);
  int r = add_fault(l, event, to);
  if (r < 0) return r;
  if (json_is_true(json_object_get(event, "then"))) text_add(to, " then=\"true\"");
  text_addf(to, " when=\"call==%lld", (long long)json_integer_value(call));
  if (json_is_integer(process)) text_addf(to, " and process==%lld", (long long)json_integer_value(process));
  text_add(to, "\">\n");
  add_sides(json_object_get(event, "side"), to);
  text_add(to, "  </function>\n");
  return 1;
}

/* --- the log ------------------------------------------------------------------------------------------------------ */

/* 1 if the line was an injection; other events are for people. */
static int add_line(const struct line *l, const char *at, size_t n, struct text *to) {
  json_error_t why;
  json_t *event = json_loadb(at, n, JSON_REJECT_DUPLICATES, &why);
  if (!json_is_object(event)) {
    json_decref(event);
    return err_set(l->e, -EINVAL, "%s:%zu: not a JSON object (is it a log of murphy run?)", l->file, l->number);
  }
  const char *kind = json_string_value(json_object_get(event, "event"));
  int r = !kind ? bad(l, "event") : strcmp(kind, "inject") == 0 ? add_injection(l, event, to) : 0;
  json_decref(event);
  return r;
}

int run_replay_load(const char *path, struct text *ret, struct err *e) {
  char *bytes = NULL;
  size_t size = 0, n = 0;
  struct line l = {.file = path, .e = e};
  int r = file_read(path, LOG_MAX, &bytes, &size, e);
  if (r < 0) return r;
  text_add(ret, "<scenario>\n");
  for (const char *at = bytes, *end = bytes + size; at < end && r >= 0;) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    size_t length = (size_t)((newline ? newline : end) - at);
    l.number++;
    if (length) r = add_line(&l, at, length, ret);
    n += r > 0;
    at += length + 1;
  }
  free(bytes);
  text_add(ret, "</scenario>\n");
  if (r < 0) return r;
  if (ret->failed) return err_set(e, -ENOMEM, "out of memory");
  return n ? 0 : err_set(e, -ENODATA, "%s: has no injection to repeat", path);
}
