/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which modules are analysed with a kernel, and where they are. Distributions have most file systems as modules.
 */
#include "profile/profile_kernel.h"

#include <ctype.h>
#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>

/* "ext4.ko.xz" is the module ext4. */
static bool is_module(const struct ways *w, const char *file) {
  size_t n = strcspn(file, ".");
  if (strncmp(file + n, ".ko", 3) != 0) return false;
  for (size_t i = 0; i < w->modules.n; i++)
    if (strncmp(w->modules.at[i], file, n) == 0 && w->modules.at[i][n] == 0) return true;
  return false;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static int walk_folder(const struct ways *w, char *folder, path_list *to) {
  char *const roots[] = {folder, NULL};
  FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
  if (!tree) return errno == ENOMEM ? -ENOMEM : 0;
  int r = 0;
  errno = 0;
  for (FTSENT *f; r >= 0 && (f = fts_read(tree)) != NULL; errno = 0) {
    if (f->fts_info != FTS_F || !is_module(w, f->fts_name)) continue;
    char *path = strdup(f->fts_path);
    r = path ? vec_push(to, path) : -ENOMEM;
    if (r < 0) free(path);
  }
  if (r >= 0 && errno == ENOMEM) r = -ENOMEM;
  (void)fts_close(tree);
  if (to->n) qsort(to->at, to->n, sizeof *to->at, by_name);
  return r;
}

/*
 * The folder of the kernel's modules: beside it, as in /lib/modules/RELEASE/vmlinuz, or where packages put it,
 * PREFIX/boot/vmlinuz-RELEASE and PREFIX/lib/modules/RELEASE. Empty if it does not look so.
 */
static void guess_folder(const char *kernel, struct text *to) {
  const char *slash = strrchr(kernel, '/'), *name = slash ? slash + 1 : kernel, *release = strchr(name, '-');
  int folder = slash ? (int)(slash - kernel) : 1;
  if (strstr(kernel, "/modules/") && !release)
    text_addf(to, "%.*s", folder, kernel);
  else if (release)
    text_addf(to, "%.*s/../lib/modules/%s", folder, slash ? kernel : ".", release + 1);
}

int kernel_modules_find(const struct profile_request *request, const struct ways *w, path_list *ret, struct err *e) {
  struct text folder = {0};
  if (request->modules)
    text_add(&folder, request->modules);
  else
    guess_folder(request->kernel, &folder);
  int r = folder.failed ? -ENOMEM : folder.n ? walk_folder(w, folder.at, ret) : 0;
  if (r >= 0 && request->modules && ret->n == 0)
    r = err_set(e, -ENOENT, "%s: no modules of data/kernel/ways there (it is a folder as /lib/modules/RELEASE)",
                request->modules);
  text_done(&folder);
  return r;
}

void kernel_modules_done(path_list *l) {
  for (size_t i = 0; i < l->n; i++)
    free(l->at[i]);
  vec_done(l);
}

/* --- what was found ----------------------------------------------------------------------------------------------- */

/* Names come from files; what is not of a name becomes an underscore. */
static void add_word(struct text *to, const char *name) {
  size_t from = to->n;
  if (!*name) return;
  text_addf(to, "%s%s", from ? " " : "", name);
  for (size_t i = from ? from + 1 : 0; i < to->n; i++)
    if (!isalnum((unsigned char)to->at[i]) && to->at[i] != '-') to->at[i] = '_';
}

static bool is_analysed(const struct image *img, const char *module) {
  for (size_t i = 0; i < image_module_count(img); i++)
    if (strcmp(image_module_name(img, i), module) == 0) return true;
  return false;
}

/*
 * Is the module a part of the kernel? Then its functions have its name in theirs, or what starts it does
 * (__initcall__kmod_NAME__, since 5.11).
 */
static bool is_built_in(const struct image *img, const char *module) {
  static const char start[] = "__initcall__kmod_";
  const struct image_symbol *all;
  size_t n = image_symbols(img, &all), length = strlen(module);
  for (size_t i = 0; i < n; i++) {
    const char *name = all[i].name;
    if (strncmp(name, start, sizeof start - 1) == 0) name += sizeof start - 1;
    if (strncmp(name, module, length) == 0 && name[length] == '_' && !image_module_of(img, all[i].address)) return true;
  }
  return false;
}

void kernel_modules_tell(const struct image *img, const struct ways *w, struct text *analysed, struct text *missing) {
  for (size_t i = 0; i < image_module_count(img); i++)
    add_word(analysed, image_module_name(img, i));
  for (size_t i = 0; i < w->modules.n; i++) {
    const char *name = w->modules.at[i];
    if (!is_analysed(img, name) && !is_built_in(img, name)) add_word(missing, name);
  }
}
