/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernel's errors count: those of the kernel that programs run on.
 *
 * A file of data/kernel that is of the running release is best: it is there and takes no time. Else the running
 * kernel's own image says what it does; it is analysed once and kept in the cache. Else, because images are not
 * readable everywhere and containers have none, the file of the nearest version.
 */
#include "profile/profile_kernel.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define HEAD 4096 /* bytes in which the lines that describe a file are */

/* "6.1.0-54-amd64" as a number that grows with the version; 0 if it is none. */
static uint64_t version_of(const char *release) {
  unsigned part[3] = {0};
  char *end = NULL;
  for (unsigned i = 0; i < 3; i++) {
    unsigned long v = strtoul(release, &end, 10);
    if (end == release || v > 0xffff) break;
    part[i] = (unsigned)v;
    if (*end != '.') break;
    release = end + 1;
  }
  return (uint64_t)part[0] << 32 | part[1] << 16 | part[2];
}

/* What is behind START, as in "\n# kernel: ", in the first lines of TEXT; empty if nothing is. */
static void line_in(const char *text, const char *start, char *ret, size_t size) {
  char head[HEAD + 1];
  ret[0] = 0;
  (void)snprintf(head, sizeof head, "%s", text);
  const char *line = strstr(head, start);
  if (!line) return;
  line += strlen(start);
  size_t length = strcspn(line, "\t\r\n");
  if (length >= size) return;
  memcpy(ret, line, length);
  ret[length] = 0;
}

/* The release in the line "# kernel: RELEASE" at the start of a file; empty if there is none. */
static void release_in(const char *path, char *ret, size_t size) {
  char *bytes = NULL;
  size_t n = 0;
  ret[0] = 0;
  if (file_read(path, 16u << 20, &bytes, &n, NULL) < 0) return;
  line_in(bytes, "\n# kernel: ", ret, size);
  free(bytes);
}

/* Says in K which kernel the errors in TEXT are of, which came from PATH. */
static int describe(struct knowledge *k, const char *path, const char *text) {
  char release[128], missing[256];
  struct utsname running;
  struct text kernel = {0}, note = {0};
  line_in(text, "\n# kernel: ", release, sizeof release);
  line_in(text, "\n# modules missing: ", missing, sizeof missing);
  if (uname(&running) < 0) running.release[0] = 0;
  text_addf(&kernel, "Linux %s (%s)", *release ? release : "of unknown version", path);
  if (strcmp(release, running.release) != 0) text_addf(&note, "Linux %s runs", running.release);
  if (*missing) text_addf(&note, "%smodules were missing: %s", note.n ? "; " : "", missing);
  if (kernel.failed || note.failed) {
    text_done(&kernel);
    text_done(&note);
    return -ENOMEM;
  }
  k->kernel = kernel.at;
  k->kernel_note = note.at;
  return 0;
}

/* From a file of errors. */
static int from_file(const char *path, struct knowledge *k, struct err *e) {
  char *bytes = NULL;
  size_t n = 0;
  int r = knowledge_read_errors(k, path, e);
  if (r >= 0) r = file_read(path, 16u << 20, &bytes, &n, e);
  if (r < 0) return r;
  r = describe(k, path, bytes);
  free(bytes);
  return r;
}

/* How far a file's kernel is from the running one; 0 is the same release. */
static uint64_t distance(const char *release, const char *running) {
  if (strcmp(release, running) == 0) return 0;
  uint64_t a = version_of(release), b = version_of(running);
  if (!a) return UINT64_MAX;
  return 1 + (a > b ? a - b : b - a);
}

/* The nearest file of FOLDER, of several the first by name. */
static int nearest(const char *folder, const char *running, struct text *path, uint64_t *ret_distance, struct err *e) {
  DIR *d = opendir(folder);
  if (!d)
    return err_set(e, -errno, "%s: cannot be read: %s (set MURPHY_DATA to murphy's data folder)", folder,
                   strerror(errno));
  char best[256] = "", release[128];
  struct text file = {0};
  for (const struct dirent *f; (f = readdir(d)) != NULL;) {
    size_t n = strlen(f->d_name);
    if (n < 8 || n >= sizeof best || strcmp(f->d_name + n - 7, ".errors") != 0) continue;
    file.n = 0;
    text_addf(&file, "%s/%s", folder, f->d_name);
    if (file.failed) break;
    release_in(file.at, release, sizeof release);
    uint64_t far = distance(release, running);
    if (*best && (far > *ret_distance || (far == *ret_distance && strcmp(f->d_name, best) > 0))) continue;
    memcpy(best, f->d_name, n + 1);
    *ret_distance = far;
  }
  (void)closedir(d);
  bool failed = file.failed;
  text_done(&file);
  if (failed) return -ENOMEM;
  if (!*best) return err_set(e, -ENOENT, "%s: no file NAME.errors (set MURPHY_DATA to murphy's data folder)", folder);
  text_addf(path, "%s/%s", folder, best);
  return path->failed ? -ENOMEM : 0;
}

/* Into K all of the text or nothing. */
static int take_errors(const char *name, char *text, struct knowledge *k, struct err *e) {
  struct knowledge fresh = {0};
  int r = describe(&fresh, name, text);
  if (r >= 0) r = knowledge_parse_errors(&fresh, name, text, e);
  if (r < 0) {
    knowledge_done(&fresh);
    return r;
  }
  k->syscalls = fresh.syscalls;
  k->kernel = fresh.kernel;
  k->kernel_note = fresh.kernel_note;
  memcpy(&k->errors, &fresh.errors, sizeof k->errors);
  memcpy(&k->conditions, &fresh.conditions, sizeof k->conditions);
  k->hash = hash_mix(k->hash ^ fresh.hash);
  return 0;
}

/* What the errors of an image depend on: it, its modules, and what is known of kernels and of functions. */
static int image_key(const struct profile_request *request, uint64_t *ret, struct err *e) {
  struct ways w = {0};
  struct knowledge functions = {0};
  path_list files = {0};
  char *image = strdup(request->kernel);
  int r = !image || vec_push(&files, image) < 0 ? -ENOMEM : 0;
  if (r < 0) free(image);
  if (r >= 0) r = ways_load(request->data, &w, e);
  if (r >= 0) r = knowledge_load_functions(request->data, &functions, e);
  if (r >= 0) r = kernel_modules_find(request, &w, &files, e);
  if (r >= 0) *ret = cache_file_key((const char *const *)files.at, files.n, hash_mix(w.hash) ^ functions.hash);
  kernel_modules_done(&files);
  knowledge_done(&functions);
  ways_done(&w);
  return r;
}

/* An image's errors, from the cache or by analysis. */
static int from_image(const char *image, const char *data, bool no_cache, struct knowledge *k, struct err *e) {
  struct profile_request request = {.kernel = image, .data = data};
  struct profile p = {0};
  struct text t = {0};
  char *cached = NULL;
  uint64_t key = 0;
  int r = image_key(&request, &key, e);
  if (r < 0) return r;
  if (!no_cache && cache_load_text("kernel", key, &cached) >= 0) {
    r = take_errors(image, cached, k, NULL);
    free(cached);
    if (r >= 0 || r == -ENOMEM) return r; /* a damaged one is made anew */
  }
  r = profile_kernel(&request, &p, e);
  if (r >= 0) r = profile_write_errors(&p, data, &t, e);
  if (r >= 0) {
    if (!no_cache) cache_save_text("kernel", key, &t);
    r = take_errors(image, t.at, k, e);
  }
  profile_done(&p);
  text_done(&t);
  return r;
}

/* Where distributions put the image of a release. */
static bool find_image(const char *release, struct text *path) {
  static const struct {
    const char *before, *behind;
  } places[] = {{"/boot/vmlinuz-", ""}, {"/lib/modules/", "/vmlinuz"}, {"/usr/lib/modules/", "/vmlinuz"}};
  for (size_t i = 0; *release && i < COUNT(places); i++) {
    path->n = 0;
    text_addf(path, "%s%s%s", places[i].before, release, places[i].behind);
    if (!path->failed && access(path->at, R_OK) == 0) return true;
  }
  return false;
}

/* MURPHY_KERNEL: an image, or a file of errors. */
static int from_environment(const char *path, const char *data, bool no_cache, struct knowledge *k, struct err *e) {
  size_t n = strlen(path);
  if (n > 7 && strcmp(path + n - 7, ".errors") == 0) return from_file(path, k, e);
  return from_image(path, data, no_cache, k, e);
}

int knowledge_load_kernel(const char *data, bool no_cache, struct knowledge *k, struct err *e) {
  const char *asked = getenv("MURPHY_KERNEL");
  struct text folder = {0}, path = {0}, image = {0};
  struct utsname running;
  uint64_t far = UINT64_MAX;
  if (asked && *asked) return from_environment(asked, data, no_cache, k, e);
  if (uname(&running) < 0) running.release[0] = 0;
  text_addf(&folder, "%s/kernel", data);
  int r = folder.failed ? -ENOMEM : nearest(folder.at, running.release, &path, &far, e);
  bool own = r >= 0 && far != 0 && find_image(running.release, &image);
  int got = own ? from_image(image.at, data, no_cache, k, NULL) : -ENOENT;
  if (got == -ENOMEM) r = got; /* but one that cannot be analysed is no reason to fail */
  if (r >= 0 && got < 0) r = from_file(path.at, k, e);
  text_done(&folder);
  text_done(&path);
  text_done(&image);
  return r;
}
