/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox and programs that try to get out of it. Where the kernel refuses namespaces, all tests are skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct place {
  char stage[64], work[64];
};

struct seen {
  struct sandbox_result result;
  char out[4096];
};

static int set_up(void **state) {
  struct place *p = malloc(sizeof *p);
  if (!p) return -1;
  strcpy(p->stage, "/tmp/sandbox-XXXXXX");
  strcpy(p->work, "/tmp/sandbox-XXXXXX");
  if (!mkdtemp(p->stage) || !mkdtemp(p->work)) return -1;
  *state = p;
  return 0;
}

static int tear_down(void **state) {
  struct place *p = *state;
  char command[256];
  (void)snprintf(command, sizeof command, "rm -rf %s %s", p->stage, p->work);
  int r = system(command);
  free(p);
  return r;
}

/* Where a test needs two runs of the same sandbox, TIMES is 2, and the last is seen. */
static bool traced;
static uint64_t patience_ns, wall_ns = 2000000000u;
static bool brief;
static const char *share, *input;
static bool bare;
static struct sandbox_places places = {.all = true}, last_places = {.all = true};
static unsigned processor;
static bool in_child; /* of the test: nobody would see that it is skipped */

static struct seen run_limited(const struct place *p, const char *script, unsigned times,
                               const struct sandbox_limits *limits) {
  char *const argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", (char *)(uintptr_t)script, NULL};
  char *const envp[] = {(char *)(uintptr_t) "PATH=/usr/bin:/bin", NULL};
  struct sandbox_options options = {.folder = p->stage,
                                    .cwd = p->work,
                                    .path = "/bin/sh",
                                    .argv = argv,
                                    .envp = envp,
                                    .limits = *limits,
                                    .shared = share,
                                    .input = input,
                                    .bare = bare,
                                    .processor = processor};
  struct sandbox *s = NULL;
  struct err e = {0};
  if (sandbox_new(&options, &s, &e) < 0) {
    print_message("%s\n", e.text);
    if (in_child) _exit(1);
    skip();
  }
  struct seen seen = {0};
  int in = open(input ? input : "/dev/null", O_RDONLY | O_CLOEXEC), out = -1;
  while (times--) {
    if (out >= 0) (void)close(out);
    sandbox_result_done(&seen.result);
    out = memfd_create("out", MFD_CLOEXEC);
    struct sandbox_job job = {.in = in,
                              .out = out,
                              .error = out,
                              .wall_ns = wall_ns,
                              .trace = traced,
                              .patience_ns = patience_ns,
                              .brief = brief,
                              .in_place = times ? places : last_places};
    if (sandbox_run(s, &job, &seen.result, &e) < 0) fail_msg("%s", e.text);
  }
  assert_true(pread(out, seen.out, sizeof seen.out - 1, 0) >= 0);
  (void)close(out);
  (void)close(in);
  sandbox_free(s);
  return seen;
}

static struct seen run(const struct place *p, const char *script, unsigned times) {
  return run_limited(p, script, times, &(struct sandbox_limits){0});
}

static struct seen run_anew(const struct place *p, const char *script, unsigned times) {
  places.all = last_places.all = false;
  struct seen seen = run(p, script, times);
  places.all = last_places.all = true;
  return seen;
}

static void test_status_and_output(void **state) {
  struct seen s = run(*state, "echo hello; exit 3", 1);
  assert_int_equal(WEXITSTATUS(s.result.status), 3);
  assert_string_equal(s.out, "hello\n");
  assert_int_equal(s.result.n_layers, 0);
}

static void test_changes_stay_inside(void **state) {
  const struct place *p = *state;
  char path[128];
  (void)snprintf(path, sizeof path, "%s/keep", p->work);
  int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  assert_true(fd >= 0 && close(fd) == 0);
  struct seen s = run(p, "ls; rm keep; echo x > new; ls; rm -rf ./* ~ 2>/dev/null", 2);
  assert_string_equal(s.out, "keep\nnew\n"); /* the second run begins as the first did */
  assert_int_equal(s.result.n_layers, 1);
  assert_string_equal(s.result.layers[0].at, "/tmp");
  assert_int_equal(access(path, F_OK), 0);
  sandbox_result_done(&s.result);
}

static void test_shared_folder_stays(void **state) {
  const struct place *p = *state;
  char shared[128], script[400];
  (void)snprintf(shared, sizeof shared, "%s/shared", p->work);
  assert_int_equal(mkdir(shared, 0700), 0);
  (void)snprintf(script, sizeof script, "echo x > new; ls %s; echo y > %s/file", shared, shared);
  share = shared;
  struct seen s = run(p, script, 2);
  share = NULL;
  assert_string_equal(s.out, "file\n"); /* what the first run put there is seen by the second */
  sandbox_result_done(&s.result);
}

/* All that can be seen of files and folders which the run before has changed, in each way that there is. */
static void test_changes_leave_no_trace(void **state) {
  const struct place *p = *state;
  char command[256];
  (void)snprintf(command, sizeof command,
                 "cd %s && echo 1 > keep && mkdir -p sub/inner deep/er && echo 2 > sub/file && ln keep sub/link",
                 p->work);
  assert_int_equal(system(command), 0);
  const char *script = "ls -aR; stat -c '%n %h %s %a %u %Y %Z' . sub sub/* deep/er keep; cat keep sub/file 2>&1;"
                       "echo more >> keep; rm sub/file; rmdir sub/inner; mkdir sub/new; chmod 700 deep; mv deep other;"
                       "ln -s x link; touch -d @7 sub/link; echo 3 > sub/file; mkfifo pipe; touch -d @9 .";
  struct seen first = run(p, script, 1), third = run(p, script, 3);
  sandbox_result_done(&first.result);
  sandbox_result_done(&third.result);
  assert_string_equal(first.out, third.out);
  third = run_anew(p, script, 3);
  sandbox_result_done(&third.result);
  assert_string_equal(first.out, third.out);
}

/* Descriptors in a socket that is in itself: no process has them, and the kernel closes them when it comes to that. */
static void test_open_files_of_nobody(void **state) {
  const struct place *p = *state;
  char command[256];
  (void)snprintf(command, sizeof command, "cd %s && echo 1 > keep && mkdir sub", p->work);
  assert_int_equal(system(command), 0);
  const char *script = "ls -R; cat keep; exec python3 -c '\n"
                       "import os, socket\n"
                       "a, b = socket.socketpair()\n"
                       "files = [os.open(\"keep\", os.O_WRONLY | os.O_TRUNC), os.open(\"sub\", os.O_RDONLY)]\n"
                       "os.write(files[0], b\"changed\")\n"
                       "os.mkdir(\"sub/more\")\n"
                       "socket.send_fds(a, [b\"x\"], files + [a.fileno(), b.fileno()])\n"
                       "print(\"sent\")'";
  struct seen third = run(p, script, 3);
  sandbox_result_done(&third.result);
  assert_string_equal(third.out, ".:\nkeep\nsub\n\n./sub:\n1\nsent\n");
}

/* An overlay counts its folders, from when it was mounted. */
static void test_folders_have_their_numbers_again(void **state) {
  const char *script = "mkdir -p a/b; stat -c %i . a a/b /tmp";
  struct seen first = run_anew(*state, script, 1), third = run_anew(*state, script, 3);
  sandbox_result_done(&first.result);
  sandbox_result_done(&third.result);
  assert_string_equal(first.out, third.out);
  /* Also after runs of which it did not matter, and where these have left nothing behind. */
  script = "mkdir a; stat -c %i . a /tmp; rmdir a";
  first = run_anew(*state, script, 1);
  last_places.all = false;
  third = run(*state, script, 4);
  last_places.all = true;
  sandbox_result_done(&first.result);
  sandbox_result_done(&third.result);
  assert_string_equal(first.out, third.out);
}

/* Layers are emptied in place where that is allowed, from the first time on; elsewhere and otherwise not. */
static void test_what_is_emptied_in_place(void **state) {
  const char *script = "mkdir made";
  struct seen first = run(*state, script, 1), second = run(*state, script, 2), third = run(*state, script, 3);
  assert_true(first.result.emptied.set == 0);
  assert_true(second.result.emptied.set == third.result.emptied.set);
  struct sandbox_places all = second.result.emptied, other = {.names = all.names + 1, .set = UINT64_MAX};
  sandbox_result_done(&first.result);
  sandbox_result_done(&second.result);
  sandbox_result_done(&third.result);
  const struct sandbox_places tries[] = {all, {.names = all.names, .set = ~all.set}, other};
  for (size_t i = 0; i < COUNT(tries); i++) {
    places = last_places = tries[i];
    third = run(*state, script, 3);
    places = last_places = (struct sandbox_places){.all = true};
    sandbox_result_done(&third.result);
    assert_true(third.result.emptied.set == (i == 0 ? all.set : 0));
  }
}

/* An overlay keeps the whiteout of a removed file. */
static void test_removed_files_are_not_counted(void **state) {
  const struct place *p = *state;
  char command[256];
  (void)snprintf(command, sizeof command, "touch %s/keep %s/other", p->work, p->work);
  assert_int_equal(system(command), 0);
  const char *script = "stat -f -c '%c %d' .; rm keep other";
  struct seen first = run(p, script, 1), third = run(p, script, 3);
  sandbox_result_done(&first.result);
  sandbox_result_done(&third.result);
  assert_string_equal(first.out, third.out);
}

/* Devices are the machine's own. They can be used, and not changed; so can what is standard input. */
static void test_devices_are_not_changed(void **state) {
  struct stat before, after;
  assert_int_equal(stat("/dev/full", &before), 0);
  struct seen s =
      run(*state,
          "chmod 666 /dev/full 2>/dev/null || echo kept; touch /dev/full 2>/dev/null || echo kept;"
          "echo x > /dev/null && echo null; head -c 3 /dev/zero | wc -c; echo x 2>&1 > /dev/full || echo full;"
          "head -c 2 /dev/urandom | wc -c; cat;"
          "python3 -c 'import os; print(os.fstatvfs(0).f_flag & os.ST_RDONLY)'",
          1);
  assert_int_equal(stat("/dev/full", &after), 0);
  assert_memory_equal(&before.st_ctim, &after.st_ctim, sizeof after.st_ctim);
  assert_string_equal(strstr(s.out, "null\n") ? strstr(s.out, "null\n") : s.out,
                      "null\n3\nsh: 1: echo: echo: I/O error\nfull\n2\n1\n");
  assert_true(strncmp(s.out, "kept\nkept\n", 10) == 0);
}

/* Settings of namespaces can be read; who may not write them is told so. */
static void test_settings_are_read_only(void **state) {
  struct seen s = run(*state,
                      "cat /proc/sys/kernel/ostype; ls /proc/sys/net/ipv4 | grep -c default_ttl;"
                      "python3 -c '\n"
                      "import errno\n"
                      "try: open(\"/proc/sys/kernel/msgmnb\", \"w\").write(\"777\")\n"
                      "except OSError as e: print(e.errno in (errno.EROFS, errno.EACCES))';"
                      "echo 5 > /proc/self/oom_score_adj; cat /proc/self/oom_score_adj",
                      1);
  assert_string_equal(s.out, "Linux\n1\nTrue\n5\n");
}

/* What a run sets for the keeper, for the namespace's network or for the device that makes terminals. */
static void test_settings_are_renewed(void **state) {
  const char *script = "ionice; cat /proc/1/oom_score_adj /proc/self/oom_score_adj; stat -c %a /dev/pts/ptmx;"
                       "exec python3 -c '\n"
                       "import fcntl, os, resource, socket, struct\n"
                       "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], os.sched_getscheduler(0))\n"
                       "s = socket.socket(socket.AF_UNIX)\n"
                       "def lo(what, value): return fcntl.ioctl(s, what, struct.pack(\"16si12x\", b\"lo\", value))\n"
                       "print(struct.unpack(\"16si12x\", lo(0x8921, 0))[1])\n"
                       "def attempt(f, *a):\n"
                       "  try: f(*a)\n"
                       "  except OSError: pass\n"
                       "attempt(lo, 0x8922, 1500)\n"
                       "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                       "name = struct.pack(\"16s16x\", b\"lo\")\n"
                       "print(fcntl.ioctl(s, 0x8915, name)[20:24])\n"
                       "other = struct.pack(\"16sH2x4s8x\", b\"lo\", socket.AF_INET, socket.inet_aton(\"10.1.2.3\"))\n"
                       "attempt(fcntl.ioctl, s, 0x8916, other)\n"
                       "attempt(resource.prlimit, 1, resource.RLIMIT_NOFILE, (77, "
                       "resource.getrlimit(resource.RLIMIT_NOFILE)[1]))\n"
                       "attempt(os.sched_setscheduler, 1, os.SCHED_BATCH, os.sched_param(0))\n"
                       "attempt(os.chmod, \"/dev/pts/ptmx\", 0o600)\n"
                       "def oom():\n"
                       "  with open(\"/proc/1/oom_score_adj\", \"w\") as f: f.write(\"500\")\n"
                       "attempt(oom)\n"
                       "if os.geteuid() == 0: os.system(\"ionice -c 2 -n 7 -u 0\")'";
  struct seen first = run(*state, script, 1), third = run(*state, script, 3);
  sandbox_result_done(&first.result);
  sandbox_result_done(&third.result);
  assert_string_equal(first.out, third.out);
}

/* Modes, attributes and owners of the folder that a layer lies on, when something in it was changed too. */
static void test_root_of_a_layer_is_renewed(void **state) {
  const char *script = "stat -c '%a %u %g' /tmp; getfattr -d /tmp 2>/dev/null; ls -d made 2>/dev/null;"
                       "echo x > made; setfattr -n user.x -v 1 /tmp 2>/dev/null; chmod 711 /tmp";
  struct seen first = run(*state, script, 1), third = run(*state, script, 3);
  sandbox_result_done(&first.result);
  sandbox_result_done(&third.result);
  assert_string_equal(first.out, third.out);
}

/* What belongs to the folder that a layer lies on: there is no new file that would show it. */
static void test_folders_themselves_are_renewed(void **state) {
  const char *script = "stat -c '%a %Y' /tmp /dev/shm; chmod 700 /tmp /dev/shm; touch -d @5 /tmp /dev/shm";
  struct seen s = run(*state, script, 2);
  sandbox_result_done(&s.result);
  /* When they were changed last is anybody's, but it was not then. */
  assert_non_null(strstr(s.out, "1777 "));
  assert_null(strstr(s.out, "700 "));
  assert_null(strstr(s.out, " 5\n"));
}

/* They are no files, and nobody's: a run must not find those of the run before. */
static void test_shared_objects_go_away(void **state) {
  const char *script =
      "ipcs -a | grep -c '^0x'; ipcmk -M 64 -S 1 -Q >/dev/null; ipcs -a | grep '^0x' | cut -d ' ' -f 2";
  struct seen first = run(*state, script, 1), third = run(*state, script, 3);
  assert_string_equal(first.out, "0\n0\n0\n0\n");
  assert_string_equal(third.out, first.out);
}

static void test_process_numbers_repeat(void **state) {
  struct seen first = run(*state, "echo $$; sh -c 'echo $$'", 1), third = run(*state, "echo $$; sh -c 'echo $$'", 3);
  assert_string_equal(first.out, third.out);
}

static void test_nothing_is_left_running(void **state) {
  struct seen s = run(*state, "trap '' TERM HUP; (setsid sleep 1000 &) ; (sleep 1000 &) ; echo done", 1);
  assert_string_equal(s.out, "done\n");
  assert_int_equal(s.result.left, 2);
  s = run(*state, "ps -e 2>/dev/null | grep -c sleep || true", 2);
  assert_true(s.out[0] == '0' || s.out[0] == '\0');
}

static void test_time_is_limited(void **state) {
  struct seen s = run(*state, "trap '' TERM INT; while :; do :; done", 1);
  assert_true(s.result.timed_out);
  assert_int_equal(WTERMSIG(s.result.status), SIGKILL);
}

static struct seen run_patiently_for(const struct place *p, const char *script, uint64_t ns) {
  patience_ns = ns;
  struct seen s = run(p, script, 1);
  patience_ns = 0;
  return s;
}

static struct seen run_patiently(const struct place *p, const char *script) {
  return run_patiently_for(p, script, 60000000000u);
}

/* What waits for long is not repeated with the second compiler; cmocka's skip would be a failure in its TAP. */
static bool is_repeated(void) { return getenv("MURPHY_AGAIN") != NULL; }

/* Pauses that become longer and longer mostly come to an end; short ones that do not are one hang. */
static void test_longer_pauses(void **state) {
  if (is_repeated()) return;
  struct seen s = run_patiently_for(*state, "for p in .2 .4 .8 1.6 3.2; do sleep $p; done; echo late", 2500000000u);
  assert_false(s.result.timed_out);
  assert_string_equal(s.out, "late\n");
  s = run_patiently_for(*state, "while :; do sleep .01; done", 2500000000u);
  assert_true(s.result.timed_out);
  assert_true(s.result.wall_ns < 12000000000u);
  sandbox_result_done(&s.result);
}

/* Those that do not grow are a hang earlier; whoever works in between is not at rest at each moment. */
static void test_steady_pauses(void **state) {
  if (is_repeated()) return;
  struct seen s = run_patiently_for(*state, "while :; do sleep .6; done", 2000000000u);
  assert_true(s.result.timed_out);
  assert_true(s.result.wall_ns > 4000000000u && s.result.wall_ns < 11000000000u);
  sandbox_result_done(&s.result);
  /* Less work in all than makes one busy: on a loaded machine, no look may meet it asleep. */
  static const char tries[] = "exec perl -e 'for (1 .. 6) { select undef, undef, undef, .6; $t = (times)[0] + .06; "
                              "1 while (times)[0] < $t } print \"late\\n\"'";
  s = run_patiently_for(*state, tries, 2500000000u);
  assert_false(s.result.timed_out);
  assert_string_equal(s.out, "late\n");
}

/* Nobody waits for pauses: how long that would take is said. Who computes without end is stuck in any case. */
static void test_brief_runs(void **state) {
  brief = true;
  struct seen s = run_patiently_for(*state, "while :; do sleep .6; done", 10000000000u);
  /* The first look comes in the middle of a pause: the whole one after it is no longer one. */
  struct seen cut = run_patiently_for(*state, "sleep .59; while :; do sleep .9; done", 10000000000u);
  struct seen busy = run_patiently_for(*state, "while :; do :; done", 10000000000u);
  struct seen ends = run_patiently_for(*state, "sleep 2.5; echo late", 10000000000u);
  brief = false;
  assert_true(s.result.timed_out);
  assert_true(busy.result.timed_out);
  assert_false(ends.result.timed_out);
  assert_in_range(s.result.asks_ns, 10000000001u, 30000000000u);
  assert_true(cut.result.timed_out);
  assert_in_range(cut.result.asks_ns, 10000000001u, 30000000000u);
  assert_int_equal(busy.result.asks_ns, 0);
  assert_int_equal(ends.result.asks_ns, 0);
  sandbox_result_done(&s.result);
}

/* Who sleeps and then gives up is not stuck; who computes, or waits for what cannot come, is. */
static void test_slow_is_not_stuck(void **state) {
  if (is_repeated()) return;
  assert_true(run(*state, "sleep 3; echo late", 1).result.timed_out);
  struct seen s = run_patiently(*state, "sleep 3; echo late");
  assert_false(s.result.timed_out);
  assert_string_equal(s.out, "late\n");
  s = run_patiently(*state, "while :; do :; done");
  assert_true(s.result.timed_out);
  assert_true(s.result.wall_ns < 40000000000u);
  s = run_patiently(*state, "mkfifo f; sh -c 'cat f; echo x' | cat");
  assert_true(s.result.timed_out);
  assert_true(s.result.wall_ns < 40000000000u);
  sandbox_result_done(&s.result);
}

/* What belongs to the user or the session, and to no process, is not there in the next run. */
static void test_keys_and_nice_values(void **state) {
  /* Of the ring of the user's sessions, without that of the user, which is in it; and of the one that stays. */
  static const char keys[] = "perl -e '$p = syscall(250, 22, -1, -3); syscall(250, 9, $p, -3); $p = -4 if $p < 0; "
                             "for ($p, -4, -5, -3) { print syscall(250, 11, $_, 0, 0), \" \"; "
                             "$t = \"user\", $n = \"k$_\", $v = \"x\"; syscall(250, 22, -1, -3); "
                             "syscall(248, $t, $n, $v, 1, $_); syscall(250, 9, $p, -3) }'";
  struct seen s = run(*state, keys, 2);
  if (s.out[0] != '-') assert_string_equal(s.out, "0 0 4 0 "); /* a kernel may have no keys */
  s = run(*state, "perl -e 'print syscall(250, 11, -5, 0, 0); syscall(250, 9, -4, -5)'", 2);
  if (s.out[0] != '-') assert_string_equal(s.out, "4");
  if (getuid() != 0) return; /* the others cannot take it back */
  s = run(*state, "nice; perl -e 'setpriority(2, 0, 7)'", 2);
  char now[16];
  (void)snprintf(now, sizeof now, "%d\n", getpriority(PRIO_PROCESS, 0));
  assert_string_equal(s.out, now);
}

/* Whoever runs murphy may have as many keys as the kernel allows: there is no other session then, and theirs stay. */
static int keep_keys(const struct place *p) {
  enum { USER = 54321, MOST = 100000 };
  long n = 0, ring = -1, kept = -1;
  if (setresgid(USER, USER, USER) < 0 || setresuid(USER, USER, USER) < 0) return 1;
  if (prctl(PR_SET_DUMPABLE, 1) < 0) return 1; /* so that its namespaces can be set up */
  if ((ring = syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL)) < 0) return 0; /* a kernel may have no keys */
  for (char name[16]; n < MOST; n++) {
    (void)snprintf(name, sizeof name, "k%ld", n);
    if (syscall(SYS_add_key, "user", name, "x", 1, ring) < 0) break;
  }
  in_child = true;
  struct seen s = run(p, "echo done", 2);
  kept = syscall(SYS_keyctl, KEYCTL_READ, ring, NULL, 0);
  bool good = n < MOST && strcmp(s.out, "done\n") == 0 && kept == n * (long)sizeof(int32_t);
  if (!good) print_message("%ld keys, then %ld bytes: %s\n", n, kept, s.out);
  (void)syscall(SYS_keyctl, KEYCTL_CLEAR, ring);
  return good ? 0 : 1;
}

static void test_keys_outside_stay(void **state) {
  const struct place *p = *state;
  int status = 0;
  if (getuid() != 0) return; /* nobody's own keys are used up for this */
  assert_int_equal(chmod(p->stage, 0777) | chmod(p->work, 0777), 0);
  pid_t pid = fork();
  if (pid == 0) _exit(keep_keys(p));
  assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
  assert_int_equal(status, 0);
}

/* A run has standard input as if it were the first. */
static void test_input_is_anew(void **state) {
  static const char script[] = "exec perl -MFcntl=:DEFAULT,:flock -e '"
                               "print flock(STDIN, LOCK_EX | LOCK_NB) ? 1 : 0, fcntl(STDIN, F_GETFL, 0) & O_NONBLOCK; "
                               "fcntl(STDIN, F_SETFL, O_NONBLOCK)'";
  struct seen s = run(*state, script, 2);
  assert_string_equal(s.out, "10");
}

/* ... and it has its path, wherever it lies. */
static void test_input_has_its_path(void **state) {
  char path[] = "/dev/shm/sandbox-XXXXXX";
  int fd = mkstemp(path);
  if (fd < 0) return;
  (void)close(fd);
  input = path;
  struct seen s = run(*state, "readlink /proc/self/fd/0", 1);
  input = NULL;
  (void)unlink(path);
  s.out[strcspn(s.out, "\n")] = '\0';
  assert_string_equal(s.out, path);
}

/* --- what gives up by itself -------------------------------------------------------------------------------------- */

static void wait_for_socket(void) {
  int ends[2];
  char byte;
  const struct timeval limit = {.tv_usec = 700000};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0) return;
  if (setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0) (void)!read(ends[0], &byte, 1);
}

static int start_timer(void) {
  int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  const struct itimerspec soon = {.it_value = {.tv_nsec = 700000000}};
  return fd < 0 || timerfd_settime(fd, 0, &soon, NULL) < 0 ? -1 : fd;
}

static void wait_for_timer(void) {
  uint64_t times;
  (void)!read(start_timer(), &times, sizeof times);
}

static void poll_timer(void) {
  struct pollfd p = {.fd = start_timer(), .events = POLLIN};
  (void)poll(&p, 1, -1);
}

static void wait_for_events(void) {
  struct epoll_event event;
  const struct timespec limit = {.tv_nsec = 700000000};
  (void)syscall(SYS_epoll_pwait2, epoll_create1(EPOLL_CLOEXEC), &event, 1, &limit, NULL, 8);
}

static void give_up(int signal) {
  (void)signal;
  (void)!write(1, "late\n", 5);
  _exit(0);
}

static void wait_for_ever(void) {
  int ends[2];
  char byte;
  if (pipe2(ends, O_CLOEXEC) == 0) (void)!read(ends[0], &byte, 1);
}

static void wait_for_alarm(void) {
  const struct itimerval soon = {.it_value = {.tv_usec = 700000}};
  if (signal(SIGALRM, give_up) == SIG_ERR || setitimer(ITIMER_REAL, &soon, NULL) < 0) return;
  wait_for_ever();
}

static void wait_for_posix_timer(void) {
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  const struct itimerspec soon = {.it_value = {.tv_nsec = 700000000}};
  if (signal(SIGUSR1, give_up) == SIG_ERR || timer_create(CLOCK_MONOTONIC, &event, &timer) < 0) return;
  if (timer_settime(timer, 0, &soon, NULL) == 0) wait_for_ever();
}

/* A timer that was stopped wakes nobody. */
static void poll_for_ever(void) {
  struct pollfd p = {.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), .events = POLLIN};
  (void)poll(&p, 1, -1);
}

static const struct {
  const char *name;
  void (*wait)(void);
  bool endless;
} waits[] = {
    {"socket", wait_for_socket, false}, {"timer", wait_for_timer, false}, {"poll", poll_timer, false},
    {"events", wait_for_events, false}, {"alarm", wait_for_alarm, false}, {"posix", wait_for_posix_timer, false},
    {"pipe", wait_for_ever, true},      {"stopped", poll_for_ever, true},
};

/* This program as the command of a sandbox. */
static int wait_as(const char *name) {
  for (size_t i = 0; i < COUNT(waits); i++)
    if (strcmp(waits[i].name, name) == 0) waits[i].wait();
  (void)!write(1, "late\n", 5);
  return 0;
}

static void test_limits_of_sleep(void **state) {
  char self[PATH_MAX] = "", script[PATH_MAX + 32];
  assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
  wall_ns = 300000000;
  for (size_t i = 0; i < COUNT(waits); i++) {
    (void)snprintf(script, sizeof script, "exec '%s' %s", self, waits[i].name);
    struct seen s = run_patiently(*state, script);
    if (s.result.timed_out != waits[i].endless) fail_msg("%s: %d", waits[i].name, s.result.timed_out);
    assert_true(!waits[i].endless || s.result.wall_ns < 40000000000u);
    if (!waits[i].endless) assert_string_equal(s.out, "late\n");
    sandbox_result_done(&s.result);
  }
  wall_ns = 2000000000u;
}

/* 900 processes that only wait, where 400 are allowed. */
static void test_processes_are_limited(void **state) {
  const char *script = "n=0; while [ $n -lt 900 ]; do sleep 1000 & n=$((n+1)); done; echo all";
  struct seen s = run_limited(*state, script, 1, &(struct sandbox_limits){.processes = 400});
  if (getuid() == 0 && !strstr(s.out, "fork")) return; /* a kernel that does not limit root */
  assert_non_null(strstr(s.out, "fork"));
  assert_true(s.result.left < 400);
}

/* ... nor is it without a sandbox, when somebody wants to be sure. */
static void test_slow_is_not_stuck_without(void **state) {
  if (is_repeated()) return;
  bare = true;
  patience_ns = 10000000000u;
  struct seen s = run(*state, "sleep 2.2; echo done", 1);
  assert_false(s.result.timed_out);
  assert_string_equal(s.out, "done\n");
  patience_ns = 2500000000u;
  s = run(*state, "exec perl -e 'select undef, undef, undef, $_ for .5, 1, 2; print \"late\\n\"'", 1);
  bare = false;
  patience_ns = 0;
  assert_false(s.result.timed_out);
  assert_string_equal(s.out, "late\n");
}

static void test_memory_is_limited(void **state) {
  const char *script = "x=0123456789; while :; do x=$x$x; done; echo end";
  struct seen s = run_limited(*state, script, 1, &(struct sandbox_limits){.memory = 64 << 20});
  assert_false(s.result.timed_out);
  assert_null(strstr(s.out, "end"));
}

static void test_keeper_cannot_be_killed(void **state) {
  struct seen s = run(*state, "kill -9 1 2>/dev/null; kill -9 -1 2>/dev/null; echo still here", 2);
  assert_string_equal(s.out, "still here\n");
}

/* The sandbox may be kept on one processor; the command uses all. */
static void test_command_uses_all_processors(void **state) {
  const struct processors all = processors_now();
  struct seen free = run(*state, "grep Cpus_allowed: /proc/self/status", 1);
  processor = processors_pick(&all, 1);
  struct seen s = run(*state, "grep Cpus_allowed: /proc/self/status", 2);
  processor = 0;
  assert_string_equal(s.out, free.out);
  assert_int_equal(worker_count() == 1, processors_pick(&all, 0) == processors_pick(&all, 1));
}

static void test_file_size_is_limited(void **state) {
  struct seen s = run_limited(*state, "yes", 1, &(struct sandbox_limits){.file_size = 1 << 20});
  assert_true(WIFSIGNALED(s.result.status) && WTERMSIG(s.result.status) == SIGXFSZ);
}

static void test_disk_is_limited(void **state) {
  struct seen s = run_limited(*state, "cat /dev/zero > big; echo $?", 1, &(struct sandbox_limits){.disk = 4 << 20});
  assert_non_null(strstr(s.out, "1\n"));
  sandbox_result_done(&s.result);
}

/* Nothing of a run stays, even if it is deeper than there are descriptors. */
static void test_deep_folders_go_away(void **state) {
  static const char script[] =
      "d=$(printf 'd/%.0s' $(seq 1500)); mkdir -p $d && head -c 3000000 /dev/zero >$d/f; echo $?";
  struct rlimit usual, few;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
  few = usual;
  few.rlim_cur = 256;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
  struct seen s = run_limited(*state, script, 4, &(struct sandbox_limits){.disk = 8 << 20});
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
  assert_non_null(strstr(s.out, "0\n"));
  sandbox_result_done(&s.result);
}

static void test_world_outside_is_out_of_reach(void **state) {
  struct seen s = run(*state,
                      "ls /proc/1/root 2>/dev/null; ls /dev/sda /dev/vda /dev/mem 2>/dev/null; "
                      "mount -t tmpfs x /mnt 2>/dev/null && echo mounted; chroot . true 2>/dev/null && echo out; "
                      "cat /proc/net/dev | grep -c :",
                      1);
  assert_string_equal(s.out, "1\n"); /* loopback alone */
}

static bool on_stack(const struct seen *s, const char *file) {
  for (size_t i = 0; i < s->result.n_frames; i++)
    if (strstr(s->result.frames[i].path, file)) return true;
  return false;
}

static void test_stack_of_a_crash(void **state) {
  traced = true;
  struct seen s = run(*state, "sh -c 'kill -SEGV $$'; echo $?", 2);
  traced = false;
  assert_string_equal(s.out, "Segmentation fault\n139\n");
  assert_true(s.result.n_frames > 2);
  assert_true(s.result.frames[0].exact);
  assert_true(on_stack(&s, "libc.so"));
  assert_true(on_stack(&s, "sh"));
}

static void test_stack_of_a_hang(void **state) {
  traced = true;
  struct seen s = run(*state, "exec sleep 1000", 1);
  traced = false;
  assert_true(s.result.timed_out);
  assert_true(on_stack(&s, "/sleep"));
}

static void test_stack_of_a_child_that_hangs(void **state) {
  traced = true;
  struct seen s = run(*state, "sh -c 'sleep 1000; exit 1'; exit 0", 1);
  traced = false;
  assert_true(s.result.timed_out);
  assert_true(on_stack(&s, "/sleep"));
}

static void test_missing_program_is_said(void **state) {
  const struct place *p = *state;
  char *const argv[] = {(char *)(uintptr_t) "nothing", NULL};
  struct sandbox_options options = {
      .folder = p->stage, .cwd = p->work, .path = "/no/such/program", .argv = argv, .envp = argv + 1};
  struct sandbox *s = NULL;
  struct err e = {0};
  if (sandbox_new(&options, &s, &e) < 0) return;
  int in = open("/dev/null", O_RDWR | O_CLOEXEC);
  struct sandbox_job job = {.in = in, .out = in, .error = in};
  struct sandbox_result result;
  assert_true(sandbox_run(s, &job, &result, &e) < 0);
  assert_non_null(strstr(e.text, "/no/such/program"));
  (void)close(in);
  sandbox_free(s);
}

/* In a mount namespace of its own: a folder with a mount and more folders than there are layers. */
static int run_in_crowd(const struct place *p) {
  enum { MANY = 2 * SANDBOX_LAYERS };
  struct place inner = *p;
  char path[128];
  if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) return 77;
  for (int i = 0; i < MANY; i++) {
    (void)snprintf(path, sizeof path, "%s/%d", p->work, i);
    if (mkdir(path, 0755) < 0 || (i == 0 && mount("tmpfs", path, "tmpfs", 0, "size=1m") < 0)) return 77;
  }
  memcpy(inner.work, path, strnlen(path, sizeof inner.work - 1) + 1);
  struct seen s = run(&inner, "echo x > new && ls", 2);
  sandbox_result_done(&s.result);
  return strcmp(s.out, "new\n") != 0;
}

/* As where seccomp or yama forbids it. */
static int run_without_ptrace(const struct place *p) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {.len = COUNT(filter), .filter = filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) return 77;
  traced = true;
  struct seen s = run(p, "kill -SEGV $$", 2);
  bool good = WIFSIGNALED(s.result.status) && s.result.n_frames == 0 && strstr(s.result.why, "cannot be traced");
  sandbox_result_done(&s.result);
  bare = true;
  s = run(p, "kill -SEGV $$", 2);
  return !good || !WIFSIGNALED(s.result.status) || !strstr(s.result.why, "cannot be traced");
}

static void run_apart(void **state, int (*function)(const struct place *p)) {
  int status = 0;
  (void)run(*state, "true", 1); /* who cannot make a sandbox stops here */
  pid_t pid = fork();
  if (pid == 0) _exit(function(*state));
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) return;
  assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_crowded_folder_with_a_mount(void **state) { run_apart(state, run_in_crowd); }

static void test_no_ptrace_no_stack(void **state) { run_apart(state, run_without_ptrace); }

static void on_alarm(int signal) { (void)signal; }

/* Signals that come while the namespaces are made, one after the other: both sides of the sandbox go on. */
static void test_signals_while_it_is_made(void **state) {
  struct sigaction before, action = {.sa_handler = on_alarm}; /* no SA_RESTART */
  const struct itimerval often = {.it_interval = {.tv_usec = 50}, .it_value = {.tv_usec = 50}};
  assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
  assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
  struct seen s = run(*state, "echo hello", 1);
  assert_int_equal(setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL), 0);
  assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
  assert_string_equal(s.out, "hello\n");
}

/* Every reason has words of its own, wherever it is told. */
static void test_refusals(void **state) {
  (void)state;
  const char *(*const tellers[])(uint32_t) = {sandbox_refusal, sandbox_early_refusal};
  for (size_t t = 0; t < COUNT(tellers); t++) {
    for (uint32_t i = WIRE_FORK_GOOD + 1; i < WIRE_REFUSALS; i++)
      for (uint32_t other = WIRE_FORK_GOOD + 1; other < i; other++)
        if (strcmp(tellers[t](i), tellers[t](other)) == 0) fail_msg("%u and %u: %s", other, i, tellers[t](i));
    assert_string_equal(tellers[t](WIRE_REFUSALS), tellers[t](WIRE_FORK_UNKNOWN));
    assert_string_equal(tellers[t](WIRE_FORK_GOOD), tellers[t](WIRE_FORK_UNKNOWN));
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv) {
  if (argc > 1) return wait_as(argv[1]);
  const struct CMUnitTest tests[] = {
      TEST(test_status_and_output),
      TEST(test_changes_stay_inside),
      TEST(test_shared_folder_stays),
      TEST(test_folders_themselves_are_renewed),
      TEST(test_changes_leave_no_trace),
      TEST(test_open_files_of_nobody),
      TEST(test_folders_have_their_numbers_again),
      TEST(test_root_of_a_layer_is_renewed),
      TEST(test_what_is_emptied_in_place),
      TEST(test_removed_files_are_not_counted),
      TEST(test_devices_are_not_changed),
      TEST(test_settings_are_read_only),
      TEST(test_settings_are_renewed),
      TEST(test_shared_objects_go_away),
      TEST(test_process_numbers_repeat),
      TEST(test_nothing_is_left_running),
      TEST(test_time_is_limited),
      TEST(test_longer_pauses),
      TEST(test_keys_and_nice_values),
      TEST(test_keys_outside_stay),
      TEST(test_steady_pauses),
      TEST(test_brief_runs),
      TEST(test_slow_is_not_stuck),
      TEST(test_slow_is_not_stuck_without),
      TEST(test_limits_of_sleep),
      TEST(test_input_is_anew),
      TEST(test_input_has_its_path),
      TEST(test_memory_is_limited),
      TEST(test_processes_are_limited),
      TEST(test_keeper_cannot_be_killed),
      TEST(test_command_uses_all_processors),
      TEST(test_file_size_is_limited),
      TEST(test_deep_folders_go_away),
      TEST(test_disk_is_limited),
      TEST(test_world_outside_is_out_of_reach),
      TEST(test_stack_of_a_crash),
      TEST(test_stack_of_a_hang),
      TEST(test_stack_of_a_child_that_hangs),
      TEST(test_missing_program_is_said),
      TEST(test_signals_while_it_is_made),
      TEST(test_crowded_folder_with_a_mount),
      TEST(test_no_ptrace_no_stack),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
