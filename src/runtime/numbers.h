/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers by which a program knows its files, in a child of the trunk that sees copies of them. */
#pragma once

#include "runtime.h"
#include "server.h"

/* Once in the trunk. */
void rt_numbers_start(void) RT_HIDDEN;
/* A call that tells a file's numbers: a hook of the family WIRE_HOOK_LOOK. Makes it, if it matters. */
enum rt_action rt_numbers_look(struct rt_call *c, enum wire_hook hook) RT_HIDDEN;
/* The program learns numbers in a way that is not followed here. */
void rt_numbers_tell(void) RT_HIDDEN;
/* In the trunk: false if the program knows numbers that could not be shown in a copy of the world. */
bool rt_numbers_check(void) RT_HIDDEN;
/*
 * In the child, in its world: from now on files have the numbers that the trunk's had. FILES: its standard streams, and
 * a file of struct wire_number, or -1. False if that cannot be.
 */
bool rt_numbers_child(const int files[RT_FILES]) RT_HIDDEN;
/* And is none of the files that are copies shown by memory, which would go on to show the trunk's? */
bool rt_numbers_unmapped(void) RT_HIDDEN;
/* A name may become that of another file: which ones the program knows is looked up now, if this is a child. */
void rt_numbers_settle(void) RT_HIDDEN;
/* Is this a child whose files have other numbers than the program is told? */
bool rt_numbers_differ(void) RT_HIDDEN;
/* What the program is told instead of INODE, which a folder has for NAME. */
uint64_t rt_numbers_entry(int folder, const char *name, uint64_t inode, bool is_folder) RT_HIDDEN;
/* A call that lists a folder: one of WIRE_HOOK_ENTRY and those behind it. Makes it, if it matters. */
enum rt_action rt_numbers_list(struct rt_call *c, enum wire_hook hook) RT_HIDDEN;
