/* SPDX-License-Identifier: Apache-2.0 */
/* Can this process be forked such that the copy is as good as the original? Asked with raw system calls. */
#pragma once

#include "runtime.h"

/* Threads, processes, timers and scheduling. WIRE_FORK_GOOD, or the first reason why not. */
enum wire_refusal rt_sound_process(void) RT_HIDDEN;
/* Memory. WRITTEN: hashes (rt_hash) of the paths of files that are open for writing. */
enum wire_refusal rt_sound_memory(const uint64_t *written, uint32_t n) RT_HIDDEN;
/* Did memory show the file whose path has this hash, when it was asked about last? True if that is not known. */
bool rt_sound_shows(uint64_t path) RT_HIDDEN;
/* The program calls madvise. */
void rt_sound_advised(uint64_t advice) RT_HIDDEN;
/* Is no descriptor open but 0 to 2 and OWN? */
enum wire_refusal rt_sound_untouched(int own) RT_HIDDEN;
/* Calls LOOK for each open descriptor, until one is not good. */
enum wire_refusal rt_sound_each_file(enum wire_refusal (*look)(void *context, int fd), void *context) RT_HIDDEN;
