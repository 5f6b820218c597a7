/* SPDX-License-Identifier: Apache-2.0 */
/* Where the stubs lead: to the gate, to the code that counts, or around the runtime to the real function. */
#pragma once

#include "runtime.h"

/* Points each stub to where calls of its function go, as the rules are now. */
void rt_aim(void) RT_HIDDEN;
/* In a fork server, before its children: around the runtime, as far as nothing but an order makes a rule fire. */
void rt_aim_ahead(void) RT_HIDDEN;
/* In a child of such a server, whose order is there: what rt_aim would do. */
void rt_aim_again(void) RT_HIDDEN;
/* In a child of a trunk, which has its order: around the runtime, where only other orders kept the trunk from it. */
void rt_aim_branch(void) RT_HIDDEN;
