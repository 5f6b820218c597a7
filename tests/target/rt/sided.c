/* SPDX-License-Identifier: Apache-2.0 */
/* A function with side effects in all the places that a fault can change, for sides.c. */
int sides_open(const char *name, int *ret, long *ret_long);
double sides_double(double a);
int sides_get_variable(void);
int sides_get_thread(void);
int sides_shown = 30;

static volatile int variable = 10;
static __thread volatile int thread_variable = 20;

int sides_open(const char *name, int *ret, long *ret_long) {
  *ret = name[0];
  *ret_long = 7;
  sides_shown = 31;
  return 5;
}

double sides_double(double a) { return 2 * a; }
int sides_get_variable(void) { return variable; }
int sides_get_thread(void) { return thread_variable; }
