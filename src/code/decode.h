/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: the decoder with its state kept by the caller. */
#pragma once

#include "code/code.h"

#include <Zydis/Zydis.h>

/* 0 or -EINVAL. */
int decoder_init(ZydisDecoder *decoder);
/* One instruction from BYTES, of which LEFT can be read. 0 or -EILSEQ. */
int decode(const ZydisDecoder *decoder, const void *bytes, size_t left, uint64_t address, struct insn *in);
/* The same by Zydis alone. */
int decode_any(const ZydisDecoder *decoder, const void *bytes, size_t left, uint64_t address, struct insn *in);
