/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors go up as negated numbers, and one of them is lost on the way. In the mended one none is, as long as a failure
 * has a number: fclose always sets one.
 *
 * expect: silent
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int save(const char *name) {
  FILE *f = fopen(name, "w");
  if (!f) return -errno;
  int r = fputs("one\ntwo\n", f) == EOF ? -errno : 0;
#ifdef FIXED
  if (fclose(f) != 0 && r == 0) r = -errno;
#else
  fclose(f);
#endif
  if (r < 0) (void)remove(name);
  return r;
}

int main(void) {
  int r = save("numbers");
  if (r < 0) fprintf(stderr, "numbers: %s\n", strerror(-r));
  return r < 0;
}
