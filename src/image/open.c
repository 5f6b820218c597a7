/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening: maps the file, or copies bytes, and lets every part of the room read its share of it.
 *
 * All is read here, once: an image that was opened is never written again and can be used by many threads; only the
 * functions of an outline are added later, when one of the threads first needs them. What the parts keep points into
 * the mapping or lies in the image's arena.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/image_kernel.h"

void image_free(struct image *img) {
  if (!img) return;
  if (img->mapped)
    (void)munmap((void *)img->file, img->size);
  else
    free((void *)img->file);
  arena_done(&img->arena);
  (void)pthread_mutex_destroy(&img->lock);
  free(img);
}

/* --- the parts ---------------------------------------------------------------------------------------------------- */

/* A vmlinux is an ELF program like any other, but for where it is. */
static int user_half_check(const struct image *img, struct err *e) {
  if (img->segments[img->n_segments - 1].start < KERNEL_HALF) return 0;
  return err_set(e, -ENOEXEC, "%s: a Linux kernel, not a program or shared library (give it with --kernel)", img->path);
}

static int load_parts(struct image *img, bool outline, struct err *e) {
  int r = segments_load(img, e);
  if (r >= 0) r = user_half_check(img, e);
  if (r >= 0) r = dynamic_load(img, e);
  if (r >= 0) r = versions_load(img);
  if (r >= 0) r = exports_load(img, !outline);
  if (r >= 0) r = slots_load(img, e);
  if (r >= 0 && !outline) r = image_complete(img);
  return r < 0 ? r : build_id_load(img);
}

int image_new(const char *path, struct bytes file, bool mapped, struct image **ret, struct err *e) {
  struct image *img = calloc(1, sizeof *img);
  if (!img || pthread_mutex_init(&img->lock, NULL) != 0) {
    free(img);
    if (mapped)
      (void)munmap((void *)file.at, file.n);
    else
      free((void *)file.at);
    return err_set(e, -ENOMEM, "%s: out of memory", path);
  }
  img->file = file.at;
  img->size = file.n;
  img->mapped = mapped;
  const char *slash = strrchr(path, '/');
  img->path = arena_strdup(&img->arena, path);
  img->name = img->path && slash ? img->path + (slash + 1 - path) : img->path;
  if (!img->path) {
    image_free(img);
    return err_set(e, -ENOMEM, "%s: out of memory", path);
  }
  *ret = img;
  return 0;
}

/* Takes FILE over, also if it fails. */
static int image_load(const char *path, struct bytes file, bool mapped, bool outline, struct image **ret,
                      struct err *e) {
  struct image *img;
  int r = image_new(path, file, mapped, &img, e);
  if (r < 0) return r;
  r = header_check(path, file.at, file.n, e);
  if (r >= 0) {
    img->type = read_u16(file.at + offsetof(Elf64_Ehdr, e_type));
    img->entry = read_u64(file.at + offsetof(Elf64_Ehdr, e_entry));
    sections_load(img);
    r = load_parts(img, outline, e);
    if (r == -ENOMEM) r = err_set(e, r, "%s: out of memory", path);
  }
  if (r < 0) {
    image_free(img);
    return r;
  }
  *ret = img;
  return 0;
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

static int say_why_not_opened(const char *path, int code, struct err *e) {
  struct stat st;
  const char *name = errno_name(code);
  switch (code) {
  case ENOENT:
    if (lstat(path, &st) == 0) return err_set(e, -code, "%s: a symbolic link to a file that does not exist", path);
    return err_set(e, -code, "%s: does not exist", path);
  case ENOTDIR:
    return err_set(e, -code, "%s: does not exist (a part of its path is not a directory)", path);
  case EACCES:
  case EPERM:
    if (stat(path, &st) == 0)
      return err_set(e, -code, "%s: no permission (its mode is %04o and its owner is user %u)", path,
                     st.st_mode & 07777, st.st_uid);
    return err_set(e, -code, "%s: no permission (a directory of its path is closed)", path);
  case ELOOP:
    return err_set(e, -code, "%s: a symbolic link that leads back to itself", path);
  default:
    return err_set(e, -code, "%s: cannot be opened (%s)", path, name ? name : "unknown error");
  }
}

static int check_regular(const char *path, const struct stat *st, struct err *e) {
  if (S_ISDIR(st->st_mode)) return err_set(e, -EISDIR, "%s: is a directory", path);
  if (!S_ISREG(st->st_mode)) return err_set(e, -EINVAL, "%s: not a regular file", path);
  if (st->st_size == 0) return err_set(e, -ENOEXEC, "%s: empty", path);
  return 0;
}

int image_map_file(const char *path, struct bytes *ret, struct err *e) {
  struct stat st;
  /* O_NONBLOCK: a FIFO without a writer must not hang the open; it means nothing for a regular file. */
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return say_why_not_opened(path, errno, e);
  int r = fstat(fd, &st) < 0 ? say_why_not_opened(path, errno, e) : check_regular(path, &st, e);
  if (r < 0) {
    (void)close(fd);
    return r;
  }
  void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  int code = errno;
  (void)close(fd);
  if (at == MAP_FAILED) {
    const char *name = errno_name(code);
    return err_set(e, -code, "%s: cannot be mapped (%s)", path, name ? name : "unknown error");
  }
  *ret = (struct bytes){at, (size_t)st.st_size};
  return 0;
}

int image_open(const char *path, struct image **ret, struct err *e) {
  struct bytes file;
  int r = image_map_file(path, &file, e);
  return r < 0 ? r : image_load(path, file, true, false, ret, e);
}

int image_open_outline(const char *path, struct image **ret, struct err *e) {
  struct bytes file;
  int r = image_map_file(path, &file, e);
  return r < 0 ? r : image_load(path, file, true, true, ret, e);
}

int image_from_memory(const char *name, const void *bytes, size_t size, struct image **ret, struct err *e) {
  if (size == 0) return err_set(e, -ENOEXEC, "%s: empty", name);
  uint8_t *copy = malloc(size);
  if (!copy) return err_set(e, -ENOMEM, "%s: out of memory", name);
  memcpy(copy, bytes, size);
  return image_load(name, (struct bytes){copy, size}, false, false, ret, e);
}

/* --- what is known at once ---------------------------------------------------------------------------------------- */

const char *image_path(const struct image *img) { return img->path; }

const char *image_name(const struct image *img) { return img->name; }

const char *image_build_id(const struct image *img) { return img->build_id; }

const char *image_interpreter(const struct image *img) { return img->interpreter; }

uint64_t image_entry(const struct image *img) { return img->entry; }
