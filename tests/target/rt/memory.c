/* SPDX-License-Identifier: Apache-2.0 */
/* memory: five times malloc(100), and which came back NULL; whose malloc it is, if it has jemalloc's own function. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  char failed[6] = ".....";
  void *all[5];
  for (int i = 0; i < 5; i++) {
    errno = 0;
    all[i] = malloc(100);
    if (!all[i]) failed[i] = errno == ENOMEM ? 'E' : 'e';
  }
  for (int i = 0; i < 5; i++)
    free(all[i]);
  size_t (*usable)(const void *) = (size_t(*)(const void *))dlsym(RTLD_DEFAULT, "sallocx");
  printf("%s %s\n", failed, usable ? "jemalloc" : "libc");
  return 0;
}
