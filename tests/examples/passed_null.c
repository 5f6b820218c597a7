/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setlocale and its like return NULL where others return a text.
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
  printf("%s\n", strlen(name) ? "a locale" : "none");
  return 0;
}
