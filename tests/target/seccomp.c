/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Under seccomp, a failure that is injected makes no system call that the program could not make itself.
 *
 * @build cc -O2 $src -o $out
 * @build cc -O2 -Wl,-z,now $src -o $out
 * @run 1 0 -f 'read:EIO when call==2' -- strict
 * @run 1 0 -f 'read:EIO when call==2' -- filter
 * @run 1 0 -f 'read:EIO when caller("reads") and call==2' -- filter
 * @run 1 0 -f 'read:EIO when stack("main") and call==2' -- filter
 * @run 1 0 -f 'read:EIO when random(1) and call==2' -- strict
 */
#include "expect.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static void leave(int status) {
  for (;;)
    syscall(SYS_exit, status);
}

/* Only read, write and exit; anything else kills. */
static void filter(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
  EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  EXPECT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

__attribute__((noinline)) void reads(int fd);
void reads(int fd) {
  char byte;
  if (read(fd, &byte, 1) != 1) leave(2);
  errno = 0;
  if (read(fd, &byte, 1) != -1 || errno != EIO) leave(3);
  if (read(fd, &byte, 1) != 1) leave(4);
}

int main(int argc, char **argv) {
  int fd = open("/dev/zero", O_RDONLY);
  EXPECT(argc == 2 && fd >= 0);
  if (strcmp(argv[1], "filter") == 0)
    filter();
  else
    EXPECT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
  reads(fd);
  leave(0);
}
