/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child of the trunk does not have the trunk's locks, but in a world of its own nobody else has them either: it takes
 * them again. Which ones there are the kernel tells in a descriptor's fdinfo, a line each:
 *
 *   lock:   1: POSIX  ADVISORY  WRITE 24 00:2d:1234 1073741824 EOF
 */
#include "locks.h"

#include <fcntl.h>
#include <sys/file.h>

#include "system.h"
#include "words.h"

#define MOST 32

static struct lock {
  int fd;
  long call, command; /* fcntl with its command, or flock with its operation */
  struct flock range;
} list[MOST];
static uint32_t n_list;

void rt_locks_forget(void) { n_list = 0; }

static const char *skip_blanks(const char *s) {
  while (*s == ' ' || *s == '\t')
    s++;
  return s;
}

/* Behind the next word and the blanks that follow it. */
static const char *skip_word(const char *s) {
  while (*s && *s != ' ' && *s != '\t' && *s != '\n')
    s++;
  return skip_blanks(s);
}

static const char *read_number(const char *s, int64_t *ret) {
  *ret = 0;
  for (; *s >= '0' && *s <= '9'; s++)
    *ret = *ret * 10 + (*s - '0');
  return skip_blanks(s);
}

/* What is to be done for a lock of that KIND; false if it is of another kind, such as a lease. */
static bool choose_call(const char *kind, bool writes, struct lock *to) {
  to->call = SYS_fcntl;
  if (rt_behind(kind, "POSIX ")) {
    to->command = F_SETLK;
  } else if (rt_behind(kind, "OFDLCK ")) {
    to->command = 37; /* F_OFD_SETLK */
  } else if (rt_behind(kind, "FLOCK ")) {
    to->call = SYS_flock;
    to->command = LOCK_NB | (writes ? LOCK_EX : LOCK_SH);
  } else {
    return false;
  }
  return true;
}

/* LINE: what stands behind "lock:". */
static bool read_lock(int fd, const char *line, struct lock *ret) {
  const char *kind = skip_word(skip_blanks(line)), *how = skip_word(skip_word(kind));
  bool writes = rt_behind(how, "WRITE ");
  int64_t end = 0;
  *ret = (struct lock){.fd = fd};
  if ((!writes && !rt_behind(how, "READ ")) || !choose_call(kind, writes, ret)) return false;
  const char *rest = skip_word(skip_word(skip_word(how))); /* mode, process, file */
  ret->range.l_type = writes ? F_WRLCK : F_RDLCK;
  rest = read_number(rest, &ret->range.l_start);
  if (rt_behind(rest, "EOF")) return true;
  (void)read_number(rest, &end);
  ret->range.l_len = end - ret->range.l_start + 1;
  return ret->range.l_len > 0;
}

bool rt_locks_add(int fd, const char *info) {
  for (const char *s = info; *s; s++) {
    const char *line = (s == info || s[-1] == '\n') ? rt_behind(s, "lock:") : NULL;
    if (!line) continue;
    if (n_list == MOST || !read_lock(fd, line, &list[n_list])) return false;
    n_list++;
  }
  return true;
}

bool rt_locks_any(int fd) {
  for (uint32_t i = 0; i < n_list; i++)
    if (list[i].fd == fd) return true;
  return false;
}

bool rt_locks_take(void) {
  for (uint32_t i = 0; i < n_list; i++) {
    struct lock *l = &list[i];
    bool ranged = l->call == SYS_fcntl;
    if (rt_system(l->call, l->fd, l->command, ranged ? (long)&l->range : 0, 0, 0, 0) < 0) return false;
  }
  return true;
}
