/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page goes to the journal, then to the table, then the journal is deleted: also when the table did not take the page.
 *
 * setup: printf 'page 1: old     \npage 2: old     \n' > table
 * expect: silent
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 17 };

static int put(int fd, const char *p, off_t at) {
  for (size_t done = 0; done < PAGE;) {
    ssize_t w = pwrite(fd, p + done, PAGE - done, at + (off_t)done);
    if (w < 0 && errno == EINTR) continue;
    if (w < 0) return -1;
    done += w;
  }
  return 0;
}

static int fails(const char *what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  return 1;
}

int main(void) {
  char old[PAGE], new[PAGE + 1];
  snprintf(new, sizeof new, "%-16s\n", "page 2: new");
  int table = open("table", O_RDWR);
  if (table < 0) return fails("table");
  ssize_t n = pread(table, old, PAGE, PAGE);
  if (n != PAGE) return n < 0 ? fails("table") : (fprintf(stderr, "table: too short\n"), 1);
  int journal = open("table-journal", O_RDWR | O_CREAT | O_EXCL, 0644);
  if (journal < 0) return fails("table-journal");
  if (put(journal, old, 0) < 0 || fsync(journal) < 0) {
    int r = fails("table-journal");
    unlink("table-journal");
    return r;
  }
#ifdef FIXED
  if (put(table, new, PAGE) < 0 || fsync(table) < 0) {
    int r = fails("table");
    if (put(table, old, PAGE) == 0 && fsync(table) == 0) unlink("table-journal");
    return r;
  }
#else
  put(table, new, PAGE);
  fsync(table);
#endif
  close(table);
  close(journal);
  if (unlink("table-journal") < 0) return fails("table-journal");
  return 0;
}
