/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a thread that sleeps in a system call go on by itself after some time? The number of the call and its arguments
 * say so, or the file that it reads or writes, or a timer of its process. Endless is only what is known to be: some
 * calls have a limit that cannot be seen from here, and the kernel may have calls that are not known here.
 *
 * Of alarm(2) and setitimer(2) the kernel shows nothing, but whether somebody awaits their signal.
 */
#include "sandbox/sandbox_inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Later than the headers of some systems. */
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef SYS_futex_wait
#define SYS_futex_wait 455
#endif

/*
 * An argument is the limit: a pointer, or a number of milliseconds; or a file that may have one, as may another. Who is
 * in no call has ended if it has no stack; else a page is brought, by a slow disk or by nobody.
 */
enum kind { ALWAYS, NEVER, POINTER, NUMBER, OPEN_FILE, TWO_FILES, NO_CALL };

static const struct {
  long number;
  enum kind kind;
  int arg, other;
} sleepers[] = {
    {SYS_nanosleep, ALWAYS, 0, 0},
    {SYS_clock_nanosleep, ALWAYS, 0, 0},
    {SYS_restart_syscall, ALWAYS, 0, 0},
    {SYS_poll, NUMBER, 2, 0},
    {SYS_ppoll, POINTER, 2, 0},
    {SYS_select, POINTER, 4, 0},
    {SYS_pselect6, POINTER, 4, 0},
    {SYS_epoll_wait, NUMBER, 3, 0},
    {SYS_epoll_pwait, NUMBER, 3, 0},
    {SYS_epoll_pwait2, POINTER, 3, 0},
    {SYS_futex, POINTER, 3, 0},
    {SYS_futex_waitv, POINTER, 3, 0},
    {SYS_futex_wait, POINTER, 4, 0},
    {SYS_rt_sigtimedwait, POINTER, 2, 0},
    {SYS_semtimedop, POINTER, 3, 0},
    {SYS_mq_timedsend, POINTER, 4, 0},
    {SYS_mq_timedreceive, POINTER, 4, 0},
    {SYS_read, OPEN_FILE, 0, 0},
    {SYS_readv, OPEN_FILE, 0, 0},
    {SYS_preadv2, OPEN_FILE, 0, 0},
    {SYS_write, OPEN_FILE, 0, 0},
    {SYS_writev, OPEN_FILE, 0, 0},
    {SYS_pwritev2, OPEN_FILE, 0, 0},
    {SYS_vmsplice, OPEN_FILE, 0, 0},
    {SYS_sendfile, TWO_FILES, 0, 1},
    {SYS_tee, TWO_FILES, 0, 1},
    {SYS_splice, TWO_FILES, 0, 2},
    /* For another process, which is looked at, too. */
    {SYS_wait4, NEVER, 0, 0},
    {SYS_waitid, NEVER, 0, 0},
    {SYS_vfork, NEVER, 0, 0},
    {SYS_clone, NEVER, 0, 0},
    {SYS_clone3, NEVER, 0, 0},
    {SYS_open, NEVER, 0, 0}, /* the other end of a FIFO */
    {SYS_openat, NEVER, 0, 0},
    {SYS_openat2, NEVER, 0, 0},
    {SYS_flock, NEVER, 0, 0},
    {SYS_fcntl, NEVER, 0, 0},
    {SYS_semop, NEVER, 0, 0},
    {SYS_msgsnd, NEVER, 0, 0},
    {SYS_msgrcv, NEVER, 0, 0},
    {SYS_exit, NEVER, 0, 0},
    {SYS_exit_group, NEVER, 0, 0},
    {-1, NO_CALL, 0, 0},
};

ssize_t sleep_read(int folder, const char *name, char *to, size_t size) {
  int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  ssize_t n = read(fd, to, size - 1);
  if (n < 0) n = -errno;
  (void)close(fd);
  to[n > 0 ? n : 0] = '\0';
  return n;
}

/* Sockets and terminals can have a limit, and disks are only slow. Timers that can be read are looked at elsewhere. */
static bool may_have_limit(int thread, uint64_t fd) {
  char name[32];
  struct stat st;
  (void)snprintf(name, sizeof name, "fd/%u", (unsigned)fd);
  if (fstatat(thread, name, &st, 0) < 0) return true;
  return !S_ISFIFO(st.st_mode) && (st.st_mode & S_IFMT) != 0;
}

static enum sleep_limit limit_of(int thread, size_t i, const uint64_t args[6]) {
  uint64_t arg = args[sleepers[i].arg];
  switch (sleepers[i].kind) {
  case ALWAYS:
    return SLEEP_LIMITED;
  case NEVER:
    return SLEEP_ENDLESS;
  case POINTER:
    return arg ? SLEEP_LIMITED : SLEEP_ENDLESS;
  case NUMBER:
    return (int32_t)arg >= 0 ? SLEEP_LIMITED : SLEEP_ENDLESS;
  case NO_CALL:
    return arg ? SLEEP_UNKNOWN : SLEEP_ENDLESS;
  case OPEN_FILE:
  case TWO_FILES:
    break;
  }
  bool may = may_have_limit(thread, arg);
  if (!may && sleepers[i].kind == TWO_FILES) may = may_have_limit(thread, args[sleepers[i].other]);
  return may ? SLEEP_UNKNOWN : SLEEP_ENDLESS;
}

enum sleep_limit sleep_limit(int thread, const char *line) {
  char *end = NULL;
  long number = strtol(line, &end, 10);
  uint64_t args[6] = {0};
  for (int i = 0; i < 6 && *end == ' '; i++)
    args[i] = strtoull(end + 1, &end, 16);
  for (size_t i = 0; i < COUNT(sleepers); i++)
    if (sleepers[i].number == number) return limit_of(thread, i, args);
  return SLEEP_UNKNOWN;
}

/* --- timers ------------------------------------------------------------------------------------------------------- */

/* Is there a handler for the signal of alarm(2), or does the thread take it when it likes to? Perhaps, if it is cut. */
static bool awaits_alarm(int thread) {
  static const char *const sets[] = {"\nSigCgt:", "\nSigBlk:"};
  char text[4096];
  ssize_t n = sleep_read(thread, "status", text, sizeof text);
  for (size_t i = 0; i < COUNT(sets) && n > 0; i++) {
    const char *at = strstr(text, sets[i]);
    if (!at || strtoull(at + strlen(sets[i]), NULL, 16) >> (SIGALRM - 1) & 1) return true;
  }
  return false;
}

/* Of a timer that can be read, what is left of its time. */
static bool is_running(int thread, const char *number) {
  char path[64], text[1024];
  unsigned long long s = 0, ns = 0;
  (void)snprintf(path, sizeof path, "fdinfo/%.20s", number);
  const char *at = sleep_read(thread, path, text, sizeof text) > 0 ? strstr(text, "it_value:") : NULL;
  return at && (sscanf(at, "it_value: (%llu, %llu)", &s, &ns) != 2 || s || ns);
}

static bool has_running_file(int thread) {
  int fd = openat(thread, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *d = fd < 0 ? NULL : fdopendir(fd);
  bool found = false;
  if (!d) {
    if (fd >= 0) (void)close(fd);
    return false;
  }
  for (struct dirent *entry; !found && (entry = readdir(d));) {
    char to[32] = "";
    if (readlinkat(dirfd(d), entry->d_name, to, sizeof to - 1) < 0) continue;
    found = strcmp(to, "anon_inode:[timerfd]") == 0 && is_running(thread, entry->d_name);
  }
  (void)closedir(d);
  return found;
}

bool sleep_has_timer(int process, int thread, bool *files_seen) {
  char text[64];
  if (awaits_alarm(thread)) return true;
  if (*files_seen) return false;
  *files_seen = true;
  ssize_t n = sleep_read(process, "timers", text, sizeof text);
  /* There are kernels that do not tell. */
  return n > 0 || n == -ENOENT || has_running_file(thread);
}
