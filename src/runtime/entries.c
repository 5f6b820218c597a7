/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries of folders have the inodes of files, and programs compare them with what they are told of the files. In a
 * child of the trunk, which sees copies, both must be those of the originals.
 */
#include <dirent.h>
#include <fcntl.h>

#include "branch.h"
#include "numbers.h"
#include "system.h"

/* Whoever calls lists a folder, and what comes of it. */
typedef uint64_t listing(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static void put_right(int folder, struct dirent *e) {
  e->d_ino = rt_numbers_entry(folder, e->d_name, e->d_ino, e->d_type == DT_DIR);
}

/* glibc's DIR begins with its descriptor. */
static int descriptor_of(uint64_t dir) { return *(const int *)dir; }

/* As many bytes of entries as the call has returned. */
static void put_all_right(int folder, char *at, int64_t n) {
  for (int64_t i = 0; i < n; i += ((struct dirent *)(at + i))->d_reclen)
    put_right(folder, (struct dirent *)(at + i));
}

/* An array of pointers to entries of the folder PATH, seen from FOLDER. */
static void put_array_right(int folder, const char *path, struct dirent **list, int64_t n) {
  long fd = rt_system(SYS_openat, folder, (long)path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0, 0, 0);
  if (fd < 0) return;
  for (int64_t i = 0; i < n; i++)
    put_right((int)fd, list[i]);
  (void)rt_system(SYS_close, fd, 0, 0, 0, 0, 0);
}

enum rt_action rt_numbers_list(struct rt_call *c, enum wire_hook hook) {
  const uint64_t *a = c->args;
  if (rt_trunk() || !rt_numbers_differ()) return RT_PASS;
  c->retval = ((listing *)c->real)(a[0], a[1], a[2], a[3], a[4]);
  if (hook == WIRE_HOOK_ENTRY) {
    if (c->retval) put_right(descriptor_of(a[0]), (struct dirent *)c->retval);
  } else if (hook == WIRE_HOOK_ENTRY_INTO) {
    struct dirent *const *found = (struct dirent *const *)a[2];
    if ((int)c->retval == 0 && *found) put_right(descriptor_of(a[0]), *found);
  } else if (hook == WIRE_HOOK_ENTRIES) {
    put_all_right((int)a[0], (char *)a[1], (int64_t)c->retval);
  } else {
    bool at = hook == WIRE_HOOK_SCAN_AT;
    if ((int)c->retval > 0)
      put_array_right(at ? (int)a[0] : AT_FDCWD, (const char *)a[at], *(struct dirent ***)a[1 + at], (int)c->retval);
  }
  return RT_RETURN;
}
