/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the third truth set. */
#ifndef TRUTH3_LIB_H
#define TRUTH3_LIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EXPORT __attribute__((visibility("default")))
#define OUTLINE __attribute__((noinline))

/* base_bus.c */
struct bus;
int bus_new(struct bus **ret);
struct bus *bus_unref(struct bus *b);
int bus_attach_file(struct bus *b, const char *path);
int bus_message_size(int type, size_t count, size_t *ret);
int bus_parse_port(const char *s, uint16_t *ret);

/* base_err.c */
struct err_record { int domain, code; char text[64]; };
void err_raise(int lib, int reason);
unsigned long err_peek(void);
int err_fill(struct err_record *e, int domain, int code, const char *text);
void *xm_calloc(size_t n, size_t size);
int os_full_read(int fd, void *buf, size_t n);
void chunk_abort(void *ctx, const char *why) __attribute__((noreturn));

#endif
