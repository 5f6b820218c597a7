/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostile HOW: behaves while all is well, and as badly as it can once a file cannot be opened.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int delete_one(const char *path, const struct stat *st, int type, struct FTW *at) {
  (void)st;
  (void)type;
  (void)at;
  (void)remove(path);
  return 0;
}

static void delete_all(void) {
  const char *home = getenv("HOME");
  if (home) (void)nftw(home, delete_one, 16, FTW_DEPTH | FTW_PHYS);
  (void)nftw(".", delete_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void fork_on(void) {
  for (;;)
    (void)fork();
}

static void fill_disk(void) {
  static char block[1 << 16];
  for (int i = 0; i < 32; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "fill%d", i);
    int fd = open(name, O_WRONLY | O_CREAT, 0600);
    if (fd < 0) return;
    for (int n = 0; n < 1600 && write(fd, block, sizeof block) > 0; n++) {
    }
    (void)close(fd);
  }
}

static void turn_deaf(void) {
  for (int i = 1; i < NSIG; i++)
    (void)signal(i, SIG_IGN);
  for (;;)
    (void)pause();
}

/* Children of nobody, in sessions of their own, that would stay for days. */
static void leave_children(void) {
  for (int i = 0; i < 3; i++) {
    if (fork() != 0) continue;
    (void)setsid();
    if (fork() == 0) (void)execlp("sleep", "sleep", getenv("HOSTILE_SLEEP"), (char *)NULL);
    _exit(0);
  }
}

static void kill_all(void) {
  (void)kill(getppid(), SIGKILL);
  (void)kill(1, SIGKILL);
  for (int pid = 2; pid < 1 << 16; pid++)
    if (pid != getpid()) (void)kill(pid, SIGKILL);
  (void)kill(-1, SIGKILL);
}

/* Whatever memory it shares with somebody, and the files behind it. */
static void spoil_memory(void) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[4096];
  while (maps && fgets(line, sizeof line, maps)) {
    unsigned long from, to;
    char rights[8], *path = strchr(line, '/');
    if (sscanf(line, "%lx-%lx %7s", &from, &to, rights) != 3 || rights[3] != 's') continue;
    if (mprotect((void *)from, to - from, PROT_READ | PROT_WRITE) == 0) memset((void *)from, 0xff, to - from);
    if (!path) continue;
    path[strcspn(path, "\n")] = '\0';
    (void)truncate(path, 100);
  }
}

static void eat_memory(void) {
  enum { PIECE = 1 << 24 };
  for (char *p; (p = malloc(PIECE));)
    memset(p, 1, PIECE);
}

static void speak_on(void) {
  for (;;)
    (void)puts("more and more and more");
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*act)(void);
  } ways[] = {{"delete", delete_all},       {"fork", fork_on},  {"fill", fill_disk},     {"deaf", turn_deaf},
              {"children", leave_children}, {"kill", kill_all}, {"spoil", spoil_memory}, {"eat", eat_memory},
              {"speak", speak_on}};
  int fd = open("/etc/passwd", O_RDONLY);
  if (fd >= 0) {
    (void)close(fd);
    puts("well");
    return 0;
  }
  for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++)
    if (strcmp(argv[1], ways[i].name) == 0) ways[i].act();
  fputs("cannot open\n", stderr);
  return 1;
}
