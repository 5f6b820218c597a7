/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptors of a process that is to be forked, and their like in the child. */
#pragma once

#include "runtime.h"

/* Once in the trunk: which files are standard input and output. Process SERVER has the same as 0 to 2, and waits. */
void rt_files_start(long server) RT_HIDDEN;
/* Can all that is open be opened again, or be shared without harm? *ret: hashes of the paths of what can be written. */
enum wire_refusal rt_files_list(const uint64_t **ret, uint32_t *ret_n) RT_HIDDEN;
/* Of what was listed: is there a folder that has been read, in part or in whole? */
bool rt_files_reading(void) RT_HIDDEN;
/* In the child, of what was listed: standard input and output become FILES, others are opened anew by their paths. */
bool rt_files_reopen(const int files[3]) RT_HIDDEN;
/* The path of an open file in the world that children have copies of, in TO; false if it has none, or a longer one. */
bool rt_files_path(int fd, char *to, size_t size) RT_HIDDEN;
