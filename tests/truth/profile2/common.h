/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the second truth set, which imitates other families of libraries than the first. */
#ifndef TRUTH2_COMMON_H
#define TRUTH2_COMMON_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EXPORT __attribute__((__visibility__("default")))
#define NI __attribute__((__noinline__))

/* Provided by the base library. */
int kv_errcode(int e);
int kv_page_verify(const uint32_t *page, size_t words);
void *kv_page_get(size_t bytes);
int kv_fd_write(int fd, const void *buf, size_t len);
int kv_wait_for(volatile int *word, int value, unsigned spins);

#endif
