/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call that passes through arrives with every register and stack argument as the caller gave it, and what it returns
 * comes back, in two integer and two vector registers. Whatever a condition had to look at on the way.
 *
 * @needs grep -qw avx /proc/cpuinfo
 * @build cc -shared $here/registers_library.S -o libprobe.so; cc -O2 $src $here/registers_call.S -L. -lprobe -Wl,-rpath,$PWD -o $out
 * @build cc -shared $here/registers_library.S -o libprobe.so; cc -O2 -Wl,-z,now $src $here/registers_call.S -L. -lprobe -Wl,-rpath,$PWD -o $out
 * @run 0 0 -f 'probe:ret=-9 errno=EIO when call==1000' -- pass
 * @run 0 0 -f 'probe:ret=-9 errno=EIO when call%1000==0' -- pass
 * @run 0 0 -f 'probe:ret=-9 errno=EIO when random(0.000000001)' -- pass
 * @run 0 0 -f 'probe:ret=-9 errno=EIO when caller("libc.so.6")' -- pass
 * @run 0 0 -f 'probe:ret=-9 errno=EIO when stack("main") and call==1000' -- pass
 * @run 1 0 -f 'probe:ret=-9 errno=EIO when call==2' -- second
 * @run 1 0 -f 'probe:then ret=-9 errno=EIO when call==2' -- then
 */
#include "expect.h"

#include <stdint.h>

struct registers {
  uint64_t rax, rdi, rsi, rdx, rcx, r8, r9, r10, rbx, rbp, r12, r13, r14, r15;
  uint64_t stack[8];
  uint32_t mxcsr, pad;
  uint64_t alignment; /* of the stack pointer, in what probe() saw */
  uint8_t ymm[16][32];
};

extern struct registers probe_saw;
void call_probe(const struct registers *give, struct registers *ret);

static struct registers make(int seed) {
  struct registers r;
  uint8_t *bytes = (uint8_t *)&r;
  for (size_t i = 0; i < sizeof(r); i++)
    bytes[i] = (uint8_t)(i * 7 + (size_t)seed * 13 + 1);
  r.mxcsr = 0x1f80, r.pad = 0, r.alignment = 0;
  return r;
}

static int arrived(const struct registers *r) { return memcmp(r, &probe_saw, sizeof(*r)) == 0; }

static int kept(const struct registers *a, const struct registers *b) {
  return memcmp(&a->rbx, &b->rbx, 6 * 8) == 0 && a->mxcsr == b->mxcsr;
}

static int came_back(const struct registers *r) {
  uint64_t low[2];
  memcpy(&low[0], r->ymm[0], 8);
  memcpy(&low[1], r->ymm[1], 8);
  return r->rax == 0x0a0a0a0a0a0a0a0a && r->rdx == 0x0d0d0d0d0d0d0d0d && low[0] == r->rax && low[1] == r->rdx;
}

int main(int argc, char **argv) {
  EXPECT(argc == 2);
  int fails = strcmp(argv[1], "pass") != 0, then = strcmp(argv[1], "then") == 0;
  for (int i = 1; i <= 20; i++) {
    struct registers give = make(i), back = make(i + 100);
    memset(&probe_saw, 0, sizeof(probe_saw));
    errno = 77;
    call_probe(&give, &back);
    if (i == 1) probe_saw.r10 = give.r10; /* the loader itself loses it when it binds a function late */
    EXPECT(kept(&give, &back));
    if (fails && i == 2) {
      EXPECT(back.rax == (uint64_t)-9 && errno == EIO);
      EXPECT(then || probe_saw.rdi == 0);
      EXPECT(!then || arrived(&give));
    } else {
      EXPECT(errno == 77);
      EXPECT(arrived(&give));
      EXPECT(came_back(&back));
    }
  }
  return 0;
}
