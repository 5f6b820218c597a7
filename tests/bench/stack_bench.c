/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the triggers that look at callers and stacks cost, in this process, beside backtrace(): 30 functions that call
 * each other, with frame pointers or without, by tables of the plan ("rows") or in memory. Prints lines "what
 * nanoseconds" for stack_bench.py.
 */
#include <execinfo.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/modules.h"
#include "runtime/process.h"
#include "runtime/stack.h"
#include "tests/unit/made_module.h"

#define DEPTH 30
#define CALLS 2000
#define ROUNDS 300
#define POINTS 1024
#define NEW 500
#define STAY __asm__ volatile("" ::: "memory")

struct rt_call probed;
void probe(void);
void probe_reached(void);
__asm__(".text\n.globl probe\n.type probe, @function\nprobe:\n"
        ".cfi_startproc\n endbr64\n"
        " lea probed(%rip), %rax\n mov %rsp, 128(%rax)\n mov %rbp, 64(%rax)\n"
        " sub $8, %rsp\n .cfi_adjust_cfa_offset 8\n call probe_reached\n add $8, %rsp\n .cfi_adjust_cfa_offset -8\n"
        " ret\n .cfi_endproc\n.size probe, .-probe\n");

/* --- thirty functions, twice -------------------------------------------------------------------------------------- */

#define WITH __attribute__((noinline, noclone, optimize("no-omit-frame-pointer")))
#define WITHOUT __attribute__((noinline, noclone, optimize("omit-frame-pointer")))
#define FUNCTION(attribute, name, callee)                                                                              \
  attribute static void name(void) {                                                                                   \
    char room[40];                                                                                                     \
    __asm__ volatile("" ::"r"(room) : "memory");                                                                       \
    callee();                                                                                                          \
    STAY;                                                                                                              \
  }
#define FIVE(a, p, n0, n1, n2, n3, n4, n5)                                                                             \
  FUNCTION(a, p##n1, p##n0)                                                                                            \
  FUNCTION(a, p##n2, p##n1) FUNCTION(a, p##n3, p##n2) FUNCTION(a, p##n4, p##n3) FUNCTION(a, p##n5, p##n4)
#define THIRTY(a, p)                                                                                                   \
  FUNCTION(a, p##0, probe)                                                                                             \
  FIVE(a, p, 0, 1, 2, 3, 4, 5)                                                                                         \
  FIVE(a, p, 5, 6, 7, 8, 9, 10)                                                                                        \
  FIVE(a, p, 10, 11, 12, 13, 14, 15)                                                                                   \
  FIVE(a, p, 15, 16, 17, 18, 19, 20) FIVE(a, p, 20, 21, 22, 23, 24, 25) FIVE(a, p, 25, 26, 27, 28, 29, 30)
THIRTY(WITH, with)
THIRTY(WITHOUT, without)

/* --- what is measured --------------------------------------------------------------------------------------------- */

enum { PLACE_HIT, PLACE_MISS, PLACE_OUTERMOST };
static volatile uint64_t sink;

static void do_nothing(void) { STAY; }
static void do_caller_hit(void) { sink += rt_caller_in(&probed, PLACE_HIT); }
static void do_caller_miss(void) { sink += rt_caller_in(&probed, PLACE_MISS); }
static void do_stack(void) { sink += rt_stack_has(&probed, PLACE_OUTERMOST); }
static void do_stack_near(void) { sink += rt_stack_has(&probed, PLACE_HIT); }
static void do_hash(void) { sink += rt_point_hash(&probed); }
static void do_record(void) { rt_point_record(&probed); }
static void do_frames(void) {
  struct wire_frame frames[WIRE_FRAMES];
  sink += rt_stack_frames(&probed, frames, DEPTH);
}
static void do_backtrace(void) {
  void *frames[DEPTH + 2];
  sink += (uint64_t)backtrace(frames, DEPTH + 2);
}

static const struct {
  const char *name;
  void (*action)(void);
  unsigned calls;
} measured[] = {
    {"nothing", do_nothing, CALLS},
    {"caller_hit", do_caller_hit, CALLS},
    {"caller_miss", do_caller_miss, CALLS},
    {"stack_near", do_stack_near, CALLS},
    {"stack", do_stack, CALLS},
    {"frames", do_frames, CALLS},
    {"hash", do_hash, CALLS},
    {"record", do_record, CALLS},
    {"backtrace", do_backtrace, 100},
};

static double now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The best of some rounds of each, all at the same call, below thirty frames. */
void probe_reached(void) {
  for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
    double best = 1e18;
    for (unsigned round = 0; round < ROUNDS; round++) {
      double before = now();
      for (unsigned k = 0; k < measured[i].calls; k++)
        measured[i].action();
      double each = (now() - before) / measured[i].calls;
      if (each < best) best = each;
    }
    printf("%s %.2f\n", measured[i].name, best);
  }
}

/* --- the plan ----------------------------------------------------------------------------------------------------- */

static struct {
  struct wire_area area;
  struct wire_loaded loaded[64];
  struct wire_point points[POINTS];
} area;

struct wanted {
  struct made_plan *plan;
  bool rows;
};

static int add_module(struct dl_phdr_info *info, size_t size, void *context) {
  struct wanted *w = context;
  (void)size;
  if (w->plan->modules.n > 0 && info->dlpi_name[0] != '/') return 0; /* the vDSO */
  bool program = w->plan->modules.n == 0;
  struct image *img;
  struct err e = {0};
  made_must(image_open(program ? "/proc/self/exe" : info->dlpi_name, &img, &e) == 0);
  (void)made_module(w->plan, program ? "program" : info->dlpi_name, program ? WIRE_PROGRAM | WIRE_IN_SCOPE : 0, img,
                    w->rows);
  image_free(img);
  return 0;
}

/* All code of a function of this program, found by its start; none is longer. */
static void made_start(struct made_plan *p, void (*function)(void), uint64_t bias) {
  uint64_t at = (uint64_t)function - bias;
  (void)made_place(p, 0, 0, at, at + 32);
}

static int take_bias(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  *(uint64_t *)context = info->dlpi_addr;
  return 1;
}

static void use_plan(bool rows, void (*inner)(void), void (*outer)(void)) {
  struct made_plan p = {0};
  uint64_t bias = 0;
  (void)dl_iterate_phdr(take_bias, &bias);
  (void)made_function(&p, "probe");
  (void)dl_iterate_phdr(add_module, &(struct wanted){&p, rows});
  made_start(&p, inner, bias);
  made_start(&p, do_nothing, bias);
  made_start(&p, outer, bias);
  struct text plan = made_bytes(&p);
  made_must(!wire_plan_check(plan.at, plan.n));
  made_done(&p);
  rt.plan = (const void *)plan.at;
  area.area.loaded = (struct wire_span){(uint32_t)((char *)area.loaded - (char *)&area), 64};
  area.area.points = (struct wire_span){(uint32_t)((char *)area.points - (char *)&area), POINTS};
  rt.area = &area.area;
  rt_process_start();
  rt_stack_start();
}

/* Addresses that are met for the first time, each once. */
static void measure_new(void) {
  struct rt_modules *m = rt_modules_now();
  double before = now();
  for (uint64_t i = 0; i < NEW; i++)
    sink += rt_step_at(&m, (uint64_t)image_unwind + i * 3);
  printf("new %.2f\n", (now() - before) / NEW);
}

int main(int argc, char **argv) {
  const char *way = argc > 1 ? argv[1] : "";
  bool pointers = strncmp(way, "pointers", 8) == 0, rows = strstr(way, "rows");
  if (argc != 2) return 2;
  use_plan(rows, pointers ? with0 : without0, pointers ? with30 : without30);
  measure_new();
  if (pointers)
    with30();
  else
    without30();
  return 0;
}
