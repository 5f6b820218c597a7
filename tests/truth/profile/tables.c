/* SPDX-License-Identifier: Apache-2.0 */
/* Codes loaded from constant arrays: the error of a state is data, not code. */
#include "truth.h"

#include <errno.h>

static const int wire_to_code[8] = {0, -301, -302, -303, -304, -305, -306, -307};

/* errors: -300 -301 -302 -303 -304 -305 -306 -307 */
EXPORT int wire_status(unsigned wire) {
  if (wire >= 8)
    return -300;
  return wire_to_code[wire];
}

static const short code_to_errno[] = {0, EPERM, EINVAL, ENOMEM, EIO, EPIPE};

/* errors: -1[EPERM,EINVAL,ENOMEM,EIO,EPIPE] */
EXPORT int wire_finish(unsigned code) {
  if (code > 5)
    code = 4;
  if (code == 0)
    return 0;
  errno = code_to_errno[code];
  return -1;
}

static const signed char narrow[] = {0, -7, -8, -9};

/* errors: -7 -8 -9 */
EXPORT int wire_narrow(unsigned kind) {
  return narrow[kind & 3];
}

struct rule {
  unsigned mask, want;
  long code;
};
static const struct rule rules[] = {
    {0x0f, 0x03, -4001}, {0xf0, 0x50, -4002}, {0xf00, 0x700, -4003}, {0xf000, 0x9000, -4004}, {0, 1, 0},
};

/* errors: -4001 -4002 -4003 -4004 */
EXPORT long wire_rules(unsigned flags) {
  for (unsigned i = 0; i < 4; i++)
    if ((flags & rules[i].mask) == rules[i].want)
      return rules[i].code;
  return 0;
}

static const char *const messages[] = {"no error", "not permitted", "no such object", "input or output failed"};

/* errors: none */
EXPORT const char *wire_message(int code) {
  if (code > 0 || code < -3)
    return "unknown error";
  return messages[-code];
}

/* A table of sizes: no value of it is a failure. */
/* errors: none */
EXPORT unsigned wire_cost(unsigned char op) {
  static const unsigned cost[16] = {3, 5, 7, 9, 12, 15, 19, 24, 30, 37, 45, 54, 64, 75, 87, 100};
  return cost[op & 15] + op;
}
