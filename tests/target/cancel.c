/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that is cancelled, or that jumps away, inside of a call: an ordinary one, and one whose failure is reported
 * only behind it.
 *
 * @build cc -O2 -pthread $src -o $out
 * @run 0 0 -f 'read:EIO when call==100' -- cancel
 * @run 0 0 -f 'read:then EIO when call==1' -- cancel
 * @run 0 0 -f 'qsort:ret=0 when call==100' -- jump
 * @run 1 0 -f 'scandir:then EIO when call<=2' -- jump-then
 */
#include "expect.h"

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>

static int fds[2], cleaned;
static jmp_buf back;

static void cleanup(void *unused) {
  (void)unused;
  cleaned++;
}

static void *reads(void *unused) {
  char byte;
  (void)unused;
  pthread_cleanup_push(cleanup, NULL);
  EXPECT(read(fds[0], &byte, 1) < 0);
  pthread_cleanup_pop(0);
  return NULL;
}

static void cancelled(void) {
  pthread_t thread;
  void *result = NULL;
  EXPECT(pipe(fds) == 0);
  EXPECT(pthread_create(&thread, NULL, reads, NULL) == 0);
  usleep(100000);
  EXPECT(pthread_cancel(thread) == 0);
  EXPECT(pthread_join(thread, &result) == 0);
  EXPECT(result == PTHREAD_CANCELED && cleaned == 1);
}

static int jumps(const void *a, const void *b) {
  (void)a, (void)b;
  longjmp(back, 1);
}

static int jumps_too(const struct dirent *d) {
  (void)d;
  longjmp(back, 1);
}

static int none(const struct dirent *d) {
  (void)d;
  return 0;
}

int main(int argc, char **argv) {
  int numbers[2] = {2, 1};
  struct dirent **list;
  EXPECT(argc == 2);
  if (strcmp(argv[1], "cancel") == 0) cancelled();
  if (strcmp(argv[1], "jump") == 0 && setjmp(back) == 0) {
    qsort(numbers, 2, sizeof(int), jumps);
    EXPECT(0);
  }
  if (strcmp(argv[1], "jump-then") == 0) {
    if (setjmp(back) == 0) {
      scandir("/", &list, jumps_too, NULL);
      EXPECT(0);
    }
    errno = 0;
    EXPECT(scandir("/", &list, none, NULL) == -1 && errno == EIO);
  }
  return 0;
}
