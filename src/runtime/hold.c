/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call that is about to fail waits for a debugger. Whoever starts a command does not know which of its processes that
 * will be, and a debugger that follows all of them is in their way.
 */
#include "hold.h"

#include <fcntl.h>

#include "process.h"
#include "system.h"

#define STATUS 4096
#define PR_SET_PTRACER 0x59616d61
#define TICK_NS 20000000

static const char word[] = "TracerPid:\t";

/* Does somebody trace this process? True if the kernel does not say: nobody is to wait for ever. */
static __attribute__((noinline)) bool is_traced(void) {
  char text[STATUS];
  long fd = rt_system(SYS_open, (long)"/proc/self/status", O_RDONLY | O_CLOEXEC, 0, 0, 0, 0);
  long n = fd < 0 ? -1 : rt_system(SYS_read, fd, (long)text, sizeof text, 0, 0, 0);
  if (fd >= 0) (void)rt_system(SYS_close, fd, 0, 0, 0, 0, 0);
  for (long i = 0; i + (long)sizeof word <= n; i++) {
    size_t k = 0;
    while (word[k] && text[i + (long)k] == word[k])
      k++;
    if (!word[k]) return text[i + (long)k] != '0';
  }
  return true;
}

void rt_hold(void) {
  const struct { int64_t seconds, nanoseconds; } tick = {0, TICK_NS};
  uint32_t nobody = 0;
  if (!rt.area || !rt_load(&rt.area->hold)) return;
  /* The debugger is no parent of this process. Only one waits. */
  (void)rt_system(SYS_prctl, PR_SET_PTRACER, -1, 0, 0, 0, 0);
  if (!rt_swap_if(&rt.area->held, &nobody, rt_pid())) return;
  while (!is_traced() && rt_load(&rt.area->hold))
    (void)rt_system(SYS_nanosleep, (long)&tick, 0, 0, 0, 0, 0);
}
