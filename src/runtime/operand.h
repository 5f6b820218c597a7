/* SPDX-License-Identifier: Apache-2.0 */
/* What conditions ask of the program beyond the numbers of calls and their stacks. */
#pragma once

#include "runtime.h"

/* Once, when the plan is there. */
void rt_operand_start(void) RT_HIDDEN;
/*
 * Carries out an instruction from WIRE_OP_LENGTH on; TOP is the first free place of the stack. The new one. *UNKNOWN is
 * set if what was asked for is not known; WIRE_OP_KNOWN resets it.
 */
int64_t *rt_operand(const struct rt_call *c, enum wire_op op, uint32_t operand, int64_t *top, bool *unknown) RT_HIDDEN;

/* The thread's slots (plan->thread_slots of them); NULL if it has none. */
uint64_t *rt_thread(void) RT_HIDDEN;

/* Hooks: WIRE_HOOK_LOCK, UNLOCK, OUTPUT, CLOSE, DUP and STREAM. */
enum rt_action rt_hook_watch(struct rt_call *c, const struct rt_function *f) RT_HIDDEN;
/* The real function was called by other code than that: c->retval is what it returned. */
void rt_watch_returned(const struct rt_call *c) RT_HIDDEN;
/* The real function of a WIRE_HOOK_STREAM was called, as RT_THEN says. */
void rt_watch_after(const struct rt_call *c) RT_HIDDEN;
/* How many bytes were written to the descriptor; -1 if it is not known. */
int64_t rt_written(uint64_t fd) RT_HIDDEN;

/* The process was started as COMMAND, argv[0]: a link's name, or the file's. */
void rt_text_start(const char *command) RT_HIDDEN;
/* Does the text that VALUE is, as NUMBERS[0] says, match? NUMBERS are those of WIRE_OP_MATCH. */
bool rt_text_matches(const int64_t numbers[3], int64_t value) RT_HIDDEN;
/* Does the automaton of wire.h accept the N bytes at S? */
bool rt_regex(const uint16_t *table, const char *s, size_t n) RT_HIDDEN;

/* The address of what is at the ELF address ADDRESS of a module of the plan; 0 if that is not there. */
uint64_t rt_static(uint32_t module, uint64_t address) RT_HIDDEN;
/* The same of a variable of each thread, OFFSET bytes in the module's block. */
uint64_t rt_of_thread(uint32_t module, uint64_t offset) RT_HIDDEN;
void rt_variable_start(void) RT_HIDDEN;
/* The value of a variable, or its address; false if it cannot be known. */
bool rt_local(const struct rt_call *c, const struct wire_variable *v, int64_t *ret) RT_HIDDEN;
/* What WIDTH bytes at ADDRESS are; false if they cannot be read. */
bool rt_read(uint64_t address, unsigned width, bool sign, int64_t *ret) RT_HIDDEN;

/* Is the call's stack a new one to the memory? It is not any more then. */
bool rt_fresh(const struct rt_call *c, uint32_t memory) RT_HIDDEN;
void rt_fresh_start(void) RT_HIDDEN;
