/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of this process itself, walked as the runtime does it inside a target, with backtrace() as the oracle: by
 * unwind rows and by frame pointers, through libc, signal handlers, other stacks and threads. Then stacks full of
 * rubbish.
 */
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "made_module.h"
#include "runtime/bounds.h"
#include "runtime/link.h"
#include "runtime/modules.h"
#include "runtime/process.h"
#include "runtime/stack.h"

#define FRAMES 256
#define LOADED 64
#define POINTS 16
/* clang has no attribute for frame pointers: all functions are compiled alike then. */
#ifdef __clang__
#define NO_INLINE __attribute__((noinline))
#define WITH_POINTER
#define WITHOUT_POINTER
#else
#define NO_INLINE __attribute__((noinline, noclone))
#define WITH_POINTER __attribute__((optimize("no-omit-frame-pointer")))
#define WITHOUT_POINTER __attribute__((optimize("omit-frame-pointer")))
#endif
/* The compiler must neither turn the call before it into a jump nor merge it with others. */
#define STAY __asm__ volatile("" ::: "memory")
#define KEEP(p) __asm__ volatile("" ::"r"(p) : "memory")

/* --- a call as a gate would see it -------------------------------------------------------------------------------- */

struct rt_call probed;
void (*probe_action)(void);
void probe(void);
void probe_reached(void);

/* Notes where the return address is and the caller's rbp, as enter.S does; the rest runs below that. */
__asm__(".text\n.globl probe\n.type probe, @function\nprobe:\n"
        ".cfi_startproc\n endbr64\n"
        " lea probed(%rip), %rax\n mov %rsp, 128(%rax)\n mov %rbp, 64(%rax)\n"
        " sub $8, %rsp\n .cfi_adjust_cfa_offset 8\n call probe_reached\n add $8, %rsp\n .cfi_adjust_cfa_offset -8\n"
        " ret\n .cfi_endproc\n.size probe, .-probe\n");
_Static_assert(offsetof(struct rt_call, sp) == 128 && offsetof(struct rt_call, rbp) == 64, "probe");

void probe_reached(void) {
  if (probe_action) probe_action();
  STAY;
}

/* --- the plan ----------------------------------------------------------------------------------------------------- */

enum { PROGRAM, LIBC };
enum { PLACE_OUTER, PLACE_INNER, PLACE_NEVER, PLACE_TWO, PLACE_TWO_LAST, PLACE_PROGRAM, PLACE_LIBC, PLACES };
enum {
  PATTERN_OUTER = 0,
  PATTERN_NEVER = 1,
  PATTERN_INNER_NEXT = 2,
  PATTERN_OUTER_NEXT = 3,
  PATTERN_INNER_OUTER = 4,
  PATTERN_OUTER_INNER = 6,
  PATTERN_INNER_THEN_OUTER = 8,
  PATTERN_OUTER_OR_AROUND = 10,
  PATTERN_AROUND = 12,
  PATTERN_NOT_AROUND = 14,
};

static struct image *images[LOADED];
static size_t n_images;
static uint64_t bias; /* of the program */
static struct text plan;

struct area {
  struct wire_area area;
  struct wire_loaded loaded[LOADED];
  struct wire_point points[POINTS];
};
static struct area *area;

NO_INLINE static void inner(void) {
  probe();
  STAY;
}

NO_INLINE static void outer(void) {
  inner();
  STAY;
}

NO_INLINE static void never(void) {
  inner();
  STAY;
}

static void made_function_place(struct made_plan *p, void (*function)(void), uint32_t flags) {
  uint64_t at = (uint64_t)function - bias;
  const struct image_function *f = image_function_at(images[PROGRAM], at);
  assert_non_null(f);
  assert_int_equal(vec_push(&p->places, (struct wire_place){PROGRAM, flags, at, f->end}), 0);
}

static void made_patterns(struct made_plan *p) {
  static const struct wire_pattern patterns[] = {
      {PLACE_OUTER, WIRE_LAST, 0},
      {PLACE_NEVER, WIRE_LAST, 0},
      {PLACE_INNER, WIRE_LAST | WIRE_NEXT, 0},
      {PLACE_OUTER, WIRE_LAST | WIRE_NEXT, 0},
      {PLACE_INNER, 0, 0},
      {PLACE_OUTER, WIRE_LAST | WIRE_NEXT, 0},
      {PLACE_OUTER, 0, 0},
      {PLACE_INNER, WIRE_LAST, 0},
      {PLACE_INNER, 0, 0},
      {PLACE_PROGRAM, WIRE_LAST, 0},
      {PLACE_INNER, 0, 0},
      {PLACE_OUTER, WIRE_LAST | WIRE_WITHIN, PLACE_TWO},
      {PLACE_INNER, 0, 0},
      {PLACE_NEVER, WIRE_LAST | WIRE_WITHIN, PLACE_TWO},
      {PLACE_INNER, 0, 0},
      {PLACE_NEVER, WIRE_LAST | WIRE_WITHIN, PLACE_OUTER},
  };
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
    assert_int_equal(vec_push(&p->patterns, patterns[i]), 0);
}

static void use_plan(bool rows, bool wrong_build, bool in_scope) {
  struct made_plan p = {0};
  made_function(&p, "probe")->descriptor = 1;
  (void)made_module(&p, "/elsewhere/runtime_stack_test", WIRE_PROGRAM | (in_scope ? WIRE_IN_SCOPE : 0), images[PROGRAM],
                    rows);
  (void)made_module(&p, "/elsewhere/libc.so.6", 0, images[LIBC], rows);
  for (size_t i = LIBC + 1; i < n_images; i++)
    (void)made_module(&p, image_path(images[i]), 0, images[i], rows);
  if (wrong_build) {
    p.modules.at[PROGRAM].build_id[0] ^= 1;
    p.modules.at[PROGRAM].n_build_id = 20;
  }
  made_function_place(&p, outer, WIRE_LAST);
  made_function_place(&p, inner, WIRE_LAST);
  made_function_place(&p, never, WIRE_LAST);
  made_function_place(&p, never, 0);
  made_function_place(&p, inner, WIRE_LAST);
  assert_int_equal(vec_push(&p.places, (struct wire_place){PROGRAM, WIRE_LAST | WIRE_ANYWHERE, 0, 0}), 0);
  assert_int_equal(vec_push(&p.places, (struct wire_place){LIBC, WIRE_LAST | WIRE_ANYWHERE, 0, 0}), 0);
  made_patterns(&p);
  text_done(&plan);
  plan = made_bytes(&p);
  made_done(&p);
  assert_null(wire_plan_check(plan.at, plan.n));
  rt.plan = (const void *)plan.at;
  memset(area, 0, sizeof *area);
  area->area.loaded = (struct wire_span){offsetof(struct area, loaded), LOADED};
  area->area.points = (struct wire_span){offsetof(struct area, points), POINTS};
  rt.area = &area->area;
  rt_process_start();
  rt_stack_start();
}

static int with_rows(void **state) {
  (void)state;
  use_plan(true, false, true);
  return 0;
}

static int without_rows(void **state) {
  (void)state;
  use_plan(false, false, true);
  return 0;
}

/* --- against the oracle ------------------------------------------------------------------------------------------- */

static struct wire_frame frames[FRAMES];
static void *oracle[FRAMES];
static unsigned n_frames;
static int n_oracle;
static uint64_t from; /* the probed call's return address */

static uint64_t frame_address(const struct wire_frame *f) {
  const struct rt_modules *list = rt_modules_now();
  for (uint32_t i = 0; f->module && i < list->n; i++)
    if (list->at[i].loaded == f->module) return f->at + list->at[i].bias;
  return f->at;
}

static void take_both(void) {
  from = probed.sp[0];
  n_frames = rt_stack_frames(&probed, frames, FRAMES);
  n_oracle = backtrace(oracle, FRAMES);
}

/*
 * The oracle begins in take_both; where it has an interrupted address, we have the one behind it. Before that come
 * frames of this file that lie below the probed call.
 */
static void expect_same(int least) {
  int skip = 0;
  while (skip < n_oracle && (uint64_t)oracle[skip] != from)
    skip++;
  assert_true(skip < n_oracle);
  for (unsigned i = 0; i < n_frames && (int)i + skip < n_oracle; i++) {
    uint64_t want = (uint64_t)oracle[(int)i + skip], got = frame_address(&frames[i]);
    if (got != want && got != want + 1) print_message("frame %u: %#lx, not %#lx\n", i, got, want);
    assert_true(got == want || got == want + 1);
  }
  assert_int_equal(n_frames, n_oracle - skip);
  assert_true((int)n_frames >= least);
}

static void take_and_expect(void) {
  take_both();
  expect_same(3);
}

static volatile int depth_wanted;

NO_INLINE WITH_POINTER static void with_pointer(int depth);
NO_INLINE WITHOUT_POINTER static void without_pointer(int depth) {
  char room[144];
  KEEP(room);
  if (depth < depth_wanted)
    with_pointer(depth + 1);
  else
    probe();
  STAY;
}

/* A frame whose size is only known at run time is found by rbp. */
NO_INLINE static void with_alloca(int depth) {
  KEEP(__builtin_alloca((size_t)depth * 16 + 16));
  without_pointer(depth + 1);
  STAY;
}

/* Both a larger alignment than the stack has and a size that is not known: the stack's old value is kept in memory. */
NO_INLINE static void with_alignment(int depth, ...) {
  char aligned[64] __attribute__((aligned(64)));
  KEEP(aligned);
  KEEP(__builtin_alloca((size_t)depth * 16 + 16));
  without_pointer(depth + 1);
  STAY;
}

static void with_pointer(int depth) {
  char room[56];
  KEEP(room);
  if (depth % 5 == 0)
    with_alloca(depth);
  else if (depth % 7 == 0)
    with_alignment(depth, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  else
    without_pointer(depth + 1);
  STAY;
}

static void recurse(int depth) {
  probe_action = take_both;
  depth_wanted = depth;
  without_pointer(0);
}

static void test_recursion(void **state) {
  (void)state;
  for (int depth = 0; depth < 60; depth += 3) {
    recurse(depth);
    expect_same(depth);
  }
}

static int compare_and_probe(const void *a, const void *b) {
  probe();
  STAY;
  return *(const int *)a - *(const int *)b;
}

static void test_through_libc(void **state) {
  (void)state;
  int numbers[] = {3, 1, 2, 5, 4}, key = 2;
  probe_action = take_and_expect;
  qsort(numbers, 5, sizeof *numbers, compare_and_probe);
  assert_non_null(bsearch(&key, numbers, 5, sizeof *numbers, compare_and_probe));
  assert_true(frames[0].module != frames[1].module);
}

static void handler(int signal) {
  (void)signal;
  recurse(4);
  STAY;
}

static void raise_with(int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;
  assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
  n_frames = 0;
  assert_int_equal(raise(SIGUSR1), 0);
  assert_int_equal(sigaction(SIGUSR1, &old, NULL), 0);
  expect_same(10);
}

static void test_signal(void **state) {
  (void)state;
  raise_with(0);
}

static void test_signal_on_its_own_stack(void **state) {
  (void)state;
  size_t size = 256 << 10;
  stack_t stack = {.ss_sp = malloc(size), .ss_size = size}, old;
  assert_non_null(stack.ss_sp);
  assert_int_equal(sigaltstack(&stack, &old), 0);
  raise_with(SA_ONSTACK);
  assert_int_equal(sigaltstack(&old, NULL), 0);
  free(stack.ss_sp);
}

/* The walk itself has to be right; that backtrace() takes the same way is not certain here. */
static ucontext_t coroutine, back;
static void coroutine_main(void) { recurse(6); }

static void test_coroutine(void **state) {
  (void)state;
  size_t size = 1 << 18;
  char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(stack != MAP_FAILED);
  assert_int_equal(getcontext(&coroutine), 0);
  coroutine.uc_stack = (stack_t){.ss_sp = stack, .ss_size = size};
  coroutine.uc_link = &back;
  makecontext(&coroutine, coroutine_main, 0);
  assert_int_equal(swapcontext(&back, &coroutine), 0);
  expect_same(8);
  assert_int_equal(munmap(stack, size), 0);
}

static void *thread_main(void *argument) {
  (void)argument;
  recurse(20);
  return NULL;
}

static void test_thread(void **state) {
  (void)state;
  pthread_attr_t small;
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, thread_main, NULL), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  expect_same(21);
  assert_int_equal(pthread_attr_init(&small), 0);
  assert_int_equal(pthread_attr_setstacksize(&small, 512 << 10), 0);
  assert_int_equal(pthread_create(&thread, &small, thread_main, NULL), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(pthread_attr_destroy(&small), 0);
  expect_same(21);
}

/* --- triggers ----------------------------------------------------------------------------------------------------- */

static bool caller_in[PLACES], stack_has[16];
static uint64_t hash;

static void ask(void) {
  for (uint32_t i = 0; i < PLACES; i++)
    caller_in[i] = rt_caller_in(&probed, i);
  for (uint32_t i = 0; i < rt.plan->patterns.n; i++)
    stack_has[i] = rt_stack_has(&probed, i);
  hash = rt_point_hash(&probed);
}

static void test_caller(void **state) {
  (void)state;
  probe_action = ask;
  outer();
  assert_true(caller_in[PLACE_INNER]);
  assert_true(caller_in[PLACE_TWO] && caller_in[PLACE_TWO_LAST]);
  assert_true(caller_in[PLACE_PROGRAM]);
  assert_false(caller_in[PLACE_OUTER] || caller_in[PLACE_NEVER] || caller_in[PLACE_LIBC]);
}

static void test_patterns(void **state) {
  (void)state;
  probe_action = ask;
  outer();
  assert_true(stack_has[PATTERN_OUTER]);
  assert_false(stack_has[PATTERN_NEVER]);
  assert_true(stack_has[PATTERN_INNER_NEXT]);   /* the caller itself */
  assert_false(stack_has[PATTERN_OUTER_NEXT]);  /* is not */
  assert_true(stack_has[PATTERN_INNER_OUTER]);  /* one right behind the other */
  assert_false(stack_has[PATTERN_OUTER_INNER]); /* the wrong way round */
  assert_true(stack_has[PATTERN_INNER_THEN_OUTER]);
  assert_true(stack_has[PATTERN_OUTER_OR_AROUND]);
  assert_true(stack_has[PATTERN_AROUND]); /* the same frame */
  assert_false(stack_has[PATTERN_NOT_AROUND]);
  never();
  assert_true(stack_has[PATTERN_NEVER] && !stack_has[PATTERN_OUTER] && !stack_has[PATTERN_INNER_OUTER]);
}

static void test_another_build(void **state) {
  (void)state;
  use_plan(true, true, true);
  probe_action = ask;
  outer();
  assert_false(caller_in[PLACE_INNER] || caller_in[PLACE_TWO]); /* offsets of another file mean nothing */
  assert_true(caller_in[PLACE_PROGRAM]);                        /* by its name */
}

/* Volatile: a loop that is unrolled calls from several places. */
static volatile int round_number;

static void test_hashes(void **state) {
  (void)state;
  uint64_t first = 0;
  probe_action = ask;
  for (round_number = 0; round_number < 2; round_number++) {
    outer();
    assert_true(round_number == 0 || hash == first);
    first = hash;
  }
  never();
  assert_true(hash != first);
}

/* --- points ------------------------------------------------------------------------------------------------------- */

static void record(void) {
  from = probed.sp[0];
  rt_point_record(&probed);
}

static void test_points(void **state) {
  (void)state;
  unsigned found = 0;
  probe_action = record;
  for (round_number = 0; round_number < 3; round_number++)
    outer();
  never();
  for (unsigned i = 0; i < POINTS; i++) {
    const struct wire_point *p = &area->points[i];
    if (p->hash == 0) continue;
    found++;
    assert_int_equal(p->ready, 1);
    assert_true(p->count == 3 || p->count == 1);
    assert_true(p->n_frames > 2);
    assert_true(frame_address(&p->frames[0]) == from);
  }
  assert_int_equal(found, 2);
  assert_int_equal(area->area.lost_points, 0);
}

static const struct wire_point *only_point(void) {
  const struct wire_point *found = NULL;
  for (unsigned i = 0; i < POINTS; i++) {
    if (area->points[i].hash == 0) continue;
    assert_null(found);
    found = &area->points[i];
  }
  return found;
}

static void test_point_out_of_scope(void **state) {
  (void)state;
  use_plan(true, false, false);
  probe_action = record;
  outer();
  assert_null(only_point());
}

static void test_facts_of_a_point(void **state) {
  (void)state;
  int ends[2];
  struct sigaction action = {.sa_handler = handler}, old;
  assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  assert_int_equal(sigaction(SIGUSR2, &action, &old), 0);
  probe_action = record;
  probed.args[0] = 77;
  probed.args[1] = (uint64_t)ends[1];
  outer();
  const struct wire_point *p = only_point();
  assert_non_null(p);
  assert_int_equal(p->args[0], 77);
  assert_int_equal(p->args[1], ends[1]);
  assert_int_equal(p->fd, WIRE_FD_PIPE);
  assert_int_equal(p->nonblocking, 1);
  assert_int_equal(p->writable, 1);
  assert_int_equal(p->handlers & WIRE_HANDLER_STOPS, WIRE_HANDLER_STOPS);
  assert_int_equal(sigaction(SIGUSR2, &old, NULL), 0);
  assert_int_equal(close(ends[0]) + close(ends[1]), 0);
}

static void test_points_are_full(void **state) {
  (void)state;
  probe_action = record;
  for (depth_wanted = 0; depth_wanted < 80; depth_wanted++)
    without_pointer(0);
  unsigned used = 0;
  for (unsigned i = 0; i < POINTS; i++)
    used += area->points[i].ready;
  assert_int_equal(used, POINTS);
  assert_true(area->area.lost_points > 0);
}

/* --- rubbish ------------------------------------------------------------------------------------------------------ */

static uint64_t random_state = 88172645463325252u;
static uint64_t random_word(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  return random_state ^= random_state << 17;
}

/* An address near the pages, one of our code, or anything. */
static uint64_t likely(uint64_t page) {
  static void (*const functions[])(void) = {outer, inner, never};
  switch (random_word() % 4) {
  case 0:
    return page - 64 + random_word() % (3 * 4096 + 64);
  case 1:
    return (page + random_word() % (2 * 4096)) & ~7ull;
  case 2:
    return (uint64_t)functions[random_word() % 3] + random_word() % 32;
  default:
    return random_word() >> random_word() % 64;
  }
}

/*
 * libc has no block for the first thread's stack: 0, and where the stack ends as its size, which is a multiple of a
 * page in one process of 256. That is no block around everything.
 */
extern void *__libc_stack_end;
static void test_first_thread(void **state) {
  (void)state;
  uint64_t self = rt_thread_pointer(), end = (uint64_t)__libc_stack_end, *found = NULL;
  for (uint64_t *at = (uint64_t *)(self + 0x2c0); at < (uint64_t *)(self + 0x880) && !found; at++)
    if (at[0] == 0 && at[1] == end) found = at;
  if (!found) return;
  char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(memory != MAP_FAILED);
  found[1] = end & -4096ull;
  struct rt_bounds b = rt_bounds_of((uint64_t)memory + 64);
  found[1] = end;
  assert_int_equal(b.high, 0);
  assert_int_equal(munmap(memory, 4096), 0);
}

/* What does not fit into the word of a step is looked up in its row. */
static void test_far_rbp(void **state) {
  (void)state;
  uint64_t pc = (uint64_t)inner;
  struct rt_modules *m = rt_modules_now();
  const struct rt_module *module = rt_module_at(m, pc);
  assert_non_null(module);
  struct wire_row *row = (struct wire_row *)rt_array(rows, struct wire_row) + (module->rows >> 32);
  for (uint32_t n = (uint32_t)module->rows; n > 1 && row[1].start <= pc - module->bias; n--)
    row++;
  struct wire_row before = *row;
  *row = (struct wire_row){.start = before.start, .cfa = WIRE_CFA_RBP, .offset = 24, .rbp = INT16_MIN};
  uint64_t far = rt_step_find(&m, pc);
  row->rbp = -(8 << 12) + 8;
  uint64_t near = rt_step_find(&m, pc);
  *row = before;
  (void)rt_step_find(&m, pc);
  assert_int_equal(STEP_KIND(far), STEP_ROW);
  assert_int_equal(STEP_KIND(near), STEP_RBP);
  assert_true(rt_step_known(far, pc) && rt_step_known(near, pc));
}

/* Two pages between ones that cannot be read, as the stack: the walk ends, without a fault. */
static void test_rubbish(void **state) {
  (void)state;
  char *memory = mmap(NULL, 4 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(memory != MAP_FAILED);
  uint64_t *words = (uint64_t *)(memory + 4096), page = (uint64_t)words;
  assert_int_equal(mprotect(words, 2 * 4096, PROT_READ | PROT_WRITE), 0);
  for (unsigned round = 0; round < 3000; round++) {
    for (unsigned i = 0; i < 1024; i++)
      words[i] = likely(page);
    struct rt_call call = {.sp = words + random_word() % 1024, .rbp = likely(page)};
    struct wire_frame out[WIRE_FRAMES];
    words[call.sp - words] = round % 2 ? (uint64_t)inner + 1 : likely(page);
    unsigned n = rt_stack_frames(&call, out, WIRE_FRAMES);
    assert_true(n >= 1 && n <= WIRE_FRAMES);
    (void)rt_stack_has(&call, PATTERN_INNER_OUTER);
    (void)rt_point_hash(&call);
  }
  assert_int_equal(munmap(memory, 4 * 4096), 0);
}

/* The same inside of this thread's own stack, where no page is asked for. */
static void test_rubbish_on_the_stack(void **state) {
  (void)state;
  uint64_t words[512], here = (uint64_t)words;
  for (unsigned round = 0; round < 3000; round++) {
    for (unsigned i = 0; i < 512; i++)
      words[i] = random_word() % 8 ? likely(here) : likely(here + (random_word() << 36 >> 40));
    struct rt_call call = {.sp = words + random_word() % 512, .rbp = likely(here)};
    struct wire_frame out[WIRE_FRAMES];
    assert_true(rt_stack_frames(&call, out, WIRE_FRAMES) >= 1);
  }
}

/* --- tables in memory --- */

/* The library that IMG is an image of, as it is loaded. */
static const struct link_map *loaded_as(const struct image *img) {
  for (const struct link_map *m = rt_link_first(); m; m = m->l_next)
    if (img == images[PROGRAM] ? m == rt_link_first() : strcmp(m->l_name, image_path(img)) == 0) return m;
  return NULL;
}

static bool says_the_same(const struct rt_frames *f, uint64_t at, const struct image_row *want) {
  struct wire_row got = rt_frames_row(f, at);
  bool same = got.cfa == want->cfa && got.add == want->add && got.rbp == want->rbp && got.offset == want->offset;
  if (!same) print_message("%#lx: kind %d, offset %d, not %d, %d\n", at, got.cfa, got.offset, want->cfa, want->offset);
  return same;
}

/* What the target reads in memory is what the host reads in the file. */
static void test_tables_in_memory(void **state) {
  (void)state;
  unsigned compared = 0;
  for (size_t i = 0; i < n_images; i++) {
    const struct link_map *m = loaded_as(images[i]);
    struct image_row *rows;
    size_t n;
    assert_non_null(m);
    struct rt_frames f = rt_object_frames(m);
    assert_int_equal(image_unwind(images[i], &rows, &n), 0);
    assert_true(n == 0 || f.header);
    for (size_t k = 0; k + 1 < n; k++, compared++) {
      assert_true(says_the_same(&f, m->l_addr + rows[k].start, &rows[k]));
      assert_true(says_the_same(&f, m->l_addr + rows[k + 1].start - 1, &rows[k]));
    }
    free(rows);
  }
  assert_true(compared > 10000);
}

/* --- modules ------------------------------------------------------------------------------------------------------ */

static const struct wire_loaded *published(const void *code) {
  const struct rt_module *m = rt_module_at(rt_modules_now(), (uint64_t)code);
  assert_non_null(m);
  uint32_t number = rt_module_number(m);
  assert_in_range(number, 1, area->area.next_loaded);
  const struct wire_loaded *l = &area->loaded[number - 1];
  assert_int_equal(l->ready, 1);
  assert_int_equal(l->end - l->start, m->end - m->start);
  assert_in_range((uint64_t)code - m->bias, l->start, l->end);
  return l;
}

/* Murphy is told of what is met on stacks, once, wherever it is in memory. */
static void test_published(void **state) {
  (void)state;
  const struct wire_loaded *l = published((const void *)outer);
  assert_non_null(strstr(l->path, "runtime_stack_test"));
  assert_ptr_equal(published((const void *)outer), l);
  unsigned n = area->area.next_loaded;
  struct rt_module elsewhere = *rt_module_at(rt_modules_now(), (uint64_t)outer);
  elsewhere.loaded = 0;
  elsewhere.bias += 0x10000;
  elsewhere.start += 0x10000;
  elsewhere.end += 0x10000;
  assert_int_equal(rt_module_number(&elsewhere), l - area->loaded + 1);
  assert_int_equal(area->area.next_loaded, n);
}

/* What there is no room for is counted. */
static void test_published_too_many(void **state) {
  (void)state;
  struct rt_module other = *rt_module_at(rt_modules_now(), (uint64_t)outer);
  uint32_t next = area->area.next_loaded;
  uint64_t lost = area->area.lost_loaded;
  other.loaded = 0;
  other.path = "/somewhere/else";
  area->area.next_loaded = area->area.loaded.n;
  assert_int_equal(rt_module_number(&other), 0);
  assert_int_equal(area->area.lost_loaded, lost + 1);
  area->area.next_loaded = next;
}

static void test_nothing_new(void **state) {
  (void)state;
  struct rt_modules *before = rt_modules_now();
  rt_modules_changed();
  assert_ptr_equal(rt_modules_now(), before);
}

/* Libraries that the test is linked to: sanitizers, cmocka. The vDSO is no file. */
static int open_library(struct dl_phdr_info *info, size_t size, void *context) {
  struct err e = {0};
  (void)size, (void)context;
  bool is_libc = strstr(info->dlpi_name, "/libc.so.6");
  if (info->dlpi_name[0] != '/') return 0;
  if (is_libc) return image_open(info->dlpi_name, &images[LIBC], &e);
  return n_images == LOADED ? -1 : image_open(info->dlpi_name, &images[n_images++], &e);
}

static int open_images(void **state) {
  (void)state;
  struct err e = {0};
  n_images = LIBC + 1;
  if (image_open("/proc/self/exe", &images[PROGRAM], &e) < 0 || dl_iterate_phdr(open_library, NULL) < 0) return -1;
  const struct image_function *f = made_find(images[PROGRAM], "probe_reached");
  bias = f ? (uint64_t)probe_reached - f->address : 0;
  area = calloc(1, sizeof *area);
  return !images[LIBC] || !area || bias == 0 ? -1 : 0;
}

static int close_images(void **state) {
  (void)state;
  for (size_t i = 0; i < n_images; i++)
    image_free(images[i]);
  text_done(&plan);
  free(area);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_recursion, with_rows),
      cmocka_unit_test_setup(test_through_libc, with_rows),
      cmocka_unit_test_setup(test_signal, with_rows),
      cmocka_unit_test_setup(test_signal_on_its_own_stack, with_rows),
      cmocka_unit_test_setup(test_coroutine, with_rows),
      cmocka_unit_test_setup(test_thread, with_rows),
      cmocka_unit_test_setup(test_caller, with_rows),
      cmocka_unit_test_setup(test_patterns, with_rows),
      cmocka_unit_test_setup(test_another_build, with_rows),
      cmocka_unit_test_setup(test_hashes, with_rows),
      cmocka_unit_test_setup(test_points, with_rows),
      cmocka_unit_test_setup(test_point_out_of_scope, with_rows),
      cmocka_unit_test_setup(test_facts_of_a_point, with_rows),
      cmocka_unit_test_setup(test_points_are_full, with_rows),
      cmocka_unit_test_setup(test_first_thread, with_rows),
      cmocka_unit_test_setup(test_far_rbp, with_rows),
      cmocka_unit_test_setup(test_rubbish, with_rows),
      cmocka_unit_test_setup(test_rubbish, without_rows),
      cmocka_unit_test_setup(test_rubbish_on_the_stack, with_rows),
      cmocka_unit_test_setup(test_rubbish_on_the_stack, without_rows),
      cmocka_unit_test_setup(test_recursion, without_rows),
      cmocka_unit_test_setup(test_through_libc, without_rows),
      cmocka_unit_test_setup(test_signal, without_rows),
      cmocka_unit_test_setup(test_coroutine, without_rows),
      cmocka_unit_test_setup(test_thread, without_rows),
      cmocka_unit_test_setup(test_tables_in_memory, with_rows),
      cmocka_unit_test_setup(test_published, with_rows),
      cmocka_unit_test_setup(test_published_too_many, with_rows),
      cmocka_unit_test_setup(test_nothing_new, with_rows),
  };
  return cmocka_run_group_tests(tests, open_images, close_images);
}
