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
  const char *at; /* in the path */
  Dwarf_Die type; /* of what is reached */
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

/* In bytes; not of arrays, which nobody asks about. */
static bool type_size(Dwarf_Die *type, uint64_t *ret) {
  if (read_number(type, DW_AT_byte_size, ret)) return true;
  *ret = 8;
  return dwarf_tag(type) == DW_TAG_pointer_type;
}

static bool is_pointer(Dwarf_Die *type) {
  int tag = dwarf_tag(type);
  return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

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

static void step_on(struct way *w, int64_t bytes) {
  struct image_variable *v = w->s->ret;
  v->steps[v->n_steps - 1] = (int64_t)((uint64_t)v->steps[v->n_steps - 1] + (uint64_t)bytes);
}

/* --- members ------------------------------------------------------------------------------------------------------ */

static int64_t member_offset(Dwarf_Die *member) {
  uint64_t n;
  return read_number(member, DW_AT_data_member_location, &n) ? (int64_t)n : 0;
}

/* A declaration of a type stands for the one that is defined in the same file. */
static bool defined_type(Dwarf_Die *type) { return !dwarf_hasattr(type, DW_AT_declaration); }

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

/* The member NAME of a structure, also of one without a name inside of it. 1, 0, or a negative errno. */
static int find_member(struct way *w, Dwarf_Die *record, const char *name, size_t n, unsigned depth) {
  Dwarf_Die child, type;
  if (depth > MEMBER_DEPTH) return 0;
  for (bool more = variable_child(w->s, record, &child); more; more = variable_next(w->s, &child)) {
    int tag = dwarf_tag(&child);
    const char *own = debug_string(&child, DW_AT_name);
    if (tag != DW_TAG_member && tag != DW_TAG_inheritance) continue;
    if (!variable_type(&child, &type)) continue;
    if (own) variable_note(w->s, own);
    if (own && strlen(own) == n && memcmp(own, name, n) == 0) {
      step_on(w, member_offset(&child));
      note_bits(w, &child);
      w->type = type;
      return 1;
    }
    if (own && tag == DW_TAG_member) continue;
    struct way inside = *w;
    int64_t before = w->s->ret->steps[w->s->ret->n_steps - 1];
    step_on(w, member_offset(&child));
    if (find_member(&inside, &type, name, n, depth + 1) > 0) {
      w->type = inside.type;
      return 1;
    }
    w->s->ret->steps[w->s->ret->n_steps - 1] = before;
  }
  return 0;
}

static int follow_member(struct way *w) {
  char text[100], near[100];
  size_t n = 0;
  while (isalnum((unsigned char)w->at[n]) || w->at[n] == '_' || w->at[n] == '$')
    n++;
  if (n == 0) return FAIL(w->s, -EINVAL, "a member's name is missing in '%s'", w->s->whole);
  int r = is_pointer(&w->type) ? follow_pointer(w) : 0;
  if (r < 0) return r;
  (void)snprintf(text, sizeof text, "%.*s", (int)(n < 90 ? n : 90), w->at);
  if (!is_record(&w->type)) return FAIL(w->s, -EINVAL, "there is no structure that could have a member '%s'", text);
  if (!defined_type(&w->type)) return FAIL(w->s, -ENODATA, "of the structure with '%s' only its name is known", text);
  w->s->names.n = 0;
  if (find_member(w, &w->type, w->at, n, 0) <= 0)
    return err_set(w->s->e, -ENOENT, "no member '%s'%s", text, variable_near(w->s, text, near));
  w->at += n;
  return 0;
}

/* --- elements ----------------------------------------------------------------------------------------------------- */

/* An array of one dimension. */
static bool is_simple(struct variable_search *s, Dwarf_Die *array) {
  Dwarf_Die child;
  unsigned n = 0;
  for (bool more = variable_child(s, array, &child); more; more = variable_next(s, &child))
    n += dwarf_tag(&child) == DW_TAG_subrange_type;
  return n == 1;
}

/* How many elements it has; false if that is not known, as of int x[] at a structure's end. */
static bool array_count(struct variable_search *s, Dwarf_Die *array, uint64_t *ret) {
  Dwarf_Die child;
  for (bool more = variable_child(s, array, &child); more; more = variable_next(s, &child)) {
    if (dwarf_tag(&child) != DW_TAG_subrange_type) continue;
    if (read_number(&child, DW_AT_count, ret)) return true;
    bool known = read_number(&child, DW_AT_upper_bound, ret) && *ret < ELEMENTS_MAX;
    *ret += known;
    return known;
  }
  return false;
}

/*
 * An array of 0 or 1 elements may be the old way to write one without a size at the end of a structure, of which there
 * are as many as memory was allocated for.
 */
static int check_index(struct way *w, unsigned long index) {
  uint64_t n;
  if (!array_count(w->s, &w->type, &n) || n <= 1 || index < n) return 0;
  return FAIL(w->s, -ERANGE, "'%s' has an index that is too large (there are [0] to [%llu])", w->s->whole,
              (unsigned long long)n - 1);
}

static int follow_element(struct way *w) {
  char *end;
  Dwarf_Die element;
  uint64_t size;
  errno = 0;
  unsigned long index = strtoul(w->at, &end, 10);
  if (!isdigit((unsigned char)*w->at) || *end != ']' || errno || index > ELEMENTS_MAX)
    return FAIL(w->s, -EINVAL, "'%s' has no number in its brackets (write [3])", w->s->whole);
  bool array = dwarf_tag(&w->type) == DW_TAG_array_type, pointer = is_pointer(&w->type);
  if (!array && !pointer) return FAIL(w->s, -EINVAL, "what is before [ in '%s' has no elements", w->s->whole);
  if (array && !is_simple(w->s, &w->type)) return FAIL(w->s, -ENOTSUP, "'%s' has several dimensions", w->s->whole);
  int r = pointer ? follow_pointer(w) : check_index(w, index);
  if (r < 0) return r;
  if (pointer)
    element = w->type;
  else if (!variable_type(&w->type, &element))
    return FAIL(w->s, -EINVAL, "the elements in '%s' have no type", w->s->whole);
  if (!type_size(&element, &size) || size > ELEMENTS_MAX)
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
  int tag = dwarf_tag(&w->type);
  if (tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type) {
    int r = follow_pointer(w);
    if (r < 0) return r;
    tag = dwarf_tag(&w->type);
  }
  bool to_type = variable_type(&w->type, &to);
  switch (tag) {
  case DW_TAG_pointer_type:
    v->width = 8;
    v->pointer = true;
    v->characters = to_type && is_character(&to);
    return 0;
  case DW_TAG_array_type:
    v->characters = to_type && is_character(&to);
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
