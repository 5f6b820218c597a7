/* SPDX-License-Identifier: Apache-2.0 */
/* What the forms of a report share. */
#pragma once

#include "report/report.h"

/* "crash (SIGSEGV) when malloc returns 0 with ENOMEM" */
void report_title(const struct report_finding *f, struct text *to);
/* A failure that is no finding, and why; without the end of the line. */
void report_doubt(const struct store_doubt *d, struct text *to);
/* Was there no time to repeat some of them? */
bool report_is_unsure(const struct report *r);
/* How experiments were made, and why not all in the fastest way. */
void report_modes(const struct report *r, struct text *to);
/* Of what report.reasons has: the reason, if it is why experiments were made in MODE; or NULL. */
const char *report_reason(const struct report_count *c, const char *mode);
/* Where the call that failed stands: the innermost frame, all NULL if there is none. */
const struct store_frame *report_site(const struct report_finding *f);
/* "main", "./lib/parse.c:17" or "prog+0x1234": the function as people know it, else the module; and the place. */
void report_function(const struct store_frame *f, struct text *to);
void report_place(const struct store_frame *f, struct text *to);
/* The frames that tell something: not those between the program's start and main. */
size_t report_depth(const struct report_stack *s);
/* What the second stack is. */
const char *report_ending(const struct report_finding *f);
/* Does its difference say which limit ended a command that would have gone on? */
bool report_is_limited(const struct report_finding *f);
/* Is its difference what a sanitizer says? */
bool report_is_sanitizer(const struct report_finding *f);
