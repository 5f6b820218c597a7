/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call by its number fails, the others do not, however the program reaches the function: through the PLT, bound early
 * or late, without a PLT, with landing pads for CET, through pointers.
 *
 * @build cc -O2 $src -o $out
 * @build cc -O0 -g $src -o $out
 * @build cc -O2 -Wl,-z,now $src -o $out
 * @build cc -O2 -Wl,-z,lazy $src -o $out
 * @build cc -O2 -fno-plt $src -o $out
 * @build cc -O2 -fno-plt -Wl,-z,lazy $src -o $out
 * @build cc -O2 -no-pie -fno-pie $src -o $out
 * @build cc -O2 -fcf-protection=full -Wl,-z,ibt,-z,shstk,-z,cet-report=error $src -o $out
 * @build cc -O2 -fcf-protection=full -Wl,-z,ibtplt,-z,lazy $src -o $out
 * @build clang -O2 $src -o $out
 * @build cc -O2 -s $src -o $out
 * @build cc -O2 -Wl,--hash-style=sysv $src -o $out
 * @build cc -O2 -Wl,--hash-style=gnu $src -o $out
 * @build cc -O2 -D_FORTIFY_SOURCE=2 -D_FILE_OFFSET_BITS=64 $src -o $out
 * @run 1 0 -f 'read:EIO when call==2' --
 * @run 3 0 -f 'read:EIO when call>=2 and call<=4' -- 3
 * @run 1 0 -f 'read:EIO when call>=2 and once' --
 * @run 1 0 -f 'read:ret=-1 errno=EIO when call==2' --
 * @run 2 0 -f 'read:EIO when call==2' -f 'close:EINTR when call==1' -- 1 close
 */
#include "expect.h"

#include <fcntl.h>

typedef ssize_t reader(int, void *, size_t);
static reader *const volatile in_table[] = {read};

int main(int argc, char **argv) {
  int failures = argc > 1 ? atoi(argv[1]) : 1, fd = open("/dev/zero", O_RDONLY);
  char buffer[8];
  EXPECT(fd >= 0);
  errno = 77;
  EXPECT(read(fd, buffer, sizeof(buffer)) == 8 && errno == 77);
  for (int i = 0; i < failures; i++) {
    errno = 77;
    ssize_t n = i % 2 ? in_table[0](fd, buffer, sizeof(buffer)) : read(fd, buffer, sizeof(buffer));
    EXPECT(n == -1 && errno == EIO);
  }
  errno = 77;
  EXPECT(in_table[0](fd, buffer, sizeof(buffer)) == 8 && errno == 77);
  EXPECT(read(fd, buffer, sizeof(buffer)) == 8 && errno == 77);
  if (argc > 2) EXPECT(close(fd) == -1 && errno == EINTR);
  EXPECT(close(fd) == 0);
  return 0;
}
