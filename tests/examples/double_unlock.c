/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AFEX, figure 6: the path for a failed close unlocks a mutex that was unlocked before.
 *
 * expect: abort
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock;

static void unlock(void) {
  if (pthread_mutex_unlock(&lock) != 0) abort();
}

static int create_table(void) {
  if (pthread_mutex_lock(&lock) != 0) return -1;
  int fd = open("table.frm", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) goto failed;
  if (write(fd, "schema\n", 7) != 7) {
    close(fd);
    goto failed;
  }
  unlock();
  if (close(fd) < 0) {
#ifdef FIXED
    return -1;
#else
    goto failed;
#endif
  }
  return 0;
failed:
  unlock();
  return -1;
}

int main(void) {
  pthread_mutexattr_t attr;
  if (pthread_mutexattr_init(&attr) || pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK) ||
      pthread_mutex_init(&lock, &attr))
    return 2;
  if (create_table() < 0) {
    perror("table.frm");
    return 1;
  }
  puts("created");
  return 0;
}
