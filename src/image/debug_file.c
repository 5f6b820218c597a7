/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which file has the DWARF of an image: itself, or one that a packager split off (strip, objcopy, dwz).
 *
 * A separate file is only believed if it is proved to belong to the image: by the same build-id, or by the checksum of
 * .gnu_debuglink. What does not fit is passed over without a word, as the next place may have the right one.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/debug.h"

#define DEFAULT_ROOT "/usr/lib/debug"
#define ROOTS_VARIABLE "MURPHY_DEBUG_PATH"

/* --- sections ----------------------------------------------------------------------------------------------------- */

static struct bytes section_named(const struct image *file, const char *name) {
  Elf64_Shdr s;
  for (size_t i = 0; section_header(file, i, &s); i++) {
    const char *own = string_at(file->section_names, s.sh_name);
    if (own && strcmp(own, name) == 0) return section_bytes(file, &s);
  }
  return (struct bytes){NULL, 0};
}

/* The size of a section when it is unpacked: by its ELF compression header, or that of the older .zdebug_ sections. */
static uint64_t unpacked_size(const Elf64_Shdr *s, struct bytes b) {
  Elf64_Chdr h;
  uint64_t n;
  if (s->sh_flags & SHF_COMPRESSED) {
    if (b.n < sizeof h) return UINT64_MAX;
    memcpy(&h, b.at, sizeof h);
    return h.ch_size;
  }
  if (b.n < 12 || memcmp(b.at, "ZLIB", 4) != 0) return b.n;
  memcpy(&n, b.at + 4, sizeof n);
  return __builtin_bswap64(n);
}

bool debug_is_packed(const struct image *file) {
  Elf64_Shdr s;
  for (size_t i = 0; section_header(file, i, &s); i++) {
    const char *name = string_at(file->section_names, s.sh_name);
    if ((s.sh_flags & SHF_COMPRESSED) || (name && strncmp(name, ".zdebug_", 8) == 0)) return true;
  }
  return false;
}

uint64_t debug_size(const struct image *file) {
  /* Debug sections shrink to a third when packed; an empty page shrinks to a thousandth, and libelf believes that. */
  uint64_t limit = (uint64_t)file->size * 64 + (1 << 20), size = 0;
  bool any = false;
  Elf64_Shdr s;
  for (size_t i = 0; section_header(file, i, &s); i++) {
    const char *name = string_at(file->section_names, s.sh_name);
    if (!name || (strncmp(name, ".debug_", 7) != 0 && strncmp(name, ".zdebug_", 8) != 0)) continue;
    if (s.sh_type == SHT_NOBITS || s.sh_size == 0) continue;
    struct bytes b = section_bytes(file, &s);
    uint64_t n = b.at ? unpacked_size(&s, b) : UINT64_MAX;
    if (n > limit - size) return 0;
    size += n;
    any |= strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0;
  }
  return any ? size : 0;
}

/* --- one candidate ------------------------------------------------------------------------------------------------ */

/* What a separate file must prove. */
struct proof {
  const char *build_id; /* "" if there is none */
  bool by_id;           /* it must have this build-id; else it must only have no other */
  bool by_crc;
  uint32_t crc;
};

static void crc_tables_make(uint32_t t[8][256]) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t c = i;
    for (unsigned k = 0; k < 8; k++)
      c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
    t[0][i] = c;
  }
  for (uint32_t i = 0; i < 256; i++)
    for (unsigned k = 1; k < 8; k++)
      t[k][i] = t[k - 1][i] >> 8 ^ t[0][t[k - 1][i] & 255];
}

/* The CRC-32 of Ethernet over a whole file, which can be hundreds of megabytes: eight bytes a step. */
static uint32_t crc_of(const uint8_t *p, size_t n) {
  uint32_t t[8][256], c = ~0u;
  crc_tables_make(t);
  for (; n >= 8; p += 8, n -= 8) {
    uint32_t low = c ^ read_u32(p), high = read_u32(p + 4);
    c = t[7][low & 255] ^ t[6][low >> 8 & 255] ^ t[5][low >> 16 & 255] ^ t[4][low >> 24] ^ t[3][high & 255] ^
        t[2][high >> 8 & 255] ^ t[1][high >> 16 & 255] ^ t[0][high >> 24];
  }
  for (; n > 0; p++, n--)
    c = t[0][(c ^ *p) & 255] ^ c >> 8;
  return ~c;
}

static bool is_elf_for_us(const struct image *file) {
  static const uint8_t ident[] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
  return file->size >= sizeof(Elf64_Ehdr) && memcmp(file->file, ident, sizeof ident) == 0 &&
         read_u16(file->file + offsetof(Elf64_Ehdr, e_machine)) == EM_X86_64;
}

static bool is_proved(const struct image *file, const struct proof *p) {
  bool same = strcmp(file->build_id, p->build_id) == 0;
  if (p->by_id ? !same : !same && file->build_id[0] && p->build_id[0]) return false;
  return !p->by_crc || crc_of(file->file, file->size) == p->crc;
}

/* Maps a regular file, writable for libelf, but not shared with the file; false if it cannot be had. */
static bool map_file(const char *path, struct image *file) {
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return false;
  void *at = MAP_FAILED;
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
    at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  (void)close(fd);
  if (at == MAP_FAILED) return false;
  file->file = at;
  file->size = (size_t)st.st_size;
  file->mapped = true;
  return true;
}

/* Takes PATH over. 1 if it is the file, 0 if not, -ENOMEM. */
static int try_path(struct text *path, const struct proof *p, struct image **ret) {
  struct image *file = path->failed ? NULL : calloc(1, sizeof *file);
  int r = file ? 0 : -ENOMEM;
  if (file && map_file(path->at, file) && is_elf_for_us(file)) {
    sections_load(file);
    file->path = arena_strdup(&file->arena, path->at);
    r = file->path ? build_id_load_sections(file) : -ENOMEM;
    if (r == 0 && debug_size(file) > 0 && is_proved(file, p)) r = 1;
  }
  if (r == 1)
    *ret = file;
  else
    image_free(file);
  text_done(path);
  return r;
}

/* --- where to look ------------------------------------------------------------------------------------------------ */

/* The next root of debug files, of which *AT is what is left; false at the end. */
static bool root_next(const char **at, const char **ret, int *ret_n) {
  static const char last[] = DEFAULT_ROOT;
  while (*at) {
    const char *root = *at, *colon = strchr(root, ':');
    size_t n = colon ? (size_t)(colon - root) : strlen(root);
    *at = colon ? colon + 1 : root == last ? NULL : last;
    if (n == 0 || n >= PATH_MAX) continue;
    *ret = root;
    *ret_n = (int)n;
    return true;
  }
  return false;
}

static const char *roots(void) {
  const char *own = getenv(ROOTS_VARIABLE);
  return own ? own : "";
}

static int try_build_id(const struct proof *p, struct image **ret) {
  const char *at = roots(), *root;
  int n, r = 0;
  if (strlen(p->build_id) < 4) return 0;
  while (r == 0 && root_next(&at, &root, &n)) {
    struct text path = {0};
    text_addf(&path, "%.*s/.build-id/%.2s/%s.debug", n, root, p->build_id, p->build_id + 2);
    r = try_path(&path, p, ret);
  }
  return r;
}

/* The folder of IMG without links, with the slash behind it, in malloc'ed memory. */
static char *folder_of(const char *file) {
  char *path = realpath(file, NULL);
  if (path) strrchr(path, '/')[1] = 0;
  return path;
}

static int try_link_name(const char *folder, const char *name, const struct proof *p, struct image **ret) {
  const char *at = roots(), *root;
  struct text beside = {0}, below = {0};
  int n;
  text_addf(&beside, "%s%s", folder, name);
  int r = try_path(&beside, p, ret);
  if (r != 0) return r;
  text_addf(&below, "%s.debug/%s", folder, name);
  r = try_path(&below, p, ret);
  while (r == 0 && root_next(&at, &root, &n)) {
    struct text path = {0};
    text_addf(&path, "%.*s%s%s", n, root, folder, name);
    r = try_path(&path, p, ret);
  }
  return r;
}

/* .gnu_debuglink: a name, padded to four bytes, and a checksum. */
static int try_link(const struct image *img, struct proof p, struct image **ret) {
  struct bytes b = section_named(img, ".gnu_debuglink");
  const uint8_t *end = b.at ? memchr(b.at, 0, b.n) : NULL;
  size_t at = end ? ((size_t)(end - b.at) + 4) & ~(size_t)3 : 0;
  if (!end || end == b.at || b.n < 4 || at > b.n - 4 || memchr(b.at, '/', (size_t)(end - b.at))) return 0;
  char *folder = folder_of(img->path);
  if (!folder) return errno == ENOMEM ? -ENOMEM : 0;
  p.by_crc = true;
  p.by_id = false;
  p.crc = read_u32(b.at + at);
  int r = try_link_name(folder, (const char *)b.at, &p, ret);
  free(folder);
  return r;
}

int debug_file_find(const struct image *img, struct image **ret) {
  struct proof p = {.build_id = img->build_id, .by_id = true};
  int r = try_build_id(&p, ret);
  if (r == 0) r = try_link(img, p, ret);
  return r == 1 ? 0 : r < 0 ? r : -ENODATA;
}

/* --- what dwz moved away ------------------------------------------------------------------------------------------ */

/* The name may be relative to the folder of FILE, which is found through links, as the packages' are. */
static int try_alt_name(const struct image *file, const char *name, const struct proof *p, struct image **ret) {
  struct text path = {0};
  if (name[0] != '/') {
    char *folder = folder_of(file->path);
    if (!folder) return errno == ENOMEM ? -ENOMEM : 0;
    text_add(&path, folder);
    free(folder);
  }
  text_add(&path, name);
  return try_path(&path, p, ret);
}

/* .gnu_debugaltlink: a name and the bytes of a build-id. */
int debug_alt_find(const struct image *file, struct image **ret) {
  char id[2 * 64 + 1] = "";
  struct bytes b = section_named(file, ".gnu_debugaltlink");
  const uint8_t *end = b.at ? memchr(b.at, 0, b.n) : NULL;
  if (!end) return -ENOENT;
  size_t n = b.n - (size_t)(end + 1 - b.at);
  if (end == b.at || n == 0 || n > 64) return -ENODATA;
  for (size_t i = 0; i < n; i++)
    (void)snprintf(id + 2 * i, 3, "%02x", end[1 + i]);
  struct proof p = {.build_id = id, .by_id = true};
  int r = try_build_id(&p, ret);
  if (r == 0) r = try_alt_name(file, (const char *)b.at, &p, ret);
  return r == 1 ? 0 : r < 0 ? r : -ENODATA;
}
