/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacks what kernels and modules are compressed with, in memory.
 *
 * The input is not trusted: what comes out is bounded by a multiple of what goes in, and so is the memory that a
 * decoder may take for itself.
 */
#include <errno.h>
#include <stdlib.h>

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "config.h"
#include "image/image_kernel.h"

#if HAVE_LZ4
#include <lz4.h>
#endif
#if HAVE_BZIP2
#include <bzlib.h>
#endif

#define MIB ((size_t)1 << 20)

enum {
  MOST_OUTPUT = 1 << 30,
  /* Kernels shrink to an eighth or so. Small inputs may be mostly zeros. */
  RATIO = 200,
  LZ4_BLOCK = 8 << 20, /* what one block of the legacy format holds at most */
};

/* Where the output goes. */
struct sink {
  uint8_t *at;
  size_t n, cap, limit;
};

/* Room for at least one byte and at best WANT. -EFBIG if the limit is reached. */
static int sink_room(struct sink *s, size_t want) {
  if (s->n >= s->limit) return -EFBIG;
  if (s->cap - s->n >= want) return 0;
  size_t cap = s->cap + s->cap / 2 > s->n + want ? s->cap + s->cap / 2 : s->n + want;
  if (cap > s->limit) cap = s->limit;
  if (cap <= s->cap) return 0;
  uint8_t *grown = realloc(s->at, cap);
  if (!grown) return -ENOMEM;
  s->at = grown;
  s->cap = cap;
  return 0;
}

/*
 * --- the ways -------------------------------------------------------------------------------------------------------
 *
 * 0, -ENODATA if the input ends too early, -EBADMSG if it is damaged, -EFBIG if too much comes out, -EOVERFLOW if it
 * takes too much memory on the way, -ENOMEM.
 */

static int unpack_gzip(struct bytes b, struct sink *out) {
  z_stream z = {.next_in = (Bytef *)b.at, .avail_in = b.n < UINT32_MAX ? (uInt)b.n : UINT32_MAX};
  int code = inflateInit2(&z, 16 + MAX_WBITS), r = code == Z_OK ? 0 : -ENOMEM;
  while (r >= 0 && code == Z_OK) {
    r = sink_room(out, MIB);
    if (r < 0) break;
    size_t room = out->cap - out->n;
    z.next_out = out->at + out->n;
    z.avail_out = room < UINT32_MAX ? (uInt)room : UINT32_MAX;
    code = inflate(&z, Z_NO_FLUSH);
    out->n = (size_t)(z.next_out - out->at);
  }
  (void)inflateEnd(&z);
  if (r < 0 || code == Z_STREAM_END) return r;
  return code == Z_BUF_ERROR ? -ENODATA : code == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

static int lzma_result(lzma_ret code) {
  switch (code) {
  case LZMA_STREAM_END:
    return 0;
  case LZMA_BUF_ERROR:
    return -ENODATA;
  case LZMA_MEM_ERROR:
    return -ENOMEM;
  case LZMA_MEMLIMIT_ERROR:
    return -EOVERFLOW;
  default:
    return -EBADMSG;
  }
}

static int unpack_lzma_stream(lzma_stream *z, struct bytes b, struct sink *out) {
  lzma_ret code = LZMA_OK;
  int r = 0;
  z->next_in = b.at;
  z->avail_in = b.n;
  while (code == LZMA_OK) {
    r = sink_room(out, MIB);
    if (r < 0) break;
    z->next_out = out->at + out->n;
    z->avail_out = out->cap - out->n;
    code = lzma_code(z, LZMA_FINISH);
    out->n = (size_t)(z->next_out - out->at);
  }
  lzma_end(z);
  return r < 0 ? r : lzma_result(code);
}

/* The kernel's own builds use dictionaries of up to 128 MiB. */
#define LZMA_MEMORY (256 * MIB)

static int unpack_xz(struct bytes b, struct sink *out) {
  lzma_stream z = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&z, LZMA_MEMORY, 0) != LZMA_OK) return -ENOMEM;
  return unpack_lzma_stream(&z, b, out);
}

static int unpack_lzma(struct bytes b, struct sink *out) {
  lzma_stream z = LZMA_STREAM_INIT;
  if (lzma_alone_decoder(&z, LZMA_MEMORY) != LZMA_OK) return -ENOMEM;
  return unpack_lzma_stream(&z, b, out);
}

static int unpack_zstd(struct bytes b, struct sink *out) {
  ZSTD_DCtx *z = ZSTD_createDCtx();
  if (!z) return -ENOMEM;
  ZSTD_inBuffer in = {b.at, b.n, 0};
  size_t left = 1;
  int r = 0;
  while (r >= 0 && left != 0) {
    r = sink_room(out, MIB);
    if (r < 0) break;
    size_t before = in.pos;
    ZSTD_outBuffer o = {out->at, out->cap, out->n};
    left = ZSTD_decompressStream(z, &o, &in);
    if (ZSTD_isError(left))
      r = ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation ? -ENOMEM : -EBADMSG;
    else if (left != 0 && in.pos == before && o.pos == out->n)
      r = -ENODATA;
    out->n = o.pos;
  }
  (void)ZSTD_freeDCtx(z);
  return r;
}

#if HAVE_BZIP2
static int unpack_bzip2(struct bytes b, struct sink *out) {
  bz_stream z = {.next_in = (char *)b.at, .avail_in = b.n < UINT32_MAX ? (unsigned)b.n : UINT32_MAX};
  int code = BZ2_bzDecompressInit(&z, 0, 0), r = code == BZ_OK ? 0 : -ENOMEM;
  while (r >= 0 && code == BZ_OK) {
    r = sink_room(out, MIB);
    if (r < 0) break;
    size_t room = out->cap - out->n;
    unsigned before = z.avail_in, free_before = room < UINT32_MAX ? (unsigned)room : UINT32_MAX;
    z.next_out = (char *)out->at + out->n;
    z.avail_out = free_before;
    code = BZ2_bzDecompress(&z);
    out->n += free_before - z.avail_out;
    if (code == BZ_OK && z.avail_in == before && z.avail_out == free_before) r = -ENODATA;
  }
  (void)BZ2_bzDecompressEnd(&z);
  if (r < 0 || code == BZ_STREAM_END) return r;
  return code == BZ_MEM_ERROR ? -ENOMEM : -EBADMSG;
}
#else
#define unpack_bzip2 NULL
#endif

#if HAVE_LZ4
/*
 * The legacy format, which the kernel's build uses: a magic number, then blocks, each behind its size. Nothing says
 * where the last one is but the end of the input, and in a kernel four bytes follow it.
 */
static int unpack_lz4(struct bytes b, struct sink *out) {
  size_t at = 4;
  while (b.n - at > 4) {
    uint32_t size = read_u32(b.at + at);
    if (size == 0x184C2102) {
      at += 4;
      continue;
    }
    at += 4;
    if (size == 0 || size > LZ4_COMPRESSBOUND(LZ4_BLOCK)) return -EBADMSG;
    if (size > b.n - at) return -ENODATA;
    int r = sink_room(out, LZ4_BLOCK);
    if (r < 0) return r;
    size_t room = out->cap - out->n;
    int done = LZ4_decompress_safe((const char *)b.at + at, (char *)out->at + out->n, (int)size,
                                   room < LZ4_BLOCK ? (int)room : LZ4_BLOCK);
    if (done < 0) return room < LZ4_BLOCK ? -EFBIG : -EBADMSG;
    out->n += (size_t)done;
    at += size;
  }
  return out->n > 0 ? 0 : -ENODATA;
}
#else
#define unpack_lz4 NULL
#endif

/* --- which one ---------------------------------------------------------------------------------------------------- */

struct packing {
  const char *name, *magic;
  size_t n;
  int (*unpack)(struct bytes b, struct sink *out); /* NULL: not built in, or there is no library */
};

static const struct packing packings[] = {
    {"gzip", "\x1f\x8b\x08", 3, unpack_gzip},
    {"xz", "\xfd\x37zXZ\0", 6, unpack_xz},
    {"zstd", "\x28\xb5\x2f\xfd", 4, unpack_zstd},
    {"lz4", "\x02\x21\x4c\x18", 4, unpack_lz4},
    {"bzip2", "BZh", 3, unpack_bzip2},
    {"lzo", "\x89LZO\0\r\n\x1a\n", 9, NULL},
    /* The settings that all kernels use, and a dictionary of whole 64 KiB. */
    {"lzma", "\x5d\0\0", 3, unpack_lzma},
};

static const struct packing *packing_of(struct bytes b) {
  for (size_t i = 0; i < COUNT(packings); i++)
    if (b.n > packings[i].n && memcmp(b.at, packings[i].magic, packings[i].n) == 0) return &packings[i];
  return NULL;
}

const char *packing_name(struct bytes b) {
  const struct packing *p = packing_of(b);
  return p ? p->name : NULL;
}

static int say_failed(const char *path, const struct packing *p, int code, const struct sink *s, struct err *e) {
  switch (code) {
  case -ENODATA:
    return err_set(e, -ENOEXEC, "%s: truncated: what is compressed with %s in it ends too early", path, p->name);
  case -EFBIG:
    return err_set(e, code, "%s: damaged: what is compressed with %s in it is larger than %zu bytes", path, p->name,
                   s->limit);
  case -EOVERFLOW:
    return err_set(e, -ENOEXEC, "%s: damaged: what is compressed with %s in it would take more than %zu MiB to unpack",
                   path, p->name, LZMA_MEMORY / MIB);
  case -ENOMEM:
    return err_set(e, code, "%s: out of memory while unpacking %s", path, p->name);
  default:
    return err_set(e, -ENOEXEC, "%s: damaged: what is compressed with %s in it cannot be unpacked", path, p->name);
  }
}

int packing_unpack(const char *path, struct bytes b, size_t expected, struct bytes *ret, struct err *e) {
  const struct packing *p = packing_of(b);
  if (!p) return err_set(e, -EPROTONOSUPPORT, "%s: compressed in an unknown way", path);
  if (!p->unpack)
    return err_set(e, -EPROTONOSUPPORT,
                   "%s: compressed with %s, which this murphy cannot unpack (give an unpacked vmlinux)", path, p->name);
  struct sink s = {.limit = b.n < MOST_OUTPUT / RATIO ? 4 * MIB + b.n * RATIO : MOST_OUTPUT};
  if (s.limit > MOST_OUTPUT) s.limit = MOST_OUTPUT;
  /* One byte more, so that the decoder sees the end of its input without another round. */
  int r = expected > 0 && expected < s.limit ? sink_room(&s, expected + 1) : 0;
  if (r >= 0) r = p->unpack(b, &s);
  if (r >= 0 && s.n == 0) r = -EBADMSG;
  if (r < 0) {
    free(s.at);
    return say_failed(path, p, r, &s, e);
  }
  *ret = (struct bytes){s.at, s.n};
  return 0;
}
