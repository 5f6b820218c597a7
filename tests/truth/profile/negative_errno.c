/* SPDX-License-Identifier: Apache-2.0 */
/* Negative errno, as the kernel and systemd do; positive results are successes. */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* errors: -EINVAL -ERANGE */
EXPORT int unit_parse_port(const char *s, unsigned short *ret) {
  unsigned long v = 0;
  if (s == NULL || *s == 0)
    return -EINVAL;
  for (; *s; s++) {
    if (*s < '0' || *s > '9')
      return -EINVAL;
    v = v * 10 + (unsigned long)(*s - '0');
    if (v > 65535)
      return -ERANGE;
  }
  *ret = (unsigned short)v;
  return 0;
}

/* 1 for yes, 0 for no, negative for nonsense. */
/* errors: -EINVAL */
EXPORT int unit_parse_boolean(const char *s) {
  if (strcmp(s, "yes") == 0 || strcmp(s, "on") == 0)
    return 1;
  if (strcmp(s, "no") == 0 || strcmp(s, "off") == 0)
    return 0;
  return -EINVAL;
}

/* errors: -ENOMEM[@malloc] -EINVAL */
EXPORT int unit_name_escape(const char *s, char **ret) {
  size_t n = strlen(s);
  char *t, *q;
  if (n == 0)
    return -EINVAL;
  t = malloc(n * 4 + 1);
  if (!t)
    return -ENOMEM;
  for (q = t; *s; s++) {
    if (*s == '/') {
      *q++ = '-';
      continue;
    }
    *q++ = *s;
  }
  *q = 0;
  *ret = t;
  return 0;
}

/* errors: -EINVAL -ENAMETOOLONG -ENOMEM[@malloc] */
EXPORT int unit_make(const char *prefix, const char *suffix, char **ret) {
  char *name = NULL;
  int r;
  if (strlen(prefix) > 200) {
    r = -ENAMETOOLONG;
    goto finish;
  }
  r = unit_name_escape(prefix, &name);
  if (r < 0)
    goto finish;
  if (suffix && *suffix == '.') {
    free(*ret);
    *ret = name;
    name = NULL;
    r = 0;
  } else
    r = -EINVAL;
finish:
  free(name);
  return r;
}

/* errors: -@open */
EXPORT int unit_open(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0)
    return -errno;
  return fd;
}

/* errors: -EXDEV -EUCLEAN -ESTALE */
EXPORT int unit_compare_generation(const unsigned long *mine, const unsigned long *theirs) {
  if (mine[0] != theirs[0])
    return -EXDEV;
  if (mine[1] < theirs[1])
    return -ESTALE;
  if (mine[2] != 0)
    return -EUCLEAN;
  return mine[1] > theirs[1];
}

static NOINLINE int log_and_return(int level, int code, const char *text) {
  if (level > 3)
    base_log(text);
  return -abs(code);
}

/* errors: -EBADMSG -ENOEXEC */
EXPORT int unit_verify(const char *text, int level) {
  if (text[0] != '[')
    return log_and_return(level, EBADMSG, "section is missing");
  if (!strchr(text, ']'))
    return log_and_return(level, ENOEXEC, "section is not closed");
  return 0;
}
