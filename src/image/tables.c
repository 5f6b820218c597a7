/* SPDX-License-Identifier: Apache-2.0 */
/* The tables that a kernel and its modules keep about their own code, such as __ex_table. */
#include "image/kernel.h"

#include <stdio.h>

static bool symbol_value(const struct image *img, const char *prefix, const char *name, uint64_t *ret) {
  char text[64];
  int n = snprintf(text, sizeof text, "%s%s", prefix, name);
  if (n < 0 || (size_t)n >= sizeof text) return false;
  const struct image_symbol *s = image_symbol_named(img, text);
  if (s) *ret = s->address;
  return s != NULL;
}

bool image_kernel_table(const struct image *img, const char *name, size_t n, uint64_t *ret_start, uint64_t *ret_size) {
  uint64_t start, end;
  if (!img->kernel || n > 0) return false;
  if (!symbol_value(img, "__start_", name, &start) || !symbol_value(img, "__stop_", name, &end) || end < start)
    return false;
  *ret_start = start;
  *ret_size = end - start;
  return true;
}
