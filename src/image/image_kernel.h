/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files about kernels share: what an image has more if it is one, and the steps that fill it.
 */
#pragma once

#include "image/layout.h"

/* Addresses of the kernel's half; what is linked below are offsets into the area of a processor. */
#define KERNEL_HALF 0xffff800000000000ULL

struct kernel_module {
  const char *name;
  const char *release; /* of the kernel that it was made for; NULL if it does not say */
  uint64_t start, end;
  struct bytes btf;
};

/* A table of a module, as __ex_table. */
struct kernel_table {
  const char *name;
  uint64_t start, size;
  struct kernel_table *next;
};

struct kernel {
  const char *banner, *release;
  struct image_symbol *symbols; /* by address */
  size_t n_symbols;
  uint32_t *names; /* hash table: 1 + index of a symbol, or 0; a power of two long */
  size_t n_names;
  struct bytes btf;
  struct kernel_module *modules;
  size_t n_modules;
  struct kernel_table *tables;
};

/* Symbols as they are found, names in the image's arena or file; kinds, other than SYMBOL_OTHER, are set later. */
typedef VEC(struct image_symbol) symbol_list;
typedef VEC(struct segment) segment_list;

/* --- compression -------------------------------------------------------------------------------------------------- */

/* A way to compress of which these can be the first bytes, or NULL. */
const char *packing_name(struct bytes b);
/*
 * Unpacks what B starts with; what follows it is ignored. EXPECTED is how large it will be, or 0 if that is not known.
 * *ret is malloc'ed. -EPROTONOSUPPORT if that way is not built in.
 */
int packing_unpack(const char *path, struct bytes b, size_t expected, struct bytes *ret, struct err *e) MUST_USE;

/* --- steps -------------------------------------------------------------------------------------------------------- */

/*
 * The ELF file inside a kernel image. *ret_own: *ret is malloc'ed; else it is FILE itself. What is found is not
 * checked to be a kernel.
 */
int payload_find(const char *path, struct bytes file, struct bytes *ret, bool *ret_own, struct err *e) MUST_USE;

/* Appends what the tables of kallsyms have. */
int kallsyms_list(struct image *img, symbol_list *list, struct err *e) MUST_USE;
/* Appends what .symtab of FILE has; a symbol of section I is moved by BASES[I] unless that is NULL. 0 or -ENOMEM. */
int symtab_list(struct image *img, const struct image *file, const uint64_t *bases, symbol_list *list) MUST_USE;

/* Sorts LIST into the kernel's symbols, and finds functions. Segments must be complete. 0 or -ENOMEM. */
int symbols_index(struct image *img, const symbol_list *list) MUST_USE;

/* Modules between the two steps of linking. */
struct linking;
/* Places the modules behind the kernel: appends their segments and symbols. */
int modules_place(struct image *img, const char *const *paths, size_t n, segment_list *segments, symbol_list *list,
                  struct linking **ret, struct err *e) MUST_USE;
/* With all symbols known, writes addresses into the modules. */
void modules_relocate(struct image *img, struct linking *l);
void linking_free(struct linking *l);
