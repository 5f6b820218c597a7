/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A campaign of many experiments without the experiments: store_bench FOLDER N prints how many a second the database
 * takes, each in a transaction of its own as murphy test does it, how many milliseconds a report of it takes, and the
 * size of the file in bytes.
 */
#include "report/report.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

enum { POINTS = 2000, FINDINGS = 100, FRAMES = 12 };

static double now(void) {
  struct timespec t = {0};
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void check(int r, const struct err *e) {
  if (r >= 0) return;
  (void)fprintf(stderr, "store_bench: %s\n", e->text);
  exit(1);
}

static void add_points(struct store *s) {
  struct err e = {0};
  for (int i = 0; i < POINTS; i++) {
    struct store_point p = {.hash = hash_mix((uint64_t)i),
                            .function = i % 2 ? "malloc" : "write",
                            .count = 3,
                            .module = "program",
                            .offset = (uint64_t)i * 16,
                            .in = "some_function",
                            .file = "src/some_file.c",
                            .line = (unsigned)i + 1,
                            .verdict = "none"};
    check(store_add_point(s, &p, &e), &e);
  }
  check(store_plan(s, "malloc", 1000000, &e), &e);
  check(store_flush(s, &e), &e);
}

static void add_finding(struct store *s, int64_t id, int64_t experiment) {
  static const uint64_t keys[FRAMES] = {1, 2, 3};
  struct store_finding f = {.id = id,
                            .kind = "crash",
                            .signal = 11,
                            .experiment = experiment,
                            .precision = 1,
                            .keys = {keys, keys},
                            .n_keys = {FRAMES, FRAMES}};
  struct store_frame frame = {
      .module = "program", .path = "/usr/bin/program", .function = "some_function", .file = "src/a.c", .line = 7};
  struct err e = {0};
  check(store_add_finding(s, &f, &e), &e);
  for (size_t i = 0; i < FRAMES; i++) {
    check(store_add_frame(s, id, STORE_INJECT, i, &frame, &e), &e);
    check(store_add_frame(s, id, STORE_CRASH, i, &frame, &e), &e);
  }
}

/* One in ten fails, and joins a finding. */
static void add_experiments(struct store *s, long n) {
  struct err e = {0};
  for (long i = 0; i < n; i++) {
    int64_t finding = i % 10 == 0 ? i / 10 % FINDINGS + 1 : 0;
    struct store_experiment x = {.point = i % POINTS + 1,
                                 .nth = 1,
                                 .retval = -1,
                                 .error = 5,
                                 .mode = "fork",
                                 .outcome = finding ? "crash" : "handled",
                                 .status = finding ? 11 : 256,
                                 .call = (uint64_t)i,
                                 .process = 1,
                                 .seconds = 0.001,
                                 .precision = -1,
                                 .difference = finding ? "standard output:\n- word\n+ (end)\n" : NULL,
                                 .finding = finding};
    check(store_add_experiment(s, &x, &e), &e);
    if (finding && i / 10 < FINDINGS) add_finding(s, finding, x.id);
    check(store_flush(s, &e), &e);
  }
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  struct store *s = NULL;
  struct report report = {0};
  struct err e = {0};
  struct stat st;
  long n = atol(argv[2]);
  check(store_open(argv[1], true, &s, &e), &e);
  add_points(s);
  double start = now();
  add_experiments(s, n);
  double seconds = now() - start;
  start = now();
  check(report_load(s, ".murphy", &report, &e), &e);
  double loaded = now() - start;
  report_done(&report);
  store_close(s);
  char path[4096];
  (void)snprintf(path, sizeof path, "%s/campaign.db", argv[1]);
  if (stat(path, &st) < 0) return 1;
  (void)printf("%.0f %.1f %lld\n", (double)n / seconds, loaded * 1000, (long long)st.st_size);
  return 0;
}
