/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locale that the environment names may not be installed. That the program then goes on in "C" is fine, and asking
 * for the name of the present one cannot fail.
 *
 * expect: crash
 */
#include <locale.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  const char *name = setlocale(LC_ALL, "");
#ifdef FIXED
  if (!name) name = "C";
#endif
  const char *dot = strchr(name, '.');
  printf("%s, %s\n", dot ? dot + 1 : "no character set", setlocale(LC_CTYPE, NULL));
  printf("%zu\n", strlen(setlocale(LC_ALL, NULL)));
  return fflush(stdout) != 0;
}
