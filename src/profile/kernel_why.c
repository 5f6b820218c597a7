/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an error of a system call came about: the functions that hand it on, from the entry to the one that makes it.
 *
 * What comes out of the flow room are numbers; those above 133 never reach a program: the restart codes are EINTR to a
 * program whose handler does not restart the call, the others are the kernel's own.
 */
#include "profile/profile_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLES_MAX 64 /* that a call can go through and that are looked at */
#define TABLES_TOLD 3
#define LONGER_MAX 8 /* functions more than on the shortest way, for a table that is more common */

/* ERESTARTSYS, ERESTARTNOHAND, ERESTART_RESTARTBLOCK. ERESTARTNOINTR is never seen. */
static bool is_restart(unsigned number) { return number == 512 || number == 514 || number == 516; }

int kernel_visible(unsigned number) { return is_restart(number) ? EINTR : number <= ERRNO_MAX ? (int)number : 0; }

/* The functions that pass an error on, from the system call to the one that makes it. */
struct chain {
  struct solver_error at[KERNEL_CHAIN_MAX];
  uint32_t nodes[KERNEL_CHAIN_MAX];
  unsigned n;
};

static const struct solver_error *find_error(const struct solver *w, uint32_t node, unsigned number, unsigned place) {
  const struct solver_error *all;
  size_t n = solver_errors(w, node, &all);
  for (size_t i = 0; i < n; i++)
    if (all[i].number == number && all[i].place == place) return &all[i];
  return NULL;
}

static const char *symbol_of(const struct study *s, uint64_t address) {
  const struct image_symbol *sym = image_symbol_before(s->image, address);
  return sym ? sym->name : "?";
}

/* One of the shortest ways, appended. */
static void follow_shortest(const struct solver *w, uint32_t node, unsigned number, unsigned place, struct chain *c) {
  for (; c->n < KERNEL_CHAIN_MAX; c->n++) {
    const struct solver_error *e = find_error(w, node, number, place);
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

/* C up to step I, then through E; empty if that comes back to where it was. */
static void turn(const struct solver *w, const struct chain *c, unsigned i, const struct solver_error *e,
                 struct chain *ret) {
  *ret = *c;
  ret->n = i + 1;
  ret->at[i] = *e;
  follow_shortest(w, e->via - 1, e->from, e->from_place, ret);
  for (unsigned k = i + 1; k < ret->n; k++)
    if (ret->nodes[k] == ret->nodes[i]) ret->n = 0;
}

/*
 * A way that is not much longer than the shortest, through the most common of the tables that the first call through
 * tables can go through: of a disk's file system rather than of the disk itself.
 */
static void follow(const struct study *s, uint32_t node, unsigned number, struct chain *c) {
  struct solver_error others[TABLES_MAX];
  struct chain other;
  unsigned i = 0, shortest;
  c->n = 0;
  follow_shortest(s->solver, node, number, 0, c);
  while (i < c->n && !c->at[i].table)
    i++;
  if (i == c->n) return;
  shortest = c->n;
  size_t n = solver_error_tables(s->solver, c->nodes[i], &c->at[i], others, TABLES_MAX);
  for (size_t k = 0; k < n && k < TABLES_MAX; k++) {
    if (ways_table_rank(&s->ways, symbol_of(s, others[k].table)) >=
        ways_table_rank(&s->ways, symbol_of(s, c->at[i].table)))
      continue;
    turn(s->solver, c, i, &others[k], &other);
    if (other.n && other.n <= shortest + LONGER_MAX) *c = other;
  }
}

static int by_rank(const void *x, const void *y, void *context) {
  const struct solver_error *a = x, *b = y;
  const struct study *s = context;
  size_t m = ways_table_rank(&s->ways, symbol_of(s, a->table)), n = ways_table_rank(&s->ways, symbol_of(s, b->table));
  if (m != n) return m < n ? -1 : 1;
  return (a->table > b->table) - (a->table < b->table);
}

/* "   (or ext4_file_operations, xfs_file_operations)" */
static void tell_other_tables(const struct study *s, uint32_t node, const struct solver_error *e, struct text *to) {
  struct solver_error others[TABLES_MAX];
  size_t n = solver_error_tables(s->solver, node, e, others, TABLES_MAX), told = 0;
  qsort_r(others, n < TABLES_MAX ? n : TABLES_MAX, sizeof *others, by_rank, (void *)s);
  for (size_t i = 0; i < n && i < TABLES_MAX && told < TABLES_TOLD; i++, told++)
    text_addf(to, "%s%s", told ? ", " : " (or ", symbol_of(s, others[i].table));
  if (n > told) text_addf(to, " and %zu more", n - told);
  if (told) text_add(to, ")");
}

static const char *node_name(const struct study *s, uint32_t node) {
  unsigned image;
  uint64_t address;
  solver_node(s->solver, node, &image, &address);
  const struct image_function *f = image_function_at(s->image, address);
  return f && f->name ? f->name : symbol_of(s, address);
}

void kernel_tell_shortly(const struct study *s, const struct kernel_call *call, unsigned number, struct text *to) {
  struct chain c;
  follow(s, call->node, number, &c);
  if (c.n == 0) return;
  text_addf(to, "%s from %s", errno_name(kernel_visible(number)), node_name(s, c.nodes[c.n - 1]));
  const char *before = " through ";
  for (unsigned i = 0; i < c.n; i++) {
    if (!c.at[i].table) continue;
    text_addf(to, "%s%s", before, symbol_of(s, c.at[i].table));
    before = ", ";
  }
}

/* --- why ---------------------------------------------------------------------------------------------------------- */

/* "  ext4_sync_file [ext4]"; its address. */
static uint64_t tell_place(const struct study *s, uint32_t node, struct text *to) {
  unsigned image;
  uint64_t address;
  solver_node(s->solver, node, &image, &address);
  const char *module = image_module_of(s->image, address);
  text_addf(to, "  %s", node_name(s, node));
  if (module) text_addf(to, " [%s]", module);
  return address;
}

static void tell_way(const struct study *s, const struct kernel_call *call, const struct solver_error *error,
                     struct text *to) {
  struct chain c;
  follow(s, call->node, error->number, &c);
  text_addf(to, "%s returns %s", call->name, errno_name(kernel_visible(error->number)));
  if (is_restart(error->number)) text_add(to, " (a signal arrives, and its handler does not restart the call)");
  text_add(to, "\n");
  for (unsigned i = 0; i < c.n; i++) {
    uint64_t address = tell_place(s, c.nodes[i], to);
    bool known = !c.at[i].via && c.at[i].at == address; /* no instruction: data/kernel/ways says so */
    text_addf(to, "\n      0x%llx: ", (unsigned long long)c.at[i].at);
    if (known)
      text_add(to, "from memory that others fill (data/kernel/ways)");
    else
      code_print(s->image, c.at[i].at, to);
    if (c.at[i].table) text_addf(to, "   through %s", symbol_of(s, c.at[i].table));
    tell_other_tables(s, c.nodes[i], &c.at[i], to);
    if (c.at[i].from_place && c.at[i].via) text_addf(to, "   stores it behind argument %u", c.at[i].from_place);
    text_add(to, "\n");
  }
}

/* Where what is not known comes from. */
static void tell_gap(const struct study *s, const struct kernel_call *call, struct text *to) {
  uint32_t node = call->node;
  struct solver_gap gap = solver_errors_gap(s->solver, node);
  if (!gap.there) return;
  text_addf(to, "%s may return more that is not known\n", call->name);
  for (unsigned i = 0; i < KERNEL_CHAIN_MAX; i++, node = gap.via - 1) {
    gap = solver_errors_gap(s->solver, node);
    tell_place(s, node, to);
    if (gap.at) {
      text_addf(to, "\n      0x%llx: ", (unsigned long long)gap.at);
      code_print(s->image, gap.at, to);
    }
    if (gap.via) {
      text_add(to, "\n");
      continue;
    }
    text_add(to, gap.at ? "   leads where is not fully known\n" : "\n      could not be followed whole\n");
    return;
  }
}

static int tell_call(const struct study *s, const struct kernel_call *call, int error, bool all_ways, struct text *to,
                     struct err *e) {
  const struct solver_error *all;
  size_t n = solver_errors(s->solver, call->node, &all), told = 0;
  struct errno_set done = {0};
  for (size_t i = 0; i < n; i++) {
    int number = kernel_visible(all[i].number);
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
  if (!error) tell_gap(s, call, to);
  return 0;
}

/* What is told of a wrong word: the one that was perhaps meant, or HINT. */
static void no_such(const char *before, const char *wrong, const char *const *names, size_t n, const char *hint,
                    struct err *e) {
  const char *near = name_nearest(wrong, names, n);
  if (near)
    (void)err_set(e, -ENOENT, "%s '%s' (did you mean '%s'?)", before, wrong, near);
  else
    (void)err_set(e, -ENOENT, "%s '%s' (%s)", before, wrong, hint);
}

/* "write:ENOSPC", or "write" for all of its errors. */
struct question {
  char call[64];
  int error; /* or 0 */
};

/* Before the kernel is read, which takes time. */
static int read_question(const char *what, struct question *ret, struct err *e) {
  const char *names[ERRNO_MAX];
  size_t length = strcspn(what, ":"), n = 0;
  (void)snprintf(ret->call, sizeof ret->call, "%.*s", (int)(length < sizeof ret->call ? length : 63), what);
  if (!length) return err_set(e, -EINVAL, "--why: no system call in '%s' (as in write:ENOSPC)", what);
  ret->error = what[length] ? errno_number(what + length + 1) : 0;
  if (!what[length] || ret->error) return 0;
  for (int i = 1; i <= ERRNO_MAX; i++)
    if (errno_name(i)) names[n++] = errno_name(i);
  no_such("--why: no errno", what + length + 1, names, n, "as in write:ENOSPC", e);
  return -EINVAL;
}

static int no_such_call(const struct study *s, const char *name, struct err *e) {
  VEC(const char *) names = {0};
  char before[512];
  for (size_t i = 0; i < s->calls.n; i++)
    if (vec_push(&names, s->calls.at[i].name) < 0) break; /* the best of those there is memory for */
  (void)snprintf(before, sizeof before, "%s: no system call", image_path(s->image));
  no_such(before, name, names.at, names.n, "--all without --why lists them", e);
  vec_done(&names);
  return -ENOENT;
}

static int find_call(const struct study *s, const char *name, const struct kernel_call **ret, struct err *e) {
  for (size_t i = 0; i < s->calls.n; i++)
    if (strcmp(s->calls.at[i].name, name) == 0) {
      *ret = &s->calls.at[i];
      return 0;
    }
  return no_such_call(s, name, e);
}

int profile_kernel_why(const struct profile_request *request, const char *what, struct text *to, struct err *e) {
  struct study s = {0};
  struct question q;
  const struct kernel_call *call = NULL;
  int r = read_question(what, &q, e);
  if (r < 0) return r;
  r = study_open(request, &s, e);
  if (r >= 0) r = find_call(&s, q.call, &call, e);
  if (r >= 0) r = solver_run_errors(s.solver);
  if (r >= 0) r = tell_call(&s, call, q.error, request->all_ways, to, e);
  study_done(&s);
  return r < 0 ? r : to->failed ? -ENOMEM : 0;
}
