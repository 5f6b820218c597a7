/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program is checked: open it, profile what it imports, read its functions, judge its sites, rank and place them.
 */
#include "site/site_program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 16

static void program_done(struct program *p) {
  for (unsigned i = 0; p->workers && i < p->n_workers; i++) {
    struct worker *w = &p->workers[i];
    flow_worker_done(&w->flow);
    flow_probe_done(&w->probe);
    arena_done(&w->arena);
    vec_done(&w->found);
    vec_done(&w->calls);
    vec_done(&w->readers);
    vec_done(&w->parts);
    vec_done(&w->referenced);
    vec_done(&w->given);
    vec_done(&w->pointer_calls);
    vec_done(&w->started);
    vec_done(&w->handed);
    vec_done(&w->tables);
    vec_done(&w->fresh);
    vec_done(&w->events.at);
  }
  free(p->workers);
  struct map *maps[] = {&p->import_of,   &p->function_set, &p->part_set,  &p->referenced_set,
                        &p->question_of, &p->no_result,    &p->given_set, &p->virtual_of,
                        &p->profile_of,  &p->table_of,     &p->table_set};
  for (size_t i = 0; i < COUNT(maps); i++)
    map_done(maps[i]);
  vec_done(&p->imports);
  arena_done(&p->arena);
  vec_done(&p->functions);
  vec_done(&p->found);
  vec_done(&p->calls);
  vec_done(&p->readers);
  vec_done(&p->pointer_calls);
  vec_done(&p->started);
  vec_done(&p->handed);
  vec_done(&p->questions);
  for (size_t i = 0; i < p->n_overlays; i++)
    profile_done(&p->overlays[i]);
  free(p->overlays);
  profile_facts_free(p->facts);
  relevance_free(p->relevance);
  image_debug_free(p->debug);
}

static int load_overlays(struct program *p, struct err *e) {
  p->overlays = calloc(p->request->n_profiles + 1, sizeof *p->overlays);
  if (!p->overlays) return -ENOMEM;
  for (size_t i = 0; i < p->request->n_profiles; i++) {
    int r = profile_load(p->request->profiles[i], &p->overlays[i], e);
    if (r < 0) return r;
    p->n_overlays++;
  }
  return 0;
}

/* What is said of functions, and of their errors: two files that do not depend on each other. */
struct loading {
  struct program *p;
  struct err errors[2];
  int results[2];
  unsigned next;
};

static void load_data(void *context, unsigned worker) {
  struct loading *l = context;
  (void)worker;
  for (unsigned i; (i = __atomic_fetch_add(&l->next, 1, __ATOMIC_RELAXED)) < COUNT(l->results);)
    l->results[i] = i == 0 ? relevance_load(l->p->request->data, &l->p->relevance, &l->errors[i])
                           : profile_facts_load(l->p->request->data, &l->p->facts, &l->errors[i]);
}

static int load_all_data(struct program *p, struct err *e) {
  struct loading l = {.p = p};
  worker_run(p->n_workers < COUNT(l.results) ? p->n_workers : COUNT(l.results), load_data, &l);
  for (unsigned i = COUNT(l.results); i-- > 0;) {
    if (l.results[i] >= 0) continue;
    if (e) *e = l.errors[i];
    return l.results[i];
  }
  return 0;
}

static int program_start(struct program *p, struct profile *profile, struct err *e) {
  p->n_workers = p->request->workers ? p->request->workers : worker_count();
  int r = load_overlays(p, e);
  if (r >= 0) r = load_all_data(p, e);
  if (r >= 0) r = imports_profile(p, profile, e);
  p->profile = profile;
  if (r >= 0) r = imports_find(p, e);
  if (r >= 0 && image_debug_open(p->image, &p->debug, NULL) == -ENOMEM) r = -ENOMEM;
  if (r < 0) return r;
  p->workers = calloc(p->n_workers, sizeof *p->workers);
  return p->workers ? 0 : -ENOMEM;
}

/* --- judging ------------------------------------------------------------------------------------------------------ */

/* Judges all sites, again and again while there are new answers. */
static int judge_all(struct program *p, struct judgement *js) {
  for (unsigned round = 0; round < ROUNDS_MAX; round++) {
    bool open = false;
    for (size_t i = 0; i < p->found.n; i++) {
      if (round && !js[i].missing) continue;
      int r = judge(p, &p->found.at[i], &js[i]);
      if (r < 0) return r;
      open |= js[i].missing;
    }
    int r = open ? ask_answer(p) : 0;
    if (r <= 0) return r;
  }
  return 0;
}

/* Is something done with the value, but that it is still there when the function returns? */
static bool looks_at(const struct judgement *j) {
  return j->noticed || j->errno_tested || j->seen & ~(unsigned)(SEEN_RETURNED | SEEN_LOST);
}

static int keep_recovery(const struct found *f, struct arena *arena, struct site *s) {
  struct site_block *blocks = arena_zalloc(arena, (f->n_recovery + 1) * sizeof *blocks);
  if (!blocks) return -ENOMEM;
  for (uint32_t i = 0; i < f->n_recovery; i++)
    blocks[i] = (struct site_block){.from = f->recovery[i].from, .to = f->recovery[i].to};
  s->recovery = blocks;
  s->n_recovery = f->n_recovery;
  return 0;
}

static int make_site(struct program *p, const struct found *f, const struct judgement *j, const struct map *reached,
                     struct arena *arena, struct site *s) {
  const struct import *m = &p->imports.at[f->import];
  *s = (struct site){.address = f->at, .after = f->after, .floating = m->floating};
  s->function = arena_strdup(arena, m->written);
  s->symbol = arena_strdup(arena, m->name);
  s->library = m->library ? arena_strdup(arena, m->library) : NULL;
  if (!s->function || !s->symbol || (m->library && !s->library)) return -ENOMEM;
  s->unreached = !map_get(reached, f->entry, NULL) && !map_get(&p->part_set, f->entry, NULL);
  int r = verdict_fill(p, f, j, arena, s);
  if (r >= 0) r = keep_recovery(f, arena, s);
  if (r < 0) return r;
  rank_fill(p, f, j, s);
  return reason_fill(m, j, arena, s);
}

static int by_rank(const void *x, const void *y) {
  const struct site *a = x, *b = y;
  if (a->rank != b->rank) return a->rank > b->rank ? -1 : 1;
  int r = strcmp(a->function, b->function);
  return r ? r : (a->address > b->address) - (a->address < b->address);
}

#define SITES_AT_ONCE 64 /* that a worker takes */

/* The sites are made by all workers, each with an arena of its own. */
struct making {
  struct program *p;
  const struct judgement *js;
  const struct map *reached;
  struct site *sites;
  struct part {
    struct arena arena;
    int error;
  } * parts;
  size_t next;
};

static void make_sites(void *context, unsigned worker) {
  struct making *m = context;
  struct part *part = &m->parts[worker];
  size_t n = m->p->found.n, from;
  while ((from = __atomic_fetch_add(&m->next, SITES_AT_ONCE, __ATOMIC_RELAXED)) < n && part->error >= 0)
    for (size_t i = from; i < n && i < from + SITES_AT_ONCE && part->error >= 0; i++)
      part->error = make_site(m->p, &m->p->found.at[i], &m->js[i], m->reached, &part->arena, &m->sites[i]);
}

static int make_all_sites(struct program *p, const struct judgement *js, const struct map *reached,
                          struct site_list *l) {
  struct making m = {.p = p, .js = js, .reached = reached, .sites = l->sites};
  m.parts = calloc(p->n_workers, sizeof *m.parts);
  if (!m.parts) return -ENOMEM;
  worker_run(p->n_workers, make_sites, &m);
  int r = 0;
  for (unsigned i = 0; i < p->n_workers; i++) {
    if (m.parts[i].error < 0) r = m.parts[i].error;
    arena_adopt(&l->arena, &m.parts[i].arena);
  }
  free(m.parts);
  l->n = p->found.n;
  return r;
}

static int make_list(struct program *p, const struct judgement *js, struct site_list *l) {
  struct map reached = {0};
  int r = functions_reach(p, &reached);
  l->sites = arena_zalloc(&l->arena, (p->found.n + 1) * sizeof *l->sites);
  if (!l->sites) r = -ENOMEM;
  if (r >= 0) r = make_all_sites(p, js, &reached, l);
  map_done(&reached);
  for (size_t i = 0; i < p->imports.n && !p->found.n && !p->request->n_functions; i++)
    l->unseen += p->imports.at[i].n_errors > 0;
  if (r >= 0) r = where_fill(p, l);
  if (r >= 0 && l->n) qsort(l->sites, l->n, sizeof *l->sites, by_rank);
  return r;
}

static int find_missing(const struct image *img, struct site_list *l, struct err *e) {
  const char *const *needed;
  size_t n = image_needed(img, &needed);
  const char **missing = arena_alloc(&l->arena, (n + 1) * sizeof *missing);
  if (!missing) return -ENOMEM;
  for (size_t i = 0; i < n; i++) {
    char *path = NULL;
    struct err why = {0};
    int r = image_find(needed[i], img, &path, &why);
    free(path);
    if (r < 0 && r != -ENOENT) return err_set(e, r, "%s", why.text);
    if (r >= 0) continue;
    missing[l->n_missing_libraries] = arena_strdup(&l->arena, needed[i]);
    if (!missing[l->n_missing_libraries++]) return -ENOMEM;
  }
  l->missing_libraries = missing;
  return 0;
}

static int find_imported(const struct program *p, struct site_list *l) {
  const struct site_request *r = p->request;
  bool *imported = arena_zalloc(&l->arena, r->n_functions + 1);
  if (!imported) return -ENOMEM;
  for (size_t i = 0; i < r->n_functions; i++)
    imported[i] = imports_has(p, r->functions[i]);
  l->imported = imported;
  return 0;
}

static const char *last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static int check_program(struct program *p, struct profile *profile, struct site_list *ret, struct err *e) {
  struct site_list l = {0};
  int r = program_start(p, profile, e);
  if (r >= 0) r = functions_read(p);
  if (r >= 0) guard_choose(p);
  struct judgement *js = calloc(p->found.n + 1, sizeof *js);
  if (!js) r = -ENOMEM;
  if (r >= 0 && p->request->recovery) r = recovery_ask_callers(p);
  if (r >= 0) r = judge_all(p, js);
  if (r >= 0 && p->request->recovery) r = recovery_find_in_callers(p);
  for (size_t i = 0; i < p->found.n && r >= 0; i++)
    p->imports.at[p->found.at[i].import].looked_at |= looks_at(&js[i]);
  if (r >= 0) neighbours_notice(p, js);
  if (r >= 0) r = make_list(p, js, &l);
  if (r >= 0) r = find_missing(p->image, &l, e);
  if (r >= 0) r = find_imported(p, &l);
  free(js);
  l.program = arena_strdup(&l.arena, p->request->program);
  l.module = arena_strdup(&l.arena, last_part(image_path(p->image)));
  l.build_id = arena_strdup(&l.arena, image_build_id(p->image));
  if (r >= 0 && (!l.program || !l.module || !l.build_id)) r = -ENOMEM;
  if (r < 0)
    site_list_done(&l);
  else
    *ret = l;
  return r;
}

static int check_image(const struct site_request *request, const struct image *img, struct site_list *ret,
                       struct err *e) {
  struct profile profile = {0};
  struct program p = {.request = request, .image = img};
  if (!image_is_dynamic(img))
    return err_set(e, -EINVAL,
                   "%s: is statically linked: there are no calls of libraries to see (check the program linked "
                   "dynamically, or the libraries it is made of)",
                   request->program);
  int r = check_program(&p, &profile, ret, e);
  program_done(&p);
  profile_done(&profile);
  return r;
}

int site_check(const struct site_request *request, struct site_list *ret, struct err *e) {
  struct image *img = NULL;
  int r = image_open(request->program, &img, e);
  if (r >= 0) r = check_image(request, img, ret, e);
  image_free(img);
  if (r == -ENOMEM && e && !e->text[0]) (void)err_set(e, r, "out of memory");
  return r;
}

void site_list_done(struct site_list *l) { arena_done(&l->arena); }

bool site_counts(const struct site *s, bool all) {
  if (s->suppressed || s->in_baseline) return false;
  return all || s->rank >= SITE_QUIET;
}
