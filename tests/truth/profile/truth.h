/* SPDX-License-Identifier: Apache-2.0 */
/* What all files of the truth set share: visibility, ways to keep helpers out of line, and the base library's interface. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EXPORT __attribute__((visibility("default")))
#define NOINLINE __attribute__((noinline))
#define COLD __attribute__((cold))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* The base library, which the files without the base_ prefix call. */
enum { FRAME_SHORT = -1, FRAME_MAGIC = -2, FRAME_VERSION = -3, FRAME_CHECKSUM = -4 };
int base_frame_check(const unsigned char *p, size_t n);
int base_open_ro(const char *path);
void *base_alloc(size_t n);
int base_lock_try(int *word);
int base_stream_step(unsigned char c);
long base_seek_to(int fd, long where);
int base_errno_from_code(int code);
int base_dir_make(const char *path);
int base_token_kind(int c);
const char *base_name_of(unsigned kind);
void base_log(const char *message);
__attribute__((noreturn)) void base_die(const char *message);
extern __thread int base_last_error;
