// SPDX-License-Identifier: Apache-2.0
// A call's arguments are in registers that its caller may have variables in. A function between the two that ends with a
// jump to what is called leaves no frame, and has put others there: what the caller's variables are is not known then.
// (gcc says that they are nowhere during the call.)
//
// @build clang -g -O2 $src -o $out
// @build clang -g -O2 -fno-plt $src -o $out
// @build clang -g -O2 -Wl,-z,now $src -o $out
// @run 0 0 -f 'setpgid:EPERM when local("far", "pid") == 1005' -- -
// @run 0 0 -f 'setpgid:EPERM when local("far", "pid") != 5' -- -
// @run 1 0 -f 'setpgid:EPERM when int(arg(1)) == 1005' -- far
// @run 1 0 -f 'setpgid:EPERM when local("near", "pid") == 7' -- near
// @run 1 0 -f 'setpgid:EPERM when local("main", "argc") == 2 and int(arg(1)) == 7' -- near
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile int sink, five = 5, seven = 7;
static const char *failed = "-";

static __attribute__((noinline)) int between(int pid, int group) { return setpgid(pid + 1000, group); }

static __attribute__((noinline)) int far(int pid, int group) {
  int r = between(pid, group);
  sink = r;
  return r;
}

static __attribute__((noinline)) int near(int pid, int group) {
  int r = setpgid(pid, group);
  sink = r;
  return r;
}

int main(int argc, char **argv) {
  if (far(five, -1) < 0 && errno == EPERM) failed = "far";
  if (near(seven, -1) < 0 && errno == EPERM) failed = "near";
  if (argc != 2 || strcmp(argv[1], failed) != 0) {
    printf("%s failed, not %s\n", failed, argc == 2 ? argv[1] : "?");
    return 1;
  }
  return 0;
}
