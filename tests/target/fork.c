/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children of fork are part of the program; those of vfork too, and what fails in them does no harm to the parent.
 *
 * @build cc -O2 -pthread $src -o $out
 * @run 2 0 -f 'dup:EMFILE' -- fork
 * @run 1 0 -f 'dup:EMFILE' -- vfork
 * @run 2 0 -f 'dup:EMFILE' -- thread
 * @run 1 0 -f 'dup:EMFILE' -- daemon
 */
#include "expect.h"

#include <pthread.h>
#include <sys/wait.h>

static int dup_fails(void) {
  errno = 0;
  return dup(0) == -1 && errno == EMFILE;
}

static int child_status(pid_t pid) {
  int status = -1;
  EXPECT(waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

static void *forks(void *unused) {
  (void)unused;
  pid_t pid = fork();
  if (pid == 0) _exit(dup_fails() ? 0 : 1);
  EXPECT(child_status(pid) == 0);
  EXPECT(dup_fails());
  return NULL;
}

static void vforks(void) {
  volatile int before = 7;
  pid_t pid = vfork();
  if (pid == 0) {
    if (!dup_fails()) _exit(1);
    execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
    _exit(2);
  }
  EXPECT(pid > 0 && before == 7 && child_status(pid) == 3);
}

/* The program ends before its child, which goes on without a parent. */
static void becomes_daemon(void) {
  int fds[2];
  char byte = 0;
  EXPECT(pipe(fds) == 0);
  pid_t pid = fork();
  EXPECT(pid >= 0);
  if (pid > 0) {
    EXPECT(read(fds[0], &byte, 1) == 1 && byte == 'y');
    _exit(0);
  }
  byte = dup_fails() ? 'y' : 'n';
  EXPECT(write(fds[1], &byte, 1) == 1);
  close(0), close(1), close(2);
  usleep(300000);
  _exit(0);
}

int main(int argc, char **argv) {
  pthread_t thread;
  EXPECT(argc == 2);
  if (strcmp(argv[1], "fork") == 0) forks(NULL);
  if (strcmp(argv[1], "vfork") == 0) vforks();
  if (strcmp(argv[1], "daemon") == 0) becomes_daemon();
  if (strcmp(argv[1], "thread") == 0)
    EXPECT(pthread_create(&thread, NULL, forks, NULL) == 0 && pthread_join(thread, NULL) == 0);
  return 0;
}
