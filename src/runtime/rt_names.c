/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that the shim shows.
 *
 * murphy leaves out the value of symbols that no library of the program defines (WIRE_LATER), so that references to
 * them are bound as if there were no shim. A library that is opened later may define them, and its own calls are to be
 * intercepted: lookups happen while it is opened, or later where binding is lazy. So from then on they are shown, and
 * only who asks by dlsym is told exactly.
 */
#include "rt_names.h"

#include "link.h"
#include "real.h"
#include "system.h"

static bool opened; /* something was */

void rt_name_show(uint32_t i, bool shown) {
  const struct wire_entry *e = &rt.entries[i];
  const struct link_map *shim = rt_link_shim();
  if (shim && e->value != 0) rt_store((uint64_t *)e->value, shown ? e->stub - shim->l_addr : 0);
}

void rt_names_again(void) {
  const struct wire_function *f = rt_array(functions, struct wire_function);
  for (uint32_t i = 0; i < rt.plan->functions.n; i++)
    if (rt_real_is_late(i)) rt_name_show(i, rt_load(&opened) || !(f[i].flags & WIRE_LATER));
}

void rt_names_open(void) {
  rt_store(&opened, true);
  rt_names_again();
}
