/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile of a kernel: for each system call, the errno values that it can return.
 *
 * The calls are the entries of sys_call_table, or, where a kernel has none, the symbols __x64_sys_NAME.
 */
#include "profile/profile_kernel.h"

#include <errno.h>
#include <string.h>

#define CALLS_MAX 1024
#define PREFIX "__x64_sys_"

void study_done(struct study *s) {
  solver_free(s->solver);
  image_free(s->image);
  kernel_modules_done(&s->modules);
  vec_done(&s->calls);
  knowledge_done(&s->knowledge);
  ways_done(&s->ways);
}

/* --- system calls ------------------------------------------------------------------------------------------------- */

static int want_call(struct study *s, uint32_t number, const char *name, uint64_t address) {
  int node = solver_want(s->solver, 0, address, false);
  if (node < 0) return node;
  return vec_push(&s->calls, (struct kernel_call){.name = name, .number = number, .node = (uint32_t)node});
}

/* What programs call it. */
static const char *name_of(const struct study *s, uint32_t number, const char *symbol) {
  if (number < s->ways.calls.n && s->ways.calls.at[number]) return s->ways.calls.at[number];
  return strncmp(symbol, PREFIX, strlen(PREFIX)) == 0 ? symbol + strlen(PREFIX) : symbol;
}

static int want_table(struct study *s, const struct image_symbol *table) {
  for (uint32_t i = 0; i < CALLS_MAX && (i + 1) * 8ull <= table->size; i++) {
    uint64_t address;
    const void *p = image_bytes(s->image, table->address + 8ull * i, 8);
    if (!p) break;
    memcpy(&address, p, 8);
    const struct image_function *f = image_function_at(s->image, address);
    if (!f || !f->name) break;
    /* Numbers that were never given out, or are another machine's, go to a stub and have no name. */
    bool stub = strncmp(f->name, PREFIX, strlen(PREFIX)) != 0 || strstr(f->name, "ni_syscall");
    if (stub && !(i < s->ways.calls.n && s->ways.calls.at[i])) continue;
    int r = want_call(s, i, name_of(s, i, f->name), address);
    if (r < 0) return r;
  }
  return 0;
}

/* Without a table: by name. */
static int want_symbols(struct study *s) {
  struct text name = {0};
  int r = 0;
  for (uint32_t i = 0; i < s->ways.calls.n && r >= 0; i++) {
    if (!s->ways.calls.at[i]) continue;
    name.n = 0;
    text_addf(&name, PREFIX "%s", s->ways.calls.at[i]);
    const struct image_symbol *f = name.failed ? NULL : image_symbol_named(s->image, name.at);
    if (f) r = want_call(s, i, s->ways.calls.at[i], f->address);
  }
  if (name.failed) r = -ENOMEM;
  text_done(&name);
  return r;
}

static int want_calls(struct study *s, struct err *e) {
  const struct image_symbol *table = image_symbol_named(s->image, "sys_call_table");
  int r = table ? want_table(s, table) : 0;
  if (r >= 0 && s->calls.n == 0) r = want_symbols(s);
  if (r >= 0 && s->calls.n == 0)
    return err_set(e, -ENOEXEC, "%s: no system calls: neither sys_call_table nor a symbol " PREFIX "NAME",
                   image_path(s->image));
  return r;
}

/* --- the study ---------------------------------------------------------------------------------------------------- */

/* A copy, and the text is done. */
static const char *keep_text(struct arena *arena, struct text *t) {
  const char *kept = t->failed ? NULL : arena_strdup(arena, t->at ? t->at : "");
  text_done(t);
  return kept;
}

static int read_all(const struct profile_request *request, struct study *s, struct err *e) {
  struct text analysed = {0}, missing = {0};
  int r = ways_load(request->data, &s->ways, e);
  if (r >= 0) r = knowledge_load_functions(request->data, &s->knowledge, e);
  if (r >= 0) r = kernel_modules_find(request, &s->ways, &s->modules, e);
  if (r >= 0) r = image_open_kernel(request->kernel, (const char *const *)s->modules.at, s->modules.n, &s->image, e);
  if (r < 0) return r;
  kernel_modules_tell(s->image, &s->ways, &analysed, &missing);
  s->analysed = keep_text(&s->ways.arena, &analysed);
  s->missing = keep_text(&s->ways.arena, &missing);
  return s->analysed && s->missing ? 0 : -ENOMEM;
}

int study_open(const struct profile_request *request, struct study *s, struct err *e) {
  struct solver_options o = {
      .noreturn = knowledge_noreturn,
      .noreturn_context = &s->knowledge,
      .workers = request->workers,
      .progress = request->progress,
      .progress_context = request->context,
  };
  int r = read_all(request, s, e);
  if (r < 0) return r;
  struct solver_ways ways = {
      .never = ways_never, .gives = ways_gives, .incomplete = *s->missing != 0, .context = &s->ways};
  if (!request->all_ways) {
    ways.table = ways_table;
    ways.beyond = ways_beyond;
  }
  r = solver_new_kernel(&o, &ways, s->image, &s->solver);
  return r < 0 ? r : want_calls(s, e);
}

/* --- the profile -------------------------------------------------------------------------------------------------- */

static int add_call(struct profile_builder *b, const struct study *s, const struct kernel_call *call) {
  const struct solver_error *all;
  size_t n = solver_errors(s->solver, call->node, &all);
  struct text sentence = {0};
  b->function.name = profile_builder_string(b, call->name);
  b->function.syscall = call->number + 1;
  if (solver_errors_unknown(s->solver, call->node)) b->function.unknown = UNKNOWN_INDIRECT;
  b->error.retval = -1;
  b->error.wide = true;
  b->error.confidence = PROFILE_CERTAIN;
  int r = b->function.name ? 0 : -ENOMEM;
  for (size_t i = 0; i < n && r >= 0; i++) {
    int error = kernel_visible(all[i].number);
    if (all[i].place || !error || errno_set_has(&b->error.errnos, error) || !errno_name(error)) continue;
    errno_set_add(&b->error.errnos, error);
    sentence.n = 0;
    kernel_tell_shortly(s, call, all[i].number, &sentence);
    const char *kept = sentence.failed ? NULL : profile_builder_string(b, sentence.at);
    r = kept ? vec_push(&b->evidence, kept) : -ENOMEM;
  }
  text_done(&sentence);
  if (r >= 0 && !errno_set_empty(&b->error.errnos)) r = profile_builder_end_error(b);
  b->error = (struct profile_error){0};
  return r < 0 ? r : profile_builder_end_function(b);
}

static int describe(struct profile_builder *b, const struct study *s) {
  struct profile_library *l = &b->library;
  struct text name = {0};
  text_addf(&name, "Linux %s", image_kernel_release(s->image));
  l->name = keep_text(&b->result.arena, &name);
  l->path = profile_builder_string(b, image_path(s->image));
  l->build_id = profile_builder_string(b, image_build_id(s->image));
  l->modules = profile_builder_string(b, s->analysed);
  l->modules_missing = profile_builder_string(b, s->missing);
  l->functions_only = !image_names_data(s->image);
  return l->name && l->path && l->build_id && l->modules && l->modules_missing ? 0 : -ENOMEM;
}

static int write_down(const struct study *s, struct profile *ret) {
  struct profile_builder b = {0};
  int r = describe(&b, s);
  for (size_t i = 0; i < s->calls.n && r >= 0; i++)
    r = add_call(&b, s, &s->calls.at[i]);
  if (r >= 0) r = profile_builder_end_library(&b);
  if (r >= 0) r = profile_builder_finish(&b, ret);
  profile_builder_done(&b);
  return r;
}

int profile_kernel(const struct profile_request *request, struct profile *ret, struct err *e) {
  struct study s = {0};
  int r = study_open(request, &s, e);
  if (r >= 0) r = solver_run_errors(s.solver);
  if (r >= 0) r = write_down(&s, ret);
  study_done(&s);
  if (r == -ENOMEM && e && !e->text[0]) (void)err_set(e, r, "out of memory");
  return r;
}
