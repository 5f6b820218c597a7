/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the readers and writers of profile files share, inside this room: words, positions in a source, and the builder
 * that both readers feed.
 */
#pragma once

#include "profile/profile.h"

/* Version of the files. A file without one is written by hand, or as in the LFI paper. */
#define PROFILE_FORMAT 1
#define SYSCALL_MAX 4096

/* --- profile_words.c ---------------------------------------------------------------------------------------------- */

extern const char *const profile_confidence_words[2]; /* by enum profile_confidence */
extern const char *const profile_side_words[3];       /* by enum profile_side_kind; of JSON */
extern const char *const profile_side_types[3];       /* the same; of XML, in the paper's capitals */

struct profile_reason {
  enum profile_unknown bit;
  const char *word;
};
extern const struct profile_reason profile_reasons[];
extern const size_t profile_n_reasons;

/* What people write; -EINVAL if it is not one. Case does not matter for words; an errno may be a number. */
int profile_read_errno(const char *text, int *ret) MUST_USE;
int profile_read_word(const char *text, const char *const *words, size_t n, unsigned *ret) MUST_USE;
/* The bit of the reason, or 0 if the N bytes at WORD are not one. */
unsigned profile_reason_bit(const char *word, size_t n);
/* Names of letters, digits, _ and -, with one space between them; or nothing. */
bool profile_is_words(const char *s);
/* How many bytes a side is wide; 0: not known. False if NUMBER is nothing that can be stored. */
bool profile_read_width(int64_t number, unsigned *ret) MUST_USE;
/* "libfoo.so.1+0x18 (foo_errno)", "arg 2 + 0x10". */
void profile_side_where(const struct profile_side *side, struct text *to);

/* --- profile_source.c --------------------------------------------------------------------------------------------- */

/* A profile file that is being read. */
struct profile_source {
  const char *name;
  const char *bytes; /* without a byte order mark; all UTF-8, no NUL */
  size_t size;
  struct err *e;
};

/* "name:line:column: message" for the byte at OFFSET. Returns CODE. */
int profile_source_error(const struct profile_source *s, size_t offset, int code, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
int profile_source_no_memory(const struct profile_source *s);

/* "did you mean X?" into BUFFER, or OTHERWISE if nothing is near. Returns BUFFER. */
const char *profile_hint(const char *written, const char *const *known, size_t n, const char *otherwise,
                         char buffer[160]);

/* Messages for what profile_read_* refused. All return -EINVAL. */
int profile_source_bad_errno(const struct profile_source *s, size_t offset, const char *text);
int profile_source_bad_word(const struct profile_source *s, size_t offset, const char *what, const char *text,
                            const char *const *words, size_t n);
int profile_source_bad_reason(const struct profile_source *s, size_t offset, const char *text);

/* --- builder.c ---------------------------------------------------------------------------------------------------- */

/* One value at one place; the places are put together when the error ends. */
struct profile_side_value {
  struct profile_side place; /* without values */
  int64_t value;
};

/*
 * Collects a profile from the top down. A reader fills in library, function and error as it meets their parts (strings
 * from builder_string), and calls the matching end. All return 0, -ENOMEM, or what they say.
 */
struct profile_builder {
  struct profile result;
  struct profile_library library;
  struct profile_function function;
  struct profile_error error;
  VEC(struct profile_library) libraries;
  VEC(struct profile_function) functions;
  VEC(struct profile_error) errors;
  VEC(struct profile_side_value) sides;
  VEC(const char *) evidence;
  VEC(struct profile_side) merged; /* kept for its memory */
  struct map functions_seen, retvals_seen;
  bool brief; /* evidence is not put into words */
};

/* NULL if there is no memory. */
const char *profile_builder_string(struct profile_builder *b, const char *s);
/* Names errno's home. -EEXIST if another one is known already. */
int profile_builder_errno_at(struct profile_builder *b, const char *module, uint64_t offset) MUST_USE;
int profile_builder_side(struct profile_builder *b, const struct profile_side *place, int64_t value) MUST_USE;
/* -EEXIST if the function has an error with this return value already. */
int profile_builder_end_error(struct profile_builder *b) MUST_USE;
/* -EEXIST if the library has a function of this name and version already. */
int profile_builder_end_function(struct profile_builder *b) MUST_USE;
int profile_builder_end_library(struct profile_builder *b) MUST_USE;
/* Moves the result to *ret. */
int profile_builder_finish(struct profile_builder *b, struct profile *ret) MUST_USE;
void profile_builder_done(struct profile_builder *b);

/* --- load_xml.c, load_json.c -------------------------------------------------------------------------------------- */

/* Feed B; errors are in the source's struct err. */
int profile_load_xml(const struct profile_source *s, struct profile_builder *b) MUST_USE;
int profile_load_json(const struct profile_source *s, struct profile_builder *b) MUST_USE;
