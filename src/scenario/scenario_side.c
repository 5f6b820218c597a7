/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a function leaves behind when it fails, beside its value and errno: variables, what its arguments point to, the
 * flags of a stream, what its library keeps inside.
 */
#include "scenario/plan.h"

#include <errno.h>
#include <string.h>

#define LOWEST_CODE 4095  /* as the kernel's */
#define STREAM_ERROR 0x20 /* _IO_ERR_SEEN in the first word of glibc's FILE */

static int module_index(struct plan *p, const char *name, uint32_t *ret) {
  const struct scenario_world *w = p->world;
  for (size_t i = 0; name && i < w->n_modules; i++) {
    const char *path = w->module_names[i], *slash = strrchr(path, '/');
    if (strcmp(path, name) != 0 && strcmp(slash ? slash + 1 : path, name) != 0) continue;
    *ret = (uint32_t)i;
    return 0;
  }
  return -ENOENT;
}

/*
 * What a rule says may be what the function leaves behind anyway, as in a scenario that was made from a log. It is
 * asked for then, too.
 */
static bool has_side(struct plan *p, const struct wire_fault *f, const struct wire_side *side) {
  for (uint32_t i = 0; i < f->n_sides; i++) {
    struct wire_side *known = &p->sides.at[f->side + i], same = *known;
    same.flags = side->flags;
    if (memcmp(&same, side, sizeof same) != 0) continue;
    known->flags |= side->flags;
    return true;
  }
  return false;
}

static int push_side(struct plan *p, struct wire_fault *f, struct wire_side side, const char *name) {
  int r = plan_string(p, name, &side.name);
  if (r < 0 || has_side(p, f, &side)) return r;
  if (!f->n_sides) f->side = (uint32_t)p->sides.n;
  f->n_sides++;
  return vec_push(&p->sides, side) < 0 ? plan_no_memory(p) : 0;
}

/* A failed function of stdio leaves the error flag of its stream set. */
static int add_stream(struct plan *p, const struct subject *s, struct wire_fault *f) {
  if (s->roles.stream < 0 && !s->roles.stream_name) return 0;
  struct wire_side side = {
      .kind = WIRE_SIDE_STREAM,
      .width = 4,
      .argument = s->roles.stream < 0 ? 0 : (uint16_t)s->roles.stream,
      .value = STREAM_ERROR,
  };
  return push_side(p, f, side, s->roles.stream < 0 ? s->roles.stream_name : NULL);
}

/* What could not be written when the stream was flushed will not be written later either. */
static int add_emptied(struct plan *p, const struct subject *s, struct wire_fault *f) {
  if (s->roles.emptied < 0) return 0;
  struct wire_side side = {.kind = WIRE_SIDE_STREAM,
                           .width = 4,
                           .argument = (uint16_t)s->roles.emptied,
                           .value = WIRE_STREAM_EMPTIED | (s->roles.done ? WIRE_STREAM_ENDED : 0)};
  return push_side(p, f, side, NULL);
}

/* Does write(2) fail with it, and no other call that a stream is moved by? */
static bool is_of_writing(int error) {
  return error == ENOSPC || error == EDQUOT || error == EFBIG || error == EPIPE || error == EIO;
}

/* Whoever has to write out a stream before the work itself leaves it as fflush does, if that fails. */
static int add_flushed(struct plan *p, const struct subject *s, struct wire_fault *f) {
  if (s->roles.flushed < 0 || !is_of_writing(f->error)) return 0;
  struct wire_side side = {.kind = WIRE_SIDE_STREAM,
                           .width = 4,
                           .argument = (uint16_t)s->roles.flushed,
                           .value = STREAM_ERROR | WIRE_STREAM_EMPTIED};
  return push_side(p, f, side, NULL);
}

/* Functions that return their result behind an argument leave NULL there. */
static int add_cleared(struct plan *p, const struct subject *s, struct wire_fault *f) {
  if (s->roles.cleared < 0) return 0;
  struct wire_side side = {.kind = WIRE_SIDE_ARG, .width = 8, .argument = (uint16_t)s->roles.cleared};
  return push_side(p, f, side, NULL);
}

static unsigned width_of(int64_t value) { return value >= INT32_MIN && value <= UINT32_MAX ? 4 : 8; }

/* Nothing but codes of errors: small numbers below 0. Sizes, flags and magic numbers are something else. */
static bool has_codes(const struct profile_side *side) {
  for (size_t i = 0; i < side->n_values; i++)
    if (side->values[i] >= 0 || side->values[i] < -LOWEST_CODE) return false;
  return side->n_values > 0;
}

/*
 * Does the profile's side belong to how the function tells of the error X? Variables that the library exports by name
 * do, and arguments that are known to be for that, or that nothing but codes is stored behind. Others may be half of a
 * change inside the library that did not happen, or are set on some of the ways to the error only; unless somebody has
 * written them down.
 */
static bool tells(const struct subject *s, const struct profile_error *x, const struct profile_side *side) {
  if (s->profile && s->profile->stated) return true;
  if (side->kind != SIDE_ARG) return side->name != NULL;
  if (side->offset != 0) return false;
  if (s->roles.code >= 0) return side->argument == (unsigned)s->roles.code + 1;
  return x->confidence == PROFILE_CERTAIN && side->width >= 4 && has_codes(side);
}

/* Of several values the first: one that is below 0 says that errno tells more. */
static int add_told(struct plan *p, const struct subject *s, const struct profile_error *x, struct wire_fault *f) {
  for (size_t i = 0; x && i < x->n_sides; i++) {
    const struct profile_side *side = &x->sides[i];
    struct wire_side to = {.kind = side->kind == SIDE_TLS   ? WIRE_SIDE_TLS
                                   : side->kind == SIDE_ARG ? WIRE_SIDE_ARG
                                                            : WIRE_SIDE_GLOBAL,
                           .offset = side->offset};
    if (!tells(s, x, side) || side->n_values == 0) continue;
    if (side->kind == SIDE_ARG && side->argument > WIRE_MAX_ARGS) continue;
    if (side->kind == SIDE_ARG) to.argument = (uint16_t)(side->argument - 1);
    if (side->kind != SIDE_ARG && module_index(p, side->module, &to.module) < 0) continue;
    bool by_name = side->kind == SIDE_GLOBAL && side->name;
    if (by_name) to.offset = 0;
    to.value = side->values[0];
    to.width = (uint8_t)(side->width ? side->width : width_of(to.value));
    int r = push_side(p, f, to, by_name ? side->name : NULL);
    if (r < 0) return r;
  }
  return 0;
}

/* What is kept inside of the library gets there by a failure that is none of ours. */
static int add_misnamed(struct plan *p, const struct subject *s, struct wire_fault *f) {
  struct wire_side side = {.kind = WIRE_SIDE_MISNAMED, .width = 8, .argument = (uint16_t)s->roles.misnamed};
  return push_side(p, f, side, NULL);
}

/*
 * A variable that no module exports cannot be set. A library that is opened later may have it; the log tells whether
 * one did.
 */
static int check_variable(struct plan *p, const struct side_effect *s) {
  bool by_name = s->name && (s->kind == WIRE_SIDE_GLOBAL || s->kind == WIRE_SIDE_STREAM);
  const struct scenario_world *w = p->world;
  if (!by_name || !w->variable || w->variable(w->context, s->name)) return 0;
  struct err note;
  if (!(w->flags & WIRE_FOLLOW) && !plan_opens(p))
    return FAIL_AT(s->at, p->e, -ENOENT,
                   "no module of the program exports a variable '%.60s' (write module=\"…\" offset=\"…\")", s->name);
  (void)FAIL_AT(s->at, &note, -ENOENT, "no module exports a variable '%.60s' yet; it is set once one does", s->name);
  if (w->note) w->note(w->context, note.text);
  return 0;
}

/* Arguments that there are not, or that are numbers, point to nothing that the caller meant. */
static int check_argument(struct plan *p, const struct subject *s, const struct side_effect *side) {
  const struct roles *roles = &s->roles;
  bool by_name = side->kind == WIRE_SIDE_STREAM && side->name;
  if (side->kind == WIRE_SIDE_GLOBAL || side->kind == WIRE_SIDE_TLS || by_name) return 0;
  int i = (int)side->argument;
  if (roles->max_args >= 0 && i >= roles->max_args)
    return FAIL_AT(side->at, p->e, -EINVAL, "%.60s has no argument %d (it has %d)", s->name, i + 1, roles->max_args);
  bool is_size = i == roles->size || (i == roles->length && roles->how == WIRE_LENGTH_BYTES);
  if (i != roles->descriptor && !is_size) return 0;
  return FAIL_AT(side->at, p->e, -EINVAL, "argument %d of %.60s is a %s, and points to nothing (choose another)", i + 1,
                 s->name, is_size ? "size" : "descriptor");
}

static int add_written(struct plan *p, const struct rule *rule, const struct subject *s, struct wire_fault *f) {
  for (size_t i = 0; i < rule->fault.n_sides; i++) {
    const struct side_effect *from = &rule->fault.sides[i];
    struct wire_side to = {.kind = (uint8_t)from->kind,
                           .width = (uint8_t)(from->width ? from->width : width_of(from->value)),
                           .argument = (uint16_t)from->argument,
                           .flags = WIRE_SIDE_ASKED,
                           .offset = from->offset,
                           .value = from->value};
    if (from->module && module_index(p, from->module, &to.module) < 0)
      return FAIL_AT(from->at, p->e, -ENOENT, "the program uses no module '%.60s' (write the name of a library)",
                     from->module);
    int r = check_variable(p, from);
    if (r >= 0) r = check_argument(p, s, from);
    if (r >= 0) r = push_side(p, f, to, from->name);
    if (r < 0) return r;
  }
  return 0;
}

int plan_sides(struct plan *p, const struct rule *rule, const struct subject *s, const struct profile_error *from,
               struct wire_fault *f) {
  /* An explicit value may be a success that is made up: a short count, the end of a file. */
  bool explicit = rule->fault.form == FAULT_EXPLICIT;
  int r = explicit && !f->error ? 0 : add_stream(p, s, f);
  /* Behind the real call, the stream may not be there any more. */
  if (r >= 0 && !(explicit && !f->error) && !rule->fault.then) r = add_emptied(p, s, f);
  if (r >= 0 && !(explicit && !f->error) && !rule->fault.then) r = add_flushed(p, s, f);
  if (r >= 0 && !(explicit && f->retval == 0)) r = add_cleared(p, s, f);
  bool misnamed = s->roles.misnamed >= 0 && s->roles.misnamed < WIRE_ARGS;
  if (r >= 0 && misnamed && f->retval == 0) r = add_misnamed(p, s, f);
  if (r >= 0 && !misnamed) r = add_told(p, s, from, f);
  return r < 0 ? r : add_written(p, rule, s, f);
}

/* A stream that does less than it was asked for has failed. */
int plan_act_sides(struct plan *p, const struct rule *rule, const struct subject *s, struct wire_fault *f) {
  int r = f->act == WIRE_ACT_SHORT && f->length == WIRE_LENGTH_ITEMS ? add_stream(p, s, f) : 0;
  return r < 0 ? r : add_written(p, rule, s, f);
}
