// SPDX-License-Identifier: Apache-2.0
// Variables of the program in conditions, by the names that the debug information has. Each call of getppid is known by
// a letter; a run says which of them fail.
//
// @build gcc -g -O0 $src -o $out
// @build gcc -g -O2 $src -o $out
// @build gcc -gdwarf-4 -O1 -fno-omit-frame-pointer -no-pie $src -o $out
// @build clang -g -O0 $src -o $out
// @build clang -g -O2 $src -o $out
// @run 1 0 -f 'getppid:ret=-1 when global("counter") == 2' -- b
// @run 2 0 -f 'getppid:ret=-1 when global("counter") >= 2' -- bc
// @run 3 0 -f 'getppid:ret=-1 when global("negative") == -5' -- abc
// @run 3 0 -f 'getppid:ret=-1 when global("request.method") == 7 and global("request.inner.deep[2]") == 30' -- abc
// @run 1 0 -f 'getppid:ret=-1 when global("request.next->method") == 9 and call == 1' -- a
// @run 1 0 -f 'getppid:ret=-1 when global("request.next.method") == 9 and call == 1' -- a
// @run 3 0 -f 'getppid:ret=-1 when global("request.name") == "first"' -- abc
// @run 3 0 -f 'getppid:ret=-1 when global("request.next->label") ~ "sec*"' -- abc
// @run 3 0 -f 'getppid:ret=-1 when global("request.low") == 5 and global("request.high") == -3' -- abc
// @run 3 0 -f 'getppid:ret=-1 when global("request.unnamed") == 4' -- abc
// @run 3 0 -f 'getppid:ret=-1 when global("request.kind") == 1' -- abc
// @run 0 0 -f 'getppid:ret=-1 when global("request.next->next->method") != 9' -- -
// @run 3 0 -f 'getppid:ret=-1 when not global("request.next->next")' -- abc
// @run 1 0 -f 'getppid:ret=-1 when local("outer", "kept") == 22' -- b
// @run 1 0 -f 'getppid:ret=-1 when local("outer", "box.value") == 33' -- c
// @run 1 0 -f 'getppid:ret=-1 when local("outer", "box.text") == "c"' -- c
// @run 0 0 -f 'getppid:ret=-1 when local("unused", "kept") == 22 or local("unused", "kept") != 22' -- -
// @run 0 0 -f 'getppid:ret=-1 when not (local("unused", "kept") & 4)' -- -
// @run 0 0 -f 'getppid:ret=-1 when local("unused", "kept") - 5' -- -
// @run 3 0 -f 'getppid:ret=-1 when (local("unused", "kept") & 4) or local("outer", "kept") > 0' -- abc
// @run 2 0 -f 'getppid:ret=-1 when not (local("outer", "kept") & 1) or global("counter") == 1' -- ab
// @run 1 0 -f 'getppid:ret=-1 when arg("plain", 1) == 2' -- b
// @run 2 0 -f 'getppid:ret=-1 when arg("plain", 1) * 11 == local("outer", "kept") and global("counter") != 2' -- ac
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind { NONE, SOME };
struct inner {
  char pad;
  short deep[4];
};
struct request {
  char method;
  unsigned low : 3;
  int high : 4;
  struct inner inner;
  struct request *next;
  char name[16];
  const char *label;
  union {
    int unnamed;
    float other;
  };
  enum kind kind;
};
struct box {
  int value;
  char text[4];
};

static struct request second = {.method = 9, .label = "second"};
struct request request = {.method = 7,
                          .low = 5,
                          .high = -3,
                          .inner = {.deep = {10, 20, 30}},
                          .next = &second,
                          .name = "first",
                          .unnamed = 4,
                          .kind = SOME};
static volatile int counter;
static volatile signed char negative = -5;
static char failed[8];

static __attribute__((noinline)) void ask(const char *letter) {
  if (getppid() < 0) strcat(failed, letter);
}

__attribute__((noinline)) int unused(int n) {
  volatile int kept = n;
  return kept;
}

/* What is volatile is in memory, where the debug information finds it whatever the compiler does. */
__attribute__((noinline)) static void outer(int n) {
  static const char *const letters[] = {"", "a", "b", "c"};
  volatile int kept = 11 * n;
  volatile struct box box = {.value = n == 3 ? 33 : 0};
  __asm__ volatile("" : : "r"(&box) : "memory"); /* in one piece: clang would take the array apart */
  box.text[0] = letters[n][0];
  counter = n;
  ask(letters[n]);
  box.value += kept;
}

/* As if it were compiled without optimization: arguments are in memory. */
#ifdef __clang__
__attribute__((noinline, optnone))
#else
__attribute__((noinline, optimize("O0")))
#endif
static void
plain(int n) {
  outer(n);
}

int main(int argc, char **argv) {
  if (argc < 2 || !negative) return 2;
  for (int i = 1; i <= 3; i++)
    plain(i);
  const char *wanted = strcmp(argv[1], "-") == 0 ? "" : argv[1];
  if (strcmp(failed, wanted) == 0) return argc - 2;
  printf("failed: %s, expected: %s\n", failed, wanted);
  return 1;
}
