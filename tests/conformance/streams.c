/* SPDX-License-Identifier: Apache-2.0 */
/* Streams. Those that are written to are unbuffered, so that a failure of the system call below is one of the call. */
#include "conform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] = "0123456789\nabcdef\n";
static FILE *f;
static char buffer[64], stream_buffer[4096], *line;
static size_t line_size;
static int fd;
static unsigned before;

static void stream_open(const char *how) {
  make_file("file", text);
  f = fdopen(openat(AT_FDCWD, "file", how[0] == 'r' ? O_RDONLY : O_WRONLY | O_TRUNC), how);
  if (!f) x_exit(98);
  fd = fileno(f);
  /* With a buffer of its own, libc has none to allocate. */
  setvbuf(f, stream_buffer, _IOFBF, sizeof(stream_buffer));
  paint(buffer, sizeof(buffer));
}

static void reader_prepare(uint64_t *args) {
  stream_open("r");
  args[0] = ARG(f);
}

static void writer_prepare(uint64_t *args) {
  stream_open("w");
  setvbuf(f, NULL, _IONBF, 0);
  args[0] = ARG(f);
}

static void nothing_written(void) { effect(x_size("file") == 0, "nothing is written"); }
static void nothing_read(void) { effect(x_offset(fd) == 0, "nothing is read"); }

/* --- open and close ----------------------------------------------------------------------------------------------- */

static void fopen_prepare(uint64_t *args) { args[0] = ARG("new"), args[1] = ARG("w"); }
static void fopen_unchanged(void) { effect(!x_exists("new"), "the file is not created"); }

static void fopen_done(uint64_t result) {
  check(result != 0 && fileno((FILE *)result) > 2, "result", "a stream, in all 64 bits");
  effect(x_exists("new"), "the file is created");
}

static void fdopen_prepare(uint64_t *args) {
  make_file("file", text);
  fd = openat(AT_FDCWD, "file", O_RDONLY);
  args[0] = (uint64_t)fd, args[1] = ARG("r");
}

static void fdopen_unchanged(void) { effect(x_is_open(fd), "the descriptor is still open"); }

static void fdopen_done(uint64_t result) {
  check(result != 0 && fileno((FILE *)result) == fd, "result", "a stream, in all 64 bits");
}

static void fclose_prepare(uint64_t *args) {
  stream_open("w");
  if (fwrite("kept", 1, 4, f) != 4) x_exit(98);
  args[0] = ARG(f);
}

static void fclose_done(uint64_t result) {
  (void)result;
  effect(x_file_is("file", "kept"), "what was in the buffer is written");
  effect(!x_is_open(fd), "the descriptor is closed");
}

static void tmpfile_prepare(uint64_t *args) {
  (void)args;
  before = x_count_open();
}

static void tmpfile_unchanged(void) { effect(x_count_open() == before, "no file is open"); }

static void tmpfile_done(uint64_t result) {
  check(result != 0, "result", "a stream, in all 64 bits");
  effect(x_count_open() == before + 1, "a file is open");
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static void fread_prepare(uint64_t *args) {
  stream_open("r");
  args[0] = ARG(buffer), args[1] = 1, args[2] = 8, args[3] = ARG(f);
}

static void fread_unchanged(void) {
  nothing_read();
  argument(painted(buffer, sizeof(buffer)), "the buffer is not written to");
}

static void fread_done(uint64_t result) {
  check(result == 8, "result", "the count, in all 64 bits");
  argument(memcmp(buffer, text, 8) == 0 && painted(buffer + 8, 8), "the buffer holds what was read");
}

static void fgets_prepare(uint64_t *args) {
  stream_open("r");
  args[0] = ARG(buffer), args[1] = sizeof(buffer), args[2] = ARG(f);
}

static void fgets_done(uint64_t result) {
  check(result == ARG(buffer), "result", "the buffer's address, in all 64 bits");
  argument(strcmp(buffer, "0123456789\n") == 0, "the buffer holds the line");
}

static void getc_done(uint64_t result) { check((int)result == '0', "result", "the character"); }

static void getline_prepare(uint64_t *args) {
  stream_open("r");
  args[0] = ARG(&line), args[1] = ARG(&line_size), args[2] = ARG(f);
}

static void getline_unchanged(void) {
  nothing_read();
  argument(line ? line_size > 0 : line_size == 0, "buffer and size agree");
}

static void getline_done(uint64_t result) {
  check(result == 11, "result", "the length, in all 64 bits");
  argument(line && strcmp(line, "0123456789\n") == 0, "the buffer holds the line");
}

static int scanned;

static void fscanf_prepare(uint64_t *args) {
  stream_open("r");
  scanned = -77;
  args[0] = ARG(f), args[1] = ARG("%6d"), args[2] = ARG(&scanned);
}

static void fscanf_unchanged(void) {
  nothing_read();
  argument(scanned == -77, "the variable is not written to");
}

static void fscanf_done(uint64_t result) {
  double real = 0;
  check((int)result == 1, "result", "the count");
  argument(scanned == 12345, "the variable, a variadic argument, holds the number");
  argument(fscanf(f, "%4lf", &real) == 1 && real == 6789, "a floating-point number is read");
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static void fwrite_prepare(uint64_t *args) {
  writer_prepare(args);
  args[0] = ARG("datadata"), args[1] = 4, args[2] = 2, args[3] = ARG(f);
}

static void fwrite_done(uint64_t result) {
  check(result == 2, "result", "the count, in all 64 bits");
  effect(x_file_is("file", "datadata"), "the data are written");
}

static void fputs_prepare(uint64_t *args) {
  writer_prepare(args);
  args[0] = ARG("data"), args[1] = ARG(f);
}

static void fputs_done(uint64_t result) {
  check((int)result >= 0, "result", "not negative");
  effect(x_file_is("file", "data"), "the data are written");
}

static void fprintf_prepare(uint64_t *args) {
  writer_prepare(args);
  args[1] = ARG("%d %s %ld %x\n"), args[2] = 7, args[3] = ARG("seven"), args[4] = (uint64_t)-8l, args[5] = 0xabc;
}

static void fprintf_done(uint64_t result) {
  check((int)result == 15, "result", "the length");
  effect(x_file_is("file", "7 seven -8 abc\n"), "the data are written");
  int n = fprintf(f, "%.2f %d %.1f %s %.3f %d %.1f %d %.1f %d %.1f %d %.1f %.1f %.1f %.1Lf\n", 1.25, 1, 2.5, "two",
                  3.125, 3, 4.5, 4, 5.5, 5, 6.5, 6, 7.5, 8.5, 9.5, 10.5L);
  argument(n > 0 && x_file_is("file", "7 seven -8 abc\n1.25 1 2.5 two 3.125 3 4.5 4 5.5 5 6.5 6 7.5 8.5 9.5 10.5\n"),
           "floating-point arguments arrive, in registers and on the stack");
}

static void fflush_prepare(uint64_t *args) {
  stream_open("w");
  if (fwrite("kept", 1, 4, f) != 4) x_exit(98);
  args[0] = ARG(f);
}

static void fflush_done(uint64_t result) {
  check((int)result == 0, "result", "0");
  effect(x_file_is("file", "kept"), "what was in the buffer is written");
}

static void fseek_prepare(uint64_t *args) {
  stream_open("r");
  args[0] = ARG(f), args[1] = 7, args[2] = SEEK_SET;
}

static void fseek_done(uint64_t result) {
  check((int)result == 0, "result", "0");
  effect(getc(f) == '7', "reading goes on there");
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

static const struct function_case cases[] = {
    {"fopen", fopen, LONG, 0, EMFILE, 0, MEMORY_OPEN, fopen_prepare, fopen_unchanged, fopen_done},
    {"fdopen", fdopen, LONG, 0, ENOMEM, 0, 0, fdopen_prepare, fdopen_unchanged, fdopen_done},
    /* What has become of the stream is not looked at: a program must not touch it after fclose. */
    {"fclose", fclose, INT, EOF, EIO, 0, ONE_CALL | MEMORY_OPEN, fclose_prepare, NULL, fclose_done},
    {"tmpfile", tmpfile, LONG, 0, EMFILE, 0, 0, tmpfile_prepare, tmpfile_unchanged, tmpfile_done},
    {"fread", fread, LONG, 0, EIO, 4, 0, fread_prepare, fread_unchanged, fread_done},
    {"fgets", fgets, LONG, 0, EIO, 3, 0, fgets_prepare, nothing_read, fgets_done},
    {"getc", getc, INT, EOF, EIO, 1, 0, reader_prepare, nothing_read, getc_done},
    {"getline", getline, LONG, -1, EIO, 3, ONE_CALL | MEMORY_OPEN, getline_prepare, getline_unchanged, getline_done},
    {"fscanf", fscanf, INT, EOF, EIO, 1, 0, fscanf_prepare, fscanf_unchanged, fscanf_done},
    {"fwrite", fwrite, LONG, 0, ENOSPC, 4, 0, fwrite_prepare, nothing_written, fwrite_done},
    {"fputs", fputs, INT, EOF, ENOSPC, 2, 0, fputs_prepare, nothing_written, fputs_done},
    {"fprintf", fprintf, INT, -1, ENOSPC, 1, 0, fprintf_prepare, nothing_written, fprintf_done},
    {"fflush", fflush, INT, EOF, ENOSPC, 1, ONE_CALL, fflush_prepare, nothing_written, fflush_done},
    {"fseek", fseek, INT, -1, ESPIPE, 0, 0, fseek_prepare, nothing_read, fseek_done},
    {"fclose", fclose, INT, EOF, EIO, 0, THEN, fclose_prepare, NULL, fclose_done},
};
FAMILY(stdio, cases);
