/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is built twice, with a TWIN of its own: all names are the same in both. */
char twin_name(void);
char twin_call(void);
int twin_variable;
int twin_status(void);

static volatile char name = TWIN;

__attribute__((noinline)) char twin_name(void) { return name; }

/* Not as a tail call, so that it is this library that calls. */
char twin_call(void) {
  char c = twin_name();
  __asm__ volatile("" : "+r"(c));
  return c;
}

int twin_status(void) { return twin_variable; }
