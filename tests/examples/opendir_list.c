/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LFI, table III: opendir's NULL goes to readdir, as five times in git.
 *
 * expect: crash
 */
#include <dirent.h>
#include <stdio.h>

int main(void) {
  DIR *d = opendir("/etc/skel");
#ifdef FIXED
  if (!d) {
    perror("/etc/skel");
    return 1;
  }
#endif
  int n = 0;
  while (readdir(d))
    n++;
  printf("%d entries\n", n > 2);
  closedir(d);
  return 0;
}
