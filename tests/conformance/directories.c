/* SPDX-License-Identifier: Apache-2.0 */
/* Directories and paths. */
#include "conform.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static DIR *dir;
static struct dirent **entries;
static char buffer[400], template[20];
static unsigned before;
static int fd;

static void here(char *ret, size_t n) {
  if (x_call(SYS_getcwd, (long)ret, (long)n, 0, 0, 0, 0) < 0) ret[0] = 0;
}

static void is_zero(uint64_t result) { check((int)result == 0, "result", "0"); }

static void opendir_prepare(uint64_t *args) {
  before = x_count_open();
  args[0] = ARG(".");
}

static void opendir_unchanged(void) { effect(x_count_open() == before, "no descriptor is made"); }

static void opendir_done(uint64_t result) {
  check(result != 0 && x_is_open(dirfd((DIR *)result)), "result", "a directory, in all 64 bits");
}

static void readdir_prepare(uint64_t *args) {
  make_file("file", "");
  dir = opendir(".");
  fd = dirfd(dir);
  args[0] = ARG(dir);
}

static void readdir_unchanged(void) { effect(x_offset(fd) == 0, "nothing is read"); }

static void readdir_done(uint64_t result) {
  const struct dirent *d = (const struct dirent *)result;
  check(d && d->d_name[0] != 0, "result", "an entry, in all 64 bits");
}

static void closedir_unchanged(void) { effect(x_is_open(fd), "the directory is still open"); }

static void closedir_done(uint64_t result) {
  is_zero(result);
  effect(x_count_open() == before, "the descriptor is closed");
}

static void closedir_prepare(uint64_t *args) {
  before = x_count_open();
  readdir_prepare(args);
}

static void mkdir_prepare(uint64_t *args) { args[0] = ARG("new"), args[1] = 0750; }
static void mkdir_unchanged(void) { effect(!x_exists("new"), "the directory is not made"); }

static void mkdir_done(uint64_t result) {
  is_zero(result);
  effect(x_mode("new") == 0750, "the directory is made");
}

static void folder_prepare(uint64_t *args) {
  if (mkdir("folder", 0700) != 0) x_exit(98);
  here(buffer, sizeof(buffer));
  args[0] = ARG("folder");
}

static void rmdir_unchanged(void) { effect(x_exists("folder"), "the directory is still there"); }

static void rmdir_done(uint64_t result) {
  is_zero(result);
  effect(!x_exists("folder"), "the directory is gone");
}

static bool moved(void) {
  char now[400];
  here(now, sizeof(now));
  return strcmp(now, buffer) != 0;
}

static void chdir_unchanged(void) { effect(!moved(), "the working directory is the same"); }

static void chdir_done(uint64_t result) {
  is_zero(result);
  effect(moved(), "the working directory is another");
}

static void getcwd_prepare(uint64_t *args) {
  paint(buffer, sizeof(buffer));
  args[0] = ARG(buffer), args[1] = sizeof(buffer);
}

static void getcwd_unchanged(void) { argument(painted(buffer, sizeof(buffer)), "the buffer is not written to"); }

static void getcwd_done(uint64_t result) {
  check(result == ARG(buffer), "result", "the buffer's address, in all 64 bits");
  argument(!moved(), "the buffer holds the path");
}

static void scandir_prepare(uint64_t *args) {
  paint(&entries, sizeof(entries));
  before = x_count_open();
  args[0] = ARG("."), args[1] = ARG(&entries), args[3] = ARG(alphasort);
}

static void scandir_unchanged(void) {
  opendir_unchanged();
  argument(painted(&entries, sizeof(entries)), "the list is not written to");
}

static void scandir_done(uint64_t result) {
  check((int)result == 2, "result", "the count");
  argument(strcmp(entries[1]->d_name, "..") == 0, "the list is filled in, and sorted by the function given");
}

static void mkstemp_prepare(uint64_t *args) {
  strcpy(template, "nameXXXXXX");
  before = x_count_open();
  args[0] = ARG(template);
}

static void mkstemp_done(uint64_t result) {
  effect(x_is_open((int)result) && x_exists(template), "the file is there");
  argument(strcmp(template, "nameXXXXXX") != 0, "the template is the name");
}

static void mkdtemp_unchanged(void) { effect(!x_exists(template), "the directory is not made"); }

static void mkdtemp_done(uint64_t result) {
  check(result == ARG(template), "result", "the template's address, in all 64 bits");
  effect(x_mode(template) == 0700, "the directory is there");
}

static void realpath_prepare(uint64_t *args) {
  make_file("file", "");
  args[0] = ARG("./././file"), args[1] = 0;
}

static void realpath_done(uint64_t result) {
  check(result != 0 && strstr((char *)result, "/file") != NULL, "result", "the path, in all 64 bits");
}

static const struct function_case cases[] = {
    {"opendir", opendir, LONG, 0, EACCES, 0, 0, opendir_prepare, opendir_unchanged, opendir_done},
    {"readdir", readdir, LONG, 0, EIO, 0, 0, readdir_prepare, readdir_unchanged, readdir_done},
    {"closedir", closedir, INT, -1, EBADF, 0, ONE_CALL | MEMORY_OPEN, closedir_prepare, closedir_unchanged,
     closedir_done},
    {"mkdir", mkdir, INT, -1, ENOSPC, 0, 0, mkdir_prepare, mkdir_unchanged, mkdir_done},
    {"rmdir", rmdir, INT, -1, ENOTEMPTY, 0, 0, folder_prepare, rmdir_unchanged, rmdir_done},
    {"chdir", chdir, INT, -1, EACCES, 0, 0, folder_prepare, chdir_unchanged, chdir_done},
    {"getcwd", getcwd, LONG, 0, ERANGE, 0, 0, getcwd_prepare, getcwd_unchanged, getcwd_done},
    {"scandir", scandir, INT, -1, ENOMEM, 0, SUCCESS_OPEN, scandir_prepare, scandir_unchanged, scandir_done},
    {"mkstemp", mkstemp, INT, -1, EEXIST, 0, ONE_CALL, mkstemp_prepare, opendir_unchanged, mkstemp_done},
    {"mkdtemp", mkdtemp, LONG, 0, EACCES, 0, ONE_CALL, mkstemp_prepare, mkdtemp_unchanged, mkdtemp_done},
    {"realpath", realpath, LONG, 0, ELOOP, 0, SUCCESS_OPEN, realpath_prepare, NULL, realpath_done},
};
FAMILY(directories, cases);
