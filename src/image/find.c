/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the dynamic loader would find a library: the rules of ld.so(8), asked of the file system as it is now.
 *
 * A file counts if it is an ELF library for x86-64; others are passed over, as the loader does.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "image/layout.h"

/* What ${LIB} means was fixed when the C library was built: the first is Debian's, the second most others'. */
static const char *const lib_names[] = {"lib/x86_64-linux-gnu", "lib64", "lib"};

static const char *const default_folders[] = {
    "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib",
};

struct search {
  const char *name;
  char *origin; /* the folder of the image that asks, or NULL */
  char *found;
};

/* Why there is no library at a path; what else can go wrong does not mean that there is none. */
static bool is_absence(int code) {
  return code == ENOENT || code == ENOTDIR || code == EACCES || code == ELOOP || code == ENAMETOOLONG ||
         code == EISDIR || code == ENXIO || code == EAGAIN;
}

/* 1 if PATH is a library that can be loaded here, 0 if not, or a negative errno if that cannot be told. */
static int is_library(const char *path) {
  uint8_t head[sizeof(Elf64_Ehdr)];
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return is_absence(errno) ? 0 : -errno;
  ssize_t n = read(fd, head, sizeof head);
  int code = n < 0 ? errno : 0;
  (void)close(fd);
  if (code) return is_absence(code) ? 0 : -code;
  return n == (ssize_t)sizeof head && header_fits(head, sizeof head);
}

/* Takes the text over: 1 and S->found if it is a library's path, 0 if not, or a negative errno. */
static int try_path(struct search *s, struct text *path) {
  if (path->failed) {
    text_done(path);
    return -ENOMEM;
  }
  int r = path->at ? is_library(path->at) : 0;
  if (r == 1)
    s->found = path->at;
  else
    text_done(path);
  return r;
}

/* FOLDER, in the variants for this processor first. */
static int try_folder(struct search *s, const char *folder) {
  const char *slash = folder[0] && folder[strlen(folder) - 1] == '/' ? "" : "/";
  for (const char *const *h = hwcaps_usable(); *h; h++) {
    struct text path = {0};
    text_addf(&path, "%s%sglibc-hwcaps/%s/%s", folder, slash, *h, s->name);
    int r = try_path(s, &path);
    if (r != 0) return r;
  }
  struct text path = {0};
  text_addf(&path, "%s%s%s", folder, slash, s->name);
  return try_path(s, &path);
}

/* --- $ORIGIN, $LIB, $PLATFORM ------------------------------------------------------------------------------------- */

/* How long "$NAME" or "${NAME}" is at P, 0 if it is not there. */
static size_t token_length(const char *p, const char *end, const char *name) {
  size_t n = strlen(name), left = (size_t)(end - p);
  if (left >= n + 3 && p[1] == '{' && strncmp(p + 2, name, n) == 0 && p[n + 2] == '}') return n + 3;
  if (left >= n + 1 && strncmp(p + 1, name, n) == 0) {
    char next = left > n + 1 ? p[n + 1] : 0;
    bool longer =
        next == '_' || (next >= '0' && next <= '9') || (next >= 'A' && next <= 'Z') || (next >= 'a' && next <= 'z');
    return longer ? 0 : n + 1;
  }
  return 0;
}

/* Appends [P, END) with its tokens replaced. False if $ORIGIN is asked for and not known. */
static bool expand(const struct search *s, const char *p, const char *end, const char *lib, struct text *out,
                   bool *ret_has_lib) {
  while (p < end) {
    size_t n;
    if (*p != '$') {
      text_add_bytes(out, p++, 1);
    } else if ((n = token_length(p, end, "ORIGIN")) > 0) {
      if (!s->origin) return false;
      text_add(out, s->origin);
      p += n;
    } else if ((n = token_length(p, end, "LIB")) > 0) {
      *ret_has_lib = true;
      text_add(out, lib);
      p += n;
    } else if ((n = token_length(p, end, "PLATFORM")) > 0) {
      text_add(out, "x86_64");
      p += n;
    } else {
      text_add_bytes(out, p++, 1);
    }
  }
  return true;
}

/* One element of a path list, in all meanings that ${LIB} can have; an empty one is the working directory. */
static int try_element(struct search *s, const char *p, const char *end) {
  bool has_lib = true;
  for (size_t i = 0; i < COUNT(lib_names) && has_lib; i++) {
    struct text folder = {0};
    has_lib = false;
    int r = 0;
    text_add(&folder, "");
    if (expand(s, p, end, lib_names[i], &folder, &has_lib))
      r = folder.failed ? -ENOMEM : try_folder(s, folder.n ? folder.at : ".");
    text_done(&folder);
    if (r != 0) return r;
  }
  return 0;
}

static int try_list(struct search *s, const char *list, const char *separators) {
  if (!list || !list[0]) return 0;
  for (;;) {
    size_t n = strcspn(list, separators);
    int r = try_element(s, list, list + n);
    if (r != 0 || !list[n]) return r;
    list += n + 1;
  }
}

/* --- the order ---------------------------------------------------------------------------------------------------- */

/*
 * The folder that $ORIGIN stands for: of a program where its file really is, of a library where it was found. *ret
 * stays NULL if that is not known. 0 or -ENOMEM.
 */
static int origin_find(const struct image *img, char **ret) {
  bool program = img->interpreter || img->type == ET_EXEC;
  char *file = program ? realpath(img->path, NULL) : strdup(img->path);
  if (!file) return errno == ENOMEM ? -ENOMEM : 0;
  char *slash = strrchr(file, '/');
  if (slash) slash[slash == file] = 0; /* the root keeps its slash */
  *ret = realpath(slash ? file : ".", NULL);
  int code = errno;
  free(file);
  return *ret || code != ENOMEM ? 0 : -ENOMEM;
}

static int try_cache(struct search *s) {
  char *path;
  int r = cache_find(s->name, &path);
  if (r < 0) return r == -ENOMEM ? r : 0;
  r = is_library(path);
  if (r == 1)
    s->found = path;
  else
    free(path);
  return r;
}

static int try_defaults(struct search *s) {
  int r = 0;
  for (size_t i = 0; i < COUNT(default_folders) && r == 0; i++)
    r = try_folder(s, default_folders[i]);
  return r;
}

/* A name with a slash is a path and nothing else, but for its tokens. */
static int try_as_path(struct search *s) {
  const char *end = s->name + strlen(s->name);
  bool has_lib = true;
  int r = 0;
  for (size_t i = 0; i < COUNT(lib_names) && has_lib && r == 0; i++) {
    struct text path = {0};
    has_lib = false;
    if (!expand(s, s->name, end, lib_names[i], &path, &has_lib)) {
      text_done(&path);
      return 0;
    }
    r = try_path(s, &path);
  }
  return r;
}

static int search_all(struct search *s, const struct image *img) {
  if (strchr(s->name, '/')) return try_as_path(s);
  int r = img ? try_list(s, img->rpath, ":") : 0;
  if (r == 0) r = try_list(s, getenv("LD_LIBRARY_PATH"), ":;");
  if (r == 0 && img) r = try_list(s, img->runpath, ":");
  if (r == 0) r = try_cache(s);
  if (r == 0 && !(img && img->dynamic.flags_1 & DF_1_NODEFLIB)) r = try_defaults(s);
  return r;
}

/* Can $ORIGIN be in what the search will expand? */
static bool may_ask_origin(const char *name, const struct image *img) {
  const char *texts[] = {name, img->rpath, img->runpath, getenv("LD_LIBRARY_PATH")};
  for (size_t i = 0; i < COUNT(texts); i++)
    if (texts[i] && strchr(texts[i], '$')) return true;
  return false;
}

int image_find(const char *name, const struct image *for_image, char **ret, struct err *e) {
  struct search s = {.name = name};
  int r = name[0] ? 0 : -ENOENT;
  if (r >= 0 && for_image && may_ask_origin(name, for_image)) r = origin_find(for_image, &s.origin);
  if (r >= 0) r = search_all(&s, for_image);
  free(s.origin);
  if (r == 1) {
    *ret = s.found;
    return 0;
  }
  if (r == -ENOMEM) return err_set(e, r, "%s: out of memory", name);
  if (r < 0 && r != -ENOENT) return err_set(e, r, "%s: cannot be looked for (%s)", name, strerror(-r));
  return err_set(e, -ENOENT, "%s: no such library for x86-64%s%s%s", name, for_image ? " (needed by " : "",
                 for_image ? for_image->path : "", for_image ? ")" : "");
}
