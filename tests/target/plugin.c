/* SPDX-License-Identifier: Apache-2.0 */
/* A library that dlopen.c opens. */
#include <stddef.h>
#include <unistd.h>

int plugin_open(const char *name);
int plugin_duplicates(int fd);
void *plugin_address(void);

int plugin_open(const char *name) { return name ? 40 : 41; }

/* Not as a tail call: then the return address, and so the caller, would be that of who called this function. */
int plugin_duplicates(int fd) {
  int copy = dup(fd);
  __asm__ volatile("" : "+r"(copy));
  return copy;
}

void *plugin_address(void) { return (void *)dup; }
