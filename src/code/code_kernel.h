/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: what is special about a kernel's instructions. */
#pragma once

#include "code/code.h"

enum patch_kind {
  PATCH_RETURN,   /* a jump here is a return */
  PATCH_THUNK,    /* a call or jump here goes through REG */
  PATCH_NOTHING,  /* a call here does nothing */
  PATCH_WARNING,  /* the trap here is reported, and control goes on */
  PATCH_BRANCH,   /* a jump to TARGET may be here, or not */
  PATCH_FAULT,    /* a fault here goes on at TARGET */
  PATCH_FAULT_SET /* the same with REG set to IMM */
};

struct patch {
  uint8_t kind, reg;
  int32_t imm;
  uint64_t target;
};

/* What is known of ADDRESS, or NULL. */
const struct patch *kernel_patch_at(const struct code_kernel *k, uint64_t address);
/* Makes of an instruction what it is at run time. Returns the fault it may take, or NULL. */
const struct patch *kernel_patch_insn(const struct code_kernel *k, struct insn *in);
/*
 * The same of the jump that a conditional one out of the function makes: it stays OP_TAIL, or is what the thunk does.
 */
void kernel_patch_tail(const struct code_kernel *k, struct insn *in);
