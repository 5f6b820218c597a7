// SPDX-License-Identifier: Apache-2.0
// Faults that do something to the call: less is transferred, it comes later, it is interrupted, it ends the process.
//
// @build cc -O2 -pthread $src -o $out
// @build cc -O2 -pthread -D_FORTIFY_SOURCE=2 -D_FILE_OFFSET_BITS=64 $src -o $out
// @run 0 0 -f 'read:short=5 when call==7' -- whole
// @run 1 0 -f 'read:short=5 when call==1' -- short
// @run 1 0 -f 'write:short=3 when once' -- short-write
// @run 0 0 -f 'read:short=64' -- whole
// @run 1 0 -f 'readv:short=5' -- vector
// @run 1 0 -f 'readv:short=10' -- vector-exact
// @run 1 0 -f 'writev:short=12 when call==1' -- writev
// @run 1 0 -f 'preadv:short=1' -- preadv
// @run 1 0 -f 'pread:short=3' -- pread
// @run 2 0 -f 'pwrite:short=3' -f 'pwritev:short=9' -- pwrite
// @run 0 0 -f 'pread:short=64' -f 'pwrite:short=16' -f 'pwritev:short=16' -- pwrite-whole
// @run 0 0 -f 'writev:short=1' -- bad-vector
// @run 1 0 -f 'sendmsg:short=4' -- sendmsg
// @run 1 0 -f 'recvmsg:short=4' -- recvmsg
// @run 1 0 -f 'send:short=2' -- send
// @run 1 0 -f 'recv:short=2 when size > 5' -- recv
// @run 1 0 -f 'sendto:short=2' -f 'recvfrom:short=9' -- sendto
// @run 1 0 -f 'fread:short=7' -- fread
// @run 1 0 -f 'fwrite:short=4 errno=ENOSPC' -- fwrite
// @run 1 0 -f 'getppid:delay=60ms' -- delay
// @run 1 0 -f 'strtod:delay=60ms' -- delay-double
// @run 1 0 -f 'read:eintr when call==1' -- eintr
// @run 1 0 -f 'read:eintr when call==1' -- eintr-none
// @run 1 0 -f 'read:eintr when call==1' -- eintr-restart
// @run 1 0 -f 'read:eintr when call==1' -- eintr-blocked
// @run 1 0 -f 'read:eintr when call==1' -- eintr-ignored
// @run 1 0 -f 'read:eintr when call==1' -- eintr-thread
// @run 1 0 -f 'read:eintr when call==1' -- eintr-jump
// @run 1 137 -f 'fsync:kill' -- kill
// @run 1 0 --follow -f 'fsync:kill' -- kill-child
// @run 1 0 -f 'execl:kill' -- kill-vfork
// @run 1 0 -f 'read:eintr when call==1' -- eintr-vfork
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int ends[2];
static char buffer[64];

#define EXPECT(x) ((x) ? (void)0 : (printf("%d: %s, errno %d\n", __LINE__, #x, errno), exit(1)))

static void fill(int family) {
  EXPECT((family ? socketpair(AF_UNIX, family, 0, ends) : pipe(ends)) == 0);
  EXPECT(dprintf(ends[1], "%s", "0123456789abcdef") == 16);
}

static double now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static volatile int handled;
static pthread_t handled_in;
static sigjmp_buf back;
static void handler(int signal) {
  handled = signal;
  handled_in = pthread_self();
  errno = 99;
}
static void jumper(int signal) {
  handled = signal;
  siglongjmp(back, 1);
}
static void install(int signal, void (*f)(int), int flags) {
  struct sigaction a = {.sa_handler = f, .sa_flags = flags};
  EXPECT(sigaction(signal, &a, NULL) == 0);
}

/* What was not transferred is still there. */
static void transfers(const char *what) {
  char a[10] = {0}, b[10] = {0};
  struct iovec parts[] = {{a, 0}, {a, sizeof a}, {b, sizeof b}};
  struct iovec out[] = {{"abcdefgh", 8}, {"ijklmnop", 8}};
  if (strcmp(what, "whole") == 0) {
    fill(0);
    EXPECT(read(ends[0], buffer, sizeof buffer) == 16);
  } else if (strcmp(what, "short") == 0) {
    fill(0);
    EXPECT(read(ends[0], buffer, sizeof buffer) == 5 && memcmp(buffer, "01234", 6) == 0);
    EXPECT(read(ends[0], buffer, sizeof buffer) == 11 && memcmp(buffer, "56789abcdef", 11) == 0);
  } else if (strcmp(what, "short-write") == 0) {
    EXPECT(pipe(ends) == 0 && write(ends[1], "hello", 5) == 3 && write(ends[1], "lo", 2) == 2);
    EXPECT(read(ends[0], buffer, sizeof buffer) == 5 && memcmp(buffer, "hello", 5) == 0);
  } else if (strcmp(what, "vector") == 0) {
    fill(0);
    EXPECT(readv(ends[0], parts, 3) == 5 && strcmp(a, "01234") == 0 && !*b && parts[1].iov_len == sizeof a);
  } else if (strcmp(what, "vector-exact") == 0) {
    fill(0);
    EXPECT(readv(ends[0], parts, 3) == 10 && memcmp(a, "0123456789", 10) == 0 && !*b);
  } else if (strcmp(what, "writev") == 0) {
    EXPECT(pipe(ends) == 0 && writev(ends[1], out, 2) == 12);
    EXPECT(read(ends[0], buffer, sizeof buffer) == 12 && memcmp(buffer, "abcdefghijkl", 12) == 0);
  } else if (strcmp(what, "preadv") == 0) {
    int fd = open("/proc/self/exe", O_RDONLY);
    EXPECT(preadv(fd, parts, 3, 1) == 1 && a[0] == 'E');
  } else if (strcmp(what, "pread") == 0) {
    int fd = open("/proc/self/exe", O_RDONLY);
    EXPECT(pread(fd, buffer, 10, 1) == 3 && memcmp(buffer, "ELF", 4) == 0);
  } else if (strncmp(what, "pwrite", 6) == 0) {
    int fd = fileno(tmpfile());
    ssize_t whole = strcmp(what, "pwrite-whole") == 0 ? 16 : 0;
    EXPECT(pwrite(fd, "0123456789abcdef", 16, 0) == (whole ? whole : 3));
    EXPECT(pwritev(fd, out, 2, 16) == (whole ? whole : 9));
    EXPECT(lseek(fd, 0, SEEK_END) == 16 + (whole ? whole : 9) && lseek(fd, 16, SEEK_SET) == 16);
    EXPECT(read(fd, buffer, 9) == 9 && memcmp(buffer, "abcdefghi", 9) == 0);
  } else { /* bad-vector: as without a fault */
    EXPECT(pipe(ends) == 0 && writev(ends[1], (struct iovec *)8, 2) == -1 && errno == EFAULT);
    EXPECT(writev(ends[1], out, -1) == -1 && errno == EINVAL);
  }
}

static void sockets(const char *what) {
  struct sockaddr_storage from;
  struct iovec one = {buffer, sizeof buffer}, two[] = {{"abcdefgh", 8}, {"ijklmnop", 8}};
  struct msghdr in = {.msg_iov = &one, .msg_iovlen = 1, .msg_name = &from, .msg_namelen = sizeof from};
  static const struct msghdr no_out;
  struct msghdr out = no_out;
  out.msg_iov = two;
  out.msg_iovlen = 2;
  fill(strcmp(what, "recvmsg") == 0 ? SOCK_DGRAM : SOCK_STREAM);
  if (strcmp(what, "sendmsg") == 0) {
    EXPECT(sendmsg(ends[0], &out, 0) == 4 && out.msg_iov == two && out.msg_iovlen == 2);
    EXPECT(read(ends[1], buffer, sizeof buffer) == 4 && memcmp(buffer, "abcd", 4) == 0);
  } else if (strcmp(what, "recvmsg") == 0) { /* of a datagram, the rest is lost, and the kernel says so */
    EXPECT(recvmsg(ends[0], &in, 0) == 4 && memcmp(buffer, "0123", 5) == 0);
    EXPECT(in.msg_flags & MSG_TRUNC && in.msg_iov == &one && in.msg_iovlen == 1 && in.msg_namelen < sizeof from);
  } else if (strcmp(what, "send") == 0) {
    EXPECT(send(ends[0], "hello", 5, 0) == 2);
  } else if (strcmp(what, "recv") == 0) {
    EXPECT(recv(ends[0], buffer, 4, 0) == 4 && recv(ends[0], buffer, 10, 0) == 2);
  } else {
    EXPECT(sendto(ends[0], "hello", 5, 0, NULL, 0) == 2 && recvfrom(ends[0], buffer, 8, 0, NULL, NULL) == 8);
  }
}

/* A stream that does less has failed. */
static void streams(const char *what) {
  FILE *f = tmpfile();
  EXPECT(f);
  if (strcmp(what, "fread") == 0) {
    EXPECT(fputs("0123456789", f) >= 0);
    rewind(f);
    EXPECT(fread(buffer, 2, 5, f) == 3 && memcmp(buffer, "012345", 7) == 0 && ferror(f) && !feof(f) && errno == EIO);
  } else {
    EXPECT(fwrite("0123456789", 1, 10, f) == 4 && ferror(f) && errno == ENOSPC);
    rewind(f);
    EXPECT(fgets(buffer, sizeof buffer, f) && strcmp(buffer, "0123") == 0);
  }
}

static void delays(const char *what) {
  double start = now();
  EXPECT(strcmp(what, "delay") == 0 ? getppid() > 0 : strtod("1.5", NULL) == 1.5);
  EXPECT(now() - start >= 0.06);
}

static void *interrupted(void *none) {
  EXPECT(read(ends[0], buffer, sizeof buffer) == -1 && errno == EINTR);
  EXPECT(handled == SIGUSR1 && pthread_equal(handled_in, pthread_self()));
  return none;
}

/* The thread that makes the call gets it, and no other; what other threads block does not matter. */
static void interrupt_thread(void) {
  sigset_t all;
  pthread_t other;
  fill(0);
  install(SIGUSR1, handler, 0);
  EXPECT(pthread_create(&other, NULL, interrupted, NULL) == 0);
  EXPECT(sigfillset(&all) == 0 && pthread_sigmask(SIG_BLOCK, &all, NULL) == 0);
  EXPECT(pthread_join(other, NULL) == 0);
}

static volatile pid_t handled_by;

static void note_process(int signal) {
  handled = signal;
  handled_by = getpid();
}

/* The child has its parent's memory, and with it what the parent's thread is. */
static void interrupt_vfork(void) {
  fill(0);
  install(SIGUSR1, note_process, 0);
  pid_t pid = vfork();
  if (pid == 0) _exit(read(ends[0], buffer, sizeof buffer) == -1 && errno == EINTR ? 0 : 1);
  int status;
  EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
  EXPECT(handled == SIGUSR1 && handled_by == pid);
}

static void interrupts(const char *what) {
  sigset_t all;
  if (strcmp(what, "eintr-vfork") == 0) {
    interrupt_vfork();
    return;
  }
  if (strcmp(what, "eintr-thread") == 0) {
    interrupt_thread();
    return;
  }
  fill(0);
  if (strcmp(what, "eintr") == 0) { /* what often ends programs comes later */
    install(SIGWINCH, handler, SA_RESTART);
    install(SIGUSR1, handler, 0);
    install(SIGCHLD, handler, 0);
  } else if (strcmp(what, "eintr-restart") == 0) {
    install(SIGUSR1, handler, SA_RESTART);
  } else if (strcmp(what, "eintr-blocked") == 0) {
    install(SIGUSR2, handler, 0);
    EXPECT(sigfillset(&all) == 0 && sigprocmask(SIG_BLOCK, &all, NULL) == 0);
  } else if (strcmp(what, "eintr-ignored") == 0) {
    install(SIGUSR2, SIG_IGN, 0);
  } else if (strcmp(what, "eintr-jump") == 0) {
    install(SIGALRM, jumper, 0);
  }
  if (sigsetjmp(back, 1) == 0) {
    EXPECT(read(ends[0], buffer, sizeof buffer) == -1 && errno == EINTR);
    EXPECT(strcmp(what, "eintr-jump") != 0);
  }
  EXPECT(handled == (strcmp(what, "eintr") == 0           ? SIGCHLD
                     : strcmp(what, "eintr-jump") == 0    ? SIGALRM
                     : strcmp(what, "eintr-restart") == 0 ? SIGUSR1
                                                          : 0));
  EXPECT(read(ends[0], buffer, sizeof buffer) == 16); /* nothing was read */
}

static void kills(const char *what) {
  int status;
  if (strcmp(what, "kill-vfork") == 0) {
    if (vfork() == 0) {
      execl("/bin/true", "true", (char *)NULL);
      _exit(3);
    }
  } else if (strcmp(what, "kill-child") != 0 || fork() == 0) {
    (void)fsync(1);
    exit(3);
  }
  EXPECT(wait(&status) > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  void (*const groups[])(const char *) = {transfers, sockets, streams, delays, interrupts, kills};
  static const char *const names[][12] = {
      {"whole", "short", "short-write", "vector", "vector-exact", "writev", "preadv", "bad-vector", "pread", "pwrite",
       "pwrite-whole"},
      {"sendmsg", "recvmsg", "send", "recv", "sendto"},
      {"fread", "fwrite"},
      {"delay", "delay-double"},
      {"eintr", "eintr-none", "eintr-restart", "eintr-blocked", "eintr-jump", "eintr-ignored", "eintr-thread",
       "eintr-vfork"},
      {"kill", "kill-child", "kill-vfork"},
  };
  for (unsigned i = 0; i < 6; i++)
    for (unsigned k = 0; k < 12 && names[i][k]; k++)
      if (strcmp(names[i][k], what) == 0) {
        groups[i](what);
        return 0;
      }
  return 2;
}
