/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs with the address sanitizer, whose own wrappers stand before libc's functions.
 *
 * @build gcc -g -O1 -fsanitize=address $src -o $out
 * @build gcc -g -O1 -fsanitize=address,undefined -static-libasan $src -o $out
 * @build clang -g -O1 -fsanitize=address $src -o $out
 * @build clang -g -O1 -fsanitize=address -shared-libasan -Wl,-rpath,$(clang -print-file-name=libclang_rt.asan-x86_64.so | xargs dirname) $src -o $out
 * @run 1 0 -f 'read:EIO when call==2' --
 * @run 1 0 -f 'open:EACCES when stack("open_it")' -- open
 * @run 1 0 -f 'fopen:EMFILE when stack("open_it")' -- fopen
 * @run 0 1 -f 'read:EIO when call==1000' -- overflow
 */
#include "expect.h"

#include <fcntl.h>

__attribute__((noinline)) int open_it(int stream);
int open_it(int stream) {
  errno = 0;
  int good = stream ? fopen("/dev/null", "r") == NULL && errno == EMFILE
                    : open("/dev/null", O_RDONLY) == -1 && errno == EACCES;
  __asm__ volatile("" : "+r"(good));
  return good;
}

int main(int argc, char **argv) {
  char byte, *volatile block = malloc(10);
  EXPECT(block);
  if (argc > 1 && strcmp(argv[1], "overflow") == 0)
    return block[argc + 8]; /* the sanitizer says so, and exits with 1 */
  if (argc > 1) {
    EXPECT(open_it(strcmp(argv[1], "fopen") == 0));
  } else {
    int fd = open("/dev/zero", O_RDONLY);
    EXPECT(read(fd, &byte, 1) == 1);
    errno = 0;
    EXPECT(read(fd, &byte, 1) == -1 && errno == EIO);
    EXPECT(read(fd, &byte, 1) == 1);
  }
  free(block);
  return 0;
}
