/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fork would not copy: other threads, timers; and what it would share with others: children, descriptors, memory
 * of files. The kernel knows all of it, and says so under /proc/self.
 */
#include "sound.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "system.h"
#include "words.h"

#define NOBODY 10 /* ECHILD */

static long open_for_reading(const char *path, long flags) {
  return rt_system(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC | flags, 0, 0, 0);
}

static void close_again(long fd) { (void)rt_system(SYS_close, fd, 0, 0, 0, 0, 0); }

/* The folder has an entry for each thread, and counts as links those, itself and the way up. */
static enum wire_refusal sound_threads(void) {
  struct stat s;
  if (rt_system(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/task", (long)&s, 0, 0, 0) < 0) return WIRE_FORK_UNKNOWN;
  return s.st_nlink == 3 ? WIRE_FORK_GOOD : WIRE_FORK_THREADS;
}

static enum wire_refusal sound_children(void) {
  const long looking = 0x41000005; /* WNOHANG, WEXITED, WNOWAIT, __WALL */
  long r = rt_system(SYS_waitid, 0 /* P_ALL */, 0, 0, looking, 0, 0);
  return r == -NOBODY ? WIRE_FORK_GOOD : WIRE_FORK_CHILDREN;
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* A line of /proc/self/maps as it is read: START-END rw-s OFFSET DEVICE INODE   PATH */
enum field { FIELD_RANGE, FIELD_PERMISSIONS, FIELD_OFFSET, FIELD_DEVICE, FIELD_INODE, FIELD_PATH };
struct mapping {
  enum field field;
  unsigned column;      /* in the permissions */
  char range[36];       /* as it is read */
  uint64_t start, path; /* path: its hash, if it is named */
  bool start_read, writable, shared, named;
  uint8_t n_range;
};

/* madvise may have said that a child does not get some memory, or gets it empty. */
static bool advised;

void rt_sound_advised(uint64_t advice) { advised |= advice == 10 /* DONTFORK */ || advice == 18 /* WIPEONFORK */; }

static void read_range(struct mapping *m, char c) {
  if (m->n_range + 1u < sizeof m->range) m->range[m->n_range++] = c;
  m->start_read |= c == '-';
  if (!m->start_read) m->start = m->start << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void read_character(struct mapping *m, char c) {
  if (m->field < FIELD_PATH && c == ' ') {
    m->field++;
  } else if (m->field == FIELD_RANGE) {
    read_range(m, c);
  } else if (m->field == FIELD_PERMISSIONS) {
    m->column++;
    m->writable |= m->column == 2 && c == 'w';
    m->shared |= m->column == 4 && c == 's';
  } else if (m->field == FIELD_PATH && (m->named || c != ' ')) {
    m->path = rt_hash(m->named ? m->path : RT_HASH, c);
    m->named = true;
  }
}

/* What can only be read now may be made writable later, if the file was opened for that: its entry tells it. */
static bool may_be_written(const struct mapping *m) {
  static const char folder[] = "/proc/self/map_files/";
  char path[sizeof folder + sizeof m->range];
  struct stat s;
  rt_copy_text(path, sizeof path, folder);
  rt_copy_text(path + sizeof folder - 1, sizeof m->range, m->range);
  return rt_system(SYS_newfstatat, AT_FDCWD, (long)path, (long)&s, AT_SYMLINK_NOFOLLOW, 0, 0) < 0 ||
         (s.st_mode & S_IWUSR);
}

/*
 * What is writable and shared, but for the area, is the other's too. And what shows a file that is open for writing
 * would go on to show the parent's, while the child writes to its own.
 */
static bool is_good(const struct mapping *m, const uint64_t *written, uint32_t n) {
  if (m->shared && m->start != (uint64_t)rt.area && (m->writable || may_be_written(m))) return false;
  for (uint32_t i = 0; i < n && m->named; i++)
    if (written[i] == m->path) return false;
  return true;
}

/* Files that memory shows, as hashes of their paths. */
#define MAPPED 256
static uint64_t mapped[MAPPED];
static uint32_t n_mapped;

static void note_mapped(const struct mapping *m) {
  if (!m->named || (n_mapped > 0 && n_mapped <= MAPPED && mapped[n_mapped - 1] == m->path)) return;
  if (n_mapped < MAPPED) mapped[n_mapped] = m->path;
  if (n_mapped <= MAPPED) n_mapped++;
}

bool rt_sound_shows(uint64_t path) {
  if (n_mapped > MAPPED) return true;
  for (uint32_t i = 0; i < n_mapped; i++)
    if (mapped[i] == path) return true;
  return false;
}

/* Not on the stack: what is left there a program sees in variables that it forgot to set. */
static char part[4096] __attribute__((aligned(8)));

enum wire_refusal rt_sound_memory(const uint64_t *written, uint32_t n_written) {
  struct mapping m = {0};
  n_mapped = 0;
  if (advised) return WIRE_FORK_MAPPINGS;
  long fd = open_for_reading("/proc/self/maps", 0), n = 0;
  if (fd < 0) return WIRE_FORK_UNKNOWN;
  bool good = true;
  while (good && (n = rt_system(SYS_read, fd, (long)part, sizeof part, 0, 0, 0)) > 0)
    for (long i = 0; i < n && good; i++) {
      if (part[i] != '\n') {
        read_character(&m, part[i]);
        continue;
      }
      good = is_good(&m, written, n_written);
      note_mapped(&m);
      m = (struct mapping){0};
    }
  close_again(fd);
  return n < 0 ? WIRE_FORK_UNKNOWN : good ? WIRE_FORK_GOOD : WIRE_FORK_MAPPINGS;
}

/* --- timers ------------------------------------------------------------------------------------------------------- */

static enum wire_refusal sound_interval_timers(void) {
  for (long which = 0; which < 3; which++) {
    uint64_t value[4] = {0};
    if (rt_system(SYS_getitimer, which, (long)value, 0, 0, 0, 0) < 0) return WIRE_FORK_UNKNOWN;
    if (value[2] | value[3]) return WIRE_FORK_TIMERS;
  }
  return WIRE_FORK_GOOD;
}

/* Those of timer_create. A kernel that does not list them may have some. */
static enum wire_refusal sound_timers(void) {
  char some[16];
  long fd = open_for_reading("/proc/self/timers", 0);
  if (fd < 0) return WIRE_FORK_UNKNOWN;
  long n = rt_system(SYS_read, fd, (long)some, sizeof some, 0, 0, 0);
  close_again(fd);
  return n < 0 ? WIRE_FORK_UNKNOWN : n > 0 ? WIRE_FORK_TIMERS : WIRE_FORK_GOOD;
}

/* How it is scheduled may be said not to be for children. */
static enum wire_refusal sound_scheduling(void) {
  long policy = rt_system(SYS_sched_getscheduler, 0, 0, 0, 0, 0, 0);
  return policy < 0                                      ? WIRE_FORK_UNKNOWN
         : policy & 0x40000000 /* SCHED_RESET_ON_FORK */ ? WIRE_FORK_APART
                                                         : WIRE_FORK_GOOD;
}

enum wire_refusal rt_sound_process(void) {
  enum wire_refusal r = sound_threads();
  if (r == WIRE_FORK_GOOD) r = sound_scheduling();
  if (r == WIRE_FORK_GOOD) r = sound_children();
  if (r == WIRE_FORK_GOOD) r = sound_interval_timers();
  return r == WIRE_FORK_GOOD ? sound_timers() : r;
}

/* --- descriptors -------------------------------------------------------------------------------------------------- */

struct entry {
  uint64_t inode;
  int64_t next;
  uint16_t length;
  uint8_t type;
  char name[];
};

/* The number that NAME is; -1 for . and .. */
static int number_of(const char *name) {
  int n = 0;
  if (*name == '.') return -1;
  for (; *name >= '0' && *name <= '9'; name++)
    n = n * 10 + (*name - '0');
  return n;
}

enum wire_refusal rt_sound_each_file(enum wire_refusal (*look)(void *context, int fd), void *context) {
  long fd = open_for_reading("/proc/self/fd", O_DIRECTORY), n;
  if (fd < 0) return WIRE_FORK_UNKNOWN;
  enum wire_refusal r = WIRE_FORK_GOOD;
  while (r == WIRE_FORK_GOOD && (n = rt_system(SYS_getdents64, fd, (long)part, sizeof part, 0, 0, 0)) != 0) {
    if (n < 0) r = WIRE_FORK_UNKNOWN;
    for (long at = 0; at < n && r == WIRE_FORK_GOOD; at += ((struct entry *)(part + at))->length) {
      int number = number_of(((struct entry *)(part + at))->name);
      if (number >= 0 && number != fd) r = look(context, number);
    }
  }
  close_again(fd);
  return r;
}

static enum wire_refusal is_expected(void *context, int fd) {
  return fd <= 2 || fd == *(int *)context ? WIRE_FORK_GOOD : WIRE_FORK_FILES;
}

enum wire_refusal rt_sound_untouched(int own) { return rt_sound_each_file(is_expected, &own); }
