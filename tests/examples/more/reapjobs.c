/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs jobs and reports how they ended.  A SIGHUP handler is installed
 * without SA_RESTART, so waitpid() may fail with EINTR; that is not treated
 * as an error, but the call is not made again either, and the status left
 * over from the job before is reported ("ok" for the failed job).
 * expect: silent
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t reload;

static void on_hup(int sig) {
  (void)sig;
  reload = 1;
}

static void die(const char *what) {
  perror(what);
  exit(1);
}

int main(void) {
  static const int result[] = {0, 0, 4, 0};
  struct sigaction sa;
  int status = 0;

  memset(&sa, 0, sizeof sa);
  sa.sa_handler = on_hup;
  if (sigemptyset(&sa.sa_mask) != 0 || sigaction(SIGHUP, &sa, NULL) != 0) die("sigaction");

  for (int i = 0; i < 4; i++) {
    if (fflush(stdout) != 0) die("stdout");
    pid_t pid = fork();
    if (pid < 0) die("fork");
    if (pid == 0) _exit(result[i]);
#ifdef FIXED
    pid_t r;
    do
      r = waitpid(pid, &status, 0);
    while (r < 0 && errno == EINTR);
    if (r < 0) die("waitpid");
#else
    if (waitpid(pid, &status, 0) < 0 && errno != EINTR) die("waitpid");
#endif
    int ok;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
      ok = printf("job %d: ok\n", i);
    else if (WIFEXITED(status))
      ok = printf("job %d: failed with %d\n", i, WEXITSTATUS(status));
    else
      ok = printf("job %d: killed\n", i);
    if (ok < 0) die("stdout");
  }
  if (fflush(stdout) != 0 || ferror(stdout)) die("stdout");
  return 0;
}
