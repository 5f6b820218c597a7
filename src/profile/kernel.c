/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile of a kernel: for each system call, the errno values that it can return.
 *
 * The calls are the entries of sys_call_table, or, where a kernel has none, the symbols __x64_sys_NAME. What comes out
 * of the flow room are numbers; those above 133 never reach a program: the restart codes are EINTR to a program whose
 * handler does not restart the call, the others are the kernel's own.
 */
#include "profile/ways.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS_MAX 1024
#define PREFIX "__x64_sys_"
#define CHAIN_MAX 64

/* ERESTARTSYS, ERESTARTNOHAND, ERESTART_RESTARTBLOCK. ERESTARTNOINTR is never seen. */
static bool is_restart(unsigned number) { return number == 512 || number == 514 || number == 516; }

static int visible(unsigned number) { return is_restart(number) ? EINTR : number <= ERRNO_MAX ? (int)number : 0; }

struct call {
  const char *name;
  uint32_t number, node;
};

struct study {
  struct ways ways;
  struct knowledge knowledge;
  struct image *image;
  struct flow_world *world;
  VEC(char *) modules;
  VEC(struct call) calls; /* by number */
};

static void study_done(struct study *s) {
  flow_world_free(s->world);
  image_free(s->image);
  for (size_t i = 0; i < s->modules.n; i++)
    free(s->modules.at[i]);
  vec_done(&s->modules);
  vec_done(&s->calls);
  knowledge_done(&s->knowledge);
  ways_done(&s->ways);
}

/* --- modules ------------------------------------------------------------------------------------------------------- */

/* "ext4.ko.xz" is the module ext4. */
static bool is_module(const struct ways *w, const char *file) {
  size_t n = strcspn(file, ".");
  if (strncmp(file + n, ".ko", 3) != 0) return false;
  for (size_t i = 0; i < w->modules.n; i++)
    if (strncmp(w->modules.at[i], file, n) == 0 && w->modules.at[i][n] == 0) return true;
  return false;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static int find_modules(struct study *s, char *folder) {
  char *const roots[] = {folder, NULL};
  FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
  if (!tree) return errno == ENOMEM ? -ENOMEM : 0;
  int r = 0;
  errno = 0;
  for (FTSENT *f; r >= 0 && (f = fts_read(tree)) != NULL; errno = 0) {
    if (f->fts_info != FTS_F || !is_module(&s->ways, f->fts_name)) continue;
    char *path = strdup(f->fts_path);
    r = path ? vec_push(&s->modules, path) : -ENOMEM;
    if (r < 0) free(path);
  }
  if (r >= 0 && errno == ENOMEM) r = -ENOMEM;
  (void)fts_close(tree);
  if (s->modules.n) qsort(s->modules.at, s->modules.n, sizeof *s->modules.at, by_name);
  return r;
}

/*
 * The folder of the kernel's modules: beside it, as in /lib/modules/RELEASE/vmlinuz, or where packages put it,
 * PREFIX/boot/vmlinuz-RELEASE and PREFIX/lib/modules/RELEASE. Empty if it does not look so.
 */
static void guess_folder(const char *kernel, struct text *to) {
  const char *slash = strrchr(kernel, '/'), *name = slash ? slash + 1 : kernel, *release = strchr(name, '-');
  int folder = slash ? (int)(slash - kernel) : 1;
  if (strstr(kernel, "/modules/") && !release)
    text_addf(to, "%.*s", folder, kernel);
  else if (release)
    text_addf(to, "%.*s/../lib/modules/%s", folder, slash ? kernel : ".", release + 1);
}

static int load_modules(const struct profile_request *request, struct study *s, struct err *e) {
  struct text folder = {0};
  if (request->modules)
    text_add(&folder, request->modules);
  else
    guess_folder(request->kernel, &folder);
  int r = folder.failed ? -ENOMEM : folder.n ? find_modules(s, folder.at) : 0;
  if (r >= 0 && request->modules && s->modules.n == 0)
    r = err_set(e, -ENOENT, "%s: no modules of data/kernel/ways there (it is a folder as /lib/modules/RELEASE)",
                request->modules);
  text_done(&folder);
  return r;
}

/* --- system calls --------------------------------------------------------------------------------------------------- */

static int want_call(struct study *s, uint32_t number, const char *name, uint64_t address) {
  int node = flow_world_want(s->world, 0, address, false);
  if (node < 0) return node;
  return vec_push(&s->calls, (struct call){.name = name, .number = number, .node = (uint32_t)node});
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

/* --- the study ------------------------------------------------------------------------------------------------------ */

static int study_open(const struct profile_request *request, struct study *s, struct err *e) {
  int r = ways_load(request->data, &s->ways, e);
  if (r >= 0) r = knowledge_load_functions(request->data, &s->knowledge, e);
  if (r >= 0) r = load_modules(request, s, e);
  if (r >= 0) r = image_open_kernel(request->kernel, (const char *const *)s->modules.at, s->modules.n, &s->image, e);
  return r;
}

static int study_solve(const struct profile_request *request, struct study *s, struct err *e) {
  struct flow_world_options o = {
      .noreturn = knowledge_noreturn,
      .noreturn_context = &s->knowledge,
      .workers = request->workers,
      .progress = request->progress,
      .progress_context = request->context,
  };
  struct flow_ways ways = {.never = ways_never, .gives = ways_gives, .context = &s->ways};
  if (!request->all_ways) {
    ways.table = ways_table;
    ways.beyond = ways_beyond;
  }
  int r = flow_world_new_kernel(&o, &ways, s->image, &s->world);
  if (r >= 0) r = want_calls(s, e);
  return r < 0 ? r : flow_world_solve_errors(s->world);
}

/* --- how an error came about ---------------------------------------------------------------------------------------- */

/* The functions that pass an error on, from the system call to the one that makes it. */
struct chain {
  struct flow_error at[CHAIN_MAX];
  uint32_t nodes[CHAIN_MAX];
  unsigned n;
};

static const struct flow_error *find_error(const struct flow_world *w, uint32_t node, unsigned number, unsigned place) {
  const struct flow_error *all;
  size_t n = flow_world_errors(w, node, &all);
  for (size_t i = 0; i < n; i++)
    if (all[i].number == number && all[i].place == place) return &all[i];
  return NULL;
}

static void follow(const struct flow_world *w, uint32_t node, unsigned number, struct chain *c) {
  unsigned place = 0;
  for (c->n = 0; c->n < CHAIN_MAX; c->n++) {
    const struct flow_error *e = find_error(w, node, number, place);
    if (!e) return;
    c->at[c->n] = *e;
    c->nodes[c->n] = node;
    if (!e->via) {
      c->n++;
      return;
    }
    node = e->via - 1;
    number = e->from;
    place = e->from_place;
  }
}

static const char *symbol_of(const struct study *s, uint64_t address) {
  const struct image_symbol *sym = image_symbol_before(s->image, address);
  return sym ? sym->name : "?";
}

static const char *node_name(const struct study *s, uint32_t node) {
  unsigned image;
  uint64_t address;
  flow_world_node(s->world, node, &image, &address);
  const struct image_function *f = image_function_at(s->image, address);
  return f && f->name ? f->name : symbol_of(s, address);
}

/* "ENOSPC from shmem_get_folio_gfp through shmem_file_operations" */
static void tell_shortly(const struct study *s, const struct call *call, unsigned number, struct text *to) {
  struct chain c;
  follow(s->world, call->node, number, &c);
  if (c.n == 0) return;
  text_addf(to, "%s from %s", errno_name(visible(number)), node_name(s, c.nodes[c.n - 1]));
  const char *before = " through ";
  for (unsigned i = 0; i < c.n; i++) {
    if (!c.at[i].table) continue;
    text_addf(to, "%s%s", before, symbol_of(s, c.at[i].table));
    before = ", ";
  }
}

/* --- the profile ---------------------------------------------------------------------------------------------------- */

static int add_call(struct profile_builder *b, const struct study *s, const struct call *call) {
  const struct flow_error *all;
  size_t n = flow_world_errors(s->world, call->node, &all);
  struct text sentence = {0};
  b->function.name = profile_builder_string(b, call->name);
  b->function.syscall = call->number + 1;
  if (flow_world_errors_unknown(s->world, call->node)) b->function.unknown = UNKNOWN_INDIRECT;
  b->error.retval = -1;
  b->error.wide = true;
  b->error.confidence = PROFILE_CERTAIN;
  int r = b->function.name ? 0 : -ENOMEM;
  for (size_t i = 0; i < n && r >= 0; i++) {
    int error = visible(all[i].number);
    if (all[i].place || !error || errno_set_has(&b->error.errnos, error) || !errno_name(error)) continue;
    errno_set_add(&b->error.errnos, error);
    sentence.n = 0;
    tell_shortly(s, call, all[i].number, &sentence);
    const char *kept = sentence.failed ? NULL : profile_builder_string(b, sentence.at);
    r = kept ? vec_push(&b->evidence, kept) : -ENOMEM;
  }
  text_done(&sentence);
  if (r >= 0 && !errno_set_empty(&b->error.errnos)) r = profile_builder_end_error(b);
  b->error = (struct profile_error){0};
  return r < 0 ? r : profile_builder_end_function(b);
}

static int write_down(const struct study *s, struct profile *ret) {
  struct profile_builder b = {0};
  struct text name = {0};
  text_addf(&name, "Linux %s", image_kernel_release(s->image));
  b.library.name = name.failed ? NULL : profile_builder_string(&b, name.at);
  b.library.path = profile_builder_string(&b, image_path(s->image));
  b.library.build_id = profile_builder_string(&b, image_build_id(s->image));
  struct text modules = {0};
  for (size_t i = 0; i < image_module_count(s->image); i++)
    text_addf(&modules, "%s%s", i ? " " : "", image_module_name(s->image, i));
  b.library.modules = modules.failed ? NULL : profile_builder_string(&b, modules.n ? modules.at : "");
  text_done(&modules);
  bool whole = b.library.name && b.library.path && b.library.build_id && b.library.modules;
  int r = whole ? 0 : -ENOMEM;
  for (size_t i = 0; i < s->calls.n && r >= 0; i++)
    r = add_call(&b, s, &s->calls.at[i]);
  if (r >= 0) r = profile_builder_end_library(&b);
  if (r >= 0) r = profile_builder_finish(&b, ret);
  profile_builder_done(&b);
  text_done(&name);
  return r;
}

int profile_kernel(const struct profile_request *request, struct profile *ret, struct err *e) {
  struct study s = {0};
  int r = study_open(request, &s, e);
  if (r >= 0) r = study_solve(request, &s, e);
  if (r >= 0) r = write_down(&s, ret);
  study_done(&s);
  if (r == -ENOMEM && e && !e->text[0]) (void)err_set(e, r, "out of memory");
  return r;
}

/* --- why ------------------------------------------------------------------------------------------------------------ */

static void tell_way(const struct study *s, const struct call *call, const struct flow_error *error, struct text *to) {
  struct chain c;
  follow(s->world, call->node, error->number, &c);
  text_addf(to, "%s returns %s", call->name, errno_name(visible(error->number)));
  if (is_restart(error->number)) text_add(to, " (a signal arrives, and its handler does not restart the call)");
  text_add(to, "\n");
  for (unsigned i = 0; i < c.n; i++) {
    const char *module = NULL;
    unsigned image;
    uint64_t address;
    flow_world_node(s->world, c.nodes[i], &image, &address);
    module = image_module_of(s->image, address);
    text_addf(to, "  %s", node_name(s, c.nodes[i]));
    if (module) text_addf(to, " [%s]", module);
    bool known = !c.at[i].via && c.at[i].at == address; /* no instruction: data/kernel/ways says so */
    text_addf(to, "\n      0x%llx: ", (unsigned long long)c.at[i].at);
    if (known)
      text_add(to, "from memory that others fill (data/kernel/ways)");
    else
      code_print(s->image, c.at[i].at, to);
    if (c.at[i].table) text_addf(to, "   through %s", symbol_of(s, c.at[i].table));
    if (c.at[i].from_place && c.at[i].via) text_addf(to, "   stores it behind argument %u", c.at[i].from_place);
    text_add(to, "\n");
  }
}

static int tell_call(const struct study *s, const struct call *call, int error, bool all_ways, struct text *to,
                     struct err *e) {
  const struct flow_error *all;
  size_t n = flow_world_errors(s->world, call->node, &all), told = 0;
  struct errno_set done = {0};
  for (size_t i = 0; i < n; i++) {
    int number = visible(all[i].number);
    if (all[i].place || !number || !errno_name(number) || (error && number != error) || errno_set_has(&done, number))
      continue;
    errno_set_add(&done, number);
    tell_way(s, call, &all[i], to);
    told++;
  }
  if (!told && error)
    return err_set(e, -ENOENT, "%s: no way was found on which %s returns %s%s", image_path(s->image), call->name,
                   errno_name(error), all_ways ? "" : " (--all looks also where ordinary programs do not come)");
  if (!told) text_addf(to, "%s: no errors were found\n", call->name);
  return 0;
}

static int no_such_call(const struct study *s, const char *name, int length, struct err *e) {
  char wrong[64];
  VEC(const char *) names = {0};
  for (size_t i = 0; i < s->calls.n; i++)
    if (vec_push(&names, s->calls.at[i].name) < 0) break; /* the best of those there is memory for */
  (void)snprintf(wrong, sizeof wrong, "%.*s", length, name);
  const char *near = name_nearest(wrong, names.at, names.n), *path = image_path(s->image);
  vec_done(&names);
  if (near) return err_set(e, -ENOENT, "%s: no system call '%s' (did you mean '%s'?)", path, wrong, near);
  return err_set(e, -ENOENT, "%s: no system call '%s' (--all without --why lists them)", path, wrong);
}

/* "write:ENOSPC", or "write" for all of its errors. */
static int find_call(const struct study *s, const char *what, const struct call **ret, int *ret_error, struct err *e) {
  size_t n = strcspn(what, ":");
  *ret_error = what[n] ? errno_number(what + n + 1) : 0;
  if (what[n] && !*ret_error)
    return err_set(e, -EINVAL, "--why: '%s' is not an errno (as in write:ENOSPC)", what + n + 1);
  for (size_t i = 0; i < s->calls.n; i++)
    if (strncmp(s->calls.at[i].name, what, n) == 0 && s->calls.at[i].name[n] == 0) {
      *ret = &s->calls.at[i];
      return 0;
    }
  return no_such_call(s, what, (int)(n < 63 ? n : 63), e);
}

int profile_kernel_why(const struct profile_request *request, const char *what, struct text *to, struct err *e) {
  struct study s = {0};
  const struct call *call = NULL;
  int error = 0, r = study_open(request, &s, e);
  if (r >= 0) r = study_solve(request, &s, e);
  if (r >= 0) r = find_call(&s, what, &call, &error, e);
  if (r >= 0) r = tell_call(&s, call, error, request->all_ways, to, e);
  study_done(&s);
  return r < 0 ? r : to->failed ? -ENOMEM : 0;
}
