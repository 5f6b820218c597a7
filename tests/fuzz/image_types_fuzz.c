/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the types of a kernel, and as those of the kernel and a module: there are none, or every question has an
 * answer that keeps its promise, in bounded time.
 *
 * The first byte is how many 256ths of the rest are the kernel's; what is left is the module's.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image/image.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/made_btf.h"

/* The questions about members cost their number: not all are asked in a large table. */
#define QUESTIONS 2000

static void ask_members(const struct types *ts, uint32_t type, size_t *left) {
  size_t n = types_member_count(ts, type), all = types_count(ts);
  struct type_member m;
  for (size_t i = 0; i < n && *left; i++, --*left) {
    types_member_at(ts, type, i, &m);
    MUST(m.type < all && m.owner < all && types_member_count(ts, m.owner) == n);
    struct type_member again;
    if (types_member(ts, type, m.offset, &again)) MUST(again.type < all && again.owner < all);
  }
}

static void ask_type(const struct types *ts, uint32_t type) {
  size_t all = types_count(ts);
  uint32_t to = types_pointee(ts, type);
  struct type_member m;
  MUST(to < all && types_return(ts, type) < all);
  for (unsigned i = 0; i < 8; i++)
    MUST(types_parameter(ts, type, i) < all);
  MUST(strlen(types_name(ts, type)) < SIZE_MAX);
  MUST(types_key(ts, type) == types_key(ts, type));
  if (types_is_function(ts, type)) MUST(types_size(ts, type) == 0 && !to);
  for (uint32_t offset = 0; offset < 64; offset += 8)
    if (types_member(ts, type, offset, &m)) MUST(m.type < all && m.owner < all && m.offset <= offset);
}

static void ask_all(const struct image *img) {
  struct types *ts = NULL;
  int r = types_new(img, &ts);
  if (r < 0) {
    MUST(r == -ENODATA && !ts);
    return;
  }
  size_t n = types_count(ts), left = QUESTIONS;
  MUST(n >= 1);
  for (size_t i = 0; i <= n && i < QUESTIONS; i++) {
    ask_type(ts, (uint32_t)i);
    ask_members(ts, (uint32_t)i, &left);
  }
  ask_type(ts, UINT32_MAX);
  static const char *const names[] = {"", "f", "read", "permission"};
  for (size_t i = 0; i < COUNT(names); i++)
    MUST(types_function(ts, names[i]) < n);
  for (uint64_t i = 0; i < 256; i += 8)
    MUST(types_percpu(ts, i) < n);
  types_free(ts);
}

static void in_memory(const struct text *kernel) {
  struct image *img = NULL;
  MUST(image_kernel_from_memory("input", kernel->at, kernel->n, &img, NULL) == 0);
  ask_all(img);
  image_free(img);
}

/* Modules come from files. */
static int file_of(const struct text *t, char path[32]) {
  int f = memfd_create("types", MFD_CLOEXEC);
  MUST(f >= 0 && write(f, t->at, t->n) == (ssize_t)t->n);
  (void)snprintf(path, 32, "/proc/self/fd/%d", f);
  return f;
}

static void with_module(const struct text *kernel, const struct text *module) {
  char paths[2][32];
  int files[2] = {file_of(kernel, paths[0]), file_of(module, paths[1])};
  struct image *img = NULL;
  const char *const modules[] = {paths[1]};
  MUST(image_open_kernel(paths[0], modules, 1, &img, NULL) == 0);
  ask_all(img);
  image_free(img);
  (void)close(files[0]);
  (void)close(files[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0 || size > 1 << 12) return 0;
  size_t n = data[0] == 0xff ? size - 1 : (size - 1) * data[0] / 256;
  struct text kernel = btf_file(data + 1, n, false), module = btf_file(data + 1 + n, size - 1 - n, true);
  in_memory(&kernel);
  if (n < size - 1) with_module(&kernel, &module);
  text_done(&kernel);
  text_done(&module);
  return 0;
}
