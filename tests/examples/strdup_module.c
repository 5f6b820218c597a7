/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AFEX, figure 7: a web server keeps a strdup'ed module name that may be NULL, and uses it later.
 *
 * expect: crash
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct module {
  char *name;
  int number;
};

static struct module modules[3];

static int add_module(int i, const char *name) {
  modules[i].name = strdup(name);
#ifdef FIXED
  if (!modules[i].name) return -1;
#endif
  modules[i].number = i;
  return 0;
}

int main(void) {
  static const char *const names[] = {"core", "auth", "log"};
  for (int i = 0; i < 3; i++)
    if (add_module(i, names[i]) < 0) {
      fputs("out of memory while modules were added\n", stderr);
      return 1;
    }
  for (int i = 0; i < 3; i++)
    printf("%d %zu\n", modules[i].number, strlen(modules[i].name));
  for (int i = 0; i < 3; i++)
    free(modules[i].name);
  return 0;
}
