/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls in signal handlers fail like others, on small stacks too; a handler that interrupts a call that is being
 * decided does no harm.
 *
 * @build cc -O2 -pthread $src -o $out
 * @run - 0 -f 'dup:EMFILE when call%7==0' -f 'lseek:EINVAL when call%5==0' -- storm
 * @run - 0 -f 'dup:EMFILE when random(0.5)' -f 'lseek:EINVAL when stack("main") and call%3==0' -- storm
 * @run 1 0 -f 'lseek:EINVAL when call==1' -- small
 */
#include "expect.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

static volatile sig_atomic_t handled, handled_wrong, failed_in_handler;

static void handler(int number) {
  (void)number;
  int before = errno;
  errno = 0;
  off_t at = lseek(0, 0, SEEK_CUR);
  if (at == (off_t)-1 && errno == EINVAL)
    failed_in_handler++;
  else if (at == (off_t)-1 && errno != ESPIPE)
    handled_wrong++;
  handled++;
  errno = before;
}

static void storm(void) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  struct itimerval often = {{0, 200}, {0, 200}};
  unsigned failed = 0, passed = 0;
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  for (long i = 0; handled < 300 || failed == 0 || passed == 0; i++) {
    errno = 77;
    int fd = dup(2);
    if (fd >= 0) {
      EXPECT(errno == 77);
      close(fd);
      passed++;
    } else {
      EXPECT(errno == EMFILE);
      failed++;
    }
  }
  EXPECT(handled_wrong == 0);
  EXPECT(failed_in_handler > 0);
}

/* A handler on a stack of its own, as small as they come, below a page that must not be touched. */
static void small(void) {
  size_t size = 8192, page = 4096;
  char *memory = mmap(NULL, size + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(memory != MAP_FAILED && mprotect(memory + page, size, PROT_READ | PROT_WRITE) == 0);
  stack_t stack = {.ss_sp = memory + page, .ss_size = size};
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  EXPECT(sigaltstack(&stack, NULL) == 0);
  EXPECT(sigaction(SIGUSR1, &action, NULL) == 0);
  EXPECT(raise(SIGUSR1) == 0);
  EXPECT(handled == 1 && failed_in_handler == 1 && handled_wrong == 0);
}

int main(int argc, char **argv) {
  EXPECT(argc == 2);
  if (strcmp(argv[1], "storm") == 0)
    storm();
  else
    small();
  return 0;
}
