/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines are sorted into classes by rules, which are compiled first; the rules are known to be right.
 *
 * setup: printf 'GET /a 200\nPOST /b 500\nGET /c 404\nGET /d 301\n' > log
 * stdin: log
 * expect: crash
 */
#include <regex.h>
#include <stdio.h>

static struct {
  const char *name, *text;
  regex_t compiled;
  int count;
} rule[] = {
    {"errors", " [45][0-9][0-9]$", {0}, 0},
    {"writes", "^(POST|PUT|DELETE) ", {0}, 0},
    {"moved", " 30[12]$", {0}, 0},
};
enum { RULES = sizeof rule / sizeof rule[0] };

int main(void) {
  char line[200], text[100];
  for (int i = 0; i < RULES; i++) {
    int e = regcomp(&rule[i].compiled, rule[i].text, REG_EXTENDED | REG_NOSUB | REG_NEWLINE);
#ifdef FIXED
    if (e != 0) {
      regerror(e, &rule[i].compiled, text, sizeof text);
      fprintf(stderr, "%s: %s\n", rule[i].name, text);
      return 1;
    }
#else
    (void)e;
#endif
  }
  while (fgets(line, sizeof line, stdin))
    for (int i = 0; i < RULES; i++) {
      int e = regexec(&rule[i].compiled, line, 0, NULL, 0);
      if (e == 0) {
        rule[i].count++;
      } else if (e != REG_NOMATCH) {
        regerror(e, &rule[i].compiled, text, sizeof text);
        fprintf(stderr, "%s: %s\n", rule[i].name, text);
        return 1;
      }
    }
  if (ferror(stdin)) {
    perror("standard input");
    return 1;
  }
  for (int i = 0; i < RULES; i++) {
    printf("%s: %d\n", rule[i].name, rule[i].count);
    regfree(&rule[i].compiled);
  }
  if (ferror(stdout) || fclose(stdout) != 0) {
    perror("standard output");
    return 1;
  }
  return 0;
}
