/* SPDX-License-Identifier: Apache-2.0 */
/* Who and when: numbers of process and thread, and the time, without system calls. */
#pragma once

#include "runtime.h"
#include "system.h"

/* Once, at the start. */
void rt_process_start(void) RT_HIDDEN;
/*
 * A fork is about to be made: the number that its child will have; if programs are followed, the next one is for what
 * the child starts in its place. The child then says that it is there, or the parent that nothing came of it.
 */
struct rt_child {
  uint32_t number, lineage;
};
struct rt_child rt_process_reserve(void) RT_HIDDEN;
void rt_process_born(struct rt_child child) RT_HIDDEN;
void rt_process_unborn(struct rt_child child) RT_HIDDEN;
/* libc is about to start a program in another process. */
void rt_process_spawn(void) RT_HIDDEN;
/* Which child of which process this is, the same in each run; 0 for the first process. */
uint32_t rt_process_lineage(void) RT_HIDDEN;
/* This process is about to become another program. */
void rt_process_leave(void) RT_HIDDEN;
uint32_t rt_pid(void) RT_HIDDEN;
/* 0 if nobody has asked in this process yet; does not ask, and gives it no number. */
uint32_t rt_pid_if_known(void) RT_HIDDEN;
/* Where libc keeps the number of a thread, from the thread pointer; 0 if not known. */
extern uint32_t rt_tid_offset RT_HIDDEN;
static inline uint32_t rt_tid(void) {
  uint32_t offset = rt_tid_offset;
  return offset ? rt_thread_word(offset) : rt_pid();
}
/* Where libc keeps the number of the thread; NULL if that is not known. */
uint32_t *rt_process_tid(void) RT_HIDDEN;
/* In the child of a fork that the runtime has made itself: it has a number of its own. */
void rt_process_forked(void) RT_HIDDEN;
/* ... or one that goes on in place of its parent, and has the parent's NUMBER. */
void rt_process_goes_on(uint32_t number) RT_HIDDEN;
/* Nanoseconds of CLOCK_MONOTONIC_COARSE. */
uint64_t rt_time(void) RT_HIDDEN;
/*
 * Nanoseconds of CLOCK_MONOTONIC, which is of the same time but finer and costs more. Both are 0 if there is no clock.
 */
uint64_t rt_time_fine(void) RT_HIDDEN;
