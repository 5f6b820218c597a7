/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an image: it is refused with a message, or every question can be asked and the answers keep their
 * promises.
 */
#include <stdlib.h>
#include <string.h>

#include "image/image.h"
#include "tests/fuzz/fuzz.h"

/* Reads every byte, so that the sanitizer sees each; the sum keeps the compiler from leaving it out. */
static uint64_t touch(const void *p, size_t n) {
  const uint8_t *b = p;
  uint64_t sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += b[i];
  return sum;
}

static uint64_t touch_string(const char *s) { return s ? touch(s, strlen(s)) : 0; }

static uint64_t touch_address(const struct image *img, uint64_t address) {
  size_t left = image_bytes_left(img, address);
  const void *p = image_bytes(img, address, left);
  MUST(left == 0 || p);
  MUST(left == 0 || image_is_mapped(img, address));
  MUST(!image_bytes(img, address, left + 1));
  const struct image_function *f = image_function_before(img, address);
  MUST(!f || f->address <= address);
  return (left ? touch(p, left < 64 ? left : 64) : 0) + image_is_code(img, address) + image_is_readonly(img, address);
}

static uint64_t touch_texts(const struct image *img) {
  const char *const *needed;
  size_t n = image_needed(img, &needed);
  uint64_t sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += touch_string(needed[i]);
  MUST(image_build_id(img) && image_name(img) && image_path(img));
  return sum + touch_string(image_build_id(img)) + touch_string(image_name(img)) + touch_string(image_path(img)) +
         touch_string(image_interpreter(img)) + touch_string(image_rpath(img)) + touch_string(image_runpath(img)) +
         image_entry(img) + image_is_dynamic(img) + image_code_size(img);
}

static uint64_t touch_exports(const struct image *img) {
  const struct image_symbol *s;
  size_t n = image_exports(img, &s);
  uint64_t sum = 0;
  for (size_t i = 0; i < n; i++) {
    MUST(i == 0 || strcmp(s[i - 1].name, s[i].name) <= 0);
    MUST(s[i].hidden_version || image_export(img, s[i].name, NULL));
    const struct image_symbol *same = s[i].version ? image_export(img, s[i].name, s[i].version) : NULL;
    MUST(!s[i].version || (same && strcmp(same->version, s[i].version) == 0));
    sum += touch_string(s[i].name) + touch_string(s[i].version) + touch_address(img, s[i].address);
  }
  return sum;
}

static uint64_t touch_slots(const struct image *img) {
  struct image_slot s, same;
  uint64_t sum = 0;
  for (uint64_t at = 0; image_slot_after(img, at, &s); at = s.at + 1) {
    MUST(s.at >= at);
    MUST(image_slot(img, s.at, &same) && same.at == s.at && same.kind == s.kind && same.value == s.value);
    MUST(s.kind != SLOT_IMPORT || s.name);
    sum += touch_string(s.name) + touch_string(s.version) + touch_address(img, s.at);
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
    MUST(image_is_code(img, f[i].address) && image_function_at(img, f[i].address) == &f[i]);
    sum += touch_string(f[i].name) + touch_address(img, f[i].address) + touch_address(img, f[i].end);
  }
  return sum;
}

static uint64_t touch_rows(const struct image *img) {
  struct image_row *rows = NULL;
  size_t n = 0;
  MUST(image_unwind(img, &rows, &n) == 0 && (n == 0 || rows));
  for (size_t i = 0; i < n; i++) {
    MUST(rows[i].cfa <= IMAGE_CFA_NONE);
    MUST(rows[i].cfa != IMAGE_CFA_END || (rows[i].offset == 0 && rows[i].rbp == 0 && rows[i].add == 0));
    MUST(i == 0 || rows[i - 1].start < rows[i].start);
    MUST(i == 0 || memcmp(&rows[i - 1].cfa, &rows[i].cfa, sizeof *rows - sizeof rows->start) != 0);
  }
  MUST(n == 0 || rows[n - 1].cfa == IMAGE_CFA_NONE);
  free(rows);
  return n;
}

/* Addresses that the input itself has in it: those are the ones near its edges. */
static uint64_t touch_anywhere(const struct image *img, const uint8_t *data, size_t size) {
  uint64_t sum = 0;
  for (size_t i = 0; i + 8 <= size; i += 8) {
    uint64_t address;
    memcpy(&address, data + i, sizeof address);
    sum += touch_address(img, address) + touch_address(img, address - 1) + touch_address(img, i);
  }
  return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct image *img = NULL;
  struct err e = {0};
  if (image_from_memory("input", data, size, &img, &e) < 0) {
    MUST(!img && e.text[0] && strncmp(e.text, "input: ", 7) == 0);
    return 0;
  }
  volatile uint64_t sum = touch_texts(img) + touch_exports(img) + touch_slots(img) + touch_functions(img) +
                          touch_rows(img) + touch_anywhere(img, data, size);
  (void)sum;
  image_free(img);
  return 0;
}
