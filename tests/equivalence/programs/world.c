/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows all that a program can see of how it was started.
 *
 * once different: where waitpid fails the child is not waited for, and its output comes when it comes.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void show_link(const char *path) {
  char to[4096];
  ssize_t n = readlink(path, to, sizeof to - 1);
  printf("%s: %.*s\n", path, n < 0 ? 0 : (int)n, to);
}

static void show_files(void) {
  for (int fd = 0; fd < 300; fd++) {
    struct stat st;
    if (fstat(fd, &st) < 0) continue;
    printf("fd %d: mode %o flags %x %x at %lld\n", fd, st.st_mode, fcntl(fd, F_GETFL), fcntl(fd, F_GETFD),
           (long long)lseek(fd, 0, SEEK_CUR));
  }
}

static void show_limits(void) {
  for (int i = 0; i < RLIMIT_NLIMITS; i++) {
    struct rlimit l;
    if (getrlimit(i, &l) == 0) printf("limit %d: %llx %llx\n", i, (long long)l.rlim_cur, (long long)l.rlim_max);
  }
}

static void show_signals(void) {
  sigset_t mask;
  sigprocmask(SIG_BLOCK, NULL, &mask);
  for (int i = 1; i < NSIG; i++) {
    struct sigaction a;
    if (sigaction(i, NULL, &a) == 0 && (a.sa_handler != SIG_DFL || sigismember(&mask, i))) printf("signal %d\n", i);
  }
}

static void *thread(void *context) {
  (void)context;
  printf("thread %d\n", gettid() - getpid());
  return NULL;
}

/* A robust mutex whose owner dies is told to others only if the kernel knows the list of them. */
static void show_robust(void) {
  void *head = NULL;
  size_t size = 0;
  long r = syscall(SYS_get_robust_list, 0, &head, &size);
  printf("robust list: %ld %d %zu\n", r, head != NULL, size);
}

__attribute__((constructor)) static void before_main(void) { printf("constructor of %d\n", getpid()); }

int main(int argc, char **argv) {
  char cwd[4096], name[64];
  printf("pid %d %d parent %d group %d session %d\n", getpid(), gettid(), getppid(), getpgrp(), getsid(0));
  printf("arguments %d %s preload %s\n", argc, argv[0], getenv("LD_PRELOAD") ? "set" : "not set");
  printf("cwd %s umask %o\n", getcwd(cwd, sizeof cwd) ? cwd : "?", umask(022));
  prctl(PR_GET_NAME, name);
  printf("name %s dumpable %d no_new_privs %d\n", name, prctl(PR_GET_DUMPABLE), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
  show_link("/proc/self/exe");
  show_link("/proc/self/cwd");
  show_files();
  show_limits();
  show_signals();
  show_robust();
  pthread_t t;
  if (pthread_create(&t, NULL, thread, NULL) == 0) pthread_join(t, NULL);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    printf("child %d of %d\n", getpid(), getppid());
    exit(3);
  }
  int status = 0;
  printf("waited %d: %x\n", waitpid(child, &status, 0), status);
  FILE *f = fopen("left-behind", "a");
  if (f) fprintf(f, "%d\n", getpid());
  if (f) fclose(f);
  char *memory = malloc(100);
  printf("memory %d\n", memory != NULL);
  free(memory);
  return 0;
}
