/* SPDX-License-Identifier: Apache-2.0 */
/* Which hub a DistributedTrigger asks. */
#include "cmd/run_parts.h"
#include "hub/hub.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PROBE_MS = 2000 };

int cmd_hub_find(void *context, const char *address, struct wire_trigger *ret, const char **ret_name, struct err *e) {
  struct cmd_hub *h = context;
  struct hub_address at;
  struct err why = {0};
  const char *source = address ? "" : h->address ? "--hub: " : "MURPHY_HUB: ";
  if (!address) address = h->address ? h->address : getenv("MURPHY_HUB");
  if (!address || !*address)
    return err_set(e, -EDESTADDRREQ,
                   "which hub is not said (write <args><address>unix:PATH</address>…, or --hub ADDRESS)");
  int r = hub_address_parse(address, &at, &why);
  if (r == -EHOSTUNREACH) r = -ECANCELED; /* as where nobody answers */
  if (r >= 0 && at.size > sizeof ret->address) r = err_set(&why, -EINVAL, "'%s' is too long", address);
  if (r >= 0 && h->probe) r = hub_probe(&at, PROBE_MS, &why);
  if (r < 0) return err_set(e, r, "%s%s", source, why.text);
  memcpy(ret->address, &at.at, at.size);
  ret->n_address = at.size;
  text_done(&h->name);
  hub_address_text(&at, &h->name);
  if (h->name.failed) return err_set(e, -ENOMEM, "out of memory");
  *ret_name = h->name.at;
  return 0;
}
