/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where results and messages go. Results are complete before their first byte is written, so that a failure on the way
 * leaves nothing behind, and every byte is accounted for: a full disk under standard output is an error like another.
 */
#include "cmd/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

int cmd_write(int fd, const char *at, size_t n) {
  while (n > 0) {
    ssize_t done = write(fd, at, n);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return -errno;
    at += done;
    n -= (size_t)done;
  }
  return 0;
}

static int text_check(const struct text *t, struct err *e) {
  return t->failed ? err_set(e, -ENOMEM, "out of memory") : 0;
}

int cmd_print(const struct text *t, struct err *e) {
  int ret = text_check(t, e);
  if (ret < 0) return ret;
  ret = cmd_write(STDOUT_FILENO, t->at, t->n);
  if (ret < 0) return err_set(e, ret, "standard output: %s (nothing more is written)", strerror(-ret));
  return 0;
}

int cmd_report(const struct text *t, struct err *e) {
  int ret = text_check(t, e);
  /* As with messages: nobody is left to be told. */
  if (ret == 0) (void)cmd_write(STDERR_FILENO, t->at, t->n);
  return ret;
}

/* A device or a pipe cannot be replaced by a rename, and must not be. */
static int write_into(const char *path, const struct text *t, struct err *e) {
  int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return err_set(e, -errno, "%s: %s", path, strerror(errno));

  int ret = cmd_write(fd, t->at, t->n);
  if (close(fd) < 0 && ret == 0) ret = -errno;
  return ret < 0 ? err_set(e, ret, "%s: %s", path, strerror(-ret)) : 0;
}

int cmd_save(const char *path, const struct text *t, struct err *e) {
  struct stat st;

  int ret = text_check(t, e);
  if (ret < 0) return ret;
  if (strcmp(path, "-") == 0) return cmd_print(t, e);
  if (stat(path, &st) < 0) return file_write(path, t->at ? t->at : "", t->n, e);
  if (S_ISDIR(st.st_mode)) return err_set(e, -EISDIR, "%s: is a directory (name a file)", path);
  if (!S_ISREG(st.st_mode)) return write_into(path, t, e);

  /* Through a symbolic link, to keep the link. */
  char *real = realpath(path, NULL);
  if (!real) return err_set(e, -errno, "%s: %s", path, strerror(errno));
  ret = file_write(real, t->at ? t->at : "", t->n, e);
  free(real);
  return ret;
}

struct cmd_terminal cmd_terminal(const char *output) {
  struct winsize size;
  const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
  struct cmd_terminal t = {0};
  if (output || isatty(STDOUT_FILENO) != 1) return t;
  t.color = !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) t.columns = size.ws_col;
  return t;
}

void cmd_complain(const char *message) {
  struct text t = {0};

  text_add(&t, "murphy: ");
  for (const char *c = message; *c; c++)
    text_add_bytes(&t, (unsigned char)*c < ' ' || *c == 127 ? "?" : c, 1);
  text_add(&t, "\n");
  /* Nobody is left to be told if this fails; the exit status still says it. */
  if (!t.failed) (void)cmd_write(STDERR_FILENO, t.at, t.n);
  text_done(&t);
}

void cmd_note(const char *text) {
  struct text t = {0};
  text_addf(&t, "note: %s", text);
  if (!t.failed) cmd_complain(t.at);
  text_done(&t);
}
