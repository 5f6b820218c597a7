/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers about stacks that are kept: whatever happens between two questions, the answer is the one of a walk.
 *
 * Real stacks first, whose functions have frames of one size, so that calls differ by nothing but what is above them;
 * with handlers that interrupt at any instruction, jumps, and threads one after the other at the same place. Then
 * stacks made of words that change at random, compared with the list of their frames.
 */
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

#include <cmocka.h>

#include "made_module.h"
#include "runtime/memo.h"
#include "runtime/process.h"
#include "runtime/stack.h"

#define LOADED 64
#define FRAMES 1024
#ifdef __clang__
#define NO_INLINE __attribute__((noinline))
#define WITH_POINTER
#else
#define NO_INLINE __attribute__((noinline, noclone))
#define WITH_POINTER __attribute__((optimize("no-omit-frame-pointer")))
#endif
#define STAY __asm__ volatile("" ::: "memory")
#define KEEP(p) __asm__ volatile("" ::"r"(p) : "memory")

static struct image *images[LOADED];
static size_t n_images;
static uint64_t bias; /* of the program */
static struct text plan;
static struct {
  struct wire_area area;
  struct wire_loaded loaded[LOADED];
} area;

/* --- a call as a gate would see it -------------------------------------------------------------------------------- */

struct rt_call memo_probed;
void memo_probe(void);
void memo_probe_reached(void);

__asm__(".pushsection .text\n.globl memo_probe\n.type memo_probe, @function\nmemo_probe:\n"
        ".cfi_startproc\n endbr64\n"
        " lea memo_probed(%rip), %rax\n mov %rsp, 128(%rax)\n mov %rbp, 64(%rax)\n"
        " sub $8, %rsp\n .cfi_adjust_cfa_offset 8\n call memo_probe_reached\n"
        " add $8, %rsp\n .cfi_adjust_cfa_offset -8\n"
        " ret\n .cfi_endproc\n.size memo_probe, .-memo_probe\n.popsection\n");
_Static_assert(offsetof(struct rt_call, sp) == 128 && offsetof(struct rt_call, rbp) == 64, "memo_probe");

/* --- stacks ------------------------------------------------------------------------------------------------------- */

enum { LEFT, RIGHT, PATTERNS };
static volatile uint32_t path; /* the next bits: which function calls; and how many are left */
static volatile int left_to_go;
static volatile unsigned asked, kept, wrong;
static uint32_t walked; /* the whole path */
static int length;
static sigjmp_buf out;
static volatile bool jump, handling;
static void (*action_of_probe)(void);

RT_RAW void memo_probe_reached(void) {
  if (action_of_probe && !handling) {
    action_of_probe();
    return;
  }
  struct rt_call c = memo_probed; /* a handler may come and make another one */
  bool want[PATTERNS] = {
      [LEFT] = (walked & ((1u << length) - 1)) != (1u << length) - 1, [RIGHT] = (walked & ((1u << length) - 1)) != 0};
  for (uint32_t i = 0; i < PATTERNS; i++) {
    kept += rt_memo_find(&c, i) >= 0;
    asked++;
    bool has = rt_stack_has(&c, i);
    /* Below a handler there is more than its own way. */
    wrong += handling ? want[i] && !has : has != want[i];
  }
  if (jump) siglongjmp(out, 1);
  STAY;
}

NO_INLINE static void go_on(void);

NO_INLINE static void left(void) {
  go_on();
  STAY;
}

NO_INLINE static void right(void) {
  go_on();
  STAY;
}

/* Frames that are found by rbp, of a size that is only known now. */
NO_INLINE WITH_POINTER static void between(int size) {
  KEEP(__builtin_alloca((size_t)size * 16 + 16));
  go_on();
  STAY;
}

static void go_on(void) {
  uint32_t bit = path & 1;
  if (left_to_go == 0) {
    memo_probe();
  } else if (left_to_go % 5 == 0) {
    left_to_go--;
    between((int)(path & 3));
  } else {
    path >>= 1;
    left_to_go--;
    (bit ? right : left)();
  }
  STAY;
}

/* N functions, of which the bits of WAY say which. */
static void take(uint32_t way, int n) {
  path = walked = way;
  left_to_go = n;
  length = n - n / 5;
  go_on();
}

static uint64_t random_state = 88172645463325252u;
static uint64_t random_word(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  return random_state ^= random_state << 17;
}

static void take_many(unsigned rounds) {
  asked = kept = wrong = 0;
  for (unsigned i = 0; i < rounds; i++) {
    int n = (int)(random_word() % 12) + 1;
    /* Few ways, so that most come again; some all left or all right. */
    uint32_t way = random_word() % 4 ? (uint32_t)(random_word() % 3) : random_word() % 2 ? 0 : ~0u;
    take(way, n);
    take(way, n);
  }
}

static void test_ways(void **state) {
  (void)state;
  take_many(3000);
  assert_int_equal(wrong, 0);
  assert_true(kept > asked / 4); /* or nothing was tested */
}

static void test_jumps(void **state) {
  (void)state;
  jump = true;
  asked = kept = wrong = 0;
  for (volatile unsigned i = 0; i < 1000; i++)
    if (sigsetjmp(out, 0) == 0) take(i & 3, 7);
  jump = false;
  assert_int_equal(wrong, 0);
  assert_true(kept > asked / 4);
}

/* --- handlers ----------------------------------------------------------------------------------------------------- */

static volatile unsigned handled;

static void handler(int signal) {
  (void)signal;
  struct rt_call c = memo_probed;
  uint32_t before_path = path, before_walked = walked;
  int before_left = left_to_go, before_length = length;
  handled++;
  handling = true;
  take(handled & 3, (int)(handled % 7) + 1);
  handling = false;
  path = before_path, walked = before_walked;
  left_to_go = before_left, length = before_length;
  memo_probed = c;
}

static void test_handlers(void **state) {
  (void)state;
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
  assert_int_equal(sigaction(SIGPROF, &action, &old), 0);
  struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
  assert_int_equal(setitimer(ITIMER_PROF, &often, NULL), 0);
  for (unsigned i = 0; i < 40 && handled < 20; i++)
    take_many(500);
  assert_int_equal(setitimer(ITIMER_PROF, &never, NULL), 0);
  assert_int_equal(sigaction(SIGPROF, &old, NULL), 0);
  take_many(500);
  assert_int_equal(wrong, 0);
  assert_true(kept > asked / 4);
}

/* The processor stops behind each instruction of a question; behind the one that is wanted, all entries are changed. */
#define TRAP_FLAG 0x100
static volatile int instructions, wanted;

static void stepped(int signal, siginfo_t *info, void *context) {
  ucontext_t *u = context;
  (void)signal, (void)info;
  if (++instructions < wanted) return;
  u->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
  static uint64_t other[600];
  const struct rt_modules *list = rt_modules_now();
  for (unsigned i = 0; i < 600; i++) {
    struct rt_record r = {.n = 1, .words = {{&other[i], 0}}};
    rt_memo_keep(&(struct rt_call){.sp = &other[i]}, RIGHT, &r, list, list->version, true);
  }
}

RT_RAW static bool ask_stepping(const struct rt_call *c, uint32_t pattern) {
  instructions = 0;
  __asm__ volatile("sub $128, %%rsp\n pushfq\n orq %0, (%%rsp)\n popfq\n add $128, %%rsp" ::"i"(TRAP_FLAG)
                   : "cc", "memory");
  bool has = rt_stack_has(c, pattern);
  __asm__ volatile("sub $128, %%rsp\n pushfq\n andq %0, (%%rsp)\n popfq\n add $128, %%rsp" ::"i"(~TRAP_FLAG)
                   : "cc", "memory");
  return has;
}

static void ask_left_only(void) {
  struct rt_call c = memo_probed;
  for (unsigned i = 0; i < 3; i++)
    (void)rt_stack_has(&c, RIGHT);
  wrong += ask_stepping(&c, RIGHT);
}

static void test_every_instruction(void **state) {
  (void)state;
  struct sigaction action = {.sa_sigaction = stepped, .sa_flags = SA_SIGINFO}, old;
  assert_int_equal(sigaction(SIGTRAP, &action, &old), 0);
  wrong = 0;
  action_of_probe = ask_left_only;
  for (wanted = 4; wanted < 250; wanted++)
    take(0, 7);
  action_of_probe = NULL;
  assert_int_equal(sigaction(SIGTRAP, &old, NULL), 0);
  assert_int_equal(wrong, 0);
}

/* --- other stacks ------------------------------------------------------------------------------------------------- */

static void *thread_main(void *argument) {
  (void)argument;
  take_many(200);
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  for (unsigned i = 0; i < 20; i++) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, thread_main, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(wrong, 0);
    assert_true(kept > 0);
  }
}

static ucontext_t coroutine, caller;
static void coroutine_main(void) { take_many(200); }

/* What can be unmapped is not kept. */
static void test_coroutine(void **state) {
  (void)state;
  size_t size = 1 << 18;
  char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(stack != MAP_FAILED);
  assert_int_equal(getcontext(&coroutine), 0);
  coroutine.uc_stack = (stack_t){.ss_sp = stack, .ss_size = size};
  coroutine.uc_link = &caller;
  makecontext(&coroutine, coroutine_main, 0);
  assert_int_equal(swapcontext(&caller, &coroutine), 0);
  assert_int_equal(wrong + kept, 0);
  assert_int_equal(munmap(stack, size), 0);
}

/* --- words at random ---------------------------------------------------------------------------------------------- */

extern char _start[];

static uint64_t likely(uint64_t here) {
  static void (*const functions[])(void) = {left, right, go_on, (void (*)(void))between};
  switch (random_word() % 16) {
  case 0:
    return random_word() >> random_word() % 64;
  case 1:
    return (uint64_t)_start + 8;
  case 2 ... 7:
    return here + random_word() % 64 * 8;
  default:
    return (uint64_t)functions[random_word() % 4] + 1 + random_word() % 64;
  }
}

static uint64_t frame_address(const struct rt_modules *list, const struct wire_frame *f) {
  for (uint32_t i = 0; f->module && i < list->n; i++)
    if (list->at[i].loaded == f->module) return f->at + list->at[i].bias;
  return f->at;
}

static bool listed(const struct rt_call *c, uint32_t pattern) {
  static struct wire_frame frames[FRAMES];
  const struct rt_modules *list = rt_modules_now();
  unsigned n = rt_stack_frames(c, frames, FRAMES);
  for (unsigned i = 0; i < n; i++)
    if (rt_in_range(list, pattern, frame_address(list, &frames[i]) - 1)) return true;
  return false;
}

RT_RAW static void test_words(void **state) {
  (void)state;
  uint64_t words[64], here = (uint64_t)words;
  unsigned found = 0;
  for (unsigned round = 0; round < 2000; round++) {
    for (unsigned i = 0; i < 64; i++)
      words[i] = likely(here);
    struct rt_call c = {.sp = words + random_word() % 8, .rbp = likely(here)};
    for (unsigned change = 0; change < 24; change++) {
      bool want = listed(&c, LEFT);
      for (unsigned again = 0; again < 3; again++)
        assert_int_equal(rt_stack_has(&c, LEFT), want);
      found += rt_memo_find(&c, LEFT) >= 0;
      if (change % 4 == 3)
        c.rbp = likely(here);
      else
        words[random_word() % 64] = likely(here);
    }
  }
  assert_true(found > 1000);
}

/* --- what is read ------------------------------------------------------------------------------------------------- */

static uint64_t step_of(enum rt_step_kind kind, uint64_t offset, uint64_t back) {
  return kind | offset / 8 << STEP_OFFSET | back / 8 << STEP_RBP_AT;
}

/* Of rbp only what leads to a frame counts. */
static void test_record(void **state) {
  (void)state;
  uint64_t words[16] = {0}, sp = (uint64_t)words;
  struct rt_record r = {0};
  rt_memo_step(&r, step_of(STEP_RSP, 32, 16), 1, sp + 32, 99, true);
  assert_int_equal(r.n, 1);
  assert_ptr_equal(r.words[0].at, &words[3]);
  assert_int_equal(r.words[0].value, 100);
  rt_memo_step(&r, step_of(STEP_RSP, 16, 16), 2, sp + 48, 99, true);
  assert_int_equal(r.n, 2); /* nobody asked for the first one */
  rt_memo_step(&r, step_of(STEP_FRAME, 0, 0), 3, sp + 64, 99, true);
  assert_int_equal(r.n, 4);
  assert_ptr_equal(r.words[2].at, &words[4]); /* where the last one was read */
  assert_int_equal(r.words[2].value, 3);
  assert_false(r.rbp_matters);
  assert_ptr_equal(r.rbp_at, &words[6]);
  rt_memo_step(&r, STEP_END, 4, sp + 64, 99, false);
  assert_int_equal(r.n, 4);
  rt_memo_step(&r, STEP_ROW, 4, sp + 80, 99, true);
  assert_true(r.n > RT_MEMO_WORDS);
  struct rt_record at_once = {0};
  rt_memo_step(&at_once, step_of(STEP_RBP, 16, 16), 1, sp + 32, 99, true);
  assert_true(at_once.rbp_matters && at_once.n == 1);
}

/* --- start -------------------------------------------------------------------------------------------------------- */

static void place_of(struct made_plan *p, void (*function)(void)) {
  uint64_t at = (uint64_t)function - bias;
  const struct image_function *f = image_function_at(images[0], at);
  made_must(f);
  (void)made_place(p, 0, 0, at, f->end);
}

static int open_library(struct dl_phdr_info *info, size_t size, void *context) {
  struct err e = {0};
  (void)size, (void)context;
  if (info->dlpi_name[0] != '/') return 0;
  return n_images == LOADED ? -1 : image_open(info->dlpi_name, &images[n_images++], &e);
}

static int start(void **state) {
  (void)state;
  struct err e = {0};
  struct made_plan p = {0};
  if (image_open("/proc/self/exe", &images[n_images++], &e) < 0 || dl_iterate_phdr(open_library, NULL) < 0) return -1;
  const struct image_function *f = made_find(images[0], "memo_probe_reached");
  if (!f) return -1;
  bias = (uint64_t)memo_probe_reached - f->address;
  (void)made_function(&p, "probe");
  (void)made_module(&p, "/elsewhere/runtime_memo_test", WIRE_PROGRAM, images[0], true);
  for (size_t i = 1; i < n_images; i++)
    (void)made_module(&p, image_path(images[i]), 0, images[i], true);
  place_of(&p, left);
  place_of(&p, right);
  plan = made_bytes(&p);
  made_done(&p);
  rt.plan = (const void *)plan.at;
  area.area.loaded = (struct wire_span){(uint32_t)((char *)area.loaded - (char *)&area), LOADED};
  rt.area = &area.area;
  rt_process_start();
  rt_stack_start();
  return 0;
}

/* RT_MEMO_LAST questions in turns, whose hashes have one place: all come to be kept. */
static void test_turns(void **state) {
  (void)state;
  uint64_t word = 1;
  struct rt_call c = {.sp = &word};
  uint32_t all[RT_MEMO_LAST], n = 0, place = 0;
  for (uint32_t what = 100; n < RT_MEMO_LAST && what < 60000; what++) {
    uint32_t at = (uint32_t)(rt_memo_hash(rt_memo_key(&c, what), c.sp[0]) >> 48) % RT_MEMO_CANDIDATES;
    if (n == 0) place = at;
    if (at == place) all[n++] = what;
  }
  assert_int_equal(n, RT_MEMO_LAST);
  for (unsigned i = 0; i < n; i++)
    assert_false(rt_memo_worth(&c, all[i]));
  for (unsigned i = 0; i < n; i++)
    assert_true(rt_memo_worth(&c, all[i]));
}

static int end(void **state) {
  (void)state;
  for (size_t i = 0; i < n_images; i++)
    image_free(images[i]);
  text_done(&plan);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ways),      cmocka_unit_test(test_jumps),
      cmocka_unit_test(test_handlers),  cmocka_unit_test(test_threads),
      cmocka_unit_test(test_coroutine), cmocka_unit_test(test_words),
      cmocka_unit_test(test_record),    cmocka_unit_test(test_every_instruction),
      cmocka_unit_test(test_turns),
  };
  return cmocka_run_group_tests(tests, start, end);
}
