/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who and when. System calls are made at the start, and by a fork's child once, when it is first asked who it is; a
 * filter that was installed since could forbid any of them.
 */
#include "process.h"

#include <time.h>

#include "link.h"
#include "system.h"
#include "words.h"

#define THREAD_BYTES 2048 /* of libc's structure behind the thread pointer that are searched for the thread's number */
#define PAGE 4096
#define WIPE_ON_FORK 18 /* madvise */

/* On a page that the kernel clears in a fork's child. */
struct own {
  uint32_t process, pid;
};

static struct {
  struct own *own;
  uint32_t tid_offset; /* from the thread pointer; 0 if not known */
  int (*clock)(long, struct timespec *);
} who;
static struct own fallback;

/*
 * libc keeps the thread's number in its own structure, at a place that differs between versions. It is the first word
 * there that has this value; the process's number, the same in the first thread, is not kept beside it any more.
 */
static uint32_t find_tid(void) {
  uint32_t tid = (uint32_t)rt_system(SYS_gettid, 0, 0, 0, 0, 0, 0);
  uint64_t p = rt_thread_pointer();
  for (uint32_t at = 64; at < THREAD_BYTES; at += 4)
    if (*(const volatile uint32_t *)(p + at) == tid) return at;
  return 0;
}

static void find_clock(void) {
  for (const struct link_map *m = rt_link_first(); m; m = m->l_next)
    if (m->l_name && rt_behind(m->l_name, "linux-vdso"))
      who.clock = (int (*)(long, struct timespec *))rt_link_symbol(m, "__vdso_clock_gettime", NULL);
}

void rt_process_start(void) {
  who.own = rt_map(PAGE);
  if (who.own && rt_system(SYS_madvise, (long)who.own, PAGE, WIPE_ON_FORK, 0, 0, 0) < 0) who.own = NULL;
  if (!who.own) who.own = &fallback;
  who.tid_offset = find_tid();
  find_clock();
  (void)rt_process();
}

static struct own *own(void) {
  struct own *o = who.own;
  if (!o || __builtin_expect(rt_load(&o->process) != 0, 1)) return o ? o : &fallback;
  uint32_t none = 0, number = rt.area ? rt_add(&rt.area->next_process, 1) + 1 : 1;
  rt_store(&o->pid, (uint32_t)rt_system(SYS_getpid, 0, 0, 0, 0, 0, 0));
  (void)rt_swap_if(&o->process, &none, number);
  return o;
}

uint32_t rt_process_reserve(void) { return rt_add(&rt.area->next_process, 1) + 1; }

void rt_process_born(uint32_t number) {
  rt_store(&who.own->pid, (uint32_t)rt_system(SYS_getpid, 0, 0, 0, 0, 0, 0));
  rt_store(&who.own->process, number);
}

/* Unless somebody has taken the next one. */
void rt_process_unborn(uint32_t number) { (void)rt_swap_if(&rt.area->next_process, &number, number - 1); }

uint32_t rt_process(void) { return rt_load(&own()->process); }

uint32_t rt_pid(void) { return rt_load(&own()->pid); }

uint32_t rt_tid(void) {
  return who.tid_offset ? *(const volatile uint32_t *)(rt_thread_pointer() + who.tid_offset) : rt_pid();
}

uint32_t *rt_process_tid(void) {
  return who.tid_offset ? (uint32_t *)((uintptr_t)rt_thread_pointer() + who.tid_offset) : NULL;
}

void rt_process_forked(void) {
  rt_store(&who.own->process, 0);
  (void)rt_process();
}

/*
 * The coarse clock, a few milliseconds fine: the vDSO reads it from memory. For others it uses the processor's counter,
 * which seccomp's strict mode and prctl forbid, or a system call.
 */
uint64_t rt_time(void) {
  struct timespec t = {0};
  if (who.clock) (void)who.clock(CLOCK_MONOTONIC_COARSE, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
