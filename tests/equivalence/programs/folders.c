/* SPDX-License-Identifier: Apache-2.0 */
/* Lists folders that it has filled itself, and goes on to fill them while it reads. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void fill(const char *format, int n) {
  char name[64];
  for (int i = 0; i < n; i++) {
    snprintf(name, sizeof name, format, i);
    close(creat(name, 0666));
  }
}

static void use_memory(void) {
  char *volatile memory = malloc(10);
  free(memory);
}

/* More than one buffer of entries. */
static void list(const char *path) {
  DIR *d = opendir(path);
  struct dirent *entry;
  long sum = 0, n = 0;
  while (d && (entry = readdir(d))) {
    if (n++ < 5) printf("%s ", entry->d_name);
    sum = sum * 31 + entry->d_name[0] + entry->d_name[1] * 7 + entry->d_name[2] * 3;
    if (n == 3 || n == 1500) use_memory();
    if (n == 1500) fill("few/again-%d", 3);
  }
  printf("%ld %ld\n", n, sum);
  if (d) closedir(d);
}

int main(void) {
  char *memory = malloc(5);
  if (mkdir("few", 0777) < 0 || mkdir("many", 0777) < 0) return 2;
  fill("few/%d", 9);
  fill("many/%d-with-a-name-that-is-long-enough", 2000);
  remove("few/4");
  list("few");
  list("many");
  list("few");
  chmod(".", 0700);
  printf("%d\n", memory != NULL);
  free(memory);
  return 0;
}
