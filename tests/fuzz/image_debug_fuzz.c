/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the debug sections of a small program: it is refused with a message, or every address can be asked for
 * and the answers keep their promises.
 *
 * An input is a list of sections: a byte that says which, with 0x80 if it is packed, two bytes of length, the bytes.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "image/image.h"
#include "tests/fuzz/fuzz.h"

enum { CODE_AT = 0x1000, CODE_SIZE = 0x200, SECTIONS = 16, PACKED = 0x80, MAX_FRAMES = 4 };

static const char *const names[] = {
    ".debug_info",     ".debug_abbrev", ".debug_line",        ".debug_str",     ".debug_line_str",   ".debug_ranges",
    ".debug_rnglists", ".debug_addr",   ".debug_str_offsets", ".debug_aranges", ".gnu_debugaltlink",
};

/* A file in the making: the headers stand behind what they describe. */
struct file {
  struct text bytes, names;
  Elf64_Shdr sections[SECTIONS];
  uint16_t n;
};

static void section_add(struct file *f, const char *name, uint32_t type, uint64_t flags, const void *p, size_t n) {
  f->sections[f->n++] = (Elf64_Shdr){.sh_name = (uint32_t)f->names.n,
                                     .sh_type = type,
                                     .sh_flags = flags,
                                     .sh_offset = f->bytes.n,
                                     .sh_size = n,
                                     .sh_addralign = 1};
  text_add_bytes(&f->names, name, strlen(name) + 1);
  text_add_bytes(&f->bytes, p, n);
}

static void sections_read(struct file *f, const uint8_t *data, size_t size) {
  while (size >= 3 && f->n < SECTIONS - 1) {
    size_t n = data[1] | data[2] << 8;
    unsigned which = data[0] & ~PACKED;
    if (n > size - 3) n = size - 3;
    if (which < COUNT(names))
      section_add(f, names[which], SHT_PROGBITS, data[0] & PACKED ? SHF_COMPRESSED : 0, data + 3, n);
    data += 3 + n;
    size -= 3 + n;
  }
}

/* The program: one segment of code, which nobody looks at. */
static void file_make(struct file *f, const uint8_t *data, size_t size) {
  static const uint8_t code[CODE_SIZE];
  Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                  .e_type = ET_EXEC,
                  .e_machine = EM_X86_64,
                  .e_version = EV_CURRENT,
                  .e_entry = CODE_AT,
                  .e_phoff = sizeof h,
                  .e_ehsize = sizeof h,
                  .e_phentsize = sizeof(Elf64_Phdr),
                  .e_phnum = 1,
                  .e_shentsize = sizeof(Elf64_Shdr)};
  Elf64_Phdr p = {.p_type = PT_LOAD,
                  .p_flags = PF_R | PF_X,
                  .p_offset = sizeof h + sizeof p,
                  .p_vaddr = CODE_AT,
                  .p_filesz = CODE_SIZE,
                  .p_memsz = CODE_SIZE,
                  .p_align = 1};
  text_add_bytes(&f->bytes, &h, sizeof h);
  text_add_bytes(&f->bytes, &p, sizeof p);
  text_add_bytes(&f->bytes, code, sizeof code);
  text_add_bytes(&f->names, "", 1);
  f->n = 1;
  sections_read(f, data, size);
  text_add_bytes(&f->names, ".shstrtab", 10);
  f->names.n -= 10;
  section_add(f, ".shstrtab", SHT_STRTAB, 0, f->names.at, f->names.n + 10);
  text_add_bytes(&f->bytes, "\0\0\0\0\0\0\0", 8 - f->bytes.n % 8);
  h.e_shoff = f->bytes.n;
  h.e_shnum = f->n;
  h.e_shstrndx = (uint16_t)(f->n - 1);
  text_add_bytes(&f->bytes, f->sections, f->n * sizeof f->sections[0]);
  MUST(!f->bytes.failed && !f->names.failed);
  memcpy(f->bytes.at, &h, sizeof h);
}

static size_t touch(const char *s) { return s ? strlen(s) : 0; }

static size_t touch_address(struct image_debug *d, uint64_t address) {
  struct image_frame f[MAX_FRAMES], again[MAX_FRAMES];
  size_t n = image_debug_at(d, address, f, MAX_FRAMES), sum = 0;
  MUST(n <= MAX_FRAMES && image_debug_at(d, address, again, MAX_FRAMES) == n);
  for (size_t i = 0; i < n; i++) {
    MUST(!f[i].file == !f[i].relative && (!f[i].file || strstr(f[i].file, f[i].relative)));
    MUST(f[i].function == again[i].function && f[i].file == again[i].file && f[i].line == again[i].line);
    sum += touch(f[i].function) + touch(f[i].file) + f[i].column;
  }
  return sum;
}

/* Variables are refused with a message, or the way to them is one that can be taken. */
static size_t touch_variable(struct image_debug *d, const char *function, const char *name) {
  struct image_variable v;
  struct err e = {0};
  if (image_debug_variable(d, function, name, 1, &v, &e) < 0) {
    MUST(e.text[0]);
    return 0;
  }
  MUST(v.n_steps >= 1 && v.n_steps <= IMAGE_STEPS && v.bits <= 64 && v.bit + v.bits <= 64);
  MUST(v.width == 1 || v.width == 2 || v.width == 4 || v.width == 8 || (v.width == 0 && v.characters));
  size_t n = v.locations.n;
  image_variable_done(&v);
  return n;
}

static size_t touch_variables(struct image_debug *d) {
  static const char *const variables[] = {"x", "i", "request", "request.next->method", "a[1].b", "n::x"};
  size_t sum = 0;
  for (size_t i = 0; i < COUNT(variables); i++)
    sum += touch_variable(d, NULL, variables[i]) + touch_variable(d, "f", variables[i]);
  for (uint64_t a = CODE_AT; a < CODE_AT + CODE_SIZE; a += 16) {
    struct image_frame f;
    if (image_debug_at(d, a, &f, 1) == 1 && f.function) sum += touch_variable(d, f.function, NULL);
  }
  return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct file f = {0};
  struct image *img = NULL;
  struct image_debug *d = NULL;
  struct err e = {0};
  file_make(&f, data, size);
  MUST(image_from_memory("input", f.bytes.at, f.bytes.n, &img, &e) == 0);
  volatile size_t sum = 0;
  if (image_debug_open(img, &d, &e) == 0)
    for (uint64_t a = CODE_AT - 1; a <= CODE_AT + CODE_SIZE; a++)
      sum += touch_address(d, a);
  else
    MUST(!d && strncmp(e.text, "input: ", 7) == 0);
  if (d) sum += touch_variables(d);
  (void)sum;
  image_debug_free(d);
  image_free(img);
  text_done(&f.bytes);
  text_done(&f.names);
  return 0;
}
