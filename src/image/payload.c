/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the kernel's ELF file inside of what boot loaders start: the boot protocol of x86 says where a bzImage has its
 * compressed payload (Documentation/arch/x86/boot.rst); a unified EFI image has a bzImage in its section .linux.
 *
 * Looks at bytes only, every offset is checked.
 */
#include <errno.h>
#include <stdlib.h>

#include "image/image_kernel.h"

/* Offsets in the header of a bzImage. */
enum {
  SETUP_SECTORS = 0x1f1,
  BOOT_FLAG = 0x1fe,
  SETUP_MAGIC = 0x202,
  PROTOCOL = 0x206,
  PAYLOAD_OFFSET = 0x248, /* from the first byte behind the setup sectors */
  PAYLOAD_LENGTH = 0x24c,
  SETUP_END = 0x250,
  SECTOR = 512,
  PROTOCOL_WITH_PAYLOAD = 0x208,
};

static struct bytes part(struct bytes b, uint64_t offset, uint64_t n) {
  if (offset > b.n || n > b.n - offset) return (struct bytes){NULL, 0};
  return (struct bytes){b.at + offset, n};
}

static bool starts_with(struct bytes b, uint64_t offset, const char *magic, size_t n) {
  struct bytes p = part(b, offset, n);
  return p.at && memcmp(p.at, magic, n) == 0;
}

static bool is_elf(struct bytes b) { return starts_with(b, 0, ELFMAG, SELFMAG); }
static bool is_bzimage(struct bytes b) { return b.n >= SETUP_END && starts_with(b, SETUP_MAGIC, "HdrS", 4); }

/* --- bzImage ------------------------------------------------------------------------------------------------------ */

/*
 * The last four bytes of a payload are the size of what is in it: gzip's own, and for the others the build adds them.
 */
static int unpack_payload(const char *path, struct bytes payload, struct bytes *ret, struct err *e) {
  char start[64];
  size_t expected = payload.n >= 4 ? read_u32(payload.at + payload.n - 4) : 0;
  if (packing_name(payload)) return packing_unpack(path, payload, expected, ret, e);
  show_start(payload.at, payload.n, start, sizeof start);
  return err_set(e, -EPROTONOSUPPORT,
                 "%s: a Linux kernel whose payload is compressed in an unknown way, or encrypted: it starts with %s "
                 "(give an unpacked vmlinux)",
                 path, start);
}

/* Where the boot protocol says it is; none if it does not. */
static struct bytes payload_by_header(struct bytes file) {
  if (read_u16(file.at + PROTOCOL) < PROTOCOL_WITH_PAYLOAD) return (struct bytes){NULL, 0};
  uint64_t sectors = file.at[SETUP_SECTORS] ? file.at[SETUP_SECTORS] : 4;
  uint64_t offset = (sectors + 1) * SECTOR + read_u32(file.at + PAYLOAD_OFFSET);
  uint32_t length = read_u32(file.at + PAYLOAD_LENGTH);
  return length ? part(file, offset, length) : (struct bytes){NULL, 0};
}

/* Tries whatever looks like the start of something compressed. -ENOENT if no ELF file comes out of any of it. */
static int payload_by_search(const char *path, struct bytes file, struct bytes *ret, struct err *e) {
  unsigned tries = 64;
  for (size_t at = 0; at < file.n && tries > 0; at++) {
    struct bytes rest = {file.at + at, file.n - at}, out;
    if (!packing_name(rest)) continue;
    tries--;
    int r = packing_unpack(path, rest, 0, &out, e);
    if (r == -ENOMEM) return r;
    if (r < 0) continue;
    if (is_elf(out)) {
      *ret = out;
      return 0;
    }
    free((void *)out.at);
  }
  return -ENOENT;
}

/* A payload that is not compressed at all. */
static int copy_payload(const char *path, struct bytes payload, struct bytes *ret, struct err *e) {
  uint8_t *copy = malloc(payload.n);
  if (!copy) return err_set(e, -ENOMEM, "%s: out of memory", path);
  *ret = (struct bytes){memcpy(copy, payload.at, payload.n), payload.n};
  return 0;
}

/* *ret is malloc'ed. */
static int find_in_bzimage(const char *path, struct bytes file, struct bytes *ret, struct err *e) {
  struct bytes payload = payload_by_header(file);
  if (payload.at && is_elf(payload)) return copy_payload(path, payload, ret, e);
  if (payload.at) return unpack_payload(path, payload, ret, e);
  int r = payload_by_search(path, file, ret, e);
  if (r != -ENOENT) return r;
  unsigned protocol = read_u16(file.at + PROTOCOL);
  if (protocol < PROTOCOL_WITH_PAYLOAD)
    return err_set(e, -ENOEXEC,
                   "%s: a Linux kernel before 2.6.26, boot protocol %u.%02u, in which no payload could be found "
                   "(give an unpacked vmlinux)",
                   path, protocol >> 8, protocol & 0xff);
  return err_set(e, -ENOEXEC, "%s: truncated: a Linux kernel whose payload, %u bytes, is not in this file of %zu bytes",
                 path, read_u32(file.at + PAYLOAD_LENGTH), file.n);
}

/* --- EFI ---------------------------------------------------------------------------------------------------------- */

enum { PE_OFFSET = 0x3c, PE_SECTIONS = 6, PE_OPTIONAL_SIZE = 20, PE_HEADER = 24, PE_SECTION = 40 };

/* The section .linux of a unified kernel image; none if there is none. */
static struct bytes unified_section(struct bytes file) {
  struct bytes none = {NULL, 0}, at = part(file, PE_OFFSET, 4);
  if (!at.at || !starts_with(file, 0, "MZ", 2)) return none;
  uint64_t pe = read_u32(at.at);
  struct bytes header = part(file, pe, PE_HEADER);
  if (!header.at || memcmp(header.at, "PE\0\0", 4) != 0) return none;
  uint64_t first = pe + PE_HEADER + read_u16(header.at + PE_OPTIONAL_SIZE);
  for (unsigned i = 0; i < read_u16(header.at + PE_SECTIONS); i++) {
    struct bytes s = part(file, first + (uint64_t)i * PE_SECTION, PE_SECTION);
    if (!s.at) return none;
    uint32_t in_memory = read_u32(s.at + 8), in_file = read_u32(s.at + 16);
    if (memcmp(s.at, ".linux\0", 8) == 0)
      return part(file, read_u32(s.at + 20), in_memory && in_memory < in_file ? in_memory : in_file);
  }
  return none;
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

/* What else one may take for a kernel, or NULL. */
static const char *other_kernel(struct bytes b) {
  if (starts_with(b, 56, "ARM\x64", 4)) return "a Linux kernel for ARM aarch64, not x86-64";
  if (starts_with(b, 56, "RSC\x05", 4)) return "a Linux kernel for RISC-V, not x86-64";
  if (starts_with(b, 0x24, "\x18\x28\x6f\x01", 4)) return "a Linux kernel for ARM, not x86-64";
  if (starts_with(b, 4, "zimg", 4)) return "a compressed EFI kernel of another machine than x86-64";
  if (starts_with(b, 0, "\x27\x05\x19\x56", 4)) return "a U-Boot image, not a kernel for x86-64";
  if (starts_with(b, 257, "ustar", 5)) return "a tar archive, not a Linux kernel (unpack it first)";
  if (starts_with(b, 0, "07070", 5)) return "a cpio archive such as an initrd, not a Linux kernel (give vmlinuz)";
  if (starts_with(b, 0, "!<arch>\ndebian", 14))
    return "a Debian package, not a Linux kernel (unpack it with dpkg-deb -x and give boot/vmlinuz-…)";
  if (starts_with(b, 0, "!<arch>", 7)) return "an archive, not a Linux kernel";
  return NULL;
}

static int reject(const char *path, struct bytes b, const char *packed, struct err *e) {
  const char *what = other_kernel(b), *with = packed ? packed : "", *before = packed ? "compressed with " : "";
  const char *comma = packed ? ", " : "";
  char start[64];
  if (what) return err_set(e, -ENOEXEC, "%s: %s%s%s%s", path, before, with, comma, what);
  show_start(b.at, b.n, start, sizeof start);
  return err_set(e, -ENOEXEC, "%s: %s%s%snot a Linux kernel: starts with %s (give a vmlinuz or vmlinux)", path, before,
                 with, comma, start);
}

/* A file that is compressed as a whole, such as vmlinux.xz. *ret is malloc'ed. */
static int find_in_packed(const char *path, struct bytes file, struct bytes *ret, struct err *e) {
  struct bytes out;
  int r = packing_unpack(path, file, 0, &out, e);
  if (r < 0) return r;
  if (is_elf(out)) {
    *ret = out;
    return 0;
  }
  r = is_bzimage(out) ? find_in_bzimage(path, out, ret, e) : reject(path, out, packing_name(file), e);
  free((void *)out.at);
  return r;
}

int payload_find(const char *path, struct bytes file, struct bytes *ret, bool *ret_own, struct err *e) {
  *ret_own = !is_elf(file);
  if (is_elf(file)) {
    *ret = file;
    return 0;
  }
  if (is_bzimage(file)) return find_in_bzimage(path, file, ret, e);
  struct bytes inside = unified_section(file);
  if (inside.at && is_bzimage(inside)) return find_in_bzimage(path, inside, ret, e);
  if (inside.at) return reject(path, inside, NULL, e);
  if (packing_name(file)) return find_in_packed(path, file, ret, e);
  if (!other_kernel(file) && (starts_with(file, 0, "MZ", 2) || starts_with(file, BOOT_FLAG, "\x55\xaa", 2))) {
    int r = payload_by_search(path, file, ret, e);
    if (r != -ENOENT) return r;
  }
  return reject(path, file, NULL, e);
}
