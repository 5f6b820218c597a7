/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large blocks and a line behind them. That none is looked at is no matter if the end is: a full disk is told there,
 * since the line does not fit either, and since a buffer can be larger than the block.
 *
 * expect: silent
 */
#include <stdio.h>
#include <string.h>

static char block[100000], buffer[1 << 20];

static int save(const char *name, int large) {
  FILE *out = fopen(name, "w");
  if (!out) return -1;
  if (large && setvbuf(out, buffer, _IOFBF, sizeof buffer) != 0) return -1;
  fwrite(block, 1, sizeof block, out);
  if (!large) fprintf(out, "end of file\n");
#ifdef FIXED
  return fclose(out);
#else
  fclose(out);
  return 0;
#endif
}

int main(void) {
  memset(block, 'x', sizeof block);
  if (save("one", 0) != 0 || save("two", 1) != 0) {
    perror("cannot save");
    return 1;
  }
  return 0;
}
