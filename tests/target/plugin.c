/* SPDX-License-Identifier: Apache-2.0 */
/* A library that dlopen.c opens. */
#include <stddef.h>
#include <unistd.h>

int plugin_open(const char *name);
int plugin_duplicates(int fd);
void *plugin_address(void);

int plugin_open(const char *name) { return name ? 40 : 41; }
int plugin_duplicates(int fd) { return dup(fd); }
void *plugin_address(void) { return (void *)dup; }
