/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that was changed has the device and inode that it had before, and the locks on it are still held, wherever the
 * run began.
 *
 * by branches: 90 of 100
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *paths[] = {"numbers.data",        "numbers.folder", ".", "numbers", "numbers.link",
                              "numbers.folder/file", "numbers.mounts"};
enum { PATHS = sizeof paths / sizeof *paths };
static struct stat before[PATHS], output;

static int same(const struct stat *a, const struct stat *b) { return a->st_dev == b->st_dev && a->st_ino == b->st_ino; }

static void show_numbers(const char *when, int fd) {
  struct stat now = {0}, file = {0};
  struct statx extended = {0};
  for (int i = 0; i < PATHS; i++) {
    memset(&now, 0, sizeof now);
    int r = lstat(paths[i], &now);
    printf("%s %s: %d same %d time %d\n", when, paths[i], r, same(&now, &before[i]),
           memcmp(&now.st_ctim, &before[i].st_ctim, sizeof now.st_ctim) == 0);
  }
  fstat(fd, &file);
  statx(AT_FDCWD, paths[0], 0, STATX_BASIC_STATS, &extended);
  printf("%s descriptor %d statx %d", when, same(&file, &before[0]), extended.stx_ino == before[0].st_ino);
  fstat(1, &now);
  stat("..", &file);
  printf(" output %d up %d\n", same(&now, &output), same(&file, &before[2]));
}

/* Entries of the folder have the inodes that the files were known by before. */
static int find_path(const char *name) {
  for (int i = 0; i < PATHS; i++)
    if (strcmp(paths[i], name) == 0) return i;
  return -1;
}

static void show_entries(const char *when) {
  struct dirent *entry, **list = NULL;
  DIR *d = opendir(".");
  int same_entries = 0, n = scandir(".", &list, NULL, alphasort), same_list = 0;
  for (; d && (entry = readdir(d));) {
    int i = find_path(entry->d_name);
    if (i >= 0 && i != 2) same_entries += before[i].st_ino == entry->d_ino;
  }
  if (d) closedir(d);
  for (int k = 0; k < n; k++) {
    int i = find_path(list[k]->d_name);
    if (i >= 0 && i != 2) same_list += before[i].st_ino == list[k]->d_ino;
    free(list[k]);
  }
  free(list);
  printf("%s entries %d %d\n", when, same_entries, same_list);
}

/* Other descriptions of the files, which stay open: to close one would give the first lock up. */
static void show_locks(const char *when) {
  struct flock all = {.l_type = F_WRLCK};
  int a = open(paths[0], O_RDWR), b = open("numbers.lock", O_RDONLY), r = fcntl(a, F_OFD_GETLK, &all);
  printf("%s %d type %d at %ld and %ld, flock %d\n", when, r, all.l_type, (long)all.l_start, (long)all.l_len,
         flock(b, LOCK_EX | LOCK_NB));
}

int main(void) {
  int fd = open(paths[0], O_RDWR | O_CREAT, 0644), other = open("numbers.lock", O_RDWR | O_CREAT, 0644);
  struct flock range = {.l_type = F_WRLCK, .l_start = 100, .l_len = 50};
  if (fd < 0 || other < 0 || mkdir(paths[1], 0755) < 0 || symlink("numbers", paths[4]) < 0 ||
      symlink("/proc/self/mounts", paths[6]) < 0)
    return 1;
  if (write(fd, "some", 4) != 4 || close(creat(paths[5], 0644)) < 0) return 2;
  for (int i = 0; i < PATHS; i++)
    lstat(paths[i], &before[i]);
  fstat(1, &output);
  int locked = fcntl(fd, F_SETLK, &range), flocked = flock(other, LOCK_EX | LOCK_NB);
  printf("locked %d %d\n", locked, flocked);
  for (int i = 0; i < 2; i++) {
    struct stat st;
    int journal = open("numbers.journal", O_RDWR | O_CREAT, 0644);
    if (journal < 0) puts("no journal");
    if (fstat(journal, &st) == 0 && unlink("numbers.journal") < 0) puts("not removed");
    close(journal);
    char *p = malloc(100);
    if (!p) puts("no memory");
    show_numbers(i ? "second" : "first", fd);
    show_locks(i ? "second" : "first");
    show_entries(i ? "second" : "first");
    free(p);
  }
  if (rename(paths[1], "numbers.other") == 0) paths[1] = "numbers.other", paths[5] = "numbers.other/file";
  if (renameat(AT_FDCWD, paths[4], AT_FDCWD, "numbers.name") == 0) paths[4] = "numbers.name";
  if (!malloc(100)) puts("no memory");
  show_numbers("renamed", fd);
  return lseek(fd, 0, SEEK_CUR) == 4 ? 0 : 3;
}
