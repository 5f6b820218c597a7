/* SPDX-License-Identifier: Apache-2.0 */
/*
 * careful HOW: what a program does that wants nobody else around, then close(-7), whose result it writes down.
 *   closefrom   closes all descriptors but the standard ones; says how many there were
 *   strict      seccomp's strict mode: read, write, exit and return from a handler are all that is allowed
 *   filter      the same by a filter that kills
 *   rand        the first numbers of rand and random, and of the heap
 */
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void say(const char *s) {
  if (write(1, s, strlen(s)) < 0) syscall(SYS_exit, 3);
}

static int descriptors(void) {
  DIR *d = opendir("/proc/self/fd");
  int n = 0;
  while (d && readdir(d))
    n++;
  (void)closedir(d);
  return n - 3; /* . and .. and the folder's own */
}

static int filter(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) | prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  char line[64];
  if (strcmp(how, "rand") == 0) {
    void *p = malloc(100);
    printf("%d %ld %zu\n", rand(), random(), (size_t)p & 0xfff);
    return 0;
  }
  if (strcmp(how, "closefrom") == 0) {
    (void)snprintf(line, sizeof line, "%d ", descriptors());
    say(line);
    closefrom(3);
  }
  if (strcmp(how, "strict") == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) return 4;
  if (strcmp(how, "filter") == 0 && filter() != 0) return 4;
  errno = 0;
  int r = close(-7);
  say(r == -1 && errno == EIO ? "EIO\n" : "no fault\n");
  syscall(SYS_exit, 0);
}
