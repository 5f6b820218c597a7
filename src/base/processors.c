/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processors a thread may use.
 *
 * Who only ever waits for each other is best kept on one: the kernel would wake each of them on a processor that has
 * nothing to do, and to rouse one costs more than what is to be done there.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif

#include "base/base.h"

#include <sched.h>
#include <string.h>

_Static_assert(sizeof(cpu_set_t) == sizeof((struct processors *)NULL)->words, "the kernel's mask");

/* The kernel refuses a mask that is smaller than its own: then they are not known, and nobody is kept anywhere. */
struct processors processors_now(void) {
  struct processors p = {0};
  p.known = sched_getaffinity(0, sizeof p.words, (cpu_set_t *)p.words) == 0;
  return p;
}

unsigned processors_pick(const struct processors *p, unsigned n) {
  const cpu_set_t *set = (const cpu_set_t *)p->words;
  unsigned count = p->known ? (unsigned)CPU_COUNT(set) : 0, seen = 0;
  for (unsigned i = 0; i < CPU_SETSIZE && count; i++)
    if (CPU_ISSET(i, set) && seen++ == n % count) return i + 1;
  return 0;
}

void processors_keep_to(int pid, unsigned number) {
  cpu_set_t set;
  if (number == 0 || number > CPU_SETSIZE) return;
  CPU_ZERO(&set);
  CPU_SET(number - 1, &set);
  (void)sched_setaffinity(pid, sizeof set, &set);
}

void processors_use(const struct processors *p) {
  if (p->known) (void)sched_setaffinity(0, sizeof p->words, (const cpu_set_t *)p->words);
}
