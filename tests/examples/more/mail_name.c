/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asprintf tells by -1 that it made no text; what the pointer then is, nobody knows. Who somebody is and where may be
 * unknown, and then a number or "localhost" has to do.
 *
 * args: box
 * expect: crash
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  char host[65] = "localhost", number[16];
  if (gethostname(host, sizeof host - 1) < 0) strcpy(host, "localhost");
  struct passwd *pw = getpwuid(getuid());
  snprintf(number, sizeof number, "%d", (int)getuid());
  const char *user = pw ? pw->pw_name : number;
  if (mkdir(argv[1], 0700) < 0 && errno != EEXIST) {
    perror(argv[1]);
    return 1;
  }
  char *path;
#ifdef FIXED
  if (asprintf(&path, "%s/mail", argv[1]) < 0) {
    perror(argv[1]);
    return 1;
  }
#else
  path = NULL;
  asprintf(&path, "%s/mail", argv[1]);
  size_t n = strlen(path);
  if (n > 200) return 1;
#endif
  FILE *f = fopen(path, "a");
  if (!f) {
    perror(path);
    free(path);
    return 1;
  }
  fprintf(f, "From %s@%s\n", user, host);
  if (ferror(f) | fclose(f)) {
    perror(path);
    free(path);
    return 1;
  }
  free(path);
  return 0;
}
