/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite, from the view of the target: a program that calls a library function and looks at everything
 * that a program can see of it. Whoever makes the call fail (murphy, another tool, nobody) is outside.
 *
 * A case prepares with whatever it likes; from the call on, looking is done by x_* functions (raw.c): system calls that
 * no case is about, so that a tool that fails a system call from then on cannot blind the test.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- the call ----------------------------------------------------------------------------------------------------- */

struct call {
  void *function;
  uint64_t args[6];
};

struct seen {
  uint64_t result; /* rax */
  uint64_t kept[6];
  int64_t stack; /* how far the stack pointer is from where it was */
  uint64_t flags;
  uint32_t mxcsr;
  uint16_t x87_control, x87_status;
};

void conform_call(const struct call *call, struct seen *ret);

/* --- cases -------------------------------------------------------------------------------------------------------- */

enum width { INT = 32, LONG = 64 }; /* how much of rax is the result; int leaves the upper half open */

enum case_flag {
  THEN = 1,         /* the call is made and reported as failed: done() holds, not unchanged() */
  ERRNO_OPEN = 2,   /* libc itself may or may not change errno when it fails */
  SUCCESS_OPEN = 4, /* libc itself may change errno when it succeeds */
  ONE_CALL = 8,     /* a failed call cannot be repeated: libc itself goes on from it */
  MEMORY_OPEN = 16, /* libc itself may keep memory, or give some back, when it fails */
};

struct function_case {
  const char *function;
  void *address;
  enum width width;
  int64_t failed; /* the result that says failure */
  int error;      /* errno that goes with it; 0: not changed */
  int stream;     /* which argument, from 1, is a stream whose error flag a failure sets; 0: none */
  unsigned flags; /* of enum case_flag */
  void (*prepare)(uint64_t *args);
  void (*unchanged)(void);       /* checks after a failure: nothing was done */
  void (*done)(uint64_t result); /* checks after a success */
  void (*perfect)(void);         /* what a failure does all the same, for mode perfect */
};

struct family {
  const char *name;
  const struct function_case *cases;
  size_t n;
};

#define FAMILY(NAME, CASES) const struct family NAME = {#NAME, CASES, sizeof(CASES) / sizeof((CASES)[0])}

extern const struct family files, stdio, memory, sockets, processes, threads, time_family, directories, polling, names;

extern int error_of_call; /* errno behind the call that was looked at */

/* What is looked at; a check's name is "FUNCTION MODE: ASPECT: text". */
void check(bool good, const char *aspect, const char *text);
void check_skip(const char *aspect, const char *text, const char *why);
static inline void effect(bool good, const char *text) { check(good, "effect", text); }
static inline void argument(bool good, const char *text) { check(good, "argument", text); }

/* Bytes that nobody would write by chance. */
void paint(void *p, size_t n);
bool painted(const void *p, size_t n);

#define ARG(X) ((uint64_t)(uintptr_t)(X))

/* --- looking, without libc ---------------------------------------------------------------------------------------- */

long x_call(long number, long a, long b, long c, long d, long e, long f);
bool x_exists(const char *path);
long x_size(const char *path); /* -1 if there is no such file */
int x_mode(const char *path);  /* permission bits */
bool x_is_open(int fd);
unsigned x_count_open(void);                                /* descriptors below 128 */
long x_offset(int fd);                                      /* -1 if it is not known */
long x_read_file(const char *path, char *buffer, size_t n); /* at most n - 1 bytes, and a 0 behind them */
bool x_file_is(const char *path, const char *text);
unsigned x_count_maps(void);
bool x_writable(void *page);
void x_write(const char *text, size_t n); /* to standard output */
void x_exit(int status) __attribute__((noreturn));
void x_pause(void);     /* a fifth of a millisecond */
void x_mark(long what); /* something that a trace shows */

/* Makes a file for a case with this text in it. */
void make_file(const char *path, const char *text);
