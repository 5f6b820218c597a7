/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CallStackTrigger: frames by module and offset, by function, or by file and line. A part of the stack is enough.
 */
#include "scenario/classes.h"

#include <errno.h>
#include <string.h>

struct stack_settings {
  struct scenario_frame *frames; /* innermost first */
  size_t n;
};

static const char *const frame_parts[] = {"module", "offset", "function", "file", "line"};

static const char *part(const struct trigger_arg *frame, const char *name, struct where *at) {
  for (size_t i = 0; i < frame->n_parts; i++) {
    if (strcmp(frame->parts[i].name, name) != 0) continue;
    *at = frame->parts[i].value_at;
    return frame->parts[i].value;
  }
  return NULL;
}

static int read_frame(const struct trigger_arg *arg, struct scenario_frame *f, struct err *e) {
  struct where at = arg->at;
  int64_t number;
  f->module = part(arg, "module", &at);
  f->function = part(arg, "function", &at);
  f->file = part(arg, "file", &at);
  const char *line = part(arg, "line", &at);
  if (line && (number_parse(line, &number) < 0 || number < 1 || number > UINT32_MAX))
    return FAIL_AT(at, e, -EINVAL, "'%.60s' is not the number of a line", line);
  if (line) f->line = (unsigned)number;
  const char *offset = part(arg, "offset", &at);
  if (offset && number_parse(offset, &number) < 0)
    return FAIL_AT(at, e, -EINVAL, "'%.60s' is not an offset (write it as 0x1f)", offset);
  f->has_offset = offset != NULL;
  if (offset) f->offset = (uint64_t)number;
  if (offset && !f->module)
    return FAIL_AT(arg->at, e, -EINVAL, "an offset is one in a module (write <module>…</module> before it)");
  if (line && !f->file) return FAIL_AT(arg->at, e, -EINVAL, "a line is one of a file (write <file>…</file> before it)");
  if (!f->module && !f->function && !f->file)
    return FAIL_AT(arg->at, e, -EINVAL, "<frame> says nothing (write module, offset, function, file or line)");
  return 0;
}

static int stack_setup(struct arena *a, const struct trigger *t, const void **ret, struct err *e) {
  struct stack_settings *s = arena_zalloc(a, sizeof *s);
  struct scenario_frame *frames = arena_zalloc(a, (t->n_args + 1) * sizeof *frames);
  if (!s || !frames) return -ENOMEM;
  if (t->n_args > WIRE_PATTERN_MAX)
    return FAIL_AT(t->args[WIRE_PATTERN_MAX].at, e, -E2BIG, "too many frames (CallStackTrigger compares %d at most)",
                   WIRE_PATTERN_MAX);
  for (size_t i = 0; i < t->n_args; i++) {
    int r = read_frame(&t->args[i], &frames[i], e);
    if (r < 0) return r;
  }
  if (!t->n_args) return FAIL_AT(t->at, e, -EINVAL, "CallStackTrigger needs a frame (write <args><frame>…)");
  *s = (struct stack_settings){frames, t->n_args};
  *ret = s;
  return 0;
}

static int stack_emit(struct emitter *m, const struct trigger *t) {
  const struct stack_settings *s = t->settings;
  return emit_stack(m, s->frames, s->n, true, t->at);
}

static const struct class_arg stack_args[] = {{"frame", true, frame_parts, COUNT(frame_parts)}};

const struct trigger_class class_stack = {
    .name = "CallStackTrigger",
    .args = stack_args,
    .n_args = COUNT(stack_args),
    .setup = stack_setup,
    .emit = stack_emit,
};
