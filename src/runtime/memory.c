/* SPDX-License-Identifier: Apache-2.0 */
/* What compilers call without being asked to. Only in the library itself: elsewhere libc has them. */
#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n) __attribute__((visibility("hidden")));
void *memmove(void *to, const void *from, size_t n) __attribute__((visibility("hidden")));
void *memset(void *to, int byte, size_t n) __attribute__((visibility("hidden")));
int memcmp(const void *a, const void *b, size_t n) __attribute__((visibility("hidden")));

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
  void *result = to;
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
  return result;
}

void *memmove(void *to, const void *from, size_t n) {
  if ((char *)to <= (const char *)from || (char *)to >= (const char *)from + n) return memcpy(to, from, n);
  volatile char *t = to;
  const volatile char *f = from;
  while (n-- > 0)
    t[n] = f[n];
  return to;
}

void *memset(void *to, int byte, size_t n) {
  void *result = to;
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(byte) : "memory");
  return result;
}

int memcmp(const void *a, const void *b, size_t n) {
  const volatile unsigned char *x = a, *y = b;
  for (size_t i = 0; i < n; i++)
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  return 0;
}
