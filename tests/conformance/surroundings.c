/* SPDX-License-Identifier: Apache-2.0 */
/*
 * surroundings VARIABLES: what a program can see of its own process besides its calls, while about half of its calls
 * of read() fail. VARIABLES is the environment that it was started with, one a line. Prints TAP.
 */
#include "conform.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALLS = 400, DRAWS = 8 };

extern char **environ;
static unsigned n_checks, n_wrong;

void check(bool good, const char *aspect, const char *text) {
  char line[300];
  n_checks++, n_wrong += !good;
  int n = snprintf(line, sizeof(line), "%sok %u - surroundings: %s: %s\n", good ? "" : "not ", n_checks, aspect, text);
  x_write(line, (size_t)n);
}

/* --- the process -------------------------------------------------------------------------------------------------- */

static bool environment_is(const char *given) {
  size_t lines = 0, n = 0;
  for (const char *p = given; *p; p++)
    lines += *p == '\n';
  for (; environ[n]; n++) {
    const char *at = strstr(given, environ[n]);
    size_t length = strlen(environ[n]);
    if (!at || (at != given && at[-1] != '\n') || at[length] != '\n') return false;
  }
  return n == lines;
}

/* A line of /proc/self/status, with one blank for what is between name and value. */
static bool status_has(const char *name, const char *value) {
  static char text[8192];
  char *at;
  if (x_read_file("/proc/self/status", text, sizeof(text)) <= 0 || !(at = strstr(text, name))) return false;
  at += strlen(name);
  at += strspn(at, "\t ");
  return strncmp(at, value, strlen(value)) == 0 && at[strlen(value)] == '\n';
}

static void check_process(const char *given) {
  stack_t stack = {0};
  char name[20] = "";
  x_call(SYS_sigaltstack, 0, (long)&stack, 0, 0, 0, 0);
  x_call(SYS_prctl, PR_GET_NAME, (long)name, 0, 0, 0, 0);
  check(environment_is(given), "process", "the environment is the one it was given");
  check(!getenv("LD_PRELOAD"), "process", "LD_PRELOAD is not in the environment");
  check(x_count_open() == 3, "descriptors", "no more are open than the three it was given");
  check(status_has("Threads:", "1"), "process", "it has one thread");
  check(status_has("TracerPid:", "0"), "process", "nobody traces it");
  check(status_has("SigBlk:", "0000000000000000"), "process", "no signal is blocked");
  check(status_has("SigCgt:", "0000000000000000"), "process", "no signal has a handler");
  check(status_has("SigIgn:", "0000000000000000"), "process", "no signal is ignored");
  check(status_has("Seccomp:", "0") && status_has("NoNewPrivs:", "0"), "process", "no filter is over it");
  check(stack.ss_flags == SS_DISABLE, "process", "there is no other stack for signals");
  check(strcmp(name, "surroundings") == 0, "process", "its name is its own");
}

/* --- numbers drawn ------------------------------------------------------------------------------------------------ */

struct draws {
  long rand[DRAWS], random[DRAWS], lrand48[DRAWS];
};

static unsigned n_failed, n_passed, n_strange;

static void read_once(int fd) {
  char byte = 0;
  errno = 0;
  ssize_t n = read(fd, &byte, 1);
  if (n == -1 && errno == EIO)
    n_failed++;
  else if (n == 1 && errno == 0 && byte == 'r')
    n_passed++;
  else
    n_strange++;
}

static void draw(struct draws *ret, int fd) {
  srand48(5);
  for (int i = 0; i < DRAWS; i++) {
    for (int k = 0; fd >= 0 && k < CALLS / DRAWS; k++)
      read_once(fd);
    ret->rand[i] = rand();
    ret->random[i] = random();
    ret->lrand48[i] = lrand48();
  }
}

static void check_draws(int fd) {
  struct draws plain, with;
  check(rand() == 1804289383, "random", "rand() starts as it always does");
  srand(5);
  draw(&plain, -1);
  srand(5);
  draw(&with, fd);
  check(memcmp(plain.rand, with.rand, sizeof(plain.rand)) == 0, "random", "the sequence of rand() is unchanged");
  check(memcmp(plain.random, with.random, sizeof(plain.random)) == 0, "random", "that of random() too");
  check(memcmp(plain.lrand48, with.lrand48, sizeof(plain.lrand48)) == 0, "random", "that of lrand48() too");
}

/* --- main --------------------------------------------------------------------------------------------------------- */

static size_t used(void) {
  struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

int main(int argc, char **argv) {
  int at_start = errno;
  size_t used_at_start = used();
  if (argc != 2) return 2;
  check(at_start == 0, "errno", "0 at the start");
  check(used_at_start == 0, "memory", "nobody has used malloc() before main()");
  check_process(argv[1]);

  char text[CALLS + 1];
  memset(text, 'r', CALLS);
  text[CALLS] = 0;
  make_file("file", text);
  int fd = openat(AT_FDCWD, "file", O_RDONLY);
  x_mark(1);
  unsigned open = x_count_open();
  check_draws(fd);
  check(n_failed > CALLS / 4 && n_passed > CALLS / 4, "result", "about half of the calls fail");
  check(n_strange == 0, "result", "and the others do not");
  check(used() == used_at_start, "memory", "none is in use that was not before");
  check(x_count_open() == open, "descriptors", "as many are open as before");
  check(status_has("Threads:", "1"), "process", "it still has one thread");

  char end[20];
  x_write(end, (size_t)snprintf(end, sizeof(end), "1..%u\n", n_checks));
  x_exit(n_wrong != 0);
}
