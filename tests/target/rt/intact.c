/* SPDX-License-Identifier: Apache-2.0 */
/* intact: calls whose arguments and results are of all kinds; says "intact" if each came through whole. */
#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct large {
  long of[6];
};
struct huge {
  long of[600];
};
struct pair {
  double a, b;
};
struct mixed {
  long a;
  double b;
};

/* In libtarget-kinds.so. */
long kinds_many(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j);
double kinds_doubles(double a, double b, double c, double d, double e, double f, double g, double h, double i, int j);
long double kinds_long_double(long double a);
struct large kinds_large(long a);
struct pair kinds_pair(double a, double b);
struct mixed kinds_mixed(long a, double b);
double _Complex kinds_complex(double _Complex a);
double kinds_variadic(const char *kinds, ...);
__int128 kinds_wide(__int128 a);
long kinds_by_value(long a, struct huge b, long c);

static int wrong(void) {
  struct large l = kinds_large(5);
  struct pair p = kinds_pair(1.5, 2.5);
  struct mixed m = kinds_mixed(7, 8.5);
  if (kinds_many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) != 12345678910) return 1;
  if (kinds_doubles(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) != 55) return 2;
  if (kinds_long_double(1.25L) != 2.5L) return 3;
  if (l.of[0] != 5 || l.of[5] != 10) return 4;
  if (p.a != 2.5 || p.b != 1.5) return 5;
  if (m.a != 8 || m.b != 9.5) return 6;
  if (kinds_complex(1.0 + 2.0 * I) != 2.0 + 1.0 * I) return 7;
  if (kinds_variadic("ddildddddddd", 1.5, 2.5, 3, 4L, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0) != 19) return 8;
  if (kinds_wide(((__int128)1 << 100) + 3) != ((__int128)1 << 100) + 4) return 9;
  struct huge h;
  for (int i = 0; i < 600; i++)
    h.of[i] = 7;
  if (kinds_by_value(1, h, 2) != 3 + 7 * 300 * 601) return 10;
  if (kinds_variadic("llllllllllllllllllllllllllllllllllllllll", 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L, 10L, 11L, 12L, 13L,
                     14L, 15L, 16L, 17L, 18L, 19L, 20L, 21L, 22L, 23L, 24L, 25L, 26L, 27L, 28L, 29L, 30L, 31L, 32L, 33L,
                     34L, 35L, 36L, 37L, 38L, 39L, 40L) != 820)
    return 11;
  return 0;
}

int main(void) {
  int bad = wrong();
  char line[128];
  int n = snprintf(line, sizeof line, "%.1f %d %s %Lf %.2f %.2f %.2f %.2f %.2f %.2f %.2f %.2f", 1.5, 2, "three", 4.0L,
                   5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0);
  if (n < 0 || strcmp(line, "1.5 2 three 4.000000 5.00 6.00 7.00 8.00 9.00 10.00 11.00 12.00") != 0) bad = 20;
  if (bad)
    printf("wrong: %d\n", bad);
  else
    puts("intact");
  return bad;
}
