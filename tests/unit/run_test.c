/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands as they are looked for: PATH, scripts, env, what the loader preloads nothing into; the area, read as if a
 * hostile target had written it.
 */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "run/run.h"

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/murphy-run-XXXXXX");
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  return shell("cd / && rm -rf \"$OLDPWD\"") ? 0 : -1;
}

static void put(const char *name, const char *text, mode_t mode) {
  assert_int_equal(file_write(in_folder(name), text, strlen(text), NULL), 0);
  assert_int_equal(chmod(in_folder(name), mode), 0);
}

static int find(const char *name, struct program_target *ret, struct err *e) {
  char *argv[] = {(char *)(uintptr_t)name, (char *)(uintptr_t) "x", NULL};
  *e = (struct err){0};
  return program_target_find(argv, ret, e);
}

static void refused(const char *name, int code, const char *why) {
  struct program_target t;
  struct err e;
  int r = find(name, &t, &e);
  if (r == 0) program_target_done(&t);
  assert_int_equal(r, code);
  if (!strstr(e.text, why)) fail_msg("'%s' is not in: %s", why, e.text);
}

/* --- target ------------------------------------------------------------------------------------------------------- */

static void test_path(void **state) {
  (void)state;
  struct program_target t;
  struct err e;
  assert_int_equal(find("cat", &t, &e), 0);
  assert_true(t.path[0] == '/' && access(t.path, X_OK) == 0);
  assert_string_equal(t.argv[0], "cat");
  assert_string_equal(t.argv[1], "x");
  assert_null(t.argv[2]);
  assert_false(t.script);
  program_target_done(&t);
  refused("murphy-no-such-command", -ENOENT, "no such command in PATH");
  refused("/no/such/program", -ENOENT, "does not exist");
  refused("/tmp", -EISDIR, "is a directory");
  refused("", -ENOENT, "empty");
}

static void test_scripts(void **state) {
  (void)state;
  struct program_target t;
  struct err e;
  put("plain", "#!/bin/sh\nexit 3\n", 0755);
  assert_int_equal(find(in_folder("plain"), &t, &e), 0);
  assert_true(t.script);
  assert_string_equal(t.path, "/bin/sh");
  assert_string_equal(t.argv[0], "/bin/sh");
  assert_string_equal(t.argv[1], in_folder("plain"));
  assert_string_equal(t.argv[2], "x");
  assert_null(t.argv[3]);
  program_target_done(&t);

  put("argument", "#! /bin/sh  -e -u \nexit 3\n", 0755);
  assert_int_equal(find(in_folder("argument"), &t, &e), 0);
  assert_string_equal(t.argv[1], "-e -u"); /* one argument, as the kernel has it */
  assert_string_equal(t.argv[2], in_folder("argument"));
  program_target_done(&t);

  put("env", "#!/usr/bin/env sh\nexit 3\n", 0755);
  assert_int_equal(find(in_folder("env"), &t, &e), 0);
  assert_string_equal(t.argv[0], "sh");
  assert_string_equal(t.argv[1], in_folder("env"));
  assert_string_equal(strrchr(t.path, '/'), "/sh");
  program_target_done(&t);

  put("env2", "#!/usr/bin/env -S A=1 sh\nexit 3\n", 0755);
  assert_int_equal(find(in_folder("env2"), &t, &e), 0);
  assert_string_equal(strrchr(t.path, '/'), "/env");
  program_target_done(&t);

  put("not", "#!/bin/sh\n", 0644);
  if (getuid() != 0) refused(in_folder("not"), -EACCES, "not executable");
  put("lost", "#!/no/such/interpreter\n", 0755);
  refused(in_folder("lost"), -ENOENT, "its interpreter: /no/such/interpreter");
  put("data", "hello\n", 0755);
  refused(in_folder("data"), -ENOEXEC, "data");
}

/* A folder that cannot be looked into: nothing is known of what is in it. */
static void test_closed_folder(void **state) {
  (void)state;
  const char *before = getenv("PATH");
  char *kept = before ? strdup(before) : NULL, *inside = NULL;
  put("closed", "", 0755);
  assert_int_equal(unlink(in_folder("closed")), 0);
  assert_int_equal(mkdir(in_folder("closed"), 0), 0);
  assert_true(asprintf(&inside, "%s/program", in_folder("closed")) > 0);
  assert_int_equal(setenv("PATH", in_folder("closed"), 1), 0);
  assert_int_equal(chmod(folder, 0755), 0);
  if (getuid() == 0) assert_int_equal(seteuid(65534), 0);
  refused("program", -ENOENT, "no such command in PATH (");
  refused("program", -ENOENT, "/closed cannot be searched)");
  refused(inside, -EACCES, "a folder on the way cannot be searched");
  if (getuid() == 0) assert_int_equal(seteuid(0), 0);
  assert_int_equal(rmdir(in_folder("closed")), 0);
  assert_int_equal(kept ? setenv("PATH", kept, 1) : unsetenv("PATH"), 0);
  free(kept);
  free(inside);
}

static void test_loop(void **state) {
  (void)state;
  char line[200];
  (void)snprintf(line, sizeof line, "#!%s\n", in_folder("loop"));
  put("loop", line, 0755);
  refused(in_folder("loop"), -ELOOP, "interpret each other");
}

static void test_not_interceptable(void **state) {
  (void)state;
  put("s.c", "int main(void) { return 0; }", 0644);
  assert_true(shell("cc -static s.c -o static && cc s.c -o plain.bin && cp plain.bin setuid && cp plain.bin setgid"));
  refused(in_folder("static"), -ECANCELED, "statically linked");
  if (getuid() != 0) return; /* only root can make one of another user */
  assert_int_equal(chown(in_folder("setuid"), 1, 1), 0);
  assert_int_equal(chmod(in_folder("setuid"), 04755), 0);
  refused(in_folder("setuid"), -ECANCELED, "is setuid");
  assert_int_equal(chown(in_folder("setgid"), 0, 1), 0);
  assert_int_equal(chmod(in_folder("setgid"), 02755), 0);
  refused(in_folder("setgid"), -ECANCELED, "is setgid");
  /* Mandatory locking, not a privilege. */
  assert_int_equal(chmod(in_folder("setgid"), 02745), 0);
  struct program_target t;
  struct err e;
  assert_int_equal(find(in_folder("setgid"), &t, &e), 0);
  program_target_done(&t);
}

/* --- modules ------------------------------------------------------------------------------------------------------ */

static void build_modules(void) {
  put("l.c", "int own(void) { return 1; } int other(void) { return 2; }", 0644);
  put("p.c",
      "#include <stdio.h>\n#include <unistd.h>\n"
      "int own(void);\n"
      "__attribute__((noinline)) static int deep(void) { return getppid(); }\n"
      "int main(void) {\n"
      "  return own() + deep() + fputs(\"\", stdout);\n"
      "}\n",
      0644);
  assert_true(shell("cc -shared -fPIC -Wl,-soname,libown.so.3 l.c -o libown.so.3 && "
                    "cc -g -O1 p.c ./libown.so.3 -Wl,-rpath,'$ORIGIN' -o p"));
}

static bool has(const struct program_modules *m, const char *function) {
  for (size_t i = 0; i < m->functions.n; i++)
    if (strcmp(m->functions.at[i], function) == 0) return true;
  return false;
}

static void test_modules(void **state) {
  (void)state;
  struct program_modules m;
  struct err e = {0};
  build_modules();
  assert_int_equal(program_modules_load(in_folder("p"), false, &m, &e), 0);
  assert_true(m.modules.n >= 3);
  assert_null(m.missing);
  assert_int_equal(program_modules_named(&m, "p"), 0);
  assert_int_equal(program_modules_named(&m, in_folder("p")), 0);
  assert_int_equal(program_modules_named(&m, "libown"), 1);
  assert_int_equal(program_modules_named(&m, "libown.so.3"), 1);
  assert_int_equal(program_modules_named(&m, "libow"), -ENOENT);
  /* A folder must be the right one, wherever murphy was started. */
  assert_int_equal(program_modules_named(&m, in_folder("libown.so.3")), 1);
  assert_int_equal(program_modules_named(&m, "./libown.so.3"), 1);
  assert_int_equal(program_modules_named(&m, "../../libown.so.3"), 1);
  assert_int_equal(program_modules_named(&m, strrchr(folder, '/') + 1), -ENOENT);
  char tail[PATH_MAX];
  (void)snprintf(tail, sizeof tail, "%s/libown.so.3", strrchr(folder, '/') + 1);
  assert_int_equal(program_modules_named(&m, tail), 1);
  assert_int_equal(program_modules_named(&m, tail + 1), -ENOENT);
  assert_int_equal(program_modules_named(&m, "other/libown.so.3"), -ENOENT);
  assert_int_equal(program_modules_named(&m, "/other/libown.so.3"), -ENOENT);
  assert_true(program_modules_named(&m, "libc.so.6") > 1);
  assert_true(has(&m, "own") && has(&m, "getppid"));
  assert_false(has(&m, "stdout") || has(&m, "other"));
  for (size_t i = 1; i < m.functions.n; i++)
    assert_true(strcmp(m.functions.at[i - 1], m.functions.at[i]) < 0);
  assert_ptr_equal(program_modules_define(&m, "own"), &m.modules.at[1]);
  assert_null(program_modules_define(&m, "stdout"));
  program_modules_done(&m);
  assert_int_equal(program_modules_load(in_folder("p"), true, &m, &e), 0);
  assert_true(has(&m, "own") && has(&m, "other") && has(&m, "unlinkat"));
  assert_false(has(&m, "stdout") || has(&m, "main"));
  program_modules_done(&m);
}

static void test_names_of_a_program(void **state) {
  (void)state;
  struct program_modules m;
  struct err e = {0};
  program_places p = {0};
  build_modules();
  assert_true(shell("ln -sf p other-name"));
  assert_int_equal(program_modules_load(in_folder("other-name"), false, &m, &e), 0);
  assert_int_equal(program_modules_named(&m, "other-name"), 0);
  assert_int_equal(program_modules_named(&m, "p"), 0);
  assert_int_equal(program_modules_find(&m, &(struct program_where){.any = "libowm"}, &p, &e), -ENOENT);
  assert_int_equal(program_modules_find(&m, &(struct program_where){.any = "ohter"}, &p, &e), -ENOENT);
  assert_non_null(strstr(e.text, "did you mean other?"));
  program_modules_done(&m);
}

static size_t places(struct program_modules *m, struct program_where w, program_places *ret) {
  struct err e = {0};
  ret->n = 0;
  int r = program_modules_find(m, &w, ret, &e);
  if (r < 0) assert_true(r == -ENOENT && e.text[0]);
  return r < 0 ? 0 : ret->n;
}

static void test_places(void **state) {
  (void)state;
  struct program_modules m;
  program_places p = {0};
  build_modules();
  assert_int_equal(program_modules_load(in_folder("p"), false, &m, NULL), 0);
  assert_int_equal(places(&m, (struct program_where){.any = "libown"}, &p), 1);
  assert_int_equal(p.at[0].module, 1);
  assert_int_equal(p.at[0].flags, WIRE_ANYWHERE);
  assert_int_equal(places(&m, (struct program_where){.any = "other"}, &p), 1);
  assert_int_equal(p.at[0].module, 1);
  assert_true(p.at[0].start < p.at[0].end && !p.at[0].flags);
  assert_int_equal(places(&m, (struct program_where){.any = "deep"}, &p), 1);
  assert_int_equal(p.at[0].module, 0);
  assert_int_equal(places(&m, (struct program_where){.module = "p", .function = "own"}, &p), 0);
  assert_true(places(&m, (struct program_where){.file = "p.c", .line = 6}, &p) > 0);
  assert_int_equal(places(&m, (struct program_where){.file = "p.c", .line = 60}, &p), 0);
  assert_int_equal(places(&m, (struct program_where){.file = "q.c"}, &p), 0);
  assert_int_equal(places(&m, (struct program_where){.any = "nothing"}, &p), 0);
  assert_int_equal(places(&m, (struct program_where){.module = "nothing"}, &p), 0);
  vec_done(&p);
  program_modules_done(&m);
}

/* --- area --------------------------------------------------------------------------------------------------------- */

static struct wire_event *event_at(struct run_area *a, uint64_t k) {
  return (struct wire_event *)((char *)a->at + a->events.at) + k % a->events.n;
}

static void write_event(struct run_area *a, uint64_t k) {
  struct wire_event *event = event_at(a, k);
  *event = (struct wire_event){.call = k, .n_frames = 1000000};
  event->ready = k + 1;
}

/* Few pages, many, or a file that is shorter: the next run finds nothing of it. */
static void test_area_reset(void **state) {
  (void)state;
  struct run_area a;
  assert_int_equal(run_area_make(in_folder("area-reset"), 3, false, &a, NULL), 0);
  char *bytes = (char *)a.at;
  const size_t pages = a.size / 4096, written[] = {1, 3, pages - 1, pages};
  for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
    for (size_t k = 1; k < written[i]; k++)
      bytes[k * 4096 + 8] = 'x';
    bytes[a.size - 1] = 'x';
    if (i == 2) assert_int_equal(ftruncate(a.file, 4096), 0);
    assert_int_equal(run_area_reset(&a, NULL), 0);
    assert_int_equal(a.at->size, a.size);
    size_t left = 0;
    for (size_t k = a.at->header; k < a.size; k++)
      left += bytes[k] != 0;
    assert_int_equal(left, 0);
  }
  run_area_done(&a);
}

static void test_area(void **state) {
  (void)state;
  struct run_area a;
  struct wire_event event;
  struct wire_loaded loaded;
  assert_int_equal(run_area_make(in_folder("area"), 3, false, &a, NULL), 0);
  assert_int_equal(run_area_make(in_folder("area"), 3, false, &a, NULL), -EEXIST);
  write_event(&a, 0);
  write_event(&a, 2);
  a.at->next_event = 3;
  assert_int_equal(run_area_drain(&a, false), 0);
  assert_int_equal(a.at->read, 1); /* the second is being written */
  assert_true(run_area_take(&a, &event));
  assert_int_equal(event.n_frames, WIRE_FRAMES);
  assert_false(run_area_take(&a, &event));
  assert_int_equal(run_area_drain(&a, true), 0); /* its writer was killed */
  assert_true(run_area_take(&a, &event));
  assert_int_equal(event.call, 2);

  /* Whatever the target writes: not for ever, not outside. */
  a.at->next_event = UINT64_MAX;
  assert_int_equal(run_area_drain(&a, true), 0);
  assert_int_equal(a.read, 3 + a.events.n);
  a.at->counts = a.at->events = a.at->loaded = (struct wire_span){UINT32_MAX, UINT32_MAX};
  assert_int_equal(run_area_count(&a, 2), 0);
  assert_int_equal(run_area_count(&a, 3), 0);
  assert_false(run_area_loaded(&a, 0, &loaded));
  assert_false(run_area_loaded(&a, 1, &loaded));
  assert_false(run_area_loaded(&a, UINT32_MAX, &loaded));
  struct run_totals totals;
  assert_int_equal(run_area_totals(&a, &totals), 0);
  assert_int_equal(run_area_stop(&a), 0);
  assert_int_equal(a.at->stop, 1);
  assert_int_equal(truncate(in_folder("area"), 0), 0);
  assert_int_equal(run_area_drain(&a, false), -EIO);
  assert_int_equal(run_area_totals(&a, &totals), -EIO);
  assert_int_equal(run_area_stop(&a), -EIO);
  assert_int_equal(run_area_count(&a, 2), 0);
  assert_false(run_area_loaded(&a, 1, &loaded));
  run_area_done(&a);
}

/* A process that has ended, and was waited for. */
static pid_t dead_process(void) {
  pid_t pid = fork();
  if (pid == 0) _exit(0);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  return pid;
}

/* An event whose writer was killed in the middle must not hold up those behind it. */
static void test_unfinished_event(void **state) {
  (void)state;
  struct run_area a;
  struct wire_event event;
  struct run_totals totals;
  assert_int_equal(run_area_make(in_folder("unfinished"), 1, false, &a, NULL), 0);
  event_at(&a, 0)->ready = WIRE_WRITING | (uint64_t)getpid();
  write_event(&a, 1);
  a.at->next_event = 2;
  assert_int_equal(run_area_drain(&a, false), 0);
  assert_false(run_area_take(&a, &event)); /* it is there, and will go on */
  event_at(&a, 0)->ready = WIRE_WRITING | (uint64_t)dead_process();
  assert_int_equal(run_area_drain(&a, false), 0);
  assert_true(run_area_take(&a, &event));
  assert_int_equal(event.call, 1);
  assert_true(event_at(&a, 0)->ready == (WIRE_PASSED | 1));
  assert_int_equal(run_area_totals(&a, &totals), 0);
  assert_int_equal(totals.lost, 1);
  run_area_done(&a);
}

/* Begun, and nobody knows by whom: it is waited for, but not for ever. What has not begun is not waited for. */
static void test_unclaimed_event(void **state) {
  (void)state;
  struct run_area a;
  struct wire_event event;
  assert_int_equal(run_area_make(in_folder("unclaimed"), 1, false, &a, NULL), 0);
  for (int i = 0; i < 200; i++) {
    assert_int_equal(run_area_drain(&a, false), 0);
    assert_int_equal(usleep(1000), 0);
  }
  write_event(&a, 1);
  a.at->next_event = 2;
  int ticks = 0;
  for (; !run_area_take(&a, &event) && ticks < 10000; ticks++) {
    assert_int_equal(run_area_drain(&a, false), 0);
    assert_int_equal(usleep(5000), 0);
  }
  assert_int_equal(event.call, 1);
  assert_true(ticks > 10);
  run_area_done(&a);
}

static void test_folder(void **state) {
  (void)state;
  struct run_folder f;
  struct stat st;
  struct text shim = {0};
  assert_int_equal(setenv("XDG_RUNTIME_DIR", folder, 1), 0);
  assert_int_equal(run_folder_make(false, &f, NULL), 0);
  assert_memory_equal(f.path, folder, strlen(folder));
  assert_int_equal(stat(f.path, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0700);
  text_add(&shim, "bytes");
  assert_int_equal(run_folder_write(&f, &shim, NULL), 0);
  text_done(&shim);
  char *path = strdup(f.path);
  run_folder_done(&f);
  assert_int_equal(stat(path, &st), -1);
  free(path);
  /* LD_PRELOAD would be split there. */
  assert_int_equal(mkdir(in_folder("a b"), 0700), 0);
  assert_int_equal(setenv("XDG_RUNTIME_DIR", in_folder("a b"), 1), 0);
  assert_int_equal(run_folder_make(false, &f, NULL), 0);
  assert_null(strchr(f.path, ' '));
  run_folder_done(&f);
}

/* Runs MURPHY's part of a folder, and is killed. */
static char *left_behind(void) {
  static char path[PATH_MAX];
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t pid = fork();
  if (pid == 0) {
    struct run_folder f;
    struct text shim = {0};
    char stage[PATH_MAX];
    text_add(&shim, "bytes");
    if (run_folder_make(false, &f, NULL) < 0 || run_folder_write(&f, &shim, NULL) < 0) _exit(1);
    (void)snprintf(stage, sizeof stage, "%s/" RUN_FOLDER_STAGE, f.path);
    if (mkdir(stage, 0700) < 0) _exit(1);
    if (write(ends[1], f.path, strlen(f.path) + 1) < 0) _exit(1);
    (void)raise(SIGKILL);
  }
  assert_true(read(ends[0], path, sizeof path) > 1);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  assert_int_equal(close(ends[0]) + close(ends[1]), 0);
  return path;
}

static bool is_there(const char *path) { return access(path, F_OK) == 0; }

static void test_left_behind(void **state) {
  (void)state;
  struct run_folder used, next;
  assert_int_equal(setenv("XDG_RUNTIME_DIR", folder, 1), 0);
  char *left = left_behind();
  assert_true(is_there(left));
  assert_int_equal(run_folder_make(false, &used, NULL), 0);
  assert_true(is_there(left)); /* it may be somebody's who has just made it */
  assert_int_equal(sleep(3), 0);
  assert_int_equal(run_folder_make(false, &next, NULL), 0);
  assert_false(is_there(left));
  assert_true(is_there(used.path));
  run_folder_done(&next);
  run_folder_done(&used);
}

/* --- log ---------------------------------------------------------------------------------------------------------- */

/* A plan with one function, rule and fault; only what the log reads. */
struct small_plan {
  struct wire_plan head;
  struct wire_function function;
  struct wire_rule rule;
  struct wire_fault fault;
  struct wire_side side;
  char text[64];
};

static struct small_plan make_plan(void) {
  struct small_plan p = {
      .head =
          {
              .text = {offsetof(struct small_plan, text), 64},
              .functions = {offsetof(struct small_plan, function), 1},
              .rules = {offsetof(struct small_plan, rule), 1},
              .faults = {offsetof(struct small_plan, fault), 1},
              .sides = {offsetof(struct small_plan, side), 1},
          },
      .function = {.name = 1, .n_args = 2},
      .rule = {.trigger = 6, .flags = WIRE_THEN},
      .fault = {.n_sides = 1},
      .side = {.kind = WIRE_SIDE_ARG, .width = 4, .argument = 1, .value = -7},
      .text = "\0read\0call == \"1\"",
  };
  return p;
}

static void start_log(struct run_area *a, struct program_modules *m, struct small_plan *p, struct run_log *log) {
  char name[32];
  static unsigned number;
  (void)snprintf(name, sizeof name, "area-%u", number++);
  *p = make_plan();
  *m = (struct program_modules){0};
  *log = (struct run_log){.plan = &p->head, .start = 1000000000};
  assert_int_equal(run_area_make(in_folder(name), 1, false, a, NULL), 0);
  assert_int_equal(run_symbols_new(m, a, &log->symbols), 0);
}

static void end_log(struct run_area *a, struct run_log *log) {
  run_symbols_free(log->symbols);
  run_log_done(log);
  run_area_done(a);
}

/* Numbers of modules are those of a run. */
static void test_kept_modules(void **state) {
  (void)state;
  struct run_area a;
  struct program_modules m;
  struct small_plan p;
  struct run_log log;
  struct wire_event event = {.n_frames = 2, .frames = {{.at = 0x10, .module = 1}, {.at = 0x20, .module = 2}}};
  struct run_kept kept = {0};
  struct run_symbol symbol;
  start_log(&a, &m, &p, &log);
  struct wire_loaded *loaded = (struct wire_loaded *)((char *)a.at + a.loaded.at);
  loaded[0] = (struct wire_loaded){.ready = 1, .end = 4096, .path = "/lost/first"};
  run_area_keep(&a, &event, &kept);
  assert_int_equal(kept.n, 1);
  loaded[0] = (struct wire_loaded){.ready = 1, .end = 4096, .path = "/lost/other"};
  loaded[1] = (struct wire_loaded){.ready = 1, .end = 4096, .path = "/lost/second"};
  run_symbols_tell(log.symbols, &kept);
  assert_true(run_symbols_at(log.symbols, &event.frames[0], &symbol));
  assert_string_equal(symbol.path, "/lost/first");
  assert_true(run_symbols_at(log.symbols, &event.frames[1], &symbol));
  assert_string_equal(symbol.path, "/lost/second");
  end_log(&a, &log);
}

static void test_log(void **state) {
  (void)state;
  struct run_area a;
  struct program_modules m;
  struct small_plan p;
  struct run_log log;
  struct text t = {0};
  struct wire_event event = {.time = 1500000000, .pid = 7, .tid = 8, .process = 2, .call = 3, .retval = -1, .error = 5};
  start_log(&a, &m, &p, &log);
  event.args[0] = 3;
  event.args[1] = UINT64_MAX;
  event.n_frames = 1;
  event.frames[0] = (struct wire_frame){.at = 0x1234};
  log.events = 9;
  run_log_json(&log, &event, &t);
  assert_string_equal(
      t.at,
      "{\"event\":\"inject\",\"seq\":9,\"time\":0.500000,\"pid\":7,\"tid\":8,\"process\":2,\"function\":\"read\","
      "\"call\":3,\"retval\":-1,\"errno\":\"EIO\",\"side\":[{\"kind\":\"arg\",\"argument\":2,\"offset\":0,"
      "\"width\":4,\"value\":-7}],\"then\":true,\"trigger\":\"call == \\\"1\\\"\",\"args\":[3,-1],"
      "\"stack\":[{\"module\":\"\",\"offset\":\"0x1234\",\"symbol\":null,\"file\":null,\"line\":null,\"path\":\"\"}]}"
      "\n");
  text_done(&t);
  event.missed = 1;
  run_log_json(&log, &event, &t);
  assert_non_null(strstr(t.at, "\"width\":4,\"value\":-7,\"missed\":true}]"));
  text_done(&t);
  run_log_line(&log, &event, &t);
  assert_string_equal(t.at, "read(3, -1) = -1 EIO, call 3 of process 7, from (?+0x1234)");
  text_done(&t);
  event.signal = 17;
  run_log_json(&log, &event, &t);
  run_log_line(&log, &event, &t);
  assert_non_null(strstr(t.at, "}],\"signal\":\"SIGCHLD\"}\n"
                               "read(3, -1) = -1 EIO with SIGCHLD, call 3 of process 7, from (?+0x1234)"));
  text_done(&t);
  end_log(&a, &log);
}

/* What an event says comes from the target. */
static void test_hostile_events(void **state) {
  (void)state;
  struct run_area a;
  struct program_modules m;
  struct small_plan p;
  struct run_log log;
  struct text t = {0};
  struct wire_event event;
  start_log(&a, &m, &p, &log);
  memset(&event, 0xff, sizeof event);
  run_log_json(&log, &event, &t);
  run_log_line(&log, &event, &t);
  struct wire_loaded *loaded = (struct wire_loaded *)((char *)a.at + a.loaded.at);
  memset(loaded, 'x', sizeof *loaded);
  loaded->ready = 1;
  strcpy(loaded[1].path, "/dev/zero");
  loaded[1].ready = 1;
  event = (struct wire_event){.n_frames = 2};
  event.frames[0] = (struct wire_frame){.module = 1, .at = UINT64_MAX};
  event.frames[1] = (struct wire_frame){.module = 2};
  run_log_json(&log, &event, &t);
  run_log_line(&log, &event, &t);
  assert_false(t.failed);
  text_done(&t);
  end_log(&a, &log);
}

/* --- replay ------------------------------------------------------------------------------------------------------- */

static void test_replay(void **state) {
  (void)state;
  struct text t = {0};
  struct err e = {0};
  put("log",
      "{\"event\":\"inject\",\"seq\":1,\"process\":2,\"function\":\"close\",\"call\":3,\"retval\":-1,"
      "\"errno\":\"EIO\",\"then\":true,\"side\":[]}\n"
      "{\"event\":\"lost\",\"count\":1}\n"
      "{\"event\":\"inject\",\"function\":\"f<\",\"call\":1,\"retval\":0,\"errno\":null,\"side\":"
      "[{\"kind\":\"arg\",\"argument\":2,\"offset\":0,\"width\":4,\"value\":7}]}",
      0644);
  assert_int_equal(run_replay_load(in_folder("log"), &t, &e), 0);
  assert_string_equal(t.at, "<scenario>\n"
                            "  <function name=\"close\" retval=\"-1\" errno=\"EIO\" then=\"true\" when=\"call==3 and "
                            "process==2\">\n  </function>\n"
                            "  <function name=\"f&lt;\" retval=\"0\" when=\"call==1\">\n"
                            "    <side kind=\"arg\" argument=\"2\" offset=\"0\" width=\"4\" value=\"7\"/>\n"
                            "  </function>\n</scenario>\n");
  text_done(&t);
}

static void bad_log(const char *text, int code, const char *why) {
  struct text t = {0};
  struct err e = {0};
  put("bad", text, 0644);
  assert_int_equal(run_replay_load(in_folder("bad"), &t, &e), code);
  text_done(&t);
  if (!strstr(e.text, why)) fail_msg("'%s' is not in: %s", why, e.text);
}

static void test_bad_replay(void **state) {
  (void)state;
  bad_log("", -ENODATA, "no injection");
  bad_log("{\"event\":\"lost\",\"count\":1}\n", -ENODATA, "no injection");
  bad_log("{\"event\":\"lost\"}\nhello\n", -EINVAL, "bad:2: not a JSON object");
  bad_log("[]\n", -EINVAL, "bad:1: not a JSON object");
  bad_log("{}\n", -EINVAL, "\"event\"");
  bad_log("{\"event\":\"inject\"}\n", -EINVAL, "\"function\"");
  bad_log("{\"event\":\"inject\",\"function\":\"f\",\"call\":0}\n", -EINVAL, "\"call\"");
  bad_log("{\"event\":\"inject\",\"function\":\"f\",\"call\":1}\n", -EINVAL, "\"retval\"");
  bad_log("{\"event\":\"inject\",\"function\":\"f\",\"call\":1,\"retval\":0,\"errno\":\"EX\"}\n", -EINVAL, "\"errno\"");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_path),
      cmocka_unit_test(test_scripts),
      cmocka_unit_test(test_closed_folder),
      cmocka_unit_test(test_loop),
      cmocka_unit_test(test_not_interceptable),
      cmocka_unit_test(test_modules),
      cmocka_unit_test(test_names_of_a_program),
      cmocka_unit_test(test_places),
      cmocka_unit_test(test_area),
      cmocka_unit_test(test_area_reset),
      cmocka_unit_test(test_unfinished_event),
      cmocka_unit_test(test_unclaimed_event),
      cmocka_unit_test(test_folder),
      cmocka_unit_test(test_left_behind),
      cmocka_unit_test(test_kept_modules),
      cmocka_unit_test(test_log),
      cmocka_unit_test(test_hostile_events),
      cmocka_unit_test(test_replay),
      cmocka_unit_test(test_bad_replay),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
