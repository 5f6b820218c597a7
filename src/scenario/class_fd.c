/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FdTrigger: what the descriptor that the function works on is, and how many bytes it is about. ReadPipe is what the
 * LFI paper calls the one for pipes.
 */
#include "scenario/classes.h"

#include <errno.h>
#include <string.h>

struct fd_settings {
  int kind;     /* of enum wire_fd; 0: any */
  int blocking; /* 0, 1; -1: either */
  const char *path;
  bool has_low, has_high;
  int64_t low, high;
};

static const struct class_arg fd_args[] = {
    {.name = "kind"}, {.name = "blocking"}, {.name = "path"}, {.name = "low"}, {.name = "high"}};

static const char *const fd_kinds[] = {[WIRE_FD_NONE] = "",     [WIRE_FD_FILE] = "file",     [WIRE_FD_DIR] = "dir",
                                       [WIRE_FD_PIPE] = "pipe", [WIRE_FD_SOCKET] = "socket", [WIRE_FD_TTY] = "tty",
                                       [WIRE_FD_CHAR] = "char", [WIRE_FD_BLOCK] = "block",   [WIRE_FD_OTHER] = "other"};

int fd_kind_parse(const char *text, char hint[SOURCE_HINT]) {
  for (unsigned i = 1; i < COUNT(fd_kinds); i++)
    if (strcmp(fd_kinds[i], text) == 0) return (int)i;
  (void)source_hint(name_nearest(text, fd_kinds + 1, COUNT(fd_kinds) - 1),
                    "there are file, dir, pipe, socket, tty, char, block, other", hint);
  return -ENOENT;
}

static int read_kind(const struct trigger_arg *a, int *ret, struct err *e) {
  char way[SOURCE_HINT];
  int kind = fd_kind_parse(a->value, way);
  if (kind < 0) return FAIL_AT(a->value_at, e, -EINVAL, "'%.60s' is not a kind of descriptor (%s)", a->value, way);
  *ret = kind;
  return 0;
}

static int read_blocking(const struct trigger_arg *a, int *ret, struct err *e) {
  bool yes = strcmp(a->value, "true") == 0;
  if (!yes && strcmp(a->value, "false") != 0)
    return FAIL_AT(a->value_at, e, -EINVAL, "blocking is true or false, not '%.60s'", a->value);
  *ret = yes;
  return 0;
}

static int check_path(const struct trigger_arg *a, struct err *e) {
  const char *why = "";
  size_t at = 0;
  return glob_check(a->value, &why, &at) < 0 ? FAIL_AT(a->value_at, e, -EINVAL, "%s", why) : 0;
}

static int fd_read(struct arena *a, const struct trigger *t, struct fd_settings **ret, struct err *e) {
  struct fd_settings *s = arena_zalloc(a, sizeof *s);
  const struct trigger_arg *kind = trigger_arg(t, "kind"), *blocking = trigger_arg(t, "blocking"),
                           *path = trigger_arg(t, "path");
  if (!s) return -ENOMEM;
  *s = (struct fd_settings){.blocking = -1, .path = path ? path->value : NULL};
  s->has_low = trigger_arg(t, "low") != NULL;
  s->has_high = trigger_arg(t, "high") != NULL;
  int r = kind ? read_kind(kind, &s->kind, e) : 0;
  if (r >= 0 && blocking) r = read_blocking(blocking, &s->blocking, e);
  if (r >= 0 && path) r = check_path(path, e);
  if (r >= 0) r = trigger_maybe_number(t, "low", 0, &s->low, e);
  if (r >= 0) r = trigger_maybe_number(t, "high", 0, &s->high, e);
  if (r >= 0 && s->has_low && s->has_high && s->high < s->low)
    r = FAIL_AT(trigger_arg(t, "high")->value_at, e, -EINVAL, "high is below low");
  if (r >= 0) *ret = s;
  return r;
}

static int fd_setup(struct arena *a, const struct trigger *t, const void **ret, struct err *e) {
  struct fd_settings *s = NULL;
  if (!t->n_args)
    return FAIL_AT(t->at, e, -EINVAL, "%s needs an argument (write <args><kind>pipe</kind>…)", t->class->name);
  int r = fd_read(a, t, &s, e);
  if (r >= 0) *ret = s;
  return r;
}

/* The paper's ReadPipe: kind is known. */
static const struct class_arg pipe_args[] = {{.name = "low"}, {.name = "high"}};

static int pipe_setup(struct arena *a, const struct trigger *t, const void **ret, struct err *e) {
  struct fd_settings *s = NULL;
  int r = fd_read(a, t, &s, e);
  if (r < 0) return r;
  s->kind = WIRE_FD_PIPE;
  *ret = s;
  return 0;
}

static int no_role(struct emitter *m, const struct trigger *t, const char *what) {
  return FAIL_AT(t->at, m->plan->e, -ENOTSUP, "which argument of %.60s is its %s is not known (data/functions says it)",
                 m->subject->written, what);
}

/* Goes on only if what is on the stack is true. */
static int and_then(struct emitter *m, size_t *jumps, size_t *n) {
  return emit_jump(m, WIRE_OP_IF_ZERO, &jumps[(*n)++]);
}

/*
 * Cheap tests before those that ask the kernel. Between two bounds the argument itself will do, which can be told
 * before anything else is looked at: what is too large for a number with a sign is below the lower one.
 */
static int emit_sizes(struct emitter *m, const struct fd_settings *s, size_t *jumps, size_t *n) {
  int r = 0, size = bytes_argument(&m->subject->roles);
  bool plain = size >= 0 && s->has_high;
  for (int high = 0; high < 2 && r >= 0; high++) {
    if (!(high ? s->has_high : s->has_low || plain)) continue;
    r = plain ? emit(m, WIRE_OP_ARG, (uint32_t)size) : emit_bytes(m);
    if (r >= 0) r = emit_number(m, high ? s->high : s->low);
    if (r >= 0) r = emit(m, high ? WIRE_OP_LE : WIRE_OP_GE, 0);
    if (r >= 0 && !plain) r = emit(m, WIRE_OP_KNOWN, 0);
    if (r >= 0) r = and_then(m, jumps, n);
  }
  return r;
}

/* One question about the descriptor: OP gives WANT. */
static int emit_question(struct emitter *m, enum wire_op op, uint32_t operand, int64_t want, size_t *jumps, size_t *n) {
  int r = emit_descriptor(m);
  if (r >= 0) r = emit(m, op, operand);
  if (r >= 0 && op != WIRE_OP_FD_PATH) r = emit_number(m, want);
  if (r >= 0 && op != WIRE_OP_FD_PATH) r = emit(m, WIRE_OP_EQ, 0);
  if (r >= 0 && op != WIRE_OP_FD_PATH) r = emit(m, WIRE_OP_KNOWN, 0);
  return r < 0 ? r : and_then(m, jumps, n);
}

static int fd_emit(struct emitter *m, const struct trigger *t) {
  const struct fd_settings *s = t->settings;
  size_t jumps[5], n = 0;
  uint32_t path = 0;
  bool asks = s->kind || s->blocking >= 0 || s->path;
  const struct roles *roles = &m->subject->roles;
  if (asks && roles->descriptor < 0 && roles->file < 0 && !roles->stream_name) return no_role(m, t, "descriptor");
  if ((s->has_low || s->has_high) && roles->size < 0 && roles->length < 0) return no_role(m, t, "size");
  int r = emit_sizes(m, s, jumps, &n);
  if (r >= 0 && s->kind) r = emit_question(m, WIRE_OP_FD_KIND, 0, s->kind, jumps, &n);
  if (r >= 0 && s->blocking >= 0) r = emit_question(m, WIRE_OP_FD_BLOCKS, 0, s->blocking, jumps, &n);
  if (r >= 0 && s->path) r = plan_string(m->plan, s->path, &path);
  if (r >= 0 && s->path) r = emit_question(m, WIRE_OP_FD_PATH, path, 1, jumps, &n);
  if (r >= 0) r = emit_number(m, 1);
  for (size_t i = 0; i < n && r >= 0; i++)
    r = emit_land(m, jumps[i]);
  return r;
}

const struct trigger_class class_fd = {
    .name = "FdTrigger",
    .args = fd_args,
    .n_args = COUNT(fd_args),
    .setup = fd_setup,
    .emit = fd_emit,
};

const struct trigger_class class_pipe = {
    .name = "ReadPipe",
    .args = pipe_args,
    .n_args = COUNT(pipe_args),
    .setup = pipe_setup,
    .emit = fd_emit,
};
