/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files about DWARF share: which file has it (debug_file.c), the units and what they cover (debug_unit.c),
 * the functions of one (debug_scope.c), its line table (debug_line.c), what functions and files are called
 * (debug_name.c), which code has a name or a line (debug_find.c), where variables are (debug_variable.c, debug_type.c).
 *
 * All reading of DWARF is libdw's. It bounds what it reads, but not what it allocates: see struct image_debug's budget.
 * When it has no memory it calls a handler that must not return; ours jumps to where image.h's function was entered.
 * So what is allocated while libdw can be called must hang on the image_debug, or it would be lost.
 */
#pragma once

#include <elfutils/libdw.h>

#include "image/layout.h"

enum { DEBUG_DEPTH = 256, DEBUG_CHAIN = 64 };

/* [start, end) belongs to OF; in a sorted array, no span up to this one goes past REACH. */
struct debug_span {
  uint64_t start, end, reach;
  void *of;
};
typedef VEC(struct debug_span) debug_spans;

/* A function, or a call of one that was inlined. */
struct debug_scope {
  Dwarf_Die die;
  struct debug_scope *inner, *next;
  const struct debug_span *spans;
  uint32_t n_spans;
  unsigned call_file, call_line, call_column;
  bool named, no_result;
  const char *name;
};

/* A namespace or a type that functions are in. */
struct debug_space {
  const struct debug_space *outer;
  const char *name;
};

struct debug_unit {
  Dwarf_Die die;  /* has lines and addresses */
  Dwarf_Die body; /* has functions: the same, or that of a .dwo file */
  bool tried, lines_tried;
  bool plain;         /* in a language without namespaces */
  bool typed;         /* in a language whose functions have types: not assembly */
  bool types;         /* types were recorded (-g1 leaves them out), so what has none returns nothing */
  const char *folder; /* DW_AT_comp_dir, or NULL */
  Dwarf_Lines *lines;
  size_t n_lines;
  Dwarf_Files *files;
  size_t n_files;
  debug_spans functions;  /* of is a struct debug_scope */
  uint64_t discarded_end; /* functions that the linker left out stand at [0, this) */
  struct map spaces;      /* offset of a DIE → its struct debug_space */
};

struct image_debug {
  const struct image *img;
  struct image *file, *alt; /* separate files, or NULL */
  void *copy;               /* of the image, if libelf wants to write, or NULL */
  Elf *elf, *alt_elf;
  Dwarf *dwarf, *alt_dwarf;
  bool indexed, broken; /* BROKEN: memory ran out in libdw; nothing is asked any more */
  /*
   * Small files can refer to one range list or line program many times. What is kept of them is counted here, and ends
   * when it is more than honest files can have.
   */
  uint64_t budget;
  uint64_t whole;        /* what it was at first */
  uint64_t names_budget; /* bytes of file names */
  const char *lacks;     /* a .dwo file that is not there; or NULL */
  struct arena arena;
  VEC(struct debug_unit *) units;
  debug_spans spans; /* of is a struct debug_unit */
  debug_spans found; /* the ranges of one DIE, while they are read */
  struct map by_cu;  /* Dwarf_CU → struct debug_unit */
  struct map paths;  /* a file name of libdw → the joined path */
};

/* --- debug_file.c ------------------------------------------------------------------------------------------------- */

/* How many bytes the debug sections have when they are unpacked; 0 if there are none, or if they cannot be true. */
uint64_t debug_size(const struct image *file);
bool debug_is_packed(const struct image *file);
/* The separate file with the DWARF of IMG. 0, -ENODATA or -ENOMEM. */
int debug_file_find(const struct image *img, struct image **ret);
/* The file that .gnu_debugaltlink of FILE names. 0; -ENOENT if it names none; -ENODATA or -ENOMEM. */
int debug_alt_find(const struct image *file, struct image **ret);

/* --- debug.c ------------------------------------------------------------------------------------------------------ */

/* What WORK returns; -ENOMEM if libdw runs out of memory in it, and from then on. */
int debug_guard(struct image_debug *d, int (*work)(struct image_debug *d, void *context), void *context);

/* --- debug_unit.c ------------------------------------------------------------------------------------------------- */

void debug_spans_sort(debug_spans *spans);
/* The span with ADDRESS that is at or before index *I, which starts as spans->n; NULL if there is no more. */
const struct debug_span *debug_spans_next(const debug_spans *spans, uint64_t address, size_t *i);
/* Puts the address ranges of a DIE into D->found. 0, -ENOMEM, or -EBADMSG when the budget is used up. */
int debug_ranges(struct image_debug *d, Dwarf_Die *die);
/* Lists all units and what they cover. */
int debug_index(struct image_debug *d);
/* Reads the functions of U, if that was not tried before. */
int debug_unit_load(struct image_debug *d, struct debug_unit *u);
/* Reads the lines of U, likewise. */
void debug_lines_load(struct image_debug *d, struct debug_unit *u);
void debug_unit_done(struct debug_unit *u);

/* --- debug_scope.c ------------------------------------------------------------------------------------------------ */

/* Finds the functions of U, and what is inlined into them. */
int debug_scopes_load(struct image_debug *d, struct debug_unit *u);

/* --- debug_line.c ------------------------------------------------------------------------------------------------- */

/* Whether libdw can read the line table of a unit's DIE with the memory there is for its names, which is taken away. */
bool debug_table_fits(struct image_debug *d, Dwarf_Die *die, const char *folder);

/* --- debug_find.c ------------------------------------------------------------------------------------------------- */

/* Is WANTED all of NAME, or its end behind a separator? */
bool debug_is_tail(const char *name, const char *wanted, const char *separator);

/* --- debug_name.c ------------------------------------------------------------------------------------------------- */

/* The DIE that DIE says more about (DW_AT_abstract_origin, DW_AT_specification). */
bool debug_origin(Dwarf_Die *die, Dwarf_Die *ret);
const char *debug_string(Dwarf_Die *die, unsigned attribute);
unsigned debug_number(Dwarf_Die *die, unsigned attribute);
/* Sets NO_RESULT, too. */
const char *debug_scope_name(struct image_debug *d, struct debug_scope *s);
/* Fills file and relative of a frame; NAME is libdw's and may be NULL. */
void debug_path(struct image_debug *d, const struct debug_unit *u, const char *name, struct image_frame *frame);
