/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outcomes, clusters, what a sweep does with results.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "campaign/sweep.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* --- outcomes ----------------------------------------------------------------------------------------------------- */

static struct observation run_of(int status, const char *out, const char *error) {
  struct observation o = {.status = status};
  o.streams[OBSERVE_OUT] = (struct observe_stream){.at = out, .n = strlen(out)};
  o.streams[OBSERVE_ERROR] = (struct observe_stream){.at = error, .n = strlen(error)};
  return o;
}

static enum outcome outcome_with(int status, const char *out, const char *message, int error, bool timed_out) {
  struct observation baseline = run_of(0, "result\n", ""), run = run_of(status, out, message);
  struct observe_mask mask = {0};
  struct outcome_facts f = {.baseline = &baseline,
                            .run = &run,
                            .mask = &mask,
                            .injected = true,
                            .timed_out = timed_out,
                            .expect.error = error};
  return outcome_of(&f, NULL, NULL);
}

static void test_outcomes(void **state) {
  (void)state;
  assert_int_equal(outcome_with(0, "result\n", "", EIO, false), OUTCOME_SAME);
  assert_int_equal(outcome_with(1 << 8, "", "read error\n", EIO, false), OUTCOME_HANDLED);
  assert_int_equal(outcome_with(1 << 8, "", "", EIO, false), OUTCOME_HANDLED);
  assert_int_equal(outcome_with(0, "result\n", "warning\n", EIO, false), OUTCOME_HANDLED);
  assert_int_equal(outcome_with(0, "res", "", EIO, false), OUTCOME_SILENT);
  assert_int_equal(outcome_with(0, "res", "disk is broken\n", EIO, false), OUTCOME_HANDLED);
  assert_int_equal(outcome_with(SIGSEGV, "", "", EIO, false), OUTCOME_CRASH);
  assert_int_equal(outcome_with(139 << 8, "", "", EIO, false), OUTCOME_CRASH);
  assert_int_equal(outcome_with(SIGABRT, "", "assertion failed\n", EIO, false), OUTCOME_ABORT);
  assert_int_equal(outcome_with(SIGKILL, "", "", EIO, true), OUTCOME_HANG);
  assert_int_equal(outcome_with(SIGABRT, "", "==7==ERROR: AddressSanitizer: heap", EIO, false), OUTCOME_SANITIZER);
}

static void assert_report(const char *said, const char *expected) {
  struct observation o = run_of(1 << 8, "", said);
  struct text t = {0};
  sanitizer_report(&o.streams[OBSERVE_ERROR], &t);
  assert_false(t.failed);
  assert_string_equal(t.at ? t.at : "", expected);
  text_done(&t);
}

static void test_reports_of_sanitizers_are_cut(void **state) {
  (void)state;
  assert_report("read error\n", "");
  assert_report("", "");
  assert_report("loading\n=====\n==7==ERROR: AddressSanitizer: global-buffer-overflow on address 0x55d2a3249130 at pc "
                "0x55d2a32461fe bp 0x7ffefbb28630\nWRITE of size 4 at 0x55d2a3249130 thread T0\n"
                "    #0 0x55d2a32461fd in put /x/as.c:4\n    #1 0x55d2a324624b in main /x/as.c:7\n"
                "    #2 0x7f85a95af249 in __libc_start_call_main x.h:58\n\n0x55d2a3249130 is located\n",
                "AddressSanitizer: global-buffer-overflow\nWRITE of size 4\n  #0 put /x/as.c:4\n  #1 main /x/as.c:7\n");
  assert_report("==7==ERROR: LeakSanitizer: detected memory leaks\n\nDirect leak of 20 byte(s) allocated from:\n"
                "    #0 0x7f12 (/x/lib.so+0x12)\n\nSUMMARY: AddressSanitizer: 20 byte(s) leaked\n",
                "LeakSanitizer: detected memory leaks\nDirect leak of 20 byte(s) allocated from:\n"
                "  #0 (/x/lib.so+0x12)\n");
  assert_report("==7==ERROR: AddressSanitizer: SEGV on unknown address 0x000000000008 (pc 0x55d2a bp 0x7ff)\n",
                "AddressSanitizer: SEGV on unknown address 0x000000000008\n");
  assert_report("a.c:3:5: runtime error: load of misaligned address 0x7ffefbb28631 for type 'int'\n",
                "a.c:3:5: runtime error: load of misaligned address 0x… for type 'int'\n");
  assert_report("Sanitizer: \033[2J", "Sanitizer: \\x1b[2J\n");
}

static enum outcome outcome_of_trait(unsigned traits, int status, const char *out, unsigned *ret_differs) {
  struct observation baseline = run_of(0, "result\n", ""), run = run_of(status, out, "");
  struct observe_mask mask = {0};
  struct outcome_facts f = {
      .baseline = &baseline, .run = &run, .mask = &mask, .injected = true, .expect.traits = traits};
  return outcome_of(&f, NULL, ret_differs);
}

/* A file that is not there is not there: who then shows something else has seen it. */
static void test_answers_are_no_silent_failures(void **state) {
  (void)state;
  assert_int_equal(outcome_of_trait(TRAIT_ANSWERS, 0, "res", NULL), OUTCOME_HANDLED);
  assert_int_equal(outcome_of_trait(TRAIT_ANSWERS, 0, "result\n", NULL), OUTCOME_SAME);
  assert_int_equal(outcome_of_trait(TRAIT_ANSWERS, SIGSEGV, "", NULL), OUTCOME_CRASH);
}

/* Of a run that leaves a file behind, if there is one. */
static enum outcome outcome_of_loss(const char *left, unsigned *ret_differs) {
  struct observation both[2] = {run_of(0, "", ""), run_of(0, "", "")};
  struct observe_mask mask = {0};
  struct outcome_facts f = {
      .baseline = &both[0], .run = &both[1], .mask = &mask, .injected = true, .expect.traits = TRAIT_LOSES};
  for (int i = 0; i < 2 && left; i++)
    assert_true(vec_push(&both[i].entries, ((struct observe_entry){.path = left, .kind = OBSERVE_FILE})) >= 0);
  enum outcome o = outcome_of(&f, NULL, ret_differs);
  observation_done(&both[0]);
  observation_done(&both[1]);
  return o;
}

static void test_what_is_lost_unseen(void **state) {
  (void)state;
  unsigned differs = 0;
  assert_int_equal(outcome_of_loss("/home/file", &differs), OUTCOME_SILENT);
  assert_true(differs & DIFFERS_LOSS);
  assert_int_equal(outcome_of_loss(NULL, NULL), OUTCOME_SAME); /* it was a temporary one */
  assert_int_equal(outcome_of_trait(TRAIT_LOSES, 1 << 8, "", NULL), OUTCOME_HANDLED);
}

/* A message is one wherever it is written, if it says what happened. */
static void test_messages_on_standard_output(void **state) {
  (void)state;
  assert_int_equal(outcome_with(0, "res\nout of memory, trying again\n", "", ENOMEM, false), OUTCOME_HANDLED);
  assert_int_equal(outcome_with(0, "file: Permission denied\n", "", EACCES, false), OUTCOME_HANDLED);
  assert_int_equal(outcome_with(0, "file: permission denied\n", "", EACCES, false), OUTCOME_HANDLED);
  assert_int_equal(outcome_with(0, "file: Permission denied\n", "", EIO, false), OUTCOME_SILENT);
  assert_int_equal(outcome_with(0, "<h1>Access denied</h1>\n", "", EACCES, false), OUTCOME_HANDLED);
  assert_int_equal(outcome_with(0, "403 Forbidden\n", "", EPERM, false), OUTCOME_HANDLED);
  assert_int_equal(outcome_with(0, "results\n", "", 0, false), OUTCOME_SILENT);
  assert_int_equal(outcome_with(0, "Read error\n", "", EIO, false), OUTCOME_HANDLED);
  assert_int_equal(outcome_with(0, "folder [error opening dir]\n", "", EACCES, false), OUTCOME_HANDLED);
  /* What is always said tells nothing. */
  struct observation baseline = run_of(0, "memory: 10\n", ""), run = run_of(0, "memory: 12\n", "");
  struct observe_mask mask = {0};
  struct outcome_facts f = {
      .baseline = &baseline, .run = &run, .mask = &mask, .injected = true, .expect.error = ENOMEM};
  assert_int_equal(outcome_of(&f, NULL, NULL), OUTCOME_SILENT);
}

static void test_messages_elsewhere(void **state) {
  (void)state;
  assert_int_equal(outcome_with(0, "result\nNo space left on device\n", "", ENOSPC, false), OUTCOME_HANDLED);
  assert_int_equal(outcome_with(0, "Cannot save\nresult\n", "", ENOSPC, false), OUTCOME_HANDLED);
  assert_int_equal(outcome_with(0, "result\nInput/output error\n", "", ENOSPC, false), OUTCOME_HANDLED);
  assert_int_equal(outcome_with(0, "result\nresult\n", "", ENOSPC, false), OUTCOME_SILENT);
  static const char log[] = "saving: No space left on device\n";
  struct observation baseline = run_of(0, "", ""), run = run_of(0, "", "");
  struct observe_mask mask = {0};
  struct observe_entry kept = {.path = "/log", .kind = OBSERVE_FILE, .size = 1, .head = log, .n_head = strlen(log)};
  assert_int_equal(vec_push(&run.entries, kept), 0);
  struct outcome_facts f = {
      .baseline = &baseline, .run = &run, .mask = &mask, .injected = true, .expect.error = ENOSPC};
  assert_int_equal(outcome_of(&f, NULL, NULL), OUTCOME_HANDLED);
  f.expect.error = EIO;
  assert_int_equal(outcome_of(&f, NULL, NULL), OUTCOME_SILENT);
  vec_done(&run.entries);
}

/* Where no output is the right one, as of comm and grep, another one is a wrong result, unless it complains. */
static void test_output_of_who_has_none(void **state) {
  (void)state;
  struct observation baseline = run_of(0, "", ""), run = run_of(0, "a line too much\n", "");
  struct observe_mask mask = {0};
  struct outcome_facts f = {.baseline = &baseline, .run = &run, .mask = &mask, .injected = true, .expect.error = EIO};
  assert_int_equal(outcome_of(&f, NULL, NULL), OUTCOME_SILENT);
  run = run_of(0, "b: Input/output error\n", "");
  assert_int_equal(outcome_of(&f, NULL, NULL), OUTCOME_HANDLED);
  run = run_of(0, "comm: cannot read b\n", "");
  assert_int_equal(outcome_of(&f, NULL, NULL), OUTCOME_HANDLED);
}

static void test_limits(void **state) {
  (void)state;
  assert_int_equal(outcome_with(SIGXFSZ, "", "", EIO, false), OUTCOME_HANG); /* output without end */
  assert_int_equal(outcome_with(SIGXCPU, "", "", EIO, false), OUTCOME_HANG);
  /* as a shell says it; without such a file it is any number */
  assert_int_equal(outcome_with((128 + SIGXFSZ) << 8, "", "", EIO, false), OUTCOME_HANDLED);
  struct observation baseline = run_of(0, "result\n", ""), run = run_of((128 + SIGXFSZ) << 8, "res", "");
  struct observe_mask mask = {0};
  struct outcome_facts f = {.baseline = &baseline, .run = &run, .mask = &mask, .injected = true, .expect.error = EIO};
  run.streams[OBSERVE_OUT].more = CAMPAIGN_FILE_SIZE - 3;
  assert_int_equal(outcome_of(&f, NULL, NULL), OUTCOME_HANG);
  run.streams[OBSERVE_OUT].more = 0;
  struct observe_entry large = {.path = "/out", .kind = OBSERVE_FILE, .size = CAMPAIGN_FILE_SIZE};
  assert_int_equal(vec_push(&run.entries, large), 0);
  assert_int_equal(outcome_of(&f, NULL, NULL), OUTCOME_HANG);
  vec_done(&run.entries);
}

static void test_deliberate_end_without_memory(void **state) {
  (void)state;
  assert_int_equal(outcome_with(SIGABRT, "", "terminate called: std::bad_alloc\n", ENOMEM, false), OUTCOME_HANDLED);
  assert_int_equal(outcome_with(SIGABRT, "", "Out of memory!\n", ENOMEM, false), OUTCOME_HANDLED);
  assert_int_equal(outcome_with(SIGABRT, "", "calloc returned null, aborting\n", ENOMEM, false), OUTCOME_HANDLED);
  assert_int_equal(outcome_with(SIGABRT, "", "alloc.c:12: assertion failed: p\n", ENOMEM, false), OUTCOME_ABORT);
  assert_int_equal(outcome_with(SIGABRT, "", "Out of memory!\n", EIO, false), OUTCOME_ABORT);
  assert_int_equal(outcome_with(SIGABRT, "", "", ENOMEM, false), OUTCOME_ABORT);
  assert_int_equal(outcome_with(SIGABRT, "", "fatal: out of TLS keys, aborting\n", EAGAIN, false), OUTCOME_HANDLED);
  assert_int_equal(outcome_with(SIGABRT, "", "index out of bounds: the len is 0\n", ENOMEM, false), OUTCOME_ABORT);
  assert_int_equal(outcome_with(SIGABRT, "", "what():  at: out of range\n", ENOMEM, false), OUTCOME_ABORT);
  const char *inside = "terminate called without an active exception\n";
  assert_int_equal(outcome_with(SIGABRT, "", inside, ENOMEM, false), OUTCOME_ABORT); /* the program's own */
  struct observation baseline = run_of(0, "", ""), run = run_of(SIGABRT, "", inside);
  struct observe_mask mask = {0};
  struct outcome_facts f = {.baseline = &baseline,
                            .run = &run,
                            .mask = &mask,
                            .injected = true,
                            .expect.error = ENOMEM,
                            .expect.indirect = true};
  assert_int_equal(outcome_of(&f, NULL, NULL), OUTCOME_HANDLED);
  run = run_of(SIGABRT, "", "terminate called after throwing an instance of 'std::bad_alloc'\n");
  assert_int_equal(outcome_of(&f, NULL, NULL), OUTCOME_HANDLED);
  const char *broken = "no memory\nfree(): double free detected in tcache 2\n";
  assert_int_equal(outcome_with(SIGABRT, "", broken, ENOMEM, false), OUTCOME_ABORT);
  assert_int_equal(outcome_with(SIGABRT, "", "p: p.c:1: main: Assertion `memory' failed.\n", ENOMEM, false),
                   OUTCOME_ABORT);
}

static void test_what_is_said_of_memory(void **state) {
  (void)state;
  static const char *const short_of_it[] = {
      "[cmark] calloc returned null pointer, aborting\n",
      "could not allocate 12 bytes\n",
      "Failed to allocate the table\n",
      "malloc(100) failed\n",
      "xrealloc: allocation of 100 bytes failed\n",
      "memory allocation of 5 bytes failed\n",
      "what():  std::bad_alloc\n",
      "unable to alloc a node\n",
  };
  static const char *const other[] = {
      "src/tcmalloc.cc:333] Attempt to free invalid pointer 0x7ffc00\n",
      "<jemalloc>: size mismatch detected, likely caused by application sized deallocation bugs\n",
      "<jemalloc>: Write-after-free detected on deallocated pointer\n",
      "mimalloc: error: double free detected of block 0x7ffc00 with size 8\n",
      "fatal allocator error: invalid free\n",
      "thread 'main' panicked at library/alloc/src/raw_vec.rs:24:5:\ncapacity overflow\n",
      "src/alloc/node.c:12: failed to link the node\n",
      "src/allocation.c:12: failed to link the node\n",
      "pointer being freed was not allocated\n",
      "the table was allocated, but has no entry\n",
      "no memory\nmimalloc: error: corrupted free list entry of size 8\n",
      "memory corruption detected\n",
  };
  for (size_t i = 0; i < COUNT(short_of_it); i++)
    assert_int_equal(outcome_with(SIGABRT, "", short_of_it[i], ENOMEM, false), OUTCOME_HANDLED);
  for (size_t i = 0; i < COUNT(other); i++)
    assert_int_equal(outcome_with(SIGABRT, "", other[i], ENOMEM, false), OUTCOME_ABORT);
}

/* --- clusters ----------------------------------------------------------------------------------------------------- */

#define STACK(...)                                                                                                     \
  { .at = (const uint64_t[]){__VA_ARGS__}, .n = sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t) }

static void test_distance(void **state) {
  (void)state;
  struct campaign_stack a = STACK(1, 2, 3, 4), b = STACK(1, 2, 4), c = STACK(9, 2, 3, 4, 5), none = {0};
  assert_int_equal(campaign_distance(&a, &a), 0);
  assert_int_equal(campaign_distance(&a, &b), 1);
  assert_int_equal(campaign_distance(&a, &c), 2);
  assert_int_equal(campaign_distance(&a, &none), 4);
}

/* A loop is told by where in it the program was met, from the first place to the last. */
static void test_causes_of_loops(void **state) {
  (void)state;
  struct campaign_failure a = {.outcome = OUTCOME_HANG}, b = {.outcome = OUTCOME_HANG};
  a.inject = (struct campaign_stack)STACK(1, 2, 3);
  b.inject = (struct campaign_stack)STACK(4, 5, 6);
  a.crash = (struct campaign_stack)STACK(CAMPAIGN_LOOP, 100, 120, 8, 9, 10);
  b.crash = (struct campaign_stack)STACK(CAMPAIGN_LOOP, 110, 130, 8, 9, 10);
  assert_true(campaign_same_cause(&a, &b));
  b.crash = (struct campaign_stack)STACK(CAMPAIGN_LOOP, 121, 130, 8, 9, 10);
  assert_false(campaign_same_cause(&a, &b)); /* another loop of the function */
  assert_false(campaign_same_cause(&b, &a));
  b.inject = (struct campaign_stack)STACK(1, 2, 3);
  assert_true(campaign_same_cause(&a, &b)); /* the same call */
  b.inject = (struct campaign_stack)STACK(4, 5, 6);
  b.crash = (struct campaign_stack)STACK(CAMPAIGN_LOOP, 100, 120, 7, 9, 10);
  assert_false(campaign_same_cause(&a, &b)); /* another module, or another way to it */
  b.crash = (struct campaign_stack)STACK(8, 9, 10);
  assert_false(campaign_same_cause(&a, &b)); /* no loop */
  b.crash = (struct campaign_stack){0};
  assert_false(campaign_same_cause(&a, &b));
}

static void test_causes(void **state) {
  (void)state;
  struct campaign_failure a = {.outcome = OUTCOME_CRASH, .signal = SIGSEGV};
  a.inject = (struct campaign_stack)STACK(1, 2, 3);
  a.crash = (struct campaign_stack)STACK(7, 8, 9, 10);
  struct campaign_failure b = a;
  assert_true(campaign_same_cause(&a, &b));
  b.inject = (struct campaign_stack)STACK(4, 5, 6);
  assert_true(campaign_same_cause(&a, &b)); /* one crash, however it was reached */
  b.crash = (struct campaign_stack)STACK(70, 8, 9, 10);
  assert_false(campaign_same_cause(&a, &b)); /* another instruction */
  b.inject = (struct campaign_stack)STACK(1, 5, 6);
  b.crash = (struct campaign_stack)STACK(7, 8, 90, 91);
  assert_true(campaign_same_cause(&a, &b)); /* one call and one place, by other ways */
  b.inject = (struct campaign_stack)STACK(4, 5, 6);
  assert_false(campaign_same_cause(&a, &b));
  a.crash = (struct campaign_stack)STACK(7, 8, 9, 10, 11, 12, 13);
  b.crash = (struct campaign_stack)STACK(7, 8, 9, 10, 21, 22, 23);
  assert_true(campaign_same_cause(&a, &b)); /* a cleanup that crashes, after other errors */
  b.crash = (struct campaign_stack)STACK(7, 8, 9, 20, 21, 22, 23);
  assert_false(campaign_same_cause(&a, &b));
  b = a;
  b.signal = SIGBUS;
  assert_false(campaign_same_cause(&a, &b));
  b = a;
  b.outcome = OUTCOME_HANG;
  assert_false(campaign_same_cause(&a, &b));
  a = (struct campaign_failure){.outcome = OUTCOME_SILENT, .inject = STACK(1, 2, 3, 4)};
  b = a;
  b.inject = (struct campaign_stack)STACK(1, 2, 30, 40);
  assert_true(campaign_same_cause(&a, &b)); /* one call that nobody looks at, by other ways */
  b.inject = (struct campaign_stack)STACK(1, 20, 30, 40);
  assert_false(campaign_same_cause(&a, &b));
}

static void test_the_cheaper_way(void **state) {
  (void)state;
  struct campaign_costs c = {0};
  assert_int_equal(campaign_choose(&c, 100), CHOICE_BRANCH); /* nothing is known */
  campaign_cost_add(&c, CHOICE_BRANCH, 7000, 7);
  assert_int_equal(campaign_choose(&c, 1000), CHOICE_BRANCH); /* too few to tell */
  campaign_cost_add(&c, CHOICE_BRANCH, 1000, 1);
  assert_int_equal(campaign_choose(&c, 2000), CHOICE_BRANCH); /* no run can be better */
  assert_int_equal(campaign_choose(&c, 1999), CHOICE_PROBE);
  campaign_cost_add(&c, CHOICE_RUN, 900 * CAMPAIGN_PROBE, CAMPAIGN_PROBE);
  assert_int_equal(campaign_choose(&c, 1999), CHOICE_RUN);
  campaign_cost_add(&c, CHOICE_RUN, 1000 * CAMPAIGN_PROBE, CAMPAIGN_PROBE / 2);
  assert_int_equal(campaign_choose(&c, 1999), CHOICE_BRANCH); /* it came out otherwise */
  c = (struct campaign_costs){0};
  campaign_cost_add(&c, CHOICE_BRANCH, 7999, 0); /* all was in vain */
  assert_int_equal(campaign_choose(&c, 1000), CHOICE_BRANCH);
  campaign_cost_add(&c, CHOICE_BRANCH, 1, 0);
  assert_int_equal(campaign_choose(&c, 1000), CHOICE_PROBE);
  campaign_cost_add(&c, CHOICE_RUN, 1000 * CAMPAIGN_PROBE, CAMPAIGN_PROBE);
  assert_int_equal(campaign_choose(&c, 1000), CHOICE_RUN);
}

/* --- what is told of a run ---------------------------------------------------------------------------------------- */

struct told {
  size_t n, finding;
  char doubt[64], out[16], why[SANDBOX_WHY];
};

static int note(void *context, const struct sweep_done *d, struct err *e) {
  struct told *t = context;
  (void)e;
  t->n++;
  t->finding = d->finding;
  (void)snprintf(t->doubt, sizeof t->doubt, "%s", d->doubt ? d->doubt : "");
  (void)snprintf(t->out, sizeof t->out, "%s", d->result->seen.streams[OBSERVE_OUT].at);
  (void)snprintf(t->why, sizeof t->why, "%s", d->result->why);
  return 0;
}

/* One experiment, whose crash at prog+0x10 is known. The lab is only there for its area, which no stack asks for. */
struct one {
  struct told told;
  struct baseline baseline;
  struct candidate candidate;
  struct sweep sweep;
  bool failed[3];
  uint64_t site;
  struct finding finding, *findings[1];
  struct sweep_state st;
  _Alignas(64) char lab[1 << 16];
};

static struct one *make_one(void) {
  struct one *o = calloc(1, sizeof *o);
  assert_non_null(o);
  o->baseline.runs[0].seen = run_of(0, "result\n", "");
  o->baseline.n = 1;
  o->candidate.expect.error = EIO;
  o->sweep = (struct sweep){.candidates = &o->candidate,
                            .n_candidates = 1,
                            .baseline = &o->baseline,
                            .wall_ns = 1000,
                            .sink = {.done = note, .context = &o->told}};
  o->finding.crash[0] = hash_mix(hash_string("prog") + 0x10);
  o->finding.failure =
      (struct campaign_failure){.outcome = OUTCOME_CRASH, .signal = SIGSEGV, .crash = {.at = o->finding.crash, .n = 1}};
  o->findings[0] = &o->finding;
  o->st = (struct sweep_state){.s = &o->sweep,
                               .lock = PTHREAD_MUTEX_INITIALIZER,
                               .made = PTHREAD_COND_INITIALIZER,
                               .sites = &o->site,
                               .failed = &o->failed[0],
                               .hung = &o->failed[1],
                               .waits = &o->failed[2],
                               .mask = &o->baseline.mask};
  o->st.findings.at = o->findings;
  o->st.findings.n = 1;
  return o;
}

static int take(struct one *o, const struct lab_result *result, held_list *held) {
  return sweep_take_result(&o->st, (struct lab *)(void *)o->lab, 0, result, held);
}

/* A failure by a branch, too, waits until it is known whether the branch can be trusted. */
static void test_known_failures_of_branches_are_held(void **state) {
  (void)state;
  struct one *o = make_one();
  struct lab_result *result = calloc(1, sizeof *result);
  held_list held = {0};
  assert_non_null(result);
  result->injected = true;
  result->seen = run_of(SIGSEGV, "res", "");
  result->n_frames = 1;
  result->frames[0] = (struct image_process_frame){.at = 0x10};
  (void)snprintf(result->frames[0].path, sizeof result->frames[0].path, "prog");
  assert_int_equal(take(o, result, &held), 0);
  assert_int_equal(o->told.n, 0);
  assert_int_equal(held.n, 1);
  memset(result, 0, sizeof *result);
  assert_int_equal(sweep_tell_held(&o->st, (struct lab *)(void *)o->lab, &held.at[0], NULL, result), 0);
  assert_int_equal(o->told.n, 1);
  assert_int_equal(o->told.finding, 1);
  assert_string_equal(o->told.out, "res");
  sweep_held_done(&held.at[0]);
  vec_done(&held);
  free(result);
  free(o);
}

/* A call that hangs is tried by other ways when all else was tried: each time costs the whole limit. */
static void test_hangs_of_a_call_wait(void **state) {
  (void)state;
  struct one *o = make_one();
  struct lab_result *result = calloc(1, sizeof *result);
  uint64_t sites[] = {7, 8, 7};
  const struct candidate experiments[] = {{.place = 0}, {.place = 0}, {.place = 2}, {.place = 1}};
  bool failed[COUNT(sites)] = {0}, hung[COUNT(sites)] = {0}, waits[COUNT(sites)] = {0};
  size_t next = 0;
  assert_non_null(result);
  o->st.sites = sites;
  o->sweep.candidates = experiments;
  o->sweep.n_candidates = COUNT(experiments);
  o->st.n_places = COUNT(sites);
  o->st.failed = failed;
  o->st.hung = hung;
  o->st.waits = waits;
  o->finding.failure.outcome = OUTCOME_HANG;
  o->finding.failure.signal = 0;
  *result = (struct lab_result){.injected = true, .timed_out = true, .wall_ns = 1001, .n_frames = 1};
  result->seen = run_of(SIGKILL, "", "");
  result->frames[0] = (struct image_process_frame){.at = 0x10};
  (void)snprintf(result->frames[0].path, sizeof result->frames[0].path, "prog");
  assert_true(sweep_take(&o->st, NULL, &next) && next == 0);
  assert_int_equal(take(o, result, NULL), 0);
  assert_int_equal(o->told.finding, 1);
  assert_true(sweep_take(&o->st, NULL, &next) && next == 3);
  assert_true(sweep_take(&o->st, NULL, &next) && next == 2);
  assert_false(sweep_take(&o->st, NULL, &next)); /* this very stack is not tried again */
  vec_done(&o->st.later);
  free(result);
  free(o);
}

/* A hang that would take longer than is left waits, others of its call do so too, and in the end it is told. */
static void test_hangs_that_wait(void **state) {
  (void)state;
  struct one *o = make_one();
  struct lab *l = (struct lab *)(void *)o->lab;
  struct lab_result *result = calloc(1, sizeof *result);
  uint64_t sites[] = {7, 8, 7};
  const struct candidate experiments[] = {{.place = 0}, {.place = 2}, {.place = 1}};
  bool failed[COUNT(sites)] = {0}, hung[COUNT(sites)] = {0}, waits[COUNT(sites)] = {0};
  struct finding f = {.failure = {.outcome = OUTCOME_HANG}};
  size_t next = 0;
  assert_non_null(result);
  o->st.sites = sites;
  o->sweep.candidates = experiments;
  o->sweep.n_candidates = COUNT(experiments);
  o->sweep.n_labs = 1;
  o->sweep.labs = &l;
  o->st.n_places = COUNT(sites);
  o->st.failed = failed;
  o->st.hung = hung;
  o->st.waits = waits;
  o->st.started = sweep_now();
  o->sweep.deadline = o->st.started + 1000000000000u;
  *result = (struct lab_result){.injected = true, .timed_out = true, .wall_ns = 1001};
  (void)snprintf(result->why, sizeof result->why, "because");
  result->seen = run_of(SIGKILL, "tick\n", "");
  struct sweep_done d = {.outcome = OUTCOME_HANG, .lab = l, .result = result, .difference = ""};
  assert_true(sweep_take(&o->st, NULL, &next) && next == 0);
  assert_int_equal(sweep_wait(&o->st, &d, &f, 2000000000000u), 0);
  assert_false(sweep_make_waiting(&o->st, l, false));
  assert_true(sweep_take(&o->st, NULL, &next) && next == 2);
  assert_false(sweep_take(&o->st, NULL, &next)); /* the other one is of the same call */
  assert_false(sweep_take(&o->st, NULL, &next) || o->st.later.n != 1 || sweep_await_made(&o->st));
  assert_int_equal(o->told.n, 0);
  assert_true(sweep_make_waiting(&o->st, l, true)); /* there is no time: what waited behind it need not */
  assert_false(sweep_make_waiting(&o->st, l, true));
  assert_true(sweep_take(&o->st, NULL, &next) && next == 1);
  assert_int_equal(sweep_end_waiting(&o->st), 0);
  assert_int_equal(o->told.n, 1);
  assert_string_equal(o->told.doubt, "no time was left to make sure of it");
  assert_string_equal(o->told.out, "tick\n");
  assert_string_equal(o->told.why, "because");
  vec_done(&o->st.later);
  free(result);
  free(o);
}

/* What waits has the same cause as what was found meanwhile. */
static void test_hangs_that_are_known_in_the_end(void **state) {
  (void)state;
  struct one *o = make_one();
  struct lab *l = (struct lab *)(void *)o->lab;
  struct lab_result *result = calloc(1, sizeof *result);
  assert_non_null(result);
  o->finding.failure.outcome = OUTCOME_HANG;
  o->finding.failure.signal = 0;
  struct finding f = o->finding;
  *result = (struct lab_result){.injected = true, .timed_out = true, .wall_ns = 1001};
  result->seen = run_of(SIGKILL, "", "");
  struct sweep_done d = {.outcome = OUTCOME_HANG, .lab = l, .result = result, .difference = ""};
  assert_int_equal(sweep_wait(&o->st, &d, &f, 30000000000u), 0);
  assert_true(sweep_make_waiting(&o->st, l, true));
  assert_int_equal(o->told.n, 1);
  assert_int_equal(o->told.finding, 1);
  assert_int_equal(sweep_end_waiting(&o->st), 0);
  assert_int_equal(o->told.n, 1);
  free(result);
  free(o);
}

/* A run that had all its time when the budget was used up has shown something; one that had not, nothing. */
static void test_hangs_at_the_end_of_the_budget(void **state) {
  (void)state;
  struct one *o = make_one();
  struct lab_result *result = calloc(1, sizeof *result);
  assert_non_null(result);
  o->sweep.deadline = 1;
  *result = (struct lab_result){.injected = true, .timed_out = true, .wall_ns = 500};
  result->seen = run_of(SIGKILL, "", "");
  assert_int_equal(take(o, result, NULL), 0);
  assert_int_equal(o->told.n, 0);
  result->wall_ns = 1001;
  assert_int_equal(take(o, result, NULL), 0);
  assert_int_equal(o->told.n, 1);
  assert_int_equal(o->told.finding, 0);
  assert_string_equal(o->told.doubt, "no time was left to make sure of it");
  free(result);
  free(o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_outcomes),
      cmocka_unit_test(test_reports_of_sanitizers_are_cut),
      cmocka_unit_test(test_answers_are_no_silent_failures),
      cmocka_unit_test(test_what_is_lost_unseen),
      cmocka_unit_test(test_messages_on_standard_output),
      cmocka_unit_test(test_messages_elsewhere),
      cmocka_unit_test(test_output_of_who_has_none),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_deliberate_end_without_memory),
      cmocka_unit_test(test_what_is_said_of_memory),
      cmocka_unit_test(test_distance),
      cmocka_unit_test(test_causes),
      cmocka_unit_test(test_causes_of_loops),
      cmocka_unit_test(test_the_cheaper_way),
      cmocka_unit_test(test_known_failures_of_branches_are_held),
      cmocka_unit_test(test_hangs_of_a_call_wait),
      cmocka_unit_test(test_hangs_that_wait),
      cmocka_unit_test(test_hangs_that_are_known_in_the_end),
      cmocka_unit_test(test_hangs_at_the_end_of_the_budget),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
