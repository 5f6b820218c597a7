/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The classes of triggers that scenarios can name: what arguments they take, and the code that they become.
 *
 * State belongs to the trigger's instance: functions that refer to one trigger share its count.
 */
#include "scenario/classes.h"

#include <errno.h>
#include <string.h>

/* --- arguments ---------------------------------------------------------------------------------------------------- */

static const struct trigger_arg *find(const struct trigger *t, const char *name) {
  for (size_t i = 0; i < t->n_args; i++)
    if (strcmp(t->args[i].name, name) == 0) return &t->args[i];
  return NULL;
}

static int get_number(const struct trigger_arg *a, int64_t low, int64_t *ret, struct err *e) {
  int64_t value;
  if (number_parse(a->value, &value) < 0)
    return FAIL_AT(a->value_at, e, -EINVAL, "'%.60s' is not a number (write it as 10 or 0x1f)", a->value);
  if (value < low) return FAIL_AT(a->value_at, e, -EINVAL, "%s is at least %lld", a->name, (long long)low);
  *ret = value;
  return 0;
}

/* If it is there. */
static int maybe_number(const struct trigger *t, const char *name, int64_t low, int64_t *ret, struct err *e) {
  const struct trigger_arg *a = find(t, name);
  return a ? get_number(a, low, ret, e) : 0;
}

/* --- CallStackTrigger --------------------------------------------------------------------------------------------- */

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
  return emit_stack(m, s->frames, s->n, t->at);
}

static const struct class_arg stack_args[] = {{"frame", true, frame_parts, COUNT(frame_parts)}};

/* --- CallCountTrigger --------------------------------------------------------------------------------------------- */

struct count_settings {
  int64_t from, to, step;
};

static const struct class_arg count_args[] = {{.name = "n"}, {.name = "from"}, {.name = "to"}, {.name = "step"}};

static int count_setup(struct arena *a, const struct trigger *t, const void **ret, struct err *e) {
  struct count_settings *s = arena_zalloc(a, sizeof *s);
  const struct trigger_arg *n = find(t, "n");
  if (!s) return -ENOMEM;
  *s = (struct count_settings){.from = 1, .to = INT64_MAX, .step = 1};
  if (n && t->n_args > 1) return FAIL_AT(n->at, e, -EINVAL, "n is one call, from and to are many (remove one of them)");
  if (!t->n_args) return FAIL_AT(t->at, e, -EINVAL, "CallCountTrigger needs n, or from and to (write <args><n>3</n>…)");
  int r = n ? get_number(n, 1, &s->from, e) : maybe_number(t, "from", 1, &s->from, e);
  if (r >= 0 && n) s->to = s->from;
  if (r >= 0) r = maybe_number(t, "to", 1, &s->to, e);
  if (r >= 0) r = maybe_number(t, "step", 1, &s->step, e);
  if (r >= 0 && s->to < s->from) r = FAIL_AT(find(t, "to")->value_at, e, -EINVAL, "to is before from");
  if (r >= 0) *ret = s;
  return r;
}

static int count_emit(struct emitter *m, const struct trigger *t) {
  const struct count_settings *s = t->settings;
  uint32_t slot;
  int r = plan_slot(m->plan, t, &slot);
  if (r >= 0) r = emit(m, WIRE_OP_NEXT, slot);
  return r < 0 ? r : emit_series(m, s->from, s->to, s->step);
}

static struct expr *number(struct arena *a, const struct trigger *t, int64_t n) {
  struct expr *x = expr_new(a, EXPR_NUMBER, TYPE_NUMBER, t->at);
  if (x) x->number = n;
  return x;
}

static struct expr *binary(struct arena *a, const struct trigger *t, enum wire_op op, struct expr *x, struct expr *y) {
  struct expr *b = x && y ? expr_new(a, op == WIRE_OP_IF_ZERO ? EXPR_AND : EXPR_BINARY, TYPE_TRUTH, t->at) : NULL;
  if (!b) return NULL;
  b->op = op;
  b->n_args = 2;
  b->args[0] = x;
  b->args[1] = y;
  if (op == WIRE_OP_SUB || op == WIRE_OP_MOD) b->type = TYPE_NUMBER;
  return b;
}

static struct expr *count_counted(struct arena *a, const struct trigger *t) {
  const struct count_settings *s = t->settings;
  struct expr *calls[3];
  for (size_t i = 0; i < COUNT(calls); i++)
    calls[i] = expr_new(a, EXPR_CALL, TYPE_NUMBER, t->at);
  if (s->from == s->to) return binary(a, t, WIRE_OP_EQ, calls[0], number(a, t, s->from));
  struct expr *x = binary(a, t, WIRE_OP_GE, calls[0], number(a, t, s->from));
  if (s->to != INT64_MAX) x = binary(a, t, WIRE_OP_IF_ZERO, x, binary(a, t, WIRE_OP_LE, calls[1], number(a, t, s->to)));
  if (s->step == 1) return x;
  struct expr *since = binary(a, t, WIRE_OP_SUB, calls[2], number(a, t, s->from));
  struct expr *rest = binary(a, t, WIRE_OP_MOD, since, number(a, t, s->step));
  return binary(a, t, WIRE_OP_IF_ZERO, x, binary(a, t, WIRE_OP_EQ, rest, number(a, t, 0)));
}

/* --- SingletonTrigger, RandomTrigger ------------------------------------------------------------------------------ */

static int once_emit(struct emitter *m, const struct trigger *t) {
  uint32_t slot;
  int r = plan_slot(m->plan, t, &slot);
  return r < 0 ? r : emit(m, WIRE_OP_ONCE, slot);
}

struct random_settings {
  double chance;
  bool seeded;
  int64_t seed;
};

static const struct class_arg random_args[] = {{.name = "probability"}, {.name = "seed"}};

static int random_setup(struct arena *a, const struct trigger *t, const void **ret, struct err *e) {
  struct random_settings *s = arena_zalloc(a, sizeof *s);
  const struct trigger_arg *chance = find(t, "probability");
  if (!s) return -ENOMEM;
  if (!chance)
    return FAIL_AT(t->at, e, -EINVAL,
                   "RandomTrigger needs a probability (write <args><probability>0.1</probability>…)");
  if (real_parse(chance->value, &s->chance) < 0 || s->chance < 0 || s->chance > 1)
    return FAIL_AT(chance->value_at, e, -EINVAL, "'%.60s' is not a probability (write a number from 0 to 1, as 0.1)",
                   chance->value);
  s->seeded = find(t, "seed") != NULL;
  int r = maybe_number(t, "seed", INT64_MIN, &s->seed, e);
  if (r >= 0) *ret = s;
  return r;
}

static int random_emit(struct emitter *m, const struct trigger *t) {
  const struct random_settings *s = t->settings;
  if (s->chance >= 1 || s->chance <= 0) return emit_number(m, s->chance >= 1);
  return emit_random(m, t, s->chance, s->seeded ? (uint64_t)s->seed : plan_draw_seed(m->plan, t));
}

/* --- FdTrigger ---------------------------------------------------------------------------------------------------- */

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

static int read_kind(const struct trigger_arg *a, int *ret, struct err *e) {
  char way[SOURCE_HINT];
  for (unsigned i = 1; i < COUNT(fd_kinds); i++) {
    if (strcmp(fd_kinds[i], a->value) != 0) continue;
    *ret = (int)i;
    return 0;
  }
  return FAIL_AT(a->value_at, e, -EINVAL, "'%.60s' is not a kind of descriptor (%s)", a->value,
                 source_hint(name_nearest(a->value, fd_kinds + 1, COUNT(fd_kinds) - 1),
                             "there are file, dir, pipe, socket, tty, char, block, other", way));
}

static int read_blocking(const struct trigger_arg *a, int *ret, struct err *e) {
  bool yes = strcmp(a->value, "true") == 0;
  if (!yes && strcmp(a->value, "false") != 0)
    return FAIL_AT(a->value_at, e, -EINVAL, "blocking is true or false, not '%.60s'", a->value);
  *ret = yes;
  return 0;
}

static int fd_read(struct arena *a, const struct trigger *t, struct fd_settings **ret, struct err *e) {
  struct fd_settings *s = arena_zalloc(a, sizeof *s);
  const struct trigger_arg *kind = find(t, "kind"), *blocking = find(t, "blocking"), *path = find(t, "path");
  if (!s) return -ENOMEM;
  *s = (struct fd_settings){.blocking = -1, .path = path ? path->value : NULL};
  s->has_low = find(t, "low") != NULL;
  s->has_high = find(t, "high") != NULL;
  int r = kind ? read_kind(kind, &s->kind, e) : 0;
  if (r >= 0 && blocking) r = read_blocking(blocking, &s->blocking, e);
  if (r >= 0) r = maybe_number(t, "low", 0, &s->low, e);
  if (r >= 0) r = maybe_number(t, "high", 0, &s->high, e);
  if (r >= 0 && s->has_low && s->has_high && s->high < s->low)
    r = FAIL_AT(find(t, "high")->value_at, e, -EINVAL, "high is below low");
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

/* Cheap tests before those that ask the kernel. */
static int emit_sizes(struct emitter *m, const struct fd_settings *s, size_t *jumps, size_t *n) {
  int r = 0;
  for (int high = 0; high < 2 && r >= 0; high++) {
    if (!(high ? s->has_high : s->has_low)) continue;
    r = emit(m, WIRE_OP_ARG, (uint32_t)m->subject->roles.size);
    if (r >= 0) r = emit_number(m, high ? s->high : s->low);
    if (r >= 0) r = emit(m, high ? WIRE_OP_LE : WIRE_OP_GE, 0);
    if (r >= 0) r = and_then(m, jumps, n);
  }
  return r;
}

/* One question about the descriptor: OP gives WANT. */
static int emit_question(struct emitter *m, enum wire_op op, uint32_t operand, int64_t want, size_t *jumps, size_t *n) {
  int r = emit(m, WIRE_OP_ARG, (uint32_t)m->subject->roles.descriptor);
  if (r >= 0) r = emit(m, op, operand);
  if (r >= 0 && op != WIRE_OP_FD_PATH) r = emit_number(m, want);
  if (r >= 0 && op != WIRE_OP_FD_PATH) r = emit(m, WIRE_OP_EQ, 0);
  return r < 0 ? r : and_then(m, jumps, n);
}

static int fd_emit(struct emitter *m, const struct trigger *t) {
  const struct fd_settings *s = t->settings;
  size_t jumps[6], n = 0;
  uint32_t path = 0;
  bool asks = s->kind || s->blocking >= 0 || s->path;
  if (asks && m->subject->roles.descriptor < 0) return no_role(m, t, "descriptor");
  if ((s->has_low || s->has_high) && m->subject->roles.size < 0) return no_role(m, t, "size");
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

/* --- the table ---------------------------------------------------------------------------------------------------- */

static const struct trigger_class classes[] = {
    {.name = "CallStackTrigger", stack_args, COUNT(stack_args), stack_setup, stack_emit},
    {.name = "CallCountTrigger", count_args, COUNT(count_args), count_setup, count_emit, .counted = count_counted},
    {.name = "SingletonTrigger", .emit = once_emit, .once = true},
    {.name = "RandomTrigger", random_args, COUNT(random_args), random_setup, random_emit},
    {.name = "FdTrigger", fd_args, COUNT(fd_args), fd_setup, fd_emit},
    {.name = "ReadPipe", pipe_args, COUNT(pipe_args), pipe_setup, fd_emit},
};

static int unknown_class(const char *name, struct where at, struct err *e) {
  const char *names[COUNT(classes)];
  char all[SOURCE_HINT] = "there are ", way[SOURCE_HINT];
  size_t used = strlen(all);
  for (size_t i = 0; i < COUNT(classes); i++) {
    names[i] = classes[i].name;
    used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", names[i]);
    MUST(used < sizeof all);
  }
  return FAIL_AT(at, e, -EINVAL, "trigger class '%.60s' is not known (%s)", name,
                 source_hint(name_nearest(name, names, COUNT(names)), all, way));
}

static int unknown_arg(const char *class, const char *const *names, size_t n, const struct trigger_arg *arg,
                       struct err *e) {
  char all[SOURCE_HINT] = "it has none", way[SOURCE_HINT];
  for (size_t i = 0, used = 0; i < n && used < sizeof all; i++)
    used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "there are ", names[i]);
  return FAIL_AT(arg->at, e, -EINVAL, "%s has no argument %.60s (%s)", class, arg->name,
                 source_hint(name_nearest(arg->name, names, n), all, way));
}

/* The arguments are known, once each, and have what belongs into them. */
static int check_args(const char *owner, const struct class_arg *known, size_t n_known, const struct trigger_arg *args,
                      size_t n, struct err *e) {
  const char *names[16];
  MUST(n_known <= COUNT(names));
  for (size_t i = 0; i < n_known; i++)
    names[i] = known[i].name;
  for (size_t i = 0; i < n; i++) {
    size_t k = 0;
    while (k < n_known && strcmp(names[k], args[i].name) != 0)
      k++;
    if (k == n_known) return unknown_arg(owner, names, n_known, &args[i], e);
    for (size_t j = 0; j < i && !known[k].many; j++)
      if (strcmp(args[j].name, args[i].name) == 0)
        return FAIL_AT(args[i].at, e, -EINVAL, "%s is there twice (remove one)", args[i].name);
    if (!known[k].parts && !args[i].value) return FAIL_AT(args[i].at, e, -EINVAL, "<%s> is empty", args[i].name);
    if (known[k].parts && args[i].value)
      return FAIL_AT(args[i].value_at, e, -EINVAL, "<%s> cannot hold text (write <%s>…)", args[i].name,
                     known[k].parts[0]);
    struct class_arg parts[8] = {0};
    MUST(known[k].n_parts <= COUNT(parts));
    for (size_t j = 0; j < known[k].n_parts; j++)
      parts[j].name = known[k].parts[j];
    int r = check_args(args[i].name, parts, known[k].n_parts, args[i].parts, args[i].n_parts, e);
    if (r < 0) return r;
  }
  return 0;
}

int trigger_setup(struct scenario *s, struct trigger *t, const char *name, struct where at, struct err *e) {
  for (size_t i = 0; i < COUNT(classes) && !t->class; i++)
    if (strcmp(classes[i].name, name) == 0) t->class = &classes[i];
  if (!t->class) return unknown_class(name, at, e);
  int r = check_args(name, t->class->args, t->class->n_args, t->args, t->n_args, e);
  if (r >= 0 && t->class->setup) r = t->class->setup(&s->arena, t, &t->settings, e);
  return r == -ENOMEM ? source_no_memory(at.source, e) : r;
}
