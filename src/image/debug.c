/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines of instructions: opening the DWARF of an image, and the one question.
 *
 * Whatever the files hold, an answer is right or is none; and libdw, when it has no memory, must not end the program.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>

#include "image/debug.h"

/* --- no memory in libdw ------------------------------------------------------------------------------------------- */

/* Where the current thread entered this room, while libdw may be called. */
static _Thread_local jmp_buf *entered;

static __attribute__((noreturn)) void out_of_memory(void) {
  MUST(entered);
  longjmp(*entered, 1);
}

int debug_guard(struct image_debug *d, int (*work)(struct image_debug *d, void *context), void *context) {
  jmp_buf here, *before = entered;
  if (d->broken) return -ENOMEM;
  if (setjmp(here) != 0) {
    entered = before;
    d->broken = true;
    return -ENOMEM;
  }
  entered = &here;
  int r = work(d, context);
  entered = before;
  return r;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

void image_debug_free(struct image_debug *d) {
  if (!d) return;
  for (size_t i = 0; i < d->units.n; i++)
    debug_unit_done(d->units.at[i]);
  vec_done(&d->units);
  vec_done(&d->spans);
  vec_done(&d->found);
  map_done(&d->by_cu);
  map_done(&d->paths);
  (void)dwarf_end(d->dwarf);
  (void)dwarf_end(d->alt_dwarf);
  (void)elf_end(d->elf);
  (void)elf_end(d->alt_elf);
  image_free(d->file);
  image_free(d->alt);
  free(d->copy);
  arena_done(&d->arena);
  free(d);
}

static int open_bytes(const uint8_t *bytes, size_t size, Elf **ret_elf, Dwarf **ret_dwarf) {
  (void)elf_version(EV_CURRENT);
  /* libelf writes only when it unpacks sections; its interface is older than const. */
  *ret_elf = elf_memory((char *)(uintptr_t)bytes, size);
  *ret_dwarf = *ret_elf ? dwarf_begin_elf(*ret_elf, DWARF_C_READ, NULL) : NULL;
  if (!*ret_dwarf) return -EBADMSG;
  (void)dwarf_new_oom_handler(*ret_dwarf, out_of_memory);
  return 0;
}

/*
 * An ELF file whose .debug_info is one byte. libdw looks by itself for a common file that it is not given, without
 * looking at the build-id, and would find the wrong one; with this one it finds no names.
 */
static const struct {
  Elf64_Ehdr header;
  Elf64_Shdr sections[3];
  char names[24];
} nothing = {
    .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
               .e_type = ET_DYN,
               .e_machine = EM_X86_64,
               .e_version = EV_CURRENT,
               .e_shoff = sizeof(Elf64_Ehdr),
               .e_ehsize = sizeof(Elf64_Ehdr),
               .e_shentsize = sizeof(Elf64_Shdr),
               .e_shnum = 3,
               .e_shstrndx = 2},
    .sections =
        {{0},
         {.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = sizeof(Elf64_Ehdr), .sh_size = 1, .sh_addralign = 1},
         {.sh_name = 13,
          .sh_type = SHT_STRTAB,
          .sh_offset = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr),
          .sh_size = 24,
          .sh_addralign = 1}},
    .names = "\0.debug_info\0.shstrtab",
};

/* Unpacking a section, libelf changes its header in place. The image's bytes are not ours to change. */
static int open_own(struct image_debug *d, const struct image *file) {
  const uint8_t *bytes = file->file;
  if (file == d->img && debug_is_packed(file)) {
    bytes = d->copy = malloc(file->size);
    if (!bytes) return -ENOMEM;
    memcpy(d->copy, file->file, file->size);
  }
  return open_bytes(bytes, file->size, &d->elf, &d->dwarf);
}

static int open_alt(struct image_debug *d, const struct image *file) {
  int r = debug_alt_find(file, &d->alt);
  if (r == -ENOENT) return 0;
  if (r == -ENOMEM) return r;
  const uint8_t *bytes = d->alt ? d->alt->file : (const uint8_t *)&nothing;
  r = open_bytes(bytes, d->alt ? d->alt->size : sizeof nothing, &d->alt_elf, &d->alt_dwarf);
  if (r < 0) return r;
  dwarf_setalt(d->dwarf, d->alt_dwarf);
  return 0;
}

static int open_parts(struct image_debug *d, struct err *e) {
  const struct image *file = d->img;
  const char *path = d->img->path;
  uint64_t size = debug_size(file);
  if (size == 0) {
    int r = debug_file_find(d->img, &d->file);
    if (r == -ENODATA)
      return err_set(e, r,
                     "%s: has no debug information, and no separate file has it (compile it with -g, install the "
                     "package with its debug symbols, or set MURPHY_DEBUG_PATH)",
                     path);
    if (r < 0) return err_set(e, r, "%s: out of memory", path);
    file = d->file;
    size = debug_size(file);
  }
  d->budget = d->whole = size;
  d->names_budget = size * 64 + (16 << 20);
  int r = open_own(d, file);
  if (r == 0) r = open_alt(d, file);
  if (r == -ENOMEM) return err_set(e, r, "%s: out of memory", path);
  if (r < 0) return err_set(e, r, "%s: its debug information is damaged", file->path);
  return 0;
}

int image_debug_open(const struct image *img, struct image_debug **ret, struct err *e) {
  struct image_debug *d = calloc(1, sizeof *d);
  if (!d) return err_set(e, -ENOMEM, "%s: out of memory", img->path);
  d->img = img;
  int r = open_parts(d, e);
  if (r < 0) {
    image_debug_free(d);
    return r;
  }
  *ret = d;
  return 0;
}

/* --- the question ------------------------------------------------------------------------------------------------- */

static uint64_t line_address(Dwarf_Lines *lines, size_t i) {
  Dwarf_Addr a;
  return dwarf_lineaddr(dwarf_onesrcline(lines, i), &a) == 0 ? a : UINT64_MAX;
}

/* The last row of the line table at or before ADDRESS, or NULL if it ends a sequence. */
static Dwarf_Line *line_at(const struct debug_unit *u, uint64_t address) {
  size_t low = 0, high = u->n_lines;
  bool end;
  /* libdw sorts the rows of all sequences together; here those of functions that were left out are among them. */
  if (address < u->discarded_end) return NULL;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (line_address(u->lines, mid) <= address)
      low = mid + 1;
    else
      high = mid;
  }
  if (low == 0) return NULL;
  Dwarf_Line *line = dwarf_onesrcline(u->lines, low - 1);
  return !line || dwarf_lineendsequence(line, &end) != 0 || end ? NULL : line;
}

static bool place_of_line(struct image_debug *d, const struct debug_unit *u, uint64_t address, struct image_frame *f) {
  Dwarf_Line *line = line_at(u, address);
  int n;
  if (!line) return false;
  debug_path(d, u, dwarf_linesrc(line, NULL, NULL), f);
  if (dwarf_lineno(line, &n) == 0 && n > 0) f->line = (unsigned)n;
  if (f->line && dwarf_linecol(line, &n) == 0 && n > 0) f->column = (unsigned)n;
  return true;
}

static void place_of_call(struct image_debug *d, const struct debug_unit *u, const struct debug_scope *call,
                          struct image_frame *f) {
  const char *name = call->call_file < u->n_files ? dwarf_filesrc(u->files, call->call_file, NULL, NULL) : NULL;
  debug_path(d, u, name, f);
  f->line = call->call_line;
  f->column = call->call_column;
}

static struct debug_scope *inner_at(const struct debug_scope *s, uint64_t address) {
  for (struct debug_scope *i = s->inner; i; i = i->next)
    for (uint32_t k = 0; k < i->n_spans; k++)
      if (i->spans[k].start <= address && address < i->spans[k].end) return i;
  return NULL;
}

static const char *symbol_at(const struct image *img, uint64_t address) {
  const struct image_function *f = image_function_before(img, address);
  return f && address < f->end ? f->name : NULL;
}

/* The frames of the code at ADDRESS as far as U knows them. */
static size_t unit_at(struct image_debug *d, struct debug_unit *u, uint64_t address, struct image_frame *frames,
                      size_t max) {
  struct debug_scope *chain[DEBUG_CHAIN];
  size_t n = 0, i = u->functions.n;
  const struct debug_span *span = debug_spans_next(&u->functions, address, &i);
  for (struct debug_scope *s = span ? span->of : NULL; s && n < DEBUG_CHAIN; s = inner_at(s, address))
    chain[n++] = s;
  frames[0] = (struct image_frame){0};
  if (!place_of_line(d, u, address, &frames[0]) && n == 0) return 0;
  if (n == 0) {
    frames[0].function = symbol_at(d->img, address);
    return 1;
  }
  for (size_t k = 0; k < n && k < max; k++) {
    if (k > 0) {
      frames[k] = (struct image_frame){0};
      place_of_call(d, u, chain[n - k], &frames[k]);
    }
    frames[k].function = debug_scope_name(d, chain[n - 1 - k]);
    frames[k].no_result = u->typed && u->types && chain[n - 1 - k]->no_result;
  }
  return n < max ? n : max;
}

static size_t debug_at(struct image_debug *d, uint64_t address, struct image_frame *frames, size_t max) {
  size_t n = 0, i;
  if (debug_index(d) == -ENOMEM) return 0;
  i = d->spans.n;
  for (const struct debug_span *s; n == 0 && (s = debug_spans_next(&d->spans, address, &i));) {
    if (debug_unit_load(d, s->of) == -ENOMEM) return 0;
    debug_lines_load(d, s->of);
    n = unit_at(d, s->of, address, frames, max);
  }
  return n;
}

struct place {
  uint64_t address;
  struct image_frame *frames;
  size_t max, n;
};

static int find_place(struct image_debug *d, void *context) {
  struct place *p = context;
  p->n = debug_at(d, p->address, p->frames, p->max);
  return 0;
}

size_t image_debug_at(struct image_debug *d, uint64_t address, struct image_frame *frames, size_t max) {
  struct place p = {.address = address, .frames = frames, .max = max};
  return max > 0 && debug_guard(d, find_place, &p) == 0 ? p.n : 0;
}
