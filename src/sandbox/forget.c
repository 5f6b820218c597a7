/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To empty the upper folder of an overlay that stays mounted. A new mount costs several times as much, and so does the
 * end of the old one.
 *
 * The kernel allows no changes below an overlay that is in use, since it remembers what it has found there. To mount it
 * again with the same options makes it drop every name that nobody holds. Whether somebody holds one is told by a look
 * at whether the mount could expire: open files, working directories and mapped programs count there.
 */
#include "sandbox/layers.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

int overlay_forget(const char *target) {
  /* The first time, it is only marked; to look it up, as below, takes the mark away. */
  if (umount2(target, MNT_EXPIRE) == 0) return -ENOENT;
  if (errno != EAGAIN) return -errno;
  if (mount(NULL, target, NULL, MS_REMOUNT | MS_NOSUID | MS_NODEV, NULL) == 0) return 0;
  int code = -errno;
  struct stat st;
  (void)stat(target, &st);
  return code;
}

/* --- proof -------------------------------------------------------------------------------------------------------- */

/* A small overlay, in which one file is changed and one is new. */
struct proof {
  char lower[PATH_MAX], upper[PATH_MAX], work[PATH_MAX], at[PATH_MAX];
};

static int make_folders(const char *stage, struct proof *p) {
  const struct {
    char *path;
    const char *name;
  } folders[] = {{p->at, "/proof"},     {p->lower, "/proof/l"}, {p->upper, "/proof/u"},
                 {p->work, "/proof/w"}, {p->at, "/proof/l/d"},  {p->at, "/proof/at"}};
  for (size_t i = 0; i < COUNT(folders); i++)
    if (join(folders[i].path, stage, folders[i].name, NULL) < 0 || mkdir(folders[i].path, 0700) < 0) return -1;
  return 0;
}

static int write_byte(const char *folder, const char *name, char byte) {
  char path[PATH_MAX];
  int fd = join(path, folder, name, NULL) < 0 ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return -1;
  ssize_t n = write(fd, &byte, 1);
  (void)close(fd);
  return n == 1 ? 0 : -1;
}

/* What is there; 0 if nothing is. */
static char read_byte(const char *folder, const char *name) {
  char path[PATH_MAX], byte = 0;
  int fd = join(path, folder, name, NULL) < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  if (read(fd, &byte, 1) != 1) byte = 0;
  (void)close(fd);
  return byte;
}

static void empty_folder(const char *path) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  layers_empty(fd);
  (void)close(fd);
}

/* The folder of the two files, which was copied when they were changed, is the lower one again, and so are they. */
static bool is_as_new(const struct proof *p) {
  char path[PATH_MAX];
  struct stat lower, seen;
  bool good = join(path, p->lower, "/d", NULL) == 0 && stat(path, &lower) == 0;
  good = good && join(path, p->at, "/d", NULL) == 0 && stat(path, &seen) == 0;
  /* A folder that has a copy shows another number of links, as the overlay does not count them. */
  return good && seen.st_nlink == lower.st_nlink && read_byte(p->at, "/d/old") == 'a' &&
         read_byte(p->at, "/d/new") == 0;
}

static bool prove(const struct proof *p) {
  if (write_byte(p->at, "/d/old", 'b') < 0 || write_byte(p->at, "/d/new", 'c') < 0) return false;
  if (read_byte(p->at, "/d/old") != 'b' || overlay_forget(p->at) < 0) return false;
  empty_folder(p->upper);
  return is_as_new(p);
}

bool overlay_forgets(const char *stage) {
  static struct proof p;
  struct text t = {0};
  char top[PATH_MAX];
  bool good = make_folders(stage, &p) == 0 && write_byte(p.lower, "/d/old", 'a') == 0;
  text_addf(&t, "lowerdir=%s,upperdir=%s,workdir=%s,userxattr", p.lower, p.upper, p.work);
  good = good && !t.failed && mount("overlay", p.at, "overlay", MS_NOSUID | MS_NODEV, t.at) == 0;
  text_done(&t);
  bool forgets = good && prove(&p);
  if (good) (void)umount2(p.at, MNT_DETACH);
  if (join(top, stage, "/proof", NULL) < 0) return false;
  empty_folder(top);
  (void)rmdir(top);
  return forgets;
}
