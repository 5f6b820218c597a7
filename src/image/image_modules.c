/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links kernel modules to a kernel, roughly as the kernel's own loader does: each allocated section gets an address
 * behind the kernel, then relocations are applied to a copy of it.
 *
 * First all modules are placed, so that one may use what another defines, whatever their order; then all are relocated.
 * What is not understood is left as it is.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "image/image_kernel.h"

#define PAGE 4096ULL
/* Where x86-64 has its modules: MODULES_VADDR with the usual size of the kernel's own part. */
#define MODULES_START 0xffffffffc0000000ULL

/* A module while it is linked. */
struct object {
  struct image file; /* only what sections_load fills in */
  const char *path;
  bool own;         /* FILE is from malloc */
  uint64_t *bases;  /* where each section is, or 0 */
  uint8_t **copies; /* its bytes, or NULL */
};

struct linking {
  size_t n;
  struct object objects[];
};

void linking_free(struct linking *l) {
  if (!l) return;
  for (size_t i = 0; i < l->n; i++) {
    struct object *o = &l->objects[i];
    if (o->own)
      free((void *)o->file.file);
    else if (o->file.file)
      (void)munmap((void *)o->file.file, o->file.size);
    free(o->bases);
    free(o->copies);
  }
  free(l);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static int object_check(const struct object *o, struct err *e) {
  const uint8_t *p = o->file.file;
  size_t n = o->file.size;
  char start[64];
  if (n < sizeof(Elf64_Ehdr) || memcmp(p, ELFMAG, SELFMAG) != 0) {
    show_start(p, n, start, sizeof start);
    return err_set(e, -ENOEXEC, "%s: not a kernel module: starts with %s", o->path, start);
  }
  if (p[EI_CLASS] != ELFCLASS64 || p[EI_DATA] != ELFDATA2LSB || read_u16(p + 18) != EM_X86_64)
    return err_set(e, -ENOEXEC, "%s: not a kernel module for x86-64 (its ELF machine number is %u)", o->path,
                   read_u16(p + 18));
  if (read_u16(p + 16) != ET_REL)
    return err_set(e, -ENOEXEC, "%s: not a kernel module: its ELF type is %u, not that of an object file", o->path,
                   read_u16(p + 16));
  return 0;
}

static int object_open(struct object *o, const char *path, struct err *e) {
  struct bytes file, out;
  int r = image_map_file(path, &file, e);
  if (r < 0) return r;
  o->path = path;
  if (packing_name(file)) {
    r = packing_unpack(path, file, 0, &out, e);
    (void)munmap((void *)file.at, file.n);
    if (r < 0) return r;
    file = out;
    o->own = true;
  }
  o->file.file = file.at;
  o->file.size = file.n;
  r = object_check(o, e);
  if (r < 0) return r;
  sections_load(&o->file);
  if (o->file.n_sections == 0) return err_set(e, -ENOEXEC, "%s: damaged: a kernel module without sections", path);
  o->bases = calloc(o->file.n_sections, sizeof *o->bases);
  o->copies = calloc(o->file.n_sections, sizeof *o->copies);
  return o->bases && o->copies ? 0 : err_set(e, -ENOMEM, "%s: out of memory", path);
}

/* What .modinfo has behind KEY, as in "name="; NULL if nothing. */
static const char *modinfo(const struct object *o, const char *key) {
  Elf64_Shdr s;
  long i = section_find(&o->file, SHT_PROGBITS, ".modinfo");
  struct bytes b = {NULL, 0};
  if (i >= 0 && section_header(&o->file, (size_t)i, &s)) b = bytes_of_strings(section_bytes(&o->file, &s));
  for (size_t at = 0; at < b.n; at += strlen((const char *)b.at + at) + 1)
    if (strncmp((const char *)b.at + at, key, strlen(key)) == 0) return (const char *)b.at + at + strlen(key);
  return NULL;
}

/* The first word of "6.1.0-54-amd64 SMP preempt mod_unload modversions". */
static int module_release(struct image *img, const struct object *o, const char **ret) {
  const char *magic = modinfo(o, "vermagic=");
  if (!magic) return 0;
  char *release = arena_strdup(&img->arena, magic);
  if (!release) return -ENOMEM;
  release[strcspn(release, " ")] = 0;
  *ret = release;
  return 0;
}

/* "ext4": from .modinfo, or from the path with '-' as '_', as the kernel has it. */
static const char *module_name(struct image *img, const struct object *o) {
  const char *said = modinfo(o, "name=");
  if (said) return arena_strdup(&img->arena, said);
  const char *slash = strrchr(o->path, '/');
  char *name = arena_strdup(&img->arena, slash ? slash + 1 : o->path);
  if (!name) return NULL;
  name[strcspn(name, ".")] = 0;
  for (char *p = name; *p; p++)
    if (*p == '-') *p = '_';
  return name;
}

/* --- placing ------------------------------------------------------------------------------------------------------ */

/* What the loader protects after the module's start although the file says that it can be written. */
static bool becomes_readonly(const char *name) {
  return name && (strcmp(name, ".data..ro_after_init") == 0 || strcmp(name, "__jump_table") == 0);
}

/* Sections that the kernel's code asks for by name: __ex_table and others. */
static int table_note(struct image *img, const char *name, uint64_t start, uint64_t size) {
  if (!name || strncmp(name, "__", 2) != 0) return 0;
  struct kernel_table *t = arena_zalloc(&img->arena, sizeof *t);
  if (!t) return -ENOMEM;
  *t = (struct kernel_table){arena_strdup(&img->arena, name), start, size, img->kernel->tables};
  if (!t->name) return -ENOMEM;
  img->kernel->tables = t;
  return 0;
}

static int section_place(struct image *img, struct object *o, size_t i, const Elf64_Shdr *s, uint64_t *at,
                         segment_list *segments) {
  uint64_t align = s->sh_addralign && s->sh_addralign <= PAGE ? s->sh_addralign : 1, end;
  bool zeros = s->sh_type == SHT_NOBITS, readonly = !(s->sh_flags & SHF_WRITE);
  struct bytes b = section_bytes(&o->file, s);
  if (s->sh_size == 0 || (!zeros && !b.at)) return 0;
  /* Those of one kind of protection start on a page of their own in the kernel; here it is enough not to overlap. */
  uint64_t start = (*at + align - 1) & ~(align - 1);
  if ((align & (align - 1)) != 0 || __builtin_add_overflow(start, s->sh_size, &end) || end > UINT64_MAX - PAGE)
    return -ENOEXEC;
  if (!zeros) {
    o->copies[i] = arena_memdup(&img->arena, b.at, b.n);
    if (!o->copies[i]) return -ENOMEM;
  }
  o->bases[i] = start;
  *at = end;
  const char *name = string_at(o->file.section_names, s->sh_name);
  if (becomes_readonly(name)) readonly = true;
  if (!zeros && table_note(img, name, start, s->sh_size) < 0) return -ENOMEM;
  return vec_push(segments, (struct segment){
                                .start = start,
                                .file_end = zeros ? start : end,
                                .end = end,
                                .at = o->copies[i],
                                .flags = PF_R | (readonly ? 0 : PF_W) | (s->sh_flags & SHF_EXECINSTR ? PF_X : 0),
                            });
}

static int module_place(struct image *img, struct object *o, uint64_t *at, segment_list *segments,
                        struct kernel_module *ret) {
  Elf64_Shdr s;
  *ret = (struct kernel_module){.name = module_name(img, o), .start = *at};
  int r = ret->name ? module_release(img, o, &ret->release) : -ENOMEM;
  for (size_t i = 1; r >= 0 && section_header(&o->file, i, &s); i++)
    if (s.sh_flags & SHF_ALLOC) r = section_place(img, o, i, &s, at, segments);
  long btf = section_find(&o->file, SHT_PROGBITS, ".BTF");
  if (r >= 0 && btf >= 0 && section_header(&o->file, (size_t)btf, &s)) {
    struct bytes b = section_bytes(&o->file, &s);
    const uint8_t *kept = o->copies[btf] || !b.at ? o->copies[btf] : arena_memdup(&img->arena, b.at, b.n);
    if (b.at && !kept) return -ENOMEM;
    ret->btf = (struct bytes){kept, kept ? b.n : 0};
  }
  ret->end = *at;
  *at = (*at + PAGE - 1) & ~(PAGE - 1);
  return r;
}

int modules_place(struct image *img, const char *const *paths, size_t n, segment_list *segments, symbol_list *list,
                  struct linking **ret, struct err *e) {
  struct kernel *k = img->kernel;
  uint64_t at = MODULES_START;
  for (size_t i = 0; i < segments->n; i++)
    if (segments->at[i].end > at) at = (segments->at[i].end + PAGE - 1) & ~(PAGE - 1);
  struct linking *l = calloc(1, sizeof *l + n * sizeof *l->objects);
  k->modules = arena_zalloc(&img->arena, (n ? n : 1) * sizeof *k->modules);
  int r = l && k->modules ? 0 : err_set(e, -ENOMEM, "%s: out of memory", img->path);
  for (size_t i = 0; i < n && r >= 0; i++) {
    l->n = i + 1;
    struct object *o = &l->objects[i];
    r = object_open(o, paths[i], e);
    if (r < 0) break;
    r = module_place(img, o, &at, segments, &k->modules[i]);
    if (r >= 0) r = symtab_list(img, &o->file, o->bases, list);
    k->n_modules = i + 1;
    if (r == -ENOMEM) r = err_set(e, r, "%s: out of memory", paths[i]);
    if (r < 0 && r != -ENOMEM) r = err_set(e, r, "%s: damaged: a section of this module has no place", paths[i]);
  }
  if (r < 0) {
    linking_free(l);
    return r;
  }
  *ret = l;
  return 0;
}

/* --- relocating --------------------------------------------------------------------------------------------------- */

/* What symbol INDEX of the module stands for; 0 if nothing does. */
static uint64_t symbol_value(const struct image *img, const struct object *o, struct bytes symbols,
                             struct bytes strings, uint64_t index) {
  Elf64_Sym s;
  if (index >= symbols.n / sizeof s) return 0;
  memcpy(&s, symbols.at + index * sizeof s, sizeof s);
  if (s.st_shndx == SHN_ABS) return s.st_value;
  if (s.st_shndx != SHN_UNDEF)
    return s.st_shndx < o->file.n_sections && o->bases[s.st_shndx] ? o->bases[s.st_shndx] + s.st_value : 0;
  const char *name = string_at(strings, s.st_name);
  const struct image_symbol *found = name && name[0] ? image_symbol_named(img, name) : NULL;
  return found && !found->local ? found->address : 0;
}

static void relocation_apply(uint8_t *copy, uint64_t size, uint64_t base, const Elf64_Rela *r, uint64_t value) {
  uint64_t place = base + r->r_offset;
  value += (uint64_t)r->r_addend;
  size_t width = 4;
  switch (ELF64_R_TYPE(r->r_info)) {
  case R_X86_64_64:
    width = 8;
    break;
  case R_X86_64_PC64:
    width = 8;
    value -= place;
    break;
  case R_X86_64_PC32:
  case R_X86_64_PLT32:
    value -= place;
    break;
  case R_X86_64_32:
  case R_X86_64_32S:
    break;
  default:
    return;
  }
  if (r->r_offset <= size && size - r->r_offset >= width) memcpy(copy + r->r_offset, &value, width);
}

static void section_relocate(const struct image *img, const struct object *o, const Elf64_Shdr *relocations) {
  Elf64_Shdr target, table, names;
  uint32_t i = relocations->sh_info;
  if (!section_header(&o->file, i, &target) || !o->copies[i]) return;
  if (!section_header(&o->file, relocations->sh_link, &table) || !section_header(&o->file, table.sh_link, &names))
    return;
  struct bytes b = section_bytes(&o->file, relocations), symbols = section_bytes(&o->file, &table);
  struct bytes strings = bytes_of_strings(section_bytes(&o->file, &names));
  for (size_t at = 0; b.n - at >= sizeof(Elf64_Rela); at += sizeof(Elf64_Rela)) {
    Elf64_Rela r;
    memcpy(&r, b.at + at, sizeof r);
    uint64_t value = symbol_value(img, o, symbols, strings, ELF64_R_SYM(r.r_info));
    relocation_apply(o->copies[i], target.sh_size, o->bases[i], &r, value);
  }
}

void modules_relocate(struct image *img, struct linking *l) {
  for (size_t k = 0; k < l->n; k++) {
    const struct object *o = &l->objects[k];
    Elf64_Shdr s;
    for (size_t i = 1; section_header(&o->file, i, &s); i++)
      if (s.sh_type == SHT_RELA) section_relocate(img, o, &s);
  }
}

/* --- questions ---------------------------------------------------------------------------------------------------- */

size_t image_module_count(const struct image *img) { return img->kernel ? img->kernel->n_modules : 0; }

const char *image_module_name(const struct image *img, size_t module) {
  return module < image_module_count(img) ? img->kernel->modules[module].name : NULL;
}

const char *image_module_of(const struct image *img, uint64_t address) {
  size_t low = 0, high = image_module_count(img);
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (img->kernel->modules[mid].start <= address)
      low = mid + 1;
    else
      high = mid;
  }
  if (low == 0 || address >= img->kernel->modules[low - 1].end) return NULL;
  return img->kernel->modules[low - 1].name;
}

const void *image_module_btf(const struct image *img, size_t module, size_t *ret_size) {
  if (module >= image_module_count(img) || !img->kernel->modules[module].btf.at) return NULL;
  *ret_size = img->kernel->modules[module].btf.n;
  return img->kernel->modules[module].btf.at;
}
