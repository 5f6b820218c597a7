/* SPDX-License-Identifier: Apache-2.0 */
/* opened LIBRARY: opens it for itself alone and calls its target_nothing, and libc's close, by dlsym. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), *libc = dlopen("libc.so.6", RTLD_NOW);
  if (!library || !libc) return 1;
  long (*nothing)(long) = (long (*)(long))dlsym(library, "target_nothing");
  int (*by_handle)(int) = (int (*)(int))dlsym(libc, "close");
  int (*by_default)(int) = (int (*)(int))dlsym(RTLD_DEFAULT, "close");
  int (*by_next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "close");
  int (*by_version)(int) = (int (*)(int))dlvsym(libc, "close", "GLIBC_2.2.5");
  if (!nothing || !by_handle || !by_default || !by_next || !by_version || dlsym(library, "not there")) return 1;
  printf("%ld", nothing(7));
  int (*all[])(int) = {close, by_handle, by_default, by_next, by_version};
  for (int i = 0; i < 5; i++) {
    errno = 0;
    (void)all[i](-7);
    printf(" %s", strerrorname_np(errno));
  }
  printf(" %s\n", by_handle == close && by_default == close ? "equal" : "different");
  return dlclose(library);
}
