/* SPDX-License-Identifier: Apache-2.0 */
/* sides: calls sides_open of libtarget-sided.so and says what it left in all the places that a fault can change. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

int sides_open(const char *name, int *ret, long *ret_long);
double sides_double(double a);
int sides_get_variable(void);
int sides_get_thread(void);
extern int sides_shown;

int main(void) {
  int ret = 1;
  long wide = 2;
  errno = 0;
  int r = sides_open("a", &ret, &wide);
  printf("%d %s %d %lx %d %d %d", r, strerrorname_np(errno), ret, (unsigned long)wide, sides_get_variable(),
         sides_get_thread(), sides_shown);
  printf(" %g %d\n", sides_double(1.5), ferror(stderr));
  return 0;
}
