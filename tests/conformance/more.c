/* SPDX-License-Identifier: Apache-2.0 */
/*
 * more NAME: functions beyond those of the suite, one call each, looked at by result, errno and error flag alone: what
 * a tool knows about functions must hold for more than those that it was tried with. Prints TAP.
 * more --list: the names, each with the rule that somebody would write first.
 *
 * A call that is not made to fail is harmless, and the checks notice it.
 */
#include "conform.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <iconv.h>
#include <locale.h>
#include <malloc.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

enum { OUR_ERRNO = 4321, STREAM = 1, NUMBER = 2 /* the result is the error number, errno is left alone */ };

static char buffer[4096], other[4096];
static char *pointer;
static size_t size;
static FILE *f;
static int fd, pair[2], number;
static DIR *dir;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_attr_t attributes;
static pthread_barrier_t barrier;
static sem_t semaphore;
static struct timespec spec;
static struct stat status;
static struct statvfs volume;
static struct rlimit limit;
static sigset_t set;
static struct termios terminal;
static struct passwd entry, *found;
static struct group group, *found_group;
static struct tm parts;
static fpos_t position;
static time_t seconds;
static cpu_set_t processors;
static struct pollfd polled;
static struct iovec piece = {buffer, 4};
static struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
static socklen_t length = sizeof(number);
static struct itimerspec interval;
static char *arguments[] = {"x", NULL};

struct one {
  const char *name, *error_name;
  void *address;
  enum width width;
  int64_t failed;
  int error;
  unsigned flags;
  uint64_t args[6];
};

#define A(X) ((uint64_t)(X))
#define CASE(NAME, WIDTH, FAILED, ERROR, FLAGS, ...)                                                                   \
  {                                                                                                                    \
#NAME, #ERROR, (void *)NAME, WIDTH, FAILED, ERROR, FLAGS, { __VA_ARGS__ }                                          \
  }

static const struct one *table(size_t *ret_n) {
  const struct one cases[] = {
      /* files */
      CASE(pwrite, LONG, -1, ENOSPC, 0, A(fd), A("x"), 1, 0),
      CASE(readv, LONG, -1, EIO, 0, A(fd), A(&piece), 1),
      CASE(writev, LONG, -1, EPIPE, 0, A(fd), A(&piece), 1),
      CASE(truncate, INT, -1, EROFS, 0, A("file"), 1),
      CASE(link, INT, -1, EMLINK, 0, A("file"), A("linked")),
      CASE(symlink, INT, -1, EEXIST, 0, A("file"), A("symlinked")),
      CASE(access, INT, -1, EACCES, 0, A("file"), 0),
      CASE(fstat, INT, -1, EIO, 0, A(fd), A(&status)),
      CASE(lstat, INT, -1, ELOOP, 0, A("file"), A(&status)),
      CASE(fchmod, INT, -1, EPERM, 0, A(fd), 0600),
      CASE(chown, INT, -1, EPERM, 0, A("file"), A(-1), A(-1)),
      CASE(mkfifo, INT, -1, EEXIST, 0, A("fifo"), 0600),
      CASE(flock, INT, -1, EINTR, 0, A(fd), LOCK_SH),
      CASE(ioctl, INT, -1, ENXIO, 0, A(fd), FIONREAD, A(&number)),
      CASE(isatty, INT, 0, EBADF, 0, A(fd)),
      CASE(fdatasync, INT, -1, EIO, 0, A(fd)),
      CASE(posix_fallocate, INT, ENOSPC, ENOSPC, NUMBER, A(fd), 0, 10),
      CASE(statvfs, INT, -1, EACCES, 0, A("."), A(&volume)),
      CASE(pipe2, INT, -1, EMFILE, 0, A(pair), 0),
      CASE(sendfile, LONG, -1, EAGAIN, 0, A(fd), A(fd), 0, 0),
      CASE(creat, INT, -1, EDQUOT, 0, A("created"), 0600),
      CASE(remove, INT, -1, EBUSY, 0, A("removed")),
      CASE(unlinkat, INT, -1, EPERM, 0, A(AT_FDCWD), A("removed"), 0),
      /* streams */
      CASE(fputc, INT, EOF, ENOSPC, STREAM, 'x', A(f)),
      CASE(putc, INT, EOF, ENOSPC, STREAM, 'x', A(f)),
      CASE(fgetc, INT, EOF, EIO, STREAM, A(f)),
      CASE(fgetwc, INT, A(WEOF), EIO, STREAM, A(f)),
      CASE(fputws, INT, -1, ENOSPC, STREAM, A(L"x"), A(f)),
      CASE(getdelim, LONG, -1, EIO, STREAM, A(&pointer), A(&size), ':', A(f)),
      CASE(ftell, LONG, -1, ESPIPE, 0, A(f)),
      CASE(fgetpos, INT, -1, ESPIPE, 0, A(f), A(&position)),
      CASE(dprintf, INT, -1, ENOSPC, 0, A(fd), A("x")),
      CASE(asprintf, INT, -1, ENOMEM, 0, A(&pointer), A("x")),
      CASE(open_memstream, LONG, 0, ENOMEM, 0, A(&pointer), A(&size)),
      CASE(fmemopen, LONG, 0, ENOMEM, 0, A(buffer), 10, A("r")),
      CASE(freopen, LONG, 0, ENOENT, 0, A("file"), A("r"), A(f)),
      CASE(pclose, INT, -1, ECHILD, 0, A(f)),
      CASE(ungetc, INT, EOF, EIO, 0, 'x', A(f)),
      /* memory */
      CASE(memalign, LONG, 0, ENOMEM, 0, 64, 64),
      CASE(valloc, LONG, 0, ENOMEM, 0, 64),
      CASE(reallocarray, LONG, 0, ENOMEM, 0, 0, 8, 8),
      CASE(strndup, LONG, 0, ENOMEM, 0, A("text"), 2),
      CASE(mlock, INT, -1, ENOMEM, 0, A(buffer), 1),
      CASE(madvise, INT, -1, EAGAIN, 0, 0, 0, 0),
      CASE(msync, INT, -1, EIO, 0, 0, 0, MS_ASYNC),
      CASE(shm_open, INT, -1, EACCES, 0, A("/murphy-none"), O_RDONLY, 0),
      CASE(sbrk, LONG, -1, ENOMEM, 0, 0),
      CASE(memfd_create, INT, -1, EMFILE, 0, A("name"), 0),
      /* sockets */
      CASE(sendto, LONG, -1, ENOBUFS, 0, A(fd), A("x"), 1, 0, 0, 0),
      CASE(sendmsg, LONG, -1, EMSGSIZE, 0, A(fd), A(&message), 0),
      CASE(recvfrom, LONG, -1, ECONNREFUSED, 0, A(fd), A(buffer), 1, 0, 0, 0),
      CASE(recvmsg, LONG, -1, ETIMEDOUT, 0, A(fd), A(&message), 0),
      CASE(getpeername, INT, -1, ENOTCONN, 0, A(pair[0]), A(buffer), A(&length)),
      CASE(getsockopt, INT, -1, ENOPROTOOPT, 0, A(pair[0]), SOL_SOCKET, SO_TYPE, A(&number), A(&length)),
      CASE(accept4, INT, -1, EMFILE, 0, A(fd), 0, 0, 0),
      CASE(if_nametoindex, INT, 0, ENODEV, 0, A("lo")),
      CASE(inet_ntop, LONG, 0, ENOSPC, 0, AF_INET, A(buffer), A(other), 100),
      /* processes */
      CASE(wait, INT, -1, EINTR, 0, A(&number)),
      CASE(setpgid, INT, -1, EACCES, 0, 0, 0),
      CASE(getpgid, INT, -1, ESRCH, 0, 0),
      CASE(setsid, INT, -1, EPERM, 0, 0),
      CASE(getrlimit, INT, -1, EFAULT, 0, RLIMIT_CORE, A(&limit)),
      CASE(setpriority, INT, -1, EACCES, 0, PRIO_PROCESS, 0, 0),
      CASE(sched_setaffinity, INT, -1, EPERM, 0, 0, sizeof(processors), A(&processors)),
      CASE(execv, INT, -1, ENOMEM, 0, A("./not-there"), A(arguments)),
      CASE(getresuid, INT, -1, EFAULT, 0, A(buffer), A(buffer + 8), A(buffer + 16)),
      /* threads */
      CASE(pthread_mutex_trylock, INT, EBUSY, EBUSY, NUMBER, A(&mutex)),
      CASE(pthread_rwlock_wrlock, INT, EDEADLK, EDEADLK, NUMBER, A(&lock)),
      CASE(pthread_attr_init, INT, ENOMEM, ENOMEM, NUMBER, A(&attributes)),
      CASE(pthread_barrier_init, INT, EAGAIN, EAGAIN, NUMBER, A(&barrier), 0, 2),
      CASE(pthread_sigmask, INT, EINVAL, EINVAL, NUMBER, SIG_BLOCK, A(&set), 0),
      CASE(pthread_setname_np, INT, ERANGE, ERANGE, NUMBER, A(pthread_self()), A("name")),
      CASE(pthread_kill, INT, ESRCH, ESRCH, NUMBER, A(pthread_self()), 0),
      CASE(pthread_cond_init, INT, ENOMEM, ENOMEM, NUMBER, A(buffer), 0),
      CASE(sem_init, INT, -1, ENOSYS, 0, A(&semaphore), 0, 1),
      CASE(sem_post, INT, -1, EOVERFLOW, 0, A(&semaphore)),
      CASE(sem_open, LONG, 0, EACCES, 0, A("/murphy-none"), 0),
      /* time */
      CASE(clock_getres, INT, -1, EINVAL, 0, CLOCK_REALTIME, A(&spec)),
      CASE(usleep, INT, -1, EINTR, 0, 0),
      CASE(timerfd_settime, INT, -1, ECANCELED, 0, A(fd), 0, A(&interval), 0),
      CASE(localtime_r, LONG, 0, EOVERFLOW, 0, A(&seconds), A(&parts)),
      CASE(timegm, LONG, -1, EOVERFLOW, 0, A(&parts)),
      CASE(utimensat, INT, -1, EROFS, 0, A(AT_FDCWD), A("file"), 0, 0),
      /* directories */
      CASE(fdopendir, LONG, 0, ENOTDIR, 0, A(-1)),
      CASE(mkdirat, INT, -1, ENOSPC, 0, A(AT_FDCWD), A("newer"), 0700),
      CASE(renameat, INT, -1, EXDEV, 0, A(AT_FDCWD), A("file"), A(AT_FDCWD), A("renamed")),
      CASE(fchdir, INT, -1, EACCES, 0, A(-1)),
      CASE(readlinkat, LONG, -1, EINVAL, 0, A(AT_FDCWD), A("not-there"), A(buffer), 10),
      CASE(mkostemp, INT, -1, EEXIST, 0, A(strcpy(other, "abXXXXXX")), 0),
      CASE(get_current_dir_name, LONG, 0, ENOMEM, 0, 0),
      /* signals and polling */
      CASE(ppoll, INT, -1, EINTR, 0, A(&polled), 0, A(&spec), 0),
      CASE(pselect, INT, -1, EINTR, 0, 0, 0, 0, 0, A(&spec), 0),
      CASE(sigpending, INT, -1, EFAULT, 0, A(&set)),
      CASE(sigaltstack, INT, -1, ENOMEM, 0, 0, A(buffer)),
      CASE(inotify_init, INT, -1, EMFILE, 0, 0),
      CASE(epoll_create, INT, -1, ENFILE, 0, 1),
      CASE(signal, LONG, -1, EINVAL, 0, SIGUSR1, A(SIG_IGN)),
      /* names, terminals, random numbers */
      CASE(getpwuid, LONG, 0, EIO, 0, 0),
      CASE(getgrgid, LONG, 0, EMFILE, 0, 0),
      CASE(getpwuid_r, INT, EIO, EIO, NUMBER, 0, A(&entry), A(buffer), sizeof(buffer), A(&found)),
      CASE(getgrnam_r, INT, ERANGE, ERANGE, NUMBER, A("root"), A(&group), A(buffer), sizeof(buffer), A(&found_group)),
      CASE(sethostname, INT, -1, EPERM, 0, A(""), A(-1)),
      CASE(getgroups, INT, -1, EINVAL, 0, 0, 0),
      CASE(setgid, INT, -1, EPERM, 0, A(getgid())),
      CASE(unsetenv, INT, -1, EINVAL, 0, A("NOT_THERE")),
      CASE(duplocale, LONG, 0, ENOMEM, 0, A(LC_GLOBAL_LOCALE)),
      CASE(iconv_close, INT, -1, EBADF, 0, A(iconv_open("UTF-8", "ISO-8859-1"))),
      CASE(tcgetattr, INT, -1, EIO, 0, A(fd), A(&terminal)),
      CASE(getrandom, LONG, -1, EAGAIN, 0, A(buffer), 1, 0),
      CASE(getentropy, INT, -1, EIO, 0, A(buffer), 1),
      CASE(pathconf, LONG, -1, ENOENT, 0, A("."), _PC_NAME_MAX),
  };
  static struct one kept[sizeof(cases) / sizeof(cases[0])];
  memcpy(kept, cases, sizeof(cases));
  *ret_n = sizeof(cases) / sizeof(cases[0]);
  return kept;
}

static unsigned n_checks, n_wrong;
static const char *the_name;

void check(bool good, const char *aspect, const char *text) {
  char line[300];
  n_checks++, n_wrong += !good;
  int n = snprintf(line, sizeof(line), "%sok %u - %s: %s: %s\n", good ? "" : "not ", n_checks, the_name, aspect, text);
  x_write(line, (size_t)n);
}

static void look(const struct one *one) {
  struct call call = {.function = one->address};
  struct seen seen = {0};
  memcpy(call.args, one->args, sizeof(call.args));
  errno = OUR_ERRNO;
  conform_call(&call, &seen);
  int error = errno;
  uint64_t mask = one->width == INT ? 0xffffffff : UINT64_MAX;
  uint64_t upper = one->width == INT ? seen.result >> 32 : 0;
  check((seen.result & mask) == ((uint64_t)one->failed & mask) && (upper == 0 || upper == UINT32_MAX), "result",
        "the value that says failure");
  check(error == (one->flags & NUMBER ? OUR_ERRNO : one->error), "errno", "as the manual says");
  if (one->flags & STREAM) check(ferror(f) != 0 && feof(f) == 0, "stream", "the error flag is set, and only that");
}

int main(int argc, char **argv) {
  make_file("file", "text\n");
  fd = openat(AT_FDCWD, "file", O_RDWR);
  dir = opendir(".");
  f = fdopen(openat(AT_FDCWD, "file", O_RDWR), "r+");
  if (!f || !dir || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return 98;
  sem_init(&semaphore, 0, 1);
  size_t n;
  const struct one *cases = table(&n);
  for (size_t i = 0; i < n; i++) {
    the_name = cases[i].name;
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
      char line[200];
      x_write(line, (size_t)snprintf(line, sizeof(line), "%s %s:%s\n", the_name, the_name, cases[i].error_name));
    } else if (argc == 2 && strcmp(argv[1], the_name) == 0) {
      look(&cases[i]);
    }
  }
  char end[20];
  if (n_checks) x_write(end, (size_t)snprintf(end, sizeof(end), "1..%u\n", n_checks));
  x_exit(n_wrong != 0);
}
