/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls before main, from a library's and the program's own constructors, and behind it, from destructors.
 *
 * @build cc -O2 -fPIC -shared $here/constructors_library.c -o libearly.so; cc -O2 $src -L. -learly -Wl,-rpath,$PWD -o $out
 * @build cc -O2 -fPIC -shared -Wl,-z,now $here/constructors_library.c -o libearly.so; cc -O2 -Wl,-z,now $src -L. -learly -Wl,-rpath,$PWD -o $out
 * @run 5 0 -f 'dup:EMFILE' --
 */
#include "expect.h"

int in_library(void);
static int seen;

static int fails(void) {
  errno = 0;
  return dup(0) == -1 && errno == EMFILE;
}

static void before_all(void) { seen += fails(); }
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = before_all;
__attribute__((constructor)) static void before(void) { seen += fails(); }

__attribute__((destructor)) static void behind(void) {
  if (!fails()) _exit(1);
}

int main(void) {
  EXPECT(in_library());
  EXPECT(seen == 2);
  EXPECT(fails());
  return 0;
}
