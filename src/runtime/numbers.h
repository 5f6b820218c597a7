/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers by which a program knows its files, in a child of the trunk that sees copies of them. */
#pragma once

#include "runtime.h"

/* Once in the trunk. */
void rt_numbers_start(void) RT_HIDDEN;
/* A call that tells a file's numbers: a hook of the family WIRE_HOOK_LOOK. Makes it, if it matters. */
enum rt_action rt_numbers_look(struct rt_call *c, enum wire_hook hook) RT_HIDDEN;
/* The program learns numbers in a way that is not followed here. */
void rt_numbers_tell(void) RT_HIDDEN;
/* Files get other names, in a way that is not followed here. */
void rt_numbers_move(void) RT_HIDDEN;
/* (path, path), or AT: (fd, path, fd, path). Makes the call, if it matters. */
enum rt_action rt_numbers_rename(struct rt_call *c, bool at) RT_HIDDEN;
/*
 * In the trunk, before a world for a child is made: finds what the program knows. False if it knows numbers that
 * could not be shown in a copy of the world.
 */
bool rt_numbers_check(void) RT_HIDDEN;
/* In the child, in its world: from now on files have the numbers that the trunk's had. False if that cannot be. */
bool rt_numbers_child(const int files[3]) RT_HIDDEN;
