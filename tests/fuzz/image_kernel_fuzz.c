/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a kernel, as the constants of one, or as a module of one. They are refused with a message, or every
 * question can be asked and the answers keep their promises.
 *
 * The first byte says which: 'k' for a kernel, 'c' for constants, in which kallsyms are looked for, 'm' for a module.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "image/image.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/made_kernel.h"

/* Reads every byte, so that the sanitizer sees each; the sum keeps the compiler from leaving it out. */
static uint64_t touch(const void *p, size_t n) {
  const uint8_t *b = p;
  uint64_t sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += b[i];
  return sum;
}

static uint64_t touch_address(const struct image *img, uint64_t address) {
  size_t left = image_bytes_left(img, address);
  const void *p = image_bytes(img, address, left);
  MUST(left == 0 || (p && image_is_mapped(img, address)));
  const struct image_symbol *s = image_symbol_before(img, address);
  MUST(!s || s->address <= address);
  const char *module = image_module_of(img, address);
  return (left ? touch(p, left < 64 ? left : 64) : 0) + image_is_code(img, address) + image_is_readonly(img, address) +
         (module ? touch(module, strlen(module)) : 0);
}

static uint64_t touch_symbols(const struct image *img) {
  const struct image_symbol *s;
  size_t n = image_symbols(img, &s);
  uint64_t sum = 0;
  for (size_t i = 0; i < n; i++) {
    MUST(i == 0 || s[i - 1].address <= s[i].address);
    MUST((s[i].kind == SYMBOL_FUNCTION) <= image_is_code(img, s[i].address));
    const struct image_symbol *named = image_symbol_named(img, s[i].name), *at = image_symbol_before(img, s[i].address);
    MUST(named && strcmp(named->name, s[i].name) == 0 && (named->address <= s[i].address || s[i].local));
    MUST(at && at->address == s[i].address && (at == s || at[-1].address < at->address));
    sum += touch_address(img, s[i].address) + touch_address(img, s[i].address + s[i].size);
  }
  return sum;
}

static uint64_t touch_functions(const struct image *img) {
  const struct image_function *f;
  size_t n = image_functions(img, &f);
  uint64_t sum = 0;
  for (size_t i = 0; i < n; i++) {
    MUST(i == 0 || f[i - 1].address < f[i].address);
    MUST(f[i].end == 0 || f[i].end > f[i].address);
    MUST(f[i].name && image_is_code(img, f[i].address) && image_function_at(img, f[i].address) == &f[i]);
    sum += touch_address(img, f[i].end);
  }
  return sum;
}

static void touch_all(const struct image *img) {
  struct image_slot slot;
  size_t n = 0, modules = image_module_count(img);
  const void *btf = image_btf(img, &n);
  volatile uint64_t sum = touch_symbols(img) + touch_functions(img) + (btf ? touch(btf, n) : 0) + image_code_size(img);
  MUST(image_is_kernel(img) && !image_is_dynamic(img) && !image_slot_after(img, 0, &slot));
  sum += touch(image_kernel_banner(img), strlen(image_kernel_banner(img)));
  sum += touch(image_kernel_release(img), strlen(image_kernel_release(img)));
  sum += touch(image_build_id(img), strlen(image_build_id(img)));
  for (size_t i = 0; i < modules; i++) {
    btf = image_module_btf(img, i, &n);
    sum += touch(image_module_name(img, i), strlen(image_module_name(img, i))) + (btf ? touch(btf, n) : 0);
  }
  (void)sum;
}

static void try_kernel(const void *bytes, size_t n) {
  struct image *img = NULL;
  struct err e = {0};
  if (image_kernel_from_memory("input", bytes, n, &img, &e) < 0) {
    MUST(!img && strncmp(e.text, "input: ", 7) == 0);
    return;
  }
  touch_all(img);
  image_free(img);
}

static void try_constants(const void *bytes, size_t n) {
  struct made k = {0};
  struct text rodata = {0};
  text_add_bytes(&rodata, bytes, n);
  made_elf(&k, MADE_6_1, &rodata);
  try_kernel(k.file.at, k.file.n);
  text_done(&rodata);
  text_done(&k.file);
}

/* A file in memory with these bytes; its path in PATH. */
static int file_of(const void *bytes, size_t n, char path[64]) {
  int fd = memfd_create("input", MFD_CLOEXEC);
  MUST(fd >= 0 && (n == 0 || write(fd, bytes, n) == (ssize_t)n));
  (void)snprintf(path, 64, "/proc/self/fd/%d", fd);
  return fd;
}

static void try_module(const void *bytes, size_t n) {
  static char kernel[64]; /* made once */
  char module[64];
  const char *modules[] = {module, module};
  struct image *img = NULL;
  struct err e = {0};
  if (!kernel[0]) {
    struct made k = made_kernel(MADE_NO_KALLSYMS);
    (void)file_of(k.file.at, k.file.n, kernel);
    text_done(&k.file);
  }
  int fd = file_of(bytes, n, module);
  if (image_open_kernel(kernel, modules, 2, &img, &e) < 0) {
    MUST(!img && strncmp(e.text, module, strlen(module)) == 0);
  } else {
    MUST(image_module_count(img) == 2);
    touch_all(img);
    image_free(img);
  }
  (void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1) return 0;
  switch (data[0]) {
  case 'k':
    try_kernel(data + 1, size - 1);
    break;
  case 'c':
    try_constants(data + 1, size - 1);
    break;
  case 'm':
    try_module(data + 1, size - 1);
    break;
  default:
    break;
  }
  return 0;
}
