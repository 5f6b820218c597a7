/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbol versions: which index of DT_VERSYM stands for which name, from what the image defines and what it needs.
 *
 * The two tables are chains of offsets that go forward only; the number of steps is bounded by the size of the
 * segment they are in, so that chains that share their links cost no more than honest ones.
 */
#include <errno.h>

#include "image/layout.h"

#define VERSION_INDEX 0x7fff
#define VERSION_HIDDEN 0x8000

static int version_put(struct image *img, uint16_t index, const char *name) {
  index &= VERSION_INDEX;
  if (!name || index <= VER_NDX_GLOBAL) return 0;
  if (index >= img->n_versions) {
    size_t n = index < 64 ? 64 : VERSION_INDEX + 1;
    const char **bigger = arena_zalloc(&img->arena, n * sizeof *bigger);
    if (!bigger) return -ENOMEM;
    if (img->n_versions) memcpy(bigger, img->versions, img->n_versions * sizeof *bigger);
    img->versions = bigger;
    img->n_versions = n;
  }
  img->versions[index] = name;
  return 0;
}

static int defined_load(struct image *img) {
  struct bytes b = bytes_at(img, img->dynamic.verdef, UINT64_MAX);
  uint64_t at = 0;
  for (uint64_t i = 0; i < img->dynamic.verdef_count && at <= b.n && b.n - at >= sizeof(Elf64_Verdef); i++) {
    Elf64_Verdef d;
    Elf64_Verdaux a;
    memcpy(&d, b.at + at, sizeof d);
    uint64_t aux = at + d.vd_aux;
    if (aux <= b.n && b.n - aux >= sizeof a && !(d.vd_flags & VER_FLG_BASE)) {
      memcpy(&a, b.at + aux, sizeof a);
      int r = version_put(img, d.vd_ndx, string_at(img->strings, a.vda_name));
      if (r < 0) return r;
    }
    if (d.vd_next < sizeof d) break;
    at += d.vd_next;
  }
  return 0;
}

/* The versions wanted from one library; *steps is what is left of the bound. */
static int needed_from(struct image *img, struct bytes b, uint64_t at, unsigned count, size_t *steps) {
  for (; count > 0 && *steps > 0 && at <= b.n && b.n - at >= sizeof(Elf64_Vernaux); count--, --*steps) {
    Elf64_Vernaux a;
    memcpy(&a, b.at + at, sizeof a);
    int r = version_put(img, a.vna_other, string_at(img->strings, a.vna_name));
    if (r < 0) return r;
    if (a.vna_next < sizeof a) break;
    at += a.vna_next;
  }
  return 0;
}

static int needed_load(struct image *img) {
  struct bytes b = bytes_at(img, img->dynamic.verneed, UINT64_MAX);
  size_t steps = b.n / sizeof(Elf64_Vernaux);
  uint64_t at = 0;
  for (uint64_t i = 0; i < img->dynamic.verneed_count && at <= b.n && b.n - at >= sizeof(Elf64_Verneed); i++) {
    Elf64_Verneed n;
    memcpy(&n, b.at + at, sizeof n);
    int r = needed_from(img, b, at + n.vn_aux, n.vn_cnt, &steps);
    if (r < 0) return r;
    if (n.vn_next < sizeof n) break;
    at += n.vn_next;
  }
  return 0;
}

int versions_load(struct image *img) {
  if (!img->dynamic.versym) return 0;
  img->versym = bytes_at(img, img->dynamic.versym, UINT64_MAX);
  if (img->dynamic.verdef) {
    int r = defined_load(img);
    if (r < 0) return r;
  }
  return img->dynamic.verneed ? needed_load(img) : 0;
}

const char *symbol_version(const struct image *img, uint64_t index, bool *ret_hidden) {
  *ret_hidden = false;
  if (index >= img->versym.n / 2) return NULL;
  uint16_t v = read_u16(img->versym.at + index * 2);
  *ret_hidden = (v & VERSION_HIDDEN) != 0;
  v &= VERSION_INDEX;
  return v < img->n_versions ? img->versions[v] : NULL;
}
