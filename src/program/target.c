/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command is: the file that execvp(3) would start, and the program that is in the process then.
 *
 * The kernel reads the first line of a script and starts its interpreter; that is followed here, because it is the
 * interpreter that gets the preloaded library. Programs into which the loader preloads nothing are refused: a run that
 * silently injects nothing would look like a program that handles everything.
 */
#include "program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The kernel's limits: how much of a first line it reads, and how many scripts may interpret each other. */
enum { LINE_MAX_BYTES = 256, SCRIPT_DEPTH = 5 };

void program_target_done(struct program_target *t) {
  for (char **a = t->argv; a && *a; a++)
    free(*a);
  free(t->argv);
  free(t->path);
  memset(t, 0, sizeof *t);
}

/* --- PATH --------------------------------------------------------------------------------------------------------- */

/* Not an error of stat(2): a folder on the way cannot be searched, so nothing is known of the file. */
enum { CLOSED = EL3HLT };

static int check_executable(const char *path) {
  struct stat st;
  if (stat(path, &st) < 0) return errno == EACCES ? -CLOSED : -errno;
  if (S_ISDIR(st.st_mode)) return -EISDIR;
  if (!S_ISREG(st.st_mode)) return -EACCES;
  return access(path, X_OK) < 0 ? -errno : 0;
}

static int say_why_not(const char *name, int code, struct err *e) {
  switch (-code) {
  case ENOENT:
  case ENOTDIR:
    if (strchr(name, '/')) return err_set(e, -ENOENT, "%s: does not exist", name);
    return err_set(e, -ENOENT, "%s: no such command in PATH", name);
  case EISDIR:
    return err_set(e, code, "%s: is a directory", name);
  case CLOSED:
    return err_set(e, -EACCES, "%s: cannot be looked at: a folder on the way cannot be searched", name);
  case EACCES:
    return err_set(e, code, "%s: is not executable (chmod +x, or name its interpreter)", name);
  default:
    return err_set(e, code, "%s: cannot be executed: %s", name, strerror(-code));
  }
}

static int say_not_found(const char *name, int worst, const char *closed, size_t n, struct err *e) {
  if (worst == -EACCES || !closed) return say_why_not(name, worst, e);
  return err_set(e, -ENOENT, "%s: no such command in PATH (%.*s cannot be searched)", name, (int)n, closed);
}

/* As execvp: a file that may not be executed is passed over, but remembered for the message, as are folders. */
static int find_in_path(const char *name, char **ret, struct err *e) {
  const char *list = getenv("PATH"), *closed = NULL;
  size_t n_closed = 0;
  int worst = -ENOENT;
  for (const char *at = list ? list : "/bin:/usr/bin";; at++) {
    size_t n = strcspn(at, ":");
    struct text path = {0};
    if (n) text_add_bytes(&path, at, n);
    text_add(&path, n ? "/" : "./");
    text_add(&path, name);
    int r = path.failed ? -ENOMEM : check_executable(path.at);
    if (r == 0) {
      *ret = path.at;
      return 0;
    }
    text_done(&path);
    if (r == -ENOMEM) return r;
    if (r == -EACCES) worst = r;
    if (r == -CLOSED && !closed) {
      closed = at;
      n_closed = n;
    }
    at += n;
    if (!*at) return say_not_found(name, worst, closed, n_closed, e);
  }
}

static int find_command(const char *name, char **ret, struct err *e) {
  if (!*name) return err_set(e, -ENOENT, "the command is empty");
  if (!strchr(name, '/')) return find_in_path(name, ret, e);
  int r = check_executable(name);
  if (r < 0) return say_why_not(name, r, e);
  *ret = strdup(name);
  return *ret ? 0 : -ENOMEM;
}

/* --- scripts ------------------------------------------------------------------------------------------------------ */

/* The interpreter and its one argument ("" if none) of PATH, in LINE; false if it is no script. */
static bool read_first_line(const char *path, char line[static LINE_MAX_BYTES], const char **ret_interpreter,
                            const char **ret_argument) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return false;
  ssize_t n = read(fd, line, LINE_MAX_BYTES - 1);
  (void)close(fd);
  if (n < 3 || line[0] != '#' || line[1] != '!') return false;
  line[n] = 0;
  line[strcspn(line, "\n")] = 0;
  char *start = line + 2 + strspn(line + 2, " \t"), *end = start + strlen(start);
  while (end > start && (end[-1] == ' ' || end[-1] == '\t'))
    *--end = 0;
  char *space = start + strcspn(start, " \t");
  *ret_argument = *space ? space + 1 + strspn(space + 1, " \t") : space;
  *space = 0;
  *ret_interpreter = start;
  return *start != 0;
}

/* "env NAME" and "env -S NAME": what env would look for; NULL if this is another line. */
static const char *env_name(const char *interpreter, const char *argument) {
  const char *slash = strrchr(interpreter, '/');
  if (strcmp(slash ? slash + 1 : interpreter, "env") != 0) return NULL;
  if (strncmp(argument, "-S", 2) == 0) argument += 2 + strspn(argument + 2, " ");
  /* More than a name is env's own business: variables, options, quotes. */
  return *argument && *argument != '-' && !strpbrk(argument, " \t=\\'\"$#/") ? argument : NULL;
}

/* Puts FIRST (and SECOND, if it is not empty) before the script's path and arguments, as the kernel does. */
static int interpose(struct program_target *t, const char *first, const char *second) {
  size_t n = 0, more = *second ? 2 : 1;
  while (t->argv[n])
    n++;
  char **argv = calloc(n + more + 2, sizeof *argv);
  if (!argv) return -ENOMEM;
  argv[0] = strdup(first);
  if (*second) argv[1] = strdup(second);
  argv[more] = strdup(t->path);
  if (!argv[0] || !argv[more - 1] || !argv[more]) {
    for (size_t i = 0; i <= more; i++)
      free(argv[i]);
    free(argv);
    return -ENOMEM;
  }
  for (size_t i = 1; i < n; i++)
    argv[more + i] = t->argv[i];
  if (n) free(t->argv[0]);
  free(t->argv);
  t->argv = argv;
  return 0;
}

/* One step from a script to its interpreter: 1 if it was one. */
static int follow_script(struct program_target *t, struct err *e) {
  char line[LINE_MAX_BYTES], *found = NULL;
  const char *interpreter, *argument;
  if (!read_first_line(t->path, line, &interpreter, &argument)) return 0;
  const char *name = env_name(interpreter, argument);
  struct err why = {0};
  int r = find_command(name ? name : interpreter, &found, &why);
  if (r < 0) return err_set(e, r, "%s: its interpreter: %s", t->path, why.text[0] ? why.text : strerror(-r));
  r = name ? interpose(t, name, "") : interpose(t, interpreter, argument);
  if (r < 0) {
    free(found);
    return r;
  }
  free(t->path);
  t->path = found;
  t->script = true;
  return 1;
}

static int follow_scripts(struct program_target *t, struct err *e) {
  for (int depth = 0; depth <= SCRIPT_DEPTH; depth++) {
    int r = follow_script(t, e);
    if (r <= 0) return r;
  }
  return err_set(e, -ELOOP, "%s: too many scripts interpret each other", t->path);
}

/* --- what cannot be intercepted ----------------------------------------------------------------------------------- */

/* Does execve give it other rights than ours? Then the loader runs in secure mode and preloads nothing. */
static const char *privilege(const char *path) {
  struct stat st;
  struct statvfs fs;
  struct vfs_cap_data caps;
  if (stat(path, &st) < 0 || (statvfs(path, &fs) == 0 && fs.f_flag & ST_NOSUID)) return NULL;
  if (st.st_mode & S_ISUID && st.st_uid != getuid()) return "setuid";
  if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid()) return "setgid";
  /* Root has them anyway. */
  if (getuid() != 0 && getxattr(path, "security.capability", &caps, sizeof caps) > 0) return "has file capabilities";
  return NULL;
}

static int check_privilege(const char *path, struct err *e) {
  const char *what = privilege(path);
  if (!what) return 0;
  bool caps = what[0] == 'h';
  return err_set(e, -ECANCELED,
                 "%s: %s%s, so that the loader preloads nothing into it and no call can be made to fail (run a copy "
                 "without that, or as the user it is for)",
                 path, caps ? "" : "is ", what);
}

/* The runtime needs the list of what is loaded, as glibc has it. That there is no loader at all, the kernel tells. */
static bool is_other_loader(const char *path) {
  struct image *img = NULL;
  if (image_open(path, &img, NULL) < 0) return false;
  bool listed = image_export(img, "_r_debug", NULL);
  image_free(img);
  return !listed;
}

enum libraries { OF_GLIBC, OF_ANOTHER, NONE };
static enum libraries libraries(const struct image *img) {
  const char *loader = image_interpreter(img);
  if (!image_is_dynamic(img) || !loader) return NONE;
  return is_other_loader(loader) ? OF_ANOTHER : OF_GLIBC;
}

static int check_image(const char *path, struct err *e) {
  struct image *img = NULL;
  int r = image_open(path, &img, e);
  if (r < 0) return r;
  enum libraries of = libraries(img);
  image_free(img);
  if (of == OF_ANOTHER)
    return err_set(e, -ECANCELED,
                   "%s: has another C library than glibc, in which nothing can be intercepted (link it with glibc)",
                   path);
  if (of != NONE) return 0;
  return err_set(e, -ECANCELED,
                 "%s: is statically linked: it calls no library, so that nothing of it can be intercepted (link it "
                 "dynamically)",
                 path);
}

const char *program_target_obstacle(const char *path) {
  struct image *img = NULL;
  const char *what = privilege(path);
  if (what) return what;
  if (access(path, F_OK) < 0) return "made by the command itself";
  if (image_open(path, &img, NULL) < 0) return "not for this machine";
  enum libraries of = libraries(img);
  image_free(img);
  return of == NONE ? "statically linked" : of == OF_ANOTHER ? "with another C library than glibc" : NULL;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

static int copy_arguments(char *const *argv, struct program_target *t) {
  size_t n = 0;
  while (argv[n])
    n++;
  t->argv = calloc(n + 1, sizeof *t->argv);
  if (!t->argv) return -ENOMEM;
  for (size_t i = 0; i < n; i++)
    if (!(t->argv[i] = strdup(argv[i]))) return -ENOMEM;
  return 0;
}

int program_target_find(char *const *argv, struct program_target *ret, struct err *e) {
  struct program_target t = {0};
  int r = copy_arguments(argv, &t);
  if (r >= 0) r = find_command(argv[0], &t.path, e);
  if (r >= 0) r = follow_scripts(&t, e);
  if (r >= 0) r = check_privilege(t.path, e);
  if (r >= 0) r = check_image(t.path, e);
  if (r == -ENOMEM) (void)err_set(e, r, "out of memory");
  if (r < 0)
    program_target_done(&t);
  else
    *ret = t;
  return r;
}
