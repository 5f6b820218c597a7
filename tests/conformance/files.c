/* SPDX-License-Identifier: Apache-2.0 */
/* Files and descriptors. */
#include "conform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char text[] = "0123456789abcdef";
static char buffer[64];
static struct stat status;
static int fd, other;
static unsigned before;

static void file_prepare(int flags) {
  make_file("file", text);
  fd = openat(AT_FDCWD, "file", flags);
  before = x_count_open();
  paint(buffer, sizeof(buffer));
}

/* --- open, openat ------------------------------------------------------------------------------------------------- */

static void open_prepare(uint64_t *args) { args[0] = ARG("new"), args[1] = O_CREAT | O_RDWR, args[2] = 0640; }

static void openat_prepare(uint64_t *args) {
  args[0] = (uint64_t)AT_FDCWD, args[1] = ARG("new"), args[2] = O_CREAT | O_RDWR, args[3] = 0640;
}

static void open_unchanged(void) { effect(!x_exists("new"), "the file is not created"); }

static void open_done(uint64_t result) {
  effect(x_is_open((int)result), "the descriptor is open");
  argument(x_mode("new") == 0640, "the mode, a variadic argument, arrives");
}

/* --- read, pread, write, lseek ------------------------------------------------------------------------------------ */

static void read_prepare(uint64_t *args) {
  file_prepare(O_RDONLY);
  args[0] = (uint64_t)fd, args[1] = ARG(buffer), args[2] = 8;
}

static void read_unchanged(void) {
  effect(x_offset(fd) == 0, "the file offset has not moved");
  argument(painted(buffer, sizeof(buffer)), "the buffer is not written to");
}

static void read_done(uint64_t result) {
  check(result == 8, "result", "the count, in all 64 bits");
  effect(x_offset(fd) == 8, "the file offset has moved");
  argument(memcmp(buffer, text, 8) == 0 && painted(buffer + 8, 8), "the buffer holds what was read");
}

static void pread_prepare(uint64_t *args) {
  read_prepare(args);
  args[3] = 4;
}

static void pread_done(uint64_t result) {
  check(result == 8, "result", "the count, in all 64 bits");
  argument(memcmp(buffer, text + 4, 8) == 0 && painted(buffer + 8, 8), "the buffer holds what was read");
}

static void write_prepare(uint64_t *args) {
  file_prepare(O_WRONLY);
  args[0] = (uint64_t)fd, args[1] = ARG("XY"), args[2] = 2;
}

static void write_unchanged(void) {
  effect(x_file_is("file", text), "the file is as it was");
  effect(x_offset(fd) == 0, "the file offset has not moved");
}

static void write_done(uint64_t result) {
  (void)result;
  effect(x_file_is("file", "XY23456789abcdef"), "the file holds what was written");
  effect(x_offset(fd) == 2, "the file offset has moved");
}

static void lseek_prepare(uint64_t *args) {
  file_prepare(O_RDONLY);
  args[0] = (uint64_t)fd, args[1] = 7, args[2] = SEEK_SET;
}

static void lseek_unchanged(void) { effect(x_offset(fd) == 0, "the file offset has not moved"); }

static void lseek_done(uint64_t result) {
  check(result == 7, "result", "the offset, in all 64 bits");
  effect(x_offset(fd) == 7, "the file offset has moved");
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static void stat_prepare(uint64_t *args) {
  make_file("file", text);
  paint(&status, sizeof(status));
  args[0] = ARG("file"), args[1] = ARG(&status);
}

static void stat_unchanged(void) { argument(painted(&status, sizeof(status)), "the structure is not written to"); }

static void stat_done(uint64_t result) {
  check((int)result == 0, "result", "0");
  argument(status.st_size == (off_t)strlen(text), "the structure is filled in");
}

static void unlink_prepare(uint64_t *args) {
  make_file("file", text);
  args[0] = ARG("file");
}

static void unlink_unchanged(void) { effect(x_file_is("file", text), "the file is still there"); }

static void unlink_done(uint64_t result) {
  (void)result;
  effect(!x_exists("file"), "the file is gone");
}

static void rename_prepare(uint64_t *args) {
  make_file("file", text);
  args[0] = ARG("file"), args[1] = ARG("new");
}

static void rename_unchanged(void) { effect(x_exists("file") && !x_exists("new"), "the file has its old name"); }

static void rename_done(uint64_t result) {
  (void)result;
  effect(!x_exists("file") && x_file_is("new", text), "the file has its new name");
}

static void readlink_prepare(uint64_t *args) {
  if (symlink("somewhere", "link") != 0) x_exit(98);
  paint(buffer, sizeof(buffer));
  args[0] = ARG("link"), args[1] = ARG(buffer), args[2] = sizeof(buffer);
}

static void readlink_unchanged(void) { argument(painted(buffer, sizeof(buffer)), "the buffer is not written to"); }

static void readlink_done(uint64_t result) {
  check(result == 9, "result", "the length, in all 64 bits");
  argument(memcmp(buffer, "somewhere", 9) == 0, "the buffer holds the name");
}

static void chmod_prepare(uint64_t *args) {
  make_file("file", text);
  args[0] = ARG("file"), args[1] = 0444;
}

static void chmod_unchanged(void) { effect(x_mode("file") == 0600, "the mode is as it was"); }

static void chmod_done(uint64_t result) {
  check((int)result == 0, "result", "0");
  effect(x_mode("file") == 0444, "the mode is changed");
}

/* --- descriptors -------------------------------------------------------------------------------------------------- */

static void ftruncate_prepare(uint64_t *args) {
  file_prepare(O_WRONLY);
  args[0] = (uint64_t)fd, args[1] = 3;
}

static void ftruncate_unchanged(void) { effect(x_file_is("file", text), "the file is as it was"); }

static void ftruncate_done(uint64_t result) {
  check((int)result == 0, "result", "0");
  effect(x_file_is("file", "012"), "the file is shorter");
}

static void descriptor_prepare(uint64_t *args) {
  file_prepare(O_RDWR);
  args[0] = (uint64_t)fd;
}

static void is_zero(uint64_t result) { check((int)result == 0, "result", "0"); }

static void close_unchanged(void) { effect(x_is_open(fd), "the descriptor is still open"); }

static void close_done(uint64_t result) {
  (void)result;
  effect(!x_is_open(fd), "the descriptor is closed");
}

static void dup_unchanged(void) { effect(x_count_open() == before, "no descriptor was made"); }

static void dup_done(uint64_t result) {
  effect((int)result != fd && x_is_open((int)result) && x_count_open() == before + 1, "there is a new descriptor");
}

static void dup2_prepare(uint64_t *args) {
  descriptor_prepare(args);
  make_file("second", "second");
  other = openat(AT_FDCWD, "second", O_RDONLY);
  args[1] = (uint64_t)other;
}

static bool other_is(const char *name) {
  char path[40], target[400] = "", *end;
  snprintf(path, sizeof(path), "/proc/self/fd/%d", other);
  ssize_t n = readlink(path, target, sizeof(target) - 1);
  if (n < 0) return false;
  target[n] = 0;
  end = strrchr(target, '/');
  return end && strcmp(end + 1, name) == 0;
}

static void dup2_unchanged(void) { effect(other_is("second"), "the second descriptor is what it was"); }

static void dup2_done(uint64_t result) {
  check((int)result == other, "result", "the descriptor");
  effect(other_is("file"), "the second descriptor is replaced");
}

static void fcntl_prepare(uint64_t *args) {
  descriptor_prepare(args);
  args[1] = F_DUPFD, args[2] = 57;
}

static void fcntl_done(uint64_t result) {
  check((int)result == 57, "result", "the descriptor");
  argument(x_is_open(57), "the variadic argument arrives");
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

static const struct function_case cases[] = {
    {"open", open, INT, -1, EACCES, 0, 0, open_prepare, open_unchanged, open_done},
    {"openat", openat, INT, -1, EMFILE, 0, 0, openat_prepare, open_unchanged, open_done},
    {"read", read, LONG, -1, EIO, 0, 0, read_prepare, read_unchanged, read_done},
    {"pread", pread, LONG, -1, EIO, 0, 0, pread_prepare, read_unchanged, pread_done},
    {"write", write, LONG, -1, ENOSPC, 0, 0, write_prepare, write_unchanged, write_done},
    {"lseek", lseek, LONG, -1, EINVAL, 0, 0, lseek_prepare, lseek_unchanged, lseek_done},
    {"stat", stat, INT, -1, EACCES, 0, 0, stat_prepare, stat_unchanged, stat_done},
    {"unlink", unlink, INT, -1, EPERM, 0, 0, unlink_prepare, unlink_unchanged, unlink_done},
    {"rename", rename, INT, -1, EXDEV, 0, 0, rename_prepare, rename_unchanged, rename_done},
    {"readlink", readlink, LONG, -1, EACCES, 0, 0, readlink_prepare, readlink_unchanged, readlink_done},
    {"chmod", chmod, INT, -1, EROFS, 0, 0, chmod_prepare, chmod_unchanged, chmod_done},
    {"ftruncate", ftruncate, INT, -1, EFBIG, 0, 0, ftruncate_prepare, ftruncate_unchanged, ftruncate_done},
    {"fsync", fsync, INT, -1, EIO, 0, 0, descriptor_prepare, NULL, is_zero},
    {"close", close, INT, -1, EIO, 0, 0, descriptor_prepare, close_unchanged, close_done},
    {"dup", dup, INT, -1, EMFILE, 0, 0, descriptor_prepare, dup_unchanged, dup_done},
    {"dup2", dup2, INT, -1, EBUSY, 0, 0, dup2_prepare, dup2_unchanged, dup2_done},
    {"fcntl", fcntl, INT, -1, EMFILE, 0, 0, fcntl_prepare, dup_unchanged, fcntl_done},
    {"close", close, INT, -1, EIO, 0, THEN, descriptor_prepare, NULL, close_done},
    {"write", write, LONG, -1, EIO, 0, THEN, write_prepare, NULL, write_done},
    {"unlink", unlink, INT, -1, EIO, 0, THEN, unlink_prepare, NULL, unlink_done},
    {"rename", rename, INT, -1, EIO, 0, THEN, rename_prepare, NULL, rename_done},
};
FAMILY(files, cases);
