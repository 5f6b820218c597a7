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

/* --- libraries of languages (test_languages.c) -------------------------------------------------------------------- */

int test_languages_load(struct test_space *s, struct err *e) MUST_USE;
/* Is the library of a language inside of this module, which destroys what it has made without a word? */
bool test_has_language(const struct test_space *s, const char *path);
/* Is there anything to try of a function that such a library calls? */
bool test_language_calls(const struct test_space *s, const char *function);
/* Is the first caller that is in no such library one that is tested? */
bool test_is_for_program(const struct test_space *s, const struct run_area *area, const struct wire_point *p);
/* Nobody expects the program to notice that this failed: output to the terminal, or what happens at the end. */
bool test_language_excuses(const struct test_space *s, const struct site_call *c);

/* The loader names what was opened as the program did: by a path from where it stood, perhaps. */
const char *test_path_of(const struct test_space *s, const char *loaded);

const struct wire_plan *test_plan(const struct test_space *s);
const void *test_plan_array(const struct test_space *s, struct wire_span span);
