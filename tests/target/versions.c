/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that was linked to an older version of a function gets that version, whether the function is intercepted or
 * not: the first realpath knew no NULL for its second argument, and the first memcpy copied overlapping memory.
 *
 * @build cc -O1 -fno-builtin -pthread -Wno-array-bounds $src -o $out
 * @run 0 0 -f 'realpath:ELOOP when call==1000' -- pass
 * @run 2 0 -f 'realpath:ELOOP' -- fail
 * @run 0 0 -f 'memcpy:ret=0 errno=ENOMEM when call==100000' -- copy
 * @run 0 0 -f 'pthread_cond_signal:EINVAL when call==1000' -f 'pthread_cond_timedwait:EPERM when call==1000' -- condition
 * @run 2 0 -f 'pthread_cond_timedwait:EPERM' -- condition-fails
 */
#include "expect.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>

extern char *old_realpath(const char *path, char *resolved);
extern void *old_memcpy(void *to, const void *from, size_t n);
extern int old_timedwait(void *condition, pthread_mutex_t *mutex, const struct timespec *until);
__asm__(".symver old_realpath, realpath@GLIBC_2.2.5");
__asm__(".symver old_memcpy, memcpy@GLIBC_2.2.5");
__asm__(".symver old_timedwait, pthread_cond_timedwait@GLIBC_2.2.5");

static void copies(void) {
  char text[] = "0123456789";
  EXPECT(old_memcpy(text, "ab", 2) == text && text[0] == 'a' && text[2] == '2');
  char other[4];
  EXPECT(memcpy(other, text, 3) == other && other[1] == 'b');
}

static void waits(int result) {
  static pthread_cond_t new_condition = PTHREAD_COND_INITIALIZER;
  static void *old_condition; /* the first ones held a pointer to what was allocated on first use */
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  struct timespec past = {1, 0};
  pthread_mutex_lock(&mutex);
  EXPECT(pthread_cond_timedwait(&new_condition, &mutex, &past) == result);
  EXPECT(old_timedwait(&old_condition, &mutex, &past) == result);
  /* Had the new function been called for the old one, it would have used the pointer as a counter. */
  EXPECT(result == 1 /* EPERM: not called */ ? !old_condition : (uintptr_t)old_condition > 4096);
  pthread_cond_signal(&new_condition);
}

int main(int argc, char **argv) {
  char path[] = "/dev/../dev/null", *made;
  EXPECT(argc == 2);
  if (strcmp(argv[1], "pass") == 0) {
    made = realpath(path, NULL);
    EXPECT(made && strcmp(made, "/dev/null") == 0);
    errno = 0;
    EXPECT(!old_realpath(path, NULL) && errno == EINVAL);
  }
  if (strcmp(argv[1], "fail") == 0) {
    EXPECT(!realpath(path, NULL) && errno == ELOOP);
    errno = 0;
    EXPECT(!old_realpath(path, NULL) && errno == ELOOP);
  }
  if (strcmp(argv[1], "copy") == 0) copies();
  if (strcmp(argv[1], "condition") == 0) waits(ETIMEDOUT);
  if (strcmp(argv[1], "condition-fails") == 0) waits(EPERM);
  return 0;
}
