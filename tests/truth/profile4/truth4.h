/* SPDX-License-Identifier: Apache-2.0 */
/* What all files of this set include. */
#pragma once
#include "../profile/truth.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
int b4_check_header(const unsigned char *p, size_t n);
int b4_config_get(const char *key, int *out);
void *b4_buffer_new(size_t n);
int b4_open_log(const char *path);
int b4_trylock(int *l);
ssize_t b4_read_full(int fd, void *buf, size_t n);
int b4_map_status(int s);
size_t b4_decode(const unsigned char *p, size_t n);
void b4_trace(const char *m);
extern int (*b4_hook)(int);
