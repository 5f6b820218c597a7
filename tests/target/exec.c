/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that a program starts are left alone unless --follow says otherwise, whichever way they are started and
 * whatever environment they get. None of them sees anything of murphy in its environment.
 *
 * @build cc -O2 $src -o $out
 * @run 0 0 -f 'dup:EMFILE' -- execve alone
 * @run 1 0 --follow -f 'dup:EMFILE' -- execve failed
 * @run 0 0 -f 'dup:EMFILE' -- empty alone
 * @run 1 0 --follow -f 'dup:EMFILE' -- empty failed
 * @run 1 0 --follow -f 'dup:EMFILE' -- null failed
 * @run 0 0 -f 'dup:EMFILE' -- clearenv alone
 * @run 1 0 --follow -f 'dup:EMFILE' -- clearenv failed
 * @run 1 0 --follow -f 'dup:EMFILE' -- unsetenv failed
 * @run 0 0 -f 'dup:EMFILE' -- execv alone
 * @run 1 0 --follow -f 'dup:EMFILE' -- execv failed
 * @run 1 0 --follow -f 'dup:EMFILE' -- execvp failed
 * @run 1 0 --follow -f 'dup:EMFILE' -- execl failed
 * @run 1 0 --follow -f 'dup:EMFILE' -- execlp failed
 * @run 1 0 --follow -f 'dup:EMFILE' -- execle failed
 * @run 1 0 --follow -f 'dup:EMFILE' -- execvpe failed
 * @run 1 0 --follow -f 'dup:EMFILE' -- fexecve failed
 * @run 1 0 --follow -f 'dup:EMFILE' -- execveat failed
 * @run 0 0 -f 'dup:EMFILE' -- spawn alone
 * @run 1 0 --follow -f 'dup:EMFILE' -- spawn failed
 * @run 1 0 --follow -f 'dup:EMFILE' -- spawnp failed
 * @run 0 0 -f 'dup:EMFILE' -- system alone
 * @run 1 0 --follow -f 'dup:EMFILE' -- system failed
 * @run 1 0 --follow -f 'dup:EMFILE' -- popen failed
 * @run 0 0 -f 'dup:EMFILE' -- execve alone hidden
 * @run 0 0 -f 'dup:EMFILE' -- empty alone empty
 * @run 0 0 -f 'dup:EMFILE' -- popen alone hidden
 * @run 1 0 --follow -f 'dup:EMFILE' -- execve failed hidden
 * @run 1 0 --follow -f 'dup:EMFILE' -- execv failed hidden
 * @run 1 0 --follow -f 'dup:EMFILE' -- empty failed empty
 * @run 1 0 --follow -f 'dup:EMFILE' -- clearenv failed empty
 * @run 1 0 --follow -f 'dup:EMFILE' -- spawn failed empty
 * @run 1 0 --follow -f 'dup:EMFILE' -- system failed hidden
 */
#define _GNU_SOURCE
#include "expect.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

/* Exit status 10: the call failed as told; 11: it did not; others: something is wrong. */
static int child(int argc, char **argv) {
  if (argc > 2 && strcmp(argv[2], "hidden") == 0 && getenv("LD_PRELOAD")) return 20;
  if (argc > 2 && strcmp(argv[2], "empty") == 0 && environ && environ[0]) return 21;
  int fd = dup(0);
  if (fd == -1) return errno == EMFILE ? 10 : 22;
  return 11;
}

static const char *look; /* what the child looks at besides: "hidden", "empty" or nothing */

static void starts(const char *how, char *self) {
  char *args[] = {self, "child", (char *)look, NULL}, *none[] = {NULL}, *some[] = {"ONE=1", "PATH=/bin:/usr/bin", NULL};
  if (strcmp(how, "execve") == 0) execve(self, args, environ);
  if (strcmp(how, "empty") == 0) execve(self, args, none);
  if (strcmp(how, "null") == 0) execve(self, args, NULL);
  if (strcmp(how, "clearenv") == 0) clearenv(), execv(self, args);
  if (strcmp(how, "unsetenv") == 0) unsetenv("LD_PRELOAD"), execv(self, args);
  if (strcmp(how, "execv") == 0) execv(self, args);
  if (strcmp(how, "execvp") == 0) execvp(self, args);
  if (strcmp(how, "execl") == 0) execl(self, self, "child", look, (char *)NULL);
  if (strcmp(how, "execlp") == 0) execlp(self, self, "child", look, (char *)NULL);
  if (strcmp(how, "execle") == 0) execle(self, self, "child", look, (char *)NULL, none);
  if (strcmp(how, "execvpe") == 0) execvpe(self, args, some);
  if (strcmp(how, "fexecve") == 0) fexecve(open(self, O_RDONLY | O_CLOEXEC), args, none);
  if (strcmp(how, "execveat") == 0) execveat(AT_FDCWD, self, args, none, 0);
}

static int status_of(const char *how, char *self) {
  char *args[] = {self, "child", (char *)look, NULL}, *none[] = {NULL}, command[600];
  int status = -1;
  pid_t pid = -1;
  snprintf(command, sizeof(command), "%s child %s", self, look);
  if (strcmp(how, "system") == 0) return system(command);
  if (strcmp(how, "popen") == 0) return pclose(popen(command, "r"));
  if (strcmp(how, "spawn") == 0)
    EXPECT(posix_spawn(&pid, self, NULL, NULL, args, none) == 0);
  else if (strcmp(how, "spawnp") == 0)
    EXPECT(posix_spawnp(&pid, self, NULL, NULL, args, none) == 0);
  else if ((pid = fork()) == 0) {
    starts(how, self);
    _exit(30);
  }
  EXPECT(waitpid(pid, &status, 0) == pid);
  return status;
}

int main(int argc, char **argv) {
  char self[400];
  if (argc > 1 && strcmp(argv[1], "child") == 0) return child(argc, argv);
  EXPECT(argc >= 3);
  look = argc > 3 ? argv[3] : "nothing";
  ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
  EXPECT(n > 0);
  self[n] = 0;
  int status = status_of(argv[1], self);
  EXPECT(WIFEXITED(status));
  EXPECT(WEXITSTATUS(status) != 20); /* LD_PRELOAD is seen */
  EXPECT(WEXITSTATUS(status) != 21); /* the environment is not empty */
  EXPECT(WEXITSTATUS(status) == (strcmp(argv[2], "failed") == 0 ? 10 : 11));
  return 0;
}
