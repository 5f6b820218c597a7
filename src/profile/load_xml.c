/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the XML form: that of the LFI paper and of xml_write.c, and what people make of them by hand.
 *
 * Elements are taken as they come, no tree is built; unknown elements end the reading, so depth is bounded.
 */
#include "profile/format.h"
#include "xml/xml.h"

#include <errno.h>
#include <string.h>

enum attribute {
  FORMAT,
  ERRNO_MODULE,
  ERRNO_OFFSET,
  LIBRARY,
  NAME,
  PATH,
  BUILD_ID,
  MODULES,
  MODULES_MISSING,
  FUNCTIONS_ONLY,
  VERSION,
  SYSCALL,
  UNKNOWN,
  RETVAL,
  WIDE,
  ERRNO_UNKNOWN,
  CONFIDENCE,
  TYPE,
  MODULE,
  OFFSET,
  ARGUMENT,
  ERRNO,
  VALUE,
  WIDTH,
  N_ATTRIBUTES
};

static const char *const attribute_names[N_ATTRIBUTES] = {
    [FORMAT] = "format",
    [ERRNO_MODULE] = "errno-module",
    [ERRNO_OFFSET] = "errno-offset",
    [LIBRARY] = "library",
    [NAME] = "name",
    [PATH] = "path",
    [BUILD_ID] = "build-id",
    [MODULES] = "modules",
    [MODULES_MISSING] = "modules-missing",
    [FUNCTIONS_ONLY] = "functions-only",
    [VERSION] = "version",
    [SYSCALL] = "syscall",
    [UNKNOWN] = "unknown",
    [RETVAL] = "retval",
    [WIDE] = "wide",
    [ERRNO_UNKNOWN] = "errno-unknown",
    [TYPE] = "type",
    [CONFIDENCE] = "confidence",
    [MODULE] = "module",
    [OFFSET] = "offset",
    [ARGUMENT] = "argument",
    [ERRNO] = "errno",
    [VALUE] = "value",
    [WIDTH] = "width",
};

struct reader;

enum { PROFILE, LIBRARY_ELEMENT, FUNCTION, ERROR_CODES, SIDE_EFFECT, EVIDENCE, N_ELEMENTS, DOCUMENT = N_ELEMENTS };

static const char *const element_names[N_ELEMENTS] = {
    [PROFILE] = "profile",         [LIBRARY_ELEMENT] = "library", [FUNCTION] = "function",
    [ERROR_CODES] = "error-codes", [SIDE_EFFECT] = "side-effect", [EVIDENCE] = "evidence",
};

struct element {
  unsigned parents;    /* bit of each element that it may be in; of the one behind the last for the document */
  unsigned attributes; /* bit of each that it may have */
  bool text;           /* may hold text */
  int (*open)(struct reader *r);
  int (*close)(struct reader *r);
};

struct reader {
  const struct profile_source *source;
  struct profile_builder *b;
  unsigned inside[N_ELEMENTS + 1];  /* which elements are open */
  size_t starts[N_ELEMENTS + 1];    /* where their tags start */
  size_t depth;                     /* of both */
  size_t content;                   /* where the content of the innermost starts */
  const char *values[N_ATTRIBUTES]; /* of the newest element */
  size_t places[N_ATTRIBUTES];      /* where those that it has start */
  struct text text;                 /* content of the innermost, if it may hold text */
  struct arena scratch;             /* values, until the next element */
  bool bare;                        /* functions are directly in <profile> */
  bool formatted;                   /* <profile> says its format: not the paper's */
};

/* --- positions and messages --------------------------------------------------------------------------------------- */

static unsigned innermost(const struct reader *r) { return r->depth ? r->inside[r->depth - 1] : DOCUMENT; }

static size_t tag_start(const struct reader *r) { return r->depth ? r->starts[r->depth - 1] : 0; }

/* Where the value of the innermost side effect is written: its attribute, or the first character of its content. */
static size_t value_start(const struct reader *r) {
  if (r->values[VALUE]) return r->places[VALUE];
  size_t at = r->content;
  while (at < r->source->size && strchr(" \t\r\n", r->source->bytes[at]))
    at++;
  return at;
}

#define FAIL_AT(r, offset, ...) profile_source_error((r)->source, offset, -EINVAL, __VA_ARGS__)
#define FAIL_ATTRIBUTE(r, which, ...) FAIL_AT(r, (r)->places[which], __VA_ARGS__)

static int no_memory(struct reader *r) { return profile_source_no_memory(r->source); }

/* --- values of attributes ----------------------------------------------------------------------------------------- */

static int must_have(struct reader *r, enum attribute which) {
  const char *name = attribute_names[which];
  if (r->values[which]) return 0;
  return FAIL_AT(r, tag_start(r), "<%s> has no %s (write %s=\"…\")", element_names[innermost(r)], name, name);
}

/* A copy in the profile; NULL stays NULL. */
static int keep(struct reader *r, enum attribute which, const char **ret) {
  if (!r->values[which]) return 0;
  const char *copy = profile_builder_string(r->b, r->values[which]);
  if (!copy) return no_memory(r);
  *ret = copy;
  return 0;
}

static int get_number(struct reader *r, enum attribute which, int64_t *ret) {
  const char *s = r->values[which];
  int e = number_parse(s, ret);
  if (e == -ERANGE)
    return FAIL_ATTRIBUTE(r, which, "%s=\"%.60s\" does not fit into 64 bits", attribute_names[which], s);
  if (e < 0)
    return FAIL_ATTRIBUTE(r, which, "%s=\"%.60s\" is not a number (write it as -1 or 0x1f)", attribute_names[which], s);
  return 0;
}

/* Offsets are hexadecimal in the paper's figure, without 0x; digits alone are decimal. */
static int get_offset(struct reader *r, enum attribute which, uint64_t *ret) {
  const char *s = r->values[which];
  char hex[32];
  if (s[strspn(s, "0123456789abcdefABCDEF")] == '\0' && s[strspn(s, "0123456789")] != '\0' &&
      strlen(s) < sizeof hex - 2) {
    (void)snprintf(hex, sizeof hex, "0x%s", s);
    s = hex;
  }
  int64_t value;
  if (number_parse(s, &value) < 0)
    return FAIL_ATTRIBUTE(r, which, "%s=\"%.60s\" is not an offset (write it as 0x1f)", attribute_names[which],
                          r->values[which]);
  *ret = (uint64_t)value;
  return 0;
}

static int get_word(struct reader *r, enum attribute which, const char *const *words, size_t n, unsigned *ret) {
  if (profile_read_word(r->values[which], words, n, ret) == 0) return 0;
  return profile_source_bad_word(r->source, r->places[which], attribute_names[which], r->values[which], words, n);
}

static int get_truth(struct reader *r, enum attribute which, bool *ret) {
  static const char *const words[] = {"false", "true"};
  unsigned word = 0;
  int e = r->values[which] ? get_word(r, which, words, COUNT(words), &word) : 0;
  if (e == 0) *ret = word;
  return e;
}

/* --- elements ----------------------------------------------------------------------------------------------------- */

static int check_format(struct reader *r) {
  int64_t format;
  if (!r->values[FORMAT]) return 0;
  int e = get_number(r, FORMAT, &format);
  if (e == 0 && format != PROFILE_FORMAT)
    e = FAIL_ATTRIBUTE(r, FORMAT, "format %lld is not known, only %d (it needs a newer murphy)", (long long)format,
                       PROFILE_FORMAT);
  r->formatted = true;
  return e;
}

/* Where errno lives, from one of the two pairs of attributes. */
static int learn_errno_home(struct reader *r, enum attribute module, enum attribute where) {
  uint64_t offset = 0;
  if (!r->values[module]) return r->values[where] ? must_have(r, module) : 0;
  int e = r->values[where] ? get_offset(r, where, &offset) : must_have(r, where);
  if (e < 0) return e;
  e = profile_builder_errno_at(r->b, r->values[module], offset);
  if (e == -EEXIST)
    return FAIL_ATTRIBUTE(r, module, "errno is at %s+0x%llx above, and cannot be at another place here",
                          r->b->result.errno_module, (unsigned long long)r->b->result.errno_offset);
  return e < 0 ? no_memory(r) : 0;
}

static int open_profile(struct reader *r) {
  int e = check_format(r);
  if (e == 0) e = learn_errno_home(r, ERRNO_MODULE, ERRNO_OFFSET);
  /* In case there are functions without a <library> around them. */
  if (e == 0) e = keep(r, LIBRARY, &r->b->library.name);
  if (e == 0) e = keep(r, PATH, &r->b->library.path);
  return e == 0 ? keep(r, BUILD_ID, &r->b->library.build_id) : e;
}

static int end_library(struct reader *r) {
  if (!r->b->library.name) r->b->library.name = "";
  return profile_builder_end_library(r->b) < 0 ? no_memory(r) : 0;
}

static int close_profile(struct reader *r) { return r->bare ? end_library(r) : 0; }

static int keep_words(struct reader *r, enum attribute which, const char **ret) {
  if (r->values[which] && !profile_is_words(r->values[which]))
    return FAIL_ATTRIBUTE(r, which, "not names of modules (letters, digits and _, with spaces between them)");
  return keep(r, which, ret);
}

static int open_library(struct reader *r) {
  if (r->bare) return FAIL_AT(r, tag_start(r), "there are functions outside of a <library> above (put them into one)");
  r->b->library = (struct profile_library){0};
  int e = must_have(r, NAME);
  if (e == 0) e = keep(r, NAME, &r->b->library.name);
  if (e == 0) e = keep(r, PATH, &r->b->library.path);
  if (e == 0) e = keep_words(r, MODULES, &r->b->library.modules);
  if (e == 0) e = keep_words(r, MODULES_MISSING, &r->b->library.modules_missing);
  if (e == 0) e = get_truth(r, FUNCTIONS_ONLY, &r->b->library.functions_only);
  return e == 0 ? keep(r, BUILD_ID, &r->b->library.build_id) : e;
}

/* Words with commas between them. */
static int get_unknown(struct reader *r, unsigned *ret) {
  unsigned bits = 0;
  for (const char *s = r->values[UNKNOWN]; s;) {
    s += strspn(s, " \t\r\n");
    size_t n = strcspn(s, ","), trimmed = n;
    while (trimmed && strchr(" \t\r\n", s[trimmed - 1]))
      trimmed--;
    unsigned bit = profile_reason_bit(s, trimmed);
    if (!bit) {
      char one[64];
      (void)snprintf(one, sizeof one, "%.*s", (int)(trimmed < sizeof one ? trimmed : sizeof one - 1), s);
      return profile_source_bad_reason(r->source, r->places[UNKNOWN], one);
    }
    bits |= bit;
    s = s[n] ? s + n + 1 : NULL;
  }
  *ret = bits;
  return 0;
}

static int get_syscall(struct reader *r, unsigned *ret) {
  int64_t number;
  int e = get_number(r, SYSCALL, &number);
  if (e == 0 && (number < 0 || number >= SYSCALL_MAX))
    e = FAIL_ATTRIBUTE(r, SYSCALL, "%lld is not the number of a system call (they are from 0 to %d)", (long long)number,
                       SYSCALL_MAX - 1);
  if (e == 0) *ret = (unsigned)number + 1;
  return e;
}

static int open_function(struct reader *r) {
  if (r->inside[r->depth - 2] == PROFILE) {
    if (r->b->libraries.n > 0)
      return FAIL_AT(r, tag_start(r), "this function is outside of a <library> (put it into one)");
    r->bare = true;
  }
  int e = must_have(r, NAME);
  if (e == 0 && !r->values[NAME][0]) e = FAIL_ATTRIBUTE(r, NAME, "the function's name is empty");
  if (e == 0) e = keep(r, NAME, &r->b->function.name);
  if (e == 0) e = keep(r, VERSION, &r->b->function.version);
  if (e == 0 && r->values[SYSCALL]) e = get_syscall(r, &r->b->function.syscall);
  return e == 0 ? get_unknown(r, &r->b->function.unknown) : e;
}

static int close_function(struct reader *r) {
  const char *name = r->b->function.name;
  int e = profile_builder_end_function(r->b);
  if (e == -EEXIST)
    return FAIL_AT(r, tag_start(r), "function %.60s is there twice (put its error codes together)", name);
  return e < 0 ? no_memory(r) : 0;
}

static int open_error_codes(struct reader *r) {
  struct profile_error *error = &r->b->error;
  *error = (struct profile_error){0};
  unsigned confidence = PROFILE_CERTAIN; /* whoever writes by hand knows */
  int e = must_have(r, RETVAL);
  if (e == 0) e = get_number(r, RETVAL, &error->retval);
  if (e == 0) e = get_truth(r, WIDE, &error->wide);
  if (e == 0) e = get_truth(r, ERRNO_UNKNOWN, &error->errno_unknown);
  if (e == 0 && r->values[CONFIDENCE])
    e = get_word(r, CONFIDENCE, profile_confidence_words, COUNT(profile_confidence_words), &confidence);
  error->confidence = confidence;
  return e;
}

static int close_error_codes(struct reader *r) {
  int64_t retval = r->b->error.retval;
  int e = profile_builder_end_error(r->b);
  if (e == -EEXIST)
    return FAIL_AT(r, tag_start(r), "retval %lld is there twice in this function (put the side effects together)",
                   (long long)retval);
  return e < 0 ? no_memory(r) : 0;
}

static int close_evidence(struct reader *r) {
  const char *copy = profile_builder_string(r->b, r->text.n ? r->text.at : "");
  if (r->text.failed || !copy || vec_push(&r->b->evidence, copy) < 0) return no_memory(r);
  return 0;
}

/* --- side effects ------------------------------------------------------------------------------------------------- */

/* The value as attribute or content, without the space around it; NULL if there is none. */
static const char *written_value(struct reader *r) {
  if (r->values[VALUE]) return r->values[VALUE];
  if (!r->text.n) return NULL;
  char *s = r->text.at + strspn(r->text.at, " \t\r\n"), *end = r->text.at + r->text.n;
  while (end > s && strchr(" \t\r\n", end[-1]))
    *--end = '\0';
  return *s ? s : NULL;
}

static int get_value(struct reader *r, const char *written, int64_t *ret) {
  if (!written) return FAIL_AT(r, tag_start(r), "<side-effect> has no value (write it between the tags)");
  if (number_parse(written, ret) == 0) return 0;
  bool name = errno_number(written) != 0;
  return FAIL_AT(r, value_start(r), "\"%.60s\" is not a number (write %s%.60s%s)", written, name ? "errno=\"" : "",
                 name ? written : "it as -1 or 0x1f", name ? "\"" : "");
}

/* The paper writes errno's values with the kernel's sign: -9 for EBADF. */
static int close_errno(struct reader *r, const char *written) {
  int number = 0;
  int64_t value;
  int e = learn_errno_home(r, MODULE, OFFSET);
  if (e == 0 && r->values[ERRNO] && profile_read_errno(r->values[ERRNO], &number) < 0)
    e = profile_source_bad_errno(r->source, r->places[ERRNO], r->values[ERRNO]);
  if (e == 0 && (written || !number)) {
    e = get_value(r, written, &value);
    if (e == 0 && number == 0 && value >= -ERRNO_MAX && value <= ERRNO_MAX) number = (int)(value < 0 ? -value : value);
    if (e == 0 && value != number && value != -number)
      e = FAIL_AT(r, value_start(r), "%.60s is %d, but the value is %lld (correct one of them)", r->values[ERRNO],
                  number, (long long)value);
  }
  if (e == 0) errno_set_add(&r->b->error.errnos, number);
  return e;
}

/* In a file that does not say its format, a thread-local number of libc that could be an errno is one. */
static bool like_the_paper(const struct reader *r, unsigned kind, const char *written) {
  int64_t value;
  if (r->formatted || kind != SIDE_TLS || r->values[NAME] || !written || number_parse(written, &value) < 0)
    return false;
  if (!r->values[MODULE] || strncmp(r->values[MODULE], "libc.so", 7) != 0) return false;
  return value >= -ERRNO_MAX && value <= ERRNO_MAX && errno_name((int)(value < 0 ? -value : value));
}

static int get_argument(struct reader *r, unsigned *ret) {
  int64_t argument;
  int e = must_have(r, ARGUMENT);
  if (e == 0) e = get_number(r, ARGUMENT, &argument);
  if (e == 0 && (argument < 1 || argument > 64))
    e = FAIL_ATTRIBUTE(r, ARGUMENT, "argument=\"%lld\" is not an argument (they count from 1)", (long long)argument);
  if (e == 0) *ret = (unsigned)argument;
  return e;
}

static int get_width(struct reader *r, unsigned *ret) {
  int64_t width;
  int e = get_number(r, WIDTH, &width);
  if (e == 0 && !profile_read_width(width, ret))
    e = FAIL_ATTRIBUTE(r, WIDTH, "width=\"%lld\" is not a width (write 1, 2, 4 or 8 bytes)", (long long)width);
  return e;
}

static int get_place(struct reader *r, struct profile_side *place) {
  bool argument = place->kind == SIDE_ARG;
  int e = argument ? get_argument(r, &place->argument) : must_have(r, MODULE);
  if (e == 0 && !argument) e = must_have(r, OFFSET);
  if (e == 0 && r->values[argument ? MODULE : ARGUMENT])
    e = FAIL_ATTRIBUTE(r, argument ? MODULE : ARGUMENT, "a side effect on %s has no %s (remove it)",
                       argument ? "an argument" : "a variable", attribute_names[argument ? MODULE : ARGUMENT]);
  if (e == 0) e = keep(r, MODULE, &place->module);
  if (e == 0) e = keep(r, NAME, &place->name);
  if (e == 0 && r->values[WIDTH]) e = get_width(r, &place->width);
  return e == 0 && r->values[OFFSET] ? get_offset(r, OFFSET, &place->offset) : e;
}

static int close_side_effect(struct reader *r) {
  if (r->text.failed) return no_memory(r);
  const char *written = written_value(r);
  unsigned kind = SIDE_TLS;
  int e = r->values[ERRNO] ? 0 : must_have(r, TYPE);
  if (e == 0 && r->values[TYPE]) e = get_word(r, TYPE, profile_side_types, COUNT(profile_side_types), &kind);
  if (e < 0) return e;
  if (r->values[ERRNO] && kind != SIDE_TLS)
    return FAIL_ATTRIBUTE(r, ERRNO, "errno is thread-local (write type=\"TLS\", or remove errno)");
  if (r->values[ERRNO] || like_the_paper(r, kind, written)) return close_errno(r, written);
  struct profile_side place = {.kind = kind};
  int64_t value;
  e = get_place(r, &place);
  if (e == 0) e = get_value(r, written, &value);
  if (e == 0 && profile_builder_side(r->b, &place, value) < 0) e = no_memory(r);
  return e;
}

static int nothing(struct reader *r) {
  (void)r;
  return 0;
}

#define BIT(x) (1u << (x))

static const struct element elements[N_ELEMENTS] = {
    [PROFILE] = {BIT(DOCUMENT),
                 BIT(FORMAT) | BIT(ERRNO_MODULE) | BIT(ERRNO_OFFSET) | BIT(LIBRARY) | BIT(PATH) | BIT(BUILD_ID), false,
                 open_profile, close_profile},
    [LIBRARY_ELEMENT] = {BIT(PROFILE),
                         BIT(NAME) | BIT(PATH) | BIT(BUILD_ID) | BIT(MODULES) | BIT(MODULES_MISSING) |
                             BIT(FUNCTIONS_ONLY),
                         false, open_library, end_library},
    [FUNCTION] = {BIT(PROFILE) | BIT(LIBRARY_ELEMENT), BIT(NAME) | BIT(VERSION) | BIT(SYSCALL) | BIT(UNKNOWN), false,
                  open_function, close_function},
    [ERROR_CODES] = {BIT(FUNCTION), BIT(RETVAL) | BIT(WIDE) | BIT(ERRNO_UNKNOWN) | BIT(CONFIDENCE), false,
                     open_error_codes, close_error_codes},
    [SIDE_EFFECT] = {BIT(ERROR_CODES),
                     BIT(TYPE) | BIT(MODULE) | BIT(OFFSET) | BIT(NAME) | BIT(ARGUMENT) | BIT(ERRNO) | BIT(VALUE) |
                         BIT(WIDTH),
                     true, nothing, close_side_effect},
    [EVIDENCE] = {BIT(ERROR_CODES), 0, true, nothing, close_evidence},
};

/* --- what is read ------------------------------------------------------------------------------------------------ */

/* The element of this name where the reader is, or a message for its tag at START. */
static int find_element(struct reader *r, const char *name, const char *prefix, size_t start, unsigned *ret) {
  unsigned parent = innermost(r);
  const char *known[N_ELEMENTS] = {0};
  for (unsigned i = 0; i < N_ELEMENTS; i++) {
    if (!(elements[i].parents & BIT(parent))) continue;
    known[i] = element_names[i];
    if (!prefix && strcmp(known[i], name) == 0) {
      *ret = i;
      return 0;
    }
  }
  char written[64], way[160];
  (void)snprintf(written, sizeof written, "%s%s%s", prefix ? prefix : "", prefix ? ":" : "", name);
  if (parent == DOCUMENT) return FAIL_AT(r, start, "<%s> is not a profile (it must start with <profile>)", written);
  return FAIL_AT(r, start, "<%s> cannot be in <%s> (%s)", written, element_names[parent],
                 profile_hint(name, known, N_ELEMENTS, "remove it", way));
}

static int unknown_attribute(struct reader *r, unsigned kind, const struct xml_attribute *a) {
  const char *known[N_ATTRIBUTES] = {0};
  char way[160];
  for (unsigned i = 0; i < N_ATTRIBUTES; i++)
    known[i] = elements[kind].attributes & BIT(i) ? attribute_names[i] : NULL;
  return FAIL_AT(r, a->prefixed ? tag_start(r) : a->at, "<%s> has no attribute %.60s (%s)", element_names[kind],
                 a->name, profile_hint(a->name, known, N_ATTRIBUTES, "remove it", way));
}

/* Copies the attributes that the element has. */
static int take_attributes(struct reader *r, unsigned kind, const struct xml_tag *tag) {
  memset(r->values, 0, sizeof r->values);
  arena_reset(&r->scratch);
  for (size_t i = 0; i < tag->n_attributes; i++) {
    const struct xml_attribute *a = &tag->attributes[i];
    unsigned which = 0;
    while (which < N_ATTRIBUTES && strcmp(attribute_names[which], a->name) != 0)
      which++;
    if (a->prefixed || which == N_ATTRIBUTES || !(elements[kind].attributes & BIT(which)))
      return unknown_attribute(r, kind, a);
    char *value = arena_alloc(&r->scratch, a->length + 1);
    if (!value) return no_memory(r);
    memcpy(value, a->value, a->length);
    value[a->length] = '\0';
    r->values[which] = value;
    r->places[which] = a->at;
  }
  return 0;
}

static int on_open(void *context, const struct xml_tag *tag) {
  struct reader *r = context;
  unsigned kind;
  int e = find_element(r, tag->name, tag->prefix, tag->at, &kind);
  if (e < 0) return e;
  MUST(r->depth < COUNT(r->inside));
  r->inside[r->depth] = kind;
  r->starts[r->depth++] = tag->at;
  r->content = tag->content;
  text_done(&r->text);
  e = take_attributes(r, kind, tag);
  return e == 0 ? elements[kind].open(r) : e;
}

static int on_close(void *context, size_t at) {
  struct reader *r = context;
  (void)at;
  int e = elements[innermost(r)].close(r);
  r->depth--;
  return e;
}

static int on_text(void *context, const char *text, size_t n, size_t at) {
  struct reader *r = context;
  unsigned kind = innermost(r);
  if (elements[kind].text) {
    text_add_bytes(&r->text, text, n);
    return 0;
  }
  size_t blank = 0;
  while (blank < n && strchr(" \t\r\n", text[blank]))
    blank++;
  if (blank == n) return 0;
  bool starts = r->source->size - at >= n && memcmp(r->source->bytes + at, text, n) == 0;
  size_t start = starts ? at : at > n ? at - n : 0;
  return FAIL_AT(r, start + blank, "<%s> cannot hold text (remove it, or make it a comment)", element_names[kind]);
}

static int on_wrong(void *context, size_t at, const char *message) {
  struct reader *r = context;
  return FAIL_AT(r, at, "%s", message);
}

int profile_load_xml(const struct profile_source *s, struct profile_builder *b) {
  static const struct xml_handler handler = {"a profile", on_open, on_close, on_text, on_wrong};
  struct reader r = {.source = s, .b = b};
  int result = xml_read(s->bytes, s->size, &handler, &r, s->e);
  if (result == -ENOMEM) result = no_memory(&r);
  text_done(&r.text);
  arena_done(&r.scratch);
  return result;
}
