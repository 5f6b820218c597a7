/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why an error is one: short sentences for the profile, and the whole chain of instructions for a person who asks.
 */
#include "profile/analyse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHAIN_MAX 12

static const char *symbol_at(const struct image *img, uint64_t address) {
  const struct image_function *f = image_function_at(img, address);
  return f ? f->name : NULL;
}

void evidence_name(const struct solver *w, uint32_t node, struct text *to) {
  unsigned image;
  uint64_t address;
  solver_node(w, node, &image, &address);
  const struct image *img = solver_image(w, image);
  const char *name = symbol_at(img, address);
  if (name)
    text_add(to, name);
  else
    text_addf(to, "the function at 0x%llx", (unsigned long long)address);
}

static void add_instruction(const struct image *img, uint64_t at, struct text *to) {
  text_addf(to, "0x%llx: ", (unsigned long long)at);
  code_print(img, at, to);
}

/* The name of what a call goes to. */
static void add_target(const struct solver *w, uint32_t node, const struct flow_call *c, struct text *to) {
  struct image_slot slot;
  unsigned image;
  uint64_t address;
  int n = solver_callee(w, node, c);
  solver_node(w, node, &image, &address);
  if (c->kind == CALL_SYSTEM && c->number.kind == VALUE_CONST)
    text_addf(to, "system call %llu", (unsigned long long)c->number.value);
  else if (c->kind == CALL_SYSTEM)
    text_add(to, "a system call");
  else if (c->kind == CALL_SLOT && image_slot(solver_image(w, image), c->target, &slot) && slot.name)
    text_add(to, slot.name);
  else if (n >= 0)
    evidence_name(w, (uint32_t)n, to);
  else
    text_add(to, "a function pointer");
}

static void birth_sentence(const struct solver *w, uint32_t node, const struct solver_result *r, struct text *to) {
  const struct flow_outcome *o = r->outcome;
  unsigned image;
  uint64_t address;
  solver_node(w, node, &image, &address);
  if (!o) {
    text_add(to, "from ");
    if (r->via_node) evidence_name(w, r->via_node - 1, to);
  } else if (o->ret.kind == VALUE_CALL) {
    const struct flow_call *c = &solver_summary(w, node)->calls[o->ret.call];
    text_addf(to, "from the call at 0x%llx of ", (unsigned long long)c->at);
    add_target(w, node, c, to);
  } else
    add_instruction(solver_image(w, image), o->ret.at, to);
}

static bool cause_sentence(const struct solver *w, uint32_t node, const struct solver_result *r, struct text *to) {
  const struct flow_outcome *o = r->outcome;
  if (!o || !r->because_guard || r->because_guard > o->n_guards) return false;
  const struct flow_call *c = &solver_summary(w, node)->calls[o->guards[r->because_guard - 1].call];
  text_addf(to, "if the call at 0x%llx of ", (unsigned long long)c->at);
  add_target(w, node, c, to);
  text_add(to, " fails");
  return true;
}

static int say(struct text *t, int (*add)(void *, const char *), void *context) {
  int r = t->failed ? -ENOMEM : t->n ? add(context, t->at) : 0;
  t->n = 0;
  return r;
}

int evidence_sentences(const struct solver *w, uint32_t node, const struct solver_result *r,
                       int (*add)(void *context, const char *sentence), void *context) {
  struct text t = {0};
  birth_sentence(w, node, r, &t);
  int ret = say(&t, add, context);
  if (ret >= 0 && cause_sentence(w, node, r, &t)) ret = say(&t, add, context);
  text_done(&t);
  return ret;
}

/* --- the whole chain ---------------------------------------------------------------------------------------------- */

struct teller {
  const struct solver *w;
  struct text *to;
  unsigned depth;
  struct {
    uint32_t node;
    uint64_t value;
  } told[CHAIN_MAX]; /* the chain so far */
};

static void indent(const struct teller *t) {
  for (unsigned i = 0; i <= t->depth; i++)
    text_add(t->to, "  ");
}

static void tell_instruction(const struct teller *t, uint32_t node, uint64_t at, const char *what) {
  unsigned image;
  uint64_t entry;
  solver_node(t->w, node, &image, &entry);
  indent(t);
  size_t from = t->to->n;
  add_instruction(solver_image(t->w, image), at, t->to);
  if (what) {
    size_t used = t->to->n - from + 2 * (t->depth + 1);
    text_pad(t->to, used < 54 ? 54 : used + 2);
    text_add(t->to, what);
  }
  text_add(t->to, "\n");
}

static const char *condition_words(uint8_t cc) {
  static const char *const words[] = {
      "overflows",    "does not overflow", "is below",         "is at least",     "is", "is not",
      "is at most",   "is above",          "is negative",      "is not negative", "?",  "?",
      "is less than", "is not less than",  "is not more than", "is more than"};
  return cc < COUNT(words) ? words[cc] : "?";
}

static void tell_guard(const struct teller *t, uint32_t node, const struct flow_guard *g) {
  struct text what = {0};
  if (g->cc == GUARD_PASSED) return;
  if (g->arg)
    text_addf(&what, "argument %u %s", g->arg, condition_words(g->cc));
  else {
    text_add(&what, "what ");
    add_target(t->w, node, &solver_summary(t->w, node)->calls[g->call], &what);
    text_addf(&what, " returned %s", condition_words(g->cc));
  }
  if (g->cc != CC_S && g->cc != CC_NS) {
    int64_t imm = g->width == 4 ? (int32_t)g->imm : (int64_t)g->imm;
    text_addf(&what, " %lld", (long long)imm);
  }
  if (g->ops && !(g->ops->kind == XF_ZERO && !g->ops->next)) text_add(&what, " (after arithmetic)");
  tell_instruction(t, node, g->at, what.failed ? NULL : what.at);
  text_done(&what);
}

static void tell_result(struct teller *t, uint32_t node, uint32_t result);

static uint32_t find_constant(const struct solver_results *rs, uint64_t value) {
  uint32_t i = 0;
  while (i < rs->n && (rs->at[i].kind != RESULT_CONST || rs->at[i].value != value))
    i++;
  return i;
}

static void tell_deeper(struct teller *t, uint32_t node, uint64_t value) {
  struct solver_results rs = solver_results_of(t->w, node);
  uint32_t result = find_constant(&rs, value);
  if (t->depth >= CHAIN_MAX || result == rs.n) return;
  for (unsigned i = 0; i < t->depth; i++)
    if (t->told[i].node == node && t->told[i].value == value) return;
  t->told[t->depth].node = node;
  t->told[t->depth++].value = value;
  indent(t);
  text_add(t->to, "in ");
  evidence_name(t->w, node, t->to);
  text_add(t->to, "\n");
  tell_result(t, node, result);
  t->depth--;
}

/* Does the result have errno set, to VALUE if that is not 0? */
static bool has_errno(const struct solver *w, const struct solver_result *r, int64_t value) {
  unsigned image = 0;
  uint64_t offset = 0;
  if (!solver_errno(w, &image, &offset)) return false;
  for (uint32_t i = 0; i < r->n_sides; i++) {
    const struct solver_side *s = &r->sides[i];
    if (s->place == PLACED_TLS && s->image == image && (uint64_t)s->offset == offset && (!value || s->value == value))
      return true;
  }
  return false;
}

static void add_store(const struct solver *w, const struct solver_result *r, const struct flow_store *s,
                      struct text *to) {
  static const char *const places[] = {"a thread-local variable", "a global variable", "memory behind an argument",
                                       "memory that a call gave"};
  bool constant = s->value.kind == VALUE_CONST;
  int value = (int)s->value.value;
  bool thread = s->place.size == 4 && (s->place.kind == PLACE_TLS || s->place.kind == PLACE_CALL);
  if (thread && has_errno(w, r, constant ? value : 0)) {
    const char *name = constant ? errno_name(value) : NULL;
    text_add(to, "sets errno");
    if (name) text_addf(to, " to %s", name);
    return;
  }
  text_addf(to, "sets %s", s->place.kind < COUNT(places) ? places[s->place.kind] : "memory");
  if (constant) text_addf(to, " to %d", value);
}

static void tell_stores(struct teller *t, uint32_t node, const struct solver_result *r) {
  for (unsigned i = 0; i < r->outcome->n_stores; i++) {
    struct text what = {0};
    add_store(t->w, r, &r->outcome->stores[i], &what);
    tell_instruction(t, node, r->outcome->stores[i].at, what.failed ? NULL : what.at);
    text_done(&what);
  }
}

static void tell_result(struct teller *t, uint32_t node, uint32_t result) {
  const struct solver_result *r = &solver_results_of(t->w, node).at[result];
  const struct flow_outcome *o = r->outcome;
  if (!o) {
    if (r->via_node) tell_deeper(t, r->via_node - 1, r->via_value);
    return;
  }
  for (unsigned i = o->n_guards; i-- > 0;)
    tell_guard(t, node, &o->guards[i]);
  tell_stores(t, node, r);
  if (o->ret.kind == VALUE_CALL) {
    const struct flow_call *c = &solver_summary(t->w, node)->calls[o->ret.call];
    struct text what = {0};
    text_add(&what, "its value is returned: ");
    add_target(t->w, node, c, &what);
    tell_instruction(t, node, c->at, what.failed ? NULL : what.at);
    text_done(&what);
    if (r->via_node) tell_deeper(t, r->via_node - 1, r->via_value);
    return;
  }
  if (o->ret.at) tell_instruction(t, node, o->ret.at, "the value that is returned");
  if (r->because_node) tell_deeper(t, r->because_node - 1, r->because_value);
}

static void tell_errnos(const struct solver *w, const struct solver_result *r, struct text *to) {
  unsigned image = 0, n = 0;
  uint64_t offset = 0;
  bool more = false;
  if (!solver_errno(w, &image, &offset)) return;
  for (uint32_t i = 0; i < r->n_sides; i++) {
    const struct solver_side *s = &r->sides[i];
    if (s->place != PLACED_TLS || s->image != image || (uint64_t)s->offset != offset || s->from_arg) continue;
    const char *name = errno_name((int)s->value);
    more |= s->unknown;
    if (!s->unknown) text_addf(to, "%s%s", n++ ? " " : ", errno ", name ? name : "?");
  }
  if (more) text_add(to, n ? " ..." : ", errno ...");
}

static void tell_function(struct solver *w, uint32_t node, const char *function, struct text *to) {
  struct classified errors[400];
  struct solver_results rs = solver_results_of(w, node);
  unsigned unknown = 0;
  size_t n = classify(&rs, solver_summary(w, node), errors, COUNT(errors), &unknown);
  struct teller t = {.w = w, .to = to};
  if (!n) text_addf(to, "%s: no errors were found\n", function);
  for (size_t i = 0; i < n; i++) {
    const struct solver_result *r = &rs.at[errors[i].result];
    text_addf(to, "%s returns %lld", function, (long long)errors[i].retval);
    tell_errnos(w, r, to);
    text_addf(to, " (%s)\n", profile_confidence_words[errors[i].confidence]);
    tell_result(&t, node, errors[i].result);
  }
  if (n) text_add(to, "One way to each value is shown; the errnos are those of all ways.\n");
  if (!unknown) return;
  text_addf(to, "%s: not all of its values are known:", function);
  for (size_t i = 0; i < profile_n_reasons; i++)
    if (unknown & profile_reasons[i].bit) text_addf(to, " %s;", profile_reasons[i].word);
  text_add(to, "\n");
}

static int find_export(const struct analysis *a, const char *function, unsigned *ret_image,
                       const struct image_symbol **ret) {
  for (size_t i = 0; i < a->set.n_roots; i++) {
    const struct image_symbol *s = image_export(a->set.images.at[i], function, NULL);
    if (!s || (s->kind != SYMBOL_FUNCTION && s->kind != SYMBOL_IFUNC)) continue;
    *ret_image = (unsigned)i;
    *ret = s;
    return 0;
  }
  return -ENOENT;
}

/* If a system call was told of: whose. */
static void tell_kernel(const struct knowledge *k, struct text *to) {
  if (!k->kernel || !to->at || !strstr(to->at, "system call")) return;
  text_addf(to, "What system calls return is that of %s", k->kernel);
  if (k->kernel_note) text_addf(to, "; %s", k->kernel_note);
  text_add(to, ".\n");
}

int profile_why(const struct profile_request *request, const char *function, struct text *to, struct err *e) {
  struct analysis a;
  const struct image_symbol *s = NULL;
  unsigned image = 0;
  int r = analysis_start(request, &a, e);
  if (r < 0) return r;
  r = find_export(&a, function, &image, &s);
  if (r < 0) {
    (void)err_set(e, r, "%s: exports no function '%s'", image_path(a.set.images.at[0]), function);
  } else {
    int node = solver_want(a.solver, image, s->address, s->kind == SYMBOL_IFUNC);
    r = node < 0 ? node : solver_run(a.solver);
    if (r >= 0) tell_function(a.solver, (uint32_t)node, function, to);
    if (r >= 0) tell_kernel(&a.knowledge, to);
  }
  analysis_done(&a);
  return r < 0 ? r : to->failed ? -ENOMEM : 0;
}
