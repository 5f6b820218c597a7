/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fault profiles: for each exported function, the error values it can return, and what else it sets when it does.
 *
 * A profile comes from machine code (profile_analyse), from a file (profile_load) or from the cache; from then on it is
 * only data. Everything in it lives in its arena. Orders are fixed, so that two profiles of one library are the same
 * text.
 */
#pragma once

#include "base/base.h"
#include "image/image.h"

enum profile_confidence { PROFILE_LIKELY, PROFILE_CERTAIN };

enum profile_side_kind { SIDE_TLS, SIDE_GLOBAL, SIDE_ARG };

/* A place other than errno that is set to constants when the error is returned. */
struct profile_side {
  enum profile_side_kind kind;
  const char *module; /* soname of the library that owns a TLS or global variable; NULL for an argument */
  const char *name;   /* the variable's symbol, or NULL */
  unsigned argument;  /* SIDE_ARG: which argument points to it, from 1 */
  uint64_t offset; /* in the module's TLS block, the variable's address in the module, or bytes behind the argument */
  const int64_t *values; /* sorted */
  size_t n_values;
  unsigned width; /* bytes that are stored: 1, 2, 4, 8; 0 if it is not known */
};

/* Sets of errno values: bit E of word E / 64. */
struct errno_set {
  uint64_t bits[3];
};

static inline void errno_set_add(struct errno_set *s, int e) { s->bits[e / 64] |= 1ull << (e % 64); }
static inline bool errno_set_has(const struct errno_set *s, int e) { return s->bits[e / 64] >> (e % 64) & 1; }
static inline bool errno_set_empty(const struct errno_set *s) { return !(s->bits[0] | s->bits[1] | s->bits[2]); }

struct profile_error {
  int64_t retval;     /* as the caller's C type sees it: an int's -1 and a pointer's MAP_FAILED are both -1 */
  bool wide;          /* the value was told to be 64 bits wide */
  bool errno_unknown; /* errno is set on this path, but not all of its values could be found */
  enum profile_confidence confidence;
  struct errno_set errnos;          /* may be empty */
  const struct profile_side *sides; /* sorted by kind, module, argument, offset */
  size_t n_sides;
  const char *const *evidence; /* short sentences */
  size_t n_evidence;
};

/* Why not all of a function's return values are known. */
enum profile_unknown {
  UNKNOWN_INDIRECT = 1, /* the value of a call through a pointer is returned */
  UNKNOWN_EXTERNAL = 2, /* ... of a function that was not found */
  UNKNOWN_COMPUTED = 4, /* ... of arithmetic */
  UNKNOWN_MEMORY = 8,   /* ... loaded from memory */
  UNKNOWN_COMPLEX = 16, /* the function is too large for the analysis's budget */
  UNKNOWN_CODE = 32,    /* instructions or jumps that could not be read */
  UNKNOWN_SYSCALL = 64, /* a system call whose number or errors are not known */
};

struct profile_function {
  const char *name;
  const char *version;                /* of the symbol, or NULL */
  const struct profile_error *errors; /* sorted by retval */
  size_t n_errors;
  unsigned unknown; /* of enum profile_unknown */
  bool alone;       /* it calls nothing: its errors can only be about its arguments; not kept in files */
  bool stated;      /* somebody has written it down, with --profile; not kept in files */
  unsigned syscall; /* number + 1 of the system call that it is; 0 for functions of libraries */
};

struct profile_library {
  const char *name, *path, *build_id;
  const char *modules;                      /* of a kernel: those that were analysed with it, with spaces; or NULL */
  const char *modules_missing;              /* ... those that it has not built in, and that were not found */
  bool functions_only;                      /* ... its symbols name no data, so that no tables were found */
  const struct profile_function *functions; /* sorted by name */
  size_t n_functions;
};

struct profile {
  struct arena arena;
  const struct profile_library *libraries; /* in the order asked for */
  size_t n_libraries;
  const char *errno_module; /* where errno lives, for the XML form; NULL if nothing sets it */
  uint64_t errno_offset;
  const char *kernel;      /* of libraries: whose system calls they make, as "Linux 6.1.0-54-amd64 (FILE)"; or NULL */
  const char *kernel_note; /* in what it is not the one that runs, or not whole; NULL if there is nothing to say */
};

/* All zero is a valid, empty profile. */
void profile_done(struct profile *p);

/* NULL if there is none. A name that several libraries export: the first library's. */
const struct profile_function *profile_function(const struct profile *p, const char *name);

/* --- files -------------------------------------------------------------------------------------------------------- */

/*
 * Reads the XML form (or the JSON form, if the file starts with '{'). Errors say file, line and column. *ret is
 * initialised by this and only on success.
 */
int profile_load(const char *path, struct profile *ret, struct err *e) MUST_USE;
/* The same from memory; NAME is for messages. */
int profile_parse(const char *name, const char *bytes, size_t size, struct profile *ret, struct err *e) MUST_USE;

void profile_write_xml(const struct profile *p, struct text *to);
void profile_write_json(const struct profile *p, struct text *to);
/* The form of data/kernel/NAME.errors, of kernels; conditions on arguments come from the data folder. */
int profile_write_errors(const struct profile *p, const char *data, struct text *to, struct err *e) MUST_USE;

struct profile_text_options {
  bool color;
  unsigned columns; /* width of the terminal; 0 means 80 */
  bool all;         /* functions without errors too */
};
void profile_write_text(const struct profile *p, const struct profile_text_options *options, struct text *to);

/* --- analysis ----------------------------------------------------------------------------------------------------- */

struct profile_request {
  const char *const *inputs; /* paths or sonames of libraries */
  size_t n_inputs;
  const char *for_program; /* path of a program: all libraries it needs, transitively, as well; or NULL */
  const char *data;        /* folder of data files: kernel/, functions */
  const char *kernel;      /* path of a kernel image, for profile_kernel */
  const char *modules;     /* folder of its modules; NULL to look for it where packages put it */
  bool all_ways;           /* through all of a kernel's tables, those that ordinary programs do not meet too */
  bool no_cache;
  bool trusting; /* what data/functions says does not fail hands no error on to who calls it */
  bool brief;    /* errors that come from far below a function, through many calls, need not be found */
  const struct profile_facts *facts; /* for profile_imports: what data/functions says, if it was read; or NULL */
  unsigned workers;                  /* threads; 0 for one a processor */
  /* Called now and then from one thread at a time while the analysis runs; may be NULL. */
  void (*progress)(void *context, size_t done, size_t total);
  void *context;
};

/* 0, or a negative errno with a message; nothing is left in *ret then. */
int profile_analyse(const struct profile_request *request, struct profile *ret, struct err *e) MUST_USE;

/*
 * The functions that PROGRAM imports, and those that are called NAMES, and no others, of the libraries that define them
 * as the dynamic loader would bind them; INPUTS and FOR_PROGRAM of the request are not used, nor is the cache: it is
 * made faster than it is read. A library that is not found is left out.
 */
int profile_imports(const struct profile_request *request, const struct image *program, const char *const *names,
                    size_t n, struct profile *ret, struct err *e) MUST_USE;

/*
 * The same of the functions with these NAMES, whether the program itself imports them or one of its libraries, in all
 * libraries that define one; what none defines is left out.
 */
int profile_functions(const struct profile_request *request, const struct image *program, const char *const *names,
                      size_t n, struct profile *ret, struct err *e) MUST_USE;

/* What the data files know about functions by name. */
struct profile_facts;
int profile_facts_load(const char *data, struct profile_facts **ret, struct err *e) MUST_USE;
void profile_facts_free(struct profile_facts *f);
/* Is a function of this name known never to return? FACTS is a struct profile_facts. */
bool profile_facts_noreturn(void *facts, const char *name);
/* Does the function of this name return the address of errno? The same. */
bool profile_facts_errno(void *facts, const char *name);
/* Does it leave errno as it is? The same. */
bool profile_facts_keeps_errno(void *facts, const char *name);

/* What a function returns when it succeeds. */
enum profile_success {
  SUCCESS_UNKNOWN,
  SUCCESS_NEVER, /* it returns only if it fails */
  SUCCESS_ZERO,
  SUCCESS_NUMBER, /* not negative, and in practice not 0 either */
  SUCCESS_COUNT,  /* how much was done */
  SUCCESS_LENGTH,
  SUCCESS_CHARACTER,
  SUCCESS_POINTER,
  SUCCESS_VALUE, /* any number, 0 too */
};
/* Can a function of this name not fail, whatever constants it returns? */
bool profile_facts_infallible(const struct profile_facts *facts, const char *name);
/* Error values that are known of it beside those that its code shows; how many, at most MAX. */
size_t profile_facts_errors(const struct profile_facts *facts, const char *name, int64_t *ret, size_t max);
enum profile_success profile_facts_success(const struct profile_facts *facts, const char *name);

/* Does it return twice; a structure; a floating-point number; the error number, and leaves errno alone? */
bool profile_facts_twice(const struct profile_facts *facts, const char *name);
bool profile_facts_struct(const struct profile_facts *facts, const char *name);
bool profile_facts_float(const struct profile_facts *facts, const char *name);
bool profile_facts_returned(const struct profile_facts *facts, const char *name);
/* Has it done its work even if it reports a failure, as close(2) has? */
bool profile_facts_done(const struct profile_facts *facts, const char *name);
/* Which of its error values says to look at errno? False if none does, or it is -1 as everywhere. */
bool profile_facts_by_errno(const struct profile_facts *facts, const char *name, int64_t *ret);
/* What its arguments are, counted from 0; -1 if there is none such, or it is not known. */
struct profile_roles {
  int descriptor, size;
  int stream;           /* a FILE whose error flag is set when the function fails */
  const char *variable; /* ... that is no argument but a variable of libc: "stdout" */
  int cleared;          /* a pointer behind it is NULL when the function fails */
  int emptied;          /* a stream that loses what was not yet written when the function fails */
  int flushed;          /* ... that is written out before the function does its work: the same if that fails */
  int arguments;        /* how many there are, without floating-point ones */
  bool variadic;        /* ... and perhaps more */
  int length;           /* how many bytes are read or written, at most */
  int items;            /* ... how many pieces, the size of each is the argument before it */
  int vector;           /* ... a struct iovec *, how many there are is the argument behind it */
  int message;          /* ... a struct msghdr * */
  int path;             /* the name of a file */
  int flags, mode;      /* how it is opened, with which permissions it is made */
  bool throws;          /* it fails with std::bad_alloc */
  int file;             /* a FILE whose error flag is not set */
  int code;             /* a pointer to where a code for the error is put */
  int misnamed;         /* a name: with one that there is not, it fails for real */
  int returns;          /* what it returns when it succeeds */
  int whence;           /* ... if this argument is 0 */
  int fills;            /* from this one on, all are pointers to what it sets if it succeeds */
  bool foreseen;        /* callers may know what it returns when it succeeds */
  bool object;          /* it returns an object that somebody else may have made */
  bool only;            /* its errors are those of profile_facts_errors: other constants of its code are answers */
  int starts;           /* a function that it calls, with the argument behind it, while the caller goes on */
  int hands;            /* a function that it calls until that returns something else than 0, which it returns then */
};
struct profile_roles profile_facts_roles(const struct profile_facts *facts, const char *name);

/*
 * For a person: how each error of the exported FUNCTION was found, instruction by instruction. -ENOENT if no input
 * exports it.
 */
int profile_why(const struct profile_request *request, const char *function, struct text *to, struct err *e) MUST_USE;

/* The same of a kernel: each system call is a function that returns -1 and sets errno. */
int profile_kernel(const struct profile_request *request, struct profile *ret, struct err *e) MUST_USE;
/* WHAT is "write:ENOSPC", or "write" for all of its errors: the functions on the way. */
int profile_kernel_why(const struct profile_request *request, const char *what, struct text *to,
                       struct err *e) MUST_USE;

/* --- put together from others (select.c) -------------------------------------------------------------------------- */

/* A result borrows from its sources: they must live as long as it does. */

/*
 * BELOW with the functions of OVER: those of a library and function that both have are OVER's, the others of OVER are
 * added. Libraries that BELOW does not have follow in OVER's order. 0 or -ENOMEM, *ret only on success.
 */
int profile_overlay(const struct profile *below, const struct profile *over, struct profile *ret) MUST_USE;

/*
 * Only the functions with these NAMES, and only libraries that have one. -ENOENT and *ret_missing if a name is in no
 * library, -ENOMEM; *ret only on success.
 */
int profile_select(const struct profile *p, const char *const *names, size_t n, struct profile *ret,
                   const char **ret_missing) MUST_USE;

/* The function of any library whose name NAME may be a slip of, as name_nearest says, or NULL. */
const char *profile_near(const struct profile *p, const char *name);
