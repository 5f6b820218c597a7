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
  uint32_t next; /* the number of the program that starts in this process; 0 if it has none yet */
  uint32_t lineage, children;
};

static struct {
  struct own *own;
  int (*clock)(long, struct timespec *);
} who;
static struct own fallback;
uint32_t rt_tid_offset;

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

static uint32_t own_pid(void) { return (uint32_t)rt_system(SYS_getpid, 0, 0, 0, 0, 0, 0); }

/* The first of N numbers that nobody else has. */
static uint32_t give(uint32_t n) { return rt_add(&rt.area->next_process, n) + 1; }

/* What the process PID left in TABLE; 0 if it left nothing. */
static uint32_t left_by(uint64_t *table, uint32_t pid) {
  uint64_t *place = &table[pid % WIRE_HEIRS], seen = rt_load(place);
  return seen >> 32 == pid && rt_swap_if(place, &seen, 0) ? (uint32_t)seen : 0;
}

/* Never even: 0 is the first process's lineage, which the tables have as FIRST, since 0 is nothing there. */
#define FIRST 2u
#define STRANGER 0xfffffffeu
static uint32_t descend(uint32_t from, uint32_t child) {
  uint64_t h = (((uint64_t)from << 32 | child) + 1) * 0x9e3779b97f4a7c15u;
  return (uint32_t)(h >> 32) | 1;
}

/* This process has NUMBER; 0 for the next one. LINEAGE as the tables have it: 0 if nobody has told it. */
static void take(uint32_t number, uint32_t lineage) {
  uint32_t none = 0;
  if (number == 0) number = rt.area ? give(1) : 1;
  rt_store(&who.own->pid, own_pid());
  if (!lineage && number != 1) lineage = descend(STRANGER, number);
  rt_store(&who.own->lineage, lineage == FIRST ? 0 : lineage);
  if (rt_swap_if(&who.own->process, &none, number) && rt.area) (void)rt_add(&rt.area->processes, 1);
}

/* FNV-1a of the program's path. */
static uint32_t own_name(void) {
  char path[512];
  long n = rt_system(SYS_readlink, (long)"/proc/self/exe", (long)path, sizeof path, 0, 0, 0);
  uint32_t h = 0x811c9dc5u;
  for (long i = 0; i < n; i++)
    h = (h ^ (unsigned char)path[i]) * 0x01000193u;
  return h;
}

/* How many processes of PID's have begun to run the program NAME before this one: pid << 32 | name << 16 | how many. */
static uint32_t count_begun(uint32_t pid, uint32_t name) {
  uint64_t *place = &rt.area->begun[(pid ^ name) % WIRE_HEIRS], seen = rt_load(place), next;
  uint64_t whose = (uint64_t)pid << 32 | (uint64_t)(name & 0xffff) << 16;
  do
    next = (seen & ~0xffffull) == whose ? whose | ((seen + 1) & 0xffff) : whose | 1;
  while (!rt_swap_if(place, &seen, next));
  return (uint32_t)(next - 1) & 0xffff;
}

/* Of the processes that PID has libc start, this is one; 0 if it does not do that. */
static uint32_t next_of(uint32_t pid) {
  uint64_t seen = rt_load(&rt.area->spawned[pid % WIRE_HEIRS]);
  if (seen >> 32 != pid) return 0;
  uint32_t name = own_name();
  return descend((uint32_t)seen ^ name, count_begun(pid, name));
}

/* What the process that has become this program left for it, or the one that has started it. */
static void inherit(void) {
  if (!rt.area) {
    take(0, 0);
    return;
  }
  uint32_t pid = own_pid(), number = left_by(rt.area->heirs, pid), lineage = left_by(rt.area->lineages, pid);
  if (!number) lineage = next_of((uint32_t)rt_system(SYS_getppid, 0, 0, 0, 0, 0, 0));
  take(number, lineage);
}

void rt_process_start(void) {
  who.own = rt_map(PAGE);
  if (who.own && rt_system(SYS_madvise, (long)who.own, PAGE, WIPE_ON_FORK, 0, 0, 0) < 0) who.own = NULL;
  if (!who.own) who.own = &fallback;
  rt_tid_offset = find_tid();
  find_clock();
  inherit();
}

static struct own *own(void) {
  struct own *o = who.own;
  if (!o || __builtin_expect(rt_load(&o->process) != 0, 1)) return o ? o : &fallback;
  take(0, 0);
  return o;
}

/* --- forks and programs ------------------------------------------------------------------------------------------- */

static uint32_t at_once(void) { return rt.plan->flags & WIRE_FOLLOW ? 2 : 1; }

static uint32_t next_lineage(struct own *o) { return descend(rt_load(&o->lineage), rt_add(&o->children, 1)); }

struct rt_child rt_process_reserve(void) {
  uint32_t lineage = next_lineage(own());
  return (struct rt_child){.number = give(at_once()), .lineage = lineage};
}

void rt_process_born(struct rt_child child) {
  uint32_t number = child.number;
  rt_store(&who.own->process, 0);
  take(number, child.lineage);
  rt_store(&who.own->next, at_once() > 1 ? number + 1 : 0);
}

/* Unless somebody has taken the next one. */
void rt_process_unborn(struct rt_child child) {
  uint32_t number = child.number, last = number + at_once() - 1;
  (void)rt_swap_if(&rt.area->next_process, &last, number - 1);
}

/* A child of vfork is in its parent's memory, and known by its number alone. It may try to become several programs. */
void rt_process_leave(void) {
  uint32_t pid = own_pid(), number = 0;
  struct own *o = own();
  bool itself = rt_load(&o->pid) == pid;
  if (!(rt.plan->flags & WIRE_FOLLOW)) return;
  if (itself) number = rt_load(&o->next);
  if (number == 0) number = give(1);
  if (itself) rt_store(&o->next, number);
  uint32_t lineage = itself ? rt_load(&o->lineage) : next_lineage(o);
  rt_store(&rt.area->lineages[pid % WIRE_HEIRS], (uint64_t)pid << 32 | (lineage ? lineage : FIRST));
  rt_store(&rt.area->heirs[pid % WIRE_HEIRS], (uint64_t)pid << 32 | number);
}

/*
 * Its number is not known here. Those that this process starts so are counted by themselves, for each program in the
 * order in which they begin.
 */
void rt_process_spawn(void) {
  uint32_t pid = own_pid();
  if (!(rt.plan->flags & WIRE_FOLLOW)) return;
  uint32_t common = descend(rt_load(&own()->lineage), STRANGER);
  rt_store(&rt.area->spawned[pid % WIRE_HEIRS], (uint64_t)pid << 32 | common);
}

uint32_t rt_process_lineage(void) { return rt_load(&own()->lineage); }

uint32_t rt_process(void) { return rt_load(&own()->process); }

uint32_t rt_pid(void) { return rt_load(&own()->pid); }

uint32_t rt_pid_if_known(void) { return who.own ? rt_load(&who.own->pid) : 0; }

uint32_t *rt_process_tid(void) {
  return rt_tid_offset ? (uint32_t *)((uintptr_t)rt_thread_pointer() + rt_tid_offset) : NULL;
}

void rt_process_forked(void) {
  rt_store(&who.own->process, 0);
  (void)rt_process();
}

void rt_process_goes_on(uint32_t number) {
  rt_store(&who.own->process, 0);
  take(number, 0);
}

/*
 * The coarse clock, a few milliseconds fine: the vDSO reads it from memory. For others it uses the processor's counter,
 * which seccomp's strict mode and prctl forbid, or a system call.
 */
static uint64_t time_of(int clock) {
  struct timespec t = {0};
  if (who.clock) (void)who.clock(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t rt_time(void) { return time_of(CLOCK_MONOTONIC_COARSE); }
uint64_t rt_time_fine(void) { return time_of(CLOCK_MONOTONIC); }
