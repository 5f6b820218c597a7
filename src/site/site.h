/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call sites: the calls of library functions in a program or library, which of their errors are checked, which are
 * not, what becomes of an error that is not, and which blocks run only if a check says failure.
 *
 * Nothing is run. A site list is plain data in its arena, worst first, in an order that depends on the files only.
 */
#pragma once

#include "base/base.h"
#include "image/image.h"
#include "profile/profile.h"

enum site_verdict {
  SITE_NONE,    /* no error is checked */
  SITE_SOME,    /* some are */
  SITE_ALL,     /* all are */
  SITE_UNKNOWN, /* the function's errors are not known, or it is not known that it returns anything */
};

/* What becomes of an error that is not checked. */
enum site_use { USE_IGNORED, USE_USED, USE_DEREFERENCED, USE_RETURNED };

extern const char *const site_verdict_words[4];
extern const char *const site_use_words[4];

/* A place in the source; FILE is NULL if it is not known. */
struct site_line {
  const char *function, *file;
  unsigned line, column;
};

/* A block that runs only if a check says failure. */
struct site_block {
  uint64_t from, to; /* first byte, and the first behind it */
  struct site_line line;
  unsigned last_line; /* in the same file, as far as its instructions are in order; 0 if not known */
};

struct site {
  const char *function; /* as the programmer wrote it */
  const char *symbol;   /* as it is imported */
  const char *library;  /* that defines it */
  uint64_t address;     /* of the call instruction */
  uint64_t after;       /* where the call returns to; 0 for a tail call */
  const char *in;       /* the enclosing function, or the nearest symbol; NULL if there is none */
  uint64_t in_offset;   /* from the start of what IN names; SITE_NO_OFFSET if it was inlined or is in parts */
  struct site_line at;
  const struct site_line *inlined; /* the callers of an inlined function, from the inside out */
  size_t n_inlined;
  enum site_verdict verdict;
  enum site_use use;
  const int64_t *checked, *missing; /* return values, sorted */
  size_t n_checked, n_missing;
  struct errno_set checked_errnos, missing_errnos; /* if they are told apart by errno */
  int64_t retval;                                  /* a missing value with the likeliest errno, for an experiment */
  int error;                                       /* that errno, or 0 */
  const char *reason;
  const struct site_block *recovery;
  size_t n_recovery;
  int rank;         /* the higher the worse; sites below SITE_QUIET are not shown unless asked for */
  int likely;       /* the likeliest of the missing errors: 0 contrived, 3 common */
  bool always;      /* an error is dereferenced on every way */
  bool again;       /* the same was asked before on every way, and answered */
  bool unreached;   /* nothing in the program refers to the code */
  bool floating;    /* the function returns a floating-point number, and cannot be made to fail */
  bool suppressed;  /* a comment in the source says so */
  bool in_baseline; /* accepted before */
};

#define SITE_QUIET 5
/* The rank if the errors were LIKELY, as whoever has seen the call may know. */
int site_rank_if(const struct site *s, int likely);
#define SITE_NO_OFFSET UINT64_MAX

struct site_list {
  struct arena arena;
  const char *program; /* path */
  const char *module;  /* last part of the path */
  const char *build_id;
  struct site *sites;
  size_t n;
  const bool *imported;                 /* by function that was asked for: does the program import it? */
  size_t unseen;                        /* functions that it imports and that can fail, if no call of any was found */
  size_t stale;                         /* sites of this module that a baseline accepts and that are not there */
  const char *const *missing_libraries; /* that it needs and that were not found: calls of them are not judged */
  size_t n_missing_libraries;
};

struct site_request {
  const char *program;
  const char *data;
  const char *const *functions; /* only these, as written or as imported; NULL for all */
  size_t n_functions;
  const char *const *profiles; /* files whose functions go over what is found */
  size_t n_profiles;
  bool unknown;  /* sites of functions with unknown errors too */
  bool recovery; /* recovery code in callers too, if the value is returned */
  unsigned workers;
  void (*progress)(void *context, size_t done, size_t total);
  void *context;
};

/* 0, or a negative errno with a message; *ret only on success. */
int site_check(const struct site_request *request, struct site_list *ret, struct err *e) MUST_USE;
void site_list_done(struct site_list *l);

/* --- names -------------------------------------------------------------------------------------------------------- */

/* What data/aliases knows: which function the programmer wrote, where the binary imports another name. */
struct site_names;
int site_names_load(const char *data, struct site_names **ret, struct err *e) MUST_USE;
void site_names_free(struct site_names *n);
/* "read" for "__read_chk"; IMPORTED itself if it is no alias. */
const char *site_names_written(const struct site_names *n, const char *imported);
/*
 * The names under which WRITTEN may be imported, one after another: the first for AFTER == NULL; NULL behind the last.
 */
const char *site_names_alias(const struct site_names *n, const char *written, const char *after);
/* Where IMPORTED has the written function's argument ARG, both from 0; -1 if it is not to be had. */
int site_names_argument(const struct site_names *n, const char *imported, unsigned arg);

/* --- what is accepted --------------------------------------------------------------------------------------------- */

/* Marks the sites on whose source line a comment says "murphy: ignore" or "murphy: ignore FUNCTION, ...". */
int site_suppress(struct site_list *l) MUST_USE;
/* Does a source accept calls of FUNCTION in LINE, from 1? 1, 0 or -ENOMEM. */
int site_source_accepts(char *bytes, size_t size, unsigned line, const char *function) MUST_USE;

/* Marks the sites that a baseline names; an error says file and line. */
int site_baseline_apply(struct site_list *l, const char *path, struct err *e) MUST_USE;
/* BYTES has room for one more behind SIZE. */
int site_baseline_parse(struct site_list *l, const char *name, char *bytes, size_t size, struct err *e) MUST_USE;

/* Is it to be told: not accepted, not quiet unless ALL? */
bool site_counts(const struct site *s, bool all);

/* --- writing ------------------------------------------------------------------------------------------------------ */

struct site_text_options {
  bool color, all, recovery;
  bool several;      /* programs were asked for: JSON is an array of them, however many could be checked */
  unsigned verdicts; /* which to show: bits by enum site_verdict */
  unsigned columns;
  const char *folder; /* the working folder, or NULL: what is below it gets relative names, but in JSON */
};
void site_write_text(const struct site_list *l, const struct site_text_options *o, struct text *to);
/* All sites. */
void site_write_json(const struct site_list *l, size_t n, const struct site_text_options *o, struct text *to);
void site_write_sarif(const struct site_list *l, size_t n, const struct site_text_options *o, struct text *to);
void site_write_baseline(const struct site_list *l, size_t n, const struct site_text_options *o, struct text *to);
/* LFI's scenario for the sites with VERDICT. */
void site_write_scenario(const struct site_list *l, size_t n, enum site_verdict verdict, struct text *to);

/* --- what can be intercepted -------------------------------------------------------------------------------------- */

/* How one image calls one function. */
struct site_reach {
  uint32_t imports; /* slots that the loader fills with its address */
  uint32_t through; /* calls through such a slot, with the PLT or without */
  uint32_t inside;  /* calls of the image's own definition that no slot is asked for */
  bool defined;     /* the image defines it */
};

/*
 * How IMG calls the functions with these N names: ret[i] for name i. *ret_syscalls: system calls of its own. 0 or
 * -ENOMEM.
 */
int site_reach(const struct image *img, const char *const *names, size_t n, struct site_reach *ret,
               uint64_t *ret_syscalls) MUST_USE;

/* --- how likely an error is --------------------------------------------------------------------------------------- */

/* data/relevance, for who has seen the call with its arguments. */
struct site_likely;

enum site_descriptor {
  DESCRIPTOR_NONE,
  DESCRIPTOR_FILE,
  DESCRIPTOR_DIR,
  DESCRIPTOR_PIPE,
  DESCRIPTOR_SOCKET,
  DESCRIPTOR_TTY,
  DESCRIPTOR_OTHER
};

struct site_call {
  const char *function; /* as it is imported */
  uint64_t args[6];
  unsigned n_args; /* that are known */
  enum site_descriptor descriptor;
  bool nonblocking, writable;      /* of the descriptor */
  bool local;                      /* it is a socket, and so is its other side on this machine */
  bool pending;                    /* of a stream: it has bytes that were not yet written */
  bool any_handler, plain_handler; /* a signal handler is installed; one without SA_RESTART */
};

int site_likely_load(const char *data, struct site_likely **ret, struct err *e) MUST_USE;
void site_likely_free(struct site_likely *l);
/* Does the data say anything about the function? */
bool site_likely_knows(const struct site_likely *l, const char *function);
/* ... about this errno of it? */
bool site_likely_names(const struct site_likely *l, const char *function, int error);
/* The name that a programmer wrote for an imported one. */
const char *site_likely_written(const struct site_likely *l, const char *function);
/* The value of the argument that the call writes to, a descriptor or a stream; false if it writes to none. */
bool site_likely_writes(const struct site_likely *l, const struct site_call *c, uint64_t *ret);
/* Does the function end a descriptor or a stream? */
bool site_likely_closes(const struct site_likely *l, const char *function);
/*
 * 0: never, but for a mistake of the program's own or by what it was given to read, or nothing is known of the
 * function; 1 rare, 2 possible, 3 common.
 */
int site_likely_of(const struct site_likely *l, const struct site_call *c, int error, int64_t retval);
/* The same of a call that does only a part of what it is asked for. */
int site_likely_short(const struct site_likely *l, const struct site_call *c);
/* Is there such a call of the function? */
bool site_likely_shortens(const struct site_likely *l, const char *function);
enum site_trait {
  SITE_PASSES = 1,  /* it does not stay: who tries again will not meet it for ever */
  SITE_ANSWERS = 2, /* it says how the world is (no such file, somebody has it), as a program may expect */
  SITE_LOSES = 4,   /* what was written before may be gone, which nothing shows */
  SITE_LEAVES = 8,  /* something that is not needed any more stays there, and no worse */
  SITE_GUARDS = 16, /* it is about who may do what */
};
/* enum site_trait of an error. */
unsigned site_likely_traits(const struct site_likely *l, const struct site_call *c, int error, int64_t retval);
/*
 * Does nobody expect callers to tell an error of the function from an ordinary answer: it says that there is nothing,
 * or no more, or the stream keeps it for later, as standard output does? FUNCTION: as imported.
 */
bool site_likely_excused(const struct site_likely *l, const char *function);
/* ... because there is nothing? */
bool site_likely_nothing(const struct site_likely *l, const char *function);
/* Does it fail for no other reason than that there is not what it is asked for? */
bool site_likely_absent(const struct site_likely *l, const char *function);
/* Does it write to a stream that keeps the failure for who asks later? Standard output does not count. */
bool site_likely_keeps(const struct site_likely *l, const char *function);
/* Does OTHER tell later that FUNCTION has failed, since the stream has kept that? */
bool site_likely_told_by(const struct site_likely *l, const char *function, const char *other);
/* Does it bring out what the stream holds? If it fails, that is gone, and who closes the stream is not told of it. */
bool site_likely_brings_out(const struct site_likely *l, const char *function);
/* Is its error easily taken for the end of the input? What is made of the rest then looks whole. */
bool site_likely_reads(const struct site_likely *l, const char *function);
/* Does it give the program what it works on, as read(2) does? Without it, results are others. */
bool site_likely_input(const struct site_likely *l, const char *function);
