/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device and inode of a file are what a program knows it by. The copies that a child of the trunk sees have others, so
 * the child is told those of the originals.
 *
 * The trunk keeps what the program was told, with the path of each file; before a child is made it looks whether they
 * are still there. The child looks at the same paths in its own world, and so learns which number there stands for
 * which. That is so for files too that nobody has changed yet: who writes them later makes them another file in copies.
 */
#include "numbers.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "below.h"
#include "branch.h"
#include "files.h"
#include "system.h"
#include "words.h"

#define MOST 4096
#define PATH_ROOM 256
#define STREAMS 3
/* Set in the inode of a folder whose number in the child is one that the program knows from elsewhere. */
#define ELSEWHERE (1ull << 62)

struct identity {
  uint64_t device, inode;
  int64_t changed_s, changed_ns; /* ctime */
};

struct known {
  struct identity was, is; /* in the trunk, in the child */
  char path[PATH_ROOM];
};

static struct known list[MOST + STREAMS]; /* those of streams are added in the child */
static uint32_t n_list;
static struct identity streams[STREAMS]; /* standard input and output, which a child has files of its own for */
static bool stream_known[STREAMS];
static bool unknown; /* the program knows numbers that are not in the list */
static bool moved, in_child;
static uint32_t taken; /* not 0: the list is being changed, below this signal handler or in another thread */

static bool look_at_file(int fd, struct identity *ret);

void rt_numbers_start(void) {
  for (int i = 0; i < STREAMS; i++)
    if (!look_at_file(i, &streams[i])) streams[i] = (struct identity){0};
}

void rt_numbers_tell(void) { unknown |= rt_trunk(); }

void rt_numbers_move(void) { moved = true; }

/* --- calls -------------------------------------------------------------------------------------------------------- */

/* What a call is about: a descriptor, or a path seen from one; and where the answer is. */
struct look {
  int folder;
  const char *path; /* NULL: about `folder` itself */
  struct stat *plain;
  struct statx *extended;
};

static struct look find_look(const struct rt_call *c, enum wire_hook hook) {
  const uint64_t *a = c->args;
  switch (hook) {
  case WIRE_HOOK_LOOK_OLD:
    return (struct look){.folder = AT_FDCWD, .path = (const char *)a[1], .plain = (struct stat *)a[2]};
  case WIRE_HOOK_LOOK_FILE:
    return (struct look){.folder = (int)a[0], .plain = (struct stat *)a[1]};
  case WIRE_HOOK_LOOK_FILE_OLD:
    return (struct look){.folder = (int)a[1], .plain = (struct stat *)a[2]};
  case WIRE_HOOK_LOOK_AT:
    return (struct look){.folder = (int)a[0], .path = (const char *)a[1], .plain = (struct stat *)a[2]};
  case WIRE_HOOK_LOOK_AT_OLD:
    return (struct look){.folder = (int)a[1], .path = (const char *)a[2], .plain = (struct stat *)a[3]};
  case WIRE_HOOK_LOOK_X:
    return (struct look){.folder = (int)a[0], .path = (const char *)a[1], .extended = (struct statx *)a[4]};
  default:
    return (struct look){.folder = AT_FDCWD, .path = (const char *)a[0], .plain = (struct stat *)a[1]};
  }
}

static struct identity identity_of(const struct stat *s) {
  return (struct identity){s->st_dev, s->st_ino, s->st_ctim.tv_sec, s->st_ctim.tv_nsec};
}

static struct identity read_answer(const struct look *l) {
  if (l->plain) return identity_of(l->plain);
  const struct statx *x = l->extended;
  return (struct identity){makedev(x->stx_dev_major, x->stx_dev_minor), x->stx_ino, x->stx_ctime.tv_sec,
                           x->stx_ctime.tv_nsec};
}

static void write_answer(const struct look *l, const struct identity *i) {
  if (l->plain) {
    l->plain->st_dev = i->device;
    l->plain->st_ino = i->inode;
    l->plain->st_ctim.tv_sec = i->changed_s;
    l->plain->st_ctim.tv_nsec = i->changed_ns;
    return;
  }
  l->extended->stx_dev_major = major(i->device);
  l->extended->stx_dev_minor = minor(i->device);
  l->extended->stx_ino = i->inode;
  l->extended->stx_ctime.tv_sec = i->changed_s;
  l->extended->stx_ctime.tv_nsec = (uint32_t)i->changed_ns;
}

/* It has no name any more; while it is open, there are no children. */
static bool is_removed(const struct look *l) { return (l->plain ? l->plain->st_nlink : l->extended->stx_nlink) == 0; }

static bool is_same_file(const struct identity *a, const struct identity *b) {
  return a->device == b->device && a->inode == b->inode;
}

/* --- the trunk ---------------------------------------------------------------------------------------------------- */

static bool look_at_file(int fd, struct identity *ret) {
  struct stat s;
  if (rt_system(SYS_fstat, fd, (long)&s, 0, 0, 0, 0) < 0) return false;
  *ret = identity_of(&s);
  return true;
}

static bool look_at(const char *path, struct identity *ret) {
  struct stat s;
  if (rt_system(SYS_newfstatat, AT_FDCWD, (long)path, (long)&s, AT_SYMLINK_NOFOLLOW, 0, 0) < 0) return false;
  *ret = identity_of(&s);
  return true;
}

static bool has_device(uint64_t device) {
  for (uint32_t i = 0; i < n_list; i++)
    if (list[i].was.device == device) return true;
  return false;
}

static struct known *find_known(const struct identity *was) {
  for (uint32_t i = 0; i < n_list; i++)
    if (is_same_file(&list[i].was, was)) return &list[i];
  return NULL;
}

static void remove_known(struct known *k) {
  uint64_t device = k->was.device;
  struct known *last = &list[--n_list];
  if (k != last) *k = *last;
  unknown |= moved || !has_device(device);
}

/* What is not at its path any more was removed, if nothing was ever moved: its numbers are nobody's now. */
static void forget_removed(void) {
  for (uint32_t i = n_list; i-- > 0;) {
    struct identity now;
    if (look_at(list[i].path, &now) && is_same_file(&now, &list[i].was))
      list[i].was = now;
    else
      remove_known(&list[i]);
  }
}

static bool is_stream(const struct identity *i) {
  bool any = false;
  for (int k = 0; k < STREAMS; k++) {
    bool same = is_same_file(&streams[k], i);
    stream_known[k] |= same;
    any |= same;
  }
  return any;
}

enum place { PLACE_NONE, PLACE_FOUND, PLACE_UNKNOWN };

/* Where the file is, in TO; PLACE_NONE if it is no part of the world that children have copies of. */
static enum place find_place(const struct look *l, long flags, const struct identity *wanted, char to[PATH_MAX]) {
  struct identity found;
  bool open = l->path && *l->path; /* and else it is about the descriptor */
  long fd = open ? rt_system(SYS_openat, l->folder, (long)l->path, O_PATH | O_CLOEXEC | flags, 0, 0, 0) : l->folder;
  if (fd < 0) return PLACE_UNKNOWN;
  bool copied = rt_files_path((int)fd, to, PATH_MAX);
  bool good = copied && look_at(to, &found) && is_same_file(&found, wanted);
  if (open) (void)rt_system(SYS_close, fd, 0, 0, 0, 0, 0);
  good = good && rt_length(to) < PATH_ROOM;
  return good ? PLACE_FOUND : copied ? PLACE_UNKNOWN : PLACE_NONE;
}

/* As find_place, whether the call was about what a link leads to or about the link itself. */
static enum place find_place_of(const struct look *l, const struct identity *wanted, char to[PATH_MAX]) {
  enum place place = find_place(l, 0, wanted, to);
  if (place == PLACE_FOUND || !l->path) return place;
  enum place itself = find_place(l, O_NOFOLLOW, wanted, to);
  return itself == PLACE_FOUND || place == PLACE_UNKNOWN ? itself : PLACE_NONE;
}

static void keep(const struct look *l) {
  static char path[PATH_MAX];
  struct identity i = read_answer(l);
  if (is_stream(&i)) return;
  struct known *k = find_known(&i);
  if ((k && !moved) || is_removed(l)) return;
  enum place place = find_place_of(l, &i, path);
  if (place == PLACE_NONE) return;
  if (!k && n_list == MOST) forget_removed();
  if (place == PLACE_UNKNOWN || (!k && n_list == MOST)) {
    unknown = true;
    return;
  }
  if (!k) k = &list[n_list++];
  k->was = i;
  rt_copy_text(k->path, PATH_ROOM, path);
}

/* Not inline, and what it leaves on the stack is taken away: programs show what lies there. */
static __attribute__((noinline)) void keep_quietly(const struct look *l) {
  uint32_t nobody = 0;
  if (!rt_swap_if(&taken, &nobody, 1)) {
    unknown = true;
    return;
  }
  rt_stack_keep();
  keep(l);
  rt_stack_put_back();
  rt_store(&taken, 0);
}

/* A file has a name that begins with FROM, of N characters; it begins with TO now. False if that is too long. */
static bool rename_known(struct known *k, size_t n, const char *to) {
  static char path[PATH_ROOM];
  size_t m = rt_length(to);
  if (m + rt_length(k->path + n) >= PATH_ROOM) return false;
  rt_copy_text(path, PATH_ROOM, to);
  rt_copy_text(path + m, PATH_ROOM - m, k->path + n);
  rt_copy_text(k->path, PATH_ROOM, path);
  return true;
}

/* All that is known below the folder OLD is below NEW now. */
static bool rename_below(const char *old, const char *new) {
  bool good = true;
  for (uint32_t i = 0; i < n_list && good; i++) {
    const char *rest = rt_behind(list[i].path, old);
    if (rest && *rest == '/') good = rename_known(&list[i], rt_length(old), new);
  }
  return good;
}

/* What has been renamed is at FOLDER, PATH. False if it cannot be followed there. */
static bool follow(int folder, const char *path) {
  static char old[PATH_ROOM], new[PATH_MAX];
  struct stat s;
  long fd = rt_system(SYS_openat, folder, (long)path, O_PATH | O_CLOEXEC | O_NOFOLLOW, 0, 0, 0);
  if (fd < 0) return false;
  bool good = rt_system(SYS_fstat, fd, (long)&s, 0, 0, 0, 0) == 0 && rt_files_path((int)fd, new, sizeof new);
  (void)rt_system(SYS_close, fd, 0, 0, 0, 0, 0);
  if (!good) return false;
  struct identity is = identity_of(&s);
  struct known *k = find_known(&is);
  if (!k) return !S_ISDIR(s.st_mode);
  rt_copy_text(old, sizeof old, k->path);
  if (!rename_known(k, rt_length(old), new)) return false;
  return !S_ISDIR(s.st_mode) || rename_below(old, new);
}

static __attribute__((noinline)) void follow_quietly(int folder, const char *path) {
  uint32_t nobody = 0;
  if (!rt_swap_if(&taken, &nobody, 1)) {
    moved = true;
    return;
  }
  rt_stack_keep();
  moved |= !follow(folder, path);
  rt_stack_put_back();
  rt_store(&taken, 0);
}

enum rt_action rt_numbers_rename(struct rt_call *c, bool at) {
  if (!rt_trunk()) return RT_PASS;
  typedef uint64_t renaming(uint64_t, uint64_t, uint64_t, uint64_t);
  c->retval = ((renaming *)c->real)(c->args[0], c->args[1], c->args[2], c->args[3]);
  if ((int)c->retval == 0) follow_quietly(at ? (int)c->args[2] : AT_FDCWD, (const char *)c->args[at ? 3 : 1]);
  return RT_RETURN;
}

bool rt_numbers_check(void) {
  forget_removed();
  return !unknown;
}

/* --- the child ---------------------------------------------------------------------------------------------------- */

/* What the program is told of a file that is I in the child. */
static struct identity translate(const struct identity *i) {
  struct identity to = *i;
  for (uint32_t k = 0; k < n_list; k++) {
    const struct known *known = &list[k];
    if (known->is.device != i->device) continue;
    to.device = known->was.device;
    if (known->is.inode != i->inode) continue;
    bool changed = known->is.changed_s != i->changed_s || known->is.changed_ns != i->changed_ns;
    return changed ? (struct identity){to.device, known->was.inode, i->changed_s, i->changed_ns} : known->was;
  }
  if (find_known(&to)) to.inode |= ELSEWHERE;
  return to;
}

/* A stream's own times are not the trunk's. */
static void add_stream(const struct identity *was, const struct identity *is) {
  list[n_list++] = (struct known){.was = {was->device, was->inode, is->changed_s, is->changed_ns}, .is = *is};
}

bool rt_numbers_child(const int files[3]) {
  bool same = true;
  struct identity is;
  for (uint32_t i = 0; i < n_list; i++) {
    if (!look_at(list[i].path, &list[i].is)) return false;
    same &= is_same_file(&list[i].is, &list[i].was);
  }
  for (int i = 0; i < STREAMS; i++) {
    if (!stream_known[i] || !look_at_file(files[i], &is) || is_same_file(&streams[i], &is)) continue;
    add_stream(&streams[i], &is);
    same = false;
  }
  in_child = !same;
  return true;
}

enum rt_action rt_numbers_look(struct rt_call *c, enum wire_hook hook) {
  if (!rt_trunk() && !in_child) return RT_PASS;
  typedef uint64_t looking(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
  c->retval = ((looking *)c->real)(c->args[0], c->args[1], c->args[2], c->args[3], c->args[4]);
  if ((int)c->retval != 0) return RT_RETURN;
  struct look l = find_look(c, hook);
  if (rt_trunk()) {
    keep_quietly(&l);
  } else {
    struct identity is = read_answer(&l), was = translate(&is);
    write_answer(&l, &was);
  }
  return RT_RETURN;
}
