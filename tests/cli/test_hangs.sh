#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# murphy test on programs that hang, or only take long.
. "$(dirname "$0")/tap.sh"
[ -z "${MURPHY_AGAIN:-}" ] || plan_skip 'was run with the other compiler'

needs_sandbox

# --- one loop is one hang, wherever in it the program is met -----------------------------------------------------------

cat >loop.c <<'END'
#include <stdio.h>
#include <stdlib.h>
static volatile unsigned long sum;
static __attribute__((noinline)) void one(unsigned n) { while (n--) sum += n; }
static __attribute__((noinline)) void two(unsigned n) { while (n--) sum ^= n; one(n + 100000); }
static __attribute__((noinline)) char *load(int n) { return malloc((size_t)n); }
static __attribute__((noinline)) char *read_line(void) { char *p = load(100); one(100); return p; }
static __attribute__((noinline)) char *read_word(void) { char *p = load(20); two(100); return p; }
int main(void) {
  char *line = read_line(), *word = read_word();
  while (!line || !word) {
    one(1000000);
    two(1000000);
  }
  puts("done");
  return 0;
}
END
cc -g -O1 -w -o loop loop.c
# Where in a loop it is met is chance: once more if all looks were at one place.
cat >one_loop.py <<'END'
import json, sys
found = json.load(open("out"))["findings"]
sys.exit(not ([f["kind"] for f in found] == ["hang"] and found[0]["crash_stack"][0]["symbol"] == "main"))
END
for try in 1 2; do
  run test --campaign "loop1.$try" --budget 4runs --function malloc --format json -- ./loop
  python3 one_loop.py && break
done
holds 'one loop is one hang' python3 one_loop.py

cat >loops.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile unsigned long sum;
static __attribute__((noinline)) void one(unsigned n) { while (n--) sum += n; }
static __attribute__((noinline)) void two(unsigned n) { while (n--) sum ^= n; }
int main(void) {
  char *p = malloc(10), c;
  while (!p) { one(1000); two(1000); }
  while (read(0, &c, 1) < 0) { two(1000); one(1000); }
  puts("done");
  return 0;
}
END
cc -g -O1 -w -o loops loops.c
run test --campaign loop2 --budget 300s --function malloc,read --format json -- ./loops
holds 'two loops of one function are two hangs' python3 -c '
import json, sys
found = json.load(open("out"))["findings"]
sys.exit(sorted((f["kind"], f["fault"]["function"]) for f in found) != [("hang", "malloc"), ("hang", "read")])'

# --- what takes longer than most is no hang -------------------------------------------------------------------------------

cat >slow.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
  int fd = open("/etc/hostname", O_RDONLY);
  char c;
  if (fd < 0) {
    usleep(1600000); /* it gives up later */
    fputs("cannot open\n", stderr);
    return 1;
  }
  return read(fd, &c, 1) < 0;
}
END
cc -g -O1 -w -o slow slow.c
run test --campaign slow1 --budget 4runs --function open --format json -- ./slow
holds 'what comes to its end when it is given more time is no hang' python3 -c '
import json, sys
told = json.load(open("out"))
sys.exit(not (not told["findings"] and any("came to its end" in d["reason"] for d in told["doubts"])))'

finish
