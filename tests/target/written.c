// SPDX-License-Identifier: Apache-2.0
// How much was written to a descriptor: by all that can write to it, under all of its numbers, and by streams. The
// program asks with a write or an fwrite of one byte, which fails if the sum is what the run says.
//
// @build cc -O2 $src -o $out
// @build cc -O2 -D_FORTIFY_SOURCE=2 -D_FILE_OFFSET_BITS=64 $src -o $out
// @run 1 0 -f 'write:EIO when size == 1 and fd.written == 30' -- vectors
// @run 1 0 -f 'write:EIO when size == 1 and fd.written == 14' -- copied
// @run 1 0 -f 'write:EIO when size == 1 and fd.written == 23' -- messages
// @run 1 0 -f 'write:EIO when size == 1 and fd.written == 0' -- close-range
// @run 1 0 -f 'write:EIO when size == 1 and fd.written == 4' -- close-later
// @run 1 0 -f 'write:EIO when size == 1 and fd.written == 0' -- close-from
// @run 1 0 -f 'write:EIO when size == 1 and fd.written == 9' -- dup
// @run 1 0 -f 'write:EIO when size == 1 and fd.written == 9' -- dup2
// @run 1 0 -f 'write:EIO when size == 1 and fd.written == 9' -- fcntl
// @run 1 0 -f 'write:EIO when size == 1 and fd.written == 0' -- reused
// @run 1 0 -f 'write:EIO when size == 1 and fd.written == 0' -- closed-stream
// @run 1 0 -f 'write:EIO when size == 1 and fd.written == 27' -- stream
// @run 1 0 -f 'write:EIO when size == 1 and fd.written == 13' -- dprintf
// @run 1 0 -f 'fwrite:ENOSPC when fd.written == 5 and fd.kind == "file" and size == 1' -- asked
// @run 1 0 -f 'fputs:ENOSPC when fd.kind == "pipe"' -- kinds
// @run 1 0 -f 'fclose:EIO when fd.path ~ "*/written.out"' -- path
// @run 1 0 -f 'puts:EIO when fd == 1 and fd.kind == "pipe"' -- stdout
#define _GNU_SOURCE
#include "expect.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

static int made(void) {
  int fd = open("written.out", O_RDWR | O_CREAT | O_TRUNC, 0600);
  EXPECT(fd >= 0);
  return fd;
}

static void ask(int fd) { EXPECT(write(fd, "x", 1) == -1 && errno == EIO); }

static void vectors(int fd) {
  struct iovec parts[] = {{"01234", 5}, {"56789", 5}};
  EXPECT(writev(fd, parts, 2) == 10 && pwrite(fd, "0123456789", 10, 0) == 10 && pwritev(fd, parts, 2, 0) == 10);
  ask(fd);
}

static void copied(int fd) {
  int from = open("/proc/self/exe", O_RDONLY), ends[2];
  off_t at = 0;
  EXPECT(sendfile(fd, from, &at, 9) == 9);
  EXPECT(pipe(ends) == 0 && write(ends[1], "hello", 5) == 5 && splice(ends[0], NULL, fd, NULL, 5, 0) == 5);
  ask(fd);
}

static void messages(void) {
  int ends[2];
  struct iovec parts[] = {{"01234", 5}, {"0123456789", 10}, {"01234567", 8}};
  struct mmsghdr all[] = {{.msg_hdr = {.msg_iov = parts, .msg_iovlen = 2}},
                          {.msg_hdr = {.msg_iov = parts + 2, .msg_iovlen = 1}}};
  EXPECT(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0 && sendmmsg(ends[0], all, 2, 0) == 2);
  ask(ends[0]);
}

/* HOW: up to itself, with the flag that says later, and from it on. */
static void closed_with_others(int fd, int how) {
  EXPECT(write(fd, "four", 4) == 4);
  if (how == 2)
    closefrom(fd);
  else
    EXPECT(close_range((unsigned)fd, (unsigned)fd, how ? CLOSE_RANGE_CLOEXEC : 0) == 0);
  if (how != 1) EXPECT(made() == fd);
  ask(fd);
}

static void doubled(int fd, int other) {
  EXPECT(write(fd, "four", 4) == 4 && write(other, "fives", 5) == 5 && close(fd) == 0);
  ask(other);
}

static void reused(int fd) {
  EXPECT(write(fd, "four", 4) == 4 && close(fd) == 0 && made() == fd);
  ask(fd);
}

static void closed_stream(int fd) {
  FILE *f = fdopen(fd, "w");
  EXPECT(f && fputs("hello", f) >= 0 && fflush(f) == 0 && fclose(f) == 0 && made() == fd);
  ask(fd);
}

/* Only what has left the buffer is written. */
static void stream(int fd) {
  FILE *f = fdopen(fd, "w");
  EXPECT(f && setvbuf(f, NULL, _IOFBF, 16) == 0);
  EXPECT(fprintf(f, "%s %.1f %d %d %d %d %d", "a", 1.5, 2, 3, 4, 5, 6) == 15 && fputs("0123456789a", f) >= 0);
  EXPECT(putc('b', f) == 'b' && fflush(f) == 0);
  EXPECT(fputs("not yet", f) >= 0);
  ask(fd);
}

static void asked(int fd) {
  FILE *f = fdopen(fd, "w");
  EXPECT(f && fwrite("hello", 1, 5, f) == 5 && fflush(f) == 0);
  errno = 0;
  EXPECT(fwrite("x", 1, 1, f) == 0 && errno == ENOSPC && ferror(f));
}

static void kinds(int fd) {
  int ends[2];
  EXPECT(pipe(ends) == 0);
  FILE *f = fdopen(fd, "w"), *p = fdopen(ends[1], "w");
  EXPECT(fputs("file", f) >= 0 && fputs("pipe", p) == EOF);
}

static void path(int fd) {
  FILE *f = fdopen(fd, "w"), *other = fopen("/dev/null", "w");
  EXPECT(other && fclose(other) == 0 && fclose(f) == EOF && errno == EIO);
}

static void to_stdout(void) {
  int ends[2];
  EXPECT(pipe(ends) == 0 && dup2(ends[1], 1) == 1);
  EXPECT(puts("hello") == EOF);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  int fd = made();
  if (strcmp(what, "vectors") == 0)
    vectors(fd);
  else if (strcmp(what, "copied") == 0)
    copied(fd);
  else if (strcmp(what, "messages") == 0)
    messages();
  else if (strcmp(what, "close-range") == 0)
    closed_with_others(fd, 0);
  else if (strcmp(what, "close-later") == 0)
    closed_with_others(fd, 1);
  else if (strcmp(what, "close-from") == 0)
    closed_with_others(fd, 2);
  else if (strcmp(what, "dup") == 0)
    doubled(fd, dup(fd));
  else if (strcmp(what, "dup2") == 0)
    doubled(fd, dup2(fd, 99));
  else if (strcmp(what, "fcntl") == 0)
    doubled(fd, fcntl(fd, F_DUPFD_CLOEXEC, 50));
  else if (strcmp(what, "reused") == 0)
    reused(fd);
  else if (strcmp(what, "closed-stream") == 0)
    closed_stream(fd);
  else if (strcmp(what, "stream") == 0)
    stream(fd);
  else if (strcmp(what, "dprintf") == 0) {
    EXPECT(dprintf(fd, "%d %s %g", 12, "hello", 0.25) == 13);
    ask(fd);
  } else if (strcmp(what, "asked") == 0)
    asked(fd);
  else if (strcmp(what, "kinds") == 0)
    kinds(fd);
  else if (strcmp(what, "path") == 0)
    path(fd);
  else if (strcmp(what, "stdout") == 0)
    to_stdout();
  else
    return 2;
  return 0;
}
