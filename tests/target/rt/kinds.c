/* SPDX-License-Identifier: Apache-2.0 */
/* Functions with arguments and results of all kinds, for intact.c. */
#include <complex.h>
#include <stdarg.h>

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

long kinds_many(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) {
  long all[] = {a, b, c, d, e, f, g, h, i}, sum = 0;
  for (int k = 0; k < 9; k++)
    sum = sum * 10 + all[k];
  return sum * 100 + j;
}

double kinds_doubles(double a, double b, double c, double d, double e, double f, double g, double h, double i, int j) {
  return a + b + c + d + e + f + g + h + i + j;
}

long double kinds_long_double(long double a) { return 2 * a; }

struct large kinds_large(long a) {
  struct large l;
  for (int i = 0; i < 6; i++)
    l.of[i] = a + i;
  return l;
}

struct pair kinds_pair(double a, double b) {
  return (struct pair){b, a};
}

struct mixed kinds_mixed(long a, double b) {
  return (struct mixed){a + 1, b + 1};
}

double _Complex kinds_complex(double _Complex a) { return __imag__ a + __real__ a * I; }

double kinds_variadic(const char *kinds, ...) {
  va_list list;
  double sum = 0;
  va_start(list, kinds);
  for (; *kinds; kinds++)
    sum += *kinds == 'd' ? va_arg(list, double) : *kinds == 'i' ? va_arg(list, int) : (double)va_arg(list, long);
  va_end(list);
  return sum;
}

__int128 kinds_wide(__int128 a) { return a + 1; }

long kinds_by_value(long a, struct huge b, long c) {
  for (int i = 0; i < 600; i++)
    a += b.of[i] * (i + 1);
  return a + c;
}
