/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing array that trusts realloc.
 *
 * expect: crash
 */
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int *numbers = NULL;
  for (int i = 0; i < 40; i++) {
    if (i % 16 == 0) {
#ifdef FIXED
      int *more = realloc(numbers, sizeof *numbers * (size_t)(i + 16));
      if (!more) {
        free(numbers);
        fputs("no memory\n", stderr);
        return 1;
      }
      numbers = more;
#else
      numbers = realloc(numbers, sizeof *numbers * (size_t)(i + 16));
#endif
    }
    numbers[i] = i;
  }
  printf("%d\n", numbers[39]);
  free(numbers);
  return 0;
}
