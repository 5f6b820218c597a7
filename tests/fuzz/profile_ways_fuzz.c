/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as data/kernel/ways or data/kernel/x86_64.calls: refused with file and line, or questions can be asked. The
 * first byte says which: 'c' for the calls.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "profile/ways.h"
#include "tests/fuzz/fuzz.h"

/* The data folder, which goes when the process ends. */
static char folder[] = "/tmp/murphy-ways-XXXXXX";
static char paths[3][64];

static void remove_folder(void) {
  for (int i = 0; i < 3; i++)
    (void)remove(paths[i]);
  (void)remove(folder);
}

static void make_folder(void) {
  static bool made;
  if (made) return;
  MUST(mkdtemp(folder));
  made = true;
  (void)snprintf(paths[2], sizeof paths[2], "%s/kernel", folder);
  (void)snprintf(paths[0], sizeof paths[0], "%s/kernel/ways", folder);
  (void)snprintf(paths[1], sizeof paths[1], "%s/kernel/x86_64.calls", folder);
  MUST(mkdir(paths[2], 0700) == 0 && atexit(remove_folder) == 0);
}

static void write_file(const char *path, const void *bytes, size_t n) {
  FILE *f = fopen(path, "we");
  MUST(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
}

static void ask(struct ways *w) {
  static const char *const names[] = {"", "ext4_file_operations", "read", "a", "[", "\\", "*"};
  for (size_t i = 0; i < COUNT(names); i++) {
    (void)ways_table(w, names[i]);
    (void)ways_beyond(w, names[i]);
    for (unsigned e = 0; e < 600; e += 7)
      (void)ways_never(w, names[i], e);
    const uint64_t *gives = ways_gives(w, names[i]);
    MUST(!gives || !(gives[0] & 1));
    MUST(ways_condition(w, names[i], EIO));
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct ways w = {0};
  struct err e = {0};
  if (size == 0 || size > 1 << 16) return 0;
  make_folder();
  bool calls = data[0] == 'c';
  write_file(paths[calls], data + 1, size - 1);
  write_file(paths[!calls], "#\n", 2);
  if (ways_load(folder, &w, &e) < 0) {
    MUST(strncmp(e.text, paths[calls], strlen(paths[calls])) == 0 && !strchr(e.text, '\n'));
    return 0;
  }
  ask(&w);
  ways_done(&w);
  return 0;
}
