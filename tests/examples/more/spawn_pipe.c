/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of a command is read through a pipe. If it was not started, the own end for writing stays open, and the
 * end never comes.
 *
 * expect: hang
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void die(const char *what, int e) {
  fprintf(stderr, "spawnsort: %s: %s\n", what, strerror(e));
  exit(1);
}

int main(void) {
  char *argv[] = {"sh", "-c", "printf 'pear\\napple\\nfig\\n' | sort", NULL};
  posix_spawn_file_actions_t fa;
  pid_t pid = -1;
  int p[2], e, st;

  if (pipe(p)) die("pipe", errno);
  if ((e = posix_spawn_file_actions_init(&fa)) || (e = posix_spawn_file_actions_adddup2(&fa, p[1], 1)) ||
      (e = posix_spawn_file_actions_addclose(&fa, p[0])) || (e = posix_spawn_file_actions_addclose(&fa, p[1])))
    die("file actions", e);
  e = posix_spawn(&pid, "/bin/sh", &fa, NULL, argv, environ);
#ifndef FIXED
  if (e == 0) close(p[1]);
#else
  if (e) die("/bin/sh", e);
  close(p[1]);
#endif
  posix_spawn_file_actions_destroy(&fa);

  FILE *f = fdopen(p[0], "r");
  if (!f) die("fdopen", errno);
  char line[128];
  int n = 0;
  while (fgets(line, sizeof line, f))
    printf("%d: %s", ++n, line);
  if (ferror(f)) die("read", errno);
  fclose(f);
  while (waitpid(pid, &st, 0) < 0)
    if (errno != EINTR) die("waitpid", errno);
  if (!WIFEXITED(st) || WEXITSTATUS(st)) {
    fprintf(stderr, "spawnsort: command failed\n");
    return 1;
  }
  if (fflush(stdout) || ferror(stdout)) die("stdout", errno);
  return 0;
}
