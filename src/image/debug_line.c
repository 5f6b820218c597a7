/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look at the line tables before libdw reads them.
 *
 * libdw makes a string of folder and name for each file of a table. A table with one long folder and many short names
 * takes memory in the square of its size: 63 kB became 190 MB. So the longest folder is looked up here, and a table
 * that could need much more than honest ones do is not read.
 */
#include <dwarf.h>
#include <libelf.h>

#include "image/debug.h"

/* The fewest bytes that a file takes in a table. */
enum { FILE_MIN = 5 };

/* Reading from the front; what is not there is 0 or "", and sets bad. */
struct reader {
  const uint8_t *at, *end;
  bool bad, wide; /* WIDE: offsets have 64 bits */
};

static const uint8_t *take(struct reader *r, uint64_t n) {
  static const uint8_t zeros[8];
  if (r->bad || n > (uint64_t)(r->end - r->at)) {
    r->bad = true;
    return zeros;
  }
  r->at += n;
  return r->at - n;
}

static uint64_t take_offset(struct reader *r) { return r->wide ? read_u64(take(r, 8)) : read_u32(take(r, 4)); }

static uint64_t take_uleb(struct reader *r) {
  uint64_t value = 0;
  for (unsigned shift = 0; !r->bad; shift += 7) {
    uint8_t b = *take(r, 1);
    if (shift < 64) value |= (uint64_t)(b & 127) << shift;
    if (!(b & 128)) break;
  }
  return value;
}

/* The length of the string that starts here, which is passed over. */
static uint64_t take_string(struct reader *r) {
  const uint8_t *nul = r->bad ? NULL : memchr(r->at, 0, (size_t)(r->end - r->at));
  if (!nul) {
    r->bad = true;
    return 0;
  }
  uint64_t n = (uint64_t)(nul - r->at);
  r->at = nul + 1;
  return n;
}

/* --- sections as libdw has them, unpacked ------------------------------------------------------------------------- */

static bool is_named(const char *own, const char *name, bool split) {
  if (!own || own[0] != '.') return false;
  own += own[1] == 'z' ? 2 : 1;
  size_t n = strlen(name);
  return strncmp(own, name, n) == 0 && strcmp(own + n, split ? ".dwo" : "") == 0;
}

/* The section .NAME (.zNAME, .NAME.dwo), without what libdw passes over. */
static struct reader section_of(Dwarf *dwarf, const char *name, bool split) {
  Elf *elf = dwarf_getelf(dwarf);
  size_t names;
  if (elf_getshdrstrndx(elf, &names) != 0) return (struct reader){.bad = true};
  for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
    const Elf64_Shdr *h = elf64_getshdr(scn);
    if (!h || h->sh_type == SHT_NOBITS || h->sh_flags & (SHF_GROUP | SHF_COMPRESSED)) continue;
    if (!is_named(elf_strptr(elf, names, h->sh_name), name, split)) continue;
    const Elf_Data *data = elf_getdata(scn, NULL);
    if (!data || !data->d_buf || data->d_size == 0) continue;
    return (struct reader){.at = data->d_buf, .end = (const uint8_t *)data->d_buf + data->d_size};
  }
  return (struct reader){.bad = true};
}

/* --- the longest folder ------------------------------------------------------------------------------------------- */

static uint64_t longest_string(struct reader *r) {
  uint64_t longest = 0;
  while (!r->bad && r->at < r->end && *r->at) {
    uint64_t n = take_string(r);
    if (n > longest) longest = n;
  }
  return longest;
}

static uint64_t length_elsewhere(Dwarf *dwarf, const char *section, bool split, uint64_t offset) {
  struct reader s = section_of(dwarf, section, split);
  (void)take(&s, offset);
  return take_string(&s);
}

/* The length of a value of FORM if it is a string. A form that no compiler uses for folders makes R bad. */
static uint64_t take_form(struct reader *r, Dwarf *dwarf, bool split, uint64_t form) {
  switch (form) {
  case DW_FORM_string:
    return take_string(r);
  case DW_FORM_line_strp:
    return length_elsewhere(dwarf, "debug_line_str", false, take_offset(r));
  case DW_FORM_strp:
    return length_elsewhere(dwarf, "debug_str", split, take_offset(r));
  case DW_FORM_udata:
    (void)take_uleb(r);
    return 0;
  case DW_FORM_data1:
  case DW_FORM_data2:
    (void)take(r, form == DW_FORM_data1 ? 1 : 2);
    return 0;
  default:
    r->bad = true;
    return 0;
  }
}

/* DWARF 5: a description of the entries, then the entries. */
static uint64_t longest_entry(struct reader *r, Dwarf *dwarf, bool split) {
  uint64_t forms[8], longest = 0;
  unsigned n_forms = *take(r, 1);
  if (n_forms > COUNT(forms)) r->bad = true;
  for (unsigned i = 0; i < n_forms && !r->bad; i++) {
    (void)take_uleb(r);
    forms[i] = take_uleb(r);
  }
  for (uint64_t left = take_uleb(r); left > 0 && n_forms > 0 && !r->bad; left--)
    for (unsigned i = 0; i < n_forms && !r->bad; i++) {
      uint64_t n = take_form(r, dwarf, split, forms[i]);
      if (n > longest) longest = n;
    }
  return longest;
}

/* Goes to the folders of the table that starts here. Its version, or 0. */
static unsigned take_header(struct reader *r) {
  uint64_t length = read_u32(take(r, 4));
  r->wide = length == 0xffffffff;
  if (r->wide) length = read_u64(take(r, 8));
  if (r->bad || length > (uint64_t)(r->end - r->at)) return 0;
  r->end = r->at + length;
  unsigned version = read_u16(take(r, 2));
  if (version < 2 || version > 5) return 0;
  (void)take(r, version == 5 ? 2 : 0);
  (void)take_offset(r);
  (void)take(r, version >= 4 ? 5 : 4);
  unsigned opcodes = *take(r, 1);
  (void)take(r, opcodes ? opcodes - 1 : 0);
  return r->bad ? 0 : version;
}

bool debug_table_fits(struct image_debug *d, Dwarf_Die *die, const char *folder) {
  Dwarf *dwarf = dwarf_cu_getdwarf(die->cu);
  bool split = dwarf != d->dwarf;
  struct reader r = section_of(dwarf, "debug_line", split);
  Dwarf_Attribute a;
  Dwarf_Word offset = 0;
  /* A .dwo file's table is its first, and without one libdw takes that of the skeleton, which was looked at. */
  if (split && r.bad) return true;
  if (!split && (!dwarf_attr(die, DW_AT_stmt_list, &a) || dwarf_formudata(&a, &offset) != 0)) return false;
  (void)take(&r, offset);
  unsigned version = take_header(&r);
  if (version == 0) return false;
  uint64_t files = (uint64_t)(r.end - r.at) / FILE_MIN + 1, own = folder ? strlen(folder) : 0, need;
  uint64_t longest = version == 5 ? longest_entry(&r, dwarf, split) : longest_string(&r);
  if (own > longest) longest = own;
  if (r.bad || __builtin_mul_overflow(files, longest, &need) || need > d->names_budget) return false;
  d->names_budget -= need;
  return true;
}
