/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes of triggers in shared objects. They are found by their symbols; nothing of them is run here, since they are
 * for the target, and what is wrong with them must not be wrong with murphy.
 */
#include "program/program.h"
#include <murphy/trigger.h>

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char prefix[] = "murphy_trigger_";

int program_plugins_add(struct program_plugins *p, const char *dir, struct err *e) {
  struct stat s;
  char path[PATH_MAX];
  if (stat(dir, &s) < 0 || !realpath(dir, path))
    return err_set(e, -errno, "%s: %s (a folder with triggers is wanted)", dir, strerror(errno));
  if (!S_ISDIR(s.st_mode)) return err_set(e, -ENOTDIR, "%s: is not a folder (name the one the trigger is in)", dir);
  const char *copy = arena_strdup(&p->arena, path);
  return !copy || vec_push(&p->folders, copy) < 0 ? err_set(e, -ENOMEM, "out of memory") : 0;
}

int program_plugins_defaults(struct program_plugins *p, struct err *e) {
  const char *set = getenv("MURPHY_TRIGGERS");
  char *list = set && *set ? strdup(set) : NULL, *own = NULL;
  int r = (set && *set && !list) ? -ENOMEM : 0;
  for (char *rest = list, *dir; r >= 0 && (dir = strsep(&rest, ":"));)
    if (*dir) r = program_plugins_add(p, dir, e);
  free(list);
  p->others = p->folders.n;
  if (r >= 0) r = installed_triggers_dir(&own);
  struct err none = {0};
  /* murphy works without its own. */
  if (r >= 0 && program_plugins_add(p, own, &none) == -ENOMEM) r = -ENOMEM;
  free(own);
  return r;
}

/* --- reading them ------------------------------------------------------------------------------------------------- */

/* Why the class cannot be used; NULL if it can. What is in the file before relocation is enough to tell. */
static const char *defect(const struct image *img, const struct image_symbol *s) {
  struct murphy_trigger_class c;
  struct image_slot eval;
  const size_t head = offsetof(struct murphy_trigger_class, name);
  const void *at = s->kind == SYMBOL_OBJECT ? image_bytes(img, s->address, head) : NULL;
  if (!at) return "its entry is no struct murphy_trigger_class (write it with MURPHY_TRIGGER)";
  memcpy(&c, at, head);
  if (c.version != MURPHY_TRIGGER_VERSION) return "it is of another version of murphy (build it again)";
  if (c.size < MURPHY_TRIGGER_CLASS_SIZE || s->size < MURPHY_TRIGGER_CLASS_SIZE)
    return "it was built with an older murphy/trigger.h (build it again)";
  if (!image_slot(img, s->address + offsetof(struct murphy_trigger_class, eval), &eval))
    return "it has no eval (give MURPHY_TRIGGER one)";
  return NULL;
}

/* The loader finds the plugin by its path, and puts something else in place of these, with or without braces. */
static const char *replaced_in(const char *path) {
  static const char *const names[] = {"ORIGIN", "LIB", "PLATFORM"};
  for (const char *at = path; (at = strchr(at, '$')); at++)
    for (size_t i = 0; i < COUNT(names); i++)
      if (strncmp(at + 1 + (at[1] == '{'), names[i], strlen(names[i])) == 0)
        return "the loader would read its path otherwise, because of a $ in it (put it somewhere else)";
  return NULL;
}

/* A library that the loader would not find would keep the target from starting. */
static const char *missing_library(struct program_plugins *p, const struct image *img) {
  const char *const *needed;
  size_t n = image_needed(img, &needed);
  for (size_t i = 0; i < n; i++) {
    char *path = NULL;
    struct err e = {0};
    struct text t = {0};
    if (image_find(needed[i], img, &path, &e) >= 0) {
      free(path);
      continue;
    }
    text_addf(&t, "it needs %s, which is not found", needed[i]);
    const char *why = t.failed ? "it needs a library that is not found" : arena_strdup(&p->arena, t.at);
    text_done(&t);
    return why;
  }
  return NULL;
}

static int add_classes(struct program_plugins *p, const struct image *img, const char *file) {
  const struct image_symbol *all;
  size_t n = image_exports(img, &all), before = p->known.n;
  const char *missing = missing_library(p, img), *replaced = replaced_in(file);
  for (size_t i = 0; i < n; i++) {
    if (strncmp(all[i].name, prefix, sizeof prefix - 1) != 0) continue;
    struct program_plugin one = {.class = arena_strdup(&p->arena, all[i].name + sizeof prefix - 1), .file = file};
    one.bad = replaced ? replaced : missing ? missing : defect(img, &all[i]);
    if (!one.class || vec_push(&p->known, one) < 0 || vec_push(&p->names, one.class) < 0) return -ENOMEM;
  }
  static const char none[] = "it has no trigger in it (MURPHY_TRIGGER(CLASS, …) makes one)";
  return p->known.n > before ? 0 : vec_push(&p->empty, ((struct program_plugin){.file = file, .bad = none}));
}

/* What is no shared object at all counts as one without a class. The message may begin with the file's name. */
static int add_unreadable(struct program_plugins *p, const char *file, const struct err *why) {
  size_t n = strlen(file);
  bool named = strncmp(why->text, file, n) == 0 && strncmp(why->text + n, ": ", 2) == 0;
  const char *text = arena_strdup(&p->arena, named ? why->text + n + 2 : why->text);
  return text ? vec_push(&p->empty, ((struct program_plugin){.file = file, .bad = text})) : -ENOMEM;
}

static int read_object(struct program_plugins *p, const char *folder, const char *name) {
  struct text path = {0};
  struct image *img = NULL;
  struct err e = {0};
  text_addf(&path, "%s/%s", folder, name);
  const char *file = path.failed ? NULL : arena_strdup(&p->arena, path.at);
  text_done(&path);
  if (!file) return -ENOMEM;
  int r = image_open(file, &img, &e);
  r = r < 0 ? add_unreadable(p, file, &e) : add_classes(p, img, file);
  image_free(img);
  return r;
}

static int is_object(const struct dirent *d) {
  size_t n = strlen(d->d_name);
  return n > 3 && strcmp(d->d_name + n - 3, ".so") == 0;
}

static int read_folder(struct program_plugins *p, const char *folder) {
  struct dirent **entries = NULL;
  int n = scandir(folder, &entries, is_object, alphasort), r = n < 0 ? -errno : 0;
  for (int i = 0; i < n; i++) {
    if (r >= 0) r = read_object(p, folder, entries[i]->d_name);
    free(entries[i]);
  }
  free(entries);
  return r;
}

static int look(struct program_plugins *p) {
  int r = 0;
  for (size_t i = 0; i < p->folders.n && r >= 0 && !p->looked; i++) {
    size_t before = p->empty.n;
    r = read_folder(p, p->folders.at[i]);
    if (i >= p->others) p->empty.n = before;
  }
  p->looked = true;
  return r;
}

/* --- for the scenario --------------------------------------------------------------------------------------------- */

/*
 * A file that is named like the class, and has none, is likelier to be the mistake than the name. If no other class is
 * named like it, any file without one may be.
 */
static int complain_empty(const struct program_plugins *p, const char *class, struct err *e) {
  for (size_t i = 0; i < p->empty.n; i++) {
    const char *name = strrchr(p->empty.at[i].file, '/') + 1;
    if (strncmp(name, class, strlen(class)) == 0 && strcmp(name + strlen(class), ".so") == 0)
      return err_set(e, -EINVAL, "trigger class '%s' is not in %s: %s", class, p->empty.at[i].file, p->empty.at[i].bad);
  }
  if (p->empty.n == 0 || name_nearest(class, p->names.at, p->names.n)) return -ENOENT;
  char more[48] = "";
  if (p->empty.n > 1) (void)snprintf(more, sizeof more, ", and %zu more such files", p->empty.n - 1);
  return err_set(e, -EINVAL, "trigger class '%.60s' is not known; %s is of no use: %s%s", class, p->empty.at[0].file,
                 p->empty.at[0].bad, more);
}

static int find(void *context, const char *class, const char **ret_file, struct err *e) {
  struct program_plugins *p = context;
  int r = look(p);
  if (r < 0) return err_set(e, r, "the folders of triggers cannot be read: %s", strerror(-r));
  for (size_t i = 0; i < p->known.n; i++) {
    const struct program_plugin *one = &p->known.at[i];
    if (strcmp(one->class, class) != 0) continue;
    if (one->bad) return err_set(e, -EINVAL, "trigger class '%s' of %s: %s", class, one->file, one->bad);
    *ret_file = one->file;
    return 0;
  }
  return complain_empty(p, class, e);
}

static size_t list(void *context, const char *const **ret) {
  struct program_plugins *p = context;
  *ret = look(p) < 0 ? NULL : p->names.at;
  return p->names.n;
}

struct scenario_plugins program_plugins_for(struct program_plugins *p) {
  return (struct scenario_plugins){.find = find, .list = list, .context = p};
}

void program_plugins_done(struct program_plugins *p) {
  vec_done(&p->folders);
  vec_done(&p->known);
  vec_done(&p->names);
  vec_done(&p->empty);
  arena_done(&p->arena);
}
