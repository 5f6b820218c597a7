// SPDX-License-Identifier: Apache-2.0
// What conditions can ask of a call: each run says which of the calls below fail.
//
// @build cc -O2 -pthread $src -o $out
// @build cc -O2 -pthread -D_FORTIFY_SOURCE=2 -D_FILE_OFFSET_BITS=64 $src -o $out
// @run 1 0 -f 'open:EACCES when arg(2) & O_CREAT' -- open b
// @run 1 0 -f 'open:EACCES when flags & O_CREAT and mode == 0x180' -- open b
// @run 1 0 -f 'open:EACCES when (arg(2) & O_ACCMODE) == O_RDWR' -- open c
// @run 1 0 -f 'open:EACCES when path == "operands.db"' -- open b
// @run 2 0 -f 'open:EACCES when path != "operands.db"' -- open ac
// @run 1 0 -f 'open:EACCES when arg(1) ~ "*.db"' -- open b
// @run 2 0 -f 'open:EACCES when not arg(1) ~ "op[a-p]*"' -- open ac
// @run 2 0 -f 'open:EACCES when path =~ "^/dev/(null|zero)$"' -- open ac
// @run 1 0 -f 'open:EACCES when path =~ "null|nothing"' -- open a
// @run 0 0 -f 'open:EACCES when path =~ "^dev" or path =~ "nul$" or path =~ "x+"' -- open -
// @run 1 0 -f 'open:EACCES when path =~ "[.][[:alpha:]]b$"' -- open b
// @run 0 0 -f 'open:EACCES when arg(1) == "x" or arg(1) != "x"' -- bad-pointer
// @run 1 0 -f 'write:EIO when fd.kind == "pipe"' -- write b
// @run 2 0 -f 'write:EIO when fd.kind != "pipe"' -- write ac
// @run 2 0 -f 'write:EIO when fd.blocking' -- write ac
// @run 1 0 -f 'write:EIO when fd.path == "/dev/null"' -- write a
// @run 1 0 -f 'write:EIO when path =~ "pipe"' -- write b
// @run 1 0 -f 'write:EIO when size == 3 and fd.path ~ "/dev/*"' -- write c
// @run 0 0 -f 'write:EIO when fd.kind != "pipe" and fd == 999' -- bad-descriptor
// @run 0 0 -f 'write:EIO when not fd.blocking' -- bad-descriptor
// @run 1 0 -f 'write:EIO when not fd.blocking' -- write b
// @run 1 0 -f 'write:EIO when fd.blocking == (fd == 999) or call == 1' -- bad-descriptor
// @run 1 0 -f 'malloc:EIO when size > 1000' -- huge a
// @run 0 0 -f 'malloc:EIO when size == -5 or size < 0' -- huge -
// @run 1 0 -f 'write:EIO when fd.path ~ "*operands.tmp"' -- unlinked a
// @run 1 0 -f 'write:EIO when fd.path ~ "*operands (deleted)"' -- unlinked b
// @run 1 0 -f 'write:EIO when fd.path ~ "*operands.old"' -- unlinked c
// @run 0 0 -f 'write:EIO when fd.path != "x" or path ~ "/*"' -- long-path -
// @run 1 0 -f 'close:EIO when fd == -1' -f 'getpid:ret=3' -- negative
// @run 1 0 -f 'close:EIO when int(arg(1)) == -1' -f 'getpid:ret=3' -- negative
// @run 1 0 -f 'write:EIO when fd.written >= 10' -- written
// @run 2 0 -f 'write:short=2 when once' -f 'write:EIO when fd.written == 7' -- written
// @run 1 0 -f 'getppid:ret=-1 when thread.name == "second"' -- threads b
// @run 1 0 -f 'getppid:ret=-1 when thread == 2' -f 'getpid:ret=5 when thread == 9' -- threads b
// @run 2 0 -f 'getppid:ret=-1 when thread == 1' -- threads ac
// @run 3 0 -f 'getppid:ret=-1 when process.name == "operands"' -- threads abc
// @run 0 0 -f 'getppid:ret=-1 when process.name ~ "operand"' -- threads -
// @run 1 0 -f 'getppid:ret=-1 when time > 50ms' -- time
// @run 1 0 -f 'getppid:ret=-1 when since("getuid") == 1' -- after b
// @run 2 0 -f 'getppid:ret=-1 when after("getuid")' -- after bc
// @run 1 0 -f 'getppid:ret=-1 when after("getuid", 1)' -- after b
// @run 1 0 -f 'getppid:ret=-1 when between("getuid", "getgid")' -- after b
// @run 0 0 -f 'getppid:ret=-1 when after("getuid")' -- after-other-thread
// @run 2 0 -f 'getppid:ret=-1 when locks > 0' -- locks bc
// @run 1 0 -f 'getppid:ret=-1 when locks == 2' -- locks c
// @run 0 0 -f 'getppid:ret=-1 when locks > 0' -- locks-other-thread
// @run 1 0 -f 'pthread_mutex_trylock:EBUSY' -f 'getppid:ret=-1 when locks > 0' -- no-locks
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char failed[8];

/* The call is known by a letter. */
static void note(const char *name, long result) {
  if (result < 0) strcat(failed, name);
}

static void expect(const char *wanted) {
  if (strcmp(failed, strcmp(wanted, "-") == 0 ? "" : wanted) == 0) exit(0);
  printf("failed: %s, expected: %s\n", failed, wanted);
  exit(1);
}

static void opens(void) {
  note("a", open("/dev/null", O_RDONLY));
  note("b", open("operands.db", O_WRONLY | O_CREAT, 0600));
  note("c", open("/dev/zero", O_RDWR));
}

static void writes(void) {
  int ends[2], null = open("/dev/null", O_WRONLY), full = open("/dev/zero", O_WRONLY);
  if (pipe2(ends, O_NONBLOCK) < 0) exit(9);
  note("a", write(null, "12", 2));
  note("b", write(ends[1], "12", 2));
  note("c", write(full, "123", 3));
}

/* More than a number with a sign can hold. */
static void huge(void) {
  volatile size_t n = SIZE_MAX / 2 + 100;
  void *volatile p = malloc(n);
  note("a", !p && errno == EIO ? -1 : 0);
}

static int create(const char *name) {
  int fd = open(name, O_WRONLY | O_CREAT, 0600);
  if (fd < 0) exit(9);
  return fd;
}

/* A file without a name, one that is called as if it were without, and one that has another name left. */
static void unlinked(void) {
  int gone = create("operands.tmp"), there = create("operands (deleted)"), other = create("operands.old");
  if (unlink("operands.tmp") < 0 || link("operands.old", "operands.new") < 0 || unlink("operands.old") < 0) exit(9);
  note("a", write(gone, "1", 1));
  note("b", write(there, "1", 1));
  note("c", write(other, "1", 1));
  if (unlink("operands (deleted)") < 0 || unlink("operands.new") < 0) exit(9);
}

static void long_path(void) {
  enum { DEEP = 6, LONG = 200 };
  char name[LONG + 1] = {0};
  memset(name, 'l', LONG);
  for (int i = 0; i < DEEP; i++)
    if (mkdir(name, 0700) < 0 || chdir(name) < 0) exit(9);
  note("a", write(create("file"), "1", 1));
  if (unlink("file") < 0) exit(9);
  for (int i = 0; i < DEEP; i++)
    if (chdir("..") < 0 || rmdir(name) < 0) exit(9);
}

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;

static void *second(void *name) {
  (void)pthread_setname_np(pthread_self(), "second");
  note(name, getppid());
  return NULL;
}

static void other_thread(const char *name) {
  pthread_t t;
  if (pthread_create(&t, NULL, second, (void *)name) != 0 || pthread_join(t, NULL) != 0) exit(9);
}

static void threads(void) {
  note("a", getppid());
  other_thread("b");
  note("c", getppid());
}

static void after(void) {
  note("a", getppid());
  (void)getuid();
  note("b", getppid());
  (void)getgid();
  note("c", getppid());
}

static void locks(void) {
  note("a", getppid());
  if (pthread_mutex_lock(&one) != 0) exit(9);
  note("b", getppid());
  if (pthread_mutex_trylock(&two) != 0 || pthread_mutex_trylock(&two) == 0) exit(9);
  note("c", getppid());
  if (pthread_mutex_unlock(&two) != 0 || pthread_mutex_unlock(&one) != 0) exit(9);
  note("d", getppid());
}

static void one_more(const char *what) {
  struct timespec wait = {0, 100000000};
  if (strcmp(what, "written") == 0) {
    int fd = open("/dev/null", O_WRONLY);
    for (int i = 0; i < 3; i++)
      note(i == 2 ? "b" : "a", write(fd, "12345", 5));
    if (close(fd) != 0 || open("/dev/null", O_WRONLY) != fd || write(fd, "1", 1) != 1) exit(9);
    expect("b");
  } else if (strcmp(what, "time") == 0) {
    note("a", getppid());
    (void)nanosleep(&wait, NULL);
    note("b", getppid());
    expect("b");
  } else if (strcmp(what, "after-other-thread") == 0) {
    (void)getuid();
    other_thread("b");
    expect("-");
  } else if (strcmp(what, "locks-other-thread") == 0) {
    (void)pthread_mutex_lock(&one);
    other_thread("b");
    expect("-");
  } else if (strcmp(what, "no-locks") == 0) {
    if (pthread_mutex_trylock(&one) == 0) exit(9);
    note("a", getppid());
    expect("-");
  } else if (strcmp(what, "negative") == 0) {
    volatile unsigned minus_one = ~0u;
    note("a", close((int)minus_one));
    note("b", errno == EIO ? 0 : -1);
    expect("a");
  } else if (strcmp(what, "bad-pointer") == 0) {
    note("a", open((const char *)8, O_RDONLY));
    expect("a");
  } else {
    note("a", write(999, "1", 1));
    expect("a");
  }
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(void);
  } groups[] = {{"open", opens},  {"write", writes}, {"threads", threads},   {"after", after},
                {"locks", locks}, {"huge", huge},    {"unlinked", unlinked}, {"long-path", long_path}};
  if (argc == 2) one_more(argv[1]);
  for (unsigned i = 0; i < sizeof groups / sizeof *groups && argc == 3; i++) {
    if (strcmp(groups[i].name, argv[1]) != 0) continue;
    groups[i].run();
    (void)unlink("operands.db");
    expect(argv[2]);
  }
  return 2;
}
