/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every room stands on: errors, buffers, vectors, maps, arenas, text, names of errnos and signals, a pool of
 * workers.
 *
 * Functions return 0 or a result, or a negative errno. Nothing here prints or exits. Nothing is global but constant
 * tables, so everything may be used from any thread as long as one object is used by one thread at a time.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define MUST_USE __attribute__((warn_unused_result))

/* A programmer's mistake; stays on in release builds. */
#define MUST(condition) ((condition) ? (void)0 : must_fail(#condition, __FILE__, __LINE__))
_Noreturn void must_fail(const char *condition, const char *file, int line);

/* --- errors ------------------------------------------------------------------------------------------------------- */

/* What a person must read: "file:line: what is wrong (what to do)". Empty if text[0] is 0. */
enum { ERR_MAX = 512 };
struct err {
  char text[ERR_MAX]; /* of a longer message, the middle is left out */
};

/* Writes the message and returns CODE, a negative errno. E may be NULL. */
int err_set(struct err *e, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* --- arena -------------------------------------------------------------------------------------------------------- */

/* Memory that is freed at once. All zero is a valid, empty arena. */
struct arena {
  struct arena_chunk *chunk;
};

/* 16-byte aligned, not cleared. NULL if there is no memory. */
void *arena_alloc(struct arena *a, size_t size);
/* The same, cleared. */
void *arena_zalloc(struct arena *a, size_t size);
char *arena_strdup(struct arena *a, const char *s);
void *arena_memdup(struct arena *a, const void *p, size_t size);
/* Forgets all allocations but keeps one chunk for the next ones. */
void arena_reset(struct arena *a);
/* Moves all that FROM holds to A, where it stays; FROM is empty then. */
void arena_adopt(struct arena *a, struct arena *from);
void arena_done(struct arena *a);

/* --- vectors ------------------------------------------------------------------------------------------------------ */

/* A growable array: VEC(int) v = {0}; vec_push(&v, 3); v.at[0]; v.n; vec_done(&v). */
#define VEC(type)                                                                                                      \
  struct {                                                                                                             \
    type *at;                                                                                                          \
    size_t n, cap;                                                                                                     \
  }

/* Room for one element more, uninitialised; NULL if there is no memory. */
#define vec_more(v) (vec_room(v) < 0 ? NULL : &(v)->at[(v)->n++])
/* 0 or -ENOMEM. */
#define vec_push(v, ...) (vec_room(v) < 0 ? -12 : ((v)->at[(v)->n++] = (__VA_ARGS__), 0))
/* Room for N elements in all, so that it need not grow up to there. 0 or -ENOMEM. */
#define vec_reserve(v, n) vec_grow((void **)&(v)->at, &(v)->cap, (n), sizeof *(v)->at)
/* Room for one more: the test is here, since there is room most of the time. */
#define vec_room(v) ((v)->n < (v)->cap ? 0 : vec_grow((void **)&(v)->at, &(v)->cap, (v)->n + 1, sizeof *(v)->at))
#define vec_done(v) (vec_free((void **)&(v)->at), (v)->n = (v)->cap = 0)

int vec_grow(void **at, size_t *cap, size_t need, size_t size);
void vec_free(void **at);

/* --- maps --------------------------------------------------------------------------------------------------------- */

/* From a number to a number; all zero is a valid, empty map. Keys may be anything, 0 too. */
struct map {
  struct map_place {
    uint64_t key, value;
    uint64_t round; /* it is taken if this is the map's */
  } * places;
  size_t n, cap; /* cap is a power of two */
  uint64_t round;
};

/* False if KEY is not there; ret_value may be NULL. */
static inline bool map_get(const struct map *m, uint64_t key, uint64_t *ret_value);
/* The next key from place *at on, which is moved behind it; 0 is where to begin. False if there is none. */
bool map_next(const struct map *m, size_t *at, uint64_t *ret_key);
/* Sets or replaces. 0 or -ENOMEM. */
int map_put(struct map *m, uint64_t key, uint64_t value);
/* Forgets all keys, keeps the memory. */
void map_clear(struct map *m);
void map_done(struct map *m);

/* A good 64-bit mix, and FNV-1a of bytes and of a string. */
static inline uint64_t hash_mix(uint64_t x) {
  /* Two rounds of multiply and fold; every input bit reaches every output bit. */
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  return x ^ x >> 32;
}
/* Where KEY is, or the free place where it belongs. There is always a free place. */
static inline size_t map_place_of(const struct map *m, uint64_t key) {
  size_t i = hash_mix(key) & (m->cap - 1);
  while (m->places[i].round == m->round && m->places[i].key != key)
    i = (i + 1) & (m->cap - 1);
  return i;
}

static inline bool map_get(const struct map *m, uint64_t key, uint64_t *ret_value) {
  if (!m->n) return false;
  const struct map_place *p = &m->places[map_place_of(m, key)];
  if (p->round != m->round) return false;
  if (ret_value) *ret_value = p->value;
  return true;
}
uint64_t hash_bytes(const void *p, size_t n);
uint64_t hash_string(const char *s);

/* --- text --------------------------------------------------------------------------------------------------------- */

/* A growing string. A failed allocation sticks: the text stays as it was, and failed says so at the end. */
struct text {
  char *at; /* NUL-terminated once anything was added */
  size_t n, cap;
  bool failed;
};

void text_add(struct text *t, const char *s);
void text_add_bytes(struct text *t, const void *p, size_t n);
void text_addf(struct text *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* S in double quotes, with JSON's escapes; bytes that are not UTF-8 become U+FFFD. */
void text_add_json(struct text *t, const char *s);
/* S with XML's five escapes, for content and attributes; what XML forbids becomes U+FFFD. */
void text_add_xml(struct text *t, const char *s);
/* S for a terminal: control characters and what is not UTF-8 as \x1b. */
void text_add_plain(struct text *t, const char *s);
/* A path as a URI: all but letters, digits and a few signs as percent and hex. */
void text_add_uri(struct text *t, const char *path);
/* S as one word of a shell's command line. */
void text_add_shell(struct text *t, const char *s);
/* Spaces until the column (since the last newline) is COLUMN, at least one. */
void text_pad(struct text *t, size_t column);
void text_done(struct text *t);

/* How many of the N bytes at P are UTF-8, counted from the first; N if all are. */
size_t utf8_prefix(const char *p, size_t n);

/* The whole file, at most LIMIT bytes. *ret is malloc'ed, with a NUL behind it. */
int file_read(const char *path, size_t limit, char **ret, size_t *ret_size, struct err *e) MUST_USE;
/* Writes a temporary file beside PATH and renames it, so that PATH is never half-written. */
int file_write(const char *path, const void *p, size_t n, struct err *e) MUST_USE;
/* Makes a directory and its parents. */
int dir_make(const char *path) MUST_USE;

/* --- names -------------------------------------------------------------------------------------------------------- */

/* "EIO", or NULL if VALUE is not an errno of Linux on x86-64. */
const char *errno_name(int value);
/* The number of "EIO"; EWOULDBLOCK, EDEADLOCK, ENOTSUP are known too. 0 if it is not one. */
int errno_number(const char *name);
/* "SIGSEGV", or NULL. */
const char *signal_name(int number);

#define ERRNO_MAX 133

/* For "did you mean": the candidate that a slip of the hand could have turned into S, or NULL. */
const char *name_nearest(const char *s, const char *const *candidates, size_t n);
/* The same among the names of errno values. */
const char *errno_nearest(const char *s);

/*
 * Adds a function's symbol as people know it: as the source calls it for Rust, the path without parameters and with
 * "<...>" for arguments of templates for C++, and as it is otherwise, which is false.
 */
bool name_readable(const char *symbol, struct text *to);
/* Adds what a symbol of Rust, in either of its forms, is called in the source. False if it is none. */
bool name_rust(const char *symbol, struct text *to);

/* --- sources ------------------------------------------------------------------------------------------------------ */

/* A text that is being read, a file or a rule, for messages with positions. */
struct source_text {
  const char *name;
  const char *bytes;
  size_t size;
  bool one_line; /* positions are columns alone */
  /* A text that stands in another one in other bytes: where each of its own comes from, and the end; or NULL. */
  const struct source_text *of;
  const size_t *origins;
};

/* "name:line:column: message" for the byte at OFFSET. Returns CODE. */
int source_error(const struct source_text *s, size_t offset, struct err *e, int code, const char *fmt, ...)
    PRINTF_LIKE(5, 6);
int source_no_memory(const struct source_text *s, struct err *e);
/* Are all bytes UTF-8, and none 0? -EINVAL with a message if not. */
int source_check(const struct source_text *s, struct err *e) MUST_USE;
#define SOURCE_HINT 160
/* "did you mean NEAR?" into BUFFER, or OTHERWISE if NEAR is NULL. Returns BUFFER. */
const char *source_hint(const char *near, const char *otherwise, char buffer[SOURCE_HINT]);

/* --- numbers ------------------------------------------------------------------------------------------------------ */

/*
 * The whole of S, as decimal or 0x hex, with a sign. Hex without a sign is a pattern of 64 bits: 0xffffffffffffffff
 * is -1. 0 or -EINVAL, -ERANGE.
 */
int number_parse(const char *s, int64_t *ret) MUST_USE;

/* --- workers ------------------------------------------------------------------------------------------------------ */

/* How many processors this process may use. */
unsigned worker_count(void);

/*
 * Runs WORK(context, worker) on N threads, the caller's among them, and waits for all. If threads cannot be made,
 * runs with fewer: WORK must take its share from a common queue.
 */
void worker_run(unsigned n, void (*work)(void *context, unsigned worker), void *context);

/* --- processors --------------------------------------------------------------------------------------------------- */

/* Those that a thread may use. */
struct processors {
  unsigned long words[1024 / (8 * sizeof(unsigned long))];
  bool known;
};

/* Those of the calling thread. */
struct processors processors_now(void);
/* The N-th of them, with the first again behind the last, as a number from 1; 0 if they are not known. */
unsigned processors_pick(const struct processors *p, unsigned n);
/* The process or thread PID, or the caller's if it is 0, runs on this one alone; 0 for NUMBER changes nothing. */
void processors_keep_to(int pid, unsigned number);
/* The calling thread runs on these. */
void processors_use(const struct processors *p);

/* --- what is installed (installed.c) ------------------------------------------------------------------------------ */

/*
 * The folder with the data files: MURPHY_DATA if set; else that of the source tree if this binary lies where it was
 * built; else share/murphy beside the binary's bin, or where it was configured to be installed. *ret is malloc'ed.
 */
int installed_data_dir(char **ret) MUST_USE;
/* The library that is loaded into targets: that of the build, or beside the binary in lib/murphy. *ret is malloc'ed. */
int installed_runtime(char **ret) MUST_USE;
/* The folder with the triggers that come with murphy: that of the build, or beside the runtime. *ret is malloc'ed. */
int installed_triggers_dir(char **ret) MUST_USE;
