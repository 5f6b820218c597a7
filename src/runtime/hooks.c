/* SPDX-License-Identifier: Apache-2.0 */
/* What the runtime does itself around some calls. */
#include "hooks.h"

enum rt_action rt_hook(struct rt_call *c, const struct wire_function *f) {
  (void)c, (void)f;
  return RT_PASS;
}

void rt_hook_environment(char **envp) { (void)envp; }
