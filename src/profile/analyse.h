/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: from machine code to profiles. */
#pragma once

#include "solver/solver.h"
#include "profile/format.h"

/* --- knowledge.c -------------------------------------------------------------------------------------------------- */

/* What a function has to do with errno: it returns its address; it leaves it alone. */
enum { KNOWN_ADDRESS = 1, KNOWN_LEFT_ALONE };

/* An errno of a system call that is not possible if an argument is VALUE, or, if ONLY, that is possible only then. */
struct errno_condition {
  uint8_t error, arg;
  bool only;
  int32_t value;
};

/* The errors of a system call, and the conditions on them, which follow each other. */
struct known_errors {
  struct errno_set set;
  bool more; /* there are others that are not known */
  uint32_t first_condition, n_conditions;
};

/* An error value that a function of this name (a hash) is known to return. */
struct told_error {
  uint64_t name;
  int64_t value;
};

/* Facts about how a function is called; the last five have a number. */
enum calling_fact {
  CALL_TWICE,
  CALL_STRUCT,
  CALL_FLOAT,
  CALL_RETURNED,
  CALL_DONE,
  CALL_DESCRIPTOR,
  CALL_SIZE,
  CALL_STREAM,
  CALL_CLEARED,
  CALL_EMPTIED,
  CALL_FLUSHED,
  CALL_ARGUMENTS,
  CALL_LENGTH,
  CALL_ITEMS,
  CALL_VECTOR,
  CALL_MESSAGE,
  CALL_THROWS,
  CALL_PATH,
  CALL_FLAGS,
  CALL_MODE,
  CALL_VARIADIC,
  CALL_CODE,
  CALL_MISNAMED,
  CALL_BY_ERRNO,
  CALL_FILE,
  CALL_RETURNS,
  CALL_FORESEEN,
  CALL_OBJECT,
  CALL_ONLY,
  CALL_STARTS,
  CALL_HANDS,
  CALL_WHENCE,
  CALL_FILLS,
};
static inline uint64_t calling_key_of(enum calling_fact fact, uint64_t name_hash) {
  return hash_mix(name_hash + (unsigned)fact);
}
static inline uint64_t calling_key(enum calling_fact fact, const char *name) {
  return calling_key_of(fact, hash_string(name));
}
/* In place of an argument with a stream: libc's variables. */
enum { STREAM_STDIN = 100, STREAM_STDOUT };

/* What the data files say. All zero is valid and knows nothing. */
struct knowledge {
  struct map syscalls; /* number to index in ERRORS */
  VEC(struct known_errors) errors;
  VEC(struct errno_condition) conditions;
  struct map noreturn; /* hash of the name */
  struct map errnos;   /* what functions have to do with errno, by hash of the name */
  struct map success;  /* hash of the name to enum profile_success */
  struct map infallible;
  struct map called;  /* hash of the name to a set of enum calling_fact: most names have none */
  struct map calling; /* hash of the name, mixed with enum calling_fact, to a number: how it is called */
  VEC(struct told_error) told;
  uint64_t hash;              /* of the files' bytes */
  char *kernel, *kernel_note; /* as in struct profile, or NULL */
};

struct profile_facts {
  struct knowledge knowledge;
};

/* Reads the data folder. A missing folder or a bad line is an error that says where. */
int knowledge_load(const char *folder, bool no_cache, struct knowledge *ret, struct err *e) MUST_USE;
/* Adds the errors of system calls from a file of the form of data/kernel/NAME.errors, or from such a text. */
int knowledge_read_errors(struct knowledge *k, const char *path, struct err *e) MUST_USE;
int knowledge_parse_errors(struct knowledge *k, const char *name, char *text, struct err *e) MUST_USE;
/* Without what is known of kernels. */
int knowledge_load_functions(const char *folder, struct knowledge *ret, struct err *e) MUST_USE;
void knowledge_done(struct knowledge *k);
enum solver_known knowledge_syscall(void *knowledge, const struct solver_syscall *call, uint64_t bits[3]);
unsigned knowledge_syscall_args(void *knowledge, uint64_t number);
bool knowledge_noreturn(void *knowledge, const char *name);
bool knowledge_infallible(void *knowledge, const char *name);

/* --- running.c ---------------------------------------------------------------------------------------------------- */

/*
 * Adds the errors of the system calls of the kernel that MURPHY_KERNEL names (an image, or a file of errors), or else
 * of the running one: the file of FOLDER/kernel that is of its release; else its own image, if that can be read; else
 * the file that is nearest to its version.
 */
int knowledge_load_kernel(const char *folder, bool no_cache, struct knowledge *k, struct err *e) MUST_USE;

/* --- images.c ----------------------------------------------------------------------------------------------------- */

/* The libraries asked for, and behind them what they need. */
struct image_set {
  VEC(struct image *) images;
  size_t n_roots;
};

int profile_images_load(const struct profile_request *request, struct image_set *ret, struct err *e) MUST_USE;
/* What the program needs, without the program; what is missing or broken is passed over. */
int profile_images_needs(const struct image *program, struct image_set *ret, struct err *e) MUST_USE;
void profile_images_done(struct image_set *s);

/* --- classify.c --------------------------------------------------------------------------------------------------- */

struct classified {
  uint32_t result; /* number of the result */
  int64_t retval;
  bool wide;
  enum profile_confidence confidence;
};

/* Which of a function's results are errors; at most MAX, sorted by retval. *ret_unknown: of enum profile_unknown. */
size_t classify(const struct solver_results *rs, const struct flow_summary *of, struct classified *ret, size_t max,
                unsigned *ret_unknown);

/* --- evidence.c --------------------------------------------------------------------------------------------------- */

/* "open" or "sub_1234 of libfoo.so". */
void evidence_name(const struct solver *w, uint32_t node, struct text *to);
/* One or two short sentences on how a result came about, each put through ADD. */
int evidence_sentences(const struct solver *w, uint32_t node, const struct solver_result *r,
                       int (*add)(void *context, const char *sentence), void *context) MUST_USE;

/* --- profile_cache.c ---------------------------------------------------------------------------------------------- */

/* The key of one root's profile: what it depends on. 0 if it has no build-id. */
uint64_t cache_key(const struct image_set *set, size_t root, const struct knowledge *k);
/* -ENOENT if it is not there or cannot be used. */
int cache_load(const struct image *img, uint64_t key, struct profile *ret) MUST_USE;
/* The key of what depends on FILES, by path, size and time, on the data and on this program. */
uint64_t cache_file_key(const char *const *files, size_t n, uint64_t data);
/* A text NAME-KEY.errors; *ret is malloc'ed. -ENOENT if it is not there. */
int cache_load_text(const char *name, uint64_t key, char **ret) MUST_USE;
void cache_save_text(const char *name, uint64_t key, const struct text *t);
/* A failure to save is no failure of the analysis. */
void cache_save(const struct image *img, uint64_t key, const struct profile *p);

/* --- analyse.c ---------------------------------------------------------------------------------------------------- */

struct analysis {
  struct knowledge knowledge;
  struct image_set set;
  struct solver *solver;
};

/* Loads images and knowledge; the solver is there but nothing is wanted yet. */
int analysis_start(const struct profile_request *request, struct analysis *ret, struct err *e) MUST_USE;
void analysis_done(struct analysis *a);
/* Adds the function S, whose node is NODE, to the library that is being built. */
int analysis_add_function(struct profile_builder *b, const struct solver *w, uint32_t node,
                          const struct image_symbol *s) MUST_USE;
/* Names the library and errno's home. */
int analysis_add_heads(struct profile_builder *b, const struct solver *w, unsigned image) MUST_USE;
/* The solver over the images of A's set. */
int analysis_make_solver(const struct profile_request *request, struct analysis *a) MUST_USE;
