/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device and inode of a file are what a program knows it by. The copies that a child of the trunk sees have others, so
 * the child is told those of the originals.
 *
 * Of what was changed before the child was made, the keeper tells both numbers. Everything else lies in the file system
 * below the overlays: there a file has the same inode in each of them, and only the device is another one. Folders are
 * the exception, which an overlay numbers as they are met. So the trunk keeps the numbers of folders that the program
 * was told, with their paths; nobody can have given a folder another name that is not among what was changed. The child
 * finds a folder by its path when it is looked at, or all of them before a name may become that of another one. So what
 * a child costs does not depend on how many files the program has looked at.
 */
#include "numbers.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "apart.h"
#include "below.h"
#include "branch.h"
#include "files.h"
#include "sound.h"
#include "system.h"
#include "words.h"

#define MOST 4096
#define PATH_ROOM 256
#define STREAMS 3
/* Set in the inode of a folder whose number in the child is one that the program knows from elsewhere. */
#define ELSEWHERE (1ull << 62)

/* A folder that the program was told the numbers of. */
struct folder {
  struct wire_identity was;
  uint32_t next_path, next_number; /* of the same list, from 1 */
  char path[PATH_ROOM];
};

static struct folder folders[MOST];
static uint32_t n_folders, by_path[MOST], by_number[MOST]; /* first of a list, from 1 */
static uint64_t is[MOST];                                  /* their inodes in the child, as far as they are known */
static struct wire_number numbers[WIRE_NUMBERS + STREAMS]; /* in the child: what the keeper knows */
static uint32_t n_numbers;
static struct wire_identity streams[STREAMS]; /* standard input and output, which a child has files of its own for */
static bool unknown;                          /* the program knows numbers that are not in the list */
static bool in_child, settled;
static uint32_t taken; /* not 0: the list is being changed, below this signal handler or in another thread */

static bool look_at_file(int fd, struct wire_identity *ret);

void rt_numbers_start(void) {
  for (int i = 0; i < STREAMS; i++)
    if (!look_at_file(i, &streams[i])) streams[i] = (struct wire_identity){0};
}

void rt_numbers_tell(void) { unknown |= rt_trunk(); }

bool rt_numbers_check(void) { return !unknown; }

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

static struct wire_identity identity_of(const struct stat *s) {
  return (struct wire_identity){s->st_dev, s->st_ino, s->st_ctim.tv_sec, s->st_ctim.tv_nsec};
}

static struct wire_identity read_answer(const struct look *l) {
  if (l->plain) return identity_of(l->plain);
  const struct statx *x = l->extended;
  return (struct wire_identity){makedev(x->stx_dev_major, x->stx_dev_minor), x->stx_ino, x->stx_ctime.tv_sec,
                                x->stx_ctime.tv_nsec};
}

static void write_answer(const struct look *l, const struct wire_identity *i) {
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

static bool is_folder(const struct look *l) {
  return S_ISDIR(l->plain ? l->plain->st_mode : (mode_t)l->extended->stx_mode);
}

static bool is_same_file(const struct wire_identity *a, const struct wire_identity *b) {
  return a->device == b->device && a->inode == b->inode;
}

static bool look_at_file(int fd, struct wire_identity *ret) {
  struct stat s;
  if (rt_system(SYS_fstat, fd, (long)&s, 0, 0, 0, 0) < 0) return false;
  *ret = identity_of(&s);
  return true;
}

static bool look_at(const char *path, struct wire_identity *ret) {
  struct stat s;
  if (rt_system(SYS_newfstatat, AT_FDCWD, (long)path, (long)&s, AT_SYMLINK_NOFOLLOW, 0, 0) < 0) return false;
  *ret = identity_of(&s);
  return true;
}

/* --- folders ------------------------------------------------------------------------------------------------------ */

static uint32_t *list_of_path(const char *path) {
  uint64_t hash = RT_HASH;
  for (; *path; path++)
    hash = rt_hash(hash, *path);
  return &by_path[hash % MOST];
}

static uint32_t *list_of_number(const struct wire_identity *was) {
  return &by_number[(was->inode + was->device * 31) % MOST];
}

static struct folder *find_path(const char *path) {
  for (uint32_t i = *list_of_path(path); i; i = folders[i - 1].next_path)
    if (rt_same(folders[i - 1].path, path)) return &folders[i - 1];
  return NULL;
}

static bool is_known(const struct wire_identity *was) {
  for (uint32_t i = *list_of_number(was); i; i = folders[i - 1].next_number)
    if (is_same_file(&folders[i - 1].was, was)) return true;
  for (uint32_t i = 0; i < n_numbers; i++)
    if (is_same_file(&numbers[i].was, was)) return true;
  return false;
}

static void take_out(struct folder *f) {
  uint32_t number = (uint32_t)(f - folders) + 1, *at = list_of_number(&f->was);
  while (*at != number)
    at = &folders[*at - 1].next_number;
  *at = f->next_number;
}

static void put_in(struct folder *f, const struct wire_identity *was) {
  uint32_t *list = list_of_number(was);
  f->was = *was;
  f->next_number = *list;
  *list = (uint32_t)(f - folders) + 1;
}

static bool add_folder(const char *path, const struct wire_identity *was) {
  struct folder *f = find_path(path);
  if (f) {
    take_out(f);
  } else {
    if (n_folders == MOST) return false;
    f = &folders[n_folders++];
    uint32_t *list = list_of_path(path);
    rt_copy_text(f->path, PATH_ROOM, path);
    f->next_path = *list;
    *list = n_folders;
  }
  put_in(f, was);
  return true;
}

enum place { PLACE_NONE, PLACE_FOUND, PLACE_UNKNOWN };

/* Where the folder is, in TO; PLACE_NONE if it is no part of the world that children have copies of. */
static enum place find_place(const struct look *l, const struct wire_identity *wanted, char *to, size_t size) {
  struct wire_identity found;
  bool open = l->path && *l->path; /* and else it is about the descriptor */
  long fd = open ? rt_system(SYS_openat, l->folder, (long)l->path, O_PATH | O_CLOEXEC, 0, 0, 0) : l->folder;
  if (fd < 0) return PLACE_UNKNOWN;
  bool copied = rt_files_path((int)fd, to, size);
  bool good = copied && look_at(to, &found) && is_same_file(&found, wanted);
  if (open) (void)rt_system(SYS_close, fd, 0, 0, 0, 0, 0);
  return good ? PLACE_FOUND : copied ? PLACE_UNKNOWN : PLACE_NONE;
}

/* --- the trunk ---------------------------------------------------------------------------------------------------- */

static void keep(const struct look *l) {
  static char path[PATH_MAX];
  struct wire_identity was = read_answer(l);
  if (is_known(&was)) return;
  enum place place = find_place(l, &was, path, sizeof path);
  if (place == PLACE_NONE) return;
  unknown |= place == PLACE_UNKNOWN || rt_length(path) >= PATH_ROOM || !add_folder(path, &was);
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

/* --- the child ---------------------------------------------------------------------------------------------------- */

/* The keeper's words about the file that is I in the child; NULL if there are none. */
static const struct wire_number *find_number(const struct wire_identity *i) {
  for (uint32_t k = 0; k < n_numbers; k++)
    if (numbers[k].is.inode && is_same_file(&numbers[k].is, i)) return &numbers[k];
  return NULL;
}

static const struct wire_number *find_device(uint64_t device) {
  for (uint32_t k = 0; k < n_numbers; k++)
    if (!numbers[k].is.inode && numbers[k].is.device == device) return &numbers[k];
  return NULL;
}

/* The folder that the program knows at PATH, if the one with inode INODE is still that. */
static const struct folder *find_folder(const char *path, uint64_t inode) {
  const struct folder *f = find_path(path);
  uint64_t *known = f ? &is[f - folders] : NULL;
  if (!f || (*known ? *known != inode : settled)) return NULL;
  *known = inode;
  return f;
}

/* What the program is told of the folder, which is I in the child. */
static __attribute__((noinline)) struct wire_identity translate_folder(const struct look *l,
                                                                       const struct wire_identity *i, uint64_t device) {
  char path[PATH_ROOM + 1];
  struct wire_identity to = {device, i->inode, i->changed_s, i->changed_ns};
  bool found = !rt_apart_filtered() && find_place(l, i, path, sizeof path) == PLACE_FOUND;
  const struct folder *f = found ? find_folder(path, i->inode) : NULL;
  if (f && f->was.device == device)
    to.inode = f->was.inode;
  else if (is_known(&to))
    to.inode |= ELSEWHERE;
  return to;
}

static struct wire_identity translate(const struct look *l) {
  struct wire_identity i = read_answer(l);
  const struct wire_number *n = find_number(&i);
  if (n) {
    bool changed = n->is.changed_s != i.changed_s || n->is.changed_ns != i.changed_ns;
    return changed ? (struct wire_identity){n->was.device, n->was.inode, i.changed_s, i.changed_ns} : n->was;
  }
  n = find_device(i.device);
  if (n && is_folder(l)) return translate_folder(l, &i, n->was.device);
  if (n) i.device = n->was.device;
  return i;
}

static void add_stream(int stream, int fd) {
  struct wire_identity now, was = streams[stream];
  if (!was.inode || !look_at_file(fd, &now) || is_same_file(&was, &now)) return;
  /* A stream's own times are not the trunk's. */
  was.changed_s = now.changed_s;
  was.changed_ns = now.changed_ns;
  numbers[n_numbers++] = (struct wire_number){.was = was, .is = now};
}

bool rt_numbers_child(const int files[RT_FILES]) {
  const long room = sizeof numbers - STREAMS * sizeof *numbers;
  long n = files[STREAMS] < 0 ? 0 : rt_system(SYS_pread64, files[STREAMS], (long)numbers, room, 0, 0, 0);
  if (n < 0 || n % (long)sizeof *numbers) return false;
  n_numbers = (uint32_t)(n / (long)sizeof *numbers);
  for (int i = 0; i < STREAMS; i++)
    add_stream(i, files[i]);
  in_child = n_numbers > 0;
  return true;
}

bool rt_numbers_unmapped(void) {
  for (uint32_t i = 0; i < n_numbers; i++)
    if (numbers[i].path && rt_sound_shows(numbers[i].path)) return false;
  return true;
}

void rt_numbers_settle(void) {
  if (!in_child || settled) return;
  for (uint32_t i = 0; i < n_folders; i++) {
    struct wire_identity now;
    if (!is[i] && look_at(folders[i].path, &now)) is[i] = now.inode;
  }
  settled = true;
}

/* --- hooks -------------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) void show(const struct look *l) {
  struct wire_identity was = translate(l);
  write_answer(l, &was);
}

/*
 * Only a folder is looked for by its path; everything else is in tables, and no deeper on the stack than what else is
 * done at a call.
 */
static __attribute__((noinline)) bool is_looked_for(const struct look *l) {
  struct wire_identity i = read_answer(l);
  return is_folder(l) && !find_number(&i) && find_device(i.device);
}

/* There may be threads, and then what lies below is anybody's. */
static __attribute__((noinline)) void show_quietly(const struct look *l) {
  uint32_t nobody = 0;
  if (rt_apart_filtered() || !rt_swap_if(&taken, &nobody, 1)) {
    show(l);
    return;
  }
  rt_stack_keep();
  show(l);
  rt_stack_put_back();
  rt_store(&taken, 0);
}

bool rt_numbers_differ(void) { return in_child; }

static bool is_changed_inode(uint64_t inode) {
  for (uint32_t k = 0; k < n_numbers; k++)
    if (numbers[k].is.inode == inode) return true;
  return false;
}

uint64_t rt_numbers_entry(int folder, const char *name, uint64_t inode, bool is_folder) {
  struct stat s;
  if (!in_child || (!is_folder && !is_changed_inode(inode))) return inode;
  if (rt_system(SYS_newfstatat, folder, (long)name, (long)&s, AT_SYMLINK_NOFOLLOW, 0, 0) < 0) return inode;
  /* An overlay lists some folders with the number that they have below it. */
  if (s.st_ino != inode) return inode;
  return translate(&(struct look){.folder = folder, .path = name, .plain = &s}).inode;
}

enum rt_action rt_numbers_look(struct rt_call *c, enum wire_hook hook) {
  if (!rt_trunk() && !in_child) return RT_PASS;
  typedef uint64_t looking(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
  c->retval = ((looking *)c->real)(c->args[0], c->args[1], c->args[2], c->args[3], c->args[4]);
  if ((int)c->retval != 0) return RT_RETURN;
  struct look l = find_look(c, hook);
  if (!rt_trunk() && !is_looked_for(&l))
    show(&l);
  else if (!rt_trunk())
    show_quietly(&l);
  else if (is_folder(&l) && !rt_apart_filtered())
    keep_quietly(&l);
  return RT_RETURN;
}
