/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors that a fork would share with its parent: the child opens files and folders again, by the path that the
 * kernel has for them, and goes on at the same place in them, and devices without a state. Whatever else is
 * open is a reason not to fork.
 */
#include "files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "locks.h"
#include "sound.h"
#include "system.h"
#include "words.h"

#define MOST 64
#define PATH_ROOM 4096
#define PATHS_ROOM 8192

/* KIND_ANEW: a standard stream's file, but opened by the program itself, as /dev/stdout can be. */
enum kind { KIND_STANDARD, KIND_DEVICE, KIND_AGAIN, KIND_ANEW, KIND_SAME };

struct file {
  int fd, like; /* of KIND_STANDARD and KIND_ANEW: which one; of KIND_SAME: the descriptor that it is a copy of */
  enum kind kind;
  const char *path; /* as the trunk has found it, for its children; NULL if there was no room */
  uint64_t device, inode;
};

static struct file list[MOST];
static uint32_t n_list;
static struct file standard[3];
static char path[PATH_ROOM], paths[PATHS_ROOM];
static size_t n_paths;
static uint64_t written[MOST];
static uint32_t n_written;
static long original; /* the process that has the standard streams as they were given */
static bool reading;

static long status_flags(int fd) { return rt_system(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0); }

void rt_files_start(long server) {
  original = server;
  for (int i = 0; i < 3; i++) {
    struct stat s;
    standard[i].fd = rt_system(SYS_fstat, i, (long)&s, 0, 0, 0, 0) < 0 ? -1 : i;
    if (standard[i].fd < 0) continue;
    standard[i].device = s.st_dev;
    standard[i].inode = s.st_ino;
  }
}

/* /proc/self/WHAT/FD in TO. */
static void name_entry(char to[64], const char *what, int fd) {
  char digits[12];
  unsigned n = 0, at = 0;
  for (const char *s = "/proc/self/"; *s; s++)
    to[at++] = *s;
  for (; *what; what++)
    to[at++] = *what;
  do
    digits[n++] = (char)('0' + fd % 10);
  while ((fd /= 10) > 0);
  while (n > 0)
    to[at++] = digits[--n];
  to[at] = 0;
}

bool rt_files_path(int fd, char *to, size_t size) {
  char entry[64];
  name_entry(entry, "fd/", fd);
  long n = rt_system(SYS_readlink, (long)entry, (long)to, (long)size - 1, 0, 0, 0);
  if (n <= 0 || n >= (long)size - 1) return false;
  to[n] = 0;
  return to[0] == '/' && !rt_behind(to, "/proc/") && !rt_behind(to, "/sys/") && !rt_behind(to, "/dev/");
}

/* ... in `path`. */
static bool find_path(int fd) { return rt_files_path(fd, path, sizeof path); }

/* A child would have to ask the kernel, and the first look into its folder in /proc costs more than all others. */
static const char *keep_path(void) {
  size_t n = rt_length(path) + 1;
  if (n > sizeof paths - n_paths) return NULL;
  char *to = paths + n_paths;
  rt_copy_text(to, n, path);
  n_paths += n;
  return to;
}

/* The kernel lists locks of the file behind the rest. */
static bool note_locks(int fd) {
  static char text[2048];
  char entry[64];
  name_entry(entry, "fdinfo/", fd);
  long info = rt_system(SYS_openat, AT_FDCWD, (long)entry, O_RDONLY | O_CLOEXEC, 0, 0, 0);
  if (info < 0) return false;
  long n = rt_system(SYS_read, info, (long)text, sizeof text - 1, 0, 0, 0);
  (void)rt_system(SYS_close, info, 0, 0, 0, 0, 0);
  if (n <= 0 || n == (long)sizeof text - 1) return false;
  text[n] = 0;
  return rt_locks_add(fd, text);
}

static bool is_harmless_device(const struct stat *s) {
  unsigned number = minor(s->st_rdev);
  return S_ISCHR(s->st_mode) && major(s->st_rdev) == 1 && (number == 3 || number == 5 || (number >= 7 && number <= 9));
}

/* It may be a copy of a descriptor that is listed already. False if the kernel does not say. */
static bool find_original(struct file *f) {
  long self = rt_system(SYS_getpid, 0, 0, 0, 0, 0, 0);
  for (uint32_t i = 0; i < n_list; i++) {
    if (list[i].kind == KIND_STANDARD || list[i].kind == KIND_SAME) continue;
    if (list[i].device != f->device || list[i].inode != f->inode) continue;
    long order = rt_system(SYS_kcmp, self, self, 0 /* KCMP_FILE */, list[i].fd, f->fd, 0);
    if (order < 0) return false;
    if (order > 0) continue;
    f->kind = KIND_SAME;
    f->like = list[i].fd;
    break;
  }
  return true;
}

/* Somebody is told by a signal what becomes of it, as of a folder with F_NOTIFY; nobody would be of another one. */
static bool is_watched(int fd) {
  return rt_system(SYS_fcntl, fd, F_GETOWN, 0, 0, 0, 0) != 0 || rt_system(SYS_fcntl, fd, F_GETSIG, 0, 0, 0, 0) != 0;
}

/* Those of a copy are the same. */
static enum wire_refusal judge_locks(const struct file *f) {
  return f->kind == KIND_SAME || note_locks(f->fd) ? WIRE_FORK_GOOD : WIRE_FORK_LOCKS;
}

/* The child has the very same file, in which it cannot have what the trunk has. */
static enum wire_refusal judge_unlocked(const struct file *f) {
  return note_locks(f->fd) && !rt_locks_any(f->fd) ? WIRE_FORK_GOOD : WIRE_FORK_LOCKS;
}

static enum wire_refusal judge_device(struct file *f) {
  f->kind = KIND_DEVICE;
  if (is_watched(f->fd) || !find_original(f)) return WIRE_FORK_FILES;
  return judge_unlocked(f);
}

/* A descriptor of standard stream I's file: it is that stream itself, or is opened apart from it, at its own place. */
static enum wire_refusal judge_standard(struct file *f, int i, const struct stat *s) {
  long self = rt_system(SYS_getpid, 0, 0, 0, 0, 0, 0);
  long order = rt_system(SYS_kcmp, self, original, 0 /* KCMP_FILE */, f->fd, i, 0);
  if (order < 0 || !S_ISREG(s->st_mode)) return WIRE_FORK_FILES;
  f->kind = order == 0 ? KIND_STANDARD : KIND_ANEW;
  f->like = i;
  if (is_watched(f->fd)) return WIRE_FORK_FILES;
  /* Output is copied for the child, and input is the same. */
  if (order == 0) return i > 0 ? judge_locks(f) : judge_unlocked(f);
  if (!find_original(f)) return WIRE_FORK_FILES;
  return judge_locks(f);
}

/* What is found at `path` may be changed by the child: it must not be seen in the parent's memory. */
static void note_written(int fd) {
  uint64_t hash = RT_HASH;
  if ((status_flags(fd) & O_ACCMODE) == O_RDONLY) return;
  for (const char *s = path; *s; s++)
    hash = rt_hash(hash, *s);
  written[n_written++] = hash;
}

/* What has no file type is named by the kernel. */
static enum wire_refusal judge_nameless(int fd) {
  path[0] = 0;
  (void)find_path(fd);
  if (rt_behind(path, "anon_inode:[eventpoll]")) return WIRE_FORK_EPOLL;
  if (rt_behind(path, "anon_inode:[io_uring]")) return WIRE_FORK_RINGS;
  return rt_behind(path, "anon_inode:[timerfd]") ? WIRE_FORK_TIMERS : WIRE_FORK_EVENTS;
}

/* Why what is neither a file nor a folder with a name cannot be opened again; WIRE_FORK_GOOD for what can. */
static enum wire_refusal judge_type(int fd, const struct stat *s) {
  if (S_ISSOCK(s->st_mode)) return WIRE_FORK_SOCKETS;
  if (S_ISFIFO(s->st_mode)) return WIRE_FORK_PIPES;
  if (!(s->st_mode & S_IFMT)) return judge_nameless(fd);
  if (!S_ISREG(s->st_mode) && !S_ISDIR(s->st_mode)) return WIRE_FORK_FILES;
  return s->st_nlink == 0 ? WIRE_FORK_NAMELESS : WIRE_FORK_GOOD;
}

static enum wire_refusal judge(struct file *f, const struct stat *s) {
  f->device = s->st_dev;
  f->inode = s->st_ino;
  if (is_harmless_device(s)) return judge_device(f);
  for (int i = 0; i < 3; i++)
    if (standard[i].fd == i && standard[i].device == f->device && standard[i].inode == f->inode)
      return judge_standard(f, i, s);
  f->kind = KIND_AGAIN;
  enum wire_refusal type = judge_type(f->fd, s);
  if (type != WIRE_FORK_GOOD) return type;
  if (!find_path(f->fd)) return WIRE_FORK_FILES;
  f->path = keep_path();
  if (is_watched(f->fd)) return WIRE_FORK_FILES;
  if (S_ISREG(s->st_mode)) note_written(f->fd);
  reading |= S_ISDIR(s->st_mode) && rt_system(SYS_lseek, f->fd, 0, 1 /* SEEK_CUR */, 0, 0, 0) != 0;
  if (!find_original(f)) return WIRE_FORK_FILES;
  return judge_locks(f);
}

static enum wire_refusal add(void *context, int fd) {
  struct stat s;
  (void)context;
  if (n_list == MOST || rt_system(SYS_fstat, fd, (long)&s, 0, 0, 0, 0) < 0) return WIRE_FORK_FILES;
  struct file f = {.fd = fd};
  enum wire_refusal r = judge(&f, &s);
  if (r == WIRE_FORK_GOOD) list[n_list++] = f;
  return r;
}

enum wire_refusal rt_files_list(const uint64_t **ret, uint32_t *ret_n) {
  n_list = n_written = 0;
  n_paths = 0;
  reading = false;
  rt_locks_forget();
  enum wire_refusal r = rt_sound_each_file(add, NULL);
  *ret = written;
  *ret_n = n_written;
  return r;
}

bool rt_files_reading(void) { return reading; }

/* --- in the child ------------------------------------------------------------------------------------------------- */

/* FD becomes a copy of OTHER, with the flags that it had. */
static bool replace(int fd, int other) {
  long flags = rt_system(SYS_fcntl, fd, F_GETFD, 0, 0, 0, 0);
  return flags >= 0 && rt_system(SYS_dup3, other, fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0, 0, 0, 0) == fd;
}

/* In a world of its own the child has the file for itself, and with it the locks. */
static bool is_another(const struct stat *a, const struct stat *b) {
  return a->st_dev != b->st_dev || a->st_ino != b->st_ino;
}

/* No link is followed; O_NOFOLLOW would stay among the flags of what is open. A kernel before 5.6 has no such call. */
static long open_plain(const char *at, long flags) {
  const struct {
    uint64_t flags, mode, resolve;
  } how = {.flags = (uint64_t)flags | O_CLOEXEC, .resolve = 4 /* RESOLVE_NO_SYMLINKS */};
  return rt_system(SYS_openat2, AT_FDCWD, (long)at, (long)&how, sizeof how, 0, 0);
}

/* At the path that it has, or by way of FILE, a descriptor of the same file; -1 if there is none. */
static long open_like(const struct file *f, int file) {
  long flags = status_flags(f->fd);
  if (flags < 0) return flags;
  flags &= ~(long)(O_CREAT | O_EXCL | O_TRUNC | O_NOCTTY);
  if (file < 0 && f->path) return open_plain(f->path, flags);
  if (file < 0) return find_path(f->fd) ? open_plain(path, flags) : -1;
  name_entry(path, "fd/", file);
  return rt_system(SYS_openat, AT_FDCWD, (long)path, (flags & ~(long)O_NOFOLLOW) | O_CLOEXEC, 0, 0, 0);
}

/* How long the program has said that a file will live: the kernel keeps it with the inode, and a copy has another. */
static void hint_again(int from, int to) {
  uint64_t hint = 0;
  if (rt_system(SYS_fcntl, from, F_GET_RW_HINT, (long)&hint, 0, 0, 0) < 0 || hint == 0) return;
  (void)rt_system(SYS_fcntl, to, F_SET_RW_HINT, (long)&hint, 0, 0, 0);
}

static bool open_again(const struct file *f, int file) {
  long at = rt_system(SYS_lseek, f->fd, 0, 1 /* SEEK_CUR */, 0, 0, 0);
  struct stat before, after;
  if (at < 0 || rt_system(SYS_fstat, f->fd, (long)&before, 0, 0, 0, 0) < 0) return false;
  long fd = open_like(f, file);
  if (fd < 0) return false;
  bool same = rt_system(SYS_fstat, fd, (long)&after, 0, 0, 0, 0) == 0 && before.st_mode == after.st_mode &&
              (before.st_size == after.st_size || S_ISDIR(before.st_mode));
  same = same && (is_another(&before, &after) || !rt_locks_any(f->fd));
  if (same && S_ISREG(after.st_mode) && is_another(&before, &after)) hint_again(f->fd, (int)fd);
  same = same && rt_system(SYS_lseek, fd, at, 0 /* SEEK_SET */, 0, 0, 0) == at && replace(f->fd, (int)fd);
  (void)rt_system(SYS_close, fd, 0, 0, 0, 0, 0);
  return same;
}

bool rt_files_reopen(const int files[3]) {
  bool good = true;
  for (uint32_t i = 0; i < n_list && good; i++) {
    const struct file *f = &list[i];
    long flags = status_flags(f->fd);
    if (f->kind == KIND_STANDARD)
      good = replace(f->fd, files[f->like]) && rt_system(SYS_fcntl, f->fd, F_SETFL, flags, 0, 0, 0) == 0;
    else if (f->kind == KIND_AGAIN || f->kind == KIND_ANEW)
      good = open_again(f, f->kind == KIND_ANEW ? files[f->like] : -1);
    else if (f->kind == KIND_DEVICE)
      good = open_again(f, f->fd);
    else if (f->kind == KIND_SAME)
      good = replace(f->fd, f->like);
  }
  return good && rt_locks_take();
}
