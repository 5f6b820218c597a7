/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of murphy replay and verify share. */
#pragma once

#include "cmd/test.h"

/* As test_setup_space, in the folder in which the command ran; -ECANCELED if it cannot be run any more. */
int replay_space(struct test_setup *s, const struct test_subject *subject, struct err *e) MUST_USE;

/*
 * Starts gdb with the command, outside of the sandbox, with the fault of ORDER armed; it stops at the call that is to
 * fail. MORE are arguments of gdb's, carried out there. Returns gdb's exit status.
 */
int replay_gdb(struct test_setup *s, const struct lab_order *order, const char *const *more, size_t n_more,
               struct err *e) MUST_USE;
