/* SPDX-License-Identifier: Apache-2.0 */
/* Where below.h keeps what it must put back. */
#include "below.h"

struct rt_below rt_below;
const char rt_below_nothing[RT_PAGE];
