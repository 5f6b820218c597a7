/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a variable to a part of it: "a.b->c[3]". A dot behind a pointer is what an arrow is.
 */
#include <ctype.h>
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "image/debug_variable.h"

enum { MEMBER_DEPTH = 16, NAMES_DEPTH = 64, ELEMENTS_MAX = 1 << 30 };

struct way {
  struct variable_search *s;
  const char *at;     /* in the path */
  Dwarf_Die type;     /* of what is reached */
  unsigned dimension; /* of an array of several: how many of them are chosen */
};

#define FAIL(s, code, ...) err_set((s)->e, code, __VA_ARGS__)

static bool is_another_name(Dwarf_Die *type) {
  switch (dwarf_tag(type)) {
  case DW_TAG_typedef:
  case DW_TAG_const_type:
  case DW_TAG_volatile_type:
  case DW_TAG_restrict_type:
  case DW_TAG_atomic_type:
    return true;
  default:
    return false;
  }
}

bool variable_type(Dwarf_Die *die, Dwarf_Die *ret) {
  Dwarf_Attribute a;
  Dwarf_Die type;
  if (!variable_attr(die, DW_AT_type, &a) || !dwarf_formref_die(&a, &type)) return false;
  for (unsigned i = 0; is_another_name(&type); i++) {
    Dwarf_Die next;
    if (i == NAMES_DEPTH || !dwarf_attr(&type, DW_AT_type, &a) || !dwarf_formref_die(&a, &next)) return false;
    type = next;
  }
  *ret = type;
  return true;
}

static bool read_number(Dwarf_Die *die, unsigned attribute, uint64_t *ret) {
  Dwarf_Attribute a;
  Dwarf_Word n;
  if (!dwarf_attr(die, attribute, &a) || dwarf_formudata(&a, &n) != 0) return false;
  *ret = n;
  return true;
}

/* In bytes; of an array, see array_size. */
static bool type_size(Dwarf_Die *type, uint64_t *ret) {
  if (read_number(type, DW_AT_byte_size, ret)) return true;
  *ret = 8;
  return dwarf_tag(type) == DW_TAG_pointer_type;
}

static bool is_reference(Dwarf_Die *type) {
  int tag = dwarf_tag(type);
  return tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

static bool is_pointer(Dwarf_Die *type) { return dwarf_tag(type) == DW_TAG_pointer_type; }

static bool is_record(Dwarf_Die *type) {
  int tag = dwarf_tag(type);
  return tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_class_type;
}

/* One more pointer on the way. */
static int follow_pointer(struct way *w) {
  struct image_variable *v = w->s->ret;
  Dwarf_Die to;
  if (!variable_type(&w->type, &to)) return FAIL(w->s, -EINVAL, "'%s' leads through a pointer to nothing", w->s->whole);
  if (v->n_steps == IMAGE_STEPS) return FAIL(w->s, -E2BIG, "'%s' leads through too many pointers", w->s->whole);
  v->steps[v->n_steps++] = 0;
  w->type = to;
  return 0;
}

/* A reference is what it refers to. */
static int follow_reference(struct way *w) { return is_reference(&w->type) ? follow_pointer(w) : 0; }

static void step_on(struct way *w, int64_t bytes) {
  struct image_variable *v = w->s->ret;
  v->steps[v->n_steps - 1] = (int64_t)((uint64_t)v->steps[v->n_steps - 1] + (uint64_t)bytes);
}

/* --- members ------------------------------------------------------------------------------------------------------ */

/* Where it is in its structure; false if that is computed, as of a virtual base. */
static bool member_offset(Dwarf_Die *member, int64_t *ret) {
  uint64_t n = 0;
  if (dwarf_hasattr(member, DW_AT_data_member_location) && !read_number(member, DW_AT_data_member_location, &n))
    return false;
  *ret = (int64_t)n;
  return true;
}

/* Bits are counted from the start of the structure (DWARF 4 and 5), or from the end of what holds them. */
static void note_bits(struct way *w, Dwarf_Die *member) {
  struct image_variable *v = w->s->ret;
  Dwarf_Die type;
  uint64_t bits, at, size;
  v->bits = 0;
  if (!read_number(member, DW_AT_bit_size, &bits) || bits < 1 || bits > 64) return;
  bool sized = variable_type(member, &type) && type_size(&type, &size) && size >= 1 && size <= 8;
  if (read_number(member, DW_AT_data_bit_offset, &at)) {
    uint64_t width = sized ? size : 8;
    uint64_t start = at / (8 * width) * width;
    step_on(w, (int64_t)start);
    v->bit = (unsigned)(at - 8 * start);
  } else if (read_number(member, DW_AT_bit_offset, &at)) {
    if (!sized || at > 64 || at + bits > 8 * size) return;
    v->bit = (unsigned)(8 * size - at - bits);
  } else {
    v->bit = 0;
  }
  v->bits = (unsigned)bits;
}

static bool is_named(const char *own, const char *name, size_t n) {
  return own && strlen(own) == n && memcmp(own, name, n) == 0;
}

/* What is only declared in this unit may be defined in another. */
static bool define(struct way *w, Dwarf_Die *type) {
  Dwarf_Die whole;
  if (!is_record(type) || !dwarf_hasattr(type, DW_AT_declaration)) return true;
  if (!debug_definition(w->s, type, &whole)) return false;
  *type = whole;
  return true;
}

/* Which member is looked for, and in how many steps from a structure to those that it is derived from. */
struct wanted {
  const char *name;
  size_t n;
  unsigned bases;
};

static int find_member(struct way *w, Dwarf_Die *record, const struct wanted *wanted, unsigned depth);

/* ... in CHILD, a base or a structure without a name. */
static int find_inside(struct way *w, Dwarf_Die *child, const struct wanted *wanted, unsigned depth) {
  struct way inside = *w;
  Dwarf_Die type;
  int64_t *step = &w->s->ret->steps[w->s->ret->n_steps - 1], before = *step, offset;
  if (!variable_type(child, &type) || !define(w, &type)) return 0;
  bool placed = member_offset(child, &offset);
  if (placed) step_on(w, offset);
  int r = find_member(&inside, &type, wanted, depth + 1);
  if (r > 0 && !placed)
    r = FAIL(w->s, -ENOTSUP, "'%s' is in a virtual base, which is elsewhere each time", w->s->whole);
  if (r > 0) w->type = inside.type;
  if (r <= 0) *step = before;
  return r;
}

/* A member of the structure itself. */
static int take_member(struct way *w, Dwarf_Die *member) {
  Dwarf_Die type;
  int64_t offset;
  if (dwarf_hasattr(member, DW_AT_external))
    return FAIL(w->s, -ENOTSUP, "'%s' is a static member (write global(\"type::member\"))", w->s->whole);
  if (!variable_type(member, &type) || !member_offset(member, &offset))
    return FAIL(w->s, -ENOTSUP, "where the member in '%s' is cannot be told", w->s->whole);
  step_on(w, offset);
  note_bits(w, member);
  w->type = type;
  return 1;
}

/* The member of a structure, also of one without a name inside of it, or of its bases. 1, 0, or a negative errno. */
static int find_member(struct way *w, Dwarf_Die *record, const struct wanted *wanted, unsigned depth) {
  Dwarf_Die child;
  int r = 0;
  if (depth > MEMBER_DEPTH) return 0;
  for (bool more = variable_child(w->s, record, &child); more && r == 0; more = variable_next(w->s, &child)) {
    const char *own = debug_string(&child, DW_AT_name);
    if (dwarf_tag(&child) != DW_TAG_member) continue;
    if (own) variable_note(w->s, own);
    if (is_named(own, wanted->name, wanted->n))
      r = take_member(w, &child);
    else if (!own)
      r = find_inside(w, &child, wanted, depth);
  }
  if (r != 0 || wanted->bases == 0) return r;
  struct wanted below = {wanted->name, wanted->n, wanted->bases - 1};
  for (bool more = variable_child(w->s, record, &child); more && r == 0; more = variable_next(w->s, &child))
    if (dwarf_tag(&child) == DW_TAG_inheritance) r = find_inside(w, &child, &below, depth);
  return r;
}

/* A structure's members hide those of the structures that it is derived from, and these those of theirs. */
static int find_nearest(struct way *w, const char *name, size_t n) {
  int r = 0;
  for (unsigned bases = 0; bases <= MEMBER_DEPTH && r == 0; bases++) {
    w->s->names.n = 0;
    r = find_member(w, &w->type, &(struct wanted){name, n, bases}, 0);
  }
  return r;
}

static int follow_member(struct way *w) {
  char text[100], near[100];
  size_t n = 0;
  while (isalnum((unsigned char)w->at[n]) || w->at[n] == '_' || w->at[n] == '$')
    n++;
  if (n == 0) return FAIL(w->s, -EINVAL, "a member's name is missing in '%s'", w->s->whole);
  (void)snprintf(text, sizeof text, "%.*s", (int)(n < 90 ? n : 90), w->at);
  int r = follow_reference(w);
  if (r >= 0 && is_pointer(&w->type)) r = follow_pointer(w);
  if (r >= 0 && !is_record(&w->type))
    r = FAIL(w->s, -EINVAL, "there is no structure that could have a member '%s'", text);
  if (r >= 0 && !define(w, &w->type))
    r = FAIL(w->s, -ENODATA, "of the structure with '%s' only its name is known", text);
  if (r < 0) return r;
  r = find_nearest(w, w->at, n);
  if (r == 0) r = err_set(w->s->e, -ENOENT, "no member '%s'%s", text, variable_near(w->s, text, near));
  if (r < 0) return r;
  w->at += n;
  return 0;
}

/* --- elements ----------------------------------------------------------------------------------------------------- */

/* How many dimensions an array has. */
static unsigned dimensions(struct variable_search *s, Dwarf_Die *array) {
  Dwarf_Die child;
  unsigned n = 0;
  for (bool more = variable_child(s, array, &child); more; more = variable_next(s, &child))
    n += dwarf_tag(&child) == DW_TAG_subrange_type;
  return n;
}

/* How many elements it has in a DIMENSION; false if that is not known, as of int x[] at a structure's end. */
static bool array_count(struct variable_search *s, Dwarf_Die *array, unsigned dimension, uint64_t *ret) {
  Dwarf_Die child;
  for (bool more = variable_child(s, array, &child); more; more = variable_next(s, &child)) {
    if (dwarf_tag(&child) != DW_TAG_subrange_type || dimension-- > 0) continue;
    if (read_number(&child, DW_AT_count, ret)) return *ret < ELEMENTS_MAX;
    bool known = read_number(&child, DW_AT_upper_bound, ret) && *ret < ELEMENTS_MAX;
    *ret += known;
    return known;
  }
  return false;
}

/* How many bytes an array has from the DIMENSION on: as many as what one index more or less is apart. */
static bool array_size(struct variable_search *s, Dwarf_Die *array, unsigned dimension, unsigned depth, uint64_t *ret) {
  Dwarf_Die element;
  uint64_t size, count;
  if (depth > MEMBER_DEPTH || !variable_type(array, &element)) return false;
  bool nested = dwarf_tag(&element) == DW_TAG_array_type;
  if (!(nested ? array_size(s, &element, 0, depth + 1, &size) : type_size(&element, &size))) return false;
  for (unsigned n = dimensions(s, array); dimension < n; dimension++)
    if (!array_count(s, array, dimension, &count) || __builtin_mul_overflow(size, count, &size)) return false;
  *ret = size;
  return true;
}

/*
 * An array of 0 or 1 elements may be the old way to write one without a size at the end of a structure, of which there
 * are as many as memory was allocated for.
 */
static int check_index(struct way *w, unsigned long index) {
  uint64_t n;
  if (!array_count(w->s, &w->type, w->dimension, &n) || n <= 1 || index < n) return 0;
  return FAIL(w->s, -ERANGE, "'%s' has an index that is too large (there are [0] to [%llu])", w->s->whole,
              (unsigned long long)n - 1);
}

/* How far apart the elements are that the next index chooses from, and what they are. */
static bool find_elements(struct way *w, bool pointer, Dwarf_Die *element, uint64_t *size) {
  if (!pointer && w->dimension + 1 < dimensions(w->s, &w->type)) { /* still the same array, with one dimension less */
    *element = w->type;
    return array_size(w->s, element, ++w->dimension, 0, size);
  }
  w->dimension = 0;
  *element = w->type;
  if (!pointer && !variable_type(&w->type, element)) return false;
  if (!define(w, element)) return false;
  return dwarf_tag(element) == DW_TAG_array_type ? array_size(w->s, element, 0, 0, size) : type_size(element, size);
}

static int follow_element(struct way *w) {
  char *end;
  Dwarf_Die element;
  uint64_t size;
  errno = 0;
  unsigned long index = strtoul(w->at, &end, 10);
  if (!isdigit((unsigned char)*w->at) || *end != ']' || errno || index > ELEMENTS_MAX)
    return FAIL(w->s, -EINVAL, "'%s' has no number in its brackets (write [3])", w->s->whole);
  int r = follow_reference(w);
  bool array = dwarf_tag(&w->type) == DW_TAG_array_type, pointer = is_pointer(&w->type);
  if (r >= 0 && !array && !pointer) r = FAIL(w->s, -EINVAL, "what is before [ in '%s' has no elements", w->s->whole);
  if (r >= 0) r = pointer ? follow_pointer(w) : check_index(w, index);
  if (r < 0) return r;
  if (!find_elements(w, pointer, &element, &size) || size > ELEMENTS_MAX)
    return FAIL(w->s, -EINVAL, "how large the elements in '%s' are is not known", w->s->whole);
  step_on(w, (int64_t)(index * size));
  w->type = element;
  w->at = end + 1;
  return 0;
}

/* --- what is reached ---------------------------------------------------------------------------------------------- */

static unsigned encoding(Dwarf_Die *type) { return debug_number(type, DW_AT_encoding); }

static bool is_character(Dwarf_Die *type) {
  uint64_t size;
  return dwarf_tag(type) == DW_TAG_base_type && type_size(type, &size) && size == 1;
}

static int note_number(struct variable_search *s, Dwarf_Die *type) {
  struct image_variable *v = s->ret;
  uint64_t size;
  Dwarf_Die under;
  unsigned how = dwarf_tag(type) == DW_TAG_base_type ? encoding(type) : 0;
  if (!type_size(type, &size) || (size != 1 && size != 2 && size != 4 && size != 8))
    return FAIL(s, -ENOTSUP, "'%s' is not a number of 1, 2, 4 or 8 bytes", s->whole);
  if (how == DW_ATE_float || how == DW_ATE_complex_float)
    return FAIL(s, -ENOTSUP, "'%s' is a floating-point number, and conditions have none", s->whole);
  if (dwarf_tag(type) == DW_TAG_enumeration_type && variable_type(type, &under)) how = encoding(&under);
  v->width = (unsigned)size;
  v->sign = how == DW_ATE_signed || how == DW_ATE_signed_char;
  return 0;
}

static int finish(struct way *w) {
  struct image_variable *v = w->s->ret;
  Dwarf_Die to;
  int r = follow_reference(w), tag = dwarf_tag(&w->type);
  if (r < 0) return r;
  bool to_type = variable_type(&w->type, &to);
  switch (tag) {
  case DW_TAG_pointer_type:
    v->width = 8;
    v->pointer = true;
    v->characters = to_type && is_character(&to);
    return 0;
  case DW_TAG_array_type:
    v->characters = to_type && is_character(&to) && w->dimension + 1 == dimensions(w->s, &w->type);
    return v->characters ? 0 : FAIL(w->s, -EINVAL, "'%s' is an array (write an element: [0])", w->s->whole);
  case DW_TAG_base_type:
  case DW_TAG_enumeration_type:
    return note_number(w->s, &w->type);
  default:
    if (is_record(&w->type)) return FAIL(w->s, -EINVAL, "'%s' is a structure (write one of its members)", w->s->whole);
    return FAIL(w->s, -ENOTSUP, "'%s' is neither a number nor a pointer nor a text", w->s->whole);
  }
}

int variable_follow(struct variable_search *s, Dwarf_Die *type) {
  struct way w = {.s = s, .at = s->path, .type = *type};
  int r = 0;
  s->ret->n_steps = 1;
  s->ret->steps[0] = 0;
  while (*w.at && r >= 0) {
    s->ret->bits = 0;
    if (*w.at == '.' || (w.at[0] == '-' && w.at[1] == '>')) {
      w.at += *w.at == '.' ? 1 : 2;
      r = follow_member(&w);
    } else if (*w.at == '[') {
      w.at++;
      r = follow_element(&w);
    } else {
      r = FAIL(s, -EINVAL, "'%s' does not lead on (write .member, ->member or [3])", w.at);
    }
  }
  return r < 0 ? r : finish(&w);
}
