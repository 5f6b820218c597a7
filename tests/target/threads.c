/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of four threads are counted together and exactly, each thread has the errno of its own calls, and `once` is
 * once.
 *
 * @build cc -O2 -pthread $src -o $out
 * @run 4000 0 -f 'read:EIO when call%10==0' -- 4000
 * @run 1 0 -f 'read:EIO when once' -- 1
 * @run 1 0 -f 'read:EIO when call==20000' -- 1
 * @run 100 0 -f 'read:EIO when call>39900' -- 100
 * @run 0 0 -f 'read:EIO when call==40001' -- 0
 */
#include "expect.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 4, CALLS = 10000 };
static int fd;
static atomic_int failures;

static void *calls(void *unused) {
  (void)unused;
  char byte;
  for (int i = 0; i < CALLS; i++) {
    errno = 77;
    ssize_t n = read(fd, &byte, 1);
    EXPECT((n == 1 && errno == 77) || (n == -1 && errno == EIO));
    failures += n == -1;
  }
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t threads[THREADS];
  fd = open("/dev/zero", O_RDONLY);
  EXPECT(argc == 2 && fd >= 0);
  for (int i = 0; i < THREADS; i++)
    EXPECT(pthread_create(&threads[i], NULL, calls, NULL) == 0);
  for (int i = 0; i < THREADS; i++)
    EXPECT(pthread_join(threads[i], NULL) == 0);
  EXPECT(failures == atoi(argv[1]));
  return 0;
}
