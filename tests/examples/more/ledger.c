/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every transfer has two sides, and the books are checked at the end. For the second side there may be no memory; the
 * transfer is refused then, with one side of it in the books.
 *
 * setup: printf 'rent 3 500\nfood 1 40\nwage 2 900\n' > transfers
 * stdin: transfers
 * expect: abort
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct side {
  struct side *next;
  char what[16];
  int account;
  long amount;
};

static struct side *books;

static int post(const char *what, int account, long amount) {
  struct side *s = malloc(sizeof *s);
  if (!s) return -1;
  snprintf(s->what, sizeof s->what, "%s", what);
  s->account = account;
  s->amount = amount;
  s->next = books;
  books = s;
  return 0;
}

static int transfer(const char *what, int account, long amount) {
  if (post(what, 0, -amount) != 0) return -1;
  if (post(what, account, amount) != 0) {
#ifdef FIXED
    struct side *s = books;
    books = s->next;
    free(s);
#endif
    return -1;
  }
  return 0;
}

int main(void) {
  char what[16];
  int account, bad = 0, fields;
  long amount, sum = 0, balance = 0;
  while ((fields = scanf("%15s %d %ld", what, &account, &amount)) == 3)
    if (transfer(what, account, amount) != 0) {
      fprintf(stderr, "%s: refused, no memory\n", what);
      bad = 1;
    }
  if (ferror(stdin) || fields != EOF) {
    fputs("the transfers cannot be read\n", stderr);
    bad = 1;
  }
  for (struct side *s = books; s; s = s->next) {
    sum += s->amount;
    if (s->account == 0) balance += s->amount;
  }
  assert(sum == 0);
  printf("cash %ld\n", balance);
  while (books) {
    struct side *s = books->next;
    free(books);
    books = s;
  }
  if (ferror(stdout) || fclose(stdout) != 0) {
    perror("standard output");
    return 1;
  }
  return bad;
}
