/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the fault space, between its files. */
#pragma once

#include "cmd/test.h"

typedef VEC(const char *) name_list;

/* Are the calls of module MODULE tested? */
bool test_space_has(const struct test_space *s, const struct test_scope *scope, size_t module);
/* An empty list has all names. */
bool test_is_listed(const cmd_names *list, const char *name);
/* A name that nothing has would be a campaign that finds nothing. */
int test_check_scope(const struct test_space *s, const struct test_scope *scope, struct err *e) MUST_USE;

const struct wire_plan *test_plan(const struct test_space *s);
const void *test_plan_array(const struct test_space *s, struct wire_span span);
