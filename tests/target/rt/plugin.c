/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is opened while the program runs. */
long target_nothing(long a);
long plugin_enter(long a);

long plugin_enter(long a) {
  long r = target_nothing(a);
  __asm__ volatile("" ::: "memory");
  return r;
}
