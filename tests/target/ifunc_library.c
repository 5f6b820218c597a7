/* SPDX-License-Identifier: Apache-2.0 */
/* A function that is chosen at load time, for ifunc.c. */
int chosen(int x);

static int first(int x) { return x + 100; }
typedef int function(int);
static function *choose(void) { return first; }
int chosen(int x) __attribute__((ifunc("choose")));
