/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fno-plt */
/* Calls into another library through the GOT (-fno-plt), and what becomes of its values. */
#include "truth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* errors: -1 -2 -3 -4 */
EXPORT int packet_check(const unsigned char *p, size_t n) {
  int r = base_frame_check(p, n);
  if (r < 0)
    base_log("packet is bad");
  return r;
}

/* errors: -1 -2 -3 -10 */
EXPORT int packet_check_loose(const unsigned char *p, size_t n, int strict) {
  int r = base_frame_check(p, n);
  if (r == FRAME_CHECKSUM) {
    if (!strict)
      return 0;
    return -10;
  }
  return r;
}

/* errors: -1[EINVAL,@open] -3 */
EXPORT int packet_source(const char *path, int *ret) {
  int fd = base_open_ro(path);
  if (fd < 0)
    return -1;
  if (fd > 1000) {
    close(fd);
    return -3;
  }
  *ret = fd;
  return 0;
}

/* errors: 0[@malloc] | side: tls:base_last_error=12,22 */
EXPORT unsigned char *packet_copy(const unsigned char *p, size_t n) {
  unsigned char *q = base_alloc(n);
  if (q == NULL)
    return NULL;
  for (size_t i = 0; i < n; i++)
    q[i] = p[i] ^ 0x5a;
  return q;
}

/* errors: -71 -105 */
EXPORT int packet_scan(const unsigned char *p, size_t n) {
  for (size_t i = 0; i < n; i++) {
    int r = base_stream_step(p[i]);
    if (r < 0)
      return r;
  }
  return 0;
}

/* errors: -EPERM -ENOENT -EIO -ENOMEM -EACCES -ENOSPC */
EXPORT int packet_status(int code) {
  return -base_errno_from_code(code);
}

/* errors: -1[EPERM,ENOENT,EIO,ENOMEM,EACCES,ENOSPC] */
EXPORT int packet_commit(int code) {
  int e = base_errno_from_code(code);
  if (e != 0) {
    errno = e;
    return -1;
  }
  return 0;
}
