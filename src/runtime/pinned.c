/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that the program has locked. How much it is now the kernel tells in /proc/self/status, and what in
 * /proc/self/smaps, which is long: it is read only if there is some. A mapping is a line with its range, and behind
 * others one with its flags:
 *
 *   7f2c00000000-7f2c00004000 rw-p 00000000 00:00 0
 *   VmFlags: rd wr mr mw me lo ac sd
 */
#include "pinned.h"

#include <fcntl.h>

#include "system.h"
#include "words.h"

#define MOST 64
#define ON_FAULT 1    /* MLOCK_ONFAULT */
#define LOCKED 0x2000 /* MAP_LOCKED */

static bool noted;
static struct range {
  uint64_t start, end;
  long flags; /* of mlock2 */
} list[MOST];
static uint32_t n_list;

void rt_pinned_note(void) { noted = true; }

void rt_pinned_mapped(uint64_t flags) { noted |= (flags & LOCKED) != 0; }

static const char *read_hexadecimal(const char *s, uint64_t *ret) {
  for (*ret = 0; (*s >= '0' && *s <= '9') || (*s >= 'a' && *s <= 'f'); s++)
    *ret = *ret << 4 | (uint64_t)(*s <= '9' ? *s - '0' : *s - 'a' + 10);
  return s;
}

/* Is the word of two letters among the flags? */
static bool has_flag(const char *flags, const char *word) {
  for (; *flags; flags++)
    if (flags[0] == ' ' && flags[1] == word[0] && flags[2] == word[1]) return true;
  return false;
}

/* --- files of the kernel ------------------------------------------------------------------------------------------ */

/* Lines of a file until TAKE returns false, which is told; what is behind their first characters does not matter. */
static enum wire_refusal read_lines(const char *path, bool (*take)(const char *line, void *context), void *context,
                                    bool *ret_all) {
  static char part[4096], line[256]; /* what is left on the stack a program sees in variables that it forgot to set */
  size_t length = 0;
  long fd = rt_system(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0), n = 0;
  if (fd < 0) return WIRE_FORK_UNKNOWN;
  *ret_all = true;
  while (*ret_all && (n = rt_system(SYS_read, fd, (long)part, sizeof part, 0, 0, 0)) > 0)
    for (long i = 0; i < n && *ret_all; i++) {
      if (part[i] != '\n') {
        if (length + 1 < sizeof line) line[length++] = part[i];
        continue;
      }
      line[length] = 0;
      length = 0;
      *ret_all = take(line, context);
    }
  (void)rt_system(SYS_close, fd, 0, 0, 0, 0, 0);
  return n < 0 ? WIRE_FORK_UNKNOWN : WIRE_FORK_GOOD;
}

/* Until the amount was found, in kB behind blanks. */
static bool read_amount(const char *line, void *context) {
  bool *any = context;
  const char *s = rt_behind(line, "VmLck:");
  if (!s) return true;
  while (*s == ' ' || *s == '\t')
    s++;
  *any = *s != '0';
  return false;
}

enum wire_refusal rt_pinned_any(bool *ret) {
  bool missing;
  *ret = false;
  enum wire_refusal r = read_lines("/proc/self/status", read_amount, ret, &missing);
  return r == WIRE_FORK_GOOD && missing ? WIRE_FORK_UNKNOWN : r;
}

/* False if there are too many. */
static bool read_mapping(const char *line, void *context) {
  struct range *now = context;
  const char *flags = rt_behind(line, "VmFlags:");
  if (flags) {
    now->flags = has_flag(flags, "lf") ? ON_FAULT : 0;
    if (!has_flag(flags, "lo")) return true;
    if (n_list == MOST) return false;
    list[n_list++] = *now;
    return true;
  }
  uint64_t start, end;
  const char *dash = read_hexadecimal(line, &start);
  if (dash == line || *dash != '-') return true;
  if (*read_hexadecimal(dash + 1, &end) == ' ') *now = (struct range){.start = start, .end = end};
  return true;
}

enum wire_refusal rt_pinned_list(void) {
  struct range now = {0};
  bool any, all;
  n_list = 0;
  if (!noted) return WIRE_FORK_GOOD;
  enum wire_refusal r = rt_pinned_any(&any);
  if (r != WIRE_FORK_GOOD || !any) return r;
  r = read_lines("/proc/self/smaps", read_mapping, &now, &all);
  return r == WIRE_FORK_GOOD && !all ? WIRE_FORK_APART : r;
}

bool rt_pinned_take(void) {
  for (uint32_t i = 0; i < n_list; i++) {
    const struct range *r = &list[i];
    if (rt_system(SYS_mlock2, (long)r->start, (long)(r->end - r->start), r->flags, 0, 0, 0) < 0) return false;
  }
  return true;
}
