/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of struct program_world share: the answers to what a scenario asks about it. */
#pragma once

#include "program/program.h"

/* For scenario_world.find_variable; CONTEXT is a struct program_world (world_variables.c). */
int program_world_variable(void *context, const char *function, const char *name, unsigned parameter,
                           struct scenario_variable *ret, struct err *e) MUST_USE;

/* For scenario_world.within (world_within.c). */
int program_world_within(void *context, const struct scenario_frame *frames, size_t n, size_t inner_at, size_t outer_at,
                         struct scenario_places *ret) MUST_USE;

/* For scenario_world.calls, only_jumps and call_sites (world_sites.c). */
bool program_world_calls(void *context, const struct wire_place *p, const char *function);
bool program_world_only_jumps(void *context, const struct wire_place *p, const char *function);
int program_world_sites(void *context, const char *function, struct scenario_sites *ret, struct err *e) MUST_USE;
