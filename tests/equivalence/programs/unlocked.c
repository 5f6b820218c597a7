/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is locked, some for a while only: how much it is at the end. by branches: 100 of 100 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

static char one[PAGE] __attribute__((aligned(PAGE))), two[2 * PAGE] __attribute__((aligned(PAGE)));

static void show(void) {
  char line[256];
  FILE *f = fopen("/proc/self/status", "r");
  if (!f) exit(2);
  while (fgets(line, sizeof line, f))
    if (strncmp(line, "VmLck:", 6) == 0) fputs(line, stdout);
  fclose(f);
}

int main(void) {
  int r = mlock(one, sizeof one) | mlock(two, sizeof two);
  char *first = malloc(10);
  show();
  r |= munlock(two, sizeof two);
  char *second = malloc(20);
  show();
  r |= munlock(one, sizeof one);
  char *third = malloc(30);
  show();
  printf("%d %d %d %d\n", r, first != NULL, second != NULL, third != NULL);
  free(first);
  free(second);
  free(third);
  return 0;
}
