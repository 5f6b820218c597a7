/* SPDX-License-Identifier: Apache-2.0 */
/* What a descriptor is, asked by system calls that change nothing. */
#pragma once

#include "runtime.h"

/* Where glibc's FILE has its descriptor; ABI, since programs were once compiled with it. */
#define RT_FILE_FD 112
/* ... and, in words, where its unwritten bytes begin and end */
#define RT_FILE_WRITE_BASE 4
#define RT_FILE_WRITE_AT 5

int rt_fd_kind(int fd) RT_HIDDEN;   /* of enum wire_fd */
int rt_fd_blocks(int fd) RT_HIDDEN; /* 1, 0, -1 */
bool rt_fd_local(int fd) RT_HIDDEN; /* a socket of AF_UNIX */
/* Its path, and how long that is; negative if it has none, or one that does not fit. */
long rt_fd_name(int fd, char *ret, size_t size) RT_HIDDEN;
bool rt_fd_path(int fd, const char *pattern) RT_HIDDEN; /* *, ? and [...] as in a shell; * matches / too */
bool rt_glob(const char *pattern, const char *s, size_t n) RT_HIDDEN;
