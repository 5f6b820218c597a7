/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says what a file is that is not an ELF program or library for x86-64, so that the reader knows what to give instead.
 *
 * Looks at bytes only, in any length and with any content; never allocates.
 */
#include <ctype.h>
#include <errno.h>

#include "image/layout.h"

struct machine {
  uint16_t number;
  const char *name;
};

/* By number, not by the names of elf.h, which older C libraries lack for the younger machines. */
static const struct machine machines[] = {
    {2, "SPARC"},         {3, "Intel 80386"}, {4, "Motorola 68000"}, {8, "MIPS"},          {15, "PA-RISC"},
    {18, "SPARC v8+"},    {20, "PowerPC"},    {21, "PowerPC 64"},    {22, "IBM S/390"},    {40, "ARM"},
    {42, "SuperH"},       {43, "SPARC v9"},   {50, "Intel Itanium"}, {62, "x86-64"},       {83, "Atmel AVR"},
    {92, "OpenRISC"},     {94, "Xtensa"},     {164, "Hexagon"},      {183, "ARM aarch64"}, {189, "MicroBlaze"},
    {190, "NVIDIA CUDA"}, {195, "ARC"},       {224, "AMD GPU"},      {243, "RISC-V"},      {247, "BPF"},
    {252, "C-SKY"},       {258, "LoongArch"}, {0x9026, "Alpha"},
};

static const char *machine_name(uint16_t number) {
  for (size_t i = 0; i < COUNT(machines); i++)
    if (machines[i].number == number) return machines[i].name;
  return NULL;
}

/* --- files that are not ELF --------------------------------------------------------------------------------------- */

struct other_kind {
  const char *start;
  size_t n;
  const char *what;
};

static const struct other_kind other_kinds[] = {
    {"!<arch>\n", 8, "a static archive, not a program or shared library (link it into one first)"},
    {"!<thin>\n", 8, "a static archive, not a program or shared library (link it into one first)"},
    {"MZ", 2, "a Windows or EFI file, not an ELF file"},
    {"\xcf\xfa\xed\xfe", 4, "a Mach-O file, not an ELF file"},
    {"\xca\xfe\xba\xbe", 4, "a Java class or Mach-O file, not an ELF file"},
    {"\0asm", 4, "a WebAssembly file, not an ELF file"},
    {"BC\xc0\xde", 4, "LLVM bitcode, not an ELF file (compile and link it first)"},
    {"\x1f\x8b", 2, "compressed with gzip, not an ELF file (unpack it first)"},
    {"\xfd"
     "7zXZ",
     5, "compressed with xz, not an ELF file (unpack it first)"},
    {"\x28\xb5\x2f\xfd", 4, "compressed with zstd, not an ELF file (unpack it first)"},
    {"BZh", 3, "compressed with bzip2, not an ELF file (unpack it first)"},
    {"PK\x03\x04", 4, "a zip archive, not an ELF file (unpack it first)"},
};

void show_start(const uint8_t *p, size_t n, char *out, size_t room) {
  size_t shown = n < 8 ? n : 8, plain = 0;
  while (plain < 16 && plain < n && p[plain] >= 0x20 && p[plain] < 0x7f)
    plain++;
  if (plain >= shown || (plain > 0 && p[plain] == '\n')) {
    (void)snprintf(out, room, "\"%.*s\"", (int)plain, (const char *)p);
    return;
  }
  size_t used = 0;
  for (size_t i = 0; i < shown && used + 4 < room; i++)
    used += (size_t)snprintf(out + used, room - used, "%s%02x", i ? " " : "bytes ", p[i]);
}

static int reject_script(const char *path, const uint8_t *p, size_t n, struct err *e) {
  size_t from = 2, to;
  while (from < n && (p[from] == ' ' || p[from] == '\t'))
    from++;
  for (to = from; to < n && to - from < 100 && isgraph(p[to]); to++)
    ;
  return err_set(e, -ENOEXEC, "%s: a script, not an ELF file (give what it is run by, \"%.*s\", or what it runs)", path,
                 (int)(to - from), (const char *)p + from);
}

/* --- linker scripts ----------------------------------------------------------------------------------------------- */

/* The next word or single sign of a linker script; comments are skipped. */
static struct bytes script_token(const uint8_t *p, size_t n, size_t *at) {
  size_t i = *at;
  for (;;) {
    while (i < n && (isspace(p[i]) || p[i] == ','))
      i++;
    if (n - i < 2 || p[i] != '/' || p[i + 1] != '*') break;
    for (i += 2; n - i >= 2 && !(p[i] == '*' && p[i + 1] == '/'); i++)
      ;
    i = n - i >= 2 ? i + 2 : n;
  }
  size_t start = i;
  while (i < n && isgraph(p[i]) && !strchr("(),;", p[i]))
    i++;
  if (i == start && i < n) i++;
  *at = i;
  return (struct bytes){p + start, i - start};
}

static bool token_is(struct bytes t, const char *s) { return t.n == strlen(s) && memcmp(t.at, s, t.n) == 0; }

/* Lists the files in GROUP(…) and INPUT(…); how many there are. */
static size_t script_files(const uint8_t *p, size_t n, char *out, size_t room) {
  size_t at = 0, found = 0, used = 0;
  int depth = 0;
  bool listing = false;
  struct bytes t = script_token(p, n, &at);
  if (!token_is(t, "GROUP") && !token_is(t, "INPUT") && !token_is(t, "OUTPUT_FORMAT") && !token_is(t, "SEARCH_DIR"))
    return 0;
  for (; t.n; t = script_token(p, n, &at)) {
    if (token_is(t, "GROUP") || token_is(t, "INPUT")) {
      listing = true;
    } else if (token_is(t, "(")) {
      depth++;
    } else if (token_is(t, ")")) {
      if (--depth <= 0) listing = false;
    } else if (listing && depth > 0 && !token_is(t, "AS_NEEDED") && t.n < room - used && room - used - t.n > 3) {
      used += (size_t)snprintf(out + used, room - used, "%s%.*s", found++ ? ", " : "", (int)t.n, (const char *)t.at);
    }
  }
  return found;
}

static bool is_text(const uint8_t *p, size_t n) {
  for (size_t i = 0; i < n && i < 512; i++)
    if (p[i] == 0 || p[i] >= 0x7f || (p[i] < 0x20 && !isspace(p[i]))) return false;
  return true;
}

static int reject_other(const char *path, const uint8_t *p, size_t n, struct err *e) {
  char text[320];
  if (n >= 2 && p[0] == '#' && p[1] == '!') return reject_script(path, p, n, e);
  if (n > 0x206 && memcmp(p + 0x202, "HdrS", 4) == 0)
    return err_set(e, -ENOEXEC, "%s: a Linux kernel, not a program or shared library (give it with --kernel)", path);
  for (size_t i = 0; i < COUNT(other_kinds); i++)
    if (n >= other_kinds[i].n && memcmp(p, other_kinds[i].start, other_kinds[i].n) == 0)
      return err_set(e, -ENOEXEC, "%s: %s", path, other_kinds[i].what);
  if (is_text(p, n) && script_files(p, n < 65536 ? n : 65536, text, sizeof text) > 0)
    return err_set(e, -ENOEXEC, "%s: a linker script, not a library (give one that it names: %s)", path, text);
  show_start(p, n, text, sizeof text);
  return err_set(e, -ENOEXEC, "%s: not an ELF file (starts with %s)", path, text);
}

/* --- ELF files of other kinds ------------------------------------------------------------------------------------- */

static int reject_machine(const char *path, const uint8_t *p, struct err *e) {
  bool narrow = p[EI_CLASS] == ELFCLASS32, big = p[EI_DATA] == ELFDATA2MSB;
  uint16_t number = big ? (uint16_t)(p[18] << 8 | p[19]) : read_u16(p + 18);
  const char *name = machine_name(number);
  char unknown[32];
  if (!name) {
    (void)snprintf(unknown, sizeof unknown, "machine number %u", number);
    name = unknown;
  }
  if (number == EM_X86_64 && !big)
    return err_set(e, -ENOEXEC, "%s: 32-bit: for the x32 ABI of x86-64, not for plain x86-64", path);
  return err_set(e, -ENOEXEC, "%s: %sfor %s, not x86-64%s", path, narrow ? "32-bit: " : "", name,
                 big ? " (big-endian)" : "");
}

/* A module has its description in .modinfo; the name is enough to look for here. */
static bool is_kernel_module(const char *path, const uint8_t *p, size_t n) {
  const char *end = strrchr(path, '.');
  struct image raw = {.file = p, .size = n};
  sections_load(&raw);
  return (end && strcmp(end, ".ko") == 0) || section_find(&raw, SHT_PROGBITS, ".modinfo") >= 0;
}

static int reject_type(const char *path, const uint8_t *p, size_t n, struct err *e) {
  uint16_t type = read_u16(p + 16);
  if (type == ET_REL && is_kernel_module(path, p, n))
    return err_set(e, -ENOEXEC, "%s: a kernel module, not a program or shared library", path);
  if (type == ET_REL)
    return err_set(e, -ENOEXEC, "%s: an object file, not a program or shared library (link it first)", path);
  if (type == ET_CORE)
    return err_set(e, -ENOEXEC, "%s: a core file, not a program or shared library (give the program that left it)",
                   path);
  return err_set(e, -ENOEXEC, "%s: neither a program nor a shared library (its ELF type is %u)", path, type);
}

static bool is_elf(const uint8_t *p, size_t n) { return n >= SELFMAG && memcmp(p, ELFMAG, SELFMAG) == 0; }

bool header_fits(const uint8_t *p, size_t n) {
  if (n < sizeof(Elf64_Ehdr) || !is_elf(p, n)) return false;
  uint16_t type = read_u16(p + 16);
  return p[EI_CLASS] == ELFCLASS64 && p[EI_DATA] == ELFDATA2LSB && read_u16(p + 18) == EM_X86_64 &&
         (type == ET_DYN || type == ET_EXEC);
}

int header_check(const char *path, const uint8_t *p, size_t n, struct err *e) {
  if (n == 0) return err_set(e, -ENOEXEC, "%s: empty", path);
  if (!is_elf(p, n)) return reject_other(path, p, n, e);
  if (n < sizeof(Elf64_Ehdr))
    return err_set(e, -ENOEXEC, "%s: truncated: the ELF header ends at byte %zu of a file of %zu byte%s", path,
                   sizeof(Elf64_Ehdr), n, n == 1 ? "" : "s");
  if ((p[EI_CLASS] != ELFCLASS64 && p[EI_CLASS] != ELFCLASS32) ||
      (p[EI_DATA] != ELFDATA2LSB && p[EI_DATA] != ELFDATA2MSB))
    return err_set(e, -ENOEXEC, "%s: damaged: an ELF file of class %u and byte order %u", path, p[EI_CLASS],
                   p[EI_DATA]);
  if (p[EI_CLASS] == ELFCLASS32 || p[EI_DATA] == ELFDATA2MSB || read_u16(p + 18) != EM_X86_64)
    return reject_machine(path, p, e);
  return header_fits(p, n) ? 0 : reject_type(path, p, n, e);
}
