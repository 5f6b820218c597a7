/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this room share: the struct behind an image, and the steps that fill it at open.
 *
 * The steps run once, in the order of image_load, on a struct that starts as zeros; each leaves a struct that
 * image_free can take. After that nothing is written any more, but for the functions of an outline, under its lock.
 */
#pragma once

#include <elf.h>
#include <pthread.h>
#include <string.h>

#include "image/image.h"

/* Bytes of the file; at is NULL if there are none. */
struct bytes {
  const uint8_t *at;
  size_t n;
};

/* One PT_LOAD: [start, end) in memory, of which [start, file_end) is in the file. */
struct segment {
  uint64_t start, file_end, end;
  const uint8_t *at;
  uint32_t flags;
};

/* What the dynamic section says; 0 stands for a tag that is not there. */
struct dynamic {
  uint64_t strings, strings_size, symbols, hash, gnu_hash;
  uint64_t versym, verdef, verdef_count, verneed, verneed_count;
  uint64_t rela, rela_size, jmprel, jmprel_size, relr, relr_size;
  uint64_t pltgot, flags, flags_1, symbolic;
  uint64_t soname, rpath, runpath;
};

/*
 * A table of Elf64_Rela. Its first ASCENDING entries are in the order of their addresses, as linkers write the many
 * relative ones, and are searched where they are; the others, if they do anything, are searched through ORDER.
 */
struct rela_table {
  const uint8_t *at;
  uint32_t ascending, n_order;
  uint32_t *order;
};

/* One word of DT_RELR, made independent of the words before it: bit I stands for the place start + 8 * I. */
struct relr_group {
  uint64_t start, bits;
};

/* Where an export is found: its number, from 1, and a part of its name's hash, so that few others are looked at. */
struct export_place {
  uint32_t number, tag;
};

struct image {
  struct arena arena;
  const uint8_t *file;
  size_t size;
  bool mapped; /* FILE is a mapping, not from malloc */
  const char *path, *name, *build_id, *interpreter;
  uint16_t type;
  uint64_t entry;

  struct segment *segments; /* sorted by start */
  size_t n_segments;
  const struct segment *code; /* the one that is asked for most, if no other is in its range; or NULL */
  uint64_t relro_start, relro_end;
  uint64_t frame_header; /* address of .eh_frame_hdr, or 0 */

  const uint8_t *sections; /* Elf64_Shdr, NULL if there are none that can be used */
  size_t n_sections;
  struct bytes section_names;

  bool dynamic_found;
  struct dynamic dynamic;
  struct bytes strings;        /* DT_STRTAB; the last byte is NUL */
  struct bytes symbols;        /* DT_SYMTAB, as far as it may reach */
  uint64_t first_hashed, last; /* symbols that the loader can find: [first_hashed, last) */
  struct bytes gnu_hash;       /* DT_GNU_HASH, if that says which symbols these are */
  struct bytes versym;
  const char **versions; /* by version index */
  size_t n_versions;
  const char **needed;
  size_t n_needed;
  const char *rpath, *runpath;

  struct image_symbol *exports; /* sorted if LISTED, else in the order of the symbol table */
  size_t n_exports;
  struct export_place *export_places; /* by the hash of the name */
  size_t export_mask;                 /* one less than how many places there are */
  uint32_t *export_data;              /* numbers of the exports that are no code */
  size_t n_export_data;
  bool listed;
  bool indexed; /* EXPORTS and EXPORT_PLACES are filled; read and written as an atomic */
  struct rela_table rela, jmprel;
  struct relr_group *relr;
  size_t n_relr;
  uint64_t slots_low, slots_high; /* there are none before and behind; a low that is above is for none at all */
  struct image_function *functions;
  size_t n_functions;
  uint32_t *function_index; /* for each step of 2 ^ FUNCTION_SHIFT bytes: how many start below it */
  unsigned function_shift;
  bool complete; /* FUNCTIONS are there; read and written as an atomic */
  pthread_mutex_t lock;

  struct kernel *kernel; /* NULL if it is none */
};

/* Code that a frame entry describes; end is 0 if the entry could not be read. */
struct frame {
  uint64_t start, end;
};
typedef VEC(struct frame) frame_list;

/* --- reading, no alignment needed --------------------------------------------------------------------------------- */

static inline uint16_t read_u16(const uint8_t *p) {
  uint16_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

static inline uint32_t read_u32(const uint8_t *p) {
  uint32_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

static inline uint64_t read_u64(const uint8_t *p) {
  uint64_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

/* N bytes at file OFFSET, or none if they are not all there. */
static inline struct bytes file_bytes(const struct image *img, uint64_t offset, uint64_t n) {
  if (offset > img->size || n > img->size - offset) return (struct bytes){NULL, 0};
  return (struct bytes){img->file + offset, n};
}

/* The segment that ADDRESS is in, or NULL. */
const struct segment *segment_at(const struct image *img, uint64_t address);
/* All file bytes from ADDRESS to the end of its segment, but at most LIMIT. */
struct bytes bytes_at(const struct image *img, uint64_t address, uint64_t limit);

/* B without what follows its last NUL: then every offset inside is the start of a terminated string. */
struct bytes bytes_of_strings(struct bytes b);
/* The string at OFFSET of such bytes, or NULL. */
static inline const char *string_at(struct bytes strings, uint64_t offset) {
  return offset < strings.n ? (const char *)strings.at + offset : NULL;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

/* Maps a regular file that is not empty; munmap it. */
int image_map_file(const char *path, struct bytes *ret, struct err *e);
/* An image over BYTES, which it takes over, also if it fails; nothing is read yet. */
int image_new(const char *path, struct bytes file, bool mapped, struct image **ret, struct err *e);

/* --- steps of opening: 0 or a negative errno with a message ------------------------------------------------------- */

/* 0 if these are the first bytes of an ELF program or library for x86-64, else why not. BYTES may be the whole file. */
int header_check(const char *path, const uint8_t *bytes, size_t size, struct err *e);
/* The same test without words. */
bool header_fits(const uint8_t *bytes, size_t size);
/* The first bytes as a person can read them: "abc" or bytes 7f 45 00. */
void show_start(const uint8_t *bytes, size_t size, char *out, size_t room);

int segments_load(struct image *img, struct err *e);
/* After they were set: which of them is the code. */
void segments_choose_code(struct image *img);
void sections_load(struct image *img);
int dynamic_load(struct image *img, struct err *e);
int versions_load(struct image *img);
/* SORT: for image_exports. */
int exports_load(struct image *img, bool sort);
/* All of them, in any order. */
size_t exports_all(const struct image *img, const struct image_symbol **ret);
int slots_load(struct image *img, struct err *e);
int functions_load(struct image *img);
/* Counts the functions below each step of addresses, so that few are compared to find one: about one is in a step. */
int functions_number(struct image *img);
int build_id_load(struct image *img);
/* The same from the note sections alone, for files whose program headers describe another file. */
int build_id_load_sections(struct image *img);

/* --- questions between the files ---------------------------------------------------------------------------------- */

/* Header number I; false if there is none. */
bool section_header(const struct image *img, size_t i, Elf64_Shdr *ret);
/* The first section of this TYPE and, if NAME is not NULL, NAME; -1 if there is none. */
long section_find(const struct image *img, uint32_t type, const char *name);
/* Its bytes in the file; none if it has none. */
struct bytes section_bytes(const struct image *img, const Elf64_Shdr *s);

/* Program header number I of what segments_load has checked. */
size_t image_program_headers(const struct image *img, const uint8_t **ret);

bool symbol_read(const struct image *img, uint64_t index, Elf64_Sym *ret);
/* The version that symbol INDEX is defined with or wants, or NULL. */
const char *symbol_version(const struct image *img, uint64_t index, bool *ret_hidden);

/* Appends what .eh_frame_hdr or .eh_frame describes. 0 or -ENOMEM. */
int frames_list(const struct image *img, frame_list *frames);

/* What the loader's cache has for NAME, for this processor: malloc'ed in *ret. 0, -ENOENT or -ENOMEM. */
int cache_find(const char *name, char **ret);
/* The sub-folders of glibc-hwcaps that this processor can use, best first; ends with NULL. */
const char *const *hwcaps_usable(void);
