/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that the loader chooses (IFUNC): of libc, into the kernel's page, and of another library.
 *
 * @build cc -O2 -fPIC -shared $here/ifunc_library.c -o libchosen.so; cc -O1 -fno-builtin $src -L. -lchosen -Wl,-rpath,$PWD -o $out
 * @build cc -O2 -fPIC -shared $here/ifunc_library.c -o libchosen.so; cc -O1 -fno-builtin -Wl,-z,now $src -L. -lchosen -Wl,-rpath,$PWD -o $out
 * @run 1 0 -f 'time:ret=-1 errno=EFAULT when call==2' -- time
 * @run 1 0 -f 'gettimeofday:ret=-1 errno=EFAULT when call==2' -- gettimeofday
 * @run 1 0 -f 'strlen:ret=77 when call==1' -- strlen
 * @run 1 0 -f 'chosen:ret=-7 errno=EIO when call==2' -- chosen
 */
#include "expect.h"

#include <sys/time.h>
#include <time.h>

int chosen(int x);

int main(int argc, char **argv) {
  EXPECT(argc == 2);
  struct timeval now;
  if (strcmp(argv[1], "time") == 0) {
    EXPECT(time(NULL) > 1000000000);
    EXPECT(time(NULL) == -1 && errno == EFAULT);
    EXPECT(time(NULL) > 1000000000);
  }
  if (strcmp(argv[1], "gettimeofday") == 0) {
    EXPECT(gettimeofday(&now, NULL) == 0 && now.tv_sec > 1000000000);
    EXPECT(gettimeofday(&now, NULL) == -1 && errno == EFAULT);
    EXPECT(gettimeofday(&now, NULL) == 0);
  }
  if (strcmp(argv[1], "strlen") == 0) {
    /* Through a pointer: the compiler knows that strlen of the same text is the same. */
    size_t (*volatile length)(const char *) = strlen;
    EXPECT(length("four") == 77);
    EXPECT(length("four") == 4);
  }
  if (strcmp(argv[1], "chosen") == 0) {
    EXPECT(chosen(1) == 101);
    EXPECT(chosen(1) == -7 && errno == EIO);
    EXPECT(chosen(2) == 102);
  }
  return 0;
}
