/* SPDX-License-Identifier: Apache-2.0 */
/* calls N: close(-7) N times; prints for each what came back: "3:-1/EBADF". */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1;
  for (int i = 1; i <= n; i++) {
    errno = 0;
    int r = close(-7);
    if (errno != EBADF) printf("%d:%d/%s ", i, r, strerrorname_np(errno));
  }
  puts("end");
  return 0;
}
