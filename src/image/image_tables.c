/* SPDX-License-Identifier: Apache-2.0 */
/* The tables that a kernel and its modules keep about their own code, such as __ex_table. */
#include "image/image_kernel.h"

#include <stdio.h>
#include <string.h>

static bool symbol_value(const struct image *img, const char *prefix, const char *name, uint64_t *ret) {
  char text[64];
  int n = snprintf(text, sizeof text, "%s%s", prefix, name);
  if (n < 0 || (size_t)n >= sizeof text) return false;
  const struct image_symbol *s = image_symbol_named(img, text);
  if (s) *ret = s->address;
  return s != NULL;
}

/* The kernel's own is between two symbols; some are a section, too, for kernels whose symbols name no data. */
static bool own_table(const struct image *img, const char *name, uint64_t *ret_start, uint64_t *ret_size) {
  uint64_t start, end;
  Elf64_Shdr s;
  if (!symbol_value(img, "__start_", name, &start) || !symbol_value(img, "__stop_", name, &end) || end < start) {
    long i = section_find(img, SHT_PROGBITS, name);
    if (i < 0 || !section_header(img, (size_t)i, &s)) return false;
    start = s.sh_addr;
    end = s.sh_addr + s.sh_size;
    if (end < start) return false;
  }
  *ret_start = start;
  *ret_size = end - start;
  return true;
}

bool image_kernel_table(const struct image *img, const char *name, size_t n, uint64_t *ret_start, uint64_t *ret_size) {
  if (!img->kernel) return false;
  bool own = own_table(img, name, ret_start, ret_size);
  if (own && n == 0) return true;
  n -= own;
  for (const struct kernel_table *t = img->kernel->tables; t; t = t->next) {
    if (strcmp(t->name, name) != 0 || n-- > 0) continue;
    *ret_start = t->start;
    *ret_size = t->size;
    return true;
  }
  return false;
}
