/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the JSON form: that of json_write.c, and what scripts and people make of it.
 *
 * jansson reads the text, tables say which fields each kind of object has. jansson does not keep positions, so a reader
 * knows at each moment the way from the top to where it is (which element of which member), and if something is wrong
 * there, walks that way again in the text.
 */
#include "profile/format.h"

#include <errno.h>
#include <string.h>

#include <jansson.h>

/* Where the reader is: the INDEX-th part of the value at UP. NULL is the whole file. */
struct place {
  const struct place *up;
  size_t index;
};

struct reader {
  const struct profile_source *source;
  struct profile_builder *b;
  /* What a side says, until its end. */
  struct profile_side side;
  json_t *values;
  const char *where;
  bool unknown, reasons; /* the function's fields */
};

typedef int load_fn(struct reader *r, const struct place *at, json_t *value);

/* A field of an object. */
struct member {
  const char *name;
  unsigned types; /* bit of each json_type that it may have */
  bool required;
  load_fn *load;
};

/* --- positions ---------------------------------------------------------------------------------------------------- */

static size_t skip_space(const struct profile_source *s, size_t at) {
  while (at < s->size && strchr(" \t\r\n", s->bytes[at]))
    at++;
  return at;
}

/* Behind the string that starts AT. */
static size_t skip_string(const struct profile_source *s, size_t at) {
  for (at++; at < s->size && s->bytes[at] != '"'; at++)
    at += s->bytes[at] == '\\';
  return at < s->size ? at + 1 : s->size;
}

/* Behind the value that starts AT; the text is known to be JSON. */
static size_t skip_value(const struct profile_source *s, size_t at) {
  size_t depth = 0;
  while (at < s->size) {
    char c = s->bytes[at];
    if (depth == 0 && strchr(",]} \t\r\n", c)) return at;
    if (c == '"') {
      at = skip_string(s, at);
    } else {
      depth += c == '[' || c == '{';
      at++;
    }
    if ((c == ']' || c == '}') && --depth == 0) return at;
    if (c == '"' && depth == 0) return at;
  }
  return at;
}

/* The start of the INDEX-th part of the object or array AT. */
static size_t part_of(const struct profile_source *s, size_t at, size_t index) {
  bool object = at < s->size && s->bytes[at] == '{';
  at = skip_space(s, at + 1);
  for (;; index--) {
    if (object) at = skip_space(s, skip_space(s, skip_string(s, at)) + 1);
    if (index == 0 || at >= s->size) return at;
    at = skip_space(s, skip_value(s, at));
    at = skip_space(s, at + 1);
  }
}

static size_t offset_of(const struct profile_source *s, const struct place *place) {
  return place ? part_of(s, offset_of(s, place->up), place->index) : skip_space(s, 0);
}

#define FAIL(r, at, ...) profile_source_error((r)->source, offset_of((r)->source, at), -EINVAL, __VA_ARGS__)

static int no_memory(struct reader *r) { return profile_source_no_memory(r->source); }

/* --- objects and arrays ------------------------------------------------------------------------------------------- */

#define TYPE(name) (1u << JSON_##name)
#define TYPE_BOOL (TYPE(TRUE) | TYPE(FALSE))

static const char *type_name(unsigned types) {
  static const struct {
    unsigned type;
    const char *name;
  } names[] = {
      {TYPE(OBJECT), "an object {…}"}, {TYPE(ARRAY), "an array […]"}, {TYPE(STRING), "a string"},
      {TYPE(INTEGER), "an integer"},   {TYPE(TRUE), "true or false"},
  };
  for (size_t i = 0; i < COUNT(names); i++)
    if (types & names[i].type) return names[i].name;
  return "null";
}

static int check_type(struct reader *r, const struct place *at, const char *name, json_t *value, unsigned types) {
  if (types & 1u << json_typeof(value)) return 0;
  return FAIL(r, at, "%s must be %s", name, type_name(types));
}

static int unknown_member(struct reader *r, const struct place *at, const char *what, const char *key,
                          const struct member *members, size_t n) {
  const char *known[16] = {0};
  MUST(n <= COUNT(known));
  for (size_t i = 0; i < n; i++)
    known[i] = members[i].name;
  char way[160];
  return FAIL(r, at, "%s has no field \"%.60s\" (%s)", what, key, profile_hint(key, known, n, "remove it", way));
}

static int load_object(struct reader *r, const struct place *at, const char *what, json_t *object,
                       const struct member *members, size_t n) {
  int e = check_type(r, at, what, object, TYPE(OBJECT));
  struct place here = {.up = at};
  unsigned seen = 0;
  /* jansson keeps the order of the text. */
  for (void *i = e < 0 ? NULL : json_object_iter(object); i; i = json_object_iter_next(object, i), here.index++) {
    const char *key = json_object_iter_key(i);
    json_t *value = json_object_iter_value(i);
    size_t which = 0;
    while (which < n && strcmp(members[which].name, key) != 0)
      which++;
    if (which == n) return unknown_member(r, &here, what, key, members, n);
    seen |= 1u << which;
    e = check_type(r, &here, key, value, members[which].types);
    if (e == 0) e = members[which].load(r, &here, value);
    if (e < 0) return e;
  }
  for (size_t i = 0; e == 0 && i < n; i++)
    if (members[i].required && !(seen >> i & 1)) return FAIL(r, at, "%s has no field \"%s\"", what, members[i].name);
  return e;
}

static int load_array(struct reader *r, const struct place *at, json_t *array, load_fn *load) {
  for (struct place here = {.up = at}; here.index < json_array_size(array); here.index++) {
    int e = load(r, &here, json_array_get(array, here.index));
    if (e < 0) return e;
  }
  return 0;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

/* A copy in the profile; null becomes NULL. */
static int keep(struct reader *r, json_t *value, const char **ret) {
  const char *copy = json_is_null(value) ? NULL : profile_builder_string(r->b, json_string_value(value));
  if (!copy && !json_is_null(value)) return no_memory(r);
  *ret = copy;
  return 0;
}

/* A string, because not all that reads JSON keeps 64 bits; a number is fine too. */
static int get_offset(struct reader *r, const struct place *at, json_t *value, uint64_t *ret) {
  int64_t offset = json_integer_value(value);
  if (json_is_string(value) && number_parse(json_string_value(value), &offset) < 0)
    return FAIL(r, at, "\"%.60s\" is not an offset (write it as \"0x1f\")", json_string_value(value));
  *ret = (uint64_t)offset;
  return 0;
}

static int get_word(struct reader *r, const struct place *at, const char *what, json_t *value, const char *const *words,
                    size_t n, unsigned *ret) {
  const char *s = json_string_value(value);
  if (profile_read_word(s, words, n, ret) == 0) return 0;
  return profile_source_bad_word(r->source, offset_of(r->source, at), what, s, words, n);
}

/* --- a side ------------------------------------------------------------------------------------------------------- */

static int load_kind(struct reader *r, const struct place *at, json_t *value) {
  unsigned kind;
  int e = get_word(r, at, "kind", value, profile_side_words, COUNT(profile_side_words), &kind);
  if (e == 0) r->side.kind = kind;
  return e;
}

static int load_where(struct reader *r, const struct place *at, json_t *value) {
  (void)at;
  r->where = json_string_value(value);
  return 0;
}

static int check_value(struct reader *r, const struct place *at, json_t *value) {
  return check_type(r, at, "a value", value, TYPE(INTEGER));
}

static int load_values(struct reader *r, const struct place *at, json_t *value) {
  r->values = value;
  if (json_array_size(value) == 0) return FAIL(r, at, "values is empty (remove this side)");
  return load_array(r, at, value, check_value);
}

static int load_module(struct reader *r, const struct place *at, json_t *value) {
  (void)at;
  return keep(r, value, &r->side.module);
}

static int load_variable(struct reader *r, const struct place *at, json_t *value) {
  (void)at;
  return keep(r, value, &r->side.name);
}

static int load_side_offset(struct reader *r, const struct place *at, json_t *value) {
  return get_offset(r, at, value, &r->side.offset);
}

static int load_argument(struct reader *r, const struct place *at, json_t *value) {
  json_int_t argument = json_integer_value(value);
  if (argument < 1 || argument > 64)
    return FAIL(r, at, "%lld is not an argument (they count from 1)", (long long)argument);
  r->side.argument = (unsigned)argument;
  return 0;
}

static int load_width(struct reader *r, const struct place *at, json_t *value) {
  json_int_t width = json_integer_value(value);
  if (!profile_read_width(width, &r->side.width))
    return FAIL(r, at, "%lld is not a width (write 1, 2, 4 or 8 bytes)", (long long)width);
  return 0;
}

/* The readable place must be that of the other fields, or an edit of it would be lost without a word. */
static int check_where(struct reader *r, const struct place *at) {
  struct text where = {0};
  profile_side_where(&r->side, &where);
  int e = 0;
  if (where.failed)
    e = no_memory(r);
  else if (r->where && strcmp(r->where, where.at) != 0)
    e = FAIL(r, at, "where is \"%.80s\", but the other fields say \"%.80s\" (remove where, or correct it)", r->where,
             where.at);
  text_done(&where);
  return e;
}

static int load_side(struct reader *r, const struct place *at, json_t *value) {
  static const struct member members[] = {
      {"kind", TYPE(STRING), true, load_kind},
      {"where", TYPE(STRING), false, load_where},
      {"values", TYPE(ARRAY), true, load_values},
      {"module", TYPE(STRING) | TYPE(NULL), false, load_module},
      {"name", TYPE(STRING) | TYPE(NULL), false, load_variable},
      {"offset", TYPE(STRING) | TYPE(INTEGER), false, load_side_offset},
      {"argument", TYPE(INTEGER), false, load_argument},
      {"width", TYPE(INTEGER), false, load_width},
  };
  r->side = (struct profile_side){0};
  r->where = NULL;
  int e = load_object(r, at, "side", value, members, COUNT(members));
  if (e < 0) return e;
  bool argument = r->side.kind == SIDE_ARG;
  if (argument ? !r->side.argument : !r->side.module)
    return FAIL(r, at, "side has no field \"%s\"", argument ? "argument" : "module");
  if (argument ? r->side.module != NULL : r->side.argument != 0)
    return FAIL(r, at, "a side on %s has no field \"%s\" (remove it)", argument ? "an argument" : "a variable",
                argument ? "module" : "argument");
  e = check_where(r, at);
  for (size_t i = 0; e == 0 && i < json_array_size(r->values); i++)
    if (profile_builder_side(r->b, &r->side, json_integer_value(json_array_get(r->values, i))) < 0) e = no_memory(r);
  return e;
}

/* --- an error ----------------------------------------------------------------------------------------------------- */

static int load_retval(struct reader *r, const struct place *at, json_t *value) {
  (void)at;
  r->b->error.retval = json_integer_value(value);
  return 0;
}

static int load_errno(struct reader *r, const struct place *at, json_t *value) {
  char digits[32];
  int number, e = check_type(r, at, "an errno", value, TYPE(STRING) | TYPE(INTEGER));
  if (e < 0) return e;
  (void)snprintf(digits, sizeof digits, "%lld", (long long)json_integer_value(value));
  const char *s = json_is_string(value) ? json_string_value(value) : digits;
  if (profile_read_errno(s, &number) < 0) return profile_source_bad_errno(r->source, offset_of(r->source, at), s);
  errno_set_add(&r->b->error.errnos, number);
  return 0;
}

static int load_errnos(struct reader *r, const struct place *at, json_t *value) {
  return load_array(r, at, value, load_errno);
}

static int load_errno_unknown(struct reader *r, const struct place *at, json_t *value) {
  (void)at;
  r->b->error.errno_unknown = json_is_true(value);
  return 0;
}

static int load_wide(struct reader *r, const struct place *at, json_t *value) {
  (void)at;
  r->b->error.wide = json_is_true(value);
  return 0;
}

static int load_sides(struct reader *r, const struct place *at, json_t *value) {
  return load_array(r, at, value, load_side);
}

static int load_confidence(struct reader *r, const struct place *at, json_t *value) {
  unsigned word;
  int e = get_word(r, at, "confidence", value, profile_confidence_words, COUNT(profile_confidence_words), &word);
  if (e == 0) r->b->error.confidence = word;
  return e;
}

static int load_sentence(struct reader *r, const struct place *at, json_t *value) {
  const char *sentence = NULL;
  int e = check_type(r, at, "evidence", value, TYPE(STRING));
  if (e == 0) e = keep(r, value, &sentence);
  if (e == 0 && vec_push(&r->b->evidence, sentence) < 0) e = no_memory(r);
  return e;
}

static int load_evidence(struct reader *r, const struct place *at, json_t *value) {
  return load_array(r, at, value, load_sentence);
}

static int load_error(struct reader *r, const struct place *at, json_t *value) {
  static const struct member members[] = {
      {"retval", TYPE(INTEGER), true, load_retval},
      {"errno", TYPE(ARRAY), false, load_errnos},
      {"errno_unknown", TYPE_BOOL, false, load_errno_unknown},
      {"wide", TYPE_BOOL, false, load_wide},
      {"side", TYPE(ARRAY), false, load_sides},
      {"confidence", TYPE(STRING), false, load_confidence},
      {"evidence", TYPE(ARRAY), false, load_evidence},
  };
  r->b->error = (struct profile_error){.confidence = PROFILE_CERTAIN};
  int e = load_object(r, at, "error", value, members, COUNT(members));
  if (e < 0) return e;
  long long retval = r->b->error.retval;
  e = profile_builder_end_error(r->b);
  if (e == -EEXIST) return FAIL(r, at, "retval %lld is there twice in this function (put them together)", retval);
  return e < 0 ? no_memory(r) : 0;
}

/* --- a function --------------------------------------------------------------------------------------------------- */

static int load_function_name(struct reader *r, const struct place *at, json_t *value) {
  if (json_string_length(value) == 0) return FAIL(r, at, "the function's name is empty");
  return keep(r, value, &r->b->function.name);
}

static int load_version(struct reader *r, const struct place *at, json_t *value) {
  (void)at;
  return keep(r, value, &r->b->function.version);
}

static int load_syscall(struct reader *r, const struct place *at, json_t *value) {
  json_int_t number = json_integer_value(value);
  if (json_is_null(value)) return 0;
  if (number < 0 || number >= SYSCALL_MAX)
    return FAIL(r, at, "%lld is not the number of a system call (they are from 0 to %d)", (long long)number,
                SYSCALL_MAX - 1);
  r->b->function.syscall = (unsigned)number + 1;
  return 0;
}

static int load_errors(struct reader *r, const struct place *at, json_t *value) {
  return load_array(r, at, value, load_error);
}

static int load_unknown(struct reader *r, const struct place *at, json_t *value) {
  (void)at;
  r->unknown = json_is_true(value);
  return 0;
}

static int load_reason(struct reader *r, const struct place *at, json_t *value) {
  int e = check_type(r, at, "a reason", value, TYPE(STRING));
  if (e < 0) return e;
  unsigned bit = profile_reason_bit(json_string_value(value), json_string_length(value));
  if (!bit) return profile_source_bad_reason(r->source, offset_of(r->source, at), json_string_value(value));
  r->b->function.unknown |= bit;
  return 0;
}

static int load_reasons(struct reader *r, const struct place *at, json_t *value) {
  r->reasons = true;
  return load_array(r, at, value, load_reason);
}

static int load_function(struct reader *r, const struct place *at, json_t *value) {
  static const struct member members[] = {
      {"name", TYPE(STRING), true, load_function_name},
      {"version", TYPE(STRING) | TYPE(NULL), false, load_version},
      {"syscall", TYPE(INTEGER) | TYPE(NULL), false, load_syscall},
      {"errors", TYPE(ARRAY), false, load_errors},
      {"unknown", TYPE_BOOL, false, load_unknown},
      {"unknown_because", TYPE(ARRAY), false, load_reasons},
  };
  r->unknown = r->reasons = false;
  int e = load_object(r, at, "function", value, members, COUNT(members));
  if (e < 0) return e;
  if (r->unknown != (r->b->function.unknown != 0))
    return FAIL(r, at, "unknown is %s, but unknown_because is %s (correct one of them)", r->unknown ? "true" : "false",
                r->reasons ? r->unknown ? "empty" : "not empty" : "missing");
  const char *name = r->b->function.name;
  e = profile_builder_end_function(r->b);
  if (e == -EEXIST) return FAIL(r, at, "function %.60s is there twice (put its errors together)", name);
  return e < 0 ? no_memory(r) : 0;
}

/* --- libraries and the whole -------------------------------------------------------------------------------------- */

static int load_library_name(struct reader *r, const struct place *at, json_t *value) {
  (void)at;
  return keep(r, value, &r->b->library.name);
}

static int load_path(struct reader *r, const struct place *at, json_t *value) {
  (void)at;
  return keep(r, value, &r->b->library.path);
}

static int load_build_id(struct reader *r, const struct place *at, json_t *value) {
  (void)at;
  return keep(r, value, &r->b->library.build_id);
}

/* ["a","b"] as "a b". */
static int load_words(struct reader *r, const struct place *at, json_t *value, const char **ret) {
  struct text words = {0};
  struct place here = {.up = at};
  int e = 0;
  for (; here.index < json_array_size(value) && e == 0; here.index++) {
    const char *word = json_string_value(json_array_get(value, here.index));
    if (!word || !*word || strchr(word, ' ') || !profile_is_words(word))
      e = FAIL(r, &here, "not the name of a module (letters, digits and _)");
    else
      text_addf(&words, "%s%s", here.index ? " " : "", word);
  }
  *ret = e == 0 && !words.failed ? profile_builder_string(r->b, words.at ? words.at : "") : NULL;
  text_done(&words);
  return e == 0 && !*ret ? no_memory(r) : e;
}

static int load_modules(struct reader *r, const struct place *at, json_t *value) {
  return load_words(r, at, value, &r->b->library.modules);
}

static int load_modules_missing(struct reader *r, const struct place *at, json_t *value) {
  return load_words(r, at, value, &r->b->library.modules_missing);
}

static int load_functions_only(struct reader *r, const struct place *at, json_t *value) {
  (void)at;
  r->b->library.functions_only = json_is_true(value);
  return 0;
}

static int load_functions(struct reader *r, const struct place *at, json_t *value) {
  return load_array(r, at, value, load_function);
}

static int load_library(struct reader *r, const struct place *at, json_t *value) {
  static const struct member members[] = {
      {"name", TYPE(STRING), true, load_library_name},
      {"path", TYPE(STRING) | TYPE(NULL), false, load_path},
      {"build_id", TYPE(STRING) | TYPE(NULL), false, load_build_id},
      {"modules", TYPE(ARRAY), false, load_modules},
      {"modules_missing", TYPE(ARRAY), false, load_modules_missing},
      {"functions_only", TYPE_BOOL, false, load_functions_only},
      {"functions", TYPE(ARRAY), true, load_functions},
  };
  int e = load_object(r, at, "library", value, members, COUNT(members));
  if (e == 0 && profile_builder_end_library(r->b) < 0) e = no_memory(r);
  return e;
}

static int load_format(struct reader *r, const struct place *at, json_t *value) {
  json_int_t format = json_integer_value(value);
  if (format == PROFILE_FORMAT) return 0;
  return FAIL(r, at, "format %lld is not known, only %d (it needs a newer murphy)", (long long)format, PROFILE_FORMAT);
}

static int load_errno_module(struct reader *r, const struct place *at, json_t *value) {
  (void)at;
  return keep(r, value, &r->b->result.errno_module);
}

static int load_errno_offset(struct reader *r, const struct place *at, json_t *value) {
  return json_is_null(value) ? 0 : get_offset(r, at, value, &r->b->result.errno_offset);
}

static int load_kernel(struct reader *r, const struct place *at, json_t *value) {
  (void)at;
  return keep(r, value, &r->b->result.kernel);
}

static int load_kernel_note(struct reader *r, const struct place *at, json_t *value) {
  (void)at;
  return keep(r, value, &r->b->result.kernel_note);
}

static int load_libraries(struct reader *r, const struct place *at, json_t *value) {
  return load_array(r, at, value, load_library);
}

static int load_top(struct reader *r, json_t *value) {
  static const struct member members[] = {
      {"format", TYPE(INTEGER), false, load_format},
      {"errno_module", TYPE(STRING) | TYPE(NULL), false, load_errno_module},
      {"errno_offset", TYPE(STRING) | TYPE(INTEGER) | TYPE(NULL), false, load_errno_offset},
      {"kernel", TYPE(STRING) | TYPE(NULL), false, load_kernel},
      {"kernel_note", TYPE(STRING) | TYPE(NULL), false, load_kernel_note},
      {"libraries", TYPE(ARRAY), true, load_libraries},
  };
  return load_object(r, NULL, "profile", value, members, COUNT(members));
}

int profile_load_json(const struct profile_source *s, struct profile_builder *b) {
  json_error_t error;
  errno = 0;
  json_t *top = json_loadb(s->bytes, s->size, JSON_REJECT_DUPLICATES, &error);
  /* jansson blames the text when it has no memory for a token; malloc's errno tells the truth. */
  if (!top && (errno == ENOMEM || json_error_code(&error) == json_error_out_of_memory))
    return profile_source_no_memory(s);
  if (!top)
    return profile_source_error(s, error.position > 0 ? (size_t)error.position - 1 : 0, -EINVAL, "%s", error.text);
  struct reader r = {.source = s, .b = b};
  int e = load_top(&r, top);
  json_decref(top);
  return e;
}
