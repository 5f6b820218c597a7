/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables by name: where they are. Of those of a function that is for each piece of its code, and for some there is
 * nothing: they are in a register that nobody keeps, or nowhere. What expressions mean is in debug_location.c.
 */
#include <dwarf.h>
#include <errno.h>

#include "image/debug_variable.h"

enum { NAMES_MAX = 20000, BLOCK_DEPTH = 64, ORIGINS = 8 };

void variable_note(struct variable_search *s, const char *name) {
  if (s->names.n < NAMES_MAX) (void)vec_push(&s->names, name);
}

const char *variable_near(struct variable_search *s, const char *name, char buffer[100]) {
  const char *near = name_nearest(name, s->names.at, s->names.n);
  buffer[0] = '\0';
  if (near) (void)snprintf(buffer, 100, " (did you mean %.60s?)", near);
  return buffer;
}

bool variable_attr(Dwarf_Die *die, unsigned attribute, Dwarf_Attribute *ret) {
  Dwarf_Die at = *die, next;
  for (unsigned i = 0; i < ORIGINS; i++) {
    if (dwarf_attr(&at, attribute, ret)) return true;
    if (!debug_origin(&at, &next)) return false;
    at = next;
  }
  return false;
}

static bool take_budget(struct variable_search *s) {
  if (s->budget == 0) return false;
  s->budget--;
  return true;
}

bool variable_child(struct variable_search *s, Dwarf_Die *parent, Dwarf_Die *ret) {
  return take_budget(s) && dwarf_child(parent, ret) == 0;
}

bool variable_next(struct variable_search *s, Dwarf_Die *die) {
  return take_budget(s) && dwarf_siblingof(die, die) == 0;
}

static const char *own_name(Dwarf_Die *die) {
  Dwarf_Attribute a;
  return variable_attr(die, DW_AT_name, &a) ? dwarf_formstring(&a) : NULL;
}

static bool is_variable(Dwarf_Die *die) {
  int tag = dwarf_tag(die);
  return tag == DW_TAG_variable || tag == DW_TAG_formal_parameter;
}

/* --- where -------------------------------------------------------------------------------------------------------- */

/* L, from START to END without where the name means an inner variable. */
static int add_unhidden(struct variable_search *s, struct image_location l, uint64_t start, uint64_t end) {
  int r = 0;
  while (start < end && r >= 0) {
    uint64_t stop = end, behind = start;
    for (size_t i = 0; i < s->hidden.n; i++) {
      struct debug_span h = s->hidden.at[i];
      if (!take_budget(s)) return 0;
      if (h.start <= start && h.end > behind) behind = h.end;
      if (h.start > start && h.start < stop) stop = h.start;
    }
    l.start = start;
    l.end = stop;
    if (behind == start) r = vec_push(&s->ret->locations, l);
    start = behind == start ? stop : behind;
  }
  return r;
}

/*
 * From L.start to L.end as far as the block goes, whose ranges are found. Lists can go on behind it, as clang's do: the
 * memory is still there, but the name means something else by then.
 */
static int add_in_block(struct variable_search *s, struct image_location l) {
  int r = 0;
  for (size_t i = 0; i < s->d->found.n && r >= 0; i++) {
    struct debug_span b = s->d->found.at[i];
    if (!take_budget(s)) return 0;
    r = add_unhidden(s, l, b.start > l.start ? b.start : l.start, b.end < l.end ? b.end : l.end);
  }
  return r;
}

static int add_locations(struct variable_search *s, Dwarf_Die *die, Dwarf_Die *block,
                         const struct location_base *base) {
  Dwarf_Attribute a;
  Dwarf_Addr list, start, end;
  Dwarf_Op *ops;
  size_t n;
  Dwarf_Sword number;
  struct image_location l = {0};
  int r = debug_ranges(s->d, block);
  if (r < 0) return r == -EBADMSG ? 0 : r;
  if (dwarf_attr(die, DW_AT_const_value, &a) && dwarf_formsdata(&a, &number) == 0) {
    l.kind = IMAGE_IS_NUMBER;
    l.offset = number;
    l.end = UINT64_MAX;
    return add_in_block(s, l);
  }
  if (!dwarf_attr(die, DW_AT_location, &a)) return 0;
  for (ptrdiff_t at = 0; r >= 0 && (at = dwarf_getlocations(&a, at, &list, &start, &end, &ops, &n)) > 0;) {
    if (!take_budget(s)) return 0;
    if (!location_read(&a, ops, n, base, &l) && !location_of_piece(&a, ops, n, base, s->ret, &l)) continue;
    if (l.kind == IMAGE_IS_ENTRY) s->entered = true;
    l.start = start; /* 0 to the last address: as long as its block is */
    l.end = end;
    r = add_in_block(s, l);
  }
  return r;
}

/* --- of functions ------------------------------------------------------------------------------------------------- */

static int take(struct variable_search *s, Dwarf_Die *die, Dwarf_Die *block, const struct location_base *base) {
  Dwarf_Die type;
  if (!s->found) {
    if (!variable_type(die, &type)) return err_set(s->e, -ENODATA, "the type of '%s' is not known", s->name);
    int r = variable_follow(s, &type);
    if (r < 0) return r;
    s->found = true;
  }
  return add_locations(s, die, block, base);
}

/* In BLOCK, the name is taken, whether or not it is known where that variable is. */
static int hide(struct variable_search *s, Dwarf_Die *block) {
  int r = debug_ranges(s->d, block);
  for (size_t i = 0; i < s->d->found.n && r >= 0; i++)
    r = vec_push(&s->hidden, s->d->found.at[i]);
  return r == -EBADMSG ? 0 : r;
}

/* Inner blocks first: what is in them hides what is outside. */
static int search_block(struct variable_search *s, Dwarf_Die *block, const struct location_base *base, unsigned depth) {
  Dwarf_Die child;
  bool here = false;
  int r = 0;
  if (depth > BLOCK_DEPTH) return 0;
  for (bool more = variable_child(s, block, &child); more && r >= 0; more = variable_next(s, &child))
    if (dwarf_tag(&child) == DW_TAG_lexical_block) r = search_block(s, &child, base, depth + 1);
  for (bool more = variable_child(s, block, &child); more && r >= 0; more = variable_next(s, &child)) {
    const char *name = is_variable(&child) ? own_name(&child) : NULL;
    if (!name) continue;
    if (!s->found) variable_note(s, name);
    if (!s->name || strcmp(name, s->name) != 0) continue;
    r = take(s, &child, block, base);
    here = true;
  }
  return r >= 0 && here && depth > 0 ? hide(s, block) : r;
}

/* The name of argument number S->parameter in the list of DIE; NULL if it has none there. */
static const char *listed_name(struct variable_search *s, Dwarf_Die *die) {
  Dwarf_Die child;
  const char *name = NULL;
  unsigned n = 0;
  for (bool more = variable_child(s, die, &child); more; more = variable_next(s, &child))
    if (dwarf_tag(&child) == DW_TAG_formal_parameter && n++ == s->parameter) name = own_name(&child);
  if (n > s->n_parameters) s->n_parameters = n;
  return name;
}

/*
 * Arguments are found by the name that the number stands for. A copy that the compiler has made of a function may lack
 * some, and the declaration of a member function has types only: what counts is the last one on the way that has names.
 */
static const char *parameter_name(struct variable_search *s, Dwarf_Die *function) {
  Dwarf_Die die = *function, next;
  const char *name = listed_name(s, &die);
  for (unsigned i = 0; i < ORIGINS && debug_origin(&die, &next); i++) {
    const char *other = listed_name(s, &next);
    if (other) name = other;
    die = next;
  }
  return name;
}

/* FUNCTION is what really stands on the stack; SCOPE that, or what was inlined into it. */
static int search_scope(struct variable_search *s, struct debug_scope *scope, Dwarf_Die *function, unsigned depth) {
  const char *name = debug_scope_name(s->d, scope);
  int r = 0;
  if (name && !s->function_found) variable_note(s, name);
  if (name && debug_is_tail(name, s->function, "::")) {
    struct location_base base = location_base(function);
    if (!s->function_found) s->names.n = 0; /* of functions: from now on, those of variables */
    s->function_found = true;
    if (!s->name) s->name = parameter_name(s, &scope->die);
    bool before = s->entered;
    s->entered = false;
    s->hidden.n = 0;
    if (s->name) r = search_block(s, &scope->die, &base, 0);
    if (r >= 0 && s->entered) r = vec_push(&s->callees, *function);
    s->entered |= before;
  }
  for (struct debug_scope *i = scope->inner; i && r >= 0 && depth < DEBUG_DEPTH; i = i->next)
    r = search_scope(s, i, function, depth + 1);
  return r;
}

static int search_functions(struct variable_search *s, struct debug_unit *u) {
  const struct debug_scope *before = NULL;
  int r = 0;
  for (size_t i = 0; i < u->functions.n && r >= 0; i++) {
    struct debug_scope *scope = u->functions.at[i].of;
    if (scope != before) r = search_scope(s, scope, &scope->die, 0);
    before = scope;
  }
  return r;
}

/* --- global ones -------------------------------------------------------------------------------------------------- */

/* Where the variable that DIE defines is: 1; 0 if it does not define any, -ENOTSUP if that cannot be told. */
static int find_place(Dwarf_Die *die, struct image_location *ret) {
  Dwarf_Attribute a;
  Dwarf_Op *ops;
  size_t n;
  *ret = (struct image_location){0};
  if (!dwarf_attr(die, DW_AT_location, &a) || dwarf_getlocation(&a, &ops, &n) != 0 || n == 0) return 0;
  bool placed = location_read(&a, ops, n, &(struct location_base){.known = false}, ret);
  if (placed && ret->kind == IMAGE_AT_STATIC && ret->offset == 0) return 0; /* the linker has left this copy out */
  return placed && (ret->kind == IMAGE_AT_STATIC || ret->kind == IMAGE_AT_THREAD) ? 1 : -ENOTSUP;
}

static int take_global(struct variable_search *s, Dwarf_Die *die) {
  struct image_location l;
  Dwarf_Attribute a;
  Dwarf_Die type;
  int r = find_place(die, &l);
  if (r == 0) return 0;
  if (r < 0) return err_set(s->e, r, "where '%s' is cannot be told: it has no address of its own", s->name);
  s->ret->address = (uint64_t)l.offset;
  s->ret->of_thread = l.kind == IMAGE_AT_THREAD;
  if (!variable_type(die, &type)) return err_set(s->e, -ENODATA, "the type of '%s' is not known", s->name);
  r = variable_follow(s, &type);
  if (r < 0) return r;
  s->found = true;
  s->ret->file = dwarf_diename(&s->unit->body);
  /* In C, there is one of a name that other files see; of others, as of those in namespaces, there may be more. */
  s->alone = s->unit->plain && variable_attr(die, DW_AT_external, &a);
  return 0;
}

/* Another one of the name, at another place: the one that was found need not be the one that is meant. */
static void note_other(struct variable_search *s, Dwarf_Die *die) {
  struct image_location l;
  if (find_place(die, &l) <= 0) return;
  bool same = (uint64_t)l.offset == s->ret->address && (l.kind == IMAGE_AT_THREAD) == s->ret->of_thread;
  if (!same && !s->ret->other) s->ret->other = dwarf_diename(&s->unit->body);
}

/* Is DIE, or what it defines, one of the declarations that are meant, from number FIRST on? */
static bool is_meant(const struct variable_search *s, Dwarf_Die *die, size_t first) {
  Dwarf_Die at = *die, next;
  for (unsigned i = 0; i < ORIGINS; i++) {
    for (size_t k = first; k < s->meant.n; k++)
      if (s->meant.at[k] == at.addr) return true;
    if (!debug_origin(&at, &next)) return false;
    at = next;
  }
  return false;
}

/* Remembers declarations of the name that are in the namespaces and types that the search asks for. */
static int note_meant(struct variable_search *s, Dwarf_Die *die, const struct debug_within *in) {
  bool member = dwarf_tag(die) == DW_TAG_member; /* DWARF 4 has those here that are one for all objects */
  if (member && !dwarf_hasattr(die, DW_AT_external)) return 0;
  const char *name = debug_string(die, DW_AT_name);
  if (!name) return 0;
  variable_note(s, name);
  return strcmp(name, s->name) == 0 && debug_within_is(in, name, s->qualified) ? vec_push(&s->meant, die->addr) : 0;
}

/* Definitions stand where they are written, which need not be where the variable was declared. */
static int take_defined(struct variable_search *s, Dwarf_Die *die, const struct debug_within *in) {
  (void)in;
  if (dwarf_tag(die) != DW_TAG_variable || !is_meant(s, die, s->first_meant)) return 0;
  if (!s->found) return take_global(s, die);
  note_other(s, die);
  return 0;
}

/* Variables of a unit, in namespaces and types too. */
static int each_variable(struct variable_search *s, Dwarf_Die *space, const struct debug_within *in,
                         int (*found)(struct variable_search *, Dwarf_Die *, const struct debug_within *)) {
  Dwarf_Die child;
  int r = 0;
  if (in && in->depth > BLOCK_DEPTH) return 0;
  for (bool more = variable_child(s, space, &child); more && r >= 0; more = variable_next(s, &child)) {
    struct debug_within inside;
    int tag = dwarf_tag(&child);
    if (tag == DW_TAG_variable || tag == DW_TAG_member) r = found(s, &child, in);
    if (debug_within_enter(in, &child, &inside)) r = each_variable(s, &child, &inside, found);
  }
  return r;
}

static int search_globals(struct variable_search *s, struct debug_unit *u) {
  const char *file = s->file ? dwarf_diename(&u->body) : NULL;
  if (s->alone || s->ret->other || (s->file && !(file && debug_is_tail(file, s->file, "/")))) return 0;
  s->first_meant = s->meant.n;
  s->unit = u;
  int r = each_variable(s, &u->body, NULL, note_meant);
  return r < 0 || s->meant.n == s->first_meant ? r : each_variable(s, &u->body, NULL, take_defined);
}

/* Programs that were optimized as a whole have definitions in other units than what they define. */
static int search_others(struct variable_search *s) {
  int r = 0;
  s->first_meant = 0;
  for (size_t i = 0; i < s->d->units.n && r >= 0 && s->meant.n > 0 && !s->found; i++) {
    s->unit = s->d->units.at[i];
    r = each_variable(s, &s->unit->body, NULL, take_defined);
  }
  return r;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

static int search_units(struct image_debug *d, void *context) {
  struct variable_search *s = context;
  int r = debug_index(d);
  if (r == -ENOMEM) return r;
  r = 0;
  for (size_t i = 0; i < d->units.n && r >= 0 && !s->alone; i++) {
    struct debug_unit *u = d->units.at[i];
    if (debug_unit_load(d, u) == -ENOMEM) return -ENOMEM;
    r = s->function ? search_functions(s, u) : search_globals(s, u);
  }
  if (r >= 0 && !s->function && !s->found) r = search_others(s);
  for (size_t i = 0; i < d->units.n && r >= 0 && s->callees.n; i++)
    r = entry_search(s, d->units.at[i]);
  return r;
}

/* "file.c::": how long it is, with the colons; 0 if NAME does not start so. A file has a dot before the colons. */
static size_t file_length(const char *name) {
  const char *colons = strstr(name, "::");
  size_t n = colons ? (size_t)(colons - name) : 0;
  const char *dot = n ? memchr(name, '.', n) : NULL;
  return dot && !memchr(name, '[', n) && !memchr(name, '>', n) ? n + 2 : 0;
}

/* "file.c::space::name.member": the parts, in the arena. */
static int split(struct variable_search *s, const char *name) {
  size_t skipped = s->function ? 0 : file_length(name);
  if (skipped) {
    char *file = arena_memdup(&s->d->arena, name, skipped);
    if (!file) return -ENOMEM;
    file[skipped - 2] = '\0';
    s->file = file;
    name += skipped;
  }
  size_t n = strcspn(name, ".[-"), from = 0;
  for (size_t i = 0; i + 1 < n; i++)
    if (name[i] == ':' && name[i + 1] == ':') from = i + 2;
  char *copy = arena_alloc(&s->d->arena, n + 1);
  if (!copy) return -ENOMEM;
  memcpy(copy, name, n);
  copy[n] = '\0';
  s->qualified = copy;
  s->name = copy + from;
  s->path = name + n;
  return n == from ? err_set(s->e, -EINVAL, "'%s' does not start with a name", name) : 0;
}

/* What there is instead, if it is not much. */
static const char *list_names(const struct variable_search *s, char buffer[100]) {
  size_t n = 0;
  for (size_t i = 0; i < s->names.n; i++) {
    bool again = false;
    for (size_t k = 0; k < i && !again; k++)
      again = strcmp(s->names.at[k], s->names.at[i]) == 0;
    if (again || n + strlen(s->names.at[i]) + 12 > 100) continue;
    n += (size_t)snprintf(buffer + n, 100 - n, "%s%s", n ? ", " : " (it has ", s->names.at[i]);
  }
  (void)snprintf(buffer + n, 100 - n, "%s", n ? ")" : "");
  return buffer;
}

static int not_found(struct variable_search *s) {
  char near[100];
  if (s->function && !s->function_found)
    return err_set(s->e, -ESRCH, "no function '%s'%s", s->function, variable_near(s, s->function, near));
  if (s->function && !s->name)
    return err_set(s->e, -ENOENT, "%s has no argument %u (it has %u)", s->function, s->parameter + 1, s->n_parameters);
  if (!s->function && s->meant.n > 0)
    return err_set(s->e, -ENOENT, "'%s' is declared, but is nowhere: the compiler or the linker has left it out",
                   s->qualified);
  if (s->file) return err_set(s->e, -ENOENT, "no global variable '%s' in %s", s->qualified, s->file);
  (void)variable_near(s, s->name, near);
  if (s->function && !*near && s->names.n <= 64) (void)list_names(s, near);
  return err_set(s->e, -ENOENT, "no %s '%s'%s%s%s", s->function ? "variable or argument" : "global variable",
                 s->function ? s->name : s->qualified, s->function ? " in " : "", s->function ? s->function : "", near);
}

int image_debug_variable(struct image_debug *d, const char *function, const char *name, unsigned parameter,
                         struct image_variable *ret, struct err *e) {
  struct variable_search s = {.d = d, .function = function, .parameter = parameter, .path = "", .ret = ret, .e = e};
  s.budget = d->whole; /* a question of its own: there may be many, one for each variable of a scenario */
  s.whole = name ? name : "the argument";
  memset(ret, 0, sizeof *ret);
  ret->local = function != NULL;
  int r = name ? split(&s, name) : 0;
  if (r >= 0) r = debug_guard(d, search_units, &s);
  if (r >= 0 && !s.found) r = not_found(&s);
  if (r == -ENOMEM) r = err_set(e, -ENOMEM, "out of memory");
  vec_done(&s.names);
  vec_done(&s.hidden);
  vec_done(&s.callees);
  vec_done(&s.meant);
  if (r < 0) image_variable_done(ret);
  return r < 0 ? r : 0;
}

void image_variable_done(struct image_variable *v) {
  vec_done(&v->locations);
  vec_done(&v->entries);
}
