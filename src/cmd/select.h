/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles put together from others. A result borrows from its sources: they must live as long as it does.
 */
#pragma once

#include "profile/profile.h"

/*
 * BELOW with the functions of OVER: those of a library and function that both have are OVER's, the others of OVER are
 * added. Libraries that BELOW does not have follow in OVER's order. 0 or -ENOMEM, *ret only on success.
 */
int select_overlay(const struct profile *below, const struct profile *over, struct profile *ret) MUST_USE;

/*
 * Only the functions with these NAMES, and only libraries that have one. -ENOENT and *ret_missing if a name is in no
 * library, -ENOMEM; *ret only on success.
 */
int select_functions(const struct profile *p, const char *const *names, size_t n, struct profile *ret,
                     const char **ret_missing) MUST_USE;

/* The function of any library whose name NAME may be a slip of, as name_nearest says, or NULL. */
const char *select_near(const struct profile *p, const char *name);
