/* SPDX-License-Identifier: Apache-2.0 */
/*
 * children HOW: starts itself ("children leaf") in the ways that there are, and waits. A leaf calls close(-7) and
 * prints what came back, and whether it sees LD_PRELOAD.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int leaf(void) {
  errno = 0;
  int r = close(-7);
  printf("%d/%s %s\n", r, strerrorname_np(errno), getenv("LD_PRELOAD") ? "preload" : "clean");
  return 0;
}

static void exec_leaf(const char *how, char *self) {
  char *argv[] = {self, (char *)"leaf", NULL}, *none[] = {NULL}, *path[] = {(char *)"A=1", NULL};
  if (strcmp(how, "execve") == 0)
    (void)execve(self, argv, none);
  else if (strcmp(how, "execv") == 0)
    (void)(clearenv(), execv(self, argv));
  else if (strcmp(how, "execvp") == 0)
    (void)(clearenv(), execvp(self, argv));
  else if (strcmp(how, "execl") == 0)
    (void)(clearenv(), execl(self, self, "leaf", "3", "4", "5", "6", "7", (char *)NULL));
  else if (strcmp(how, "execle") == 0)
    (void)execle(self, self, "leaf", "3", "4", "5", "6", "7", (char *)NULL, path);
  else if (strcmp(how, "execlp") == 0)
    (void)(clearenv(), execlp(self, self, "leaf", (char *)NULL));
  else if (strcmp(how, "fexecve") == 0)
    (void)execveat(AT_FDCWD, self, argv, path, 0);
  else
    (void)execv(self, argv);
  _exit(99);
}

static pid_t start(const char *how, char *self) {
  char *argv[] = {self, (char *)"leaf", NULL}, *none[] = {NULL};
  pid_t pid = -1;
  if (strcmp(how, "spawn") == 0) return posix_spawn(&pid, self, NULL, NULL, argv, none) == 0 ? pid : -1;
  if (strcmp(how, "vfork") == 0) {
    pid = vfork();
    if (pid == 0) {
      (void)execve(self, argv, none);
      _exit(99);
    }
    return pid;
  }
  pid = fork();
  if (pid == 0 && strcmp(how, "fork") == 0) exit(leaf());
  if (pid == 0) exec_leaf(how, self);
  return pid;
}

/* --- what is left in this process afterwards ---------------------------------------------------------------------- */

/* Pages that the process has mapped. */
static long pages(void) {
  long n = -1;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f && fscanf(f, "%ld", &n) != 1) n = -1;
  if (f) (void)fclose(f);
  return n;
}

static pid_t start_quietly(char *const *argv, char *const *environment) {
  pid_t pid = vfork();
  if (pid == 0) {
    (void)execve(argv[0], argv, environment);
    _exit(99);
  }
  return pid;
}

/* Children of vfork with a large environment: nothing of them stays. */
static int vforks(char *self) {
  static char *many[1000];
  char *argv[] = {self, (char *)"quiet", NULL};
  long before = 0;
  for (int i = 0; i < 999; i++)
    many[i] = (char *)"A=1";
  for (int i = 0; i < 20; i++) {
    int status = 0;
    pid_t pid = start_quietly(argv, many);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) return 1;
    if (i == 2) before = pages();
  }
  puts(pages() == before ? "nothing is left" : "memory is left");
  return 0;
}

static void *start_shell(void *command) {
  (void)system(command);
  return NULL;
}

static void fill_stack(void) {
  volatile char all[32768];
  for (size_t i = 0; i < sizeof all; i++)
    all[i] = '#';
}

/* One thread is in system() while another changes the environment. */
static int change_meanwhile(void) {
  pthread_t thread;
  static char command[] = "sleep 0.3";
  if (pthread_create(&thread, NULL, start_shell, command) != 0) return 1;
  (void)usleep(100000);
  if (setenv("CHANGED", "1", 1) != 0 || pthread_join(thread, NULL) != 0) return 1;
  fill_stack();
  bool good = getenv("CHANGED") && !getenv("LD_PRELOAD") && !getenv("ASAN_OPTIONS");
  for (char **e = environ; *e; e++)
    good &= strchr(*e, '=') != NULL;
  puts(good ? "good" : "bad");
  return 0;
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "fork";
  if (strcmp(how, "leaf") == 0) return leaf();
  if (strcmp(how, "quiet") == 0) return 0;
  if (strcmp(how, "vforks") == 0) return vforks(argv[0]);
  if (strcmp(how, "change") == 0) return change_meanwhile();
  char command[512];
  if (strcmp(how, "system") == 0) {
    (void)clearenv();
    (void)snprintf(command, sizeof command, "exec '%s' leaf", argv[0]);
    return system(command);
  }
  if (strcmp(how, "fork") == 0) {
    errno = 0;
    int r = close(-7);
    printf("%d/%s parent\n", r, strerrorname_np(errno));
  }
  (void)fflush(stdout);
  int status = 0;
  pid_t pid = start(how, argv[0]);
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return 1;
  /* A failed exec must still say why. */
  char *none[] = {NULL};
  if (execve("/nowhere", none, none) != -1 || errno != ENOENT) return 2;
  return WEXITSTATUS(status);
}
