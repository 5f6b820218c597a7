/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file system that a command sees in the sandbox: the one outside, under overlays.
 *
 * An overlay cannot lie over a folder with other mounts below it, at least not in a user namespace (they are locked
 * together), so such folders are made anew and filled entry by entry. Devices are a small choice of harmless ones,
 * /proc is the namespace's own, and what cannot be covered is read-only. Changes go to folders in memory, one for each
 * layer; a layer whose folder is as it was mounted was not changed and stays for the next run.
 */
#include "sandbox/layers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { DEEPEST = 8, BELOW_DEEPEST = 16, BELOW_MAX = 1024 };

/* --- what is mounted outside -------------------------------------------------------------------------------------- */

/* /proc/self/mountinfo writes blanks as \040. */
static void unescape(char *s) {
  char *to = s;
  for (; *s; s++) {
    if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3]) {
      *to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
      s += 3;
    } else {
      *to++ = *s;
    }
  }
  *to = '\0';
}

static int read_mounts(struct layers *l, struct err *e) {
  FILE *f = fopen("/proc/self/mountinfo", "re");
  if (!f) return failed("read", "/proc/self/mountinfo", e);
  char *line = NULL;
  size_t cap = 0;
  int r = 0;
  while (r == 0 && getline(&line, &cap, f) >= 0) {
    char *save = NULL, *field = strtok_r(line, " ", &save);
    for (int i = 0; i < 4 && field; i++)
      field = strtok_r(NULL, " ", &save);
    if (!field) continue;
    unescape(field);
    char *copy = strdup(field);
    if (!copy || vec_push(&l->mounts, copy) < 0) {
      free(copy);
      r = err_set(e, -ENOMEM, "sandbox: out of memory");
    }
  }
  free(line);
  (void)fclose(f);
  return r;
}

static bool has_mounts_below(const struct layers *l, const char *path) {
  size_t n = strcmp(path, "/") == 0 ? 0 : strlen(path);
  for (size_t i = 0; i < l->mounts.n; i++)
    if (strncmp(l->mounts.at[i], path, n) == 0 && l->mounts.at[i][n] == '/' && l->mounts.at[i][n + 1]) return true;
  return false;
}

/* --- layers ------------------------------------------------------------------------------------------------------- */

static void add_escaped(struct text *t, const char *path) {
  for (; *path; path++) {
    if (strchr(":,\\", *path)) text_add_bytes(t, "\\", 1);
    text_add_bytes(t, path, 1);
  }
}

int upper_path(const struct layers *l, unsigned number, const char *part, char out[PATH_MAX], struct err *e) {
  char name[64];
  (void)snprintf(name, sizeof name, "/up/%u%s", number, part);
  return join(out, l->stage, name, e);
}

/* A folder like the one at FROM, whose owner may not be known here: then nobody may write, if the user may not. */
static int make_like(const char *path, const char *from, const struct stat *like, struct err *e) {
  mode_t mode = like->st_mode & 07777;
  if (access(from, W_OK) < 0) mode &= (mode_t)~0222;
  if (mkdir(path, 0700) < 0 && errno != EEXIST) return failed("make", path, e);
  if (chmod(path, mode) < 0) return failed("make", path, e);
  /* An owner that the namespace does not know cannot be given; nobody can write there then, as outside. */
  if (chown(path, like->st_uid, like->st_gid) < 0 && errno != EPERM && errno != EINVAL) return failed("make", path, e);
  const struct timespec times[2] = {like->st_atim, like->st_mtim};
  return utimensat(AT_FDCWD, path, times, 0) < 0 ? failed("make", path, e) : 0;
}

/* Its folders, of which the one for changes is like nothing yet. */
static int make_upper_folders(const struct layers *l, unsigned number, struct err *e) {
  char path[PATH_MAX];
  const char *const parts[] = {"", "/w", "/u"};
  for (size_t i = 0; i < COUNT(parts); i++) {
    int r = upper_path(l, number, parts[i], path, e);
    if (r < 0) return r;
    if (mkdir(path, 0700) < 0) return failed("make", path, e);
  }
  return 0;
}

static int make_upper(const struct layers *l, unsigned number, const char *from, struct err *e) {
  struct stat like;
  char path[PATH_MAX];
  if (stat(from, &like) < 0) return failed("look at", from, e);
  int r = make_upper_folders(l, number, e);
  if (r == 0) r = upper_path(l, number, "/u", path, e);
  return r < 0 ? r : make_like(path, from, &like, e);
}

/* --- the layer between -------------------------------------------------------------------------------------------- */

/* What is hidden, and folders of others, are covered by a layer between the world outside and the changes. */
static int between_path(const struct layers *l, const char *path, char out[PATH_MAX], struct err *e) {
  char between[PATH_MAX];
  int r = join(between, l->stage, "/between", e);
  return r < 0 ? r : join(out, between, path, e);
}

static bool is_below(const char *path, const char *above) {
  size_t n = strlen(above);
  return path && strncmp(path, above, n) == 0 && path[n] == '/';
}

/* Is something below PATH that the layer between must cover? */
static bool is_covered(const struct layers *l, const char *path) {
  bool below = is_below(l->hidden, path);
  for (size_t i = 0; i < COUNT(l->foreign) && !below; i++)
    below = is_below(l->foreign[i], path);
  return below;
}

/* The folders above PATH, in the layer between. */
static int make_above(const struct layers *l, const char *path, struct err *e) {
  char outside[PATH_MAX], made[PATH_MAX];
  struct stat st;
  for (const char *p = path; p; p = strchr(p + 1, '/')) {
    (void)snprintf(outside, sizeof outside, "%.*s", (int)(p - path), path);
    int r = between_path(l, outside, made, e);
    if (r < 0) return r;
    if (stat(*outside ? outside : "/", &st) < 0) return failed("look at", outside, e);
    if (mkdir(made, 0700) < 0 && errno != EEXIST) return failed("make", made, e);
  }
  return 0;
}

/* They become as they are outside, innermost first: making an entry changes the times of the folder. */
static int finish_above(const struct layers *l, const char *path, struct err *e) {
  char outside[PATH_MAX], made[PATH_MAX];
  struct stat st;
  for (size_t n = strlen(path); n > 0; n--) {
    if (path[n] != '/') continue;
    (void)snprintf(outside, sizeof outside, "%.*s", (int)n, path);
    int r = between_path(l, outside, made, e);
    if (r < 0) return r;
    if (stat(outside, &st) < 0) return failed("look at", outside, e);
    if ((r = make_like(made, outside, &st, e)) < 0) return r;
  }
  return 0;
}

/* The folders above what is hidden, and a whiteout in its place. */
static int make_hiding(const struct layers *l, struct err *e) {
  char path[PATH_MAX];
  int r = make_above(l, l->hidden, e);
  if (r == 0) r = between_path(l, l->hidden, path, e);
  if (r < 0) return r;
  return mknod(path, S_IFCHR, makedev(0, 0)) < 0 ? failed("hide", l->hidden, e) : 0;
}

/* The identity that stands for all those which the namespace does not know; also that of Linux without the file. */
static unsigned long unknown_id(const char *file) {
  char digits[32] = "";
  FILE *f = fopen(file, "re");
  bool read = f && fgets(digits, sizeof digits, f);
  if (f) (void)fclose(f);
  return read ? strtoul(digits, NULL, 10) : 65534;
}

static bool is_unknown(const struct layers *l, const struct stat *st) {
  return st->st_uid == l->unknown_user || st->st_gid == l->unknown_group;
}

/*
 * Does PATH, or a folder above it, belong to somebody whom the namespace does not know? Folders in the root are no
 * matter: nothing there is copied, since layers begin there or further below.
 */
static bool is_foreign(const struct layers *l, const char *path) {
  const char *first = strchr(path + 1, '/');
  char at[PATH_MAX];
  struct stat st;
  for (size_t n = strlen(path); first && path + n > first; n--) {
    if (path[n] && path[n] != '/') continue;
    (void)snprintf(at, sizeof at, "%.*s", (int)n, path);
    if (stat(at, &st) == 0 && is_unknown(l, &st)) return true;
  }
  return false;
}

/*
 * An overlay copies a folder before it changes it, and cannot where the owner of the folder, or its group, is unknown
 * to the namespace (EOVERFLOW). Where programs write most, folders that the user may write to but others own are
 * therefore in the layer between, as the user's: the copy is made of those.
 */
static void find_foreign(struct layers *l) {
  const char *const wanted[FOREIGN_MAX] = {l->important[0], l->important[1], l->important[2], "/var/tmp"};
  l->unknown_user = unknown_id("/proc/sys/kernel/overflowuid");
  l->unknown_group = unknown_id("/proc/sys/kernel/overflowgid");
  for (size_t i = 0; i < COUNT(wanted); i++) {
    /* Without symbolic links: a folder between would hide them. */
    char *real = wanted[i] ? realpath(wanted[i], NULL) : NULL, *path = NULL;
    if (real && strlen(real) + 2 < PATH_MAX && access(real, W_OK) == 0 && is_foreign(l, real)) {
      path = malloc(strlen(real) + 2);
      if (path) (void)stpcpy(stpcpy(path, real), "/"); /* so that the folder itself is above it */
    }
    free(real);
    l->foreign[i] = path;
  }
}

/*
 * The folders of others below PATH that the user may write to, as far as only such lie between; at most *LEFT, since
 * they are looked for each time that a sandbox begins. Those further away cannot be changed.
 */
static int make_below(const struct layers *l, const char *path, unsigned depth, unsigned *left, struct err *e) {
  DIR *d = depth ? opendir(path) : NULL;
  int r = 0;
  for (struct dirent *entry; d && r == 0 && *left && (entry = readdir(d));) {
    char child[PATH_MAX], made[PATH_MAX];
    struct stat st;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    int n = snprintf(child, sizeof child, "%s/%s", path, entry->d_name);
    if (n < 0 || (size_t)n >= sizeof child || (l->hidden && strcmp(child, l->hidden) == 0)) continue;
    if (lstat(child, &st) < 0 || !S_ISDIR(st.st_mode) || !is_unknown(l, &st) || access(child, W_OK) < 0) continue;
    --*left;
    r = between_path(l, child, made, e);
    if (r == 0 && mkdir(made, 0700) < 0 && errno != EEXIST) r = failed("make", made, e);
    if (r == 0) r = make_below(l, child, depth - 1, left, e);
    if (r == 0) r = make_like(made, child, &st, e);
  }
  if (d) (void)closedir(d);
  return r;
}

/* The folder that an entry of `foreign` names, and what is above it; of the working folder also what is below. */
static int make_foreign(const struct layers *l, size_t i, struct err *e) {
  char path[PATH_MAX];
  unsigned left = BELOW_MAX;
  int n = snprintf(path, sizeof path, "%s", l->foreign[i]);
  int r = make_above(l, l->foreign[i], e);
  if (r < 0 || i > 0 || n < 2 || (size_t)n >= sizeof path) return r;
  path[n - 1] = '\0';
  return make_below(l, path, BELOW_DEEPEST, &left, e);
}

/* What cannot be covered is seen, and cannot be changed where it is a folder of others. */
static void build_between(struct layers *l) {
  /* A kernel before 5.8 allows no whiteouts here. */
  if (l->hidden && make_hiding(l, NULL) < 0) l->hidden = NULL;
  for (size_t i = 0; i < COUNT(l->foreign); i++)
    if (l->foreign[i] && make_foreign(l, i, NULL) < 0) l->foreign[i][0] = '\0';
  if (l->hidden && finish_above(l, l->hidden, NULL) < 0) l->hidden = NULL;
  for (size_t i = 0; i < COUNT(l->foreign); i++)
    if (l->foreign[i] && finish_above(l, l->foreign[i], NULL) < 0) l->foreign[i][0] = '\0';
}

static int overlay_options(const struct layers *l, const char *lower, unsigned number, struct text *t, struct err *e) {
  char path[PATH_MAX];
  int r = between_path(l, lower, path, e);
  if (r < 0) return r;
  text_add(t, "lowerdir=");
  if (is_covered(l, lower)) {
    add_escaped(t, path);
    text_add(t, ":");
  }
  add_escaped(t, lower);
  text_add(t, ",upperdir=");
  r = upper_path(l, number, "/u", path, e);
  if (r < 0) return r;
  add_escaped(t, path);
  text_add(t, ",workdir=");
  r = upper_path(l, number, "/w", path, e);
  if (r < 0) return r;
  add_escaped(t, path);
  text_add(t, ",userxattr");
  return t->failed ? err_set(e, -ENOMEM, "sandbox: out of memory") : 0;
}

void upper_forget(struct upper *u) {
  if (u->fd >= 0) (void)close(u->fd);
  u->fd = -1;
}

/* Of what is mounted now. DIRTY: it has changes already. */
static struct upper watch_upper(const struct layers *l, unsigned number, bool dirty) {
  struct upper u = {.number = number, .fd = -1, .dirty = dirty};
  char path[PATH_MAX];
  struct stat work;
  if (upper_path(l, number, "/u", path, NULL) == 0) u.fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (u.fd >= 0 && fstat(u.fd, &u.clean) < 0) upper_forget(&u);
  if (upper_path(l, number, "/w/work", path, NULL) == 0 && stat(path, &work) == 0) u.work = work.st_size;
  return u;
}

int layer_mount(struct layers *l, struct layer *layer, const char *target, struct err *e) {
  unsigned number = l->next++;
  int r = make_upper(l, number, layer->at, e);
  if (r < 0) return r;
  struct text t = {0};
  r = overlay_options(l, layer->at, number, &t, e);
  if (r == 0 && mount("overlay", target, "overlay", MS_NOSUID | MS_NODEV, t.at) < 0)
    r = failed("lay an overlay over", layer->at, e);
  text_done(&t);
  if (r == 0) layer->upper = watch_upper(l, number, false);
  return r;
}

static int mount_read_only(const char *path, const char *target, struct err *e) {
  if (mount(path, target, NULL, MS_BIND | MS_REC, NULL) < 0) return failed("show", path, e);
  struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID};
  if (mount_setattr(AT_FDCWD, target, AT_RECURSIVE, &attr, sizeof attr) < 0) return failed("protect", path, e);
  return 0;
}

static int add_layer(struct layers *l, const char *path, const char *target, struct err *e) {
  bool too_long = strlen(path) >= sizeof((struct sandbox_layer *)NULL)->at; /* its changes could not be told */
  char *copy = too_long ? NULL : strdup(path);
  if (!copy || l->at.n == SANDBOX_LAYERS || vec_push(&l->at, (struct layer){.at = copy, .upper.fd = -1}) < 0) {
    free(copy);
    return mount_read_only(path, target, e);
  }
  struct layer *layer = &l->at.at[l->at.n - 1];
  struct err why = {0};
  int r = layer_mount(l, layer, target, &why);
  /* Some file systems cannot be under an overlay; a whole machine without overlays shows at the first one. */
  if (r == -ENODEV || (r == -EPERM && l->at.n == 1))
    return err_set(e, r,
                   "%s (overlays in user namespaces need Linux 5.11, its module overlay, and a container that allows "
                   "mount; or use --no-sandbox)",
                   why.text);
  if (r < 0) layer->fixed = true;
  return r < 0 ? mount_read_only(path, target, e) : 0;
}

/* --- the tree ----------------------------------------------------------------------------------------------------- */

static int build(struct layers *l, const char *path, unsigned depth, struct err *e);

static bool is_special(const char *path) {
  return strcmp(path, "/proc") == 0 || strcmp(path, "/dev") == 0 || strcmp(path, "/sys") == 0;
}

static int build_file(const char *path, const char *target, struct err *e) {
  int fd = open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return failed("make", target, e);
  (void)close(fd);
  return mount_read_only(path, target, e);
}

static int build_link(const char *path, const char *target, struct err *e) {
  char to[PATH_MAX];
  ssize_t n = readlink(path, to, sizeof to - 1);
  if (n < 0) return failed("read", path, e);
  to[n] = '\0';
  return symlink(to, target) < 0 && errno != EEXIST ? failed("make", target, e) : 0;
}

static bool leads_to(const char *path, const char *to) {
  size_t n = strlen(path);
  return to && strncmp(path, to, n) == 0 && (to[n] == '/' || !to[n]);
}

static bool is_important(const struct layers *l, const char *path) {
  for (size_t i = 0; i < COUNT(l->important); i++)
    if (leads_to(path, l->important[i])) return true;
  return false;
}

enum { TURNS = 4 };

/*
 * There are only so many layers, and a folder with a mount below it takes one for each of its entries. So it comes
 * behind its neighbours, unless what it leads to matters more than they do.
 */
static unsigned turn_of(const struct layers *l, const char *path, unsigned depth) {
  bool important = is_important(l, path);
  if (has_mounts_below(l, path)) return !important ? 3 : depth ? 1 : 2;
  return important ? 0 : depth ? 2 : 1;
}

static int build_turn(struct layers *l, DIR *d, const char *path, unsigned depth, unsigned turn, struct err *e) {
  int r = 0;
  rewinddir(d);
  for (struct dirent *entry; r == 0 && (entry = readdir(d));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    char child[PATH_MAX];
    int n = snprintf(child, sizeof child, "%s/%s", strcmp(path, "/") == 0 ? "" : path, entry->d_name);
    if (n < 0 || (size_t)n >= sizeof child || is_special(child) || turn_of(l, child, depth) != turn) continue;
    r = build(l, child, depth + 1, e);
  }
  return r;
}

static int build_entries(struct layers *l, const char *path, unsigned depth, struct err *e) {
  DIR *d = opendir(path);
  if (!d) return errno == EACCES ? 0 : failed("read", path, e); /* who may not look in may not write there either */
  int r = 0;
  for (unsigned turn = 0; turn < TURNS && r == 0; turn++)
    r = build_turn(l, d, path, depth, turn, e);
  (void)closedir(d);
  return r;
}

/* The root is made anew; other folders with mounts below them are shown read-only, with overlays on what is in them. */
static int build_folder(struct layers *l, const char *path, const char *target, unsigned depth, struct err *e) {
  if (!has_mounts_below(l, path)) return add_layer(l, path, target, e);
  int r = mount_read_only(path, target, e);
  return r < 0 || depth > DEEPEST ? r : build_entries(l, path, depth, e);
}

static int build_one(struct layers *l, const char *path, const struct stat *st, unsigned depth, struct err *e) {
  char target[PATH_MAX];
  int r = inside(l, path, target, e);
  if (r < 0) return r;
  if (S_ISDIR(st->st_mode)) {
    if (depth == 1 && (r = make_like(target, path, st, e)) < 0) return r;
    return access(path, R_OK | X_OK) < 0 ? 0 : build_folder(l, path, target, depth, e);
  }
  if (depth > 1) return 0; /* shown with its folder */
  if (S_ISLNK(st->st_mode)) return build_link(path, target, e);
  return S_ISREG(st->st_mode) ? build_file(path, target, e) : 0;
}

static int build(struct layers *l, const char *path, unsigned depth, struct err *e) {
  struct stat st;
  if (lstat(path, &st) < 0) return 0; /* gone, or not ours to see */
  struct err why = {0};
  int r = build_one(l, path, &st, depth, &why);
  if (r == -ENOENT && lstat(path, &st) < 0 && errno == ENOENT) return 0; /* others remove what is theirs meanwhile */
  if (r < 0) *e = why;
  return r;
}

/* --- devices and the rest ----------------------------------------------------------------------------------------- */

static int mount_at(const struct layers *l, const char *path, const char *type, unsigned long flags, const char *data,
                    struct err *e) {
  char target[PATH_MAX];
  int r = inside(l, path, target, e);
  if (r < 0) return r;
  if (mkdir(target, 0755) < 0 && errno != EEXIST) return failed("make", target, e);
  return mount(type, target, type, flags, data) < 0 ? failed("mount", path, e) : 0;
}

static int show_device(const struct layers *l, const char *path, struct err *e) {
  char target[PATH_MAX];
  int r = inside(l, path, target, e);
  if (r < 0) return r;
  int fd = open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return failed("make", target, e);
  (void)close(fd);
  /* Who writes to a device does not change its file; mode, owner and times are those of the machine's own. */
  return mount_read_only(path, target, e);
}

static int link_at(const struct layers *l, const char *path, const char *to, struct err *e) {
  char target[PATH_MAX];
  int r = inside(l, path, target, e);
  if (r < 0) return r;
  return symlink(to, target) < 0 ? failed("make", target, e) : 0;
}

int shm_mount(const struct layers *l, struct err *e) {
  return mount_at(l, "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777", e);
}

static int build_devices(const struct layers *l, struct err *e) {
  static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                        "/dev/random", "/dev/urandom", "/dev/tty"};
  static const char *const links[][2] = {{"/dev/fd", "/proc/self/fd"},
                                         {"/dev/stdin", "/proc/self/fd/0"},
                                         {"/dev/stdout", "/proc/self/fd/1"},
                                         {"/dev/stderr", "/proc/self/fd/2"},
                                         {"/dev/ptmx", "pts/ptmx"}};
  int r = mount_at(l, "/dev", "tmpfs", MS_NOSUID, "mode=755,size=1m", e);
  for (size_t i = 0; r == 0 && i < COUNT(devices); i++)
    if (access(devices[i], F_OK) == 0) r = show_device(l, devices[i], e);
  for (size_t i = 0; r == 0 && i < COUNT(links); i++)
    r = link_at(l, links[i][0], links[i][1], e);
  if (r == 0) r = mount_at(l, "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620", e);
  return r < 0 ? r : shm_mount(l, e);
}

static int build_special(const struct layers *l, struct err *e) {
  int r = build_devices(l, e);
  if (r == 0) r = mount_at(l, "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL, e);
  if (r < 0) return r;
  char target[PATH_MAX];
  /* Settings of the namespaces, which are there for all runs. A kernel may have none. */
  r = inside(l, "/proc/sys", target, e);
  if (r == 0 && access(target, F_OK) == 0) r = mount_read_only(target, target, e);
  if (r == 0) r = inside(l, "/sys", target, e);
  if (r < 0) return r;
  if (access("/sys", F_OK) < 0) return 0;
  if (mkdir(target, 0755) < 0) return failed("make", target, e);
  return mount_read_only("/sys", target, e);
}

/* Folders above a mount point inside, where it lies on something that is new there. */
static int make_parents(char *path, struct err *e) {
  for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
    *p = '\0';
    int r = mkdir(path, 0755) < 0 && errno != EEXIST ? failed("make", path, e) : 0;
    *p = '/';
    if (r < 0) return r;
  }
  return mkdir(path, 0755) < 0 && errno != EEXIST ? failed("make", path, e) : 0;
}

int layers_show_shared(const struct layers *l, struct err *e) {
  char target[PATH_MAX];
  int r = inside(l, l->shared, target, e);
  if (r < 0) return r;
  struct stat st;
  if (stat(target, &st) < 0 && (r = make_parents(target, e)) < 0) return r;
  return mount(l->shared, target, NULL, MS_BIND, NULL) < 0 ? failed("show", l->shared, e) : 0;
}

static int make_stage(struct layers *l, uint64_t disk, struct err *e) {
  char data[64], path[PATH_MAX];
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) return failed("cut off", "/", e);
  (void)snprintf(data, sizeof data, disk ? "mode=755,size=%llu" : "mode=755", (unsigned long long)disk);
  if (mount("tmpfs", l->stage, "tmpfs", MS_NOSUID | MS_NODEV, data) < 0) return failed("mount", l->stage, e);
  int r = join(path, l->stage, "/up", e);
  if (r < 0) return r;
  if (mkdir(path, 0700) < 0) return failed("make", path, e);
  r = join(path, l->stage, "/world", e);
  if (r < 0) return r;
  if (mkdir(path, 0755) < 0) return failed("make", path, e);
  return mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m") < 0 ? failed("mount", path, e) : 0;
}

/* What is neither a layer nor a device was made here, and is the same for all runs. */
static int protect_root(const struct layers *l, struct err *e) {
  char path[PATH_MAX];
  struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
  const char *const made[] = {"/world", "/world/dev"};
  for (size_t i = 0; i < COUNT(made); i++) {
    int r = join(path, l->stage, made[i], e);
    if (r < 0) return r;
    if (mount_setattr(AT_FDCWD, path, 0, &attr, sizeof attr) < 0) return failed("protect", path, e);
  }
  return 0;
}

int shm_watch(struct layers *l, struct err *e) {
  char path[PATH_MAX];
  int r = inside(l, "/dev/shm", path, e);
  if (r < 0) return r;
  return stat(path, &l->shm) < 0 ? failed("look at", path, e) : 0;
}

/*
 * Is PATH in a layer that can be changed? That is not looked up there: an overlay counts its folders as they are looked
 * up, and the first run would see other numbers than those after it.
 */
static bool is_in_layer(const struct layers *l, const char *path) {
  for (size_t i = 0; i < l->at.n; i++)
    if (!l->at.at[i].fixed && leads_to(l->at.at[i].at, path)) return true;
  return false;
}

void layers_note(const struct layers *l, char *ret, size_t size) {
  ret[0] = '\0';
  for (size_t i = 0; i < COUNT(l->important); i++) {
    char target[PATH_MAX];
    const char *path = l->important[i];
    if (!path || is_in_layer(l, path) || access(path, W_OK) < 0 || inside(l, path, target, NULL) < 0) continue;
    if (access(target, W_OK) == 0 || errno != EROFS) continue;
    (void)snprintf(ret, size, "%s is read-only in the sandbox%s", path,
                   has_mounts_below(l, path) ? ", since something is mounted below it" : "");
    return;
  }
}

/* Where programs write most. */
static void find_important(struct layers *l) {
  const char *home = getenv("HOME"), *temporary = getenv("TMPDIR");
  l->important[0] = l->cwd;
  l->important[1] = home && home[0] == '/' ? home : NULL;
  l->important[2] = temporary && temporary[0] == '/' ? temporary : "/tmp";
}

int layers_mount(struct layers *l, const struct sandbox_options *options, struct err *e) {
  l->stage = options->folder;
  l->shared = options->shared;
  l->hidden = options->hidden;
  l->cwd = options->cwd;
  find_important(l);
  int r = read_mounts(l, e);
  if (r == 0) r = make_stage(l, options->limits.disk, e);
  if (r == 0) find_foreign(l);
  if (r == 0) build_between(l);
  if (r == 0) r = build_entries(l, "/", 0, e);
  if (r == 0) r = build_special(l, e);
  if (r == 0 && l->shared) r = layers_show_shared(l, e);
  if (r == 0) r = protect_root(l, e);
  return r < 0 ? r : shm_watch(l, e);
}

void layers_done(struct layers *l) {
  for (size_t i = 0; i < l->at.n; i++) {
    upper_forget(&l->at.at[i].upper);
    free(l->at.at[i].at);
    free(l->at.at[i].sample);
  }
  for (size_t i = 0; i < l->mounts.n; i++)
    free(l->mounts.at[i]);
  for (size_t i = 0; i < COUNT(l->foreign); i++)
    free(l->foreign[i]);
  vec_done(&l->at);
  vec_done(&l->numbers);
  vec_done(&l->mounts);
}

/* --- branches ----------------------------------------------------------------------------------------------------- */

/* More than this is not copied for a child. */
enum { BRANCH_BYTES = 4 << 20 };

/*
 * Has a layer changes that children would share with the trunk? It is marked, so that next time there is a copy. What
 * was seen when a child had ended holds as long as the trunk waits.
 */
static bool has_shared_changes(struct layers *l) {
  bool any = false, settled = l->settled;
  l->settled = false;
  for (size_t i = 0; i < l->at.n; i++) {
    struct layer *layer = &l->at.at[i];
    bool changed = (!layer->branches || l->known) && (settled ? layer->changed : layer_is_changed(layer));
    layer->branches |= changed;
    any |= changed;
  }
  return any;
}

static int copy_upper(const struct layers *l, int from, unsigned number, uint64_t *budget, copied_list *list,
                      struct err *e) {
  char path[PATH_MAX];
  int r = upper_path(l, number, "/u", path, e);
  int to = r < 0 ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (to < 0) return r < 0 ? r : failed("read", path, e);
  r = layers_copy(from, to, budget, list);
  (void)close(to);
  return r < 0 ? err_set(e, r, "sandbox: cannot copy what is changed: %s", strerror(-r)) : 0;
}

/* A layer's roots in the worlds of trunk and child, and the folder with the trunk's changes. */
struct roots {
  int trunk, child, upper;
};

/* The copy becomes what is seen at TARGET, by an overlay of its own. */
static int cover(struct layers *l, struct layer *layer, unsigned number, const char *target, struct err *e) {
  struct text t = {0};
  int r = overlay_options(l, layer->at, number, &t, e);
  if (r == 0 && mount("overlay", target, "overlay", MS_NOSUID | MS_NODEV, t.at) < 0)
    r = failed("lay an overlay over", layer->at, e);
  text_done(&t);
  return r;
}

static int lay_copy(struct layers *l, struct layer *layer, unsigned number, uint64_t *budget, struct roots *roots,
                    copied_list *list, struct err *e) {
  char target[PATH_MAX], path[PATH_MAX];
  int r = inside(l, layer->at, target, e);
  if (r == 0) r = upper_path(l, layer->upper.number, "/u", path, e);
  if (r < 0) return r;
  roots->trunk = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  roots->upper = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (roots->trunk < 0 || roots->upper < 0) return failed("read", path, e);
  r = copy_upper(l, roots->upper, number, budget, list, e);
  if (r == 0) r = layer->spare ? spare_take(l, layer, target, e) : cover(l, layer, number, target, e);
  if (r < 0) return r;
  layer->trunk = layer->upper;
  layer->upper = watch_upper(l, number, layer_is_changed(layer));
  layer->branched = true;
  roots->child = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return roots->child < 0 ? failed("read", target, e) : 0;
}

static int branch_layer(struct layers *l, struct layer *layer, uint64_t *budget, struct err *e) {
  struct roots roots = {-1, -1, -1};
  copied_list list = {0};
  if (!spare_fits(l, layer)) spare_drop(l, layer);
  if (!layer->spare) l->before = 0;
  unsigned number = layer->spare ? layer->spare_number : l->next++;
  int r = layer->spare ? 0 : make_upper_folders(l, number, e); /* the copy makes it like the trunk's */
  if (r == 0) r = lay_copy(l, layer, number, budget, &roots, &list, e);
  if (r < 0 && layer->spare)
    spare_drop(l, layer);
  else if (r < 0 && !layer->branched)
    upper_remove(l, number);
  if (r == 0) r = numbers_add(&l->numbers, layer, l->cwd, roots.trunk, roots.child, roots.upper, &list);
  const int all[] = {roots.trunk, roots.child, roots.upper};
  for (size_t i = 0; i < COUNT(all); i++)
    if (all[i] >= 0) (void)close(all[i]);
  copied_done(&list);
  return r < 0 || !layer_has_shared(l, layer) ? r : layers_show_shared(l, e);
}

/* Is there a layer of which a child gets a copy that is not empty? */
static bool has_copies(const struct layers *l) {
  for (size_t i = 0; i < l->at.n; i++)
    if (l->at.at[i].branches && layer_is_changed(&l->at.at[i])) return true;
  return false;
}

static enum wire_refusal judge_branch(struct layers *l, int64_t state) {
  bool changed;
  l->settled = false; /* the trunk has run */
  l->known = state & WIRE_BRANCH_LOOKED;
  if (!shm_is_clean(l)) return WIRE_FORK_NAMED;
  changed = has_shared_changes(l);
  if (changed && l->known) return WIRE_FORK_KNOWN;
  return state & WIRE_BRANCH_READING && !l->known && has_copies(l) ? WIRE_FORK_READING : WIRE_FORK_GOOD;
}

int layers_branch(struct layers *l, int64_t state, enum wire_refusal *ret_why, struct err *e) {
  uint64_t budget = BRANCH_BYTES;
  enum wire_refusal why = judge_branch(l, state);
  l->numbers.n = 0;
  l->before = layers_count(l);
  int r = why == WIRE_FORK_GOOD ? 0 : err_set(e, -EBUSY, "sandbox: %s", sandbox_refusal((uint32_t)why));
  for (size_t i = 0; i < l->at.n && r == 0; i++)
    if (l->at.at[i].branches && !l->at.at[i].fixed && !l->known) r = branch_layer(l, &l->at.at[i], &budget, e);
  if (r < 0) *ret_why = why == WIRE_FORK_GOOD ? WIRE_FORK_WORLD : why;
  return r;
}

/* The child's overlay goes, or waits for another one; what it has changed is still there. */
static int uncover(struct layers *l, size_t i, struct err *e) {
  struct layer *layer = &l->at.at[i];
  char target[PATH_MAX];
  int r = inside(l, layer->at, target, e);
  if (r == 0 && !spare_put_aside(l, i, target) && umount2(target, MNT_DETACH) < 0) r = failed("renew", target, e);
  layer->uncovered = r == 0;
  return r;
}

int layers_uncover(struct layers *l, struct err *e) {
  int r = 0;
  for (size_t i = 0; i < l->at.n && r == 0; i++)
    if (l->at.at[i].branched) r = uncover(l, i, e);
  return r;
}

void layers_drop_spares(struct layers *l) {
  for (size_t i = 0; i < l->at.n; i++)
    spare_drop(l, &l->at.at[i]);
}

int layers_unbranch(struct layers *l, bool ran, struct err *e) {
  bool lost = ran && has_shared_changes(l);
  int r = 0;
  for (size_t i = 0; i < l->at.n && r == 0; i++) {
    struct layer *layer = &l->at.at[i];
    if (!layer->branched) continue;
    if (!layer->uncovered) r = uncover(l, i, e);
    if (r == 0 && !spare_empty(l, layer)) upper_remove(l, layer->upper.number);
    upper_forget(&layer->upper);
    layer->upper = layer->trunk;
    layer->branched = layer->uncovered = false;
  }
  /* An overlay that still knows a file of the child keeps it, without a name. */
  if (l->before && layers_count(l) != l->before) layers_drop_spares(l);
  if (r == 0) r = shm_renew(l, e);
  return r < 0 ? r : lost ? -ESTALE : 0;
}
