/* SPDX-License-Identifier: Apache-2.0 */
/* Error variables of the library's own: thread-local, global, in a context structure. */
#include "truth.h"

#include <stdlib.h>
#include <string.h>

static __thread int my_error;
static int last_error;
EXPORT int exported_error;

/* errors: -1 | side: tls:my_error=3,4 */
EXPORT int image_scale(unsigned *w, unsigned *h, unsigned factor) {
  if (factor == 0) {
    my_error = 3;
    return -1;
  }
  if (*w > 65535 / factor || *h > 65535 / factor) {
    my_error = 4;
    return -1;
  }
  *w *= factor;
  *h *= factor;
  return 0;
}

/* errors: none */
EXPORT int image_error(void) {
  return my_error;
}

/* errors: 0 | side: global:last_error=7,9 */
EXPORT char *image_row(char *pixels, unsigned stride, unsigned y, unsigned height) {
  if (pixels == NULL) {
    last_error = 7;
    return NULL;
  }
  if (y >= height) {
    last_error = 9;
    return NULL;
  }
  return pixels + (size_t)stride * y;
}

/* errors: none */
EXPORT int image_last_error(void) {
  return last_error;
}

/* errors: -1 -2 | side: global:exported_error=21,22 */
EXPORT int image_crop(const unsigned *size, unsigned x, unsigned y, unsigned w, unsigned h) {
  if (w == 0 || h == 0) {
    exported_error = 21;
    return -1;
  }
  if (x + w > size[0] || y + h > size[1]) {
    exported_error = 22;
    return -2;
  }
  return 0;
}

/* The TLS variable of another library. */
/* errors: -1 | side: tls:base_last_error=33 */
EXPORT int image_depth(int bits) {
  if (bits != 8 && bits != 16 && bits != 24 && bits != 32) {
    base_last_error = 33;
    return -1;
  }
  return bits / 8;
}

struct codec {
  int state;
  int error;
  const char *why;
  unsigned char window[64];
};

/* errors: -1 | side: arg1=41,42 */
EXPORT int codec_feed(struct codec *c, const unsigned char *p, size_t n) {
  if (c->state == 2) {
    c->error = 41;
    return -1;
  }
  if (n > sizeof c->window) {
    c->error = 42;
    c->why = "input is too long";
    return -1;
  }
  memcpy(c->window, p, n);
  c->state = 1;
  return 0;
}

static NOINLINE int codec_fail(struct codec *c, int code, const char *why) {
  c->state = 2;
  c->error = code;
  c->why = why;
  return -1;
}

/* errors: -1 | side: arg1=51,52 */
EXPORT int codec_finish(struct codec *c, unsigned long expected, unsigned long seen) {
  if (c->state != 1)
    return codec_fail(c, 51, "nothing was fed");
  if (expected != seen)
    return codec_fail(c, 52, "sum does not match");
  c->state = 0;
  return 0;
}
