/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owner of a file need not have a name; ls shows a number then.
 *
 * setup: echo x > thing
 * args: thing
 * expect: crash
 */
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int main(int argc, char **argv) {
  int status = 0;
  for (int i = 1; i < argc; i++) {
    struct stat st;
    char number[2][16];
    if (lstat(argv[i], &st) < 0) {
      perror(argv[i]);
      status = 1;
      continue;
    }
    const struct passwd *pw = getpwuid(st.st_uid);
    const struct group *gr = getgrgid(st.st_gid);
#ifdef FIXED
    snprintf(number[0], sizeof number[0], "%u", (unsigned)st.st_uid);
    snprintf(number[1], sizeof number[1], "%u", (unsigned)st.st_gid);
    printf("%-8s %-8s %s\n", pw ? pw->pw_name : number[0], gr ? gr->gr_name : number[1], argv[i]);
#else
    printf("%-8.*s %-8.*s %s\n", (int)strlen(pw->pw_name), pw->pw_name, (int)strlen(gr->gr_name), gr->gr_name, argv[i]);
#endif
  }
  return fflush(stdout) ? 1 : status;
}
