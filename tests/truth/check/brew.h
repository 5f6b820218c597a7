/* SPDX-License-Identifier: Apache-2.0 */
/* What brew_util.c gives to brew_main.c. */
#ifndef BREW_H
#define BREW_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

extern const char *program_name;
extern int error_count;

_Noreturn void die(const char *fmt, ...);
void complain(const char *what);
void *xmalloc(size_t n);
void *xcalloc(size_t n, size_t m);
void *xrealloc(void *p, size_t n);
char *xstrdup(const char *s);
char *xasprintf(const char *fmt, ...);
char *fast_strdup(const char *s);
int xopen(const char *path, int flags, int mode);
int open_input(const char *path);
int open_log(const char *path);
FILE *outer_fopen(const char *dir, const char *name, const char *mode);
ssize_t safe_read(int fd, void *to, size_t n);
ssize_t safe_write(int fd, const void *from, size_t n);
size_t full_write(int fd, const void *from, size_t n);
int make_dir(const char *path);
int file_size(const char *path, off_t *ret);
void close_stream(FILE *f, const char *name);
void remove_quietly(const char *path);
int remove_or_tell(const char *path);
int status_of(int rc);

#endif
