/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks WAY...: calls target_nothing by left and by right, in the ways given, and says after each what came back:
 * plain, sorted (called by qsort), deep (below 200 frames), handled (in a signal handler), aside (in one with a stack
 * of its own), thread, child, or PLUGIN.so, whose plugin_enter makes the call. After "race", PLUGIN.so is opened and
 * closed many times while two threads call by both, and what comes back is how many calls were not answered like the
 * first.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif
#define STAY __asm__ volatile("" ::: "memory")

long target_nothing(long a);

APART static long inner(long a) {
  long r = target_nothing(a);
  STAY;
  return r;
}

APART static long left(long a) {
  long r = inner(a);
  STAY;
  return r;
}

/* Not what left is, or the compiler makes one function of both. */
APART static long right(long a) {
  long r = inner(a);
  __asm__ volatile("nop" ::: "memory");
  return r;
}

static volatile long results[2]; /* handlers write it, too */

APART static void both(void) {
  results[0] = left(1);
  results[1] = right(2);
  STAY;
}

static int compare(const void *a, const void *b) {
  (void)a, (void)b;
  both();
  return 0;
}

APART static void deep(int depth) {
  if (depth > 0)
    deep(depth - 1);
  else
    both();
  STAY;
}

static void handler(int signal) {
  (void)signal;
  both();
  STAY;
}

static void raise_one(int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  if (sigaction(SIGUSR1, &action, NULL) != 0 || raise(SIGUSR1) != 0) exit(1);
}

static void *thread(void *unused) {
  both();
  STAY;
  return unused;
}

static void plugin(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) exit(1);
  long (*enter)(long);
  *(void **)&enter = dlsym(library, "plugin_enter");
  if (!enter) exit(1);
  results[0] = enter(1);
  results[1] = inner(2);
  if (dlclose(library) != 0) exit(1);
}

/* --- a race --- */

static volatile int over;

static void *caller(void *ret_different) {
  long first = left(1), second = right(2);
  for (unsigned long n = 0; !over; n++)
    *(long *)ret_different += (left(1) != first) + (right(2) != second);
  STAY;
  return NULL;
}

static void race(const char *path) {
  long different[2] = {0};
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    if (pthread_create(&threads[i], NULL, caller, &different[i]) != 0) exit(1);
  for (int i = 0; i < 2000; i++) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library || dlclose(library) != 0) exit(1);
  }
  over = 1;
  for (int i = 0; i < 2; i++)
    (void)pthread_join(threads[i], NULL);
  results[0] = different[0];
  results[1] = different[1];
}

static void child(void) {
  pid_t id = fork();
  int status = 0;
  if (id == 0) {
    both();
    _exit((results[0] == -1) | (results[1] == -1) << 1);
  }
  if (id < 0 || waitpid(id, &status, 0) != id) exit(1);
  results[0] = WEXITSTATUS(status) & 1 ? -1 : 0;
  results[1] = WEXITSTATUS(status) & 2 ? -1 : 0;
}

static void go(const char *way) {
  static char aside[1 << 16];
  int numbers[2] = {1, 2};
  stack_t stack = {.ss_sp = aside, .ss_size = sizeof aside};
  pthread_t id;
  if (strcmp(way, "plain") == 0)
    both();
  else if (strcmp(way, "sorted") == 0)
    qsort(numbers, 2, sizeof *numbers, compare);
  else if (strcmp(way, "deep") == 0)
    deep(200);
  else if (strcmp(way, "handled") == 0)
    raise_one(0);
  else if (strcmp(way, "aside") == 0 && sigaltstack(&stack, NULL) == 0)
    raise_one(SA_ONSTACK);
  else if (strcmp(way, "thread") == 0 && pthread_create(&id, NULL, thread, NULL) == 0)
    (void)pthread_join(id, NULL);
  else if (strcmp(way, "child") == 0)
    child();
  else
    plugin(way);
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    results[0] = results[1] = 0;
    if (strcmp(argv[i], "race") == 0 && i + 1 < argc)
      race(argv[++i]);
    else
      go(argv[i]);
    printf("%ld/%ld ", results[0], results[1]);
  }
  printf("end\n");
  return 0;
}
