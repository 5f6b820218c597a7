/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a kernel: unpacks it, reads its sections and symbols, links modules to it.
 *
 * What comes out is an image like any other, so that code and flow need not know where their bytes come from.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "image/image_kernel.h"

/* --- segments ----------------------------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b) {
  const struct segment *x = a, *y = b;
  return x->start < y->start ? -1 : x->start > y->start;
}

/* Each section a segment: the first program header of a kernel covers code and constants alike. */
static int sections_list(const struct image *img, segment_list *list) {
  Elf64_Shdr s;
  uint64_t end;
  int r = 0;
  for (size_t i = 0; r >= 0 && section_header(img, i, &s); i++) {
    if (!(s.sh_flags & SHF_ALLOC) || s.sh_size == 0 || s.sh_addr < KERNEL_HALF) continue;
    if (__builtin_add_overflow(s.sh_addr, s.sh_size, &end)) continue;
    struct bytes b = section_bytes(img, &s);
    r = vec_push(list,
                 (struct segment){
                     .start = s.sh_addr,
                     .file_end = b.at ? end : s.sh_addr,
                     .end = end,
                     .at = b.at,
                     .flags = PF_R | (s.sh_flags & SHF_WRITE ? PF_W : 0) | (s.sh_flags & SHF_EXECINSTR ? PF_X : 0),
                 });
  }
  return r;
}

static int headers_list(const struct image *img, segment_list *list) {
  int r = 0;
  for (size_t i = 0; i < img->n_segments && r >= 0; i++)
    if (img->segments[i].start >= KERNEL_HALF) r = vec_push(list, img->segments[i]);
  return r;
}

/* Parts of a file that overlap would have it searched again and again: no more than the file has is taken. */
static void segments_limit(const struct image *img, segment_list *list) {
  uint64_t left = img->size;
  size_t n = 0;
  for (size_t i = 0; i < list->n; i++) {
    uint64_t size = list->at[i].at ? list->at[i].file_end - list->at[i].start : 0;
    if (size > left) continue;
    left -= size;
    list->at[n++] = list->at[i];
  }
  list->n = n;
}

static int segments_list(struct image *img, segment_list *list, struct err *e) {
  int r = segments_load(img, e);
  if (r >= 0) r = sections_list(img, list);
  if (r >= 0 && list->n == 0) r = headers_list(img, list);
  if (r >= 0) segments_limit(img, list);
  if (r >= 0 && list->n == 0)
    return err_set(
        e, -ENOEXEC,
        "%s: not a Linux kernel: nothing of it is loaded into the kernel's half of memory (give a vmlinuz or vmlinux)",
        img->path);
  return r;
}

static int segments_set(struct image *img, const segment_list *list) {
  img->segments = arena_memdup(&img->arena, list->at, list->n * sizeof *list->at);
  if (!img->segments) return -ENOMEM;
  img->n_segments = list->n;
  qsort(img->segments, img->n_segments, sizeof *img->segments, by_start);
  segments_choose_code(img);
  return 0;
}

/* --- what the kernel says about itself ---------------------------------------------------------------------------- */

static uint64_t symbol_address(const struct image *img, const char *name) {
  const struct image_symbol *s = image_symbol_named(img, name);
  return s ? s->address : 0;
}

/* What the kernel protects at its start. The symbols are only there with CONFIG_KALLSYMS_ALL. */
static void readonly_set(struct image *img) {
  uint64_t start = symbol_address(img, "__start_rodata"), end = symbol_address(img, "__end_rodata");
  long i = section_find(img, SHT_PROGBITS, ".rodata");
  Elf64_Shdr s;
  if ((start < KERNEL_HALF || start >= end) && i >= 0 && section_header(img, (size_t)i, &s)) {
    start = s.sh_addr;
    if (__builtin_add_overflow(start, s.sh_size, &end)) return;
  }
  if (start < end && start >= KERNEL_HALF) {
    img->relro_start = start;
    img->relro_end = end;
  }
}

/* "Linux version 6" and what follows; the format of the same text, with %s, is not meant. */
static const char *banner_in(struct bytes b, size_t *ret_size) {
  static const char start[] = "Linux version ";
  while (b.n > sizeof start) {
    const uint8_t *p = memmem(b.at, b.n, start, sizeof start - 1);
    if (!p) return NULL;
    b.n -= (size_t)(p - b.at);
    b.at = p;
    size_t n = 0, most = b.n < 1024 ? b.n : 1024;
    while (n < most && p[n] >= 0x20 && p[n] < 0x7f)
      n++;
    if (n >= sizeof start && p[sizeof start - 1] >= '0' && p[sizeof start - 1] <= '9') {
      *ret_size = n;
      return (const char *)p;
    }
    b.at += sizeof start - 1;
    b.n -= sizeof start - 1;
  }
  return NULL;
}

/* Where linux_banner is, else the first text that looks like it: kernels can have a second one without their number. */
static const char *banner_find(const struct image *img, size_t *ret_size) {
  uint64_t address = symbol_address(img, "linux_banner");
  struct bytes b = bytes_at(img, address, address ? 1024 : 0);
  const char *text = b.at ? banner_in(b, ret_size) : NULL;
  for (size_t i = 0; i < img->n_segments && !text; i++) {
    const struct segment *s = &img->segments[i];
    if (s->at) text = banner_in((struct bytes){s->at, s->file_end - s->start}, ret_size);
  }
  return text;
}

static int banner_set(struct image *img) {
  size_t n = 0;
  const char *text = banner_find(img, &n);
  char *banner = arena_zalloc(&img->arena, n + 1), *release = arena_zalloc(&img->arena, n + 1);
  if (!banner || !release) return -ENOMEM;
  if (text) {
    const char *from = text + strlen("Linux version "), *end = memchr(from, ' ', n - (size_t)(from - text));
    memcpy(banner, text, n);
    memcpy(release, from, end ? (size_t)(end - from) : n - (size_t)(from - text));
  }
  img->kernel->banner = banner;
  img->kernel->release = release;
  return 0;
}

static void btf_set(struct image *img) {
  uint64_t start = symbol_address(img, "__start_BTF"), end = symbol_address(img, "__stop_BTF");
  struct bytes b = {NULL, 0};
  Elf64_Shdr s;
  long i = section_find(img, SHT_PROGBITS, ".BTF");
  if (i >= 0 && section_header(img, (size_t)i, &s))
    b = section_bytes(img, &s);
  else if (start < end)
    b = bytes_at(img, start, end - start);
  if (b.n >= 8 && read_u16(b.at) == 0xeb9f) img->kernel->btf = b;
}

/* --- the parts ---------------------------------------------------------------------------------------------------- */

static int symbols_list(struct image *img, symbol_list *list, struct err *e) {
  int r = symtab_list(img, img, NULL, list);
  if (r < 0 || list->n > 0) return r;
  return kallsyms_list(img, list, e);
}

static int load_lists(struct image *img, const char *const *modules, size_t n_modules, segment_list *segments,
                      symbol_list *symbols, struct err *e) {
  struct linking *l = NULL;
  int r = segments_list(img, segments, e);
  if (r >= 0) r = segments_set(img, segments);
  if (r >= 0) r = symbols_list(img, symbols, e);
  if (r >= 0) r = modules_place(img, modules, n_modules, segments, symbols, &l, e);
  if (r >= 0) r = segments_set(img, segments);
  if (r >= 0) r = symbols_index(img, symbols);
  if (r >= 0) modules_relocate(img, l);
  linking_free(l);
  return r;
}

/* Modules of another kernel would be linked to functions that take and return other things. */
static int modules_check(const struct image *img, const char *const *paths, struct err *e) {
  const struct kernel *k = img->kernel;
  for (size_t i = 0; i < k->n_modules && k->release[0]; i++)
    if (k->modules[i].release && strcmp(k->modules[i].release, k->release) != 0)
      return err_set(e, -ENOEXEC, "%s: a module of Linux %s, but %s is Linux %s (give its own with --modules)",
                     paths[i], k->modules[i].release, img->path, k->release);
  return 0;
}

static int kernel_load(struct image *img, const char *const *modules, size_t n_modules, struct err *e) {
  segment_list segments = {0};
  symbol_list symbols = {0};
  if (img->size > 18 && read_u16(img->file + offsetof(Elf64_Ehdr, e_type)) == ET_REL)
    return err_set(e, -ENOEXEC, "%s: a kernel module or object file, not a Linux kernel (give a vmlinuz or vmlinux)",
                   img->path);
  int r = header_check(img->path, img->file, img->size, e);
  if (r < 0) return r;
  img->type = read_u16(img->file + offsetof(Elf64_Ehdr, e_type));
  sections_load(img);
  img->kernel = arena_zalloc(&img->arena, sizeof *img->kernel);
  r = img->kernel ? load_lists(img, modules, n_modules, &segments, &symbols, e) : -ENOMEM;
  vec_done(&segments);
  vec_done(&symbols);
  if (r < 0) return r;
  readonly_set(img);
  btf_set(img);
  r = banner_set(img);
  if (r >= 0) r = modules_check(img, modules, e);
  return r < 0 ? r : build_id_load(img);
}

/* Takes FILE over, also if it fails. */
static int kernel_open(const char *path, struct bytes file, bool mapped, const char *const *modules, size_t n_modules,
                       struct image **ret, struct err *e) {
  struct bytes elf;
  bool own;
  struct image *img;
  int r = payload_find(path, file, &elf, &own, e);
  if (r < 0 || own) {
    if (mapped)
      (void)munmap((void *)file.at, file.n);
    else
      free((void *)file.at);
  }
  if (r < 0) return r;
  r = image_new(path, elf, mapped && !own, &img, e);
  if (r < 0) return r;
  r = kernel_load(img, modules, n_modules, e);
  if (r == -ENOMEM) r = err_set(e, r, "%s: out of memory", path);
  if (r < 0) {
    image_free(img);
    return r;
  }
  *ret = img;
  return 0;
}

int image_open_kernel(const char *path, const char *const *modules, size_t n_modules, struct image **ret,
                      struct err *e) {
  struct bytes file;
  int r = image_map_file(path, &file, e);
  return r < 0 ? r : kernel_open(path, file, true, modules, n_modules, ret, e);
}

int image_kernel_from_memory(const char *name, const void *bytes, size_t size, struct image **ret, struct err *e) {
  if (size == 0) return err_set(e, -ENOEXEC, "%s: empty", name);
  uint8_t *copy = malloc(size);
  if (!copy) return err_set(e, -ENOMEM, "%s: out of memory", name);
  memcpy(copy, bytes, size);
  return kernel_open(name, (struct bytes){copy, size}, false, NULL, 0, ret, e);
}

/* --- questions ---------------------------------------------------------------------------------------------------- */

bool image_is_kernel(const struct image *img) { return img->kernel != NULL; }

const char *image_kernel_banner(const struct image *img) { return img->kernel ? img->kernel->banner : NULL; }

const char *image_kernel_release(const struct image *img) { return img->kernel ? img->kernel->release : NULL; }

const void *image_btf(const struct image *img, size_t *ret_size) {
  if (!img->kernel || !img->kernel->btf.at) return NULL;
  *ret_size = img->kernel->btf.n;
  return img->kernel->btf.at;
}
