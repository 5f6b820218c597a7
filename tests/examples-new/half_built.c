/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is built in parts is freed in all its parts, also in those that it never got. Built with AddressSanitizer.
 *
 * args: http localhost /index
 * build: -fsanitize=address
 * expect: sanitizer
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct url {
  char *scheme, *host, *path;
};

static void url_free(struct url *u) {
  free(u->scheme);
  free(u->host);
  free(u->path);
  free(u);
}

static struct url *url_new(char **parts) {
#ifdef FIXED
  struct url *u = calloc(1, sizeof *u);
#else
  struct url *u = malloc(sizeof *u);
#endif
  if (!u) return NULL;
  if (!(u->scheme = strdup(parts[0])) || !(u->host = strdup(parts[1])) || !(u->path = strdup(parts[2]))) {
    url_free(u);
    return NULL;
  }
  return u;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  struct url *u = url_new(argv + 1);
  if (!u) {
    fprintf(stderr, "out of memory\n");
    return 1;
  }
  printf("%s://%s%s\n", u->scheme, u->host, u->path);
  url_free(u);
  return fflush(stdout) ? 1 : 0;
}
