/* SPDX-License-Identifier: Apache-2.0 */
/* Jump tables, both on the way to a code and as the mapping from one code to another. */
#include "truth.h"

#include <errno.h>
#include <string.h>

/* errors: -EINVAL -ENOENT -EIO -EBUSY -ENOMEM -ENOTSUP -EPROTO -ETIMEDOUT -ECONNRESET */
EXPORT int reply_to_errno(unsigned reply) {
  switch (reply) {
  case 200:
    return 0;
  case 201:
    return -EINVAL;
  case 202:
    return -ENOENT;
  case 203:
    return -EIO;
  case 204:
    return -EBUSY;
  case 205:
    return -ENOMEM;
  case 206:
    return -ENOTSUP;
  case 207:
    return -ETIMEDOUT;
  case 208:
    return -ECONNRESET;
  default:
    return -EPROTO;
  }
}

struct machine {
  int acc, sp;
  int stack[16];
  unsigned long steps;
};

/* errors: -1 -2 -3 -4 */
EXPORT int machine_run(struct machine *m, const unsigned char *code, size_t n) {
  for (size_t pc = 0; pc < n; pc++) {
    m->steps++;
    switch (code[pc]) {
    case 0:
      return 0;
    case 1:
      if (m->sp >= 16)
        return -1;
      m->stack[m->sp++] = m->acc;
      break;
    case 2:
      if (m->sp <= 0)
        return -2;
      m->acc = m->stack[--m->sp];
      break;
    case 3:
      m->acc += 7;
      break;
    case 4:
      m->acc ^= m->acc << 3;
      break;
    case 5:
      if (m->acc == 0)
        return -3;
      m->acc = 1000 / m->acc;
      break;
    case 6:
      m->acc = ~m->acc;
      break;
    case 7:
      m->acc >>= 1;
      break;
    case 8:
      m->acc = m->sp;
      break;
    default:
      return -4;
    }
  }
  return 0;
}

/* errors: none */
EXPORT const char *reply_text(unsigned reply) {
  switch (reply) {
  case 200:
    return "fine";
  case 201:
    return "malformed request";
  case 202:
    return "nothing of that name";
  case 203:
    return "medium failed";
  case 204:
    return "occupied";
  case 205:
    return "memory is short";
  default:
    return "unknown reply";
  }
}

/* Dense and irregular, each arm does some work first. */
/* errors: -1[EBADF,EFAULT,ENODEV,EXDEV,EINVAL] */
EXPORT int option_set(int *opts, int which, int value) {
  switch (which) {
  case 0:
    if (value < 0) {
      errno = EBADF;
      return -1;
    }
    opts[0] = value;
    return 0;
  case 1:
    if (value == 0) {
      errno = EFAULT;
      return -1;
    }
    opts[1] = 100 / value;
    return 0;
  case 2:
    opts[2] = value & 0xff;
    return 0;
  case 3:
    if (value > 9) {
      errno = ENODEV;
      return -1;
    }
    opts[3] |= 1 << value;
    return 0;
  case 4:
    opts[4] = opts[0] + value;
    return 0;
  case 5:
    if (opts[4] != opts[0]) {
      errno = EXDEV;
      return -1;
    }
    opts[5] = -value;
    return 0;
  case 6:
    opts[6]++;
    return 0;
  default:
    errno = EINVAL;
    return -1;
  }
}

/* Sparse cases become a tree of comparisons. */
/* errors: -61 -62 -63 -64 */
EXPORT int signature_check(unsigned long tag) {
  switch (tag) {
  case 0x04034b50:
  case 0x02014b50:
    return 0;
  case 0x06054b50:
    return -61;
  case 0x08074b50:
    return -62;
  case 0xfd2fb528:
    return -63;
  default:
    return -64;
  }
}
