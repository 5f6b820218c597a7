/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What became of an experiment, from what it showed.
 *
 * A program that says that it has failed has handled the failure, however it ends: only what dies without a word, or
 * lives on without one while its results are wrong, is a failure of its own. Giving up on purpose because there is no
 * memory, or no more of something else, with a message and abort(3), is handled too: libraries of languages do so.
 */
#include "campaign/campaign.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>

const char *const outcome_words[OUTCOMES] = {"same", "handled", "crash",     "abort",
                                             "hang", "silent",  "sanitizer", "missed"};

enum outcome outcome_named(const char *word) {
  for (int i = 0; i < OUTCOMES; i++)
    if (strcmp(outcome_words[i], word) == 0) return (enum outcome)i;
  return OUTCOME_MISSED;
}

bool outcome_is_failure(enum outcome o) { return o >= OUTCOME_CRASH && o <= OUTCOME_SANITIZER; }

static bool contains(const struct observe_stream *s, const char *word) {
  return s->n && memmem(s->at, s->n, word, strlen(word));
}

/* In any case of letters; a message is short, so that this may be slow. */
static bool mentions(const struct observe_stream *s, const char *word) {
  size_t n = strlen(word);
  for (size_t i = 0; i + n <= s->n; i++)
    if (strncasecmp(s->at + i, word, n) == 0) return true;
  return false;
}

static bool is_sanitizer_report(const struct observe_stream *s) {
  return contains(s, "Sanitizer: ") || contains(s, ": runtime error: ");
}

/* Is FIRST followed by THEN in one line? In any case of letters. */
static bool mentions_both(const struct observe_stream *s, const char *first, const char *then) {
  size_t n = strlen(first);
  for (size_t i = 0; i + n <= s->n; i++) {
    if (strncasecmp(s->at + i, first, n) != 0) continue;
    const char *rest = s->at + i + n, *end = memchr(rest, '\n', s->n - i - n);
    struct observe_stream line = {.at = rest, .n = end ? (size_t)(end - rest) : s->n - i - n};
    if (mentions(&line, then)) return true;
  }
  return false;
}

/*
 * Is there none? An allocator's name, or a path with one in it, does not say so: it may tell of anything, also that the
 * heap is broken.
 */
static bool says_out_of_memory(const struct observe_stream *s) {
  static const struct {
    const char *first, *then;
  } phrases[] = {{"memory", ""},          {"bad_alloc", ""},        {"not allocate ", ""},
                 {"n't allocate ", ""},   {"not alloc ", ""},       {"n't alloc ", ""},
                 {"not malloc", ""},      {"n't malloc", ""},       {"unable to alloc", ""},
                 {"failed to alloc", ""}, {"error allocating", ""}, {"alloc error", ""},
                 {"alloc returned", ""},  {"alloc(", ") returned"}, {"alloc fail", ""},
                 {"alloc(", ") failed"},  {"allocation fail", ""},  {"allocation of ", " failed"},
                 {"allocation error", ""}};
  for (size_t i = 0; i < COUNT(phrases); i++)
    if (mentions_both(s, phrases[i].first, phrases[i].then)) return true;
  return false;
}

/* What allocators say that find the heap broken: tcmalloc, jemalloc, mimalloc, Scudo, that of GLib. */
static bool is_broken_heap(const struct observe_stream *s) {
  static const char *const phrases[] = {
      "invalid pointer",  "invalid free",         "double free",       "freed twice",    "write after free",
      "write-after-free", "use after free",       "use-after-free",    "corrupted free", "corrupted chunk",
      "heap corruption",  "memory corruption",    "corrupted redzone", "size mismatch",  "memory stomping",
      "memory-error",     "deallocation mismatch"};
  for (size_t i = 0; i < COUNT(phrases); i++)
    if (mentions(s, phrases[i])) return true;
  return false;
}

/* Does a line start with what libc says before it aborts by itself: the heap is broken, a buffer overflowed? */
static bool is_broken(const struct observe_stream *s) {
  static const char *const starts[] = {
      "free(): ",        "malloc(): ", "realloc(): ", "calloc(): ",       "munmap_chunk(): ", "malloc_consolidate(): ",
      "double free or ", "corrupted ", "*** ",        "Fatal glibc error"};
  for (size_t i = 0; i < s->n; i++)
    for (size_t k = 0; (i == 0 || s->at[i - 1] == '\n') && k < COUNT(starts); k++)
      if (strncmp(s->at + i, starts[k], strlen(starts[k])) == 0) return true;
  return is_broken_heap(s);
}

/*
 * The library of C++ calls terminate where it must not throw and has no memory for its own work. The program is not
 * asked, and sees nothing of it.
 */
static bool ends_inside(const struct outcome_facts *f, const struct observe_stream *said) {
  return f->expect.indirect && contains(said, "terminate called without an active exception");
}

/* Is there no more of something? */
static bool is_limit(int error) { return error == ENOMEM || error == EAGAIN || error == EMFILE || error == ENFILE; }

/* Giving up on purpose is no failure; a check of the program's own, or of libc's, that finds it broken is one. */
static bool gives_up(const struct outcome_facts *f) {
  const struct observe_stream *said = &f->run->streams[OBSERVE_ERROR];
  if (!is_limit(f->expect.error) || is_broken(said) || mentions(said, "assert")) return false;
  /* The library of Rust says this of keys for its threads; an index that is out of bounds is another thing. */
  if (mentions(said, "out of ") && !mentions(said, "out of bounds") && !mentions(said, "out of range")) return true;
  return f->expect.error == ENOMEM && (says_out_of_memory(said) || ends_inside(f, said));
}

/* Is there a file as large as a file can become? */
static bool has_full_file(const struct observation *o) {
  for (size_t i = 0; i < COUNT(o->streams); i++)
    if (o->streams[i].n + o->streams[i].more >= CAMPAIGN_FILE_SIZE) return true;
  for (size_t i = 0; i < o->entries.n; i++)
    if (o->entries.at[i].kind == OBSERVE_FILE && o->entries.at[i].size >= CAMPAIGN_FILE_SIZE) return true;
  return false;
}

/* The signal that ended the command, or a process of it whose shell says so; 0 if none did. */
static int signal_of(const struct observation *o) {
  int status = o->status;
  if (WIFSIGNALED(status)) return WTERMSIG(status);
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  switch (code - 128) {
  case SIGSEGV:
  case SIGBUS:
  case SIGFPE:
  case SIGILL:
  case SIGABRT:
    return code - 128;
  case SIGXFSZ: /* 153 is also what is left of -ECONNABORTED */
    return has_full_file(o) ? SIGXFSZ : 0;
  default:
    return 0;
  }
}

bool campaign_wrote_too_much(const struct observation *o) { return signal_of(o) == SIGXFSZ; }

/* How a death by a signal counts. Some signals are ordinary ways to end. */
static enum outcome outcome_of_signal(int signal, const struct outcome_facts *f) {
  switch (signal) {
  case SIGABRT:
    return gives_up(f) ? OUTCOME_HANDLED : OUTCOME_ABORT;
  case SIGPIPE:
  case SIGTERM:
  case SIGINT:
  case SIGHUP:
    return OUTCOME_HANDLED;
  case SIGXCPU:
  case SIGXFSZ: /* it would have gone on writing */
    return OUTCOME_HANG;
  default:
    return OUTCOME_CRASH;
  }
}

/* A file that is gone at the end, as a temporary one, has nothing to lose, and one in a cache can be made again. */
static bool leaves_files(const struct observation *o) {
  for (size_t i = 0; i < o->entries.n; i++)
    if (o->entries.at[i].kind == OBSERVE_FILE && !o->entries.at[i].spare) return true;
  return false;
}

/* --- what is told elsewhere --------------------------------------------------------------------------------------- */

/* More of it is not looked through for a message. */
enum { TOLD_MAX = 1 << 20 };

static size_t count(const struct observe_stream *s, const char *word) {
  size_t n = 0, size = strlen(word);
  int first = tolower((unsigned char)word[0]);
  for (size_t i = 0; i + size <= s->n; i++)
    n += tolower((unsigned char)s->at[i]) == first && strncasecmp(s->at + i, word, size) == 0;
  return n;
}

/*
 * Programs that talk to a person say on standard output what went wrong; without faults, they say it less often. On
 * standard error whatever is new is a message; here it must name the error or be a complaint, as results differ too.
 */
static bool says_on_output(const struct outcome_facts *f) {
  static const char *const words[] = {"error",    "fail",   "cannot",  "can't",         "could not",
                                      "couldn't", "unable", "warning", "out of memory", "no memory"};
  const struct observe_stream *before = &f->baseline->streams[OBSERVE_OUT], *now = &f->run->streams[OBSERVE_OUT];
  if (before->n > TOLD_MAX || now->n > TOLD_MAX) return false;
  const char *reason = f->expect.error ? strerrordesc_np(f->expect.error) : NULL;
  /* Servers and shells say that access is denied in words of their own. */
  bool refused = f->expect.error == EACCES || f->expect.error == EPERM;
  bool told = (reason && count(now, reason) > count(before, reason)) ||
              (refused && count(now, "denied") > count(before, "denied")) ||
              (refused && count(now, "forbidden") > count(before, "forbidden"));
  for (size_t i = 0; i < COUNT(words) && !told; i++)
    told = count(now, words[i]) > count(before, words[i]);
  return told;
}

static bool has_text(const struct observe_entry *e, const char *text) {
  return e->kind == OBSERVE_FILE && e->n_head && memmem(e->head, e->n_head, text, strlen(text));
}

/* Others keep a log, which then has the reason in words. */
static bool says_in_file(const struct outcome_facts *f) {
  const char *reason = f->expect.error ? strerrordesc_np(f->expect.error) : NULL;
  size_t before = 0, now = 0;
  for (size_t i = 0; reason && i < f->baseline->entries.n; i++)
    before += has_text(&f->baseline->entries.at[i], reason);
  for (size_t i = 0; reason && i < f->run->entries.n; i++)
    now += has_text(&f->run->entries.at[i], reason);
  return now > before;
}

static bool is_told(const struct outcome_facts *f) { return says_on_output(f) || says_in_file(f); }

enum outcome outcome_of(const struct outcome_facts *f, struct text *what, unsigned *ret_differs) {
  unsigned differs = observe_compare(f->baseline, f->run, f->mask, what);
  int signal = signal_of(f->run);
  if (ret_differs) *ret_differs = differs;
  if (!f->injected) return OUTCOME_MISSED;
  if (f->timed_out) return OUTCOME_HANG;
  if (is_sanitizer_report(&f->run->streams[OBSERVE_ERROR]) &&
      !is_sanitizer_report(&f->baseline->streams[OBSERVE_ERROR]))
    return OUTCOME_SANITIZER;
  if (signal && (differs & DIFFERS_STATUS)) return outcome_of_signal(signal, f);
  /* Whoever waits for it may not care, or say so and go on. */
  if (f->died) return outcome_of_signal(f->died, f);
  if (differs & (DIFFERS_STATUS | DIFFERS_ERROR)) return OUTCOME_HANDLED;
  /* Who cannot remove a temporary file has nobody to tell. */
  if (differs & ~(unsigned)DIFFERS_LITTER)
    return f->expect.traits & TRAIT_ANSWERS || is_told(f) ? OUTCOME_HANDLED : OUTCOME_SILENT;
  if (!(f->expect.traits & TRAIT_LOSES) || !leaves_files(f->baseline)) return OUTCOME_SAME;
  /* The world outside can see nothing of it until the machine stops. */
  if (what) text_add(what, "what was written before may be lost, and nobody was told\n");
  if (ret_differs) *ret_differs = DIFFERS_FILES | DIFFERS_LOSS;
  return OUTCOME_SILENT;
}
