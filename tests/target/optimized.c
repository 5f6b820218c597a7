// SPDX-License-Identifier: Apache-2.0
// Variables of optimized functions: in registers that others have saved since, gone but for what the caller still has,
// inlined; and those of each thread. Each call of getppid is known by a letter; a run says which of them fail.
//
// @build gcc -g -O2 $src -o $out
// @build gcc -gdwarf-4 -O2 -fno-omit-frame-pointer -no-pie $src -o $out
// @build clang -g -O2 $src -o $out
// @run 2 0 -f 'getppid:ret=-1 when local("middle", "i") == 1' -- be
// @run 1 0 -f 'getppid:ret=-1 when local("middle", "i") == 1 and local("middle", "name") == "second"' -- e
// @run 2 0 -f 'getppid:ret=-1 when local("middle", "sum") == 3' -- cf
// @run 3 0 -f 'getppid:ret=-1 when local("middle", "it.id") == 3 and local("middle", "name") ~ "f*"' -- abc
// @run 6 0 -f 'getppid:ret=-1 when local("outer", "items[1].flags") == 7' -- abcdef
// @run 3 0 -f 'getppid:ret=-1 when arg("middle", 2) == "second"' -- def
// @run 6 0 -f 'getppid:ret=-1 when arg("middle", 1) == 3' -- abcdef
// @run 4 0 -f 'getppid:ret=-1 when global("mine") == 6' -- defg
// @run 4 0 -f 'getppid:ret=-1 when global("record.text") == "later"' -- defg
// @run 7 0 -f 'getppid:ret=-1 when global("record.inner.b") == 9 and global("untouched") == 0' -- abcdefg
// @run 3 0 -f 'getppid:ret=-1 when local("outer", "held") == 6' -- def
// @run 1 0 -f 'getppid:ret=-1 when local("signalled", "n") == 70' -- g
// @run 0 0 -f 'getppid:ret=-1 when local("middle", "unused") == 1 or local("middle", "unused") != 1' -- -
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct item {
  int id, flags;
};
static __thread int mine = 5;
__thread int untouched;
__thread struct {
  const char *text;
  struct {
    char a;
    short b;
  } inner;
} record = {"first", {1, 9}};
static volatile int sink;
static char failed[16];

static __attribute__((noinline)) void ask(const char *letter) {
  if (getppid() < 0) strcat(failed, letter);
  sink++;
}

/* It has reason to put everything that callers keep into registers away. */
static __attribute__((noinline)) int busy(const char *letter, int a, int b) {
  int c = a * sink + 1, d = b + sink, e = a ^ sink;
  ask(letter);
  int r = c * d + sink;
  sink = r;
  return r + e + a + b;
}

static __attribute__((noinline)) int middle(int n, const char *name, const struct item *it, int unused) {
  static const char *const letters[] = {"a", "b", "c", "d", "e", "f"};
  int sum = 0;
  for (int i = 0; i < n; i++) {
    sink += busy(letters[i + (*name == 's' ? 3 : 0)], i, n);
    sum += i * it->id;
  }
  sink = sum;
  return sum + *name;
}

static __attribute__((noinline)) int outer(int n) {
  static __thread int held = 5;
  struct item items[2] = {{3, 4}, {5, 7}};
  __asm__ volatile("" : : "r"(items) : "memory");
  int r = middle(n, "first", items, 1);
  mine++;
  held++;
  record.text = "later";
  return r + middle(n, "second", items, r);
}

/* Below a signal's frame, all registers are in it. */
static void handler(int signal) {
  (void)signal;
  ask("g");
}
static __attribute__((noinline)) int signalled(int n) {
  (void)raise(SIGUSR1);
  __asm__ volatile("" : "+r"(n));
  return n;
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  (void)signal(SIGUSR1, handler);
  volatile int three = 3, seventy = 70;
  int r = outer(three);
  r += signalled(seventy);
  const char *wanted = strcmp(argv[1], "-") == 0 ? "" : argv[1];
  if (strcmp(failed, wanted) == 0) return r == 1;
  printf("failed: %s, expected: %s\n", failed, wanted);
  return 1;
}
