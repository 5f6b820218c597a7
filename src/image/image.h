/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read-only views of ELF files and Linux kernels for x86-64: segments, symbols, relocated slots, function starts,
 * build-id, needs, and the source lines of instructions.
 *
 * The file is mapped and never trusted: every offset is checked before use, counts are bounded by the file's size, and
 * a field that lies is either an error (the image cannot be used) or ignored (a table that is not there). An image does
 * not change after image_open and may be read from any thread. Strings and arrays live as long as the image.
 *
 * Sections are a help, not a need: what the dynamic loader needs (program headers, the dynamic section) is enough.
 */
#pragma once

#include "base/base.h"

#include <sys/types.h>

struct image;

enum image_symbol_kind { SYMBOL_FUNCTION, SYMBOL_IFUNC, SYMBOL_OBJECT, SYMBOL_TLS, SYMBOL_OTHER };

struct image_symbol {
  const char *name;
  const char *version; /* "GLIBC_2.2.5", or NULL */
  uint64_t address;    /* SYMBOL_TLS: the offset in the module's TLS block; SYMBOL_IFUNC: of the resolver */
  uint64_t size;
  enum image_symbol_kind kind;
  bool hidden_version; /* name@version, not name@@version: only old binaries bind to it */
  bool weak;
  bool local; /* only for its own source file; other files may have one of the same name */
};

/* What the dynamic loader writes to a place. */
enum image_slot_kind {
  SLOT_IMPORT,   /* address of NAME + addend (JUMP_SLOT, GLOB_DAT, 64) */
  SLOT_LOCAL,    /* the image's own address VALUE (RELATIVE, RELR, or a symbol that is local) */
  SLOT_IFUNC,    /* what the resolver at VALUE returns (IRELATIVE) */
  SLOT_TLS,      /* offset from the thread pointer of NAME, or, if NAME is NULL, of the own TLS block's byte VALUE */
  SLOT_TLS_PAIR, /* the first of the two words __tls_get_addr is called with; NAME or VALUE as above */
  SLOT_TLS_DESC, /* the first of the two words of a TLS descriptor; NAME or VALUE as above */
  SLOT_OTHER
};

struct image_slot {
  uint64_t at;
  enum image_slot_kind kind;
  const char *name;
  const char *version;
  uint64_t value; /* address, TLS offset or addend */
};

/* SLOT_OTHER are, among others, copied variables (NAME says which) and the second word of a SLOT_TLS_PAIR. */

/*
 * Where a function starts and what says so. What only a frame knows can also be the whole PLT (one frame for all its
 * stubs) or the part of a function that the compiler moved away because it runs rarely.
 */
struct image_function {
  uint64_t address;
  uint64_t end;     /* first byte behind it, from the symbol's size or the frame's range; 0 if not known */
  const char *name; /* of several the exported, then the one with fewest underscores; NULL if only a frame says so */
  bool framed;      /* .eh_frame has an entry that starts here */
};

/*
 * 0, or a negative errno with a message that names the file. A directory, a non-ELF, another machine, a truncated file:
 * all say so.
 */
int image_open(const char *path, struct image **ret, struct err *e) MUST_USE;
/*
 * The same with less work, for images of which perhaps nothing is needed but their symbols: image_exports cannot be
 * asked, and functions (and graphs of them) only after image_complete.
 */
int image_open_outline(const char *path, struct image **ret, struct err *e) MUST_USE;
/* Finds the functions, unless that was done. From any thread. 0 or -ENOMEM. */
int image_complete(const struct image *img) MUST_USE;
/* image_open over bytes in memory, which are copied; NAME is for messages. */
int image_from_memory(const char *name, const void *bytes, size_t size, struct image **ret, struct err *e) MUST_USE;
void image_free(struct image *img);

const char *image_path(const struct image *img);
/* DT_SONAME, or the last part of the path. */
const char *image_name(const struct image *img);
/* Lower-case hex, or "" if there is none. */
const char *image_build_id(const struct image *img);
/* Does .comment say that this compiler has made a part of it? It names itself first: "rustc version 1.63.0". */
bool image_made_by(const struct image *img, const char *compiler);
/* PT_INTERP, or NULL. */
const char *image_interpreter(const struct image *img);
/* Whether a dynamic loader reads it: false for static programs, static PIEs too. */
bool image_is_dynamic(const struct image *img);
uint64_t image_entry(const struct image *img);

/* DT_NEEDED in order. */
size_t image_needed(const struct image *img, const char *const **ret);
/* DT_RPATH (only if there is no DT_RUNPATH) and DT_RUNPATH, unexpanded, or NULL. */
const char *image_rpath(const struct image *img);
const char *image_runpath(const struct image *img);

/* LEN bytes at virtual ADDRESS as the file holds them, or NULL if not all of them are in one segment's file part. */
const void *image_bytes(const struct image *img, uint64_t address, size_t len);
/* How many file-backed bytes follow ADDRESS in its segment. */
size_t image_bytes_left(const struct image *img, uint64_t address);
/* In the file part of an executable segment; in files linked without separate code that includes constants. */
bool image_is_code(const struct image *img, uint64_t address);
/* The same, in a segment that is linked for code only. */
bool image_is_only_code(const struct image *img, uint64_t address);
/* In a segment that is never writable, or that is made read-only after relocation. */
bool image_is_readonly(const struct image *img, uint64_t address);
/* In any loaded segment, zero-filled parts too. */
bool image_is_mapped(const struct image *img, uint64_t address);

/*
 * Defined dynamic symbols, sorted by name, then default version first, then version; without the symbols that only
 * stand for a version.
 */
size_t image_exports(const struct image *img, const struct image_symbol **ret);
/*
 * The export NAME; the given version if VERSION is not NULL and there is such a one, else the default. NULL if there is
 * none, or only old versions, which the loader does not bind either unless they are asked for.
 */
const struct image_symbol *image_export(const struct image *img, const char *name, const char *version);
/* The same for who asks many images for one name: HASH is image_name_hash(NAME). */
const struct image_symbol *image_export_hashed(const struct image *img, const char *name, uint32_t hash,
                                               const char *version);
uint32_t image_name_hash(const char *name);

/* The export of this KIND, which is not code, at ADDRESS, by its name the first; NULL if there is none. */
const struct image_symbol *image_export_data_at(const struct image *img, enum image_symbol_kind kind, uint64_t address);

/* What is written at exactly ADDRESS; false, and *ret untouched, if nothing is. */
bool image_slot(const struct image *img, uint64_t address, struct image_slot *ret);
/* The first slot at or behind ADDRESS: begin with 0 and go on with ret->at + 1 to see them all. */
bool image_slot_after(const struct image *img, uint64_t address, struct image_slot *ret);

/* Function starts, sorted, without duplicates: from .dynsym, .symtab and .eh_frame. */
size_t image_functions(const struct image *img, const struct image_function **ret);
/* The function that starts at ADDRESS, or NULL. */
const struct image_function *image_function_at(const struct image *img, uint64_t address);
/* The last function that starts at or before ADDRESS, or NULL. */
const struct image_function *image_function_before(const struct image *img, uint64_t address);

/*
 * The file part of the Nth segment that is not code of a program that is linked to a fixed address, whose words may be
 * addresses without any slot. False behind the last, and for other images.
 */
bool image_fixed_data(const struct image *img, size_t n, uint64_t *ret_start, uint64_t *ret_end);

/* Bytes of executable segments in the file. */
uint64_t image_code_size(const struct image *img);

/* --- unwinding ---------------------------------------------------------------------------------------------------- */

/* Where the canonical frame address is, which is what rsp will be after the function's return. */
enum image_cfa {
  IMAGE_CFA_END,    /* the outermost frame, or what a row cannot say */
  IMAGE_CFA_RSP,    /* rsp + offset */
  IMAGE_CFA_RBP,    /* rbp + offset */
  IMAGE_CFA_AT_RSP, /* what is stored at rsp + offset, plus `add` */
  IMAGE_CFA_AT_RBP, /* what is stored at rbp + offset, plus `add`; with `rbp` 0, the old rbp is where rbp points */
  IMAGE_CFA_PLT,    /* in a stub of 16 bytes: rsp + 8, from its byte `offset` on rsp + 16 */
  IMAGE_CFA_SIGNAL, /* return from a signal handler: rsp, rip and rbp are in the kernel's ucontext at rsp */
  IMAGE_CFA_NONE,   /* .eh_frame says nothing of this code: rbp may be a frame pointer, or not */
};

/* How to unwind from START up to the next row. The return address is 8 below the CFA. Written into plans as it is. */
struct image_row {
  uint32_t start;
  uint8_t cfa; /* of enum image_cfa */
  uint8_t add;
  int16_t rbp; /* where rbp was saved, from the CFA; 0: it was not, and is still in the register */
  int32_t offset;
};

/*
 * All that .eh_frame says, sorted by start, no two neighbours saying the same; gaps are NONE. None if there is no
 * .eh_frame, or if code lies above 4 GiB. *ret is malloc'ed, NULL if there are none. 0 or -ENOMEM.
 */
int image_unwind(const struct image *img, struct image_row **ret, size_t *ret_n) MUST_USE;

/* --- kernels ------------------------------------------------------------------------------------------------------ */

/*
 * A Linux kernel for x86-64: a vmlinuz (bzImage, or a unified EFI image that holds one), whose payload is unpacked, or
 * a vmlinux ELF file, which may be compressed. Symbols come from .symtab, or from the tables of /proc/kallsyms inside.
 *
 * MODULES are paths of .ko files, plain or compressed. They are linked to the kernel at addresses of their own behind
 * it, so that the whole is one address space. A symbol that nothing defines is 0.
 *
 * All questions above can be asked about a kernel. What is different:
 * - its segments are the sections, so code is code only. Variables of one processor (.data..percpu), which are offsets
 *   from a segment register, are not mapped;
 * - read-only is what the kernel makes read-only after its start, too;
 * - pointers in its data are plain values: there are no slots, and no exports, needs or entry;
 * - functions are the symbols in code. One ends where its symbol does: for kallsyms, where the next one starts.
 *
 * 0, or a negative errno with a message that says what was found and what to give instead.
 */
int image_open_kernel(const char *path, const char *const *modules, size_t n_modules, struct image **ret,
                      struct err *e) MUST_USE;
/* The same over bytes in memory, without modules; NAME is for messages. */
int image_kernel_from_memory(const char *name, const void *bytes, size_t size, struct image **ret,
                             struct err *e) MUST_USE;

/* For other images the answers below are false, NULL and 0. */
bool image_is_kernel(const struct image *img);
/* "Linux version 6.1.0-54-amd64 (…) …", without the newline, and the third word of it; "" if there is none. */
const char *image_kernel_banner(const struct image *img);
const char *image_kernel_release(const struct image *img);

/*
 * All symbols of a kernel and its modules, by address, those of one address with the best name first: global before
 * local, few underscores, short. SYMBOL_FUNCTION if in code, SYMBOL_OTHER if not an address. The size goes to the next
 * symbol or the end of the section where the file does not say it.
 */
size_t image_symbols(const struct image *img, const struct image_symbol **ret);
/* Do its symbols name data, too? Those of a kernel without CONFIG_KALLSYMS_ALL do not, but for a few marks. */
bool image_names_data(const struct image *img);
/* The first of the last ones that are at or before ADDRESS; NULL if there is none. */
const struct image_symbol *image_symbol_before(const struct image *img, uint64_t address);
/* A global one if there is one, then the one with the lowest address; the kernel's are below those of modules. */
const struct image_symbol *image_symbol_named(const struct image *img, const char *name);

/* Modules have the numbers of their paths. */
size_t image_module_count(const struct image *img);
/* "ext4" */
const char *image_module_name(const struct image *img, size_t module);
/* The name of the module that ADDRESS is in; NULL for the kernel proper. */
const char *image_module_of(const struct image *img, uint64_t address);

/* Type information (BTF) of the kernel proper as the file has it; NULL if there is none. */
const void *image_btf(const struct image *img, size_t *ret_size);
/* The same of a module: split BTF, whose type numbers go on where those of the kernel end. */
const void *image_module_btf(const struct image *img, size_t module, size_t *ret_size);

/* The Nth of the tables NAME (__ex_table, …) that the kernel and its modules keep. False behind the last. */
bool image_kernel_table(const struct image *img, const char *name, size_t n, uint64_t *ret_start, uint64_t *ret_size);

/* --- types of a kernel -------------------------------------------------------------------------------------------- */

/*
 * What BTF says, of the kernel and its modules together. A type is a number; 0 is void, and the answer to questions
 * that make no sense or that nothing is known about. Typedefs and qualifiers are looked through.
 */
struct types;

/* -ENODATA if the kernel carries none. The image must live as long. */
int types_new(const struct image *img, struct types **ret) MUST_USE;
void types_free(struct types *ts);

/* Types have the numbers below. */
size_t types_count(const struct types *ts);
/* The function type of the function NAME; 0 if there are several of that name with different types. */
uint32_t types_function(const struct types *ts, const char *name);
/* The type of the variable at OFFSET of each processor's own data. */
uint32_t types_percpu(const struct types *ts, uint64_t offset);

uint32_t types_return(const struct types *ts, uint32_t function);
uint32_t types_parameter(const struct types *ts, uint32_t function, unsigned n);
uint32_t types_pointee(const struct types *ts, uint32_t pointer);
bool types_is_function(const struct types *ts, uint32_t type);
/* "" if it has none. */
const char *types_name(const struct types *ts, uint32_t type);
uint32_t types_size(const struct types *ts, uint32_t type);
/* Equal types have equal keys: structures by name, functions by what they take and return. */
uint64_t types_key(const struct types *ts, uint32_t type);

struct type_member {
  uint32_t owner;  /* the structure or union that has it */
  uint32_t offset; /* in the owner */
  uint32_t type;
};

size_t types_member_count(const struct types *ts, uint32_t type);
void types_member_at(const struct types *ts, uint32_t type, size_t n, struct type_member *ret);
/* The innermost member that starts at OFFSET, through structures and arrays inside. False if there is none. */
bool types_member(const struct types *ts, uint32_t type, uint32_t offset, struct type_member *ret);

/* --- searching ---------------------------------------------------------------------------------------------------- */

/*
 * Finds the library NAME as the dynamic loader would for FOR (may be NULL): a name with a slash is a path; else
 * DT_RPATH, LD_LIBRARY_PATH, DT_RUNPATH ($ORIGIN, $LIB and $PLATFORM expanded), the loader's cache, the default
 * folders, each with the glibc-hwcaps variants that this processor can use.
 * Files for other machines are passed over. *ret is malloc'ed. -ENOENT with a message if there is none.
 */
int image_find(const char *name, const struct image *for_image, char **ret, struct err *e) MUST_USE;

/* --- source lines ------------------------------------------------------------------------------------------------- */

struct image_debug;

/*
 * The DWARF of the image: in the file itself; in a separate file by build-id (ROOT/.build-id/ab/cdef.debug); or by
 * .gnu_debuglink (beside the file, in its .debug/, under each ROOT), its CRC checked. The roots are those of the
 * environment variable MURPHY_DEBUG_PATH, separated by colons, then /usr/lib/debug. A separate file with another
 * build-id is passed over. What dwz moved to a common file (.gnu_debugaltlink) is looked for in the same way; without
 * that file some names are not known.
 *
 * 0; -ENODATA if there is none anywhere; -EBADMSG if it is damaged; both with a message. Little is read before the
 * first question. IMG must live as long as the result.
 */
int image_debug_open(const struct image *img, struct image_debug **ret, struct err *e) MUST_USE;
void image_debug_free(struct image_debug *d);

struct image_frame {
  const char *function;  /* as in the source, qualified in C++: "space::type::name", without arguments; or NULL */
  const char *file;      /* as the compiler recorded it, behind the compilation's folder if it is relative; or NULL */
  const char *relative;  /* the end of FILE: as seen from the compilation's folder; all of FILE if it is not below it */
  unsigned line, column; /* 0 if not known */
  bool no_result;        /* the function is known to return nothing */
};

/*
 * The source places of the instruction at ADDRESS, an address as in the image: the innermost inlined function first,
 * the enclosing real function last; of the frames behind the first, the place of the call. Writes at most MAX and
 * returns how many; 0 if nothing is known. Strings live as long as D. One D is for one thread at a time.
 */
size_t image_debug_at(struct image_debug *d, uint64_t address, struct image_frame *frames, size_t max);

struct image_range {
  uint64_t start, end;
};
typedef VEC(struct image_range) image_ranges;

/*
 * The other direction: pushes on *ret the code of all functions called NAME, of those that were inlined too. In C++ the
 * end of a qualified name is enough. 0, also if there is none, or -ENOMEM.
 */
int image_debug_function(struct image_debug *d, const char *name, image_ranges *ret) MUST_USE;
/* ... of a LINE (0: all of them) of FILE, whose path's end is enough; calls on that line that were inlined too. */
int image_debug_line(struct image_debug *d, const char *file, unsigned line, image_ranges *ret) MUST_USE;
/* Pushes on *ret the names of all functions, qualified; some are there several times. They live as long as D. */
typedef VEC(const char *) image_names;
int image_debug_names(struct image_debug *d, image_names *ret) MUST_USE;
/* A file that some of the debug information was split off into (.dwo) and that was looked for in vain; NULL: none. */
const char *image_debug_lacks(const struct image_debug *d);

/* Where a variable of a function is while the function is at START up to END. Written into plans as it is. */
enum image_location_kind {
  IMAGE_AT_CFA,      /* at the frame's CFA + offset */
  IMAGE_AT_REGISTER, /* at what is in `reg` + offset */
  IMAGE_AT_STATIC,   /* at offset, an address as in the image */
  IMAGE_AT_THREAD,   /* at offset of the thread's own variables of the image */
  IMAGE_IS_CFA,      /* the CFA + offset itself is the value */
  IMAGE_IS_REGISTER, /* what is in `reg` + offset is */
  IMAGE_IS_STATIC,   /* offset, an address as in the image, is */
  IMAGE_IS_NUMBER,   /* offset itself is */
  IMAGE_IS_ENTRY,    /* what was in `reg` when the function was called + offset is */
};
struct image_location {
  enum image_location_kind kind;
  uint8_t reg;   /* the psABI's number, below 16 */
  uint8_t piece; /* the value is that of the variable from this byte on */
  uint8_t entry; /* of `entries`: the register that gets it */
  uint64_t start, end;
  int64_t offset;
};

#define IMAGE_STEPS 8

/* A variable, or a part of it. */
struct image_variable {
  bool local;       /* of a function: locations say where, and nothing where it cannot be known */
  uint64_t address; /* of another one, as in the image */
  bool of_thread;   /* ... address is the offset in the block that each thread has of the image's variables */
  VEC(struct image_location) locations;
  /* For IMAGE_IS_ENTRY: what calls of the function put into registers; start is in the call instruction. */
  VEC(struct image_location) entries;
  int64_t steps[IMAGE_STEPS]; /* bytes to go on; before each but the first, a pointer is followed */
  size_t n_steps;
  unsigned width; /* in bytes: 1, 2, 4 or 8 */
  bool sign;
  bool pointer;
  bool characters;    /* an array of them, or a pointer to them */
  unsigned bit, bits; /* of a bit-field: its lowest bit, and how many; else 0 */
  /* Of a global one: the file that it is of, and another one that has such a variable too; NULL. The debug's. */
  const char *file, *other;
};

/*
 * The variable NAME ("a", "space::a", "file.c::a", "a.b->c[3]"), a global one, or one of FUNCTION if that is not NULL,
 * in all places that the function was compiled or inlined to. With a NULL NAME, the function's argument number
 * PARAMETER, from 0.
 *
 * 0; -ESRCH if there is no such function, -ENOENT if there is no such variable or member, with near names; -EINVAL if
 * the name does not fit its type; -ENOTSUP if it is nothing that can be asked for; all with a message.
 */
int image_debug_variable(struct image_debug *d, const char *function, const char *name, unsigned parameter,
                         struct image_variable *ret, struct err *e) MUST_USE;
void image_variable_done(struct image_variable *v);

/* --- processes ---------------------------------------------------------------------------------------------------- */

/* A frame of a call stack. */
struct image_process_frame {
  uint64_t address;  /* where it goes on */
  uint64_t at;       /* the same as an address of the file PATH, if that is not "" */
  bool exact;        /* it is the instruction itself, not the one behind a call */
  bool moves;        /* of what was looked at several times: it was at other places of the function, too */
  uint64_t from, to; /* ... as AT has them, the first and the last of these places; only if it moves */
  char path[256];
};

/* The stack of thread TID of process PID, which the caller has stopped with ptrace: innermost first, at most MAX. */
int image_process_stack(pid_t pid, pid_t tid, struct image_process_frame *ret, size_t max, size_t *ret_n,
                        struct err *e) MUST_USE;
