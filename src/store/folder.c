/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of a campaign. It may be a place where a person has other things, by a slip of the hand: what murphy did
 * not make is never touched.
 */
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* How long to wait for a murphy that is just ending, in milliseconds. */
enum { PATIENCE = 2000, STEP = 50 };

/* What a campaign consists of, in the order in which it is moved: the database last, so that what is left of a move
 * that was interrupted is still a campaign, and is moved the next time. */
static const char *const parts[] = {"findings", "campaign.db-wal", "campaign.db-shm", "campaign.db"};

static bool is_own(const char *name, bool campaign) {
  if (!campaign && strcmp(name, parts[0]) == 0) return false; /* somebody else's findings */
  if (strcmp(name, ".gitignore") == 0) return true;
  if (strncmp(name, "campaign-", 9) == 0 || strcmp(name, "campaign.db.new") == 0) return true;
  if (strcmp(name, "campaign.db.new-journal") == 0 || strcmp(name, "campaign.db-journal") == 0) return true;
  for (size_t i = 0; i < COUNT(parts); i++)
    if (strcmp(name, parts[i]) == 0) return true;
  return false;
}

/* -ENOTEMPTY if something is in it that murphy did not put there. */
static int check_entries(const char *path, int fd, struct err *e) {
  int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *d = copy < 0 ? NULL : fdopendir(copy);
  if (!d) {
    if (copy >= 0) (void)close(copy);
    return err_set(e, -errno, "%s: %m", path);
  }
  bool campaign = faccessat(fd, "campaign.db", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  int r = 0;
  for (struct dirent *entry; r == 0 && (entry = readdir(d));) {
    const char *name = entry->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || is_own(name, campaign)) continue;
    r = err_set(e, -ENOTEMPTY, "%s: not a campaign's folder: it has '%s' (name another one with --campaign)", path,
                name);
  }
  (void)closedir(d);
  return r;
}

static int lock(const char *path, int fd, struct err *e) {
  for (unsigned waited = 0;; waited += STEP) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return 0;
    if (errno != EWOULDBLOCK && errno != EINTR) return 0; /* a file system without locks */
    if (waited >= PATIENCE)
      return err_set(e, -EBUSY, "%s: in use by another murphy (wait for it, or use --campaign)", path);
    (void)nanosleep(&(struct timespec){.tv_nsec = STEP * 1000000L}, NULL);
  }
}

/* One that cannot be read is told now, and not when there is something to put into it. */
static int check_campaign(const char *path, struct err *e) {
  struct store *s = NULL;
  int r = store_open(path, false, &s, e);
  store_close(s);
  return r == -ENOENT ? 0 : r;
}

static int open_folder(const char *path, struct store_folder *f, struct err *e) {
  struct stat st;
  if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
    return err_set(e, -EEXIST, "%s: is not a folder (move it away, or name another one with --campaign)", path);
  if (mkdir(path, 0777) == 0)
    f->made = true;
  else if (errno != EEXIST)
    return err_set(e, -errno, "%s: cannot be made: %m (name another folder with --campaign)", path);
  f->path = realpath(path, NULL);
  f->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (!f->path || f->fd < 0) return err_set(e, -errno, "%s: %m", path);
  if (access(path, W_OK) < 0) return err_set(e, -errno, "%s: %m (name another folder with --campaign)", path);
  int r = check_entries(path, f->fd, e);
  if (r >= 0) r = lock(path, f->fd, e);
  return r < 0 ? r : check_campaign(path, e);
}

int store_folder_take(const char *path, struct store_folder *ret, struct err *e) {
  struct store_folder f = {.fd = -1};
  int r = open_folder(path, &f, e);
  if (r < 0) {
    store_folder_done(&f);
    return r;
  }
  *ret = f;
  return 0;
}

void store_folder_done(struct store_folder *f) {
  if (f->made && f->path) (void)rmdir(f->path); /* stays if there is anything in it */
  if (f->fd >= 0) (void)close(f->fd);
  free(f->path);
  *f = (struct store_folder){.fd = -1};
}

/* --- an earlier campaign ------------------------------------------------------------------------------------------ */

/* The first number that is free. */
static int make_place(const struct store_folder *f, unsigned *ret, char name[32], struct err *e) {
  for (unsigned n = 1;; n++) {
    (void)snprintf(name, 32, "campaign-%u", n);
    if (mkdirat(f->fd, name, 0777) == 0) {
      *ret = n;
      return 0;
    }
    if (errno != EEXIST) return err_set(e, -errno, "%s/%s: cannot be made: %m", f->path, name);
  }
}

static int move_parts(const struct store_folder *f, const char *to, struct err *e) {
  char path[64];
  for (size_t i = 0; i < COUNT(parts); i++) {
    (void)snprintf(path, sizeof path, "%s/%s", to, parts[i]);
    if (renameat(f->fd, parts[i], f->fd, path) < 0 && errno != ENOENT)
      return err_set(e, -errno, "%s/%s: cannot be moved to %s: %m", f->path, parts[i], to);
  }
  return 0;
}

/* What is found is not for the program's history; if that cannot be said, nothing is lost. */
static void hide_from_git(const struct store_folder *f) {
  int fd = openat(f->fd, ".gitignore", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return;
  (void)!write(fd, "*\n", 2);
  (void)close(fd);
}

int store_folder_clear(const struct store_folder *f, unsigned *ret_kept, struct err *e) {
  char name[32];
  *ret_kept = 0;
  hide_from_git(f);
  if (faccessat(f->fd, "campaign.db", F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT) return 0;
  /* This also brings the write-ahead log into the file. */
  int r = check_campaign(f->path, e);
  if (r >= 0) r = make_place(f, ret_kept, name, e);
  return r < 0 ? r : move_parts(f, name, e);
}

int store_folder_finding(const char *folder, int64_t id, bool make, char **ret, struct err *e) {
  char *path = NULL;
  if (asprintf(&path, "%s/findings/%lld", folder, (long long)id) < 0) return err_set(e, -ENOMEM, "out of memory");
  int r = make ? dir_make(path) : 0;
  if (r < 0) {
    (void)err_set(e, r, "%s: cannot be made: %s", path, strerror(-r));
    free(path);
    return r;
  }
  *ret = path;
  return 0;
}
