/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of .eh_frame, for those who list functions and those who unwind. */
#pragma once

#include "image/layout.h"

/* How a pointer is stored (DW_EH_PE of the LSB): a format in the low half, what it is relative to in bits 4 to 6. */
enum {
  PE_ABSPTR = 0x00,
  PE_ULEB128 = 0x01,
  PE_UDATA2 = 0x02,
  PE_UDATA4 = 0x03,
  PE_UDATA8 = 0x04,
  PE_SIGNED = 0x08,
  PE_SLEB128 = 0x09,
  PE_SDATA2 = 0x0a,
  PE_SDATA4 = 0x0b,
  PE_SDATA8 = 0x0c,
  PE_FORMAT = 0x0f,
  PE_PCREL = 0x10,
  PE_DATAREL = 0x30,
  PE_ALIGNED = 0x50,
  PE_BASE = 0x70,
  PE_INDIRECT = 0x80,
  PE_OMIT = 0xff
};

/* A place in .eh_frame and what is left from there; FAILED sticks. */
struct cursor {
  const uint8_t *at;
  size_t left;
  uint64_t address;
  bool failed;
};

struct cursor cursor_at(const struct image *img, uint64_t address);
/* These two are asked several times for each function of a library. */
static inline const uint8_t *cursor_take(struct cursor *c, size_t n) {
  if (c->failed || c->left < n) {
    c->failed = true;
    return NULL;
  }
  const uint8_t *p = c->at;
  c->at += n;
  c->left -= n;
  c->address += n;
  return p;
}
static inline uint64_t cursor_number(struct cursor *c, size_t size) {
  uint64_t v = 0;
  const uint8_t *p = cursor_take(c, size);
  if (p) memcpy(&v, p, size);
  return v;
}
uint64_t cursor_leb128(struct cursor *c, bool is_signed);
/* The number as it is stored in this format, without its base. */
uint64_t cursor_raw(struct cursor *c, uint8_t format);
/* A pointer; DATA is what "relative to data" means here. Pointers through memory are for data only: not read. */
uint64_t cursor_pointer(struct cursor *c, uint8_t encoding, uint64_t data);

/* What the FDEs of one module have in common. */
struct cie {
  uint64_t address;
  bool known;
  bool understood;  /* its instructions were found: no letter that changes where they are */
  bool sized;       /* FDEs tell how long their augmentation is */
  bool signal;      /* the frame of a signal handler's return */
  uint8_t encoding; /* of addresses in the FDEs */
  uint64_t code_align;
  int64_t data_align;
  uint64_t return_register;
  struct cursor program;
};

/* How to unwind from code; only START is set if the entry could not be read. */
struct fde {
  uint64_t start, end;
  const struct cie *cie; /* NULL if it could not be read; only as long as the taker runs */
  struct cursor program;
};

/* Calls TAKER for each entry of .eh_frame_hdr or .eh_frame whose code is in the image, until it returns less than 0. */
typedef int (*frames_taker)(void *context, const struct fde *f);
int frames_each(const struct image *img, frames_taker taker, void *context);
