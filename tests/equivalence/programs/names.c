/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One function by two names, so that it has two rules; and one that is called again from another place in the same
 * caller, where a fault that stays comes again if the first argument is the same.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void say(const char *what) {
  printf("%s: ", what);
  printf("%s: ", what);
  printf("%s\n", strerror(errno));
}

int main(void) {
  int (*volatile other)(const char *, int, ...) = open64;
  int a = open("names.out", O_WRONLY | O_CREAT, 0666);
  if (a < 0) say("open");
  int b = open64("names.out", O_WRONLY);
  if (b < 0) say("open64");
  int c = other("names.out", O_WRONLY);
  errno = 0;
  say("end");
  return a < 0 || b < 0 || c < 0 || close(a) < 0 || close(b) < 0 || close(c) < 0;
}
