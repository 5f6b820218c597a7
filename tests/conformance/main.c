/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conform FUNCTION failed|passed|perfect: one function, in one process. Prints TAP.
 *
 *   failed   every call of FUNCTION is expected to fail as its case says
 *   passed   no call is
 *   perfect  the call is not made; what a perfect tool would have made of it is put in its place. All checks must hold:
 *            this is the suite's test of itself, and the list of checks.
 * conform --list prints the cases. It is run in an empty folder of its own.
 */
#include "conform.h"

#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

enum { REPEATS = 100, OUR_ERRNO = 4321, OTHER_ERRNO = 1234, ERROR_FLAG = 0x20 /* of a FILE: _IO_ERR_SEEN */ };

static const struct family *const families[] = {&files,   &stdio,       &memory,      &sockets, &processes,
                                                &threads, &time_family, &directories, &polling, &names};

static const struct function_case *the_case;
static const char *mode;
static unsigned n_checks, n_wrong;
static long own_pid;
int error_of_call;

/* --- results ------------------------------------------------------------------------------------------------------ */

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...) {
  char line[400];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(line, sizeof(line), format, args);
  va_end(args);
  x_write(line, n < (int)sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

static const char *shown_mode(void) {
  if (the_case->flags & THEN) return strcmp(mode, "passed") == 0 ? "then-passed" : "then-failed";
  return strcmp(mode, "perfect") == 0 ? "failed" : mode;
}

void check(bool good, const char *aspect, const char *text) {
  n_checks++, n_wrong += !good;
  say("%s %u - %s %s: %s: %s\n", good ? "ok" : "not ok", n_checks, the_case->function, shown_mode(), aspect, text);
}

void check_skip(const char *aspect, const char *text, const char *why) {
  n_checks++;
  say("ok %u - %s %s: %s: %s # SKIP %s\n", n_checks, the_case->function, shown_mode(), aspect, text, why);
}

void paint(void *p, size_t n) { memset(p, 0xa5, n); }

bool painted(const void *p, size_t n) {
  const unsigned char *bytes = p;
  for (size_t i = 0; i < n; i++)
    if (bytes[i] != 0xa5) return false;
  return true;
}

/* --- a second thread, whose errno is its own ---------------------------------------------------------------------- */

static atomic_int other_state; /* 1: set, 2: look now, 3: untouched, 4: changed */

static int other_thread(void *unused) {
  (void)unused;
  errno = OTHER_ERRNO;
  atomic_store(&other_state, 1);
  while (atomic_load(&other_state) != 2)
    x_pause();
  atomic_store(&other_state, errno == OTHER_ERRNO ? 3 : 4);
  for (;;) /* until the process ends */
    x_pause();
  return 0;
}

static bool other_start(void) {
  thrd_t id;
  /* Not pthread_create: that is one of the functions under test, and thrd_create does not go through it. */
  if (thrd_create(&id, other_thread, NULL) != thrd_success) return false;
  while (atomic_load(&other_state) != 1)
    x_pause();
  return true;
}

static void other_check(bool started) {
  const char *text = "errno of another thread is its own";
  if (!started) {
    check_skip("thread", text, "no thread can be started");
    return;
  }
  atomic_store(&other_state, 2);
  while (atomic_load(&other_state) == 2)
    x_pause();
  check(atomic_load(&other_state) == 3, "thread", text);
}

/* --- one call ----------------------------------------------------------------------------------------------------- */

struct state {
  size_t used;
  unsigned open, maps;
};

static struct state state_now(void) {
  struct mallinfo2 heap = mallinfo2();
  return (struct state){heap.uordblks + heap.hblkhd, x_count_open(), x_count_maps()};
}

static bool is_perfect(void) { return strcmp(mode, "perfect") == 0; }

static void make_call(const struct call *call, struct seen *ret) {
  errno = OUR_ERRNO;
  if (!is_perfect() || (the_case->flags & THEN)) conform_call(call, ret);
  /* A child of fork must not go on with the checks; what it saw is its exit status. */
  if (x_call(SYS_getpid, 0, 0, 0, 0, 0, 0) != own_pid) x_exit(ret->result == 0 ? 7 : 8);
  error_of_call = errno;
  if (!is_perfect()) return;

  static const uint64_t kept[6] = {0x1111111111111111, 0x2222222222222222, 0x3333333333333333,
                                   0x4444444444444444, 0x5555555555555555, 0x6666666666666666};
  ret->result = (uint64_t)the_case->failed;
  memcpy(ret->kept, kept, sizeof(kept));
  ret->stack = 0, ret->flags = 0x202, ret->mxcsr = 0x1f80, ret->x87_control = 0x37f, ret->x87_status = 0;
  error_of_call = the_case->error ? the_case->error : OUR_ERRNO;
  if (the_case->stream) *(int *)call->args[the_case->stream - 1] |= ERROR_FLAG;
  if (the_case->perfect) the_case->perfect();
}

static bool result_is_failure(uint64_t result) {
  uint64_t mask = the_case->width == INT ? 0xffffffff : UINT64_MAX;
  uint64_t upper = result >> 32;
  if ((result & mask) != ((uint64_t)the_case->failed & mask)) return false;
  /* The upper half of an int is open by the ABI, but libc's functions leave it extended one way or the other. */
  return the_case->width == LONG || upper == 0 || upper == UINT32_MAX;
}

static bool error_is_failure(void) {
  if (the_case->flags & ERRNO_OPEN) return true;
  return error_of_call == (the_case->error ? the_case->error : OUR_ERRNO);
}

static bool error_is_success(void) { return (the_case->flags & SUCCESS_OPEN) || error_of_call == OUR_ERRNO; }

static void check_registers(const struct seen *seen) {
  const char *wrong = NULL;
  for (uint64_t i = 0; i < 6; i++)
    if (seen->kept[i] != (i + 1) * 0x1111111111111111) wrong = "a register of the caller";
  if (seen->stack != 0) wrong = "the stack pointer";
  if (seen->flags & 0x40400) wrong = "direction or alignment flag";
  if ((seen->mxcsr & 0xffc0) != 0x1f80 || seen->x87_control != 0x37f) wrong = "floating-point modes";
  if (seen->x87_status >> 11 & 7) wrong = "the floating-point stack";
  check(!wrong, "registers", "what belongs to the caller is kept");
  if (wrong) say("# %s\n", wrong);
}

/* --- a failed call ------------------------------------------------------------------------------------------------ */

static void check_stream(const struct call *call) {
  if (!the_case->stream) return;
  FILE *f = (FILE *)call->args[the_case->stream - 1];
  check(ferror(f) != 0, "stream", "the error flag is set");
  check(feof(f) == 0, "stream", "the end-of-file flag is not");
}

/* A failure that is repeated is the same each time, and nothing piles up. */
static void check_repeats(const struct call *call) {
  struct seen seen = {0};
  int first = error_of_call;
  unsigned equal = 0;
  struct state before = state_now();
  for (int i = 0; i < REPEATS; i++) {
    make_call(call, &seen);
    equal += result_is_failure(seen.result) && error_is_failure();
  }
  struct state after = state_now();
  error_of_call = first;
  check(equal == REPEATS, "repeated", "each of a hundred calls fails alike");
  check(after.used == before.used, "memory", "a hundred failures use up no memory");
  check(after.maps == before.maps, "memory", "a hundred failures leave no mappings");
  check(after.open == before.open, "descriptors", "a hundred failures leave no descriptors");
}

static void run_failed(const struct call *call, bool other) {
  struct seen seen = {0};
  bool then = the_case->flags & THEN;
  struct state before = state_now();
  x_mark(1);
  make_call(call, &seen);
  struct state after = state_now();
  check(result_is_failure(seen.result), "result", "the value that says failure");
  if (!result_is_failure(seen.result) || !error_is_failure())
    say("# result %#lx, errno %d\n", (unsigned long)seen.result, error_of_call);
  if (the_case->error)
    check(error_is_failure(), "errno", "set to the error");
  else if (!(the_case->flags & ERRNO_OPEN))
    check(error_is_failure(), "errno", "untouched: the result is the error number");
  check_registers(&seen);
  if (!then && !(the_case->flags & MEMORY_OPEN))
    check(after.used == before.used, "memory", "none is in use that was not before");
  if (!then) check(after.open == before.open, "descriptors", "as many are open as before");
  check_stream(call);
  if (!then && !(the_case->flags & ONE_CALL)) check_repeats(call);
  other_check(other);
  if (then && the_case->done) the_case->done(seen.result);
  if (!then && the_case->unchanged) the_case->unchanged();
}

/* --- a call that succeeds ----------------------------------------------------------------------------------------- */

static void run_passed(const struct call *call, bool other) {
  struct seen seen = {0};
  x_mark(1);
  make_call(call, &seen);
  check(error_is_success(), "errno", "as libc leaves it");
  check_registers(&seen);
  other_check(other);
  if (the_case->done) the_case->done(seen.result);
}

/* --- main --------------------------------------------------------------------------------------------------------- */

static bool name_is(const struct function_case *c, const char *name) {
  char full[100];
  snprintf(full, sizeof(full), "%s%s", c->function, c->flags & THEN ? "-then" : "");
  return strcmp(full, name) == 0;
}

static int list(void) {
  for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
    for (size_t k = 0; k < families[i]->n; k++) {
      const struct function_case *c = &families[i]->cases[k];
      say("%s %s%s\n", families[i]->name, c->function, c->flags & THEN ? "-then" : "");
    }
  return 0;
}

static const struct function_case *find(const char *name) {
  for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
    for (size_t k = 0; k < families[i]->n; k++)
      if (name_is(&families[i]->cases[k], name)) return &families[i]->cases[k];
  return NULL;
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--list") == 0) return list();
  if (argc != 3 || !(the_case = find(argv[1]))) return 2;
  mode = argv[2];
  umask(0);
  own_pid = getpid();

  struct call call = {.function = the_case->address};
  bool other = other_start();
  the_case->prepare(call.args);
  if (strcmp(mode, "passed") == 0)
    run_passed(&call, other);
  else
    run_failed(&call, other);
  say("1..%u\n", n_checks);
  /* Not exit(): streams may hold what was never meant to be written. */
  x_exit(n_wrong != 0);
}
